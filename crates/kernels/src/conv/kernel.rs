//! The inner loop that all convolutions on wide groups share.
//!
//! `sums[i][lane] += sum over j of x[rows[i] + steps[j]] * panel[j][lane]`: one scalar of `x` meets a whole vector of the
//! panel. Forward, rows are positions and steps are taps; in the gradient of the weights it is the other way round. As
//! `x` is read scalar by scalar, strides and dilation cost nothing and no patch matrix is ever written.

use crate::matmul::Product;
#[cfg(target_arch = "x86_64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Rows of one tile of sums.
pub(super) const ROWS: usize = 12;

/// Rows of the memory of a tile: whole blocks to transpose.
pub(super) const PADDED_ROWS: usize = 16;

/// The most lanes a panel has, whatever the type.
pub(super) const MOST_LANES: usize = 32;

/// A type that convolutions are computed in: `f32` or `f64`.
///
/// ```
/// fn needs<T: wengert_kernels::Convolve>() {}
/// needs::<f32>();
/// needs::<f64>();
/// ```
pub trait Convolve: Product {
    /// Lanes of a full panel: 128 bytes. The last panel of a matrix may have half as many.
    #[doc(hidden)]
    const LANES: usize;

    /// `sum + a * b`, rounded once.
    #[doc(hidden)]
    fn fused(sum: Self, a: Self, b: Self) -> Self;

    /// `sums[i][lane] (+)= sum over j of x[rows[i] + steps[j]] * panel[j][lane]` for `width` lanes (a full or half panel);
    /// `fresh` starts from zero instead of the present sums.
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

    /// Writes the transpose of the square block of `LANES / 2` rows at `source` to `target`, there only the first `rows`
    /// rows and the first `cols` elements of each. False, and nothing done, without the instructions for it.
    ///
    /// # Safety
    /// `source` is valid for the whole block, `target` for the part that is written.
    #[doc(hidden)]
    unsafe fn transpose_block(
        source: *const Self,
        source_step: usize,
        target: *mut Self,
        target_step: usize,
        rows: usize,
        cols: usize,
    ) -> bool;
}

/// One register block for one instruction set: `R` rows by `N <= 2` vectors of sums.
///
/// The products of a row are one piece of assembly because the compiler would load all scalars of a step first, and spill
/// the sums to make room for them.
macro_rules! block {
    ($name:ident, $float:ty, $features:literal, $vector:ty, $register:ident,
        $zero:ident, $load:ident, $store:ident, $broadcast:literal, $multiply:literal) => {
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
            // SAFETY: the caller's promise on `x`, `panel` and `sums`, of which this is a part of `R` rows and `N` vectors;
            // the assembly reads the one scalar at `bases[i] + step` and changes nothing but its outputs.
            unsafe {
                let mut block = [[$zero(); N]; R];
                if !fresh {
                    for i in 0..R {
                        for v in 0..N {
                            block[i][v] = $load(sums.add(i * sums_step + v * LANES));
                        }
                    }
                }
                let mut bases = [x; R];
                for i in 0..R {
                    bases[i] = x.wrapping_add(rows[i]);
                }
                for &step in steps {
                    let (right, other) = ($load(panel), $load(panel.add((N - 1) * LANES)));
                    for i in 0..R {
                        let _left: $vector;
                        if N == 1 {
                            asm!(
                                concat!($broadcast, " {left}, [{base} + {step} * {size}]"),
                                concat!($multiply, " {sum}, {left}, {right}"),
                                left = out($register) _left,
                                base = in(reg) bases[i],
                                step = in(reg) step,
                                size = const size_of::<$float>(),
                                sum = inout($register) block[i][0],
                                right = in($register) right,
                                options(nostack, readonly, preserves_flags),
                            );
                        } else {
                            asm!(
                                concat!($broadcast, " {left}, [{base} + {step} * {size}]"),
                                concat!($multiply, " {sum}, {left}, {right}"),
                                concat!($multiply, " {other_sum}, {left}, {other}"),
                                left = out($register) _left,
                                base = in(reg) bases[i],
                                step = in(reg) step,
                                size = const size_of::<$float>(),
                                sum = inout($register) block[i][0],
                                other_sum = inout($register) block[i][N - 1],
                                right = in($register) right,
                                other = in($register) other,
                                options(nostack, readonly, preserves_flags),
                            );
                        }
                    }
                    panel = panel.wrapping_add(panel_step);
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
    zmm_reg,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    "vbroadcastss",
    "vfmadd231ps"
);
block!(
    f64_avx512,
    f64,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2",
    __m512d,
    zmm_reg,
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    "vbroadcastsd",
    "vfmadd231pd"
);
block!(
    f32_avx2,
    f32,
    "avx2,fma,bmi2",
    __m256,
    ymm_reg,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    "vbroadcastss",
    "vfmadd231ps"
);
block!(
    f64_avx2,
    f64,
    "avx2,fma,bmi2",
    __m256d,
    ymm_reg,
    _mm256_setzero_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    "vbroadcastsd",
    "vfmadd231pd"
);

/// The same for machines without the instructions above, to the same bits: `4 x 4` sums at a time. Fast where the target
/// has fused products by itself, as 64-bit ARM does.
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
            // SAFETY: the caller's promise; `R` divides `ROWS` and `L` divides every panel width.
            unsafe {
                if !fresh {
                    for i in 0..R {
                        for l in 0..L {
                            block[i][l] = *sums.add((row + i) * sums_step + lane + l);
                        }
                    }
                }
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
                        *sums.add((row + i) * sums_step + lane + l) = block[i][l];
                    }
                }
            }
        }
    }
}

