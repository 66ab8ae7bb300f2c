//! Gathers and the gradient of the weights for groups with few target channels, such as depthwise ones: vector lanes are
//! positions of the last axis.
//!
//! The source is always copied. So, with a stride, the elements of a row that one tap reads are adjacent, and runs may read beyond the end
//! of a row.

use super::gather::{Combination, Gather, channel_steps};
use super::image_layout::ImageLayout;
use super::kernel::Convolve;
use crate::chain::{self, CHAIN};
use crate::dtype::Compute;
use crate::matmul::Product;
use crate::pool::{Block, Buffer};
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// The longest run of positions whose sums stay in registers.
const RUN: usize = 32;

pub(super) fn gather<T: Convolve>(gather: &Gather, x: &[T], w: &[T], out: &mut [T]) {
    let slabs = gather.slabs(size_of::<T>());
    let axes = &gather.axes;
    let source = ImageLayout::copied(axes, slabs.rows, axes[2].step);
    let combinations = gather.combinations();
    let steps = channel_steps(gather, &combinations, &source);
    let depth = combinations.iter().map(|combination| gather.steps(combination)).max().unwrap_or(0);
    let target = Disjoint::new(out);
    let group_size = gather.channels * gather.source_plane();
    gather.for_each_task(gather.batch * gather.groups * slabs.count, &|task| {
        let (slab, place) = (task % slabs.count, task / slabs.count);
        let rows = slab * slabs.rows..(slab + 1) * slabs.rows;
        let mut scratch = Block::new((gather.channels * source.plane + RUN + depth) * size_of::<T>());
        let scratch = scratch.as_mut_slice::<T>().expect("a new block is not shared");
        let (copy, weights) = scratch.split_at_mut(gather.channels * source.plane + RUN);
        source.fill(axes, rows.start * axes[0].step, &x[place * group_size..], gather.channels, copy);
        let mut rest = &steps[..];
        for combination in &combinations {
            let (steps, later) = rest.split_at(gather.steps(combination));
            rest = later;
            for lane in 0..gather.lanes {
                let weights = &mut weights[..steps.len()];
                pick_weights(gather, combination, &source, place % gather.groups, lane, w, weights);
                let first = (place * gather.lanes + lane) * gather.target_plane();
                let write = |at: usize, sums: &[T], stretch: usize| {
                    // SAFETY: each task runs once and is a slab of rows of one image and group, whose planes begin at `first`. A run is
                    // part of one line of those rows, including stretched ones, and is written before the next one is borrowed.
                    let run = unsafe { target.range(first + at, (sums.len() - 1) * stretch + 1) };
                    if stretch == 1 {
                        return run.copy_from_slice(sums);
                    }
                    for (slot, &sum) in run.iter_mut().step_by(stretch).zip(sums) {
                        *slot = sum;
                    }
                };
                if axes[2].target > RUN / 2 {
                    fill_plane::<T, RUN>(gather, combination, &source, rows.clone(), copy, steps, weights, &write);
                } else {
                    fill_plane::<T, { RUN / 2 }>(
                        gather,
                        combination,
                        &source,
                        rows.clone(),
                        copy,
                        steps,
                        weights,
                        &write,
                    );
                }
            }
        }
    });
}

/// The weights of one lane in the order of the steps.
fn pick_weights<T: Convolve>(
    gather: &Gather,
    combination: &Combination,
    source: &ImageLayout,
    group: usize,
    lane: usize,
    w: &[T],
    picked: &mut [T],
) {
    let mut slots = picked.iter_mut();
    for channel in 0..gather.channels {
        let from = &w[gather.weight(group, lane, channel)..];
        gather.for_each_tap(combination, source, |kernel, _| {
            *slots.next().expect("a weight per step") = from[kernel];
        });
    }
}

#[allow(clippy::too_many_arguments)]
fn fill_plane<T: Convolve, const N: usize>(
    gather: &Gather,
    combination: &Combination,
    source: &ImageLayout,
    rows: std::ops::Range<usize>,
    x: &[T],
    steps: &[usize],
    weights: &[T],
    write: &impl Fn(usize, &[T], usize),
) {
    let axes = &gather.axes;
    let [a, b, c] = [0, 1, 2].map(|i| &axes[i].classes[combination.classes[i]]);
    let mut sums = [T::ZERO; N];
    for q0 in rows.start..rows.end.min(a.count) {
        for q1 in 0..b.count {
            let row = (q0 - rows.start) * axes[0].step * source.strides[0] + q1 * axes[1].step * source.strides[1];
            let line = (a.first + q0 * a.stretch) * axes[1].target + b.first + q1 * b.stretch;
            let line = line * axes[2].target + c.first;
            for q2 in (0..c.count).step_by(N) {
                let count = N.min(c.count - q2);
                chain::in_parts(steps.len(), &mut sums, |part, sums| {
                    let sums = sums.first_chunk_mut().expect("all of them");
                    sum_run::<T, N>(&x[row + q2..], &steps[part.clone()], &weights[part], sums);
                });
                write(line + q2 * c.stretch, &sums[..count], c.stretch);
            }
        }
    }
}

vectorised! {
    /// `sums[i] = sum over j of weights[j] * x[steps[j] + i]`.
    fn sum_run[T: Product, const N: usize](x: &[T], steps: &[usize], weights: &[T], sums: &mut [T; N]) {
        *sums = [T::ZERO; N];
        for (steps, weights) in steps.chunks(CHAIN).zip(weights.chunks(CHAIN)) {
            let mut lanes = [T::ZERO; N];
            for (&step, &weight) in steps.iter().zip(weights) {
                let run: &[T; N] = x[step..].first_chunk().expect("the copy has room for a run behind its end");
                for (lane, &x) in lanes.iter_mut().zip(run) {
                    *lane = T::multiply_add(*lane, weight, x);
                }
            }
            for (sum, lane) in sums.iter_mut().zip(lanes) {
                *sum = *sum + lane;
            }
        }
    }
}

