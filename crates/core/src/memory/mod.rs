//! Statistics of the memory pool, and ways to hold fewer saved values: regions whose values are recomputed, budgets for eager code, files,
//! calls whose inputs are computed from their outputs, and schedules for the states of loops.

mod budget;
mod compression;
mod device;
mod ledger;
mod offload;
mod region;
mod reversal;
mod schedule;
mod slot;
mod verify;

pub use budget::{smallest_budget, with_memory_budget};
pub use device::{reset_peak_of, statistics_of};
pub use ledger::{Reason, SavedValue, record_saved, saved_bytes};
pub use offload::{Threshold, offload};
#[doc(hidden)]
pub use region::{Inputs, Keeps, Region};
#[doc(hidden)]
pub use reversal::{Invertible, LeafMap, reversed};
pub use schedule::Schedule;
#[doc(hidden)]
pub use schedule::{Snapshots, part};
#[doc(hidden)]
pub use verify::Remembered;
pub use verify::Verify;
pub use wengert_kernels::pool::{PoolStatistics, reset_peak, statistics};
