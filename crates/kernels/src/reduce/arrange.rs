//! Orders axes for a reduction.
//!
//! Reduced axes may be in any order: the largest stride comes first. Kept axes must stay in order. If the last kept axis is denser in
//! memory than every reduced one, it becomes `inner` (column sums), else `inner = 1` (row sums).

use crate::threads::{PARALLEL_ELEMENTS, REGION_TILE, for_each_tile};
use crate::view::{Layout, View, collapse};
use std::ops::Range;

/// Element `(o, r, i)` of the reduction is at row-major position `(o * length + r) * inner + i` of `layout`,
/// and output `o * inner + i` is the reduction over `r`.
pub(super) struct Arrangement {
    pub(super) outer: usize,
    pub(super) length: usize,
    pub(super) inner: usize,
    layout: Layout,
}

/// The sort key of an axis. A broadcast axis costs nothing to iterate over, so it goes outside.
fn distance(stride: isize) -> usize {
    if stride == 0 { usize::MAX } else { stride.unsigned_abs() }
}

impl Arrangement {
    pub(super) fn new(view: &View<'_>, reduced: impl Fn(usize) -> bool) -> Arrangement {
        let mut kept = Layout::default();
        let mut summed: smallvec::SmallVec<[(usize, isize); 6]> = smallvec::SmallVec::new();
        for (axis, (&size, &stride)) in view.shape.iter().zip(view.strides).enumerate() {
            match reduced(axis) {
                true if size == 1 => {}
                true => summed.push((size, stride)),
                false => kept.push(size, stride),
            }
        }
        summed.sort_by_key(|&(_, stride)| std::cmp::Reverse(distance(stride)));
        let length = summed.iter().map(|&(size, _)| size).product();

        let nearest = summed.last().map_or(usize::MAX, |&(_, stride)| distance(stride));
        let columns = kept.strides.last().is_some_and(|&stride| distance(stride) < nearest) && length != 1;
        let split = kept.rank() - columns as usize;
        let outer = kept.shape[..split].iter().product();
        let inner = kept.shape[split..].iter().product();

        let mut layout = Layout::default();
        let axes =
            |range: Range<usize>| kept.shape[range.clone()].iter().copied().zip(kept.strides[range].iter().copied());
        for (size, stride) in axes(0..split).chain(summed.iter().copied()).chain(axes(split..kept.rank())) {
            layout.shape.push(size);
            layout.strides.push(stride);
        }
        let merged = collapse(&layout.shape, &layout.strides);
        Arrangement { outer, length, inner, layout: merged }
    }

    /// The view in the arranged order.
    pub(super) fn view<'a>(&'a self, view: &View<'a>) -> View<'a> {
        View { shape: &self.layout.shape, strides: &self.layout.strides, ..*view }
    }
}

/// Calls `body` on ranges that cover `0..tasks`; each range has about one region tile of elements.
pub(crate) fn for_each_group(tasks: usize, elements_per_task: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
    if tasks * elements_per_task < PARALLEL_ELEMENTS {
        return body(0..tasks);
    }
    let group = (REGION_TILE / elements_per_task.max(1)).max(1);
    for_each_tile(tasks.div_ceil(group), &|tile| {
        body(tile * group..((tile + 1) * group).min(tasks));
    });
}
