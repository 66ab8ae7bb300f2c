//! From arrays of the `ndarray` crate and back.

use super::{Scalar, Tensor};
use crate::Error;
use crate::error::OrRaise;
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

/// The numbers of an array of any layout, copied.
impl<S: Data<Elem: Scalar>, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    #[track_caller]
    fn from(array: &ArrayBase<S, D>) -> Tensor {
        Tensor::from_vec(array.iter().copied().collect(), array.shape())
    }
}

/// The numbers of an array of any layout, copied.
impl<S: Data<Elem: Scalar>, D: Dimension> From<ArrayBase<S, D>> for Tensor {
    #[track_caller]
    fn from(array: ArrayBase<S, D>) -> Tensor {
        Tensor::from(&array)
    }
}

impl Tensor {
    /// All numbers as an array of the `ndarray` crate, row-major.
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

    /// All numbers as an array of the `ndarray` crate, row-major, or why they cannot be read.
    pub fn try_to_ndarray<T: Scalar>(&self) -> Result<ArrayD<T>, Error> {
        let numbers = self.try_to_vec()?;
        Ok(ArrayD::from_shape_vec(IxDyn(self.shape()), numbers).expect("as many numbers as the shape says"))
    }
}
