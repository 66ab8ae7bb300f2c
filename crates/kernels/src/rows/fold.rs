//! Sums and maxima of one row, to be inlined into vectorised loops. They are plain `for` loops: the compiler may leave the closure of an
//! `Iterator::fold` as a call to code for the baseline instruction set.
//!
//! Blocks of 1024 elements are summed in 32 lanes, the lanes in halves, the blocks in `f64`. So an `f32` sum of any length has the error of
//! about 40 additions.

use super::Float;

/// The number of elements in a block; also the size of scratch tiles, so a block stays in the first-level cache.
pub(crate) const BLOCK: usize = 1024;
const LANES: usize = 32;

/// The largest element, ignoring NaN; minus infinity if there is none.
#[inline(always)]
pub(crate) fn max_of<T: Float>(values: &[T]) -> T {
    let larger = |a: T, b: T| if b > a { b } else { a };
    if values.len() < LANES {
        let mut best = -T::INFINITY;
        for &value in values {
            best = larger(best, value);
        }
        return best;
    }
    let mut lanes = [-T::INFINITY; LANES];
    let (chunks, tail) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    for i in 0..tail.len() {
        lanes[i] = larger(lanes[i], tail[i]);
    }
    max_lanes(&lanes)
}

#[inline(always)]
fn halves<T: Float>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> T {
    let mut lanes = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = join(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Not inlined, so that the lanes stay full vectors until they are stored. Otherwise the compiler splits them in the loop, to suit the
/// shuffles of this sum.
#[inline(never)]
fn add_lanes<T: Float>(lanes: &[T; LANES]) -> T {
    halves(lanes, |a, b| a + b)
}

/// Not inlined, for the same reason.
#[inline(never)]
fn max_lanes<T: Float>(lanes: &[T; LANES]) -> T {
    halves(lanes, |a, b| if b > a { b } else { a })
}

/// The sum of at most [`BLOCK`] elements.
#[inline(always)]
pub(crate) fn sum_block<T: Float>(values: &[T]) -> T {
    if values.len() < LANES {
        let mut sum = T::ZERO;
        for &value in values {
            sum = sum + value;
        }
        return sum;
    }
    let mut lanes = [T::ZERO; LANES];
    let (chunks, tail) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = lanes[i] + chunk[i];
        }
    }
    for i in 0..tail.len() {
        lanes[i] = lanes[i] + tail[i];
    }
    add_lanes(&lanes)
}

/// `sum of a[i] * b[i]` over at most [`BLOCK`] elements.
#[inline(always)]
pub(crate) fn dot_block<T: Float>(a: &[T], b: &[T]) -> T {
    if a.len() < LANES {
        let mut sum = T::ZERO;
        for (&a, &b) in a.iter().zip(b) {
            sum = sum + a * b;
        }
        return sum;
    }
    let mut lanes = [T::ZERO; LANES];
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            lanes[i] = lanes[i] + a[i] * b[i];
        }
    }
    for i in 0..a_tail.len().min(b_tail.len()) {
        lanes[i] = lanes[i] + a_tail[i] * b_tail[i];
    }
    add_lanes(&lanes)
}

/// The sum of a row of any length.
#[inline(always)]
pub(crate) fn sum_of<T: Float>(values: &[T]) -> f64 {
    let mut sum = 0.0;
    for block in values.chunks(BLOCK) {
        sum += sum_block(block).to_f64();
    }
    sum
}

/// `sum of a[i] * b[i]` over a row of any length.
#[inline(always)]
pub(crate) fn dot_of<T: Float>(a: &[T], b: &[T]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        sum += dot_block(a, b).to_f64();
    }
    sum
}

/// Rows shorter than this are exponentiated several at a time.
const SHORT: usize = 256;

/// The number of rows of `n` elements that [`exponentials`] and [`sums_of_exponentials`] process at a time.
#[inline(always)]
pub(crate) fn rows_at_once(n: usize) -> usize {
    if n < SHORT { BLOCK / n.max(1) } else { 1 }
}

/// `out = e^(x - shift of its row)`, for at most [`rows_at_once`] rows of `n` elements.
#[inline(always)]
pub(crate) fn exponentials<T: Float>(x: &[T], n: usize, shifts: &[T], out: &mut [T]) {
    if n < SHORT {
        for ((x, out), &shift) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)).zip(shifts) {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = x - shift;
            }
        }
        for out in out {
            *out = out.exp();
        }
    } else {
        let shift = shifts[0];
        for (out, &x) in out.iter_mut().zip(x) {
            *out = (x - shift).exp();
        }
    }
}

/// `sums[row] = sum of e^(x - shift)`, for at most [`rows_at_once`] rows of `n` elements.
#[inline(always)]
pub(crate) fn sums_of_exponentials<T: Float>(
    x: &[T],
    n: usize,
    shifts: &[T],
    scratch: &mut [T; BLOCK],
    sums: &mut [f64],
) {
    if n < SHORT {
        let scratch = &mut scratch[..x.len()];
        exponentials(x, n, shifts, scratch);
        for (sum, row) in sums.iter_mut().zip(scratch.chunks_exact(n)) {
            *sum = sum_block(row).to_f64();
        }
    } else {
        let mut sum = 0.0;
        for x in x.chunks(BLOCK) {
            let scratch = &mut scratch[..x.len()];
            exponentials(x, SHORT, shifts, scratch);
            sum += sum_block(scratch).to_f64();
        }
        sums[0] = sum;
    }
}
