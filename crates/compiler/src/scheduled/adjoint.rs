//! The state of a reverse pass: the cotangents of the loop's state, the sums of those of its constants, and those of its elements so far.

use super::{ScheduledLoop, stack};
use crate::Tensor;
use crate::error::{Error, ErrorKind};
use crate::primitive::Spec;
use crate::program::control::steps::wide;
use wengert_core::memory::{Remembered, Verify};
use wengert_ops::prelude::*;

pub(super) struct Adjoint<'a> {
    of: &'a ScheduledLoop,
    /// The inputs of a step whose cotangents are computed: wanted constants and elements, and all of the state that are floats.
    active: Vec<bool>,
    wanted: &'a [bool],
    /// The cotangents of the stacked outputs.
    row_seeds: Vec<Tensor>,
    specs: Vec<Spec>,
    sums: Vec<Tensor>,
    carry: Vec<Tensor>,
    /// The cotangents of elements, from the last step visited to the first.
    elements: Vec<Vec<Tensor>>,
    /// The state after the next step to be visited, if that is compared.
    after: Vec<Remembered>,
}

impl ScheduledLoop {
    /// An error if the state after a step is not what it was.
    fn compare(&self, number: usize, before: &[Remembered], now: &[Tensor]) -> Result<(), Error> {
        let differs = |(part, (before, now)): (usize, (&Remembered, &Tensor))| {
            before.difference(&format_args!("part {part} of the state after step {number}"), now, 0.0)
        };
        let Some(how) = before.iter().zip(now).enumerate().find_map(differs) else { return Ok(()) };
        let message = format!("the body did something else when it was computed again: {how}");
        Err(Error::new(ErrorKind::Checkpoint, self.name, message).help(
            "it must do the same for the same step and state: what changes, random keys too, is part of the state",
        ))
    }
}

impl<'a> Adjoint<'a> {
    pub fn new(of: &'a ScheduledLoop, operands: &[Tensor], seeds: &[Tensor], wanted: &'a [bool]) -> Adjoint<'a> {
        let is_state = |place: usize| (of.consts..of.elements()).contains(&place);
        let active: Vec<bool> = (operands.iter().enumerate())
            .map(|(place, operand)| if is_state(place) { operand.dtype().is_float() } else { wanted[place] })
            .collect();
        let floats = of.float_outputs(operands)[..of.carry].iter().filter(|float| **float).count();
        let (carry, row_seeds) = seeds.split_at(floats);
        let specs: Vec<Spec> = operands.iter().map(Tensor::spec).collect();
        let sums =
            (0..of.consts).filter(|&place| active[place]).map(|place| Tensor::constant(0.0, &wide(&specs[place])));
        let elements = vec![Vec::new(); active[of.elements()..].iter().filter(|active| **active).count()];
        let (sums, carry, row_seeds) = (sums.collect(), carry.to_vec(), row_seeds.to_vec());
        Adjoint { of, active, wanted, row_seeds, specs, sums, carry, elements, after: Vec::new() }
    }

    /// With what is remembered of the state after the next step.
    pub fn behind(self, after: Vec<Remembered>) -> Adjoint<'a> {
        Adjoint { after, ..self }
    }

    /// One step back from the state before it.
    pub fn step_back(&mut self, operands: &[Tensor], state: &[Tensor], number: usize) -> Result<(), Error> {
        let at = self.of.place(number) as isize;
        let rows = self.row_seeds.iter().map(|seeds| seeds.select(0, at));
        let seeds: Vec<Tensor> = self.carry.iter().cloned().chain(rows).collect();
        let inputs = self.of.inputs(operands, state, number);
        let (of, after) = (self.of, std::mem::take(&mut self.after));
        let mut found = of.body.pull(number, &inputs, &self.active, &seeds, &mut |y| of.compare(number, &after, y))?;
        if of.body.verify() != Verify::Off {
            self.after = state.iter().map(|part| Remembered::of(part, of.body.verify())).collect();
        }
        let elements = found.split_off(self.sums.len() + self.carry.len());
        self.carry = found.split_off(self.sums.len());
        for (sum, term) in self.sums.iter_mut().zip(found) {
            *sum = &*sum + term.cast(sum.dtype());
        }
        self.elements.iter_mut().zip(elements).for_each(|(rows, element)| rows.push(element));
        Ok(())
    }

    /// The gradients of the wanted operands after all steps.
    pub fn gradients(self, steps: usize) -> Vec<Tensor> {
        let of = self.of;
        let (mut sums, mut carry, mut elements) =
            (self.sums.into_iter(), self.carry.into_iter(), self.elements.into_iter());
        let mut all = Vec::new();
        for (place, spec) in self.specs.iter().enumerate().filter(|(place, _)| self.active[*place]) {
            let found = if place < of.consts {
                sums.next().expect("a sum for every constant").cast(spec.dtype)
            } else if place < of.elements() {
                carry.next().expect("a cotangent for every part of the state")
            } else {
                let mut rows = elements.next().expect("rows for every element");
                debug_assert_eq!(rows.len(), steps);
                if !of.reverse {
                    rows.reverse();
                }
                stack(&rows, &Spec::new(&spec.shape[1..], spec.dtype))
            };
            if self.wanted[place] {
                all.push(found);
            }
        }
        all
    }

    /// Everything that changes from step to step, to be written to a file.
    pub fn tensors(&self) -> Vec<Tensor> {
        let rows = self.elements.iter().map(|rows| Tensor::stack(rows, 0));
        self.sums.iter().chain(&self.carry).cloned().chain(rows).collect()
    }

    /// The specs of [`tensors`](Adjoint::tensors), of elements those of one step.
    pub fn specs(&self) -> (Vec<Spec>, Vec<Spec>) {
        let fixed = self.sums.iter().chain(&self.carry).map(Tensor::spec).collect();
        let active = self.specs.iter().enumerate().skip(self.of.elements()).filter(|(place, _)| self.active[*place]);
        (fixed, active.map(|(_, spec)| Spec::new(&spec.shape[1..], spec.dtype)).collect())
    }

    /// Takes what was written to a file.
    pub fn restore(&mut self, mut tensors: Vec<Tensor>) {
        let rows = tensors.split_off(self.sums.len() + self.carry.len());
        self.carry = tensors.split_off(self.sums.len());
        self.sums = tensors;
        let split = |rows: Tensor| (0..rows.shape()[0]).map(|row| rows.select(0, row as isize).contiguous()).collect();
        self.elements = rows.into_iter().map(split).collect();
    }
}
