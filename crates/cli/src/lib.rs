//! x
pub mod digits;
pub mod network;
pub mod training;
