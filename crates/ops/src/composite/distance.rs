//! Distances, and normalised vectors.

use crate::autograd::modes::within;
use crate::error::OrRaise;
use crate::methods::*;
use crate::rules::{at_least_vector, checked_axis};
use crate::{Error, ErrorKind, Shape, Tensor, keepdim};
use easy_ext::ext;

/// `x` clamped from below at `least`; the gradient passes where x is above.
fn at_least(x: &Tensor, least: f64) -> Tensor {
    x.gt(least).where_(x, least)
}

/// The methods of `distance`.
#[ext(DistanceMethods)]
impl Tensor {
    /// The p-norm of the difference to another tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 5.0]).dist(&Tensor::from([4.0, 1.0]), 2.0).item(), 5.0);
    /// ```
    #[track_caller]
    pub fn dist(&self, other: &Tensor, p: f64) -> Tensor {
        (self - other).norm(p)
    }

    /// Vectors along an axis divided by their p-norms, or by `least` where a norm is smaller.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 4.0]).normalize(2.0, 0, 1e-12), Tensor::from([0.6, 0.8]));
    /// ```
    #[track_caller]
    pub fn normalize(&self, p: f64, axis: isize, least: f64) -> Tensor {
        let _name = within("normalize");
        self / at_least(&self.norm_over(p, keepdim(axis)), least)
    }

    /// The cosine of the angle between vectors along an axis; norms are at least `least`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([1.0, 0.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!(a.cosine_similarity(&b, 0, 1e-8).item(), 0.6);
    /// ```
    #[track_caller]
    pub fn cosine_similarity(&self, other: &Tensor, axis: isize, least: f64) -> Tensor {
        let _name = within("cosine_similarity");
        let shape = crate::tensor::common_shape("cosine_similarity", self, other);
        let (a, b) = (self.broadcast_to(&shape), other.broadcast_to(&shape));
        (a.normalize(2.0, axis, least) * b.normalize(2.0, axis, least)).sum_over(axis)
    }

    /// The p-norm of the difference of vectors along the last axis. `shift` is added to every difference, which keeps gradients finite at
    /// equal vectors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([[1.0, 5.0]]), Tensor::from([[4.0, 1.0]]));
    /// assert_eq!(a.pairwise_distance(&b, 2.0, 0.0), Tensor::from([5.0]));
    /// ```
    #[track_caller]
    pub fn pairwise_distance(&self, other: &Tensor, p: f64, shift: f64) -> Tensor {
        let _name = within("pairwise_distance");
        (self - other + shift).norm_over(p, -1)
    }

    /// The p-norm distances of all pairs of rows i < j of a matrix, in the order (0, 1), (0, 2), .., (1, 2), ...
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let points = Tensor::from([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]]);
    /// assert_eq!(points.pdist(2.0), Tensor::from([5.0, 4.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn pdist(&self, p: f64) -> Tensor {
        let [rows, columns] = *self.shape() else {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} is not that of a matrix of points");
            Error::new(ErrorKind::Shape(vec![shape]), "pdist", message).help("reshape it to [points, axes]").raise()
        };
        let pairs: Vec<(i64, i64)> = (0..rows as i64).flat_map(|i| (i + 1..rows as i64).map(move |j| (i, j))).collect();
        let chosen = |side: fn(&(i64, i64)) -> i64| {
            let index = Tensor::from_vec(pairs.iter().map(side).collect(), [pairs.len(), 1]);
            self.gather(0, &index.broadcast_to([pairs.len(), columns]))
        };
        (chosen(|pair| pair.0) - chosen(|pair| pair.1)).norm_over(p, 1)
    }

    /// Scales down slices along an axis so that no p-norm exceeds `most`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[3.0, 4.0], [0.3, 0.4]]);
    /// assert!(x.renorm(2.0, 0, 1.0).all_close(&Tensor::from([[0.6, 0.8], [0.3, 0.4]]), 1e-6));
    /// ```
    #[track_caller]
    pub fn renorm(&self, p: f64, axis: isize, most: f64) -> Tensor {
        let x = at_least_vector(self);
        let axis = checked_axis("renorm", axis, x.shape()).or_raise();
        let others: Vec<isize> = (0..x.rank()).filter(|other| *other != axis).map(|other| other as isize).collect();
        let norms = x.norm_over(p, keepdim(&others));
        // As in PyTorch, the small term keeps the result strictly below the bound.
        let factors = norms.gt(most).where_(most / (&norms + 1e-7), 1.0);
        (&*x * factors).reshape(self.shape())
    }
}
