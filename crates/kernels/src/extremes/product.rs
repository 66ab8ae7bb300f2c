//! `out[o][i] = product over t of x[o][t][i]`.
//!
//! `f32` multiplies in `f64`; integers wrap around. Rows are cut into fixed parts, whose products are multiplied in order.

use crate::dtype::Compute;
use crate::reduce::for_each_group;
use crate::scan::Accumulate;
use crate::simd::vectorised;
use crate::threads::{Disjoint, REGION_TILE};

const LANES: usize = 16;
/// Columns that are multiplied side by side.
const COLUMNS: usize = 512;

/// The product along the middle axis of `[outer, n, inner]`; 1 if that axis is empty.
///
/// ```
/// let mut y = [0.0; 2];
/// wengert_kernels::extremes::prod(&[2.0, 3.0, 5.0, 7.0], [1, 2, 2], &mut y);
/// assert_eq!(y, [10.0, 21.0]);
/// ```
pub fn prod<T: Accumulate>(x: &[T], shape: [usize; 3], out: &mut [T]) {
    let [outer, n, inner] = shape;
    assert!(
        x.len() == outer * n * inner && out.len() == outer * inner,
        "prod: {} elements into {} for shape {shape:?}",
        x.len(),
        out.len()
    );
    if inner == 1 {
        return prod_of_rows(x, n, out);
    }
    let blocks = inner.div_ceil(COLUMNS);
    let out = Disjoint::new(out);
    for_each_group(outer * blocks, n * inner.min(COLUMNS), &|tasks| {
        let mut totals = [T::Wide::ONE; COLUMNS];
        for task in tasks {
            let (o, first) = (task / blocks, task % blocks * COLUMNS);
            let totals = &mut totals[..COLUMNS.min(inner - first)];
            totals.fill(T::Wide::ONE);
            for t in 0..n {
                multiply_row::<T>(totals, &x[(o * n + t) * inner + first..][..totals.len()]);
            }
            // SAFETY: a task is one block of columns of one matrix, and runs once. No other task has this part of a row.
            let out = unsafe { out.range(o * inner + first, totals.len()) };
            for (out, &total) in out.iter_mut().zip(totals.iter()) {
                *out = T::narrow(total);
            }
        }
    });
}

fn prod_of_rows<T: Accumulate>(x: &[T], n: usize, out: &mut [T]) {
    let parts = n.div_ceil(REGION_TILE).max(1);
    let mut totals = vec![T::Wide::ONE; out.len() * parts];
    let shared = Disjoint::new(&mut totals);
    for_each_group(out.len() * parts, n.min(REGION_TILE), &|tasks| {
        for task in tasks {
            let (row, first) = (task / parts, task % parts * REGION_TILE);
            // SAFETY: each task is in one group, which runs once, and has its own total.
            let total = unsafe { shared.range(task, 1) };
            total[0] = product_of(&x[row * n + first..][..REGION_TILE.min(n - first)]);
        }
    });
    for (out, parts) in out.iter_mut().zip(totals.chunks_exact(parts)) {
        *out = T::narrow(parts.iter().fold(T::Wide::ONE, |total, &part| T::times(total, part)));
    }
}

vectorised! {
    fn product_of[T: Accumulate](x: &[T]) -> T::Wide {
        let mut lanes = [T::Wide::ONE; LANES];
        for x in x.chunks(LANES) {
            for (lane, &x) in lanes.iter_mut().zip(x) {
                *lane = T::times(*lane, x.widen());
            }
        }
        let mut total = T::Wide::ONE;
        for lane in lanes {
            total = T::times(total, lane);
        }
        total
    }
}

vectorised! {
    fn multiply_row[T: Accumulate](totals: &mut [T::Wide], row: &[T]) {
        for (total, &x) in totals.iter_mut().zip(row) {
            *total = T::times(*total, x.widen());
        }
    }
}
