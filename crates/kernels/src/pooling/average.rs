//! `out[o] = (sum over the window of o) / divisor`, and its transpose.
//!
//! Windows with long rows are summed row by row; short ones in passes over a row of outputs, one for each tap.

use super::Pooling;
use super::planes::{for_each_group, for_each_plane};
use super::window::{Window, divisor, runs};
use crate::map::{loop1_in_place, loop2, loop2_in_place};
use crate::matmul::Product;
use crate::pool::Block;
use crate::simd::vectorised;
use crate::threads::Disjoint;
use std::ops::Range;

/// The result of [`runs`].
type Runs = [(Range<usize>, usize)];

/// From this many elements per row on, windows are summed one by one.
const LONG: usize = 8;

pub(super) fn average<T: Product>(
    pooling: &Pooling,
    x: &[T],
    out: &mut [T],
    count_include_pad: bool,
    divisor: Option<f64>,
) {
    let windows = pooling.windows();
    let divisors = divisors::<T>(&windows, count_include_pad, divisor);
    let divisors = divisors.as_slice::<T>();
    if pooling.dilation == [1; 3] && pooling.kernel[2] >= LONG {
        return average_of_windows((pooling.planes, pooling.input), &windows, divisors, x, out);
    }
    let runs = runs(pooling);
    let size = pooling.input.iter().product::<usize>();
    for_each_output_plane((pooling.planes, size), x, divisors.len(), out, &|x, out| {
        out.fill(T::ZERO);
        add_taps(pooling, &windows, &runs, x, out);
        loop2_in_place(out, divisors, |sum, divisor| sum / divisor);
    });
}

pub(super) fn gradient<T: Product>(
    pooling: &Pooling,
    g: &[T],
    out: &mut [T],
    count_include_pad: bool,
    divisor: Option<f64>,
) {
    let windows = pooling.windows();
    let divisors = divisors::<T>(&windows, count_include_pad, divisor);
    let divisors = divisors.as_slice::<T>();
    if pooling.dilation == [1; 3] && pooling.kernel[2] >= LONG {
        return gradient_of_windows((pooling.planes, pooling.input), &windows, divisors, g, out);
    }
    let runs = runs(pooling);
    let size = pooling.input.iter().product::<usize>();
    for_each_plane(pooling.planes, size, out, &|plane, out| {
        let mut shares = Block::new(size_of_val(divisors));
        let shares = shares.as_mut_slice::<T>().expect("a new block is not shared");
        loop2(&g[plane * divisors.len()..][..divisors.len()], divisors, shares, |g, divisor| g / divisor);
        out.fill(T::ZERO);
        spread_taps(pooling, &windows, &runs, shares, out);
    });
}

/// The divisor of every window of a plane.
pub(super) fn divisors<T: Product>(windows: &[Vec<Window>; 3], count_include_pad: bool, fixed: Option<f64>) -> Block {
    let count = windows.iter().map(Vec::len).product::<usize>();
    let mut block = Block::new(count * size_of::<T>());
    let mut slots = block.as_mut_slice::<T>().expect("a new block is not shared").iter_mut();
    for_each_window(windows, |window| {
        let slot = slots.next().expect("a divisor per window");
        *slot = T::from_f64(divisor(window, count_include_pad, fixed));
    });
    block
}

fn for_each_window(windows: &[Vec<Window>; 3], mut each: impl FnMut([Window; 3])) {
    for &a in &windows[0] {
        for &b in &windows[1] {
            for &c in &windows[2] {
                each([a, b, c]);
            }
        }
    }
}

/// Calls `body(input plane, output plane)`; the size of groups depends on the larger of the two.
fn for_each_output_plane<T: Product>(
    (planes, size): (usize, usize),
    x: &[T],
    count: usize,
    out: &mut [T],
    body: &(impl Fn(&[T], &mut [T]) + Sync),
) {
    let out = Disjoint::new(out);
    for_each_group(planes, size.max(count), &|plane| {
        // SAFETY: each plane runs once and has its own range.
        body(&x[plane * size..][..size], unsafe { out.range(plane * count, count) });
    });
}

/// Averages over windows of any sizes, without dilation.
pub(super) fn average_of_windows<T: Product>(
    (planes, input): (usize, [usize; 3]),
    windows: &[Vec<Window>; 3],
    divisors: &[T],
    x: &[T],
    out: &mut [T],
) {
    let [_, height, width] = input;
    for_each_output_plane((planes, input.iter().product()), x, divisors.len(), out, &|x, out| {
        let mut slots = out.iter_mut().zip(divisors);
        for_each_window(windows, |[a, b, c]| {
            let mut sum = T::ZERO;
            for i in a.first..a.first + a.count {
                for j in b.first..b.first + b.count {
                    sum = sum + sum_of(&x[(i * height + j) * width + c.first..][..c.count]);
                }
            }
            let (slot, &divisor) = slots.next().expect("an output per window");
            *slot = sum / divisor;
        });
    });
}