macro_rules! convolve {
    ($float:ty, $avx512:ident, $avx2:ident, $transpose:ident) => {
        impl Convolve for $float {
            const LANES: usize = 128 / size_of::<$float>();

            #[inline(always)]
            fn fused(sum: $float, a: $float, b: $float) -> $float {
                a.mul_add(b, sum)
            }

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
                    // SAFETY: the level was detected; the caller's promise covers the whole tile.
                    crate::simd::Level::Avx512 => unsafe {
                        if width == Self::LANES {
                            $avx512::<ROWS, 2>(x, rows, steps, panel, width, sums, sums_step, fresh);
                        } else {
                            $avx512::<ROWS, 1>(x, rows, steps, panel, width, sums, sums_step, fresh);
                        }
                    },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the level was detected; the parts lie in the tile that the caller's promise covers.
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
                    // SAFETY: passed on from the caller.
                    _ => unsafe { accumulate_portably(x, rows, steps, panel, width, sums, sums_step, fresh) },
                }
            }

            unsafe fn transpose_block(
                source: *const Self,
                source_step: usize,
                target: *mut Self,
                target_step: usize,
                rows: usize,
                cols: usize,
            ) -> bool {
                #[cfg(target_arch = "x86_64")]
                if crate::simd::level() == crate::simd::Level::Avx512 {
                    // SAFETY: the level was detected; the blocks are valid by the caller's promise.
                    unsafe { $transpose(source, source_step, target, target_step, rows, cols) };
                    return true;
                }
                let _ = (source, source_step, target, target_step, rows, cols);
                false
            }
        }
    };
}
convolve!(f32, f32_avx512, f32_avx2, transpose_f32);
convolve!(f64, f64_avx512, f64_avx2, transpose_f64);

/// # Safety
/// As for [`Convolve::transpose_block`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn transpose_f32(
    source: *const f32,
    source_step: usize,
    target: *mut f32,
    target_step: usize,
    rows: usize,
    cols: usize,
) {
    // SAFETY: a block of 16 rows of 16 elements is read; `rows` rows of `cols` elements are written.
    unsafe {
        let mut a = [_mm512_setzero_ps(); 16];
        let mut b = [_mm512_setzero_ps(); 16];
        for i in 0..16 {
            a[i] = _mm512_loadu_ps(source.add(i * source_step));
        }
        // Pairs of rows, then fours: afterwards b[4q + r] holds, in 128-bit part p, column 4p + r of rows 4q..4q + 4.
        for i in 0..8 {
            b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
            b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
        }
        for q in 0..4 {
            let pairs = [b[4 * q], b[4 * q + 1], b[4 * q + 2], b[4 * q + 3]].map(|v| _mm512_castps_pd(v));
            a[4 * q] = _mm512_castpd_ps(_mm512_unpacklo_pd(pairs[0], pairs[2]));
            a[4 * q + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pairs[0], pairs[2]));
            a[4 * q + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pairs[1], pairs[3]));
            a[4 * q + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pairs[1], pairs[3]));
        }
        // A transpose of the 4 x 4 parts.
        for r in 0..4 {
            let (low, high) =
                (_mm512_shuffle_f32x4::<0x44>(a[r], a[4 + r]), _mm512_shuffle_f32x4::<0xee>(a[r], a[4 + r]));
            let (low2, high2) =
                (_mm512_shuffle_f32x4::<0x44>(a[8 + r], a[12 + r]), _mm512_shuffle_f32x4::<0xee>(a[8 + r], a[12 + r]));
            b[r] = _mm512_shuffle_f32x4::<0x88>(low, low2);
            b[4 + r] = _mm512_shuffle_f32x4::<0xdd>(low, low2);
            b[8 + r] = _mm512_shuffle_f32x4::<0x88>(high, high2);
            b[12 + r] = _mm512_shuffle_f32x4::<0xdd>(high, high2);
        }
        let mask = 0xffff >> (16 - cols);
        for i in 0..16 {
            if i < rows {
                _mm512_mask_storeu_ps(target.add(i * target_step), mask, b[i]);
            }
        }
    }
}

