//! Runs bodies of control flow.

use crate::autograd::modes;
use crate::error::OrRaise;
use crate::location::Line;
use crate::plan::{Host, Input, Plan, Runner, Target, TiledLoops, runner, within};
use crate::program::{ProgramAttr, Wish};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// A body that is about to run, once or many times: on concrete tensors by its plan, which is built once, and on tensors of other levels by
/// its equations.
pub struct BodyRunner<'a> {
    body: &'a ProgramAttr,
    plan: Option<Arc<Host<TiledLoops>>>,
}

impl<'a> BodyRunner<'a> {
    /// For inputs of the same levels as `inputs`.
    pub fn new(body: &'a ProgramAttr, inputs: &[Tensor]) -> BodyRunner<'a> {
        let on_numbers = !modes::detects_anomalies() && inputs.iter().all(Tensor::is_plain);
        let budget = body.budget();
        let wish = Wish { what: "plan", inputs: Vec::new(), numbers: budget.into_iter().collect() };
        let plan = on_numbers.then(|| {
            body.derived(wish, |body| {
                let body = body.optimised();
                let updates = vec![None; body.outputs().len()];
                runner(match budget {
                    None => Plan::new(&body, updates, &Target::CPU),
                    Some(budget) => within(body, updates, budget, &Target::CPU).or_raise().1,
                })
            })
        });
        BodyRunner { body, plan }
    }

    /// Runs the body and returns its outputs.
    pub fn run(&self, inputs: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        let Some(plan) = &self.plan else { return self.body.evaluate_at(inputs, line) };
        let inputs: SmallVec<[Tensor; 8]> = inputs.iter().map(Tensor::contiguous).collect();
        let mut outputs: Vec<Tensor> =
            self.body.outputs().iter().map(|var| Tensor::blank(self.body.spec(*var))).collect();
        plan.run(&mut inputs.iter().map(Input::Read), &mut outputs.iter_mut(), line)?;
        Ok(outputs)
    }
}
