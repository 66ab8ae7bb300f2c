//! Runs over the matrices of a batch, several at a time: the batch is cut into tiles of fixed work.

use super::Real;
use crate::threads::{Disjoint, for_each_tile};
use std::sync::Mutex;

/// The number of operations in a batch from which a parallel region pays off; a tile has half as many.
const PARALLEL_WORK: usize = 400_000;

/// Why a matrix could not be processed.
///
/// ```
/// use wengert_kernels::linalg::{Reason, solve};
/// let status = solve(&[1.0, 2.0, 2.0, 4.0], &[1.0, 1.0], [1, 2, 1], false, &mut [0.0; 2]);
/// assert_eq!(status.failed[0].reason, Reason::Singular { pivot: 1 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// An element is NaN or infinite.
    NotFinite,
    /// This pivot, counted from 0, is exactly zero.
    Singular {
        /// Its row.
        pivot: usize,
    },
    /// This pivot, counted from 0, is zero or negative.
    NotPositive {
        /// Its row.
        pivot: usize,
    },
    /// The iteration did not converge within its limit.
    NotConverged,
}

/// A matrix that could not be processed.
///
/// ```
/// use wengert_kernels::linalg::{Failure, Reason, cholesky};
/// let status = cholesky(&[4.0, -1.0], [2, 1], &mut [0.0; 2]);
/// assert_eq!(status.failed, [Failure { matrix: 1, reason: Reason::NotPositive { pivot: 0 } }]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Its index in the batch.
    pub matrix: usize,
    /// The reason.
    pub reason: Reason,
}

/// The matrices of a batch that could not be processed, in ascending order. Their outputs are NaN.
///
/// ```
/// let mut inverse = [0.0; 3];
/// let status = wengert_kernels::linalg::inv(&[2.0, 0.0, 4.0], [3, 1], &mut inverse);
/// assert!(!status.is_ok() && status.failed.len() == 1 && status.failed[0].matrix == 1);
/// assert_eq!((inverse[0], inverse[2]), (0.5, 0.25));
/// ```
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// The failures.
    pub failed: Vec<Failure>,
}

impl Status {
    /// Whether every matrix was processed.
    ///
    /// ```
    /// assert!(wengert_kernels::linalg::inv(&[2.0], [1, 1], &mut [0.0]).is_ok());
    /// ```
    pub fn is_ok(&self) -> bool {
        self.failed.is_empty()
    }
}

/// Calls `body(matrix, parts, part_of_indices)` for each matrix of the batch, with its part of every output. The parts of matrices that
/// fail are filled with NaN. `work` is an estimate of the operations that one matrix takes.
pub(super) fn for_each_matrix<T: Real, const N: usize>(
    batch: usize,
    work: usize,
    outs: [&mut [T]; N],
    indices: &mut [i64],
    body: &(dyn Fn(usize, &mut [&mut [T]; N], &mut [i64]) -> Result<(), Reason> + Sync),
) -> Status {
    if batch == 0 {
        return Status::default();
    }
    let group = if work.saturating_mul(batch) < PARALLEL_WORK {
        batch
    } else {
        (PARALLEL_WORK / 2).div_ceil(work.max(1)).min(batch)
    };
    let each = outs.each_ref().map(|out| out.len() / batch);
    let indices_each = indices.len() / batch;
    let (outs, indices) = (outs.map(Disjoint::new), Disjoint::new(indices));
    let failed = Mutex::new(Vec::new());
    for_each_tile(batch.div_ceil(group), &|tile| {
        for matrix in tile * group..batch.min((tile + 1) * group) {
            let mut share = 0;
            let mut parts = outs.each_ref().map(|out| {
                share += 1;
                // SAFETY: tiles are disjoint groups of matrices and run once, so each matrix is visited once. Matrix `m` has the range from
                // `m * each` to `(m + 1) * each` of an output.
                unsafe { out.range(matrix * each[share - 1], each[share - 1]) }
            });
            // SAFETY: matrix `m`, visited once, has the range from `m * indices_each` to `(m + 1) * indices_each`.
            let indices = unsafe { indices.range(matrix * indices_each, indices_each) };
            if let Err(reason) = body(matrix, &mut parts, indices) {
                parts.iter_mut().for_each(|part| part.fill(T::NAN));
                failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(Failure { matrix, reason });
            }
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    failed.sort_by_key(|failure: &Failure| failure.matrix);
    Status { failed }
}

/// Panics unless slice `what` of `function` holds `batch` matrices of `rows x cols`.
pub(super) fn expect_length(function: &str, what: &str, length: usize, [batch, rows, cols]: [usize; 3]) {
    let wanted = rows.checked_mul(cols).and_then(|each| each.checked_mul(batch));
    assert!(wanted == Some(length), "{function}: {what} must hold {batch} times {rows}x{cols} elements, not {length}");
}

/// Rejects a matrix with an element that is NaN or infinite.
pub(super) fn expect_finite<T: Real>(a: &[T]) -> Result<(), Reason> {
    if super::submatrix::all_finite(a) { Ok(()) } else { Err(Reason::NotFinite) }
}
