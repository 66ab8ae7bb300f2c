//! What the memory pool holds, and regions whose saved values are computed again instead of kept.

mod region;

#[doc(hidden)]
pub use region::Region;
pub use wengert_kernels::pool::{PoolStatistics, reset_peak, statistics};
