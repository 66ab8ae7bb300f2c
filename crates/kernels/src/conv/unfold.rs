//! Patches as columns, and back.
//!
//! `unfold: columns[n][c, k][q] = x[n][c][q * stride + k * dilation - before]`, zero outside; `fold` is its transpose,
//! `x[n][c][i] = sum over q * stride + k * dilation - before == i of columns[n][c, k][q]`, summed in the order of `k`.

use super::Convolution;
use super::axis::inside;
use crate::dtype::Compute;
use crate::map::loop2_in_place;
use crate::threads::{REGION_TILE, for_each_chunk};
use std::ops::Range;

/// A run of positions of the last axis inside the input, for one tap.
struct Run {
    /// Where the run begins in the columns of one channel, and in its plane.
    column: usize,
    pixel: usize,
    length: usize,
}

impl Convolution {
    /// Copies every patch into a column: `out` is `[batch, channels * kernel, output positions]`, `x` as for
    /// [`forward`](Convolution::forward). `outputs` and `groups` do not matter.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// let patches = Convolution { kernel: [1, 1, 2], ..Convolution::new(1, 1, 1, [1, 1, 3]) };
    /// let mut out = [0; 4];
    /// patches.unfold(&[1, 2, 4], &mut out);
    /// assert_eq!(out, [1, 2, 2, 4]);
    /// ```
    pub fn unfold<T: Compute>(&self, x: &[T], out: &mut [T]) {
        let (plane, columns) = self.patch_sizes(x.len(), out.len());
        if columns == 0 {
            return;
        }
        let group = (REGION_TILE / columns).max(1);
        for_each_chunk(out, group * columns, &|index, out| {
            for (channel, out) in out.chunks_exact_mut(columns).enumerate() {
                let x = &x[(index * group + channel) * plane..][..plane];
                out.fill(T::ZERO);
                self.for_each_run(|Run { column, pixel, length }| {
                    let out = &mut out[column..column + length];
                    if self.stride[2] == 1 {
                        out.copy_from_slice(&x[pixel..pixel + length]);
                    } else {
                        for (out, &x) in out.iter_mut().zip(x[pixel..].iter().step_by(self.stride[2])) {
                            *out = x;
                        }
                    }
                });
            }
        });
    }

    /// Adds every column back to where [`unfold`](Convolution::unfold) took it from: its transpose.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// let patches = Convolution { kernel: [1, 1, 2], ..Convolution::new(1, 1, 1, [1, 1, 3]) };
    /// let mut out = [0; 3];
    /// patches.fold(&[1, 2, 20, 40], &mut out);
    /// assert_eq!(out, [1, 22, 40]);
    /// ```
    pub fn fold<T: Compute>(&self, columns: &[T], out: &mut [T]) {
        let (plane, size) = self.patch_sizes(out.len(), columns.len());
        if plane == 0 {
            return;
        }
        let group = (REGION_TILE / size.max(plane)).max(1);
        for_each_chunk(out, group * plane, &|index, out| {
            for (channel, out) in out.chunks_exact_mut(plane).enumerate() {
                let columns = &columns[(index * group + channel) * size..][..size];
                out.fill(T::ZERO);
                self.for_each_run(|Run { column, pixel, length }| {
                    let columns = &columns[column..column + length];
                    if self.stride[2] == 1 {
                        loop2_in_place(&mut out[pixel..pixel + length], columns, T::wrapping_plus);
                    } else {
                        for (out, &x) in out[pixel..].iter_mut().step_by(self.stride[2]).zip(columns) {
                            *out = out.wrapping_plus(x);
                        }
                    }
                });
            }
        });
    }

    /// Elements of one channel of the input and of its columns. Panics unless the tensors have these sizes.
    fn patch_sizes(&self, input: usize, columns: usize) -> (usize, usize) {
        self.expect_sound();
        let size = |sizes: [usize; 3]| sizes.iter().product::<usize>();
        let (plane, column) = (size(self.input), size(self.kernel) * size(self.output()));
        let planes = self.batch * self.channels;
        assert_eq!(input, planes * plane, "unfold: the input must have {} elements for {self:?}", planes * plane);
        assert_eq!(columns, planes * column, "unfold: the columns must have {} elements for {self:?}", planes * column);
        (plane, column)
    }

    /// The positions of an axis at which tap `k` lies inside the input.
    fn inside(&self, axis: usize, k: usize, output: usize) -> Range<usize> {
        let shift = k * self.dilation[axis];
        inside(output, self.stride[axis], shift, self.before[axis], self.input[axis])
    }

    fn for_each_run(&self, mut each: impl FnMut(Run)) {
        let [d, h, w] = self.output();
        let at = |axis: usize, k: usize, q: usize| q * self.stride[axis] + k * self.dilation[axis] - self.before[axis];
        let mut taps = 0;
        for k0 in 0..self.kernel[0] {
            for k1 in 0..self.kernel[1] {
                for k2 in 0..self.kernel[2] {
                    let run = self.inside(2, k2, w);
                    let first = taps * d * h * w;
                    taps += 1;
                    if run.is_empty() {
                        continue;
                    }
                    for q0 in self.inside(0, k0, d) {
                        for q1 in self.inside(1, k1, h) {
                            let line = at(0, k0, q0) * self.input[1] + at(1, k1, q1);
                            each(Run {
                                column: first + (q0 * h + q1) * w + run.start,
                                pixel: line * self.input[2] + at(2, k2, run.start),
                                length: run.len(),
                            });
                        }
                    }
                }
            }
        }
    }
}
