//! `target[i][index[i][j][k]][k] += source[i][j][k]` (axis 1), and other folds, in row-major order of the source.

use super::OutOfRange;
use super::rows::Rows;
use crate::dtype::Compute;
use crate::map::{Reader, Scratch, TILE, loop2_in_place};
use crate::view::{Odometer, View};
use smallvec::SmallVec;

/// Adds `source` (of the shape of `index`) to the elements of `target` that the index names along `axis`.
///
/// Nothing is written when an index is out of range. The order of additions is fixed; integers wrap around.
///
/// ```
/// use wengert_kernels::{DType, View, scatter_add};
/// let index = View { dtype: DType::U8, bytes: &[1, 1, 0], offset: 0, shape: &[3], strides: &[1] };
/// let source = [1.0f32, 2.0, 4.0];
/// let source = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&source), offset: 0, shape: &[3], strides: &[1] };
/// let mut target = [0.0f64; 2];
/// scatter_add(&mut target, &[2], 0, index, source).unwrap();
/// assert_eq!(target, [4.0, 3.0]);
/// ```
pub fn scatter_add<T: Compute>(
    target: &mut [T],
    shape: &[usize],
    axis: usize,
    index: View<'_>,
    source: View<'_>,
) -> Result<(), OutOfRange> {
    scatter_fold(target, shape, axis, index, source, T::wrapping_plus)
}

/// Replaces each element of `target` that the index names along `axis` by `fold(element, source element)`.
///
/// Nothing is written when an index is out of range. The order is the row-major order of the source.
///
/// ```
/// use wengert_kernels::{DType, View, index::scatter_fold};
/// let index = View { dtype: DType::U8, bytes: &[1, 1, 0], offset: 0, shape: &[3], strides: &[1] };
/// let source = View { dtype: DType::U8, bytes: &[3, 9, 4], offset: 0, shape: &[3], strides: &[1] };
/// let mut target = [5i64; 2];
/// scatter_fold(&mut target, &[2], 0, index, source, i64::max).unwrap();
/// assert_eq!(target, [5, 9]);
/// ```
pub fn scatter_fold<T: Compute>(
    target: &mut [T],
    shape: &[usize],
    axis: usize,
    index: View<'_>,
    source: View<'_>,
    fold: impl Fn(T, T) -> T,
) -> Result<(), OutOfRange> {
    assert_eq!(target.len(), shape.iter().product::<usize>(), "scatter: the target must have shape {shape:?}");
    assert_eq!(index.shape, source.shape, "scatter: index and source must have the same shape");
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.len());
    let mut step = 1;
    for i in (0..shape.len()).rev() {
        strides[i] = step;
        step *= shape[i] as isize;
    }
    let rows = Rows::new(shape, &strides, axis, &index, "scatter");
    if index.is_empty() {
        return Ok(());
    }
    let indices = Reader::<i64>::new(index);
    rows.check_all(index)?;
    let source = Reader::<T>::new(source);

    let mut index_scratch = Scratch::new();
    let mut source_scratch = Scratch::new();
    let mut walker = Odometer::at(&rows.shape, &rows.strides, 0);
    for row in 0..rows.shape.iter().product() {
        for begin in (0..rows.columns).step_by(TILE) {
            let start = row * rows.columns + begin;
            let count = TILE.min(rows.columns - begin);
            let values = source.tile(start, count, &mut source_scratch);
            let base = walker.offset + begin as isize * rows.column_stride;
            if rows.one_index_per_row {
                // Rows of a row-major target: the innermost axis is not the indexed one, so its stride is 1.
                let index = indices.tile(start, 1, &mut index_scratch)[0];
                let first = (base + index as isize * rows.axis_stride) as usize;
                loop2_in_place(&mut target[first..first + count], values, &fold);
            } else {
                let indices = indices.tile(start, count, &mut index_scratch);
                let mut position = base;
                for (&index, &value) in indices.iter().zip(values) {
                    let slot = &mut target[(position + index as isize * rows.axis_stride) as usize];
                    *slot = fold(*slot, value);
                    position += rows.column_stride;
                }
            }
        }
        walker.advance();
    }
    Ok(())
}
