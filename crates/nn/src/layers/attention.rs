//! Attention and transformers, on `[batch, tokens, width]`.

use super::{Dropout, LayerNorm, Linear};
use crate::prelude::*;
use crate::{Context, Layer, init};

/// Attention with several heads.
///
/// ```
/// use wengert::nn::{Context, Layer, MultiHeadAttention};
/// use wengert::prelude::*;
/// let layer = MultiHeadAttention::new(16, 4, &mut Key::new(0)).causal();
/// assert_eq!(layer.forward(&Tensor::ones([2, 5, 16]), &mut Context::evaluation()).shape(), [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct MultiHeadAttention {
    /// The projections of queries, keys and values, one below the other: `[3 * width, width]`.
    pub in_proj_weight: Tensor,
    /// `[3 * width]`.
    pub in_proj_bias: Tensor,
    /// The projection of the output.
    pub out_proj: Linear,
    #[tree(static)]
    heads: usize,
    #[tree(static)]
    is_causal: bool,
    #[tree(static)]
    rotary: Option<f64>,
}

impl MultiHeadAttention {
    /// Attention to all tokens, with random parameters.
    ///
    /// # Panics
    /// If the width is not a multiple of the number of heads.
    #[track_caller]
    pub fn new(width: usize, heads: usize, key: &mut Key) -> MultiHeadAttention {
        expect_heads(width, heads);
        let out_proj = Linear::new(width, width, key);
        let out_proj = Linear { bias: Some(Tensor::zeros([width])), ..out_proj };
        let weight = init::xavier_uniform([3 * width, width], key);
        MultiHeadAttention::of(weight, Tensor::zeros([3 * width]), out_proj, heads)
    }

    /// Attention with these parameters.
    ///
    /// # Panics
    /// If the weights are not `[3 width, width]`, or the width is not a multiple of the number of heads.
    #[track_caller]
    pub fn of(in_proj_weight: Tensor, in_proj_bias: Tensor, out_proj: Linear, heads: usize) -> MultiHeadAttention {
        match *in_proj_weight.shape() {
            [rows, width] if rows == 3 * width => expect_heads(width, heads),
            _ => {
                let shape = Shape::from(in_proj_weight.shape());
                let message = format!("weights of shape {shape} are not [3 width, width]");
                Error::new(ErrorKind::Shape(vec![shape]), "MultiHeadAttention", message).at(Line::caller()).raise();
            }
        }
        MultiHeadAttention { in_proj_weight, in_proj_bias, out_proj, heads, is_causal: false, rotary: None }
    }

    /// Token i sees the tokens up to i.
    #[must_use]
    pub fn causal(self) -> MultiHeadAttention {
        MultiHeadAttention { is_causal: true, ..self }
    }

    /// Rotary positions: pairs of elements of queries and keys are rotated by angles proportional to the token's position.
    ///
    /// # Panics
    /// If the width of a head is odd.
    #[must_use]
    #[track_caller]
    pub fn rotary(self) -> MultiHeadAttention {
        let width = self.in_proj_weight.size(1) / self.heads;
        if !width.is_multiple_of(2) {
            let message = format!("heads of width {width} have no pairs to rotate");
            Error::new(ErrorKind::Argument, "rotary", message).at(Line::caller()).raise();
        }
        MultiHeadAttention { rotary: Some(10_000.0), ..self }
    }

    /// Attention of `query` to `key` with values `value`, each `[batch, tokens, width]`. The mask is boolean (true: may be seen) or added to
    /// the scores, and broadcasts to `[batch, heads, queries, keys]`.
    #[track_caller]
    pub fn attend(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: Option<&Tensor>,
        context: &mut Context<'_>,
    ) -> Tensor {
        context.run(self, |context| {
            [query, key, value].into_iter().for_each(expect_tokens);
            let width = self.in_proj_weight.size(1);
            let project = |x: &Tensor, k: usize| {
                let rows = k * width..(k + 1) * width;
                self.by_heads(&x.linear_bias(&self.in_proj_weight.slice(rows.clone()), &self.in_proj_bias.slice(rows)))
            };
            let (q, k, v) = (project(query, 0), project(key, 1), project(value, 2));
            let (q, k) = (self.rotated(&q, 0), self.rotated(&k, 0));
            let y = q.attention(&k, &v, &self.options(mask));
            self.out_proj.forward(&joined(&y), context)
        })
    }

