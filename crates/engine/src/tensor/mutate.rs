//! Mutation: `&mut` methods that are always right.
//!
//! A tensor is a value. An update writes in place when nobody else holds the memory and copies otherwise, so a value saved
//! for backward is never overwritten and aliases never observe each other's writes. Under grad mode the handle moves on to
//! the new value's place in the graph; inside `no_grad` a leaf stays the leaf it was.

use super::select::{Plan, Selection};
use super::{Layout, Shape, Tensor, Value, broadcast};
use crate::autograd::{GradientSlot, modes};
use crate::bind::{bind_owned, bind1};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::methods::*;
use crate::ops::elementwise::{add::ADD, div::DIV, fmod::FMOD, mul::MUL, sub::SUB};
use crate::ops::movement::slice_update::{SLICE_ADD, SLICE_ASSIGN};
use crate::ops::{Operand, common_shape};
use crate::primitive::{Attrs, Primitive};
use crate::{DType, Error, ErrorKind};
use smallvec::SmallVec;
use std::ops::{AddAssign, DivAssign, MulAssign, RemAssign, SubAssign};
use wengert_kernels::map as kernels;
use wengert_kernels::view::Out;

impl Tensor {
    /// Replaces this value by `op(value, rest..)`; the memory is handed over, so it can be reused.
    #[track_caller]
    fn update(&mut self, op: &'static dyn Primitive, attrs: Attrs, rest: &[&Tensor]) {
        {
            // A failing update must leave the handle as it was, so it fails here.
            let operands = std::iter::once(&*self).chain(rest.iter().copied());
            let specs: SmallVec<[_; 4]> = operands.map(|operand| operand.value.spec_ref()).collect();
            op.infer(&attrs, &specs).or_raise();
        }
        let records = modes::records_tape();
        let stays_leaf = !records && self.link.is_some() && self.is_leaf();
        let is_tracer = |tensor: &Tensor| matches!(tensor.value, Value::Tracer(_));
        if is_tracer(self) || rest.iter().any(|operand| is_tracer(operand)) || modes::detects_anomalies() {
            // This call can still fail, so the old value is not handed over.
            let updated = {
                let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&*self).chain(rest.iter().copied()).collect();
                bind1(op, attrs, &operands)
            };
            match stays_leaf && !is_tracer(&updated) {
                true => self.replace_leaf_value(updated.value),
                false => *self = updated,
            }
            return;
        }
        let placeholder = Value::One(super::One { bits: 0, dtype: DType::F64, rank: 0 });
        let mut old = Tensor::from(std::mem::replace(&mut self.value, placeholder));
        if stays_leaf {
            self.replace_leaf_value(bind_owned(op, attrs, old, rest).value);
            return;
        }
        let slot = self.slot.take();
        old.link = self.link.take().filter(|_| records);
        *self = bind_owned(op, attrs, old, rest);
        if let Some(slot) = slot {
            self.slot = GradientSlot::updated(slot, location::shown(location::resolve(Line::caller())));
        }
    }

    /// Another value of the same leaf.
    pub(crate) fn replace_leaf_value(&mut self, value: Value) {
        self.value = value;
        if let Some(slot) = &self.slot {
            slot.advance(&self.value);
        }
    }
}

impl Tensor {
    /// Replaces this value by `op(value, other)` with the right side broadcast to the shape of this one.
    #[track_caller]
    pub(crate) fn assign_with(&mut self, op: &'static dyn Primitive, attrs: Attrs, other: impl Operand) {
        let other = other.tensor(self.dtype());
        let shape = common_shape(op.name(), self, &other);
        if shape[..] != *self.shape() {
            let (left, right) = (Shape::from(self.shape()), Shape::from(other.shape()));
            let message = format!("an update cannot change shape {left} to {shape}");
            Error::new(ErrorKind::Shape(vec![left, right]), op.name(), message)
                .help("write x = x + y instead, or sum the right side to the shape of the left")
                .raise();
        }
        self.update(op, attrs, &[&other.broadcast_to(shape)]);
    }
}

macro_rules! assigning {
    ($trait:ident, $method:ident, $op:ident) => {
        impl<T: Operand> $trait<T> for Tensor {
            #[track_caller]
            fn $method(&mut self, other: T) {
                self.assign_with(&$op, Attrs::new(), other);
            }
        }
    };
}

