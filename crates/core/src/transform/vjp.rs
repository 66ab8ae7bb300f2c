//! Reverse mode: a value and the linear map from output cotangents to input cotangents.

use super::record::{Chosen, Record, expect_like, once, placed};
use super::vmap::vmap;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::{Tensor, Tree};
use std::sync::Arc;

/// The linear map from output cotangents to input cotangents at one point; it can be called many times.
///
/// ```
/// use wengert::prelude::*;
/// let (_, pullback) = vjp(|x: &Tensor| x * x, &Tensor::from([1.0, 2.0]));
/// assert_eq!(pullback.call(&Tensor::from([1.0, 0.0])), Tensor::from([2.0, 0.0]));
/// assert_eq!(pullback.call_batch(&Tensor::eye(2)), Tensor::from([[2.0, 0.0], [0.0, 4.0]]));
/// ```
pub struct Pullback<X, Y>(#[doc(hidden)] pub Arc<Record<X, Y>>);

/// The value of `f` at `x`, and its pullback there.
///
/// ```
/// use wengert::prelude::*;
/// let f = |(a, b): &(Tensor, Tensor)| (a * b, a.sin());
/// let ((product, _), pullback) = vjp(f, &(Tensor::from(2.0), Tensor::from(3.0)));
/// assert_eq!(product.item(), 6.0);
/// let (da, db) = pullback.call(&(Tensor::from(4.0), Tensor::from(5.0)));
/// assert_eq!(db.item(), 8.0);
/// assert_eq!(da.item(), 12.0 + 5.0 * 2.0f64.cos());
/// ```
#[track_caller]
pub fn vjp<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, x: &X) -> (Y, Pullback<X, Y>) {
    let line = location::resolve(Line::caller());
    let record = Record::new("vjp", &mut once(f), x, &Chosen::All, line).or_raise();
    (record.output.map_leaves(Tensor::clone), Pullback(Arc::new(record)))
}

impl<X, Y> Clone for Pullback<X, Y> {
    fn clone(&self) -> Self {
        Pullback(self.0.clone())
    }
}

impl<X: Tree, Y: Tree> Pullback<X, Y> {
    /// The cotangent of the input for this cotangent of the output; leaves that the output does not depend on get zeros.
    #[track_caller]
    pub fn call(&self, cotangent: &Y) -> X {
        self.0.pull_tree("pullback", cotangent, true, location::resolve(Line::caller())).or_raise()
    }

    /// The cotangents of the input for a batch of cotangents; every leaf has the batch along axis 0.
    #[track_caller]
    pub fn call_batch(&self, cotangents: &Y) -> X {
        vmap(|cotangent: &Y| self.call(cotangent))(cotangents)
    }

    /// The cotangent of every leaf of the input by its path. It is `None` where nothing arrives: the output does not depend on that leaf,
    /// or only through cotangents that are zeros without memory, as from `zeros_like`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, pullback) = vjp(|(a, _): &(Tensor, Tensor)| a * 2.0, &(Tensor::from(1.0), Tensor::from(1.0)));
    /// let named = pullback.call_named(&Tensor::from(3.0));
    /// assert_eq!(named[0], ("0".to_string(), Some(Tensor::from(6.0))));
    /// assert_eq!(named[1], ("1".to_string(), None));
    /// ```
    #[track_caller]
    pub fn call_named(&self, cotangent: &Y) -> Vec<(String, Option<Tensor>)> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        expect_like("pullback", "the cotangent", cotangent, &self.0.output, line).or_raise();
        let leaves = self.0.pull(placed(cotangent, &self.0.output).or_raise(), true).or_raise();
        self.0.input.named_leaves().into_iter().map(|(name, _)| name).zip(leaves).collect()
    }
}
