//! Settings, weights and uses that make no sense are refused, and what fails leaves everything as it was.

use wengert::nn::files::NamedTensors;
use wengert::nn::optimise::{Adam, Lbfgs, Lion, Number, Optimiser, Plateau, Rule, Schedule, Sgd};
use wengert::nn::*;
use wengert::prelude::*;

/// The error of a call is about this, and has a line of this file.
#[track_caller]
fn refused<R>(f: impl FnOnce() -> R, about: &str) -> Error {
    let Err(error) = catch(f) else { panic!("nothing is refused: {about}") };
    assert!(error.to_string().contains(about), "{error}");
    assert!(error.line().is_some_and(|line| line.file().ends_with("mistakes.rs")), "{error}");
    error
}

#[test]
fn settings_out_of_their_range() {
    refused(|| Sgd::new(f64::NAN), "NaN is not a finite number");
    refused(|| Adam::new(-0.1), "-0.1 is not a finite number");
    refused(|| Adam::new(0.1).betas(1.0, 0.9), "1 is not from 0");
    refused(|| Lion::new(0.1).betas(0.9, -0.5), "-0.5 is not from 0");
    refused(|| Sgd::new(0.1).clip_norm(-1.0), "-1 is not at least 0");
    refused(|| Sgd::new(0.1).clip_value(f64::NAN), "NaN is not at least 0");
    let key = &mut Key::new(0);
    refused(|| Rnn::stacked(3, 5, 0, false, &mut Key::new(0)), "0 layers");
    refused(|| Rnn::new(3, 5, &mut Key::new(0)).dropout(-1.0), "-1");
    refused(|| init::orthogonal([4], &mut Key::new(0)), "no rows and columns");
    refused(|| Embedding::new(4, 2, &mut Key::new(0)).padding_index(9), "9 is not a row of 4");
    let from_the_end = Embedding::new(4, 2, key).padding_index(-1);
    assert_eq!(from_the_end.forward(&Tensor::from([3i64]), &mut Context::evaluation()), Tensor::zeros([1, 2]));
    let (one, two) = (Tensor::from([1.0]), Tensor::from([2.0]));
    refused(|| one.huber_loss(&two, -1.0, Reduction::Mean), "-1");
}

#[test]
fn weights_of_other_layers() {
    let w = |rows: usize, columns: usize| Tensor::ones([rows, columns]);
    refused(|| Lstm::of(w(5, 3), w(5, 5), None, None), "[4 hidden, inputs]");
    refused(|| Gru::of(w(10, 3), w(10, 3), None, None), "[3 hidden, inputs]");
    refused(|| Rnn::of(w(5, 3), w(5, 5), Some(Tensor::ones([4])), None), "bias_ih");
    let out = || Linear::new(4, 4, &mut Key::new(0));
    refused(|| MultiHeadAttention::of(w(12, 4), Tensor::zeros([12]), out(), 0), "0 heads");
    refused(|| MultiHeadAttention::of(w(12, 5), Tensor::zeros([12]), out(), 1), "[3 width, width]");
}

#[test]
fn a_rate_may_fall_to_zero() {
    // Compiled, powers of 0 and of negative numbers are those of floats.
    for factor in [0.0, -0.5] {
        let schedule = Schedule::exponential(factor);
        let rate = compile(|count: &Tensor| schedule.factor(&Number::of(count)).tensor(DType::F64));
        for power in 0..4 {
            assert_eq!(rate.call(&Tensor::from(f64::from(power))).item(), factor.powi(power), "{factor}");
        }
    }
    let loss = |w: &Tensor, x: &Tensor, _: &mut Context<'_>| (w * x).square().sum();
    let mut trainer = Trainer::new(Tensor::from([1.0]), Sgd::new(0.1).schedule(Schedule::step(2, 0.0)), loss).quiet();
    for _ in 0..4 {
        trainer.step(&Tensor::from([1.0])).unwrap();
    }
    assert!((trainer.model().to_vec::<f64>()[0] - 0.64).abs() < 1e-15, "two steps, and none after them");
}

#[test]
fn norms_of_large_gradients() {
    for (dtype, large) in [(DType::F16, 300.0), (DType::F32, 3e20), (DType::BF16, 3e20)] {
        let gradient = (Tensor::from([1.0, 0.0]) * large).cast(dtype);
        let norm = gradient.global_norm().item();
        assert!((norm / large - 1.0).abs() < 1e-2, "{dtype}: {norm}");
        let mut w = Tensor::from([1.0, 1.0]).cast(dtype);
        let optimiser = Sgd::new(1.0).clip_norm(1.0);
        let mut memory = optimiser.start(&w);
        optimiser.update(&mut w, &gradient, &mut memory);
        assert_eq!(w.to_f64_vec(), [0.0, 1.0], "{dtype}");
    }
}

#[test]
fn a_plateau_waits_for_a_first_number() {
    assert_eq!(Plateau::new(1).scale(&[f64::NAN, 1.0, 0.9, 0.8, 0.7, 0.6]), 1.0);
    assert_eq!(Plateau::new(1).scale(&[1.0, f64::NAN, 1.0]), 0.1);
}

