//! Sparse Hessians: the pattern, and the values of its lower triangle at many points.

use super::Pattern;
use super::compressed::{Compressed, Side, dense};
use super::jacobian::find;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::methods::*;
use crate::transform::expect_like;
use crate::{Tensor, Tree, grad, jvp, vmap};
use rustc_hash::FxHashMap;

/// The sparsity pattern of the Hessian of a scalar function: which pairs of elements of `x` it couples. It is symmetric: the
/// [`jacobian_pattern`](crate::jacobian_pattern) of the gradient, united with its transpose.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| (x.slice(1..) * x.slice(..-1)).sum();
/// assert_eq!(hessian_pattern(f, &Tensor::ones([3])).to_string(), "3 x 3, 4 entries\n·■·\n■·■\n·■·");
/// ```
#[track_caller]
pub fn hessian_pattern<X: Tree>(f: impl Fn(&X) -> Tensor, x: &X) -> Pattern {
    find_symmetric("hessian_pattern", f, x, location::resolve(Line::caller()))
}

fn find_symmetric<X: Tree>(name: &'static str, f: impl Fn(&X) -> Tensor, x: &X, line: Line) -> Pattern {
    let _scope = location::scope(line);
    let pattern = find(name, grad(f), x, Side::input, line).0;
    pattern.union(&pattern.transpose())
}

/// A sparse Hessian whose structure is found once and whose values can be computed many times, as nonlinear-programming solvers need it.
/// Since it is symmetric, only the entries on and below the diagonal are computed.
///
/// Elements share a seed by a star colouring, so that every entry can be read off a Hessian-vector product (forward over reverse); all
/// seeds run in one batched pass. For a Lagrangian, let `f` capture the multipliers, or make them part of `x`. The structure is that of
/// [`hessian_pattern`] at the first point.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| (x.slice(..-1).square() * x.slice(1..)).sum();
/// let hessian = SparseHessian::new(f, &Tensor::ones([3]));
/// assert_eq!(hessian.triplets(), (&[0, 1, 1, 2][..], &[0, 0, 1, 1][..]));
/// let values = hessian.values(&Tensor::from([1.0, 2.0, 3.0]));
/// assert_eq!(values, Tensor::from([4.0, 2.0, 6.0, 4.0]));
/// ```
pub struct SparseHessian<X, F> {
    function: F,
    /// The specs of the input, as a tree without values.
    like: X,
    pattern: Pattern,
    triplets: (Vec<usize>, Vec<usize>),
    plan: Compressed,
    inputs: Side,
}

impl<X: Tree, F: Fn(&X) -> Tensor> SparseHessian<X, F> {
    /// Finds the structure of the Hessian of `f` at `x`.
    #[track_caller]
    pub fn new(f: F, x: &X) -> SparseHessian<X, F> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let pattern = find_symmetric(NAME, &f, x, line);
        let inputs = Side::input(x);
        let plan = Compressed::new(inputs.clone(), &pattern.compress_symmetric(), inputs.length);
        let like = x.map_leaves(|leaf| Tensor::constant(0.0, &leaf.spec()));
        let triplets = pattern.lower().unzip();
        SparseHessian { function: f, like, pattern, triplets, plan, inputs }
    }

    /// The sparsity pattern, with both triangles.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The rows and the columns of the entries on and below the diagonal, in the order of [`values`](SparseHessian::values): by row, then
    /// by column.
    pub fn triplets(&self) -> (&[usize], &[usize]) {
        (&self.triplets.0, &self.triplets.1)
    }

    /// The number of Hessian-vector products per evaluation.
    pub fn seeds(&self) -> usize {
        self.plan.count()
    }

    /// The values of the entries on and below the diagonal at `x`. They are tensors of the running transforms, so they can be
    /// differentiated in turn.
    #[track_caller]
    pub fn values(&self, x: &X) -> Tensor {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        expect_like(NAME, "x", x, &self.like, line).or_raise();
        let gradient = grad(&self.function);
        self.plan.values(&self.inputs, |seeds| vmap(|dx: &X| jvp(&gradient, x, dx).1)(&x.rebuild(seeds)))
    }

    /// The dense matrix at `x`, for small problems.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// let hessian = SparseHessian::new(|x: &Tensor| x.slice(0) * x.slice(1), &x);
    /// assert_eq!(hessian.to_dense(&x), Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn to_dense(&self, x: &X) -> Tensor {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let size = [self.pattern.rows(), self.pattern.columns()];
        let lower = self.triplets.0.iter().copied().zip(self.triplets.1.iter().copied());
        // For each entry of both triangles, its index in the lower one.
        let numbers: FxHashMap<(usize, usize), i64> = lower.zip(0..).collect();
        let index: Vec<i64> =
            self.pattern.iter().map(|(row, column)| numbers[&(row.max(column), row.min(column))]).collect();
        let index = Tensor::from_vec(index, [self.pattern.entries()]);
        let values = self.values(x).gather(0, &index);
        dense(NAME, size, self.pattern.iter(), &values).map_err(|error| error.at(line)).or_raise()
    }

    /// Whether the structure also holds at another point, that is, whether the pattern there has no further entries.
    #[track_caller]
    pub fn holds_at(&self, x: &X) -> bool {
        let line = location::resolve(Line::caller());
        expect_like(NAME, "x", x, &self.like, line).or_raise();
        self.pattern.covers(&find_symmetric(NAME, &self.function, x, line))
    }
}

const NAME: &str = "sparse_hessian";
