//! The text of kernels.

mod elements;
mod loops;
mod team;
mod translate;

pub use loops::{Form, Printed, Sums, entry, narrows, rows_added};
pub use team::{Factor, Team};
pub use translate::{Body, number, translate};

use std::fmt::Write;
use std::sync::LazyLock;
use wengert_core::DType;
use wengert_kernels::functions::vocabulary::{SINC_NEAR, SINC_SERIES};
use wengert_kernels::math::tables::{BERNOULLI, ERFCX, ERFCX_TAIL, SHRINK_ABOVE, SHRINK_BELOW};

/// What every kernel may use.
pub const PRELUDE: &str = include_str!("prelude.cuh");

/// The operations of elementwise expressions.
pub const WORDS: &str = include_str!("words.cuh");

/// The operations that are special functions, with their tables.
pub static SPECIAL: LazyLock<String> = LazyLock::new(|| {
    let tables: [(&str, &[f64]); 7] = [
        ("ERFCX", &[ERFCX]),
        ("ERFCX_TAIL", &ERFCX_TAIL),
        ("BERNOULLI", &BERNOULLI),
        ("SHRINK_ABOVE", &SHRINK_ABOVE),
        ("SHRINK_BELOW", &SHRINK_BELOW),
        ("SINC_NEAR", &[SINC_NEAR]),
        ("SINC_SERIES", &SINC_SERIES),
    ];
    let mut text = String::new();
    for (name, table) in tables {
        let numbers: Vec<String> = table.iter().map(|value| number(*value)).collect();
        writeln!(text, "#define {name} {}", numbers.join(", ")).unwrap();
    }
    text + include_str!("special.cuh")
});

/// A text behind the operations that it uses.
pub fn with_words(text: &str) -> String {
    // Special functions take the compiler much longer than all others.
    let names = SPECIAL.lines().filter_map(|line| line.strip_prefix("WORD w_")?.split('(').next());
    let mut names = names.map(|name| format!("w_{name}<"));
    let special = if names.any(|name| text.contains(&name)) { SPECIAL.as_str() } else { "" };
    format!("{WORDS}{special}{text}")
}

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
