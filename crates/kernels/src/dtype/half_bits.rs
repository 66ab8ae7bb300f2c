//! Sixteen-bit floats from and to `f32`, without branches so that loops vectorise. Rounding is to nearest even.

/// `bf16` is the upper half of an `f32`.
#[inline(always)]
pub(super) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// Adds half of the dropped part (ties to even); a NaN keeps its sign and becomes quiet.
#[inline(always)]
pub(super) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let quiet = (bits >> 16) | 0x40;
    (if value.is_nan() { quiet } else { rounded }) as u16
}

/// Multiplying by 2^112 rebiases the exponent and normalises subnormals in one exact step.
#[inline(always)]
pub(super) fn f16_to_f32(bits: u16) -> f32 {
    let sign = ((bits & 0x8000) as u32) << 16;
    let magnitude = (bits & 0x7fff) as u32;
    let shifted = magnitude << 13;
    let finite = (f32::from_bits(shifted) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = shifted | 0x7f80_0000;
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { finite })
}

/// Below 2^-14, adding 0.5 (whose unit in the last place is 2^-24, the f16 subnormal step) rounds exactly once.
#[inline(always)]
pub(super) fn f32_to_f16(value: f32) -> u16 {
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
    use half::{bf16, f16};

    #[test]
    fn every_sixteen_bit_value_widens_like_the_half_crate() {
        for bits in 0..=u16::MAX {
            for (ours, theirs) in [
                (bf16_to_f32(bits), bf16::from_bits(bits).to_f32_const()),
                (f16_to_f32(bits), f16::from_bits(bits).to_f32_const()),
            ] {
                assert!(
                    ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
                    "{bits:#x}: {ours} against {theirs}"
                );
            }
        }
    }

    #[test]
    fn narrowing_rounds_like_the_half_crate() {
        // Every f16 neighbourhood: each upper half of an f32 with the low bits around the rounding points.
        for upper in 0..=u16::MAX {
            for lower in [0u32, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let value = f32::from_bits((upper as u32) << 16 | lower);
                if value.is_nan() {
                    assert!(bf16::from_bits(f32_to_bf16(value)).is_nan());
                    assert!(f16::from_bits(f32_to_f16(value)).is_nan());
                } else {
                    assert_eq!(f32_to_bf16(value), bf16::from_f32_const(value).to_bits(), "{value:e}");
                    assert_eq!(f32_to_f16(value), f16::from_f32_const(value).to_bits(), "{value:e}");
                }
            }
        }
    }
}
