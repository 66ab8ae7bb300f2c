//! Layers that change shapes.

use crate::prelude::*;
use crate::{Context, Layer};

/// All axes after the first as one.
///
/// ```
/// use wengert::nn::{Context, Flatten, Layer};
/// use wengert::prelude::*;
/// assert_eq!(Flatten.forward(&Tensor::ones([2, 3, 4]), &mut Context::evaluation()).shape(), [2, 12]);
/// ```
#[derive(Clone, Copy, Debug, Default, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Flatten;

impl Layer for Flatten {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| {
            let sizes = x.shape();
            x.reshape([sizes.first().copied().unwrap_or(1), sizes.iter().skip(1).product()])
        })
    }
}

/// Enlarges all axes after the first two.
///
/// ```
/// use wengert::nn::{Context, Layer, Upsample};
/// use wengert::prelude::*;
/// let y = Upsample::new(Interpolate::scale(2.0)).forward(&Tensor::ones([1, 1, 3, 4]), &mut Context::evaluation());
/// assert_eq!(y.shape(), [1, 1, 6, 8]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Upsample {
    #[tree(static)]
    options: Interpolate,
}

impl Upsample {
    /// By these options.
    pub fn new(options: Interpolate) -> Upsample {
        Upsample { options }
    }
}

impl Layer for Upsample {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| x.interpolate(&self.options))
    }
}
