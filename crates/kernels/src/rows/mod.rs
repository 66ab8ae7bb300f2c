//! Kernels over the rows of a matrix `[rows, n]`: softmax and related functions, cross-entropy, normalisations.
//!
//! Matrices are contiguous and row-major, in `f32` or `f64`. Each row is processed by one thread. Sums across rows (the gradients of gains
//! and biases) are taken over fixed blocks of rows, so the bits do not depend on the number of threads.

mod cross_entropy;
mod exponential;
mod float;
mod fold;
mod moments;
mod norm;
mod power;
mod softmax;

pub use cross_entropy::{CrossEntropy, cross_entropy, cross_entropy_gradient};
pub use float::Float;
pub use moments::{mean_variance, mean_variance_of_columns};
pub use norm::{Affine, NormGradient, layer_norm, layer_norm_gradient, rms_norm, rms_norm_gradient};
pub use power::p_norm;
pub use softmax::{
    log_softmax, log_softmax_gradient, logsumexp, logsumexp_gradient, softmax, softmax_gradient,
    softmax_gradient_by_value,
};

pub(crate) use float::finite_or_zero;
pub(crate) use fold::{dot_of, max_of, sum_block};

/// The cost of an element with an exponential relative to a plain one, when deciding whether to use threads.
const EXPONENTIAL: usize = 4;

/// The number of rows of `n` elements. Panics unless every slice holds that many rows.
fn count_rows(n: usize, lengths: &[usize], operation: &str) -> usize {
    let rows = lengths[0].checked_div(n).unwrap_or(0);
    assert!(
        lengths.iter().all(|&length| length == rows * n),
        "{operation}: slices of {lengths:?} elements for rows of {n}"
    );
    rows
}

#[cfg(test)]
mod tests;
