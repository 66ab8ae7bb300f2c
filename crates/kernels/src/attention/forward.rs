//! The forward pass: one task for each block of queries of each head.

use super::block::{Block, KEYS, QUERIES, Running, absorb, scratch, square};
use super::{Attention, Heads, HeadsMut, Place};
use crate::map::loop1_in_place;
use crate::reduce::for_each_group;
use crate::rows::{Float, finite_or_zero};
use crate::threads::Disjoint;

/// The number of floating-point operations that count as one element when deciding whether to use threads.
pub(super) const OPERATIONS_PER_ELEMENT: usize = 32;

/// `out = softmax(scale q k^T + mask) v`, and the logsumexp of each row of scores, `[batches, heads, queries]`.
///
/// ```
/// use wengert_kernels::attention::{Attention, Heads, HeadsMut, Place, attention};
/// let sizes = Attention {
///     batches: 1, heads: 1, queries: 2, keys: 2, width: 1, value_width: 1, scale: 1.0, causal: true, mask: None,
/// };
/// let place = Place::contiguous(1, 2, 1);
/// let (mut out, mut lse) = ([0.0; 2], [0.0; 2]);
/// let [q, k, v] = [&[0.0, 0.0], &[1.0, 2.0], &[3.0, 5.0]].map(|data| Heads { data, place });
/// attention(&sizes, q, k, v, HeadsMut { data: &mut out, place }, &mut lse);
/// assert_eq!((out, lse), ([3.0, 4.0], [0.0, 2f64.ln()]));
/// ```
pub fn attention<T: Float>(
    sizes: &Attention<'_, T>,
    q: Heads<'_, T>,
    k: Heads<'_, T>,
    v: Heads<'_, T>,
    out: HeadsMut<'_, T>,
    lse: &mut [T],
) {
    let Attention { batches, heads, queries, keys, width, value_width, .. } = *sizes;
    q.place.expect([batches, heads, queries, width], (1, 0), q.data.len(), false);
    k.place.expect([batches, heads, keys, width], (1, 0), k.data.len(), false);
    v.place.expect([batches, heads, keys, value_width], (1, 0), v.data.len(), false);
    out.place.expect([batches, heads, queries, value_width], (1, 0), out.data.len(), true);
    assert_eq!(lse.len(), batches * heads * queries, "attention: one logsumexp for each query");
    sizes.expect_mask();
    let blocks = queries.div_ceil(QUERIES);
    let (place, out, lse) = (out.place, Disjoint::new(out.data), Disjoint::new(lse));
    let work = 2 * QUERIES.min(queries) * keys * (width + value_width) / OPERATIONS_PER_ELEMENT;
    for_each_group(batches * heads * blocks, work, &|tasks| {
        let mut scratch = scratch::<T>(1);
        let scores = scratch.as_mut_slice().expect("new memory is not shared");
        for task in tasks {
            let (head, first) = (task / blocks, task % blocks * QUERIES);
            let last = (first + QUERIES).min(queries);
            let block = Block { head: sizes.head(head), queries: first..last, keys: 0..0 };
            // SAFETY: task `head * blocks + block` runs once and owns the queries of its block of its head. No other task has this range.
            let lse = unsafe { lse.range(head * queries + first, last - first) };
            // SAFETY: `Place::expect` checked that the operands lie in their data, and that the tokens of `out` lie in it and do not
            // overlap. Only this task accesses the tokens of this head and block of queries.
            unsafe { attend(sizes, block, (q, k, v), scores, (&out, place), lse) };
        }
    });
}

/// Runs over all keys for one block of queries.
///
/// # Safety
/// The operands lie within their data, and no other code accesses the output tokens of this block.
unsafe fn attend<T: Float>(
    sizes: &Attention<'_, T>,
    mut block: Block,
    (q, k, v): (Heads<'_, T>, Heads<'_, T>, Heads<'_, T>),
    scores: &mut [T],
    (out, place): (&Disjoint<'_, T>, Place),
    lse: &mut [T],
) {
    let width = sizes.value_width;
    let (b, h) = block.head;
    let rows = block.queries.clone();
    // SAFETY: the caller guarantees exclusive access to the tokens of this block, and each use below ends before the next one.
    let token = |row: usize| unsafe { out.range(place.start(b, h, rows.start + row), width) };
    let keys = sizes.keys_before(rows.end);
    let mut running = Running::new();
    for first in (0..keys).step_by(KEYS) {
        block.keys = first..(first + KEYS).min(keys);
        block.scores(sizes, &q, &k, scores);
        let scores = &mut scores[..rows.len() * block.keys.len()];
        absorb(&block, sizes.causal, scores, &mut running);
        if first > 0 {
            for row in 0..rows.len() {
                multiply(token(row), running.correction[row]);
            }
        }
        if width > 0 {
            let values = v.tokens(block.head, block.keys.clone(), width);
            let to = out.pointer(place.start(b, h, rows.start));
            let p = square(scores, block.keys.len());
            // SAFETY: `p` has `rows.len()` rows of scores. `values` are tokens of `v`, which lie in its data, one per column of `p`. The
            // tokens of this block, `place.token` apart, are ours and initialised, as all of `out` is; none is borrowed now.
            unsafe { T::multiply_scaled(T::ONE, p, values, first > 0, to, place.token) };
        }
    }
    for (row, lse) in lse.iter_mut().enumerate() {
        let (largest, total) = (running.largest[row], running.total[row]);
        *lse = T::from_f64(finite_or_zero(largest).to_f64() + total.to_f64().ln());
        match keys == 0 || total == T::ZERO {
            true => token(row).fill(T::ZERO),
            false => multiply(token(row), T::ONE / total),
        }
    }
}

fn multiply<T: Float>(values: &mut [T], factor: T) {
    if factor != T::ONE {
        loop1_in_place(values, |value| value * factor);
    }
}
