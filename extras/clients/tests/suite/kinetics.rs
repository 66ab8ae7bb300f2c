//! diffsol integrates a stiff reaction with our products of Jacobians and vectors.

use wengert::scalar::{Replay, Symbol};
use wengert_clients::kinetics::{CONSTANTS, course, course_with_sensitivities, rates};

/// Classical Runge-Kutta on the rates as one writes them down, with steps short enough for the fastest reaction.
fn by_small_steps([k1, k2, k3]: [f64; 3], times: &[f64]) -> Vec<[f64; 3]> {
    let f = |[a, b, c]: [f64; 3]| [-k1 * a + k2 * b * c, k1 * a - k2 * b * c - k3 * b * b, k3 * b * b];
    let moved = |y: [f64; 3], by: f64, slope: [f64; 3]| [0, 1, 2].map(|i| y[i] + by * slope[i]);
    let (mut y, mut t) = ([1.0, 0.0, 0.0], 0.0);
    let mut rows = Vec::new();
    for end in times {
        let steps = ((end - t) / 1e-4f64).round() as usize;
        let step = (end - t) / steps as f64;
        for _ in 0..steps {
            let first = f(y);
            let second = f(moved(y, step / 2.0, first));
            let third = f(moved(y, step / 2.0, second));
            let fourth = f(moved(y, step, third));
            y = [0, 1, 2].map(|i| y[i] + step / 6.0 * (first[i] + 2.0 * second[i] + 2.0 * third[i] + fourth[i]));
        }
        t = *end;
        rows.push(y);
    }
    rows
}

const TIMES: [f64; 4] = [0.04, 0.4, 4.0, 40.0];

fn assert_close(found: [f64; 3], expected: [f64; 3], tolerance: f64, what: &str) {
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() < tolerance * expected.abs(), "{what}: {found:e}, expected {expected:e}");
    }
}

#[test]
fn the_course_is_the_one_by_small_steps() {
    let course = course(CONSTANTS, &TIMES, 1e-9).unwrap();
    for (time, (found, expected)) in TIMES.iter().zip(course.amounts.iter().zip(by_small_steps(CONSTANTS, &TIMES))) {
        assert_close(*found, expected, 1e-7, &format!("at {time}"));
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
    }
}

#[test]
fn the_course_ends_where_the_published_one_does() {
    // The reference solution of the Bari test set for initial value problems, at the end of eleven decades.
    let published = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.999999979166505];
    let course = course(CONSTANTS, &[1e11], 1e-9).unwrap();
    assert_close(course.amounts[0], published, 3e-6, "at 1e11");
}

#[test]
fn sensitivities_are_differences_of_the_course_by_small_steps() {
    let course = course_with_sensitivities(CONSTANTS, &TIMES, 1e-9).unwrap();
    for constant in 0..3 {
        let moved = |by: f64| {
            let mut constants = CONSTANTS;
            constants[constant] *= by.exp();
            by_small_steps(constants, &TIMES)
        };
        // Two central differences, whose errors of second order cancel.
        let step = 2e-2;
        let [wide, narrow] = [step, step / 2.0].map(|step| (moved(step), moved(-step), step));
        for (time, found) in course.sensitivities.iter().enumerate() {
            let central = |(after, before, step): &(Vec<[f64; 3]>, Vec<[f64; 3]>, f64)| {
                [0, 1, 2].map(|i| (after[time][i] - before[time][i]) / (2.0 * step))
            };
            let (wide, narrow) = (central(&wide), central(&narrow));
            let expected = [0, 1, 2].map(|i| (4.0 * narrow[i] - wide[i]) / 3.0);
            assert_close(found[constant], expected, 1e-7, &format!("constant {constant} at {}", TIMES[time]));
        }
    }
}

#[test]
fn the_solver_asks_for_products_of_one_recording() {
    let plain = course(CONSTANTS, &TIMES, 1e-6).unwrap();
    assert_eq!((plain.recordings, plain.calls.by_parameters), (1, 0));
    // A Jacobian is three products, and is kept for many steps.
    assert!(
        plain.calls.by_amounts.is_multiple_of(3) && plain.calls.by_amounts < plain.calls.rates,
        "{:?}",
        plain.calls
    );
    let with = course_with_sensitivities(CONSTANTS, &TIMES, 1e-6).unwrap();
    assert!(with.recordings == 1 && with.calls.by_parameters > 0, "{:?}", with.calls);
}

#[test]
fn products_with_the_jacobian_are_those_by_hand() {
    let ([a, b, c], [k1, k2, k3]) = ([0.7, 2e-5, 0.3], CONSTANTS);
    let numbers = [a, b, c, k1.ln(), k2.ln(), k3.ln()];
    let replay = Replay::record(rates::<Symbol>, &[1.0; 6]);
    let rows = [
        [-k1, k2 * c, k2 * b, -k1 * a, k2 * b * c, 0.0],
        [k1, -k2 * c - 2.0 * k3 * b, -k2 * b, k1 * a, -k2 * b * c, -k3 * b * b],
        [0.0, 2.0 * k3 * b, 0.0, 0.0, 0.0, k3 * b * b],
    ];
    let direction = [0.3, -0.2, 0.9, 1.1, -0.7, 0.4];
    let mut tangents = [f64::NAN; 3];
    replay.jvp(&numbers, &direction, &mut tangents);
    for (row, found) in rows.iter().zip(tangents) {
        let expected: f64 = row.iter().zip(direction).map(|(slope, v)| slope * v).sum();
        let size: f64 = row.iter().zip(direction).map(|(slope, v)| (slope * v).abs()).sum();
        assert!((found - expected).abs() < 1e-13 * size, "{found}, by hand {expected}");
    }
}
