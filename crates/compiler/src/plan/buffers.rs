//! Static memory planning: which bytes hold which variable, and when.
//!
//! Variables with disjoint lifetimes share bytes; a loop may overwrite an operand that is not read afterwards. Outputs are written directly
//! to the caller's memory, and updates over the old values.

use super::placement::Placement;
use super::steps::{Call, LoopStep, Step};
use super::views::Views;
use crate::program::{Program, Var};
use wengert_kernels::memory::Span;

/// The region of the workspace; inputs, constants and outputs follow.
pub(super) const ARENA: usize = 0;

/// The memory layout of a plan.
pub(super) struct Buffers {
    /// The bytes of every variable that has its own memory.
    pub spans: Vec<Option<Span>>,
    /// The size of the workspace in bytes.
    pub arena: usize,
    /// Outputs that are not written by their step, but copied at the end.
    pub copied: Vec<usize>,
    /// Where the scratch memory of every step begins.
    pub scratch: Vec<usize>,
    pub pieces: Vec<Piece>,
    pub times: Times,
}

/// A piece of the workspace, and the first and last step that need it.
pub(super) struct Piece {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
    start: usize,
}

/// The region numbers of a call.
pub(super) struct Regions {
    inputs: usize,
    /// The input that each output updates.
    pub updates: Vec<Option<usize>>,
    outputs: Vec<usize>,
}

impl Regions {
    pub fn new(program: &Program, updates: Vec<Option<usize>>) -> Regions {
        let inputs = program.inputs().len();
        let mut fresh = 1 + inputs + program.captures().len()..;
        let outputs = updates.iter().filter_map(|update| update.map(|input| 1 + input).or_else(|| fresh.next()));
        let outputs = outputs.collect();
        Regions { inputs, updates, outputs }
    }

    pub fn input(&self, number: usize) -> usize {
        1 + number
    }

    pub fn constant(&self, number: usize) -> usize {
        1 + self.inputs + number
    }

    /// Whether an output is written over this input.
    pub fn is_updated(&self, input: usize) -> bool {
        self.updates.contains(&Some(input))
    }

    /// The region of an output. An output that updates an input has no region of its own.
    pub fn output(&self, number: usize) -> usize {
        self.outputs[number]
    }
}

/// Assigns bytes to every variable.
pub(super) fn plan(
    program: &Program,
    views: &Views,
    steps: &mut [Step],
    regions: &Regions,
    alignment: usize,
) -> Buffers {
    let bytes = |var: Var| program.spec(var).bytes();
    let mut spans: Vec<Option<Span>> = vec![None; program.variables()];
    for (number, var) in program.inputs().iter().enumerate() {
        spans[var.index()] = Some(Span { region: regions.input(number), start: 0, length: bytes(*var) });
    }
    for (number, (var, _)) in program.captures().iter().enumerate() {
        spans[var.index()] = Some(Span { region: regions.constant(number), start: 0, length: bytes(*var) });
    }
    let mut times = Times::new(program, steps);
    let mut copied = Vec::new();
    for (number, output) in program.outputs().iter().enumerate() {
        let base = views.base(*output);
        let direct = spans[base.index()].is_none()
            && views.is_whole(program, *output)
            && bytes(base) == bytes(*output)
            && regions.updates[number]
                .is_none_or(|input| is_updated(program, steps, &times, base, program.inputs()[input]));
        match direct {
            true => spans[base.index()] = Some(Span { region: regions.output(number), start: 0, length: bytes(base) }),
            false => copied.push(number),
        }
    }
    allow_updates(steps, &spans);
    for &number in &copied {
        times.read[views.base(program.outputs()[number]).index()] = usize::MAX;
    }
    let mut workspace = Arena::new(program, steps, &times, &spans, alignment);
    let arena = workspace.place(&mut spans);
    let scratch = workspace.scratch.into_iter().map(|piece| workspace.pieces[piece].start).collect();
    Buffers { spans, arena, copied, scratch, pieces: workspace.pieces, times }
}

/// The step that writes each variable, and the last one that reads it. Variables that are copied at the end are read after the last step.
pub(super) struct Times {
    pub written: Vec<Option<usize>>,
    pub read: Vec<usize>,
}

impl Times {
    fn new(program: &Program, steps: &[Step]) -> Times {
        let mut times = Times { written: vec![None; program.variables()], read: vec![0; program.variables()] };
        for (number, step) in steps.iter().enumerate() {
            step.reads().iter().for_each(|var| times.read[var.index()] = number);
            for var in step.writes() {
                times.written[var.index()] = Some(number);
                times.read[var.index()] = number;
            }
        }
        times
    }
}

/// Whether the step that computes `new` can overwrite the input `old`: no later step reads it, and this step reads it only element by
/// element.
fn is_updated(program: &Program, steps: &[Step], times: &Times, new: Var, old: Var) -> bool {
    let Some(step) = times.written[new.index()] else { return false };
    if program.spec(new) != program.spec(old) && program.spec(new).bytes() != program.spec(old).bytes() {
        return false;
    }
    match times.read[old.index()].cmp(&step) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => overwrites(&steps[step], new, old),
        std::cmp::Ordering::Greater => false,
    }
}

