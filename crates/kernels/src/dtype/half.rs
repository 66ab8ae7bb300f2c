//! The 16-bit floats `f16` and `bf16`. Conversions are branch-free, so that loops vectorise, and round once, to nearest even.

macro_rules! half {
    ($(#[$doc:meta])* $half:ident, $widen:ident, $narrow:ident, $nan:literal) => {
        $(#[$doc])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $half(u16);

        // SAFETY: a transparent `u16`, for which all zeros are a valid value.
        unsafe impl bytemuck::Zeroable for $half {}
        // SAFETY: a transparent `u16`: every bit pattern is valid, and there is no padding and no reference.
        unsafe impl bytemuck::Pod for $half {}

        impl $half {
            /// A quiet NaN.
            pub const NAN: $half = $half($nan);

            /// The number with these bits.
            #[inline(always)]
            pub const fn from_bits(bits: u16) -> $half {
                $half(bits)
            }

            /// Its bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// The nearest value, ties to even.
            #[inline(always)]
            pub fn from_f32(value: f32) -> $half {
                $half($narrow(value))
            }

            /// The nearest value, ties to even.
            #[inline(always)]
            pub fn from_f64(value: f64) -> $half {
                $half($narrow(to_odd(value)))
            }

            /// The same value, exactly.
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                $widen(self.0)
            }

            /// The same value, exactly.
            #[inline(always)]
            pub fn to_f64(self) -> f64 {
                self.to_f32().into()
            }
        }

        impl PartialEq for $half {
            fn eq(&self, other: &$half) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $half {
            fn partial_cmp(&self, other: &$half) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl std::fmt::Debug for $half {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl std::fmt::Display for $half {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    };
}

half! {
    /// A 16-bit float with the range of an `f32`: its upper half, with 8 significant bits.
    ///
    /// ```
    /// use wengert_kernels::bf16;
    /// assert_eq!(bf16::from_f64(1.0 + 1.0 / 128.0).to_f32(), 1.0078125);
    /// assert_eq!(bf16::from_f32(257.0).to_f64(), 256.0);
    /// ```
    bf16, bf16_to_f32, f32_to_bf16, 0x7fc0
}

half! {
    /// The half-precision float of IEEE 754: 11 significant bits, at most 65504.
    ///
    /// ```
    /// use wengert_kernels::f16;
    /// assert_eq!(f16::from_f64(2049.0).to_f64(), 2048.0);
    /// assert_eq!(f16::from_f32(1e6).to_f32(), f32::INFINITY);
    /// ```
    f16, f16_to_f32, f32_to_f16, 0x7e00
}

/// Narrows to `f32` on the way to fewer bits. Excess bits are truncated and the last bit is set (round to odd), so that the second rounding
/// knows on which side of a tie the value lies.
#[inline(always)]
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let beyond = f64::from(near).abs() > value.abs();
    let inexact = f64::from(near) != value && !value.is_nan();
    f32::from_bits((near.to_bits() - u32::from(beyond)) | u32::from(inexact))
}

/// `bf16` is the upper half of an `f32`.
#[inline(always)]
fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// Adds half of the dropped part (ties to even); a NaN keeps its sign and becomes quiet.
#[inline(always)]
fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let quiet = (bits >> 16) | 0x40;
    (if value.is_nan() { quiet } else { rounded }) as u16
}

/// Multiplying by 2^112 rebiases the exponent and normalises subnormals in one exact step.
#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    let sign = ((bits & 0x8000) as u32) << 16;
    let magnitude = (bits & 0x7fff) as u32;
    let shifted = magnitude << 13;
    let finite = (f32::from_bits(shifted) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = shifted | 0x7f80_0000;
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { finite })
}

/// Below 2^-14, adding 0.5 (whose unit in the last place is 2^-24, the f16 subnormal step) rounds exactly once.
#[inline(always)]
fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let normal = magnitude.wrapping_add(0xfff + ((magnitude >> 13) & 1)).wrapping_sub(112 << 23) >> 13;
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let quiet = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let small = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let bounded = if magnitude >= 0x477f_f000 { 0x7c00 } else { small };
    let result = if magnitude > 0x7f80_0000 { quiet } else { bounded };
    (sign | result) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (-1)^s 2^e (m or 1.m), by its definition.
    fn defined(bits: u16, mantissa_bits: i32, bias: i32) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from(bits & 0x7fff) >> mantissa_bits;
        let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1)) / 2f64.powi(mantissa_bits);
        match exponent {
            0 => sign * mantissa * 2f64.powi(1 - bias),
            e if e == 2 * bias + 1 && mantissa == 0.0 => sign * f64::INFINITY,
            e if e == 2 * bias + 1 => f64::NAN,
            e => sign * (1.0 + mantissa) * 2f64.powi(e - bias),
        }
    }

    #[test]
    fn every_pattern_of_bits_is_the_number_that_the_format_defines() {
        for bits in 0..=u16::MAX {
            for (ours, defined) in [
                (bf16::from_bits(bits).to_f64(), defined(bits, 7, 127)),
                (f16::from_bits(bits).to_f64(), defined(bits, 10, 15)),
            ] {
                let same = ours == defined && ours.is_sign_negative() == defined.is_sign_negative();
                assert!(same || (ours.is_nan() && defined.is_nan()), "{bits:#x}: {ours} against {defined}");
            }
        }
    }

    /// The nearest of all positive numbers of a format. Beyond the largest, the next power of two represents infinity.
    fn nearest(value: f64, mantissa_bits: i32, bias: i32) -> u16 {
        let infinity = ((2 * bias + 1) << mantissa_bits) as u16;
        let number =
            |bits: u16| if bits == infinity { 2f64.powi(bias + 1) } else { defined(bits, mantissa_bits, bias) };
        let (mut below, mut above) = (0, infinity);
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if number(middle) <= value { below = middle } else { above = middle }
        }
        let (down, up) = (value - number(below), number(above) - value);
        if down < up || (down == up && below % 2 == 0) { below } else { above }
    }

    #[test]
    fn rounding_is_to_the_nearest_number_and_to_even_at_ties() {
        for upper in 0..0x7f80u32 {
            for lower in [0u32, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let value = f32::from_bits(upper << 16 | lower);
                // Right next to an `f32`, where rounding to it first would break ties the wrong way.
                for wide in [f64::from(value), f64::from(value).next_up(), f64::from(value).next_down().max(0.0)] {
                    assert_eq!(bf16::from_f64(wide).to_bits(), nearest(wide, 7, 127), "{wide:e}");
                    assert_eq!(f16::from_f64(wide).to_bits(), nearest(wide, 10, 15), "{wide:e}");
                    assert_eq!(f16::from_f64(-wide).to_bits(), 0x8000 | nearest(wide, 10, 15), "-{wide:e}");
                }
                assert_eq!(bf16::from_f32(value).to_bits(), nearest(value.into(), 7, 127), "{value:e}");
                assert_eq!(f16::from_f32(value).to_bits(), nearest(value.into(), 10, 15), "{value:e}");
                assert_eq!(bf16::from_f32(-value).to_bits(), 0x8000 | nearest(value.into(), 7, 127), "-{value:e}");
            }
        }
        for special in [f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE] {
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            let rounded = if special == f64::MAX {
                f64::INFINITY
            } else if special < 1.0 {
                0.0
            } else {
                special
            };
            assert!(
                same(bf16::from_f64(special).to_f64(), rounded) && same(f16::from_f64(-special).to_f64(), -rounded)
            );
        }
    }
}
