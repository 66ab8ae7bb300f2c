//! The functions that elementwise expressions are written in, on numbers and on tensors.

use crate::Tensor;

/// Makes the slope of an expression in Tensor operations.
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

/// The same functions in Tensor operations, as far as the ground goes.
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
