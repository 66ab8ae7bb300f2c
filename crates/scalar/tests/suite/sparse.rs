//! Sparse derivatives of recorded functions equal dense ones, with few entries.

use wengert_engine::{ErrorKind, catch};
use wengert_scalar::{Real, Replay, Returned, SparseHessian, SparseJacobian, Symbol};

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (number, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0), "number {number}: {a} and {b}");
    }
}

fn point(n: usize, phase: f64) -> Vec<f64> {
    (0..n).map(|i| 0.8 + 0.4 * (i as f64 * 0.7 + phase).sin()).collect()
}

/// Compares the Jacobian and the Hessian of a weighted sum with dense ones, at points that differ from the first.
#[track_caller]
fn check<Y: Returned>(f: impl Fn(&[Symbol]) -> Y + Copy, n: usize) -> (usize, usize) {
    let dense = Replay::record(f, &point(n, 0.0));
    let m = dense.outputs();
    let weights: Vec<f64> = (0..m).map(|output| 0.5 + output as f64 * 0.25).collect();
    let sum = |x: &[Symbol]| {
        let weighted = f(x).numbers().into_iter().zip(&weights).map(|(y, weight)| y * *weight);
        weighted.fold(Symbol::lit(0.0), |sum, term| sum + term)
    };
    let dense_sum = Replay::record(sum, &point(n, 0.0));
    let jacobian = SparseJacobian::record(f, &point(n, 0.0));
    let hessian = SparseHessian::record(f, &point(n, 0.0));
    for phase in [0.0, 0.3, 0.9] {
        let x = point(n, phase);
        let mut values = vec![f64::NAN; jacobian.pattern().entries()];
        jacobian.values(&x, &mut values);
        let mut matrix = vec![0.0; m * n];
        let (rows, columns) = jacobian.triplets();
        rows.iter().zip(columns).zip(&values).for_each(|((row, column), value)| matrix[row * n + column] = *value);
        assert_close(&matrix, &dense.jacobian(&x), 1e-12);

        let mut values = vec![f64::NAN; hessian.triplets().0.len()];
        hessian.values(&x, &weights, &mut values);
        let mut matrix = vec![0.0; n * n];
        let (rows, columns) = hessian.triplets();
        for ((row, column), value) in rows.iter().zip(columns).zip(&values) {
            (matrix[row * n + column], matrix[column * n + row]) = (*value, *value);
        }
        assert_close(&matrix, &dense_sum.hessian(&x), 1e-11);
    }
    (jacobian.seeds(), hessian.seeds())
}

fn rosenbrock<T: Real>(x: &[T]) -> T {
    let term = |a: T, b: T| (T::lit(1.0) - a).powi(2) + T::lit(100.0) * (b - a * a).powi(2);
    x.windows(2).fold(T::lit(0.0), |sum, pair| sum + term(pair[0], pair[1]))
}

#[test]
fn the_hessian_of_rosenbrock_is_tridiagonal() {
    for n in [2, 3, 20, 60] {
        let (rows, products) = check(rosenbrock::<Symbol>, n);
        assert!(rows == 1 && products <= 3, "{n}: {rows} {products}");
        let hessian = SparseHessian::record(rosenbrock::<Symbol>, &point(n, 0.0));
        assert_eq!(hessian.triplets().0.len(), 2 * n - 1);
    }
}

#[test]
fn an_arrow_takes_two_products() {
    let arrow = |x: &[Symbol]| x[1..].iter().fold(x[0].exp(), |sum, y| sum + (x[0] * *y).sin() + *y);
    assert_eq!(check(arrow, 30), (1, 2));
}

#[test]
fn what_is_linear_is_in_the_jacobian_alone() {
    let f = |x: &[Symbol]| [x[0] + 2.0 * x[1] - x[2] / 3.0, x[1].max(x[2]).abs() + x[0].floor(), x[0] / x[1] + x[2]];
    check(f, 3);
    let jacobian = SparseJacobian::record(f, &[1.0, 2.0, 3.0]);
    assert_eq!(jacobian.triplets(), (&[0, 0, 0, 1, 1, 2, 2, 2][..], &[0, 1, 2, 1, 2, 0, 1, 2][..]));
    let hessian = SparseHessian::record(f, &[1.0, 2.0, 3.0]);
    assert_eq!(hessian.triplets(), (&[1, 1][..], &[0, 1][..]));
}

