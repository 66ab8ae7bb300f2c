//! Where the tokens of every head lie in a slice.

use crate::matmul::Matrix;
use std::ops::Range;

/// Token `t` of head `h` of batch `b` starts at `offset + b * batch + h * head + t * token`; its elements are adjacent.
///
/// ```
/// use wengert_kernels::attention::Place;
/// // The keys in a projection of shape [batches, 128 tokens, 3, 8 heads, 32].
/// let keys = Place { offset: 256, batch: 128 * 768, head: 32, token: 768 };
/// assert_eq!(keys.start(0, 1, 2), 256 + 32 + 2 * 768);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The position of the first element.
    pub offset: usize,
    /// The step from one batch to the next.
    pub batch: usize,
    /// The step from one head to the next.
    pub head: usize,
    /// The step from one token to the next.
    pub token: usize,
}

impl Place {
    /// A contiguous array `[batches, heads, tokens, width]`.
    ///
    /// ```
    /// use wengert_kernels::attention::Place;
    /// assert_eq!(Place::contiguous(2, 3, 4).start(1, 0, 0), 24);
    /// ```
    pub fn contiguous(heads: usize, tokens: usize, width: usize) -> Place {
        Place { offset: 0, batch: heads * tokens * width, head: tokens * width, token: width }
    }

    /// The position of the first element of a token.
    ///
    /// ```
    /// use wengert_kernels::attention::Place;
    /// assert_eq!(Place { offset: 5, batch: 100, head: 10, token: 1 }.start(1, 2, 3), 128);
    /// ```
    pub fn start(&self, batch: usize, head: usize, token: usize) -> usize {
        self.offset + batch * self.batch + head * self.head + token * self.token
    }

    /// Panics unless `count` arrays of `sizes` (batches, heads, tokens, width) that are `spacing` apart lie in `length`
    /// elements and, when `disjoint`, no element belongs to two tokens.
    pub(super) fn expect(&self, sizes: [usize; 4], (count, spacing): (usize, usize), length: usize, disjoint: bool) {
        if sizes.contains(&0) || count == 0 {
            return;
        }
        let [batches, heads, tokens, width] = sizes;
        let mut axes = [(self.batch, batches), (self.head, heads), (self.token, tokens), (spacing, count)];
        axes.sort_unstable();
        let mut extent = Some(width);
        for (step, size) in axes.into_iter().filter(|&(_, size)| size > 1) {
            assert!(
                !disjoint || extent.is_some_and(|extent| step >= extent),
                "attention: tokens of {sizes:?} overlap at {self:?}"
            );
            extent = step.checked_mul(size - 1).and_then(|reach| reach.checked_add(extent?));
        }
        let end = extent.and_then(|extent| extent.checked_add(self.offset));
        assert!(end.is_some_and(|end| end <= length), "attention: {sizes:?} at {self:?} leaves {length} elements");
    }
}

/// Queries, keys, values, or another array of their shape.
///
/// ```
/// use wengert_kernels::attention::{Heads, Place};
/// let q = Heads { data: &[0.0f32; 24], place: Place::contiguous(2, 3, 4) };
/// assert_eq!(q.data.len(), 24);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Heads<'a, T> {
    /// The memory.
    pub data: &'a [T],
    /// Where the tokens are in it.
    pub place: Place,
}

impl<'a, T> Heads<'a, T> {
    /// Tokens of one head as a matrix. The bounds were checked.
    pub(super) fn tokens(&self, (b, h): (usize, usize), tokens: Range<usize>, width: usize) -> Matrix<'a, T> {
        let offset = self.place.start(b, h, tokens.start);
        Matrix {
            data: self.data,
            offset,
            rows: tokens.len(),
            cols: width,
            row_stride: self.place.token as isize,
            col_stride: 1,
        }
    }

    /// The elements of one token.
    #[inline(always)]
    pub(super) fn token(&self, (b, h): (usize, usize), token: usize, width: usize) -> &'a [T] {
        &self.data[self.place.start(b, h, token)..][..width]
    }
}

/// The destination of a result of the shape of queries, keys or values.
///
/// ```
/// use wengert_kernels::attention::{HeadsMut, Place};
/// let mut data = [0.0f32; 24];
/// let out = HeadsMut { data: &mut data, place: Place::contiguous(2, 3, 4) };
/// assert_eq!(out.place.token, 4);
/// ```
#[derive(Debug)]
pub struct HeadsMut<'a, T> {
    /// The memory.
    pub data: &'a mut [T],
    /// Where the tokens are in it; no two of them may share an element.
    pub place: Place,
}

/// The data of a mask, one element for each score.
///
/// ```
/// use wengert_kernels::attention::MaskData;
/// assert_eq!(MaskData::<f32>::Seen(&[1, 1, 0]).len(), MaskData::Added(&[0.0, 0.0, f32::NEG_INFINITY]).len());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum MaskData<'a, T> {
    /// Values added to the scores; minus infinity hides a key.
    Added(&'a [T]),
    /// Booleans: 0 hides a key.
    Seen(&'a [u8]),
}

impl<T> MaskData<'_, T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            MaskData::Added(numbers) => numbers.len(),
            MaskData::Seen(truths) => truths.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A mask. Query `i` and key `j` use the element `b * batch + h * head + i * query + j * key`; a step of 0 broadcasts.
///
/// ```
/// use wengert_kernels::attention::{Mask, MaskData};
/// // The same for all batches, heads and queries: hides the last of three keys.
/// let padding = Mask::<f32> { data: MaskData::Seen(&[1, 1, 0]), batch: 0, head: 0, query: 0, key: 1 };
/// assert_eq!(padding.data.len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mask<'a, T> {
    /// The memory.
    pub data: MaskData<'a, T>,
    /// The step from one batch to the next.
    pub batch: usize,
    /// The step from one head to the next.
    pub head: usize,
    /// The step from one query to the next.
    pub query: usize,
    /// The step from one key to the next.
    pub key: usize,
}

impl<T> Mask<'_, T> {
    pub(super) fn expect_bounds(&self, sizes: [usize; 4]) {
        if sizes.contains(&0) {
            return;
        }
        let steps = [self.batch, self.head, self.query, self.key];
        let last = steps
            .iter()
            .zip(sizes)
            .try_fold(0usize, |last, (&step, size)| last.checked_add(step.checked_mul(size - 1)?));
        assert!(
            last.is_some_and(|last| last < self.data.len()),
            "attention: a mask of {} elements with steps {steps:?} for {sizes:?}",
            self.data.len()
        );
    }
}
