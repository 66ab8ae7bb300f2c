//! All functions over slices.
//!
//! The compiler calls a function passed to [`loop1`](crate::loop1) through a shim, which it does not inline if the formula is long, and a
//! loop around a call does not vectorise. These loops call their function by name, so `#[inline(always)]` applies and each vectorises at
//! every level. They give the same bits as the scalar functions.

use super::gamma::{near_digamma, near_trigamma, not_positive};
use super::rounding::{is_far as is_long, near_fmod, near_remainder};
use super::trigonometric::{is_far, near_cos, near_sin, near_tan};
use super::*;
use crate::simd::vectorised;

macro_rules! unary {
    ($($slice:ident = $function:ident;)*) => {$(
        vectorised! {
            #[doc = concat!("`out[i] = ", stringify!($function), "(x[i])`. Panics unless the lengths are equal.")]
            ///
            /// ```
            /// use wengert_kernels::math;
            /// let mut y = [2f32; 1];
            #[doc = concat!("math::", stringify!($slice), "(&[1.0], &mut y);")]
            #[doc = concat!("assert_eq!(y, [math::", stringify!($function), "(1.0)]);")]
            /// ```
            pub fn $slice[T: Real](x: &[T], out: &mut [T]) {
                assert_eq!(x.len(), out.len(), "slices of different lengths");
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = $function(x);
                }
            }
        }
    )*};
}

unary! {
    exp_slice = exp;
    exp2_slice = exp2;
    expm1_slice = expm1;
    log_slice = log;
    log2_slice = log2;
    log10_slice = log10;
    log1p_slice = log1p;
    sqrt_slice = sqrt;
    rsqrt_slice = rsqrt;
    cbrt_slice = cbrt;
    asin_slice = asin;
    acos_slice = acos;
    atan_slice = atan;
    sinh_slice = sinh;
    cosh_slice = cosh;
    tanh_slice = tanh;
    asinh_slice = asinh;
    acosh_slice = acosh;
    atanh_slice = atanh;
    sigmoid_slice = sigmoid;
    logsigmoid_slice = logsigmoid;
    softplus_slice = softplus;
    erf_slice = erf;
    erfc_slice = erfc;
    ndtr_slice = ndtr;
    erfcx_slice = erfcx;
    erfinv_slice = erfinv;
    ndtri_slice = ndtri;
    log_ndtr_slice = log_ndtr;
    logit_slice = logit;
    tanhshrink_slice = tanhshrink;
    i0_slice = i0;
    i0e_slice = i0e;
    i1_slice = i1;
    i1e_slice = i1e;
    sinc_slice = sinc;
    floor_slice = floor;
    ceil_slice = ceil;
    round_slice = round;
    trunc_slice = trunc;
}

macro_rules! binary {
    ($($slice:ident = $function:ident;)*) => {$(
        vectorised! {
            #[doc = concat!("`out[i] = ", stringify!($function), "(x[i], y[i])`. Panics unless the lengths are equal.")]
            ///
            /// ```
            /// use wengert_kernels::math;
            /// let mut z = [0f32; 1];
            #[doc = concat!("math::", stringify!($slice), "(&[1.0], &[2.0], &mut z);")]
            #[doc = concat!("assert_eq!(z, [math::", stringify!($function), "(1.0, 2.0)]);")]
            /// ```
            pub fn $slice[T: Real](x: &[T], y: &[T], out: &mut [T]) {
                assert!(x.len() == out.len() && y.len() == out.len(), "slices of different lengths");
                for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                    *out = $function(x, y);
                }
            }
        }
    )*};
}

binary! {
    atan2_slice = atan2;
    powf_slice = powf;
    hypot_slice = hypot;
    xlogy_slice = xlogy;
    logaddexp_slice = logaddexp;
}

/// Elements that are tested together: the test must be cheap, and one far argument must not slow down many near ones.
const TILE: usize = 256;

macro_rules! unary_by_tile {
    ($($slice:ident = $function:ident or $near:ident unless $is_far:ident;)*) => {$(
        vectorised! {
            #[doc = concat!("`out[i] = ", stringify!($function), "(x[i])`. Panics unless the lengths are equal.")]
            ///
            /// Vector code for every tile without an argument that needs another method.
            ///
            /// ```
            /// use wengert_kernels::math;
            /// let mut y = [0f32; 1];
            #[doc = concat!("math::", stringify!($slice), "(&[1.0], &mut y);")]
            #[doc = concat!("assert_eq!(y, [math::", stringify!($function), "(1.0)]);")]
            /// ```
            pub fn $slice[T: Real](x: &[T], out: &mut [T]) {
                assert_eq!(x.len(), out.len(), "slices of different lengths");
                for (x, out) in x.chunks(TILE).zip(out.chunks_mut(TILE)) {
                    if x.iter().fold(false, |far, &x| far | $is_far(x)) {
                        for (out, &x) in out.iter_mut().zip(x) {
                            *out = $function(x);
                        }
                    } else {
                        for (out, &x) in out.iter_mut().zip(x) {
                            *out = $near(x);
                        }
                    }
                }
            }
        }
    )*};
}

unary_by_tile! {
    sin_slice = sin or near_sin unless is_far;
    cos_slice = cos or near_cos unless is_far;
    tan_slice = tan or near_tan unless is_far;
    digamma_slice = digamma or near_digamma unless not_positive;
    trigamma_slice = trigamma or near_trigamma unless not_positive;
}

macro_rules! binary_by_tile {
    ($($slice:ident = $function:ident or $near:ident;)*) => {$(
        vectorised! {
            #[doc = concat!("`out[i] = ", stringify!($function), "(x[i], y[i])`. Panics unless the lengths are equal.")]
            ///
            /// Vector code for every tile without a huge quotient.
            ///
            /// ```
            /// use wengert_kernels::math;
            /// let mut z = [0f32; 1];
            #[doc = concat!("math::", stringify!($slice), "(&[5.0], &[3.0], &mut z);")]
            #[doc = concat!("assert_eq!(z, [math::", stringify!($function), "(5.0, 3.0)]);")]
            /// ```
            pub fn $slice[T: Real](x: &[T], y: &[T], out: &mut [T]) {
                assert!(x.len() == out.len() && y.len() == out.len(), "slices of different lengths");
                for ((x, y), out) in x.chunks(TILE).zip(y.chunks(TILE)).zip(out.chunks_mut(TILE)) {
                    if x.iter().zip(y).fold(false, |far, (&x, &y)| far | is_long(x, y)) {
                        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                            *out = $function(x, y);
                        }
                    } else {
                        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                            *out = $near(x, y);
                        }
                    }
                }
            }
        }
    )*};
}

binary_by_tile! {
    fmod_slice = fmod or near_fmod;
    remainder_slice = remainder or near_remainder;
}
