//! `out[i][j][k] = x[i][index[i][j][k]][k]` (axis 1), bit for bit.

use super::OutOfRange;
use super::rows::Rows;
use crate::map::{Reader, Scratch, TILE};
use crate::threads::{REGION_TILE, for_each_chunk, tile_elements};
use crate::view::{Odometer, Out, View};
use std::sync::Mutex;

/// Picks elements along `axis`. `out` has the shape of `index` and the dtype of `input`.
///
/// An index that is negative or too large is an error: the first one in row-major order.
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
    let rows = Rows::new(input.shape, input.strides, axis, &index, "gather");
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
    rows: &Rows,
    index: View<'_>,
    out: &mut [u8],
) -> Result<(), OutOfRange> {
    let (source, _) = input.bytes.as_chunks::<WIDTH>();
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    let indices = Reader::<i64>::new(index);
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
    rows: &Rows,
    indices: &Reader<'_, i64>,
    first_row: usize,
    out: &mut [[u8; WIDTH]],
) -> Result<(), OutOfRange> {
    let mut scratch = Scratch::new();
    let mut walker = Odometer::at(&rows.shape, &rows.strides, first_row);
    for (row, out) in out.chunks_exact_mut(rows.columns).enumerate() {
        let start = (first_row + row) * rows.columns;
        let base = offset + walker.offset;
        if rows.one_index_per_row {
            let index = rows.check(indices.tile(start, 1, &mut scratch)[0], start)?;
            copy_run(source, base + index * rows.axis_stride, rows.column_stride, out);
        } else {
            for (tile, out) in out.chunks_mut(TILE).enumerate() {
                let begin = tile * TILE;
                let indices = indices.tile(start + begin, out.len(), &mut scratch);
                let mut position = base + begin as isize * rows.column_stride;
                for (i, (out, &index)) in out.iter_mut().zip(indices).enumerate() {
                    let index = rows.check(index, start + begin + i)?;
                    *out = source[(position + index * rows.axis_stride) as usize];
                    position += rows.column_stride;
                }
            }
        }
        walker.advance();
    }
    Ok(())
}

fn copy_run<const WIDTH: usize>(source: &[[u8; WIDTH]], start: isize, stride: isize, out: &mut [[u8; WIDTH]]) {
    if stride == 1 {
        return out.copy_from_slice(&source[start as usize..][..out.len()]);
    }
    let mut position = start;
    for out in out {
        *out = source[position as usize];
        position += stride;
    }
}
