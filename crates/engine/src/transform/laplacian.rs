//! The Laplacian: the sum of the second derivatives, without the Hessian.

use super::jet;
use crate::location::{self, Line};
use crate::vmap;
use crate::{Error, ErrorKind, Shape, Tensor, Tree, TreePath};

/// Maximum number of directions at once, and of elements in them.
const DIRECTIONS: usize = 64;
const NUMBERS: usize = 1 << 20;

/// The Laplacian of a scalar function, as a function: the sum of d^2 f / dx_i^2 over all elements of the input, a rank-0 tensor.
///
/// Each term is the second derivative along a basis direction, computed by a [`jet`](crate::jet) of order 2. Directions go through `f` in
/// batches of bounded size; everything that does not depend on them is computed once per batch.
///
/// ```
/// use wengert::prelude::*;
/// // |x|^4 in n dimensions: 4 (n + 2) |x|^2
/// let f = |x: &Tensor| x.square().sum().square();
/// let x = Tensor::from([1.0, 2.0, 2.0]);
/// assert_eq!(laplacian(f)(&x).item(), 4.0 * 5.0 * 9.0);
/// assert_eq!(grad(laplacian(f))(&x), &x * 40.0);
/// ```
#[track_caller]
pub fn laplacian<X: Tree>(f: impl Fn(&X) -> Tensor) -> impl Fn(&X) -> Tensor {
    let line = location::resolve(Line::caller());
    move |x: &X| {
        let _scope = location::scope(line);
        let second = |direction: &X| {
            let along = |x: &X| one_number(f(x), line);
            jet(along, x, &[direction.map_leaves(Tensor::clone)], 2).swap_remove(2)
        };
        let elements: usize = float_leaves(x).map(Tensor::elements).sum();
        let Some(dtype) = float_leaves(x).map(Tensor::dtype).next() else {
            Error::new(ErrorKind::Tree, "laplacian", "the input has no floating-point tensors").at(line).raise();
        };
        let chunk = (NUMBERS / elements.max(1)).clamp(1, DIRECTIONS);
        let parts = (0..elements).step_by(chunk).map(|first| {
            let count = chunk.min(elements - first);
            vmap(second)(&basis(x, first, count)).sum()
        });
        parts.reduce(|a, b| a + b).unwrap_or_else(|| Tensor::from(0.0).cast(dtype))
    }
}

/// The leaves that the function is differentiated with respect to.
fn float_leaves<X: Tree>(x: &X) -> impl Iterator<Item = &Tensor> {
    let mut leaves = Vec::new();
    x.visit(&mut TreePath::root(), &mut |path, leaf| {
        if leaf.dtype().is_float() && !path.is_frozen() {
            leaves.push(leaf);
        }
    });
    leaves.into_iter()
}

fn one_number(y: Tensor, line: Line) -> Tensor {
    if y.elements() != 1 || !y.dtype().is_float() {
        let message = format!("the function returned {}, not one real number", y.spec());
        Error::new(ErrorKind::SeedNeeded(Shape::from(y.shape())), "laplacian", message)
            .at(line)
            .help("reduce the result, for example with .sum()")
            .raise();
    }
    y
}

/// A batch of basis directions: those of `count` elements starting at `first`, in the order of the leaves.
fn basis<X: Tree>(x: &X, first: usize, count: usize) -> X {
    let mut before = 0;
    x.map(&mut TreePath::root(), &mut |path, leaf| {
        let elements = leaf.elements();
        let shape = Shape::from(leaf.shape()).prepended(count);
        if !leaf.dtype().is_float() || path.is_frozen() {
            return leaf.broadcast_to(shape);
        }
        let mut numbers = vec![0.0; count * elements];
        for row in 0..count {
            if let Some(place) = (first + row).checked_sub(before).filter(|place| *place < elements) {
                numbers[row * elements + place] = 1.0;
            }
        }
        before += elements;
        Tensor::from_vec::<f64>(numbers, shape).cast(leaf.dtype()).beside(leaf)
    })
}
