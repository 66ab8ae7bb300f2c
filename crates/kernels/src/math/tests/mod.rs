//! Tests errors in ulp against slower and more accurate references, special values, and equal bits at every level.

mod reference;
mod special;
mod values;

use super::*;
use reference::{HALF_PI, LN2, LN10, Pair};

/// Reproducible pseudo-random numbers.
struct Samples(u64);

impl Samples {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 29);
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 32)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// A number of any magnitude and either sign, between `low` and `high`: every second one with a random exponent.
    fn real(&mut self, low: f64, high: f64) -> f64 {
        if self.bits() & 1 << 40 == 0 {
            return self.between(low.max(-50.0), high.min(50.0));
        }
        loop {
            let x = f64::from_bits(self.bits());
            if x >= low && x <= high {
                return x;
            }
            let (small, big) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
            let exponent = self.between(small.max(1e-300).log2(), big.min(1e300).log2());
            let x = exponent.exp2() * if low < 0.0 && self.bits() & 1 << 33 == 0 { -1.0 } else { 1.0 };
            if x >= low && x <= high {
                return x;
            }
        }
    }
}

/// The distance of `y` from `want` in units of the last place of `want`.
fn ulps(y: f64, want: Pair) -> f64 {
    if want.0.is_nan() || y.is_nan() || want.0.is_infinite() || y.is_infinite() || want.0 == 0.0 {
        let same = (y.is_nan() && want.0.is_nan()) || y == want.0;
        return if same { 0.0 } else { f64::INFINITY };
    }
    let size = want.0.abs();
    let unit = (f64::from_bits(size.to_bits() + 1) - size).max(f64::from_bits(1));
    (((y - want.0) - want.1) / unit).abs()
}

fn check(name: &str, low: f64, high: f64, count: usize, f: fn(f64) -> f64, want: fn(Pair) -> Pair) {
    let mut samples = Samples(name.len() as u64 + 77);
    let mut worst = (0.0, 0.0);
    for _ in 0..count {
        let x = samples.real(low, high);
        let error = ulps(f(x), want(Pair(x, 0.0)));
        if error > worst.0 || error.is_nan() {
            worst = (error, x);
        }
    }
    println!("f64 {name:12} {:6.3} ulp at {:e} in [{low:e}, {high:e}]", worst.0, worst.1);
    assert!(worst.0 <= 2.0, "{name}({:e}) is {:e}, off by {} ulp", worst.1, f(worst.1), worst.0);
}

fn number(x: f64) -> Pair {
    Pair(x, 0.0)
}

fn odd(f: fn(Pair) -> Pair) -> impl Fn(Pair) -> Pair {
    move |x| if x.0 < 0.0 { -f(-x) } else { f(x) }
}

#[test]
fn f64_exponentials_are_within_two_ulp() {
    check("exp", -745.0, 709.0, 20_000, exp, |x| x.exp());
    check("exp2", -1074.0, 1023.0, 20_000, exp2, |x| (x * LN2).exp());
    check("expm1", -745.0, 709.0, 20_000, expm1, |x| x.expm1());
    check("sigmoid", -744.0, 700.0, 10_000, sigmoid, |x| {
        let e = (-number(x.0.abs())).exp();
        (if x.0 < 0.0 { e } else { number(1.0) }) / (number(1.0) + e)
    });
    check("softplus", -744.0, 1e300, 10_000, softplus, |x| {
        let y = (-number(x.0.abs().min(800.0))).exp().log1p();
        if x.0 < 0.0 { y } else { x + y }
    });
    check("logsigmoid", -1e300, 744.0, 10_000, logsigmoid, |x| {
        let y = (-number(x.0.abs().min(800.0))).exp().log1p();
        if x.0 > 0.0 { -y } else { x - y }
    });
}

#[test]
fn f64_logarithms_are_within_two_ulp() {
    for (low, high) in [(0.0, f64::MAX), (0.5, 2.0), (0.999, 1.001)] {
        check("log", low, high, 10_000, log, |x| x.log());
        check("log2", low, high, 10_000, log2, |x| x.log() / LN2);
        check("log10", low, high, 10_000, log10, |x| x.log() / LN10);
    }
    for (low, high) in [(-0.9999999, f64::MAX), (-0.5, 2.0), (-1e-3, 1e-3)] {
        check("log1p", low, high, 10_000, log1p, |x| x.log1p());
    }
}

