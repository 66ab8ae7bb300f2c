//! Tables of vectors.

use crate::prelude::*;
use crate::{Context, Layer, init};

/// The rows of a table at integer positions.
///
/// ```
/// use wengert::nn::{Context, Embedding, Layer};
/// use wengert::prelude::*;
/// let table = Embedding::new(10, 4, &mut Key::new(0));
/// let y = table.forward(&Tensor::from([[1i64, 2], [3, 1]]), &mut Context::evaluation());
/// assert_eq!(y.shape(), [2, 2, 4]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Embedding {
    /// `[count, width]`.
    pub weight: Tensor,
    #[tree(static)]
    padding: Option<i64>,
}

impl Embedding {
    /// A table of `count` normally distributed rows.
    pub fn new(count: usize, width: usize, key: &mut Key) -> Embedding {
        Embedding { weight: init::normal([count, width], 1.0, key), padding: None }
    }

    /// Row `index` is zero and gets no gradient.
    #[must_use]
    pub fn padding_index(mut self, index: i64) -> Embedding {
        let row = index as usize;
        self.weight.set(row, Tensor::zeros_of([], self.weight.dtype()));
        Embedding { padding: Some(index), ..self }
    }
}

impl Layer for Embedding {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        context.run(self, |_| match self.padding {
            Some(index) => self.weight.embedding_with_padding(x, index),
            None => self.weight.embedding(x),
        })
    }
}
