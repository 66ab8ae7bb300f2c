//! Gradients of functions of many numbers.

use std::ops::Range;
use wengert::scalar::{Var, gradient};

/// Statements of a tape that stays in a core's cache.
const STATEMENTS: usize = 1 << 15;

/// The gradient of a function.
pub(crate) fn gradient_at(x: &[f64], f: impl FnOnce(&[Var]) -> Var) -> Vec<f64> {
    let mut slopes = vec![0.0; x.len()];
    gradient(f, x, &mut slopes);
    slopes
}

/// The gradient of a sum. Every part is recorded and swept by itself, so the tape is as long as one part.
pub(crate) fn gradient_of_sum<P>(x: &[f64], parts: impl Iterator<Item = P>, f: impl Fn(&[Var], P) -> Var) -> Vec<f64> {
    let mut sums = vec![0.0; x.len()];
    let mut slopes = vec![0.0; x.len()];
    for part in parts {
        gradient(|x| f(x, part), x, &mut slopes);
        sums.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += slope);
    }
    sums
}

/// Cuts `count` terms of a function of `inputs` numbers into parts. One part of terms of so many statements fits into the cache, or is
/// longer than its inputs take.
pub(crate) fn parts(count: usize, statements: usize, inputs: usize) -> impl Iterator<Item = Range<usize>> {
    let terms = (STATEMENTS.max(4 * inputs) / statements.max(1)).max(1);
    (0..count).step_by(terms).map(move |first| first..count.min(first.saturating_add(terms)))
}
