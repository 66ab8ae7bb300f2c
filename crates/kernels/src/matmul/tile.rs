//! The inner loop of a product of floats: a tile of sums in registers.
//!
//! The right side is laid out as `[k][lane]` in panels of 128 bytes. The left side is laid out as `[k][row]`, so that one pointer serves
//! all rows of a tile, or as `[row][k]`, the usual layout of a matrix. Each number of the left side is multiplied by two vectors of the
//! right.

use crate::dtype::Compute;
use crate::simd::Level;
use crate::transpose::Transpose;
#[cfg(target_arch = "x86_64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The most rows of a tile on any machine.
const MOST_ROWS: usize = 14;

/// The most lanes of a panel of any type.
pub(super) const MOST_LANES: usize = 32;

/// The destination of the sums of a tile.
pub(super) struct Target<T> {
    pub start: *mut T,
    pub row_step: usize,
    pub rows: usize,
    /// The number of valid lanes; the panel may have more.
    pub cols: usize,
    pub factor: T,
    pub added: Option<Added<T>>,
}

/// The addend of the sums: rows, `row_step` apart; a step of 0 repeats one row.
pub(super) struct Added<T> {
    pub start: *const T,
    pub row_step: usize,
}

impl<T> Clone for Added<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Added<T> {}

impl<T: Copy> Target<T> {
    /// Some rows and columns, each given by the first one and their number; a `later` part of the inner dimension adds to the target
    /// itself.
    pub(super) fn part(&self, (row, rows): (usize, usize), (col, cols): (usize, usize), later: bool) -> Target<T> {
        let start = self.start.wrapping_add(row * self.row_step + col);
        let added = match (later, self.added) {
            (true, _) => Some(Added { start: start.cast_const(), row_step: self.row_step }),
            (false, Some(Added { start, row_step })) => {
                Some(Added { start: start.wrapping_add(row * row_step + col), row_step })
            }
            (false, None) => None,
        };
        Target { start, rows, cols, added, ..*self }
    }
}

/// Rows or columns of a side: `[k][row or column]`, or on the left `[row][k]`.
#[derive(Clone, Copy)]
pub(super) struct Strip<T> {
    pub start: *const T,
    /// The distance from one `k` to the next.
    pub step: usize,
    /// The distance from one row or column to the next. Either this or `step` is 1; on the right side it is this.
    pub across: usize,
    /// Rows of a tile, or lanes of a full or half panel.
    pub width: usize,
}

/// A float type whose products are computed in tiles.
pub trait Tile: Compute + Transpose {
    /// Lanes of a full panel: 128 bytes. The last panel of a matrix may have half as many.
    #[doc(hidden)]
    const LANES: usize;

    /// `sum + a * b`, rounded once.
    #[doc(hidden)]
    fn fused(sum: Self, a: Self, b: Self) -> Self;

    /// `target = factor * sum over k of left[k][row] * right[k][lane] + added`.
    ///
    /// # Safety
    /// The machine has the level. Both sides are valid for `depth` steps of their width; the width of the left one is `target.rows`, which
    /// is at most `rows_of_tile(level)`. The target has at least one row and column and is owned by the caller, and `added` has as many.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    unsafe fn tile(level: Level, depth: usize, left: Strip<Self>, right: Strip<Self>, target: Target<Self>);
}

/// The rows of a tile: as many as the registers have room for.
pub(super) fn rows_of_tile(level: Level) -> usize {
    match level {
        Level::Avx512 => MOST_ROWS,
        Level::Avx2 => 6,
        Level::Baseline => 4,
    }
}

