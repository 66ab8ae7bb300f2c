//! One block of scores: up to [`QUERIES`] rows by up to [`KEYS`] columns, on one thread.

use super::{Attention, Heads, MaskData};
use crate::matmul::Matrix;
use crate::pool::Block as Memory;
use crate::rows::{Float, finite_or_zero, max_of, sum_block};
use crate::simd::vectorised;
use std::ops::Range;

pub(super) const QUERIES: usize = 64;
pub(super) const KEYS: usize = 128;

/// The number of visible scores in a row is rounded up to a multiple of this: a few extra scores cost less than a ragged end.
const VECTOR: usize = 16;

/// Pooled memory for `count` blocks of scores.
pub(super) fn scratch<T: Float>(count: usize) -> Memory {
    Memory::new(count * QUERIES * KEYS * size_of::<T>())
}

/// A block of scores as a matrix.
pub(super) fn square<T>(data: &[T], columns: usize) -> Matrix<'_, T> {
    let rows = data.len() / columns;
    Matrix { data, offset: 0, rows, cols: columns, row_stride: columns as isize, col_stride: 1 }
}

/// A block of queries against a block of keys, of one head.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) head: (usize, usize),
    pub(super) queries: Range<usize>,
    pub(super) keys: Range<usize>,
}

impl Block {
    /// Writes `scale q k^T + mask`, row by row without gaps.
    pub(super) fn scores<T: Float>(
        &self,
        attention: &Attention<'_, T>,
        q: &Heads<'_, T>,
        k: &Heads<'_, T>,
        scores: &mut [T],
    ) {
        let columns = self.keys.len();
        let scores = &mut scores[..self.queries.len() * columns];
        let q = q.tokens(self.head, self.queries.clone(), attention.width);
        let k = k.tokens(self.head, self.keys.clone(), attention.width).transpose();
        // SAFETY: `attention` and `attention_gradient` checked with `Place::expect` that all tokens of `q` and `k` lie in their data, and
        // these belong to one head. Both have rows of `width`; `scores` was cut to a row of `columns` for each query.
        unsafe { T::multiply_scaled(attention.scale, q, k, false, scores.as_mut_ptr(), columns) };
        if let Some(mask) = &attention.mask {
            for (row, scores) in self.queries.clone().zip(scores.chunks_exact_mut(columns)) {
                let (b, h) = self.head;
                let start = b * mask.batch + h * mask.head + row * mask.query + self.keys.start * mask.key;
                match mask.data {
                    MaskData::Added(numbers) => add_mask(scores, &numbers[start..], mask.key),
                    MaskData::Seen(truths) => hide_unseen(scores, &truths[start..], mask.key),
                }
            }
        }
    }

    /// The scores of query `row` of the block, up to the last key it sees, rounded up to full vectors. Hidden keys among them are set to
    /// minus infinity; the scores after them are set to 0.
    #[inline(always)]
    fn seen<'a, T: Float>(&self, causal: bool, row: usize, scores: &'a mut [T]) -> &'a mut [T] {
        if !causal {
            return scores;
        }
        let seen = (self.queries.start + row + 1).saturating_sub(self.keys.start).min(scores.len());
        let (scores, unseen) = scores.split_at_mut(seen.next_multiple_of(VECTOR).min(scores.len()));
        unseen.fill(T::ZERO);
        scores[seen..].fill(-T::INFINITY);
        scores
    }
}

vectorised! {
    fn add_mask[T: Float](scores: &mut [T], added: &[T], step: usize) {
        if step == 1 {
            for (score, &added) in scores.iter_mut().zip(added) {
                *score = *score + added;
            }
        } else {
            for (j, score) in scores.iter_mut().enumerate() {
                *score = *score + added[j * step];
            }
        }
    }
}

vectorised! {
    fn hide_unseen[T: Float](scores: &mut [T], seen: &[u8], step: usize) {
        if step == 1 {
            for (score, &seen) in scores.iter_mut().zip(seen) {
                *score = if seen == 0 { -T::INFINITY } else { *score };
            }
        } else {
            for (j, score) in scores.iter_mut().enumerate() {
                *score = if seen[j * step] == 0 { -T::INFINITY } else { *score };
            }
        }
    }
}

/// The running softmax statistics of each row, after some blocks of keys.
pub(super) struct Running<T> {
    /// The largest score.
    pub(super) largest: [T; QUERIES],
    /// The sum of `e^(score - largest)`.
    pub(super) total: [T; QUERIES],
    /// The factor by which the output so far must be rescaled.
    pub(super) correction: [T; QUERIES],
}

impl<T: Float> Running<T> {
    pub(super) fn new() -> Running<T> {
        Running { largest: [-T::INFINITY; QUERIES], total: [T::ZERO; QUERIES], correction: [T::ONE; QUERIES] }
    }
}

vectorised! {
    /// Turns scores into `e^(score - largest)`, 0 where the key is not seen.
    pub(super) fn absorb[T: Float](block: &Block, causal: bool, scores: &mut [T], running: &mut Running<T>) {
        let before = running.largest;
        let mut sums = [T::ZERO; QUERIES];
        for (row, scores) in scores.chunks_exact_mut(block.keys.len()).enumerate() {
            let scores = block.seen(causal, row, scores);
            let largest = max_of(scores);
            let largest = if largest > before[row] { largest } else { before[row] };
            let shift = finite_or_zero(largest);
            for score in scores.iter_mut() {
                *score = (*score - shift).exp();
            }
            sums[row] = sum_block(scores);
            running.largest[row] = largest;
        }
        for (row, &before) in before.iter().enumerate() {
            let correction = (before - finite_or_zero(running.largest[row])).exp();
            running.correction[row] = correction;
            running.total[row] = running.total[row] * correction + sums[row];
        }
    }
}

vectorised! {
    /// Turns scores into `p = e^(score - lse)`, 0 where the key is not seen and in rows that see none.
    pub(super) fn probabilities[T: Float](block: &Block, causal: bool, scores: &mut [T], lse: &[T]) {
        for (row, (scores, &lse)) in scores.chunks_exact_mut(block.keys.len()).zip(lse).enumerate() {
            let lse = if lse == -T::INFINITY { T::INFINITY } else { lse };
            for score in block.seen(causal, row, scores) {
                *score = (*score - lse).exp();
            }
        }
    }
}

vectorised! {
    /// `slopes = p (slopes - delta)`.
    pub(super) fn softmax_slopes[T: Float](columns: usize, p: &[T], delta: &[T], slopes: &mut [T]) {
        for ((slopes, p), &delta) in slopes.chunks_exact_mut(columns).zip(p.chunks_exact(columns)).zip(delta) {
            for (slope, &p) in slopes.iter_mut().zip(p) {
                *slope = p * (*slope - delta);
            }
        }
    }
}
