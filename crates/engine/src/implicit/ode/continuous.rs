//! The continuous adjoint: the derivative of the exact solution, as another differential equation.
//!
//! With `dy/dt = f(t, y, theta)`, the cotangent of the state satisfies `da/dt = -(df/dy)^T a`, integrated back from the last time, and that
//! of the parameters accumulates `-(df/dtheta)^T a`. At every output time the incoming cotangent is added to `a`. The state is recomputed
//! at checkpoints between two output times, and integrated backwards from each to the previous one. A tangent satisfies `ds/dt = (df/dy) s
//! + (df/dtheta) dtheta`.

use super::step::Control;
use super::{Ode, Rhs, stacked_spec};
use crate::custom::{Function, Residual};
use crate::error::OrRaise;
use crate::implicit::{bind, completed, split, with};
use crate::methods::*;
use crate::primitive::{Mask, SpecRef, Specs};
use crate::{Shape, Tensor, jvp, vjp};
use smallvec::smallvec;
use std::sync::Arc;

/// The states at `times`, stacked, as a function of the parameters' leaves and the initial state.
#[derive(Clone)]
pub(super) struct Solution {
    pub rhs: Rhs,
    pub times: Arc<[f64]>,
    pub options: Ode,
}

impl Solution {
    /// Another equation with the same options.
    fn with_rhs(&self, times: &[f64], rhs: Rhs) -> Solution {
        Solution { rhs, times: times.into(), options: self.options.clone() }
    }

    /// The same over a short interval, whose derivative needs no further checkpoints.
    fn briefly(&self, times: &[f64], rhs: &Rhs) -> Solution {
        Solution { rhs: rhs.clone(), times: times.into(), options: self.options.clone().checkpoints(0) }
    }

    /// The times and states at the ends of the parts of an interval; the states at both ends of the interval are given.
    fn states_within(&self, theta: &[Tensor], [from, to]: [f64; 2], [first, last]: [&Tensor; 2]) -> Vec<(f64, Tensor)> {
        let parts = self.options.parts(self.times.len() - 1);
        if parts == 1 || from == to {
            return vec![(from, first.clone()), (to, last.clone())];
        }
        let inner = (0..parts).map(|part| from + (to - from) * (part as f64 / parts as f64));
        let times: Vec<f64> = inner.collect();
        let states = bind(self.briefly(&times, &self.rhs), &with(theta, first));
        let row = |(number, time): (usize, f64)| (time, states.select(0, number as isize));
        times.into_iter().enumerate().map(row).chain([(to, last.clone())]).collect()
    }
}

