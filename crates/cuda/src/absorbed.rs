//! Loops that a normalisation runs itself: the addition of a residual before it or behind its gradient, and conversions to 16 bits.

use crate::source::{narrows, rows_added};
use rustc_hash::{FxHashMap, FxHashSet};
use wengert_compiler::plan::{Instruction, Placed, PlacedLoop, Read};
use wengert_core::DType;
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::Destination;
use wengert_kernels::view::collapse;

/// The longest row of a normalisation that adds something.
const LONGEST_ROW: usize = 4096;

/// What calls do besides, by step.
#[derive(Default)]
pub struct Absorbed {
    /// Loops that are not run, by step and number.
    pub dropped: FxHashSet<(usize, usize)>,
    /// The memory of 16-bit numbers in which the first output of a call is stored.
    pub results: FxHashMap<usize, Span>,
    /// What a call adds to its first operand, or to its first result.
    pub additions: FxHashMap<usize, Addition>,
    /// What is left of a loop, by step and number: sums over the rows, in the order in which the whole loop adds. So whether a call takes
    /// the rest, which depends on what shares memory, changes no bit.
    pub rests: FxHashMap<(usize, usize), PlacedLoop>,
}

/// An addition of two tensors of the same shape, one of which a call has in registers.
#[derive(Clone, Copy)]
pub struct Addition {
    /// The first operand of the sum, if it is not a result of the call.
    pub operand: Option<Span>,
    /// The other operand.
    pub addend: Span,
    /// Its dtype: f32 or bf16.
    pub dtype: DType,
    /// Where the sum goes.
    pub sum: Span,
    /// Where it goes rounded to bf16.
    pub copy: Option<Span>,
}

fn overlap(a: Span, b: Span) -> bool {
    a.region == b.region && a.start < b.start + b.length && b.start < a.start + a.length
}

/// What a step reads, except the loop `but` of a group of loops.
fn reads(step: &Placed, but: Option<usize>) -> Vec<Span> {
    let of = |loops: &[PlacedLoop]| {
        let others = loops.iter().enumerate().filter(|(number, _)| Some(*number) != but);
        others.flat_map(|(_, placed)| placed.reads.clone()).collect::<Vec<_>>()
    };
    match step {
        Placed::Loops(loops) => of(loops),
        Placed::Call { reads, then, .. } => {
            let followed = then.iter().flat_map(|loops| of(loops));
            reads.iter().map(|read| read.span).chain(followed).collect()
        }
        Placed::Flow { gathered, reads, .. } => {
            gathered.iter().map(|(read, _)| read.span).chain(reads.iter().map(|read| read.span)).collect()
        }
        Placed::Copy { read, .. } => vec![read.span],
    }
}

/// What a step writes, except the loop `but` of a group of loops.
fn writes(step: &Placed, but: Option<usize>) -> Vec<Span> {
    match step {
        Placed::Loops(loops) => {
            let others = loops.iter().enumerate().filter(|(number, _)| Some(*number) != but);
            others.flat_map(|(_, placed)| placed.writes.clone()).collect()
        }
        Placed::Call { writes, then, .. } => {
            let followed = then.iter().flat_map(|loops| loops.iter().flat_map(|placed| placed.writes.clone()));
            writes.iter().map(|(span, _)| *span).chain(followed).collect()
        }
        Placed::Flow { writes, scratch, .. } => writes.iter().map(|(span, _)| *span).chain([*scratch]).collect(),
        Placed::Copy { write, .. } => vec![*write],
    }
}

/// What is left of a span without another.
fn without(span: Span, other: Span) -> impl Iterator<Item = Span> {
    let end = span.start + span.length;
    let (from, to) = match overlap(span, other) {
        true => (other.start.max(span.start), (other.start + other.length).min(end)),
        false => (end, end),
    };
    let parts = [(span.start, from), (to, end)].into_iter().filter(|(from, to)| from < to);
    parts.map(move |(from, to)| Span { start: from, length: to - from, ..span })
}

/// Whether a step from `first` on reads bytes before they are overwritten; the loop `but` of the first of these steps does not count.
fn is_read(steps: &[Placed], first: usize, but: usize, span: Span) -> bool {
    let mut left = vec![span];
    for (number, step) in steps.iter().enumerate().skip(first) {
        let but = (number == first).then_some(but);
        if reads(step, but).iter().any(|read| left.iter().any(|span| overlap(*read, *span))) {
            return true;
        }
        for write in writes(step, but) {
            left = left.into_iter().flat_map(|span| without(span, write)).collect();
        }
        if left.is_empty() {
            return false;
        }
    }
    false
}

