//! One product on one thread: blocked for floats, plain loops for integers, small matrices and single rows. Blocked products treat
//! subnormal numbers as zero.

use super::blocked::Threads;
use super::tile::Added;
use super::{Matrix, blocked};
use crate::chain::CHAIN;
use crate::follow::Follower;
use crate::map::loop2_in_place;
use crate::pool::Buffer;
use crate::reduce::Summand;
use crate::simd::vectorised;
use std::mem::MaybeUninit;

/// Up to this many multiplications, plain loops are faster than packing.
const SMALL: usize = 1500;

/// Up to this many rows or columns, reading a matrix again for each of them is faster than packing it.
const FEW: usize = 3;

/// A compute type that matrices can be multiplied in: `f32`, `f64` or `i64`.
///
/// ```
/// fn needs_product<T: wengert_kernels::Product>() {}
/// needs_product::<f32>();
/// needs_product::<i64>();
/// ```
#[allow(private_bounds)]
pub trait Product: Summand {
    /// `sum + a * b`; integers wrap around.
    #[doc(hidden)]
    fn multiply_add(sum: Self, a: Self, b: Self) -> Self;

    /// Writes `a * b` to the rows `out`, `out + row_step`, .. The inner dimension should be at most [`DEPTH`](crate::chain::DEPTH), because
    /// rounding errors grow with it.
    ///
    /// # Safety
    /// `a` and `b` lie within their data and `a.cols == b.rows`. For each row `i < a.rows` the elements `out[i * row_step..][..b.cols]` are
    /// valid for writes and no other code accesses them.
    #[doc(hidden)]
    unsafe fn multiply(a: Matrix<'_, Self>, b: Matrix<'_, Self>, out: *mut Self, row_step: usize);

    /// Whether it is better not to cut a large product into tiles.
    #[doc(hidden)]
    fn is_spread(a: &Matrix<'_, Self>, b: &Matrix<'_, Self>) -> bool;

    /// The same on several threads, for products that [`is_spread`](Product::is_spread) accepts: `row` is added to every row, and
    /// `follower` is notified of complete rows.
    ///
    /// # Safety
    /// As for [`Product::multiply`]; `row` has `b.cols` elements, and the follower accepted rows of `out`.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    unsafe fn multiply_spread(
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        row: Option<&[Self]>,
        out: *mut Self,
        follower: Option<&dyn Follower>,
    );
}

/// A floating-point product that can be scaled and added to its output.
pub(crate) trait ScaledProduct: Product {
    /// Writes `factor * a * b` to the rows `out`, `out + row_step`, .., or adds it to them if `keep` is true.
    ///
    /// # Safety
    /// As for [`Product::multiply`]; the rows must be initialised.
    unsafe fn multiply_scaled(
        factor: Self,
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        keep: bool,
        out: *mut Self,
        row_step: usize,
    );
}

macro_rules! product_in_blocks {
    ($($float:ty),*) => { $(
        impl Product for $float {
            #[inline(always)]
            fn multiply_add(sum: $float, a: $float, b: $float) -> $float {
                sum + a * b
            }

            unsafe fn multiply(a: Matrix<'_, Self>, b: Matrix<'_, Self>, out: *mut Self, row_step: usize) {
                if a.rows.saturating_mul(b.cols).saturating_mul(a.cols) <= SMALL && is_small(&b, row_step) {
                    // SAFETY: `is_small` implies `row_step == b.cols`, so the rows that the caller owns are one slice.
                    return multiply_small(a, b, unsafe { std::slice::from_raw_parts_mut(out, a.rows * b.cols) });
                }
                // SAFETY: both require what the caller of `Product::multiply` guarantees: operands within their data, and rows of `out`
                // that are ours.
                unsafe {
                    match a.rows.min(b.cols) <= FEW {
                        true => multiply_few(a, b, out, row_step),
                        false => blocked::multiply(1.0, a, b, None, out, row_step, Threads::One),
                    }
                }
            }

            fn is_spread(a: &Matrix<'_, Self>, b: &Matrix<'_, Self>) -> bool {
                a.rows.min(b.cols) > FEW && a.cols > 0
            }

            #[allow(private_interfaces)]
            unsafe fn multiply_spread(
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                row: Option<&[Self]>,
                out: *mut Self,
                follower: Option<&dyn Follower>,
            ) {
                let added = row.map(|row| Added { start: row.as_ptr(), row_step: 0 });
                // SAFETY: operands and rows of `out` are as for `Product::multiply`; `row` is initialised, has `b.cols` elements and is
                // repeated; rows of `out` are `b.cols` apart, without gaps, and the follower accepted them.
                unsafe { blocked::multiply(1.0, a, b, added, out, b.cols, Threads::Many(follower)) };
            }
        }

        impl ScaledProduct for $float {
            unsafe fn multiply_scaled(
                factor: Self,
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                keep: bool,
                out: *mut Self,
                row_step: usize,
            ) {
                let added = keep.then_some(Added { start: out.cast_const(), row_step });
                // SAFETY: operands and rows of `out` are as for `Product::multiply`; `added` is `out`, whose rows are initialised.
                unsafe { blocked::multiply(factor, a, b, added, out, row_step, Threads::One) }
            }
        }
    )* };
}
product_in_blocks!(f32, f64);

