//! Plans: a program fused, laid out in memory, and run without allocation.

mod budget;
mod buffers;
mod flow;
mod fuse;
mod graph;
mod lower;
mod pairs;
mod placement;
mod run;
mod summary;
mod views;

use crate::Tensor;
use crate::location::Line;
use crate::primitive::{Attrs, Layout, Primitive, Spec};
use crate::program::{Program, Var};
pub(crate) use budget::within;
use buffers::{ALIGNMENT, ARENA, Regions};
use flow::FlowPlan;
use lower::{Call, LoopStep, Operand, Step};
pub(crate) use run::Input;
use run::Workspace;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
pub use summary::PlanSummary;
use views::Views;
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::{Followed, Loops};

/// A program that is ready to run on numbers.
///
/// It is shared between threads: every call takes a workspace, and puts it back.
pub(crate) struct Plan {
    steps: Vec<Placed>,
    constants: Vec<Tensor>,
    /// The input that each output updates.
    updates: Vec<Option<usize>>,
    /// Bytes of a workspace.
    arena: usize,
    workspaces: Mutex<Vec<Workspace>>,
    /// Whether calls take the time of every step, and what they took.
    is_watched: AtomicBool,
    times: Mutex<Vec<Duration>>,
}

/// A step with the bytes that it reads and writes.
enum Placed {
    /// The equations of each loop beside.
    Loops(Loops, Vec<Vec<usize>>),
    Call {
        op: &'static dyn Primitive,
        attrs: Attrs,
        reads: Vec<Read>,
        writes: Vec<(Span, Spec)>,
        line: Option<Line>,
        /// A loop over the result, and its equations.
        then: Option<Box<(Followed, Vec<usize>)>>,
    },
    /// A loop or a branch: what is copied together before, operands, outputs, and the memory that it needs meanwhile.
    Flow {
        name: &'static str,
        flow: Box<FlowPlan>,
        gathered: Vec<(Read, Span)>,
        reads: Vec<Read>,
        writes: Vec<(Span, Spec)>,
        scratch: Span,
    },
    Copy {
        read: Read,
        write: Span,
    },
}

/// A view of bytes.
struct Read {
    span: Span,
    spec: Spec,
    layout: Layout,
}

impl Plan {
    /// Fuses and lays out a program; output `i` is written over input `updates[i]` where there is one.
    pub fn new(program: &Program, updates: Vec<Option<usize>>) -> Plan {
        let views = Views::new(program);
        let fusion = fuse::fuse(program, &views, &updates);
        let mut steps = lower::lower(program, &views, fusion);
        let regions = Regions::new(program, updates);
        let buffers = buffers::plan(program, &views, &mut steps, &regions);
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
        let place = |(number, step): (usize, Step)| match step {
            Step::Loops(loops) => {
                let place = |one: LoopStep| ((one.tiled, spans(one.operands), spans(one.outputs)), one.equations);
                let (loops, equations): (Vec<_>, Vec<_>) = loops.into_iter().map(place).unzip();
                Placed::Loops(Loops::new(loops), equations)
            }
            Step::Call(Call { op, attrs, operands, outputs, line, then }) => {
                let (reads, writes) = (reads(operands), writes(outputs));
                let then = then.map(|one| {
                    let LoopStep { tiled, operands, outputs, equations } = *one;
                    let read = reads.iter().map(|read| read.span).collect();
                    Box::new((Followed::new(read, writes[0].0, tiled, spans(operands), spans(outputs)), equations))
                });
                Placed::Call { op, attrs, reads, writes, line, then }
            }
            Step::Flow { call, flow, gathered } => {
                let scratch = Span { region: ARENA, start: buffers.scratch[number], length: flow.scratch.0 };
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
                arena += aside.length.next_multiple_of(ALIGNMENT);
                read.span = aside;
            }
            steps.push(Placed::Copy { read, write });
        }
        steps.splice(0..0, first);
        let constants = program.captures().iter().map(|(_, tensor)| tensor.plain().contiguous()).collect();
        Plan {
            steps,
            constants,
            updates: regions.updates,
            arena,
            workspaces: Mutex::default(),
            is_watched: AtomicBool::new(false),
            times: Mutex::default(),
        }
    }

    /// How many plans lie inside each other below this one.
    fn depth(&self) -> usize {
        let depth = |step: &Placed| if let Placed::Flow { flow, .. } = step { flow.depth() } else { 0 };
        self.steps.iter().map(depth).max().unwrap_or(0)
    }
}
