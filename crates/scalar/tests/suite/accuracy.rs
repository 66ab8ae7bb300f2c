//! Slopes at domain boundaries, next to infinities, and at very large and very small arguments.

use wengert_scalar::{Dual, Real, Replay, Symbol, Var, gradient, gradient_of, jacobian};

/// Both modes of differentiation give the same result.
fn slope(var: fn(Var) -> Var, dual: fn(Dual<f64, 1>) -> Dual<f64, 1>, x: f64) -> f64 {
    let (_, [back]) = gradient_of(|[x]| var(x), [x]);
    let forward = dual(Dual::variable(x, 0)).tangents()[0];
    assert!(back == forward || back.is_nan() && forward.is_nan(), "{back} and {forward} at {x}");
    back
}

macro_rules! slope {
    (|$x:ident| $f:expr, $at:expr) => {
        slope(|$x| $f, |$x| $f, $at)
    };
}

fn is_close(found: f64, right: f64) -> bool {
    (found - right).abs() <= 4.0 * f64::EPSILON * right.abs()
}

#[test]
fn a_zero_tangent_passes_infinite_and_missing_slopes_as_zero() {
    type D = Dual<f64, 2>;
    for constant in [D::lit(0.0).sqrt(), D::lit(0.0).ln(), D::lit(-1.0).ln(), D::lit(0.0).recip(), D::lit(0.0).cbrt()] {
        assert_eq!(constant.tangents(), &[0.0; 2]);
    }
    let x = D::variable(-2.0, 0);
    assert_eq!(x.powf(D::lit(2.0)).tangents(), &[-4.0, 0.0]);
    assert_eq!((D::lit(f64::INFINITY) * x).tangents(), &[f64::INFINITY, 0.0]);
    assert_eq!((x / D::lit(0.0)).tangents(), &[f64::INFINITY, 0.0]);
    // An operand that is not selected does not contribute.
    assert_eq!(Real::max(D::variable(0.0, 0).sqrt(), D::variable(1.0, 1)).tangents(), &[0.0, 1.0]);
}

#[test]
fn a_tangent_is_zero_only_if_its_own_tangents_are() {
    // The derivative of (e^x - 1)^2 / 2 at 0 is 0 and its second derivative is 1.
    fn f<T: Real>(x: T) -> T {
        x.exp_m1().powi(2) * T::lit(0.5)
    }
    let x = Dual::<Dual<f64, 1>, 1>::new(Dual::variable(0.0, 0), [Dual::lit(1.0)]);
    assert_eq!((f(x).tangents()[0].value(), f(x).tangents()[0].tangents()), (0.0, &[1.0]));
    let (slope, [second]) = gradient_of(|[x]| f(Dual::<Var, 1>::new(x, [Var::lit(1.0)])).tangents()[0], [0.0]);
    assert_eq!((slope, second), (0.0, 1.0));
    // g = x at 0 times an infinite slope: its derivative is infinite, not NaN.
    let g = Dual::<f64, 1>::variable(0.0, 0).guarded_mul(Dual::lit(f64::INFINITY));
    assert_eq!((g.value(), g.tangents()), (0.0, &[f64::INFINITY]));
    // Constants are not recorded, however they are reached.
    let zero = gradient_of(|[x]| Dual::<Var, 1>::new(x, [Var::lit(0.0)]).ln().tangents()[0] + x, [0.0]);
    assert_eq!(zero, (0.0, [1.0]));
    // x^0 at 0 has slope 0 to every order.
    let x = Dual::<Dual<f64, 1>, 1>::new(Dual::variable(0.0, 0), [Dual::lit(1.0)]);
    let power = x.powf(Dual::lit(0.0));
    assert_eq!((power.tangents()[0].value(), power.tangents()[0].tangents()), (0.0, &[0.0]));
}

#[test]
fn slopes_of_angles_neither_overflow_nor_vanish() {
    for size in [1e-300, 1e-170, 1e-20, 1.0, 1e20, 1e170, 1e300] {
        let (y, x) = (3.0 * size, -4.0 * size);
        let (_, [by_y, by_x]) = gradient_of(|[y, x]| y.atan2(x), [y, x]);
        assert!(is_close(by_y * size, -0.16) && is_close(by_x * size, -0.12), "{by_y} {by_x} at {size}");
        let dual = Dual::<f64, 2>::variable(y, 0).atan2(Dual::variable(x, 1));
        assert_eq!(dual.tangents(), &[by_y, by_x]);
    }
    assert_eq!(gradient_of(|[y, x]| y.atan2(x), [0.0, 0.0]).1, [0.0, 0.0]);
    assert_eq!(gradient_of(|[y, x]| y.atan2(x), [0.0, -2.0]).1, [-0.5, -0.0]);
    // The second derivative of the length, across the vector, is 1 over the length.
    let x = Dual::<Dual<f64, 1>, 1>::new(Dual::variable(0.0, 0), [Dual::lit(1.0)]);
    assert_eq!(x.hypot(Dual::lit(2.0)).tangents()[0].tangents(), &[0.5]);
    assert_eq!(gradient_of(|[x, y]| x.hypot(y), [3e-310, 4e-310]).1.map(|slope| (slope * 10.0).round()), [6.0, 8.0]);
}

