//! xlog1py - x times log(1 + y).   z = x ln(1 + y), and 0 where x is 0,   dz = ln(1 + y) dx + x/(1 + y) dy.   Domain: y > -1, or x = 0;
//! value and gradient are NaN for y < -1.

use crate::prelude::*;
use wengert_kernels::math::{Real, log1p};

/// The methods of `xlog1py`.
#[ext(Xlog1pyMethods)]
impl Tensor {
    /// Every element times the logarithm of 1 plus the other's; 0 where the element is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0]).xlog1py(&Tensor::from([-1.0, 0.0])), Tensor::from([0.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn xlog1py(&self, other: impl Operand) -> Tensor {
        binary(&XLOG1PY, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

#[inline(always)]
fn xlog1py<T: Real>(x: T, y: T) -> T {
    if (x == T::of(0.0)) & !y.is_nan() { x } else { x * log1p(y) }
}

/// 0 where x is 0 and 1 + y has no logarithm.
#[inline(always)]
fn log1p_weight<T: Real>(x: T, y: T) -> T {
    if (x == T::of(0.0)) & (y <= T::of(-1.0)) { T::of(0.0) } else { log1p(y) }
}

fn log1p_weight_tensor(x: &Tensor, y: &Tensor) -> Tensor {
    x.equal(0.0).logical_and(&y.le(-1.0)).where_(0.0, y.log1p())
}

elementwise! {
    XLOG1PY = "xlog1py",
    value: |x, y| xlog1py(x, y),
    slopes: [
        slope!(|x: operand 0, y: operand 1| log1p_weight(x, y), tensor: log1p_weight_tensor(x, y)),
        slope!(|x: operand 0, y: operand 1| ratio(x, 1.0 + nan_below(y, -1.0)))
    ],
    rule: "dx = log1p(y) dz, dy = x/(1 + y) dz",
    reference: |x, y| x * y.ln_1p(),
    domain: Positive,
    edges: &[(0.0, -1.0, 0.0), (1.0, -2.0, f64::NAN), (0.0, f64::NAN, f64::NAN)],
    jet: Slope,
}
