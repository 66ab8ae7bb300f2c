//! Element types: eight storage types and three compute types.
//!
//! `f64` computes in `f64`; `f32`, `bf16`, `f16` in `f32`; integers and booleans in `i64`. Loading into the compute
//! type is exact, so every conversion goes `source -> source.compute() -> target` with one rounding at most.

mod compute;
mod half;

pub use compute::{Compute, convert_bits};
pub use half::{bf16, f16};

use std::fmt;

/// The type of the elements of a buffer.
///
/// ```
/// use wengert_kernels::DType;
/// assert_eq!(DType::BF16.size(), 2);
/// assert_eq!(DType::from_name("bf16"), Some(DType::BF16));
/// assert_eq!(DType::BF16.to_string(), "bf16");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u32)]
pub enum DType {
    /// IEEE double precision.
    F64,
    /// IEEE single precision.
    F32,
    /// The upper half of an `f32`.
    BF16,
    /// IEEE half precision.
    F16,
    /// 64-bit signed integer.
    I64,
    /// 32-bit signed integer.
    I32,
    /// 8-bit unsigned integer.
    U8,
    /// Boolean, one byte that is 0 or 1.
    Bool,
}

impl DType {
    /// Every dtype, in declaration order.
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert_eq!(DType::ALL.iter().filter(|dtype| dtype.is_float()).count(), 4);
    /// ```
    pub const ALL: [DType; 8] =
        [DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32, DType::U8, DType::Bool];

    /// Bytes of one element.
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert_eq!((DType::F64.size(), DType::Bool.size()), (8, 1));
    /// ```
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 => 4,
            DType::BF16 | DType::F16 => 2,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// True for the four floating-point types.
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert!(DType::F16.is_float() && !DType::I32.is_float());
    /// ```
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F64 | DType::F32 | DType::BF16 | DType::F16)
    }

    /// True for `i64`, `i32` and `u8`; a boolean is not an integer.
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert!(DType::U8.is_integer() && !DType::Bool.is_integer());
    /// ```
    #[inline]
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::I64 | DType::I32 | DType::U8)
    }

    /// The name in lower case, as Rust spells the type.
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert_eq!(DType::I64.name(), "i64");
    /// ```
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::I64 => "i64",
            DType::I32 => "i32",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// The type that loops compute in: `F64`, `F32` or `I64`.
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert_eq!(DType::F16.compute(), DType::F32);
    /// assert_eq!(DType::Bool.compute(), DType::I64);
    /// ```
    #[inline]
    pub const fn compute(self) -> DType {
        match self {
            DType::F64 => DType::F64,
            DType::F32 | DType::BF16 | DType::F16 => DType::F32,
            DType::I64 | DType::I32 | DType::U8 | DType::Bool => DType::I64,
        }
    }

    /// The dtype with this [`name`](DType::name).
    ///
    /// ```
    /// # use wengert_kernels::DType;
    /// assert_eq!(DType::from_name("f32"), Some(DType::F32));
    /// assert_eq!(DType::from_name("float"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A Rust type that memory can hold. Booleans are stored as `u8`.
///
/// ```
/// use wengert_kernels::{DType, Element};
/// fn name_of<T: Element>() -> &'static str { T::DTYPE.name() }
/// assert_eq!(name_of::<i32>(), "i32");
/// ```
pub trait Element: bytemuck::Pod + Send + Sync + PartialEq + fmt::Debug {
    /// The dtype of this Rust type.
    const DTYPE: DType;
}

macro_rules! element {
    ($($rust:ty => $dtype:ident),*) => { $(impl Element for $rust { const DTYPE: DType = DType::$dtype; })* };
}
element!(f64 => F64, f32 => F32, bf16 => BF16, f16 => F16, i64 => I64, i32 => I32, u8 => U8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
    }

    #[test]
    fn compute_types_are_fixed_points() {
        for dtype in DType::ALL {
            assert_eq!(dtype.compute().compute(), dtype.compute());
        }
    }
}
