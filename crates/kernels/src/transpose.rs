//! Transposes blocks of a matrix, in registers where the machine supports it.

use crate::dtype::Compute;
use crate::simd::{Level, level};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A float whose square blocks can be transposed.
pub trait Transpose: Compute {
    /// Rows and columns of a block: 64 bytes.
    #[doc(hidden)]
    const SIDE: usize;

    /// `target[j][i] = source[i][j]` for the `rows x cols` elements of a block of `source`, at most `SIDE` each way. The rest of every row
    /// of `target` is zero-filled up to element `width <= SIDE`.
    ///
    /// # Safety
    /// `source` is valid for `rows` rows of `cols` elements, `target` for `cols` rows of `width >= rows` elements.
    #[doc(hidden)]
    unsafe fn transpose_block(
        source: *const Self,
        source_step: usize,
        size: (usize, usize),
        target: *mut Self,
        target_step: usize,
        width: usize,
    );
}

/// The same for matrices of any size; `width` is the length of a row of `target`.
///
/// # Safety
/// As for [`Transpose::transpose_block`].
pub(crate) unsafe fn transpose<T: Transpose>(
    source: *const T,
    source_step: usize,
    (rows, cols): (usize, usize),
    target: *mut T,
    target_step: usize,
    width: usize,
) {
    for first in (0..width).step_by(T::SIDE) {
        let inside = T::SIDE.min(rows.saturating_sub(first));
        let wide = T::SIDE.min(width - first);
        for col in (0..cols).step_by(T::SIDE) {
            let size = (inside, T::SIDE.min(cols - col));
            // SAFETY: `size` and `wide` are limited so that the block lies in the matrices that the caller guarantees. For `first >= rows`
            // it has no rows, so `from`, which may be beyond the source, is not read.
            unsafe {
                let from = source.wrapping_add(first * source_step + col);
                T::transpose_block(from, source_step, size, target.add(col * target_step + first), target_step, wide);
            }
        }
    }
}

/// # Safety
/// As for [`Transpose::transpose_block`].
unsafe fn transpose_portably<T: Transpose>(
    source: *const T,
    source_step: usize,
    (rows, cols): (usize, usize),
    target: *mut T,
    target_step: usize,
    width: usize,
) {
    for j in 0..cols {
        for i in 0..width {
            // SAFETY: `j < cols` and `i < width`, so the target has this element; the source is only read for `i < rows`.
            unsafe {
                *target.add(j * target_step + i) = if i < rows { *source.add(i * source_step + j) } else { T::ZERO };
            }
        }
    }
}

macro_rules! transposed_by {
    ($($float:ty => $avx512:ident),*) => {$(
        impl Transpose for $float {
            const SIDE: usize = 64 / size_of::<$float>();

            #[inline]
            unsafe fn transpose_block(
                source: *const Self,
                source_step: usize,
                size: (usize, usize),
                target: *mut Self,
                target_step: usize,
                width: usize,
            ) {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: `level` reports Avx512 only after detecting `avx512f`; the caller guarantees source and target.
                    Level::Avx512 => unsafe { $avx512(source, source_step, size, target, target_step, width) },
                    // SAFETY: it requires what the caller of `transpose_block` guarantees.
                    _ => unsafe { transpose_portably(source, source_step, size, target, target_step, width) },
                }
            }
        }
    )*};
}
transposed_by!(f32 => transpose_f32, f64 => transpose_f64);

/// # Safety
/// As for [`Transpose::transpose_block`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn transpose_f32(
    source: *const f32,
    source_step: usize,
    (rows, cols): (usize, usize),
    target: *mut f32,
    target_step: usize,
    width: usize,
) {
    // SAFETY: masked to `cols` elements of `rows` rows of the source and `width` elements of `cols` rows of the target.
    unsafe {
        let mut a = [_mm512_setzero_ps(); 16];
        let mut b = [_mm512_setzero_ps(); 16];
        let mask = 0xffff >> (16 - cols);
        for i in 0..16 {
            if i < rows {
                a[i] = _mm512_maskz_loadu_ps(mask, source.add(i * source_step));
            }
        }
        // Pairs of rows, then groups of four: afterwards b[4q + r] holds, in 128-bit part p, column 4p + r of rows 4q..4q + 4.
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
        let mask = 0xffff >> (16 - width);
        for i in 0..16 {
            if i < cols {
                _mm512_mask_storeu_ps(target.add(i * target_step), mask, b[i]);
            }
        }
    }
}

/// # Safety
/// As for [`Transpose::transpose_block`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn transpose_f64(
    source: *const f64,
    source_step: usize,
    (rows, cols): (usize, usize),
    target: *mut f64,
    target_step: usize,
    width: usize,
) {
    // SAFETY: masked to `cols` elements of `rows` rows of the source and `width` elements of `cols` rows of the target.
    unsafe {
        let mut a = [_mm512_setzero_pd(); 8];
        let mut b = [_mm512_setzero_pd(); 8];
        let mask = 0xff >> (8 - cols);
        for i in 0..8 {
            if i < rows {
                a[i] = _mm512_maskz_loadu_pd(mask, source.add(i * source_step));
            }
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
        let mask = 0xff >> (8 - width);
        for i in 0..8 {
            if i < cols {
                _mm512_mask_storeu_pd(target.add(i * target_step), mask, a[i]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_every_level;

    fn transposes_are_exact<T: Transpose>() {
        at_every_level(|level| {
            for (rows, cols, width) in [(1, 1, 1), (16, 16, 16), (14, 40, 14), (3, 17, 32), (37, 19, 48), (0, 5, 16)] {
                let source: Vec<T> = (0..rows * cols).map(|i| T::from_f64(i as f64 + 1.0)).collect();
                let mut target = vec![T::from_f64(-1.0); cols * (width + 1)];
                // SAFETY: `source` has `rows` rows of `cols` elements, `target` has `cols` rows of more than `width`.
                unsafe { transpose(source.as_ptr(), cols, (rows, cols), target.as_mut_ptr(), width + 1, width) };
                for (at, &value) in target.iter().enumerate() {
                    let (j, i) = (at / (width + 1), at % (width + 1));
                    let expected = match i {
                        _ if i == width => -1.0,
                        _ if i < rows => (i * cols + j) as f64 + 1.0,
                        _ => 0.0,
                    };
                    assert_eq!(value.to_f64(), expected, "{rows}x{cols} in rows of {width} at {level:?}");
                }
            }
        });
    }

    #[test]
    fn transposed_blocks_are_exact_padded_with_zeros_and_stay_in_their_rows() {
        transposes_are_exact::<f32>();
        transposes_are_exact::<f64>();
    }
}
