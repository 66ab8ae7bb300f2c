//! Matrix products `C = A B`: `c[i][j] = sum over k of a[i][k] * b[k][j]`.
//!
//! Large products of floats are packed and computed in blocks; others are cut into tiles, each computed on one thread. Deep products are
//! cut along the inner dimension (`chain`); with small results, these parts are tasks. All cuts depend only on the shape, so the bits do
//! not depend on the number of threads. Integers wrap around.

mod blocked;
mod matrix;
mod product;
mod tile;

pub use matrix::Matrix;
pub use product::Product;
pub(crate) use product::ScaledProduct;
pub(crate) use tile::Tile;

use crate::chain::{self, CHAIN, DEPTH};
use crate::follow;
use crate::map::loop2_in_place;
use crate::pool::Buffer;
use crate::threads::{Disjoint, for_each_chunk, for_each_tile};

/// The number of floating-point operations below which a parallel region costs more than it saves.
const PARALLEL_WORK: usize = 2_000_000;

/// A tile with this much work is cut again for machines with many cores.
const LARGE_TILE_WORK: usize = 64_000_000;

/// Up to this many elements in the result, tasks are parts of the inner dimension.
const SMALL_RESULT: usize = 1 << 15;

/// The most parts that an inner dimension is cut into, and the work of each.
const MOST_PARTS: usize = 64;
const PART_WORK: usize = 8_000_000;

fn work(rows: usize, cols: usize, depth: usize) -> usize {
    rows.saturating_mul(cols).saturating_mul(depth).saturating_mul(2)
}

/// `out = a * b`, where `out` is row-major with `a.rows * b.cols` elements and is overwritten.
///
/// ```
/// use wengert_kernels::{Matrix, matmul};
/// let a = Matrix { data: &[1.0, 2.0, 3.0, 4.0], offset: 0, rows: 2, cols: 2, row_stride: 2, col_stride: 1 };
/// let transpose = Matrix { row_stride: 1, col_stride: 2, ..a };
/// let mut out = [0.0; 4];
/// matmul(a, transpose, &mut out);
/// assert_eq!(out, [5.0, 11.0, 11.0, 25.0]);
/// ```
pub fn matmul<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
    expect_sizes(&a, &b, out.len(), 1);
    a.expect_bounds();
    b.expect_bounds();
    multiply(a, b, None, out);
}

/// The same with `row` added to every row; for large products, in the same pass that writes the rows.
///
/// ```
/// use wengert_kernels::{Matrix, matmul::matmul_plus};
/// let a = Matrix { data: &[1.0, 2.0, 3.0, 4.0], offset: 0, rows: 2, cols: 2, row_stride: 2, col_stride: 1 };
/// let mut out = [0.0; 4];
/// matmul_plus(a, a.transpose(), &[100.0, 200.0], &mut out);
/// assert_eq!(out, [105.0, 211.0, 111.0, 225.0]);
/// ```
pub fn matmul_plus<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, row: &[T], out: &mut [T]) {
    expect_sizes(&a, &b, out.len(), 1);
    assert_eq!(row.len(), b.cols, "matmul_plus: a row for {} columns", b.cols);
    a.expect_bounds();
    b.expect_bounds();
    multiply(a, b, Some(row), out);
}

/// Many products of equal sizes; the results are adjacent in `out`.
///
/// ```
/// use wengert_kernels::{Matrix, matmul_many};
/// let row = Matrix { data: &[1, 2, 3, 4], offset: 0, rows: 1, cols: 2, row_stride: 2, col_stride: 1 };
/// let column = Matrix { data: &[5, 6], offset: 0, rows: 2, cols: 1, row_stride: 1, col_stride: 1 };
/// let mut out = [0i64; 2];
/// matmul_many(&[(row, column), (Matrix { offset: 2, ..row }, column)], &mut out);
/// assert_eq!(out, [17, 39]);
/// ```
pub fn matmul_many<T: Product>(pairs: &[(Matrix<'_, T>, Matrix<'_, T>)], out: &mut [T]) {
    let Some((a, b)) = pairs.first() else {
        return assert!(out.is_empty(), "matmul_many: no products for {} outputs", out.len());
    };
    expect_sizes(a, b, out.len(), pairs.len());
    for (other_a, other_b) in pairs {
        assert!(
            (other_a.rows, other_a.cols, other_b.rows, other_b.cols) == (a.rows, a.cols, b.rows, b.cols),
            "matmul_many: products of different sizes"
        );
        other_a.expect_bounds();
        other_b.expect_bounds();
    }
    multiply_each(pairs.len(), &|i| pairs[i], out);
}