/// Products in which one side has few rows or columns; nothing is packed.
///
/// # Safety
/// As for [`Product::multiply`].
unsafe fn multiply_few<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, out: *mut T, row_step: usize) {
    if a.rows <= FEW {
        // SAFETY: it requires what the caller guarantees.
        return unsafe { by_rows(a, b, out, row_step, multiply_vector) };
    }
    let mut column = Buffer::<T>::new(a.rows);
    for j in 0..b.cols {
        multiply_vector(b.some_cols(j, 1).transpose(), a.transpose(), &mut column);
        for (i, &value) in column.iter().enumerate() {
            // SAFETY: `i < a.rows` and `j < b.cols`, so the element is valid and the caller's.
            unsafe { *out.add(i * row_step + j) = value };
        }
    }
}

/// `out = row * b`, with the same bits for any memory layout of `b`: sums of blocks, with as many chains as there are lanes.
fn multiply_vector<T: Product>(row: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
    out.fill(T::ZERO);
    if b.row_stride == 1 && b.col_stride != 1 {
        let numbers = Buffer::from_elements(row.cols, (0..row.cols).map(|k| row.get(0, k)));
        for (j, out) in out.iter_mut().enumerate() {
            let column = b.some_cols(j, 1);
            let column = &column.data[column.offset..][..b.rows];
            if column.len() <= BLOCK {
                *out = dot(&numbers, column);
                continue;
            }
            for (numbers, column) in numbers.chunks(BLOCK).zip(column.chunks(BLOCK)) {
                *out = out.wrapping_plus(dot(numbers, column));
            }
        }
        return;
    }
    let lanes = SUMS.min(b.rows);
    let is_narrow = lanes * b.cols <= NEAR && b.col_stride == 1;
    let mut sums = Buffer::<T>::new(if is_narrow { lanes * b.cols } else { b.cols });
    for first in (0..b.rows).step_by(BLOCK) {
        let count = BLOCK.min(b.rows - first);
        let (row, b) = (row.some_cols(first, count), b.some_rows(first, count));
        match is_narrow {
            true => add_short_rows(row, b, &mut sums),
            false => add_lanes(row, b, (0, 1), &mut sums),
        }
        loop2_in_place(out, &sums[..b.cols], T::wrapping_plus);
    }
}

/// The number of lanes of a sum: lane `l` adds the products `l, l + SUMS, ..` of a block, and lanes are added in halves.
const SUMS: usize = 16;
const BLOCK: usize = CHAIN * SUMS;

