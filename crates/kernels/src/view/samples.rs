//! Random strided arrays for tests, and their elements by plain index arithmetic.

use super::View;
use crate::dtype::{Compute, DType, convert_bits};
use crate::random::philox;

/// Pseudo-random numbers for tests, from a seed.
pub(crate) struct Numbers {
    seed: u32,
    next: u32,
}

impl Numbers {
    pub(crate) fn new(seed: u32) -> Numbers {
        Numbers { seed, next: 0 }
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.next += 1;
        philox([self.next, 0, 0, 0], [self.seed, 77])[0]
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }
}

/// A shape of rank 0 to 4 with sizes 1 to `limit`, sometimes 0.
pub(crate) fn random_shape(seed: u32, limit: usize) -> Vec<usize> {
    let mut numbers = Numbers::new(seed);
    let rank = numbers.below(5);
    let mut shape: Vec<usize> = (0..rank).map(|_| 1 + numbers.below(limit)).collect();
    if rank > 0 && numbers.below(12) == 0 {
        shape[0] = 0;
    }
    shape
}

/// An owned strided array.
pub(crate) struct Sample {
    pub(crate) dtype: DType,
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: isize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
}

impl Sample {
    /// Axes in random memory order, some broadcast, some reversed, with gaps; small integer values.
    pub(crate) fn random(dtype: DType, shape: &[usize], seed: u32) -> Sample {
        let mut numbers = Numbers::new(seed ^ 0x5eed);
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if numbers.below(3) > 0 {
            for i in (1..order.len()).rev() {
                order.swap(i, numbers.below(i + 1));
            }
        }
        let (broadcast, gaps) = (numbers.below(3) == 0, numbers.below(3) == 0);
        let mut strides = vec![0isize; shape.len()];
        let mut step = if gaps { 1 + numbers.below(2) } else { 1 };
        let mut offset = numbers.below(4) as isize;
        for &axis in order.iter().rev() {
            if broadcast && numbers.below(2) == 0 {
                continue;
            }
            strides[axis] = step as isize;
            step *= shape[axis].max(1);
            if numbers.below(5) == 0 {
                offset += strides[axis] * shape[axis].saturating_sub(1) as isize;
                strides[axis] = -strides[axis];
            }
            if gaps {
                step += numbers.below(3);
            }
        }
        let count = offset as usize + step + 8;
        let mut bytes = vec![0; count * dtype.size()];
        let values: Vec<i64> =
            (0..count).map(|_| numbers.below(40) as i64 - if dtype.is_float() { 20 } else { 0 }).collect();
        i64::store(&values, dtype, &mut bytes);
        Sample { dtype, bytes, offset, shape: shape.to_vec(), strides }
    }

    /// Contiguous memory with the given values.
    pub(crate) fn contiguous(dtype: DType, shape: &[usize], values: &[f64]) -> Sample {
        let mut bytes = vec![0; values.len() * dtype.size()];
        f64::store(values, dtype, &mut bytes);
        let mut strides = vec![0; shape.len()];
        let mut step = 1;
        for axis in (0..shape.len()).rev() {
            strides[axis] = step;
            step *= shape[axis] as isize;
        }
        Sample { dtype, bytes, offset: 0, shape: shape.to_vec(), strides }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { dtype: self.dtype, bytes: &self.bytes, offset: self.offset, shape: &self.shape, strides: &self.strides }
    }

    /// The elements in row-major order, one by one through [`convert_bits`].
    pub(crate) fn values<T: Compute>(&self) -> Vec<T> {
        let count: usize = self.shape.iter().product();
        (0..count)
            .map(|linear| {
                let mut rest = linear;
                let mut position = self.offset;
                for axis in (0..self.shape.len()).rev() {
                    position += (rest % self.shape[axis]) as isize * self.strides[axis];
                    rest /= self.shape[axis];
                }
                element(self.dtype, &self.bytes, position as usize)
            })
            .collect()
    }
}

/// Element `position` of contiguous memory.
pub(crate) fn element<T: Compute>(dtype: DType, bytes: &[u8], position: usize) -> T {
    let size = dtype.size();
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[position * size..][..size]);
    let bits = convert_bits(u64::from_le_bytes(word), dtype, T::DTYPE);
    bytemuck::cast_slice::<u64, T>(&[bits])[0]
}
