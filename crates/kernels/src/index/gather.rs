//! `out[i][j][k] = x[i][index[i][j][k]][k]` (axis 1), bit for bit.

use super::OutOfRange;
use super::indexed_rows::IndexedRows;
use crate::map::{Reader, Scratch, TILE};
use crate::threads::{REGION_TILE, for_each_chunk, tile_elements};
use crate::view::{Odometer, Out, View};
use std::sync::Mutex;

/// Picks elements along `axis`. `out` has the shape of `index` and the dtype of `input`.
///
/// An index that is negative or too large is an error; the first one in row-major order is reported.
///
/// ```
/// use wengert_kernels::{DType, Out, View, gather};
/// let x = View { dtype: DType::U8, bytes: &[10, 11, 12, 20, 21, 22], offset: 0, shape: &[2, 3], strides: &[3, 1] };
/// let index = View { dtype: DType::U8, bytes: &[2, 0], offset: 0, shape: &[2, 1], strides: &[1, 1] };
/// let mut out = [0; 2];
/// gather(x, 1, index, Out { dtype: DType::U8, bytes: &mut out }).unwrap();
/// assert_eq!(out, [12, 20]);
/// ```
pub fn gather(input: View<'_>, axis: usize, index: View<'_>, out: Out<'_>) -> Result<(), OutOfRange> {
    let rows = IndexedRows::new(input.shape, input.strides, axis, &index, "gather");
    assert_eq!(input.dtype, out.dtype, "gather: the output must have the dtype of the input");
    out.expect_length(index.len(), "gather");
    if index.is_empty() {
        return Ok(());
    }
    match input.dtype.size() {
        1 => gather_words::<1>(input, &rows, index, out.bytes),
        2 => gather_words::<2>(input, &rows, index, out.bytes),
        4 => gather_words::<4>(input, &rows, index, out.bytes),
        _ => gather_words::<8>(input, &rows, index, out.bytes),
    }
}

fn gather_words<const WIDTH: usize>(
    input: View<'_>,
    rows: &IndexedRows,
    index: View<'_>,
    out: &mut [u8],
) -> Result<(), OutOfRange> {
    let (source, _) = input.bytes.as_chunks::<WIDTH>();
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    let indices = rows.indices(index);
    let rows_per_chunk = match tile_elements(out.len()) == out.len() {
        true => out.len() / rows.columns,
        false => REGION_TILE.div_ceil(rows.columns),
    };
    let failure = Mutex::new(None::<OutOfRange>);
    for_each_chunk(out, rows_per_chunk * rows.columns, &|chunk, out| {
        let outcome = gather_rows(source, input.offset, rows, &indices, chunk * rows_per_chunk, out);
        if let Err(error) = outcome {
            let mut first = failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if first.as_ref().is_none_or(|first| error.position < first.position) {
                *first = Some(error);
            }
        }
    });
    failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).map_or(Ok(()), Err)
}

/// Whole rows from `first_row` on.
fn gather_rows<const WIDTH: usize>(
    source: &[[u8; WIDTH]],
    offset: isize,
    rows: &IndexedRows,
    indices: &Reader<'_, i64>,
    first_row: usize,
    out: &mut [[u8; WIDTH]],
) -> Result<(), OutOfRange> {
    let mut scratch = Scratch::new();
    let mut walker = Odometer::at(&rows.shape, &rows.strides, first_row);
    let (columns, together) = (rows.columns, rows.rows_together());
    // Several rows at a time: fetching a tile of indices costs more than a short row.
    for (group, out) in out.chunks_mut(together * columns).enumerate() {
        let row = first_row + group * together;
        if rows.one_index_per_row {
            let indices = indices.tile(row, out.len() / columns, &mut scratch);
            for (i, (out, &index)) in out.chunks_exact_mut(columns).zip(indices).enumerate() {
                let index = rows.check(index, (row + i) * columns)?;
                copy_run(source, offset + walker.offset + index * rows.axis_stride, rows.column_stride, out);
                walker.advance();
            }
        } else if columns > TILE {
            for (tile, out) in out.chunks_mut(TILE).enumerate() {
                let begin = tile * TILE;
                let indices = indices.tile(row * columns + begin, out.len(), &mut scratch);
                let first = offset + walker.offset + begin as isize * rows.column_stride;
                gather_run(source, rows, first, indices, row * columns + begin, out)?;
            }
            walker.advance();
        } else {
            let indices = indices.tile(row * columns, out.len(), &mut scratch);
            let pairs = out.chunks_exact_mut(columns).zip(indices.chunks_exact(columns));
            for (i, (out, indices)) in pairs.enumerate() {
                gather_run(source, rows, offset + walker.offset, indices, (row + i) * columns, out)?;
                walker.advance();
            }
        }
    }
    Ok(())
}

/// A part of a row. `first` is the position of its first element for index 0.
#[inline(always)]
fn gather_run<const WIDTH: usize>(
    source: &[[u8; WIDTH]],
    rows: &IndexedRows,
    first: isize,
    indices: &[i64],
    start: usize,
    out: &mut [[u8; WIDTH]],
) -> Result<(), OutOfRange> {
    let mut position = first;
    for (i, (out, &index)) in out.iter_mut().zip(indices).enumerate() {
        let index = rows.check(index, start + i)?;
        *out = source[(position + index * rows.axis_stride) as usize];
        position += rows.column_stride;
    }
    Ok(())
}

/// Below this many elements, a loop is faster than a call to a copy routine.
const SHORT: usize = 8;

fn copy_run<const WIDTH: usize>(source: &[[u8; WIDTH]], start: isize, stride: isize, out: &mut [[u8; WIDTH]]) {
    if stride == 1 && out.len() > SHORT {
        return out.copy_from_slice(&source[start as usize..][..out.len()]);
    }
    let mut position = start;
    for out in out {
        *out = source[position as usize];
        position += stride;
    }
}