vectorised! {
    /// The sum of a block.
    fn dot[T: Product](a: &[T], b: &[T]) -> T {
        let mut sums = [T::ZERO; SUMS];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
        for (a, b) in a.iter().zip(b) {
            for lane in 0..SUMS {
                sums[lane] = T::multiply_add(sums[lane], a[lane], b[lane]);
            }
        }
        for (sum, (&a, &b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
            *sum = T::multiply_add(*sum, a, b);
        }
        add_halves(&mut sums, 1);
        sums[0]
    }
}

/// Adds adjacent lanes of `width` elements each to the first one.
#[inline(always)]
fn add_halves<T: Product>(lanes: &mut [T], width: usize) {
    let mut count = SUMS;
    while count > 1 {
        count /= 2;
        let end = lanes.len().min(2 * count * width);
        if let Some((lanes, others)) = lanes[..end].split_at_mut_checked(count * width) {
            for (lane, &other) in lanes.iter_mut().zip(&*others) {
                *lane = lane.wrapping_plus(other);
            }
        }
    }
}

/// The number of lane elements that stay in the nearest cache.
const NEAR: usize = 4096;

vectorised! {
    /// The sums of a block of short rows, written to the first lane.
    fn add_short_rows[T: Product](row: Matrix<'_, T>, b: Matrix<'_, T>, lanes: &mut [T]) {
        lanes.fill(T::ZERO);
        let (mut factor_at, mut row_at) = (row.offset as isize, b.offset as isize);
        for k in 0..b.rows {
            let factor = row.data[factor_at as usize];
            let lane = &mut lanes[k % SUMS * b.cols..][..b.cols];
            for (sum, &b) in lane.iter_mut().zip(&b.data[row_at as usize..]) {
                *sum = T::multiply_add(*sum, factor, b);
            }
            factor_at += row.col_stride;
            row_at += b.row_stride;
        }
        add_halves(lanes, b.cols);
    }
}

/// The sums of some lanes of a block: every `step`th from `first` on.
fn add_lanes<T: Product>(row: Matrix<'_, T>, b: Matrix<'_, T>, (first, step): (usize, usize), sums: &mut [T]) {
    if step == SUMS {
        return add_rows(row, b, first, step, sums);
    }
    add_lanes(row, b, (first, 2 * step), sums);
    if first + step < b.rows {
        let mut others = Buffer::<T>::new(sums.len());
        add_lanes(row, b, (first + step, 2 * step), &mut others);
        loop2_in_place(sums, &others, T::wrapping_plus);
    }
}

vectorised! {
    /// The sums of every `step`th row from `first` on.
    fn add_rows[T: Product](row: Matrix<'_, T>, b: Matrix<'_, T>, first: usize, step: usize, sums: &mut [T]) {
        sums.fill(T::ZERO);
        for k in (first..b.rows).step_by(step) {
            let factor = row.data[(row.offset as isize + k as isize * row.col_stride) as usize];
            let mut at = b.offset as isize + k as isize * b.row_stride;
            if b.col_stride == 1 {
                for (sum, &b) in sums.iter_mut().zip(&b.data[at as usize..]) {
                    *sum = T::multiply_add(*sum, factor, b);
                }
                continue;
            }
            for sum in sums.iter_mut() {
                *sum = T::multiply_add(*sum, factor, b.data[at as usize]);
                at += b.col_stride;
            }
        }
    }
}

/// The most elements that the right side of a small product may have, padded to full lanes.
const PACKED: usize = 2048;
const LANES: usize = 8;

fn is_small<T>(b: &Matrix<'_, T>, row_step: usize) -> bool {
    row_step == b.cols && b.cols <= PACKED && b.rows <= PACKED && b.cols.next_multiple_of(LANES) * b.rows <= PACKED
}

vectorised! {
    /// The right side is packed on the stack in blocks of eight columns; sums stay in registers.
    fn multiply_small[T: Product](a: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
        let mut packed = [MaybeUninit::<[T; LANES]>::uninit(); PACKED / LANES];
        for col in (0..b.cols).step_by(LANES) {
            let width = LANES.min(b.cols - col);
            let packed = &mut packed[..b.rows];
            for (k, slot) in packed.iter_mut().enumerate() {
                let start = b.offset as isize + k as isize * b.row_stride + col as isize * b.col_stride;
                // Lanes beyond the width hold arbitrary values; they are not stored.
                if b.col_stride == 1
                    && let Some(row) = b.data[start as usize..].first_chunk()
                {
                    slot.write(*row);
                    continue;
                }
                let mut row = [T::ZERO; LANES];
                for (j, value) in row[..width].iter_mut().enumerate() {
                    *value = b.data[(start + j as isize * b.col_stride) as usize];
                }
                slot.write(row);
            }
            for (i, out) in out.chunks_exact_mut(b.cols).enumerate() {
                let mut at = a.offset as isize + i as isize * a.row_stride;
                let mut sums = [T::ZERO; LANES];
                for chain in packed.chunks(CHAIN) {
                    let totals = sums;
                    sums = [T::ZERO; LANES];
                    for row in chain {
                        // SAFETY: the loop above wrote every slot of `packed[..b.rows]`, which this `packed` is.
                        let row = unsafe { row.assume_init_ref() };
                        let factor = a.data[at as usize];
                        for (sum, &b) in sums.iter_mut().zip(row) {
                            *sum = T::multiply_add(*sum, factor, b);
                        }
                        at += a.col_stride;
                    }
                    for (sum, total) in sums.iter_mut().zip(totals) {
                        *sum = T::wrapping_plus(total, *sum);
                    }
                }
                let out = &mut out[col..col + width];
                if let Some(whole) = out.first_chunk_mut() {
                    *whole = sums;
                    continue;
                }
                // Stores one by one: a copy of a few elements would be a call.
                for (j, &sum) in sums.iter().enumerate() {
                    if j < out.len() {
                        out[j] = sum;
                    }
                }
            }
        }
    }
}

impl Product for i64 {
    #[inline(always)]
    fn multiply_add(sum: i64, a: i64, b: i64) -> i64 {
        sum.wrapping_add(a.wrapping_mul(b))
    }

    unsafe fn multiply(a: Matrix<'_, i64>, b: Matrix<'_, i64>, out: *mut i64, row_step: usize) {
        // SAFETY: it requires what the caller of `Product::multiply` guarantees.
        unsafe { by_rows(a, b, out, row_step, |row, b, out| add_rows(row, b, 0, 1, out)) };
    }

    fn is_spread(_: &Matrix<'_, i64>, _: &Matrix<'_, i64>) -> bool {
        false
    }

    #[allow(private_interfaces)]
    unsafe fn multiply_spread(
        _: Matrix<'_, i64>,
        _: Matrix<'_, i64>,
        _: Option<&[i64]>,
        _: *mut i64,
        _: Option<&dyn Follower>,
    ) {
        unreachable!("integers are cut into tiles")
    }
}

/// Calls `multiply(row of a, b, row of out)` for every row.
///
/// # Safety
/// As for [`Product::multiply`].
unsafe fn by_rows<T: Product>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    out: *mut T,
    row_step: usize,
    multiply: impl Fn(Matrix<'_, T>, Matrix<'_, T>, &mut [T]),
) {
    for i in 0..a.rows {
        // SAFETY: `i < a.rows`, so these `b.cols` elements are valid and the caller's; one row is borrowed at a time.
        multiply(a.some_rows(i, 1), b, unsafe { std::slice::from_raw_parts_mut(out.add(i * row_step), b.cols) });
    }
}
