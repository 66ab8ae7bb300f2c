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

    /// Row `index` is zero and gets no gradient; a negative index counts from the last row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    #[track_caller]
    pub fn padding_index(mut self, index: i64) -> Embedding {
        let count = self.weight.size(0);
        let row = if index < 0 { index + count as i64 } else { index };
        if !(0..count as i64).contains(&row) {
            let message = format!("the padding index {index} is not a row of {count}");
            Error::new(ErrorKind::Range, "Embedding", message).at(Line::caller()).raise();
        }
        self.weight.set(row as usize, Tensor::zeros_of([], self.weight.dtype()));
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