/// `count` products of matrices that are `steps` elements apart on either side; a step of 0 repeats one matrix.
///
/// ```
/// use wengert_kernels::{Matrix, matmul::matmul_batch};
/// let row = Matrix { data: &[1, 2, 3, 4], offset: 0, rows: 1, cols: 2, row_stride: 2, col_stride: 1 };
/// let column = Matrix { data: &[5, 6], offset: 0, rows: 2, cols: 1, row_stride: 1, col_stride: 1 };
/// let mut out = [0i64; 2];
/// matmul_batch(row, column, [2, 0], 2, &mut out);
/// assert_eq!(out, [17, 39]);
/// ```
pub fn matmul_batch<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, steps: [isize; 2], count: usize, out: &mut [T]) {
    expect_sizes(&a, &b, out.len(), count);
    let Some(last) = count.checked_sub(1) else { return };
    a.expect_moves(last, steps[0]);
    b.expect_moves(last, steps[1]);
    multiply_each(count, &|i| (a.moved(i, steps[0]), b.moved(i, steps[1])), out);
}

/// The caller has checked the sizes and bounds of all pairs.
fn multiply_each<'a, T: Product>(
    count: usize,
    pair: &(impl Fn(usize) -> (Matrix<'a, T>, Matrix<'a, T>) + Sync),
    out: &mut [T],
) {
    let (a, b) = pair(0);
    let each = a.rows * b.cols;
    if each == 0 {
        return;
    }
    let one = work(a.rows, b.cols, a.cols);
    if one >= LARGE_TILE_WORK / 2 {
        for (i, out) in out.chunks_exact_mut(each).enumerate() {
            let (a, b) = pair(i);
            multiply(a, b, None, out);
        }
        return;
    }
    let all = one.saturating_mul(count);
    let group = if all < PARALLEL_WORK { count } else { (PARALLEL_WORK / 2).div_ceil(one.max(1)) };
    for_each_chunk(out, group * each, &|index, out| {
        for (i, out) in out.chunks_exact_mut(each).enumerate() {
            let (a, b) = pair(index * group + i);
            multiply_alone(a, b, out);
        }
    });
}

/// One product on this thread. The caller has checked sizes and bounds.
fn multiply_alone<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
    chain::in_parts(a.cols, out, |part, out| {
        let (a, b) = (a.some_cols(part.start, part.len()), b.some_rows(part.start, part.len()));
        // SAFETY: callers checked with `expect_sizes` that both sides have the same inner size and that `out` has `a.rows` rows of `b.cols`
        // elements, and with `expect_bounds` or `expect_moves` that both lie in their data. So these columns and rows do too.
        unsafe { T::multiply(a, b, out.as_mut_ptr(), b.cols) };
    });
}

fn expect_sizes<T>(a: &Matrix<'_, T>, b: &Matrix<'_, T>, length: usize, count: usize) {
    assert_eq!(a.cols, b.rows, "matmul: {}x{} times {}x{}", a.rows, a.cols, b.rows, b.cols);
    // A product that overflows never matches a length.
    let wanted = a.rows.saturating_mul(b.cols).saturating_mul(count);
    assert_eq!(length, wanted, "matmul: the output must hold {count} times {}x{}", a.rows, b.cols);
}