/// The transpose of [`average_of_windows`].
pub(super) fn gradient_of_windows<T: Product>(
    (planes, input): (usize, [usize; 3]),
    windows: &[Vec<Window>; 3],
    divisors: &[T],
    g: &[T],
    out: &mut [T],
) {
    let [_, height, width] = input;
    for_each_plane(planes, input.iter().product(), out, &|plane, out| {
        let mut shares = g[plane * divisors.len()..][..divisors.len()].iter().zip(divisors);
        out.fill(T::ZERO);
        for_each_window(windows, |[a, b, c]| {
            let (&g, &divisor) = shares.next().expect("an output per window");
            let share = g / divisor;
            for i in a.first..a.first + a.count {
                for j in b.first..b.first + b.count {
                    let row = &mut out[(i * height + j) * width + c.first..][..c.count];
                    loop1_in_place(row, |sum| sum + share);
                }
            }
        });
    });
}

/// Calls `body(row of the output, its positions, first input)` for every tap of every row.
#[inline(always)]
fn for_each_tap(pooling: &Pooling, windows: &[Vec<Window>; 3], runs: &Runs, mut body: impl FnMut(usize, usize, usize)) {
    let [_, height, width] = pooling.input;
    let mut row = 0;
    for a in &windows[0] {
        for b in &windows[1] {
            for k0 in 0..a.count {
                for k1 in 0..b.count {
                    let line = (a.first + k0 * pooling.dilation[0]) * height + b.first + k1 * pooling.dilation[1];
                    for (run, offset) in runs {
                        body(row + run.start, run.len(), line * width + offset);
                    }
                }
            }
            row += pooling.output[2];
        }
    }
}

vectorised! {
    /// `sums[j] += x[j * stride]` for every tap.
    fn add_taps[T: Product](pooling: &Pooling, windows: &[Vec<Window>; 3], runs: &Runs, x: &[T], sums: &mut [T]) {
        let stride = pooling.stride[2];
        for_each_tap(pooling, windows, runs, #[inline(always)] |position, count, first| {
            let sums = &mut sums[position..position + count];
            let x = &x[first..first + (count - 1) * stride + 1];
            if stride == 1 {
                for j in 0..count {
                    sums[j] = sums[j] + x[j];
                }
            } else if stride == 2 {
                let pairs = &x.as_chunks::<2>().0[..count - 1];
                for j in 0..count - 1 {
                    sums[j] = sums[j] + pairs[j][0];
                }
                sums[count - 1] = sums[count - 1] + x[2 * (count - 1)];
            } else {
                for j in 0..count {
                    sums[j] = sums[j] + x[j * stride];
                }
            }
        });
    }
}

vectorised! {
    /// `out[j * stride] += shares[j]` for every tap.
    fn spread_taps[T: Product](
        pooling: &Pooling, windows: &[Vec<Window>; 3], runs: &Runs, shares: &[T], out: &mut [T],
    ) {
        let stride = pooling.stride[2];
        for_each_tap(pooling, windows, runs, #[inline(always)] |position, count, first| {
            let shares = &shares[position..position + count];
            let out = &mut out[first..first + (count - 1) * stride + 1];
            if stride == 1 {
                for j in 0..count {
                    out[j] = out[j] + shares[j];
                }
            } else {
                for j in 0..count {
                    out[j * stride] = out[j * stride] + shares[j];
                }
            }
        });
    }
}

/// The sum of a row; for a short row, eight lanes would only add zeros.
#[inline(always)]
fn sum_of<T: Product>(row: &[T]) -> T {
    if row.len() < 8 { row.iter().fold(T::ZERO, |a, &b| a + b) } else { sum_in_lanes(row) }
}

vectorised! {
    /// The sum of a row, in eight lanes.
    fn sum_in_lanes[T: Product](row: &[T]) -> T {
        let (chunks, tail) = row.as_chunks::<8>();
        let mut lanes = [T::ZERO; 8];
        for chunk in chunks {
            for l in 0..8 {
                lanes[l] = lanes[l] + chunk[l];
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(tail) {
            *lane = *lane + x;
        }
        lanes.into_iter().fold(T::ZERO, |a, b| a + b)
    }
}
