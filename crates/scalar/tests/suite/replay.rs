//! Recorded functions have the values and derivatives of the tape, on every path.

use wengert_engine::{ErrorKind, catch};
use wengert_scalar::{Dual, Items, Real, Replay, Symbol, Var, gradient};

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0) || (a.is_nan() && b.is_nan()) || a == b
}

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let wrong = a.iter().zip(b).position(|(a, b)| !close(*a, *b, tolerance));
    assert!(wrong.is_none(), "number {}: {} and {}", wrong.unwrap(), a[wrong.unwrap()], b[wrong.unwrap()]);
}

/// A function for every number type.
trait Function {
    fn call<T: Real>(&self, x: &[T]) -> T;
}

/// Compares value, gradient, tangents, second derivatives and many points of a recording with tape and dual numbers, at points that take
/// the path of the first.
#[track_caller]
fn check<F: Function>(f: F, points: &[Vec<f64>]) -> usize {
    let n = points[0].len();
    let replay = Replay::record(|x: &[Symbol]| f.call(x), &points[0]);
    for x in points {
        let mut expected = vec![0.0; n];
        let value = gradient(|x: &[Var]| f.call(x), x, &mut expected);
        assert!(close(replay.value(x), value, 1e-13), "{} {value}", replay.value(x));
        let mut slopes = vec![f64::NAN; n];
        assert!(close(replay.value_and_grad(x, &mut slopes), value, 1e-13));
        assert_close(&slopes, &expected, 1e-12);
        assert_close(&replay.jacobian(x), &expected, 1e-12);
        let direction: Vec<f64> = (0..n).map(|i| (i as f64 * 1.3 + 0.4).cos()).collect();
        let tangent: f64 = expected.iter().zip(&direction).map(|(slope, d)| slope * d).sum();
        let mut along = [f64::NAN];
        replay.jvp(x, &direction, &mut along);
        assert_close(&along, &[tangent], 1e-11);
        // Second derivatives along the direction: the tape on dual numbers.
        let mut second = vec![0.0; n];
        gradient(
            |x: &[Var]| {
                let along: Vec<Dual<Var, 1>> =
                    x.iter().zip(&direction).map(|(x, d)| Dual::new(*x, [Var::lit(*d)])).collect();
                f.call(&along).tangents()[0]
            },
            x,
            &mut second,
        );
        let mut product = vec![0.0; n];
        replay.hvp(x, &direction, &mut product);
        assert_close(&product, &second, 1e-10);
        let matrix = replay.hessian(x);
        let product: Vec<f64> =
            matrix.chunks(n).map(|row| row.iter().zip(&direction).map(|(h, d)| h * d).sum()).collect();
        assert_close(&product, &second, 1e-10);
    }
    let (mut values, mut slopes) = (vec![0.0; points.len()], vec![0.0; points.len() * n]);
    replay.values_and_grads(&points.concat(), &mut values, &mut slopes);
    for (number, x) in points.iter().enumerate() {
        let mut expected = vec![0.0; n];
        assert!(close(values[number], gradient(|x: &[Var]| f.call(x), x, &mut expected), 1e-13));
        assert_close(&slopes[number * n..][..n], &expected, 1e-12);
    }
    replay.recordings()
}

fn points(n: usize, count: usize) -> Vec<Vec<f64>> {
    (0..count).map(|k| (0..n).map(|i| 0.5 + 0.3 * ((i * 7 + k * 13) as f64 * 0.37).sin()).collect()).collect()
}

struct Rosenbrock;
impl Function for Rosenbrock {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let term = |a: T, b: T| (T::lit(1.0) - a).powi(2) + T::lit(100.0) * (b - a * a).powi(2);
        x.windows(2).fold(T::lit(0.0), |sum, pair| sum + term(pair[0], pair[1]))
    }
}

#[test]
fn rosenbrock_of_few_and_of_many() {
    for n in [2, 3, 10, 100, 700] {
        assert_eq!(check(Rosenbrock, &points(n, 3)), 1, "{n}");
    }
    assert_eq!(check(Rosenbrock, &points(5, 200)), 1);
}

