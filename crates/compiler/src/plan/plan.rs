//! A plan as data: kernels in order, with the bytes that each reads and writes.

use super::buffers::{self, ARENA, Regions};
use super::flow::FlowPlan;
use super::loops::PlacedLoop;
use super::lower::{self, Call, LoopStep, Operand, Step};
use super::views::Views;
use super::{Target, fuse};
use crate::Tensor;
use crate::location::Line;
use crate::primitive::{Attrs, Layout, Primitive, Spec};
use crate::program::{Program, Var};
use wengert_kernels::memory::Span;

/// A program that was fused and laid out; a [`Backend`](super::Backend) makes a [`Runner`](super::Runner) of it.
///
/// Regions of memory are numbered: the workspace, inputs, constants, and outputs that do not update an input. `L` is what loops are:
/// data at first, kernels in a runner.
pub struct Plan<L = Vec<PlacedLoop>> {
    /// What is done, in order.
    pub steps: Vec<Placed<L>>,
    /// Contiguous numbers that the program captured.
    pub constants: Vec<Tensor>,
    /// The input that each output updates.
    pub updates: Vec<Option<usize>>,
    /// Bytes of the workspace.
    pub arena: usize,
}

/// A step with the bytes that it reads and writes.
pub enum Placed<L = Vec<PlacedLoop>> {
    /// Loops that do not wait for each other.
    Loops(L),
    /// One operation by its own kernel.
    Call {
        /// The operation.
        op: &'static dyn Primitive,
        /// Its attributes.
        attrs: Attrs,
        /// Its operands.
        reads: Vec<Read>,
        /// Its outputs.
        writes: Vec<(Span, Spec)>,
        /// The line that called it.
        line: Option<Line>,
        /// A loop over the result.
        then: Option<Box<L>>,
    },
    /// A loop or a branch of the program.
    Flow {
        /// The name of the operation.
        name: &'static str,
        /// The plans inside.
        flow: Box<FlowPlan<L>>,
        /// What is copied together before.
        gathered: Vec<(Read, Span)>,
        /// Its operands.
        reads: Vec<Read>,
        /// Its outputs.
        writes: Vec<(Span, Spec)>,
        /// The memory that it needs meanwhile.
        scratch: Span,
    },
    /// Numbers that are moved.
    Copy {
        /// From here.
        read: Read,
        /// To here, contiguous.
        write: Span,
    },
}

/// A view of bytes.
pub struct Read {
    /// The bytes.
    pub span: Span,
    /// Shape and type.
    pub spec: Spec,
    /// Where the elements are.
    pub layout: Layout,
}

/// A call that a loop follows.
pub struct Led {
    /// What the call reads.
    pub reads: Vec<Span>,
    /// What it computes, and the loop reads.
    pub result: Span,
}

impl Plan {
    /// Fuses and lays out a program; output `i` is written over input `updates[i]` where there is one.
    pub fn new(program: &Program, updates: Vec<Option<usize>>, target: &Target) -> Plan {
        let views = Views::new(program);
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
            writes: spans(outputs),
            equations,
        };
        let place = |(number, step): (usize, Step)| match step {
            Step::Loops(loops) => Placed::Loops(loops.into_iter().map(placed).collect()),
            Step::Call(Call { op, attrs, operands, outputs, line, then }) => {
                let then = then.map(|one| Box::new(vec![placed(*one)]));
                Placed::Call { op, attrs, reads: reads(operands), writes: writes(outputs), line, then }
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
                Placed::Flow { name: call.op.name(), flow, gathered, reads, writes: writes(call.outputs), scratch }
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
            // An input that is returned and updated by another output is set aside before.
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
        Plan { steps, constants, updates: regions.updates, arena }
    }
}

impl<L> Plan<L> {
    /// The same plan with what `f` makes of its loops.
    pub fn map<M>(self, f: &mut dyn FnMut(L, Option<Led>) -> M) -> Plan<M> {
        let Plan { steps, constants, updates, arena } = self;
        Plan { steps: steps.into_iter().map(|step| step.map(f)).collect(), constants, updates, arena }
    }

    /// How many plans lie inside each other below this one.
    pub(super) fn depth(&self) -> usize {
        let depth = |step: &Placed<L>| if let Placed::Flow { flow, .. } = step { flow.depth() } else { 0 };
        self.steps.iter().map(depth).max().unwrap_or(0)
    }
}

impl<L> Placed<L> {
    fn map<M>(self, f: &mut dyn FnMut(L, Option<Led>) -> M) -> Placed<M> {
        match self {
            Placed::Loops(loops) => Placed::Loops(f(loops, None)),
            Placed::Call { op, attrs, reads, writes, line, then } => {
                let led = || Led { reads: reads.iter().map(|read| read.span).collect(), result: writes[0].0 };
                let then = then.map(|loops| Box::new(f(*loops, Some(led()))));
                Placed::Call { op, attrs, reads, writes, line, then }
            }
            Placed::Flow { name, flow, gathered, reads, writes, scratch } => {
                Placed::Flow { name, flow: Box::new(flow.map(f)), gathered, reads, writes, scratch }
            }
            Placed::Copy { read, write } => Placed::Copy { read, write },
        }
    }
}
