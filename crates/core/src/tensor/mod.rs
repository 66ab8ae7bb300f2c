//! The tensor: a cheap handle on a value, with its node in the reverse graph.

mod convert;
mod create;
pub mod device;
mod diagnostics;
mod exchange;
mod mutate;
#[cfg(feature = "ndarray")]
mod ndarray;
mod operand;
mod operators;
mod over;
mod print;
mod shape;
mod slices;

pub use convert::{Nested, Scalar};
pub use create::{Arange, Steps};
pub use operand::{Operand, binary, binary_owned, common_shape};
pub use over::{Over, keepdim};
pub use shape::{AnyAxis, Shape};

pub use crate::types::{Array, Dense, One, Remote, Tensor, Value};
pub use crate::{computing, computing_float};
pub use shape::Layout;
use shape::MOST_AXES;
pub use shape::{broadcast, inverse};
pub use slices::{Laid, Numbers, collected, fill, fill_from, memory_of, numbers};

/// (theme, source file) of the constructors and conversions, from which the documentation is generated.
#[cfg(feature = "cases")]
pub static CONSTRUCTORS: &[(&str, &str)] =
    &[("creation", include_str!("create.rs")), ("conversion", include_str!("convert.rs"))];

use crate::error::OrRaise;
use crate::primitive::{Outputs, Spec, SpecRef};
use crate::rules::checked_axis;
use crate::{DType, Error, ErrorKind};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use wengert_kernels::dtype::Element;
use wengert_kernels::pool::Block;
use wengert_kernels::view::{Out, View};

impl Dense {
    /// The mark and size words of a vector or matrix of this dtype and shape, or `None` for a single element or another rank.
    #[inline]
    fn label(dtype: DType, shape: &[usize]) -> Option<(u32, [usize; 3])> {
        let (rows, columns) = match *shape {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        let mark = (shape.len() as u32) << 8 | dtype as u32;
        ((rows, columns) != (1, 1)).then_some((mark, [rows, columns, 1]))
    }

    #[inline]
    pub fn dtype(&self) -> DType {
        DType::ALL[(self.0.mark() & 0xff) as usize]
    }

    #[inline]
    pub fn shape(&self) -> &[usize] {
        let rank = (self.0.mark() >> 8) as usize;
        &self.0.words()[2 - rank..2]
    }

    #[inline]
    fn strides(&self) -> &[isize] {
        let rank = (self.0.mark() >> 8) as usize;
        bytemuck::cast_slice(&self.0.words()[3 - rank..])
    }

    /// Whether dtype and shape are equal.
    #[inline]
    pub fn is_like(&self, other: &Dense) -> bool {
        self.0.mark() == other.0.mark() && self.0.words() == other.0.words()
    }

    /// Whether a call on so few elements is mostly overhead, so that shortcuts past views and tiles matter.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.0.len() <= 8 * 1024
    }

    #[inline]
    pub fn slice<T: Element>(&self) -> &[T] {
        self.0.as_slice()
    }

    /// Two live values with the same identity are the same value.
    pub fn identity(&self) -> usize {
        self.0.identity()
    }

    /// The elements for writing, if no other handle shares them.
    #[inline]
    pub fn slice_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        self.0.as_mut_slice()
    }

    /// A new tensor of this dtype and shape, which `fill` writes.
    #[inline]
    pub fn new_like<T: Element>(&self, fill: impl FnOnce(&mut [T])) -> Tensor {
        Tensor::from(Value::Dense(self.alike(fill)))
    }

    /// A new value of this dtype and shape, which `fill` writes.
    #[inline]
    pub fn alike<T: Element>(&self, fill: impl FnOnce(&mut [T])) -> Dense {
        let mut block = Block::labelled(self.0.len(), self.0.mark(), *self.0.words());
        fill(block.as_mut_slice().expect("a new block is unique"));
        Dense(block)
    }
}

static ONES: [usize; MOST_AXES] = [1; MOST_AXES];
static ZEROS: [isize; MOST_AXES] = [0; MOST_AXES];

