//! The gradient of [`attention`](super::attention()), block by block from the logsumexps.
//!
//! With eight or more heads over all batches, each task computes one head, and each block once. With fewer heads, blocks of queries compute
//! `dq` and then blocks of keys compute `dk` and `dv`, so that there are enough tasks. Either way, the order of additions depends only on
//! the sizes.

use super::block::{Block, KEYS, QUERIES, probabilities, scratch, softmax_slopes, square};
use super::forward::OPERATIONS_PER_ELEMENT;
use super::{Attention, Heads, HeadsMut, Place};
use crate::pool::Buffer;
use crate::reduce::for_each_group;
use crate::rows::{Float, dot_of};
use crate::simd::vectorised;
use crate::threads::Disjoint;
use std::ops::Range;

/// The inputs and outputs of the forward pass.
///
/// ```
/// use wengert_kernels::attention::{Heads, Place, Saved};
/// let head = Heads { data: &[0.0f32; 6], place: Place::contiguous(1, 3, 2) };
/// let saved = Saved { q: head, k: head, v: head, out: head, lse: &[0.0; 3] };
/// assert_eq!(saved.lse.len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Saved<'a, T> {
    /// The queries.
    pub q: Heads<'a, T>,
    /// The keys.
    pub k: Heads<'a, T>,
    /// The values.
    pub v: Heads<'a, T>,
    /// The output.
    pub out: Heads<'a, T>,
    /// The logsumexps.
    pub lse: &'a [T],
}

/// Where the gradients go.
///
/// ```
/// use wengert_kernels::attention::{AttentionGradient, Place};
/// // A projection of shape [1 batch, 5 tokens, 3, 2 heads, 4].
/// let mut data = vec![0f32; 5 * 3 * 2 * 4];
/// let place = Place { offset: 0, batch: 120, head: 4, token: 24 };
/// let to = AttentionGradient::Together { data: &mut data, place, spacing: 8 };
/// assert!(matches!(to, AttentionGradient::Together { .. }));
/// ```
#[derive(Debug)]
pub enum AttentionGradient<'a, T> {
    /// Three separate arrays.
    Apart {
        /// The gradient of the queries.
        dq: HeadsMut<'a, T>,
        /// The gradient of the keys.
        dk: HeadsMut<'a, T>,
        /// The gradient of the values.
        dv: HeadsMut<'a, T>,
    },
    /// One array that holds all three, as a joint projection does.
    Together {
        /// The memory.
        data: &'a mut [T],
        /// Where the gradients of the queries are; the keys' are `spacing` elements further, the values' twice that.
        place: Place,
        /// The distance from a query to its key, and from a key to its value.
        spacing: usize,
    },
}

/// The gradients of the queries, keys and values, from the cotangent `g` of the output.
///
/// ```
/// use wengert_kernels::attention::{Attention, AttentionGradient, Heads, HeadsMut, Place, Saved, attention_gradient};
/// let sizes = Attention {
///     batches: 1, heads: 1, queries: 1, keys: 2, width: 1, value_width: 1, scale: 1.0, causal: false, mask: None,
/// };
/// let (one, two) = (Place::contiguous(1, 1, 1), Place::contiguous(1, 2, 1));
/// let (mut dq, mut dk, mut dv) = ([9.0; 1], [9.0; 2], [9.0; 2]);
/// let saved = Saved {
///     q: Heads { data: &[0.0], place: one }, k: Heads { data: &[1.0, 2.0], place: two },
///     v: Heads { data: &[3.0, 5.0], place: two }, out: Heads { data: &[4.0], place: one }, lse: &[2f64.ln()],
/// };
/// let to = AttentionGradient::Apart {
///     dq: HeadsMut { data: &mut dq, place: one }, dk: HeadsMut { data: &mut dk, place: two },
///     dv: HeadsMut { data: &mut dv, place: two },
/// };
/// attention_gradient(&sizes, saved, Heads { data: &[1.0], place: one }, to);
/// assert!((dq[0] - 0.5).abs() < 1e-14 && dk == [0.0; 2] && (dv[0] - 0.5).abs() < 1e-14);
/// ```
pub fn attention_gradient<T: Float>(
    sizes: &Attention<'_, T>,
    saved: Saved<'_, T>,
    g: Heads<'_, T>,
    to: AttentionGradient<'_, T>,
) {
    let Attention { batches, heads, queries, keys, width, value_width, .. } = *sizes;
    let shape = |tokens, width| [batches, heads, tokens, width];
    for (heads, shape) in [
        (&saved.q, shape(queries, width)),
        (&saved.k, shape(keys, width)),
        (&saved.v, shape(keys, value_width)),
        (&saved.out, shape(queries, value_width)),
        (&g, shape(queries, value_width)),
    ] {
        heads.place.expect(shape, (1, 0), heads.data.len(), false);
    }
    assert_eq!(saved.lse.len(), batches * heads * queries, "attention_gradient: one logsumexp for each query");
    sizes.expect_mask();
    let run = |dq: Target<'_, '_, T>, dk: Target<'_, '_, T>, dv: Target<'_, '_, T>| {
        // SAFETY: `Place::expect` checked above that the operands lie in their data. Before calling this, each branch below checks the same
        // for the targets, and that no two of their tokens overlap, including tokens of one array.
        unsafe { Gradient { sizes, saved, g, dq, dk, dv }.run() };
    };
    match to {
        AttentionGradient::Apart { dq, dk, dv } => {
            dq.place.expect(shape(queries, width), (1, 0), dq.data.len(), true);
            dk.place.expect(shape(keys, width), (1, 0), dk.data.len(), true);
            dv.place.expect(shape(keys, value_width), (1, 0), dv.data.len(), true);
            let places = [dq.place, dk.place, dv.place];
            let [dq, dk, dv] = [dq.data, dk.data, dv.data].map(Disjoint::new);
            run((&dq, places[0]), (&dk, places[1]), (&dv, places[2]));
        }
        AttentionGradient::Together { data, place, spacing } => {
            place.expect(shape(queries.max(keys), width.max(value_width)), (3, spacing), data.len(), true);
            let data = Disjoint::new(data);
            let at = |index: usize| (&data, Place { offset: place.offset + index * spacing, ..place });
            run(at(0), at(1), at(2));
        }
    }
}

