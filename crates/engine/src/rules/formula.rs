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

    /// A number that the language has no literal for.
    #[inline(always)]
    pub fn constant<T: Real>(value: f64) -> T {
        T::of(value)
    }

    /// x times a number.
    #[inline(always)]
    pub fn scale<T: Real>(x: T, factor: f64) -> T {
        x * T::of(factor)
    }

    /// x plus a number.
    #[inline(always)]
    pub fn shift<T: Real>(x: T, amount: f64) -> T {
        x + T::of(amount)
    }

    /// The absolute value.
    #[inline(always)]
    pub fn abs<T: Real>(x: T) -> T {
        x.abs()
    }

    /// x times itself.
    #[inline(always)]
    pub fn square<T: Real>(x: T) -> T {
        x * x
    }

    /// The argument itself, NaN below the border: gradients outside a domain are NaN like values.
    #[inline(always)]
    pub fn nan_below<T: Real>(x: T, border: f64) -> T {
        if x < T::of(border) { T::of(f64::NAN) } else { x }
    }

    /// The argument itself, NaN where it is larger than the border in magnitude.
    #[inline(always)]
    pub fn nan_beyond<T: Real>(x: T, border: f64) -> T {
        if x.abs() > T::of(border) { T::of(f64::NAN) } else { x }
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

    /// `here` where x is 0, else `other`.
    #[inline(always)]
    pub fn at_zero<T: Real>(x: T, here: T, other: T) -> T {
        if x == T::of(0.0) { here } else { other }
    }

    /// The least of the slopes between this one and 1, in magnitude.
    #[inline(always)]
    pub fn least_slope<T: Real>(slope: T) -> T {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let slope = if slope < zero { zero } else { slope };
        if slope > one { one } else { slope }
    }

    /// `inside` where x lies between the borders, else `outside`, on the borders too.
    #[inline(always)]
    pub fn between<T: Real>(x: T, low: T, high: T, inside: T, outside: T) -> T {
        if (x > low) & (x < high) { inside } else { outside }
    }

    /// `inside` where x lies between the borders or on one of them, else `outside`.
    #[inline(always)]
    pub fn within<T: Real>(x: T, low: T, high: T, inside: T, outside: T) -> T {
        if (x >= low) & (x <= high) { inside } else { outside }
    }

    /// x / y, and 0 where both are 0.
    #[inline(always)]
    pub fn ratio<T: Real>(x: T, y: T) -> T {
        let zero = T::of(0.0);
        if (x == zero) & (y == zero) { zero } else { x / y }
    }

    /// x - y, and 0 for two equal infinities.
    #[inline(always)]
    pub fn gap<T: Real>(x: T, y: T) -> T {
        if x == y { T::of(0.0) } else { x - y }
    }

    /// What a lower bound y passes on to x: 1 where x reaches it, else 0.
    #[inline(always)]
    pub fn passes<T: Real>(x: T, y: T) -> T {
        if (x >= y) | x.is_nan() { T::of(1.0) } else { T::of(0.0) }
    }

    /// What the larger of two numbers passes on to x: 1 where that is x, 1/2 where they are equal, else 0.
    #[inline(always)]
    pub fn share<T: Real>(x: T, y: T) -> T {
        let tie = if x == y { T::of(0.5) } else { T::of(1.0) };
        if x < y { T::of(0.0) } else { tie }
    }

    /// The same where NaN is never the larger one.
    #[inline(always)]
    pub fn share_of_numbers<T: Real>(x: T, y: T) -> T {
        let tie = if x == y { T::of(0.5) } else { T::of(0.0) };
        if (x > y) | y.is_nan() { T::of(1.0) } else { tie }
    }

    /// The density of the normal distribution.
    #[inline(always)]
    pub fn normal_density<T: Real>(x: T) -> T {
        exp(T::of(-0.5) * x * x) * T::of(super::DENSITY_AT_0)
    }

    /// The n-th derivative of digamma, n a whole number.
    #[inline(always)]
    pub fn polygamma<T: Real>(n: T, x: T) -> T {
        wengert_kernels::math::polygamma(n.wide() as u32, x)
    }
}

/// 1 / sqrt(2 pi)
const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;

/// The same functions in Tensor operations.
pub(crate) mod tensor {
    use crate::ops::Operand;
    use crate::{DType, Tensor};
    use std::borrow::Borrow;

