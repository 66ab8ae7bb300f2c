//! Sparse Jacobians: the pattern, and the values of its entries at many points.

use super::compressed::{Compressed, Side, dense};
use super::pattern::expect_columns;
use super::pattern_interpreter::{Columns, lift};
use super::{Pattern, Sets};
use crate::error::OrRaise;
use crate::interp::{Level, Tracer};
use crate::location::{self, Line};
use crate::transform::expect_like;
use crate::{Tensor, Tree, TreePath, jvp, vjp, vmap};
use std::marker::PhantomData;

/// The sparsity pattern of the Jacobian: which elements of `x` each element of `f(x)` may depend on.
///
/// Rows are the elements of the output's leaves, one leaf after another; columns are those of the input's leaves. Integer leaves have
/// neither, and frozen leaves of the input have no columns. The pattern is that of the operations that ran at this `x`: branches of Rust
/// code are followed as taken, and positions (of `gather`, say) as computed. Otherwise it does not depend on values: both sides of a
/// `where_` count, and every candidate of a maximum. It may have too many entries, but never too few.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| x.slice(1..) - x.slice(..-1);
/// let pattern = jacobian_pattern(f, &Tensor::ones([5]));
/// assert!((0..4).all(|i| pattern.row(i) == [i as u32, i as u32 + 1]));
/// ```
#[track_caller]
pub fn jacobian_pattern<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, x: &X) -> Pattern {
    find("jacobian_pattern", f, x, Side::output, location::resolve(Line::caller())).0
}

/// The pattern, and the output's leaves; `rows` says which of them have rows.
pub(super) fn find<X: Tree, Y: Tree>(
    name: &'static str,
    f: impl FnOnce(&X) -> Y,
    x: &X,
    rows: fn(&Y) -> Side,
    line: Line,
) -> (Pattern, Side) {
    let _scope = location::scope(line);
    let columns = Side::input(x).length;
    expect_columns(columns).map_err(|error| error.at(line)).or_raise();
    let level = Level::open(name, Columns::new(columns), line);
    let mut first = 0;
    let lifted = x.map(&mut TreePath::root(), &mut |path, leaf| {
        if !leaf.dtype().is_float() || path.is_frozen() || leaf.elements() == 0 {
            return leaf.clone();
        }
        let sets = Sets::singletons(first, leaf.elements());
        first += leaf.elements();
        lift(&level.0, leaf, sets, line)
    });
    let y = f(&lifted);
    let outputs = rows(&y);
    let sets = outputs.counted(y.leaves()).map(|leaf| match Tracer::attached::<Sets>(leaf, &level.0) {
        Some((_, sets)) => (leaf.elements(), Some(sets)),
        _ => (leaf.elements(), None),
    });
    (Pattern::from_sets(columns, sets), outputs)
}

/// A sparse Jacobian whose structure is found once and whose values can be computed many times, as solvers of nonlinear systems and
/// programs need it.
///
/// Columns without a common row share a forward-mode seed, or rows without a common column a reverse-mode seed, whichever needs fewer
/// seeds; all seeds run in one batched pass. The structure is that of [`jacobian_pattern`] at the first point. A function that takes
/// another branch elsewhere may have other entries there; [`holds_at`](SparseJacobian::holds_at) checks that.
///
/// ```
/// use wengert::prelude::*;
/// // y[i] = x[i]^2 x[i+1]: two entries a row, two seeds.
/// let f = |x: &Tensor| x.slice(..-1).square() * x.slice(1..);
/// let jacobian = SparseJacobian::new(f, &Tensor::ones([4]));
/// assert_eq!(jacobian.seeds(), 2);
/// assert_eq!(jacobian.triplets(), (&[0, 0, 1, 1, 2, 2][..], &[0, 1, 1, 2, 2, 3][..]));
/// let values = jacobian.values(&Tensor::from([1.0, 2.0, 3.0, 4.0]));
/// assert_eq!(values, Tensor::from([4.0, 1.0, 12.0, 4.0, 24.0, 9.0]));
/// ```
pub struct SparseJacobian<X, Y, F> {
    function: F,
    /// The specs of the input, as a tree without values.
    like: X,
    pattern: Pattern,
    triplets: (Vec<usize>, Vec<usize>),
    plan: Compressed,
    forward: bool,
    inputs: Side,
    outputs: Side,
    output: PhantomData<fn() -> Y>,
}

