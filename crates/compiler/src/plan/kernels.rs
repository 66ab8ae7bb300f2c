//! The kernels of a plan in words, with the flow of data between them and the pieces of its workspace.

use super::buffers::{ARENA, Regions};
use super::summary::{Kernel, PlanSummary, WorkspacePiece};
use super::{Placed, PlacedLoop, Plan};
use crate::primitive::Spec;
use crate::program::{Program, Var};
use rustc_hash::{FxHashMap, FxHashSet};
use wengert_kernels::memory::Span;

impl Plan {
    #[doc(hidden)]
    pub fn summary(&self, program: &Program) -> PlanSummary {
        let bytes = |vars: &mut dyn Iterator<Item = &Var>| vars.map(|var| program.spec(*var).bytes()).sum();
        let fresh = program.outputs().iter().zip(&self.updates).filter(|(_, update)| update.is_none());
        PlanSummary {
            kernels: self.kernels(program),
            pieces: self.pieces(program),
            workspace_bytes: self.arena,
            constant_bytes: bytes(&mut program.captures().iter().map(|(var, _)| var)),
            input_bytes: bytes(&mut program.inputs().iter()),
            output_bytes: bytes(&mut fresh.map(|(var, _)| var)),
            ..PlanSummary::blank(program.clone(), self.updates.clone())
        }
    }

    /// The kernels, with the flow of data between them: a kernel reads what was last written to its bytes.
    fn kernels(&self, program: &Program) -> Vec<Kernel> {
        let regions = Regions::new(program, self.updates.clone());
        let (inputs, captures) = (program.inputs().iter(), program.captures().iter().map(|(var, _)| var));
        let given = (inputs.enumerate().map(|(number, var)| (regions.input(number), *var)))
            .chain(captures.enumerate().map(|(number, var)| (regions.constant(number), *var)));
        let given: FxHashMap<usize, Var> = given.collect();
        let outputs: FxHashMap<usize, usize> =
            (0..program.outputs().len()).map(|number| (regions.output(number), number)).collect();
        let mut written: FxHashMap<Span, usize> = FxHashMap::default();
        let mut kernels = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let reads = step.reads();
            let mut sources: Vec<usize> = reads.iter().filter_map(|span| written.get(span).copied()).collect();
            sources.sort_unstable();
            sources.dedup();
            let old = reads.iter().filter(|span| !written.contains_key(span));
            let mut operands: Vec<Var> = old.filter_map(|span| given.get(&span.region).copied()).collect();
            operands.sort_unstable();
            operands.dedup();
            let writes = step.writes(program).into_iter().map(|(span, _)| span);
            let results = writes.clone().filter_map(|span| outputs.get(&span.region).copied()).collect();
            written.extend(writes.map(|span| (span, number)));
            let equations = step.loops().iter().flat_map(|one| one.equations.iter().copied()).collect();
            let (call, loop_bytes) = (step.equation(), step.loop_bytes());
            kernels.push(Kernel { text: step.text(program), equations, sources, operands, results, call, loop_bytes });
        }
        kernels
    }

    /// The workspace over time: a piece lasts from the kernel that writes it to the last one that reads it, or to the one before it is
    /// overwritten in place.
    fn pieces(&self, program: &Program) -> Vec<WorkspacePiece> {
        let mut pieces: Vec<WorkspacePiece> = Vec::new();
        let mut written: FxHashMap<Span, usize> = FxHashMap::default();
        let is_workspace = |(span, _): &(Span, _)| span.region == ARENA && span.length > 0;
        for (number, step) in self.steps.iter().enumerate() {
            for piece in step.reads().iter().filter_map(|span| written.get(span)) {
                pieces[*piece].last = number;
            }
            let scratch = match step {
                Placed::Flow { scratch, .. } => Some((*scratch, None)),
                _ => None,
            };
            for (span, variable) in step.writes(program).into_iter().chain(scratch).filter(is_workspace) {
                let old = written.get(&span).map(|piece| &mut pieces[*piece]);
                // A call and the loop behind it write the same bytes.
                if old.as_ref().is_some_and(|old| old.first == number) {
                    continue;
                }
                if let Some(old) = old {
                    old.last = old.last.min(number - 1);
                }
                written.insert(span, pieces.len());
                let Span { start, length: bytes, .. } = span;
                pieces.push(WorkspacePiece { start, bytes, variable, first: number, last: number });
            }
        }
        pieces
    }
}

impl Placed {
    fn loops(&self) -> &[PlacedLoop] {
        match self {
            Placed::Loops(loops) => loops,
            Placed::Call { then: Some(loops), .. } => loops,
            _ => &[],
        }
    }

