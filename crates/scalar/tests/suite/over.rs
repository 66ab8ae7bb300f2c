//! Recorded functions over many items give the sums and gradients of a loop on the tape, for every path of an item and any number of
//! threads.

use wengert_kernels::set_threads;
use wengert_scalar::{Dual, Items, Real, Replay, Symbol, Var, gradient};

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (number, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0), "number {number}: {a} and {b}");
    }
}

fn numbers(count: usize, phase: f64) -> Vec<f64> {
    (0..count).map(|i| (i as f64 * 0.83 + phase).sin()).collect()
}

/// The logarithm of a mixture of two bell curves, with a branch for distant points.
fn term<T: Real>(parameters: &[T], item: &[T]) -> T {
    let bell = |mean: T, width: T| (-((item[0] - mean) / width).powi(2)).exp() / width;
    let both = bell(parameters[0], parameters[1].exp()) + bell(parameters[2], parameters[3].exp()) * item[1];
    if item[0] > parameters[4] { both.ln() * T::lit(0.5) } else { both }
}

fn item(item: &[f64]) -> [f64; 2] {
    [item[0] * 2.0, item[1].abs() + 0.1]
}

#[test]
fn sums_are_those_of_a_loop_on_every_path_and_for_any_number_of_threads() {
    let parameters = [0.3, 0.1, -0.7, 0.2, 0.9];
    for count in [1, 5, 64, 65, 1000, 1025, 40_000] {
        let data: Vec<f64> = numbers(2 * count, 0.4).chunks(2).flat_map(item).collect();
        let mut expected = [0.0; 5];
        let sum = gradient(
            |p: &[Var]| {
                let value = |item: &[f64]| term(p, &[Var::lit(item[0]), Var::lit(item[1])]);
                data.chunks(2).fold(Var::lit(0.0), |sum, item| sum + value(item))
            },
            &parameters,
            &mut expected,
        );
        let mut bits = Vec::new();
        for threads in [1, 2, 4, 7] {
            set_threads(threads);
            let f = Replay::record(|x: &[Symbol]| term(&x[..5], &x[5..]), &[0.3, 0.1, -0.7, 0.2, 0.9, 0.1, 0.5]);
            let items = Items::of(&data, 2);
            let mut slopes = [f64::NAN; 5];
            let found = f.sum_over_and_grad(&parameters, &items, &mut slopes);
            assert_close(&[found, f.sum_over(&parameters, &items)], &[sum, sum], 1e-11);
            assert_close(&slopes, &expected, 1e-10);
            assert!(f.recordings() <= 2);
            let mut values = vec![0.0; count];
            f.map_over(&parameters, &items, &mut values);
            let each: Vec<f64> = data.chunks(2).map(|item| term(&parameters, item)).collect();
            assert_close(&values, &each, 1e-13);
            bits.push((found.to_bits(), slopes.map(f64::to_bits)));
        }
        assert!(bits.iter().all(|some| *some == bits[0]), "{count}");
    }
}

/// Springs between nodes of a plane, with a shared stiffness: gradients go to shared and to gathered parameters.
fn spring<T: Real>(x: &[T]) -> T {
    let length = ((x[1] - x[3]).powi(2) + (x[2] - x[4]).powi(2)).sqrt();
    x[0] * (length - x[5]).powi(2)
}

#[test]
fn slopes_go_to_shared_and_to_gathered_parameters() {
    let (nodes, springs) = (50, 3000);
    let mut parameters = numbers(1 + 2 * nodes, 0.2);
    parameters[0] = 2.5;
    let place = |i: usize| (1 + 2 * (i % nodes)) as u32;
    let from: Vec<u32> = (0..springs).map(|i| place(i * 7)).collect();
    let to: Vec<u32> = (0..springs).map(|i| place(i * 7 + 1 + i % (nodes - 1))).collect();
    let rest: Vec<f64> = numbers(springs, 0.9);
    let mut expected = vec![0.0; parameters.len()];
    let sum = gradient(
        |p: &[Var]| {
            (0..springs).fold(Var::lit(0.0), |sum, i| {
                let (a, b) = (from[i] as usize, to[i] as usize);
                sum + spring(&[p[0], p[a], p[a + 1], p[b], p[b + 1], Var::lit(rest[i])])
            })
        },
        &parameters,
        &mut expected,
    );
    let f = Replay::record(|x: &[Symbol]| spring(x), &[1.0, 0.0, 0.0, 1.0, 1.0, 0.5]);
    let items = Items::of(&rest, 1).gathering(&from, 2).gathering(&to, 2).sharing(1);
    let mut slopes = vec![0.0; parameters.len()];
    assert_close(&[f.sum_over_and_grad(&parameters, &items, &mut slopes)], &[sum], 1e-11);
    assert_close(&slopes, &expected, 1e-11);

    let (mut values, mut rows) = (vec![0.0; springs], vec![0.0; 4 * springs]);
    f.jacobians_over(&parameters, &items, &mut values, &mut rows);
    let (a, b) = (from[17] as usize, to[17] as usize);
    let x = [parameters[0], parameters[a], parameters[a + 1], parameters[b], parameters[b + 1], rest[17]];
    let mut own = [0.0; 6];
    let value = gradient(|x: &[Var]| spring(x), &x, &mut own);
    assert_close(&[values[17]], &[value], 1e-13);
    assert_close(&rows[4 * 17..][..4], &own[1..5], 1e-13);
}

