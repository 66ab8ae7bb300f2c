//! While loops: attributes, steps, and derived programs.

use super::{BodyRunner, WhileForm, input_specs, laid_out, masked, pick, places, through};
use crate::error::OrRaise;
use crate::location::Line;
use crate::methods::*;
use crate::primitive::{Attrs, Outputs, Spec};
use crate::program::ProgramAttrs;
use crate::program::{Program, ProgramAttr, Wish, staged};
use crate::{DType, Error, Tensor};

impl WhileForm {
    pub fn of(attrs: &Attrs) -> WhileForm {
        WhileForm {
            consts: attrs.axis("consts"),
            test: attrs.program("test").clone(),
            body: attrs.program("body").clone(),
        }
    }

    pub fn attrs(&self) -> Attrs {
        Attrs::new()
            .with_int("consts", self.consts as i64)
            .with_program("test", self.test.clone())
            .with_program("body", self.body.clone())
    }

    pub fn carry(&self) -> usize {
        self.body.inputs().len() - self.consts
    }

    fn wish(&self, what: &'static str, inputs: &[bool], number: usize) -> Wish {
        Wish { what, inputs: inputs.to_vec(), numbers: vec![self.consts, self.test.number(), number] }
    }

    /// Runs the loop step by step, on tensors of any level whose values can be read.
    pub fn run(&self, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        let mut inputs = laid_out(operands);
        let (test, body) = (BodyRunner::new(&self.test, &inputs), BodyRunner::new(&self.body, &inputs));
        loop {
            let going_on = test.run(&inputs, line)?;
            if Tensor::from(going_on[0].numbers("while_loop")?.clone()).item() == 0.0 {
                return Ok(inputs.drain(self.consts..).collect());
            }
            let next = body.run(&inputs, line)?;
            inputs.truncate(self.consts);
            inputs.extend(next);
        }
    }

    /// The same loop with a step counter at the end of the carry.
    pub fn counted(&self) -> WhileForm {
        let derived = self.body.derived(self.wish("while counted", &[], 0), |body| {
            let specs: Vec<Spec> = input_specs(body).into_iter().chain([Spec::new([], DType::I64)]).collect();
            let counted = staged("while_loop", &specs, |mut v| {
                let count = v.pop().expect("the count is last");
                let mut next = body.evaluate(&v).or_raise();
                next.push(count + 1i64);
                next
            });
            let test = self.test_of(&specs, &(0..specs.len() - 1).collect::<Vec<_>>());
            (test, ProgramAttr::from(counted))
        });
        WhileForm { consts: self.consts, test: derived.0.clone(), body: derived.1.clone() }
    }

    /// The test extended to more inputs; its own are at `places`.
    fn test_of(&self, specs: &[Spec], places: &[usize]) -> ProgramAttr {
        staged("while_loop", specs, |v| self.test.evaluate(&pick(&v, places)).or_raise()).into()
    }

    /// The loop with tangents: those of constants and carry come after them.
    pub fn tangent(&self, active: &[bool], reached: &[bool]) -> WhileForm {
        self.along("while tangent", active, 1, |body, x, dx| through::push(body, x, active, dx, reached))
    }

    /// The loop with `each` additional tensors for every input marked in `active`; those of constants and carry come after them. A step
    /// gets all inputs, then the additional tensors, and returns the same for the carry.
    pub fn along(
        &self,
        what: &'static str,
        active: &[bool],
        each: usize,
        step: impl FnOnce(&Program, &[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>),
    ) -> WhileForm {
        let derived = self.body.derived(self.wish(what, active, each), |body| {
            let specs = input_specs(body);
            let (mut all, mut primals, mut others) = (Vec::new(), Vec::new(), Vec::new());
            for group in [0..self.consts, self.consts..specs.len()] {
                for place in group.clone() {
                    primals.push(all.len());
                    all.push(specs[place].clone());
                }
                for place in group.filter(|&place| active[place]) {
                    others.extend(all.len()..all.len() + each);
                    all.extend(std::iter::repeat_n(specs[place].clone(), each));
                }
            }
            let program = staged("while_loop", &all, |v| {
                let (y, others) = step(body, &pick(&v, &primals), &pick(&v, &others));
                [y, others].concat()
            });
            (self.test_of(&all, &primals), ProgramAttr::from(program))
        });
        let consts = self.consts + each * places(&active[..self.consts]).len();
        WhileForm { consts, test: derived.0.clone(), body: derived.1.clone() }
    }

    /// The loop for a batch of `size`; the inputs marked in `active` are batched along a leading axis.
    pub fn batched(&self, size: usize, active: &[bool], freezes: bool) -> WhileForm {
        let derived = self.body.derived(self.wish("while batch", active, size), |body| {
            let specs = masked::batched_specs(input_specs(body), size, active);
            let going_on = |v: &[Tensor]| through::map(&self.test, v, size, active, &[freezes]).swap_remove(0);
            let test = staged("while_loop", &specs, |v| {
                let going_on = going_on(&v);
                vec![if freezes { going_on.any() } else { going_on }]
            });
            let carry = &active[self.consts..];
            let body = staged("while_loop", &specs, |v| match freezes {
                true => masked::step(body, &going_on(&v), &v, active, carry),
                false => through::map(body, &v, size, active, carry),
            });
            (ProgramAttr::from(test), ProgramAttr::from(body))
        });
        WhileForm { consts: self.consts, test: derived.0.clone(), body: derived.1.clone() }
    }
}

/// The inputs of a loop's body that are active if those in `from` are, and the carries among them: a carry that is reached at any step is
/// active from the start.
pub fn spread(
    body: &Program,
    consts: usize,
    from: impl Fn(usize) -> bool,
    differentiably: bool,
) -> (Vec<bool>, Vec<bool>) {
    let specs = input_specs(body);
    let carries = |place: usize| !differentiably || specs[place].dtype.is_float();
    let mut active: Vec<bool> = (0..specs.len()).map(|place| from(place) && carries(place)).collect();
    loop {
        let (reached, before) = (body.reached(&active, differentiably), active.clone());
        reached.iter().enumerate().for_each(|(i, reached)| active[consts + i] |= reached);
        if active == before {
            let reached = active[consts..].to_vec();
            return (active, reached);
        }
    }
}
