//! A causal transformer over characters, and the text that it writes.

use wengert::nn::data::Text;
use wengert::nn::{Context, Dropout, Embedding, KeyValueCache, Layer, LayerNorm, Linear, TransformerBlock};
use wengert::prelude::*;

const WIDTH: usize = 128;
const HEADS: usize = 4;
/// The number of blocks.
pub const BLOCKS: usize = 3;

/// A causal transformer over characters.
#[derive(Clone, Tree)]
pub struct Writer {
    characters: Embedding,
    dropout: Dropout,
    blocks: Vec<TransformerBlock>,
    norm: LayerNorm,
    output: Linear,
}

impl Writer {
    /// With random weights.
    pub fn new(vocabulary: usize, dropout: f64, key: &mut Key) -> Writer {
        let block = |_| TransformerBlock::new(WIDTH, HEADS, key).causal().rotary().dropout(dropout);
        let blocks = (0..BLOCKS).map(block).collect();
        Writer {
            characters: Embedding::new(vocabulary, WIDTH, key),
            dropout: Dropout::new(dropout),
            blocks,
            norm: LayerNorm::new(WIDTH),
            output: Linear::new(WIDTH, vocabulary, key),
        }
    }

    /// Logits of the next character after each of `[batch, tokens]`.
    fn continued(&self, tokens: &Tensor, caches: &mut [KeyValueCache], context: &mut Context<'_>) -> Tensor {
        let x = self.characters.forward(tokens, context);
        let each = self.blocks.iter().zip(caches);
        let x = each.fold(x, |x, (block, cache)| block.continued(&x, cache, context));
        self.output.forward(&self.norm.forward(&x, context), context)
    }
}

impl Layer for Writer {
    fn forward(&self, tokens: &Tensor, context: &mut Context<'_>) -> Tensor {
        let x = self.dropout.forward(&self.characters.forward(tokens, context), context);
        let x = self.blocks.forward(&x, context);
        self.output.forward(&self.norm.forward(&x, context), context)
    }
}

/// A text that the model writes. It was trained on `context` characters and knows no larger distances: when so many are remembered, it goes on
/// from the last half of them.
pub fn written(model: &Writer, vocabulary: &Text, characters: usize, context: usize, key: &mut Key) -> String {
    let mut caches = vec![KeyValueCache::default(); BLOCKS];
    let mut tokens = vec![vocabulary.characters().iter().position(|c| *c == '\n').unwrap_or(0) as i64];
    for _ in 0..characters {
        if caches[0].tokens() == context {
            caches.fill(KeyValueCache::default());
        }
        let new = if caches[0].tokens() == 0 { tokens.len().min(context / 2) } else { 1 };
        let read = Tensor::from(&tokens[tokens.len() - new..]).reshape([1, new]);
        let logits = model.continued(&read, &mut caches, &mut Context::evaluation()).slice((0, new - 1));
        let chances = (logits / 0.8).softmax(-1).to_f64_vec();
        tokens.push(drawn(&chances, key.next().uniform([], DType::F64).item()) as i64);
    }
    let text: String = tokens[1..].iter().map(|token| vocabulary.characters()[*token as usize]).collect();
    format!("  {}", text.replace('\n', "\n  "))
}

/// The position where the sum of the chances passes `point`.
fn drawn(chances: &[f64], point: f64) -> usize {
    let mut sum = 0.0;
    let passes = |chance: &f64| {
        sum += chance;
        sum > point
    };
    chances.iter().position(passes).unwrap_or(chances.len() - 1)
}
