//! Materialises a view: `out[i] = input[i]`, converted if the dtypes differ.
//!
//! If the dtypes are equal, bits are copied without conversion. A transpose goes through blocks of 16 x 16 elements held in the first-level
//! cache, so each cache line of both sides is touched once, for any strides.

use super::panel::chunk_elements;
use super::reader::{Reader, walk};
use crate::dtype::{Compute, DType};
use crate::threads::{REGION_TILE, for_each_chunk, tile_elements};
use crate::view::{Layout, Odometer, Out, View, collapse};

/// Copies `input` into `out` in row-major order, converting by the rules of [`Compute`].
///
/// ```
/// use wengert_kernels::{DType, Out, View, copy};
/// let x = [1i32, 2, 3, 4, 5, 6];
/// let transpose = View { dtype: DType::I32, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[3, 2], strides: &[1, 3] };
/// let mut y = [0i64; 6];
/// copy(transpose, Out { dtype: DType::I64, bytes: bytemuck::bytes_of_mut(&mut y) });
/// assert_eq!(y, [1, 4, 2, 5, 3, 6]);
/// ```
pub fn copy(input: View<'_>, out: Out<'_>) {
    out.expect_length(input.len(), "copy");
    if input.is_empty() {
        return;
    }
    let same_bits = input.dtype == out.dtype || (input.dtype, out.dtype) == (DType::Bool, DType::U8);
    match (same_bits, input.dtype.size()) {
        (true, 1) => copy_words::<1>(input, out.bytes),
        (true, 2) => copy_words::<2>(input, out.bytes),
        (true, 4) => copy_words::<4>(input, out.bytes),
        (true, _) => copy_words::<8>(input, out.bytes),
        (false, _) => match input.dtype.compute() {
            DType::F64 => convert::<f64>(input, out),
            DType::F32 => convert::<f32>(input, out),
            _ => convert::<i64>(input, out),
        },
    }
}

/// Converts through `T`, which represents every value of the input exactly.
fn convert<T: Compute>(input: View<'_>, out: Out<'_>) {
    let Out { dtype, bytes } = out;
    let size = dtype.size();
    let readers = [Reader::<T>::new(input)];
    let chunk = chunk_elements(&readers, input.len());
    for_each_chunk(bytes, chunk * size, &|index, bytes| {
        walk(&readers, index * chunk, bytes.len() / size, &mut |tile, [values]| {
            T::store(values, dtype, &mut bytes[tile.start * size..tile.end * size]);
        });
    });
}

fn copy_words<const WIDTH: usize>(input: View<'_>, out: &mut [u8]) {
    let length = input.len();
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    let chunk = tile_elements(length);
    if let Some(bytes) = input.contiguous_bytes() {
        let (source, _) = bytes.as_chunks::<WIDTH>();
        return for_each_chunk(out, chunk, &|index, out| {
            out.copy_from_slice(&source[index * chunk..][..out.len()]);
        });
    }
    let (source, _) = input.bytes.as_chunks::<WIDTH>();
    let layout = collapse(input.shape, input.strides);
    match transposed_axis(&layout) {
        Some(axis) => transpose(source, input.offset, &layout, axis, out),
        None => for_each_chunk(out, chunk, &|index, out| {
            copy_rows(source, input.offset, &layout, index * chunk, out);
        }),
    }
}

/// Elements `start..start + out.len()` in row-major order, by runs of the innermost axis.
fn copy_rows<const WIDTH: usize>(
    source: &[[u8; WIDTH]],
    offset: isize,
    layout: &Layout,
    start: usize,
    mut out: &mut [[u8; WIDTH]],
) {
    let Some(inner) = layout.rank().checked_sub(1) else {
        out[0] = source[offset as usize];
        return;
    };
    let (size, stride) = (layout.shape[inner], layout.strides[inner]);
    let mut column = start % size;
    let mut rows = Odometer::at(&layout.shape[..inner], &layout.strides[..inner], start / size);
    while !out.is_empty() {
        let (run, rest) = out.split_at_mut((size - column).min(out.len()));
        let position = offset + rows.offset + column as isize * stride;
        match stride {
            0 => run.fill(source[position as usize]),
            1 => run.copy_from_slice(&source[position as usize..][..run.len()]),
            _ => {
                let mut position = position;
                for out in run {
                    *out = source[position as usize];
                    position += stride;
                }
            }
        }
        out = rest;
        column = 0;
        rows.advance();
    }
}

