//! Conversions to 16 bits that a call makes itself: of the result of a normalisation.

use rustc_hash::{FxHashMap, FxHashSet};
use wengert_compiler::plan::{Instruction, Placed, PlacedLoop};
use wengert_core::DType;
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::Destination;
use wengert_kernels::view::collapse;

/// What calls write instead, by step.
#[derive(Default)]
pub struct Casts {
    /// Loops that are not run, by step and number.
    pub dropped: FxHashSet<(usize, usize)>,
    /// The memory of 16-bit numbers in which the first output of a call is stored.
    pub results: FxHashMap<usize, Span>,
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

/// Whether a step from `first` on reads bytes before they are overwritten.
fn is_read(steps: &[Placed], first: usize, span: Span) -> bool {
    let mut left = vec![span];
    for step in &steps[first.min(steps.len())..] {
        if reads(step, None).iter().any(|read| left.iter().any(|span| overlap(*read, *span))) {
            return true;
        }
        for write in writes(step, None) {
            left = left.into_iter().flat_map(|span| without(span, write)).collect();
        }
        if left.is_empty() {
            return false;
        }
    }
    false
}

/// Whether a loop only converts all elements of one operand.
fn is_cast(placed: &PlacedLoop, from: DType, to: DType) -> bool {
    let body = &placed.body;
    let ([access], [Instruction::Apply(apply)], [output]) =
        (&body.operands[..], &body.instructions[..], &body.outputs[..])
    else {
        return false;
    };
    let laid = collapse(&access.shape, &access.strides);
    let is_whole = access.offset == 0 && matches!(laid.strides[..], [] | [1]) && !access.by_rows;
    let converts = apply.op.name() == "cast" && (apply.dtypes[0], apply.dtype) == (from, to);
    is_whole && converts && access.dtype == from && output.dtype == to && output.destination == Destination::Each
}

impl Casts {
    /// The conversions of a plan.
    pub fn of(steps: &[Placed]) -> Casts {
        let mut casts = Casts::default();
        for (number, pair) in steps.windows(2).enumerate() {
            if let [call @ Placed::Call { op, then: None, .. }, Placed::Loops(loops)] = pair
                && matches!(op.name(), "layer_norm" | "rms_norm")
            {
                casts.result(steps, number, call, loops);
            }
        }
        casts
    }

    /// A call whose first output is only read by a conversion to bf16 right after it.
    fn result(&mut self, steps: &[Placed], number: usize, call: &Placed, loops: &[PlacedLoop]) {
        let made = writes(call, None)[0];
        let is_it = |placed: &PlacedLoop| placed.reads == [made] && is_cast(placed, DType::F32, DType::BF16);
        let Some(place) = loops.iter().position(is_it) else { return };
        let to = loops[place].writes[0];
        let taken = reads(call, None).into_iter().chain(writes(call, None).into_iter().skip(1));
        let others =
            reads(&steps[number + 1], Some(place)).into_iter().any(|read| overlap(read, made) || overlap(read, to));
        if made.region == 0
            && !others
            && !taken.into_iter().any(|span| overlap(span, to))
            && !is_read(steps, number + 2, made)
        {
            self.dropped.insert((number + 1, place));
            self.results.insert(number, to);
        }
    }
}
