//! Limits, domains, signs of zeros; slices against scalars; instruction-set levels against each other.

use crate::math::*;
use crate::simd::at_every_level;

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Equal bits, any NaN for a NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

macro_rules! table {
    ($($function:ident: $($x:expr => $want:expr),+;)*) => {$($(
        let (x, want): (f64, f64) = ($x, $want);
        assert!(same($function(x), want), "{}({x}) is {}, not {want}", stringify!($function), $function(x));
        let single = $function(x as f32);
        assert!(same(single as f64, want as f32 as f64), "{}({x}f32) is {single}, not {want}", stringify!($function));
    )+)*};
}

#[test]
fn limits_domains_and_signed_zeros() {
    use std::f64::consts::{FRAC_PI_2, LN_2, PI};
    table! {
        exp: 0.0 => 1.0, -0.0 => 1.0, INFINITY => INFINITY, -INFINITY => 0.0, NAN => NAN, 1e30 => INFINITY, -1e30 => 0.0;
        exp2: 0.0 => 1.0, 10.0 => 1024.0, INFINITY => INFINITY, -INFINITY => 0.0, NAN => NAN, 3000.0 => INFINITY, -3000.0 => 0.0;
        expm1: 0.0 => 0.0, -0.0 => -0.0, INFINITY => INFINITY, -INFINITY => -1.0, NAN => NAN, 1e30 => INFINITY;
        log: 1.0 => 0.0, 0.0 => -INFINITY, -0.0 => -INFINITY, -1.0 => NAN, INFINITY => INFINITY, -INFINITY => NAN, NAN => NAN;
        log2: 1.0 => 0.0, 0.0 => -INFINITY, 1024.0 => 10.0, -1.0 => NAN, INFINITY => INFINITY, NAN => NAN;
        log10: 1.0 => 0.0, 0.0 => -INFINITY, 100.0 => 2.0, -1.0 => NAN, INFINITY => INFINITY, NAN => NAN;
        log1p: 0.0 => 0.0, -0.0 => -0.0, -1.0 => -INFINITY, -2.0 => NAN, INFINITY => INFINITY, NAN => NAN;
        sqrt: 4.0 => 2.0, -0.0 => -0.0, -1.0 => NAN, INFINITY => INFINITY, NAN => NAN;
        rsqrt: 4.0 => 0.5, 0.0 => INFINITY, -1.0 => NAN, INFINITY => 0.0, NAN => NAN;
        cbrt: 8.0 => 2.0, -8.0 => -2.0, 0.0 => 0.0, -0.0 => -0.0, INFINITY => INFINITY, -INFINITY => -INFINITY, NAN => NAN;
        sin: 0.0 => 0.0, -0.0 => -0.0, INFINITY => NAN, -INFINITY => NAN, NAN => NAN;
        cos: 0.0 => 1.0, -0.0 => 1.0, INFINITY => NAN, NAN => NAN;
        tan: 0.0 => 0.0, -0.0 => -0.0, INFINITY => NAN, NAN => NAN;
        asin: 0.0 => 0.0, -0.0 => -0.0, 1.0 => FRAC_PI_2, -1.0 => -FRAC_PI_2, 1.5 => NAN, INFINITY => NAN, NAN => NAN;
        acos: 1.0 => 0.0, -1.0 => PI, 0.0 => FRAC_PI_2, -1.5 => NAN, INFINITY => NAN, NAN => NAN;
        atan: 0.0 => 0.0, -0.0 => -0.0, INFINITY => FRAC_PI_2, -INFINITY => -FRAC_PI_2, 1e300 => FRAC_PI_2, NAN => NAN;
        sinh: 0.0 => 0.0, -0.0 => -0.0, INFINITY => INFINITY, -INFINITY => -INFINITY, 1e30 => INFINITY, NAN => NAN;
        cosh: 0.0 => 1.0, INFINITY => INFINITY, -INFINITY => INFINITY, 1e30 => INFINITY, NAN => NAN;
        tanh: 0.0 => 0.0, -0.0 => -0.0, INFINITY => 1.0, -INFINITY => -1.0, 1e30 => 1.0, NAN => NAN;
        asinh: 0.0 => 0.0, -0.0 => -0.0, INFINITY => INFINITY, -INFINITY => -INFINITY, NAN => NAN;
        acosh: 1.0 => 0.0, 0.5 => NAN, -1.0 => NAN, INFINITY => INFINITY, -INFINITY => NAN, NAN => NAN;
        atanh: 0.0 => 0.0, -0.0 => -0.0, 1.0 => INFINITY, -1.0 => -INFINITY, 1.5 => NAN, INFINITY => NAN, NAN => NAN;
        sigmoid: 0.0 => 0.5, INFINITY => 1.0, -INFINITY => 0.0, NAN => NAN;
        softplus: 0.0 => LN_2, INFINITY => INFINITY, -INFINITY => 0.0, NAN => NAN;
        logsigmoid: 0.0 => -LN_2, INFINITY => 0.0, -INFINITY => -INFINITY, NAN => NAN;
        erf: 0.0 => 0.0, -0.0 => -0.0, INFINITY => 1.0, -INFINITY => -1.0, NAN => NAN;
        erfc: 0.0 => 1.0, INFINITY => 0.0, -INFINITY => 2.0, NAN => NAN;
        round: 0.5 => 0.0, 1.5 => 2.0, -2.5 => -2.0, INFINITY => INFINITY, NAN => NAN;
        lgamma: 1.0 => 0.0, 2.0 => 0.0, 0.0 => INFINITY, -0.0 => INFINITY, -2.0 => INFINITY, INFINITY => INFINITY, -INFINITY => INFINITY, NAN => NAN;
        digamma: 0.0 => -INFINITY, -0.0 => INFINITY, -1.0 => NAN, INFINITY => INFINITY, -INFINITY => NAN, NAN => NAN;
        erfinv: 0.0 => 0.0, -0.0 => -0.0, 1.0 => INFINITY, -1.0 => -INFINITY, 1.5 => NAN, NAN => NAN;
        erfcx: 0.0 => 1.0, INFINITY => 0.0, -INFINITY => INFINITY, NAN => NAN;
        ndtr: 0.0 => 0.5, INFINITY => 1.0, -INFINITY => 0.0, NAN => NAN;
        ndtri: 0.5 => 0.0, 0.0 => -INFINITY, 1.0 => INFINITY, -0.5 => NAN, 1.5 => NAN, NAN => NAN;
        log_ndtr: INFINITY => -0.0, -INFINITY => -INFINITY, NAN => NAN;
        i0: 0.0 => 1.0, INFINITY => INFINITY, -INFINITY => INFINITY, NAN => NAN;
        i0e: 0.0 => 1.0, INFINITY => 0.0, NAN => NAN;
        i1: 0.0 => 0.0, -0.0 => -0.0, INFINITY => INFINITY, -INFINITY => -INFINITY, NAN => NAN;
        i1e: 0.0 => 0.0, INFINITY => 0.0, NAN => NAN;
        sinc: 0.0 => 1.0, -0.0 => 1.0, 3.0 => 0.0, INFINITY => 0.0, NAN => NAN;
    }
    // The last numbers before overflow, where e^x is infinite already.
    for x in [709.5f64, 709.9, 710.13, 710.4] {
        assert!((cosh(x) / x.cosh() - 1.0).abs() < 1e-15 && (sinh(-x) / (-x).sinh() - 1.0).abs() < 1e-15);
    }
    assert_eq!(cosh(710.5f64), INFINITY);
    assert_eq!(polygamma(1, 0.0f64), INFINITY);
    assert_eq!(polygamma(1, -3.0f64), INFINITY);
    assert_eq!(polygamma(2, 0.0f64), -INFINITY);
    assert_eq!(polygamma(3, INFINITY), 0.0);
    assert!(polygamma(1, NAN).is_nan());
    assert_eq!(polygamma(0, 0.0f64), -INFINITY);
}

