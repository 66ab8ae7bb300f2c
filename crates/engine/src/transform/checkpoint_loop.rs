//! Loops of ordinary Rust whose gradient keeps few states.

use super::custom::{expect_form, form_of, specs_of};
use crate::error::OrRaise;
use crate::interp::custom::captured;
use crate::location::{self, Line};
use crate::memory::{Schedule, Verify};
use crate::tensor::Value;
use crate::{Error, Tensor, Tree};
use std::sync::Arc;
use wengert_compiler::scheduled::{LoopBody, ScheduledLoop};
use wengert_core::primitive::Spec;

/// Applies `body` to a state so many times, with the number of the step, and returns the last state. The gradient keeps the states that
/// `schedule` says and runs the body again for the others, so its memory does not grow with the number of steps. With [`Schedule::All`] it
/// is the plain loop.
///
/// The body may do anything, and must do the same for the same step and state; what it computes again is compared with what it was, as
/// [`Verify`] says. Whatever is differentiated is part of the state: weights too,
/// which the body returns as they are, without a copy. A captured tensor that needs a gradient is an error. The state keeps its structure,
/// shapes and dtypes.
///
/// ```
/// use wengert::{Schedule, prelude::*};
/// let step = |_: usize, (x, rate): &(Tensor, Tensor)| (x * rate * (1.0 - x), rate.clone());
/// let last = |start: &(Tensor, Tensor)| checkpoint_loop(1000, start, step, &Schedule::Binomial { snapshots: 10 }).0;
/// let (_, slope) = grad(last)(&(Tensor::from(0.3), Tensor::from(2.5)));
/// assert!((slope.item() - 1.0 / 2.5f64.powi(2)).abs() < 1e-12);    // the fixed point is 1 - 1 / rate
/// ```
#[track_caller]
pub fn checkpoint_loop<T>(
    steps: usize,
    state: &T,
    body: impl Fn(usize, &T) -> T + Send + Sync + 'static,
    schedule: &Schedule,
) -> T
where
    T: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    schedule.check(NAME).map_err(|error| error.at(line)).or_raise();
    if *schedule == Schedule::All {
        return (0..steps).fold(state.map_leaves(Tensor::clone), |state, step| body(step, &state));
    }
    let operands: Vec<Tensor> = state.leaves().into_iter().cloned().collect();
    let rust = RustBody { form: form_of(state), specs: specs_of(state), verify: Verify::current(), body };
    let scheduled = ScheduledLoop {
        name: NAME,
        body: Arc::new(rust),
        consts: 0,
        carry: operands.len(),
        length: Some(steps),
        reverse: false,
        rows: Vec::new(),
        schedule: schedule.clone(),
        effect: true,
    };
    state.rebuild(scheduled.bind(&operands, line).map_err(|error| error.at(line)).or_raise())
}

const NAME: &str = "checkpoint_loop";

/// A closure as the body of a loop.
struct RustBody<T, F> {
    form: T,
    specs: Vec<Spec>,
    verify: Verify,
    body: F,
}

/// Whether the values lie on a transform or on the tape, and its name.
fn level_of(tensors: &[Tensor]) -> Option<&'static str> {
    tensors.iter().find_map(|tensor| match &tensor.value {
        Value::Tracer(tracer) => Some(tracer.level.name),
        _ => tensor.link.is_some().then_some("imperative tape"),
    })
}

impl<T, F> LoopBody for RustBody<T, F>
where
    T: Tree + Send + Sync,
    F: Fn(usize, &T) -> T + Send + Sync,
{
    fn step(&self, number: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let next = (self.body)(number, &self.form.rebuild(inputs.iter().cloned()));
        expect_form(NAME, &format!("the state after step {number}"), &next, &self.form, &self.specs)?;
        let next: Vec<Tensor> = next.leaves().into_iter().cloned().collect();
        match (level_of(inputs), level_of(&next)) {
            (None, Some(level)) => Err(captured(NAME, level)),
            _ => Ok(next),
        }
    }

    fn verify(&self) -> Verify {
        self.verify
    }

    fn goes_on(&self, _inputs: &[Tensor]) -> Result<bool, Error> {
        unreachable!("the number of steps is known")
    }

    /// The name of the closure, and what it makes of the first state: it may capture numbers.
    fn identity(&self, inputs: &[Tensor]) -> Result<u64, Error> {
        let first = if inputs.is_empty() { Vec::new() } else { self.step(0, inputs)? };
        Ok(wengert_compiler::scheduled::identity_of(std::any::type_name::<F>(), &first))
    }
}
