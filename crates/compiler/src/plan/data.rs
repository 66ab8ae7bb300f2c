//! A plan as data: kernels in order, with the bytes that each reads and writes.

use super::loops::PlacedLoop;
use crate::Tensor;
use crate::location::Line;
use crate::primitive::{Attrs, Layout, Primitive, Spec};
use crate::program::Precision;
use wengert_kernels::memory::Span;

/// A program that was fused and laid out in memory; a [`Backend`](super::Backend) turns it into a [`Runner`](super::Runner).
///
/// Memory regions are numbered: the workspace, inputs, constants, and outputs that do not update an input. `L` is the type of loops: data
/// at first, kernels in a runner.
pub struct Plan<L = Vec<PlacedLoop>> {
    /// The steps, in order.
    pub steps: Vec<Placed<L>>,
    /// The number of inputs.
    pub inputs: usize,
    /// The contiguous tensors that the program captured.
    pub constants: Vec<Tensor>,
    /// The input that each output updates.
    pub updates: Vec<Option<usize>>,
    /// The size of the workspace in bytes.
    pub arena: usize,
    /// How many digits products may keep.
    pub precision: Precision,
}

/// A step with the bytes that it reads and writes.
pub enum Placed<L = Vec<PlacedLoop>> {
    /// Loops that do not depend on each other.
    Loops(L),
    /// One operation, run by its own kernel.
    Call {
        /// The operation.
        op: &'static dyn Primitive,
        /// Its attributes.
        attrs: Attrs,
        /// Its operands.
        reads: Vec<Read>,
        /// Its outputs.
        writes: Vec<(Span, Spec)>,
        /// The line of the call.
        line: Option<Line>,
        /// The index of its equation in the program.
        equation: usize,
        /// A loop over the result.
        then: Option<Box<L>>,
    },
    /// A loop or a branch of the program.
    Flow {
        /// The name of the operation.
        name: &'static str,
        /// The plans inside.
        flow: Box<FlowPlan<L>>,
        /// Operands that are copied to contiguous memory first.
        gathered: Vec<(Read, Span)>,
        /// Its operands.
        reads: Vec<Read>,
        /// Its outputs.
        writes: Vec<(Span, Spec)>,
        /// The scratch memory that it needs.
        scratch: Span,
        /// The index of its equation in the program.
        equation: usize,
    },
    /// A copy.
    Copy {
        /// The source.
        read: Read,
        /// The destination, which is contiguous.
        write: Span,
    },
}

/// A view of bytes.
pub struct Read {
    /// The bytes.
    pub span: Span,
    /// The shape and dtype.
    pub spec: Spec,
    /// The layout of the elements.
    pub layout: Layout,
}

/// A call that is followed by a loop.
pub struct Led {
    /// The operands of the call.
    pub reads: Vec<Span>,
    /// Its result, which the loop reads.
    pub result: Span,
}

/// How a loop or a branch of the program runs.
pub struct FlowPlan<L> {
    /// What runs how often.
    pub kind: Kind<L>,
    /// The scratch memory.
    pub(super) scratch: Scratch,
}

/// A loop or a branch of the program.
pub enum Kind<L> {
    /// A loop of known length.
    Scan(Box<Scan<L>>),
    /// A loop while a test holds; the first operands are constants.
    While {
        /// The number of operands that stay.
        consts: usize,
        /// Whether it goes on.
        test: Box<Nested<L>>,
        /// One step.
        body: Box<Nested<L>>,
    },
    /// One of several branches, by the first operand.
    Switch {
        /// The branches.
        branches: Vec<Nested<L>>,
    },
}

/// A scan, or several scans that each handle some of its rows.
pub struct Scan<L> {
    /// The number of operands that stay.
    pub consts: usize,
    /// The number of carried values.
    pub carry: usize,
    /// The number of steps.
    pub length: usize,
    /// Whether it runs from the last element to the first.
    pub reverse: bool,
    /// The number of parts.
    pub parts: usize,
    /// The body of one part.
    pub body: Nested<L>,
    /// The bytes of scratch memory per part.
    pub scratch: usize,
}

/// A plan that runs inside another.
pub struct Nested<L> {
    /// The plan.
    pub plan: Plan<L>,
    /// The specs of its inputs.
    pub inputs: Vec<Spec>,
    /// The specs of its outputs.
    pub outputs: Vec<Spec>,
    /// The offsets in scratch memory of two buffers for every carried value.
    pub carried: Vec<[usize; 2]>,
    /// The offset of its workspace.
    pub arena: usize,
}

/// Allocates scratch memory.
pub(super) struct Scratch {
    pub bytes: usize,
    pub(super) alignment: usize,
}

impl<L> Plan<L> {
    /// The same plan with its loops mapped by `f`.
    pub fn map<M>(self, f: &mut dyn FnMut(L, Option<Led>) -> M) -> Plan<M> {
        let Plan { steps, inputs, constants, updates, arena, precision } = self;
        Plan {
            steps: steps.into_iter().map(|step| step.map(f)).collect(),
            inputs,
            constants,
            updates,
            arena,
            precision,
        }
    }

    /// The depth of nested plans below this one.
    pub(super) fn depth(&self) -> usize {
        let depth = |step: &Placed<L>| if let Placed::Flow { flow, .. } = step { flow.depth() } else { 0 };
        self.steps.iter().map(depth).max().unwrap_or(0)
    }
}

impl<L> Placed<L> {
    fn map<M>(self, f: &mut dyn FnMut(L, Option<Led>) -> M) -> Placed<M> {
        match self {
            Placed::Loops(loops) => Placed::Loops(f(loops, None)),
            Placed::Call { op, attrs, reads, writes, line, equation, then } => {
                let led = || Led { reads: reads.iter().map(|read| read.span).collect(), result: writes[0].0 };
                let then = then.map(|loops| Box::new(f(*loops, Some(led()))));
                Placed::Call { op, attrs, reads, writes, line, equation, then }
            }
            Placed::Flow { name, flow, gathered, reads, writes, scratch, equation } => {
                Placed::Flow { name, flow: Box::new(flow.map(f)), gathered, reads, writes, scratch, equation }
            }
            Placed::Copy { read, write } => Placed::Copy { read, write },
        }
    }
}
