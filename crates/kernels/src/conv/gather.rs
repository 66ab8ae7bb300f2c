//! A convolution or its transpose as a gather over three axes, and its division into tasks.

use super::axis::Axis;
use super::geometry::Convolution;
use super::image_layout::ImageLayout;
use crate::pool::Buffer;
use crate::threads::for_each_tile;
use smallvec::SmallVec;

/// The number of floating-point operations below which a parallel region costs more than it saves.
pub(super) const PARALLEL_WORK: usize = 2_000_000;

/// The bytes of the source that a task reads repeatedly: half of a small second-level cache.
const SLAB_BYTES: usize = 256 << 10;

/// The minimum number of tasks of a large call, where the shape allows it.
pub(super) const TASKS: usize = 16;

/// `target[n][group][lane][q] = sum over c, taps of weight * source[n][group][c][..]`.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Channels of the source per group.
    pub(super) channels: usize,
    /// Channels of the target per group.
    pub(super) lanes: usize,
    pub(super) axes: [Axis; 3],
    /// The weights lie as `[channel][lane]` instead of `[lane][channel]`.
    pub(super) transposed: bool,
    /// Floating-point operations of the whole call.
    pub(super) work: usize,
}

/// The rows (positions of the first axis) of the target that each task computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slabs {
    pub(super) rows: usize,
    pub(super) count: usize,
}

/// One combination of classes, one for each axis.
#[derive(Debug)]
pub(super) struct Combination {
    pub(super) classes: [usize; 3],
    /// Taps in all three axes.
    pub(super) taps: usize,
}

impl Gather {
    pub(super) fn forward(geometry: &Convolution) -> Gather {
        let moved = geometry.with_rows_first();
        Gather {
            batch: moved.batch,
            groups: moved.groups,
            channels: moved.channels / moved.groups,
            lanes: moved.outputs / moved.groups,
            axes: [0, 1, 2].map(|axis| Axis::forward(&moved, axis)),
            transposed: false,
            work: moved.work(),
        }
    }

    pub(super) fn transposed(geometry: &Convolution) -> Gather {
        let moved = geometry.with_rows_first();
        Gather {
            batch: moved.batch,
            groups: moved.groups,
            channels: moved.outputs / moved.groups,
            lanes: moved.channels / moved.groups,
            axes: [0, 1, 2].map(|axis| Axis::transposed(&moved, axis)),
            transposed: true,
            work: moved.work(),
        }
    }

    /// Whether vector lanes should be channels of the target: true if they fill at least half a panel.
    pub(super) fn is_wide(&self) -> bool {
        self.lanes >= 6
    }

    /// Elements of one channel of the source.
    pub(super) fn source_plane(&self) -> usize {
        self.axes.iter().map(|axis| axis.source).product()
    }

    /// Elements of one channel of the target.
    pub(super) fn target_plane(&self) -> usize {
        self.axes.iter().map(|axis| axis.target).product()
    }

    /// Elements of the kernel.
    pub(super) fn kernel(&self) -> usize {
        self.axes.iter().map(|axis| axis.kernel).product()
    }

    /// The position in the weights of `(group, lane, channel, first tap)`.
    pub(super) fn weight(&self, group: usize, lane: usize, channel: usize) -> usize {
        let (outer, inner, inners) =
            if self.transposed { (channel, lane, self.lanes) } else { (lane, channel, self.channels) };
        let outers = if self.transposed { self.channels } else { self.lanes };
        ((group * outers + outer) * inners + inner) * self.kernel()
    }

    /// Slabs whose source fits the cache, and enough of them if there are few images.
    pub(super) fn slabs(&self, element: usize) -> Slabs {
        let rows = self.axes[0].longest();
        let row_bytes = self.channels * self.axes[1].extent * self.axes[2].extent * self.axes[0].step * element;
        let mut slab = (SLAB_BYTES / row_bytes.max(1)).clamp(4, rows.max(4));
        let images = self.batch * self.groups;
        if images < TASKS && self.work >= PARALLEL_WORK {
            slab = slab.min((rows * images).div_ceil(TASKS).max(2));
        }
        let count = rows.div_ceil(slab).max(1);
        Slabs { rows: rows.div_ceil(count), count }
    }

    /// All combinations of classes.
    pub(super) fn combinations(&self) -> SmallVec<[Combination; 8]> {
        let mut all = SmallVec::new();
        for (a, first) in self.axes[0].classes.iter().enumerate() {
            for (b, second) in self.axes[1].classes.iter().enumerate() {
                for (c, third) in self.axes[2].classes.iter().enumerate() {
                    let taps = first.taps.len() * second.taps.len() * third.taps.len();
                    all.push(Combination { classes: [a, b, c], taps });
                }
            }
        }
        all
    }

    /// The channels and taps that one element of the target reads.
    pub(super) fn steps(&self, combination: &Combination) -> usize {
        self.channels * combination.taps
    }

    /// Calls `each(kernel position, offset in the source)` for every tap of a combination.
    pub(super) fn for_each_tap(
        &self,
        combination: &Combination,
        source: &ImageLayout,
        mut each: impl FnMut(usize, usize),
    ) {
        let [a, b, c] = combination.classes;
        for first in &self.axes[0].classes[a].taps[..] {
            for second in &self.axes[1].classes[b].taps[..] {
                for third in &self.axes[2].classes[c].taps[..] {
                    let kernel = (first.kernel * self.axes[1].kernel + second.kernel) * self.axes[2].kernel;
                    let offset = first.offset * source.strides[0] + second.offset * source.strides[1];
                    each(kernel + third.kernel, offset + source.column(third.offset));
                }
            }
        }
    }

    /// Runs `task(0..tasks)`, several of them in a tile when they are small.
    pub(super) fn for_each_task(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        let each = self.work / tasks.max(1);
        let group = if self.work < PARALLEL_WORK { tasks } else { (PARALLEL_WORK / 4).div_ceil(each.max(1)) };
        let group = group.max(1);
        for_each_tile(tasks.div_ceil(group), &|tile| {
            for index in tile * group..((tile + 1) * group).min(tasks) {
                task(index);
            }
        });
    }
}

/// Where the source is read for each combination, channel and tap, from the position of a target element on.
pub(super) fn channel_steps(gather: &Gather, combinations: &[Combination], source: &ImageLayout) -> Buffer<usize> {
    let mut steps = Buffer::new(combinations.iter().map(|combination| gather.steps(combination)).sum());
    let mut slots = steps.iter_mut();
    for combination in combinations {
        for channel in 0..gather.channels {
            gather.for_each_tap(combination, source, |_, offset| {
                *slots.next().expect("a slot for each step") = channel * source.plane + offset;
            });
        }
    }
    steps
}
