//! Renumbers variables in the order of the text.

use super::{Program, Var};
use crate::primitive::Spec;

impl Program {
    /// The same program, with variables numbered in the order of its text; undefined variables are dropped.
    #[doc(hidden)]
    pub fn renumbered(mut self) -> Program {
        let captured = self.captures.iter().map(|(var, _)| *var);
        let defined = self.equations.iter().flat_map(|equation| equation.outputs.iter().copied());
        let order: Vec<Var> = self.inputs.iter().copied().chain(captured).chain(defined).collect();
        let mut number = vec![Var(0); self.specs.len()];
        for (place, var) in order.iter().enumerate() {
            number[var.index()] = Var(place as u32);
        }
        // Every variable is defined once, so its spec is taken once.
        let take = |spec: &mut Spec| Spec { shape: std::mem::take(&mut spec.shape), dtype: spec.dtype };
        self.specs = order.iter().map(|var| take(&mut self.specs[var.index()])).collect();
        let renumber = |var: &mut Var| *var = number[var.index()];
        self.inputs.iter_mut().chain(&mut self.outputs).for_each(renumber);
        self.captures.iter_mut().for_each(|(var, _)| renumber(var));
        for equation in &mut self.equations {
            equation.inputs.iter_mut().chain(&mut equation.outputs).for_each(renumber);
        }
        self
    }
}
