//! The Dormand-Prince method of order 5 with an error estimate of order 4, and its step size control.

use super::Ode;
use crate::fused::CombineMethods;
use crate::implicit::expect_numbers;
use crate::methods::*;
use crate::{Error, ErrorKind, Tensor};

/// The right-hand side at a time and a state.
pub(super) type Slope<'a> = &'a dyn Fn(f64, &Tensor) -> Tensor;

/// The times of the stages, as fractions of the step.
const TIMES: [f64; 6] = [0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];

/// The weights of each stage. The last row is the step itself, so its derivative dy/dt is the first of the next step.
const STAGES: [&[f64]; 6] = [
    &[0.2],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];

/// The difference of the solutions of order 5 and 4.
const ERROR: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// One step: the state at its end, and dy/dt at all stages.
pub(super) struct Step {
    pub y: Tensor,
    slopes: Vec<Tensor>,
}

impl Step {
    /// Steps from the state `y` at `t`, where dy/dt is `slope`.
    pub fn take(f: Slope<'_>, t: f64, h: f64, y: &Tensor, slope: &Tensor) -> Step {
        let mut slopes = vec![slope.clone()];
        let mut there = y.clone();
        for (share, weights) in TIMES.iter().zip(STAGES) {
            there = y + weighted(weights, h, &slopes);
            slopes.push(f(t + share * h, &there));
        }
        Step { y: there, slopes }
    }

    /// dy/dt at the end.
    pub fn slope(&self) -> &Tensor {
        &self.slopes[6]
    }

    fn error(&self, h: f64) -> Tensor {
        weighted(&ERROR, h, &self.slopes)
    }
}

/// `h` times a weighted sum of derivatives, which are summed before they are added to the larger state.
fn weighted(weights: &[f64], h: f64, slopes: &[Tensor]) -> Tensor {
    let mut parts = weights.iter().zip(slopes).filter(|(weight, _)| **weight != 0.0);
    let (weight, first) = parts.next().expect("a weight that is not zero");
    match parts.next() {
        None => first * (weight * h),
        Some((other, second)) => {
            let start = first.combine(weight * h, second, other * h);
            parts.fold(start, |sum, (weight, slope)| sum.combine(1.0, slope, weight * h))
        }
    }
}

/// The root mean square of a state whose elements are scaled by `scale`.
fn size(y: &Tensor, scale: &Tensor) -> f64 {
    if y.elements() == 0 { 0.0 } else { (y / scale).square().mean().item().sqrt() }
}

/// Step size control: the length of the next step, and the error of the last one.
#[derive(Clone, Debug)]
pub(super) struct Control {
    options: Ode,
    /// The length of the next step; `None` before the first.
    next: Option<f64>,
    last_error: f64,
    steps: usize,
}

impl Control {
    pub fn new(options: &Ode) -> Control {
        Control { options: options.clone(), next: options.first_step, last_error: 1e-4, steps: 0 }
    }

    /// Everything but the options, as numbers.
    pub fn numbers(&self) -> [f64; 3] {
        [self.next.unwrap_or(f64::NAN), self.last_error, self.steps as f64]
    }

    /// The control that has these [`numbers`](Control::numbers).
    pub fn from_numbers(options: &Ode, [next, last_error, steps]: [f64; 3]) -> Control {
        let next = Some(next).filter(|next| !next.is_nan());
        Control { options: options.clone(), next, last_error, steps: steps as usize }
    }

