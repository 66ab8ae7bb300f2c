//! The inner loop shared by all convolutions on wide groups.
//!
//! `sums[i][lane] += sum over j of x[rows[i] + steps[j]] * panel[j][lane]`: one scalar of `x` is multiplied by a whole vector of the panel.
//! In the forward pass, rows are positions and steps are taps; in the gradient of the weights it is the other way round. `x` is read scalar
//! by scalar, so strides and dilation cost nothing and no patch matrix is ever written.

use crate::matmul::{Product, Tile};
#[cfg(target_arch = "x86_64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Rows of one tile of sums.
pub(super) const ROWS: usize = 12;

/// The most lanes of a panel of any type.
pub(super) const MOST_LANES: usize = 32;

/// A type that convolutions are computed in: `f32` or `f64`.
///
/// ```
/// fn needs<T: wengert_kernels::Convolve>() {}
/// needs::<f32>();
/// needs::<f64>();
/// ```
#[allow(private_bounds)]
pub trait Convolve: Product + Tile {
    /// `sums[i][lane] (+)= sum over j of x[rows[i] + steps[j]] * panel[j][lane]` for `width` lanes (a full or half panel); if `fresh`, the
    /// sums are overwritten instead of added to.
    ///
    /// # Safety
    /// `x` is valid for reads at every `rows[i] + steps[j]`, `panel` for `steps.len() * width` elements, and `sums` for
    /// reads and writes at `i * sums_step + lane`.
    #[doc(hidden)]
    #[allow(clippy::too_many_arguments)]
    unsafe fn accumulate(
        x: *const Self,
        rows: &[usize; ROWS],
        steps: &[usize],
        panel: *const Self,
        width: usize,
        sums: *mut Self,
        sums_step: usize,
        fresh: bool,
    );
}

/// The products of one step: `$rows` scalars, at `$bases`, times the `$vectors <= 2` vectors of a row of the panel.
///
/// The products of a row are one piece of assembly because the compiler would otherwise load all scalars of a step first, and spill the
/// sums to make room for them.
#[cfg(target_arch = "x86_64")]
macro_rules! add_products {
    ([$float:ty, $vector:ty, $register:ident, $load:ident, $broadcast:literal, $multiply:literal], $rows:ident, $vectors:ident,
        $step:ident, $panel:ident, $panel_step:ident, $bases:ident, $block:ident) => {
        let right = $load($panel);
        let other = $load($panel.add(($vectors - 1) * (size_of::<$vector>() / size_of::<$float>())));
        for i in 0..$rows {
            let _left: $vector;
            if $vectors == 1 {
                asm!(
                    concat!($broadcast, " {left}, [{base} + {step} * {size}]"),
                    concat!($multiply, " {sum}, {left}, {right}"),
                    left = out($register) _left,
                    base = in(reg) $bases[i],
                    step = in(reg) $step,
                    size = const size_of::<$float>(),
                    sum = inout($register) $block[i][0],
                    right = in($register) right,
                    options(nostack, readonly, preserves_flags),
                );
            } else {
                asm!(
                    concat!($broadcast, " {left}, [{base} + {step} * {size}]"),
                    concat!($multiply, " {sum}, {left}, {right}"),
                    concat!($multiply, " {other_sum}, {left}, {other}"),
                    left = out($register) _left,
                    base = in(reg) $bases[i],
                    step = in(reg) $step,
                    size = const size_of::<$float>(),
                    sum = inout($register) $block[i][0],
                    other_sum = inout($register) $block[i][$vectors - 1],
                    right = in($register) right,
                    other = in($register) other,
                    options(nostack, readonly, preserves_flags),
                );
            }
        }
        $panel = $panel.wrapping_add($panel_step);
    };
}