#[test]
fn lbfgs_sees_parameters_that_moved_and_gives_up_on_nan() {
    let (lbfgs, mut w) = (Lbfgs::new(), Tensor::from([3.0]));
    let bowl = value_and_grad(|w: &Tensor| w.square().sum());
    let mut memory = lbfgs.start(&w);
    lbfgs.step(&mut w, &bowl, &mut memory);
    w = Tensor::from([10.0]);
    let value = lbfgs.step(&mut w, &bowl, &mut memory);
    assert_eq!(value, w.square().sum().item());
    assert!(value < 100.0);
    let nowhere = lbfgs.minimise(&mut Tensor::from([-1.0]), value_and_grad(|w: &Tensor| w.log().sum()));
    assert!(!nowhere.has_converged && nowhere.iterations == 1, "{nowhere:?}");
}

#[test]
fn running_statistics_keep_their_digits() {
    let x = Tensor::randn([256, 2], 1) * 300.0 + 5.0;
    let loss = |layer: &BatchNorm, x: &Tensor, context: &mut Context<'_>| layer.forward(x, context).square().mean();
    let layer = default_dtype(DType::F32, || BatchNorm::new(2));
    let x = x.cast(DType::F32);
    let trained = |bits: u32| {
        let trainer = Trainer::new(layer.clone(), Sgd::new(0.0), loss).quiet();
        let mut trainer = match bits {
            32 => trainer,
            16 => trainer.f16(),
            _ => trainer.bf16(),
        };
        for _ in 0..100 {
            trainer.step(&x).unwrap();
        }
        trainer.model().clone()
    };
    let whole = trained(32);
    for narrow in [trained(0), trained(16)] {
        assert!(narrow.running_var.all_close(&whole.running_var, 1e-2), "{}", narrow.running_var);
        assert!((&narrow.running_mean - &whole.running_mean).abs().max().item() < 1.0, "{}", narrow.running_mean);
    }
    // Equal numbers have no variance, and not a negative one.
    let equal = Tensor::full([7, 1], 3.3f32).batch_norm(&Norm::new()).2;
    assert!(equal.item() >= 0.0);
    refused(
        || BatchNorm::new(3).forward(&Tensor::zeros([0, 3]), &mut Context::training(Key::new(0))),
        "no number per channel",
    );
    refused(|| BatchNorm::new(3).forward(&Tensor::zeros([0, 5]), &mut Context::evaluation()), "5 channels");
}

#[test]
fn a_checkpointed_layer_may_run_twice() {
    let x = Tensor::randn([8, 2], 1);
    let run = |layer: &dyn Layer, mut context: Context<'_>| {
        layer.forward(&layer.forward(&x, &mut context), &mut context);
        context.updates()
    };
    let (mut plain, mut checkpointed) = (BatchNorm::new(2), Checkpointed::new(BatchNorm::new(2)));
    let updates = run(&plain, Context::training(Key::new(0)).of(&plain));
    updates.apply(&mut plain);
    let updates = run(&checkpointed, Context::training(Key::new(0)).of(&checkpointed));
    updates.apply(&mut checkpointed);
    assert_eq!(checkpointed.inner.num_batches_tracked.item(), 2.0);
    assert_eq!(checkpointed.inner.running_mean, plain.running_mean);
}

#[test]
fn leaves_of_one_path_are_not_written() {
    #[derive(Clone, Tree)]
    struct Two {
        #[tree(flatten)]
        a: Linear,
        #[tree(flatten)]
        b: Linear,
    }
    let key = &mut Key::new(0);
    let two = Two { a: Linear::new(1, 1, key), b: Linear::new(1, 1, key) };
    refused(|| NamedTensors::of(&two), "two leaves have the path `weight`");
}

#[test]
fn a_frozen_model_keeps_its_leaves() {
    let key = &mut Key::new(0);
    let mut model = (Linear::new(2, 2, key), Linear::new(2, 2, key)).frozen(&["1.*"]);
    model.0.bias = None;
    let error = catch(|| model.leaves().len()).unwrap_err();
    assert!(error.to_string().contains("more or fewer leaves"), "{error}");
}

#[test]
fn a_cache_survives_an_error() {
    let layer = MultiHeadAttention::new(4, 2, &mut Key::new(0)).causal();
    let mut cache = KeyValueCache::default();
    let mut context = Context::evaluation();
    layer.continued(&Tensor::ones([2, 3, 4]), &mut cache, &mut context);
    refused(|| layer.continued(&Tensor::ones([1, 1, 4]), &mut cache, &mut Context::evaluation()), "shape");
    assert_eq!(cache.tokens(), 3);
}

#[test]
fn paths_of_nested_layers_without_parameters() {
    let key = &mut Key::new(0);
    let flat = Tensor::ones([2, 3]);
    let model = sequential![Linear::new(3, 3, key), (Relu, MaxPool2d::new(2))];
    let error = catch(|| model.forward(&flat, &mut Context::evaluation().of(&model))).unwrap_err();
    assert!(error.operation().starts_with("layer 1.1 (MaxPool2d)"), "{error}");
    let model = sequential![Relu, (Relu, MaxPool2d::new(2))];
    let error = catch(|| model.forward(&flat, &mut Context::evaluation().of(&model))).unwrap_err();
    assert!(error.operation().starts_with("layer 1.1 (MaxPool2d)"), "{error}");
}

#[test]
fn classes_of_a_fused_loss() {
    let (x, weight) = (Tensor::ones([2, 3]), Tensor::ones([4, 3]));
    let options = loss::LinearCrossEntropy::new();
    let shares = Tensor::from([0.5, 1.0]);
    refused(|| loss::linear_cross_entropy(&x, &weight, None, &shares, &options), "targets of f64 for 4 classes");
    let none = Tensor::ones([0, 3]);
    let labels = Tensor::from([0i64, 1]);
    refused(|| loss::linear_cross_entropy(&x, &none, None, &labels, &options), "0 classes");
}
