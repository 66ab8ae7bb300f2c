//! The three types that loops compute in, and their conversions to and from memory of any dtype.
//!
//! Storing to a boolean writes `value != 0` (so NaN is true); a float to an integer truncates toward zero and
//! saturates (NaN gives 0); an `i64` to a narrower integer wraps; everything else rounds to nearest even.

use super::{DType, Element, bf16, f16};
use crate::map::loop1;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A type that loops compute in: `f64`, `f32` or `i64`.
///
/// ```
/// use wengert_kernels::{Compute, DType};
/// let mut bytes = [0u8; 8];
/// f32::store(&[1.5, -2.0, 0.25, 8.0], DType::BF16, &mut bytes);
/// let mut values = [0i64; 4];
/// i64::load(DType::BF16, &bytes, &mut values);
/// assert_eq!(values, [1, -2, 0, 8]);
/// ```
pub trait Compute:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// The nearest value; an integer truncates toward zero and saturates.
    fn from_f64(value: f64) -> Self;

    /// This value as an `f64`, rounded when it is a large integer.
    fn to_f64(self) -> f64;

    /// The sum; integers wrap around instead of overflowing.
    fn wrapping_plus(self, other: Self) -> Self;

    /// Converts the contiguous run `bytes` of `dtype` into `out`. Panics unless both have the same element count.
    fn load(dtype: DType, bytes: &[u8], out: &mut [Self]);

    /// Converts the elements at `offset`, `offset + stride`, .. of `bytes` (counted in elements) into `out`.
    fn load_strided(dtype: DType, bytes: &[u8], offset: isize, stride: isize, out: &mut [Self]);

    /// Converts `values` into the contiguous run `bytes` of `dtype`. Panics unless both have the same element count.
    fn store(values: &[Self], dtype: DType, bytes: &mut [u8]);
}

/// One value converted from one Rust type to another, by the rules at the head of this file.
trait Cast<T> {
    fn cast(self) -> T;
}

macro_rules! cast_primitive {
    ($($from:ty => $($to:ty),*;)*) => { $($(impl Cast<$to> for $from {
        #[inline(always)]
        fn cast(self) -> $to { self as $to }
    })*)* };
}
cast_primitive! {
    f64 => f64, f32, i64, i32, u8;
    f32 => f64, f32, i64, i32, u8;
    i64 => f64, f32, i64, i32, u8;
    i32 => f64, f32, i64;
    u8 => f64, f32, i64;
}

macro_rules! cast_half {
    ($($half:ty),*) => { $(
        impl<T> Cast<T> for $half
        where
            f32: Cast<T>,
        {
            #[inline(always)]
            fn cast(self) -> T {
                self.to_f32().cast()
            }
        }
        impl Cast<$half> for f32 {
            #[inline(always)]
            fn cast(self) -> $half {
                <$half>::from_f32(self)
            }
        }
        impl Cast<$half> for f64 {
            #[inline(always)]
            fn cast(self) -> $half {
                <$half>::from_f64(self)
            }
        }
        impl Cast<$half> for i64 {
            #[inline(always)]
            fn cast(self) -> $half {
                <$half>::from_f32(self as f32)
            }
        }
    )* };
}
cast_half!(bf16, f16);

/// `WIDTH` is the size of `E`: elements are read as byte arrays, so `bytes` needs no alignment.
fn load_run<const WIDTH: usize, E: Element + Cast<T>, T: Compute>(bytes: &[u8], out: &mut [T]) {
    let (elements, rest) = bytes.as_chunks::<WIDTH>();
    assert!(rest.is_empty(), "load: {} bytes are not a multiple of the element size", bytes.len());
    loop1(elements, out, |element| bytemuck::cast::<[u8; WIDTH], E>(element).cast());
}