#[test]
fn f64_trigonometry_is_within_two_ulp() {
    for limit in [1.6, 100.0, 1.6e6] {
        check("sin", -limit, limit, 5_000, sin, |x| x.sin_cos().0);
        check("cos", -limit, limit, 5_000, cos, |x| x.sin_cos().1);
        check("tan", -limit, limit, 5_000, tan, |x| x.sin_cos().0 / x.sin_cos().1);
    }
    check("asin", -0.9999999, 0.9999999, 5_000, asin, |x| (x / ((number(1.0) - x) * (number(1.0) + x)).sqrt()).atan());
    check("acos", -0.9999999, 1.0, 5_000, acos, |x| ((number(1.0) - x) / (number(1.0) + x)).sqrt().atan().times(2.0));
    check("atan", -1e300, 1e300, 5_000, atan, |x| x.atan());
    check("atan", -5.0, 5.0, 5_000, atan, |x| x.atan());
    let mut samples = Samples(5);
    for _ in 0..10_000 {
        let (y, x) = (samples.real(-1e100, 1e100), samples.real(-1e100, 1e100));
        if y.abs() < 1e-100 || x.abs() < 1e-100 {
            continue;
        }
        let angle = (number(y) / number(x)).atan();
        let turn = HALF_PI.times(if y < 0.0 { -2.0 } else { 2.0 });
        let error = ulps(atan2(y, x), if x < 0.0 { turn + angle } else { angle });
        assert!(error <= 2.0, "atan2({y:e}, {x:e}): {error} ulp");
    }
}

/// Numbers next to a multiple of `pi/2`, where all leading bits of the reduction cancel.
#[test]
fn f64_trigonometry_is_within_two_ulp_next_to_its_zeros() {
    let mut samples = Samples(9);
    for _ in 0..3_000 {
        let n = samples.between(1.0, 1e6).floor();
        let x = number((HALF_PI.times(n)).0);
        for (name, y, want) in [
            ("sin", sin(x.0), x.sin_cos().0),
            ("cos", cos(x.0), x.sin_cos().1),
            ("tan", tan(x.0), x.sin_cos().0 / x.sin_cos().1),
        ] {
            assert!(ulps(y, want) <= 2.0, "{name}({}): {} ulp", x.0, ulps(y, want));
        }
    }
}

#[test]
fn f64_hyperbolic_functions_are_within_two_ulp() {
    // Beyond 680 the products of the reference overflow.
    for limit in [680.0, 3.0] {
        check("sinh", -limit, limit, 10_000, sinh, |x| {
            odd(|x| {
                let e = x.expm1();
                (e + e / (e + number(1.0))).times(0.5)
            })(x)
        });
        check("cosh", -limit, limit, 10_000, cosh, |x| {
            let e = number(x.0.abs()).exp();
            (e + number(1.0) / e).times(0.5)
        });
        check("tanh", -limit, limit, 10_000, tanh, |x| {
            odd(|x| {
                let t = number(2.0 * x.0.min(40.0)).expm1();
                t / (t + number(2.0))
            })(x)
        });
    }
    for limit in [1e140, 3.0] {
        check("asinh", -limit, limit, 10_000, asinh, |x| {
            odd(|x| {
                let root = (number(1.0) + x * x).sqrt();
                (x + x * x / (number(1.0) + root)).log1p()
            })(x)
        });
        check("acosh", 1.0, limit, 10_000, acosh, |x| {
            let t = x - number(1.0);
            (t + (t * (x + number(1.0))).sqrt()).log1p()
        });
    }
    for limit in [0.999999, 0.5] {
        check("atanh", -limit, limit, 10_000, atanh, |x| {
            odd(|x| (x.times(2.0) / (number(1.0) - x)).log1p().times(0.5))(x)
        });
    }
}

#[test]
fn f64_error_functions_are_within_two_ulp() {
    check("erf", -6.5, 6.5, 4_000, erf, |x| odd(|x| x.erf())(x));
    check("erfc", -6.0, 27.2, 4_000, erfc, |x| if x.0 < 0.0 { number(1.0) + (-x).erf() } else { x.erfc() });
    check("erfc", 0.3, 3.0, 4_000, erfc, |x| x.erfc());
}