/// Uses every function once.
struct Everything;
impl Function for Everything {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let (a, b) = (x[0], x[1]);
        let functions: [T; 27] = [
            a.recip(),
            a.sqrt(),
            a.cbrt(),
            a.exp(),
            a.exp2(),
            a.exp_m1(),
            a.ln(),
            a.log2(),
            a.log10(),
            a.ln_1p(),
            a.sin(),
            a.cos(),
            a.tan(),
            a.asin(),
            a.acos(),
            a.atan(),
            a.sinh(),
            a.cosh(),
            a.tanh(),
            a.asinh(),
            (a + T::lit(1.0)).acosh(),
            a.atanh(),
            a.erf(),
            a.erfc(),
            a.ln_gamma(),
            (-a).abs(),
            a.sigmoid(),
        ];
        let weighted =
            functions.iter().enumerate().fold(T::lit(0.0), |sum, (i, y)| sum + *y * T::lit(1.0 + i as f64 * 0.1));
        let of_two =
            a.powf(b) + a.atan2(b) + a.hypot(b) * b.max(a) - b.min(a) / b + a.powi(5) + b.powi(-2) + b.polygamma(1);
        weighted * b + of_two + a.floor() * b + b.ceil() * a + (a * T::lit(10.0)).round() * b + a.signum() * b
    }
}

#[test]
fn every_function_has_its_slopes_to_second_order() {
    assert_eq!(check(Everything, &[vec![0.3, 0.6], vec![0.31, 0.77], vec![0.7, 0.45]]), 1);
}

/// Iterations that depend on each other, twice as far back as one.
struct Recurrence(usize);
impl Function for Recurrence {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let (mut a, mut b) = (x[0], x[1]);
        for _ in 0..self.0 {
            (a, b) = (b, (a * x[2]).sin() + b * T::lit(0.3));
        }
        a * b
    }
}

#[test]
fn loops_whose_trips_wait_for_each_other() {
    for trips in [1, 5, 40, 500] {
        check(Recurrence(trips), &points(3, 2));
    }
    let replay = Replay::record(|x: &[Symbol]| Recurrence(1000).call(x), &[0.5, 0.4, 0.9]);
    assert!(replay.instructions() < 30, "{}", replay.instructions());
}

/// Captured data that vary from iteration to iteration: a fit, whose terms are distinguished by a label, and a state that is driven by
/// data.
struct Captured(Vec<(f64, f64)>);
impl Function for Captured {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let (mut sum, mut state) = (T::lit(0.0), x[2]);
        for (time, label) in &self.0 {
            let rest = x[0] * (x[1] * T::lit(*time)).exp() - T::lit(*label);
            sum += if rest > T::lit(-100.0 - *time) { rest * rest } else { rest };
        }
        for (time, label) in &self.0 {
            state = (state * T::lit(*label) + x[0]).sin() + T::lit(*time) / T::lit(*time + 2.0) * x[1];
        }
        sum + state
    }
}

/// A filter with its own coefficients, and a layer whose weights all differ.
struct Filter(Vec<f64>);
impl Function for Filter {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let dot = |x: &[T], y: &[f64]| x.iter().zip(y).fold(T::lit(0.0), |sum, (x, y)| sum + *x * T::lit(*y));
        let filtered: Vec<T> = x.windows(5).map(|x| dot(x, &self.0[..5])).collect();
        let layer = self.0.chunks_exact(filtered.len()).map(|row| dot(&filtered, row).tanh());
        layer.fold(T::lit(0.0), |sum, y| sum * T::lit(0.5) + y)
    }
}

#[test]
fn loops_over_captured_data_have_tables() {
    let data = |count: usize| -> Vec<(f64, f64)> {
        (0..count).map(|i| ((i as f64 * 0.7).sin(), f64::from(u8::from(i * i % 7 < 3)))).collect()
    };
    for count in [0, 1, 4, 33, 300] {
        check(Captured(data(count)), &points(3, 2));
    }
    let captured = Captured(data(2000));
    let replay = Replay::record(|x: &[Symbol]| captured.call(x), &[0.5, 0.4, 0.9]);
    assert!(replay.instructions() < 60, "{}", replay.instructions());

    let weights: Vec<f64> = (0..40 * 96).map(|i| (i as f64 * 1.9).cos()).collect();
    check(Filter(weights.clone()), &points(100, 2));
    let filter = Filter(weights);
    let replay = Replay::record(|x: &[Symbol]| filter.call(x), &points(100, 1)[0]);
    // Of 8760 entries: a loop over the windows, with the same coefficients every time, the first row, and a loop over the others.
    assert!(replay.instructions() < 876, "{}", replay.instructions());
}

