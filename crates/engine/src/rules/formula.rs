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
    pub trait Real: Copy + PartialOrd {
        const NAN: Self;
        fn of(value: f64) -> Self;
        fn exp(self) -> Self;
        fn ln(self) -> Self;
        fn sin(self) -> Self;
        fn cos(self) -> Self;
        fn tanh(self) -> Self;
        fn sqrt(self) -> Self;
        fn asin(self) -> Self;
        fn sigmoid(self) -> Self;
    }
    macro_rules! real {
        ($t:ident) => {
            impl Real for $t {
                const NAN: $t = $t::NAN;
                #[inline(always)]
                fn of(value: f64) -> $t {
                    value as $t
                }
                #[inline(always)]
                fn exp(self) -> $t {
                    $t::exp(self)
                }
                #[inline(always)]
                fn ln(self) -> $t {
                    $t::ln(self)
                }
                #[inline(always)]
                fn sin(self) -> $t {
                    $t::sin(self)
                }
                #[inline(always)]
                fn cos(self) -> $t {
                    $t::cos(self)
                }
                #[inline(always)]
                fn tanh(self) -> $t {
                    $t::tanh(self)
                }
                #[inline(always)]
                fn sqrt(self) -> $t {
                    $t::sqrt(self)
                }
                #[inline(always)]
                fn asin(self) -> $t {
                    $t::asin(self)
                }
                #[inline(always)]
                fn sigmoid(self) -> $t {
                    1.0 / (1.0 + $t::exp(-self))
                }
            }
        };
    }
    real!(f64);
    real!(f32);
    pub fn exp<T: Real>(x: T) -> T {
        x.exp()
    }
    pub fn log<T: Real>(x: T) -> T {
        x.ln()
    }
    pub fn sin<T: Real>(x: T) -> T {
        x.sin()
    }
    pub fn cos<T: Real>(x: T) -> T {
        x.cos()
    }
    pub fn tanh<T: Real>(x: T) -> T {
        x.tanh()
    }
    pub fn asin<T: Real>(x: T) -> T {
        x.asin()
    }
    pub fn sqrt<T: Real>(x: T) -> T {
        x.sqrt()
    }
    pub fn sigmoid<T: Real>(x: T) -> T {
        x.sigmoid()
    }

    /// The argument itself, NaN below the border: gradients outside a domain are NaN like values.
    #[inline(always)]
    pub fn nan_below<T: Real>(x: T, border: f64) -> T {
        if x < T::of(border) { T::NAN } else { x }
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
