//! The summary of segments that take turns.

use super::segments::{Segment, Segments};
use super::summary::{Kernel, PlanSegment, PlanSummary, WorkspacePiece};
use crate::primitive::Device;
use crate::program::{Part, Program, Var, joined};

/// The summary of all segments as one plan, whose program has the equations of all. Each segment comes with its program and summary.
pub(super) fn summary(
    program: &Program,
    updates: &[Option<usize>],
    segments: &Segments,
    planned: Vec<(Program, PlanSummary)>,
    device: Device,
) -> PlanSummary {
    fn part<'a>(program: &'a Program, segment: &'a Segment) -> Part<'a> {
        Part { program, inputs: &segment.inputs, outputs: &segment.outputs }
    }
    let before: Vec<Part<'_>> = segments.list.iter().map(|it| part(&it.program, it)).collect();
    let (before, _) = joined(program, &before);
    let now: Vec<Part<'_>> = planned.iter().zip(&segments.list).map(|((now, _), it)| part(now, it)).collect();
    let (now, numbers) = joined(program, &now);
    let bytes = |vars: &mut dyn Iterator<Item = &Var>| vars.map(|var| program.spec(*var).bytes()).sum::<usize>();
    let fresh = program.outputs().iter().zip(updates).filter(|(_, update)| update.is_none());
    let mut whole = PlanSummary {
        constant_bytes: bytes(&mut program.captures().iter().map(|(var, _)| var)),
        input_bytes: bytes(&mut program.inputs().iter()),
        output_bytes: bytes(&mut fresh.map(|(var, _)| var)),
        ..PlanSummary::blank(now, updates.to_vec()).from_program(before)
    };
    let mut values = Values::new(program, segments, updates);
    let mut equations = 0;
    for (((place, segment), (now, own)), numbers) in segments.list.iter().enumerate().zip(planned).zip(&numbers) {
        let first = whole.kernels.len();
        for (number, kernel) in own.kernels.into_iter().enumerate() {
            let at = Place { segment, now: &now, numbers, first, equations };
            whole.kernels.push(values.kernel(kernel, first + number, &at));
        }
        whole.pieces.extend(own.pieces.into_iter().map(|piece| WorkspacePiece {
            start: piece.start + whole.workspace_bytes,
            variable: piece.variable.map(|number| numbers[number].index()),
            first: piece.first + first,
            last: piece.last + first,
            ..piece
        }));
        whole.workspace_bytes += own.workspace_bytes;
        let [bytes_in, bytes_out] = values.copied(place, segments);
        whole.segments.push(PlanSegment {
            device: if segment.on_host { Device::Cpu } else { device },
            kernels: first..whole.kernels.len(),
            operations: segment.operations.clone(),
            bytes_in,
            bytes_out,
        });
        equations += now.equations().len();
    }
    // Values that cross lie behind the workspaces.
    for (var, value) in values.list.into_iter().enumerate() {
        let (Some(first), false) = (value.made, program.outputs().contains(&Var::new(var))) else { continue };
        let bytes = program.spec(Var::new(var)).bytes();
        let (variable, last) = (value.number.map(Var::index), value.read.max(first));
        whole.pieces.push(WorkspacePiece { start: whole.workspace_bytes, bytes, variable, first, last });
        whole.workspace_bytes += bytes;
    }
    whole.pieces.sort_by_key(|piece| piece.first);
    whole
}

/// A segment and what lies before it.
struct Place<'a> {
    segment: &'a Segment,
    now: &'a Program,
    /// The variable of the whole plan that each of its variables is.
    numbers: &'a [Var],
    /// The number of its first kernel, and of its first equation.
    first: usize,
    equations: usize,
}

/// What is known of the values that segments pass on.
struct Values<'p> {
    program: &'p Program,
    list: Vec<Value>,
}

#[derive(Clone, Default)]
struct Value {
    /// Its number in the whole plan, the kernel that makes it, and the last one that reads it.
    number: Option<Var>,
    made: Option<usize>,
    read: usize,
    /// Whether it lies on the device, and not yet on the CPU.
    is_remote: bool,
}

impl Values<'_> {
    fn new<'p>(program: &'p Program, segments: &Segments, updates: &[Option<usize>]) -> Values<'p> {
        let mut list = vec![Value::default(); program.variables()];
        updates.iter().flatten().for_each(|place| list[program.inputs()[*place].index()].is_remote = true);
        let remote = segments.list.iter().filter(|segment| !segment.on_host).flat_map(|segment| &segment.outputs);
        remote.for_each(|var| list[var.index()].is_remote = true);
        Values { program, list }
    }

    /// A kernel of a segment as the kernel `number` of the whole.
    fn kernel(&mut self, kernel: Kernel, number: usize, at: &Place<'_>) -> Kernel {
        let mut sources: Vec<usize> = kernel.sources.iter().map(|source| source + at.first).collect();
        let mut operands = Vec::new();
        for var in kernel.operands {
            let given = at.now.inputs().iter().position(|input| *input == var);
            match given.map(|place| &mut self.list[at.segment.inputs[place].index()]) {
                Some(Value { made: Some(made), read, .. }) => {
                    sources.push(*made);
                    *read = number;
                }
                _ => operands.push(at.numbers[var.index()]),
            }
        }
        sources.sort_unstable();
        sources.dedup();
        let mut results = Vec::new();
        for place in kernel.results {
            let var = at.segment.outputs[place];
            let value = &mut self.list[var.index()];
            (value.made, value.number) = (Some(number), Some(at.numbers[at.now.outputs()[place].index()]));
            let outputs = self.program.outputs().iter().enumerate();
            results.extend(outputs.filter(|(_, output)| **output == var).map(|(place, _)| place));
        }
        let equations = kernel.equations.iter().map(|equation| equation + at.equations).collect();
        let call = kernel.call.map(|equation| equation + at.equations);
        Kernel { equations, sources, operands, results, call, ..kernel }
    }

    /// The bytes that are copied to a segment on the CPU, and from there.
    fn copied(&mut self, place: usize, segments: &Segments) -> [usize; 2] {
        let Segment { on_host, inputs, outputs, .. } = &segments.list[place];
        if !on_host {
            return [0, 0];
        }
        let bytes = |var: &Var| self.program.spec(*var).bytes();
        // A value of the device is copied once, for all that read it.
        let arrives = |var: &&Var| std::mem::take(&mut self.list[var.index()].is_remote);
        let there = inputs.iter().filter(arrives).map(bytes).sum();
        let readers = |var: &Var| {
            let later =
                segments.list[place..].iter().filter(|segment| !segment.on_host && segment.inputs.contains(var));
            later.count() + usize::from(self.program.outputs().contains(var))
        };
        [there, outputs.iter().map(|var| bytes(var) * readers(var)).sum()]
    }
}