impl<X: Tree, Y: Tree, F: Fn(&X) -> Y> SparseJacobian<X, Y, F> {
    /// Finds the structure of the Jacobian of `f` at `x`.
    #[track_caller]
    pub fn new(f: F, x: &X) -> SparseJacobian<X, Y, F> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let (pattern, outputs) = find(NAME, &f, x, Side::output, line);
        let inputs = Side::input(x);
        let compression = pattern.compress();
        let forward = compression.is_forward();
        let (seeded, length) = if forward { (&inputs, outputs.length) } else { (&outputs, inputs.length) };
        let plan = Compressed::new(seeded.clone(), &compression, length);
        let like = x.map_leaves(|leaf| Tensor::constant(0.0, &leaf.spec()));
        let triplets = pattern.triplets();
        SparseJacobian { function: f, like, pattern, triplets, plan, forward, inputs, outputs, output: PhantomData }
    }

    /// The sparsity pattern of the Jacobian.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The rows and the columns of the entries, in the order of [`values`](SparseJacobian::values): by row, then by column.
    pub fn triplets(&self) -> (&[usize], &[usize]) {
        (&self.triplets.0, &self.triplets.1)
    }

    /// The number of tangents or cotangents per evaluation.
    pub fn seeds(&self) -> usize {
        self.plan.count()
    }

    /// Whether the seeds are tangents of forward mode rather than cotangents of reverse mode.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(!SparseJacobian::new(|x: &Tensor| x.square().sum(), &Tensor::ones([9])).is_forward());
    /// ```
    pub fn is_forward(&self) -> bool {
        self.forward
    }

    /// The values of the entries at `x`. They are tensors of the running transforms, so they can be differentiated in turn.
    #[track_caller]
    pub fn values(&self, x: &X) -> Tensor {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        expect_like(NAME, "x", x, &self.like, line).or_raise();
        match self.forward {
            true => self.plan.values(&self.outputs, |seeds| {
                let batch = vmap(|dx: &X| {
                    let dy = jvp(&self.function, x, dx).1;
                    self.outputs.expect(NAME, &dy).map_err(|error| error.at(line)).or_raise();
                    dy
                });
                batch(&x.rebuild(seeds))
            }),
            false => {
                let (y, pullback) = vjp(&self.function, x);
                self.outputs.expect(NAME, &y).map_err(|error| error.at(line)).or_raise();
                self.plan.values(&self.inputs, |seeds| vmap(|ct: &Y| pullback.call(ct))(&y.rebuild(seeds)))
            }
        }
    }

    /// The dense matrix at `x`, for small problems.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// let jacobian = SparseJacobian::new(|x: &Tensor| x.square(), &x);
    /// assert_eq!(jacobian.to_dense(&x), Tensor::from([[2.0, 0.0], [0.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn to_dense(&self, x: &X) -> Tensor {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let size = [self.pattern.rows(), self.pattern.columns()];
        dense(NAME, size, self.pattern.iter(), &self.values(x)).map_err(|error| error.at(line)).or_raise()
    }

    /// Whether the structure also holds at another point, that is, whether the pattern there has no further entries.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = |x: &Tensor| if x.slice(0).item() > 0.0 { x.clone() } else { x.flip(&[0]) };
    /// let jacobian = SparseJacobian::new(f, &Tensor::from([1.0, 2.0]));
    /// assert!(jacobian.holds_at(&Tensor::from([3.0, 2.0])));
    /// assert!(!jacobian.holds_at(&Tensor::from([-1.0, 2.0])));
    /// ```
    #[track_caller]
    pub fn holds_at(&self, x: &X) -> bool {
        let line = location::resolve(Line::caller());
        expect_like(NAME, "x", x, &self.like, line).or_raise();
        self.pattern.covers(&find(NAME, &self.function, x, Side::output, line).0)
    }
}

const NAME: &str = "sparse_jacobian";
