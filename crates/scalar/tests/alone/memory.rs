//! The memory that derivatives of large recorded functions take.

use super::{ALLOCATOR, turn};
use wengert_scalar::{Items, Real, Replay, Symbol, Var, gradient};

/// The bytes that `f` allocates.
fn bytes<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = ALLOCATOR.bytes();
    let result = f();
    (result, ALLOCATOR.bytes() - before)
}

/// An American put on a tree, which decides at every node: nearly every point takes its own path.
fn put<T: Real>(x: &[T]) -> T {
    const STEPS: i32 = 60;
    let up = (x[1] * T::lit(0.1)).exp();
    let price = |node: i32, step: i32| x[0] * up.powi(2 * node - step);
    let worth = |node: i32, step: i32| Real::max(T::lit(100.0) - price(node, step), T::lit(0.0));
    let mut values: Vec<T> = (0..=STEPS).map(|node| worth(node, STEPS)).collect();
    for step in (0..STEPS).rev() {
        for node in 0..=step {
            let held = (values[node as usize] + values[node as usize + 1]) * T::lit(0.499);
            let sold = worth(node, step);
            values[node as usize] = if held > sold { held } else { sold };
        }
    }
    values[0]
}

#[test]
fn points_that_take_paths_of_their_own_cost_no_more_together() {
    let _turn = turn();
    let points: Vec<f64> = (0..20).flat_map(|i| [90.0 + 0.61 * f64::from(i), 0.2 + 0.01 * f64::from(i)]).collect();
    let mut one_by_one = (vec![0.0; 20], vec![0.0; 40]);
    let (_, of_each) = bytes(|| {
        let replay = Replay::record(put::<Symbol>, &points[..2]);
        for (i, x) in points.chunks_exact(2).enumerate() {
            one_by_one.0[i] = replay.value_and_grad(x, &mut one_by_one.1[2 * i..][..2]);
        }
    });
    let mut at_once = (vec![0.0; 20], vec![0.0; 40]);
    let (recordings, of_all) = bytes(|| {
        let replay = Replay::record(put::<Symbol>, &points[..2]);
        replay.values_and_grads(&points, &mut at_once.0, &mut at_once.1);
        replay.recordings()
    });
    assert!(recordings > 15, "{recordings}");
    assert!(2 * of_all < 3 * of_each, "{of_all} bytes, {of_each} one by one");
    for (i, x) in points.chunks_exact(2).enumerate() {
        let mut slopes = [0.0; 2];
        let value = gradient(put::<Var>, x, &mut slopes);
        for found in [&one_by_one, &at_once] {
            let pairs = [(found.0[i], value), (found.1[2 * i], slopes[0]), (found.1[2 * i + 1], slopes[1])];
            assert!(pairs.iter().all(|(a, b)| (a - b).abs() <= 1e-10 * b.abs().max(1.0)), "point {i}: {pairs:?}");
        }
    }
}

#[test]
fn lanes_of_items_are_kept_from_call_to_call() {
    let _turn = turn();
    let term = |x: &[Symbol]| {
        let (x, time) = x.split_at(20);
        x.iter().fold((time[0], Symbol::lit(1.0)), |(sum, power), x| (sum - *x * power, power * time[0])).0.sin()
    };
    let replay = Replay::record(term, &[0.5; 21]);
    let times: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
    let call = |scale: f64| {
        let (x, mut slopes) = ([scale; 20], [0.0; 20]);
        let sum = replay.sum_over_and_grad(&x, &Items::of(&times, 1), &mut slopes);
        (sum, slopes[3])
    };
    let ((first, first_slope), of_first) = bytes(|| call(0.1));
    call(0.3);
    let (again, of_second) = bytes(|| call(0.1));
    assert_eq!(again, (first, first_slope));
    let value = |t: f64| t - (0..20).map(|j| 0.1 * t.powi(j)).sum::<f64>();
    let expected: f64 = times.iter().map(|t| value(*t).sin()).sum();
    let expected_slope: f64 = times.iter().map(|t| -value(*t).cos() * t.powi(3)).sum();
    assert!((first - expected).abs() < 1e-12 && (first_slope - expected_slope).abs() < 1e-12);
    assert!(10 * of_second < of_first, "{of_first} bytes, then {of_second}");
}

#[test]
fn a_row_of_a_wide_jacobian_takes_no_more_than_a_gradient() {
    let _turn = turn();
    let x: Vec<f64> = (0..20_000).map(|i| f64::from(i % 7) - 3.0).collect();
    let squares = |x: &[Symbol]| x.iter().fold(Symbol::from(0.0), |sum, x| sum + *x * *x);
    let mut slopes = vec![0.0; x.len()];
    let (_, of_gradient) = bytes(|| Replay::record(squares, &x).value_and_grad(&x, &mut slopes));
    let (jacobian, of_jacobian) = bytes(|| Replay::record(squares, &x).jacobian(&x));
    assert_eq!(jacobian, slopes);
    assert_eq!(slopes[..3], [-6.0, -4.0, -2.0]);
    assert!(of_jacobian < 2 * of_gradient, "{of_jacobian} bytes, the gradient {of_gradient}");
}
