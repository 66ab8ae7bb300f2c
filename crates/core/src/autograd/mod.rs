//! The imperative interface: leaves, `backward`, hooks, modes and tape listings.

mod backward;
mod leaf;
#[doc(hidden)]
pub mod modes;
#[doc(hidden)]
pub mod packing;
mod tape;
#[doc(hidden)]
pub mod times;

#[doc(hidden)]
pub use crate::types::{GradientSlot, Hook, Seen};
pub use backward::{Backward, grad, grad_with};
pub use leaf::HookHandle;
#[doc(hidden)]
pub use leaf::Since;
pub use modes::{
    GradientStop, Guarded, default_dtype, detect_anomaly, enable_grad, no_grad, record_stops, record_values,
};
pub use packing::save_packed;
pub use tape::{Tape, TapeRow};
pub use times::{Timing, record_times};