/// The caller has checked sizes and bounds.
fn multiply<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, added: Option<&[T]>, out: &mut [T]) {
    let (rows, cols) = (a.rows, b.cols);
    if rows == 0 || cols == 0 {
        return;
    }
    let (tile_rows, tile_cols) = tile_size(rows, cols, a.cols);
    let across = cols.div_ceil(tile_cols);
    let is_deep = a.cols > DEPTH;
    if work(rows, cols, a.cols) <= PARALLEL_WORK || ((tile_rows, tile_cols) == (rows, cols) && !is_deep) {
        multiply_alone(a, b, out);
    } else if is_deep && rows * cols <= SMALL_RESULT {
        multiply_in_parts(a, b, out);
    } else if is_deep {
        chain::in_parts(a.cols, out, |part, out| {
            multiply(a.some_cols(part.start, part.len()), b.some_rows(part.start, part.len()), None, out);
        });
    } else if T::is_spread(&a, &b) {
        let (start, length) = (out.as_mut_ptr(), out.len());
        let followed = blocked::completes_rows(&a, &b);
        // SAFETY: sizes and bounds are checked as above, `out` has `rows` rows of `cols` elements, and `matmul_plus` compared `added` with
        // `cols`. `out` is our output, and the follower is not used after this function has returned. It accepted parts of multiples of a
        // row, from `MOST_TASKS` tasks, which `completes_rows` allows.
        return unsafe {
            let follower = if followed { follow::of(start, length, cols, blocked::MOST_TASKS) } else { None };
            T::multiply_spread(a, b, added, start, follower)
        };
    } else {
        let out = Disjoint::new(out);
        for_each_tile(rows.div_ceil(tile_rows) * across, &|tile| {
            let (row, col) = (tile / across * tile_rows, tile % across * tile_cols);
            let a = a.some_rows(row, tile_rows.min(rows - row));
            let b = b.some_cols(col, tile_cols.min(cols - col));
            // SAFETY: these are rows of a checked `a` and columns of a checked `b`. Tiles are different rows or different columns, each
            // index comes once, and `row < rows`, `col < cols`. So each tile writes its own elements of `rows` rows of `cols`.
            unsafe { T::multiply(a, b, out.pointer(row * cols + col), cols) };
        });
    }
    if let Some(added) = added {
        for row in out.chunks_exact_mut(cols) {
            loop2_in_place(row, added, T::wrapping_plus);
        }
    }
}

/// Small results of deep products: the sum is cut into fixed parts, which are totalled in order.
fn multiply_in_parts<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, out: &mut [T]) {
    let parts = (work(a.rows, b.cols, a.cols) / PART_WORK).clamp(2, MOST_PARTS);
    let depth = a.cols.div_ceil(parts).next_multiple_of(CHAIN);
    let each = out.len();
    let mut sums = Buffer::<T>::new(each * a.cols.div_ceil(depth));
    for_each_chunk(&mut sums, each, &|part, sums| {
        let first = part * depth;
        let count = depth.min(a.cols - first);
        multiply_alone(a.some_cols(first, count), b.some_rows(first, count), sums);
    });
    let mut totals = chain::Totals::new();
    sums.chunks_exact(each).for_each(|sums| totals.take(sums));
    out.fill(T::ZERO);
    totals.finish(out);
}

/// Halves the longer side while that pays off: first until there are enough tiles for few cores, then, for large tiles, for many.
fn tile_size(rows: usize, cols: usize, depth: usize) -> (usize, usize) {
    if work(rows, cols, depth) <= PARALLEL_WORK {
        return (rows, cols);
    }
    let (mut tile_rows, mut tile_cols) = (rows, cols);
    loop {
        let tiles = rows.div_ceil(tile_rows) * cols.div_ceil(tile_cols);
        let tile = work(tile_rows, tile_cols, depth);
        let worth_cutting = (tiles < 8 && tile > PARALLEL_WORK) || (tiles < 256 && tile > LARGE_TILE_WORK);
        if !worth_cutting {
            return (tile_rows, tile_cols);
        }
        let (fewer_rows, fewer_cols) =
            (tile_rows.div_ceil(2).next_multiple_of(16), tile_cols.div_ceil(2).next_multiple_of(64));
        if fewer_cols < tile_cols && (tile_cols >= tile_rows || fewer_rows >= tile_rows) {
            tile_cols = fewer_cols;
        } else if fewer_rows < tile_rows {
            tile_rows = fewer_rows;
        } else {
            return (tile_rows, tile_cols);
        }
    }
}

#[cfg(test)]
mod tests;