/// Whether a step that reads `old` and computes `new` can do so in place: only the loop that computes `new` reads `old`, once and with the
/// same layout, and no call does, except one that may overwrite it.
fn overwrites(step: &Step, new: Var, old: Var) -> bool {
    let operands = step.call().into_iter().flat_map(|call| &call.operands).filter(|operand| operand.base == old);
    match operands.count() {
        0 => {}
        1 => return step.call().is_some_and(|call| call_overwrites(call, new, old)),
        _ => return false,
    }
    let loops = step.loops();
    let reads = |one: &LoopStep| one.operands.iter().filter(|operand| **operand == old).count();
    let Some(writer) = loops.iter().find(|one| one.outputs.contains(&new)) else { return false };
    if reads(writer) != 1 || loops.iter().map(reads).sum::<usize>() != 1 {
        return false;
    }
    let operand = writer.operands.iter().position(|operand| *operand == old).expect("it is read");
    let output = writer.outputs.iter().position(|output| *output == new).expect("it is written");
    writer.body.operands[operand].is_whole() && writer.body.writes_elements(output)
}

/// Whether a call writes its first output over this operand.
fn call_overwrites(call: &Call, new: Var, old: Var) -> bool {
    let Some(operand) = call.overwrites.map(|place| &call.operands[place]) else { return false };
    let is_whole = operand.layout.is_contiguous() && operand.layout.offset == 0;
    operand.base == old && is_whole && call.outputs[0].0 == new && call.then.is_none()
}

/// Marks the loop outputs that overwrite operands.
fn allow_updates(steps: &mut [Step], spans: &[Option<Span>]) {
    for step in steps {
        for LoopStep { body, operands, outputs, .. } in step.loops_mut() {
            for (number, output) in outputs.iter().enumerate() {
                let span = spans[output.index()];
                if span.is_some() && operands.iter().any(|operand| spans[operand.index()] == span) {
                    body.outputs[number].in_place = true;
                }
            }
        }
    }
}

/// Pieces of the workspace and the variables in them.
struct Arena {
    pieces: Vec<Piece>,
    of: Vec<Option<usize>>,
    /// The scratch memory of every step.
    scratch: Vec<usize>,
}

impl Arena {
    fn new(program: &Program, steps: &mut [Step], times: &Times, spans: &[Option<Span>], alignment: usize) -> Arena {
        let mut arena = Arena { pieces: Vec::new(), of: vec![None; program.variables()], scratch: Vec::new() };
        for (number, step) in steps.iter_mut().enumerate() {
            let bytes = step.scratch();
            arena.pieces.push(Piece { bytes, first: number, last: number, start: 0 });
            arena.scratch.push(arena.pieces.len() - 1);
            for var in step.writes() {
                if spans[var.index()].is_some() {
                    continue;
                }
                let bytes = program.spec(var).bytes().next_multiple_of(alignment);
                let last = times.read[var.index()];
                let over = arena.overwritten(program, step, var, number);
                let piece = match over {
                    Some(piece) => piece,
                    None => {
                        arena.pieces.push(Piece { bytes, first: number, last, start: 0 });
                        arena.pieces.len() - 1
                    }
                };
                arena.pieces[piece].last = arena.pieces[piece].last.max(last);
                arena.of[var.index()] = Some(piece);
                let mut loops = step.loops_mut().iter_mut();
                if let Some(writer) = loops.find(|one| over.is_some() && one.outputs.contains(&var)) {
                    let output = writer.outputs.iter().position(|output| *output == var).expect("its own output");
                    writer.body.outputs[output].in_place = true;
                }
            }
        }
        arena
    }

    /// The piece of an operand that is not read after this step, if `var` can overwrite it.
    fn overwritten(&self, program: &Program, step: &Step, var: Var, number: usize) -> Option<usize> {
        let bytes = program.spec(var).bytes();
        step.reads().into_iter().find_map(|old| {
            let piece = self.of[old.index()]?;
            let fits =
                program.spec(old).bytes() == bytes && program.spec(old).dtype.size() == program.spec(var).dtype.size();
            let is_last = self.pieces[piece].last == number;
            (fits && is_last && overwrites(step, var, old)).then_some(piece)
        })
    }

    /// Places pieces, largest first, so that pieces alive at the same time do not overlap. Returns the total bytes.
    fn place(&mut self, spans: &mut [Option<Span>]) -> usize {
        let mut order: Vec<usize> = (0..self.pieces.len()).collect();
        order.sort_by_key(|&piece| (std::cmp::Reverse(self.pieces[piece].bytes), piece));
        let (mut placement, mut total) = (Placement::new(self.scratch.len()), 0);
        for piece in order {
            let Piece { bytes, first, last, start } = &mut self.pieces[piece];
            *start = placement.place(*bytes, *first, *last);
            total = total.max(*start + *bytes);
        }
        for (span, piece) in spans.iter_mut().zip(&self.of) {
            if let Some(piece) = piece {
                *span = Some(Span { region: ARENA, start: self.pieces[*piece].start, length: 0 });
            }
        }
        total
    }
}
