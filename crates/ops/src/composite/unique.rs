//! The distinct elements of a tensor.
//!
//! The shape of the result depends on the values. Unlike a primitive it reads them, so it can be neither batched nor staged.

use crate::error::OrRaise;
use crate::tensor::{computing, numbers};
use crate::{Shape, Tensor};
use easy_ext::ext;
use wengert_kernels::order;

/// The distinct elements of a tensor: see [`Tensor::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// The distinct elements, ascending; each NaN is distinct.
    pub values: Tensor,
    /// For each element of the tensor, the index of its value in `values`.
    pub inverse: Tensor,
    /// For each of the values, the number of occurrences.
    pub counts: Tensor,
}

/// The methods of `unique`.
#[ext(UniqueMethods)]
impl Tensor {
    /// The distinct elements in ascending order, the index of each element among them, and the number of occurrences.
    ///
    /// No gradient passes, and the number of distinct elements depends on the values: inside `vmap` and `compile`, use `sort`, which keeps
    /// the shape.
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
