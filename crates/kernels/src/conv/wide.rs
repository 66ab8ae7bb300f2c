//! Gathers for groups with many target channels: vector lanes are channels of the target.
//!
//! The weights are packed once into panels `[tap][lane]`. A task takes one slab of one image and group (or several small images). Each tile
//! of 12 positions runs over all taps with its sums in registers and is then transposed into the planes of the target. Sums are cut only
//! along the taps (`chain`), so the bits do not depend on how positions are cut into tiles.

use super::gather::{Combination, Gather, channel_steps};
use super::image_layout::ImageLayout;
use super::kernel::{Convolve, MOST_LANES, ROWS};
use crate::chain::{self, CHAIN, DEEP};
use crate::follow;
use crate::pool::Block;
use crate::threads::{Disjoint, for_each_tile};
use crate::transpose::transpose;

/// The number of positions that a group of small images should have together.
const POSITIONS: usize = 8 * ROWS;

/// The number of steps in a chain where sums are not deep.
const MOST_STEPS: usize = 384;

/// The lanes of a group in panels: full ones, then one of half or full width.
#[derive(Clone, Copy)]
pub(super) struct Panels {
    pub(super) lanes: usize,
    pub(super) padded: usize,
    pub(super) full: usize,
}

impl Panels {
    pub(super) fn new<T: Convolve>(lanes: usize) -> Panels {
        Panels { lanes, padded: lanes.next_multiple_of(T::LANES / 2), full: T::LANES }
    }

    fn count(self) -> usize {
        self.padded.div_ceil(self.full)
    }

    /// `(first lane, width, lanes in use)` of one panel.
    fn panel(self, index: usize) -> (usize, usize, usize) {
        let first = index * self.full;
        let width = self.full.min(self.padded - first);
        (first, width, width.min(self.lanes - first))
    }

    /// All panels.
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..self.count()).map(move |index| self.panel(index))
    }
}

pub(super) fn gather<T: Convolve>(gather: &Gather, x: &[T], w: &[T], out: &mut [T]) {
    let slabs = gather.slabs(size_of::<T>());
    let source = ImageLayout::new(&gather.axes, slabs.rows);
    let combinations = gather.combinations();
    let panels = Panels::new::<T>(gather.lanes);
    let packed = pack(gather, &combinations, panels, w);
    let packed = packed.as_slice::<T>();
    let steps = channel_steps(gather, &combinations, &source);

    let plane = gather.target_plane();
    let images = if slabs.count == 1 { POSITIONS.div_ceil(plane).min(gather.batch) } else { 1 };
    let (length, image) = (out.len(), gather.groups * gather.lanes * plane);
    let target = Disjoint::new(out);
    let tasks = gather.batch.div_ceil(images) * gather.groups * slabs.count;
    let follower = match (slabs.count, gather.groups) {
        // SAFETY: `target` is our output, borrowed mutably, and the follower is not used after this function has returned.
        (1, 1) if tasks > 0 => unsafe { follow::of(target.pointer(0), length, image, tasks) },
        _ => None,
    };
    gather.for_each_task(tasks, &|number| {
        let (slab, rest) = (number % slabs.count, number / slabs.count);
        let (group, chunk) = (rest % gather.groups, rest / gather.groups);
        let task = Task {
            gather,
            source: &source,
            combinations: &combinations,
            steps: &steps,
            panels,
            group,
            rows: slab * slabs.rows..(slab + 1) * slabs.rows,
            images: chunk * images..((chunk + 1) * images).min(gather.batch),
        };
        task.run(x, packed, &target);
        if let Some(follower) = follower {
            // SAFETY: the follower accepted images from `tasks` tasks. With one slab and one group, only this task has these images; they
            // are complete, and reported once, in its only part.
            unsafe { follower.part(number, task.images.start * image..task.images.end * image) };
        }
    });
}

