//! rematerialise - an elementwise value that is needed again much later is computed again there, and not kept meanwhile.
//!
//! Only where that lowers the bytes that live in between: its operands live as long anyway. And only where it is free, or the value
//! is large: where every late reader is elementwise, a loop computes the value where it reads it; a product needs it written once
//! more, which takes little beside the product. Late is what waits for a product, a reduction or
//! another kernel that waits for the value itself, as a backward pass does; one loop cannot hold both. A barrier keeps the two apart.

use super::known::{is_built_in, known};
use crate::primitive::{Attrs, Dependency, Layout};
use crate::program::{Equation, Program, Var};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Smaller values stay where they are.
const LEAST_BYTES: usize = 1 << 12;

/// Values from this size on are also computed again for products.
const LARGE_BYTES: usize = 1 << 20;

/// How often the equations are gone through; one value that is computed again may be needed later still.
const MOST_ROUNDS: usize = 4;

pub(super) fn run(mut program: Program) -> (Program, bool) {
    let mut changed = false;
    for _ in 0..MOST_ROUNDS {
        let (after, again) = round(program);
        program = after;
        changed |= again;
        if !again {
            break;
        }
    }
    (program, changed)
}

fn round(mut program: Program) -> (Program, bool) {
    let mut chosen: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut reads = Reads::of(&program);
    for number in 0..program.equations.len() {
        if let Some(late) = late_readers(&program, &reads, number) {
            reads.forget(&program, program.equations[number].outputs[0], &late);
            chosen.push((number, late));
        }
    }
    if chosen.is_empty() {
        return (program, false);
    }
    // Before which equation which others are repeated.
    let mut before: FxHashMap<usize, Vec<Equation>> = FxHashMap::default();
    for (number, late) in chosen {
        let equation = program.equations[number].clone();
        let (output, apart) = (equation.outputs[0], kept_apart(&program, &reads, &equation));
        let fresh = |program: &mut Program, like: Var| {
            let spec = program.spec(like).clone();
            program.specs.push(spec);
            Var(program.specs.len() as u32 - 1)
        };
        let (behind, again) = (fresh(&mut program, apart), fresh(&mut program, output));
        let replace = |var: &mut Var, old: Var, new: Var| *var = if *var == old { new } else { *var };
        let barrier = Equation {
            op: known("barrier"),
            attrs: Attrs::new(),
            inputs: vec![apart],
            outputs: vec![behind],
            line: equation.line,
            from_rule: false,
        };
        let mut repeated = Equation { outputs: vec![again], ..equation };
        repeated.inputs.iter_mut().for_each(|var| replace(var, apart, behind));
        for &reader in &late {
            program.equations[reader].inputs.iter_mut().for_each(|var| replace(var, output, again));
        }
        before.entry(late[0]).or_default().extend([barrier, repeated]);
    }
    let equations = std::mem::take(&mut program.equations);
    for (number, equation) in equations.into_iter().enumerate() {
        program.equations.extend(before.remove(&number).into_iter().flatten());
        program.equations.push(equation);
    }
    (program.renumbered(), true)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    View,
    /// A part of fused loops.
    Lane,
    /// Runs by itself.
    Kernel,
}

/// Who reads what.
struct Reads {
    /// By equation.
    kinds: Vec<Kind>,
    /// By variable, the variable whose memory it looks at.
    base: Vec<Var>,
    /// By base, the last equation that reads it; results are read at the end.
    last: Vec<usize>,
    /// By variable, the equations that read it as it is.
    readers: Vec<Vec<usize>>,
    /// Whether it is returned, or looked at by a view.
    is_seen: Vec<bool>,
    is_captured: Vec<bool>,
}

impl Reads {
    fn of(program: &Program) -> Reads {
        let count = program.specs.len();
        let kind = |equation: &Equation| match (is_view(program, equation), is_lane(program, equation)) {
            (true, _) => Kind::View,
            (false, true) => Kind::Lane,
            (false, false) => Kind::Kernel,
        };
        let mut reads = Reads {
            kinds: program.equations.iter().map(kind).collect(),
            base: (0..count as u32).map(Var).collect(),
            last: vec![0; count],
            readers: vec![Vec::new(); count],
            is_seen: vec![false; count],
            is_captured: vec![false; count],
        };
        program.captures.iter().for_each(|(var, _)| reads.is_captured[var.index()] = true);
        for (number, equation) in program.equations.iter().enumerate() {
            let is_view = reads.kinds[number] == Kind::View;
            for var in &equation.inputs {
                let readers = &mut reads.readers[var.index()];
                if readers.last() != Some(&number) {
                    readers.push(number);
                }
                reads.is_seen[var.index()] |= is_view;
            }
            match is_view {
                true => reads.base[equation.outputs[0].index()] = reads.base[equation.inputs[0].index()],
                false => equation.inputs.iter().for_each(|var| reads.last[reads.base[var.index()].index()] = number),
            }
        }
        for var in &program.outputs {
            reads.is_seen[var.index()] = true;
            reads.last[reads.base[var.index()].index()] = usize::MAX;
        }
        reads
    }

