//! Distillation: a small student learns the soft outputs of a larger teacher, and sees no label. Both are in the tree that is trained, but
//! the gradient stops at the teacher, whether it runs under `no_grad` or its output is `detach`ed.

use crate::{Length, Outcome};
use wengert::nn::data::{Loader, Tensors};
use wengert::nn::optimise::Adam;
use wengert::nn::{Context, Layer, Linear, Relu, Trainer, accuracy};
use wengert::prelude::*;
use wengert_cli::digits::{CLASSES, Digits, PIXELS};
use wengert_view::Plot;

type Network = (Linear, Relu, Linear);
type Batch = (Tensor, Tensor);

/// A high temperature shows the student which wrong classes the teacher finds likely.
const TEMPERATURE: f64 = 4.0;
/// The number of labels for the student that has no teacher.
const FEW: i64 = 50;

#[derive(Clone, Tree)]
struct Pair {
    student: Network,
    teacher: Network,
}

fn network(hidden: usize, key: &mut Key) -> Network {
    default_dtype(DType::F32, || (Linear::new(PIXELS, hidden, key), Relu, Linear::new(hidden, CLASSES, key)))
}

/// The cross-entropy of softened outputs: the divergence from the teacher, up to a constant.
fn distil(pair: &Pair, x: &Tensor, teach: impl Fn(&Network, &Tensor) -> Tensor) -> Tensor {
    let logits = pair.student.forward(x, &mut Context::evaluation()) / TEMPERATURE;
    let soft = (teach(&pair.teacher, x) / TEMPERATURE).softmax(1);
    logits.cross_entropy(&soft, &CrossEntropy::new()) * TEMPERATURE.powi(2)
}

fn detached(teacher: &Network, x: &Tensor) -> Tensor {
    teacher.forward(x, &mut Context::evaluation()).detach()
}

fn unrecorded(teacher: &Network, x: &Tensor) -> Tensor {
    no_grad(|| teacher.forward(x, &mut Context::evaluation()))
}

fn from_labels(network: &Network, (x, label): &Batch, context: &mut Context) -> Tensor {
    network.forward(x, context).cross_entropy(label, &CrossEntropy::new())
}

/// Trains a tree of which one part is the classifier, and returns it with its test accuracy after each epoch.
fn train<M: Tree + Clone + 'static>(
    model: M,
    (train, test, epochs): (&Digits, &Digits, usize),
    loss: impl Fn(&M, &Batch, &mut Context) -> Tensor + 'static,
    classifier: fn(&M) -> &Network,
) -> (M, Vec<f64>) {
    let batches = |set: &Digits, size| Loader::new(Tensors::new((set.images.clone(), set.labels.clone())), size);
    let accuracy = move |model: &M, (x, label): &Batch, context: &mut Context| {
        accuracy(&classifier(model).forward(x, context), label)
    };
    let mut trainer =
        Trainer::new(model, Adam::new(3e-3), loss).validate(batches(test, 360)).metric("accuracy", accuracy).quiet();
    let report = trainer.fit(&mut batches(train, 64).shuffled(0), epochs as u64).unwrap_or_else(|error| error.raise());
    (trainer.into_model(), report.metric("accuracy"))
}

/// Trains the teacher, then a student by its outputs and one by a few labels.
pub fn run(length: Length) -> Outcome {
    let (digits, test) = Digits::load();
    let (epochs, key) = (length.of(100, 5), &mut Key::new(0));
    let (teacher, by_teacher) = train(network(256, key), (&digits, &test, epochs), from_labels, |network| network);
    let pair = Pair { student: network(24, key), teacher };

    // Every epoch goes through the few labelled digits many times, so both students take equally many steps.
    let again = Tensor::arange(digits.count()).remainder(FEW);
    let few = Digits { images: digits.images.index_select(0, &again), labels: digits.labels.index_select(0, &again) };
    let (_, by_few) = train(pair.student.clone(), (&few, &test, epochs), from_labels, |network| network);

    let gradient =
        |teach: fn(&Network, &Tensor) -> Tensor| grad(|pair: &Pair| distil(pair, &test.images, teach))(&pair);
    let (one, other) = (gradient(detached), gradient(unrecorded));
    assert_eq!(one.leaves(), other.leaves());
    assert!(one.teacher.leaves().iter().all(|leaf| leaf.abs().max().item() == 0.0));
    let loss = |pair: &Pair, (x, _): &Batch, _: &mut Context| distil(pair, x, unrecorded);
    let (trained, by_student) = train(pair.clone(), (&digits, &test, epochs), loss, |pair| &pair.student);
    assert_eq!(trained.teacher.leaves(), pair.teacher.leaves());

    Outcome {
        plot: Plot::new("Distillation of a network that reads digits")
            .values("teacher, 1437 labels", &by_teacher)
            .values("student, outputs of the teacher", &by_student)
            .values(format!("student, {FEW} labels"), &by_few)
            .x_label("epoch")
            .y_label("accuracy on unseen digits"),
        text: String::new(),
        figure: by_student[epochs - 1],
    }
}
