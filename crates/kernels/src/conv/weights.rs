//! The gradient of the weights for groups with many outputs: vector lanes are outputs.
//!
//! `sums[c, k][o] += sum over q of x[c][q * stride + k * dilation - before] * g[o][q]`. The batch is cut into fixed parts,
//! each with its own sums (`chain`), which are added in order at the end. A panel of positions of `g` is transposed to `[q][o]` and
//! stays in the first-level cache while all taps run over it.

use super::gather::{Gather, PARALLEL_WORK, TASKS, channel_steps};
use super::image_layout::ImageLayout;
use super::kernel::{Convolve, ROWS};
use super::wide::Panels;
use crate::chain::{CHAIN, DEPTH, Totals};
use crate::map::loop2_in_place;
use crate::pool::{Block, Buffer};
use crate::threads::Disjoint;
use crate::transpose::transpose;

/// The number of positions in a panel.
const POSITIONS: usize = 192;

/// The number of positions over all images from which panels are cut into chains.
const MANY: usize = 1 << 16;

/// The most bytes that the sums of all parts may occupy together.
const SUM_BYTES: usize = 64 << 20;

/// How the sums are cut; this depends only on the shape.
struct Cut {
    /// Parts of the batch.
    parts: usize,
    /// Channels of a chunk, and chunks of a group.
    channels: usize,
    chunks: usize,
    /// Rows of the sums of a chunk (a row per channel and tap, then padding) and elements of a row.
    rows: usize,
    columns: usize,
}

impl Cut {
    fn new(gather: &Gather, element: usize, columns: usize) -> Cut {
        let whole = gather.groups * gather.channels * gather.kernel() * columns * element;
        let parts = match gather.work < PARALLEL_WORK {
            true => 1,
            false => gather.batch.min(TASKS).min((SUM_BYTES / whole.max(1)).max(1)),
        };
        let wanted = if gather.work < PARALLEL_WORK { 1 } else { TASKS.div_ceil(parts * gather.groups) };
        let channels = gather.channels.div_ceil(wanted.min(gather.channels));
        let chunks = gather.channels.div_ceil(channels);
        Cut { parts, channels, chunks, rows: (channels * gather.kernel()).next_multiple_of(ROWS), columns }
    }

    fn size(&self) -> usize {
        self.rows * self.columns
    }
}

pub(super) fn weight_gradient<T: Convolve>(gather: &Gather, x: &[T], g: &[T], out: &mut [T]) {
    let panels = Panels::new::<T>(gather.lanes);
    let cut = Cut::new(gather, size_of::<T>(), panels.padded);
    let slabs = gather.slabs(size_of::<T>());
    let source = ImageLayout::new(&gather.axes, slabs.rows);
    let taps = channel_steps(gather, &gather.combinations()[..1], &source);

    let sets = gather.groups * cut.chunks;
    let mut block = Block::new(cut.parts * sets * cut.size() * size_of::<T>());
    let sums = block.as_mut_slice::<T>().expect("a new block is not shared");
    let shared = Disjoint::new(sums);
    gather.for_each_task(cut.parts * sets, &|task| {
        let (set, part) = (task % sets, task / sets);
        let (group, chunk) = (set / cut.chunks, set % cut.chunks);
        // SAFETY: each task runs once, and task `t` has the sums from `t * cut.size()` to `(t + 1) * cut.size()`.
        let sums = unsafe { shared.range(task * cut.size(), cut.size()) };
        sums.fill(T::ZERO);
        let channels = chunk * cut.channels..((chunk + 1) * cut.channels).min(gather.channels);
        // Taps are padded to full tiles: the extra ones read what the first one reads, and their sums are not used.
        let own = &taps[..channels.len() * gather.kernel()];
        let behind = std::iter::repeat(0);
        let taps = Buffer::from_elements(own.len().next_multiple_of(ROWS), own.iter().copied().chain(behind));
        let (taps, _) = taps.as_chunks::<ROWS>();
        let part = part * gather.batch / cut.parts..(part + 1) * gather.batch / cut.parts;
        accumulate(gather, &source, slabs.rows, panels, part, group, channels, taps, x, g, sums);
    });

    let length = out.len();
    let shared = Disjoint::new(out);
    let (first, others) = sums.split_at_mut(sets * cut.size());
    let first = Disjoint::new(first);
    gather.for_each_task(sets, &|set| {
        let (group, chunk) = (set / cut.chunks, set % cut.chunks);
        // SAFETY: each set runs once, and set `s` has the sums from `s * cut.size()` to `(s + 1) * cut.size()`.
        let sums = unsafe { first.range(set * cut.size(), cut.size()) };
        for part in others.chunks_exact(sets * cut.size()) {
            loop2_in_place(sums, &part[set * cut.size()..][..cut.size()], |a, b| a + b);
        }
        let channel = chunk * cut.channels;
        let rows = cut.channels.min(gather.channels - channel) * gather.kernel();
        let step = gather.channels * gather.kernel();
        let at = gather.weight(group, 0, channel);
        // The last row of the chunk ends inside the output, so every pointer below does.
        assert!(at + (gather.lanes - 1) * step + rows <= length);
        // SAFETY: the sums have `cut.rows >= rows` rows of `cut.columns >= lanes` elements. As asserted, the output has `lanes` rows of
        // `step` elements from `at` on. The first `rows` of them are weights of this group and chunk of channels, which no other set has.
        unsafe { transpose(sums.as_ptr(), cut.columns, (rows, gather.lanes), shared.pointer(at), step, rows) };
    });
}

