//! Plans: programs that are fused, laid out in memory, and run without allocation.
//!
//! The result of planning is data ([`Plan`], [`Loop`]): which bytes every kernel reads and writes, and the instructions of every fused
//! loop. The properties of the machine that planning depends on are a [`Target`]. A [`Backend`] turns the data into a [`Runner`]. The CPU
//! backend ([`Cpu`], `tiled`) turns loops into closures and runs them on [`Host`] memory, beside the kernels of primitives.

mod alternating;
mod budget;
mod buffers;
mod data;
mod flow;
mod fuse;
mod graph;
mod joined;
mod kernels;
mod loops;
mod lower;
mod placement;
mod planner;
mod prepare;
mod run;
mod segments;
mod steps;
mod summary;
mod target;
mod tiled;
mod tradeoff;
mod views;

use crate::location::Line;
use crate::primitive::{Device, Spec};
use crate::program::Program;
use crate::tensor::device::machine;
use crate::{Error, ErrorKind, Tensor};
#[doc(hidden)]
pub use budget::{towards, within};
pub use data::{FlowPlan, Kind, Led, Nested, Placed, Plan, Read, Scan};
pub use loops::{Apply, Instruction, Loop, PlacedLoop};
pub use prepare::{Options, falls_back, operation_runner, prepare};
pub use run::{Host, Input, LoopKernel};
use std::sync::Arc;
use std::time::Duration;
pub use summary::{PlanSegment, PlanSummary, WorkspacePiece};
pub use target::Target;
#[doc(hidden)]
pub use tiled::runner;
pub use tiled::{Cpu, TiledLoops};
pub use tradeoff::Tradeoff;

/// A machine that runs plans.
pub trait Backend: Send + Sync {
    /// The machine properties that planning depends on.
    fn target(&self) -> Target;

    /// Where it runs.
    fn device(&self) -> Device {
        Device::Cpu
    }

    /// Whether it runs a program of one equation, in every larger program too. What it does not run may run on the CPU
    /// ([`with_host_fallback`](crate::Compiled::with_host_fallback)).
    fn runs(&self, _equation: &Program) -> bool {
        true
    }

    /// Prepares a plan to run, or says what this machine cannot do.
    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error>;
}

/// Where compiled functions run: a [`Device`], or a backend.
pub trait Place {
    /// The backend, or why there is none.
    fn backend(self) -> Result<Arc<dyn Backend>, Error>;
}

impl<B: Backend + 'static> Place for Arc<B> {
    fn backend(self) -> Result<Arc<dyn Backend>, Error> {
        Ok(self)
    }
}

impl Place for Arc<dyn Backend> {
    fn backend(self) -> Result<Arc<dyn Backend>, Error> {
        Ok(self)
    }
}

impl Place for Device {
    fn backend(self) -> Result<Arc<dyn Backend>, Error> {
        match self {
            Device::Cpu => Ok(Arc::new(Cpu)),
            device => {
                let known = machine(device)?.backend().downcast::<Arc<dyn Backend>>();
                Ok(*known.expect("machines of the table run plans"))
            }
        }
    }
}

/// What a plan uses on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceUsage {
    /// The kernels, products and copies that are launched in a call.
    pub launches: usize,
    /// The time of compiling kernels or of loading them from disk.
    pub compile_time: Duration,
    /// The bytes of its workspace, with everything that kernels keep there.
    pub arena_bytes: usize,
}

/// A plan that is ready to run on concrete values; it can be shared between threads.
pub trait Runner: Send + Sync {
    /// Makes an input fit to be read by a call, or to be overwritten; by default, in host memory.
    fn admit(&self, input: &mut Tensor, is_updated: bool) -> Result<(), Error> {
        if input.device() != Device::Cpu {
            let message = format!("an input is on {}, and the program runs on cpu", input.device());
            let help = format!(
                "compile(..).on(Device::{:?}) runs it there; to(Device::Cpu) copies the numbers",
                input.device()
            );
            return Err(Error::new(ErrorKind::Device, "compile", message).help(help));
        }
        if !input.is_contiguous() {
            *input = input.contiguous();
        }
        if is_updated && !input.is_writable() {
            *input = Tensor::build(&input.spec(), |out| wengert_kernels::copy(input.value.view(), out)).0;
        }
        Ok(())
    }

    /// Makes a tensor fit to be overwritten by an output of this spec; replaces it unless it is already.
    fn prepare(&self, output: &mut Tensor, spec: &Spec) -> Result<(), Error> {
        match output.is_writable() && output.value.spec_ref() == spec.as_ref() {
            true => (output.link, output.slot) = (None, None),
            false => *output = Tensor::blank(spec),
        }
        Ok(())
    }

    /// Runs the program on [admitted](Runner::admit) inputs and [prepared](Runner::prepare) outputs. Outputs that update an input are not
    /// passed.
    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        line: Line,
    ) -> Result<(), Error>;

    /// What the plan uses on a device.
    fn usage(&self) -> Option<DeviceUsage> {
        None
    }

    /// Starts timing every step of subsequent calls, until the times are taken.
    fn watch(&self) {}

    /// The times of all steps since timing was started.
    fn take_times(&self) -> Vec<Duration> {
        Vec::new()
    }
}