/// Multiplies one number of the left side, at `$address`, by the `N <= 2` vectors of a step.
///
/// This is one piece of assembly because the compiler would otherwise load all numbers of a step first, and spill the sums to make room for
/// them.
#[cfg(target_arch = "x86_64")]
macro_rules! products {
    ([$vector:ty, $register:ident, $broadcast:literal, $multiply:literal], $vectors:ident, $sums:expr, $right:ident,
        $address:literal, $($operand:tt)*) => {
        let _number: $vector;
        if $vectors == 1 {
            asm!(
                concat!($broadcast, " {number}, ", $address),
                concat!($multiply, " {sum}, {number}, {first}"),
                $($operand)*
                number = out($register) _number,
                sum = inout($register) $sums[0],
                first = in($register) $right[0],
                options(nostack, readonly, preserves_flags),
            );
        } else {
            asm!(
                concat!($broadcast, " {number}, ", $address),
                concat!($multiply, " {sum}, {number}, {first}"),
                concat!($multiply, " {other}, {number}, {second}"),
                $($operand)*
                number = out($register) _number,
                sum = inout($register) $sums[0],
                other = inout($register) $sums[$vectors - 1],
                first = in($register) $right[0],
                second = in($register) $right[1],
                options(nostack, readonly, preserves_flags),
            );
        }
    };
}

/// One step of the inner dimension for the `[$row]`s below `$rows`, with the left side laid out as `[k][row]` or, `$ahead` steps further
/// on, as `[row][k]`.
#[cfg(target_arch = "x86_64")]
macro_rules! step {
    ($float:ty, $set:tt, $rows:ident, $vectors:ident, $sums:ident, $right:ident, across($numbers:ident), [$($row:literal)*]) => {
        $(if $row < $rows {
            products!($set, $vectors, $sums[$row], $right, "[{left} + {offset}]",
                left = in(reg) $numbers,
                offset = const $row * size_of::<$float>(),
            );
        })*
    };
    ($float:ty, $set:tt, $rows:ident, $vectors:ident, $sums:ident, $right:ident, along($pairs:ident, $bytes:ident, $ahead:literal),
        [$($row:literal)*]) => {
        $(if $row < $rows {
            products!($set, $vectors, $sums[$row], $right, "[{left} + {bytes} * {second_of_pair} + {offset}]",
                left = in(reg) $pairs[$row / 2],
                bytes = in(reg) $bytes,
                second_of_pair = const 1 + $row % 2,
                offset = const $ahead * size_of::<$float>(),
            );
        })*
    };
}

