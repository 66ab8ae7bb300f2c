//! Programs of which a device runs only some equations: segments that alternate between the device and the CPU.
//!
//! Equations of one side run as soon as they can, so the sides take turns as rarely as possible. A view that does not make its operand
//! smaller belongs to every segment that reads it, so that its operand is copied, once.

use super::Backend;
use crate::ground::items::BARRIER;
use crate::primitive::{Attrs, Layout, Spec};
use crate::program::{Equation, Program, Var};
use rustc_hash::FxHashMap;

/// A program whose segments run one after the other.
pub(super) struct Segments {
    pub list: Vec<Segment>,
}

/// Equations that run together.
pub(super) struct Segment {
    pub program: Program,
    /// Whether it runs on the CPU, because the device does not run its equations.
    pub on_host: bool,
    /// The operations that the device does not have, each once.
    pub operations: Vec<&'static str>,
    /// The variables of the whole program that are its inputs and outputs.
    pub inputs: Vec<Var>,
    pub outputs: Vec<Var>,
    /// The input that each output updates: among those of the segment.
    pub updates: Vec<Option<usize>>,
}

/// The equations that a backend does not run; each kind is asked for once.
pub(super) fn refused(program: &Program, backend: &dyn Backend) -> Vec<bool> {
    let mut known: FxHashMap<(&'static str, &Attrs, Vec<Spec>), bool> = FxHashMap::default();
    let specs = |vars: &[Var]| vars.iter().map(|var| program.spec(*var).clone()).collect::<Vec<Spec>>();
    let equations = program.equations().iter();
    let is_refused = equations.map(|equation| {
        let kind = (equation.op.name(), &equation.attrs, specs(&equation.inputs));
        *known.entry(kind).or_insert_with(|| !backend.runs(&alone(program, equation)))
    });
    is_refused.collect()
}

/// A program of one equation, whose operands are inputs.
fn alone(program: &Program, equation: &Equation) -> Program {
    let mut inputs = equation.inputs.clone();
    inputs.sort_unstable();
    inputs.dedup();
    program.with(&inputs, vec![equation.clone()], &equation.outputs)
}

impl Segments {
    /// Divides a program; `updates` are the inputs that its outputs update. `None` if the backend runs all of it.
    pub fn new(program: &Program, updates: &[Option<usize>], backend: &dyn Backend) -> Option<Segments> {
        let on_host = refused(program, backend);
        if !on_host.contains(&true) {
            return None;
        }
        let division = Division::new(program, on_host);
        let turns = [false, true].map(|first| division.turns(first));
        // The device begins, unless that takes one turn more.
        let turns = turns.into_iter().min_by_key(Vec::len).expect("there are two");
        Some(Segments { list: division.segments(turns, updates) })
    }
}

/// The equations of one turn.
struct Turn {
    on_host: bool,
    equations: Vec<usize>,
}

/// What is known of a program that is divided.
struct Division<'p> {
    program: &'p Program,
    on_host: Vec<bool>,
    /// The equation that computes a variable; of a view that belongs to its readers, the one that computes its base.
    maker: Vec<Option<usize>>,
    /// The equation of a view that belongs to its readers.
    view: Vec<Option<usize>>,
}

