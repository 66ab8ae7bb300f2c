//! Code shared by gather and scatter: rows of the innermost axis and checked indices.

use super::OutOfRange;
use crate::map::{Reader, TILE, walk};
use crate::view::View;
use smallvec::SmallVec;

/// A traversal of an indexed tensor in the order of the index tensor.
pub(super) struct IndexedRows {
    /// The index's sizes without the innermost axis.
    pub(super) shape: SmallVec<[usize; 6]>,
    /// The tensor's strides along those axes, 0 along the indexed one.
    pub(super) strides: SmallVec<[isize; 6]>,
    /// Elements of a row.
    pub(super) columns: usize,
    /// The tensor's stride along a row, 0 if that is the indexed axis.
    pub(super) column_stride: isize,
    /// The tensor's stride along the indexed axis.
    pub(super) axis_stride: isize,
    /// The tensor's length along the indexed axis.
    pub(super) length: usize,
    /// Whether there is one index for each whole row: the index is broadcast along it, and another axis is indexed.
    pub(super) one_index_per_row: bool,
}

impl IndexedRows {
    /// Panics unless the index fits the tensor of `shape` and `strides`.
    pub(super) fn new(
        shape: &[usize],
        strides: &[isize],
        axis: usize,
        index: &View<'_>,
        operation: &str,
    ) -> IndexedRows {
        let rank = shape.len();
        assert!(axis < rank, "{operation}: axis {axis} of shape {shape:?}");
        assert!(index.dtype.is_integer(), "{operation}: the index must be of an integer dtype, not {}", index.dtype);
        assert!(
            index.shape.len() == rank && (0..rank).all(|i| i == axis || index.shape[i] <= shape[i]),
            "{operation}: an index of shape {:?} does not fit {shape:?} along axis {axis}",
            index.shape
        );
        let inner = rank - 1;
        let mut along: SmallVec<[isize; 6]> = strides.into();
        along[axis] = 0;
        IndexedRows {
            shape: index.shape[..inner].into(),
            column_stride: along[inner],
            columns: index.shape[inner],
            strides: along[..inner].into(),
            axis_stride: strides[axis],
            length: shape[axis],
            one_index_per_row: axis != inner && index.strides[inner] == 0 && index.shape[inner] > 1,
        }
    }

    /// The indices in row-major order: one for each row if they are equal along it, else one for each element.
    pub(super) fn indices<'a>(&self, index: View<'a>) -> Reader<'a, i64> {
        let kept = index.shape.len() - usize::from(self.one_index_per_row);
        Reader::new(View { shape: &index.shape[..kept], strides: &index.strides[..kept], ..index })
    }

    /// The number of rows read together: enough to fill a tile of indices, or one row in tiles.
    pub(super) fn rows_together(&self) -> usize {
        if self.one_index_per_row { TILE } else { (TILE / self.columns).max(1) }
    }

    /// The index as a position, or the error for row-major position `position`.
    #[inline(always)]
    pub(super) fn check(&self, index: i64, position: usize) -> Result<isize, OutOfRange> {
        if (index as u64) < self.length as u64 {
            Ok(index as isize)
        } else {
            Err(OutOfRange { index, position, length: self.length })
        }
    }

    /// Finds the first index in row-major order that is out of range. Broadcast indices are checked once.
    pub(super) fn check_all(&self, index: View<'_>) -> Result<(), OutOfRange> {
        let once: SmallVec<[usize; 6]> =
            index.shape.iter().zip(index.strides).map(|(&size, &stride)| if stride == 0 { 1 } else { size }).collect();
        let count: usize = once.iter().product();
        let reader = Reader::<i64>::new(View { shape: &once, ..index });
        let mut first = None;
        for start in (0..count).step_by(64 * TILE) {
            walk(std::array::from_ref(&reader), start, (64 * TILE).min(count - start), &mut |tile, [indices]| {
                let length = self.length as u64;
                let bad = indices.iter().fold(false, |bad, &index| bad | (index as u64 >= length));
                if bad && first.is_none() {
                    let errors = indices.iter().enumerate().map(|(i, &x)| self.check(x, start + tile.start + i));
                    first = errors.into_iter().find_map(Result::err);
                }
            });
        }
        let Some(mut wrong) = first else { return Ok(()) };
        // The first repetition is at 0 along every repeated axis.
        let (mut rest, mut step, mut position) = (wrong.position, 1, 0);
        for (&size, &once) in index.shape.iter().zip(&once).rev() {
            position += rest % once * step;
            rest /= once;
            step *= size;
        }
        wrong.position = position;
        Err(wrong)
    }
}