impl Function for Solution {
    fn name(&self) -> &'static str {
        "odeint"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        smallvec![stacked_spec(&operands[operands.len() - 1], self.times.len())]
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let (theta, y0) = split(operands);
        let f = |t: f64, y: &Tensor| (self.rhs)(t, y, theta);
        let mut control = Control::new(&self.options);
        let mut y = y0.clone();
        let mut rows = vec![y.clone()];
        for ends in self.times.windows(2) {
            if ends[0] != ends[1] {
                y = control.advance(&f, ends[0], ends[1], &y, usize::MAX).or_raise().0;
            }
            rows.push(y.clone());
        }
        vec![Tensor::stack(&rows, 0)]
    }

    fn forward(&self, operands: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let states = bind(self.clone(), operands);
        let residual = Residual { tensors: with(split(operands).0, &states), form: Arc::new(()) };
        (vec![states], residual)
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>> {
        let (theta, states) = split(&residual.tensors);
        let Some(cotangent) = &cotangents[0] else { return vec![None; theta.len() + 1] };
        let state = Shape::from(&states.shape()[1..]);
        let chosen: Vec<usize> =
            (0..theta.len()).filter(|&position| wanted.has(position) && theta[position].dtype().is_float()).collect();
        let sizes: Vec<usize> = chosen.iter().map(|&position| theta[position].elements()).collect();
        let (n, parameters) = (state.elements(), sizes.iter().sum::<usize>());
        let augmented = adjoint(&self.rhs, &state, &chosen);
        let row = |tensor: &Tensor, number: usize| tensor.select(0, number as isize);
        let last = self.times.len() - 1;
        let mut a = row(cotangent, last).reshape([n]);
        let mut gathered = Tensor::zeros_of([parameters], states.dtype());
        for number in (1..=last).rev() {
            let ends = [&row(states, number - 1), &row(states, number)];
            let known = self.states_within(theta, [self.times[number - 1], self.times[number]], ends);
            for pair in known.windows(2).rev() {
                let [(to, _), (from, state)] = pair else { unreachable!("windows of two") };
                let start = Tensor::concat(&[&state.reshape([n]), &a, &gathered], 0);
                let end = bind(self.briefly(&[*from, *to], &augmented), &with(theta, &start)).select(0, 1);
                a = end.narrow(0, n, n);
                gathered = end.narrow(0, 2 * n, parameters);
            }
            a += row(cotangent, number - 1).reshape([n]);
        }
        let mut pulled = vec![None; theta.len()];
        let mut start = 0;
        for (&position, &size) in chosen.iter().zip(&sizes) {
            let leaf = &theta[position];
            pulled[position] = Some(gathered.narrow(0, start, size).reshape(leaf.shape()).cast(leaf.dtype()));
            start += size;
        }
        pulled.push(Some(a.reshape(state)));
        pulled
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let (theta, states) = split(&residual.tensors);
        let y0 = states.select(0, 0);
        let directions = completed(tangents, &with(theta, &y0));
        let (of_theta, of_y0) = split(&directions);
        let (n, count) = (y0.elements(), self.times.len());
        let start = Tensor::concat(&[y0.reshape([n]), of_y0.reshape([n])], 0);
        let joint = self.with_rhs(&self.times, tangent(&self.rhs, &Shape::from(y0.shape()), theta.len()));
        let parameters: Vec<Tensor> = theta.iter().chain(of_theta).cloned().collect();
        let both = bind(joint, &with(&parameters, &start));
        vec![Some(both.narrow(1, n, n).reshape(Shape::from(y0.shape()).prepended(count)))]
    }
}

/// The right-hand side for the state, the cotangent and the gradient of the chosen parameters, concatenated to a vector.
fn adjoint(rhs: &Rhs, state: &Shape, chosen: &[usize]) -> Rhs {
    let (rhs, state, chosen) = (rhs.clone(), state.clone(), chosen.to_vec());
    Arc::new(move |t, joined, theta| {
        let n = state.elements();
        let y = joined.narrow(0, 0, n).reshape(state.clone());
        let a = joined.narrow(0, n, n).reshape(state.clone());
        let parts: Vec<Tensor> = chosen.iter().map(|&position| theta[position].clone()).collect();
        let f = |(y, parts): &(Tensor, Vec<Tensor>)| {
            let mut theta = theta.to_vec();
            chosen.iter().zip(parts).for_each(|(&position, part)| theta[position] = part.clone());
            rhs(t, y, &theta)
        };
        let (slope, pullback) = vjp(f, &(y, parts));
        let (of_y, of_parts) = pullback.call(&a);
        let flat = |part: &Tensor| -part.flatten().cast(joined.dtype());
        let rest = std::iter::once(flat(&of_y)).chain(of_parts.iter().map(flat));
        Tensor::concat(&std::iter::once(slope.flatten()).chain(rest).collect::<Vec<_>>(), 0)
    })
}

/// The right-hand side for state and tangent, concatenated to a vector; the parameters are followed by their tangents.
fn tangent(rhs: &Rhs, state: &Shape, count: usize) -> Rhs {
    let (rhs, state) = (rhs.clone(), state.clone());
    Arc::new(move |t, joined, both| {
        let n = state.elements();
        let (theta, of_theta) = both.split_at(count);
        let y = joined.narrow(0, 0, n).reshape(state.clone());
        let of_y = joined.narrow(0, n, n).reshape(state.clone());
        let f = |operands: &Vec<Tensor>| {
            let (theta, y) = split(operands);
            rhs(t, y, theta)
        };
        let (slope, change) = jvp(f, &with(theta, &y), &with(of_theta, &of_y));
        Tensor::concat(&[slope.flatten(), change.flatten()], 0)
    })
}
