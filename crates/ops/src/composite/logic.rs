//! Logic on booleans, and tests of numbers.

use crate::Operand;
use crate::methods::*;
use crate::{DType, Tensor};
use easy_ext::ext;

/// A boolean for each element: whether it is not 0.
#[track_caller]
fn truth(x: &Tensor) -> Tensor {
    if x.dtype() == DType::Bool { x.clone() } else { x.not_equal(0) }
}

/// The methods of `logic`.
#[ext(LogicMethods)]
impl Tensor {
    /// True where both are true; nonzero numbers are true.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([true, true, false]), Tensor::from([true, false, false]));
    /// assert_eq!(a.logical_and(&b), Tensor::from([true, false, false]));
    /// assert_eq!(&a & &b, a.logical_and(&b));
    /// ```
    #[track_caller]
    pub fn logical_and(&self, other: &Tensor) -> Tensor {
        truth(self).where_(truth(other), 0)
    }

    /// True where at least one is true; nonzero numbers are true.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([true, true, false]), Tensor::from([true, false, false]));
    /// assert_eq!(a.logical_or(&b), Tensor::from([true, true, false]));
    /// assert_eq!(&a | &b, a.logical_or(&b));
    /// ```
    #[track_caller]
    pub fn logical_or(&self, other: &Tensor) -> Tensor {
        truth(self).where_(1, truth(other))
    }

    /// True where exactly one is true; nonzero numbers are true.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([true, true, false]), Tensor::from([true, false, false]));
    /// assert_eq!(a.logical_xor(&b), Tensor::from([false, true, false]));
    /// assert_eq!(&a ^ &b, a.logical_xor(&b));
    /// ```
    #[track_caller]
    pub fn logical_xor(&self, other: &Tensor) -> Tensor {
        truth(self).not_equal(truth(other))
    }

    /// True where this is false; nonzero numbers are true.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([true, false]).logical_not(), Tensor::from([false, true]));
    /// assert_eq!(!Tensor::from([true, false]), Tensor::from([false, true]));
    /// ```
    #[track_caller]
    pub fn logical_not(&self) -> Tensor {
        self.equal(0)
    }

    /// True where an element is NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::NAN, 1.0]).isnan(), Tensor::from([true, false]));
    /// ```
    #[track_caller]
    pub fn isnan(&self) -> Tensor {
        self.not_equal(self)
    }

    /// True where an element is infinite.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::NEG_INFINITY, f64::NAN]).isinf(), Tensor::from([true, false]));
    /// ```
    #[track_caller]
    pub fn isinf(&self) -> Tensor {
        match self.dtype().is_float() {
            true => self.abs().equal(f64::INFINITY),
            false => self.not_equal(self),
        }
    }

    /// True where an element is neither infinite nor NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::INFINITY, f64::NAN, 1.0]).isfinite(), Tensor::from([false, false, true]));
    /// ```
    #[track_caller]
    pub fn isfinite(&self) -> Tensor {
        match self.dtype().is_float() {
            true => self.abs().lt(f64::INFINITY),
            false => self.equal(self),
        }
    }

    /// True where an element differs from the other's by at most `absolute + relative * |other|`. NaN is close to nothing, infinities to
    /// themselves.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let near = Tensor::from([1.0, 2.0, f64::NAN]).isclose(&Tensor::from([1.0 + 1e-9, 2.1, f64::NAN]), 1e-5, 1e-8);
    /// assert_eq!(near, Tensor::from([true, false, false]));
    /// ```
    #[track_caller]
    pub fn isclose(&self, other: &Tensor, relative: f64, absolute: f64) -> Tensor {
        let near = (self - other).abs().le(other.abs() * relative + absolute) & other.isfinite();
        near | self.equal(other)
    }

    /// True where an element occurs in another tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1i64, 2, 3]).isin(&Tensor::from([3i64, 1, 7])), Tensor::from([true, false, true]));
    /// ```
    #[track_caller]
    pub fn isin(&self, members: &Tensor) -> Tensor {
        self.unsqueeze(self.rank()).equal(members.flatten()).any_over(-1)
    }

    /// 0 where an element is negative, 1 where it is positive, `at_zero` where it is 0; without a gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 0.0, 3.0]).heaviside(0.5), Tensor::from([0.0, 0.5, 1.0]));
    /// ```
    #[track_caller]
    pub fn heaviside(&self, at_zero: impl Operand) -> Tensor {
        let at_zero = at_zero.tensor(self.dtype());
        self.equal(0).where_(&*at_zero, self.gt(0).cast(self.dtype()))
    }

    /// The number of occurrences of each integer from 0 up to `count`, excluded.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1i64, 3, 1]).bincount(4), Tensor::from([0i64, 2, 0, 1]));
    /// ```
    #[track_caller]
    pub fn bincount(&self, count: usize) -> Tensor {
        let numbers = self.flatten();
        Tensor::full([count], 0i64).index_add(0, &numbers, &Tensor::full([numbers.elements()], 1i64))
    }
}
