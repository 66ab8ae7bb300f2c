//! What arithmetic accepts: tensors, references and Rust numbers.

use crate::bind::bind1;
use crate::primitive::{Attrs, Primitive};
use crate::tensor::broadcast;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use std::borrow::Cow;
use wengert_kernels::convert_bits;

/// A tensor, a reference to one, or a number, which takes the dtype of the tensor it meets.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!((&x * 2.0).dtype(), DType::F32);
/// assert_eq!(x.gt(1).where_(&x, 0.5), Tensor::from([0.5f32, 2.0]));
/// ```
pub trait Operand {
    /// Its dtype, unless it adapts to the other side.
    fn own_dtype(&self) -> Option<DType>;
    /// The tensor, a number converted to `dtype`.
    #[track_caller]
    fn tensor(&self, dtype: DType) -> Cow<'_, Tensor>;
}

impl Operand for Tensor {
    fn own_dtype(&self) -> Option<DType> {
        Some(self.dtype())
    }
    fn tensor(&self, _dtype: DType) -> Cow<'_, Tensor> {
        Cow::Borrowed(self)
    }
}

impl Operand for &Tensor {
    fn own_dtype(&self) -> Option<DType> {
        Some(self.dtype())
    }
    fn tensor(&self, _dtype: DType) -> Cow<'_, Tensor> {
        Cow::Borrowed(self)
    }
}

macro_rules! number_operands {
    ($($number:ty),*) => {$(
        impl Operand for $number {
            fn own_dtype(&self) -> Option<DType> { None }
            #[track_caller]
            fn tensor(&self, dtype: DType) -> Cow<'_, Tensor> { Cow::Owned(literal(*self as f64, dtype)) }
        }
    )*};
}

number_operands!(f64, f32, i64, i32);

/// A rank-0 tensor; a fraction does not fit an integer tensor.
#[track_caller]
fn literal(number: f64, dtype: DType) -> Tensor {
    if !dtype.is_float() && number.fract() != 0.0 {
        let message = format!("the number {number} does not fit a tensor of {dtype}");
        Error::new(ErrorKind::DType(vec![DType::F64, dtype]), "literal", message)
            .help("convert the tensor first, for example with .cast(DType::F64)")
            .raise();
    }
    Tensor::one(convert_bits(number.to_bits(), DType::F64, dtype), dtype, 0)
}

/// Binds a two-operand elementwise primitive after broadcasting both sides to one shape.
#[inline]
#[track_caller]
pub(crate) fn binary(op: &'static dyn Primitive, attrs: Attrs, a: &Tensor, b: &Tensor) -> Tensor {
    if a.shape() == b.shape() {
        return bind1(op, attrs, &[a, b]);
    }
    let shape = common_shape(op.name(), a, b);
    bind1(op, attrs, &[&a.broadcast_to(&shape), &b.broadcast_to(&shape)])
}

/// The broadcast shape, or an error that shows both.
#[track_caller]
pub(crate) fn common_shape(name: &str, a: &Tensor, b: &Tensor) -> Shape {
    if let Some(shape) = broadcast(a.shape(), b.shape()) {
        return shape;
    }
    let (left, right) = (Shape::from(a.shape()), Shape::from(b.shape()));
    let message = format!("shapes {left} and {right} do not broadcast");
    let help = match left.iter().rev().eq(right.iter()) && left.rank() == 2 {
        true => "one side transposed has the shape of the other",
        false => "sizes must agree from the last axis backward, or be 1; reshape one side",
    };
    Error::new(ErrorKind::Shape(vec![left, right]), name, message).help(help).raise()
}
