//! rematerialise - an elementwise value that is needed again much later is computed again there, and not kept meanwhile.
//!
//! Only where that lowers the bytes that live in between: its operands live as long anyway. And only where it is free, or the value
//! is large: where every late reader is elementwise, a loop computes the value where it reads it; a product needs it written once
//! more, which takes little beside the product, also if it is a normalisation. Late is what waits for a product, a reduction or
//! another kernel that waits for the value itself, as a backward pass does, or what stands far behind the first reader; one loop
//! cannot hold both. A barrier keeps the two apart.

mod again;
mod reads;

#[doc(hidden)]
pub use again::{Again, insert};
#[doc(hidden)]
pub use reads::Reads;

use crate::primitive::Dependency;
use crate::program::{Equation, Program, Var};
use reads::Kind;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Smaller values stay where they are.
const LEAST_BYTES: usize = 1 << 12;

/// Values from this size on are also computed again for products.
const LARGE_BYTES: usize = 1 << 20;

/// Readers more equations than this behind the first one are late.
const FAR: usize = 4096;

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

fn round(program: Program) -> (Program, bool) {
    let mut chosen: Vec<Again> = Vec::new();
    let mut reads = Reads::of(&program);
    for number in 0..program.equations.len() {
        if let Some(readers) = late_readers(&program, &reads, number) {
            let value = program.equations[number].outputs[0];
            reads.forget(value, number, &readers);
            let apart = vec![kept_apart(&program, &reads, &program.equations[number])];
            chosen.push(Again { value, equations: vec![number], apart, readers });
        }
    }
    if chosen.is_empty() {
        return (program, false);
    }
    (insert(program, &reads, chosen), true)
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
    let kernel = reads.kernel_before(last).filter(|&kernel| kernel >= number)?;
    let live = equation.inputs.iter().all(|var| reads.lives_until(*var, kernel + 1));
    if !live || kept_apart(program, reads, equation) == output {
        return None;
    }
    let is_near = |reader: &usize| *reader <= first + FAR;
    let nearest = readers.partition_point(is_near);
    // By variable that waits for a reader, whether it waits for a kernel that waits for the value.
    let mut waits: FxHashMap<Var, bool> = FxHashMap::default();
    let waits_for = |waits: &FxHashMap<Var, bool>, var: Var| match reads.base[var.index()] == output {
        true => Some(false),
        false => waits.get(&var).copied(),
    };
    for other in first..readers[nearest - 1] {
        let equation = &program.equations[other];
        let found: SmallVec<[bool; 4]> = equation.inputs.iter().filter_map(|var| waits_for(&waits, *var)).collect();
        if !found.is_empty() {
            let is_late = found.contains(&true) || matches!(reads.kinds[other], Kind::Kernel | Kind::Rows);
            waits.extend(equation.outputs.iter().map(|var| (*var, is_late)));
        }
    }
    let reads_late = |reader: &usize| program.equations[*reader].inputs.iter().any(|var| waits.get(var) == Some(&true));
    let is_late = |reader: &usize| !is_near(reader) || reads_late(reader);
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
    let varies = |var: &&Var| !reads.is_captured(**var);
    let whole = |var: &&Var| reads.base[var.index()] == **var;
    let mut own = equation.inputs.iter().filter(varies);
    let first = own.clone().next().copied();
    let same_size = |var: &&Var| program.spec(**var).shape == program.spec(equation.outputs[0]).shape;
    own.find(|var| whole(var) && same_size(var)).copied().or(first).unwrap_or(equation.outputs[0])
}