#[test]
fn a_table_is_shared_by_loops_over_the_same_data_and_kept_by_derivatives_of_derivatives() {
    let data: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin()).collect();
    let f = |x: &[Symbol]| data.iter().fold(Symbol::lit(0.0), |sum, d| sum + (x[0] * *d).exp() * (x[1] + *d));
    let x = [0.3, 0.8];
    let exact =
        |power: i32, plus: f64| -> f64 { data.iter().map(|d| d.powi(power) * (0.3 * d).exp() * (plus + d)).sum() };
    let alone: f64 = data.iter().map(|d| d * (0.3 * d).exp()).sum();
    let replay = Replay::record(f, &x);
    assert!(close(replay.value(&x), exact(0, 0.8), 1e-13));
    assert_close(&replay.hessian(&x), &[exact(2, 0.8), alone, alone, 0.0], 1e-12);
    // At many points at once.
    let points: Vec<f64> = (0..200).flat_map(|i| [f64::from(i) / 200.0, 0.8]).collect();
    let (mut values, mut slopes) = (vec![0.0; 200], vec![0.0; 400]);
    replay.values_and_grads(&points, &mut values, &mut slopes);
    assert!(close(slopes[2 * 60], exact(1, 0.8), 1e-12) && close(values[60], exact(0, 0.8), 1e-12));
    assert_eq!(replay.recordings(), 1);
}

/// Data that begin alike, alternate, or change once: the first repetition need not be the whole pattern.
#[test]
fn loops_go_on_where_data_begin_to_differ() {
    let f =
        |x: &[Symbol], data: &[f64]| data.iter().fold(Symbol::lit(0.0), |sum, d| sum + (x[0] * *d).exp() * (x[1] + *d));
    let late = |i: usize| if i < 50 { 0.5 } else { i as f64 / 1000.0 };
    let in_turn = |i: usize| [0.1, 0.7, 0.2][i % 3];
    let once = |i: usize| if i == 600 { 0.3 } else { 0.9 };
    for (data, instructions) in [(late as fn(usize) -> f64, 11), (in_turn, 21), (once, 11)] {
        let data: Vec<f64> = (0..1000).map(data).collect();
        let replay = Replay::record(|x: &[Symbol]| f(x, &data), &[0.3, 0.8]);
        assert!(replay.instructions() <= instructions, "{}", replay.instructions());
        let (value, mut slopes) = (data.iter().map(|d| (0.4 * d).exp() * (0.8 + d)).sum::<f64>(), [0.0; 2]);
        assert!(close(replay.value_and_grad(&[0.4, 0.8], &mut slopes), value, 1e-13));
        let by_second: f64 = data.iter().map(|d| (0.4 * d).exp()).sum();
        let by_first: f64 = data.iter().map(|d| d * (0.4 * d).exp() * (0.8 + d)).sum();
        assert_close(&slopes, &[by_first, by_second], 1e-13);
    }
}

/// Only some iterations depend on the inputs: a loop that starts with a constant, and a row of numbers that shifts upward.
struct LateInputs;
impl Function for LateInputs {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let mut y = x[0].floor();
        let mut row = [x[0].floor(); 10];
        for x in &x[1..] {
            y = y.sin() * *x + T::lit(0.5);
            row.rotate_right(1);
            row[0] = row[9] * T::lit(0.5) + *x;
        }
        y + row[9]
    }
}

#[test]
fn slopes_begin_where_inputs_come_in() {
    for n in [2, 30, 100] {
        check(LateInputs, &points(n, 2));
    }
}

