//! Recordings in parts, from several outputs, and of blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use wengert_scalar::{Real, Var, gradient_of, recording};

#[test]
fn parts_inside_parts_pass_on_what_was_seeded_and_nothing_else() {
    let found = recording(|tape| {
        let x = tape.input(2.0);
        let y = x * x;
        tape.part(|| {
            let z = y * 3.0;
            tape.part(|| tape.seed(z * z, 1.0));
            // Nothing is seeded here.
            tape.part(|| drop((z * 5.0).to_string()));
            let late = tape.input(7.0);
            tape.seed(z * late, 1.0);
        });
        // An input of a part leaves nothing behind for what has its place now.
        let w = y * 1.0;
        assert_eq!(tape.adjoint(w), 0.0);
        tape.sweep();
        tape.adjoint(x)
    });
    // By y: 18 y + 21 at 4; y has slope 4.
    assert_eq!(found, (18.0 * 4.0 + 21.0) * 4.0);
}

#[test]
fn a_part_that_panics_passes_nothing_on() {
    let found = recording(|tape| {
        let x = tape.input(2.0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            tape.part(|| {
                tape.seed(x * 100.0, 1.0);
                panic!("in the middle");
            });
        }));
        assert!(outcome.is_err());
        let y = x * x;
        tape.seed(y, 1.0);
        tape.sweep();
        tape.adjoint(x)
    });
    assert_eq!(found, 4.0);
    // What was seeded and never swept is not seen by the next recording.
    recording(|tape| tape.seed(tape.input(1.0) * 2.0, 1.0));
    let next = recording(|tape| {
        let x = tape.input(1.0);
        tape.sweep();
        tape.adjoint(x)
    });
    assert_eq!(next, 0.0);
}

#[test]
fn seeds_of_several_outputs_are_weighted_and_positions_bound_a_sweep() {
    let [by_y, by_x] = recording(|tape| {
        let x = tape.input(0.5);
        let y = x.sin();
        let position = tape.position();
        for (weight, k) in [(2.0, 1), (-1.0, 2), (0.5, 3)] {
            tape.seed(y.powi(k), weight);
        }
        tape.sweep_to(position);
        let by_y = tape.adjoint(y);
        assert_eq!(tape.adjoint(x), 0.0);
        // A sweep of its own does not touch what is seeded.
        tape.pull(y, &[x], &mut [0.0]);
        tape.sweep();
        [by_y, tape.adjoint(x)]
    });
    let y = 0.5f64.sin();
    assert!((by_y - (2.0 - 2.0 * y + 1.5 * y * y)).abs() < 1e-15);
    assert!((by_x - by_y * 0.5f64.cos()).abs() < 1e-15);
}

#[test]
fn recordings_inside_a_part_leave_it_alone() {
    let found = recording(|tape| {
        let x = tape.input(3.0);
        tape.part(|| {
            let inner = gradient_of(|[y]| y * y, [x.value()]).1[0];
            let other = recording(|inner| {
                let y = inner.input(1.0);
                inner.part(|| inner.seed(y * 4.0, 1.0));
                inner.adjoint(y)
            });
            tape.seed(x * (inner + other), 1.0);
        });
        tape.adjoint(x)
    });
    assert_eq!(found, 10.0);
}

#[test]
fn many_threads_take_tiny_gradients_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            scope.spawn(move || {
                for round in 0..500 {
                    let (a, b) = (f64::from(thread) + 1.0, f64::from(round) + 1.0);
                    let slopes = gradient_of(|[x, y]: [Var; 2]| x * y + (x / y) * 2.0, [a, b]).1;
                    assert_eq!(slopes, [b + 2.0 * b.recip(), a - 2.0 * (a / b / b)]);
                }
            });
        }
    });
}
