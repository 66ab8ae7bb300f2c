//! Arithmetic composed of other operations.

use crate::Operand;
use crate::autograd::modes::within;
use crate::methods::*;
use crate::{Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;

/// The methods of `arithmetic`.
#[ext(ArithmeticMethods)]
impl Tensor {
    /// The log-odds of every element, after clamping it between `eps` and `1 - eps`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).logit_with(0.25), Tensor::from(0.25).logit());
    /// ```
    #[track_caller]
    pub fn logit_with(&self, eps: f64) -> Tensor {
        self.clamp(eps, 1.0 - eps).logit()
    }

    /// Linear interpolation between this tensor and another: this one at weight 0, the other at weight 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 1.0]).lerp(&Tensor::from([10.0, 3.0]), 0.5), Tensor::from([5.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn lerp(&self, end: &Tensor, weight: impl Operand) -> Tensor {
        let _name = within("lerp");
        self + (end - self) * &*weight.tensor(self.dtype())
    }

    /// The fractional part of every element, with the sign of the element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.25, -1.25]).frac(), Tensor::from([0.25, -0.25]));
    /// ```
    #[track_caller]
    pub fn frac(&self) -> Tensor {
        self - self.trunc()
    }

    /// The logarithm of the multivariate gamma function of dimension `p`, for elements above `(p - 1) / 2`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(3.0).mvlgamma(1), Tensor::from(3.0).lgamma());
    /// ```
    #[track_caller]
    pub fn mvlgamma(&self, p: u32) -> Tensor {
        let dimension = f64::from(p);
        let offset = 0.25 * dimension * (dimension - 1.0) * std::f64::consts::PI.ln();
        let terms = (0..p).map(|k| (self - 0.5 * f64::from(k)).lgamma());
        match terms.reduce(|sum, term| sum + term) {
            Some(sum) if p > 1 => sum + offset,
            Some(sum) => sum,
            None => self.full_like(0.0),
        }
    }

    /// The first half along an axis times the sigmoid of the second half.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 0.0]).glu(0), Tensor::from([1.5]));
    /// ```
    #[track_caller]
    pub fn glu(&self, axis: isize) -> Tensor {
        let _name = within("glu");
        let (rank, wanted) = (self.rank() as isize, if axis < 0 { axis + self.rank() as isize } else { axis });
        if !(0..rank).contains(&wanted) || !self.shape()[wanted as usize].is_multiple_of(2) {
            let shape = Shape::from(self.shape());
            let message = format!("axis {axis} of a tensor of shape {shape} has no two halves");
            Error::new(ErrorKind::Shape(vec![shape]), "glu", message).help("choose an axis of even size").raise();
        }
        let axis = wanted as usize;
        let half = self.shape()[axis] / 2;
        let part = |start: usize| {
            let mut ranges: Vec<crate::Select> = self.shape().iter().map(|_| crate::Select::from(..)).collect();
            ranges[axis] = crate::Select::from(start as i64..(start + half) as i64);
            ranges
        };
        let (value, gate) = (self.slice(&part(0)[..]), self.slice(&part(half)[..]));
        value * gate.sigmoid()
    }
}
