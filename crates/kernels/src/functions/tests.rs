//! Evaluating one number at a time gives the same bits as slices, in value and slope, for every row of the table.

use super::*;
use crate::math::Real;

/// Values of every magnitude and sign, dense around zero and around the boundaries between formulas, and special values.
fn points<T: Real>(step: fn(T, i32) -> T, any: fn(u64) -> T) -> Vec<T> {
    let borders = [
        0.0,
        1e-17,
        0.29,
        0.3465,
        0.414,
        0.5,
        std::f64::consts::FRAC_PI_4,
        1.0,
        std::f64::consts::FRAC_PI_2,
        22.0,
        45.0,
        83.178,
        120.0,
        693.147,
        1000.0,
        1.6e6,
        f32::MIN_POSITIVE as f64,
        f64::MIN_POSITIVE,
        f32::MAX as f64,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    let mut seed = 1u64;
    let mut bits = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed ^ (seed >> 33)
    };
    let mut points: Vec<T> = borders.iter().flat_map(|b| (-20..=20).map(|n| step(T::of(*b), n))).collect();
    points.extend((0..20_000).map(|_| any(bits())));
    for size in [0.4, 1.1, 4.0, 50.0, 800.0] {
        points.extend((0..4000).map(|_| T::of(size * (bits() >> 11) as f64 / (1u64 << 53) as f64)));
    }
    points.iter().flat_map(|x| [*x, -*x]).collect()
}

macro_rules! agreement {
    ($test:ident $t:ident $values:ident $slopes:ident, $any:expr) => {
        #[test]
        fn $test() {
            let x = points::<$t>(|x, n| $t::from_bits(x.to_bits().wrapping_add_signed(n.into())), $any);
            let g: Vec<$t> = [1.0, -3.5, 0.0, $t::INFINITY].into_iter().cycle().take(x.len()).collect();
            let same = |a: $t, b: $t| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            for function in Function::ALL {
                let (name, row) = (function.name(), function.row());
                let (mut y, mut slopes) = (x.clone(), x.clone());
                (row.$values.slices)(&x, &x, &mut y, [0.0; 3]);
                for (x, y) in x.iter().zip(&y) {
                    let one = (row.$values.one)(*x, *x, [0.0; 3]);
                    assert!(same(one, *y), "{name}({x:e}) is {one:e}, of a slice {y:e}");
                }
                (row.$slopes.slices)(&g, &x, &x, &mut slopes, [0.0; 3]);
                for ((x, g), slope) in x.iter().zip(&g).zip(&slopes) {
                    let one = (row.$slopes.one)(*g, *x, *x, [0.0; 3]);
                    assert!(
                        same(one, *slope),
                        "{name}: {g:e} times the slope at {x:e} is {one:e}, of a slice {slope:e}"
                    );
                }
            }
        }
    };
}

agreement!(f64_has_the_bits_of_slices f64 f64 slope_f64, f64::from_bits);
agreement!(f32_has_the_bits_of_slices f32 f32 slope_f32, |bits| f32::from_bits(bits as u32));
