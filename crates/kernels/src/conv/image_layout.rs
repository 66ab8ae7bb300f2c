//! The source of a gather as a tile reads it: in place, or a padded copy of the rows that the tile needs.

use super::axis::Axis;
use crate::dtype::Compute;

/// The memory layout of one image and group of a source, as the loops read it.
#[derive(Debug)]
pub(super) struct ImageLayout {
    /// Whether the tensor itself is read.
    pub(super) in_place: bool,
    /// The position of the first element that is read, in place.
    pub(super) base: usize,
    /// The step along each spatial axis.
    pub(super) strides: [usize; 3],
    /// The step from one channel to the next.
    pub(super) plane: usize,
    /// The size of the padded part: rows of a slab, and the whole of the other axes.
    extent: [usize; 3],
    /// Consecutive elements of the last axis lie in this many runs, one per residue.
    split: usize,
}

impl ImageLayout {
    /// For slabs of at most `rows` target rows; in place where no padding is needed.
    pub(super) fn new(axes: &[Axis; 3], rows: usize) -> ImageLayout {
        if axes.iter().all(Axis::needs_no_padding) {
            let strides = [axes[1].source * axes[2].source, axes[2].source, 1];
            let base = (0..3).map(|i| axes[i].low as usize * strides[i]).sum();
            let plane = axes[0].source * strides[0];
            return ImageLayout { in_place: true, base, strides, plane, extent: [0; 3], split: 1 };
        }
        ImageLayout::copied(axes, rows, 1)
    }

    /// A source that is always copied, with the last axis split into `split` runs.
    pub(super) fn copied(axes: &[Axis; 3], rows: usize, split: usize) -> ImageLayout {
        let extent = [axes[0].reach(rows), axes[1].extent, axes[2].extent.next_multiple_of(split)];
        let strides = [extent[1] * extent[2], extent[2], 1];
        ImageLayout { in_place: false, base: 0, strides, plane: extent[0] * strides[0], extent, split }
    }

    /// Where element `position` of the last axis lies in its row.
    pub(super) fn column(&self, position: usize) -> usize {
        if self.in_place {
            position
        } else {
            position % self.split * (self.extent[2] / self.split) + position / self.split
        }
    }

    /// Copies the rows from padded row `first` on of `channels` channels.
    pub(super) fn fill<T: Compute>(&self, axes: &[Axis; 3], first: usize, x: &[T], channels: usize, out: &mut [T]) {
        let size = [axes[0].source, axes[1].source, axes[2].source];
        let low = [first as isize + axes[0].low, axes[1].low, axes[2].low];
        let plane = size[0] * size[1] * size[2];
        // Columns begin..end of a padded row come from the source.
        let begin = (-low[2]).clamp(0, self.extent[2] as isize) as usize;
        let end = (size[2] as isize - low[2]).clamp(begin as isize, self.extent[2] as isize) as usize;
        for c in 0..channels {
            out[c * self.plane..][..self.plane].fill(T::ZERO);
            for e0 in 0..self.extent[0] {
                for e1 in 0..self.extent[1] {
                    let at = c * self.plane + e0 * self.strides[0] + e1 * self.strides[1];
                    let row = &mut out[at..at + self.extent[2]];
                    let (i0, i1) = (e0 as isize + low[0], e1 as isize + low[1]);
                    let inside = (0..size[0] as isize).contains(&i0) && (0..size[1] as isize).contains(&i1);
                    if !inside || begin == end {
                        continue;
                    }
                    let from = c * plane + (i0 as usize * size[1] + i1 as usize) * size[2];
                    let from = &x[from..from + size[2]][(begin as isize + low[2]) as usize..][..end - begin];
                    if self.split == 1 {
                        row[begin..end].copy_from_slice(from);
                    } else {
                        let run = self.extent[2] / self.split;
                        for (position, &value) in (begin..end).zip(from) {
                            row[position % self.split * run + position / self.split] = value;
                        }
                    }
                }
            }
        }
    }
}