/// Random loops, generated from a seed: each reads the inputs, values of other loops and its own earlier values, ahead, backward and with
/// stride two, and some values are added to sums.
struct Loops(u64);
impl Function for Loops {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let mut state = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let (mut rows, mut sum) = (vec![x.to_vec()], T::lit(0.0));
        for _ in 0..1 + below(4) {
            let reads: Vec<(usize, u64)> =
                (0..1 + below(3)).map(|_| (below(rows.len() as u64) as usize, below(6))).collect();
            let (shape, is_summed, has_data) = (below(5), below(2) == 0, below(3) == 0);
            let trips = rows.iter().map(Vec::len).min().unwrap() / 2;
            let mut row: Vec<T> = Vec::new();
            for i in 0..trips {
                let read = |(from, how): &(usize, u64)| match how {
                    0 => rows[*from][i + 1],
                    1 => rows[*from][trips - i],
                    2 => rows[*from][2 * i],
                    3 if i > 0 => row[i - 1],
                    4 if i > 2 => row[i - 3],
                    _ => rows[*from][i],
                };
                let factor = T::lit(if has_data { 0.7 + 0.01 * (i as f64).sin() } else { 0.8 });
                let read = reads.iter().map(read).fold(factor, |product, number| product * number + T::lit(0.1));
                let result = match shape {
                    0 => read.sin(),
                    1 => read / (read * read + T::lit(1.0)),
                    2 => (read - rows[0][i]).exp() - read,
                    3 => read.max(rows[0][0]) * read.cos(),
                    _ => read * T::lit(0.5),
                };
                if is_summed {
                    sum += result * rows[0][i];
                }
                row.push(result);
            }
            rows.push(row);
        }
        rows.iter().fold(sum, |sum, row| sum + row[row.len() - 1] * row[row.len() / 2])
    }
}

#[test]
fn loops_at_random() {
    for number in 0..80 {
        check(Loops(number), &points(64, 1));
    }
    for number in 0..4 {
        check(Loops(number), &points(700, 1));
    }
}

/// A loop that reads the values of another loop, in pairs and backward, and a sum that is used in between.
struct Chained;
impl Function for Chained {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let squares: Vec<T> = x.iter().map(|x| *x * *x + x.sin()).collect();
        let pairs: Vec<T> = squares.chunks(2).map(|pair| pair[0] * pair[pair.len() - 1]).collect();
        let mut sum = T::lit(0.0);
        let mut partial = T::lit(1.0);
        for (i, pair) in pairs.iter().enumerate() {
            sum += *pair * x[x.len() - 1 - i];
            partial = partial * T::lit(0.9) + sum;
        }
        let back = x.iter().zip(squares.iter().rev()).fold(x[0], |sum, (x, square)| sum - *x / *square);
        sum + partial + back
    }
}

#[test]
fn loops_read_what_others_computed() {
    for n in [1, 2, 8, 9, 60, 333] {
        check(Chained, &points(n, 2));
    }
}

struct Matrix(usize);
impl Function for Matrix {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let n = self.0;
        let mut y = x[..n].to_vec();
        for _ in 0..3 {
            y = (0..n).map(|i| T::dot(&x[i * n..][..n], &y).tanh()).collect();
        }
        T::norm(&y) + T::sum_of(&y)
    }
}

#[test]
fn products_with_matrices() {
    for n in [2, 5, 9] {
        check(Matrix(n), &points(n * n, 2));
    }
}

/// An absolute value by comparison, a clamp and a branch on a sum.
struct Branches;
impl Function for Branches {
    fn call<T: Real>(&self, x: &[T]) -> T {
        let size = |x: T| if x < T::lit(0.0) { -x } else { x };
        let sum = x.iter().fold(T::lit(0.0), |sum, x| sum + size(*x) * *x);
        if sum > T::lit(1.0) { sum * sum } else { sum.exp() }
    }
}

