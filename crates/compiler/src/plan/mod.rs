//! Plans: programs that are fused, laid out in memory, and run without allocation.
//!
//! The result of planning is data ([`Plan`], [`Loop`]): which bytes every kernel reads and writes, and the instructions of every fused
//! loop. The properties of the machine that planning depends on are a [`Target`]. A [`Backend`] turns the data into a [`Runner`]. The CPU
//! backend ([`Cpu`], `tiled`) turns loops into closures and runs them on [`Host`] memory, beside the kernels of primitives.

mod budget;
mod buffers;
mod data;
mod flow;
mod fuse;
mod graph;
mod loops;
mod lower;
mod placement;
mod planner;
mod run;
mod steps;
mod summary;
mod target;
mod tiled;
mod tradeoff;
mod views;

use crate::location::Line;
use crate::{Error, Tensor};
#[doc(hidden)]
pub use budget::{towards, within};
pub use data::{FlowPlan, Led, Placed, Plan, Read};
pub use loops::{Apply, Instruction, Loop, PlacedLoop};
pub use run::{Host, Input, LoopKernel};
use std::time::Duration;
pub use summary::{PlanSummary, WorkspacePiece};
pub use target::Target;
#[doc(hidden)]
pub use tiled::runner;
pub use tiled::{Cpu, TiledLoops};
pub use tradeoff::Tradeoff;

/// A machine that runs plans.
pub trait Backend: Send + Sync {
    /// The machine properties that planning depends on.
    fn target(&self) -> Target;

    /// Prepares a plan to run.
    fn runner(&self, plan: Plan) -> Box<dyn Runner>;
}

/// A plan that is ready to run on concrete values; it can be shared between threads.
pub trait Runner: Send + Sync {
    /// Runs the program. Inputs and outputs are contiguous and have the program's specs; outputs are not shared. Outputs that update an
    /// input are not passed.
    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        line: Line,
    ) -> Result<(), Error>;

    /// Starts timing every step of subsequent calls, until the times are taken.
    fn watch(&self) {}

    /// The times of all steps since timing was started.
    fn take_times(&self) -> Vec<Duration> {
        Vec::new()
    }
}
