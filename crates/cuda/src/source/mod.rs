//! The text of kernels.

mod elements;
mod loops;
mod team;
mod translate;

pub use loops::{Form, Printed, Sums, entry};
pub use team::{Factor, Team};
pub use translate::{Body, number, translate};

use wengert_core::DType;

/// What every kernel may use.
pub const PRELUDE: &str = include_str!("prelude.cuh");

/// The operations of elementwise expressions.
pub const WORDS: &str = include_str!("words.cuh");

/// The type of an element in memory.
pub fn stored(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::BF16 => "bf16",
        DType::F16 => "f16",
        DType::I64 => "i64",
        DType::I32 => "int",
        DType::Bool | DType::U8 => "u8",
    }
}

/// The type in which an element is computed with.
pub fn held(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 | DType::F16 => "float",
        other => stored(other),
    }
}

/// The type in which elements are summed.
pub fn summed(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "double",
        dtype if dtype.is_float() => "float",
        _ => "i64",
    }
}

/// The bytes of a sum.
pub fn sum_bytes(dtype: DType) -> usize {
    if summed(dtype) == "float" { 4 } else { 8 }
}