/// One register block for one instruction set: `R` rows by `N <= 2` vectors of sums.
macro_rules! block {
    ($name:ident, $float:ty, $features:literal, $vector:ty, $zero:ident, $load:ident, $store:ident, $plus:ident, $set:tt) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name<const R: usize, const N: usize>(
            x: *const $float,
            rows: &[usize],
            steps: &[usize],
            mut panel: *const $float,
            panel_step: usize,
            sums: *mut $float,
            sums_step: usize,
            fresh: bool,
        ) {
            const LANES: usize = size_of::<$vector>() / size_of::<$float>();
            // SAFETY: the callers below detected `$features`, and pass `R` of the rows and `N` vectors of the lanes for which the caller of
            // `Convolve::accumulate` guarantees `x`, `panel` and `sums`. Loads of the panel are of row `j < steps.len()`. The assembly
            // reads the one scalar at `rows[i] + step` and changes only its outputs.
            unsafe {
                let mut block = [[$zero(); N]; R];
                let mut bases = [x; R];
                for i in 0..R {
                    bases[i] = x.wrapping_add(rows[i]);
                }
                // Unrolled by two: a loop over single steps is slower unless it happens to start at a cache line.
                let (several, rest) = steps.as_chunks::<2>();
                for &[first, second] in several {
                    add_products!($set, R, N, first, panel, panel_step, bases, block);
                    add_products!($set, R, N, second, panel, panel_step, bases, block);
                }
                for &step in rest {
                    add_products!($set, R, N, step, panel, panel_step, bases, block);
                }
                if !fresh {
                    for i in 0..R {
                        for v in 0..N {
                            block[i][v] = $plus($load(sums.add(i * sums_step + v * LANES)), block[i][v]);
                        }
                    }
                }
                for i in 0..R {
                    for v in 0..N {
                        $store(sums.add(i * sums_step + v * LANES), block[i][v]);
                    }
                }
            }
        }
    };
}
block!(
    f32_avx512,
    f32,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2",
    __m512,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    [f32, __m512, zmm_reg, _mm512_loadu_ps, "vbroadcastss", "vfmadd231ps"]
);
block!(
    f64_avx512,
    f64,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2",
    __m512d,
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_add_pd,
    [f64, __m512d, zmm_reg, _mm512_loadu_pd, "vbroadcastsd", "vfmadd231pd"]
);
block!(
    f32_avx2,
    f32,
    "avx2,fma,bmi2",
    __m256,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    [f32, __m256, ymm_reg, _mm256_loadu_ps, "vbroadcastss", "vfmadd231ps"]
);
block!(
    f64_avx2,
    f64,
    "avx2,fma,bmi2",
    __m256d,
    _mm256_setzero_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_add_pd,
    [f64, __m256d, ymm_reg, _mm256_loadu_pd, "vbroadcastsd", "vfmadd231pd"]
);

/// The same for machines without the instructions above, bitwise equal: `4 x 4` sums at a time. It is fast where the target has fused
/// multiply-add in its baseline, as 64-bit ARM does.
///
/// # Safety
/// As for [`Convolve::accumulate`].
#[allow(clippy::too_many_arguments)]
unsafe fn accumulate_portably<T: Convolve>(
    x: *const T,
    rows: &[usize; ROWS],
    steps: &[usize],
    panel: *const T,
    width: usize,
    sums: *mut T,
    sums_step: usize,
    fresh: bool,
) {
    const R: usize = 4;
    const L: usize = 4;
    for row in (0..ROWS).step_by(R) {
        for lane in (0..width).step_by(L) {
            let mut block = [[T::ZERO; L]; R];
            // SAFETY: `R` divides `ROWS` and `L` every panel width, so rows and lanes belong to the tile for which the caller guarantees
            // `sums`, `panel` (row `j < steps.len()`) and `x` at every `rows[i] + steps[j]`.
            unsafe {
                for (j, &step) in steps.iter().enumerate() {
                    let right = &*panel.add(j * width + lane).cast::<[T; L]>();
                    for i in 0..R {
                        let left = *x.wrapping_add(rows[row + i] + step);
                        for l in 0..L {
                            block[i][l] = T::fused(block[i][l], left, right[l]);
                        }
                    }
                }
                for i in 0..R {
                    for l in 0..L {
                        let place = sums.add((row + i) * sums_step + lane + l);
                        *place = if fresh { block[i][l] } else { *place + block[i][l] };
                    }
                }
            }
        }
    }
}

macro_rules! convolve {
    ($float:ty, $avx512:ident, $avx2:ident) => {
        impl Convolve for $float {
            unsafe fn accumulate(
                x: *const Self,
                rows: &[usize; ROWS],
                steps: &[usize],
                panel: *const Self,
                width: usize,
                sums: *mut Self,
                sums_step: usize,
                fresh: bool,
            ) {
                debug_assert!(width == Self::LANES || width == Self::LANES / 2);
                match crate::simd::level() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: `level` detected the features. A full panel is two vectors and half a panel is one, so all of them are lanes
                    // that the caller's guarantee covers.
                    crate::simd::Level::Avx512 => unsafe {
                        if width == Self::LANES {
                            $avx512::<ROWS, 2>(x, rows, steps, panel, width, sums, sums_step, fresh);
                        } else {
                            $avx512::<ROWS, 1>(x, rows, steps, panel, width, sums, sums_step, fresh);
                        }
                    },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: `level` detected the features. Two vectors are half a full panel, so the rows from `row` and the lanes from
                    // `lane` on belong to the tile that the caller's guarantee covers.
                    crate::simd::Level::Avx2 => unsafe {
                        const HALF: usize = ROWS / 2;
                        for lane in (0..width).step_by(Self::LANES / 2) {
                            for row in [0, HALF] {
                                let sums = sums.add(row * sums_step + lane);
                                let panel = panel.add(lane);
                                $avx2::<HALF, 2>(x, &rows[row..], steps, panel, width, sums, sums_step, fresh);
                            }
                        }
                    },
                    // SAFETY: it requires exactly what the caller of `accumulate` guarantees.
                    _ => unsafe { accumulate_portably(x, rows, steps, panel, width, sums, sums_step, fresh) },
                }
            }
        }
    };
}
convolve!(f32, f32_avx512, f32_avx2);
convolve!(f64, f64_avx512, f64_avx2);
