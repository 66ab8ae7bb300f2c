//! Fuses loops into the large products that they follow (bias, activation, residual, optimiser update), while rows are still in cache.

use super::{Fuser, Kernel, Role};
use wengert_kernels::tiled::held;

impl Fuser<'_> {
    /// Merges calls with loops that read their results element by element.
    pub(super) fn follow(&mut self, updates: &[Option<usize>]) {
        self.update_last(updates);
        let readers = self.readers_of_bases();
        for number in 0..self.program.equations().len() {
            let equation = self.equation(number);
            let [output] = equation.outputs[..] else { continue };
            let Some(call) = self.producer[output.index()] else { continue };
            if !equation.op.lowered().leads()
                || !matches!(self.kernels[call], Some(Kernel::Call(_)))
                || !self.is_large(number)
            {
                continue;
            }
            let loops = readers[output.index()].iter().filter_map(|&reader| self.kernel_of(reader));
            let Some(fused) = loops.into_iter().find(|&kernel| self.can_follow(call, kernel, number)) else { continue };
            let Some(Kernel::Loop(contents)) = self.kernels[fused].take() else { unreachable!("a loop was chosen") };
            for &number in &contents.equations {
                for output in &self.program.equations()[number].outputs {
                    self.producer[output.index()] = Some(call);
                }
            }
            self.kernels[call] = Some(Kernel::Followed(number, contents));
            self.order.merge(call, fused);
        }
    }

    /// If possible, makes the kernel that overwrites an input run after all kernels that read it.
    fn update_last(&mut self, updates: &[Option<usize>]) {
        let readers = self.readers_of_bases();
        for (output, input) in self.program.outputs().iter().zip(updates) {
            let (Some(input), new) = (input, self.views.base(*output)) else { continue };
            let Some(writer) = self.producer[new.index()] else { continue };
            for &reader in &readers[self.program.inputs()[*input].index()] {
                let Some(kernel) = self.kernel_of(reader).filter(|&kernel| kernel != writer) else { continue };
                if !self.order.waits(kernel, writer) {
                    self.order.wait(writer, [kernel]);
                    self.later.push((new, reader));
                }
            }
        }
    }

    fn is_large(&self, number: usize) -> bool {
        self.program.call_cost(self.equation(number)).flops >= self.target.large_call
    }

    /// Whether `kernel` is a loop over the elements of the call's result, and nothing has to run in between.
    fn can_follow(&self, call: usize, kernel: usize, number: usize) -> bool {
        let output = self.equation(number).outputs[0];
        // Numbers of 16 bits are converted as they are loaded, which needs all of them to be complete.
        let dtype = self.program.spec(output).dtype;
        if held(dtype) != dtype {
            return false;
        }
        let Some(fused) = self.fused(kernel).filter(|fused| fused.elements == self.elements(output)) else {
            return false;
        };
        let in_order = |&reader: &usize| {
            let equation = self.equation(reader);
            let is_rows =
                self.roles[equation.outputs[0].index()] == Some(Role::Rows) && equation.op.lowered().fold().is_none();
            let mut own = equation.inputs.iter().filter(|input| self.views.base(**input) == output);
            own.all(|input| !is_rows && self.views.is_whole(self.program, *input))
        };
        fused.equations.iter().all(in_order) && self.order.can_merge(call, kernel)
    }
}