impl Value {
    /// Whether shortcuts past views and tiles apply to both: one element, or short rows of one shape, in f64 or f32.
    #[inline]
    pub fn is_short_like(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::One(a), Value::One(b)) => a.dtype == b.dtype && matches!(a.dtype, DType::F64 | DType::F32),
            (Value::Dense(a), Value::Dense(b)) => {
                a.is_like(b) && a.is_short() && matches!(a.dtype(), DType::F64 | DType::F32)
            }
            _ => false,
        }
    }

    /// Whether the shapes are equal; for values of the same kind this is mostly a cheap comparison.
    #[inline]
    pub fn has_shape_of(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::One(a), Value::One(b)) => a.rank == b.rank,
            (Value::Dense(a), Value::Dense(b)) if a.is_like(b) => true,
            _ => self.spec_ref().shape == other.spec_ref().shape,
        }
    }

    #[inline]
    pub fn spec_ref(&self) -> SpecRef<'_> {
        match self {
            Value::One(one) => SpecRef { shape: &ONES[..one.rank as usize], dtype: one.dtype },
            Value::Dense(dense) => SpecRef { shape: dense.shape(), dtype: dense.dtype() },
            Value::Array(array) => SpecRef { shape: &array.layout.shape, dtype: array.dtype },
            Value::Device(remote) => remote.spec.as_ref(),
            Value::Tracer(tracer) => SpecRef { shape: &tracer.spec.shape, dtype: tracer.spec.dtype },
        }
    }

    /// A view for kernels; tracers have no values to view, and those of a device are copied first.
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
            Value::Dense(dense) => View {
                dtype: dense.dtype(),
                bytes: dense.0.bytes(),
                offset: 0,
                shape: dense.shape(),
                strides: dense.strides(),
            },
            Value::Array(array) => View {
                dtype: array.dtype,
                bytes: array.block.bytes(),
                offset: array.layout.offset,
                shape: &array.layout.shape,
                strides: &array.layout.strides,
            },
            Value::Device(remote) => remote.host().value.view(),
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

/// Who holds the elements of a tensor.
pub(crate) struct Holders {
    /// Which block it is.
    pub block: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// The references to it.
    pub holders: usize,
    /// The reference that this tensor shares with others, and how many do.
    pub handle: Option<(usize, usize)>,
}

