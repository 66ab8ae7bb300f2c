//! Bodies that were traced into programs.

use super::LoopBody;
use super::files::checksum;
use crate::location::Line;
use crate::primitive::Spec;
use crate::program::control::{BodyRunner, input_specs, output_specs, through};
use crate::program::{ProgramAttr, Wish, staged};
use crate::{Error, Tensor};

/// A step as a program of constants, state and elements, and a program that says whether it is taken.
pub struct TracedBody {
    /// `None` if the number of steps is known before.
    pub test: Option<ProgramAttr>,
    /// The step.
    pub body: ProgramAttr,
    /// Where the loop was called.
    pub line: Line,
}

impl LoopBody for TracedBody {
    fn step(&self, _number: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        BodyRunner::new(&self.body, inputs).run(inputs, self.line)
    }

    fn goes_on(&self, inputs: &[Tensor]) -> Result<bool, Error> {
        let test = self.test.as_ref().expect("a loop of unknown length has a test");
        let answer = BodyRunner::new(test, inputs).run(inputs, self.line)?;
        Ok(Tensor::from(answer[0].numbers("while_loop")?.clone()).item() != 0.0)
    }

    fn pull(
        &self,
        _number: usize,
        inputs: &[Tensor],
        active: &[bool],
        seeds: &[Tensor],
        _check: &mut dyn FnMut(&[Tensor]) -> Result<(), Error>,
    ) -> Result<Vec<Tensor>, Error> {
        let wish = Wish { what: "loop step back", inputs: active.to_vec(), numbers: Vec::new() };
        let back = self.body.derived(wish, |body| {
            let (specs, outputs) = (input_specs(body), output_specs(body));
            let reached: Vec<bool> = outputs.iter().map(|spec| spec.dtype.is_float()).collect();
            let seeds = outputs.iter().filter(|spec| spec.dtype.is_float());
            let all: Vec<Spec> = specs.iter().chain(seeds).cloned().collect();
            ProgramAttr::from(staged("loop", &all, |mut v| {
                let seeds = v.split_off(specs.len());
                through::pull(body, &v, active, &seeds, &reached).1
            }))
        });
        let all = [inputs, seeds].concat();
        BodyRunner::new(&back, &all).run(&all, self.line)
    }

    fn identity(&self, _inputs: &[Tensor]) -> Result<u64, Error> {
        let test = self.test.as_ref().map(|test| test.program().to_string());
        Ok(checksum(format!("{}{}", test.unwrap_or_default(), self.body.program()).as_bytes()))
    }
}
