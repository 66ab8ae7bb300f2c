//! Elementary and special functions of `f32` and `f64`.
//!
//! The elementary functions are branch-free, `#[inline(always)]` and make no calls, so a loop that calls them by name vectorises at every
//! instruction-set level, with the same bits at each. Each has a `_slice` function that is such a loop. A closure passed to
//! [`loop1`](crate::loop1) works too while the compiler still inlines it (it inlines `exp`, `log` and `tanh`, but not `softplus` or
//! `powf`). Where a rare argument needs another method (huge angles, long quotients, gamma functions of negative numbers), the scalar
//! function branches and the `_slice` function tests whole tiles, so that the common tile is vector code. Programs on single numbers call
//! the functions of [`one`], which give the same bits with less latency.
//!
//! | module | functions | error in `f64` |
//! |---|---|---|
//! | `exponential` | [`exp`] [`exp2`] [`expm1`] [`sigmoid`] [`softplus`] [`logsigmoid`] [`logaddexp`] | 2 ulp |
//! | `logarithm` | [`log`] [`log2`] [`log10`] [`log1p`] [`logit`] [`xlogy`] | 2 ulp |
//! | `trigonometric` | [`sin`] [`cos`] [`tan`] | 2 ulp |
//! | `inverse_trigonometric` | [`asin`] [`acos`] [`atan`] [`atan2`] | 2 ulp |
//! | `hyperbolic` | [`sinh`] [`cosh`] [`tanh`] [`asinh`] [`acosh`] [`atanh`] [`tanhshrink`] | 2 ulp |
//! | `power` | [`sqrt`] [`rsqrt`] [`cbrt`] [`powf`] [`powi`] [`powi_slice`] [`hypot`] | 2 ulp |
//! | `rounding` | [`floor`] [`ceil`] [`round`] [`trunc`] [`fmod`] [`remainder`] | exact |
//! | `error_function` | [`erf`] [`erfc`] | 2 ulp |
//! | | [`erfcx`] [`erfinv`] [`ndtr`] [`ndtri`] [`log_ndtr`] | `1e-14` relative |
//! | `gamma` | [`lgamma`] [`digamma`] [`trigamma`] [`polygamma`] | `1e-14` relative, away from zeros |
//! | `bessel` | [`i0`] [`i0e`] [`i1`] [`i1e`] [`sinc`] | `1e-14` relative, away from zeros |
//!
//! In `f32` all of them are within 4 ulp, most within 2.
//!
//! Outside its domain a function returns NaN, and NaN arguments give NaN. The error bounds also hold for subnormal arguments and results.

mod bessel;
mod coefficients;
mod error_function;
mod exponential;
mod floats;
mod gamma;
mod hyperbolic;
mod inverse_trigonometric;
mod logarithm;
pub mod one;
mod power;
mod real;
mod rounding;
mod slices;
#[cfg(test)]
mod tests;
mod trigonometric;

pub use bessel::{i0, i0e, i1, i1e, sinc};
pub use error_function::{erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri};
pub use exponential::{exp, exp2, expm1, logaddexp, logsigmoid, sigmoid, softplus};
pub use gamma::{digamma, lgamma, polygamma, trigamma};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh, tanhshrink};
pub use inverse_trigonometric::{acos, asin, atan, atan2};
pub use logarithm::{log, log1p, log2, log10, logit, xlogy};
pub use power::{cbrt, hypot, powf, powi, powi_slice, rsqrt, sqrt};
pub use real::Real;
pub use rounding::{ceil, floor, fmod, remainder, round, trunc};
pub use slices::*;
pub use trigonometric::{cos, sin, tan};

/// The tables of special functions, for devices that compute them by the same formulas.
pub mod tables {
    pub use super::coefficients::double::{ERFCX, ERFCX_TAIL};
    pub use super::gamma::BERNOULLI;
    pub use super::hyperbolic::{SHRINK_ABOVE, SHRINK_BELOW};
}
