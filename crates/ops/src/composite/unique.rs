//! The different elements of a tensor.
//!
//! The shape of the result depends on the numbers: unlike a primitive it reads them, and can be neither batched nor staged.

use crate::error::OrRaise;
use crate::tensor::{computing, numbers};
use crate::{Shape, Tensor};
use easy_ext::ext;
use wengert_kernels::order;

/// The different elements of a tensor: see [`Tensor::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// The different elements, ascending; each NaN differs from the others.
    pub values: Tensor,
    /// For each element of the tensor, where its value is among `values`.
    pub inverse: Tensor,
    /// For each of the values, how often it occurs.
    pub counts: Tensor,
}

/// The methods of `unique`.
#[ext(UniqueMethods)]
impl Tensor {
    /// The different elements in ascending order, where each element is among them, and how often each occurs.
    ///
    /// No gradient passes, and how many there are depends on the numbers: inside `vmap` and `compile` use `sort`, which
    /// keeps the shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let found = Tensor::from([3.0, 1.0, 3.0]).unique();
    /// assert_eq!(found.values, Tensor::from([1.0, 3.0]));
    /// assert_eq!(found.inverse, Tensor::from([1i64, 0, 1]));
    /// assert_eq!(found.counts, Tensor::from([1i64, 2]));
    /// ```
    #[track_caller]
    pub fn unique(&self) -> Unique {
        let help = "sort along an axis keeps the shape: a value is new where it differs from the one before";
        let x = Tensor::from(self.numbers("unique").map_err(|error| error.help(help)).or_raise().clone());
        let shape = Shape::from(x.shape());
        computing!(x.dtype(), T => {
            let found = order::unique::<T>(&numbers(x.value.view()));
            let count = found.values.len();
            Unique {
                values: Tensor::from_vec(found.values, [count]).cast(x.dtype()),
                inverse: Tensor::from_vec(found.inverse, shape),
                counts: Tensor::from_vec(found.counts, [count]),
            }
        })
    }
}
