//! Gradients of functions of many numbers.

use wengert::scalar::{Var, gradient};

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