type Target<'a, 'b, T> = (&'a Disjoint<'b, T>, Place);

/// All arguments of one call.
struct Gradient<'a, 'b, T> {
    sizes: &'a Attention<'a, T>,
    saved: Saved<'a, T>,
    g: Heads<'a, T>,
    dq: Target<'a, 'b, T>,
    dk: Target<'a, 'b, T>,
    dv: Target<'a, 'b, T>,
}

/// The gradients that a task accumulates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accumulated {
    All,
    Queries,
    KeysAndValues,
}

/// With at least this many heads, each head is one task.
const MANY_HEADS: usize = 8;

impl<T: Float> Gradient<'_, '_, T> {
    /// # Safety
    /// Operands and targets lie within their data, and tokens of the targets do not overlap.
    unsafe fn run(&self) {
        let Attention { batches, heads, queries, keys, width, value_width, .. } = *self.sizes;
        let all = batches * heads;
        let work = |queries: usize, keys: usize| 5 * queries * keys * (width + value_width) / OPERATIONS_PER_ELEMENT;
        if all >= MANY_HEADS {
            // SAFETY: with one block for each head, the task number is the head, and each task runs once, so tasks own the tokens of
            // different heads.
            return for_each_group(all, work(queries, keys), &|tasks| unsafe { self.some(Accumulated::All, 1, tasks) });
        }
        let (query_blocks, key_blocks) = (queries.div_ceil(QUERIES), keys.div_ceil(KEYS));
        for_each_group(all * query_blocks, work(QUERIES.min(queries), keys), &|tasks| {
            // SAFETY: each task runs once and covers one block of queries of one head. This part writes only their `dq`.
            unsafe { self.some(Accumulated::Queries, query_blocks, tasks) };
        });
        for_each_group(all * key_blocks, work(queries, KEYS.min(keys)), &|tasks| {
            // SAFETY: each task runs once and covers one block of keys of one head. This part writes only their `dk` and `dv`.
            unsafe { self.some(Accumulated::KeysAndValues, key_blocks, tasks) };
        });
    }

    /// Runs some tasks. Tasks are numbered head by head, `blocks` for each head.
    ///
    /// # Safety
    /// As for [`run`](Gradient::run), and no other code accesses the target tokens of these tasks.
    unsafe fn some(&self, part: Accumulated, blocks: usize, tasks: Range<usize>) {
        let Attention { queries, keys, width, value_width, .. } = *self.sizes;
        let mut scratch = scratch::<T>(2);
        let scratch = scratch.as_mut_slice().expect("new memory is not shared");
        let mut delta = Buffer::<T>::zeros(queries);
        for task in tasks {
            let (index, block) = (task / blocks, task % blocks);
            let head = self.sizes.head(index);
            let (these_queries, these_keys) = match part {
                Accumulated::All => (0..queries, 0..keys),
                Accumulated::Queries => (block * QUERIES..((block + 1) * QUERIES).min(queries), 0..keys),
                Accumulated::KeysAndValues => (0..queries, block * KEYS..((block + 1) * KEYS).min(keys)),
            };
            deltas(&self.g, &self.saved.out, head, these_queries.clone(), value_width, &mut delta);
            // The last queries see the most keys. They come first and write; the others add to what they wrote.
            let reach = self.sizes.keys_before(these_queries.end).clamp(these_keys.start, these_keys.end);
            for first in these_queries.clone().step_by(QUERIES).rev() {
                let queries = first..(first + QUERIES).min(these_queries.end);
                let is_first = queries.end == these_queries.end;
                let end = self.sizes.keys_before(queries.end).min(these_keys.end);
                for first in (these_keys.start..end).step_by(KEYS) {
                    let block = Block { head, queries: queries.clone(), keys: first..(first + KEYS).min(end) };
                    // SAFETY: the queries and keys of the block belong to this task, whose tokens the caller guarantees.
                    unsafe { self.block(part, index, &block, is_first, scratch, &delta) };
                }
            }
            let unseen = if these_queries.is_empty() { these_keys.clone() } else { reach..these_keys.end };
            // SAFETY: these are the queries and keys of this task. No other code accesses their tokens in the targets of this part.
            unsafe {
                if part != Accumulated::KeysAndValues && keys == 0 {
                    clear(self.dq, head, these_queries, width);
                }
                if part != Accumulated::Queries {
                    clear(self.dk, head, unseen.clone(), width);
                    clear(self.dv, head, unseen, value_width);
                }
            }
        }
    }

