//! The order in which a scan visits its elements.

use super::monoid::Monoid;
use crate::dtype::Compute;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::{Disjoint, REGION_TILE};
use std::marker::PhantomData;

/// The number of columns that are scanned side by side.
const COLUMNS: usize = 512;

/// Scans the middle axis; `indices` is empty unless the monoid is indexed.
pub(super) fn scan<T: Compute, M: Monoid<T>>(
    x: &[T],
    shape: [usize; 3],
    reverse: bool,
    out: &mut [T],
    indices: &mut [i64],
) {
    let [outer, n, inner] = shape;
    assert!(
        x.len() == outer * n * inner && out.len() == x.len(),
        "scan: {} elements into {} for shape {shape:?}",
        x.len(),
        out.len()
    );
    if x.is_empty() {
        return;
    }
    match inner {
        1 => scan_rows::<T, M>(x, n, reverse, out, indices),
        _ => scan_columns::<T, M>(x, shape, reverse, out, indices),
    }
}

fn scan_rows<T: Compute, M: Monoid<T>>(x: &[T], n: usize, reverse: bool, out: &mut [T], indices: &mut [i64]) {
    let (rows, parts) = (x.len() / n, n.div_ceil(REGION_TILE));
    // Part `p` in scan order.
    let range = |task: usize| {
        let (row, part) = (task / parts, task % parts);
        let part = if reverse { parts - 1 - part } else { part };
        (row * n, part * REGION_TILE..((part + 1) * REGION_TILE).min(n))
    };
    let mut starts = vec![M::empty(); rows * parts];
    if parts > 1 {
        let totals = Disjoint::new(&mut starts);
        for_each_group(rows * parts, REGION_TILE, &|tasks| {
            for task in tasks {
                let (row, part) = range(task);
                // SAFETY: each task is in one group, which runs once, and has its own total.
                let total = unsafe { totals.range(task, 1) };
                total[0] = total_of(PhantomData::<M>, &x[row + part.start..row + part.end], part.start, reverse);
            }
        });
        for row in starts.chunks_exact_mut(parts) {
            let mut before = M::empty();
            for total in row {
                let after = M::join(before, *total);
                *total = before;
                before = after;
            }
        }
    }
    let (out, indices) = (Disjoint::new(out), Disjoint::new(indices));
    for_each_group(rows * parts, n.min(REGION_TILE), &|tasks| {
        for task in tasks {
            let (row, part) = range(task);
            let (first, count) = (row + part.start, part.len());
            let indexed = if M::INDEXED { (first, count) } else { (0, 0) };
            // SAFETY: a task is one part of one row, and runs once. No other task has this range.
            let (out, indices) = unsafe { (out.range(first, count), indices.range(indexed.0, indexed.1)) };
            scan_part(PhantomData::<M>, &x[first..first + count], starts[task], part.start, reverse, out, indices);
        }
    });
}

vectorised! {
    fn total_of[T: Compute, M: Monoid<T>](_monoid: PhantomData<M>, x: &[T], first: usize, reverse: bool) -> M::State {
        let mut state = M::empty();
        for i in 0..x.len() {
            let i = if reverse { x.len() - 1 - i } else { i };
            state = M::step(state, x[i], (first + i) as i64);
        }
        state
    }
}

vectorised! {
    fn scan_part[T: Compute, M: Monoid<T>](
        _monoid: PhantomData<M>, x: &[T], start: M::State, first: usize, reverse: bool, out: &mut [T], indices: &mut [i64],
    ) {
        let mut state = start;
        for i in 0..x.len() {
            let i = if reverse { x.len() - 1 - i } else { i };
            state = M::step(state, x[i], (first + i) as i64);
            out[i] = M::value(state);
            if M::INDEXED {
                indices[i] = M::index(state);
            }
        }
    }
}

fn scan_columns<T: Compute, M: Monoid<T>>(
    x: &[T],
    [outer, n, inner]: [usize; 3],
    reverse: bool,
    out: &mut [T],
    indices: &mut [i64],
) {
    let blocks = inner.div_ceil(COLUMNS);
    let (out, indices) = (Disjoint::new(out), Disjoint::new(indices));
    for_each_group(outer * blocks, n * inner.min(COLUMNS), &|tasks| {
        let mut states = vec![M::empty(); inner.min(COLUMNS)];
        for task in tasks {
            let (o, first) = (task / blocks, task % blocks * COLUMNS);
            let states = &mut states[..COLUMNS.min(inner - first)];
            states.fill(M::empty());
            for t in 0..n {
                let t = if reverse { n - 1 - t } else { t };
                let start = (o * n + t) * inner + first;
                let indexed = if M::INDEXED { (start, states.len()) } else { (0, 0) };
                // SAFETY: a task is one block of columns of one matrix, and runs once. No other task has this part of a row.
                let (out, indices) = unsafe { (out.range(start, states.len()), indices.range(indexed.0, indexed.1)) };
                step_row(PhantomData::<M>, states, &x[start..start + out.len()], t as i64, out, indices);
            }
        }
    });
}

vectorised! {
    fn step_row[T: Compute, M: Monoid<T>](
        _monoid: PhantomData<M>, states: &mut [M::State], x: &[T], position: i64, out: &mut [T], indices: &mut [i64],
    ) {
        for ((state, &x), out) in states.iter_mut().zip(x).zip(out) {
            *state = M::step(*state, x, position);
            *out = M::value(*state);
        }
        if M::INDEXED {
            for (state, index) in states.iter().zip(indices) {
                *index = M::index(*state);
            }
        }
    }
}