    /// Integrates from `t` to `end`, or until `limit` steps were accepted. Returns the state, the time, and the steps taken.
    pub fn advance(
        &mut self,
        f: Slope<'_>,
        mut t: f64,
        end: f64,
        y: &Tensor,
        limit: usize,
    ) -> Result<(Tensor, f64, Vec<(f64, f64)>), Error> {
        let direction = (end - t).signum();
        let (rtol, atol) = self.options.tolerances(y.dtype());
        let mut y = y.clone();
        let mut slope = f(t, &y);
        expect_numbers("odeint", &slope)?;
        if !all_finite(&slope) {
            return Err(self.stopped(t, "the slope is not finite").help("check the right side there"));
        }
        let mut length = match self.next {
            Some(length) => length,
            None => self.first_length(f, t, end, &y, &slope),
        };
        let mut taken = Vec::new();
        let mut rejected = false;
        while t != end && taken.len() < limit {
            if self.steps >= self.options.steps {
                let message = format!("{} steps were not enough to reach {end}", self.steps);
                return Err(self.stopped(t, &message).help("allow more steps or a larger tolerance; is it stiff?"));
            }
            let rest = (end - t).abs();
            // If the remaining interval is hardly longer than the step, take it at once, so that no tiny step follows.
            let last = length * 1.01 >= rest;
            let h = direction * if last { rest } else { length };
            if !last && h.abs() <= 16.0 * f64::EPSILON * t.abs().max(end.abs()) {
                let what =
                    if self.last_error.is_finite() { "the step became too small" } else { "values are not finite" };
                return Err(self.stopped(t, what).help("the solution may end here, or the tolerance is too small"));
            }
            let step = Step::take(f, t, h, &y, &slope);
            self.steps += 1;
            let scale = y.abs().maximum(step.y.abs()) * rtol + atol;
            let error = size(&step.error(h), &scale);
            if error <= 1.0 && error.is_finite() && all_finite(step.slope()) {
                let most = if rejected { 1.0 } else { 10.0 };
                let factor = 0.9 * error.max(1e-10).powf(-0.17) * self.last_error.min(1.0).powf(0.04);
                let proposed = h.abs() * factor.clamp(0.2, most);
                // A step that was shortened to fit says little: the next one is not shorter than planned.
                length = if h.abs() < length { proposed.max(length) } else { proposed };
                self.last_error = error.max(1e-4);
                rejected = false;
                taken.push((t, h));
                t = if last { end } else { t + h };
                slope = step.slope().clone();
                y = step.y;
            } else {
                let factor = if error.is_finite() { (0.9 * error.powf(-0.2)).clamp(0.1, 0.9) } else { 0.1 };
                length = h.abs() * factor;
                self.last_error = if error.is_finite() { self.last_error } else { f64::INFINITY };
                rejected = true;
            }
        }
        self.next = Some(length);
        Ok((y, t, taken))
    }

    /// Chooses the first step so that its error is about a hundredth of the tolerance, estimated from dy/dt and from its change over a
    /// short distance.
    fn first_length(&self, f: Slope<'_>, t: f64, end: f64, y: &Tensor, slope: &Tensor) -> f64 {
        let (rtol, atol) = self.options.tolerances(y.dtype());
        let scale = y.abs() * rtol + atol;
        let (size_of_y, size_of_slope) = (size(y, &scale), size(slope, &scale));
        let rest = (end - t).abs();
        let short = match size_of_y < 1e-5 || size_of_slope < 1e-5 {
            true => 1e-6,
            false => 0.01 * size_of_y / size_of_slope,
        };
        let h = short.min(rest) * (end - t).signum();
        let there = f(t + h, &(y + slope * h));
        let curvature = size(&(&there - slope), &scale) / h.abs();
        let largest = size_of_slope.max(curvature);
        let length = match largest <= 1e-15 {
            true => (short * 1e-3).max(1e-6),
            false => (0.01 / largest).powf(0.2),
        };
        let length = length.min(100.0 * short).min(rest);
        if length.is_finite() { length } else { h.abs() }
    }

    fn stopped(&self, time: f64, message: &str) -> Error {
        let kind = ErrorKind::Integration { time, steps: self.steps };
        Error::new(kind, "odeint", format!("at time {time}: {message}"))
    }
}

fn all_finite(tensor: &Tensor) -> bool {
    tensor.isfinite().all().item() != 0.0
}