    /// Attention of new tokens `[batch, new, width]` to themselves and to those that the cache remembers; they are remembered too. For
    /// generation, token by token or several at once.
    ///
    /// ```
    /// use wengert::nn::{Context, KeyValueCache, Layer, MultiHeadAttention};
    /// use wengert::prelude::*;
    /// let layer = MultiHeadAttention::new(16, 4, &mut Key::new(0)).causal().rotary();
    /// let x = Key::new(1).normal([1, 6, 16], DType::F64);
    /// let whole = layer.forward(&x, &mut Context::evaluation());
    /// let mut cache = KeyValueCache::default();
    /// for token in 0..6 {
    ///     let y = layer.continued(&x.slice((.., token..token + 1)), &mut cache, &mut Context::evaluation());
    ///     assert!(y.all_close(&whole.slice((.., token..token + 1)), 1e-12));
    /// }
    /// ```
    #[track_caller]
    pub fn continued(&self, x: &Tensor, cache: &mut KeyValueCache, context: &mut Context<'_>) -> Tensor {
        context.run(self, |context| {
            expect_tokens(x);
            let qkv = x.linear_bias(&self.in_proj_weight, &self.in_proj_bias);
            let width = self.in_proj_weight.size(1);
            let part = |k: usize| self.by_heads(&qkv.slice((.., .., k * width..(k + 1) * width)));
            let before = cache.tokens();
            let (q, k) = (self.rotated(&part(0), before), self.rotated(&part(1), before));
            let (k, v) = cache.extended(k, part(2));
            let known = (k.clone(), v.clone());
            let mask = self.is_causal.then(|| {
                let (queries, keys) = (q.size(-2) as i64, k.size(-2) as i64);
                let position = Tensor::arange(0..queries).unsqueeze(1) + before as i64;
                Tensor::arange(0..keys).le(&position).beside(&q)
            });
            let options = mask.iter().fold(Attention::new(), |options, mask| options.mask(mask));
            let y = self.out_proj.forward(&joined(&q.attention(&k, &v, &options)), context);
            // Only now: after an error the cache is what it was.
            cache.entries = Some(known);
            y
        })
    }

    fn options(&self, mask: Option<&Tensor>) -> Attention {
        let options = if self.is_causal { Attention::new().causal() } else { Attention::new() };
        mask.into_iter().fold(options, |options, mask| options.mask(mask))
    }

    /// `[batch, heads, tokens, width]` of `[batch, tokens, heads * width]`.
    fn by_heads(&self, x: &Tensor) -> Tensor {
        let sizes = x.shape();
        x.reshape([sizes[0], sizes[1], self.heads, sizes[2] / self.heads]).permute([0, 2, 1, 3])
    }

    /// Pairs `(x[i], x[i + width / 2])` rotated by `position * base^(-2 i / width)`.
    fn rotated(&self, x: &Tensor, first: usize) -> Tensor {
        let Some(base) = self.rotary else { return x.clone() };
        let (tokens, half) = (x.size(-2), x.size(-1) / 2);
        let angle = |i: usize| {
            let (position, pair) = ((first + i / half) as f64, i % half);
            position * base.powf(-(pair as f64) / half as f64)
        };
        let table = |f: fn(f64) -> f64| {
            let values: Vec<f64> = (0..tokens * half).map(|i| f(angle(i))).collect();
            Tensor::from_vec(values, [tokens, half]).cast(x.dtype()).beside(x)
        };
        let (cos, sin) = (table(f64::cos), table(f64::sin));
        let (a, b) = (x.slice((Ellipsis, ..half)), x.slice((Ellipsis, half..)));
        Tensor::concat(&[&(&a * &cos - &b * &sin), &(a * sin + b * cos)], -1)
    }
}

