//! Learning without labels (SimSiam): two disturbed views of a digit should have the same features. Equal features for all digits would do
//! too, and the network finds them, unless the gradient passes through one of the two views only: the other is `detach`ed.

use crate::{Length, Outcome};
use wengert::nn::data::{Loader, Tensors};
use wengert::nn::optimise::Adam;
use wengert::nn::{BatchNorm, Context, Layer, Linear, Relu, Trainer};
use wengert::prelude::*;
use wengert_cli::digits::{Digits, PIXELS, disturbed};
use wengert_view::Plot;

const HIDDEN: usize = 128;
const FEATURES: usize = 32;
/// The number of digits whose labels the classifier knows.
const LABELLED: usize = 100;

#[derive(Clone, Tree)]
struct Siamese {
    encoder: (Linear, BatchNorm, Relu, Linear),
    predictor: (Linear, BatchNorm, Relu, Linear),
}

impl Siamese {
    fn new(key: &mut Key) -> Siamese {
        let network = |inputs, hidden, key: &mut Key| {
            (Linear::new(inputs, hidden, key), BatchNorm::new(hidden), Relu, Linear::new(hidden, FEATURES, key))
        };
        Siamese { encoder: network(PIXELS, HIDDEN, key), predictor: network(FEATURES, FEATURES, key) }
    }

    /// Minus the cosine between what is predicted from each view and the features of the other.
    fn loss(&self, images: &Tensor, is_stopped: bool, context: &mut Context) -> Tensor {
        let [a, b] = [(); 2].map(|_| self.encoder.forward(&disturbed(images, &mut context.key()), context));
        let mut distance = |from: &Tensor, to: &Tensor| {
            let to = if is_stopped { to.detach() } else { to.clone() };
            -self.predictor.forward(from, context).cosine_similarity(&to, 1, 1e-8).mean()
        };
        (distance(&a, &b) + distance(&b, &a)) / 2.0
    }

    fn features(&self, images: &Tensor) -> Tensor {
        self.encoder.forward(images, &mut Context::evaluation()).normalize(2.0, 1, 1e-8)
    }
}

/// The deviation of the features over digits: 1 if they point in all directions, 0 if all are equal.
fn spread(model: &Siamese, images: &Tensor, _: &mut Context) -> Tensor {
    model.features(images).var_over(0).sum().sqrt()
}

/// How often the nearest of a few labelled digits has the right label. It is the mean over many choices of the few.
fn accuracy(features: impl Fn(&Tensor) -> Tensor, train: &Digits, test: &Digits) -> f64 {
    let distances = features(&test.images).cdist(&features(&train.images));
    let sets = train.count() / LABELLED;
    let right = (0..sets).map(|set| {
        let range = set * LABELLED..(set + 1) * LABELLED;
        let nearest = distances.slice((.., range.clone())).argmin_along(1);
        train.labels.slice(range).index_select(0, &nearest).equal(&test.labels).cast(DType::F64).mean().item()
    });
    right.sum::<f64>() / sets as f64
}

/// Trains with and without stopped gradients.
pub fn run(length: Length) -> Outcome {
    let (train, test) = Digits::load();
    let [(stopped, stopped_spread), (open, open_spread)] = [true, false].map(|is_stopped| {
        let model = default_dtype(DType::F32, || Siamese::new(&mut Key::new(0)));
        let loss =
            move |model: &Siamese, images: &Tensor, context: &mut Context| model.loss(images, is_stopped, context);
        let mut trainer = Trainer::new(model, Adam::new(1e-2), loss)
            .validate(Loader::new(Tensors::new(test.images.clone()), 360))
            .metric("spread", spread)
            .quiet();
        let mut loader = Loader::new(Tensors::new(train.images.clone()), 128).shuffled(0).drop_last();
        let report = trainer.fit(&mut loader, length.of(200, 7) as u64).unwrap_or_else(|error| error.raise());
        (accuracy(|images| trainer.model().features(images), &train, &test), report.metric("spread"))
    });
    let pixels = accuracy(Tensor::clone, &train, &test);
    Outcome {
        plot: Plot::new("Features of digits, learnt without labels")
            .values("with stopped gradients", &stopped_spread)
            .values("without", &open_spread)
            .x_label("epoch")
            .y_label("spread of the features"),
        text: format!(
            "Right labels from the nearest of {LABELLED} labelled digits: {stopped:.3} by features, {open:.3} by those learnt without \
             stopped gradients, {pixels:.3} by pixels\n"
        ),
        figure: stopped - open,
    }
}