    /// The equation that is called.
    fn equation(&self) -> Option<usize> {
        match self {
            Placed::Call { equation, .. } | Placed::Flow { equation, .. } => Some(*equation),
            Placed::Loops(_) | Placed::Copy { .. } => None,
        }
    }

    /// The bytes that the loops read and write, other than the result of the call before them. Those of a copy too.
    fn loop_bytes(&self) -> usize {
        if let Placed::Copy { read, write } = self {
            return read.span.length + write.length;
        }
        let result = match self {
            Placed::Call { writes, .. } => writes.first().map(|(span, _)| *span),
            _ => None,
        };
        let distinct = |spans: &mut dyn Iterator<Item = Span>| {
            let spans: FxHashSet<Span> = spans.filter(|span| Some(*span) != result).collect();
            spans.iter().map(|span| span.length).sum::<usize>()
        };
        distinct(&mut self.loops().iter().flat_map(|one| one.reads.iter().copied()))
            + distinct(&mut self.loops().iter().flat_map(|one| one.writes.iter().copied()))
    }

    /// The bytes that were written before and are read.
    fn reads(&self) -> Vec<Span> {
        let called: Vec<Span> = match self {
            Placed::Loops(_) => Vec::new(),
            Placed::Call { reads, .. } => reads.iter().map(|read| read.span).collect(),
            Placed::Flow { gathered, reads, scratch, .. } => {
                let whole = gathered.iter().map(|(read, _)| read.span);
                let in_place = reads.iter().map(|read| read.span).filter(|span| !span.overlaps(scratch));
                whole.chain(in_place).collect()
            }
            Placed::Copy { read, .. } => vec![read.span],
        };
        let result = match self {
            Placed::Call { writes, .. } => writes.first().map(|(span, _)| *span),
            _ => None,
        };
        let looped = self.loops().iter().flat_map(|one| one.reads.iter().copied());
        called.into_iter().chain(looped.filter(|span| Some(*span) != result)).collect()
    }

    fn writes(&self, program: &Program) -> Vec<(Span, Option<usize>)> {
        let called: Vec<(Span, Option<usize>)> = match self {
            Placed::Loops(_) => Vec::new(),
            Placed::Call { writes, equation, .. } | Placed::Flow { writes, equation, .. } => {
                let outputs = program.equations()[*equation].outputs.iter().map(|var| Some(var.index()));
                writes.iter().map(|(span, _)| *span).zip(outputs).collect()
            }
            Placed::Copy { write, .. } => vec![(*write, None)],
        };
        let of_loop = |one: &PlacedLoop| {
            let variables = one.variables.iter().map(|number| Some(*number));
            one.writes.iter().copied().zip(variables).collect::<Vec<_>>()
        };
        called.into_iter().chain(self.loops().iter().flat_map(of_loop)).collect()
    }

    fn text(&self, program: &Program) -> String {
        let name = |number: &usize| program.equations()[*number].op.name();
        let one = |one: &PlacedLoop| {
            let names: Vec<&str> = one.equations.iter().map(name).collect();
            format!("loop over {} elements: {}", one.body.elements(), names.join(", "))
        };
        match self {
            Placed::Loops(loops) => {
                let mut texts: Vec<(String, usize)> = Vec::new();
                for text in loops.iter().map(one) {
                    match texts.last_mut().filter(|(last, _)| *last == text) {
                        Some((_, count)) => *count += 1,
                        None => texts.push((text, 1)),
                    }
                }
                let text =
                    |(text, count): (String, usize)| if count > 1 { format!("{count} times {text}") } else { text };
                texts.into_iter().map(text).collect::<Vec<_>>().join("; ")
            }
            Placed::Call { op, attrs, reads, writes, then, .. } => {
                let list =
                    |specs: &mut dyn Iterator<Item = &Spec>| specs.map(Spec::to_string).collect::<Vec<_>>().join(", ");
                let operands = list(&mut reads.iter().map(|read| &read.spec));
                let results = list(&mut writes.iter().map(|(_, spec)| spec));
                let call = format!("{}{attrs}: {operands} -> {results}", op.name());
                match then.as_deref() {
                    Some(loops) => format!("{call}; then {}", one(&loops[0])),
                    None => call,
                }
            }
            Placed::Flow { name, flow, reads, writes, .. } => {
                let parts = if flow.parts() > 1 { format!(", rows in {} parts", flow.parts()) } else { String::new() };
                format!("{name} of {} operands, {} outputs{parts}", reads.len(), writes.len())
            }
            Placed::Copy { read, .. } => format!("copy {}", read.spec),
        }
    }
}