/// A damped pendulum, step by step: state, parameters and the push of each step.
fn swing<T: Real>(x: &[T]) -> [T; 2] {
    let speed = x[1] - (x[0].sin() * x[2] + x[1] * x[3] - x[4]) * T::lit(0.1);
    [x[0] + speed * T::lit(0.1), speed]
}

#[test]
fn a_fold_passes_its_state_on_and_back() {
    let (parameters, start, pushes) = ([1.3, 0.2], [0.5, -0.1], numbers(200, 0.1));
    let mut expected = [0.0; 4];
    let value = gradient(
        |x: &[Var]| {
            let step = |[a, b]: [Var; 2], push: &f64| swing(&[a, b, x[2], x[3], Var::lit(*push)]);
            let [a, b] = pushes.iter().fold([x[0], x[1]], step);
            a * 2.0 - b
        },
        &[start[0], start[1], parameters[0], parameters[1]],
        &mut expected,
    );
    let f = Replay::record(|x: &[Symbol]| swing(x), &[0.5, 0.0, 1.0, 0.1, 0.0]);
    let items = Items::of(&pushes, 1);
    let mut state = start;
    f.fold_over(&parameters, &items, &mut state);
    assert_close(&[state[0] * 2.0 - state[1]], &[value], 1e-12);
    let (mut state, mut seeds, mut slopes) = (start, [2.0, -1.0], [0.0; 2]);
    f.fold_over_and_pull(&parameters, &items, &mut state, &mut seeds, &mut slopes);
    assert_close(&[state[0] * 2.0 - state[1]], &[value], 1e-12);
    assert_close(&[seeds, slopes].concat(), &expected, 1e-11);
}

#[test]
fn items_that_do_not_fit_are_refused() {
    let refused = |f: &dyn Fn() -> f64| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    let run = |parameters: &[f64], items: &Items<'_>| {
        Replay::record(|x: &[Symbol]| x[0] * x[1], &[1.0, 1.0]).sum_over(parameters, items)
    };
    assert_eq!(run(&[2.0], &Items::of(&[3.0, 4.0], 1)), 14.0);
    assert_eq!(run(&[2.0], &Items::of(&[], 1)), 0.0);
    assert!(refused(&|| Items::of(&[1.0, 2.0, 3.0], 2).len() as f64));
    assert!(refused(&|| run(&[2.0, 3.0], &Items::of(&[3.0, 4.0], 1))));
    assert!(refused(&|| run(&[2.0, 3.0], &Items::of(&[3.0, 4.0], 1).gathering(&[0, 2], 1))));
    assert_eq!(run(&[2.0, 3.0], &Items::of(&[3.0, 4.0], 1).gathering(&[0, 1], 1)), 18.0);
    assert!(refused(&|| Items::of(&[3.0, 4.0], 1).gathering(&[0], 1).len() as f64));
}

/// Four formulas, depending on the position of an item.
fn piece<T: Real>(x: &[T]) -> [T; 2] {
    let (slope, at) = (x[0], x[1]);
    if at < T::lit(-0.5) {
        [slope * at, slope.exp()]
    } else if at < T::lit(0.0) {
        [slope * slope * at, at.cos() * slope]
    } else if at < T::lit(0.5) {
        [(slope + at).sin(), slope / (at + T::lit(1.0))]
    } else {
        [at.exp() * slope, slope * slope * slope]
    }
}

#[test]
fn items_of_many_paths_are_right_however_few_paths_are_kept() {
    let (data, slope) = (numbers(70_000, 0.2), 0.7);
    let indices = vec![0; data.len()];
    for kept in [1, 2, 32] {
        let f = Replay::record(piece::<Symbol>, &[slope, 0.1]).at_most(kept);
        let items = Items::of(&data, 1).gathering(&indices, 1);
        let (mut values, mut rows) = (vec![f64::NAN; 140_000], vec![f64::NAN; 140_000]);
        f.jacobians_over(&[slope], &items, &mut values, &mut rows);
        let mut mapped = vec![f64::NAN; 140_000];
        f.map_over(&[slope], &items, &mut mapped);
        for (number, at) in data.iter().enumerate() {
            let dual = piece(&[Dual::<f64, 1>::variable(slope, 0), Dual::lit(*at)]);
            let own = 2 * number..2 * number + 2;
            assert_close(&values[own.clone()], &dual.map(|y| y.value()), 1e-14);
            assert_close(&mapped[own.clone()], &dual.map(|y| y.value()), 1e-14);
            assert_close(&rows[own], &dual.map(|y| y.tangents()[0]), 1e-14);
        }
        // The first of its outputs, summed: shared by all items, in three waves.
        let first = Replay::record(|x: &[Symbol]| piece(x)[0], &[slope, 0.1]).at_most(kept);
        let mut by_slope = [f64::NAN];
        let sum = first.sum_over_and_grad(&[slope], &Items::of(&data, 1), &mut by_slope);
        let sums = |rows: &[f64]| rows.iter().step_by(2).sum::<f64>();
        assert_close(&[sum, by_slope[0]], &[sums(&values), sums(&rows)], 1e-10);
        assert!(kept < 4 || first.recordings() == 4, "{}", first.recordings());
    }
}
