//! Counts allocations of functions that should allocate nothing.

use super::{ALLOCATOR, turn};
use wengert_scalar::{Real, Tape, Var, gradient, recording};

/// The number of allocations of `f` when it runs again.
fn allocations(mut f: impl FnMut()) -> usize {
    f();
    let before = ALLOCATOR.count();
    f();
    ALLOCATOR.count() - before
}

/// The payoff of one path, with noise determined by its number.
fn path(drift: Var, spread: Var, number: u32) -> Var {
    let noise = |step: u32| f64::from((number * 31 + step * 17) % 101) / 101.0 - 0.5;
    let price = (0..20).fold(Var::from(1.0), |price, step| price * (drift + spread * noise(step)));
    Real::max(price - 1.0, Var::from(0.0))
}

/// A mean over paths that are discarded one by one, with its gradient.
fn mean(tape: &Tape<'_>, paths: u32) -> (f64, [f64; 2]) {
    let [rate, spread] = [0.03, 0.2].map(|x| tape.input(x));
    let drift = (rate - spread * spread * 0.5).exp();
    let weight = 1.0 / f64::from(paths);
    let mut mean = 0.0;
    for number in 0..paths {
        tape.part(|| {
            let payoff = path(drift, spread, number);
            tape.seed(payoff, weight);
            mean += payoff.value() * weight;
        });
    }
    tape.sweep();
    (mean, [rate, spread].map(|x| tape.adjoint(x)))
}

#[test]
fn wide_statements_and_forgotten_paths_take_no_memory_again() {
    let _turn = turn();
    let x: Vec<f64> = (0..300).map(f64::from).collect();
    let mut slopes = vec![0.0; 300];
    let wide = |x: &[Var]| {
        let given = Var::of(1.0, &x[..3], &[1.0, 2.0, 3.0]);
        x[0].mul_add(x[1], x[2]) + Var::dot(x, x) + Var::norm(x) + Var::sum_of(x) + given
    };
    assert_eq!(
        allocations(|| {
            gradient(wide, &x, &mut slopes);
        }),
        0
    );

    let (few, many) = recording(|tape| {
        let few = mean(tape, 100);
        let before = ALLOCATOR.count();
        let many = mean(tape, 100_000);
        let (allocations, bytes) = (ALLOCATOR.count() - before, tape.bytes());
        // A few lists grow slightly the second time.
        assert!(allocations < 20 && bytes < 400, "{allocations} allocations, {bytes} bytes");
        (few, many)
    });
    assert!((few.0 - many.0).abs() < 0.01);

    // One recording of all paths gives the same result.
    let whole = recording(|tape| {
        let [rate, spread] = [0.03, 0.2].map(|x| tape.input(x));
        let drift = (rate - spread * spread * 0.5).exp();
        let sum = (0..100_000).fold(Var::from(0.0), |sum, number| sum + path(drift, spread, number));
        let (mean, mut slopes) = (sum / 100_000.0, [0.0; 2]);
        tape.pull(mean, &[rate, spread], &mut slopes);
        assert!(tape.bytes() > 100_000_000);
        (mean.value(), slopes)
    });
    for (parts, whole) in [(many.0, whole.0), (many.1[0], whole.1[0]), (many.1[1], whole.1[1])] {
        assert!((parts - whole).abs() <= 1e-11 * whole.abs(), "{parts} {whole}");
    }
}
