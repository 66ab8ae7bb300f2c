//! Turns a program into a plan: fuses, lowers and lays it out in memory.

use super::buffers::{self, ARENA, Regions};
use super::loops::PlacedLoop;
use super::lower;
use super::steps::{Call, LoopStep, Operand, Step};
use super::views::Views;
use super::{Placed, Plan, Read, Target, fuse};
use crate::primitive::{Layout, Spec};
use crate::program::{Precision, Program, Var};
use wengert_kernels::memory::Span;

impl Plan {
    /// Fuses and lays out a program; output `i` overwrites input `updates[i]`, if there is one.
    pub fn new(program: &Program, updates: Vec<Option<usize>>, target: &Target) -> Plan {
        let views = Views::new(program, target);
        let fusion = fuse::fuse(program, &views, &updates, target);
        let mut steps = lower::lower(program, &views, fusion, target);
        let regions = Regions::new(program, updates);
        let buffers = buffers::plan(program, &views, &mut steps, &regions, target.alignment);
        let span = |var: Var| {
            let span = buffers.spans[var.index()].expect("what is read or written has memory");
            Span { length: program.spec(var).bytes(), ..span }
        };
        let reads = |operands: Vec<Operand>| -> Vec<Read> {
            let read = |operand: Operand| Read { span: span(operand.base), spec: operand.spec, layout: operand.layout };
            operands.into_iter().map(read).collect()
        };
        let writes =
            |outputs: Vec<(Var, Spec)>| outputs.into_iter().map(|(var, spec)| (span(var), spec)).collect::<Vec<_>>();
        let spans = |vars: Vec<Var>| vars.into_iter().map(span).collect::<Vec<Span>>();
        let placed = |LoopStep { body, operands, outputs, equations }: LoopStep| PlacedLoop {
            body,
            reads: spans(operands),
            variables: outputs.iter().map(|var| var.index()).collect(),
            writes: spans(outputs),
            equations,
        };
        let place = |(number, step): (usize, Step)| match step {
            Step::Loops(loops) => Placed::Loops(loops.into_iter().map(placed).collect()),
            Step::Call(Call { op, attrs, operands, outputs, line, equation, then, .. }) => {
                let then = then.map(|one| Box::new(vec![placed(*one)]));
                Placed::Call { op, attrs, reads: reads(operands), writes: writes(outputs), line, equation, then }
            }
            Step::Flow { call, flow, gathered } => {
                let scratch = Span { region: ARENA, start: buffers.scratch[number], length: flow.scratch.bytes };
                let mut reads = reads(call.operands);
                let gather = |(place, start): (usize, usize)| {
                    let spec = reads[place].spec.clone();
                    let aside = Span { start: scratch.start + start, length: spec.bytes(), ..scratch };
                    let layout = Layout::contiguous(spec.shape.clone());
                    (std::mem::replace(&mut reads[place], Read { span: aside, spec, layout }), aside)
                };
                let gathered = gathered.into_iter().map(gather).collect();
                let (name, equation) = (call.op.name(), call.equation);
                Placed::Flow { name, flow, gathered, reads, writes: writes(call.outputs), scratch, equation }
            }
        };
        let mut steps: Vec<Placed> = steps.into_iter().enumerate().map(place).collect();
        let (mut arena, mut first) = (buffers.arena, Vec::new());
        for &number in &buffers.copied {
            let output = program.outputs()[number];
            let base = views.base(output);
            let mut read =
                Read { span: span(base), spec: program.spec(output).clone(), layout: views.layout(output).clone() };
            let write = Span { region: regions.output(number), start: 0, length: program.spec(output).bytes() };
            if read.span == write && views.is_whole(program, output) {
                continue;
            }
            // If an input is returned and also updated by another output, it is copied first.
            if program.inputs().iter().position(|input| *input == base).is_some_and(|input| regions.is_updated(input)) {
                let aside = Span { region: ARENA, start: arena, length: read.span.length };
                let spec = program.spec(base);
                let layout = Layout::contiguous(spec.shape.clone());
                let whole = Read { span: read.span, spec: spec.clone(), layout };
                first.push(Placed::Copy { read: whole, write: aside });
                arena += aside.length.next_multiple_of(target.alignment);
                read.span = aside;
            }
            steps.push(Placed::Copy { read, write });
        }
        steps.splice(0..0, first);
        let constants = program.captures().iter().map(|(_, tensor)| tensor.plain().contiguous()).collect();
        Plan {
            steps,
            inputs: program.inputs().len(),
            constants,
            updates: regions.updates,
            arena,
            precision: Precision::Strict,
        }
    }
}