/// Whether a loop reads all of an operand, in order.
fn reads_whole(placed: &PlacedLoop, operand: usize) -> bool {
    let access = &placed.body.operands[operand];
    let laid = collapse(&access.shape, &access.strides);
    let is_in_order = access.offset == 0 && matches!(laid.strides[..], [] | [1]) && !access.by_rows;
    is_in_order && placed.body.elements() * access.dtype.size() == placed.reads[operand].length
}

/// Whether an operand of a call is all of its memory, in order.
pub fn is_whole(read: &Read) -> bool {
    read.layout.is_contiguous() && read.layout.offset == 0 && read.spec.bytes() == read.span.length
}

/// Whether an instruction converts a value to bf16.
fn converts(instruction: &Instruction, value: usize) -> bool {
    narrows(instruction) && matches!(instruction, Instruction::Apply(apply) if apply.inputs[..] == [value])
}

/// Whether a loop only converts all elements of `made`, which are f32, to bf16.
fn is_cast(placed: &PlacedLoop, made: Span) -> bool {
    let body = &placed.body;
    let ([instruction], [output]) = (&body.instructions[..], &body.outputs[..]) else { return false };
    let is_result = output.dtype == DType::BF16 && output.destination == Destination::Each;
    placed.reads == [made] && reads_whole(placed, 0) && converts(instruction, 0) && is_result
}

/// The addition that a loop computes, if one of its operands is `known`, a tensor of f32 whose rows have this length; and where the sums of
/// the result over its rows go.
fn addition(placed: &PlacedLoop, known: Option<Span>, cols: usize) -> Option<(Addition, Option<Span>)> {
    let body = &placed.body;
    let ([_, _], [Instruction::Apply(add), rest @ ..]) = (&body.operands[..], &body.instructions[..]) else {
        return None;
    };
    let is_plain =
        reads_whole(placed, 0) && reads_whole(placed, 1) && add.op.name() == "add" && add.dtype == DType::F32;
    let has_rows = rest.len() <= 1 && rest.iter().all(|instruction| converts(instruction, 2)) && cols <= LONGEST_ROW;
    if !is_plain || !has_rows || !matches!(add.inputs[..], [0, 1] | [1, 0]) {
        return None;
    }
    // The one that the call has in registers comes first.
    let is_known = |number: usize| {
        body.operands[number].dtype == DType::F32 && known.is_none_or(|known| placed.reads[number] == known)
    };
    let first = (0..2).find(|number| is_known(*number))?;
    let (addend, dtype) = (placed.reads[1 - first], body.operands[1 - first].dtype);
    if !matches!(dtype, DType::F32 | DType::BF16) || addend == placed.reads[first] {
        return None;
    }
    let (mut sum, mut copy, mut total) = (None, None, None);
    for (output, span) in body.outputs.iter().zip(&placed.writes) {
        let place = match (output.value, output.dtype, output.destination) {
            (2, DType::F32, Destination::Each) => &mut sum,
            (3, DType::BF16, Destination::Each) => &mut copy,
            (2, DType::F32, Destination::Columns) if body.cols == cols => &mut total,
            _ => return None,
        };
        if place.replace(*span).is_some() {
            return None;
        }
    }
    let operand = known.is_none().then(|| placed.reads[first]);
    Some((Addition { operand, addend, dtype, sum: sum?, copy }, total))
}

/// Whether one span may be written row by row while the other is read in the same order: they are the same, or apart.
fn in_step(write: Span, read: Span) -> bool {
    write == read || !overlap(write, read)
}

impl Absorbed {
    /// What the calls of a plan do besides.
    pub fn of(steps: &[Placed]) -> Absorbed {
        let mut absorbed = Absorbed::default();
        for (number, step) in steps.iter().enumerate() {
            let Placed::Call { op, reads, writes, then: None, .. } = step else { continue };
            let is_f32 = writes[0].1.dtype == DType::F32;
            match op.name() {
                "layer_norm" | "rms_norm" if is_f32 => {
                    absorbed.conversion(steps, number);
                    absorbed.addition_before(steps, number, &reads[0]);
                }
                "layer_norm_gradient" | "rms_norm_gradient" if is_f32 => absorbed.addition_behind(steps, number, reads),
                _ => {}
            }
        }
        absorbed
    }

