//! A transformer that learns to write sonnets, character by character.

use super::{Options, trained};
use crate::failure::Failure;
use std::io::Write;
use wengert::autograd::default_dtype;
use wengert::nn::data::{Data, Loader};
use wengert::nn::optimise::{AdamW, Group, Rule, Schedule};
use wengert::nn::{
    Context, Dropout, Embedding, KeyValueCache, Layer, LayerNorm, Linear, ModelMethods, Trainer, TransformerBlock,
};
use wengert::prelude::*;

/// Shakespeare's sonnets; see `data/README.md`.
static TEXT: &str = include_str!("../../data/sonnets.txt");

const WIDTH: usize = 128;
const HEADS: usize = 4;
const BLOCKS: usize = 3;
const CONTEXT: usize = 96;
const BATCH: usize = 16;
const EPOCHS: u64 = 12;

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
    fn new(vocabulary: usize, dropout: f64, key: &mut Key) -> Writer {
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

/// The distinct characters of the text, in order.
fn vocabulary() -> Vec<char> {
    let mut characters: Vec<char> = TEXT.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    characters
}

fn encoded(text: &str, vocabulary: &[char]) -> Vec<i64> {
    text.chars().filter_map(|c| vocabulary.binary_search(&c).ok()).map(|place| place as i64).collect()
}

/// Windows of a text: characters, and those that follow them.
struct Windows {
    tokens: Vec<i64>,
    stride: usize,
}

impl Data for Windows {
    type Batch = (Tensor, Tensor);

    fn len(&self) -> usize {
        (self.tokens.len() - CONTEXT - 1) / self.stride + 1
    }

    fn batch(&self, positions: &[usize]) -> Result<(Tensor, Tensor), Error> {
        let part = |shift: usize| {
            let windows = positions.iter().flat_map(|k| &self.tokens[k * self.stride + shift..][..CONTEXT]);
            Tensor::from_vec(windows.copied().collect(), [positions.len(), CONTEXT])
        };
        Ok((part(0), part(1)))
    }
}

fn loss(model: &Writer, (tokens, next): &(Tensor, Tensor), context: &mut Context<'_>) -> Tensor {
    let logits = model.forward(tokens, context);
    let rows = next.elements();
    logits.reshape([rows, logits.size(-1)]).cross_entropy(&next.reshape([rows]), &CrossEntropy::new())
}

/// Trains on the first nine tenths of the text, tests on the last, and writes a few lines. Returns the loss in nats for each character.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<f64, Failure> {
    let vocabulary = vocabulary();
    let tokens = encoded(TEXT, &vocabulary);
    let (train, held_out) = tokens.split_at(tokens.len() * 9 / 10);
    let mut loader = Loader::new(Windows { tokens: train.to_vec(), stride: 8 }, BATCH).shuffled(options.seed);
    let model = default_dtype(DType::F32, || Writer::new(vocabulary.len(), 0.3, &mut Key::new(options.seed)));
    let epochs = options.epochs.unwrap_or(EPOCHS);
    if !options.quiet && !options.json {
        let (blocks, parameters) = (BLOCKS, model.parameters());
        writeln!(out, "A transformer of {blocks} blocks learns to write sonnets: {parameters} parameters, f32\n")?;
    }
    let steps = epochs as usize * loader.batches();
    let optimiser = AdamW::new(1e-3)
        .weight_decay(0.1)
        .betas(0.9, 0.99)
        .group("*bias", Group::new().weight_decay(0.0))
        .group("*norm*", Group::new().weight_decay(0.0))
        .schedule(Schedule::cosine(steps).down_to(0.05).warm_up(100.min(steps / 4)))
        .clip_norm(1.0);
    let test = Windows { tokens: held_out.to_vec(), stride: CONTEXT };
    let trainer =
        Trainer::new(model, optimiser, loss).average(0.999).validate(Loader::new(test, 16)).metric("test loss", loss);
    let mut trainer = trained(trainer, &mut loader, epochs, options, out)?;
    let nats = trainer.evaluate().map_err(super::told)?[0].1;
    if options.json {
        writeln!(out, "{{\"test_loss\":{nats}}}")?;
        return Ok(nats);
    }
    writeln!(out, "  {nats:.3} nats for each character of the last tenth, which it never saw\n")?;
    if !options.quiet {
        writeln!(out, "{}", written(trainer.averaged(), &vocabulary, 500, &mut Key::new(options.seed)))?;
    }
    Ok(nats)
}

/// A text of an untrained model, and its loss on some windows: for tests.
///
/// ```
/// let (text, nats) = wengert_cli::train::sonnets::sample(2, 20);
/// assert!(text.len() >= 20 && nats > 2.0);
/// ```
pub fn sample(windows: usize, characters: usize) -> (String, f64) {
    let vocabulary = vocabulary();
    let model = default_dtype(DType::F32, || Writer::new(vocabulary.len(), 0.0, &mut Key::new(0)));
    let data = Windows { tokens: encoded(TEXT, &vocabulary), stride: CONTEXT };
    let batch = data.batch(&(0..windows).collect::<Vec<_>>()).expect("the text is long enough");
    let nats = loss(&model, &batch, &mut Context::evaluation()).item();
    (written(&model, &vocabulary, characters, &mut Key::new(0)), nats)
}

/// A text that the model writes.
fn written(model: &Writer, vocabulary: &[char], characters: usize, key: &mut Key) -> String {
    let mut caches = vec![KeyValueCache::default(); BLOCKS];
    let mut token = encoded("\n", vocabulary)[0];
    let mut text = String::from("  ");
    for _ in 0..characters {
        let logits = model.continued(&Tensor::from([[token]]), &mut caches, &mut Context::evaluation());
        let chances = (logits.reshape([vocabulary.len()]) / 0.8).softmax(-1).to_f64_vec();
        token = drawn(&chances, key.next().uniform([], DType::F64).item()) as i64;
        match vocabulary[token as usize] {
            '\n' => text.push_str("\n  "),
            c => text.push(c),
        }
    }
    text
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
