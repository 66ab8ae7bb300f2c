//! Logic of truth values, and tests of numbers.

use crate::{DType, Tensor};

/// A truth value for each element: whether it is not 0.
#[track_caller]
fn truth(x: &Tensor) -> Tensor {
    if x.dtype() == DType::Bool { x.clone() } else { x.not_equal(0) }
}

impl Tensor {
    /// Where both are true; numbers other than 0 are true.
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

    /// Where one or both are true; numbers other than 0 are true.
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

    /// Where exactly one is true; numbers other than 0 are true.
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

    /// Where this is false; numbers other than 0 are true.
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

    /// Where an element is no number.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::NAN, 1.0]).isnan(), Tensor::from([true, false]));
    /// ```
    #[track_caller]
    pub fn isnan(&self) -> Tensor {
        self.not_equal(self)
    }

    /// Where an element is infinite.
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

    /// Where an element is neither infinite nor NaN.
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
}