#[test]
fn a_flipped_branch_is_recorded_once_and_right() {
    let signs = [[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [1.0, -1.0, 1.0]];
    let points: Vec<Vec<f64>> = signs.iter().map(|signs| signs.iter().map(|sign| sign * 0.7).collect()).collect();
    let replay = Replay::record(|x: &[Symbol]| Branches.call(x), &points[0]);
    for (x, recordings) in points.iter().zip([1, 2, 3, 3, 3]) {
        let mut expected = [0.0; 3];
        let value = gradient(|x: &[Var]| Branches.call(x), x, &mut expected);
        let mut slopes = [0.0; 3];
        assert!(close(replay.value_and_grad(x, &mut slopes), value, 1e-14));
        assert_close(&slopes, &expected, 1e-14);
        assert_eq!(replay.recordings(), recordings);
    }
    // Many points of several paths at once.
    let many: Vec<Vec<f64>> =
        (0..300).map(|k| (0..3).map(|i| ((k * 3 + i) as f64 * 0.9).sin() * 1.2).collect()).collect();
    check(Branches, &many);
}

#[test]
fn paths_are_bounded() {
    let f = |x: &[Symbol]| {
        let (mut n, mut y) = (0, x[0]);
        while y > 1.0 {
            y *= 0.5;
            n += 1;
        }
        y * f64::from(n)
    };
    let replay = Replay::record(f, &[1.5]).at_most(2);
    for (x, value) in [(3.0, 1.5), (1.5, 0.75), (1.6, 0.8), (100.0, 5.46875), (3.0, 1.5)] {
        assert_eq!(replay.value(&[x]), value);
    }
    // 1.5 was recorded, and 3 as well; 100 replaced 3, which was recorded again.
    assert_eq!(replay.recordings(), 4);
}

#[test]
fn a_path_that_returns_other_numbers_is_an_error() {
    let f = |x: &[Symbol]| if x[0] > 0.0 { vec![x[0], x[0]] } else { vec![x[0]] };
    let replay = Replay::record(f, &[1.0]);
    let mut values = [0.0; 2];
    replay.values(&[2.0], &mut values);
    assert_eq!(values, [2.0; 2]);
    let error = catch(|| replay.values(&[-2.0], &mut [0.0; 2])).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Retraced);
    assert_eq!(error.line().unwrap().file(), file!());
    replay.values(&[3.0], &mut values);
    assert_eq!((values, replay.recordings()), ([3.0; 2], 1));
}

#[test]
fn the_larger_of_two_numbers_with_tangents_is_no_decision() {
    let slope = |x: &[Symbol]| {
        let x = Dual::<Symbol, 1>::new(x[0], [Symbol::lit(1.0)]);
        Real::max(x * x, Dual::lit(1.0)).tangents()[0] + Real::min(x, Dual::lit(-1.0)).tangents()[0]
    };
    let f = Replay::record(slope, &[0.5]);
    assert_eq!([0.5, 2.0, -3.0, 1.0].map(|x| f.value(&[x])), [0.0, 4.0, -5.0, 1.0]);
    assert_eq!(f.recordings(), 1);
}

