//! A perceptron that reads digits of 8 x 8 pixels.

use super::{Options, trained};
use crate::digits::{CLASSES, Digits, PIXELS, disturbed};
use crate::failure::Failure;
use crate::picture::pictures;
use std::io::Write;
use wengert::autograd::default_dtype;
use wengert::nn::data::{Loader, Tensors};
use wengert::nn::optimise::{Rule, Schedule, Sgd};
use wengert::nn::{Context, Layer, Linear, ModelMethods, Relu, Trainer, accuracy};
use wengert::prelude::*;
use wengert::view::json::{number, object};

const BATCH: usize = 32;
const HIDDEN: usize = 64;
/// Enough to recognise more than 95 % of the held-out digits.
const EPOCHS: u64 = 100;
/// Enough to see it learn.
pub const QUICK: u64 = 20;

type Network = (Linear, Relu, Linear);
type Batch = (Tensor, Tensor);

/// The result of a run.
pub struct Outcome {
    /// The held-out digits.
    pub held_out: Digits,
    /// What the network reads.
    pub guesses: Vec<i64>,
    /// The fraction of them that is right.
    pub accuracy: f64,
}

/// Trains, and tests on the held-out digits.
///
/// ```
/// use wengert_cli::train::{Options, digits::fit};
/// let options = Options { epochs: Some(2), quiet: true, ..Options::default() };
/// assert!(fit(&options, &mut std::io::sink()).unwrap().accuracy > 0.5);
/// ```
pub fn fit(options: &Options, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let (train, held_out) = Digits::load();
    let epochs = options.epochs.unwrap_or(EPOCHS);
    let mut loader = Loader::new(Tensors::new((train.images, train.labels)), BATCH).shuffled(options.seed);
    let mut key = Key::new(options.seed);
    let network: Network = default_dtype(DType::F32, || {
        (Linear::new(PIXELS, HIDDEN, &mut key), Relu, Linear::new(HIDDEN, CLASSES, &mut key))
    });
    if !options.quiet && !options.json {
        let parameters = network.parameters();
        writeln!(out, "A network learns to read digits: {PIXELS}-{HIDDEN}-{CLASSES}, {parameters} parameters, f32\n")?;
    }
    let optimiser = Sgd::new(0.1).momentum(0.9).schedule(Schedule::cosine(epochs as usize * loader.batches()));
    let loss = |network: &Network, (images, labels): &Batch, context: &mut Context<'_>| {
        let images = disturbed(images, &mut context.key());
        network.forward(&images, context).cross_entropy(labels, &CrossEntropy::new())
    };
    let trainer = trained(Trainer::new(network, optimiser, loss), &mut loader, epochs, options, out)?;
    let logits = trainer.model().predict(&held_out.images);
    let accuracy = accuracy(&logits, &held_out.labels).item();
    Ok(Outcome { guesses: logits.argmax_along(-1).to_vec(), held_out, accuracy })
}

/// Trains, and shows what the network reads.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let Outcome { held_out, guesses, accuracy } = fit(options, out)?;
    if options.json {
        return Ok(writeln!(out, "{}", object(&[("test_accuracy", number(accuracy))]))?);
    }
    let (count, percent) = (held_out.count(), 100.0 * accuracy);
    let right = (accuracy * count as f64).round();
    writeln!(out, "  test accuracy {percent:.1} %: {right} of {count} digits it never saw\n")?;
    if !options.quiet {
        write!(out, "{}", pictures(&held_out, &guesses))?;
    }
    Ok(())
}
