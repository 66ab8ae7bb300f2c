//! Statistics of the memory of devices.

use crate::Error;
use crate::error::at_caller;
use crate::primitive::Device;
use crate::tensor::device::machine;
use wengert_kernels::pool::{self, PoolStatistics};

/// The memory of a device that this process holds: tensors, workspaces and constants of plans, and blocks that are free. What the driver
/// and the libraries of a GPU hold is not counted. That of the CPU is [`statistics`](pool::statistics).
///
/// ```
/// use wengert::prelude::*;
/// use wengert::memory;
/// let x = Tensor::randn([1 << 20], 0);
/// assert!(memory::statistics_of(Device::Cpu).unwrap().live_bytes >= 8 * x.elements());
/// // A build without GPUs, or a machine without this one.
/// assert_eq!(memory::statistics_of(Device::Cuda(99)).unwrap_err().kind(), &ErrorKind::Device);
/// ```
#[track_caller]
pub fn statistics_of(device: Device) -> Result<PoolStatistics, Error> {
    match device {
        Device::Cpu => Ok(pool::statistics()),
        device => Ok(at_caller(machine(device))?.statistics()),
    }
}

/// Resets the peak of a device to its live bytes.
///
/// ```
/// use wengert::memory;
/// use wengert::prelude::*;
/// memory::reset_peak_of(Device::Cpu).unwrap();
/// ```
#[track_caller]
pub fn reset_peak_of(device: Device) -> Result<(), Error> {
    match device {
        Device::Cpu => pool::reset_peak(),
        device => at_caller(machine(device))?.reset_peak(),
    }
    Ok(())
}