    /// These equations will no longer read a variable.
    fn forget(&mut self, program: &Program, var: Var, late: &[usize]) {
        self.readers[var.index()].retain(|reader| !late.contains(reader));
        let own = program.equations.iter().position(|equation| equation.outputs.contains(&var)).unwrap_or(0);
        self.last[var.index()] = self.readers[var.index()].last().copied().unwrap_or(own);
    }

    fn lives_until(&self, var: Var, number: usize) -> bool {
        self.is_captured[self.base[var.index()].index()] || self.last[self.base[var.index()].index()] >= number
    }
}

fn is_view(program: &Program, equation: &Equation) -> bool {
    let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) else { return false };
    let layout = Layout::contiguous(program.spec(*x).shape.clone());
    is_built_in(equation.op) && equation.op.view(&equation.attrs, &layout, program.spec(*y)).is_some()
}

/// Whether an equation is a part of fused loops.
fn is_lane(program: &Program, equation: &Equation) -> bool {
    let [output] = equation.outputs[..] else { return false };
    let dtypes: SmallVec<[_; 3]> = equation.inputs.iter().map(|input| program.spec(*input).dtype).collect();
    is_built_in(equation.op) && equation.op.lane(&equation.attrs, &dtypes, program.spec(output).dtype).is_some()
}

/// The late readers of what an equation gives, if it is to be computed again for them.
fn late_readers(program: &Program, reads: &Reads, number: usize) -> Option<Vec<usize>> {
    let equation = &program.equations[number];
    let [output] = equation.outputs[..] else { return None };
    let readers = &reads.readers[output.index()];
    let is_small = program.spec(output).bytes() < LEAST_BYTES;
    if is_small || readers.len() < 2 || reads.is_seen[output.index()] || reads.kinds[number] != Kind::Lane {
        return None;
    }
    let (first, last) = (readers[0], readers[readers.len() - 1]);
    // After the last kernel before them all readers are one loop, or next to each other.
    let kernel = (number..last).rev().find(|&other| reads.kinds[other] == Kind::Kernel)?;
    let live = equation.inputs.iter().all(|var| reads.lives_until(*var, kernel + 1));
    if !live || kept_apart(program, reads, equation) == output {
        return None;
    }
    // By variable, whether it waits for the value, and whether for a kernel that does.
    let mut waits: FxHashMap<Var, bool> = FxHashMap::from_iter([(output, false)]);
    for (other, kind) in program.equations[number + 1..last].iter().zip(&reads.kinds[number + 1..last]) {
        let found: SmallVec<[bool; 4]> = other.inputs.iter().filter_map(|var| waits.get(var).copied()).collect();
        if !found.is_empty() {
            let is_late = found.contains(&true) || *kind == Kind::Kernel;
            waits.extend(other.outputs.iter().map(|var| (*var, is_late)));
        }
    }
    let is_late = |reader: &usize| program.equations[*reader].inputs.iter().any(|var| waits.get(var) == Some(&true));
    let late: Vec<usize> = readers.iter().copied().filter(is_late).collect();
    let is_large = program.spec(output).bytes() >= LARGE_BYTES;
    let is_cheap = |&reader: &usize| reads.kinds[reader] == Kind::Lane || (is_large && is_product(program, reader));
    (!late.is_empty() && !late.contains(&first) && late.iter().all(is_cheap)).then_some(late)
}

fn is_product(program: &Program, number: usize) -> bool {
    matches!(program.equations[number].op.dependency(), Dependency::Product { .. })
}

/// The operand that the barrier stands behind: no constant, and as it lies if there is such a one. The output itself, if there is none.
fn kept_apart(program: &Program, reads: &Reads, equation: &Equation) -> Var {
    let varies = |var: &&Var| !reads.is_captured[reads.base[var.index()].index()];
    let whole = |var: &&Var| reads.base[var.index()] == **var;
    let mut own = equation.inputs.iter().filter(varies);
    let first = own.clone().next().copied();
    let same_size = |var: &&Var| program.spec(**var).shape == program.spec(equation.outputs[0]).shape;
    own.find(|var| whole(var) && same_size(var)).copied().or(first).unwrap_or(equation.outputs[0])
}