#[test]
fn f64_powers_are_within_two_ulp() {
    for (low, high) in [(1e-290, 1e290), (0.5, 8.0)] {
        check("cbrt", low, high, 10_000, cbrt, |x| {
            let y = number(x.0.cbrt());
            y - (y - x / (y * y)).times(1.0 / 3.0)
        });
        check("rsqrt", low, high, 10_000, rsqrt, |x| number(1.0) / x.sqrt());
    }
    let mut samples = Samples(3);
    let mut worst = (0.0, 0.0, 0.0);
    for i in 0..20_000 {
        let x = if i % 2 == 0 { samples.real(1e-300, 1e300) } else { samples.between(0.5, 2.0) };
        // Any exponent up to that of overflow, half of them near it.
        let limit = 700.0 / x.ln().abs().max(1e-12);
        let y = if i % 4 < 2 { samples.between(-limit, limit) } else { limit * samples.between(0.98, 1.0) };
        let error = ulps(powf(x, y), (number(x).log() * number(y)).exp());
        if error > worst.0 {
            worst = (error, x, y);
        }
        let n = y.clamp(-1e9, 1e9) as i64;
        if n.abs() < 5000 && n != 0 {
            let mut want = number(1.0);
            let base = if n < 0 { number(1.0) / number(x) } else { number(x) };
            (0..n.abs()).for_each(|_| want = want * base);
            if want.0 > 1e-250 && want.0 < 1e250 {
                let error = ulps(powi(x, n), want);
                assert!(error <= 2.0, "powi({x:e}, {n}): {error} ulp");
            }
        }
        let y = samples.real(1e-140, 1e140);
        let x = if x > 1e-140 && x < 1e140 { x } else { 1.5 * y };
        let error = ulps(hypot(x, y), (number(x) * number(x) + number(y) * number(y)).sqrt());
        assert!(error <= 2.0, "hypot({x:e}, {y:e}): {error} ulp");
    }
    println!("f64 powf {:6.3} ulp at {:e}^{:e}", worst.0, worst.1, worst.2);
    assert!(worst.0 <= 2.0, "powf({:e}, {:e}): {} ulp", worst.1, worst.2, worst.0);
}

#[test]
fn f64_functions_with_a_logarithm_are_within_two_ulp() {
    let mut samples = Samples(6);
    for _ in 0..10_000 {
        let (x, y) = (samples.real(-1e100, 1e100), samples.real(1e-100, 1e100));
        let want = number(x) * number(y).log();
        assert!(x.abs() < 1e-200 || ulps(xlogy(x, y), want) <= 2.0, "xlogy({x:e}, {y:e})");
        let (a, b) = (samples.between(-40.0, 40.0), samples.between(-40.0, 40.0));
        let want = number(a.max(b)) + (number(a.min(b)) - number(a.max(b))).exp().log1p();
        // In units of the largest number involved: the sum may cancel.
        let unit = f64::EPSILON * want.0.abs().max(a.abs()).max(b.abs());
        let error = ((logaddexp(a, b) - want.0) - want.1).abs() / unit;
        assert!(error <= 2.0, "logaddexp({a}, {b}): {error}");
    }
}

/// Every exponent and sign, with the edges and a run of neighbours of each power of two.
fn singles() -> impl Iterator<Item = f32> {
    let spread = (0..200_000u32).map(|i| f32::from_bits(i.wrapping_mul(21_475)));
    let edges =
        (0..=255u32).flat_map(|e| (0..4u32).map(move |i| f32::from_bits((e << 23).wrapping_add(i).wrapping_sub(2))));
    let dense = (0..60_000).map(|i| (i as f32 - 30_000.0) * 7e-4);
    spread.chain(edges.clone()).chain(edges.map(|x| -x)).chain(dense)
}

fn ulps_single(y: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if want.is_nan() || y.is_nan() || rounded.is_infinite() || y.is_infinite() {
        // At the edge of overflow either neighbour is accepted.
        let same = (y.is_nan() && want.is_nan()) || y == rounded || (y.abs() == f32::MAX && rounded.is_infinite());
        return if same || (y.is_infinite() && want.abs() > 3.4028e38) { 0.0 } else { f64::INFINITY };
    }
    let size = rounded.abs();
    let unit = (f32::from_bits(size.to_bits() + 1) as f64 - size as f64).max(f32::from_bits(1) as f64);
    ((y as f64 - want) / if unit.is_finite() { unit } else { 2f64.powi(104) }).abs()
}

fn check_single(name: &str, f: fn(f32) -> f32, want: fn(f64) -> f64) {
    let mut worst = (0.0, 0f32);
    for x in singles() {
        let error = ulps_single(f(x), want(x as f64));
        if error > worst.0 || error.is_nan() {
            worst = (error, x);
        }
    }
    println!("f32 {name:12} {:6.3} ulp at {:e}", worst.0, worst.1);
    let (error, x) = worst;
    assert!(error <= 4.0, "{name}({x:e}) is {:e}, not {:e}: {error} ulp", f(x), want(x as f64));
}

