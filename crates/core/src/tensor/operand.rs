//! Operands of arithmetic: tensors, references and Rust numbers.

use super::{Value, broadcast};
use crate::bind::{bind_owned, bind1};
use crate::primitive::{Attrs, Primitive};
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use std::borrow::Cow;
use wengert_kernels::convert_bits;

/// A tensor, a reference to one, or a number, which takes the dtype of the other operand.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!((&x * 2.0).dtype(), DType::F32);
/// assert_eq!(x.gt(1).where_(&x, 0.5), Tensor::from([0.5f32, 2.0]));
/// ```
pub trait Operand {
    /// Its dtype, or `None` if it adapts to the other side.
    fn own_dtype(&self) -> Option<DType>;
    /// The operand as a tensor; a number is converted to `dtype`.
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
    ($($number:ty => $literal:ident as $wide:ty),*) => {$(
        impl Operand for $number {
            fn own_dtype(&self) -> Option<DType> { None }
            #[track_caller]
            fn tensor(&self, dtype: DType) -> Cow<'_, Tensor> { Cow::Owned($literal(*self as $wide, dtype)) }
        }
    )*};
}

number_operands!(f64 => real as f64, f32 => real as f64, i64 => whole as i64, i32 => whole as i64);

/// A rank-0 tensor; an error if the number has a fraction and the dtype is an integer.
#[track_caller]
fn real(number: f64, dtype: DType) -> Tensor {
    if dtype.is_float() {
        return Tensor::one(convert_bits(number.to_bits(), DType::F64, dtype), dtype, 0);
    }
    // Between -2^63 and 2^63, every integral f64 is exactly an i64.
    match number.fract() == 0.0 && number.abs() < 9.2e18 {
        true => whole(number as i64, dtype),
        false => does_not_fit(number, dtype),
    }
}

/// A rank-0 tensor; an error if the integer is out of range for an integer dtype.
#[track_caller]
fn whole(number: i64, dtype: DType) -> Tensor {
    let fits = match dtype {
        DType::I32 => i32::try_from(number).is_ok(),
        DType::U8 => u8::try_from(number).is_ok(),
        DType::Bool => number == 0 || number == 1,
        _ => true,
    };
    if !fits {
        does_not_fit(number, dtype);
    }
    Tensor::one(convert_bits(number as u64, DType::I64, dtype), dtype, 0)
}

#[track_caller]
fn does_not_fit(number: impl std::fmt::Display, dtype: DType) -> ! {
    let message = format!("the number {number} does not fit a tensor of {dtype}");
    Error::new(ErrorKind::DType(vec![dtype]), "literal", message)
        .help("convert the tensor first, for example with .cast(DType::F64)")
        .raise()
}

/// Binds a two-operand elementwise primitive after broadcasting both sides to one shape.
#[inline]
#[track_caller]
pub fn binary(op: &'static dyn Primitive, attrs: Attrs, a: &Tensor, b: &Tensor) -> Tensor {
    if a.value.has_shape_of(&b.value) {
        return bind1(op, attrs, &[a, b]);
    }
    let shape = common_shape(op.name(), a, b);
    bind1(op, attrs, &[&a.broadcast_to(&shape), &b.broadcast_to(&shape)])
}

/// [`binary`] that takes over the first operand: a long one is overwritten if no other handle shares it.
#[inline]
#[track_caller]
pub fn binary_owned(op: &'static dyn Primitive, attrs: Attrs, a: Tensor, b: &Tensor) -> Tensor {
    match &a.value {
        Value::Dense(dense) if !dense.is_short() && a.value.has_shape_of(&b.value) => bind_owned(op, attrs, a, &[b]),
        _ => binary(op, attrs, &a, b),
    }
}

/// The broadcast shape of both, or an error that shows the two shapes.
#[track_caller]
pub fn common_shape(name: &str, a: &Tensor, b: &Tensor) -> Shape {
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
