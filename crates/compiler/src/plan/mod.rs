//! Plans: a program fused, laid out in memory, and run without allocation.
//!
//! Planning ends in data ([`Plan`], [`Loop`]): which bytes every kernel reads and writes, and the instructions of every fused loop. What
//! it has to know of a machine is a [`Target`]. A [`Backend`] makes a [`Runner`] of the data. That of this processor ([`Cpu`], `tiled`)
//! makes closures of loops and runs them on [`Host`] memory, beside the kernels of primitives.

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
mod views;

use crate::location::Line;
use crate::{Error, Tensor};
#[doc(hidden)]
pub use budget::within;
pub use data::{FlowPlan, Led, Placed, Plan, Read};
pub use loops::{Apply, Instruction, Loop, PlacedLoop};
pub use run::{Host, Input, LoopKernel};
use std::time::Duration;
pub use summary::PlanSummary;
pub use target::Target;
#[doc(hidden)]
pub use tiled::runner;
pub use tiled::{Cpu, TiledLoops};

/// A machine that runs plans.
pub trait Backend: Send + Sync {
    /// What planning has to know of it.
    fn target(&self) -> Target;

    /// The plan, ready to run.
    fn runner(&self, plan: Plan) -> Box<dyn Runner>;
}

/// A plan that is ready to run on numbers, shared between threads.
pub trait Runner: Send + Sync {
    /// Runs the program. Inputs are contiguous and have the program's specs, as have outputs, which are unique; outputs that
    /// update an input are not among them.
    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        line: Line,
    ) -> Result<(), Error>;

    /// Lets calls take the time of every step, until the times are taken.
    fn watch(&self) {}

    /// The times of all steps since calls were watched.
    fn take_times(&self) -> Vec<Duration> {
        Vec::new()
    }
}