    macro_rules! functions {
        ($($name:ident)+) => {$(
            pub fn $name(x: impl Borrow<Tensor>) -> Tensor {
                x.borrow().$name()
            }
        )+};
    }
    functions!(abs cos cosh digamma erfcx exp floor i1 i1e log ndtr sigmoid sign sin sinh sqrt square tanh trunc);

    pub fn constant(value: f64) -> f64 {
        value
    }

    pub fn scale(x: impl Borrow<Tensor>, factor: f64) -> Tensor {
        x.borrow() * factor
    }

    pub fn shift(x: impl Borrow<Tensor>, amount: f64) -> Tensor {
        x.borrow() + amount
    }

    /// `then` where the mask is true, else `other`; numbers take the dtype.
    fn choose(mask: &Tensor, dtype: DType, then: impl Operand, other: impl Operand) -> Tensor {
        mask.where_(&*then.tensor(dtype), &*other.tensor(dtype))
    }

    /// A sum, so that derivatives outside the domain are NaN in every order; a choice would have gradient 0 there.
    pub fn nan_below(x: impl Borrow<Tensor>, border: f64) -> Tensor {
        x.borrow() + choose(&x.borrow().lt(border), x.borrow().dtype(), f64::NAN, 0.0)
    }

    pub fn nan_beyond(x: impl Borrow<Tensor>, border: f64) -> Tensor {
        x.borrow() + choose(&x.borrow().abs().gt(border), x.borrow().dtype(), f64::NAN, 0.0)
    }

    pub fn above(x: impl Borrow<Tensor>, border: f64, then: impl Operand, other: impl Operand) -> Tensor {
        let x = x.borrow();
        choose(&x.gt(border), x.dtype(), then, other)
    }

    pub fn at_zero(x: impl Borrow<Tensor>, here: impl Operand, other: impl Operand) -> Tensor {
        let x = x.borrow();
        choose(&x.equal(0.0), x.dtype(), here, other)
    }

    pub fn least_slope(slope: f64) -> f64 {
        slope.clamp(0.0, 1.0)
    }

    pub fn between(x: impl Borrow<Tensor>, low: f64, high: f64, inside: impl Operand, outside: impl Operand) -> Tensor {
        let x = x.borrow();
        choose(&x.gt(low).logical_and(&x.lt(high)), x.dtype(), inside, outside)
    }

    pub fn within(x: impl Borrow<Tensor>, low: f64, high: f64, inside: impl Operand, outside: impl Operand) -> Tensor {
        let x = x.borrow();
        choose(&x.ge(low).logical_and(&x.le(high)), x.dtype(), inside, outside)
    }

    pub fn ratio(x: impl Borrow<Tensor>, y: impl Borrow<Tensor>) -> Tensor {
        let (x, y) = (x.borrow(), y.borrow());
        x.equal(0.0).logical_and(&y.equal(0.0)).where_(0.0, x / y)
    }

    pub fn gap(x: &Tensor, y: &Tensor) -> Tensor {
        // Only for infinities: elsewhere the difference of equal numbers is 0 and has a derivative.
        x.equal(y).logical_and(&x.isinf()).where_(0.0, x - y)
    }

    pub fn passes(x: impl Borrow<Tensor>, y: impl Borrow<Tensor>) -> Tensor {
        let (x, y) = (x.borrow(), y.borrow());
        choose(&x.ge(y).logical_or(&x.isnan()), x.dtype(), 1.0, 0.0)
    }

    pub fn share(x: impl Borrow<Tensor>, y: impl Borrow<Tensor>) -> Tensor {
        let (x, y) = (x.borrow(), y.borrow());
        choose(&x.lt(y), x.dtype(), 0.0, choose(&x.equal(y), x.dtype(), 0.5, 1.0))
    }

    pub fn share_of_numbers(x: impl Borrow<Tensor>, y: impl Borrow<Tensor>) -> Tensor {
        let (x, y) = (x.borrow(), y.borrow());
        choose(&x.gt(y).logical_or(&y.isnan()), x.dtype(), 1.0, choose(&x.equal(y), x.dtype(), 0.5, 0.0))
    }

    pub fn hypot(x: impl Borrow<Tensor>, y: impl Operand) -> Tensor {
        x.borrow().hypot(y)
    }

    pub fn normal_density(x: impl Borrow<Tensor>) -> Tensor {
        (x.borrow().square() * -0.5).exp() * super::DENSITY_AT_0
    }

    pub fn polygamma(n: f64, x: impl Borrow<Tensor>) -> Tensor {
        x.borrow().polygamma(n as u32)
    }
}
