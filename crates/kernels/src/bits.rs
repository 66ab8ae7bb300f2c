//! One-bit masks: bit `j` of byte `i` of a row belongs to element `8 i + j` of the last axis.
//!
//! `relu` saves one bit per element instead of the element: `pack(x > 0)` in the forward pass, `select(g, bits)` in the backward pass.

use crate::dtype::{Compute, DType};
use crate::map::{Reader, Scratch, TILE, copy};
use crate::simd::vectorised;
use crate::threads::{for_each_chunk, tile_elements};
use crate::view::{Out, View};
use std::borrow::Cow;

/// For each row of the last axis, `ceil(n / 8)` bytes whose bits say which elements are above zero (NaN is not).
///
/// ```
/// use wengert_kernels::{DType, View, pack_positive};
/// let x = [1.0f32, -1.0, f32::NAN, 2.0];
/// let x = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[4], strides: &[1] };
/// let mut bits = [0];
/// pack_positive(x, &mut bits);
/// assert_eq!(bits, [0b1001]);
/// ```
pub fn pack_positive(input: View<'_>, out: &mut [u8]) {
    let (rows, columns) = row_shape(&input, "pack_positive");
    let row_bytes = columns.div_ceil(8);
    assert_eq!(out.len(), rows * row_bytes, "pack_positive: {row_bytes} bytes for each of {rows} rows");
    if out.is_empty() {
        return;
    }
    match input.dtype.compute() {
        DType::F64 => pack_as::<f64>(input, columns, out),
        DType::F32 => pack_as::<f32>(input, columns, out),
        _ => pack_as::<i64>(input, columns, out),
    }
}

/// `input` where its bit is set and 0 elsewhere; `bits` is `u8` of shape `[.., ceil(n / 8)]`.
///
/// ```
/// use wengert_kernels::{DType, Out, View, select_bits};
/// let x = View { dtype: DType::U8, bytes: &[5, 6, 7], offset: 0, shape: &[3], strides: &[1] };
/// let bits = View { dtype: DType::U8, bytes: &[0b101], offset: 0, shape: &[1], strides: &[1] };
/// let mut out = [9; 3];
/// select_bits(x, bits, Out { dtype: DType::U8, bytes: &mut out });
/// assert_eq!(out, [5, 0, 7]);
/// ```
pub fn select_bits(input: View<'_>, bits: View<'_>, out: Out<'_>) {
    let (rows, columns) = row_shape(&input, "select_bits");
    out.expect_length(rows * columns, "select_bits");
    expect_mask(&bits, rows, columns);
    if input.is_empty() {
        return;
    }
    let bits = mask_bytes(bits);
    match input.dtype.compute() {
        DType::F64 => select_as::<f64>(input, columns, &bits, out),
        DType::F32 => select_as::<f32>(input, columns, &bits, out),
        _ => select_as::<i64>(input, columns, &bits, out),
    }
}

/// Zeroes the elements of `target` whose bit is not set: [`select_bits`] in place. The rows of `target` have `columns` elements.
///
/// ```
/// use wengert_kernels::{DType, View, bits::clear_bits};
/// let bits = View { dtype: DType::U8, bytes: &[0b101], offset: 0, shape: &[1], strides: &[1] };
/// let mut x = [5f32, 6.0, 7.0];
/// clear_bits(&mut x, 3, bits);
/// assert_eq!(x, [5.0, 0.0, 7.0]);
/// ```
pub fn clear_bits<T: Compute>(target: &mut [T], columns: usize, bits: View<'_>) {
    if target.is_empty() {
        return;
    }
    expect_mask(&bits, target.len() / columns, columns);
    let bits = mask_bytes(bits);
    let chunk = rows_per_chunk(target.len(), columns);
    for_each_chunk(target, chunk * columns, &|index, target| {
        let mut truth = [0; TILE + 8];
        let first = index * chunk * columns;
        for_each_part(first, first + target.len(), columns, |start, count, columns_here| {
            spread_rows(&bits[byte_of(start, columns)..], columns_here, count / columns_here, &mut truth);
            clear(&mut target[start - first..][..count], &truth[..count]);
        });
    });
}

