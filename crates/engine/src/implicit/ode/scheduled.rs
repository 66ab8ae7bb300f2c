//! The discrete adjoint with a schedule: the segments between two output times are the steps of a loop of unknown length.
//!
//! The loop carries the state, the time it has reached, and the numbers of the step size control. A segment that is computed again starts
//! from the same numbers, so it takes the same steps.

use super::discrete::{TOGETHER, repeated};
use super::step::Control;
use super::{Ode, Rhs};
use crate::error::OrRaise;
use crate::implicit::{expect_numbers, with};
use crate::location::{self, Line};
use crate::{Error, Tensor};
use std::sync::Arc;
use wengert_compiler::scheduled::{LoopBody, ScheduledLoop, identity_of};

/// Integrates over one interval. Returns the state at its end, and the step size control.
pub(super) fn interval(
    rhs: &Rhs,
    [start, end]: [f64; 2],
    control: Control,
    options: &Ode,
    theta: &[Tensor],
    y: &Tensor,
) -> (Tensor, Control) {
    if start == end {
        return (y.clone(), control);
    }
    let line = location::resolve(Line::caller());
    let body = Arc::new(Segments { rhs: rhs.clone(), end, options: options.clone() });
    let scheduled = ScheduledLoop {
        name: "odeint",
        body,
        consts: theta.len(),
        carry: 2,
        length: None,
        reverse: false,
        rows: Vec::new(),
        schedule: options.schedule.clone(),
        effect: true,
    };
    let [next, error, steps] = control.numbers();
    let operands = with(&with(theta, y), &Tensor::from([start, next, error, steps]));
    let last = scheduled.bind(&operands, line).or_raise();
    let [_, numbers @ ..] = four(&last[1]).or_raise();
    (last[0].clone(), Control::from_numbers(options, numbers))
}

/// The time and the numbers of the control.
fn four(carried: &Tensor) -> Result<[f64; 4], Error> {
    let numbers = plain(carried)?.to_f64_vec();
    Ok(numbers.try_into().expect("four numbers are carried"))
}

/// The values below all levels.
fn plain(tensor: &Tensor) -> Result<Tensor, Error> {
    Ok(Tensor::from(tensor.numbers("odeint")?.clone()))
}

struct Segments {
    rhs: Rhs,
    end: f64,
    options: Ode,
}

impl LoopBody for Segments {
    fn step(&self, _number: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let (carried, operands) = inputs.split_last().expect("the numbers are last");
        let [start, numbers @ ..] = four(carried)?;
        let mut control = Control::from_numbers(&self.options, numbers);
        let values = operands.iter().map(plain).collect::<Result<Vec<Tensor>, Error>>()?;
        let (y, theta) = values.split_last().expect("the state follows the parameters");
        let f = |t: f64, y: &Tensor| (self.rhs)(t, y, theta);
        let (mut y, reached, steps) = control.advance(&f, start, self.end, y, TOGETHER)?;
        expect_numbers("odeint", &y)?;
        if !operands.iter().all(Tensor::is_plain) {
            y = repeated(&self.rhs, start, &steps, operands);
        }
        let [next, error, count] = control.numbers();
        Ok(vec![y, Tensor::from([reached, next, error, count])])
    }

    fn goes_on(&self, inputs: &[Tensor]) -> Result<bool, Error> {
        Ok(four(&inputs[inputs.len() - 1])?[0] != self.end)
    }

    /// The equation is only known by its values: those at the start.
    fn identity(&self, inputs: &[Tensor]) -> Result<u64, Error> {
        let (carried, operands) = inputs.split_last().expect("the numbers are last");
        let (y, theta) = operands.split_last().expect("the state follows the parameters");
        let slope = (self.rhs)(four(carried)?[0], y, theta);
        Ok(identity_of(&format!("{:?} {}", self.options, self.end), &[slope]))
    }
}
