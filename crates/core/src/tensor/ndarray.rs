//! Conversion to and from arrays of the `ndarray` crate.

use super::{Scalar, Shape, Tensor};
use crate::Error;
use crate::error::OrRaise;
use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn};

/// Copies the elements of an array of any layout.
impl<S: Data<Elem: Scalar>, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    #[track_caller]
    fn from(array: &ArrayBase<S, D>) -> Tensor {
        match array.as_slice() {
            Some(numbers) => Tensor::from_slice(numbers, array.shape()),
            None => Tensor::from_vec(array.iter().copied().collect(), array.shape()),
        }
    }
}

/// Takes over the memory of an array that is row-major and uniquely owned; copies the elements of any other.
impl<S: Data<Elem: Scalar>, D: Dimension> From<ArrayBase<S, D>> for Tensor {
    #[track_caller]
    fn from(array: ArrayBase<S, D>) -> Tensor {
        let shape = Shape::from(array.shape());
        match array.try_into_owned_nocopy() {
            Ok(own) if own.is_standard_layout() => {
                let (mut numbers, start) = own.into_raw_vec_and_offset();
                let start = start.unwrap_or(0);
                // Drops the rest of the memory that the array was sliced from.
                numbers.truncate(start + shape.elements());
                numbers.drain(..start);
                Tensor::from_vec(numbers, shape)
            }
            Ok(own) => Tensor::from(&own),
            Err(lent) => Tensor::from(&lent),
        }
    }
}

impl Tensor {
    /// Borrows all elements, row-major, as a view of the `ndarray` crate; see [`as_slice`](Tensor::as_slice).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.as_ndarray::<f64>()[[1, 0]], 3.0);
    /// ```
    #[track_caller]
    pub fn as_ndarray<T: Scalar>(&self) -> ArrayViewD<'_, T> {
        self.try_as_ndarray().or_raise()
    }

    /// Borrows all elements, row-major, as a view of the `ndarray` crate, or returns an error if it cannot.
    pub fn try_as_ndarray<T: Scalar>(&self) -> Result<ArrayViewD<'_, T>, Error> {
        let numbers = self.lent("as_ndarray")?;
        Ok(ArrayViewD::from_shape(IxDyn(self.shape()), numbers).expect("as many numbers as the shape says"))
    }

    /// All elements as an array of the `ndarray` crate, row-major.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let array = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t().to_ndarray::<f64>();
    /// assert_eq!(array, ndarray::arr2(&[[1.0, 3.0], [2.0, 4.0]]).into_dyn());
    /// assert_eq!(Tensor::from(array.view()), Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn to_ndarray<T: Scalar>(&self) -> ArrayD<T> {
        self.try_to_ndarray().or_raise()
    }

    /// All elements as an array of the `ndarray` crate, row-major, or an error if they cannot be read.
    pub fn try_to_ndarray<T: Scalar>(&self) -> Result<ArrayD<T>, Error> {
        let numbers = self.try_to_vec()?;
        Ok(ArrayD::from_shape_vec(IxDyn(self.shape()), numbers).expect("as many numbers as the shape says"))
    }
}
