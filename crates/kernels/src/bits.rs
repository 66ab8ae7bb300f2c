//! One-bit masks: bit `j` of byte `i` of a row belongs to element `8 i + j` of the last axis.
//!
//! `relu` saves one bit an element instead of the element: `pack(x > 0)`, later `select(g, bits)`.

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
    assert!(
        bits.dtype.size() == 1 && bits.len() == rows * columns.div_ceil(8),
        "select_bits: a mask of {:?} ({}) for an input of {:?}",
        bits.shape,
        bits.dtype,
        input.shape
    );
    if input.is_empty() {
        return;
    }
    let bits = match bits.contiguous_bytes() {
        Some(bytes) => Cow::Borrowed(bytes),
        None => {
            let mut bytes = vec![0; bits.len()];
            copy(bits, Out { dtype: bits.dtype, bytes: &mut bytes });
            Cow::Owned(bytes)
        }
    };
    match input.dtype.compute() {
        DType::F64 => select_as::<f64>(input, columns, &bits, out),
        DType::F32 => select_as::<f32>(input, columns, &bits, out),
        _ => select_as::<i64>(input, columns, &bits, out),
    }
}

fn row_shape(input: &View<'_>, operation: &str) -> (usize, usize) {
    let Some((&columns, outer)) = input.shape.split_last() else {
        panic!("{operation}: a tensor of rank 0 has no rows");
    };
    (outer.iter().product(), columns)
}

/// Rows that one thread takes at a time.
fn rows_per_chunk(elements: usize, columns: usize) -> usize {
    (tile_elements(elements) / columns.max(1)).max(1)
}

vectorised! {
    fn pack_tile[T: Compute](values: &[T], out: &mut [u8]) {
        let (groups, tail) = values.as_chunks::<8>();
        for (group, byte) in groups.iter().zip(out.iter_mut()) {
            *byte = group.iter().enumerate().fold(0, |byte, (j, &value)| byte | ((value > T::ZERO) as u8) << j);
        }
        if !tail.is_empty() {
            out[groups.len()] = tail.iter().enumerate().fold(0, |byte, (j, &value)| byte | ((value > T::ZERO) as u8) << j);
        }
    }
}

fn pack_as<T: Compute>(input: View<'_>, columns: usize, out: &mut [u8]) {
    let row_bytes = columns.div_ceil(8);
    let chunk = rows_per_chunk(input.len(), columns);
    let reader = Reader::<T>::new(input);
    for_each_chunk(out, chunk * row_bytes, &|index, out| {
        let mut scratch = Scratch::new();
        for (row, out) in out.chunks_exact_mut(row_bytes).enumerate() {
            let start = (index * chunk + row) * columns;
            for (tile, out) in out.chunks_mut(TILE / 8).enumerate() {
                let begin = tile * TILE;
                pack_tile(reader.tile(start + begin, TILE.min(columns - begin), &mut scratch), out);
            }
        }
    });
}

vectorised! {
    fn select_tile[T: Compute](values: &[T], bits: &[u8], out: &mut [T]) {
        for ((values, out), &byte) in values.chunks(8).zip(out.chunks_mut(8)).zip(bits) {
            for (j, (out, &value)) in out.iter_mut().zip(values).enumerate() {
                *out = if byte & (1 << j) != 0 { value } else { T::ZERO };
            }
        }
    }
}

fn select_as<T: Compute>(input: View<'_>, columns: usize, bits: &[u8], out: Out<'_>) {
    let Out { dtype, bytes } = out;
    let size = dtype.size();
    let row_bytes = columns.div_ceil(8);
    let chunk = rows_per_chunk(input.len(), columns);
    let reader = Reader::<T>::new(input);
    for_each_chunk(bytes, chunk * columns * size, &|index, bytes| {
        let mut scratch = Scratch::new();
        let mut selected = Scratch::new();
        for (row, bytes) in bytes.chunks_exact_mut(columns * size).enumerate() {
            let row = index * chunk + row;
            let bits = &bits[row * row_bytes..][..row_bytes];
            for (tile, bytes) in bytes.chunks_mut(TILE * size).enumerate() {
                let begin = tile * TILE;
                let count = bytes.len() / size;
                let selected = selected.slice(count);
                let values = reader.tile(row * columns + begin, count, &mut scratch);
                select_tile(values, &bits[begin / 8..], selected);
                T::store(selected, dtype, bytes);
            }
        }
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
            // A broadcast mask: the first row for all.
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
