//! Writes to a strided part of row-major memory: `target[part[i]] = source[i]`, or `+=`.
//!
//! If the dtypes are equal, assignment copies bits. If the slabs of the outermost axis do not overlap, they are divided among threads;
//! parts with overlapping elements are added in row-major order on one thread.

use super::loops::loop2_in_place;
use super::reader::{Reader, Scratch, TILE};
use crate::dtype::{Compute, DType};
use crate::threads::{REGION_TILE, for_each_chunk, tile_elements};
use crate::view::{Layout, Odometer, Out, View};
use smallvec::SmallVec;

/// The layout of a part in its target, in elements from the target's start.
///
/// ```
/// use wengert_kernels::map::{StridedPart, assign_part};
/// use wengert_kernels::{DType, Out, View};
/// // The second column of a 2 x 3 matrix.
/// let column = StridedPart { offset: 1, shape: &[2], strides: &[3] };
/// let mut matrix = [0u8; 6];
/// let source = View { dtype: DType::U8, bytes: &[7, 8], offset: 0, shape: &[2], strides: &[1] };
/// assign_part(Out { dtype: DType::U8, bytes: &mut matrix }, column, source);
/// assert_eq!(matrix, [0, 7, 0, 0, 8, 0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StridedPart<'a> {
    /// The position of the first element.
    pub offset: usize,
    /// The size of each axis.
    pub shape: &'a [usize],
    /// The step along each axis, not negative.
    pub strides: &'a [isize],
}

/// Writes `source`, of the shape of the part and the dtype of the target, over a part of the target.
///
/// Where the part contains an element several times, the last value wins.
pub fn assign_part(target: Out<'_>, part: StridedPart<'_>, source: View<'_>) {
    assert_eq!(target.dtype, source.dtype, "assign_part: the source must have the dtype of the target");
    match target.dtype.size() {
        1 => assign_words::<1>(target.bytes, part, source),
        2 => assign_words::<2>(target.bytes, part, source),
        4 => assign_words::<4>(target.bytes, part, source),
        _ => assign_words::<8>(target.bytes, part, source),
    }
}

/// Adds `source`, of the shape of the part, to a part of the target; if the part contains an element several times, all values are added.
///
/// ```
/// use wengert_kernels::map::{StridedPart, add_part};
/// use wengert_kernels::{DType, Out, View};
/// // Two windows of length 2 that overlap in the middle.
/// let windows = StridedPart { offset: 0, shape: &[2, 2], strides: &[1, 1] };
/// let (mut sums, source) = ([0.0f32; 3], [1.0f32, 2.0, 3.0, 4.0]);
/// let source = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&source), offset: 0, shape: &[2, 2], strides: &[2, 1] };
/// add_part(Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut sums) }, windows, source);
/// assert_eq!(sums, [1.0, 5.0, 4.0]);
/// ```
pub fn add_part(target: Out<'_>, part: StridedPart<'_>, source: View<'_>) {
    match target.dtype.compute() {
        DType::F64 => add::<f64>(target, part, source),
        DType::F32 => add::<f32>(target, part, source),
        _ => add::<i64>(target, part, source),
    }
}

/// A part and its source with as few axes as possible; `slabs` outer positions make one task.
struct Walk {
    shape: SmallVec<[usize; 6]>,
    to: SmallVec<[isize; 6]>,
    from: SmallVec<[isize; 6]>,
    /// The number of target elements from one slab to the next, if the slabs are disjoint.
    slab: Option<usize>,
    slabs: usize,
}