/// The number of lanes in which one weight is accumulated; they are added at the end.
const LANES: usize = 16;

pub(super) fn weight_gradient<T: Convolve>(gather: &Gather, x: &[T], g: &[T], out: &mut [T]) {
    let axes = &gather.axes;
    let source = ImageLayout::copied(axes, axes[0].target, axes[2].step);
    let steps = channel_steps(gather, &gather.combinations()[..1], &source);
    let steps = &steps[..gather.kernel()];
    let lines = (0..axes[0].target)
        .flat_map(|q0| (0..axes[1].target).map(move |q1| (q0, q1)))
        .map(|(q0, q1)| q0 * axes[0].step * source.strides[0] + q1 * axes[1].step * source.strides[1]);
    let lines = Buffer::from_elements(axes[0].target * axes[1].target, lines);
    let (kernel, plane, target_plane) = (gather.kernel(), gather.source_plane(), gather.target_plane());
    let target = Disjoint::new(out);
    // Every task owns its weights, so sums never conflict.
    gather.for_each_task(gather.groups * gather.channels, &|task| {
        let (group, channel) = (task / gather.channels, task % gather.channels);
        let weights = gather.lanes * kernel;
        let mut copy = Buffer::<T>::new(source.plane + LANES);
        let mut totals = Buffer::<T::Total>::zeros(weights * LANES);
        let (totals, _) = totals.as_chunks_mut::<LANES>();
        for image in 0..gather.batch {
            let place = image * gather.groups + group;
            source.fill(axes, 0, &x[(place * gather.channels + channel) * plane..], 1, &mut copy);
            for (lane, totals) in totals.chunks_exact_mut(kernel).enumerate() {
                let g = &g[(place * gather.lanes + lane) * target_plane..];
                for (&step, totals) in steps.iter().zip(totals) {
                    add_products(&copy[step..], &lines, g, axes[2].target, totals);
                }
            }
        }
        for (lane, totals) in totals.chunks_exact(kernel).enumerate() {
            // SAFETY: each task runs once and is one group and channel. No other task has the kernels of its lanes.
            let weights = unsafe { target.range(gather.weight(group, lane, channel), kernel) };
            for (weight, totals) in weights.iter_mut().zip(totals) {
                *weight = T::narrow(totals.iter().fold(T::Total::ZERO, |a, &b| a + b));
            }
        }
    });
}

vectorised! {
    /// `totals += g[line] . x[lines[line]..]` over all lines of `columns` elements, lane by lane; both slices may extend beyond the lines.
    fn add_products[T: Product](x: &[T], lines: &[usize], g: &[T], columns: usize, totals: &mut [T::Total; LANES]) {
        let mut lanes = [T::ZERO; LANES];
        let mut depth = 0;
        if columns < LANES {
            let within: [bool; LANES] = std::array::from_fn(|l| l < columns);
            for (&line, start) in lines.iter().zip((0..).step_by(columns.max(1))) {
                match (g[start..].first_chunk::<LANES>(), x[line..].first_chunk::<LANES>()) {
                    // Full vectors, of which only the lanes of this line count.
                    (Some(g), Some(x)) => {
                        for l in 0..LANES {
                            let product = g[l] * x[l];
                            lanes[l] = lanes[l] + if within[l] { product } else { T::ZERO };
                        }
                    }
                    _ => {
                        for l in 0..columns {
                            lanes[l] = T::multiply_add(lanes[l], g[start + l], x[line + l]);
                        }
                    }
                }
                depth += 1;
                if depth == CHAIN {
                    total(totals, &mut lanes);
                    depth = 0;
                }
            }
            return total(totals, &mut lanes);
        }
        let fresh: [bool; LANES] = std::array::from_fn(|l| l >= LANES - columns % LANES);
        for (&line, g) in lines.iter().zip(g.chunks_exact(columns)) {
            let x = &x[line..][..columns];
            let (chunks, tail) = g.as_chunks::<LANES>();
            let (pieces, _) = x.as_chunks::<LANES>();
            for (chunks, pieces) in chunks.chunks(CHAIN).zip(pieces.chunks(CHAIN)) {
                if depth + chunks.len() > CHAIN {
                    total(totals, &mut lanes);
                    depth = 0;
                }
                depth += chunks.len();
                for (g, x) in chunks.iter().zip(pieces) {
                    for l in 0..LANES {
                        lanes[l] = T::multiply_add(lanes[l], g[l], x[l]);
                    }
                }
            }
            if !tail.is_empty() {
                // The last full chunk, of which only the lanes that no earlier chunk covered count.
                let g: &[T; LANES] = g.last_chunk().expect("the row is long enough");
                let x: &[T; LANES] = x.last_chunk().expect("the row is long enough");
                for l in 0..LANES {
                    let product = g[l] * x[l];
                    lanes[l] = lanes[l] + if fresh[l] { product } else { T::ZERO };
                }
            }
        }
        total(totals, &mut lanes);
    }
}

/// Adds a chain to its total.
#[inline(always)]
fn total<T: Product>(totals: &mut [T::Total; LANES], lanes: &mut [T; LANES]) {
    for (total, lane) in totals.iter_mut().zip(lanes) {
        *total = *total + lane.widen();
        *lane = T::ZERO;
    }
}