fn load_steps<const WIDTH: usize, E: Element + Cast<T>, T: Compute>(
    bytes: &[u8],
    offset: isize,
    stride: isize,
    out: &mut [T],
) {
    let (elements, _) = bytes.as_chunks::<WIDTH>();
    let mut position = offset;
    for value in out {
        *value = bytemuck::cast::<[u8; WIDTH], E>(elements[position as usize]).cast();
        position += stride;
    }
}

fn store_run<const WIDTH: usize, E: Element, T: Compute + Cast<E>>(values: &[T], bytes: &mut [u8]) {
    let (elements, rest) = bytes.as_chunks_mut::<WIDTH>();
    assert!(rest.is_empty(), "store: {} bytes are not a multiple of the element size", values.len());
    loop1(values, elements, |value| bytemuck::cast::<E, [u8; WIDTH]>(value.cast()));
}

macro_rules! compute {
    ($rust:ty, zero: $zero:expr, one: $one:expr, plus: $plus:expr) => {
        impl Compute for $rust {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $rust
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn wrapping_plus(self, other: Self) -> Self {
                let plus: fn(Self, Self) -> Self = $plus;
                plus(self, other)
            }

            fn load(dtype: DType, bytes: &[u8], out: &mut [Self]) {
                if dtype == Self::DTYPE {
                    return bytemuck::cast_slice_mut::<Self, u8>(out).copy_from_slice(bytes);
                }
                match dtype {
                    DType::F64 => load_run::<8, f64, Self>(bytes, out),
                    DType::F32 => load_run::<4, f32, Self>(bytes, out),
                    DType::BF16 => load_run::<2, bf16, Self>(bytes, out),
                    DType::F16 => load_run::<2, f16, Self>(bytes, out),
                    DType::I64 => load_run::<8, i64, Self>(bytes, out),
                    DType::I32 => load_run::<4, i32, Self>(bytes, out),
                    DType::U8 | DType::Bool => load_run::<1, u8, Self>(bytes, out),
                }
            }

            fn load_strided(dtype: DType, bytes: &[u8], offset: isize, stride: isize, out: &mut [Self]) {
                match dtype {
                    DType::F64 => load_steps::<8, f64, Self>(bytes, offset, stride, out),
                    DType::F32 => load_steps::<4, f32, Self>(bytes, offset, stride, out),
                    DType::BF16 => load_steps::<2, bf16, Self>(bytes, offset, stride, out),
                    DType::F16 => load_steps::<2, f16, Self>(bytes, offset, stride, out),
                    DType::I64 => load_steps::<8, i64, Self>(bytes, offset, stride, out),
                    DType::I32 => load_steps::<4, i32, Self>(bytes, offset, stride, out),
                    DType::U8 | DType::Bool => load_steps::<1, u8, Self>(bytes, offset, stride, out),
                }
            }

            fn store(values: &[Self], dtype: DType, bytes: &mut [u8]) {
                if dtype == Self::DTYPE {
                    return bytes.copy_from_slice(bytemuck::cast_slice::<Self, u8>(values));
                }
                match dtype {
                    DType::F64 => store_run::<8, f64, Self>(values, bytes),
                    DType::F32 => store_run::<4, f32, Self>(values, bytes),
                    DType::BF16 => store_run::<2, bf16, Self>(values, bytes),
                    DType::F16 => store_run::<2, f16, Self>(values, bytes),
                    DType::I64 => store_run::<8, i64, Self>(values, bytes),
                    DType::I32 => store_run::<4, i32, Self>(values, bytes),
                    DType::U8 => store_run::<1, u8, Self>(values, bytes),
                    DType::Bool => loop1(values, bytes, |value| (value != Self::ZERO) as u8),
                }
            }
        }
    };
}
compute!(f64, zero: 0.0, one: 1.0, plus: |a, b| a + b);
compute!(f32, zero: 0.0, one: 1.0, plus: |a, b| a + b);
compute!(i64, zero: 0, one: 1, plus: i64::wrapping_add);

