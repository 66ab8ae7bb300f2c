//! Arithmetic operators on tensors, references and Rust numbers.

use super::{Operand, Shape, Tensor, binary, binary_owned};
use crate::bind::bind_owned;
use crate::error::OrRaise;
use crate::ground::elementwise::{add::ADD, div::DIV, fmod::FMOD, mul::MUL, neg::NEG, sub::SUB};
use crate::primitive::{Attrs, Primitive};
use crate::{DType, Error, ErrorKind};
use std::iter::Sum;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

/// The right side is any operand. A single impl lets the compiler infer the result's type before the literal's.
macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident) => {
        impl<T: Operand> $trait<T> for &Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                binary(&$op, Attrs::new(), self, &other.tensor(self.dtype()))
            }
        }
        impl<T: Operand> $trait<T> for Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                let dtype = self.dtype();
                binary_owned(&$op, Attrs::new(), self, &other.tensor(dtype))
            }
        }
        operator!(@number $trait, $method, $op, f64, Tensor);
        operator!(@number $trait, $method, $op, f64, &Tensor);
        operator!(@number $trait, $method, $op, i64, Tensor);
        operator!(@number $trait, $method, $op, i64, &Tensor);
    };
    (@number $trait:ident, $method:ident, $op:ident, $number:ty, $tensor:ty) => {
        impl $trait<$tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: $tensor) -> Tensor {
                binary(&$op, Attrs::new(), &self.tensor(other.dtype()), &other)
            }
        }
    };
}

operator!(Add, add, ADD);
operator!(Sub, sub, SUB);
operator!(Mul, mul, MUL);
operator!(Div, div, DIV);
// As for Rust's numbers: the remainder has the sign of the dividend.
operator!(Rem, rem, FMOD);

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        crate::bind::bind1(&NEG, Attrs::new(), &[self])
    }
}

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        -&self
    }
}

/// Logic on booleans: `!mask`, `a & b`, `a | b`, `a ^ b`.
macro_rules! logic {
    ($($trait:ident $method:ident |$a:ident, $b:ident| $result:expr;)*) => {$(
        logic!(@sides $trait $method |$a, $b| $result; &Tensor, &Tensor);
        logic!(@sides $trait $method |$a, $b| $result; &Tensor, Tensor);
        logic!(@sides $trait $method |$a, $b| $result; Tensor, &Tensor);
        logic!(@sides $trait $method |$a, $b| $result; Tensor, Tensor);
    )*};
    (@sides $trait:ident $method:ident |$a:ident, $b:ident| $result:expr; $left:ty, $right:ty) => {
        impl $trait<$right> for $left {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: $right) -> Tensor {
                let ($a, $b): (&Tensor, &Tensor) = (&self, &other);
                expect_truth(stringify!($method), $b.dtype()).or_raise();
                $result
            }
        }
    };
}

logic! {
    BitAnd bitand |a, b| a.where_(b, b.zeros_like());
    BitOr bitor |a, b| a.where_(b.ones_like(), b);
    BitXor bitxor |a, b| a.not_equal(b);
}

fn expect_truth(name: &str, dtype: DType) -> Result<(), Error> {
    if dtype == DType::Bool {
        return Ok(());
    }
    let message = format!("needs booleans, got {dtype}");
    Err(Error::new(ErrorKind::DType(vec![dtype]), name, message).help("compare first, for example with .not_equal(0)"))
}

impl Not for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        expect_truth("not", self.dtype()).or_raise();
        self.equal(0)
    }
}

impl Not for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        !&self
    }
}

/// The sum of all items; for an empty iterator, the scalar 0 of dtype f64.
impl Sum for Tensor {
    fn sum<I: Iterator<Item = Tensor>>(mut tensors: I) -> Tensor {
        let first = tensors.next().unwrap_or_else(|| Tensor::from(0.0));
        tensors.fold(first, |sum, term| sum + term)
    }
}

