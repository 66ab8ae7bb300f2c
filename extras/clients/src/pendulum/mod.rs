//! Swings up a pendulum with least effort.
//!
//! With the angle a from hanging, `m l^2 a'' = torque - damping a' - m g l sin(a)`. The torque is constant in each of N steps of length h,
//! which are integrated by one fourth-order Runge-Kutta step each: `F(state, torque)`. Torques and states are the unknowns, and
//!
//! ```text
//! minimise h (torque[0]^2 + .. + torque[N-1]^2)   where   state[k+1] = F(state[k], torque[k]),   state[0] hangs,   state[N] is upright
//! ```
//!
//! Every constraint contains the unknowns of one step. The Jacobian and the Hessian are sparse: their structure is found once, and a few
//! products give all their entries. Unknowns and multipliers are ordered by time, so the linear systems of [`newton`] are banded.

mod banded;
pub mod newton;

pub use banded::Banded;

use newton::{Program, Solution};
use std::f64::consts::PI;
use wengert::scalar::Real;

/// A mass on a rod. Its state is the angle from hanging and the angular speed.
#[derive(Clone, Copy, Debug)]
pub struct Pendulum {
    /// The mass at the end of the rod.
    pub mass: f64,
    /// The length of the rod, which is massless.
    pub length: f64,
    /// The gravitational acceleration.
    pub gravity: f64,
    /// The torque against the motion, per unit of angular speed.
    pub damping: f64,
}

impl Pendulum {
    /// The torque that holds it horizontal.
    pub fn weight(&self) -> f64 {
        self.mass * self.gravity * self.length
    }

    /// The rate of change of the state.
    pub fn rates<T: Real>(&self, [angle, speed]: [T; 2], torque: T) -> [T; 2] {
        let total = torque - T::lit(self.damping) * speed - T::lit(self.weight()) * angle.sin();
        [speed, total * T::lit((self.mass * self.length * self.length).recip())]
    }

    /// The state after some time under a constant torque, by one Runge-Kutta step.
    pub fn after<T: Real>(&self, state: [T; 2], torque: T, time: f64) -> [T; 2] {
        let ahead = |by: f64, rates: [T; 2]| [0, 1].map(|k| state[k] + T::lit(by * time) * rates[k]);
        let first = self.rates(state, torque);
        let second = self.rates(ahead(0.5, first), torque);
        let third = self.rates(ahead(0.5, second), torque);
        let fourth = self.rates(ahead(1.0, third), torque);
        ahead(1.0 / 6.0, [0, 1].map(|k| first[k] + (second[k] + third[k]) * T::lit(2.0) + fourth[k]))
    }

    /// The kinetic energy plus the potential energy above the lowest point.
    pub fn energy(&self, [angle, speed]: [f64; 2]) -> f64 {
        0.5 * self.mass * (self.length * speed).powi(2) + self.weight() * (1.0 - angle.cos())
    }
}

/// From hanging to upright, at rest at both ends, in a fixed time.
#[derive(Clone, Copy, Debug)]
pub struct SwingUp {
    /// The pendulum.
    pub pendulum: Pendulum,
    /// The time allowed.
    pub time: f64,
    /// The number of steps with constant torque; at least two.
    pub steps: usize,
}

/// Hanging at rest, and upright at rest.
pub const ENDS: [[f64; 2]; 2] = [[0.0, 0.0], [PI, 0.0]];

/// A swing-up motion.
#[derive(Clone, Debug)]
pub struct Motion {
    /// One torque for each step.
    pub torques: Vec<f64>,
    /// Angle and speed at the beginning of each step, and at the end.
    pub states: Vec<[f64; 2]>,
    /// The result of the solver.
    pub solution: Solution,
}

impl SwingUp {
    /// The length of a step.
    pub fn step(&self) -> f64 {
        self.time / self.steps as f64
    }

    /// The effort: the integral of the squared torque.
    pub fn effort<T: Real>(&self, torques: &[T]) -> T {
        T::dot(torques, torques) * T::lit(self.step())
    }

    /// The motion of least effort near a uniform rotation without torque.
    pub fn solve(&self, tolerance: f64) -> Motion {
        let even = |k: usize| [0.0, PI * (k + 1) as f64 / self.steps as f64, PI / self.time];
        let mut start: Vec<f64> = (0..self.steps).flat_map(even).collect();
        start.truncate(3 * self.steps - 2);
        let solution = newton::minimize(self, start, tolerance);
        let (torques, states) = self.parts(&solution.x);
        Motion { torques, states, solution }
    }

    /// The torques and all states. A step has its torque and the state after it; the last state is given.
    fn parts<T: Real>(&self, x: &[T]) -> (Vec<T>, Vec<[T; 2]>) {
        let torques = x.iter().step_by(3).copied().collect();
        let [first, last] = ENDS.map(|state| state.map(T::lit));
        let between = x.chunks_exact(3).map(|step| [step[1], step[2]]);
        (torques, std::iter::once(first).chain(between).chain([last]).collect())
    }
}

impl Program for SwingUp {
    fn at<T: Real>(&self, x: &[T]) -> Vec<T> {
        let (torques, states) = self.parts(x);
        let gaps = states.windows(2).zip(&torques).flat_map(|(pair, torque)| {
            let reached = self.pendulum.after(pair[0], *torque, self.step());
            [0, 1].map(|k| pair[1][k] - reached[k])
        });
        std::iter::once(self.effort(&torques)).chain(gaps).collect()
    }

    /// For each step: the torque, the two multipliers, the state after it.
    fn order(&self) -> Vec<usize> {
        let unknowns = (0..self.steps).flat_map(|k| [5 * k, 5 * k + 3, 5 * k + 4]).take(3 * self.steps - 2);
        unknowns.chain((0..self.steps).flat_map(|k| [5 * k + 1, 5 * k + 2])).collect()
    }
}