    /// Adds the contribution of one block. The first block of keys of each query, and the first queries, write instead of adding.
    ///
    /// # Safety
    /// As for [`run`](Gradient::run), and no other code accesses the target tokens of this block.
    unsafe fn block(
        &self,
        part: Accumulated,
        index: usize,
        block: &Block,
        is_first: bool,
        scratch: &mut [T],
        delta: &[T],
    ) {
        let Attention { queries, width, value_width, scale, causal, .. } = *self.sizes;
        let (rows, columns) = (block.queries.len(), block.keys.len());
        let (p, slopes) = scratch.split_at_mut(QUERIES * KEYS);
        let (p, slopes) = (&mut p[..rows * columns], &mut slopes[..rows * columns]);
        let Block { head, queries: these_queries, keys: these_keys } = block.clone();
        let (b, h) = head;
        let g = self.g.tokens(head, these_queries.clone(), value_width);
        let v = self.saved.v.tokens(head, these_keys.clone(), value_width);

        block.scores(self.sizes, &self.saved.q, &self.saved.k, p);
        probabilities(block, causal, p, &self.saved.lse[index * queries..][these_queries.clone()]);
        if part != Accumulated::Queries && value_width > 0 {
            let (to, place) = self.dv;
            let to = to.pointer(place.start(b, h, these_keys.start));
            // SAFETY: `p` has a row for each query and a column for each key of the block. `g` has a token for each query, within its data.
            // `to` is the token of the first key in a target whose tokens, `place.token` apart, are ours for this block and initialised.
            unsafe { T::multiply_scaled(T::ONE, square(p, columns).transpose(), g, !is_first, to, place.token) };
        }
        // SAFETY: tokens of `g` and `v` lie in their data and have one width; `slopes` was cut to `rows` rows of `columns` elements.
        unsafe { T::multiply_scaled(T::ONE, g, v.transpose(), false, slopes.as_mut_ptr(), columns) };
        softmax_slopes(columns, p, &delta[these_queries.clone()], slopes);
        if width == 0 {
            return;
        }
        let slopes = square(slopes, columns);
        if part != Accumulated::KeysAndValues {
            let (to, place) = self.dq;
            let to = to.pointer(place.start(b, h, these_queries.start));
            let k = self.saved.k.tokens(head, these_keys.clone(), width);
            // SAFETY: `slopes` has a column for each token of `k`, which lies in its data. `to` is the token of the first query in `dq`,
            // whose tokens for this block are ours and initialised.
            unsafe { T::multiply_scaled(scale, slopes, k, these_keys.start > 0, to, place.token) };
        }
        if part != Accumulated::Queries {
            let (to, place) = self.dk;
            let to = to.pointer(place.start(b, h, these_keys.start));
            let q = self.saved.q.tokens(head, these_queries, width);
            // SAFETY: `slopes` has a row for each token of `q`, which lies in its data. `to` is the token of the first key in `dk`, whose
            // tokens for this block are ours and initialised.
            unsafe { T::multiply_scaled(scale, slopes.transpose(), q, !is_first, to, place.token) };
        }
    }
}

vectorised! {
    /// `delta[token] = sum(g out)`.
    fn deltas[T: Float](
        g: &Heads<'_, T>,
        out: &Heads<'_, T>,
        head: (usize, usize),
        tokens: Range<usize>,
        width: usize,
        delta: &mut [T],
    ) {
        for token in tokens {
            delta[token] = T::from_f64(dot_of(g.token(head, token, width), out.token(head, token, width)));
        }
    }
}

/// # Safety
/// No other code accesses these tokens.
unsafe fn clear<T: Float>(
    (target, place): Target<'_, '_, T>,
    (b, h): (usize, usize),
    tokens: Range<usize>,
    width: usize,
) {
    for token in tokens {
        // SAFETY: the caller guarantees exclusive access to these tokens, and each is borrowed only for its own `fill`.
        unsafe { target.range(place.start(b, h, token), width) }.fill(T::ZERO);
    }
}
