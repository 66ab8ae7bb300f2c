//! Affine and bilinear maps.

use crate::prelude::*;
use crate::{Context, Layer, init};

/// `y = x W^T + b` along the last axis.
///
/// ```
/// use wengert::nn::{Context, Layer, Linear};
/// use wengert::prelude::*;
/// let layer = Linear::new(3, 2, &mut Key::new(0));
/// assert_eq!(layer.forward(&Tensor::ones([4, 3]), &mut Context::evaluation()).shape(), [4, 2]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Linear {
    /// `[outputs, inputs]`.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A layer with random parameters.
    pub fn new(inputs: usize, outputs: usize, key: &mut Key) -> Linear {
        let weight = init::usual([outputs, inputs], inputs, key);
        Linear { weight, bias: Some(init::usual([outputs], inputs, key)) }
    }

    /// The layer without a bias.
    #[must_use]
    pub fn without_bias(self) -> Linear {
        Linear { bias: None, ..self }
    }
}

impl Layer for Linear {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| match &self.bias {
            Some(bias) => x.linear_bias(&self.weight, bias),
            None => x.linear(&self.weight),
        })
    }
}

/// `y[k] = a^T W[k] b + c[k]` along the last axes of two tensors.
///
/// ```
/// use wengert::nn::{Bilinear, Context};
/// use wengert::prelude::*;
/// let layer = Bilinear::new(3, 4, 2, &mut Key::new(0));
/// let y = layer.forward_pair(&Tensor::ones([5, 3]), &Tensor::ones([5, 4]), &mut Context::evaluation());
/// assert_eq!(y.shape(), [5, 2]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Bilinear {
    /// `[outputs, first inputs, second inputs]`.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
}

impl Bilinear {
    /// A layer with random parameters.
    pub fn new(first: usize, second: usize, outputs: usize, key: &mut Key) -> Bilinear {
        let weight = init::usual([outputs, first, second], first, key);
        Bilinear { weight, bias: Some(init::usual([outputs], first, key)) }
    }

    /// The layer without a bias.
    #[must_use]
    pub fn without_bias(self) -> Bilinear {
        Bilinear { bias: None, ..self }
    }

    /// The output for two inputs with the same leading axes.
    #[track_caller]
    pub fn forward_pair(&self, a: &Tensor, b: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| {
            let y = Tensor::einsum("...i,kij,...j->...k", &[a, &self.weight, b]);
            match &self.bias {
                Some(bias) => y + bias,
                None => y,
            }
        })
    }
}

/// The same tensor on both sides.
impl Layer for Bilinear {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        self.forward_pair(x, x, context)
    }
}