#[test]
fn slopes_near_borders_keep_their_digits() {
    // One ulp from 1, the square of x rounds; 1 - x and 1 + x do not.
    let (x, gap) = (1.0 - f64::EPSILON / 2.0, f64::EPSILON / 2.0);
    let square = gap * (2.0 - gap);
    assert!(is_close(slope!(|x| x.asin(), x), square.sqrt().recip()));
    assert!(is_close(slope!(|x| x.acos(), -x), -square.sqrt().recip()));
    assert!(is_close(slope!(|x| x.atanh(), -x), square.recip()));
    let gap = f64::EPSILON;
    assert!(is_close(slope!(|x| x.acosh(), 1.0 + gap), (gap * (2.0 + gap)).sqrt().recip()));
    assert!(is_close(slope!(|x| x.asinh(), 1e200), 1e-200) && is_close(slope!(|x| x.asinh(), -1e200), 1e-200));
    assert!(is_close(slope!(|x| x.acosh(), 1e200), 1e-200));
    assert_eq!(slope!(|x| x.acosh(), 1.0), f64::INFINITY);
    for outside in [-3.0, 0.5] {
        assert!(slope!(|x| x.acosh(), outside).is_nan());
    }
    for outside in [-3.0, 3.0] {
        assert!(slope!(|x| x.asin(), outside).is_nan() && slope!(|x| x.atanh(), outside).is_nan());
    }
}

#[test]
fn lengths_neither_overflow_nor_vanish() {
    for scale in [1e-310, 1e-200, 1.0, 1e200, 1e307] {
        let x = [3.0 * scale, -4.0 * scale, 12.0 * scale];
        let right = [3.0 / 13.0, -4.0 / 13.0, 12.0 / 13.0];
        let check = |value: f64, slopes: [f64; 3]| {
            // The smallest numbers have few digits.
            let tolerance = if scale < 1e-300 { 1e-10 } else { 1e-15 };
            assert!((value / (13.0 * scale) - 1.0).abs() < tolerance, "{value} at {scale}");
            assert!(
                slopes.iter().zip(right).all(|(slope, right)| (slope - right).abs() < tolerance),
                "{slopes:?} at {scale}"
            );
        };
        check(f64::norm(&x), right);
        let (value, slopes) = gradient_of(|x| Var::norm(&x), x);
        check(value, slopes);
        let duals: [Dual<f64, 3>; 3] = std::array::from_fn(|k| Dual::variable(x[k], k));
        let length = Dual::norm(&duals);
        check(length.value(), *length.tangents());
        let (replay, mut slopes) = (Replay::record(|x| Symbol::norm(x), &[1.0, 1.0, 1.0]), [0.0; 3]);
        let value = replay.value_and_grad(&x, &mut slopes);
        check(value, slopes);
    }
    assert_eq!(gradient_of(|x: [Var; 3]| Var::norm(&x), [0.0; 3]), (0.0, [0.0; 3]));
}

#[test]
fn the_slope_of_exp_m1_keeps_its_digits_where_the_value_is_minus_one() {
    assert!(is_close(slope!(|x| x.exp_m1(), -60.0), (-60f64).exp()));
}

#[test]
fn the_logistic_function_keeps_its_digits_in_both_tails() {
    assert!(is_close(Real::sigmoid(-40.0), (-40f64).exp()) && is_close(Real::sigmoid(-700.0), (-700f64).exp()));
    assert!(Real::sigmoid(-740.0) > 0.0 && Real::sigmoid(-1e300) == 0.0 && Real::sigmoid(1e300) == 1.0);
    assert!(is_close(Real::sigmoid(1.0) + Real::sigmoid(-1.0), 1.0) && Real::sigmoid(0.0) == 0.5);
    assert!(Real::sigmoid(f64::NAN).is_nan());
}

#[test]
fn sums_of_nothing_are_zero() {
    let empty: &[Var] = &[];
    for sum in [Var::sum_of(empty), Var::dot(empty, empty), Var::norm(empty), empty.iter().sum()] {
        assert!(sum.value() == 0.0 && sum.value().is_sign_positive());
    }
}

