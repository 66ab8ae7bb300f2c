//! Elementwise functions as layers.

use crate::prelude::*;
use crate::{Context, Layer};

macro_rules! activations {
    ($($(#[$doc:meta])* $Layer:ident |$x:ident| $y:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Tree)]
        #[tree(crate = "crate::prelude")]
        pub struct $Layer;

        impl Layer for $Layer {
            fn forward(&self, $x: &Tensor, context: &mut Context<'_>) -> Tensor {
                context.run(self, |_| $y)
            }
        }
    )+};
}

activations! {
    /// `max(x, 0)`.
    Relu |x| x.relu();
    /// The Gaussian error linear unit, exactly.
    Gelu |x| x.gelu();
    /// The Gaussian error linear unit, by `tanh`.
    GeluTanh |x| x.gelu_tanh();
    /// `x sigmoid(x)`.
    Silu |x| x.silu();
    /// `tanh x`.
    Tanh |x| x.tanh();
    /// `1 / (1 + e^-x)`.
    Sigmoid |x| x.sigmoid();
    /// `log(1 + e^x)`.
    Softplus |x| x.softplus();
    /// `x` where it is positive, `e^x - 1` elsewhere.
    Elu |x| x.elu(1.0);
    /// Softmax along the last axis.
    Softmax |x| x.softmax(-1);
    /// The logarithm of softmax along the last axis.
    LogSoftmax |x| x.log_softmax(-1);
    /// The input itself.
    Identity |x| x.clone();
}

/// `x` where it is positive, `slope x` elsewhere.
#[derive(Clone, Copy, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct LeakyRelu {
    #[tree(static)]
    slope: f64,
}

impl LeakyRelu {
    /// With this slope for negative inputs; PyTorch's default is 0.01.
    pub fn new(slope: f64) -> LeakyRelu {
        LeakyRelu { slope }
    }
}

impl Layer for LeakyRelu {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| x.leaky_relu(self.slope))
    }
}
