//! Moves cheap operations to the only loop that reads their result.

use super::{Fuser, Role};
use crate::program::Var;

impl Fuser<'_> {
    /// Moves operations to the only loop that reads them, if that saves memory traffic.
    pub(super) fn sink(&mut self) {
        let readers = self.readers();
        for number in (0..self.program.equations().len()).rev() {
            let equation = self.equation(number);
            let [output] = equation.outputs[..] else { continue };
            let Some(from) = self.producer[output.index()] else { continue };
            if self.views.is_view(output) || self.fused(from).is_none() || equation.op.lowered().fold().is_some() {
                continue;
            }
            let Some(users) = &readers[output.index()] else { continue };
            let mut kernels = users.iter().filter_map(|&user| self.kernel_of(user));
            let Some(to) = kernels.next().filter(|&to| to != from && kernels.all(|other| other == to)) else {
                continue;
            };
            if self.is_worth_sinking(number, from, to, &readers) {
                self.fused_mut(from).equations.retain(|&other| other != number);
                let target = self.fused_mut(to);
                target.equations.push(number);
                target.equations.sort_unstable();
                self.producer[output.index()] = Some(to);
                self.roles[output.index()] = Some(Role::Elements);
                let sources = self.sources(number);
                self.order.wait(to, sources);
                if self.fused(from).is_some_and(|fused| fused.equations.is_empty()) {
                    self.kernels[from] = None;
                }
            }
        }
    }

    /// The equations that read each variable; `None` for variables that leave the program.
    fn readers(&self) -> Vec<Option<Vec<usize>>> {
        let mut readers: Vec<Option<Vec<usize>>> = self.readers_of_bases().into_iter().map(Some).collect();
        for output in self.program.outputs() {
            readers[self.views.base(*output).index()] = None;
        }
        readers
    }

    fn is_worth_sinking(&self, number: usize, from: usize, to: usize, readers: &[Option<Vec<usize>>]) -> bool {
        let equation = self.equation(number);
        let output = equation.outputs[0];
        let Some(target) = self.fused(to) else { return false };
        let is_full = target.equations.len() >= self.target.most_equations || self.gathers(target, &[number]);
        if target.elements != self.elements(output) || is_full {
            return false;
        }
        // All readers in the target loop must read it element by element.
        let reads_whole = |&user: &usize| {
            let inputs = &self.equation(user).inputs;
            let mine = inputs.iter().filter(|input| self.views.base(**input) == output);
            let whole = mine.into_iter().all(|input| self.views.is_whole(self.program, *input));
            whole && self.roles[self.equation(user).outputs[0].index()] == Some(Role::Elements)
        };
        if !readers[output.index()].as_ref().is_some_and(|users| users.iter().all(reads_whole)) {
            return false;
        }
        let bytes = |var: Var| self.program.spec(var).bytes();
        let mut cost = 0;
        for input in &equation.inputs {
            let base = self.views.base(*input);
            let at_hand = target.equations.iter().any(|&other| {
                let other = self.equation(other);
                other.inputs.iter().any(|read| self.views.base(*read) == base)
            });
            let is_own = self.producer[base.index()] == Some(from);
            // A value that is so far internal to the loop would have to be written.
            let is_stored = !is_own
                || readers[base.index()]
                    .as_ref()
                    .is_none_or(|users| users.iter().any(|&user| user != number && self.kernel_of(user) != Some(from)));
            cost += if at_hand { 0 } else { bytes(base) } + if is_stored { 0 } else { bytes(base) };
        }
        cost <= 2 * bytes(output)
    }
}