/// # Safety
/// As for [`Convolve::transpose_block`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn transpose_f64(
    source: *const f64,
    source_step: usize,
    target: *mut f64,
    target_step: usize,
    rows: usize,
    cols: usize,
) {
    // SAFETY: a block of 8 rows of 8 elements is read; `rows` rows of `cols` elements are written.
    unsafe {
        let mut a = [_mm512_setzero_pd(); 8];
        let mut b = [_mm512_setzero_pd(); 8];
        for i in 0..8 {
            a[i] = _mm512_loadu_pd(source.add(i * source_step));
        }
        // b[2q + r] holds, in 128-bit part p, column 2p + r of rows 2q and 2q + 1.
        for q in 0..4 {
            b[2 * q] = _mm512_unpacklo_pd(a[2 * q], a[2 * q + 1]);
            b[2 * q + 1] = _mm512_unpackhi_pd(a[2 * q], a[2 * q + 1]);
        }
        for r in 0..2 {
            let (low, high) =
                (_mm512_shuffle_f64x2::<0x44>(b[r], b[2 + r]), _mm512_shuffle_f64x2::<0xee>(b[r], b[2 + r]));
            let (low2, high2) =
                (_mm512_shuffle_f64x2::<0x44>(b[4 + r], b[6 + r]), _mm512_shuffle_f64x2::<0xee>(b[4 + r], b[6 + r]));
            a[r] = _mm512_shuffle_f64x2::<0x88>(low, low2);
            a[2 + r] = _mm512_shuffle_f64x2::<0xdd>(low, low2);
            a[4 + r] = _mm512_shuffle_f64x2::<0x88>(high, high2);
            a[6 + r] = _mm512_shuffle_f64x2::<0xdd>(high, high2);
        }
        let mask = 0xff >> (8 - cols);
        for i in 0..8 {
            if i < rows {
                _mm512_mask_storeu_pd(target.add(i * target_step), mask, a[i]);
            }
        }
    }
}

/// `target[j][i] = source[i][j]` for `rows x cols` elements of `source`; rows `0..cols` of `target` are written up to
/// column `rows` and then zero up to column `width`.
///
/// # Safety
/// `source` is valid for `rows` rows of `cols` elements, `target` for `cols` rows of `width >= rows` elements.
pub(super) unsafe fn transpose<T: Convolve>(
    source: *const T,
    source_step: usize,
    (rows, cols): (usize, usize),
    target: *mut T,
    target_step: usize,
    width: usize,
) {
    let side = T::LANES / 2;
    // SAFETY: all positions have row < rows and column < cols of `source`, and the reverse of `target`, which has `width`
    // columns; a block is only transposed where it fits whole.
    unsafe {
        let mut first = 0;
        while first + side <= rows {
            let mut col = 0;
            while col + side <= cols
                && T::transpose_block(
                    source.add(first * source_step + col),
                    source_step,
                    target.add(col * target_step + first),
                    target_step,
                    side,
                    side,
                )
            {
                col += side;
            }
            for j in col..cols {
                for i in first..first + side {
                    *target.add(j * target_step + i) = *source.add(i * source_step + j);
                }
            }
            first += side;
        }
        if first < width {
            for j in 0..cols {
                for i in first..rows {
                    *target.add(j * target_step + i) = *source.add(i * source_step + j);
                }
                for i in rows.max(first)..width {
                    *target.add(j * target_step + i) = T::ZERO;
                }
            }
        }
    }
}