/// IEEE 754 defines these results, and the language follows it.
#[test]
fn functions_of_two_have_the_special_values_of_the_language() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e-320,
        -1e-320,
        1e300,
        -1e300,
        f64::MAX,
        f64::MIN_POSITIVE,
        4503599627370497.0,
        9007199254740993.0,
        INFINITY,
        -INFINITY,
        NAN,
    ];
    for x in values {
        for y in values {
            let close = |a: f64, b: f64| same(a, b) || ((a - b) / b).abs() < 1e-15;
            assert!(close(powf(x, y), x.powf(y)), "powf({x}, {y}) is {}, not {}", powf(x, y), x.powf(y));
            assert!(close(atan2(x, y), x.atan2(y)), "atan2({x}, {y}) is {}, not {}", atan2(x, y), x.atan2(y));
            assert!(close(hypot(x, y), x.hypot(y)), "hypot({x}, {y}) is {}, not {}", hypot(x, y), x.hypot(y));
            assert!(same(fmod(x, y), x % y), "fmod({x}, {y}) is {}, not {}", fmod(x, y), x % y);
            let r = remainder(x, y);
            assert!(r.is_nan() || r == 0.0 || (r < 0.0) == (y < 0.0), "remainder({x}, {y}) is {r}");
        }
        for n in [0, 1, 2, 3, 4, 5, -1, -2, -3, 100, -101] {
            let (got, want) = (powi(x, n), x.powf(n as f64));
            assert!(same(got, want) || ((got - want) / want).abs() < 1e-15, "powi({x}, {n}) is {got}, not {want}");
        }
    }
    assert_eq!(logaddexp(INFINITY, INFINITY), INFINITY);
    assert_eq!(logaddexp(-INFINITY, -INFINITY), -INFINITY);
    assert_eq!(logaddexp(-INFINITY, 2.0), 2.0);
    assert_eq!(xlogy(0.0, 0.0), 0.0);
    assert_eq!(xlogy(0.0, INFINITY), 0.0);
    assert!(xlogy(0.0, NAN).is_nan());
}

