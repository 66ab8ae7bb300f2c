//! Statistics of the memory pool, and regions whose saved values are recomputed instead of kept.

mod region;

#[doc(hidden)]
pub use region::Region;
pub use wengert_kernels::pool::{PoolStatistics, reset_peak, statistics};