impl Walk {
    fn new(part: StridedPart<'_>, from: &[isize]) -> Walk {
        let mut walk =
            Walk { shape: SmallVec::new(), to: SmallVec::new(), from: SmallVec::new(), slab: None, slabs: 0 };
        for ((&size, &to), &from) in part.shape.iter().zip(part.strides).zip(from) {
            assert!(to >= 0, "a part has no negative strides");
            let merges = |last: isize, step: isize| last == size as isize * step;
            match (walk.shape.last_mut(), walk.to.last_mut(), walk.from.last_mut()) {
                _ if size == 1 => {}
                (Some(last), Some(last_to), Some(last_from)) if merges(*last_to, to) && merges(*last_from, from) => {
                    (*last, *last_to, *last_from) = (*last * size, to, from);
                }
                _ => {
                    walk.shape.push(size);
                    walk.to.push(to);
                    walk.from.push(from);
                }
            }
        }
        if walk.shape.is_empty() {
            walk.shape.push(1);
            walk.to.push(1);
            walk.from.push(1);
        }
        let extent: isize = walk.shape[1..].iter().zip(&walk.to[1..]).map(|(&size, to)| (size as isize - 1) * to).sum();
        let length = walk.shape.iter().product::<usize>();
        let parallel = tile_elements(length) != length && walk.to[0] > extent;
        walk.slab = parallel.then_some(walk.to[0] as usize);
        walk.slabs = REGION_TILE.div_ceil((length / walk.shape[0]).max(1));
        walk
    }

    /// Calls `body(to, first)` for each row of the innermost axis, with its start in `target` and its row number.
    fn rows<T: Send>(&self, target: &mut [T], body: &(dyn Fn(&mut [T], usize) + Sync)) {
        let inner = self.shape.len() - 1;
        let each = |target: &mut [T], first_slab: usize, slabs: usize| {
            let mut shape: SmallVec<[usize; 6]> = self.shape[..inner].into();
            let per_slab: usize = self.shape[..inner].iter().skip(1).product();
            if let Some(outer) = shape.first_mut() {
                *outer = slabs;
            }
            let mut to = Odometer::at(&shape, &self.to[..inner], 0);
            for row in 0..shape.iter().product() {
                body(&mut target[to.offset as usize..], first_slab * per_slab + row);
                to.advance();
            }
        };
        match self.slab {
            Some(slab) if inner > 0 => for_each_chunk(target, slab * self.slabs, &|index, target| {
                let first = index * self.slabs;
                if first < self.shape[0] {
                    each(target, first, self.slabs.min(self.shape[0] - first));
                }
            }),
            _ => each(target, 0, self.shape[0]),
        }
    }
}

fn assign_words<const WIDTH: usize>(target: &mut [u8], part: StridedPart<'_>, source: View<'_>) {
    assert_eq!(part.shape, source.shape, "assign_part: the source must have the shape of the part");
    if source.is_empty() {
        return;
    }
    let (target, _) = target.as_chunks_mut::<WIDTH>();
    let (words, _) = source.bytes.as_chunks::<WIDTH>();
    let walk = Walk::new(part, source.strides);
    let inner = walk.shape.len() - 1;
    let (columns, to, from) = (walk.shape[inner], walk.to[inner] as usize, walk.from[inner]);
    let rows = Layout { shape: walk.shape[..inner].into(), strides: walk.from[..inner].into() };
    walk.rows(&mut target[part.offset..], &|target, row| {
        let mut position = source.offset + Odometer::at(&rows.shape, &rows.strides, row).offset;
        match (to, from) {
            (1, 1) => target[..columns].copy_from_slice(&words[position as usize..][..columns]),
            (1, 0) => target[..columns].fill(words[position as usize]),
            _ => {
                for column in 0..columns {
                    target[column * to] = words[position as usize];
                    position += from;
                }
            }
        }
    });
}