/// The weights of every group and combination as panels `[channel, tap][lane]`, one after the other.
fn pack<T: Convolve>(gather: &Gather, combinations: &[Combination], panels: Panels, w: &[T]) -> Block {
    let depth = gather.channels * combinations.iter().map(|combination| combination.taps).sum::<usize>();
    let group_size = depth * panels.padded;
    let mut block = Block::new(gather.groups * group_size * size_of::<T>());
    let packed = Disjoint::new(block.as_mut_slice::<T>().expect("a new block is not shared"));
    let pack_panel = |task: usize| {
        let (group, (first, width, used)) = (task / panels.count(), panels.panel(task % panels.count()));
        let mut at = group * group_size;
        for combination in combinations {
            let depth = gather.channels * combination.taps;
            // SAFETY: each task runs once and is one group and one panel of its lanes. The panels of a combination are adjacent from `at`
            // on, with `depth * width` elements each, so no other task has this range.
            let panel = unsafe { packed.range(at + first * depth, depth * width) };
            at += depth * panels.padded;
            if !gather.transposed {
                let from = &w[gather.weight(group, first, 0)..][..used * depth];
                // SAFETY: `from` was cut to `used` rows of `depth` weights, and `panel` is `depth` rows of `width >= used` elements.
                unsafe { transpose(from.as_ptr(), depth, (used, depth), panel.as_mut_ptr(), width, width) };
                continue;
            }
            let mut rows = panel.chunks_exact_mut(width);
            let anywhere = ImageLayout::copied(&gather.axes, 1, 1);
            for channel in 0..gather.channels {
                let from = &w[gather.weight(group, first, channel)..];
                gather.for_each_tap(combination, &anywhere, |kernel, _| {
                    let row = rows.next().expect("a panel has a row for every channel and tap");
                    for (lane, value) in row[..used].iter_mut().enumerate() {
                        *value = from[lane * gather.kernel() + kernel];
                    }
                    row[used..].fill(T::ZERO);
                });
            }
        }
    };
    let tasks = gather.groups * panels.count();
    if gather.groups * group_size < crate::threads::PARALLEL_ELEMENTS {
        (0..tasks).for_each(pack_panel);
    } else {
        for_each_tile(tasks, &pack_panel);
    }
    block
}

/// One slab of one group, of one or several images.
struct Task<'a> {
    gather: &'a Gather,
    source: &'a ImageLayout,
    combinations: &'a [Combination],
    /// The steps of one combination after the other.
    steps: &'a [usize],
    panels: Panels,
    group: usize,
    rows: std::ops::Range<usize>,
    images: std::ops::Range<usize>,
}

impl Task<'_> {
    fn run<T: Convolve>(&self, x: &[T], packed: &[T], target: &Disjoint<'_, T>) {
        let Task { gather, source, group, .. } = *self;
        let first_row = self.rows.start * gather.axes[0].step;
        let image_size = gather.groups * gather.channels * gather.source_plane();
        let group_at = |image: usize| image * image_size + group * gather.channels * gather.source_plane();
        let copy_size = gather.channels * source.plane;
        let copied = (!source.in_place).then(|| {
            let mut block = Block::new(self.images.len() * copy_size * size_of::<T>());
            let copies = block.as_mut_slice::<T>().expect("a new block is not shared");
            for (image, copy) in self.images.clone().zip(copies.chunks_exact_mut(copy_size)) {
                source.fill(&gather.axes, first_row, &x[group_at(image)..], gather.channels, copy);
            }
            block
        });
        let (x, image_step) = match &copied {
            Some(block) => (block.as_slice::<T>(), copy_size),
            None => (&x[group_at(self.images.start) + source.base + first_row * source.strides[0]..], image_size),
        };
        let mut packed = &packed[group * self.steps.len() * self.panels.padded..];
        let mut rest = self.steps;
        for combination in self.combinations {
            let (steps, later) = rest.split_at(gather.steps(combination));
            rest = later;
            for (first, width, used) in self.panels.iter() {
                let panel = &packed[first * steps.len()..][..steps.len() * width];
                self.positions(combination, image_step, |rows, targets, count| {
                    // SAFETY: `rows` are positions of `q`, and `steps` taps, of one combination: along every axis their sum is below the
                    // `extent` of the padded source (`Axis`), which is copied whole or lies in the tensor (`needs_no_padding`). The panel
                    // was cut to a row of `width` for each step. Tasks are different images, groups or slabs, and combinations of classes
                    // are different residues, so only this tile writes these positions of these lanes.
                    unsafe { tile(x, rows, steps, panel, width, target, targets, count, first..first + used, self) };
                });
            }
            packed = &packed[steps.len() * self.panels.padded..];
        }
    }

    /// Calls `tile(source positions, target positions, count)` for every `ROWS` positions of a combination.
    fn positions(
        &self,
        combination: &Combination,
        image_step: usize,
        mut tile: impl FnMut(&[usize; ROWS], &[usize; ROWS], usize),
    ) {
        let axes = &self.gather.axes;
        let [a, b, c] = [0, 1, 2].map(|i| &axes[i].classes[combination.classes[i]]);
        let strides = self.source.strides;
        let image_size = self.gather.groups * self.gather.lanes * self.gather.target_plane();
        let (mut rows, mut targets, mut count) = ([0; ROWS], [0; ROWS], 0);
        for (index, image) in self.images.clone().enumerate() {
            for q0 in self.rows.start..self.rows.end.min(a.count) {
                for q1 in 0..b.count {
                    let row = index * image_step
                        + (q0 - self.rows.start) * axes[0].step * strides[0]
                        + q1 * axes[1].step * strides[1];
                    let line = (a.first + q0 * a.stretch) * axes[1].target + b.first + q1 * b.stretch;
                    let line = image * image_size + line * axes[2].target + c.first;
                    for q2 in 0..c.count {
                        rows[count] = row + q2 * axes[2].step;
                        targets[count] = line + q2 * c.stretch;
                        count += 1;
                        if count == ROWS {
                            tile(&rows, &targets, ROWS);
                            count = 0;
                        }
                    }
                }
            }
        }
        if count > 0 {
            let any = rows[0];
            rows[count..].fill(any);
            tile(&rows, &targets, count);
        }
    }
}

