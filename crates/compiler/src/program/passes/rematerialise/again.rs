//! Repeats equations where their result is read again.

use super::super::known::*;
use super::Reads;
use crate::primitive::Attrs;
use crate::program::{Equation, Program, Var};
use rustc_hash::FxHashMap;

/// An equation that is repeated for some readers of its results.
#[doc(hidden)]
#[derive(Clone)]
pub struct Again {
    /// The repeated equations, in order: the last one computes the values, the others are views that it reads.
    pub equations: Vec<usize>,
    /// Operands that the repetition reads behind a barrier, so that no loop contains both the original and the repetition.
    pub apart: Vec<Var>,
    /// Operands that other repetitions compute.
    pub shared: Vec<Var>,
    /// The equation before which it is inserted.
    pub place: usize,
    /// The recomputed values, and the equations that read them; none if only other repetitions do.
    pub values: Vec<(Var, Vec<usize>)>,
}

/// Inserts the recomputed values into the program.
pub fn insert(mut program: Program, reads: &Reads, mut repetitions: Vec<Again>) -> Program {
    // By equation, the equations repeated before it.
    let mut before: FxHashMap<usize, Vec<Equation>> = FxHashMap::default();
    let mut copies: FxHashMap<Var, Var> = FxHashMap::default();
    // What others share comes before them.
    repetitions.sort_by_key(|again| again.equations.last().copied());
    for Again { equations, apart, shared, place, values } in repetitions {
        let line = program.equations[equations[0]].line;
        let mut repeated = Vec::new();
        // The replacements of operands, of recomputed values, and of views of these.
        let mut stand_in: FxHashMap<Var, Var> = shared.into_iter().map(|var| (var, copies[&var])).collect();
        for var in apart {
            let behind = program.like(var);
            stand_in.insert(var, behind);
            let (op, attrs) = (BARRIER, Attrs::new());
            repeated.push(Equation { op, attrs, inputs: vec![var], outputs: vec![behind], line, from_rule: false });
        }
        for number in equations {
            let mut equation = program.equations[number].clone();
            equation.inputs.iter_mut().for_each(|var| *var = stand_in.get(var).copied().unwrap_or(*var));
            for output in &mut equation.outputs {
                let new = program.like(*output);
                let old = std::mem::replace(output, new);
                stand_in.insert(old, new);
                copies.insert(old, new);
            }
            repeated.push(equation);
        }
        for (value, reader) in values.iter().flat_map(|(value, readers)| readers.iter().map(move |it| (*value, *it))) {
            for operand in 0..program.equations[reader].inputs.len() {
                let var = program.equations[reader].inputs[operand];
                // A variable that is new here is a value that was recomputed before.
                if reads.base.get(var.index()) == Some(&value) {
                    let new = repeat_views(&mut program, reads, var, &mut stand_in, &mut repeated);
                    program.equations[reader].inputs[operand] = new;
                }
            }
        }
        before.entry(place).or_default().extend(repeated);
    }
    let equations = std::mem::take(&mut program.equations);
    for (number, equation) in equations.into_iter().enumerate() {
        program.equations.extend(before.remove(&number).into_iter().flatten());
        program.equations.push(equation);
    }
    program.renumbered()
}

/// The replacement of `var`, a view of a recomputed value.
fn repeat_views(
    program: &mut Program,
    reads: &Reads,
    var: Var,
    stand_in: &mut FxHashMap<Var, Var>,
    repeated: &mut Vec<Equation>,
) -> Var {
    let mut chain = Vec::new();
    let mut at = var;
    while !stand_in.contains_key(&at) {
        chain.push(at);
        at = program.equations[reads.maker[at.index()]].inputs[0];
    }
    for var in chain.into_iter().rev() {
        let view = program.equations[reads.maker[var.index()]].clone();
        let (input, output) = (stand_in[&view.inputs[0]], program.like(var));
        repeated.push(Equation { inputs: vec![input], outputs: vec![output], ..view });
        stand_in.insert(var, output);
    }
    stand_in[&var]
}

impl Program {
    /// A new variable of the same spec.
    fn like(&mut self, var: Var) -> Var {
        self.specs.push(self.spec(var).clone());
        Var(self.specs.len() as u32 - 1)
    }
}
