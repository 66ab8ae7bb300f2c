//! The functions available in elementwise expressions, on numbers and on tensors.

pub use wengert_core::rules::formula::{IntoSlope, native};

/// The same functions in Tensor operations.
pub mod tensor {
    use crate::Operand;
    use crate::methods::*;
    use crate::primitive::GuardedMulMethods;
    use crate::{DType, Tensor};
    use std::borrow::Borrow;

    macro_rules! functions {
        ($($name:ident)+) => {$(
            pub fn $name(x: impl Borrow<Tensor>) -> Tensor {
                x.borrow().$name()
            }
        )+};
    }
    functions!(abs cos cosh digamma erfcx exp floor i0 i0e i1 i1e log ndtr sigmoid sign sin sinh sqrt square tanh);

    pub use wengert_kernels::functions::vocabulary::{
        FRAC_1_SQRT_2, FRAC_2_SQRT_PI, GELU_CUBIC, GELU_FACTOR, HALF_ROOT_OF_PI, LN_2, LN_10, ROOT_OF_TWO_BY_PI,
        ROOT_OF_TWO_PI, SELU_BELOW, SELU_SCALE, SINC_NEAR, SINC_SERIES,
    };

    pub fn lit(value: f64) -> f64 {
        value
    }

    pub fn recip(x: impl Borrow<Tensor>) -> Tensor {
        1.0 / x.borrow()
    }

    pub fn constant(value: f64) -> f64 {
        value
    }

    pub fn scale(x: impl Borrow<Tensor>, factor: f64) -> Tensor {
        x.borrow() * factor
    }

    pub fn shift(x: impl Borrow<Tensor>, amount: f64) -> Tensor {
        x.borrow() + amount
    }

    pub fn over(x: impl Borrow<Tensor>, divisor: f64) -> Tensor {
        x.borrow() / divisor
    }

    pub fn given(x: Tensor, f: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
        f(&x)
    }

    pub fn at_most(x: impl Borrow<Tensor>, border: f64) -> Tensor {
        above(x.borrow(), border, border, x.borrow())
    }

    /// `then` where the mask is true, else `other`; numbers take the dtype.
    fn choose(mask: &Tensor, dtype: DType, then: impl Operand, other: impl Operand) -> Tensor {
        mask.where_(&*then.tensor(dtype), &*other.tensor(dtype))
    }

    /// A sum, so that derivatives outside the domain are NaN in every order; a selection would have gradient 0 there.
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

    /// The quotient; 0 / 0 is 0, where it has no derivative with respect to x.
    pub fn ratio(x: impl Borrow<Tensor>, y: impl Borrow<Tensor>) -> Tensor {
        let (x, y) = (x.borrow(), y.borrow());
        let kink = x.equal(0.0).logical_and(&y.equal(0.0));
        kinked(&kink, x, x / kink.where_(1.0, y))
    }

    /// A slope that is 0 at a kink, where its derivative with respect to x is NaN. Elsewhere it is `smooth`.
    pub fn kinked(kink: &Tensor, x: &Tensor, smooth: Tensor) -> Tensor {
        if smooth.is_plain() {
            return smooth;
        }
        kink.where_(unsteady(x, kink), smooth)
    }

    /// Zero, with a NaN derivative with respect to x at a kink.
    pub fn unsteady(x: &Tensor, kink: &Tensor) -> Tensor {
        let nothing = x - x.detach();
        nothing.guarded_mul(&choose(kink, x.dtype(), f64::NAN, 0.0))
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
        (x.borrow().square() * -0.5).exp() * wengert_kernels::functions::vocabulary::DENSITY_AT_0
    }

    pub fn trigamma(x: impl Borrow<Tensor>) -> Tensor {
        x.borrow().polygamma(1)
    }

    pub fn sinc_slope(x: &Tensor, y: &Tensor) -> Tensor {
        let z = x.square();
        let near = SINC_SERIES.iter().rev().fold(z.full_like(0.0), |sum, &coefficient| sum * &z + coefficient) * x;
        x.abs().lt(SINC_NEAR).where_(near, ((x * std::f64::consts::PI).cos() - y) / x)
    }

    pub fn polygamma(n: f64, x: impl Borrow<Tensor>) -> Tensor {
        x.borrow().polygamma(n as u32)
    }
}