assigning!(AddAssign, add_assign, ADD);
assigning!(SubAssign, sub_assign, SUB);
assigning!(MulAssign, mul_assign, MUL);
assigning!(DivAssign, div_assign, DIV);
assigning!(RemAssign, rem_assign, FMOD);

/// A part of a tensor that is about to be written.
///
/// ```
/// use wengert::prelude::*;
/// let mut x = Tensor::zeros([2, 3]);
/// x.slice_mut((1, ..)).assign(&Tensor::from([1.0, 2.0, 3.0]));
/// x.slice_mut((.., 0)).add(10.0);
/// assert_eq!(x, Tensor::from([[10.0, 0.0, 0.0], [11.0, 2.0, 3.0]]));
///
/// // Index tensors and masks; what is named twice adds up.
/// x.slice_mut((0, Tensor::from([1i64, 1]))).add(&Tensor::from([1.0, 2.0]));
/// x.slice_mut(x.gt(9.0)).assign(0.0);
/// assert_eq!(x, Tensor::from([[0.0, 3.0, 0.0], [0.0, 2.0, 3.0]]));
/// ```
pub struct SliceMut<'a> {
    tensor: &'a mut Tensor,
    plan: Plan,
}

impl SliceMut<'_> {
    #[track_caller]
    fn write(self, adds: bool, values: impl Operand) {
        let SliceMut { tensor, plan } = self;
        let values = values.tensor(tensor.dtype());
        if plan.is_addressed() {
            let part = plan.part_of(tensor);
            let written = match plan.only_mask() {
                // One number for all places needs no look at the mask.
                Some((axis, mask)) if values.rank() == 0 => {
                    let behind = part.rank() - axis - mask.rank();
                    let aligned = mask.reshape([mask.shape(), &vec![1; behind]].concat());
                    let new = if adds { &part + &*values } else { values.broadcast_to(part.shape()) };
                    aligned.where_(new, &part)
                }
                _ => plan.address(&part).put("slice_mut", &part, &values, adds),
            };
            return tensor.update(&SLICE_ASSIGN, plan.attrs(), &[&plan.unrolled(&written)]);
        }
        if broadcast(values.shape(), &plan.shape).as_ref() != Some(&plan.shape) {
            let (given, part) = (Shape::from(values.shape()), plan.shape);
            let message = format!("values of shape {given} do not fit a part of shape {part}");
            Error::new(ErrorKind::Shape(vec![given, part]), "slice_mut", message).raise();
        }
        let values = plan.unrolled(&values.broadcast_to(plan.shape.clone()));
        tensor.update(if adds { &SLICE_ADD } else { &SLICE_ASSIGN }, plan.attrs(), &[&values]);
    }

    /// Writes these values, repeated as needed; of several for one place the last stays.
    #[track_caller]
    pub fn assign(self, values: impl Operand) {
        self.write(false, values);
    }

    /// Adds these values, repeated as needed; several for one place add up.
    #[track_caller]
    pub fn add(self, values: impl Operand) {
        self.write(true, values);
    }
}

impl Tensor {
    /// The part of the tensor named by a selection as for [`slice`](Tensor::slice), to be written.
    #[track_caller]
    pub fn slice_mut(&mut self, selection: impl Selection) -> SliceMut<'_> {
        let plan = Plan::of(self.shape(), selection).or_raise();
        SliceMut { tensor: self, plan }
    }

    /// Writes one element, or the values of a part: index assignment.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut x = Tensor::zeros([2, 2]);
    /// x.set((0, 1), 5.0);
    /// assert_eq!(x, Tensor::from([[0.0, 5.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn set(&mut self, selection: impl Selection, values: impl Operand) {
        self.slice_mut(selection).assign(values);
    }

    /// Writes `values` over (or adds them to) a part of memory that the driver found to be unique.
    pub(crate) fn update_part(&mut self, part: impl FnOnce(&Layout) -> Layout, values: &Tensor, add: bool) {
        let spec = self.spec();
        let (dtype, layout) = (spec.dtype, part(&Layout::contiguous(spec.shape)));
        let bytes = self.unique_bytes().expect("the driver found it unique");
        let target = Out { dtype, bytes };
        let part = kernels::Part { offset: layout.offset as usize, shape: &layout.shape, strides: &layout.strides };
        match add {
            true => kernels::add_part(target, part, values.value.view()),
            false => kernels::assign_part(target, part, values.value.view()),
        }
    }
}