/// The side length of the blocks of a transpose.
const BLOCK: usize = 16;

/// The axis that is contiguous in memory, if it is not the innermost one and blocking pays off.
fn transposed_axis(layout: &Layout) -> Option<usize> {
    let inner = layout.rank().checked_sub(1)?;
    if matches!(layout.strides[inner], 0 | 1) || layout.shape[inner] < 4 {
        return None;
    }
    (0..inner).find(|&axis| layout.strides[axis] == 1 && layout.shape[axis] >= 4)
}

/// The outermost axis is divided among threads. Of the others, all but `axis` and the innermost are iterated one index at a time.
fn transpose<const WIDTH: usize>(
    source: &[[u8; WIDTH]],
    offset: isize,
    layout: &Layout,
    axis: usize,
    out: &mut [[u8; WIDTH]],
) {
    let inner = layout.rank() - 1;
    let slab: usize = layout.shape[1..].iter().product();
    let slabs = match out.len() == tile_elements(out.len()) {
        true => layout.shape[0],
        false => REGION_TILE.div_ceil(slab).next_multiple_of(if axis == 0 { BLOCK } else { 1 }),
    };
    for_each_chunk(out, slabs * slab, &|index, out| {
        let mut part = layout.clone();
        part.shape[0] = out.len() / slab;
        let offset = offset + (index * slabs) as isize * layout.strides[0];

        let mut walked = Layout::default();
        let mut out_strides = smallvec::SmallVec::<[isize; 6]>::new();
        let mut step = 1isize;
        let mut steps = smallvec::SmallVec::<[isize; 6]>::from_elem(0, part.rank());
        for i in (0..part.rank()).rev() {
            steps[i] = step;
            step *= part.shape[i] as isize;
        }
        for i in (0..inner).filter(|&i| i != axis) {
            walked.shape.push(part.shape[i]);
            walked.strides.push(part.strides[i]);
            out_strides.push(steps[i]);
        }
        let mut from = Odometer::at(&walked.shape, &walked.strides, 0);
        let mut to = Odometer::at(&walked.shape, &out_strides, 0);
        for _ in 0..walked.shape.iter().product() {
            let plane = Plane {
                rows: part.shape[axis],
                columns: part.shape[inner],
                column_stride: part.strides[inner],
                out_row_stride: steps[axis] as usize,
            };
            plane.transpose(source, offset + from.offset, &mut out[to.offset as usize..]);
            from.advance();
            to.advance();
        }
    });
}

/// `out[row * out_row_stride + column] = source[row + column * column_stride]`.
struct Plane {
    rows: usize,
    columns: usize,
    column_stride: isize,
    out_row_stride: usize,
}

impl Plane {
    fn transpose<const WIDTH: usize>(&self, source: &[[u8; WIDTH]], offset: isize, out: &mut [[u8; WIDTH]]) {
        let mut block = [[[0; WIDTH]; BLOCK]; BLOCK];
        for row in (0..self.rows).step_by(BLOCK) {
            let height = BLOCK.min(self.rows - row);
            for column in (0..self.columns).step_by(BLOCK) {
                let width = BLOCK.min(self.columns - column);
                for (j, line) in block[..width].iter_mut().enumerate() {
                    let position = offset + row as isize + (column + j) as isize * self.column_stride;
                    line[..height].copy_from_slice(&source[position as usize..][..height]);
                }
                for i in 0..height {
                    let line = &mut out[(row + i) * self.out_row_stride + column..][..width];
                    for (out, from) in line.iter_mut().zip(&block) {
                        *out = from[i];
                    }
                }
            }
        }
    }
}
