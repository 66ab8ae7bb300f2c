//! Products of vectors, matrices and tensors, composed of matmul and einsum.

use crate::autograd::modes::within;
use crate::bind::bind1;
use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::{Attrs, Spec};
use crate::product::cdist::CDIST;
use crate::rules::checked_axis;
use crate::rules::matrix::with_common_lead;
use crate::tensor::broadcast;
use crate::{Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;

/// An error unless the operands have the numbers of axes that the operation takes.
#[track_caller]
pub(super) fn expect_ranks(name: &str, operands: &[(&Tensor, usize)]) {
    if operands.iter().all(|(tensor, rank)| tensor.rank() == *rank) {
        return;
    }
    let shapes: Vec<Shape> = operands.iter().map(|(tensor, _)| Shape::from(tensor.shape())).collect();
    let given = shapes.iter().map(Shape::to_string).collect::<Vec<_>>().join(" and ");
    let wanted = operands.iter().map(|(_, rank)| rank.to_string()).collect::<Vec<_>>().join(" and ");
    Error::new(ErrorKind::Shape(shapes), name, format!("takes tensors of {wanted} axes, got shapes {given}"))
        .help("matmul() takes any number of axes")
        .raise()
}

/// `beta base + alpha product`; a factor of 0 also removes NaN and infinity of its side.
#[track_caller]
pub(super) fn scaled_sum(base: &Tensor, product: Tensor, beta: f64, alpha: f64) -> Tensor {
    let scaled = |x: &Tensor, factor: f64| if factor == 1.0 { x.clone() } else { x * factor };
    match beta == 0.0 {
        true => base.full_like(0.0) + scaled(&product, alpha),
        false => scaled(base, beta) + scaled(&product, alpha),
    }
}

/// The methods of `products`.
#[ext(ProductsMethods)]
impl Tensor {
    /// The inner product of two vectors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).dot(&Tensor::from([3.0, 4.0])).item(), 11.0);
    /// ```
    #[track_caller]
    pub fn dot(&self, other: &Tensor) -> Tensor {
        expect_ranks("dot", &[(self, 1), (other, 1)]);
        self.matmul(other)
    }

    /// The inner products along an axis of both tensors, which broadcast.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.vecdot(&Tensor::from([1.0, 10.0]), -1), Tensor::from([21.0, 43.0]));
    /// ```
    #[track_caller]
    pub fn vecdot(&self, other: &Tensor, axis: isize) -> Tensor {
        (self * other).sum_over(axis)
    }

    /// The inner products of all rows along the last axes of both; a scalar multiplies.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([2, 3]).inner(&Tensor::ones([4, 3])), Tensor::full([2, 4], 3.0));
    /// ```
    #[track_caller]
    pub fn inner(&self, other: &Tensor) -> Tensor {
        let _name = within("inner");
        match self.rank() == 0 || other.rank() == 0 {
            true => self * other,
            false => self.tensordot_axes(other, &[-1], &[-1]),
        }
    }

    /// The products of all pairs of elements of two vectors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 2.0]).outer(&Tensor::from([3.0, 4.0]));
    /// assert_eq!(y, Tensor::from([[3.0, 4.0], [6.0, 8.0]]));
    /// ```
    #[track_caller]
    pub fn outer(&self, other: &Tensor) -> Tensor {
        let _name = within("outer");
        expect_ranks("outer", &[(self, 1), (other, 1)]);
        self.unsqueeze(1) * other
    }

    /// The Kronecker product: every element of this tensor times the whole of the other, arranged in blocks.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 10.0]).kron(&Tensor::from([1.0, 2.0, 3.0]));
    /// assert_eq!(y, Tensor::from([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]));
    /// ```
    #[track_caller]
    pub fn kron(&self, other: &Tensor) -> Tensor {
        let _name = within("kron");
        let rank = self.rank().max(other.rank());
        let padded =
            |x: &Tensor| -> Vec<usize> { (x.rank()..rank).map(|_| 1).chain(x.shape().iter().copied()).collect() };
        let (left, right) = (padded(self), padded(other));
        let spread: Shape = left.iter().flat_map(|&size| [size, 1]).collect();
        let repeated: Shape = right.iter().flat_map(|&size| [1, size]).collect();
        let shape: Shape = left.iter().zip(&right).map(|(a, b)| a * b).collect();
        (self.reshape(spread) * other.reshape(repeated)).reshape(shape)
    }

    /// The cross product of three-element vectors along the last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 0.0, 0.0]).cross(&Tensor::from([0.0, 1.0, 0.0]));
    /// assert_eq!(y, Tensor::from([0.0, 0.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn cross(&self, other: &Tensor) -> Tensor {
        let _name = within("cross");
        self.cross_along(other, -1)
    }

    /// The cross product of three-element vectors along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[1.0], [0.0], [0.0]]).cross_along(&Tensor::from([[0.0], [1.0], [0.0]]), 0);
    /// assert_eq!(y, Tensor::from([[0.0], [0.0], [1.0]]));
    /// ```
    #[track_caller]
    pub fn cross_along(&self, other: &Tensor, axis: isize) -> Tensor {
        let Some(shape) = broadcast(self.shape(), other.shape()) else {
            let shapes = vec![Shape::from(self.shape()), Shape::from(other.shape())];
            let message = format!("shapes {} and {} do not broadcast", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "cross", message).raise()
        };
        let at = checked_axis("cross", axis, &shape).or_raise();
        if shape[at] != 3 {
            let message = format!("axis {at} of shape {shape} has {} elements, not 3", shape[at]);
            Error::new(ErrorKind::Shape(vec![shape]), "cross", message).raise();
        }
        let (a, b) = (self.broadcast_to(&shape), other.broadcast_to(&shape));
        let turned = |x: &Tensor, order: [i64; 3]| {
            let along: Vec<usize> = (0..shape.rank()).map(|axis| if axis == at { 3 } else { 1 }).collect();
            x.gather(at as isize, &Tensor::from(order).reshape(along).broadcast_to(&shape).beside(x))
        };
        let (next, last) = ([1, 2, 0], [2, 0, 1]);
        turned(&a, next) * turned(&b, last) - turned(&a, last) * turned(&b, next)
    }

    /// The product of a chain of matrices, in the order that takes the fewest multiplications; the first may be a row
    /// vector, the last a column vector.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b, c) = (Tensor::ones([2, 30]), Tensor::ones([30, 3]), Tensor::ones([3]));
    /// assert_eq!(Tensor::multi_dot(&[&a, &b, &c]), Tensor::full([2], 90.0));
    /// ```
    #[track_caller]
    pub fn multi_dot(factors: &[&Tensor]) -> Tensor {
        let last = factors.len().saturating_sub(1);
        let fits = |(place, factor): (usize, &&Tensor)| {
            factor.rank() == 2 || (factor.rank() == 1 && (place == 0 || place == last))
        };
        if factors.len() < 2 || !factors.iter().enumerate().all(fits) {
            let shapes: Vec<Shape> = factors.iter().map(|factor| Shape::from(factor.shape())).collect();
            let message = format!("takes two matrices or more, got shapes {shapes:?}");
            Error::new(ErrorKind::Shape(shapes), "multi_dot", message)
                .help("only the first and the last may be vectors")
                .raise();
        }
        let row = if factors[0].rank() == 1 { 1 } else { factors[0].shape()[0] };
        let column = |(place, factor): (usize, &&Tensor)| match (place == last, factor.shape()) {
            (true, [_]) => 1,
            (_, shape) => shape[shape.len() - 1],
        };
        let sizes: Vec<usize> = [row].into_iter().chain(factors.iter().enumerate().map(column)).collect();
        let splits = best_splits(&sizes);
        // Ranges to multiply: a product stays on the stack until both of its sides are done.
        let (mut work, mut done) = (vec![(0, last, false)], Vec::<Tensor>::new());
        while let Some((first, last, ready)) = work.pop() {
            if first == last {
                done.push(factors[first].clone());
            } else if ready {
                let right = done.pop().expect("the right side is done");
                let left = done.pop().expect("the left side is done");
                done.push(left.matmul(&right));
            } else {
                let split = splits[first][last];
                work.extend([(first, last, true), (split + 1, last, false), (first, split, false)]);
            }
        }
        done.pop().expect("one product")
    }

    /// The powers 0, 1, .. `count - 1` of every element along a new last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([2.0, 3.0]).vander(3);
    /// assert_eq!(y, Tensor::from([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]));
    /// ```
    #[track_caller]
    pub fn vander(&self, count: usize) -> Tensor {
        let x = if self.rank() == 0 { self.unsqueeze(0) } else { self.clone() };
        let shape: Shape = x.shape().iter().copied().chain([count]).collect();
        Spec { shape: shape.clone(), dtype: x.dtype() }.check("vander").or_raise();
        let mut square = x.unsqueeze(x.rank());
        let mut powers = square.full_like(1.0).broadcast_to(shape);
        // Multiplication by x^(2^b) where bit b of the exponent is set: no logarithm, so 0 and negative numbers are exact.
        for bit in 0..usize::BITS - count.saturating_sub(1).leading_zeros() {
            let set = Tensor::from((0..count).map(|power| power >> bit & 1 == 1).collect::<Vec<_>>());
            powers *= set.where_(&square, 1.0);
            square = &square * &square;
        }
        powers
    }

    /// `y_o = sum over i, j of x_i W_oij z_j`, plus an optional bias, for each vector of this tensor (x) and the other (z).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([5, 2]).bilinear(&Tensor::ones([5, 3]), &Tensor::ones([4, 2, 3]), None);
    /// assert_eq!(y, Tensor::full([5, 4], 6.0));
    /// ```
    #[track_caller]
    pub fn bilinear(&self, other: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
        expect_ranks("bilinear", &[(weight, 3)]);
        let y = Tensor::einsum("...i,oij,...j->...o", &[self, weight, other]);
        match bias {
            Some(bias) => y + bias,
            None => y,
        }
    }

    /// Euclidean distances between all rows of this tensor and all rows of the other; leading axes broadcast. At coincident points the
    /// gradient is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[0.0, 0.0]]);
    /// assert_eq!(x.cdist(&Tensor::from([[3.0, 4.0], [0.0, 1.0]])), Tensor::from([[5.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn cdist(&self, other: &Tensor) -> Tensor {
        let (a, b) = with_common_lead(self, other);
        bind1(&CDIST, Attrs::new(), &[&a, &b])
    }

    /// Distances in another p-norm. Unlike the Euclidean case, this allocates all differences.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[0.0, 0.0]]);
    /// assert_eq!(x.cdist_with(&Tensor::from([[3.0, 4.0]]), 1.0), Tensor::from([[7.0]]));
    /// ```
    #[track_caller]
    pub fn cdist_with(&self, other: &Tensor, p: f64) -> Tensor {
        let _name = within("cdist_with");
        let (a, b) = with_common_lead(self, other);
        if p == 2.0 || a.rank() < 2 || a.rank() != b.rank() {
            return self.cdist(other);
        }
        (a.unsqueeze(-2) - b.unsqueeze(-3)).norm_over(p, -1)
    }
}

/// The best split of each range of factors; factor i has `sizes[i]` rows and `sizes[i + 1]` columns.
fn best_splits(sizes: &[usize]) -> Vec<Vec<usize>> {
    let count = sizes.len() - 1;
    let mut costs = vec![vec![0f64; count]; count];
    let mut splits = vec![vec![0; count]; count];
    for length in 1..count {
        for first in 0..count - length {
            let last = first + length;
            let cost = |split: usize| {
                let product = sizes[first] as f64 * sizes[split + 1] as f64 * sizes[last + 1] as f64;
                costs[first][split] + costs[split + 1][last] + product
            };
            let best = (first..last).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(first);
            (costs[first][last], splits[first][last]) = (cost(best), best);
        }
    }
    splits
}