fn arguments<T: Real>() -> Vec<T> {
    let edges = [0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 1e-40, 1e-310, 1e10, 1e30];
    let spread = (0..1500).map(|i| (i as f64 - 700.0) * 0.013);
    let wide = (0..600).map(|i| ((i as f64 - 300.0) * 0.11).exp() * if i % 2 == 0 { 1.0 } else { -1.0 });
    spread.chain(edges).chain(wide).map(T::of).collect()
}

fn agree<T: Real>() {
    let x = arguments::<T>();
    let mut y = x.clone();
    y.reverse();
    let mut out = x.clone();
    at_every_level(|level| {
        let check = |name: &str, out: &[T], want: &dyn Fn(usize) -> T| {
            for (i, got) in out.iter().enumerate() {
                let (got, want) = (got.wide(), want(i).wide());
                let (a, b) = (x[i].wide(), y[i].wide());
                assert!(same(got, want), "{name}({a:e}[, {b:e}]) is {got:e} at {level:?}, {want:e} as a scalar");
            }
        };
        macro_rules! unary {
            ($($slice:ident $function:ident),*) => {$(
                $slice(&x, &mut out);
                check(stringify!($function), &out, &|i| $function(x[i]));
            )*};
        }
        unary!(exp_slice exp, exp2_slice exp2, expm1_slice expm1, log_slice log, log2_slice log2, log10_slice log10,
            log1p_slice log1p, sqrt_slice sqrt, rsqrt_slice rsqrt, cbrt_slice cbrt, asin_slice asin, acos_slice acos,
            atan_slice atan, sinh_slice sinh, cosh_slice cosh, tanh_slice tanh, asinh_slice asinh, acosh_slice acosh,
            atanh_slice atanh, sigmoid_slice sigmoid, logsigmoid_slice logsigmoid, softplus_slice softplus,
            erf_slice erf, erfc_slice erfc, ndtr_slice ndtr, floor_slice floor, ceil_slice ceil, round_slice round,
            trunc_slice trunc, sin_slice sin, cos_slice cos, tan_slice tan, digamma_slice digamma,
            trigamma_slice trigamma);
        macro_rules! binary {
            ($($slice:ident $function:ident),*) => {$(
                $slice(&x, &y, &mut out);
                check(stringify!($function), &out, &|i| $function(x[i], y[i]));
            )*};
        }
        binary!(atan2_slice atan2, powf_slice powf, hypot_slice hypot, xlogy_slice xlogy, logaddexp_slice logaddexp,
            fmod_slice fmod, remainder_slice remainder);
        for n in [-2, -1, 0, 1, 2, 3, 4, 7] {
            powi_slice(&x, n, &mut out);
            check("powi", &out, &|i| powi(x[i], n));
        }
    });
}

#[test]
fn f32_slices_have_the_bits_of_scalars_at_every_level() {
    agree::<f32>();
}

#[test]
fn f64_slices_have_the_bits_of_scalars_at_every_level() {
    agree::<f64>();
}
