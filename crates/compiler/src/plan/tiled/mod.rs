//! The CPU backend: loops become vectorised instructions of the tiled machine.

mod arithmetic;
mod pairs;

use super::loops::{Apply, Instruction, Loop, PlacedLoop};
use super::run::{Host, LoopKernel};
use super::{Backend, Led, Plan, Runner, Target};
use crate::Error;
use arithmetic::Arithmetic;
use pairs::{Draft, paired};
use smallvec::SmallVec;
use wengert_kernels::memory::{Memory, Span};
use wengert_kernels::tiled::{self, Followed, Loops, Tiled};

/// The host CPU.
pub struct Cpu;

impl Backend for Cpu {
    fn target(&self) -> Target {
        Target::CPU
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        Ok(Box::new(runner(plan)))
    }
}

/// Prepares a plan to run on the host CPU.
pub fn runner(plan: Plan) -> Host<TiledLoops> {
    Host::new(plan, &mut TiledLoops::new)
}

/// The loops of one step.
pub enum TiledLoops {
    /// Loops that do not depend on each other.
    Together(Loops),
    /// A loop that follows a call.
    Behind(Followed),
}

impl TiledLoops {
    /// Compiles the loops of a step, or one loop over the result of a call.
    pub fn new(loops: Vec<PlacedLoop>, led: Option<Led>) -> TiledLoops {
        let made = |PlacedLoop { body, reads, writes, .. }| (Box::new(tiled(&body)), reads, writes);
        let mut loops: Vec<_> = loops.into_iter().map(made).collect();
        match led {
            None => TiledLoops::Together(Loops::new(loops)),
            Some(Led { reads, result }) => {
                let (body, operands, outputs) = loops.pop().expect("one loop follows a call");
                TiledLoops::Behind(Followed::new(reads, result, body, operands, outputs))
            }
        }
    }
}

impl LoopKernel for TiledLoops {
    fn run(&self, memory: &mut Memory<'_>) {
        match self {
            TiledLoops::Together(loops) => loops.run(memory),
            TiledLoops::Behind(followed) => followed.loops().run(memory),
        }
    }

    fn follow<E>(
        &self,
        memory: &mut Memory<'_>,
        reads: &[Span],
        writes: &[Span],
        call: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            TiledLoops::Together(loops) => {
                memory.access(reads, writes, call)?;
                loops.run(memory);
                Ok(())
            }
            TiledLoops::Behind(followed) => followed.run(memory, call),
        }
    }
}

/// The instructions of a loop, with pairs of arithmetic operations fused where possible.
fn tiled(body: &Loop) -> Tiled {
    let draft = |instruction: &Instruction| {
        let (kernel, arithmetic) = match instruction {
            Instruction::Apply(Apply { op, attrs, dtypes, dtype, .. }) => {
                let lane = op.lowered().lane(attrs, dtypes, *dtype).expect("fusion asked");
                let arithmetic = Arithmetic::of(*op);
                (tiled::Instruction::Lane { lane, inputs: SmallVec::new(), dtype: *dtype }, arithmetic)
            }
            Instruction::Spread(input) => (tiled::Instruction::Spread(*input), None),
            Instruction::Fold(fold, input) => (tiled::Instruction::Fold(*fold, *input), None),
        };
        Draft { instruction: kernel, inputs: instruction.inputs().into(), arithmetic }
    };
    let fill = |Draft { instruction, inputs, .. }: Draft| match instruction {
        tiled::Instruction::Lane { lane, dtype, .. } => tiled::Instruction::Lane { lane, inputs, dtype },
        tiled::Instruction::Spread(_) => tiled::Instruction::Spread(inputs[0]),
        tiled::Instruction::Fold(fold, _) => tiled::Instruction::Fold(fold, inputs[0]),
    };
    let mut outputs = body.outputs.clone();
    let mut written: Vec<&mut usize> = outputs.iter_mut().map(|output| &mut output.value).collect();
    let drafts = paired(body.operands.len(), body.instructions.iter().map(draft).collect(), &mut written);
    let instructions = drafts.into_iter().map(fill).collect();
    Tiled::new(body.rows, body.cols, body.operands.clone(), instructions, outputs)
}