/// The sum of all items; for an empty iterator, the scalar 0 of dtype f64.
impl<'a> Sum<&'a Tensor> for Tensor {
    fn sum<I: Iterator<Item = &'a Tensor>>(tensors: I) -> Tensor {
        tensors.cloned().sum()
    }
}

impl Tensor {
    /// Adds one more term to this sum, in place if no other handle shares it.
    #[inline]
    #[doc(hidden)]
    pub fn accumulate(&mut self, term: &Tensor) {
        if self.is_at_hand() && term.is_at_hand() {
            if ADD.update_direct(self, term) {
                return;
            }
            if let Some(sum) = ADD.eval_direct(&[self, term]) {
                *self = sum;
                return;
            }
        }
        let sum = std::mem::replace(self, Tensor::one(0, DType::F64, 0));
        *self = bind_owned(&ADD, Attrs::new(), sum, &[term]);
    }

    /// Whether any element is NaN; false for symbolic tensors, which have no elements.
    #[doc(hidden)]
    pub fn has_nan(&self) -> bool {
        self.dtype().is_float()
            && self
                .numbers("has_nan")
                .is_ok_and(|value| Tensor::from(value.clone()).to_f64_vec().iter().any(|number| number.is_nan()))
    }

    /// Whether every element is within `tolerance` of the other's, relative to the larger of 1 and its absolute value. NaN equals NaN, and
    /// infinities equal themselves.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(Tensor::from([1.0, 2.0]).all_close(&Tensor::from([1.0, 2.0 + 1e-13]), 1e-12));
    /// assert!(!Tensor::from(1.0).all_close(&Tensor::from(1.1), 1e-12));
    /// ```
    #[track_caller]
    pub fn all_close(&self, other: &Tensor, tolerance: f64) -> bool {
        let close = |(&x, &y): (&f64, &f64)| {
            let size = x.abs().max(y.abs()).max(1.0);
            x == y || (x.is_nan() && y.is_nan()) || (size.is_finite() && (x - y).abs() <= tolerance * size)
        };
        let (a, b) = (self.read("all_close"), other.read("all_close"));
        a.shape() == b.shape() && a.to_f64_vec().iter().zip(&b.to_f64_vec()).all(close)
    }

    /// Whether every element differs from the other's by at most `absolute + relative * |other|`, as in NumPy's and PyTorch's `allclose`.
    /// NaN is close to nothing, infinities to themselves.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([100.0, 0.0]), Tensor::from([100.001, 1e-9]));
    /// assert!(x.all_close_within(&y, 1e-4, 1e-8) && !x.all_close_within(&y, 1e-6, 1e-8));
    /// ```
    #[track_caller]
    pub fn all_close_within(&self, other: &Tensor, relative: f64, absolute: f64) -> bool {
        let close =
            |(&x, &y): (&f64, &f64)| x == y || (y.is_finite() && (x - y).abs() <= absolute + relative * y.abs());
        let (a, b) = (self.read("all_close"), other.read("all_close"));
        a.shape() == b.shape() && a.to_f64_vec().iter().zip(&b.to_f64_vec()).all(close)
    }

    /// The greatest absolute difference between corresponding elements; NaN if one is NaN, 0 for empty tensors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 5.0]).max_abs_difference(&Tensor::from([1.5, 5.0])), 0.5);
    /// ```
    #[track_caller]
    pub fn max_abs_difference(&self, other: &Tensor) -> f64 {
        let (a, b) = (self.read("max_abs_difference"), other.read("max_abs_difference"));
        if a.shape() != b.shape() {
            let shapes = vec![Shape::from(a.shape()), Shape::from(b.shape())];
            let message = format!("shapes {} and {} differ", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "max_abs_difference", message).raise();
        }
        let distance = |(x, y): (&f64, &f64)| if x == y { 0.0 } else { (x - y).abs() };
        // Once NaN, the maximum stays NaN.
        let greater = |most: f64, x: f64| if x > most || x.is_nan() { x } else { most };
        a.to_f64_vec().iter().zip(&b.to_f64_vec()).map(distance).fold(0.0, greater)
    }
}
