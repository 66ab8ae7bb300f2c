//! Arithmetic operators on tensors, references and Rust numbers.

use super::{DType, Tensor};
use crate::bind::bind_owned;
use crate::ops::elementwise::{add::ADD, div::DIV, mul::MUL, neg::NEG, sub::SUB};
use crate::ops::{Operand, binary};
use crate::primitive::{Attrs, Primitive};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The right side is anything that is an operand: one impl, so that the result's type is known before the literal's.
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
                binary(&$op, Attrs::new(), &self, &other.tensor(self.dtype()))
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

impl Tensor {
    /// Adds one more term to this sum, in place where nobody else holds it.
    #[inline]
    pub(crate) fn accumulate(&mut self, term: &Tensor) {
        if self.is_plain() && term.is_plain() {
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

    /// Whether any element is NaN; symbolic tensors have none.
    pub(crate) fn has_nan(&self) -> bool {
        self.dtype().is_float()
            && self
                .numbers("has_nan")
                .is_ok_and(|value| Tensor::from(value.clone()).to_f64_vec().iter().any(|number| number.is_nan()))
    }

    /// Whether every element is within `tolerance` of the other's, relative to the larger of 1 and its magnitude; NaN
    /// equals NaN, infinities equal themselves.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(Tensor::from([1.0, 2.0]).all_close(&Tensor::from([1.0, 2.0 + 1e-13]), 1e-12));
    /// assert!(!Tensor::from(1.0).all_close(&Tensor::from(1.1), 1e-12));
    /// ```
    #[track_caller]
    pub fn all_close(&self, other: &Tensor, tolerance: f64) -> bool {
        let close = |(x, y): (&f64, &f64)| {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
        };
        let (a, b) = (self.read("all_close"), other.read("all_close"));
        a.shape() == b.shape() && a.to_f64_vec().iter().zip(&b.to_f64_vec()).all(close)
    }
}
