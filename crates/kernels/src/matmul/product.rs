//! One product on one thread: in blocks for floats, plain loops for integers, small matrices and single rows. In blocks,
//! subnormal numbers count as zero.

use super::blocked::Threads;
use super::tile::Added;
use super::{Matrix, blocked};
use crate::dtype::Compute;
use crate::follow::Follower;
use crate::pool::Buffer;
use crate::simd::vectorised;
use std::mem::MaybeUninit;

/// Multiplications up to which plain loops beat packing.
const SMALL: usize = 1500;

/// Rows or columns up to which reading a matrix again for each of them beats packing it.
const FEW: usize = 3;

/// A compute type that matrices can be multiplied in: `f32`, `f64` or `i64`.
///
/// ```
/// fn needs_product<T: wengert_kernels::Product>() {}
/// needs_product::<f32>();
/// needs_product::<i64>();
/// ```
pub trait Product: Compute {
    /// `sum + a * b`; integers wrap around.
    #[doc(hidden)]
    fn multiply_add(sum: Self, a: Self, b: Self) -> Self;

    /// Writes `a * b` to the rows `out`, `out + row_step`, ..
    ///
    /// # Safety
    /// `a` and `b` lie within their data and `a.cols == b.rows`; for each row `i < a.rows` the elements
    /// `out[i * row_step..][..b.cols]` are valid for writes and nobody else accesses them.
    #[doc(hidden)]
    unsafe fn multiply(a: Matrix<'_, Self>, b: Matrix<'_, Self>, out: *mut Self, row_step: usize);

    /// Whether a large product had better not be cut into tiles.
    #[doc(hidden)]
    fn is_spread(a: &Matrix<'_, Self>, b: &Matrix<'_, Self>) -> bool;

    /// The same on several threads, where [`is_spread`](Product::is_spread) says so: `row` is added to every row, and
    /// `follower` told of rows that are complete.
    ///
    /// # Safety
    /// As for [`Product::multiply`]; `row` has `b.cols` elements, and the follower agreed to rows of `out`.
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

/// A floating-point product that can be scaled and added to what is there.
pub(crate) trait ScaledProduct: Product {
    /// Writes `factor * a * b` to the rows `out`, `out + row_step`, .., or adds it to them when `keep` is true.
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
                    // SAFETY: `is_small` says `row_step == b.cols`, so that the rows which the caller owns are one slice.
                    return multiply_small(a, b, unsafe { std::slice::from_raw_parts_mut(out, a.rows * b.cols) });
                }
                // SAFETY: both ask for what the caller of `Product::multiply` promised: operands within their data, and rows of `out`
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
                // repeated; rows of `out` are `b.cols` apart, without gaps, and the follower agreed to them.
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
                // SAFETY: operands and rows of `out` are as for `Product::multiply`; what is added is `out`, whose rows are initialised.
                unsafe { blocked::multiply(factor, a, b, added, out, row_step, Threads::One) }
            }
        }
    )* };
}
product_in_blocks!(f32, f64);

/// Products with a side of few rows or columns: nothing is packed.
///
/// # Safety
/// As for [`Product::multiply`].
unsafe fn multiply_few<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, out: *mut T, row_step: usize) {
    if a.rows <= FEW {
        for i in 0..a.rows {
            // SAFETY: `i < a.rows`, so that these `b.cols` elements are valid and the caller's; one row is borrowed at a time.
            let row = unsafe { std::slice::from_raw_parts_mut(out.add(i * row_step), b.cols) };
            multiply_vector(a.some_rows(i, 1), b, row);
        }
        return;
    }
    let mut column = Buffer::<T>::new(a.rows);
    for j in 0..b.cols {
        multiply_vector(b.some_cols(j, 1).transpose(), a.transpose(), &mut column);
        for (i, &value) in column.iter().enumerate() {
            // SAFETY: `i < a.rows` and `j < b.cols`, so that the element is valid and the caller's.
            unsafe { *out.add(i * row_step + j) = value };
        }
    }
}

/// `out = row * b`, whichever way `b` lies in memory.
fn multiply_vector<T: Product>(row: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
    if b.row_stride != 1 || b.col_stride == 1 {
        return multiply_row(row, b, out);
    }
    let numbers = Buffer::from_elements(row.cols, (0..row.cols).map(|k| row.get(0, k)));
    for (j, out) in out.iter_mut().enumerate() {
        let column = b.some_cols(j, 1);
        *out = multiply_dot(&numbers, &column.data[column.offset..][..b.rows]);
    }
}

vectorised! {
    /// Sums of 32 lanes, which are added at the end.
    fn multiply_dot[T: Product](a: &[T], b: &[T]) -> T {
        const SUMS: usize = 32;
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
        let mut count = SUMS;
        while count > 1 {
            count /= 2;
            for lane in 0..count {
                sums[lane] = T::wrapping_plus(sums[lane], sums[lane + count]);
            }
        }
        sums[0]
    }
}

/// Elements of the right side, padded to whole lanes, that a small product may have.
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
                // Lanes behind the width hold what is there: they are not stored.
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
                for row in packed.iter() {
                    // SAFETY: the loop above wrote every slot of `packed[..b.rows]`, which this `packed` is.
                    let row = unsafe { row.assume_init_ref() };
                    let factor = a.data[at as usize];
                    for (sum, &b) in sums.iter_mut().zip(row) {
                        *sum = T::multiply_add(*sum, factor, b);
                    }
                    at += a.col_stride;
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
        // SAFETY: it asks for what the caller of `Product::multiply` promised.
        unsafe { multiply_by_rows(a, b, out, row_step) };
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

/// `c[i] = sum over k of a[i][k] * b[k]`, row by row, so that dense rows of `b` are read in order.
///
/// # Safety
/// As for [`Product::multiply`].
unsafe fn multiply_by_rows<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, out: *mut T, row_step: usize) {
    for i in 0..a.rows {
        // SAFETY: `i < a.rows`, so that these `b.cols` elements are valid and the caller's; one row is borrowed at a time.
        let row = unsafe { std::slice::from_raw_parts_mut(out.add(i * row_step), b.cols) };
        multiply_row(a.some_rows(i, 1), b, row);
    }
}

vectorised! {
    fn multiply_row[T: Product](a: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
        out.fill(T::ZERO);
        let (mut factor_at, mut row_at) = (a.offset as isize, b.offset as isize);
        for _ in 0..b.rows {
            let factor = a.data[factor_at as usize];
            if b.col_stride == 1 {
                for (out, &b) in out.iter_mut().zip(&b.data[row_at as usize..]) {
                    *out = T::multiply_add(*out, factor, b);
                }
            } else {
                let mut at = row_at;
                for out in out.iter_mut() {
                    *out = T::multiply_add(*out, factor, b.data[at as usize]);
                    at += b.col_stride;
                }
            }
            factor_at += a.col_stride;
            row_at += b.row_stride;
        }
    }
}