#[test]
fn what_nobody_returns_and_what_is_constant_has_no_entries() {
    let f = |x: &[Symbol]| {
        let _unused = (x[0] * x[1]).sin();
        [x[2], Symbol::lit(2.0)]
    };
    check(f, 3);
    assert_eq!(SparseHessian::record(f, &[1.0; 3]).pattern().entries(), 0);
    assert_eq!(SparseJacobian::record(f, &[1.0; 3]).pattern().entries(), 1);
}

#[test]
fn every_function_of_one_and_two_numbers_has_its_pattern() {
    type Of = fn(Symbol, Symbol) -> Symbol;
    let functions: [Of; 16] = [
        |a, _| a.recip(),
        |a, _| a.tanh(),
        |a, _| a.erf(),
        |a, _| a.ln_gamma(),
        |a, _| a.polygamma(1),
        |a, _| a.powi(3),
        |a, _| a.powi(0),
        |a, _| a.round(),
        |a, b| a / b,
        |a, b| a.powf(b),
        |a, b| a.powf(Symbol::lit(2.5)) + b,
        |a, b| a.atan2(b),
        |a, b| a.hypot(b),
        |a, b| a.min(b),
        |a, b| a.guarded_mul(b),
        |a, b| a.inside(b),
    ];
    for f in functions {
        check(move |x: &[Symbol]| f(x[0] + x[1], x[2]) * x[3], 4);
        check(move |x: &[Symbol]| f(x[0], x[1]), 2);
    }
}

#[test]
fn sums_of_many_inputs_are_known_wherever_they_are_used() {
    // More inputs than small sets hold, in sums that are reused, squared, and returned.
    let f = |x: &[Symbol]| {
        let all = x.iter().fold(Symbol::lit(0.0), |sum, x| sum + *x);
        let front = x[..20].iter().fold(Symbol::lit(0.0), |sum, x| sum + *x);
        vec![all, front * front, front * x[25], all + front, x[29].sin() * x[28]]
    };
    check(f, 30);
    let pattern = SparseHessian::record(f, &point(30, 0.0)).pattern().clone();
    assert_eq!(pattern.entries(), 20 * 20 + 2 * 20 + 3);
}

/// Random small steps, each a function of a few earlier values.
fn random_program<T: Real>(x: &[T], seed: u64, width: usize) -> Vec<T> {
    let mut state = seed;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut known = x.to_vec();
    for _ in 0..3 * x.len() {
        let near = random(known.len());
        let (a, b) = (known[near], known[(near + random(width)) % known.len()]);
        known.push(match random(8) {
            0 => a + b,
            1 => a - b,
            2 => a * b * T::lit(0.5),
            3 => a.sin(),
            4 => (a * b).cos(),
            5 => a / (b * b + T::lit(2.0)),
            6 => a.max(b),
            _ => (a * T::lit(0.3)).exp(),
        });
    }
    known.split_off(2 * x.len())
}

#[test]
fn random_functions_have_the_entries_of_dense_matrices() {
    for seed in 0..40 {
        let n = 3 + seed as usize % 12;
        check(move |x: &[Symbol]| random_program(x, seed * 7919 + 1, 2 + seed as usize % 4), n);
    }
}

#[test]
fn many_seeds_run_in_lanes() {
    // A dense block among others: more seeds than lanes pay for.
    let f = |x: &[Symbol]| {
        let head = x[..70].iter().enumerate().fold(Symbol::lit(0.0), |sum, (i, x)| sum + *x * (i as f64).cos());
        let rest = x[70..].windows(2).map(|pair| pair[0] * pair[1].exp());
        std::iter::once(head.sin()).chain(rest).collect::<Vec<_>>()
    };
    assert!(check(f, 90).1 >= 70);
}

/// A chain of masses: an objective, and a constraint for each step.
fn chain<T: Real>(x: &[T]) -> Vec<T> {
    let objective = x.windows(2).fold(T::lit(0.0), |sum, pair| sum + (pair[1] - pair[0] * pair[0]).powi(2));
    let constraint = |three: &[T]| three[0] + three[1].sin() * three[2] - T::lit(1.0);
    std::iter::once(objective).chain(x.windows(3).map(constraint)).collect()
}

