//! Sums and maxima of one row, to be inlined into vectorised loops.
//!
//! Blocks of 1024 elements add up in 32 lanes, the lanes in halves, the blocks in `f64`: an `f32` sum over any length
//! carries the error of about 40 additions.

use super::Float;

/// Elements of one block; also the size of scratch tiles, so a block stays in the first-level cache.
pub(crate) const BLOCK: usize = 1024;
const LANES: usize = 32;

/// The largest element, NaN passed over; minus infinity when there is none.
#[inline(always)]
pub(crate) fn max_of<T: Float>(values: &[T]) -> T {
    let larger = |a: T, b: T| if b > a { b } else { a };
    if values.len() < LANES {
        return values.iter().fold(-T::INFINITY, |best, &value| larger(best, value));
    }
    let mut lanes = [-T::INFINITY; LANES];
    let (chunks, tail) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(tail) {
        *lane = larger(*lane, value);
    }
    halves(lanes, larger)
}

#[inline(always)]
fn halves<T: Float>(mut lanes: [T; LANES], join: impl Fn(T, T) -> T) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = join(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// The sum of at most [`BLOCK`] elements.
#[inline(always)]
pub(crate) fn sum_block<T: Float>(values: &[T]) -> T {
    if values.len() < LANES {
        return values.iter().fold(T::ZERO, |sum, &value| sum + value);
    }
    let mut lanes = [T::ZERO; LANES];
    let (chunks, tail) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = *lane + value;
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(tail) {
        *lane = *lane + value;
    }
    halves(lanes, |a, b| a + b)
}

/// `sum of a[i] * b[i]` over at most [`BLOCK`] elements.
#[inline(always)]
pub(crate) fn dot_block<T: Float>(a: &[T], b: &[T]) -> T {
    if a.len() < LANES {
        return a.iter().zip(b).fold(T::ZERO, |sum, (&a, &b)| sum + a * b);
    }
    let mut lanes = [T::ZERO; LANES];
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = *lane + a * b;
        }
    }
    for ((lane, &a), &b) in lanes.iter_mut().zip(a_tail).zip(b_tail) {
        *lane = *lane + a * b;
    }
    halves(lanes, |a, b| a + b)
}

/// The sum of a row of any length.
#[inline(always)]
pub(crate) fn sum_of<T: Float>(values: &[T]) -> f64 {
    values.chunks(BLOCK).fold(0.0, |sum, block| sum + sum_block(block).to_f64())
}

/// `sum of a[i] * b[i]` over a row of any length.
#[inline(always)]
pub(crate) fn dot_of<T: Float>(a: &[T], b: &[T]) -> f64 {
    a.chunks(BLOCK).zip(b.chunks(BLOCK)).fold(0.0, |sum, (a, b)| sum + dot_block(a, b).to_f64())
}

/// `out[i] = e^(x[i] - shift)`; returns the sum.
#[inline(always)]
pub(crate) fn exponentials<T: Float>(x: &[T], shift: T, out: &mut [T]) -> f64 {
    let mut sum = 0.0;
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = (x - shift).exp();
        }
        sum += sum_block(out).to_f64();
    }
    sum
}

/// `sum of e^(x[i] - shift)`.
#[inline(always)]
pub(crate) fn sum_of_exponentials<T: Float>(x: &[T], shift: T, scratch: &mut [T; BLOCK]) -> f64 {
    x.chunks(BLOCK).fold(0.0, |sum, x| sum + exponentials(x, shift, &mut scratch[..x.len()]))
}
