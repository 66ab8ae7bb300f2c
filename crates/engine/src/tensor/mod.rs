//! The tensor: a cheap handle on a value, and its place in the reverse graph.

mod convert;
mod create;
mod mutate;
mod operators;
mod print;
mod shape;

pub use convert::{Nested, Scalar};
pub use mutate::SliceMut;
pub use shape::Shape;

pub(crate) use convert::collect;
pub(crate) use shape::{Layout, broadcast};

use crate::autograd::GradientSlot;
use crate::error::OrRaise;
use crate::interp::{Node, Tracer};
use crate::primitive::{Device, Spec, SpecRef};
use crate::{Error, ErrorKind};
use std::sync::Arc;
pub use wengert_kernels::DType;
use wengert_kernels::dtype::Element;
use wengert_kernels::pool::Block;
use wengert_kernels::view::{Out, View};

/// An n-dimensional array of numbers that can be differentiated.
///
/// A tensor is a value: cloning is cheap, `&mut` methods update in place when nobody else holds the numbers and copy
/// otherwise, so aliases never observe each other's writes.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 2.0, 3.0]).require_grad();
/// let y = (&x * &x).sum();
/// y.backward();
/// assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0, 6.0]));
/// ```
#[derive(Clone)]
pub struct Tensor {
    pub(crate) value: Value,
    /// The record that made it, on the imperative tape.
    pub(crate) link: Option<Arc<Node>>,
    /// Where its gradient is put: the user's handles own it, the reverse graph refers to it weakly.
    pub(crate) slot: Option<Arc<GradientSlot>>,
}

/// The numbers of a tensor, or what stands for them inside a transform.
#[derive(Clone)]
pub(crate) enum Value {
    One(One),
    Array(Arc<Array>),
    Tracer(Arc<Tracer>),
}

/// One element, held without allocation; its shape is `[1; rank]`.
#[derive(Clone, Copy)]
pub(crate) struct One {
    pub bits: u64,
    pub dtype: DType,
    pub rank: u8,
}

/// Several elements, or none, in a shared block of memory.
pub(crate) struct Array {
    pub dtype: DType,
    /// Row-major from the start of the block.
    pub dense: bool,
    pub length: usize,
    /// Shared by results of one shape: most operations keep it.
    pub layout: Arc<Layout>,
    pub block: Block,
}

impl Array {
    fn value(dtype: DType, layout: Layout, block: Block) -> Value {
        let (dense, length) = (layout.offset == 0 && layout.is_contiguous(), layout.shape.elements());
        Value::Array(Arc::new(Array { dtype, dense, length, layout: Arc::new(layout), block }))
    }

    /// The elements in order, for arrays that are dense.
    #[inline]
    pub fn slice<T: Element>(&self) -> &[T] {
        debug_assert!(self.dense);
        &self.block.as_slice()[..self.length]
    }

    /// Whether two dense arrays of one dtype have one shape.
    #[inline]
    pub fn is_like(&self, other: &Array) -> bool {
        self.dense
            && other.dense
            && self.dtype == other.dtype
            && (Arc::ptr_eq(&self.layout, &other.layout) || self.layout.shape == other.layout.shape)
    }

    /// A new array of this one's dtype and shape, which `fill` writes.
    #[inline]
    pub fn new_like<T: Element>(&self, fill: impl FnOnce(&mut [T])) -> Tensor {
        let mut block = Block::new(self.length * size_of::<T>());
        fill(block.as_mut_slice().expect("a new block is unique"));
        let (dtype, length, layout) = (self.dtype, self.length, self.layout.clone());
        Tensor::from(Value::Array(Arc::new(Array { dtype, dense: true, length, layout, block })))
    }
}

const MOST_AXES: usize = 64;
static ONES: [usize; MOST_AXES] = [1; MOST_AXES];
static ZEROS: [isize; MOST_AXES] = [0; MOST_AXES];

impl Value {
    #[inline]
    pub fn spec_ref(&self) -> SpecRef<'_> {
        match self {
            Value::One(one) => SpecRef { shape: &ONES[..one.rank as usize], dtype: one.dtype },
            Value::Array(array) => SpecRef { shape: &array.layout.shape, dtype: array.dtype },
            Value::Tracer(tracer) => SpecRef { shape: &tracer.spec.shape, dtype: tracer.spec.dtype },
        }
    }

    /// A view for kernels; tracers have no numbers to view.
    #[inline]
    pub fn view(&self) -> View<'_> {
        match self {
            Value::One(one) => View {
                dtype: one.dtype,
                bytes: bytemuck::bytes_of(&one.bits),
                offset: 0,
                shape: &ONES[..one.rank as usize],
                strides: &ZEROS[..one.rank as usize],
            },
            Value::Array(array) => View {
                dtype: array.dtype,
                bytes: array.block.bytes(),
                offset: array.layout.offset,
                shape: &array.layout.shape,
                strides: &array.layout.strides,
            },
            Value::Tracer(_) => unreachable!("kernels are never handed a tracer"),
        }
    }
}

impl From<Value> for Tensor {
    #[inline]
    fn from(value: Value) -> Tensor {
        Tensor { value, link: None, slot: None }
    }
}

impl Tensor {
    /// The sizes of the axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).shape(), [2, 3]);
    /// assert!(Tensor::from(1.0).shape().is_empty());
    /// ```
    pub fn shape(&self) -> &[usize] {
        self.value.spec_ref().shape
    }

    /// The kind of the numbers.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.5f32).dtype(), DType::F32);
    /// ```
    pub fn dtype(&self) -> DType {
        self.value.spec_ref().dtype
    }