#[test]
fn f32_functions_are_within_four_ulp() {
    check_single("exp", exp, f64::exp);
    check_single("exp2", exp2, f64::exp2);
    check_single("expm1", expm1, f64::exp_m1);
    check_single("log", log, f64::ln);
    check_single("log2", log2, f64::log2);
    check_single("log10", log10, f64::log10);
    check_single("log1p", log1p, f64::ln_1p);
    check_single("rsqrt", rsqrt, |x| 1.0 / x.sqrt());
    check_single("cbrt", cbrt, f64::cbrt);
    check_single("sin", sin, f64::sin);
    check_single("cos", cos, f64::cos);
    check_single("tan", tan, f64::tan);
    check_single("asin", asin, f64::asin);
    check_single("acos", acos, f64::acos);
    check_single("atan", atan, f64::atan);
    check_single("sinh", sinh, f64::sinh);
    check_single("cosh", cosh, f64::cosh);
    check_single("tanh", tanh, f64::tanh);
    // The standard library uses log(x + sqrt(x^2 + 1)), which is inaccurate at these ends.
    check_single("asinh", asinh, |x| if x.abs() < 1e-4 { x - x * x * x / 6.0 } else { x.asinh() });
    check_single("acosh", acosh, |x| {
        let t = x - 1.0;
        if x < 1.0 { f64::NAN } else { (t + (t * (x + 1.0)).sqrt()).ln_1p() }
    });
    check_single("atanh", atanh, |x| if x.abs() > 1.0 { f64::NAN } else { f64::atanh(x) });
    check_single("sigmoid", sigmoid, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) });
    check_single("softplus", softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 });
    check_single("logsigmoid", logsigmoid, |x| {
        x.min(0.0) - (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 }
    });
    check_single("erf", erf, erf);
    check_single("erfc", erfc, erfc);
    check_single("ndtr", ndtr, ndtr);
}

#[test]
fn f32_functions_of_two_are_within_four_ulp() {
    let mut samples = Samples(1);
    for i in 0..100_000 {
        let (a, b) = match i % 3 {
            0 => (f32::from_bits(samples.bits() as u32), f32::from_bits(samples.bits() as u32)),
            1 => (samples.between(-3.0, 3.0) as f32, samples.between(-30.0, 30.0).round() as f32),
            _ => (samples.between(0.0, 30.0) as f32, samples.between(-30.0, 30.0) as f32),
        };
        let (x, y) = (a as f64, b as f64);
        for (name, got, want) in [
            ("atan2", atan2(a, b), x.atan2(y)),
            ("powf", powf(a, b), x.powf(y)),
            ("hypot", hypot(a, b), x.hypot(y)),
            ("fmod", fmod(a, b), x % y),
            ("xlogy", xlogy(a, b), if x == 0.0 && !y.is_nan() { 0.0 } else { x * y.ln() }),
        ] {
            let error = ulps_single(got, want);
            assert!(error <= 4.0, "{name}({a:e}, {b:e}) is {got:e}, not {want:e}: {error} ulp");
        }
        let (n, want) = (b.clamp(-1e6, 1e6) as i64, x.powi(b.clamp(-1e6, 1e6) as i32));
        let error = ulps_single(powi(a, n), want);
        assert!(error <= 4.0, "powi({a:e}, {n}) is {:e}, not {want:e}: {error} ulp", powi(a, n));
        let got = logaddexp(a, b);
        let want = if x == y { x + 2f64.ln() } else { x.max(y) + (-(x - y).abs()).exp().ln_1p() };
        if x.is_finite() && y.is_finite() {
            let scale = x.abs().max(y.abs()).max(want.abs());
            let error = (got as f64 - want).abs() / scale.max(1e-37);
            assert!(error <= 3e-7 || want.abs() > 3.4e38, "logaddexp({a:e}, {b:e}) is {got:e}, not {want:e}");
        }
    }
}

/// Remainders are exact: they are compared with the language's `%`, bit for bit.
#[test]
fn remainders_are_exact() {
    let mut samples = Samples(8);
    for _ in 0..100_000 {
        let (x, y) = (samples.real(-f64::MAX, f64::MAX), samples.real(-f64::MAX, f64::MAX));
        assert_eq!(fmod(x, y).to_bits(), (x % y).to_bits(), "fmod({x:e}, {y:e})");
        let y = x * samples.between(1e-6, 2.0);
        assert_eq!(fmod(x, y).to_bits(), (x % y).to_bits(), "fmod({x:e}, {y:e})");
        let (x, y) = (x as f32, y as f32);
        assert!(fmod(x, y).to_bits() == (x % y).to_bits() || (x % y).is_nan(), "fmod({x:e}, {y:e})");
    }
}
