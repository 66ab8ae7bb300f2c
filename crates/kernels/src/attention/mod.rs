//! Scaled dot-product attention `out = softmax(scale q k^T + mask) v`, for each batch and head, without ever storing the score matrix.
//!
//! Queries are processed in blocks of 64, keys in blocks of 128. The forward pass corrects the running maximum `m` and sum `l` of each row
//! from block to block, and saves only `lse = m + ln l`. The gradient recomputes the blocks: `p = e^(s - lse)`, `dv += p^T g`,
//! `ds = p (g v^T - delta)` with `delta = sum(g out)`, `dq += scale ds k`, `dk += scale ds^T q`. Causal: query `i` sees keys `0..=i`, and
//! blocks above the diagonal are skipped.
//!
//! A row that sees no key has output 0, logsumexp minus infinity and gradient 0.

mod block;
mod forward;
mod gradient;
mod place;

pub use forward::attention;
pub use gradient::{AttentionGradient, Saved, attention_gradient};
pub use place::{Heads, HeadsMut, Mask, MaskData, Place};

use crate::rows::Float;

/// Sizes and options.
///
/// ```
/// use wengert_kernels::attention::Attention;
/// let causal = Attention::<f32> {
///     batches: 8, heads: 8, queries: 128, keys: 128, width: 32, value_width: 32,
///     scale: 32f32.sqrt().recip(), causal: true, mask: None,
/// };
/// assert_eq!(causal.queries, 128);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a, T> {
    /// The number of batches.
    pub batches: usize,
    /// The number of heads of each batch.
    pub heads: usize,
    /// The number of queries of each head.
    pub queries: usize,
    /// The number of keys, and of values, of each head.
    pub keys: usize,
    /// Elements of a query and of a key.
    pub width: usize,
    /// Elements of a value and of an output.
    pub value_width: usize,
    /// The factor applied to the products of queries and keys.
    pub scale: T,
    /// True when query `i` sees only keys `0..=i`.
    pub causal: bool,
    /// An optional mask that is added to the scores or hides keys.
    pub mask: Option<Mask<'a, T>>,
}

impl<T: Float> Attention<'_, T> {
    /// Batch and head number `index`.
    fn head(&self, index: usize) -> (usize, usize) {
        (index / self.heads, index % self.heads)
    }

    /// The number of keys that queries before `end` see.
    fn keys_before(&self, end: usize) -> usize {
        if self.causal { self.keys.min(end) } else { self.keys }
    }

    fn expect_mask(&self) {
        if let Some(mask) = &self.mask {
            mask.expect_bounds([self.batches, self.heads, self.queries, self.keys]);
        }
    }
}

#[cfg(test)]
mod tests;
