//! gelu_tanh - Gaussian error linear unit by the hyperbolic tangent.   y = x (1 + tanh(w/2)) / 2 with w = 2
//! sqrt(2/pi) (x + 0.044715 x^3),   dy = (s + x s (1 - s) dw/dx) dx with s = sigmoid(w).   Domain: all reals.

use crate::prelude::*;

/// The methods of `gelu_tanh`.
#[ext(GeluTanhMethods)]
impl Tensor {
    /// The approximation of [`gelu`](Tensor::gelu) by a hyperbolic tangent.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!((Tensor::from(1.0).gelu_tanh().item() - Tensor::from(1.0).gelu().item()).abs() < 2e-4);
    /// ```
    #[track_caller]
    pub fn gelu_tanh(&self) -> Tensor {
        bind1(&GELU_TANH, Attrs::new(), &[self])
    }
}

/// 2 sqrt(2 / pi)
const FACTOR: f64 = 1.595_769_121_605_730_7;
const CUBIC: f64 = 0.044_715;

fn slope_tensor(x: &Tensor) -> Tensor {
    let z = x.square();
    let s = (x * (&z * CUBIC + 1.0) * FACTOR).sigmoid();
    &s + &s * (1.0 - &s) * x * (z * (3.0 * CUBIC) + 1.0) * FACTOR
}

elementwise! {
    GELU_TANH = "gelu_tanh",
    constants: [FACTOR, CUBIC],
    value: |x| x * sigmoid(scale(x, FACTOR) * (1.0 + scale(x, CUBIC) * x)),
    slopes: [slope!(
        |x: operand 0| {
            let s = sigmoid(scale(x, FACTOR) * (1.0 + scale(x, CUBIC) * x));
            s + scale(s * (1.0 - s) * x, FACTOR) * (1.0 + scale(x, 3.0 * CUBIC) * x)
        },
        tensor: slope_tensor(x)
    )],
    rule: "dx = (s + x s (1 - s) w') dy",
    reference: |x| 0.5 * x * (1.0 + (0.7978845608028654 * (x + 0.044715 * x * x * x)).tanh()),
    domain: Reals,
    edges: &[(0.0, 0.0), (-64.0, 0.0), (64.0, 64.0)],
    jet: Slope,
}
