//! `out[t] = a[t] * out[t - 1] + b[t]`, a linear recurrence along an axis, starting from 0.

use super::Accumulate;
use crate::dtype::Compute;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// The number of columns that are computed side by side.
const COLUMNS: usize = 512;

/// `out[t] = a[t] * out[t - 1] + b[t]` along the middle axis of `[outer, n, inner]`, or `out[t + 1]` when `reverse`.
///
/// `f32` is kept in `f64` between steps; integers wrap around.
///
/// ```
/// let mut y = [0.0; 3];
/// wengert_kernels::scan::linear_scan(&[9.0, 2.0, 3.0], &[1.0, 1.0, 1.0], [1, 3, 1], false, &mut y);
/// assert_eq!(y, [1.0, 3.0, 10.0]);
/// ```
pub fn linear_scan<T: Accumulate>(a: &[T], b: &[T], shape: [usize; 3], reverse: bool, out: &mut [T]) {
    let [outer, n, inner] = shape;
    assert!(
        a.len() == outer * n * inner && b.len() == a.len() && out.len() == a.len(),
        "linear_scan: {} factors and {} terms into {} for shape {shape:?}",
        a.len(),
        b.len(),
        out.len()
    );
    if out.is_empty() {
        return;
    }
    let out = Disjoint::new(out);
    if inner == 1 {
        return for_each_group(outer, n, &|rows| {
            for row in rows {
                // SAFETY: each row is in one group, which runs once, and has its own range.
                let out = unsafe { out.range(row * n, n) };
                step_through(&a[row * n..][..n], &b[row * n..][..n], reverse, out);
            }
        });
    }
    let blocks = inner.div_ceil(COLUMNS);
    for_each_group(outer * blocks, n * inner.min(COLUMNS), &|tasks| {
        let mut states = vec![T::Wide::ZERO; inner.min(COLUMNS)];
        for task in tasks {
            let (o, first) = (task / blocks, task % blocks * COLUMNS);
            let states = &mut states[..COLUMNS.min(inner - first)];
            states.fill(T::Wide::ZERO);
            for t in 0..n {
                let t = if reverse { n - 1 - t } else { t };
                let start = (o * n + t) * inner + first;
                let row = start..start + states.len();
                // SAFETY: a task is one block of columns of one matrix, and runs once. No other task has this part of a row.
                let out = unsafe { out.range(start, states.len()) };
                step_row::<T>(states, &a[row.clone()], &b[row], out);
            }
        }
    });
}

/// One row: each step depends on the one before it.
fn step_through<T: Accumulate>(a: &[T], b: &[T], reverse: bool, out: &mut [T]) {
    let mut state = T::Wide::ZERO;
    let mut step = |((&a, &b), out): ((&T, &T), &mut T)| {
        state = T::times(a.widen(), state).wrapping_plus(b.widen());
        *out = T::narrow(state);
    };
    let steps = a.iter().zip(b).zip(out);
    if reverse { steps.rev().for_each(&mut step) } else { steps.for_each(&mut step) }
}

vectorised! {
    fn step_row[T: Accumulate](states: &mut [T::Wide], a: &[T], b: &[T], out: &mut [T]) {
        for (((state, &a), &b), out) in states.iter_mut().zip(a).zip(b).zip(out) {
            *state = T::times(a.widen(), *state).wrapping_plus(b.widen());
            *out = T::narrow(*state);
        }
    }
}