    /// Whether a loop of this step is not run.
    pub fn drops_of(&self, step: usize) -> bool {
        self.dropped.iter().any(|(dropped, _)| *dropped == step)
    }

    /// The first output of a call is only read by a conversion to bf16 right after it.
    fn conversion(&mut self, steps: &[Placed], number: usize) {
        let (outputs, Some(Placed::Loops(loops))) = (writes(&steps[number], None), steps.get(number + 1)) else {
            return;
        };
        let made = outputs[0];
        // Results of the program have regions of their own, and are read behind it.
        let Some(place) = loops.iter().position(|placed| is_cast(placed, made)).filter(|_| made.region == 0) else {
            return;
        };
        let to = loops[place].writes[0];
        let mut taken = reads(&steps[number], None).into_iter().chain(outputs[1..].iter().copied());
        if !taken.any(|span| overlap(span, to)) && !is_read(steps, number + 1, place, made) {
            self.dropped.insert((number + 1, place));
            self.results.insert(number, to);
        }
    }

    /// The first operand of a call is the sum that a loop right before it makes.
    fn addition_before(&mut self, steps: &[Placed], number: usize, operand: &Read) {
        let Some(Placed::Loops(loops)) = number.checked_sub(1).map(|before| &steps[before]) else { return };
        let cols = operand.spec.shape.last().copied().unwrap_or(0);
        if !is_whole(operand) {
            return;
        }
        let is_it = |placed: &PlacedLoop| placed.writes == [operand.span];
        let Some(place) = loops.iter().position(is_it) else { return };
        // A call before it may have taken it.
        if self.dropped.contains(&(number - 1, place)) {
            return;
        }
        let Some((addition, None)) = addition(&loops[place], None, cols) else { return };
        let mut outputs = writes(&steps[number], None);
        outputs[0] = self.results.get(&number).copied().unwrap_or(outputs[0]);
        let given = [addition.operand.expect("it is not a result"), addition.addend];
        let others = &reads(&steps[number], None)[1..];
        let is_apart = given
            .iter()
            .all(|read| in_step(addition.sum, *read) && !outputs.iter().any(|write| overlap(*write, *read)));
        if is_apart && !others.iter().any(|read| overlap(*read, addition.sum)) {
            self.dropped.insert((number - 1, place));
            self.additions.insert(number, addition);
        }
    }

    /// The first result of a call is only read by an addition right after it.
    fn addition_behind(&mut self, steps: &[Placed], number: usize, operands: &[Read]) {
        let Some(Placed::Loops(loops)) = steps.get(number + 1) else { return };
        let outputs = writes(&steps[number], None);
        let cols = operands[0].spec.shape.last().copied().unwrap_or(0);
        let found = loops.iter().enumerate().find_map(|(place, placed)| {
            let reads_it = placed.reads.contains(&outputs[0]);
            let found = reads_it.then(|| addition(placed, Some(outputs[0]), cols)).flatten();
            found.map(|(addition, total)| (place, addition, total))
        });
        let Some((place, addition, total)) = found.filter(|_| outputs[0].region == 0) else { return };
        let is_apart = |write: Span| {
            // Rows of the first operand and of the cotangent are read before those of the results are written.
            let mut of_operands = operands.iter().enumerate().map(|(number, read)| {
                let is_by_rows = number == 0 || number + 1 == operands.len();
                (is_by_rows && is_whole(read) && write == read.span) || !overlap(write, read.span)
            });
            of_operands.all(|is_apart| is_apart) && !outputs[1..].iter().any(|other| overlap(*other, write))
        };
        let is_possible = [Some(addition.sum), addition.copy].into_iter().flatten().all(is_apart)
            && in_step(addition.sum, addition.addend)
            && !addition.copy.is_some_and(|copy| overlap(copy, addition.addend))
            && !outputs[1..].iter().any(|other| overlap(*other, addition.addend));
        if is_possible && !is_read(steps, number + 1, place, outputs[0]) {
            self.dropped.insert((number + 1, place));
            self.additions.insert(number, addition);
            if let Some(total) = total {
                self.rests.insert(
                    (number + 1, place),
                    rows_added(loops[place].body.rows, cols, (addition.sum, DType::F32), total),
                );
            }
        }
    }
}