fn expect_mask(bits: &View<'_>, rows: usize, columns: usize) {
    assert!(
        bits.dtype.size() == 1 && bits.len() == rows * columns.div_ceil(8),
        "select_bits: a mask of {:?} ({}) for {rows} rows of {columns}",
        bits.shape,
        bits.dtype,
    );
}

fn mask_bytes(bits: View<'_>) -> Cow<'_, [u8]> {
    match bits.contiguous_bytes() {
        Some(bytes) => Cow::Borrowed(bytes),
        None => {
            let mut bytes = vec![0; bits.len()];
            copy(bits, Out { dtype: bits.dtype, bytes: &mut bytes });
            Cow::Owned(bytes)
        }
    }
}

fn row_shape(input: &View<'_>, operation: &str) -> (usize, usize) {
    let Some((&columns, outer)) = input.shape.split_last() else {
        panic!("{operation}: a tensor of rank 0 has no rows");
    };
    (outer.iter().product(), columns)
}

/// The number of rows that one thread takes at a time.
fn rows_per_chunk(elements: usize, columns: usize) -> usize {
    (tile_elements(elements) / columns.max(1)).max(1)
}

/// A tile of booleans, one byte each. The last group of eight of a row may extend into the next row, and that of the last row beyond the
/// end: full groups cost less than a few elements one by one.
type Truth = [u8; TILE + 8];

/// The bits of each byte value, spread to one byte each.
const SPREAD: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut place = 0;
    while place < 256 * 8 {
        table[place / 8][place % 8] = ((place / 8) >> (place % 8) & 1) as u8;
        place += 1;
    }
    table
};

/// Spreads the bits of rows of `columns` elements to bytes.
fn spread_rows(bits: &[u8], columns: usize, rows: usize, truth: &mut Truth) {
    for (row, bits) in bits.chunks_exact(columns.div_ceil(8)).take(rows).enumerate() {
        // In order: the next row overwrites anything written beyond the end of a row.
        for (place, &byte) in bits.iter().enumerate() {
            truth[row * columns + place * 8..][..8].copy_from_slice(&SPREAD[byte as usize]);
        }
    }
}

