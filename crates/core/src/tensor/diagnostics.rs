//! Compiler messages for operators that other libraries have: traits that nothing implements, whose messages name the method to call.

use super::Tensor;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Index;

/// No type implements it, so the compiler says what to write instead of `x[0]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a tensor is not indexed with `[]`, which can only borrow what is there already",
    label = "not an index",
    note = "a part of a tensor: `x.slice(0)`, `x.slice((.., 1..3))`; a number of it: `x.slice(0).item()`, `x.to_vec::<f64>()`"
)]
pub trait TensorIndex {}

#[doc(hidden)]
impl<I: TensorIndex> Index<I> for Tensor {
    type Output = Tensor;
    fn index(&self, _: I) -> &Tensor {
        unreachable!("nothing is an index")
    }
}

/// No type implements the bound. The compiler's error for `x > 0.0` shows the next line, with its comment.
#[doc(hidden)]
pub struct Comparison<T>(PhantomData<T>); // element by element: x.lt(y), x.le(y), x.gt(y), x.ge(y); one number: x.item() < 1.0

/// See [`Comparison`].
#[doc(hidden)]
pub trait HasOneAnswer {}

#[doc(hidden)]
impl<T> PartialOrd<T> for Tensor
where
    Tensor: PartialEq<T>,
    Comparison<T>: HasOneAnswer,
{
    fn partial_cmp(&self, _: &T) -> Option<Ordering> {
        unreachable!("no comparison has one answer")
    }
}
