//! The steps of a plan before memory is assigned.

use super::data::FlowPlan;
use super::loops::{Loop, PlacedLoop};
use crate::location::Line;
use crate::primitive::{Attrs, Layout, Primitive, Spec};
use crate::program::Var;
use smallvec::SmallVec;

/// One step of a plan; operands and outputs refer to variables that have their own memory.
pub(super) enum Step {
    /// Loops that do not depend on each other.
    Loops(Vec<LoopStep>),
    Call(Call),
    /// A loop or a branch, the operands that are copied first because they are not contiguous, and where the copies go in scratch memory.
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

/// An equation that runs as a call.
pub(super) struct Call {
    pub op: &'static dyn Primitive,
    pub attrs: Attrs,
    pub operands: Vec<Operand>,
    pub outputs: Vec<(Var, Spec)>,
    pub line: Option<Line>,
    /// Its index in the program.
    pub equation: usize,
    /// A loop over its result.
    pub then: Option<Box<LoopStep>>,
    /// The operand that its first output may overwrite.
    pub overwrites: Option<usize>,
}

/// An operand of a call: a view of a variable's memory.
pub(super) struct Operand {
    pub base: Var,
    pub spec: Spec,
    pub layout: Layout,
}

impl Step {
    /// The call, if the step has one.
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

    /// The variables that are computed; call results that a loop reads come before the loop's outputs.
    pub fn writes(&self) -> SmallVec<[Var; 8]> {
        let called = self.call().into_iter().flat_map(|call| call.outputs.iter().map(|(var, _)| *var));
        called.chain(self.loops().iter().flat_map(|one| one.outputs.iter().copied())).collect()
    }

    /// The bytes of scratch memory it needs.
    pub fn scratch(&self) -> usize {
        match self {
            Step::Flow { flow, .. } => flow.scratch.bytes,
            _ => 0,
        }
    }
}
