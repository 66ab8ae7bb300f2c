//! `e^x = 2^k * e^r` with `k = round(x / ln 2)` and `|r| <= ln 2 / 2`, without branches, so that loops vectorise.
//!
//! `r = x - k * ln 2` with `ln 2` in two parts, the first of which has few enough bits for an exact product. The factor `2^k` is applied in
//! two halves: the first never overflows, the second rounds once into the subnormal range. Exact at 0; NaN stays NaN; too small is exactly
//! 0 and too large exactly infinite.

macro_rules! exponential {
    ($name:ident, $float:ident, $bits:ty, $signed:ty, mantissa: $mantissa:expr, bias: $bias:expr,
     range: $lowest:expr, $highest:expr, ln2: $high:expr, $low:expr, terms: [$first:expr, $($term:expr),*]) => {
        /// `e^x`.
        #[inline(always)]
        pub(super) fn $name(x: $float) -> $float {
            /// Adding it rounds to an integer, which is then in the low bits.
            const ROUND: $float = 1.5 * (1u64 << $mantissa) as $float;
            // Results that underflow are replaced, not computed by products: a product with a subnormal result takes 150 cycles.
            let tiny = x < $lowest;
            let bounded = if tiny { 0.0 } else { x };
            let bounded = if bounded > $highest { $highest } else { bounded };
            let rounded = bounded * std::$float::consts::LOG2_E + ROUND;
            let k = (rounded.to_bits() as $signed).wrapping_sub(ROUND.to_bits() as $signed);
            let whole = rounded - ROUND;
            let r = (bounded - whole * $high) - whole * $low;
            let sum: $float = $first;
            $(let sum = sum * r + $term;)*
            let value = sum * (r * r) + r + 1.0;
            let half = k >> 1;
            let scale = |k: $signed| $float::from_bits((k.wrapping_add($bias) as $bits) << $mantissa);
            let result = value * scale(half) * scale(k.wrapping_sub(half));
            if tiny { 0.0 } else { result }
        }
    };
}

exponential!(exp_f32, f32, u32, i32, mantissa: 23, bias: 127, range: -104.0, 89.0,
    ln2: 355.0 / 512.0, -2.121_944_4e-4,
    terms: [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5]);

exponential!(exp_f64, f64, u64, i64, mantissa: 52, bias: 1023, range: -746.0, 710.0,
    ln2: 0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10,
    terms: [
        1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0,
        1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5]);

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance in units in the last place of the exact value, measured against `f64` (or against `std` for `f64`).
    #[test]
    fn exponentials_are_within_three_units_everywhere_and_exact_at_zero() {
        let mut worst = (0.0f64, 0.0f64);
        for i in 0..2_000_000 {
            let x = -104.5 + i as f64 * (193.5 / 2e6);
            let exact = (x as f32 as f64).exp();
            let ours = exp_f32(x as f32);
            let unit = (exact as f32).abs().max(f32::MIN_POSITIVE);
            let unit = (f32::from_bits(unit.to_bits() + 1) - unit) as f64;
            if exact < f32::MAX as f64 {
                worst.0 = worst.0.max((ours as f64 - exact).abs() / unit);
            }
            let x = -746.0 + i as f64 * (1455.0 / 2e6);
            let (exact, ours) = (x.exp(), exp_f64(x));
            let unit = exact.max(f64::MIN_POSITIVE);
            let unit = f64::from_bits(unit.to_bits() + 1) - unit;
            worst.1 = worst.1.max((ours - exact).abs() / unit);
        }
        assert!(worst.0 < 2.0 && worst.1 < 3.0, "{worst:?}");
        assert_eq!((exp_f32(0.0), exp_f32(-0.0), exp_f64(0.0)), (1.0, 1.0, 1.0));
    }

    #[test]
    fn the_ends_are_zero_infinity_and_nan() {
        for (x, y) in [(f32::NEG_INFINITY, 0.0), (-104.0, 0.0), (f32::MIN, 0.0), (89.0, f32::INFINITY)] {
            assert_eq!(exp_f32(x), y);
        }
        assert_eq!(exp_f32(f32::INFINITY), f32::INFINITY);
        assert!(exp_f32(-103.0) > 0.0 && exp_f32(f32::NAN).is_nan());
        for (x, y) in [(f64::NEG_INFINITY, 0.0), (-745.2, 0.0), (f64::MIN, 0.0), (709.79, f64::INFINITY)] {
            assert_eq!(exp_f64(x), y);
        }
        assert_eq!(exp_f64(f64::INFINITY), f64::INFINITY);
        assert!(exp_f64(-745.1) > 0.0 && exp_f64(f64::NAN).is_nan());
    }
}
