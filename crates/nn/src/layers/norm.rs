//! Normalisation.

use crate::prelude::*;
use crate::{Context, Layer};

/// What the norms of this crate add to a variance.
const EPSILON: f64 = 1e-5;

/// Normalises each channel (axis 1) over the batch and all other axes.
///
/// In training the statistics are those of the batch, the derivative goes through them, and running statistics follow them; in evaluation
/// the running ones are used, as constants.
///
/// ```
/// use wengert::nn::{BatchNorm, Context, Layer};
/// use wengert::prelude::*;
/// let norm = BatchNorm::new(3);
/// let x = Key::new(0).normal([4, 3, 5, 5], DType::F64);
/// let y = norm.forward(&x, &mut Context::training(Key::new(0)));
/// assert!(y.mean_over([0, 2, 3]).abs().max().item() < 1e-12);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct BatchNorm {
    /// `[channels]`.
    pub weight: Tensor,
    /// `[channels]`.
    pub bias: Tensor,
    /// `[channels]`.
    #[tree(frozen)]
    pub running_mean: Tensor,
    /// `[channels]`; unbiased.
    #[tree(frozen)]
    pub running_var: Tensor,
    /// The number of training passes.
    #[tree(frozen)]
    pub num_batches_tracked: Tensor,
    #[tree(static)]
    momentum: f64,
    #[tree(static)]
    epsilon: f64,
}

impl BatchNorm {
    /// Gains 1, biases 0, running means 0 and variances 1.
    pub fn new(channels: usize) -> BatchNorm {
        let (zeros, ones) = (Tensor::zeros([channels]), Tensor::ones([channels]));
        BatchNorm {
            weight: ones.clone(),
            bias: zeros.clone(),
            running_mean: zeros,
            running_var: ones,
            num_batches_tracked: Tensor::from(0i64),
            momentum: 0.1,
            epsilon: EPSILON,
        }
    }

    /// How much of a running statistic one batch replaces (default 0.1).
    #[must_use]
    pub fn momentum(self, momentum: f64) -> BatchNorm {
        BatchNorm { momentum, ..self }
    }

    /// What is added to the variance (default 1e-5).
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> BatchNorm {
        BatchNorm { epsilon, ..self }
    }

    fn follow(&self, running: &Tensor, batch: &Tensor, context: &mut Context<'_>) {
        let value = context.current(running) * (1.0 - self.momentum) + batch.detach() * self.momentum;
        context.update(running, &value);
    }
}

impl Layer for BatchNorm {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |context| {
            let options = Norm::new().weight(&self.weight).bias(&self.bias).epsilon(self.epsilon);
            if !context.is_training() {
                return x.batch_norm_given(&self.running_mean, &self.running_var, &options);
            }
            // Statistics have the digits of the running ones, also where the rest is computed in fewer.
            let (narrow, wide) = (x.dtype(), context.current(&self.running_mean).dtype());
            let (y, mean, variance) = match narrow.size() < wide.size() {
                false => x.batch_norm(&options),
                true => {
                    let options = Norm::new().weight(&self.weight.cast(wide)).bias(&self.bias.cast(wide));
                    let (y, mean, variance) = x.cast(wide).batch_norm(&options.epsilon(self.epsilon));
                    (y.cast(narrow), mean, variance)
                }
            };
            let count = (x.elements() / mean.elements().max(1)) as f64;
            if count <= 1.0 {
                let shape = Shape::from(x.shape());
                let found = if count == 0.0 { "no number" } else { "a single number" };
                let message = format!("a training batch of shape {shape} has {found} per channel: it has no variance");
                Error::new(ErrorKind::Shape(vec![shape]), "batch_norm", message)
                    .help("take larger batches, or drop_last() if the last one has a single example")
                    .raise();
            }
            self.follow(&self.running_mean, &mean, context);
            self.follow(&self.running_var, &(variance * (count / (count - 1.0).max(1.0))), context);
            let passes = context.current(&self.num_batches_tracked) + 1;
            context.update(&self.num_batches_tracked, &passes);
            y
        })
    }
}

