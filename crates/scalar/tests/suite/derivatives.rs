//! Compares every function with finite differences, and every mode of differentiation with the others.

use std::panic::catch_unwind;
use wengert_scalar::{Dual, Real, Replay, Symbol, Var, gradient, gradient_of, jacobian, recording};

/// A function of one number, and points of its domain away from kinks.
type Case = (&'static str, fn(Var) -> Var, fn(Dual<f64, 1>) -> Dual<f64, 1>, fn(f64) -> f64, &'static [f64]);

macro_rules! cases {
    ($($name:ident at [$($x:literal),+]),+ $(,)?) => {
        vec![$((stringify!($name), |x| Real::$name(x), |x| Real::$name(x), |x| Real::$name(x), &[$($x),+] as &[f64])),+]
    };
}

fn cases() -> Vec<Case> {
    cases![
        recip at [-2.0, 0.7], sqrt at [0.3, 4.0], cbrt at [-2.0, 0.5], exp at [-1.0, 2.0], exp2 at [-1.0, 2.0], exp_m1 at [-1.0, 0.001],
        ln at [0.1, 3.0], log2 at [0.1, 3.0], log10 at [0.1, 3.0], ln_1p at [-0.5, 2.0], sin at [-2.0, 0.4], cos at [-2.0, 0.4],
        tan at [-1.0, 0.4], asin at [-0.7, 0.2], acos at [-0.7, 0.2], atan at [-3.0, 0.2], sinh at [-1.0, 2.0], cosh at [-1.0, 2.0],
        tanh at [-1.0, 0.3], asinh at [-1.0, 3.0], acosh at [1.5, 4.0], atanh at [-0.6, 0.3], erf at [-1.0, 0.4], erfc at [-1.0, 2.0],
        ln_gamma at [0.4, 5.0], abs at [-2.0, 0.5],
    ]
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1.0)
}

#[test]
fn slopes_of_all_functions_agree_with_differences() {
    for (name, var, dual, plain, points) in cases() {
        for &x in points {
            let h = 1e-5;
            // Fourth order in h.
            let difference =
                (8.0 * (plain(x + h) - plain(x - h)) - (plain(x + 2.0 * h) - plain(x - 2.0 * h))) / (12.0 * h);
            let (value, [slope]) = gradient_of(|[x]| var(x), [x]);
            assert!(close(slope, difference, 1e-8), "{name} at {x}: {slope}, not {difference}");
            let forward = dual(Dual::variable(x, 0));
            assert_eq!((value, slope), (forward.value(), forward.tangents()[0]), "{name}");
            assert_eq!(value, plain(x), "{name}");
        }
    }
}

