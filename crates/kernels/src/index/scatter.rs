//! `target[i][index[i][j][k]][k] += source[i][j][k]` (axis 1), and other folds, in row-major order of the source.

use super::OutOfRange;
use super::indexed_rows::IndexedRows;
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
    assert_eq!(index.shape, source.shape, "scatter: index and source must have the same shape");
    let rows = checked_rows(target.len(), shape, axis, &index)?;
    if index.is_empty() {
        return Ok(());
    }
    let (indices, source) = (rows.indices(index), Reader::<T>::new(source));
    let (columns, together) = (rows.columns, rows.rows_together());
    let (mut index_scratch, mut source_scratch) = (Scratch::new(), Scratch::new());
    let mut walker = Odometer::at(&rows.shape, &rows.strides, 0);
    let count: usize = rows.shape.iter().product();
    // Several rows at a time: fetching a tile of indices costs more than a short row.
    for first in (0..count).step_by(together) {
        let group = together.min(count - first);
        if rows.one_index_per_row {
            let indices = indices.tile(first, group, &mut index_scratch);
            for (row, &index) in (first..).zip(indices) {
                for begin in (0..columns).step_by(TILE) {
                    let values = source.tile(row * columns + begin, TILE.min(columns - begin), &mut source_scratch);
                    // Rows of a row-major target: the innermost axis is not the indexed one, so its stride is 1.
                    let place = walker.offset + begin as isize + index as isize * rows.axis_stride;
                    loop2_in_place(&mut target[place as usize..][..values.len()], values, &fold);
                }
                walker.advance();
            }
        } else if columns > TILE {
            for begin in (0..columns).step_by(TILE) {
                let (start, length) = (first * columns + begin, TILE.min(columns - begin));
                let values = source.tile(start, length, &mut source_scratch);
                let indices = indices.tile(start, length, &mut index_scratch);
                let place = walker.offset + begin as isize * rows.column_stride;
                fold_run(&rows, target, place, indices, values, &fold);
            }
            walker.advance();
        } else {
            let values = source.tile(first * columns, group * columns, &mut source_scratch);
            let indices = indices.tile(first * columns, group * columns, &mut index_scratch);
            for (indices, values) in indices.chunks_exact(columns).zip(values.chunks_exact(columns)) {
                fold_run(&rows, target, walker.offset, indices, values, &fold);
                walker.advance();
            }
        }
    }
    Ok(())
}

/// The traversal of a row-major target, if the whole index is in range.
fn checked_rows(length: usize, shape: &[usize], axis: usize, index: &View<'_>) -> Result<IndexedRows, OutOfRange> {
    assert_eq!(length, shape.iter().product::<usize>(), "scatter: the target must have shape {shape:?}");
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.len());
    let mut step = 1;
    for i in (0..shape.len()).rev() {
        strides[i] = step;
        step *= shape[i] as isize;
    }
    let rows = IndexedRows::new(shape, &strides, axis, index, "scatter");
    if !index.is_empty() {
        rows.check_all(*index)?;
    }
    Ok(rows)
}

/// Folds a part of a row. `position` is the position of its first element for index 0.
#[inline(always)]
fn fold_run<T: Compute>(
    rows: &IndexedRows,
    target: &mut [T],
    mut position: isize,
    indices: &[i64],
    values: &[T],
    fold: &impl Fn(T, T) -> T,
) {
    for (&index, &value) in indices.iter().zip(values) {
        let slot = &mut target[(position + index as isize * rows.axis_stride) as usize];
        *slot = fold(*slot, value);
        position += rows.column_stride;
    }
}

/// The reverse of an assigning scatter: from the last element of the index to the first, the target element it names is moved to `values`
/// and set to 0. So an element named twice goes to the last index that names it, and `target` keeps the elements that were not replaced.
///
/// ```
/// use wengert_kernels::{DType, View, index::take_last};
/// let index = View { dtype: DType::U8, bytes: &[1, 1, 0], offset: 0, shape: &[3], strides: &[1] };
/// let (mut target, mut values) = ([5.0, 6.0, 7.0], [1.0; 3]);
/// take_last(&mut target, &[3], 0, index, &mut values).unwrap();
/// assert_eq!((target, values), ([0.0, 0.0, 7.0], [0.0, 6.0, 5.0]));
/// ```
pub fn take_last<T: Compute>(
    target: &mut [T],
    shape: &[usize],
    axis: usize,
    index: View<'_>,
    values: &mut [T],
) -> Result<(), OutOfRange> {
    assert_eq!(index.len(), values.len(), "take_last: one value for each index");
    let rows = checked_rows(target.len(), shape, axis, &index)?;
    let indices = Reader::<i64>::new(index);
    let mut scratch = Scratch::new();
    // Tiles from the end, which start anywhere in a row; the elements of a tile are also taken from the end.
    let mut places: Vec<isize> = Vec::with_capacity(TILE.min(values.len()));
    for (tile, values) in values.chunks_mut(TILE).enumerate().rev() {
        let start = tile * TILE;
        let indices = indices.tile(start, values.len(), &mut scratch);
        let mut walker = Odometer::at(&rows.shape, &rows.strides, start / rows.columns);
        let mut column = start % rows.columns;
        places.clear();
        for &index in indices {
            if column == rows.columns {
                column = 0;
                walker.advance();
            }
            places.push(walker.offset + column as isize * rows.column_stride + index as isize * rows.axis_stride);
            column += 1;
        }
        for (&place, value) in places.iter().zip(values).rev() {
            *value = std::mem::replace(&mut target[place as usize], T::ZERO);
        }
    }
    Ok(())
}