#[test]
fn a_chain_of_ten_thousand_variables_needs_a_handful_of_seeds() {
    let n = 10_000;
    let hessian = SparseHessian::record(chain::<Symbol>, &point(n, 0.0));
    let jacobian = SparseJacobian::record(|x: &[Symbol]| chain(x).split_off(1), &point(n, 0.0));
    assert!(hessian.seeds() <= 5 && jacobian.seeds() == 3, "{} {}", hessian.seeds(), jacobian.seeds());
    let x = point(n, 0.5);
    let mut second = vec![0.0; hessian.triplets().0.len()];
    let lambda = vec![0.5; n - 2];
    hessian.lagrangian(&x, 2.0, &lambda, &mut second);
    let mut first = vec![0.0; jacobian.triplets().0.len()];
    jacobian.values(&x, &mut first);
    assert_eq!((hessian.triplets().0.len(), first.len()), (2 * n - 1, 3 * (n - 2)));
    // The middle of the chain by hand.
    let i = n / 2;
    let found = |row: usize, column: usize| {
        let (rows, columns) = hessian.triplets();
        second[(0..rows.len()).find(|k| (rows[*k], columns[*k]) == (row, column)).unwrap()]
    };
    let objective = 2.0 + 12.0 * x[i] * x[i] - 4.0 * x[i + 1];
    assert!((found(i, i) - (2.0 * objective - 0.5 * x[i].sin() * x[i + 1])).abs() < 1e-12);
    assert!((found(i, i - 1) - (2.0 * -4.0 * x[i - 1] + 0.5 * x[i - 1].cos())).abs() < 1e-12);
    assert!((first[3 * i + 1] - x[i + 1].cos() * x[i + 2]).abs() < 1e-13);
}

#[test]
fn entries_come_in_the_order_of_the_caller() {
    let n = 6;
    let x = point(n, 0.4);
    let own = SparseHessian::record(rosenbrock::<Symbol>, &x);
    let mut expected = vec![0.0; 2 * n - 1];
    own.values(&x, &[1.0], &mut expected);
    // The upper triangle from the last to the first, a corner that is zero, and a repeated entry.
    let (rows, columns) = own.triplets();
    let (mut upper, mut across): (Vec<usize>, Vec<usize>) = (columns.to_vec(), rows.to_vec());
    upper.reverse();
    across.reverse();
    upper.extend([0, 0]);
    across.extend([n - 1, 0]);
    expected.reverse();
    expected.extend([0.0, 0.0]);
    let ordered = SparseHessian::record(rosenbrock::<Symbol>, &x).in_order(&upper, &across);
    let mut values = vec![f64::NAN; expected.len()];
    ordered.values(&x, &[1.0], &mut values);
    assert_close(&values, &expected, 1e-14);
    let few = || SparseHessian::record(rosenbrock::<Symbol>, &point(3, 0.0)).in_order(&[0, 1], &[0, 1]);
    assert_eq!(catch(|| few().seeds()).unwrap_err().kind(), &ErrorKind::Argument);
}

/// x0 x1 or x1 x2, and one more output on a third path.
fn branching<T: Real>(x: &[T]) -> Vec<T> {
    let limit = T::lit(1.0);
    match (x[0] < limit, x[0] < T::lit(2.0)) {
        (true, _) => vec![x[0] * x[1]],
        (_, true) => vec![x[1] * x[2]],
        _ => vec![x[0], x[1]],
    }
}

#[test]
fn another_path_must_have_entries_of_the_structure() {
    let hessian = SparseHessian::record(branching::<Symbol>, &[0.5, 1.0, 1.0]);
    let (other, third) = ([1.5, 1.0, 1.0], [2.5, 1.0, 1.0]);
    for _ in 0..2 {
        let error = hessian.try_values(&other, &[1.0], &mut [0.0]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Retraced);
        assert!(error.to_string().contains("(1, 2)"), "{error}");
        assert_eq!(hessian.try_values(&third, &[1.0], &mut [0.0]).unwrap_err().kind(), &ErrorKind::Retraced);
    }
    let mut values = [0.0];
    hessian.values(&[0.25, 1.0, 1.0], &[3.0], &mut values);
    assert_eq!(values, [3.0]);

    let both = SparseHessian::record(branching::<Symbol>, &[0.5, 1.0, 1.0]).in_order(&[1, 2], &[0, 1]);
    let (hessian, mut values) = (both, [0.0; 2]);
    hessian.values(&other, &[2.0], &mut values);
    assert_eq!(values, [0.0, 2.0]);
    hessian.values(&[0.5, 1.0, 1.0], &[2.0], &mut values);
    assert_eq!(values, [2.0, 0.0]);
    hessian.values(&other, &[1.0], &mut values);
    assert_eq!((values, hessian.recordings()), ([0.0, 1.0], 2));
}
