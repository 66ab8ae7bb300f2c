//! Steps of a plan that has no memory yet.

use super::data::FlowPlan;
use super::loops::{Loop, PlacedLoop};
use crate::location::Line;
use crate::primitive::{Attrs, Layout, Primitive, Spec};
use crate::program::Var;
use smallvec::SmallVec;

/// One step of a plan; operands and outputs name variables that have memory of their own.
pub(super) enum Step {
    /// Loops that do not wait for each other.
    Loops(Vec<LoopStep>),
    Call(Call),
    /// A loop or a branch, the operands that are copied before because they do not lie in one piece, and where they go in the
    /// scratch memory.
    Flow {
        call: Call,
        flow: Box<FlowPlan<Vec<PlacedLoop>>>,
        gathered: Vec<(usize, usize)>,
    },
}

/// A fused loop.
pub(super) struct LoopStep {
    pub body: Loop,
    pub operands: Vec<Var>,
    pub outputs: Vec<Var>,
    pub equations: Vec<usize>,
}

/// An equation that runs by itself.
pub(super) struct Call {
    pub op: &'static dyn Primitive,
    pub attrs: Attrs,
    pub operands: Vec<Operand>,
    pub outputs: Vec<(Var, Spec)>,
    pub line: Option<Line>,
    /// A loop over its result.
    pub then: Option<Box<LoopStep>>,
}

/// What a call reads: a view of a variable's memory.
pub(super) struct Operand {
    pub base: Var,
    pub spec: Spec,
    pub layout: Layout,
}

impl Step {
    /// The equation that runs by itself.
    pub fn call(&self) -> Option<&Call> {
        match self {
            Step::Loops(_) => None,
            Step::Call(call) | Step::Flow { call, .. } => Some(call),
        }
    }

    /// The loops.
    pub fn loops(&self) -> &[LoopStep] {
        match self {
            Step::Loops(loops) => loops,
            Step::Call(Call { then: Some(one), .. }) => std::slice::from_ref(one),
            _ => &[],
        }
    }

    pub fn loops_mut(&mut self) -> &mut [LoopStep] {
        match self {
            Step::Loops(loops) => loops,
            Step::Call(Call { then: Some(one), .. }) => std::slice::from_mut(one),
            _ => &mut [],
        }
    }

    /// The variables whose memory is read.
    pub fn reads(&self) -> SmallVec<[Var; 8]> {
        let called = self.call().into_iter().flat_map(|call| call.operands.iter().map(|operand| operand.base));
        called.chain(self.loops().iter().flat_map(|one| one.operands.iter().copied())).collect()
    }

    /// The variables that are computed; what loops read of a call comes before what they write.
    pub fn writes(&self) -> SmallVec<[Var; 8]> {
        let called = self.call().into_iter().flat_map(|call| call.outputs.iter().map(|(var, _)| *var));
        called.chain(self.loops().iter().flat_map(|one| one.outputs.iter().copied())).collect()
    }

    /// The bytes that it needs while it runs.
    pub fn scratch(&self) -> usize {
        match self {
            Step::Flow { flow, .. } => flow.scratch.bytes,
            _ => 0,
        }
    }
}
