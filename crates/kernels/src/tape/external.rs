//! Values computed by external code, which also propagates their adjoints.

use super::place::External;
use super::{Adjoint, Adjoints, CHUNKS, OnMisuse, Place, Pullback, Stop, Tape};
use std::rc::Rc;

/// Records statements for `outputs`, which depend on `inputs`; if all inputs are constants, so are the outputs. When a sweep reaches them,
/// `pullback` is called once for each seed, unless all adjoints of the outputs are zero.
///
/// ```
/// use wengert_kernels::tape::{Adjoints, Place, push_external, record};
/// let stop = |misuse, _: &_| panic!("{misuse}");
/// let mut adjoints = Adjoints::<f64>::default();
/// let slope = record(|recording| {
///     let (x, mut y) = (recording.input(stop), [Place::NONE; 2]);
///     push_external(&[2.0, 3.0], &[x], &mut y, Box::new(|dy, dx| dx[0] = 2.0 * dy[0] + 3.0 * dy[1]), stop);
///     y.iter().for_each(|y| adjoints.add(*y, &1.0, stop));
///     adjoints.sweep(recording.start(), stop);
///     adjoints.of(x, stop)
/// });
/// assert_eq!(slope, 5.0);
/// ```
#[track_caller]
pub fn push_external(values: &[f64], inputs: &[Place], outputs: &mut [Place], pullback: Box<Pullback>, stop: OnMisuse) {
    assert_eq!(values.len(), outputs.len(), "a value for each output");
    outputs.fill(Place::NONE);
    if outputs.is_empty() || !inputs.iter().any(|input| input.is_active()) {
        return;
    }
    let (tape, stop) = (Tape::here(), Stop::here(stop));
    inputs.iter().for_each(|input| tape.expect(*input, stop));
    let first = tape.next.get();
    for (output, value) in outputs.iter_mut().zip(values) {
        if tape.next.get() == tape.end.get() {
            tape.prepare(&[], (*value, &[]), stop);
        }
        *output = tape.close(tape.next.get(), tape.argument.get(), 0);
    }
    let inputs = inputs.iter().map(|input| input.index()).collect();
    let external = External { first, behind: tape.next.get(), inputs, pullback };
    CHUNKS.with_borrow_mut(|chunks| chunks.externals.push(Rc::new(external)));
    tape.externals.set(tape.externals.get() + 1);
}

impl External {
    /// Propagates the adjoints of the outputs to the inputs.
    pub fn pull<A: Adjoint>(&self, adjoints: &mut Adjoints<A>, stop: Stop) {
        let outputs = self.first..self.behind;
        let (mut by_outputs, mut by_inputs) = (vec![0.0; outputs.len()], vec![0.0; self.inputs.len()]);
        for lane in 0..A::ZERO.lanes().len() {
            for (by_output, index) in by_outputs.iter_mut().zip(outputs.clone()) {
                *by_output = adjoints.edit(index, stop, |adjoint| adjoint.lanes()[lane]);
            }
            if by_outputs.iter().all(|by_output| *by_output == 0.0) {
                continue;
            }
            by_inputs.fill(0.0);
            (self.pullback)(&by_outputs, &mut by_inputs);
            for (input, by_input) in self.inputs.iter().zip(&by_inputs).filter(|(input, _)| **input != 0) {
                adjoints.edit(*input, stop, |adjoint| adjoint.lanes_mut()[lane] += by_input);
            }
        }
        adjoints.zero((self.first, self.behind));
    }
}
