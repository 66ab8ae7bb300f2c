//! Linear systems.

use super::lu::Lu;
use super::{literal, plain, with_slopes};
use crate::Real;
use crate::expect::expect;
use std::panic::Location;
use wengert_engine::{Error, ErrorKind};

/// The solution x of A x = b, for a square row-major matrix. On a tape every unknown costs four statements, for a system of any size.
///
/// ```
/// use wengert_scalar::{Var, gradient_of, linear_solve};
/// let first = |[a, b]: [Var; 2]| linear_solve(&[a, 1.0.into(), 1.0.into(), 3.0.into()], &[b, 0.0.into()])[0];
/// // 3 b / (3 a - 1).
/// let (x, [by_a, by_b]) = gradient_of(first, [2.0, 5.0]);
/// assert!((x - 3.0).abs() < 1e-15 && (by_a + 1.8).abs() < 1e-15 && (by_b - 0.6).abs() < 1e-15);
/// ```
#[track_caller]
pub fn linear_solve<T: Real>(matrix: &[T], rhs: &[T]) -> Vec<T> {
    match try_linear_solve(matrix, rhs) {
        Ok(x) => x,
        Err(error) => error.raise(),
    }
}

/// Like [`linear_solve`], but returns an error if the matrix is singular.
///
/// ```
/// use wengert_engine::ErrorKind;
/// use wengert_scalar::try_linear_solve;
/// let error = try_linear_solve(&[1.0, 2.0, 2.0, 4.0], &[1.0, 1.0]).unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::Singular(vec![]));
/// ```
#[track_caller]
pub fn try_linear_solve<T: Real>(matrix: &[T], rhs: &[T]) -> Result<Vec<T>, Error> {
    let (n, line) = (rhs.len(), Location::caller());
    expect(matrix.len() == n * n, "linear_solve", || format!("a matrix of {} numbers for {n} equations", matrix.len()));
    let singular = || {
        Error::new(ErrorKind::Singular(Vec::new()), "linear_solve", "the matrix is singular: a pivot is zero")
            .help("an equation follows from the others, or contradicts them")
            .at(line)
    };
    let (Some(numbers), Some(known)) = (plain(matrix), plain(rhs)) else {
        return Ok(Lu::new(matrix.to_vec(), n).ok_or_else(singular)?.solve(rhs));
    };
    let lu = Lu::new(numbers, n).ok_or_else(singular)?;
    let x = literal(&lu.solve(&known));
    let residual = |x: &[T]| {
        let right = [x, &[T::lit(-1.0)]].concat();
        let row = |(row, b): (&[T], &T)| T::dot(&[row, &[*b]].concat(), &right);
        matrix.chunks(n).zip(rhs).map(row).collect()
    };
    Ok(with_slopes(&lu.literal(), x, residual))
}
