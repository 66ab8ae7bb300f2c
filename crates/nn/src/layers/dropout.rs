//! Dropout.

use crate::prelude::*;
use crate::{Context, Layer};

/// In training, sets each element to zero with probability `p` and divides the others by `1 - p`.
///
/// ```
/// use wengert::nn::{Context, Dropout, Layer};
/// use wengert::prelude::*;
/// let (layer, x) = (Dropout::new(0.5), Tensor::ones([1000]));
/// assert_eq!(layer.forward(&x, &mut Context::evaluation()), x);
/// let y = layer.forward(&x, &mut Context::training(Key::new(0)));
/// assert!(y.to_vec::<f64>().iter().all(|y| *y == 0.0 || *y == 2.0));
/// ```
#[derive(Clone, Copy, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Dropout {
    #[tree(static)]
    p: f64,
}

impl Dropout {
    /// With this probability.
    ///
    /// # Panics
    /// If it is not between 0 and 1.
    #[track_caller]
    pub fn new(p: f64) -> Dropout {
        if !(0.0..=1.0).contains(&p) {
            let message = format!("the probability is {p}, which is not between 0 and 1");
            Error::new(ErrorKind::Argument, "Dropout", message).at(Line::caller()).raise();
        }
        Dropout { p }
    }

    pub(crate) fn probability(&self) -> f64 {
        self.p
    }

    /// Whether it changes anything in this pass.
    pub(crate) fn is_active(&self, context: &Context<'_>) -> bool {
        context.is_training() && self.p > 0.0
    }
}

impl Layer for Dropout {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |context| match self.is_active(context) {
            true => x.dropout(self.p, &context.key()),
            false => x.clone(),
        })
    }
}
