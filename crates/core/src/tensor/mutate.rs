//! Mutation: `&mut` methods that are always safe to use.
//!
//! A tensor is a value. An update writes in place when no other handle shares the memory and copies otherwise, so a value saved for
//! backward is never overwritten and aliases never observe each other's writes. Under grad mode the handle moves on to the new value's node
//! in the graph; inside `no_grad` a leaf stays a leaf.

use super::{Layout, Operand, Shape, Tensor, Value, common_shape};
use crate::autograd::{GradientSlot, modes};
use crate::bind::{bind_owned, bind1};
use crate::error::OrRaise;
use crate::ground::elementwise::{add::ADD, div::DIV, fmod::FMOD, mul::MUL, sub::SUB};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Primitive};
use crate::{DType, Error, ErrorKind};
use smallvec::SmallVec;
use std::ops::{AddAssign, DivAssign, MulAssign, RemAssign, SubAssign};
use std::sync::Arc;
use wengert_kernels::map as kernels;
use wengert_kernels::view::Out;

impl Tensor {
    /// Replaces this value by `op(value, rest..)`; the memory is handed over so that it can be reused.
    #[doc(hidden)]
    #[track_caller]
    pub fn update(&mut self, op: &'static dyn Primitive, attrs: Attrs, rest: &[&Tensor]) {
        {
            // A failing update must leave the handle unchanged, so errors are raised here.
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
                false => {
                    let slot = self.slot.take();
                    *self = updated;
                    self.orphan(slot);
                }
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
        self.orphan(slot);
    }

    /// Turns a leaf with a gradient slot into a result computed from it.
    #[track_caller]
    fn orphan(&mut self, slot: Option<Arc<GradientSlot>>) {
        if let Some(slot) = slot {
            self.slot = Some(GradientSlot::updated(slot, location::shown(location::resolve(Line::caller()))));
        }
    }

    /// Gives the same leaf another value.
    #[doc(hidden)]
    pub fn replace_leaf_value(&mut self, value: Value) {
        self.value = value;
        if let Some(slot) = &self.slot {
            slot.advance(&self.value);
        }
    }
}

impl Tensor {
    /// Replaces this value by `op(value, other)`, with the right side broadcast to this shape.
    #[track_caller]
    #[doc(hidden)]
    pub fn assign_with(&mut self, op: &'static dyn Primitive, attrs: Attrs, other: impl Operand) {
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

impl Tensor {
    /// Overwrites a part of the memory with `values`, or adds them to it. The driver has checked that no other handle shares the memory.
    #[doc(hidden)]
    pub fn update_part(&mut self, part: impl FnOnce(&Layout) -> Layout, values: &Tensor, add: bool) {
        let spec = self.spec();
        let (dtype, layout) = (spec.dtype, part(&Layout::contiguous(spec.shape)));
        let bytes = self.unique_bytes().expect("the driver found it unique");
        let target = Out { dtype, bytes };
        let part =
            kernels::StridedPart { offset: layout.offset as usize, shape: &layout.shape, strides: &layout.strides };
        match add {
            true => kernels::add_part(target, part, values.value.view()),
            false => kernels::assign_part(target, part, values.value.view()),
        }
    }
}
