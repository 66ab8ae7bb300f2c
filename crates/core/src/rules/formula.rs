//! The functions available in elementwise expressions, on numbers and on tensors.

use crate::Tensor;

/// Converts an expression in Tensor operations to a slope.
pub trait IntoSlope {
    fn into_slope(self) -> Tensor;
}
impl IntoSlope for Tensor {
    fn into_slope(self) -> Tensor {
        self
    }
}
impl IntoSlope for &Tensor {
    fn into_slope(self) -> Tensor {
        self.clone()
    }
}

/// Functions of f64 and f32.
pub use wengert_kernels::functions::vocabulary as native;

/// The same functions in Tensor operations, as far as ground operations allow.
pub mod tensor {
    use crate::{Operand, Tensor};
    use std::borrow::Borrow;

    pub fn round(x: impl Borrow<Tensor>) -> Tensor {
        x.borrow().round()
    }

    pub fn fmod(x: impl Borrow<Tensor>, y: impl Operand) -> Tensor {
        x.borrow().fmod(y)
    }
}