/// Normalises the last axis, or several last axes, to mean 0 and variance 1.
///
/// ```
/// use wengert::nn::{Context, Layer, LayerNorm};
/// use wengert::prelude::*;
/// let y = LayerNorm::new(3).forward(&Tensor::from([[1.0, 2.0, 3.0]]), &mut Context::evaluation());
/// assert!(y.mean().abs().item() < 1e-12);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct LayerNorm {
    /// The shape of the axes that are normalised.
    pub weight: Tensor,
    /// The same shape.
    pub bias: Tensor,
    #[tree(static)]
    epsilon: f64,
}

impl LayerNorm {
    /// Over the last axis, of this size; gains 1 and biases 0.
    pub fn new(width: usize) -> LayerNorm {
        LayerNorm::over([width])
    }

    /// With these gains and biases.
    pub fn of(weight: Tensor, bias: Tensor) -> LayerNorm {
        LayerNorm { weight, bias, epsilon: EPSILON }
    }

    /// Over the last axes, of this shape.
    pub fn over(shape: impl Into<Shape>) -> LayerNorm {
        let weight = Tensor::ones(shape).contiguous();
        LayerNorm { bias: weight.zeros_like().contiguous(), weight, epsilon: EPSILON }
    }

    /// What is added to the variance (default 1e-5).
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> LayerNorm {
        LayerNorm { epsilon, ..self }
    }
}

impl Layer for LayerNorm {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| {
            let options = Norm::new().weight(&self.weight).bias(&self.bias).epsilon(self.epsilon);
            x.layer_norm(self.weight.shape(), &options)
        })
    }
}

/// Normalises the last axis to mean square 1.
///
/// ```
/// use wengert::nn::{Context, Layer, RmsNorm};
/// use wengert::prelude::*;
/// let y = RmsNorm::new(2).epsilon(0.0).forward(&Tensor::from([[3.0, 3.0]]), &mut Context::evaluation());
/// assert!(y.all_close(&Tensor::ones([1, 2]), 1e-12));
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct RmsNorm {
    /// `[width]`.
    pub weight: Tensor,
    #[tree(static)]
    epsilon: f64,
}

impl RmsNorm {
    /// Gains 1.
    pub fn new(width: usize) -> RmsNorm {
        RmsNorm { weight: Tensor::ones([width]), epsilon: EPSILON }
    }

    /// What is added to the mean square (default 1e-5).
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> RmsNorm {
        RmsNorm { epsilon, ..self }
    }
}

impl Layer for RmsNorm {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| x.rms_norm(self.weight.shape(), &Norm::new().weight(&self.weight).epsilon(self.epsilon)))
    }
}

/// Normalises groups of channels (axis 1) of each example.
///
/// ```
/// use wengert::nn::{Context, GroupNorm, Layer};
/// use wengert::prelude::*;
/// let x = Key::new(0).normal([2, 4, 3], DType::F64);
/// assert_eq!(GroupNorm::new(2, 4).forward(&x, &mut Context::evaluation()).shape(), [2, 4, 3]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct GroupNorm {
    /// `[channels]`.
    pub weight: Tensor,
    /// `[channels]`.
    pub bias: Tensor,
    #[tree(static)]
    groups: usize,
    #[tree(static)]
    epsilon: f64,
}

impl GroupNorm {
    /// Gains 1 and biases 0.
    pub fn new(groups: usize, channels: usize) -> GroupNorm {
        let (weight, bias) = (Tensor::ones([channels]), Tensor::zeros([channels]));
        GroupNorm { weight, bias, groups, epsilon: EPSILON }
    }
}

impl Layer for GroupNorm {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| {
            let options = Norm::new().weight(&self.weight).bias(&self.bias).epsilon(self.epsilon);
            x.group_norm(self.groups, &options)
        })
    }
}
