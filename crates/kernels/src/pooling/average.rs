//! `out[o] = (sum over the window of o) / divisor`, and its transpose.
//!
//! A row of a window is summed first and then added to the others, so long windows lose little to rounding.

use super::Pooling;
use super::planes::for_each_plane;
use super::window::{Window, divisor};
use crate::conv::inside;
use crate::map::{loop2, loop2_in_place};
use crate::matmul::Product;
use crate::pool::Block;
use crate::simd::vectorised;

/// What one plane needs: the divisors are those of the first axes times those of the row.
struct Rows<'a> {
    pooling: &'a Pooling,
    windows: [Vec<Window>; 3],
    count_include_pad: bool,
    divisor: Option<f64>,
}

impl Rows<'_> {
    /// Calls `each(first line of the window, windows, output row)` for every row of the output.
    fn for_each(&self, mut each: impl FnMut(Window, Window, usize)) {
        let rows = self.windows[0].iter().flat_map(|a| self.windows[1].iter().map(move |b| (*a, *b)));
        for (row, (a, b)) in rows.enumerate() {
            each(a, b, row * self.pooling.output[2]);
        }
    }

    fn scales<T: Product>(&self, a: Window, b: Window, scales: &mut [T]) {
        for (scale, &c) in scales.iter_mut().zip(&self.windows[2]) {
            *scale = T::from_f64(divisor([a, b, c], self.count_include_pad, self.divisor));
        }
    }

    /// Calls `each(positions of the output row, first element of the input)` for every tap of a row of the window.
    fn for_each_tap(&self, a: Window, b: Window, k: usize, mut each: impl FnMut(std::ops::Range<usize>, usize)) {
        let pooling = self.pooling;
        let [_, height, width] = pooling.input;
        let (k0, k1) = (k / b.count, k % b.count);
        let line = (a.first + k0 * pooling.dilation[0]) * height + b.first + k1 * pooling.dilation[1];
        for k2 in 0..pooling.kernel[2] {
            let (stride, shift, before) = (pooling.stride[2], k2 * pooling.dilation[2], pooling.before[2]);
            let run = inside(pooling.output[2], stride, shift, before, width);
            if !run.is_empty() {
                let first = line * width + run.start * stride + shift - before;
                each(run, first);
            }
        }
    }
}

pub(super) fn average<T: Product>(
    pooling: &Pooling,
    x: &[T],
    out: &mut [T],
    count_include_pad: bool,
    divisor: Option<f64>,
) {
    let rows = Rows { pooling, windows: pooling.windows(), count_include_pad, divisor };
    let (size, columns) = (pooling.input.iter().product::<usize>(), pooling.output[2]);
    let count = pooling.output.iter().product();
    for_each_plane(pooling.planes, count, out, &|plane, out| {
        let x = &x[plane * size..][..size];
        let mut scratch = Block::new(2 * columns * size_of::<T>());
        let (part, scales) = scratch.as_mut_slice::<T>().expect("a new block is not shared").split_at_mut(columns);
        rows.for_each(|a, b, row| {
            let out = &mut out[row..row + columns];
            out.fill(T::ZERO);
            for k in 0..a.count * b.count {
                part.fill(T::ZERO);
                rows.for_each_tap(a, b, k, |run, first| add_steps(&x[first..], pooling.stride[2], &mut part[run]));
                loop2_in_place(out, part, |sum, part| sum + part);
            }
            rows.scales(a, b, scales);
            loop2_in_place(out, scales, |sum, scale| sum / scale);
        });
    });
}

pub(super) fn gradient<T: Product>(
    pooling: &Pooling,
    g: &[T],
    out: &mut [T],
    count_include_pad: bool,
    divisor: Option<f64>,
) {
    let rows = Rows { pooling, windows: pooling.windows(), count_include_pad, divisor };
    let (size, columns) = (pooling.input.iter().product::<usize>(), pooling.output[2]);
    let count = pooling.output.iter().product::<usize>();
    for_each_plane(pooling.planes, size, out, &|plane, out| {
        let g = &g[plane * count..][..count];
        let mut scratch = Block::new(2 * columns * size_of::<T>());
        let (share, scales) = scratch.as_mut_slice::<T>().expect("a new block is not shared").split_at_mut(columns);
        out.fill(T::ZERO);
        rows.for_each(|a, b, row| {
            rows.scales(a, b, scales);
            loop2(&g[row..row + columns], scales, share, |g, scale| g / scale);
            for k in 0..a.count * b.count {
                rows.for_each_tap(a, b, k, |run, first| {
                    add_to_steps(&share[run], pooling.stride[2], &mut out[first..])
                });
            }
        });
    });
}

vectorised! {
    /// `sums[j] += x[j * stride]`.
    fn add_steps[T: Product](x: &[T], stride: usize, sums: &mut [T]) {
        match stride {
            1 => x.iter().zip(sums).for_each(|(&x, sum)| *sum = *sum + x),
            _ => x.iter().step_by(stride).zip(sums).for_each(|(&x, sum)| *sum = *sum + x),
        }
    }
}

vectorised! {
    /// `out[j * stride] += share[j]`.
    fn add_to_steps[T: Product](share: &[T], stride: usize, out: &mut [T]) {
        match stride {
            1 => out.iter_mut().zip(share).for_each(|(out, &share)| *out = *out + share),
            _ => out.iter_mut().step_by(stride).zip(share).for_each(|(out, &share)| *out = *out + share),
        }
    }
}
