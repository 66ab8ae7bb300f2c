//! particle - a charge is placed so that a particle flying past two charges lands at the origin; the force is a gradient, and so is the
//! direction in which the charge is moved.

use super::{Module, Workload};
use crate::descent::minimize;
use crate::nested::{Forward, Function, Inner, Mode, Outer, Program, Reverse};
use crate::run::{Input, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::scalar::Real;

/// The first letter is the mode of the outer derivative, the second that of the inner one.
pub static MODULE: Module = Module {
    name: "particle",
    functions: &[
        ("rr", |input| repeated(input, |problem| place(problem, Reverse, Reverse))),
        ("ff", |input| repeated(input, |problem| place(problem, Forward, Forward))),
        ("fr", |input| repeated(input, |problem| place(problem, Forward, Reverse))),
        ("rf", |input| repeated(input, |problem| place(problem, Reverse, Forward))),
    ],
    primal: None,
    workloads: || vec![Workload::new("w=0".into(), |_| json!({"w": 0.0}))],
};

/// The time step.
const STEP: f64 = 0.1;

/// A particle that has not landed after this many steps never will.
const MOST_STEPS: usize = 100_000;

#[derive(Deserialize)]
struct Problem {
    w: f64,
}

impl Input for Problem {
    type Fields = Problem;

    fn check(problem: Problem) -> Result<Problem, String> {
        Ok(problem)
    }
}

/// The potential at (x, y) of charges at (10, 10 - w) and (10, 0), as a function of x, y and w.
struct Potential;

impl Function<3> for Potential {
    fn at<T: Real>(&self, [x, y, w]: [T; 3]) -> T {
        let of_charge = |height: T| {
            let (across, up) = (x - T::lit(10.0), y - height);
            (across * across + up * up).sqrt().recip()
        };
        of_charge(T::lit(10.0) - w) + of_charge(T::lit(0.0))
    }
}

/// The square of the landing position, as a function of w.
struct Flight<I> {
    potential: I,
}

impl<I: Inner<3>> Program<1> for Flight<I> {
    fn at<T: Outer>(&self, [w]: [T; 1]) -> T {
        let step = T::lit(STEP);
        let ([mut x, mut y], mut velocity) = ([T::lit(0.0), T::lit(8.0)], [T::lit(0.75), T::lit(0.0)]);
        for _ in 0..MOST_STEPS {
            let slopes: [T; 2] = self.potential.gradient([x, y, w]);
            x += step * velocity[0];
            y += step * velocity[1];
            if y <= T::lit(0.0) {
                let landing = x - y / velocity[1] * velocity[0];
                return landing * landing;
            }
            velocity = [velocity[0] - step * slopes[0], velocity[1] - step * slopes[1]];
        }
        panic!("the particle does not land within {MOST_STEPS} steps");
    }
}

fn place(problem: &Problem, outer: impl Mode, inner: impl Mode) -> f64 {
    let flight = Flight { potential: inner.inner(Potential) };
    let [w] = minimize(|w| flight.at(w), |w| outer.outer(&flight, w), [problem.w]);
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_slope(outer: impl Mode, inner: impl Mode) {
        let flight = Flight { potential: inner.inner(Potential) };
        let (value, [slope]) = (flight.at([0.0]), outer.outer(&flight, [0.0]));
        assert!((value - 3.199_079_002_508_194).abs() < 1e-11, "{value}");
        assert!((slope + 19.404_636_450_028_242).abs() < 1e-10, "{slope}");
    }

    #[test]
    fn derivatives_through_the_flight_are_those_of_the_example_in_all_four_ways() {
        assert_slope(Reverse, Reverse);
        assert_slope(Forward, Forward);
        assert_slope(Forward, Reverse);
        assert_slope(Reverse, Forward);
    }
}
