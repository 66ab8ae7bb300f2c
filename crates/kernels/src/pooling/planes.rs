//! Runs over planes in parallel, and gathers and scatters within planes.
//!
//! `gather: out[p][i] = x[p][index[p][i]]`, `scatter: out[p][index[p][i]] += g[p][i]`, in the order of `i`.

use crate::dtype::{Compute, Element};
use crate::threads::{Disjoint, for_each_tile, tile_elements};

/// Picks elements of each plane: given the indices of maxima, their values or tangents. Panics if an index is out of range.
///
/// ```
/// use wengert_kernels::gather_planes;
/// let mut out = [0; 4];
/// gather_planes(2, &[1, 2, 3, 4, 5, 6], &[2, 0, 1, 1], &mut out);
/// assert_eq!(out, [3, 1, 5, 5]);
/// ```
pub fn gather_planes<T: Element>(planes: usize, x: &[T], index: &[i64], out: &mut [T]) {
    let (input, output) = sizes("gather_planes", planes, x.len(), index.len(), out.len());
    for_each_plane(planes, output, out, &|plane, out| {
        let (x, index) = (&x[plane * input..][..input], &index[plane * output..][..output]);
        for (out, &i) in out.iter_mut().zip(index) {
            *out = x[i as usize];
        }
    });
}

/// Adds `g` to the elements of each plane that the index names; the others are zero. This is the gradient of a maximum.
///
/// ```
/// use wengert_kernels::scatter_planes;
/// let mut out = [9.0; 6];
/// scatter_planes(2, &[1.0, 2.0, 4.0, 8.0], &[2, 0, 1, 1], &mut out);
/// assert_eq!(out, [2.0, 0.0, 1.0, 0.0, 12.0, 0.0]);
/// ```
pub fn scatter_planes<T: Compute>(planes: usize, g: &[T], index: &[i64], out: &mut [T]) {
    let (input, output) = sizes("scatter_planes", planes, out.len(), index.len(), g.len());
    for_each_plane(planes, input, out, &|plane, out| {
        out.fill(T::ZERO);
        let (g, index) = (&g[plane * output..][..output], &index[plane * output..][..output]);
        for (&g, &i) in g.iter().zip(index) {
            let slot = &mut out[i as usize];
            *slot = slot.wrapping_plus(g);
        }
    });
}

/// Elements of a plane of the input and of the output.
fn sizes(what: &str, planes: usize, input: usize, index: usize, output: usize) -> (usize, usize) {
    assert_eq!(index, output, "{what}: one index per element");
    let divides = |length: usize| if planes == 0 { length == 0 } else { length.is_multiple_of(planes) };
    assert!(divides(input) && divides(output), "{what}: {planes} planes of {input} and {output} elements");
    (input / planes.max(1), output / planes.max(1))
}

/// Calls `body(plane, elements)` for every plane of `out`, on several threads if there is enough work.
pub(super) fn for_each_plane<T: Send>(
    planes: usize,
    size: usize,
    out: &mut [T],
    body: &(impl Fn(usize, &mut [T]) + Sync),
) {
    let shared = Disjoint::new(out);
    for_each_group(planes, size, &|plane| {
        // SAFETY: each plane runs once and has its own range.
        body(plane, unsafe { shared.range(plane * size, size) });
    });
}

/// Calls `body(plane)` for every plane; `work` elements each.
pub(super) fn for_each_group(planes: usize, work: usize, body: &(dyn Fn(usize) + Sync)) {
    let group = (tile_elements(planes.saturating_mul(work)) / work.max(1)).max(1);
    for_each_tile(planes.div_ceil(group), &|tile| {
        for plane in tile * group..((tile + 1) * group).min(planes) {
            body(plane);
        }
    });
}