#[test]
fn what_nobody_uses_has_no_say_at_second_order() {
    let dead = |x: &[Symbol]| {
        let big = (x[1] * 1e200) * 1e200;
        let _ = x[0].atan2(big);
        x[0] * x[0]
    };
    let f = Replay::record(dead, &[1.0, 1.0]);
    let mut product = [f64::NAN; 2];
    f.hvp(&[1.0, 1.0], &[1.0, 1.0], &mut product);
    assert_eq!(product, [2.0, 0.0]);
    assert_eq!(f.hessian(&[1.0, 1.0]), [2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn points_and_items_are_checked_as_calls_are() {
    let scale = std::cell::Cell::new(1.0);
    let f = Replay::record(|x: &[Symbol]| x[0] * scale.get(), &[1.0]).checked_every(1);
    scale.set(2.0);
    let mut changed: Vec<ErrorKind> = Vec::new();
    let mut note = |call: &mut dyn FnMut()| {
        let error = catch(std::panic::AssertUnwindSafe(call)).unwrap_err();
        assert!(error.to_string().contains("replay.rs"), "{error}");
        changed.push(error.kind().clone());
    };
    note(&mut || f.values_at(&[1.0, 2.0], &mut [0.0; 2]));
    note(&mut || f.values_and_grads(&[1.0, 2.0], &mut [0.0; 2], &mut [0.0; 2]));
    note(&mut || {
        f.sum_over(&[], &Items::of(&[1.0, 2.0], 1));
    });
    assert_eq!(changed, [ErrorKind::Retraced, ErrorKind::Retraced, ErrorKind::Retraced]);
}

#[test]
fn what_nobody_uses_is_not_computed_and_spoils_nothing() {
    // The numbers of the loop overflow, with slopes that are not finite.
    let f = |x: &[Symbol]| {
        let [a, b] = [x[0], x[1]].map(|x| Dual::<Symbol, 1>::new(x, [Symbol::lit(1.0)]));
        let lost = (0..60).fold(b, |z, _| (z * z + 0.3).powf(a.tanh() + 1.0));
        assert!(lost.value().peek() > 1e300);
        (a * b).tangents()[0]
    };
    let (replay, mut slopes, mut product) = (Replay::record(f, &[0.7, 1.3]), [0.0; 2], [1.0; 2]);
    assert_eq!(replay.instructions(), 3);
    assert_eq!((replay.value_and_grad(&[0.7, 1.3], &mut slopes), slopes), (2.0, [1.0, 1.0]));
    replay.hvp(&[0.7, 1.3], &[1.0, 1.0], &mut product);
    assert_eq!(product, [0.0, 0.0]);
    // A value that a guard depends on is used.
    let guarded = |x: &[Symbol]| {
        let lost = (0..40).fold(x[0], |y, _| y * 1.1);
        if lost > 40.0 { x[0] } else { x[1] }
    };
    let replay = Replay::record(guarded, &[1.0, 7.0]);
    assert_eq!([1.0, 0.5].map(|x| replay.value(&[x, 7.0])), [1.0, 7.0]);
}

#[test]
fn functions_of_nothing_and_functions_to_nothing() {
    let nothing = Replay::record(|_: &[Symbol]| Vec::<Symbol>::new(), &[]);
    nothing.values(&[], &mut []);
    assert!(nothing.jacobian(&[]).is_empty());
    let constant = Replay::record(|_: &[Symbol]| Symbol::lit(3.0), &[]);
    assert_eq!(constant.value_and_grad(&[], &mut []), 3.0);
    let silent = Replay::record(|_: &[Symbol]| Vec::<Symbol>::new(), &[1.0, 2.0]);
    assert!(silent.jacobian(&[3.0, 4.0]).is_empty());
}

/// A solver that only has a shared reference, and does not know the function's type.
struct Problem {
    energy: Replay,
}

#[test]
fn a_boxed_replay_is_a_field_and_is_called_by_a_shared_reference() {
    let weights = [2.0, 3.0];
    let function = move |x: &[Symbol]| [x[0] * x[0] * weights[0] + x[1] * weights[1], x[1]];
    let plain = Replay::record(function, &[1.0, 1.0]);
    let problem = &Problem { energy: Replay::record(function, &[1.0, 1.0]).boxed() };
    assert_eq!(problem.energy.jacobian(&[5.0, 7.0]), [20.0, 3.0, 0.0, 1.0]);
    assert_eq!(plain.jacobian(&[5.0, 7.0]), [20.0, 3.0, 0.0, 1.0]);
    // It can be sent to another thread with its recordings.
    let energy = Replay::record(move |x: &[Symbol]| x[0] * weights[0], &[1.0]).boxed();
    let value = std::thread::spawn(move || (energy.value(&[4.0]), energy.recordings())).join().unwrap();
    assert_eq!(value, (8.0, 1));
}

#[test]
fn a_function_that_calls_its_own_replay_is_an_error() {
    use std::cell::OnceCell;
    use std::rc::Rc;
    let own: Rc<OnceCell<Replay<Box<dyn Fn(&[Symbol]) -> Symbol>>>> = Rc::default();
    // Held weakly: a cycle would leak.
    let inside = Rc::downgrade(&own);
    let function: Box<dyn Fn(&[Symbol]) -> Symbol> = Box::new(move |x| match x[0] < 0.0 {
        true => x[0] * inside.upgrade().unwrap().get().unwrap().value(&[1.0]),
        false => x[0],
    });
    own.set(Replay::record(function, &[1.0])).ok().unwrap();
    let error = catch(|| own.get().unwrap().value(&[-1.0])).unwrap_err();
    assert_eq!(error.message(), "the function that is recorded calls its own replay");
    assert_eq!(own.get().unwrap().value(&[3.0]), 3.0);
}
