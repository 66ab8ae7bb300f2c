//! A transformer that learns to write sonnets, character by character.

mod writer;

use super::{Options, trained};
use crate::failure::Failure;
use std::io::Write;
use wengert::autograd::default_dtype;
use wengert::nn::data::{Data, Loader, Text, Windows};
use wengert::nn::optimise::{AdamW, Group, Rule, Schedule};
use wengert::nn::{Context, Layer, ModelMethods, Trainer};
use wengert::prelude::*;
use wengert::view::json::{number, object};
use writer::{BLOCKS, Writer, written};

/// Shakespeare's sonnets; see `data/README.md`.
static TEXT: &str = include_str!("../../data/sonnets.txt");

const CONTEXT: usize = 96;
const BATCH: usize = 16;
const EPOCHS: u64 = 6;
/// A window begins every so many characters.
const STEP: usize = 8;
const DROPOUT: f64 = 0.3;

fn loss(model: &Writer, (tokens, next): &(Tensor, Tensor), context: &mut Context<'_>) -> Tensor {
    let logits = model.forward(tokens, context);
    let rows = next.elements();
    logits.reshape([rows, logits.size(-1)]).cross_entropy(&next.reshape([rows]), &CrossEntropy::new())
}

/// Trains on the first nine tenths of the text, tests on the last, and writes a few lines. Returns the loss in nats for each character.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<f64, Failure> {
    let vocabulary = Text::new(TEXT);
    let tokens = vocabulary.encode(TEXT).map_err(super::told)?;
    let trained_on = tokens.elements() * 9 / 10;
    let windows =
        |part: Tensor, step: usize| Windows::new(&part, CONTEXT).map(|windows| windows.step(step)).map_err(super::told);
    let mut loader = Loader::new(windows(tokens.slice(..trained_on), STEP)?, BATCH).shuffled(options.seed);
    let model = default_dtype(DType::F32, || Writer::new(vocabulary.tokens(), DROPOUT, &mut Key::new(options.seed)));
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
    let test = windows(tokens.slice(trained_on..), CONTEXT)?;
    let trainer =
        Trainer::new(model, optimiser, loss).average(0.999).validate(Loader::new(test, 16)).metric("test loss", loss);
    let mut trainer = trained(trainer, &mut loader, epochs, options, out)?;
    let nats = trainer.evaluate().map_err(super::told)?[0].1;
    if options.json {
        writeln!(out, "{}", object(&[("test_loss", number(nats))]))?;
        return Ok(nats);
    }
    writeln!(out, "  {nats:.3} nats for each character of the last tenth, which it never saw\n")?;
    if !options.quiet {
        writeln!(out, "{}", written(trainer.averaged(), &vocabulary, 500, CONTEXT, &mut Key::new(options.seed)))?;
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
    let vocabulary = Text::new(TEXT);
    let model = default_dtype(DType::F32, || Writer::new(vocabulary.tokens(), 0.0, &mut Key::new(0)));
    let tokens = vocabulary.encode(TEXT).expect("its own characters");
    let data = Windows::new(&tokens, CONTEXT).expect("the text is long enough");
    let batch = data.batch(&(0..windows).collect::<Vec<_>>()).expect("the text is long enough");
    let nats = loss(&model, &batch, &mut Context::evaluation()).item();
    (written(&model, &vocabulary, characters, CONTEXT, &mut Key::new(0)), nats)
}
