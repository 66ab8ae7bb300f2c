//! Code that is generic over the traits of `num-traits`, differentiated.

use num_traits::{Bounded, Float, FloatConst, FromPrimitive, Num, NumAssign, One, Signed, ToPrimitive, Zero};
use std::fmt::Debug;
use std::num::FpCategory;
use wengert_scalar::{Dual, Replay, Symbol, Var, gradient, gradient_of, recording};

/// A function of one number for every number type, and points where it is smooth.
type Case = (
    &'static str,
    fn(f64) -> f64,
    fn(Var) -> Var,
    fn(Dual<f64, 1>) -> Dual<f64, 1>,
    fn(Dual<Var, 1>) -> Dual<Var, 1>,
    fn(Symbol) -> Symbol,
    fn(Dual<Symbol, 1>) -> Dual<Symbol, 1>,
    &'static [f64],
);

macro_rules! cases {
    ($(|$x:ident| $y:expr, at [$($point:literal),+];)+) => {
        [$({
            fn f<T: Float + Signed>($x: T) -> T {
                $y
            }
            (stringify!($y), f, f, f, f, f, f, &[$($point),+])
        }),+]
    };
}

/// A constant.
fn c<T: num_traits::NumCast>(x: f64) -> T {
    num_traits::cast(x).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// A fourth-order finite difference.
fn slope_of(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-4;
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

#[test]
fn every_function_has_the_slopes_of_differences() {
    let cases: [Case; 48] = cases![
        |x| x.abs(), at [-2.0, 0.5];
        |x| x.recip(), at [-2.0, 0.7];
        |x| x.sqrt(), at [0.3, 4.0];
        |x| x.cbrt(), at [-2.0, 0.5];
        |x| x.exp(), at [-1.0, 2.0];
        |x| x.exp2(), at [-1.0, 2.0];
        |x| x.exp_m1(), at [-1.0, 0.001];
        |x| x.ln(), at [0.2, 3.0];
        |x| x.log2(), at [0.2, 3.0];
        |x| x.log10(), at [0.2, 3.0];
        |x| x.ln_1p(), at [-0.5, 2.0];
        |x| x.log(c(3.0)), at [0.2, 5.0];
        |x| Float::log(c(7.0), x), at [0.2, 5.0];
        |x| x.sin(), at [-2.0, 0.4];
        |x| x.cos(), at [-2.0, 0.4];
        |x| x.tan(), at [-1.0, 0.4];
        |x| x.asin(), at [-0.7, 0.2];
        |x| x.acos(), at [-0.7, 0.2];
        |x| x.atan(), at [-3.0, 0.2];
        |x| x.sin_cos().0, at [-2.0, 0.4];
        |x| x.sin_cos().1, at [-2.0, 0.4];
        |x| x.sinh(), at [-1.0, 2.0];
        |x| x.cosh(), at [-1.0, 2.0];
        |x| x.tanh(), at [-1.0, 0.3];
        |x| x.asinh(), at [-1.0, 3.0];
        |x| x.acosh(), at [1.5, 4.0];
        |x| x.atanh(), at [-0.6, 0.3];
        |x| x.fract(), at [-2.3, 0.4];
        |x| x.to_degrees(), at [-2.3, 0.4];
        |x| x.to_radians(), at [-2.3, 0.4];
        |x| x.powi(3) + x.powi(-2) + x.powi(1) + x.powi(0), at [-1.3, 0.4];
        |x| x.powf(c(1.7)), at [0.4, 2.0];
        |x| Float::powf(c(1.7), x), at [-0.4, 2.0];
        |x| x.atan2(c(-1.5)), at [0.4, 2.0];
        |x| Float::atan2(c(1.7), x), at [-0.4, 2.0];
        |x| x.hypot(c(1.5)) + Float::hypot(c(2.0), x), at [-0.4, 2.0];
        |x| x.mul_add(c(1.5), c(0.3)) + Float::mul_add(c(1.5), x, c(0.5)), at [-0.4, 2.0];
        |x| x.mul_add(x, x), at [-0.4, 2.0];
        |x| x.max(c(0.5)), at [-0.4, 2.0];
        |x| x.min(c(0.5)), at [-0.4, 2.0];
        |x| Float::clamp(x, c(-1.0), c(1.0)), at [-3.0, 0.3, 4.0];
        |x| Float::abs_sub(x, c(0.5)) + Signed::abs_sub(&c(0.7), &x), at [-0.4, 0.6, 2.0];
        |x| Float::copysign(x, c(-2.0)) - Float::copysign(c(2.0), x), at [-0.4, 2.0];
        |x| x % c(0.7), at [-2.0, 1.0, 50.0];
        |x| c::<T>(7.5) % x, at [-2.0, 0.9, 3.1];
        |x| Signed::abs(&x) * Signed::signum(&x), at [-2.0, 0.9];
        |x| x.floor() + x.ceil() * x.round() - x.trunc() / Float::signum(x), at [-2.3, 0.4, 1.7];
        |x| x.sin().cos().tanh().exp() / (x * x + c(2.0)), at [-2.3, 0.4];
    ];
    for (name, plain, var, dual, mixed, symbol, dual_symbol, points) in cases {
        let replay = Replay::record(|x: &[Symbol]| symbol(x[0]), &points[..1]);
        let slope = |x: &[Symbol]| dual_symbol(Dual::new(x[0], [Symbol::from(1.0)])).tangents()[0];
        let replayed_slope = Replay::record(slope, &points[..1]);
        for &x in points {
            let difference = slope_of(plain, x);
            let (value, [slope]) = gradient_of(|[x]| var(x), [x]);
            assert!(close(slope, difference, 1e-8), "{name} at {x}: {slope}, not {difference}");
            // Functions of plain floats are those of the standard library, which may round the last digit differently.
            assert!(close(value, plain(x), 1e-15), "{name} at {x}: {value}, not {}", plain(x));
            let forward = dual(Dual::variable(x, 0));
            assert!(close(forward.value(), value, 0.0) && close(forward.tangents()[0], slope, 1e-14), "{name} at {x}");
            // The second derivative, forward over reverse.
            let along = |[x]: [Var; 1]| mixed(Dual::new(x, [Var::from(1.0)])).tangents()[0];
            let (first, [second]) = gradient_of(along, [x]);
            let difference = slope_of(|x| dual(Dual::variable(x, 0)).tangents()[0], x);
            assert!(close(first, slope, 1e-14), "{name} at {x}: {first}, not {slope}");
            assert!(close(second, difference, 1e-7), "{name} at {x}: {second}, not {difference}");
            // The same for recordings, on the path of the point.
            let (mut replayed, mut product) = ([0.0], [0.0]);
            assert!(close(replay.value_and_grad(&[x], &mut replayed), value, 1e-14), "{name} at {x}");
            replay.hvp(&[x], &[1.0], &mut product);
            assert!(close(replayed[0], slope, 1e-13), "{name} at {x}: {replayed:?}, not {slope}");
            assert!(close(product[0], second, 1e-12), "{name} at {x}: {product:?}, not {second}");
            assert!(close(replayed_slope.value_and_grad(&[x], &mut product), slope, 1e-13), "{name} at {x}");
            assert!(close(product[0], second, 1e-12), "{name} at {x}: {product:?}, not {second}");
        }
    }
}

fn gradient_at<const N: usize>(f: fn([Var; N]) -> Var, x: [f64; N]) -> [f64; N] {
    gradient_of(f, x).1
}

#[test]
fn kinks_follow_the_policy() {
    assert_eq!(gradient_at(|[x, y]| x.max(y), [2.0, 2.0]), [0.5, 0.5]);
    assert_eq!(gradient_at(|[x, y]| x.min(y), [2.0, 2.0]), [0.5, 0.5]);
    assert_eq!(gradient_at(|[x, y]| Float::abs_sub(x, y), [2.0, 2.0]), [0.0, 0.0]);
    assert_eq!(gradient_at(|[x]| Float::abs(x) + Signed::abs(&x), [0.0]), [0.0]);
    assert_eq!(gradient_at(|[x]| Float::copysign(x, Var::from(3.0)), [0.0]), [0.0]);
    assert_eq!(gradient_at(|[x]| Float::clamp(x, Var::from(-1.0), Var::from(1.0)), [1.0]), [1.0]);
    assert_eq!(gradient_at(|[x, y]| x.hypot(y), [0.0, 0.0]), [0.0, 0.0]);
    // A number next to NaN is both the maximum and the minimum, as for floats.
    let nan = Var::nan();
    assert_eq!(gradient_of(|[x]| x.max(nan) + nan.min(x) * Var::from(2.0), [3.0]), (9.0, [3.0]));
    assert!(nan.max(nan).is_nan());
    let dual = Dual::<f64, 1>::variable(3.0, 0);
    assert_eq!(dual.max(Dual::nan()).tangents(), &[1.0]);
    assert_eq!(dual.max(dual).tangents(), &[1.0]);
    assert_eq!(dual.max(Dual::from(3.0)).tangents(), &[0.5]);
}

/// The results of queries that have no derivative.
fn answers<T: Float + Signed>(x: f64) -> ([bool; 9], FpCategory, (u64, i16, i8), [Option<f64>; 5], String) {
    let x: T = c(x);
    let is = [
        x.is_nan(),
        x.is_infinite(),
        x.is_finite(),
        x.is_normal(),
        x.is_subnormal(),
        Float::is_sign_positive(x),
        Float::is_sign_negative(x),
        x.is_positive(),
        x.is_zero(),
    ];
    let rounded = [x.floor(), x.ceil(), x.round(), x.trunc(), Float::signum(x)].map(|y| y.to_f64());
    (is, x.classify(), x.integer_decode(), rounded, format!("{:?} {:?} {:?}", x.to_i8(), x.to_u64(), x.to_i128()))
}

#[test]
fn questions_are_answered_by_the_value() {
    let bits = |answers: [Option<f64>; 5]| answers.map(|x| x.map(f64::to_bits));
    for x in [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, -0.2, 300.7, -1e30, 1e-310, f64::MAX, f64::INFINITY, f64::NAN] {
        let (is, category, decoded, rounded, cast) = answers::<f64>(x);
        for other in [
            answers::<Var>(x),
            answers::<Symbol>(x),
            answers::<Dual<f64, 2>>(x),
            answers::<Dual<Var, 1>>(x),
            answers::<Dual<Symbol, 1>>(x),
        ] {
            assert_eq!(
                (is, category, decoded, bits(rounded), &cast),
                (other.0, other.1, other.2, bits(other.3), &other.4)
            );
        }
    }
    assert_eq!(Var::from(2.5).round().value(), 3.0);
    assert_eq!(Float::signum(Var::from(-0.0)).value(), -1.0);
    assert_eq!(answers::<Dual<f32, 1>>(0.1).2, answers::<f32>(0.1).2);
}

/// The constants of a type, as its values are printed.
fn constants<T: Float + FloatConst + Bounded + FromPrimitive + Signed + ToPrimitive + Debug>() -> Vec<String> {
    let numbers = vec![
        T::zero(),
        T::one(),
        T::infinity(),
        T::neg_infinity(),
        T::neg_zero(),
        T::epsilon(),
        T::min_positive_value(),
        Float::max_value(),
        Float::min_value(),
        <T as Bounded>::max_value(),
        <T as Bounded>::min_value(),
        T::E(),
        T::FRAC_1_PI(),
        T::FRAC_1_SQRT_2(),
        T::FRAC_2_PI(),
        T::FRAC_2_SQRT_PI(),
        T::FRAC_PI_2(),
        T::FRAC_PI_3(),
        T::FRAC_PI_4(),
        T::FRAC_PI_6(),
        T::FRAC_PI_8(),
        T::LN_10(),
        T::LN_2(),
        T::LOG10_2(),
        T::LOG10_E(),
        T::LOG2_10(),
        T::LOG2_E(),
        T::PI(),
        T::SQRT_2(),
        T::TAU(),
        T::from_i8(-3).unwrap(),
        T::from_u64(u64::MAX).unwrap(),
        T::from_i128(i128::MIN).unwrap(),
        T::from_f32(0.1).unwrap(),
        T::from_f64(0.1).unwrap(),
        T::from_str_radix("-1.25", 10).ok().unwrap(),
        T::from_str_radix("ff.8", 16).ok().unwrap(),
    ];
    assert!(T::nan().is_nan() && T::from_str_radix("x", 10).is_err());
    numbers.iter().map(|x| format!("{:?} {:?}", x.to_f64(), x.to_f32())).collect()
}

#[test]
fn constants_are_those_of_the_float_inside() {
    let (double, single) = (constants::<f64>(), constants::<f32>());
    assert_eq!(constants::<Var>(), double);
    assert_eq!(constants::<Symbol>(), double);
    assert_eq!(constants::<Dual<f64, 3>>(), double);
    assert_eq!(constants::<Dual<Symbol, 1>>(), double);
    assert_eq!(constants::<Dual<Var, 1>>(), double);
    assert_eq!(constants::<Dual<f32, 1>>(), single);
    assert!(single != double && Var::epsilon().value() == f64::EPSILON);
}

/// The root of x^3 + x = a, by Newton's method.
fn newton<T: Float>(a: T) -> T {
    let mut x = a;
    loop {
        let step = (x.powi(3) + x - a) / (c::<T>(3.0) * x * x + T::one());
        x = x - step;
        if step.abs() <= c::<T>(4.0) * T::epsilon() * x.abs() {
            return x;
        }
    }
}

/// The same root by bisection, and a final Newton step: the bounds themselves do not depend on `a`.
fn bisection<T: Float>(a: T) -> T {
    let (mut low, mut high) = (T::zero(), c::<T>(10.0));
    while high - low > c(1e-9) {
        let middle = (low + high) / c(2.0);
        if middle.powi(3) + middle < a { low = middle } else { high = middle }
    }
    low - (low.powi(3) + low - a) / (c::<T>(3.0) * low * low + T::one())
}

#[test]
fn loops_that_find_roots_are_differentiated() {
    for a in [0.5, 2.0, 30.0] {
        for (f, tolerance) in [(newton as fn(Var) -> Var, 1e-13), (bisection, 1e-8)] {
            let (x, [slope]) = gradient_of(|[a]| f(a), [a]);
            assert!(close(x * x * x + x, a, 1e-14), "{x} at {a}");
            assert!(close(slope, 1.0 / (3.0 * x * x + 1.0), tolerance), "{slope} at {a}");
        }
        // The second derivative by a: -x'' = 6 x x'^3.
        let second = newton(Dual::<Dual<f64, 1>, 1>::new(Dual::variable(a, 0), [Dual::from(1.0)]));
        let (x, slope) = (second.value().value(), second.value().tangents()[0]);
        assert!(close(second.tangents()[0].tangents()[0], -6.0 * x * slope.powi(3), 1e-12));
    }
}

fn polynomial<T: Num + Copy>(coefficients: &[T], x: T) -> T {
    coefficients.iter().fold(T::zero(), |sum, c| sum * x + *c)
}

fn powers<T: NumAssign + Copy>(x: T, n: usize) -> T {
    let (mut sum, mut power) = (T::zero(), T::one());
    for _ in 0..n {
        power *= x;
        sum += power;
    }
    sum
}

fn simpson<T: Float + FromPrimitive>(f: impl Fn(T) -> T, from: T, to: T, steps: usize) -> T {
    let h = (to - from) / T::from_usize(2 * steps).unwrap();
    let at = |i: usize| f(h.mul_add(T::from_usize(i).unwrap(), from));
    let weight = |i: usize| T::from_u8(if i.is_multiple_of(2 * steps) { 1 } else { 2 + 2 * (i % 2) as u8 }).unwrap();
    (0..=2 * steps).fold(T::zero(), |sum, i| sum + weight(i) * at(i)) * h / c(3.0)
}

#[test]
fn polynomials_sums_and_integrals_of_generic_code_are_differentiated() {
    // 2 x^3 - 3 x + 5 at 1.5.
    let (value, [by_x, by_first, by_last]) =
        gradient_of(|[x, a, d]| polynomial(&[a, Var::from(0.0), Var::from(-3.0), d], x), [1.5, 2.0, 5.0]);
    assert_eq!((value, by_x, by_first, by_last), (7.25, 10.5, 3.375, 1.0));
    // x + x^2 + x^3 + x^4 at 2.
    assert_eq!(gradient_of(|[x]| powers(x, 4), [2.0]), (30.0, [1.0 + 4.0 + 12.0 + 32.0]));
    assert_eq!(powers(Dual::<f64, 1>::variable(2.0, 0), 4).tangents(), &[49.0]);
    // The integral of exp(-s x) from 0 to b, by s and b.
    let (s, b) = (0.7, 2.0);
    let (_, slopes) = gradient_of(|[s, b]| simpson(|x: Var| (-s * x).exp(), Var::zero(), b, 100), [s, b]);
    let by_s = ((s * b + 1.0) * (-s * b).exp() - 1.0) / (s * s);
    assert!(close(slopes[0], by_s, 1e-8) && close(slopes[1], (-s * b).exp(), 1e-8), "{slopes:?}");
}

#[test]
fn remainders_have_the_quotient_as_slope() {
    let at = |x, y| gradient_at(|[x, y]| x % y, [x, y]);
    assert_eq!(at(7.5, 2.0), [1.0, -3.0]);
    assert_eq!(at(-7.5, 2.0), [1.0, 3.0]);
    assert_eq!(at(0.3, 0.1), [1.0, -2.0]);
    assert_eq!(at(1.0, f64::INFINITY), [1.0, 0.0]);
    assert!(at(1.0, 0.0)[1].is_nan());
    let mut x = Dual::<f32, 2>::variable(7.5, 0);
    x %= Dual::variable(2.0, 1);
    assert_eq!((x.value(), x.tangents()), (1.5, &[1.0, -3.0]));
    let (value, [slope]) = gradient_of(
        |[x]| {
            let mut y = x;
            y %= x % 2.0;
            y
        },
        [7.5],
    );
    assert_eq!((value, slope), (0.0, 1.0 - 5.0));
}

#[test]
fn functions_of_a_number_are_as_many_statements_as_they_have_results() {
    fn statements<R>(f: fn(Var) -> R) -> usize {
        recording(|tape| {
            let x = tape.input(0.7);
            f(x);
            tape.statements() - 1
        })
    }
    assert_eq!(statements(|x| x.sin_cos()), 2);
    assert_eq!(statements(|x| [x.mul_add(x, x), x.hypot(x), x % x, x.powi(2), x.fract(), x.to_degrees()]), 6);
    assert_eq!(statements(|x| x.copysign(Var::neg_zero())), 1);
    let flat = |x: Var| [x.floor(), x.ceil(), x.round(), x.trunc(), Float::signum(x), x.max(Var::nan())];
    assert_eq!(statements(flat), 0);
    assert_eq!(statements(|x| (x.is_finite(), x.to_i64(), x.integer_decode(), x <= <Var as Float>::max_value())), 0);
}

#[test]
fn a_number_of_another_recording_is_an_error_with_the_line_of_the_caller() {
    let mut kept = None;
    gradient(|x| *kept.insert(x[0]), &[1.0], &mut [0.0]);
    let kept = kept.unwrap();
    let line = line!() + 1;
    let failing: [fn(Var) -> Var; 4] = [|x| x.sin(), |x| x.mul_add(x, x), |x| x.max(Var::one()), |x| x.sin_cos().1];
    for f in failing {
        let text = wengert_engine::catch(|| f(kept).value()).unwrap_err().to_string();
        assert!(text.contains("has ended"), "{text}");
        assert!(text.contains(&format!("num_traits.rs:{line}")), "{text}");
    }
}
