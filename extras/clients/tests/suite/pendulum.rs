//! A pendulum is swung up with least effort; motions are judged by a simulation of their own.

use nalgebra::{DMatrix, DVector};
use std::f64::consts::PI;
use std::sync::LazyLock;
use wengert_clients::pendulum::{Banded, Motion, Pendulum, SwingUp};

const PENDULUM: Pendulum = Pendulum { mass: 1.2, length: 0.9, gravity: 9.81, damping: 0.15 };
const SWING: SwingUp = SwingUp { pendulum: PENDULUM, time: 3.0, steps: 60 };

static MOTION: LazyLock<Motion> = LazyLock::new(|| SWING.solve(1e-11));

/// What changes while time passes: angle, speed, the work of the torque, and what damping took.
fn rates([angle, speed, ..]: [f64; 4], torque: f64) -> [f64; 4] {
    let Pendulum { mass, length, gravity, damping } = PENDULUM;
    let turning = torque - damping * speed - mass * gravity * length * angle.sin();
    [speed, turning / (mass * length * length), torque * speed, damping * speed * speed]
}

/// From hanging, each torque for its time in `parts` steps of the classical method.
fn simulate(torques: &[f64], parts: usize) -> [f64; 4] {
    let time = SWING.time / (torques.len() * parts) as f64;
    let mut state = [0.0; 4];
    for torque in torques.iter().flat_map(|torque| std::iter::repeat_n(*torque, parts)) {
        let mut total = [0.0; 4];
        let mut slopes = [0.0; 4];
        for (ahead, weight) in [(0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)] {
            let at: [f64; 4] = std::array::from_fn(|k| state[k] + ahead * time * slopes[k]);
            slopes = rates(at, torque);
            total.iter_mut().zip(slopes).for_each(|(total, slope)| *total += weight * slope);
        }
        state.iter_mut().zip(total).for_each(|(state, total)| *state += time * total / 6.0);
    }
    state
}

/// How far from upright and at rest the torques lead.
fn miss(torques: &[f64]) -> [f64; 2] {
    let end = simulate(torques, 1);
    [end[0] - PI, end[1]]
}

fn effort(torques: &[f64]) -> f64 {
    torques.iter().map(|torque| torque * torque).sum::<f64>() * SWING.time / SWING.steps as f64
}

/// The derivatives of where torques lead, by differences.
fn slopes_of_miss(torques: &[f64]) -> DMatrix<f64> {
    let mut slopes = DMatrix::zeros(2, torques.len());
    for column in 0..torques.len() {
        let moved = |by: f64| {
            let mut torques = torques.to_vec();
            torques[column] += by;
            miss(&torques)
        };
        let (above, below) = (moved(1e-4), moved(-1e-4));
        (0..2).for_each(|row| slopes[(row, column)] = (above[row] - below[row]) / 2e-4);
    }
    slopes
}

/// The nearest torques that lead upright: steps of Newton's method, each the shortest.
fn made_feasible(mut torques: Vec<f64>) -> Vec<f64> {
    for _ in 0..30 {
        let slopes = slopes_of_miss(&torques);
        let gap = DVector::from_column_slice(&miss(&torques));
        let step = slopes.transpose() * (&slopes * slopes.transpose()).lu().solve(&gap).expect("torques matter");
        torques.iter_mut().zip(step.iter()).for_each(|(torque, step)| *torque -= step);
    }
    assert!(miss(&torques).iter().all(|gap| gap.abs() < 1e-9), "{:?}", miss(&torques));
    torques
}

#[test]
fn the_torques_that_are_found_swing_the_pendulum_up() {
    let motion = &*MOTION;
    assert!(motion.solution.converged, "{:?}", motion.solution.steps.last());
    assert!(miss(&motion.torques).iter().all(|gap| gap.abs() < 1e-8), "{:?}", miss(&motion.torques));
    // One step of the method is wrong by the fifth power of its length; a finer simulation ends at the same place.
    let [angle, speed, ..] = simulate(&motion.torques, 50);
    assert!((angle - PI).abs() < 2e-3 && speed.abs() < 1e-2, "{angle} {speed}");
    // Not by force: the torque stays below that which would hold the pendulum level.
    let most = motion.torques.iter().fold(0f64, |most, torque| most.max(torque.abs()));
    assert!(most < PENDULUM.mass * PENDULUM.gravity * PENDULUM.length, "{most}");
}

#[test]
fn the_slope_of_the_effort_is_a_combination_of_those_of_the_end() {
    let torques = &MOTION.torques;
    let ends = slopes_of_miss(torques);
    let slope = DVector::from_iterator(60, torques.iter().map(|torque| 2.0 * torque * SWING.time / 60.0));
    let factors = (&ends * ends.transpose()).lu().solve(&(&ends * &slope)).expect("torques matter");
    let rest = &slope - ends.transpose() * factors;
    assert!(rest.amax() < 1e-7 && slope.amax() > 0.01, "{} of {}", rest.amax(), slope.amax());
}