/// Packs bytes into the bits of rows of `columns` elements.
fn pack_rows(truth: &Truth, columns: usize, out: &mut [u8]) {
    let row_bytes = columns.div_ceil(8);
    for (row, out) in out.chunks_exact_mut(row_bytes).enumerate() {
        for (place, byte) in out.iter_mut().enumerate() {
            let mut group = [0; 8];
            group.copy_from_slice(&truth[row * columns + place * 8..][..8]);
            // The product moves byte j to bit 56 + j.
            *byte = (u64::from_le_bytes(group).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
        }
        if let Some(last) = out.last_mut() {
            *last &= u8::MAX >> (row_bytes * 8 - columns);
        }
    }
}

vectorised! {
    fn positive[T: Compute](values: &[T], truth: &mut [u8]) {
        for (truth, &value) in truth.iter_mut().zip(values) {
            *truth = u8::from(value > T::ZERO);
        }
    }
}

vectorised! {
    fn select[T: Compute](values: &[T], truth: &[u8], out: &mut [T]) {
        for ((out, &value), &truth) in out.iter_mut().zip(values).zip(truth) {
            *out = if truth != 0 { value } else { T::ZERO };
        }
    }
}

vectorised! {
    fn clear[T: Compute](values: &mut [T], truth: &[u8]) {
        for (value, &truth) in values.iter_mut().zip(truth) {
            *value = if truth != 0 { *value } else { T::ZERO };
        }
    }
}

/// Calls `body(start, count, columns)` on tiles that cover `start..end`: whole rows, or a part of one row that counts as a row.
fn for_each_part(mut start: usize, end: usize, columns: usize, mut body: impl FnMut(usize, usize, usize)) {
    let tile = if columns < TILE { TILE / columns * columns } else { TILE };
    while start < end {
        let row_rest = if tile < columns { columns - start % columns } else { tile };
        let count = tile.min(end - start).min(row_rest);
        body(start, count, count.min(columns));
        start += count;
    }
}

/// The byte that holds the bit of element `start`, which is the first bit of that byte.
fn byte_of(start: usize, columns: usize) -> usize {
    start / columns * columns.div_ceil(8) + start % columns / 8
}

fn pack_as<T: Compute>(input: View<'_>, columns: usize, out: &mut [u8]) {
    let row_bytes = columns.div_ceil(8);
    let chunk = rows_per_chunk(input.len(), columns);
    let reader = Reader::<T>::new(input);
    for_each_chunk(out, chunk * row_bytes, &|index, out| {
        let (mut scratch, mut truth) = (Scratch::new(), [0; TILE + 8]);
        let first = index * chunk * columns;
        for_each_part(first, first + out.len() / row_bytes * columns, columns, |start, count, columns_here| {
            positive(reader.tile(start, count, &mut scratch), &mut truth[..count]);
            let bytes = count / columns_here * columns_here.div_ceil(8);
            pack_rows(&truth, columns_here, &mut out[byte_of(start - first, columns)..][..bytes]);
        });
    });
}

fn select_as<T: Compute>(input: View<'_>, columns: usize, bits: &[u8], out: Out<'_>) {
    let Out { dtype, bytes } = out;
    let size = dtype.size();
    let chunk = rows_per_chunk(input.len(), columns);
    let reader = Reader::<T>::new(input);
    for_each_chunk(bytes, chunk * columns * size, &|index, bytes| {
        let (mut scratch, mut results, mut truth) = (Scratch::new(), Scratch::new(), [0; TILE + 8]);
        let first = index * chunk * columns;
        for_each_part(first, first + bytes.len() / size, columns, |start, count, columns_here| {
            spread_rows(&bits[byte_of(start, columns)..], columns_here, count / columns_here, &mut truth);
            let values = reader.tile(start, count, &mut scratch);
            let bytes = &mut bytes[(start - first) * size..][..count * size];
            match bytemuck::try_cast_slice_mut(bytes) {
                Ok(out) if dtype == T::DTYPE => select(values, &truth[..count], out),
                _ => {
                    let results = results.slice(count);
                    select(values, &truth[..count], results);
                    T::store(results, dtype, bytes);
                }
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::samples::{Sample, element, random_shape};

    #[test]
    fn packing_and_selecting_equal_plain_loops() {
        for seed in 0..200 {
            let mut shape = random_shape(seed, 6);
            shape.push(if seed % 10 == 0 { 3000 + seed as usize } else { seed as usize % 37 });
            let dtype = DType::ALL[seed as usize % 8];
            let input = Sample::random(dtype, &shape, seed);
            let values = input.values::<f64>();
            let (&columns, outer) = shape.split_last().unwrap();
            let rows: usize = outer.iter().product();
            let row_bytes = columns.div_ceil(8);
            let mut bits = vec![0xaa; rows * row_bytes];
            pack_positive(input.view(), &mut bits);
            for row in 0..rows {
                for column in 0..row_bytes * 8 {
                    let expected = column < columns && values[row * columns + column] > 0.0;
                    assert_eq!(bits[row * row_bytes + column / 8] >> (column % 8) & 1 == 1, expected);
                }
            }
            // A broadcast mask: the first row is used for all rows.
            let mask_shape: Vec<usize> = outer.iter().copied().chain([row_bytes]).collect();
            let mut strides = vec![0; shape.len()];
            strides[shape.len() - 1] = 1;
            let mask = View { dtype: DType::U8, bytes: &bits, offset: 0, shape: &mask_shape, strides: &strides };
            let mut out = vec![1; values.len() * dtype.size()];
            select_bits(input.view(), mask, Out { dtype, bytes: &mut out });
            for (i, &value) in values.iter().enumerate() {
                let column = i % columns;
                let kept = bits[column / 8] >> (column % 8) & 1 == 1;
                assert_eq!(element::<f64>(dtype, &out, i), if kept { value } else { 0.0 });
            }
            let mut over = values.clone();
            clear_bits(&mut over, columns, mask);
            for (i, (over, value)) in over.iter().zip(&values).enumerate() {
                let kept = bits[i % columns / 8] >> (i % columns % 8) & 1 == 1;
                assert_eq!(*over, if kept { *value } else { 0.0 });
            }
        }
    }

    #[test]
    fn nan_and_negative_zero_are_not_positive() {
        let input = Sample::contiguous(DType::F64, &[3], &[f64::NAN, -0.0, f64::INFINITY]);
        let mut bits = [0];
        pack_positive(input.view(), &mut bits);
        assert_eq!(bits, [0b100]);
    }
}