/// That an input is `[batch, tokens, width]`.
#[track_caller]
fn expect_tokens(x: &Tensor) {
    if x.rank() != 3 {
        let shape = Shape::from(x.shape());
        let message = format!("the input is [batch, tokens, width], not {shape}");
        let help = if x.rank() == 2 { "unsqueeze(0) makes a batch of one sequence" } else { "reshape it" };
        Error::new(ErrorKind::Shape(vec![shape]), "attention", message).help(help).at(Line::caller()).raise();
    }
}

/// `[batch, tokens, heads * width]` of `[batch, heads, tokens, width]`.
fn joined(x: &Tensor) -> Tensor {
    let [batch, heads, tokens, width] = [0, 1, 2, 3].map(|axis: isize| x.size(axis));
    x.permute([0, 2, 1, 3]).reshape([batch, tokens, heads * width])
}

/// Self-attention.
impl Layer for MultiHeadAttention {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        if self.rotary.is_some() {
            return self.attend(x, x, x, None, context);
        }
        context.run(self, |context| {
            expect_tokens(x);
            let qkv = x.linear_bias(&self.in_proj_weight, &self.in_proj_bias);
            self.out_proj.forward(&qkv.self_attention(self.heads, &self.options(None)), context)
        })
    }
}

/// The keys and values of earlier tokens, `[batch, heads, tokens, width]`.
#[derive(Clone, Debug, Default, Tree)]
#[tree(crate = "crate::prelude")]
pub struct KeyValueCache {
    entries: Option<(Tensor, Tensor)>,
}

impl KeyValueCache {
    /// The number of tokens that it remembers.
    pub fn tokens(&self) -> usize {
        self.entries.as_ref().map_or(0, |(k, _)| k.size(-2))
    }

    /// What it remembers, and these keys and values behind it.
    fn extended(&self, k: Tensor, v: Tensor) -> (Tensor, Tensor) {
        match &self.entries {
            Some((keys, values)) => (Tensor::concat(&[keys, &k], -2), Tensor::concat(&[values, &v], -2)),
            None => (k, v),
        }
    }
}

#[track_caller]
fn expect_heads(width: usize, heads: usize) {
    if heads == 0 || !width.is_multiple_of(heads) {
        let message = format!("a width of {width} cannot be divided into {heads} heads");
        Error::new(ErrorKind::Argument, "MultiHeadAttention", message).at(Line::caller()).raise();
    }
}

/// A block of a transformer: attention and a perceptron, each with a norm and a residual connection.
///
/// ```
/// use wengert::nn::{Context, Layer, TransformerBlock};
/// use wengert::prelude::*;
/// let block = TransformerBlock::new(16, 4, &mut Key::new(0)).causal();
/// assert_eq!(block.forward(&Tensor::ones([2, 5, 16]), &mut Context::evaluation()).shape(), [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct TransformerBlock {
    /// The attention.
    pub self_attn: MultiHeadAttention,
    /// The first layer of the perceptron, to four times the width.
    pub linear1: Linear,
    /// The second layer of the perceptron.
    pub linear2: Linear,
    /// The norm of the attention.
    pub norm1: LayerNorm,
    /// The norm of the perceptron.
    pub norm2: LayerNorm,
    dropout: Dropout,
    #[tree(static)]
    activation: Activation,
    #[tree(static)]
    norm_last: bool,
}

/// The function between the layers of the perceptron of a [`TransformerBlock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// The Gaussian error linear unit.
    Gelu,
    /// The Gaussian error linear unit by `tanh`.
    GeluTanh,
}