/// Prefetches the cache line at `place` for writing.
#[inline(always)]
fn prefetch<T>(place: *mut T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction. It is a hint that reads and writes nothing, and any address is allowed.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(place.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// One tile of sums, written to the target.
///
/// # Safety
/// `x` is valid at every `rows[i] + steps[j]`, `panel` has a row of `width`, a full or half panel, for each step, and no other code
/// accesses the target positions of these lanes.
#[allow(clippy::too_many_arguments)]
#[inline]
unsafe fn tile<T: Convolve>(
    x: &[T],
    rows: &[usize; ROWS],
    steps: &[usize],
    panel: &[T],
    width: usize,
    target: &Disjoint<'_, T>,
    targets: &[usize; ROWS],
    count: usize,
    lanes: std::ops::Range<usize>,
    task: &Task<'_>,
) {
    let mut sums = [[T::ZERO; MOST_LANES]; ROWS];
    debug_assert!(steps.iter().max().is_none_or(|step| rows.iter().all(|row| row + step < x.len())));
    let plane = task.gather.target_plane();
    let first = (task.group * task.gather.lanes + lanes.start) * plane;
    // The lines to be written are not in the cache; fetching them now overlaps with the sums.
    for lane in 0..lanes.len() {
        prefetch(target.pointer(first + lane * plane + targets[0]));
    }
    chain::in_parts(steps.len(), sums.as_flattened_mut(), |part, sums| {
        let chain = if steps.len() > DEEP { CHAIN } else { MOST_STEPS };
        for first in part.clone().step_by(chain) {
            let own = &steps[first..part.end.min(first + chain)];
            let (panel, sums, is_first) = (panel[first * width..].as_ptr(), sums.as_mut_ptr(), first == part.start);
            // SAFETY: the caller guarantees `x` and `panel`; `sums` has `ROWS` rows of `MOST_LANES`, and no panel has more lanes.
            unsafe { T::accumulate(x.as_ptr(), rows, own, panel, width, sums, MOST_LANES, is_first) };
        }
    });
    let used = lanes.len();
    let at = first + targets[0];
    if count == ROWS && targets[ROWS - 1] == targets[0] + ROWS - 1 {
        // SAFETY: the sums have `ROWS` rows of at least `used` elements; the last element written lies in the target
        // (`pointer` checks it), and these positions of these lanes belong to this tile alone.
        unsafe {
            target.pointer(at + (used - 1) * plane + ROWS - 1);
            let sums = sums.as_ptr().cast();
            return transpose(sums, MOST_LANES, (ROWS, used), target.pointer(at), plane, ROWS);
        }
    }
    for lane in 0..used {
        for i in 0..count {
            // SAFETY: `pointer` checks that the element is in the target; the caller guarantees that it is ours.
            unsafe { *target.pointer(first + lane * plane + targets[i]) = sums[i][lane] };
        }
    }
}