#[test]
fn the_least_whole_power_has_a_slope() {
    assert_eq!(slope!(|x| x.powi(i32::MIN), 1.0), f64::from(i32::MIN));
    assert_eq!(slope!(|x| x.powi(i32::MIN), 2.0), 0.0);
    assert_eq!(slope!(|x| x.powi(i32::MAX), 1.0), f64::from(i32::MAX));
}

#[test]
fn a_slope_of_zero_stops_what_is_infinite_in_every_mode() {
    // The root of a value that was clamped at 0, or multiplied by 0: its slope is infinite, that of the clamp is 0.
    fn cut<T: Real>(x: &[T]) -> T {
        (Real::max(x[0], T::lit(0.0)) + x[1] * T::lit(0.0)).sqrt() + x[0]
    }
    let mut slopes = [f64::NAN; 2];
    gradient(|x: &[Var]| cut(x), &[-1.0, 2.0], &mut slopes);
    assert_eq!(slopes, [1.0, 0.0]);
    assert_eq!(jacobian(|x: &[Var]| vec![cut(x), x[1]], &[-1.0, 2.0]).1, [1.0, 0.0, 0.0, 1.0]);
    let replay = Replay::record(|x: &[Symbol]| cut(x), &[-1.0, 2.0]);
    for _ in 0..3 {
        let mut slopes = [f64::NAN; 2];
        replay.value_and_grad(&[-1.0, 2.0], &mut slopes);
        assert_eq!(slopes, [1.0, 0.0]);
    }
    let (mut values, mut slopes) = ([0.0; 2], [f64::NAN; 4]);
    replay.values_and_grads(&[-1.0, 2.0, -2.0, 3.0], &mut values, &mut slopes);
    assert_eq!(slopes, [1.0, 0.0, 1.0, 0.0]);
    let forward = cut(&[Dual::<f64, 2>::variable(-1.0, 0), Dual::variable(2.0, 1)]);
    assert_eq!(forward.tangents(), &[1.0, 0.0]);
    // And the other way round: an infinite tangent, and a slope of 0.
    let root = Dual::<f64, 1>::variable(0.0, 0).sqrt();
    assert_eq!(root.abs().tangents(), &[0.0]);
    // NaN stays NaN.
    let mut slope = [0.0];
    gradient(|x: &[Var]| (x[0] * 0.0) * f64::NAN, &[1.0], &mut slope);
    assert!(slope[0].is_nan());
}

/// The second derivative of a function at a number, in every mode.
macro_rules! second {
    ($f:expr, $x:expr) => {{
        let x = Dual::<Dual<f64, 1>, 1>::new(Dual::variable($x, 0), [Dual::lit(1.0)]);
        let twice: fn(Dual<Dual<f64, 1>, 1>) -> Dual<Dual<f64, 1>, 1> = $f;
        let mixed: fn(Dual<Var, 1>) -> Dual<Var, 1> = $f;
        let recorded: fn(Symbol) -> Symbol = $f;
        let over = gradient_of(|[x]| mixed(Dual::new(x, [Var::lit(1.0)])).tangents()[0], [$x]).1[0];
        let replay = Replay::record(move |x: &[Symbol]| recorded(x[0]), &[$x]);
        let mut product = [0.0];
        replay.hvp(&[$x], &[1.0], &mut product);
        [twice(x).tangents()[0].tangents()[0], over, replay.hessian(&[$x])[0], product[0]]
    }};
}

#[test]
fn second_slopes_of_very_large_and_very_small_numbers_are_finite_where_they_should_be() {
    let near = |found: &[f64], right: f64| found.iter().all(|found| (found - right).abs() <= 1e-12 * right.abs());
    // The slopes of reciprocals overflow, but products with them do not. (A tape stores slopes, and loses these.)
    for (found, right) in [
        (second!(|x| (x * 1e-200).ln(), 2.0), -0.25),
        (second!(|x| (x * 1e200).ln(), 2.0), -0.25),
        (second!(|x| (x * 1e200).recip() * 1e200, 2.0), 0.25),
    ] {
        assert!(near(&[found[0], found[2], found[3]], right), "{found:?}");
    }
    let found = second!(|x| (1e67 / (x * 1e134)) * 1e67, 1.0);
    assert!(near(&found, 2.0), "{found:?}");
    for found in [
        second!(|x| (x * 1e60) / ((x * 1e60) * (x * 1e60) + 1.5) * 1e60, 1.0),
        second!(|x| (x * 1e67) / ((x * 1e67) * (x * 1e67) + 1.5) * 1e67, 1.0),
        second!(|x| (x * 1e76) / ((x * 1e76) * (x * 1e76) + 1.5) * 1e76, 1.0),
    ] {
        assert!(near(&found, 2.0), "{found:?}");
    }
}
