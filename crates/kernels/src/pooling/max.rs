//! `out[o] = max over the window of o`, and its index.

use super::Pooling;
use super::planes::for_each_group;
use super::window::{Window, runs};
use crate::dtype::Compute;
use crate::matmul::Product;
use crate::simd::vectorised;
use crate::threads::Disjoint;
use std::ops::Range;

#[allow(clippy::eq_op)]
#[inline(always)]
fn is_nan<T: Compute>(value: T) -> bool {
    value != value
}

/// Whether a later `value` replaces `best`.
#[inline(always)]
fn beats<T: Compute>(value: T, best: T) -> bool {
    (value > best) | (is_nan(value) & !is_nan(best))
}

pub(super) fn max<T: Product>(pooling: &Pooling, x: &[T], out: &mut [T], index: &mut [i64]) {
    let windows = pooling.windows();
    if is_quarters(pooling) {
        for_each_plane(pooling.planes, pooling.input, pooling.output, x, out, index, &|x, out, index| {
            quarters(pooling, x, out, index);
        });
    } else {
        expect_elements(&windows);
        let runs = runs(pooling);
        for_each_plane(pooling.planes, pooling.input, pooling.output, x, out, index, &|x, out, index| {
            by_taps(pooling, &windows, &runs, x, out, index);
        });
    }
}

/// Windows of any sizes.
pub(super) fn max_of_windows<T: Product>(
    (planes, input): (usize, [usize; 3]),
    windows: &[Vec<Window>; 3],
    x: &[T],
    out: &mut [T],
    index: &mut [i64],
) {
    expect_elements(windows);
    let output = [0, 1, 2].map(|axis| windows[axis].len());
    for_each_plane(planes, input, output, x, out, index, &|x, out, index| {
        by_windows(input, windows, x, out, index);
    });
}

fn expect_elements(windows: &[Vec<Window>; 3]) {
    let empty = windows.iter().any(|axis| axis.is_empty());
    let full = windows.iter().flatten().all(|window| window.count > 0);
    assert!(empty || full, "max pooling: a window holds no element of the input");
}

/// Calls `body(input plane, output plane, index plane)`.
fn for_each_plane<T: Product>(
    planes: usize,
    input: [usize; 3],
    output: [usize; 3],
    x: &[T],
    out: &mut [T],
    index: &mut [i64],
    body: &(dyn Fn(&[T], &mut [T], &mut [i64]) + Sync),
) {
    assert_eq!(index.len(), out.len(), "max pooling: one index per output");
    let (size, count) = (input.iter().product::<usize>(), output.iter().product::<usize>());
    if count == 0 {
        return;
    }
    let (out, index) = (Disjoint::new(out), Disjoint::new(index));
    for_each_group(planes, size.max(count), &|plane| {
        // SAFETY: each plane runs once and has its own range.
        let (out, index) = unsafe { (out.range(plane * count, count), index.range(plane * count, count)) };
        body(&x[plane * size..][..size], out, index);
    });
}

/// Whether the windows are adjacent and 2 x 2: this common case has its own loop.
fn is_quarters(pooling: &Pooling) -> bool {
    let fits = (0..3).all(|axis| pooling.output[axis] * pooling.kernel[axis] <= pooling.input[axis]);
    let plain = pooling.dilation == [1; 3] && pooling.before == [0; 3];
    fits && plain && pooling.kernel == [1, 2, 2] && pooling.stride[1..] == [2, 2] && pooling.stride[0] == 1
}

fn quarters<T: Product>(pooling: &Pooling, x: &[T], out: &mut [T], index: &mut [i64]) {
    let [_, height, width] = pooling.input;
    let [_, rows, columns] = pooling.output;
    if columns == 0 {
        return;
    }
    for (line, (out, index)) in out.chunks_exact_mut(columns).zip(index.chunks_exact_mut(columns)).enumerate() {
        let first = (line / rows * height + line % rows * 2) * width;
        let (upper, lower) = x[first..first + 2 * width].split_at(width);
        quarter_row(upper, lower, first as i64, out, index);
    }
}

/// The number of outputs in one step of [`quarter_row`].
const STEP: usize = 8;

