//! rematerialise - an elementwise value that is needed again much later is computed again there, and not kept meanwhile.
//!
//! Only where that lowers the bytes that live in between: its operands live as long anyway. And only where it is free, or the value
//! is large: where every late reader is elementwise, a loop computes the value where it reads it; a product needs it written once
//! more, which takes little beside the product, also if it is a normalisation. Late is what waits for a product, a reduction or
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
            reads.forget(program.equations[number].outputs[0], number, &late);
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
        let apart = kept_apart(&program, &reads, &equation);
        let behind = program.like(apart);
        let barrier = Equation {
            op: known("barrier"),
            attrs: Attrs::new(),
            inputs: vec![apart],
            outputs: vec![behind],
            line: equation.line,
            from_rule: false,
        };
        let outputs = equation.outputs.iter().map(|output| program.like(*output)).collect();
        let mut again = vec![barrier, Equation { outputs, ..equation.clone() }];
        again[1].inputs.iter_mut().filter(|var| **var == apart).for_each(|var| *var = behind);
        // What stands for the value, and for views of it.
        let mut stand_in = FxHashMap::from_iter([(equation.outputs[0], again[1].outputs[0])]);
        for &reader in &late {
            for place in 0..program.equations[reader].inputs.len() {
                let var = program.equations[reader].inputs[place];
                if reads.base[var.index()] == equation.outputs[0] {
                    let new = repeat_views(&mut program, &reads, var, &mut stand_in, &mut again);
                    program.equations[reader].inputs[place] = new;
                }
            }
        }
        before.entry(late[0]).or_default().extend(again);
    }
    let equations = std::mem::take(&mut program.equations);
    for (number, equation) in equations.into_iter().enumerate() {
        program.equations.extend(before.remove(&number).into_iter().flatten());
        program.equations.push(equation);
    }
    (program.renumbered(), true)
}

/// The variable that stands for `var`, a view of what is computed again.
fn repeat_views(
    program: &mut Program,
    reads: &Reads,
    var: Var,
    stand_in: &mut FxHashMap<Var, Var>,
    again: &mut Vec<Equation>,
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
        again.push(Equation { inputs: vec![input], outputs: vec![output], ..view });
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    View,
    /// A part of fused loops.
    Lane,
    /// Runs by itself.
    Kernel,
    /// Runs by itself, row by row: it costs little more than to read and write its rows.
    Rows,
}

/// Who reads what.
struct Reads {
    /// By equation.
    kinds: Vec<Kind>,
    /// By variable, the variable whose memory it looks at.
    base: Vec<Var>,
    /// By base, the last equation that reads it; results are read at the end.
    last: Vec<usize>,
    /// By base, the equations that read it or a view of it, views aside.
    readers: Vec<Vec<usize>>,
    /// By base, whether it or a view of it is returned.
    is_returned: Vec<bool>,
    /// By variable, the equation that computes it.
    maker: Vec<usize>,
    is_captured: Vec<bool>,
}

impl Reads {
    fn of(program: &Program) -> Reads {
        let count = program.specs.len();
        let kind = |equation: &Equation| match equation {
            _ if is_view(program, equation) => Kind::View,
            _ if is_lane(program, equation) => Kind::Lane,
            _ if is_by_rows(equation) => Kind::Rows,
            _ => Kind::Kernel,
        };
        let mut reads = Reads {
            kinds: program.equations.iter().map(kind).collect(),
            base: (0..count as u32).map(Var).collect(),
            last: vec![0; count],
            readers: vec![Vec::new(); count],
            is_returned: vec![false; count],
            maker: vec![0; count],
            is_captured: vec![false; count],
        };
        program.captures.iter().for_each(|(var, _)| reads.is_captured[var.index()] = true);
        for (number, equation) in program.equations.iter().enumerate() {
            equation.outputs.iter().for_each(|var| reads.maker[var.index()] = number);
            if reads.kinds[number] == Kind::View {
                reads.base[equation.outputs[0].index()] = reads.base[equation.inputs[0].index()];
                continue;
            }
            for var in &equation.inputs {
                let base = reads.base[var.index()].index();
                reads.last[base] = number;
                if reads.readers[base].last() != Some(&number) {
                    reads.readers[base].push(number);
                }
            }
        }
        for var in &program.outputs {
            let base = reads.base[var.index()].index();
            reads.is_returned[base] = true;
            reads.last[base] = usize::MAX;
        }
        reads
    }

    /// These equations will no longer read what equation `number` gives.
    fn forget(&mut self, var: Var, number: usize, late: &[usize]) {
        self.readers[var.index()].retain(|reader| !late.contains(reader));
        self.last[var.index()] = self.readers[var.index()].last().copied().unwrap_or(number);
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

/// Whether an equation normalises rows.
fn is_by_rows(equation: &Equation) -> bool {
    matches!(equation.op.name(), "layer_norm" | "rms_norm") && is_built_in(equation.op)
}

/// The late readers of what an equation gives, if it is to be computed again for them.
fn late_readers(program: &Program, reads: &Reads, number: usize) -> Option<Vec<usize>> {
    let equation = &program.equations[number];
    let (&output, kind) = (equation.outputs.first()?, reads.kinds[number]);
    let readers = &reads.readers[output.index()];
    let is_small = program.spec(output).bytes() < LEAST_BYTES;
    if is_small || readers.len() < 2 || reads.is_returned[output.index()] || !matches!(kind, Kind::Lane | Kind::Rows) {
        return None;
    }
    let (first, last) = (readers[0], readers[readers.len() - 1]);
    // After the last kernel before them all readers are one loop, or next to each other.
    let kernel = (number..last).rev().find(|&other| matches!(reads.kinds[other], Kind::Kernel | Kind::Rows))?;
    let live = equation.inputs.iter().all(|var| reads.lives_until(*var, kernel + 1));
    if !live || kept_apart(program, reads, equation) == output {
        return None;
    }
    // By variable, whether it waits for the value, and whether for a kernel that does.
    let mut waits: FxHashMap<Var, bool> = FxHashMap::from_iter([(output, false)]);
    for (other, kind) in program.equations[number + 1..last].iter().zip(&reads.kinds[number + 1..last]) {
        let found: SmallVec<[bool; 4]> = other.inputs.iter().filter_map(|var| waits.get(var).copied()).collect();
        if !found.is_empty() {
            let is_late = found.contains(&true) || matches!(kind, Kind::Kernel | Kind::Rows);
            waits.extend(other.outputs.iter().map(|var| (*var, is_late)));
        }
    }
    let is_late = |reader: &usize| program.equations[*reader].inputs.iter().any(|var| waits.get(var) == Some(&true));
    let late: Vec<usize> = readers.iter().copied().filter(is_late).collect();
    let is_large = program.spec(output).bytes() >= LARGE_BYTES;
    let reads_it = |reader: usize| program.equations[reader].inputs.contains(&output);
    let is_free = |reader: usize| kind == Kind::Lane && reads.kinds[reader] == Kind::Lane && reads_it(reader);
    let is_cheap = |&reader: &usize| is_free(reader) || (is_large && is_product(program, reader));
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