impl TransformerBlock {
    /// A block with random parameters, norms before attention and perceptron, and [`Activation::GeluTanh`].
    #[track_caller]
    pub fn new(width: usize, heads: usize, key: &mut Key) -> TransformerBlock {
        TransformerBlock::with_hidden(width, heads, 4 * width, key)
    }

    /// A perceptron of this many hidden units instead of four times the width.
    #[track_caller]
    pub fn with_hidden(width: usize, heads: usize, hidden: usize, key: &mut Key) -> TransformerBlock {
        let attention = MultiHeadAttention::new(width, heads, key);
        let perceptron = [Linear::new(width, hidden, key), Linear::new(hidden, width, key)];
        TransformerBlock::of(attention, perceptron, [LayerNorm::new(width), LayerNorm::new(width)])
    }

    /// A block of these layers.
    pub fn of(attention: MultiHeadAttention, perceptron: [Linear; 2], norms: [LayerNorm; 2]) -> TransformerBlock {
        let ([linear1, linear2], [norm1, norm2]) = (perceptron, norms);
        let (dropout, activation) = (Dropout::new(0.0), Activation::GeluTanh);
        TransformerBlock { self_attn: attention, linear1, linear2, norm1, norm2, dropout, activation, norm_last: false }
    }

    /// Token i sees the tokens up to i.
    #[must_use]
    pub fn causal(self) -> TransformerBlock {
        TransformerBlock { self_attn: self.self_attn.causal(), ..self }
    }

    /// Rotary positions; see [`MultiHeadAttention::rotary`].
    #[must_use]
    #[track_caller]
    pub fn rotary(self) -> TransformerBlock {
        TransformerBlock { self_attn: self.self_attn.rotary(), ..self }
    }

    /// Dropout after attention and perceptron, in training.
    #[must_use]
    #[track_caller]
    pub fn dropout(self, p: f64) -> TransformerBlock {
        TransformerBlock { dropout: Dropout::new(p), ..self }
    }

    /// Another function in the perceptron.
    #[must_use]
    pub fn activation(self, activation: Activation) -> TransformerBlock {
        TransformerBlock { activation, ..self }
    }

    /// Norms after the residual connections, as in PyTorch's default, instead of before attention and perceptron.
    #[must_use]
    pub fn norm_last(self) -> TransformerBlock {
        TransformerBlock { norm_last: true, ..self }
    }

    /// The block for new tokens of a sequence; see [`MultiHeadAttention::continued`].
    #[track_caller]
    pub fn continued(&self, x: &Tensor, cache: &mut KeyValueCache, context: &mut Context<'_>) -> Tensor {
        self.with_attention(x, context, |x, context| self.self_attn.continued(x, cache, context))
    }

    fn with_attention(
        &self,
        x: &Tensor,
        context: &mut Context<'_>,
        mut attention: impl FnMut(&Tensor, &mut Context<'_>) -> Tensor,
    ) -> Tensor {
        let _scope = primitive::scope(Line::caller());
        let dropped = |x: Tensor, context: &mut Context<'_>| {
            if self.dropout.is_active(context) { self.dropout.forward(&x, context) } else { x }
        };
        if self.norm_last {
            let h = attention(x, context);
            let x = self.norm1.forward(&(x + dropped(h, context)), context);
            let h = self.perceptron(&x, context);
            return self.norm2.forward(&(&x + dropped(h, context)), context);
        }
        let h = attention(&self.norm1.forward(x, context), context);
        let x = x + dropped(h, context);
        let h = self.perceptron(&self.norm2.forward(&x, context), context);
        x + dropped(h, context)
    }

    fn perceptron(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        let h = self.linear1.forward(x, context);
        let h = match self.activation {
            Activation::Relu => h.relu(),
            Activation::Gelu => h.gelu(),
            Activation::GeluTanh => h.gelu_tanh(),
        };
        self.linear2.forward(&h, context)
    }
}

impl Layer for TransformerBlock {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        self.with_attention(x, context, |x, context| self.self_attn.forward(x, context))
    }
}