/// Adds the products of some images, one group and some of its channels to `sums[c, k][o]`.
#[allow(clippy::too_many_arguments)]
fn accumulate<T: Convolve>(
    gather: &Gather,
    source: &ImageLayout,
    slab: usize,
    panels: Panels,
    images: std::ops::Range<usize>,
    group: usize,
    channels: std::ops::Range<usize>,
    taps: &[[usize; ROWS]],
    x: &[T],
    g: &[T],
    sums: &mut [T],
) {
    let axes = &gather.axes;
    let (plane, target_plane) = (gather.source_plane(), gather.target_plane());
    let line = axes[1].target * axes[2].target;
    let mut copy = Block::new(if source.in_place { 0 } else { channels.len() * source.plane * size_of::<T>() });
    let mut right = Block::new(POSITIONS * panels.padded * size_of::<T>());
    let right = right.as_mut_slice::<T>().expect("a new block is not shared");
    let mut steps = [0; POSITIONS];
    let (mut totals, mut depth) = (Totals::new(), 0);
    let chain = if gather.batch * target_plane > MANY { CHAIN } else { POSITIONS };
    for image in images {
        let g = &g[(image * gather.groups + group) * gather.lanes * target_plane..][..gather.lanes * target_plane];
        let x = &x[((image * gather.groups + group) * gather.channels + channels.start) * plane..];
        for row in (0..axes[0].target).step_by(slab) {
            let first = row * axes[0].step;
            let x = if source.in_place {
                &x[source.base + first * source.strides[0]..]
            } else {
                let copy = copy.as_mut_slice::<T>().expect("a block of this task is not shared");
                source.fill(axes, first, x, channels.len(), copy);
                &*copy
            };
            let end = (row + slab).min(axes[0].target) * line;
            for begin in (row * line..end).step_by(POSITIONS) {
                let count = POSITIONS.min(end - begin);
                depth += count;
                if depth > DEPTH {
                    totals.take(sums);
                    sums.fill(T::ZERO);
                    depth = count;
                }
                locate(gather, source, row, begin, &mut steps[..count]);
                for (first, width, used) in panels.iter() {
                    let panel = &mut right[first * POSITIONS..][..width * POSITIONS];
                    let g = &g[first * target_plane + begin..];
                    // SAFETY: `g` was cut to `lanes` planes, `first + used <= lanes`, and `begin + count` is within a plane. So `used`
                    // rows, a plane apart, have `count` elements from here on. `panel` has `POSITIONS >= count` rows of `width >= used`.
                    unsafe { transpose(g.as_ptr(), target_plane, (used, count), panel.as_mut_ptr(), width, width) };
                    for (tile, taps) in taps.iter().enumerate() {
                        let sums = &mut sums[tile * ROWS * panels.padded + first..];
                        assert!(sums.len() >= (ROWS - 1) * panels.padded + width);
                        debug_assert!(
                            taps.iter().max().zip(steps[..count].iter().max()).is_none_or(|(a, b)| a + b < x.len())
                        );
                        for (number, steps) in steps[..count].chunks(chain).enumerate() {
                            let (x, panel) = (x.as_ptr(), panel[number * chain * width..].as_ptr());
                            // SAFETY: along every axis the sum of a position and a tap is below the `extent` of the padded source (`Axis`),
                            // which is copied whole or lies in the tensor. Taps after the last one are 0, like the first. The panel has a
                            // row for each of the `count` positions, and `sums`, as asserted, has `ROWS` rows of `width`.
                            unsafe {
                                T::accumulate(x, taps, steps, panel, width, sums.as_mut_ptr(), panels.padded, false)
                            };
                        }
                    }
                }
            }
        }
    }
    totals.finish(sums);
}

/// Where in the source of a slab that begins at target row `row` the positions from `begin` on start to read.
fn locate(gather: &Gather, source: &ImageLayout, row: usize, begin: usize, steps: &mut [usize]) {
    let axes = &gather.axes;
    let (mut q2, rest) = (begin % axes[2].target, begin / axes[2].target);
    let (mut q1, mut q0) = (rest % axes[1].target, rest / axes[1].target);
    for step in steps {
        *step =
            (q0 - row) * axes[0].step * source.strides[0] + q1 * axes[1].step * source.strides[1] + q2 * axes[2].step;
        q2 += 1;
        if q2 == axes[2].target {
            q2 = 0;
            q1 += 1;
            if q1 == axes[1].target {
                q1 = 0;
                q0 += 1;
            }
        }
    }
}