#[test]
fn an_even_turn_with_the_torque_that_it_needs_is_more_effort() {
    // The angle is pi (10 s^3 - 15 s^4 + 6 s^5), at rest at both ends; the torque is what the equation of motion says.
    let torque = |k: usize| {
        let s = (k as f64 + 0.5) / 60.0;
        let angle = PI * s.powi(3) * (10.0 - 15.0 * s + 6.0 * s * s);
        let speed = PI / SWING.time * 30.0 * (s * (1.0 - s)).powi(2);
        let acceleration = PI / SWING.time.powi(2) * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s);
        let Pendulum { mass, length, gravity, damping } = PENDULUM;
        mass * length * length * acceleration + damping * speed + mass * gravity * length * angle.sin()
    };
    let even = made_feasible((0..60).map(torque).collect());
    let (found, known) = (effort(&MOTION.torques), effort(&even));
    assert!((MOTION.solution.value - found).abs() < 1e-10 * found);
    assert!(found < 0.5 * known, "{found} against {known}");
}

#[test]
fn ways_up_nearby_are_more_effort() {
    let least = effort(&MOTION.torques);
    for number in 0..12 {
        let wave = |k: usize| 0.2 * ((1.7 + 0.9 * f64::from(number)) * k as f64 + f64::from(number * number)).sin();
        let other = made_feasible(MOTION.torques.iter().enumerate().map(|(k, torque)| torque + wave(k)).collect());
        let distance = MOTION.torques.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(distance > 0.01, "way {number} is no other: {distance}");
        assert!(effort(&other) > least, "way {number}: {} against {least}", effort(&other));
    }
}

#[test]
fn the_work_of_the_torque_is_the_energy_gained_and_what_damping_took() {
    let [angle, speed, work, taken] = simulate(&MOTION.torques, 50);
    let Pendulum { mass, length, gravity, .. } = PENDULUM;
    let energy = 0.5 * mass * (length * speed).powi(2) + mass * gravity * length * (1.0 - angle.cos());
    assert!((work - taken - energy).abs() < 1e-8, "{work} {taken} {energy}");
    assert!((PENDULUM.energy([angle, speed]) - energy).abs() < 1e-13);
    // In the motion itself the balance holds to the error of its steps.
    let top = PENDULUM.energy(MOTION.states[60]) - PENDULUM.energy(MOTION.states[0]);
    assert!((top - 2.0 * mass * gravity * length).abs() < 1e-12);
    assert!((work - taken - top).abs() < 1e-3 * top && taken > 0.0, "{work} {taken} {top}");
}

#[test]
fn derivatives_are_sparse_and_take_as_many_products_for_any_number_of_steps() {
    let seeds = [10, 40].map(|steps| {
        let solution = SwingUp { steps, ..SWING }.solve(1e-8).solution;
        // Two gaps a step, each with the torque, the state before and one number of the state behind; the states at the ends are given.
        // The effort and the gaps bend by torque and state before.
        assert_eq!(solution.entries, [8 * steps - 6, 6 * steps - 5]);
        solution.seeds
    });
    assert_eq!(seeds[0], seeds[1]);
    assert!(seeds[0].iter().all(|seeds| *seeds <= 8), "{seeds:?}");
}

#[test]
fn newtons_method_ends_with_quadratic_convergence() {
    let steps = &MOTION.solution.steps;
    assert!(steps.len() < 60, "{} steps", steps.len());
    let last = steps.last().expect("it moved");
    assert_eq!((last.length, last.shift), (1.0, 0.0));
    let worst = |number: usize| steps[number].residuals[0].max(steps[number].residuals[1]);
    let count = steps.len();
    assert!(worst(count - 1) < 10.0 * worst(count - 2).powf(1.5), "{} after {}", worst(count - 1), worst(count - 2));
}

#[test]
fn banded_systems_are_solved_as_dense_ones() {
    for (size, width) in [(1, 0), (6, 1), (23, 4), (40, 7), (6, 9)] {
        let entry = |row: usize, column: usize| ((row * 31 + column * 17 + size) as f64 * 1.3).sin();
        let mut dense = DMatrix::zeros(size, size);
        let mut banded = Banded::zeros(size, width);
        for row in 0..size {
            for column in row.saturating_sub(width)..size.min(row + width + 1) {
                // Nothing on the diagonal: rows must be exchanged.
                let number = if row == column && width > 0 { 0.0 } else { entry(row, column) };
                dense[(row, column)] = number;
                banded.add(row, column, number);
            }
        }
        let right: Vec<f64> = (0..size).map(|row| (row as f64).cos()).collect();
        let solved = dense.clone().lu().solve(&DVector::from_column_slice(&right));
        match (banded.solve(right), solved) {
            (Some(found), Some(solved)) => {
                let scale = solved.amax();
                found.iter().zip(solved.iter()).for_each(|(a, b)| assert!((a - b).abs() < 1e-9 * scale, "{a} {b}"));
            }
            (found, solved) => panic!("size {size}, width {width}: {found:?} against {solved:?}"),
        }
    }
}
