//! Differences and integrals along an axis.

use super::selection::along_axis;
use crate::error::OrRaise;
use crate::methods::*;
use crate::rules::checked_axis;
use crate::{Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;

/// Elements `from..to` along an axis.
#[track_caller]
fn part(x: &Tensor, axis: usize, from: usize, to: usize) -> Tensor {
    x.slice(&along_axis(x.rank(), axis, from..to)[..])
}

/// `x[t + 1] - x[t]` along an axis.
#[track_caller]
fn steps(x: &Tensor, axis: usize) -> Tensor {
    let n = x.shape()[axis];
    part(x, axis, 1.min(n), n) - part(x, axis, 0, n.saturating_sub(1))
}

/// The methods of `differences`.
#[ext(DifferencesMethods)]
impl Tensor {
    /// The differences of neighbours along an axis, applied `order` times.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 4.0, 9.0, 16.0]);
    /// assert_eq!(x.diff(1, 0), Tensor::from([3.0, 5.0, 7.0]));
    /// assert_eq!(x.diff(2, 0), Tensor::from([2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn diff(&self, order: usize, axis: isize) -> Tensor {
        let axis = checked_axis("diff", axis, self.shape()).or_raise();
        let mut result = self.clone();
        // An empty axis stays empty.
        for _ in 0..order.min(self.shape()[axis].max(1)) {
            result = steps(&result, axis);
        }
        result
    }

    /// [`diff`](Tensor::diff) after joining other tensors to the beginning and the end of the axis. For order 0, the tensor alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, start) = (Tensor::from([1.0, 4.0, 9.0]), Tensor::from([0.0]));
    /// assert_eq!(x.diff_with(1, 0, Some(&start), None), Tensor::from([1.0, 3.0, 5.0]));
    /// ```
    #[track_caller]
    pub fn diff_with(&self, order: usize, axis: isize, before: Option<&Tensor>, after: Option<&Tensor>) -> Tensor {
        if order == 0 {
            return self.diff(order, axis);
        }
        let parts: Vec<&Tensor> = before.into_iter().chain([self]).chain(after).collect();
        Tensor::concat(&parts, axis).diff(order, axis)
    }

    /// The integral along an axis by the trapezoidal rule, for points with spacing `dx`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0, 5.0]).trapezoid(0.5, 0).item(), 3.0);
    /// ```
    #[track_caller]
    pub fn trapezoid(&self, dx: f64, axis: isize) -> Tensor {
        self.areas("trapezoid", Width::Constant(dx), axis).sum_over(axis)
    }

    /// The integral along an axis by the trapezoidal rule, for points at the coordinates `x`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 3.0, 5.0]);
    /// assert_eq!(y.trapezoid_at(&Tensor::from([0.0, 1.0, 3.0]), 0).item(), 10.0);
    /// ```
    #[track_caller]
    pub fn trapezoid_at(&self, x: &Tensor, axis: isize) -> Tensor {
        self.areas("trapezoid", Width::Between(x), axis).sum_over(axis)
    }

    /// The cumulative integral up to each point except the first, for points with spacing `dx`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0, 5.0]).cumulative_trapezoid(1.0, 0), Tensor::from([2.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn cumulative_trapezoid(&self, dx: f64, axis: isize) -> Tensor {
        self.areas("cumulative_trapezoid", Width::Constant(dx), axis).cumsum(axis)
    }

    /// The cumulative integral up to each point except the first, for points at the coordinates `x`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 3.0, 5.0]);
    /// assert_eq!(y.cumulative_trapezoid_at(&Tensor::from([0.0, 1.0, 3.0]), 0), Tensor::from([2.0, 10.0]));
    /// ```
    #[track_caller]
    pub fn cumulative_trapezoid_at(&self, x: &Tensor, axis: isize) -> Tensor {
        self.areas("cumulative_trapezoid", Width::Between(x), axis).cumsum(axis)
    }
}

#[ext(DifferencesParts)]
impl Tensor {
    /// The area between each pair of neighbours.
    #[track_caller]
    fn areas(&self, name: &str, width: Width<'_>, axis: isize) -> Tensor {
        let axis = checked_axis(name, axis, self.shape()).or_raise();
        let n = self.shape()[axis];
        let pairs = part(self, axis, 1.min(n), n) + part(self, axis, 0, n.saturating_sub(1));
        match width {
            Width::Constant(dx) => pairs * (0.5 * dx),
            // One row of coordinates serves all rows of values.
            Width::Between(x) if x.rank() == 1 && self.rank() > 1 && x.elements() == n => {
                let shape: Vec<usize> =
                    (0..self.rank()).map(|other| if other == axis { x.elements() } else { 1 }).collect();
                pairs * steps(&x.reshape(shape), axis) * 0.5
            }
            Width::Between(x) if x.rank() == self.rank() && x.shape()[axis] == n => pairs * steps(x, axis) * 0.5,
            Width::Between(x) => {
                let shapes = vec![Shape::from(x.shape()), Shape::from(self.shape())];
                let message = format!("places of shape {} for values of shape {}", shapes[0], shapes[1]);
                Error::new(ErrorKind::Shape(shapes), name, message)
                    .help(format!("the places have as many axes as the values, or one, and {n} along axis {axis}"))
                    .raise()
            }
        }
    }
}

/// The spacing of the points.
enum Width<'a> {
    Constant(f64),
    Between(&'a Tensor),
}
