//! Matrices for linear systems.

use wengert::prelude::*;

/// A well-conditioned matrix that is not symmetric.
pub fn skew(n: usize) -> Tensor {
    let entry = |place: usize| {
        let (i, j) = (place / n, place % n);
        if i == j { 4.0 } else { ((3 * i + 5 * j) as f64).sin() / n as f64 }
    };
    Tensor::from_vec((0..n * n).map(entry).collect::<Vec<f64>>(), [n, n])
}