#[test]
fn functions_of_two_numbers_agree_with_differences() {
    type Two = (&'static str, fn(Var, Var) -> Var, fn(f64, f64) -> f64);
    let functions: [Two; 12] = [
        ("add", |x, y| x + y, |x, y| x + y),
        ("sub", |x, y| x - y, |x, y| x - y),
        ("mul", |x, y| x * y, |x, y| x * y),
        ("div", |x, y| x / y, |x, y| x / y),
        ("rem", |x, y| x % y, |x, y| x % y),
        ("powf", |x, y| x.powf(y), |x, y| x.powf(y)),
        ("powi", |x, y| x.powi(3) + y.powi(-2) + x.powi(0) + y.powi(1), |x, y| x.powi(3) + y.powi(-2) + 1.0 + y),
        ("atan2", |x, y| x.atan2(y), |x, y| x.atan2(y)),
        ("hypot", |x, y| x.hypot(y), |x, y| x.hypot(y)),
        ("max", |x, y| Real::max(x, y), |x, y| x.max(y)),
        ("min", |x, y| Real::min(x, y), |x, y| x.min(y)),
        ("mul_add", |x, y| x.mul_add(y, x), |x, y| x * y + x),
    ];
    for (name, var, plain) in functions {
        for [x, y] in [[0.7, 1.9], [2.5, 0.4]] {
            let h = 1e-6;
            let (value, [dx, dy]) = gradient_of(|[x, y]| var(x, y), [x, y]);
            assert!(close(value, plain(x, y), 1e-15), "{name}");
            assert!(close(dx, (plain(x + h, y) - plain(x - h, y)) / (2.0 * h), 1e-8), "{name} by x at {x}, {y}");
            assert!(close(dy, (plain(x, y + h) - plain(x, y - h)) / (2.0 * h), 1e-8), "{name} by y at {x}, {y}");
        }
    }
}

fn mixture<T: Real>(x: &[T]) -> T {
    let (head, tail) = x.split_at(2);
    let weights: Vec<T> = tail.iter().map(|x| (*x * T::lit(0.3) + head[0]).tanh()).collect();
    T::dot(&weights, tail) + T::norm(tail) * head[1].exp() - T::sum_of(&weights) / (head[0] * head[0] + T::lit(1.0))
}

#[test]
fn wide_statements_dual_numbers_and_mixed_order_agree() {
    let x = [0.4, -0.3, 1.2, 0.7, -0.9];
    let mut slopes = [0.0; 5];
    let value = gradient(mixture, &x, &mut slopes);
    let dual = mixture::<Dual<f64, 5>>(&std::array::from_fn::<_, 5, _>(|i| Dual::variable(x[i], i)));
    assert!(close(value, mixture(&x), 1e-15));
    for (back, forward) in slopes.iter().zip(dual.tangents()) {
        assert!(close(*back, *forward, 1e-14), "{back} {forward}");
    }
    // Row 0 of the Hessian: the tangent along the first input, swept backward; and nested dual numbers.
    let mut row = [0.0; 5];
    let along = |x: &[Var]| {
        let x: Vec<Dual<Var, 1>> =
            x.iter().enumerate().map(|(i, x)| Dual::new(*x, [Var::lit(if i == 0 { 1.0 } else { 0.0 })])).collect();
        mixture(&x).tangents()[0]
    };
    gradient(along, &x, &mut row);
    let nested: [Dual<Dual<f64, 5>, 1>; 5] =
        std::array::from_fn(|i| Dual::new(Dual::variable(x[i], i), [Dual::lit(if i == 0 { 1.0 } else { 0.0 })]));
    for (mixed, forward) in row.iter().zip(mixture(&nested).tangents()[0].tangents()) {
        assert!(close(*mixed, *forward, 1e-13), "{mixed} {forward}");
    }
}

fn layers<T: Real>(x: &[T]) -> T {
    let (matrix, x) = x.split_at(6);
    let (mut y, mut z) = ([T::lit(0.0); 3], [T::lit(1.0), x[0], x[1]]);
    T::matvec(matrix, x, &mut y);
    T::axpy(y[0], &y, &mut z);
    T::axpy(T::lit(2.0), &y, &mut z);
    T::axpy(y[1], &[T::lit(0.5); 3], &mut z);
    z[2].mul_add(z[1], z[0]) + T::lit(3.0).mul_add(z[1], z[2]) + z[1].mul_add(T::lit(0.5), T::lit(1.0))
}

#[test]
fn products_of_matrices_and_sums_of_products_agree_with_dual_numbers() {
    let x = [0.4, -0.3, 1.2, 0.7, -0.9, 0.1, 2.0, -1.5];
    let mut slopes = [0.0; 8];
    let value = gradient(layers, &x, &mut slopes);
    let dual = layers::<Dual<f64, 8>>(&std::array::from_fn::<_, 8, _>(|i| Dual::variable(x[i], i)));
    assert!(close(value, layers(&x), 1e-15) && close(dual.value(), value, 1e-15));
    for (back, forward) in slopes.iter().zip(dual.tangents()) {
        assert!(close(*back, *forward, 1e-14), "{back} {forward}");
    }
    let statements = |f: fn(&[Var])| {
        recording(|tape| {
            let x: Vec<Var> = (0..6).map(|k| tape.input(f64::from(k))).collect();
            f(&x);
            (tape.statements() - 6, tape.bytes() - 6)
        })
    };
    let product = |x: &[Var]| Var::matvec(x, &[x[0], Var::from(2.0)], &mut [Var::from(0.0); 3]);
    // Three arguments per row: both factors of one product, and the matrix of the other.
    assert_eq!(statements(product), (3, 3 * (3 * 12 + 1)));
    assert_eq!(statements(|x| Var::axpy(x[0], &x[1..3], &mut [x[3], x[4]])), (2, 2 * (3 * 12 + 1)));
    assert_eq!(statements(|x| drop(Var::dot(x, &[Var::from(1.0); 6]).to_string())), (1, 6 * 12 + 1));
}

#[test]
fn jacobians_of_many_outputs_agree_with_gradients() {
    let x = [0.3, 1.1, -0.4];
    let output = |k: usize, x: &[Var]| (x[k % 3] * k as f64).sin() * x[(k + 1) % 3];
    let (values, rows) = jacobian(|x| (0..19).map(|k| output(k, x)).collect(), &x);
    for k in 0..19 {
        let mut slopes = [0.0; 3];
        assert_eq!(gradient(|x| output(k, x), &x, &mut slopes), values[k]);
        assert_eq!(rows[3 * k..3 * k + 3], slopes, "row {k}");
    }
    assert_eq!(jacobian(|_| Vec::new(), &x), (Vec::new(), Vec::new()));
    assert_eq!(jacobian(|_| vec![Var::from(2.0)], &[]), (vec![2.0], Vec::new()));
}

#[test]
fn sweeps_of_one_recording_know_nothing_of_each_other() {
    let mut found = [[0.0; 2]; 3];
    recording(|tape| {
        let x = [tape.input(2.0), tape.input(3.0)];
        let product = x[0] * x[1];
        // The second input's adjoint is not requested.
        tape.pull(product, &x[..1], &mut found[0][..1]);
        tape.pull(product * product, &x, &mut found[1]);
        tape.pull(x[1], &x, &mut found[2]);
        assert_eq!(tape.statements(), 4);
    });
    assert_eq!(found, [[3.0, 0.0], [36.0, 24.0], [0.0, 1.0]]);
    assert_eq!(gradient_of(|[x]| x * 1.0, [1.0]).1, [1.0]);
}

#[test]
fn kinks_and_borders_follow_the_policy() {
    let slope = |f: fn(Var) -> Var, x: f64| gradient_of(|[x]| f(x), [x]).1[0];
    assert_eq!(slope(|x| x.abs(), 0.0), 0.0);
    assert_eq!(gradient_of(|[x, y]| Real::max(x, y), [2.0, 2.0]).1, [0.5, 0.5]);
    assert_eq!(gradient_of(|[x, y]| Real::min(x, y), [2.0, 2.0]).1, [0.5, 0.5]);
    assert_eq!(slope(|x| Var::norm(&[x, x]), 0.0), 0.0);
    assert_eq!(gradient_of(|[x, y]| x.hypot(y), [0.0, 0.0]).1, [0.0, 0.0]);
    assert_eq!(slope(|x| x.sqrt(), 0.0), f64::INFINITY);
    assert_eq!(slope(|x| x.powf(Var::from(0.0)), 0.0), 0.0);
    for f in [|x: Var| x.ln(), |x: Var| x.log2(), |x: Var| x.log10()] {
        assert!(slope(f, -2.0).is_nan());
    }
    assert!(
        slope(|x| x.ln_1p(), -3.0).is_nan()
            && slope(|x| x.atanh(), 2.0).is_nan()
            && slope(|x| x.acosh(), -2.0).is_nan()
    );
    assert_eq!(slope(|x| x.floor() + x.ceil() + x.round() + x.signum(), 0.3), 0.0);
    // A zero adjoint stays zero through an infinite slope.
    assert_eq!(slope(|x| x.sqrt() * 0.0, 0.0), 0.0);
    assert!(Real::max(f64::NAN, 1.0).is_nan() && Real::max(1.0, f64::NAN).is_nan());
}

fn message_of(f: impl FnOnce()) -> String {
    wengert_engine::catch(f).unwrap_err().to_string()
}

#[test]
fn numbers_of_other_recordings_and_threads_are_errors_with_the_line() {
    let mut kept = None;
    gradient_of(
        |[x]| {
            kept = Some(x);
            x * 2.0
        },
        [1.0],
    );
    let kept = kept.unwrap();
    let line = line!() + 1;
    let text = message_of(|| drop((kept + 1.0).to_f64().to_string()));
    assert!(text.contains("has ended") && text.contains(&format!("derivatives.rs:{line}")), "{text}");
    let text = message_of(|| {
        gradient_of(|[x]| Var::from(gradient_of(|[y]| x * y, [2.0]).0), [1.0]);
    });
    assert!(text.contains("the recording around this one") && text.contains("Dual<Var, N>"), "{text}");
    let (_, slopes) = gradient_of(
        |[x]| {
            let text =
                std::thread::scope(|scope| scope.spawn(|| message_of(|| drop((x * x).to_string()))).join().unwrap());
            assert!(text.contains("another thread"), "{text}");
            x * x
        },
        [3.0],
    );
    assert_eq!(slopes, [6.0]);
    // After all that, a gradient is still right.
    assert_eq!(gradient_of(|[x, y]| x * y, [2.0, 5.0]), (10.0, [5.0, 2.0]));
}

#[test]
fn an_inner_gradient_of_plain_numbers_is_a_constant() {
    let (value, slopes) = gradient_of(|[x]| x * gradient_of(|[y]| y * y, [x.to_f64()]).1[0], [3.0]);
    assert_eq!((value, slopes), (18.0, [6.0]));
}

#[test]
fn a_function_that_panics_leaves_a_clean_tape() {
    let failing = || gradient_of(|[x]| if x.to_f64() > 0.0 { panic!("no") } else { x }, [1.0]);
    assert!(catch_unwind(failing).is_err());
    assert_eq!(gradient_of(|[x]| x * x * x, [2.0]), (8.0, [12.0]));
}

#[test]
fn a_chain_of_ten_million_operations_is_recorded_and_swept() {
    let (value, [slope]) = gradient_of(|[x]| (0..10_000_000).fold(x, |y, _| y * 0.999_999_9), [2.0]);
    assert!(close(value, 2.0 * slope, 1e-9) && slope > 0.3 && slope < 0.4, "{value} {slope}");
}

/// Every operator with references and plain numbers, and every comparison with plain numbers.
macro_rules! mixed {
    ($x:ident, $y:ident) => {{
        let (p, q) = (2.0, 3.0);
        let mut z = &$x + &$y * $x - $y / &$x;
        z += &($x * &p - &q * $y + &$x / &p);
        z -= &(p / &$y);
        z *= &(-&$y);
        z /= &(&$x + p);
        let truths =
            [$x > 1.0, $x >= 2.0, $x < 2.5, $x <= 1.5, $x == 1.5, 1.0 < $x, 1.5 <= $x, 2.0 > $x, 0.0 >= $x, 1.5 == $x];
        (z, truths)
    }};
}

#[test]
fn operators_take_references_and_plain_numbers_as_those_of_floats_do() {
    let plain = |x: f64, y: f64| mixed!(x, y);
    let (value, truths) = plain(1.5, 0.5);
    let step = 1e-6;
    let right = [
        (plain(1.5 + step, 0.5).0 - plain(1.5 - step, 0.5).0) / (2.0 * step),
        (plain(1.5, 0.5 + step).0 - plain(1.5, 0.5 - step).0) / (2.0 * step),
    ];
    let check = |found: f64, slopes: &[f64], told: [bool; 10]| {
        assert!((found - value).abs() < 1e-14 && told == truths, "{found} {value} {told:?}");
        assert!(slopes.iter().zip(right).all(|(a, b)| (a - b).abs() < 1e-8), "{slopes:?} {right:?}");
    };
    let mut told = [false; 10];
    let (found, slopes) = gradient_of(
        |[x, y]| {
            let (z, truths) = mixed!(x, y);
            told = truths;
            z
        },
        [1.5, 0.5],
    );
    check(found, &slopes, told);
    let (x, y) = (Dual::<f64, 2>::variable(1.5, 0), Dual::variable(0.5, 1));
    let (z, told) = mixed!(x, y);
    check(z.value(), z.tangents(), told);
    let f = |x: &[Symbol]| {
        let (x, y) = (x[0], x[1]);
        let (z, truths) = mixed!(x, y);
        // The results of the comparisons matter.
        z + truths.iter().filter(|holds| **holds).count() as f64
    };
    let (replay, mut slopes) = (Replay::record(f, &[9.0, 0.5]), [0.0; 2]);
    let found = replay.value_and_grad(&[1.5, 0.5], &mut slopes);
    check(found - truths.iter().filter(|holds| **holds).count() as f64, &slopes, truths);
    assert_eq!(replay.recordings(), 2);
}

/// The gradient of a length has no derivative at the origin, for any function of the length.
#[test]
fn second_derivatives_of_lengths_at_the_origin_are_not_silently_zero() {
    let is_nan = |hessian: &[f64], n: usize| (0..n).all(|i| hessian[i * n + i].is_nan());
    let square = Replay::record(|x: &[Symbol]| x[0].hypot(x[1]) * x[0].hypot(x[1]), &[1.0, 2.0]);
    assert!(is_nan(&square.hessian(&[0.0, 0.0]), 2));
    let elsewhere = square.hessian(&[0.6, -0.8]);
    assert!(
        elsewhere.iter().zip([2.0, 0.0, 0.0, 2.0]).all(|(found, right)| (found - right).abs() < 1e-14),
        "{elsewhere:?}"
    );
    let norm = Replay::record(|x: &[Symbol]| Symbol::norm(x), &[1.0, 2.0, 3.0]);
    assert!(is_nan(&norm.hessian(&[0.0; 3]), 3));
    let mut slopes = [1.0; 3];
    norm.value_and_grad(&[0.0; 3], &mut slopes);
    assert_eq!(slopes, [0.0; 3]);
}