/// Converts one value held in the low bytes of `bits`, little endian; the other bytes of the result are zero.
///
/// ```
/// use wengert_kernels::{DType, convert_bits};
/// assert_eq!(convert_bits(2.75f64.to_bits(), DType::F64, DType::I64), 2);
/// assert_eq!(convert_bits(i64::MAX as u64, DType::I64, DType::I64), i64::MAX as u64);
/// ```
pub fn convert_bits(bits: u64, from: DType, to: DType) -> u64 {
    fn through<T: Compute>(source: &[u8], from: DType, to: DType, target: &mut [u8]) {
        let mut value = [T::ZERO];
        T::load(from, source, &mut value);
        T::store(&value, to, target);
    }
    let source = bits.to_le_bytes();
    let source = &source[..from.size()];
    let mut target = [0; 8];
    let slot = &mut target[..to.size()];
    if from == to {
        slot.copy_from_slice(source);
    } else {
        match from.compute() {
            DType::F64 => through::<f64>(source, from, to, slot),
            DType::F32 => through::<f32>(source, from, to, slot),
            _ => through::<i64>(source, from, to, slot),
        }
    }
    u64::from_le_bytes(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_of(value: f64, dtype: DType) -> u64 {
        convert_bits(value.to_bits(), DType::F64, dtype)
    }

    #[test]
    fn large_integers_do_not_pass_through_floats() {
        let value = (1i64 << 62) + 1;
        assert_eq!(convert_bits(value as u64, DType::I64, DType::I64), value as u64);
        assert_eq!(convert_bits((1 << 40) + 7, DType::I64, DType::I32), 7);
        assert_eq!(convert_bits(-1i32 as u32 as u64, DType::I32, DType::I64), -1i64 as u64);
    }

    #[test]
    fn floats_saturate_to_integers() {
        assert_eq!(bits_of(1e30, DType::I64), i64::MAX as u64);
        assert_eq!(bits_of(-1e30, DType::I32), i32::MIN as u32 as u64);
        assert_eq!(bits_of(300.7, DType::U8), 255);
        assert_eq!(bits_of(-3.0, DType::U8), 0);
        assert_eq!(bits_of(f64::NAN, DType::I64), 0);
        assert_eq!(bits_of(-2.9, DType::I32), -2i32 as u32 as u64);
    }

    #[test]
    fn booleans_are_nonzero_tests() {
        assert_eq!(bits_of(0.5, DType::Bool), 1);
        assert_eq!(bits_of(-0.0, DType::Bool), 0);
        assert_eq!(bits_of(f64::NAN, DType::Bool), 1);
        assert_eq!(convert_bits(256, DType::I64, DType::Bool), 1);
        assert_eq!(convert_bits(7, DType::U8, DType::Bool), 1);
    }

    #[test]
    fn small_integers_survive_every_pair_of_dtypes() {
        for from in DType::ALL {
            for to in DType::ALL {
                for value in [0.0, 1.0] {
                    assert_eq!(convert_bits(bits_of(value, from), from, to), bits_of(value, to), "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn strided_and_contiguous_loads_agree() {
        let values: Vec<f64> = (0..64).map(|i| i as f64 - 20.5).collect();
        for dtype in DType::ALL {
            let mut bytes = vec![0; 64 * dtype.size()];
            f64::store(&values, dtype, &mut bytes);
            let mut all = [0f32; 64];
            f32::load(dtype, &bytes, &mut all);
            let mut backward = [0f32; 21];
            f32::load_strided(dtype, &bytes, 62, -3, &mut backward);
            for (i, value) in backward.iter().enumerate() {
                assert_eq!(*value, all[62 - 3 * i]);
            }
        }
    }

    #[test]
    fn unaligned_bytes_load_and_store() {
        let mut bytes = [0u8; 33];
        f64::store(&[1.0, 2.0, 3.0, 4.0], DType::F64, &mut bytes[1..]);
        let mut values = [0i64; 4];
        i64::load(DType::F64, &bytes[1..], &mut values);
        assert_eq!(values, [1, 2, 3, 4]);
    }
}
