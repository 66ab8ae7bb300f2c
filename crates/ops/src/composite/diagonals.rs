//! Matrices built from diagonals.

use crate::methods::*;
use crate::movement::diagonal::DIAGONAL_ADD;
use crate::primitive::{Attrs, Spec};
use crate::{Error, ErrorKind, Shape, Tensor, bind};
use easy_ext::ext;

/// The methods of `diagonals`.
#[ext(DiagonalsMethods)]
impl Tensor {
    /// The diagonal of a matrix, or the matrix with this vector on its diagonal; the diagonal is `offset` above the main one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).diag(0), Tensor::from([[1.0, 0.0], [0.0, 2.0]]));
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).diag(1), Tensor::from([2.0]));
    /// ```
    #[track_caller]
    pub fn diag(&self, offset: isize) -> Tensor {
        match self.rank() {
            1 => self.diag_embed(offset),
            2 => self.diagonal_of(offset, 0, 1),
            rank => {
                let shape = Shape::from(self.shape());
                Error::new(ErrorKind::Shape(vec![shape]), "diag", format!("needs one or two axes, got {rank}"))
                    .help("diagonal_of takes and diag_embed makes diagonals of any two axes")
                    .raise()
            }
        }
    }

    /// Matrices with the last axis on the diagonal `offset` above the main one, and zeros elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 2.0]).diag_embed(-1);
    /// assert_eq!(y, Tensor::from([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn diag_embed(&self, offset: isize) -> Tensor {
        self.diag_embed_axes(offset, -2, -1)
    }

    /// [`diag_embed`](Tensor::diag_embed) with the new rows and columns at these axes of the result.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([5, 2]).diag_embed_axes(0, 0, 2).shape(), [2, 5, 2]);
    /// ```
    #[track_caller]
    pub fn diag_embed_axes(&self, offset: isize, rows: isize, columns: isize) -> Tensor {
        let x = self.atleast_1d();
        let (length, others) = x.shape().split_last().expect("at least one axis");
        let size = length + offset.unsigned_abs();
        let shape = [others, &[size, size]].concat();
        let rank = shape.len() as i64;
        let attrs =
            Attrs::new().with_int("offset", offset as i64).with_int("rows", rank - 2).with_int("columns", rank - 1);
        let zeros = Tensor::constant(0.0, &Spec::new(shape, self.dtype()));
        let y = match self.dtype() {
            // Booleans cannot be added, and there is nothing to differentiate.
            crate::DType::Bool => zeros.diagonal_scatter(&x, offset, -2, -1),
            _ => bind::bind1(&DIAGONAL_ADD, attrs, &[&zeros, &x]),
        };
        y.movedim(&[-2, -1], &[rows, columns])
    }
}
