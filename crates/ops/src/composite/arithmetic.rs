//! Arithmetic made of other operations.

use crate::Operand;
use crate::methods::*;
use crate::{Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;

/// The methods of `arithmetic`.
#[ext(ArithmeticMethods)]
impl Tensor {
    /// This tensor plus `alpha` times another.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).add_scaled(&Tensor::from([10.0, 20.0]), 0.5), Tensor::from([6.0, 12.0]));
    /// ```
    #[track_caller]
    pub fn add_scaled(&self, other: impl Operand, alpha: f64) -> Tensor {
        self + &*other.tensor(self.dtype()) * alpha
    }

    /// This tensor minus `alpha` times another.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).sub_scaled(&Tensor::from([10.0, 20.0]), 0.5), Tensor::from([-4.0, -8.0]));
    /// ```
    #[track_caller]
    pub fn sub_scaled(&self, other: impl Operand, alpha: f64) -> Tensor {
        self - &*other.tensor(self.dtype()) * alpha
    }

    /// The logarithm of the odds of every element, which is first kept between `eps` and `1 - eps`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).logit_with(0.25), Tensor::from(0.25).logit());
    /// ```
    #[track_caller]
    pub fn logit_with(&self, eps: f64) -> Tensor {
        self.clamp(eps, 1.0 - eps).logit()
    }

    /// Another tensor minus this one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).rsub(3.0), Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn rsub(&self, other: impl Operand) -> Tensor {
        &*other.tensor(self.dtype()) - self
    }

    /// Another tensor minus `alpha` times this one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).rsub_scaled(3.0, 2.0), Tensor::from([1.0, -1.0]));
    /// ```
    #[track_caller]
    pub fn rsub_scaled(&self, other: impl Operand, alpha: f64) -> Tensor {
        &*other.tensor(self.dtype()) - self * alpha
    }

    /// The point between this tensor and another: this one at weight 0, the other at weight 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 1.0]).lerp(&Tensor::from([10.0, 3.0]), 0.5), Tensor::from([5.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn lerp(&self, end: &Tensor, weight: impl Operand) -> Tensor {
        self + (end - self) * &*weight.tensor(self.dtype())
    }

    /// This tensor plus the product of two others, times `value`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, a, b) = (Tensor::from(1.0), Tensor::from(2.0), Tensor::from(3.0));
    /// assert_eq!(x.addcmul(&a, &b, 0.5).item(), 4.0);
    /// ```
    #[track_caller]
    pub fn addcmul(&self, a: &Tensor, b: &Tensor, value: f64) -> Tensor {
        if value == 1.0 { self + a * b } else { self + a * b * value }
    }

    /// This tensor plus the quotient of two others, times `value`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, a, b) = (Tensor::from(1.0), Tensor::from(2.0), Tensor::from(4.0));
    /// assert_eq!(x.addcdiv(&a, &b, 3.0).item(), 2.5);
    /// ```
    #[track_caller]
    pub fn addcdiv(&self, a: &Tensor, b: &Tensor, value: f64) -> Tensor {
        if value == 1.0 { self + a / b } else { self + a / b * value }
    }

    /// Every element times 2 to the power of another.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0]).ldexp(&Tensor::from([3.0, -1.0])), Tensor::from([8.0, 1.5]));
    /// ```
    #[track_caller]
    pub fn ldexp(&self, exponent: impl Operand) -> Tensor {
        self * exponent.tensor(self.dtype()).cast(self.dtype()).exp2()
    }

    /// What is left of every element without its whole part, with the sign of the element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.25, -1.25]).frac(), Tensor::from([0.25, -0.25]));
    /// ```
    #[track_caller]
    pub fn frac(&self) -> Tensor {
        self - self.trunc()
    }

    /// From degrees to radians.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(180.0).deg2rad().item(), std::f64::consts::PI);
    /// ```
    #[track_caller]
    pub fn deg2rad(&self) -> Tensor {
        self * (std::f64::consts::PI / 180.0)
    }

    /// From radians to degrees.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(std::f64::consts::PI).rad2deg().item(), 180.0);
    /// ```
    #[track_caller]
    pub fn rad2deg(&self) -> Tensor {
        self * (180.0 / std::f64::consts::PI)
    }

    /// The angle of every element as a complex number: pi where it is negative, else 0. No gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 2.0]).angle(), Tensor::from([std::f64::consts::PI, 0.0]));
    /// ```
    #[track_caller]
    pub fn angle(&self) -> Tensor {
        let sign = self.sign();
        // NaN stays: NaN times 0.
        sign.lt(0.0).where_(std::f64::consts::PI, &sign * 0.0)
    }

    /// The tensor as it is.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 2.0]).positive(), Tensor::from([-2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn positive(&self) -> Tensor {
        self.clone()
    }

    /// The logarithm of the multivariate gamma function of dimension `p`, of elements above `(p - 1) / 2`.
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