impl Tensor {
    /// The sizes of the axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).shape(), [2, 3]);
    /// assert!(Tensor::from(1.0).shape().is_empty());
    /// ```
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.value.spec_ref().shape
    }

    /// The dtype of the elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.5f32).dtype(), DType::F32);
    /// ```
    #[inline]
    pub fn dtype(&self) -> DType {
        self.value.spec_ref().dtype
    }

    /// The number of axes.
    #[doc(alias = "ndim")]
    #[doc(alias = "dim")]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The size of one axis; negative axes count from the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).size(-1), 3);
    /// ```
    #[track_caller]
    pub fn size(&self, axis: impl AnyAxis) -> usize {
        self.shape()[checked_axis("size", axis.signed(), self.shape()).or_raise()]
    }

    /// The number of elements.
    #[doc(alias = "numel")]
    #[doc(alias = "len")]
    pub fn elements(&self) -> usize {
        shape::elements(self.shape())
    }

    /// Shape and dtype.
    pub fn spec(&self) -> Spec {
        self.value.spec_ref().to_spec()
    }

    /// The same value without its node in the imperative graph.
    #[inline]
    #[doc(hidden)]
    pub fn plain(&self) -> Tensor {
        Tensor::from(self.value.clone())
    }

    /// The block that holds the elements, unless they are held inline or by a transform.
    pub(crate) fn holders(&self) -> Option<Holders> {
        let (block, handle) = match &self.value {
            Value::One(_) | Value::Device(_) | Value::Tracer(_) => return None,
            Value::Dense(dense) => (&dense.0, None),
            Value::Array(array) => (&array.block, Some((Arc::as_ptr(array).addr(), Arc::strong_count(array)))),
        };
        Some(Holders { block: block.identity(), bytes: block.len(), holders: block.holders(), handle })
    }

    /// Whether it holds values and no transform or tape records operations on it.
    #[inline]
    #[doc(hidden)]
    pub fn is_plain(&self) -> bool {
        self.link.is_none() && !matches!(self.value, Value::Tracer(_))
    }

    /// Whether its numbers are in this machine's memory and no transform or tape records operations on it: shortcuts may read them.
    #[inline]
    #[doc(hidden)]
    pub fn is_at_hand(&self) -> bool {
        self.link.is_none() && !matches!(self.value, Value::Tracer(_) | Value::Device(_))
    }

    /// A tensor over existing memory; a single element is copied out.
    #[doc(hidden)]
    pub fn from_array(dtype: DType, layout: Layout, block: Block) -> Tensor {
        debug_assert!(layout.shape.rank() <= MOST_AXES, "at most {MOST_AXES} axes");
        if layout.shape.elements() == 1 {
            let (size, start) = (dtype.size(), layout.offset as usize * dtype.size());
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(&block.bytes()[start..start + size]);
            return Tensor::one(u64::from_le_bytes(bits), dtype, layout.shape.rank());
        }
        Tensor::from(Value::Array(Arc::new(Array { dtype, layout, block })))
    }

    #[inline]
    #[doc(hidden)]
    pub fn one(bits: u64, dtype: DType, rank: usize) -> Tensor {
        Tensor::from(Value::One(One { bits, dtype, rank: rank as u32 }))
    }

    /// A new tensor whose row-major memory `fill` writes.
    #[doc(hidden)]
    pub fn build<R>(spec: &Spec, fill: impl FnOnce(Out<'_>) -> R) -> (Tensor, R) {
        let mut tensor = Tensor::blank(spec);
        let result = fill(tensor.out());
        (tensor, result)
    }

    /// New tensors whose row-major memory `fill` writes.
    #[doc(hidden)]
    pub fn build_all<R>(specs: &[Spec], fill: impl FnOnce(&mut [Out<'_>]) -> R) -> (Outputs, R) {
        let mut tensors: Outputs = specs.iter().map(Tensor::blank).collect();
        let mut outs: SmallVec<[Out<'_>; 2]> = tensors.iter_mut().map(Tensor::out).collect();
        let result = fill(&mut outs);
        drop(outs);
        (tensors, result)
    }

    /// A new row-major tensor whose elements are not written yet.
    #[doc(hidden)]
    pub fn blank(spec: &Spec) -> Tensor {
        let Spec { dtype, ref shape } = *spec;
        if shape.elements() == 1 {
            return Tensor::one(0, dtype, shape.rank());
        }
        shape.check("allocate").or_raise();
        if let Some((mark, words)) = Dense::label(dtype, shape) {
            return Tensor::from(Value::Dense(Dense(Block::labelled(spec.bytes(), mark, words))));
        }
        Tensor::from_array(dtype, Layout::contiguous(shape.clone()), Block::new(spec.bytes()))
    }

    /// A tensor over the row-major elements of a block that has no other reference; a single element is copied out.
    pub(crate) fn from_block(spec: Spec, block: Block) -> Tensor {
        let Spec { dtype, shape } = spec;
        match Dense::label(dtype, &shape) {
            Some((mark, words)) => Tensor::from(Value::Dense(Dense(block.with_label(mark, words)))),
            None => Tensor::from_array(dtype, Layout::contiguous(shape), block),
        }
    }

    /// The bytes of elements that lie row-major without gaps.
    #[doc(hidden)]
    pub fn row_major_bytes(&self) -> &[u8] {
        self.value.view().contiguous_bytes().expect("the numbers are contiguous")
    }

    /// Whether the elements may be overwritten: the library owns the memory and no other handle shares it.
    #[doc(hidden)]
    pub fn is_writable(&mut self) -> bool {
        matches!(self.value, Value::One(_)) || self.unique_bytes().is_some()
    }

    /// The memory of a tensor that [is writable](Tensor::is_writable).
    #[doc(hidden)]
    pub fn out(&mut self) -> Out<'_> {
        let dtype = self.dtype();
        match self.value {
            Value::One(ref mut one) => Out { dtype, bytes: &mut bytemuck::bytes_of_mut(&mut one.bits)[..dtype.size()] },
            _ => Out { dtype, bytes: self.unique_bytes().expect("new memory is unique") },
        }
    }

    /// Layout and memory in this machine; a single element has none, and neither has a tracer.
    pub(crate) fn memory(&self) -> Option<(Cow<'_, Layout>, &Block)> {
        match &self.value {
            Value::Dense(dense) => Some((Cow::Owned(Layout::contiguous(Shape::from(dense.shape()))), &dense.0)),
            Value::Array(array) => Some((Cow::Borrowed(&array.layout), &array.block)),
            Value::Device(remote) => remote.host().memory(),
            Value::One(_) | Value::Tracer(_) => None,
        }
    }

    /// Another view of the same memory, if a layout can express it.
    #[doc(hidden)]
    pub fn viewed(&self, change: impl FnOnce(&Layout) -> Option<Layout>) -> Option<Tensor> {
        let dtype = self.dtype();
        if let Value::Device(remote) = &self.value {
            return remote.host().viewed(change);
        }
        if let Some((layout, block)) = self.memory() {
            let changed = change(&layout)?;
            let same = changed == *layout;
            return Some(if same { self.plain() } else { Tensor::from_array(dtype, changed, block.clone()) });
        }
        let Value::One(one) = &self.value else { unreachable!("views are made of numbers") };
        let layout = change(&Layout::contiguous(Shape::from(self.shape())))?;
        if layout.shape.elements() == 1 {
            return Some(Tensor::one(one.bits, dtype, layout.shape.rank()));
        }
        let mut block = Block::new(8);
        block.bytes_mut().expect("a new block is unique").copy_from_slice(&one.bits.to_le_bytes());
        Some(Tensor::from_array(dtype, layout, block))
    }

    /// Another view of the same memory.
    #[doc(hidden)]
    pub fn with_layout(&self, change: impl FnOnce(&Layout) -> Layout) -> Tensor {
        self.viewed(|layout| Some(change(layout))).expect("there is one")
    }

    /// The bytes of row-major memory that this handle owns alone.
    #[doc(hidden)]
    pub fn unique_bytes(&mut self) -> Option<&mut [u8]> {
        match &mut self.value {
            Value::Dense(dense) => dense.0.bytes_mut(),
            Value::Array(array) => {
                let array = Arc::get_mut(array)?;
                let dense = array.layout.offset == 0 && array.layout.is_contiguous();
                let length = array.layout.shape.elements() * array.dtype.size();
                array.block.bytes_mut().filter(|_| dense).map(|bytes| &mut bytes[..length])
            }
            Value::One(_) | Value::Device(_) | Value::Tracer(_) => None,
        }
    }

    /// Whether a layout can express the change without a copy.
    #[doc(hidden)]
    pub fn layout_allows(&self, change: impl FnOnce(&Layout) -> Option<Layout>) -> bool {
        self.memory().is_none_or(|(layout, _)| change(&layout).is_some())
    }

    /// Whether the elements lie row-major without gaps.
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

    /// The same value with its elements row-major without gaps.
    pub fn contiguous(&self) -> Tensor {
        if self.is_contiguous() {
            return self.clone();
        }
        let (copy, ()) = Tensor::build(&self.spec(), |out| wengert_kernels::map::copy(self.value.view(), out));
        Tensor { value: copy.value, link: self.link.clone(), slot: self.slot.clone() }
    }

    /// The underlying value, seen through derivative levels; symbolic and batched tensors have none to read.
    #[doc(hidden)]
    pub fn numbers(&self, reader: &str) -> Result<&Value, Error> {
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

    /// The only element, as f64, or an error if it cannot be read.
    pub fn try_item(&self) -> Result<f64, Error> {
        match self.numbers("item")? {
            Value::Device(remote) => remote.try_host()?.try_item(),
            Value::One(one) => Ok(f64::from_bits(wengert_kernels::convert_bits(one.bits, one.dtype, DType::F64))),
            value => {
                let shape = Shape::from(value.spec_ref().shape);
                let message = format!("needs one element, got shape {shape}");
                Err(Error::new(ErrorKind::Shape(vec![shape]), "item", message).help("to_vec() reads all elements"))
            }
        }
    }

    /// Whether two handles share one buffer. Writes never reveal this; it is meant for tests of copy-on-write.
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        match (self.memory(), other.memory()) {
            (Some((_, a)), Some((_, b))) => a.same(b),
            _ => false,
        }
    }
}

/// The elements of a tensor as kernels see them; `None` for a tensor inside a transform.
///
/// ```
/// use wengert::{prelude::*, primitive::view_of};
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(view_of(&x.t()).unwrap().at_linear::<f64>(1), 3.0);
/// ```
pub fn view_of(tensor: &Tensor) -> Option<View<'_>> {
    match &tensor.value {
        Value::Tracer(_) => None,
        value => Some(value.view()),
    }
}
