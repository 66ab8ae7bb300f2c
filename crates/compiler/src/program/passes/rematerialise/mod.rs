//! rematerialise - an elementwise value that is needed again much later is recomputed there instead of being kept in memory.
//!
//! This is done only if it lowers the memory in between, which requires that its operands are alive anyway, and only if it is free or the
//! value is large. If every late reader is elementwise, the loop that reads the value recomputes it. For a product, the value has to be
//! written once more, which costs little compared with the product, even if the value is a normalisation. A reader is *late* if it depends
//! on another kernel (a product, a reduction) that itself depends on the value, as in a backward pass, or if it comes long after the first
//! reader. One loop cannot contain both early and late readers; a barrier keeps them apart.

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

/// Smaller values are not recomputed.
const LEAST_BYTES: usize = 1 << 12;

/// Values of at least this size are also recomputed for products.
const LARGE_BYTES: usize = 1 << 20;

/// A reader more than this many equations after the first one is late.
const FAR: usize = 4096;

/// Maximum number of passes over the equations; a recomputed value may be needed even later.
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
            let (place, values) = (readers[0], vec![(value, readers)]);
            chosen.push(Again { equations: vec![number], apart, shared: Vec::new(), place, values });
        }
    }
    if chosen.is_empty() {
        return (program, false);
    }
    (insert(program, &reads, chosen), true)
}

/// The late readers of an equation's result, if it is to be recomputed for them.
fn late_readers(program: &Program, reads: &Reads, number: usize) -> Option<Vec<usize>> {
    let equation = &program.equations[number];
    let (&output, kind) = (equation.outputs.first()?, reads.kinds[number]);
    let readers = &reads.readers[output.index()];
    let is_small = program.spec(output).bytes() < LEAST_BYTES;
    if is_small || readers.len() < 2 || reads.is_returned[output.index()] || !matches!(kind, Kind::Lane | Kind::Rows) {
        return None;
    }
    let (first, last) = (readers[0], readers[readers.len() - 1]);
    // All readers after the last kernel before them are in one loop, or next to each other.
    let kernel = reads.kernel_before(last).filter(|&kernel| kernel >= number)?;
    let live = equation.inputs.iter().all(|var| reads.lives_until(*var, kernel + 1));
    if !live || kept_apart(program, reads, equation) == output {
        return None;
    }
    let is_near = |reader: &usize| *reader <= first + FAR;
    let nearest = readers.partition_point(is_near);
    // By variable that depends on a reader, whether it depends on a kernel that depends on the value.
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

/// The operand behind the barrier: not a constant, and preferably not a view. The output itself, if there is none.
fn kept_apart(program: &Program, reads: &Reads, equation: &Equation) -> Var {
    let varies = |var: &&Var| !reads.is_captured(**var);
    let whole = |var: &&Var| reads.base[var.index()] == **var;
    let mut own = equation.inputs.iter().filter(varies);
    let first = own.clone().next().copied();
    let same_size = |var: &&Var| program.spec(**var).shape == program.spec(equation.outputs[0]).shape;
    own.find(|var| whole(var) && same_size(var)).copied().or(first).unwrap_or(equation.outputs[0])
}
