//! `out[o] = max over the window of o`, and where it is.

use super::Pooling;
use super::planes::for_each_group;
use super::window::Window;
use crate::conv::inside;
use crate::dtype::Compute;
use crate::matmul::Product;
use crate::simd::vectorised;
use crate::threads::Disjoint;

#[allow(clippy::eq_op)]
#[inline(always)]
fn is_nan<T: Compute>(value: T) -> bool {
    value != value
}

/// True when a later `value` replaces `best`.
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
        for_each_plane(pooling.planes, pooling.input, pooling.output, x, out, index, &|x, out, index| {
            by_taps(pooling, &windows, x, out, index);
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
        // SAFETY: planes do not overlap, and each runs once.
        let (out, index) = unsafe { (out.range(plane * count, count), index.range(plane * count, count)) };
        body(&x[plane * size..][..size], out, index);
    });
}

/// True for windows of 2 x 2 side by side: the common case has its own loop.
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

vectorised! {
    fn quarter_row[T: Product](upper: &[T], lower: &[T], first: i64, out: &mut [T], index: &mut [i64]) {
        let (upper_pairs, lower_pairs) = (upper.as_chunks::<2>().0, lower.as_chunks::<2>().0);
        let width = upper.len() as i64;
        let outputs = out.iter_mut().zip(index.iter_mut());
        for (j, ((out, index), (upper, lower))) in outputs.zip(upper_pairs.iter().zip(lower_pairs)).enumerate() {
            let mut best = upper[0];
            let mut offset = 0;
            for (value, at) in [(upper[1], 1), (lower[0], width), (lower[1], width + 1)] {
                let better = beats(value, best);
                best = if better { value } else { best };
                offset = if better { at } else { offset };
            }
            *out = best;
            *index = first + 2 * j as i64 + offset;
        }
    }
}

/// Row by row of the output; each tap sweeps over the whole row.
fn by_taps<T: Product>(pooling: &Pooling, windows: &[Vec<Window>; 3], x: &[T], out: &mut [T], index: &mut [i64]) {
    let [_, height, width] = pooling.input;
    let columns = pooling.output[2];
    let rows = windows[0].iter().flat_map(|a| windows[1].iter().map(move |b| (a, b)));
    for ((a, b), (out, index)) in rows.zip(out.chunks_exact_mut(columns).zip(index.chunks_exact_mut(columns))) {
        let start = (a.first * height + b.first) * width;
        for ((out, index), c) in out.iter_mut().zip(&mut *index).zip(&windows[2]) {
            *index = (start + c.first) as i64;
            *out = x[start + c.first];
        }
        for k0 in 0..a.count {
            for k1 in 0..b.count {
                let line = (a.first + k0 * pooling.dilation[0]) * height + b.first + k1 * pooling.dilation[1];
                for k2 in 0..pooling.kernel[2] {
                    let (stride, shift, before) = (pooling.stride[2], k2 * pooling.dilation[2], pooling.before[2]);
                    let run = inside(columns, stride, shift, before, width);
                    if run.is_empty() {
                        continue;
                    }
                    let first = line * width + run.start * stride + shift - before;
                    let x = &x[first..first + (run.len() - 1) * stride + 1];
                    sweep(x, stride, first as i64, &mut out[run.clone()], &mut index[run]);
                }
            }
        }
    }
}

vectorised! {
    /// `best[j] = max(best[j], x[j * stride])`, and where.
    fn sweep[T: Product](x: &[T], stride: usize, first: i64, best: &mut [T], index: &mut [i64]) {
        let step = stride as i64;
        let update = |(j, (&value, (best, index))): (usize, (&T, (&mut T, &mut i64)))| {
            let better = beats(value, *best);
            *best = if better { value } else { *best };
            *index = if better { first + step * j as i64 } else { *index };
        };
        let targets = best.iter_mut().zip(index.iter_mut());
        match stride {
            1 => x.iter().zip(targets).enumerate().for_each(update),
            _ => x.iter().step_by(stride).zip(targets).enumerate().for_each(update),
        }
    }
}

/// Window by window.
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
