//! The discrete adjoint: the derivative of the steps that were taken.
//!
//! The solution consists of segments of at most a few steps, each a function of the parameters and of the state at its start. The first run
//! of a segment chooses its steps, using concrete values; the derivative rules repeat the same steps with ordinary operations. So a reverse
//! sweep holds the states at the starts, and the values of one segment.

use super::step::{Control, Step};
use super::{Rhs, scheduled};
use crate::custom::{Function, Numeric, Residual};
use crate::error::OrRaise;
use crate::implicit::{bind, completed, split, with};
use crate::memory::Schedule;
use crate::methods::*;
use crate::primitive::{Mask, SpecRef, Specs};
use crate::tensor::Value;
use crate::{Tensor, jvp, vjp};
use smallvec::smallvec;
use std::sync::{Arc, OnceLock};

/// Number of steps that are recomputed together.
pub(super) const TOGETHER: usize = 32;

/// The states at `times`, stacked.
pub(super) fn solve(rhs: &Rhs, times: &Arc<[f64]>, options: &super::Ode, operands: &[Tensor]) -> Tensor {
    if operands.iter().all(has_numbers) {
        return in_segments(rhs, times, options, operands);
    }
    let (rhs, times, options) = (rhs.clone(), times.clone(), options.clone());
    let output = super::stacked_spec(&operands[operands.len() - 1].value.spec_ref(), times.len());
    let run = move |operands: &[Tensor]| vec![in_segments(&rhs, &times, &options, operands)];
    bind(Numeric { name: "odeint", run: Arc::new(run), outputs: smallvec![output] }, operands)
}

/// Whether there are concrete values below all derivative levels.
fn has_numbers(tensor: &Tensor) -> bool {
    let mut tensor = tensor;
    while let Value::Tracer(tracer) = &tensor.value {
        match tracer.content.primal() {
            Some(primal) => tensor = primal,
            None => return false,
        }
    }
    true
}

fn in_segments(rhs: &Rhs, times: &[f64], options: &super::Ode, operands: &[Tensor]) -> Tensor {
    let (theta, y0) = split(operands);
    let mut control = Control::new(options);
    let mut y = y0.clone();
    let mut rows = vec![y.clone()];
    for ends in times.windows(2) {
        if options.schedule != Schedule::All {
            (y, control) = scheduled::interval(rhs, [ends[0], ends[1]], control, options, theta, &y);
            rows.push(y.clone());
            continue;
        }
        let mut t = ends[0];
        while t != ends[1] {
            let taken = Arc::new(OnceLock::new());
            let segment = Segment { rhs: rhs.clone(), start: t, end: ends[1], control, taken: taken.clone() };
            y = bind(segment, &with(theta, &y));
            let taken: &Taken = taken.get().expect("the segment has run");
            (t, control) = (taken.reached, taken.control.clone());
        }
        rows.push(y.clone());
    }
    Tensor::stack(&rows, 0)
}

/// The steps chosen by the first run of a segment.
struct Taken {
    steps: Vec<(f64, f64)>,
    reached: f64,
    control: Control,
}

/// A few steps from `start` towards `end`.
#[derive(Clone)]
struct Segment {
    rhs: Rhs,
    start: f64,
    end: f64,
    control: Control,
    taken: Arc<OnceLock<Taken>>,
}

impl Segment {
    /// Repeats the steps that were taken.
    fn replay(&self, operands: &[Tensor]) -> Tensor {
        let steps = &self.taken.get().expect("a segment is differentiated after it ran").steps;
        repeated(&self.rhs, self.start, steps, operands)
    }
}

/// The state after these steps from `start`.
pub(super) fn repeated(rhs: &Rhs, start: f64, steps: &[(f64, f64)], operands: &[Tensor]) -> Tensor {
    let (theta, y) = split(operands);
    let f = |t: f64, y: &Tensor| rhs(t, y, theta);
    let mut y = y.clone();
    let mut slope = f(start, &y);
    for (t, h) in steps {
        let step = Step::take(&f, *t, *h, &y, &slope);
        slope = step.slope().clone();
        y = step.y;
    }
    y
}

impl Function for Segment {
    fn name(&self) -> &'static str {
        "odeint"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        smallvec![operands[operands.len() - 1].to_spec()]
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    /// The chosen steps are not an output, so keeping the outputs would not suffice: a checkpoint repeats the steps, as the rules do.
    fn effect(&self) -> bool {
        false
    }

    fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        if self.taken.get().is_some() {
            return vec![self.replay(operands)];
        }
        let (theta, y) = split(operands);
        let f = |t: f64, y: &Tensor| (self.rhs)(t, y, theta);
        let mut control = self.control.clone();
        let (y, reached, steps) = control.advance(&f, self.start, self.end, y, TOGETHER).or_raise();
        self.taken.get_or_init(|| Taken { steps, reached, control });
        vec![y]
    }

    fn forward(&self, operands: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let y = bind(self.clone(), operands);
        (vec![y], Residual { tensors: operands.to_vec(), form: Arc::new(()) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let Some(cotangent) = &cotangents[0] else { return vec![None; residual.tensors.len()] };
        let (_, pullback) = vjp(|operands: &Vec<Tensor>| self.replay(operands), &residual.tensors);
        pullback.call_named(cotangent).into_iter().map(|(_, part)| part).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let directions = completed(tangents, &residual.tensors);
        vec![Some(jvp(|operands: &Vec<Tensor>| self.replay(operands), &residual.tensors, &directions).1)]
    }
}
