//! Numbers of a training step, such as its learning rate.

use crate::prelude::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number that changes from step to step: a float while operations run at once, a rank-0 tensor while a step is traced. So one formula
/// serves both, an eager step pays nothing for it, and a compiled one is traced once.
///
/// ```
/// use wengert::nn::optimise::Number;
/// let count = Number::from(3.0);
/// assert_eq!((count * 2.0 + 1.0).max(0.0).known(), Some(7.0));
/// ```
#[derive(Clone, Debug)]
pub enum Number {
    /// A float.
    Known(f64),
    /// An f64 tensor of rank 0.
    Traced(Tensor),
}

use Number::{Known, Traced};

impl From<f64> for Number {
    fn from(x: f64) -> Number {
        Known(x)
    }
}

impl Number {
    /// The number in a tensor of rank 0: its value if that can be read, else the tensor.
    pub fn of(tensor: &Tensor) -> Number {
        match tensor.try_item() {
            Ok(x) => Known(x),
            Err(_) => Traced(tensor.cast(DType::F64)),
        }
    }

    /// Its value, if it is known.
    pub fn known(&self) -> Option<f64> {
        match self {
            Known(x) => Some(*x),
            Traced(_) => None,
        }
    }

    /// As a tensor of rank 0 and this dtype.
    pub fn tensor(&self, dtype: DType) -> Tensor {
        match self {
            Known(x) => Tensor::from(*x).cast(dtype),
            Traced(x) => x.cast(dtype),
        }
    }

    fn map(&self, f: impl FnOnce(f64) -> f64, g: impl FnOnce(&Tensor) -> Tensor) -> Number {
        match self {
            Known(x) => Known(f(*x)),
            Traced(x) => Traced(g(x)),
        }
    }

    fn zip(self, other: Number, f: impl FnOnce(f64, f64) -> f64, g: impl FnOnce(Tensor, Tensor) -> Tensor) -> Number {
        match (self, other) {
            (Known(x), Known(y)) => Known(f(x, y)),
            (x, y) => Traced(g(x.tensor(DType::F64), y.tensor(DType::F64))),
        }
    }

    /// The square root.
    pub fn sqrt(&self) -> Number {
        self.map(f64::sqrt, Tensor::sqrt)
    }

    /// The cosine.
    pub fn cos(&self) -> Number {
        self.map(f64::cos, Tensor::cos)
    }

    /// The largest integer that is not greater.
    pub fn floor(&self) -> Number {
        self.map(f64::floor, Tensor::floor)
    }

    /// `base` to the power of this number.
    pub fn power_of(&self, base: f64) -> Number {
        let traced = |x: &Tensor| if base > 0.0 { (x * base.ln()).exp() } else { Tensor::from(base).pow(x) };
        self.map(|x| base.powf(x), traced)
    }

    /// The smaller of two numbers.
    pub fn min(self, other: impl Into<Number>) -> Number {
        self.zip(other.into(), f64::min, |x, y| x.minimum(&y))
    }

    /// The larger of two numbers.
    pub fn max(self, other: impl Into<Number>) -> Number {
        self.zip(other.into(), f64::max, |x, y| x.maximum(&y))
    }

    /// `yes` where this number is less than `bound`, else `no`.
    pub fn below(self, bound: f64, yes: Number, no: Number) -> Number {
        match self {
            Known(x) => {
                if x < bound {
                    yes
                } else {
                    no
                }
            }
            Traced(x) => Traced(x.lt(bound).where_(yes.tensor(DType::F64), no.tensor(DType::F64))),
        }
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident)+) => {$(
        impl<N: Into<Number>> $Trait<N> for Number {
            type Output = Number;

            fn $method(self, other: N) -> Number {
                self.zip(other.into(), f64::$method, |x, y| $Trait::$method(x, y))
            }
        }
    )+};
}

operators!(Add add Sub sub Mul mul Div div);

impl Neg for Number {
    type Output = Number;

    fn neg(self) -> Number {
        self.map(|x| -x, |x| -x)
    }
}

/// `x = keep x + factor y`, in place if the memory of `x` is not shared.
pub fn combine(x: &mut Tensor, keep: &Number, y: &Tensor, factor: &Number) {
    match (keep, factor) {
        (Known(keep), Known(factor)) => x.combine_assign(*keep, y, *factor),
        (Known(1.0), factor) => *x += y * factor.tensor(x.dtype()),
        (keep, factor) => {
            let (keep, factor) = (keep.tensor(x.dtype()), factor.tensor(x.dtype()));
            *x *= keep;
            *x += y * factor;
        }
    }
}