/// A register block for one instruction set: `R` rows by `N <= 2` vectors of sums. The left side is contiguous along `k` if `ALONG`.
macro_rules! block {
    ($name:ident, $float:ty, $features:literal, $set:tt, $zero:ident, $all:ident, $load:ident, $store:ident,
        $times:ident, $fused:ident, $list:tt) => {
        /// # Safety
        /// As for [`Tile::tile`], for `R` rows and the first `N` full vectors of the panel.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<const R: usize, const N: usize, const ALONG: bool>(
            depth: usize,
            left: Strip<$float>,
            right: Strip<$float>,
            target: &Target<$float>,
        ) {
            // SAFETY: the level implies that the machine has `$features`. `N` vectors, which the panel has, are loaded at
            // `right.start + k * step` for `k < depth`. The assembly reads number `(k, row)` of the left side, `k < depth` and `row < R`,
            // and changes only its outputs. `R` rows of `N` vectors are stored to the target, which has them, and read from `added`.
            // Addresses ahead are only prefetched, and those after the last step are not used.
            unsafe {
                let zero = $zero();
                let lanes_of_vector = size_of_val(&zero) / size_of::<$float>();
                let mut sums = [[zero; N]; MOST_ROWS];
                for i in 0..R {
                    for v in 0..N {
                        let place = target.start.wrapping_add(i * target.row_step + v * lanes_of_vector);
                        _mm_prefetch::<_MM_HINT_ET0>(place.cast());
                    }
                }
                let mut lanes = right.start;
                let mut next = || {
                    let vectors = [$load(lanes), $load(lanes.add((N - 1) * lanes_of_vector))];
                    let ahead = lanes.wrapping_add(8 * right.step);
                    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                    if N == 2 {
                        _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(lanes_of_vector).cast());
                    }
                    lanes = lanes.wrapping_add(right.step);
                    vectors
                };
                if ALONG {
                    // One pointer serves two rows, which are one and two row steps after it.
                    let bytes = left.across * size_of::<$float>();
                    let mut pairs = [left.start; MOST_ROWS / 2];
                    for pair in 0..R.div_ceil(2) {
                        pairs[pair] = left.start.wrapping_add(2 * pair * left.across).wrapping_sub(left.across);
                    }
                    for _ in 0..depth / 4 {
                        let right = next();
                        step!($float, $set, R, N, sums, right, along(pairs, bytes, 0), $list);
                        let right = next();
                        step!($float, $set, R, N, sums, right, along(pairs, bytes, 1), $list);
                        let right = next();
                        step!($float, $set, R, N, sums, right, along(pairs, bytes, 2), $list);
                        let right = next();
                        step!($float, $set, R, N, sums, right, along(pairs, bytes, 3), $list);
                        for pair in 0..R.div_ceil(2) {
                            pairs[pair] = pairs[pair].wrapping_add(4);
                        }
                    }
                    for _ in 0..depth % 4 {
                        let right = next();
                        step!($float, $set, R, N, sums, right, along(pairs, bytes, 0), $list);
                        for pair in 0..R.div_ceil(2) {
                            pairs[pair] = pairs[pair].wrapping_add(1);
                        }
                    }
                } else {
                    let mut numbers = left.start;
                    for _ in 0..depth {
                        let right = next();
                        step!($float, $set, R, N, sums, right, across(numbers), $list);
                        numbers = numbers.wrapping_add(left.step);
                    }
                }
                let factor = $all(target.factor);
                for i in 0..R {
                    for v in 0..N {
                        let place = target.start.add(i * target.row_step + v * lanes_of_vector);
                        let sum = match target.added {
                            Some(Added { start, row_step }) => {
                                $fused(factor, sums[i][v], $load(start.add(i * row_step + v * lanes_of_vector)))
                            }
                            None => $times(factor, sums[i][v]),
                        };
                        $store(place, sum);
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
    [__m512, zmm_reg, "vbroadcastss", "vfmadd231ps"],
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps,
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13]
);
block!(
    f64_avx512,
    f64,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2",
    [__m512d, zmm_reg, "vbroadcastsd", "vfmadd231pd"],
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd,
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13]
);
block!(
    f32_avx2,
    f32,
    "avx2,fma,bmi2",
    [__m256, ymm_reg, "vbroadcastss", "vfmadd231ps"],
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps,
    [0 1 2 3 4 5]
);
block!(
    f64_avx2,
    f64,
    "avx2,fma,bmi2",
    [__m256d, ymm_reg, "vbroadcastsd", "vfmadd231pd"],
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd,
    [0 1 2 3 4 5]
);

/// The same without the instructions above, row by row, bitwise equal. It is fast where the target has fused multiply-add in its baseline,
/// as 64-bit ARM does.
///
/// # Safety
/// As for [`Tile::tile`], for full panels.
unsafe fn tile_portably<T: Tile>(depth: usize, left: Strip<T>, right: Strip<T>, target: &Target<T>) {
    const STEP: usize = 8;
    for row in 0..target.rows {
        for lane in (0..right.width).step_by(STEP) {
            let mut sums = [T::ZERO; STEP];
            // SAFETY: `k < depth` and `row < target.rows`, so the left side has that number. The right side has `right.width` lanes, of
            // which `STEP` from `lane` on are read, as every panel width is a multiple of it. For a full panel the target has as many
            // columns.
            unsafe {
                for k in 0..depth {
                    let number = *left.start.add(k * left.step + row * left.across);
                    let right = &*right.start.add(k * right.step + lane).cast::<[T; STEP]>();
                    for (sum, &right) in sums.iter_mut().zip(right) {
                        *sum = T::fused(*sum, number, right);
                    }
                }
                for (l, &sum) in sums.iter().enumerate() {
                    let place = target.start.add(row * target.row_step + lane + l);
                    *place = match target.added {
                        Some(Added { start, row_step }) => {
                            T::fused(*start.add(row * row_step + lane + l), target.factor, sum)
                        }
                        None => target.factor * sum,
                    };
                }
            }
        }
    }
}

/// The block for the number of rows and the layout of the tile.
#[cfg(target_arch = "x86_64")]
macro_rules! by_rows {
    ($block:ident, $vectors:literal, $rows:expr, $depth:expr, $left:expr, $right:expr, $target:expr,
        [$($row:literal)*]) => {
        match ($rows, $left.across == 1) {
            $(($row, true) => $block::<$row, $vectors, false>($depth, $left, $right, $target),)*
            $(($row, false) => $block::<$row, $vectors, true>($depth, $left, $right, $target),)*
            (rows, _) => unreachable!("a tile of {rows} rows"),
        }
    };
}
macro_rules! tiles {
    ($float:ty, $avx512:ident, $avx2:ident) => {
        impl Tile for $float {
            const LANES: usize = 128 / size_of::<$float>();

            #[inline(always)]
            fn fused(sum: $float, a: $float, b: $float) -> $float {
                a.mul_add(b, sum)
            }

            #[allow(private_interfaces)]
            unsafe fn tile(level: Level, depth: usize, left: Strip<Self>, right: Strip<Self>, target: Target<Self>) {
                if target.cols < right.width {
                    // SAFETY: it requires what the caller of `tile` guarantees.
                    return unsafe { narrow_tile(level, depth, left, right, target) };
                }
                debug_assert!(right.width == Self::LANES || right.width == Self::LANES / 2);
                match level {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the machine has the level, and sides and target are as the blocks require: the panel has two vectors of 64
                    // bytes, or half of it one, and the target has as many columns. `by_rows` selects the block of `target.rows` rows.
                    Level::Avx512 => unsafe {
                        if right.width == Self::LANES {
                            by_rows!($avx512, 2, target.rows, depth, left, right, &target,
                                [1 2 3 4 5 6 7 8 9 10 11 12 13 14])
                        } else {
                            by_rows!($avx512, 1, target.rows, depth, left, right, &target,
                                [1 2 3 4 5 6 7 8 9 10 11 12 13 14])
                        }
                    },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the machine has the level. Two vectors of 32 bytes are half a full panel, so every half from `lane` on is
                    // within the panel, the columns of the target and `added`.
                    Level::Avx2 => unsafe {
                        for lane in (0..right.width).step_by(Self::LANES / 2) {
                            let added = target.added.map(|added| Added { start: added.start.add(lane), ..added });
                            let target = Target { start: target.start.add(lane), added, ..target };
                            let right = Strip { start: right.start.add(lane), ..right };
                            by_rows!($avx2, 2, target.rows, depth, left, right, &target,
                                [1 2 3 4 5 6])
                        }
                    },
                    // SAFETY: it requires what the caller of `tile` guarantees, and the target has all columns of the panel.
                    _ => unsafe { tile_portably(depth, left, right, &target) },
                }
            }
        }
    };
}

tiles!(f32, f32_avx512, f32_avx2);
tiles!(f64, f64_avx512, f64_avx2);

/// A tile with fewer columns than its panel: the sums go through a temporary buffer.
///
/// # Safety
/// As for [`Tile::tile`].
unsafe fn narrow_tile<T: Tile>(level: Level, depth: usize, left: Strip<T>, right: Strip<T>, target: Target<T>) {
    let mut sums = [[T::ZERO; MOST_LANES]; MOST_ROWS];
    let start = sums.as_mut_ptr().cast();
    // SAFETY: the caller guarantees level and sides. The target is our own `sums`, which has `MOST_ROWS` rows of `MOST_LANES` elements: no
    // tile has more rows and no panel has more lanes.
    unsafe {
        let whole = Target { start, row_step: MOST_LANES, rows: target.rows, cols: right.width, ..target };
        T::tile(level, depth, left, right, Target { added: None, ..whole });
    }
    for (row, sums) in sums[..target.rows].iter().enumerate() {
        for (col, &sum) in sums[..target.cols].iter().enumerate() {
            // SAFETY: `row < target.rows` and `col < target.cols`, so this is an element of the target, and of `added`, that the caller
            // owns.
            unsafe {
                let place = target.start.add(row * target.row_step + col);
                *place = match target.added {
                    Some(Added { start, row_step }) => *start.add(row * row_step + col) + sum,
                    None => sum,
                };
            }
        }
    }
}
