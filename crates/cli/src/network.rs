//! A network with one hidden layer, written in tensor operations.

use crate::digits::{CLASSES, PIXELS};
use wengert::prelude::*;

/// The number of units in the hidden layer.
const HIDDEN: usize = 64;

/// y = x W + b.
#[derive(Clone, Tree)]
pub struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    /// Weights uniform in (-r, r) with r^2 = 6 / inputs, which keeps the variance through a rectifier; biases 0.
    fn new(inputs: usize, outputs: usize, key: &mut Key) -> Linear {
        let range = (6.0 / inputs as f64).sqrt();
        let weight = (key.next().uniform([inputs, outputs], DType::F32) * 2.0 - 1.0) * range;
        Linear { weight, bias: Tensor::full([outputs], 0f32) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.weight) + &self.bias
    }
}

/// Maps pixels to one score for each digit: the larger, the likelier.
#[derive(Clone, Tree)]
pub struct Network {
    hidden: Linear,
    output: Linear,
}

impl Network {
    /// A network with random weights.
    pub fn new(key: &mut Key) -> Network {
        Network { hidden: Linear::new(PIXELS, HIDDEN, key), output: Linear::new(HIDDEN, CLASSES, key) }
    }

    /// The number of parameters.
    ///
    /// ```
    /// use wengert::prelude::Key;
    /// use wengert_cli::network::Network;
    /// assert_eq!(Network::new(&mut Key::new(0)).parameters(), 64 * 64 + 64 + 64 * 10 + 10);
    /// ```
    pub fn parameters(&self) -> usize {
        self.leaves().into_iter().map(Tensor::elements).sum()
    }

    /// The unnormalised log-probabilities of the digits, one row for each image.
    pub fn logits(&self, images: &Tensor) -> Tensor {
        self.output.forward(&self.hidden.forward(images).relu())
    }

    /// The likeliest digit of each image.
    pub fn predict(&self, images: &Tensor) -> Vec<i64> {
        self.logits(images).max_along(1).1.to_vec()
    }
}

/// The mean of `-log softmax(logits)[label]`, shifted by each row's maximum so that nothing overflows.
///
/// ```
/// use wengert::prelude::*;
/// let even = wengert_cli::network::cross_entropy(&Tensor::zeros([3, 10]), &Tensor::from([0i64, 4, 9]));
/// assert!((even.item() - 10f64.ln()).abs() < 1e-12);
/// ```
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Tensor {
    let shifted = logits - logits.max_along(1).0.detach().unsqueeze(1);
    let normaliser = shifted.exp().sum_over(1).log();
    let chosen = shifted.gather(1, &labels.unsqueeze(1)).reshape([labels.elements()]);
    (normaliser - chosen).mean()
}