    /// How many axes there are.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// How many elements there are.
    pub fn elements(&self) -> usize {
        self.shape().iter().product()
    }

    /// Where the numbers live.
    pub fn device(&self) -> Device {
        Device::Cpu
    }

    /// Shape and dtype.
    pub fn spec(&self) -> Spec {
        self.value.spec_ref().to_spec()
    }

    /// The same numbers without a place in the imperative graph.
    #[inline]
    pub(crate) fn plain(&self) -> Tensor {
        Tensor::from(self.value.clone())
    }

    /// Whether it holds numbers and nothing records what is done with it.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.link.is_none() && !matches!(self.value, Value::Tracer(_))
    }

    /// A tensor over existing memory; a single element is copied out of it.
    pub(crate) fn from_array(dtype: DType, layout: Layout, block: Block) -> Tensor {
        debug_assert!(layout.shape.rank() <= MOST_AXES, "at most {MOST_AXES} axes");
        if layout.shape.elements() == 1 {
            let (size, start) = (dtype.size(), layout.offset as usize * dtype.size());
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(&block.bytes()[start..start + size]);
            return Tensor::one(u64::from_le_bytes(bits), dtype, layout.shape.rank());
        }
        Tensor::from(Array::value(dtype, layout, block))
    }

    #[inline]
    pub(crate) fn one(bits: u64, dtype: DType, rank: usize) -> Tensor {
        Tensor::from(Value::One(One { bits, dtype, rank: rank as u8 }))
    }

    /// A new tensor whose row-major memory `fill` writes.
    pub(crate) fn build<R>(spec: &Spec, fill: impl FnOnce(Out<'_>) -> R) -> (Tensor, R) {
        let dtype = spec.dtype;
        if spec.shape.elements() == 1 {
            let mut bits = 0u64;
            let result = fill(Out { dtype, bytes: &mut bytemuck::bytes_of_mut(&mut bits)[..dtype.size()] });
            return (Tensor::one(bits, dtype, spec.shape.rank()), result);
        }
        let mut block = Block::new(spec.bytes());
        let result = fill(Out { dtype, bytes: block.bytes_mut().expect("a new block is unique") });
        (Tensor::from(Array::value(dtype, Layout::contiguous(spec.shape.clone()), block)), result)
    }

    /// Another view of the same memory.
    pub(crate) fn with_layout(&self, change: impl FnOnce(&Layout) -> Layout) -> Tensor {
        match &self.value {
            Value::One(one) => {
                let layout = change(&Layout::contiguous(Shape::from(self.shape())));
                if layout.shape.elements() == 1 {
                    return Tensor::one(one.bits, one.dtype, layout.shape.rank());
                }
                let mut block = Block::new(8);
                let bytes = block.bytes_mut().expect("a new block is unique");
                bytes.copy_from_slice(&one.bits.to_le_bytes());
                Tensor::from_array(one.dtype, layout, block)
            }
            Value::Array(array) => Tensor::from_array(array.dtype, change(&array.layout), array.block.clone()),
            Value::Tracer(_) => unreachable!("views are made of numbers"),
        }
    }

    /// Whether the memory can be seen in another layout without copying.
    pub(crate) fn layout_allows(&self, change: impl FnOnce(&Layout) -> Option<Layout>) -> bool {
        match &self.value {
            Value::Array(array) => change(&array.layout).is_some(),
            _ => true,
        }
    }

    /// Whether the numbers lie row-major without gaps.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::zeros([2, 3]).contiguous();
    /// assert!(x.is_contiguous() && !x.t().is_contiguous());
    /// ```
    pub fn is_contiguous(&self) -> bool {
        match &self.value {
            Value::Array(array) => array.layout.is_contiguous(),
            _ => true,
        }
    }

    /// The same value, its numbers row-major without gaps.
    pub fn contiguous(&self) -> Tensor {
        if self.is_contiguous() {
            return self.clone();
        }
        let (copy, ()) = Tensor::build(&self.spec(), |out| wengert_kernels::map::copy(self.value.view(), out));
        Tensor { value: copy.value, link: self.link.clone(), slot: self.slot.clone() }
    }

    /// The numbers themselves, looking through derivative levels; symbolic and batched tensors have none to read.
    pub(crate) fn numbers(&self, reader: &str) -> Result<&Value, Error> {
        let mut tensor = self;
        loop {
            match &tensor.value {
                Value::Tracer(tracer) => tensor = tracer.primal(reader)?,
                value => return Ok(value),
            }
        }
    }

    /// The only element, as f64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!((Tensor::from(2.0) * 3.0).item(), 6.0);
    /// ```
    #[track_caller]
    pub fn item(&self) -> f64 {
        self.try_item().or_raise()
    }

    /// The only element, as f64, or why it cannot be read.
    pub fn try_item(&self) -> Result<f64, Error> {
        match self.numbers("item")? {
            Value::One(one) => Ok(f64::from_bits(wengert_kernels::convert_bits(one.bits, one.dtype, DType::F64))),
            value => {
                let shape = Shape::from(value.spec_ref().shape);
                let message = format!("needs one element, got shape {shape}");
                Err(Error::new(ErrorKind::Shape(vec![shape]), "item", message).help("to_vec() reads all elements"))
            }
        }
    }

    /// Whether two handles share one buffer, which no writer can tell from outside; for tests of copy-on-write.
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        match (&self.value, &other.value) {
            (Value::Array(a), Value::Array(b)) => a.block.same(&b.block),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_two_words_and_a_handle_four() {
        assert_eq!(size_of::<Value>(), 16);
        assert_eq!(size_of::<Tensor>(), 32);
    }
}
