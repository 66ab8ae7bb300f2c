//! A convolutional network that reads digits of 28 x 28 pixels.

use super::{Options, trained};
use crate::failure::Failure;
use flate2::read::GzDecoder;
use std::io::{Read, Write};
use wengert::autograd::default_dtype;
use wengert::nn::data::{Loader, Tensors};
use wengert::nn::optimise::{AdamW, Rule, Schedule};
use wengert::nn::{
    Context, Conv2d, Dropout, Flatten, Layer, Linear, MaxPool2d, ModelMethods, Relu, Sequential, Trainer, accuracy,
    sequential,
};
use wengert::prelude::*;
use wengert::view::json::{number, object};

/// 10,000 images of 28 x 28 bytes, and as many labels; see `data/README.md`.
static IMAGES: &[u8] = include_bytes!("../../data/mnist10k-images.u8.gz");
static LABELS: &[u8] = include_bytes!("../../data/mnist10k-labels.u8.gz");

const SIDE: usize = 28;
/// The images that are trained on; the others are held out.
const TRAINED: usize = 8000;
const BATCH: usize = 64;
const EPOCHS: u64 = 6;

type Batch = (Tensor, Tensor);

/// The images as f32 from 0 to 1, `[count, 1, 28, 28]`, and their labels.
pub fn load() -> Tensors<Batch> {
    let bytes = |packed: &[u8]| {
        let mut bytes = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut bytes).expect("the embedded data is whole");
        bytes
    };
    let pixels: Vec<f32> = bytes(IMAGES).into_iter().map(|pixel| f32::from(pixel) / 255.0).collect();
    let labels: Vec<i64> = bytes(LABELS).into_iter().map(i64::from).collect();
    Tensors::new((Tensor::from_vec(pixels, [labels.len(), 1, SIDE, SIDE]), Tensor::from(labels)))
}

fn network(key: &mut Key) -> Sequential {
    sequential![
        Conv2d::new(1, 16, 3, key),
        Relu,
        MaxPool2d::new(2),
        Conv2d::new(16, 32, 3, key),
        Relu,
        MaxPool2d::new(2),
        Flatten,
        Dropout::new(0.3),
        Linear::new(800, 64, key),
        Relu,
        Linear::new(64, 10, key),
    ]
}

/// Trains on the first 8,000 images, and tests on the last 2,000. Returns the accuracy.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<f64, Failure> {
    let (train, held_out) = load().split_at(TRAINED);
    let epochs = options.epochs.unwrap_or(EPOCHS);
    let mut loader = Loader::new(train, BATCH).shuffled(options.seed);
    let model = default_dtype(DType::F32, || network(&mut Key::new(options.seed)));
    if !options.quiet && !options.json {
        writeln!(out, "A convolutional network learns to read digits: {} parameters, f32\n", model.parameters())?;
    }
    let steps = epochs as usize * loader.batches();
    let optimiser = AdamW::new(2e-3).schedule(Schedule::cosine(steps).warm_up(50.min(steps / 4)));
    let loss = |model: &Sequential, (images, labels): &Batch, context: &mut Context<'_>| {
        model.forward(images, context).cross_entropy(labels, &CrossEntropy::new())
    };
    let validation = Loader::new(held_out, 500);
    let trainer = Trainer::new(model, optimiser, loss)
        .validate(validation)
        .metric("test accuracy", |model, (images, labels), context| accuracy(&model.forward(images, context), labels));
    let mut trainer = trained(trainer, &mut loader, epochs, options, out)?;
    let accuracy = trainer.evaluate().map_err(super::told)?[0].1;
    match options.json {
        true => writeln!(out, "{}", object(&[("test_accuracy", number(accuracy))]))?,
        false => writeln!(out, "  test accuracy {:.2} % on the 2,000 images it never saw", 100.0 * accuracy)?,
    }
    Ok(accuracy)
}
