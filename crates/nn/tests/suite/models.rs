//! Whole models, written as a user would, have the losses that PyTorch has, step by step.

use wengert::nn::files::NamedTensors;
use wengert::nn::optimise::{Adam, AdamW, RmsProp, Rule, Sgd};
use wengert::nn::*;
use wengert::prelude::*;

type Batch = (Tensor, Tensor);

// --- GRU
#[derive(Clone, Tree)]
struct Reader {
    rnn: Gru,
    output: Linear,
}

fn gru(batch: &Batch, start: impl Fn(Reader) -> Reader) -> Result<Vec<f64>, Error> {
    let key = &mut Key::new(0);
    let model = start(Reader { rnn: Gru::new(3, 8, key), output: Linear::new(8, 2, key) });
    let loss = |model: &Reader, (x, labels): &Batch, context: &mut Context<'_>| {
        let last = model.rnn.last(x, context);
        model.output.forward(&last, context).cross_entropy(labels, &CrossEntropy::new())
    };
    let mut trainer = Trainer::new(model, Sgd::new(0.1).momentum(0.9), loss).quiet();
    (0..10).map(|_| trainer.step(batch)).collect()
}
// --- LSTM
#[derive(Clone, Tree)]
struct Echo {
    rnn: Lstm,
    output: Linear,
}

fn lstm(batch: &Batch, start: impl Fn(Echo) -> Echo) -> Result<Vec<f64>, Error> {
    let key = &mut Key::new(0);
    let model = start(Echo { rnn: Lstm::stacked(2, 6, 2, false, key), output: Linear::new(6, 1, key) });
    let loss = |model: &Echo, (x, y): &Batch, context: &mut Context<'_>| {
        let states = model.rnn.forward(x, context);
        model.output.forward(&states, context).mse_loss(y, Reduction::Mean)
    };
    let mut trainer = Trainer::new(model, Adam::new(0.01).clip_norm(1.0), loss).quiet();
    (0..10).map(|_| trainer.step(batch)).collect()
}
// --- CNN
fn cnn(batch: &Batch, start: impl Fn(Sequential) -> Sequential) -> Result<Vec<f64>, Error> {
    let key = &mut Key::new(0);
    let model = start(sequential![
        Conv2d::new(1, 4, 3, key).padding(1),
        BatchNorm::new(4),
        Relu,
        MaxPool2d::new(2),
        Conv2d::new(4, 8, 3, key),
        BatchNorm::new(8),
        Relu,
        Flatten,
        Linear::new(32, 3, key),
    ]);
    let loss = |model: &Sequential, (x, labels): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).cross_entropy(labels, &CrossEntropy::new())
    };
    let mut trainer = Trainer::new(model, AdamW::new(0.01).weight_decay(0.1), loss).quiet();
    let mut losses: Vec<f64> = (0..10).map(|_| trainer.step(batch)).collect::<Result<_, _>>()?;
    losses.push(loss(trainer.model(), batch, &mut Context::evaluation()).item());
    Ok(losses)
}
// --- VAE
#[derive(Clone, Tree)]
struct Autoencoder {
    encoder: Linear,
    mean: Linear,
    log_variance: Linear,
    decoder: (Linear, Tanh, Linear),
}

fn vae(batch: &Batch, start: impl Fn(Autoencoder) -> Autoencoder) -> Result<Vec<f64>, Error> {
    let key = &mut Key::new(0);
    let model = start(Autoencoder {
        encoder: Linear::new(16, 12, key),
        mean: Linear::new(12, 2, key),
        log_variance: Linear::new(12, 2, key),
        decoder: (Linear::new(2, 12, key), Tanh, Linear::new(12, 16, key)),
    });
    let loss = |model: &Autoencoder, (x, noise): &Batch, context: &mut Context<'_>| {
        let h = model.encoder.forward(x, context).tanh();
        let (mean, log_variance) = (model.mean.forward(&h, context), model.log_variance.forward(&h, context));
        let logits = model.decoder.forward(&(&mean + (&log_variance / 2.0).exp() * noise), context);
        let pixels = logits.binary_cross_entropy_with_logits(x, None, None, Reduction::Sum);
        let divergence = (mean.square() + log_variance.exp() - log_variance - 1.0).sum() * 0.5;
        (pixels + divergence) / x.size(0) as f64
    };
    let mut trainer = Trainer::new(model, RmsProp::new(0.005), loss).quiet();
    (0..10).map(|_| trainer.step(batch)).collect()
}
// --- GP
#[derive(Clone, Tree)]
struct Process {
    scale: Tensor,
    height: Tensor,
    noise: Tensor,
}