vectorised! {
    /// Processes eight outputs per step; the last step ends with the row and may repeat outputs of the one before.
    fn quarter_row[T: Product](upper: &[T], lower: &[T], first: i64, out: &mut [T], index: &mut [i64]) {
        let width = upper.len() as i64;
        let columns = out.len();
        let one = |upper: [T; 2], lower: [T; 2], j: usize| {
            let mut best = upper[0];
            let mut offset = 0;
            for (value, at) in [(upper[1], 1), (lower[0], width), (lower[1], width + 1)] {
                let better = beats(value, best);
                best = if better { value } else { best };
                offset = if better { at } else { offset };
            }
            (best, first + 2 * j as i64 + offset)
        };
        if columns < STEP {
            for j in 0..columns {
                let (i, k) = (2 * j, 2 * j + 1);
                (out[j], index[j]) = one([upper[i], upper[k]], [lower[i], lower[k]], j);
            }
            return;
        }
        let mut start = 0;
        loop {
            let upper: &[T; 2 * STEP] = upper[2 * start..].first_chunk().expect("two inputs per output");
            let lower: &[T; 2 * STEP] = lower[2 * start..].first_chunk().expect("two inputs per output");
            let out: &mut [T; STEP] = out[start..].first_chunk_mut().expect("a step ends in its row");
            let index: &mut [i64; STEP] = index[start..].first_chunk_mut().expect("a step ends in its row");
            for j in 0..STEP {
                let (i, k) = (2 * j, 2 * j + 1);
                (out[j], index[j]) = one([upper[i], upper[k]], [lower[i], lower[k]], start + j);
            }
            if start + STEP == columns {
                return;
            }
            start = (start + STEP).min(columns - STEP);
        }
    }
}

vectorised! {
    /// Processes the output row by row; each tap makes a pass over the whole row.
    fn by_taps[T: Product](
        pooling: &Pooling, windows: &[Vec<Window>; 3], runs: &[(Range<usize>, usize)], x: &[T], out: &mut [T], index: &mut [i64],
    ) {
        let [_, height, width] = pooling.input;
        let columns = pooling.output[2];
        let stride = pooling.stride[2];
        let mut row = 0;
        for a in &windows[0] {
            for b in &windows[1] {
                let (out, index) = (&mut out[row..row + columns], &mut index[row..row + columns]);
                row += columns;
                let start = (a.first * height + b.first) * width;
                for j in 0..columns {
                    let at = start + windows[2][j].first;
                    (out[j], index[j]) = (x[at], at as i64);
                }
                for k0 in 0..a.count {
                    for k1 in 0..b.count {
                        let line = (a.first + k0 * pooling.dilation[0]) * height + b.first + k1 * pooling.dilation[1];
                        for (run, offset) in runs {
                            let first = line * width + offset;
                            let x = &x[first..first + (run.len() - 1) * stride + 1];
                            sweep(x, stride, first as i64, &mut out[run.clone()], &mut index[run.clone()]);
                        }
                    }
                }
            }
        }
    }
}

/// `best[j] = max(best[j], x[j * stride])`, and its index.
#[inline(always)]
fn sweep<T: Product>(x: &[T], stride: usize, first: i64, best: &mut [T], index: &mut [i64]) {
    let count = best.len();
    let index = &mut index[..count];
    macro_rules! update {
        ($j:expr, $value:expr) => {
            let (j, value) = ($j, $value);
            let better = beats(value, best[j]);
            best[j] = if better { value } else { best[j] };
            index[j] = if better { first + (stride * j) as i64 } else { index[j] };
        };
    }
    if stride == 1 {
        let x = &x[..count];
        for j in 0..count {
            update!(j, x[j]);
        }
    } else if stride == 2 {
        let pairs = &x.as_chunks::<2>().0[..count - 1];
        for j in 0..count - 1 {
            update!(j, pairs[j][0]);
        }
        update!(count - 1, x[2 * (count - 1)]);
    } else {
        for j in 0..count {
            update!(j, x[j * stride]);
        }
    }
}

/// Processes window by window.
fn by_windows<T: Product>(
    [_, height, width]: [usize; 3],
    windows: &[Vec<Window>; 3],
    x: &[T],
    out: &mut [T],
    index: &mut [i64],
) {
    let mut slots = out.iter_mut().zip(index);
    for a in &windows[0] {
        for b in &windows[1] {
            for c in &windows[2] {
                let mut found = (a.first * height + b.first) * width + c.first;
                let mut best = x[found];
                for i in a.first..a.first + a.count {
                    for j in b.first..b.first + b.count {
                        let start = (i * height + j) * width + c.first;
                        for (k, &value) in x[start..start + c.count].iter().enumerate() {
                            if beats(value, best) {
                                (best, found) = (value, start + k);
                            }
                        }
                    }
                }
                let (out, index) = slots.next().expect("an output per window");
                (*out, *index) = (best, found as i64);
            }
        }
    }
}
