//! The two float types, with the steps that differ between them.

use super::coefficients::{double, single};
use super::real::Arithmetic;

macro_rules! arithmetic {
    ($type:ident, $bits:ident, $mantissa:literal, $bias:literal, $half:literal, $coefficients:ident,
     { $($constants:item)* }, $turns:path, $far_erf:path) => {
        impl Arithmetic for $type {
            const MIN_NORMAL: Self = $type::MIN_POSITIVE;
            const MAGIC: Self = 1.5 * (1u64 << $mantissa) as $type;
            const MAGIC_EXPONENT: Self = Self::MAGIC + $bias as $type;
            $($constants)*

            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $type
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::is_nan(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $type::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $type::copysign(self, sign)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $type::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $type::ceil(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                $type::round_ties_even(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $type::trunc(self)
            }
            #[inline(always)]
            fn high(self) -> Self {
                $type::from_bits(self.to_bits() & ($bits::MAX << $half))
            }
            #[inline(always)]
            fn into_exponent(self) -> Self {
                $type::from_bits(self.to_bits() << $mantissa)
            }
            #[inline(always)]
            fn raise(self) -> Self {
                $type::from_bits(self.to_bits().wrapping_add(64 << $mantissa))
            }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                // Adding the distance from sqrt(1/2) to one carries into the exponent field exactly when m passes sqrt(2).
                const ONE: $bits = (1.0 as $type).to_bits();
                const ROOT: $bits = std::$type::consts::FRAC_1_SQRT_2.to_bits();
                let moved = self.to_bits().wrapping_add(ONE - ROOT);
                let exponent = moved >> $mantissa;
                let m = (moved & ((1 << $mantissa) - 1)).wrapping_add(ROOT);
                // The field is in the low bits of 2^p, so subtracting 2^p and the bias leaves k.
                const BASE: $type = (1u64 << $mantissa) as $type;
                let k = $type::from_bits(exponent | BASE.to_bits()) - (BASE + $bias as $type);
                (k, $type::from_bits(m))
            }
            #[inline(always)]
            fn quarter_turns(self) -> (Self, Option<Self>, u32) {
                $turns(self)
            }
            #[inline(always)]
            fn exp_tail(r: Self) -> Self {
                $coefficients::exp_tail(r)
            }
            #[inline(always)]
            fn log_tail(z: Self) -> Self {
                $coefficients::log_tail(z)
            }
            #[inline(always)]
            fn sin_tail(z: Self) -> Self {
                $coefficients::sin_tail(z)
            }
            #[inline(always)]
            fn cos_tail(z: Self) -> Self {
                $coefficients::cos_tail(z)
            }
            #[inline(always)]
            fn asin_tail(z: Self) -> Self {
                $coefficients::asin_tail(z)
            }
            #[inline(always)]
            fn atan_tail(z: Self) -> Self {
                $coefficients::atan_tail(z)
            }
            #[inline(always)]
            fn sinh_tail(z: Self) -> Self {
                $coefficients::sinh_tail(z)
            }
            #[inline(always)]
            fn erf_tail(z: Self) -> Self {
                $coefficients::erf_tail(z)
            }
            #[inline(always)]
            fn far_erf(self) -> Self {
                $far_erf(self)
            }
            #[inline(always)]
            fn rest(self, y: Self) -> Self {
                self % y
            }
        }
    };
}

arithmetic!(
    f32,
    u32,
    23,
    127,
    12,
    single,
    {
        const LN2_HIGH: f32 = 0.693_176_27;
        const LN2_LOW: f32 = -2.908_897_1e-5;
        const LOG10_2: (f32, f32) = (0.301_025_4, 4.605_039e-6);
        const LOG2_E: (f32, f32) = (1.442_871_1, -1.760_528_5e-4);
        const LOG10_E: (f32, f32) = (0.434_326_17, -3.168_997e-5);
        const HALF_PI: (f32, f32) = (std::f32::consts::FRAC_PI_2, -4.371_139e-8);
        const LENIENT: bool = true;
        const EXP_LOW: f32 = -105.0;
        const EXP_HIGH: f32 = 89.0;
        const SMALL_EXPONENT: f32 = -120.0;
        const ERF_NEAR: f32 = 1.0;
    },
    super::trigonometric::quarter_turns_single,
    super::error_function::far_erf_single
);

arithmetic!(
    f64,
    u64,
    52,
    1023,
    27,
    double,
    {
        const LN2_HIGH: f64 = 0.693_147_180_560_117_7;
        const LN2_LOW: f64 = -1.723_944_452_561_483_5e-13;
        const LOG10_2: (f64, f64) = (0.301_029_995_664_066_5, -8.532_344_317_057_107e-14);
        const LOG2_E: (f64, f64) = (1.442_695_051_431_655_9, -1.054_269_247_642_913_8e-8);
        const LOG10_E: (f64, f64) = (0.434_294_484_555_721_3, -2.652_469_455_307_855_3e-9);
        const HALF_PI: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17);
        const LENIENT: bool = false;
        const EXP_LOW: f64 = -746.0;
        const EXP_HIGH: f64 = 710.0;
        const SMALL_EXPONENT: f64 = -1000.0;
        const ERF_NEAR: f64 = 0.5;
    },
    super::trigonometric::quarter_turns_double,
    super::error_function::far_erf_double
);