impl<'p> Division<'p> {
    fn new(program: &'p Program, on_host: Vec<bool>) -> Division<'p> {
        let (mut maker, mut view) = (vec![None; program.variables()], vec![None; program.variables()]);
        for (number, equation) in program.equations().iter().enumerate() {
            match (&equation.inputs[..], &equation.outputs[..]) {
                ([x], [y]) if !on_host[number] && is_free(program, equation) => {
                    view[y.index()] = Some(number);
                    maker[y.index()] = maker[x.index()];
                }
                (_, outputs) => outputs.iter().for_each(|var| maker[var.index()] = Some(number)),
            }
        }
        Division { program, on_host, maker, view }
    }

    /// The turns of both sides if this one begins; each takes all that it can.
    fn turns(&self, mut on_host: bool) -> Vec<Turn> {
        let equations = self.program.equations();
        let is_free = |equation: &Equation| equation.outputs.iter().any(|var| self.view[var.index()].is_some());
        let mut waiting: Vec<usize> = (0..equations.len()).filter(|number| !is_free(&equations[*number])).collect();
        let (mut done, mut turns) = (vec![false; equations.len()], Vec::new());
        while !waiting.is_empty() {
            let mut taken = Vec::new();
            // Calls with effects keep their order.
            let mut is_in_order = true;
            waiting.retain(|&number| {
                let equation = &equations[number];
                let is_ready = self.on_host[number] == on_host
                    && equation.inputs.iter().all(|var| self.maker[var.index()].is_none_or(|maker| done[maker]))
                    && (is_in_order || !equation.has_effect());
                done[number] = is_ready;
                if is_ready {
                    taken.push(number);
                }
                is_in_order &= is_ready || !equation.has_effect();
                !is_ready
            });
            if !taken.is_empty() {
                turns.push(Turn { on_host, equations: taken });
            }
            on_host = !on_host;
        }
        turns
    }

    /// The equations of a turn with the views that they read, and what comes from elsewhere.
    fn gathered(&self, turn: &Turn) -> (Vec<Equation>, Vec<Var>) {
        let equations = self.program.equations();
        let mut here = vec![false; self.program.variables()];
        self.program.captures().iter().for_each(|(var, _)| here[var.index()] = true);
        let (mut all, mut inputs) = (Vec::new(), Vec::new());
        for &number in &turn.equations {
            for &var in &equations[number].inputs {
                // From a view to its base, and back.
                let (mut at, mut views) = (var, Vec::new());
                while !here[at.index()] {
                    here[at.index()] = true;
                    let Some(view) = self.view[at.index()] else {
                        inputs.push(at);
                        break;
                    };
                    views.push(view);
                    at = equations[view].inputs[0];
                }
                all.extend(views.into_iter().rev().map(|view| equations[view].clone()));
            }
            equations[number].outputs.iter().for_each(|var| here[var.index()] = true);
            all.push(equations[number].clone());
        }
        (all, inputs)
    }

    /// The programs of all turns. An output updates its input in place if the device computes it, nothing else needs the two, and no
    /// operation on the host comes later: that may fail, and a failing call leaves states as they were.
    fn segments(&self, turns: Vec<Turn>, updates: &[Option<usize>]) -> Vec<Segment> {
        let program = self.program;
        let gathered: Vec<_> = turns.iter().map(|turn| self.gathered(turn)).collect();
        // The last segment that reads a variable from elsewhere; outputs are read in the end.
        let mut last: Vec<Option<usize>> = vec![None; program.variables()];
        for (number, (_, inputs)) in gathered.iter().enumerate() {
            inputs.iter().for_each(|var| last[var.index()] = Some(number));
        }
        let last_on_host = turns.iter().rposition(|turn| turn.on_host);
        let returned = |var: Var| program.outputs().iter().filter(|output| **output == var).count();
        let updated = |number: usize, var: Var| {
            let place = program.outputs().iter().position(|output| *output == var)?;
            let old = program.inputs()[updates[place]?];
            let is_old_free = returned(old) == 0 && last[old.index()].is_none_or(|last| last <= number);
            (is_old_free && returned(var) == 1 && last[var.index()].is_none()).then_some(old)
        };
        let segment = |(number, (turn, (equations, mut inputs))): (usize, (Turn, (Vec<Equation>, Vec<Var>)))| {
            let on_host = turn.on_host;
            let names = turn.equations.iter().filter(|_| on_host).map(|number| program.equations()[*number].op.name());
            let mut operations: Vec<&'static str> = Vec::new();
            names.for_each(|name| {
                if !operations.contains(&name) {
                    operations.push(name)
                }
            });
            let made = equations.iter().flat_map(|equation| equation.outputs.iter().copied());
            let is_needed = |var: &Var| last[var.index()].is_some_and(|last| last > number) || returned(*var) > 0;
            let outputs: Vec<Var> = made.filter(is_needed).collect();
            let update = |var: &Var| {
                let old = updated(number, *var).filter(|_| last_on_host.is_none_or(|last| last < number))?;
                Some(inputs.iter().position(|input| *input == old).unwrap_or_else(|| {
                    inputs.push(old);
                    inputs.len() - 1
                }))
            };
            let updates = outputs.iter().map(update).collect();
            let program = program.with(&inputs, equations, &outputs);
            Segment { program, on_host, operations, inputs, outputs, updates }
        };
        turns.into_iter().zip(gathered).enumerate().map(segment).collect()
    }
}

/// Whether an equation is a view that is at least as large as its operand, and only read by other equations.
fn is_free(program: &Program, equation: &Equation) -> bool {
    let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) else { return false };
    let (from, to) = (program.spec(*x), program.spec(*y));
    let layout = Layout::contiguous(from.shape.clone());
    from.bytes() <= to.bytes()
        && !program.outputs().contains(y)
        && !equation.op.is(BARRIER)
        && equation.op.view(&equation.attrs, &layout, to).is_some()
}
