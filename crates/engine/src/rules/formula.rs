//! The functions that elementwise expressions are written in, on numbers and on tensors.

use crate::Tensor;

/// Makes the slope of an expression in Tensor operations.
pub(crate) trait IntoSlope {
    fn into_slope(self) -> Tensor;
}
impl IntoSlope for Tensor {
    fn into_slope(self) -> Tensor {
        self
    }
}
impl IntoSlope for &Tensor {
    fn into_slope(self) -> Tensor {
        self.clone()
    }
}

/// Functions of f64 and f32.
pub(crate) mod native {
    pub use wengert_kernels::math::*;

    /// The argument itself, NaN below the border: gradients outside a domain are NaN like values.
    #[inline(always)]
    pub fn nan_below<T: Real>(x: T, border: f64) -> T {
        if x < T::of(border) { T::of(f64::NAN) } else { x }
    }

    /// -1, 0 or 1.
    #[inline(always)]
    pub fn sign<T: Real>(x: T) -> T {
        let zero = T::of(0.0);
        if x > zero {
            T::of(1.0)
        } else if x < zero {
            T::of(-1.0)
        } else {
            x
        }
    }

    /// `then` where x is above the border, else `other`.
    #[inline(always)]
    pub fn above<T: Real>(x: T, border: T, then: T, other: T) -> T {
        if x > border { then } else { other }
    }
}

/// The same functions in Tensor operations.
pub(crate) mod tensor {
    use crate::Tensor;
    use crate::ops::Operand;
    use std::borrow::Borrow;

    macro_rules! functions {
        ($($name:ident)+) => {$(
            pub fn $name(x: impl Borrow<Tensor>) -> Tensor {
                x.borrow().$name()
            }
        )+};
    }
    functions!(cos sign sin sqrt);

    pub fn nan_below(x: impl Borrow<Tensor>, border: f64) -> Tensor {
        x.borrow().lt(border).where_(f64::NAN, x.borrow())
    }

    pub fn above(x: impl Borrow<Tensor>, border: f64, then: impl Operand, other: impl Operand) -> Tensor {
        let x = x.borrow();
        x.gt(border).where_(&*then.tensor(x.dtype()), &*other.tensor(x.dtype()))
    }
}