fn add<T: Compute>(target: Out<'_>, part: StridedPart<'_>, source: View<'_>) {
    assert_eq!(part.shape, source.shape, "add_part: the source must have the shape of the part");
    if source.is_empty() {
        return;
    }
    let (dtype, size) = (target.dtype, target.dtype.size());
    // The rows of the part are not reordered, so row r of the part is the elements r * columns .. of the source.
    let walk = Walk::new(part, part.strides);
    let inner = walk.shape.len() - 1;
    let (columns, to) = (walk.shape[inner], walk.to[inner] as usize);
    let reader = Reader::<T>::new(source);
    let each = |row: usize, f: &mut dyn FnMut(usize, &[T])| {
        let mut scratch = Scratch::new();
        for start in (0..columns).step_by(TILE) {
            f(start, reader.tile(row * columns + start, TILE.min(columns - start), &mut scratch));
        }
    };
    if dtype == T::DTYPE
        && let Ok(values) = bytemuck::try_cast_slice_mut::<u8, T>(target.bytes)
    {
        return walk.rows(&mut values[part.offset..], &|target, row| {
            each(row, &mut |start, values| match to {
                1 => loop2_in_place(&mut target[start..start + values.len()], values, T::wrapping_plus),
                _ => {
                    for (i, &value) in values.iter().enumerate() {
                        let place = &mut target[(start + i) * to];
                        *place = place.wrapping_plus(value);
                    }
                }
            });
        });
    }
    // Narrow types are widened one element at a time; slabs are cut at element boundaries.
    let rows = Layout { shape: walk.shape[..inner].into(), strides: walk.to[..inner].into() };
    for row in 0..rows.shape.iter().product() {
        let first = part.offset + Odometer::at(&rows.shape, &rows.strides, row).offset as usize;
        each(row, &mut |start, values| {
            for (i, &value) in values.iter().enumerate() {
                let at = (first + (start + i) * to) * size;
                let place = &mut target.bytes[at..at + size];
                let mut sum = [T::ZERO];
                T::load(dtype, place, &mut sum);
                sum[0] = sum[0].wrapping_plus(value);
                T::store(&sum, dtype, place);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all parts, layouts and sizes with a naive loop.
    fn agrees(shape: &[usize], strides: &[isize], offset: usize, length: usize, from: &[isize], first: isize) {
        let count: usize = shape.iter().product();
        let reach: isize = shape.iter().zip(from).map(|(&size, &step)| (size as isize - 1).max(0) * step.abs()).sum();
        let numbers: Vec<i32> = (0..reach + first + 1).map(|i| i as i32 * 7 % 1001).collect();
        let source =
            View { dtype: DType::I32, bytes: bytemuck::cast_slice(&numbers), offset: first, shape, strides: from };
        let before: Vec<i32> = (0..length as i32).map(|i| -i).collect();
        let (mut assigned, mut added) = (before.clone(), before.clone());
        let mut wide: Vec<i64> = before.iter().map(|&x| i64::from(x)).collect();
        let part = StridedPart { offset, shape, strides };
        assign_part(Out { dtype: DType::I32, bytes: bytemuck::cast_slice_mut(&mut assigned) }, part, source);
        add_part(Out { dtype: DType::I32, bytes: bytemuck::cast_slice_mut(&mut added) }, part, source);
        add_part(Out { dtype: DType::I64, bytes: bytemuck::cast_slice_mut(&mut wide) }, part, source);
        let (mut last, mut sums) = (before.clone(), before);
        for i in 0..count {
            let place = offset as isize + Odometer::at(shape, strides, i).offset;
            let value = source.at_linear::<i64>(i) as i32;
            last[place as usize] = value;
            sums[place as usize] += value;
        }
        assert_eq!(assigned, last);
        assert_eq!(added, sums);
        assert!(wide.iter().zip(&sums).all(|(&wide, &sum)| wide == i64::from(sum)));
    }

    #[test]
    fn parts_equal_the_plain_loop() {
        agrees(&[3, 4], &[10, 2], 1, 40, &[4, 1], 0);
        agrees(&[3, 4], &[10, 1], 1, 40, &[1, 3], 0);
        agrees(&[4], &[6], 2, 30, &[-1], 3);
        agrees(&[3, 4], &[10, 1], 0, 40, &[0, 0], 5);
        agrees(&[2, 0], &[3, 1], 0, 6, &[0, 1], 0);
        agrees(&[], &[], 3, 6, &[], 0);
        agrees(&[300, 301], &[512, 1], 9, 300 * 512, &[301, 1], 0);
        agrees(&[20, 50, 60], &[8000, 80, 1], 1700, 170_000, &[3000, 60, 1], 0);
        agrees(&[70_000], &[3], 2, 220_000, &[1], 0);
    }

    #[test]
    fn overlapping_windows_add_up() {
        agrees(&[50, 8], &[1, 1], 0, 60, &[8, 1], 0);
        agrees(&[9000, 8], &[2, 1], 0, 18_010, &[8, 1], 0);
    }
}
