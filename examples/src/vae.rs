//! A variational autoencoder of handwritten digits: gradients flow through random numbers, because these come from outside
//! (`z = mean + deviation * noise`).

use crate::{Length, Outcome};
use wengert::nn::data::{Loader, Tensors};
use wengert::nn::optimise::Adam;
use wengert::nn::{Context, Layer, Linear, Trainer};
use wengert::prelude::*;
use wengert_cli::digits::{Digits, PIXELS, SIDE};
use wengert_view::Plot;

const HIDDEN: usize = 128;
const LATENT: usize = 8;

#[derive(Clone, Tree)]
struct Autoencoder {
    encoder: Linear,
    mean: Linear,
    log_variance: Linear,
    decoder: (Linear, Linear),
}

impl Autoencoder {
    fn new(key: &mut Key) -> Autoencoder {
        Autoencoder {
            encoder: Linear::new(PIXELS, HIDDEN, key),
            mean: Linear::new(HIDDEN, LATENT, key),
            log_variance: Linear::new(HIDDEN, LATENT, key),
            decoder: (Linear::new(LATENT, HIDDEN, key), Linear::new(HIDDEN, PIXELS, key)),
        }
    }

    /// Logits of the pixels.
    fn decode(&self, z: &Tensor, context: &mut Context) -> Tensor {
        self.decoder.1.forward(&self.decoder.0.forward(z, context).relu(), context)
    }
}

/// Minus the evidence lower bound for each image: reconstruction, and divergence from the prior.
fn loss(model: &Autoencoder, images: &Tensor, context: &mut Context) -> Tensor {
    let h = model.encoder.forward(images, context).relu();
    let (mean, log_variance) = (model.mean.forward(&h, context), model.log_variance.forward(&h, context));
    let noise = match context.is_training() {
        true => context.key().normal(mean.shape(), mean.dtype()),
        false => mean.zeros_like(),
    };
    let z = &mean + (&log_variance * 0.5).exp() * noise;
    let pixels = model.decode(&z, context).binary_cross_entropy_with_logits(images, None, None, Reduction::Sum);
    let divergence = (mean.square() + log_variance.exp() - log_variance - 1.0).sum() * 0.5;
    (pixels + divergence) / images.size(0) as f64
}

/// Trains, and draws digits from random codes.
pub fn run(length: Length) -> Outcome {
    let (train, test) = Digits::load();
    let mut loader = Loader::new(Tensors::new(train.images), 64).shuffled(0);
    let model = default_dtype(DType::F32, || Autoencoder::new(&mut Key::new(0)));
    let mut trainer = Trainer::new(model, Adam::new(2e-3), loss)
        .validate(Loader::new(Tensors::new(test.images), 360))
        .metric("test", loss)
        .quiet();
    let report = trainer.fit(&mut loader, length.of(100, 4) as u64).unwrap_or_else(|error| error.raise());

    let codes = Key::new(1).normal([8, LATENT], DType::F32);
    let drawn = trainer.model().decode(&codes, &mut Context::evaluation()).sigmoid();
    let bounds = report.metric("test");
    Outcome {
        plot: Plot::new("A variational autoencoder of digits")
            .values("training", &report.losses())
            .values("unseen digits, at the mean code", &bounds)
            .x_label("epoch")
            .y_label("nats per image"),
        text: in_characters(&drawn),
        figure: bounds[bounds.len() - 1],
    }
}

/// Images side by side.
fn in_characters(images: &Tensor) -> String {
    let pixels = images.reshape([images.size(0), SIDE, SIDE]).permute([1, 0, 2]).to_f64_vec();
    let shade = |pixel: &f64| [' ', '░', '▒', '▓', '█'][(pixel * 4.999) as usize];
    let row = |row: &[f64]| {
        row.chunks(SIDE).map(|part| part.iter().map(shade).chain("  ".chars()).collect::<String>()).collect::<String>()
    };
    pixels.chunks(images.size(0) * SIDE).map(|pixels| row(pixels) + "\n").collect()
}