fn gp(batch: &Batch, start: impl Fn(Process) -> Process) -> Result<Vec<f64>, Error> {
    let [scale, height, noise] = [0.0, 0.0, -1.0].map(Tensor::from);
    let loss = |model: &Process, (x, y): &Batch, _: &mut Context<'_>| {
        let squares = (x - x.t()).square();
        let kernel = (&model.height - squares / 2.0 * (&model.scale * -2.0).exp()).exp();
        let factor = (kernel + model.noise.exp() * Tensor::eye(x.size(0))).cholesky();
        let solved = factor.solve_triangular(&y.unsqueeze(1), Triangle::lower());
        solved.square().sum() * 0.5 + factor.diagonal().log().sum()
    };
    let mut trainer = Trainer::new(start(Process { scale, height, noise }), Adam::new(0.05), loss).quiet();
    (0..20).map(|_| trainer.step(batch)).collect()
}
// --- end

/// Loads the weights that PyTorch began with.
fn start<M: Tree>(name: &'static str) -> impl Fn(M) -> M {
    move |mut model| {
        let prefix = format!("{name}/");
        let own = record().tensors.into_iter();
        let own = own.filter_map(|(name, x)| Some((name.strip_prefix(&prefix)?.to_string(), x)));
        let weights = NamedTensors { tensors: own.collect(), ..NamedTensors::default() };
        let problems = weights.load_into(&mut model, true);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        model
    }
}

fn record() -> NamedTensors {
    NamedTensors::parse(include_bytes!("../data/models.safetensors")).expect("the record")
}

#[test]
fn five_models_have_the_recorded_losses() {
    let record = record().tensors;
    let batch = |name: &str| (record[&format!("{name}@0")].clone(), record[&format!("{name}@1")].clone());
    let found = [
        ("gru", gru(&batch("gru"), start("gru"))),
        ("lstm", lstm(&batch("lstm"), start("lstm"))),
        ("cnn", cnn(&batch("cnn"), start("cnn"))),
        ("vae", vae(&batch("vae"), start("vae"))),
        ("gp", gp(&batch("gp"), start("gp"))),
    ];
    for (name, losses) in found {
        let (losses, recorded) = (losses.expect("it trains"), record[&format!("{name}@losses")].to_f64_vec());
        assert_eq!(losses.len(), recorded.len(), "{name}");
        for (step, (found, recorded)) in losses.iter().zip(&recorded).enumerate() {
            assert!((found / recorded - 1.0).abs() < 1e-10, "{name}, step {step}: {found}, not {recorded}");
        }
        assert!(recorded[recorded.len() - 1] < recorded[0], "{name} learns");
    }
}

/// Where an error of a layer says that it happened.
fn place(model: &(impl Layer + Tree), shape: &[usize]) -> String {
    let error = catch(|| model.forward(&Tensor::ones(shape), &mut Context::evaluation().of(model)));
    error.expect_err("it does not fit").operation().to_string()
}

#[test]
fn an_error_names_the_place_of_its_layer() {
    let key = &mut Key::new(0);
    let mut linear = |inputs: usize, outputs: usize| Linear::new(inputs, outputs, key);
    let deep = sequential![linear(2, 3), sequential![linear(3, 4), Tanh, MaxPool2d::new(2)]];
    assert_eq!(place(&deep, &[5, 2]), "layer 1.2 (MaxPool2d), max_pool2d");
    assert_eq!(place(&deep, &[5, 7]), "layer 0 (Linear), linear");
    assert_eq!(place(&(linear(2, 3), Residual::new((Tanh, linear(4, 3)))), &[5, 2]), "layer 1.1 (Linear), linear");
    assert_eq!(place(&(linear(2, 3), Relu, MaxPool2d::new(2)), &[5, 2]), "layer 2 (MaxPool2d), max_pool2d");
    let kept = (linear(2, 3), Checkpointed::new((linear(3, 4), linear(3, 4))));
    assert_eq!(place(&kept, &[5, 2]), "layer 1.1 (Linear), linear");
    let kept = (linear(2, 3), Checkpointed::new((linear(3, 4), MaxPool2d::new(2))));
    assert_eq!(place(&kept, &[5, 2]), "layer 1.1 (MaxPool2d), max_pool2d");
    assert_eq!(place(&vec![linear(2, 2), linear(3, 2)], &[5, 2]), "layer 1 (Linear), linear");
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let key = &mut Key::new(0);
    for groups in [0, 3] {
        let error = catch(|| Conv2d::grouped(4, 6, 3, groups, &mut key.clone())).expect_err("groups");
        assert_eq!(*error.kind(), ErrorKind::Argument);
        assert!(error.message().contains(&format!("divided into {groups} groups")), "{error}");
        assert!(error.to_string().contains("models.rs"), "{error}");
    }
    let attention = MultiHeadAttention::new(8, 2, key);
    for model in [attention.clone(), attention.rotary()] {
        let error = catch(|| model.predict(&Tensor::ones([5, 8]))).expect_err("one sequence");
        assert!(error.to_string().contains("[batch, tokens, width], not [5, 8]"), "{error}");
        assert!(error.to_string().contains("unsqueeze(0)"), "{error}");
    }
}
