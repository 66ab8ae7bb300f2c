//! A plan as data: kernels in order, with the bytes that each reads and writes.

use super::loops::PlacedLoop;
use crate::Tensor;
use crate::location::Line;
use crate::primitive::{Attrs, Layout, Primitive, Spec};
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

/// How a loop or a branch runs.
pub struct FlowPlan<L> {
    pub(super) kind: Kind<L>,
    /// Bytes of scratch memory.
    pub(super) scratch: Scratch,
}

pub(super) enum Kind<L> {
    Scan(Box<Scan<L>>),
    While { consts: usize, test: Box<Nested<L>>, body: Box<Nested<L>> },
    Switch { branches: Vec<Nested<L>> },
}

/// A scan, or several over some of its rows each.
pub(super) struct Scan<L> {
    pub(super) consts: usize,
    pub(super) carry: usize,
    pub(super) length: usize,
    pub(super) reverse: bool,
    pub(super) parts: usize,
    /// The body of a part.
    pub(super) body: Nested<L>,
    /// Bytes of scratch memory of a part.
    pub(super) scratch: usize,
}

/// A plan that runs inside another.
pub(super) struct Nested<L> {
    pub(super) plan: Plan<L>,
    pub(super) inputs: Vec<Spec>,
    pub(super) outputs: Vec<Spec>,
    /// Two buffers for every value that is carried: where they begin in the scratch memory.
    pub(super) carried: Vec<[usize; 2]>,
    /// Where its own workspace begins there.
    pub(super) arena: usize,
}

/// Scratch memory that is being shared out.
pub(super) struct Scratch {
    pub bytes: usize,
    pub(super) alignment: usize,
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
