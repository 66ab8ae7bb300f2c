//! The trainer: resuming, errors, early stopping, averages, precision.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use wengert::nn::data::{Data, Loader, Tensors};
use wengert::nn::optimise::{Adam, AdamW, Rule, Schedule, Sgd};
use wengert::nn::*;
use wengert::prelude::*;

type Model = (Linear, BatchNorm, Tanh, Dropout, Linear);
type Batch = (Tensor, Tensor);

fn model() -> Model {
    let mut key = Key::new(1);
    (Linear::new(3, 8, &mut key), BatchNorm::new(8), Tanh, Dropout::new(0.2), Linear::new(8, 1, &mut key))
}

fn data() -> Tensors<Batch> {
    let x = Key::new(2).normal([50, 3], DType::F64);
    let y = (x.slice((.., 0..1)) * 2.0 - x.slice((.., 1..2))).sin();
    Tensors::new((x, y))
}

fn loss(model: &Model, (x, y): &Batch, context: &mut Context<'_>) -> Tensor {
    model.forward(x, context).mse_loss(y, Reduction::Mean)
}

fn trainer() -> Trainer<Model, Batch, AdamW> {
    let optimiser = AdamW::new(0.01).schedule(Schedule::cosine(60).warm_up(5)).clip_norm(1.0);
    Trainer::new(model(), optimiser, loss).key(Key::new(5)).average(0.9).quiet()
}

fn loader() -> Loader<Tensors<Batch>> {
    Loader::new(data(), 16).shuffled(3)
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wengert_nn_{name}_{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn bits(tree: &impl Tree) -> Vec<Vec<u8>> {
    tree.leaves().into_iter().map(|leaf| leaf.contiguous().as_bytes().to_vec()).collect()
}

#[test]
fn training_learns_and_moves_the_running_statistics() {
    let (mut trainer, mut loader) = (trainer(), loader());
    let report = trainer.fit(&mut loader, 15).expect("it trains");
    let losses = report.losses();
    assert!(losses[14] < 0.5 * losses[0], "{losses:?}");
    assert_eq!((report.stopped, trainer.steps()), (Stopped::Complete, 60));
    assert_eq!(trainer.model().1.num_batches_tracked.item(), 60.0);
    assert!(trainer.model().1.running_mean.abs().max().item() > 0.0);
    assert_ne!(trainer.averaged().0.weight, trainer.model().0.weight);
}

#[test]
fn a_run_that_was_stopped_anywhere_ends_with_the_same_file() {
    let folder = folder("resume");
    let whole = folder.join("whole.safetensors");
    let (mut straight, mut batches) = (trainer().save_to(&whole, 1000), loader());
    straight.fit(&mut batches, 4).expect("it trains");

    for stop in [1, 4, 7, 15] {
        let part = folder.join(format!("part{stop}.safetensors"));
        let (mut first, mut batches) = (trainer().save_to(&part, 1), loader());
        // Every step is saved; a copy of the file after step `stop` stands for a run that was killed there.
        let kept = folder.join(format!("kept{stop}.safetensors"));
        run_until(&mut first, &mut batches, stop, &part, &kept);

        let (mut second, mut batches) = (trainer().save_to(&part, 1000), loader());
        second.resume(&kept, &mut batches).expect("it resumes");
        assert_eq!(second.steps(), stop);
        second.fit(&mut batches, 4).expect("it trains");
        let (a, b) = (std::fs::read(&whole).expect("a file"), std::fs::read(&part).expect("a file"));
        assert!(a == b, "the files differ after a stop at step {stop}");
        assert_eq!(bits(second.state()), bits(straight.state()));
    }
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

/// Trains until `stop` steps are saved, and copies the file.
fn run_until(
    trainer: &mut Trainer<Model, Batch, AdamW>,
    loader: &mut Loader<Tensors<Batch>>,
    stop: u64,
    part: &std::path::Path,
    kept: &std::path::Path,
) {
    let flag = trainer.stop_flag();
    while trainer.steps() < stop {
        flag.store(true, Ordering::Relaxed);
        let report = trainer.fit(loader, 4).expect("it trains");
        assert_eq!(report.stopped, Stopped::Interrupted);
    }
    std::fs::copy(part, kept).expect("a copy");
}

#[test]
fn a_checkpoint_of_something_else_is_refused_and_changes_nothing() {
    let folder = folder("refused");
    let path = folder.join("run.safetensors");
    let (mut first, mut straight) = (trainer().save_to(&path, 1000), loader());
    first.fit(&mut straight, 1).expect("it trains");

    let other = |key: &mut Key| (Linear::new(3, 9, key), Linear::new(9, 1, key));
    let other_loss = |model: &(Linear, Linear), (x, y): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).mse_loss(y, Reduction::Mean)
    };
    let mut wider = Trainer::new(other(&mut Key::new(0)), AdamW::new(0.01), other_loss).quiet();
    let before = bits(wider.state());
    let error = wider.resume(&path, &mut loader()).expect_err("another model");
    let text = error.to_string();
    assert!(text.contains("model.0.weight: [8, 3] in the file, [9, 3] in the tree"), "{text}");
    assert!(text.contains("model.1.running_mean: unexpected in the file"), "{text}");
    assert!(text.contains("run.safetensors"), "{text}");
    assert_eq!(bits(wider.state()), before);

    let mut sgd = Trainer::new(model(), Sgd::new(0.1).momentum(0.9), loss).average(0.9).quiet();
    let text = sgd.resume(&path, &mut loader()).expect_err("another optimiser").to_string();
    assert!(text.contains("the run had the optimiser AdamW; now there is Sgd"), "{text}");
    // Both remember two moments for each parameter.
    let mut adam = Trainer::new(model(), Adam::new(0.01), loss).average(0.9).quiet();
    let text = adam.resume(&path, &mut loader()).expect_err("another optimiser").to_string();
    assert!(text.contains("the run had the optimiser AdamW; now there is Adam"), "{text}");

    let mut fewer = Loader::new(data().split_at(40).0, 16);
    let text = trainer().resume(&path, &mut fewer).expect_err("other data").to_string();
    let then = "the run had 50 examples in batches of 16, shuffled with seed 3; now there are ";
    assert!(text.contains(&format!("{then}40 examples in batches of 16, in order")), "{text}");
    for other in [Loader::new(data(), 8).shuffled(3), Loader::new(data(), 16).shuffled(4), loader().drop_last()] {
        let (mut trainer, mut other) = (trainer(), other);
        let text = trainer.resume(&path, &mut other).expect_err("other batches").to_string();
        assert!(text.contains(&format!("{then}{}", other.describe())), "{text}");
        assert_eq!((trainer.steps(), other.position().epoch), (0, 0));
    }
    let mut damaged = files::NamedTensors::read(&path).expect("a checkpoint");
    for (name, text) in [("steps", u64::MAX.to_string()), ("epoch", u64::MAX.to_string()), ("sum", String::new())] {
        let whole = damaged.texts.insert(name.to_string(), text).expect("it is there");
        damaged.save(&path).expect("a file");
        let text = trainer().resume(&path, &mut loader()).expect_err("damaged").to_string();
        assert!(text.contains("its texts are damaged"), "{text}");
        damaged.texts.insert(name.to_string(), whole);
    }
    // A loader that prepares its batches ahead gives the same ones.
    damaged.save(&path).expect("a file");
    let (mut ahead, mut batches) = (trainer(), loader().prefetch(3));
    ahead.resume(&path, &mut batches).expect("the same data");
    ahead.fit(&mut batches, 2).expect("it trains");
    first.fit(&mut straight, 2).expect("it trains");
    assert_eq!(bits(ahead.state()), bits(first.state()));

    files::save(&model(), &path).expect("a file");
    let text = trainer().resume(&path, &mut loader()).expect_err("only a model").to_string();
    assert!(text.contains("not a checkpoint"), "{text}");
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn a_loss_that_is_nan_stops_names_the_operation_and_changes_nothing() {
    for is_eager in [false, true] {
        let loss = |model: &Linear, (x, y): &Batch, context: &mut Context<'_>| {
            let h = model.forward(x, context);
            (h.square() - 1e6).sqrt().mse_loss(y, Reduction::Mean)
        };
        let trainer = Trainer::new(Linear::new(3, 1, &mut Key::new(0)), Sgd::new(0.1), loss).quiet();
        let mut trainer = if is_eager { trainer.eager() } else { trainer };
        let before = bits(trainer.model());
        let error = trainer.fit(&mut loader(), 1).expect_err("a loss of NaN");
        assert_eq!(*error.kind(), ErrorKind::Anomaly);
        let text = error.to_string();
        assert!(text.contains("the loss of step 1 is NaN") && text.contains("sqrt"), "{text}");
        assert!(text.contains("training.rs"), "{text}");
        assert_eq!(bits(trainer.model()), before);
        assert_eq!(trainer.steps(), 0);
    }
}

#[test]
fn a_run_stops_early_and_a_callback_can_stop_it() {
    let constant =
        |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| model.forward(x, context).sum() * 0.0 + 1.0;
    let mut trainer = Trainer::new(Linear::new(3, 1, &mut Key::new(0)), Sgd::new(0.1), constant).quiet();
    trainer = trainer.early_stopping("loss", false, 2);
    let report = trainer.fit(&mut loader(), 50).expect("it trains");
    assert_eq!((report.stopped, report.epochs.len()), (Stopped::Early, 3));

    let report = self::trainer().fit_with(&mut loader(), 50, |epoch, _| epoch.epoch < 2);
    assert_eq!(report.expect("it trains").epochs.len(), 2);
}

#[test]
fn parts_of_a_batch_have_the_gradient_of_the_whole() {
    let linear = || Linear::new(3, 1, &mut Key::new(4));
    let loss = |model: &Linear, (x, y): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).mse_loss(y, Reduction::Mean)
    };
    let train = |parts: usize| {
        let mut trainer = Trainer::new(linear(), Sgd::new(0.1), loss).accumulate(parts).quiet();
        trainer.fit(&mut Loader::new(data(), 10), 2).expect("it trains");
        trainer.into_model()
    };
    // Parts of 3 and 4 examples, and more parts than examples.
    let whole = train(1);
    for parts in [5, 3, 100] {
        assert!(whole.weight.all_close(&train(parts).weight, 1e-12), "{parts} parts");
    }
    assert_ne!(whole.weight, linear().weight);
}

#[test]
fn statistics_of_a_model_that_computes_in_bf16_keep_their_dtype() {
    let key = &mut Key::new(4);
    let model = (Linear::new(3, 4, key), BatchNorm::new(4), Linear::new(4, 1, key)).to_dtype(DType::F32);
    let loss = |model: &(Linear, BatchNorm, Linear), (x, y): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).mse_loss(y, Reduction::Mean)
    };
    let (x, y) = data().tree().clone();
    for is_eager in [false, true] {
        let mut trainer = Trainer::new(model.clone(), Sgd::new(0.01), loss).bf16().accumulate(2).quiet();
        if is_eager {
            trainer = trainer.eager();
        }
        let before = model.named_leaves();
        trainer.fit(&mut Loader::new(Tensors::new((x.f32(), y.f32())), 10), 2).expect("it trains");
        for ((path, now), (_, before)) in trainer.model().named_leaves().into_iter().zip(before) {
            assert_eq!(now.dtype(), before.dtype(), "{path}");
            assert_ne!(now, before, "{path}");
        }
    }
}

/// Examples that cannot be read from some number on.
struct Broken;

impl Data for Broken {
    type Batch = Tensor;

    fn len(&self) -> usize {
        20
    }

    fn batch(&self, positions: &[usize]) -> Result<Tensor, Error> {
        assert!(positions[0] < 10, "example {} is broken", positions[0]);
        Ok(Tensor::ones([positions.len(), 3]))
    }
}

#[test]
fn a_panic_of_the_thread_that_prepares_batches_is_not_the_end_of_an_epoch() {
    let mut loader = Loader::new(Broken, 5).prefetch(2);
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loader.epoch().count()));
    let message = *read.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(message, "example 10 is broken");
}

/// Two examples of a batch that can be read from the second try on.
struct Late(AtomicBool);

impl Data for Late {
    type Batch = Tensor;

    fn len(&self) -> usize {
        6
    }

    fn batch(&self, positions: &[usize]) -> Result<Tensor, Error> {
        if positions[0] == 2 && !self.0.swap(true, Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::File, "read", "the disk is asleep"));
        }
        Ok(Tensor::from(positions.iter().map(|at| *at as f64).collect::<Vec<_>>()))
    }
}

#[test]
fn a_batch_that_could_not_be_read_is_the_next_one() {
    for ahead in [0, usize::MAX] {
        let firsts = |loader: &mut Loader<Late>| -> Result<Vec<f64>, Error> {
            loader.epoch().map(|batch| batch.map(|batch| batch.slice(0).item())).collect()
        };
        let mut loader = Loader::new(Late(AtomicBool::new(false)), 2).prefetch(ahead);
        assert_eq!(firsts(&mut loader).expect_err("a batch").message(), "the disk is asleep");
        assert_eq!((loader.position().epoch, loader.position().batch), (0, 1));
        assert_eq!(firsts(&mut loader).expect("it reads"), [2.0, 4.0]);

        // Who asks for another one goes on behind it.
        let mut loader = Loader::new(Late(AtomicBool::new(false)), 2).prefetch(ahead);
        let mut batches = loader.epoch();
        assert_eq!(batches.by_ref().take(3).filter(Result::is_err).count(), 1);
        assert_eq!(batches.loader().position().batch, 3);
        assert!(batches.next().is_none());
        assert_eq!((loader.position().epoch, loader.position().batch), (1, 0));
    }
}

#[test]
fn a_model_that_has_become_nan_does_not_replace_a_checkpoint() {
    let path = std::env::temp_dir().join(format!("wengert-nan-{}.safetensors", std::process::id()));
    // Its loss is finite, its gradient is not.
    let loss = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| {
        (model.forward(x, context) * 0.0).sum() + (&model.weight - &model.weight).sqrt().sum()
    };
    let mut trainer = Trainer::new(Linear::new(3, 1, &mut Key::new(4)), Sgd::new(0.1), loss).quiet();
    let mut loader = Loader::new(data(), 100);
    trainer.save(&path, &loader).unwrap();
    let good = std::fs::read(&path).unwrap();
    trainer.fit(&mut loader, 1).expect("its loss is finite");
    assert!(trainer.model().weight.isnan().all().item() == 1.0, "{}", trainer.model().weight);
    assert_eq!(trainer.save(&path, &loader).unwrap_err().kind(), &ErrorKind::Anomaly);
    assert_eq!(std::fs::read(&path).unwrap(), good);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn bf16_trains_parameters_of_f32() {
    let model = Linear::new(3, 1, &mut Key::new(4)).to_dtype(DType::F32);
    let loss = |model: &Linear, (x, y): &Batch, context: &mut Context<'_>| {
        assert_eq!((model.weight.dtype(), x.dtype()), (DType::BF16, DType::BF16));
        model.forward(x, context).mse_loss(y, Reduction::Mean)
    };
    let (x, y) = data().tree().clone();
    let mut trainer = Trainer::new(model, Sgd::new(0.1), loss).bf16().quiet();
    let report = trainer.fit(&mut Loader::new(Tensors::new((x.f32(), y.f32())), 10), 5).expect("it trains");
    assert!(report.losses()[4] < report.losses()[0]);
    assert_eq!(trainer.model().weight.dtype(), DType::F32);
}

/// A loss whose gradient is smaller than the smallest f16, which is 2^-24.
fn tiny(model: &Linear, (x, _): &Batch, context: &mut Context<'_>) -> Tensor {
    assert_eq!((model.weight.dtype(), x.dtype()), (DType::F16, DType::F16));
    model.forward(&(x * 0.5f64.powi(10)), context).sum() * 0.5f64.powi(20)
}

fn in_f16(loss: fn(&Linear, &Batch, &mut Context<'_>) -> Tensor, rate: f64) -> Trainer<Linear, Batch, Sgd> {
    let mut model = Linear::new(2, 1, &mut Key::new(4)).to_dtype(DType::F32);
    model.weight = Tensor::from([[0.5f32, -0.25]]);
    model.bias = Some(Tensor::from([0.0f32]));
    Trainer::new(model, Sgd::new(rate), loss).f16().quiet()
}

#[test]
fn f16_keeps_gradients_that_are_smaller_than_its_smallest_number() {
    let batch = (Tensor::from([[1.0f32, 2.0], [3.0, 8.0]]), Tensor::from([[0f32], [0.0]]));
    for is_eager in [false, true] {
        let trainer = in_f16(tiny, 2f64.powi(30));
        let mut trainer = if is_eager { trainer.eager() } else { trainer };
        trainer.step(&batch).expect("a step");
        // The gradient is 2^-30 of the column sums 4 and 10.
        assert_eq!(trainer.model().weight, Tensor::from([[-3.5f32, -10.25]]), "eager: {is_eager}");
    }
}

#[test]
fn f16_skips_a_step_that_overflows_and_halves_the_scale() {
    let steep = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| model.forward(x, context).sum() * 10.0;
    let batch = (Tensor::from([[1.0f32, 2.0]]), Tensor::from([[0f32]]));
    for is_eager in [false, true] {
        let trainer = in_f16(steep, 0.001);
        let mut trainer = if is_eager { trainer.eager() } else { trainer };
        let weight = trainer.model().weight.clone();
        let mut factors = Vec::new();
        for _ in 0..6 {
            let loss = trainer.step(&batch).expect("a step");
            assert!(loss.is_finite());
            factors.push(trainer.state().scale.as_ref().expect("a scale").factor.item());
            if factors.len() == 4 {
                assert_eq!(trainer.model().weight, weight, "gradients of 20 times 2^12 or more are no f16");
            }
        }
        assert_eq!(factors, [16384.0, 8192.0, 4096.0, 2048.0, 2048.0, 2048.0], "eager: {is_eager}");
        assert!(trainer.model().weight.all_close(&(weight - Tensor::from([[0.02f32, 0.04]])), 1e-6));
    }
}

#[test]
fn f16_gradients_that_are_never_finite_are_an_error_at_the_least_scale() {
    // The slope of the root is infinite at w = 1.
    let loss =
        |(v, w): &(Tensor, Tensor), _: &Tensor, _: &mut Context<'_>| (w.square() - 1.0).sqrt().sum() + v.square().sum();
    for is_eager in [false, true] {
        let model = (Tensor::from([0.5f32]), Tensor::from([1.0f32]));
        let trainer = Trainer::new(model.clone(), Sgd::new(0.1), loss).f16().quiet();
        let mut trainer = if is_eager { trainer.eager() } else { trainer };
        let batch = Tensor::from([0.0f32]);
        // From 2^15 to 1.
        (0..15).for_each(|_| assert_eq!(trainer.step(&batch).expect("a step"), 0.25));
        for _ in 0..2 {
            let error = trainer.step(&batch).expect_err("no gradient");
            assert_eq!(error.kind(), &ErrorKind::Anomaly);
            assert!(error.message().contains("at the least scale of the loss, first that of `1`"), "{error}");
            assert_eq!(error.line().expect("a line").file(), file!());
            assert_eq!((bits(trainer.model()), trainer.steps()), (bits(&model), 15));
            assert_eq!(trainer.state().scale.as_ref().expect("a scale").factor.item(), 1.0);
        }
    }
}

#[test]
fn a_run_that_is_resumed_with_other_metrics_keeps_the_names_of_its_numbers() {
    let folder = folder("columns");
    let path = folder.join("run.safetensors");
    let constant = |value: f64| move |_: &Model, _: &Batch, _: &mut Context<'_>| Tensor::from(value);
    let saving = || trainer().save_to(&path, 1000);
    saving().fit(&mut loader(), 1).expect("it trains");
    let both = saving().validate(loader()).metric("one", constant(1.0)).metric("two", constant(2.0));
    let second = saving().validate(loader()).metric("two", constant(2.0)).csv(folder.join("run.csv"));
    let mut report = None;
    for (mut trainer, epochs) in [(both, 2), (second, 3)] {
        let mut batches = loader();
        trainer.resume(&path, &mut batches).expect("the same run");
        report = Some(trainer.fit(&mut batches, epochs).expect("it trains"));
    }
    let report = report.expect("two runs");
    assert_eq!((report.metric("one"), report.metric("two")), (vec![1.0], vec![2.0, 2.0]));
    let table = std::fs::read_to_string(folder.join("run.csv")).expect("a table");
    let columns = |line: &str| line.split(',').skip(4).take(2).map(str::to_string).collect::<Vec<_>>();
    let rows: Vec<_> = table.lines().map(columns).collect();
    assert_eq!(rows, [["one", "two"], ["", ""], ["1", "2"], ["", "2"]]);
    assert_eq!(report.plot().svg().matches("<polyline").count(), 2, "of `loss` and `two`; `one` is a point");
    assert!(report.plot().svg().contains(">one<"));
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn a_loss_or_a_metric_that_is_no_number_is_an_error_at_the_users_line() {
    let rows = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| model.forward(x, context);
    let linear = || Linear::new(3, 1, &mut Key::new(0));
    for is_eager in [false, true] {
        let trainer = Trainer::new(linear(), Sgd::new(0.1), rows).quiet();
        let mut trainer = if is_eager { trainer.eager() } else { trainer };
        let (error, line) = (trainer.fit(&mut loader(), 1).expect_err("a column"), line!());
        let place = error.line().expect("a line");
        assert_eq!((place.file(), place.line()), (file!(), line), "{error}");
        assert!(error.message().starts_with("the loss is f64[16, 1], not one float"), "{error}");
    }
    let mean = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| model.forward(x, context).mean();
    let trainer = Trainer::new(linear(), Sgd::new(0.1), mean).quiet();
    let mut trainer = trainer.validate(Loader::new(data(), 25)).metric("errors", rows);
    let (error, line) = (trainer.fit(&mut loader(), 1).expect_err("a column"), line!());
    let place = error.line().expect("a line");
    assert_eq!((place.file(), place.line()), (file!(), line), "{error}");
    assert!(error.message().starts_with("the metric \"errors\" is f64[25, 1], not one number"), "{error}");
}

#[test]
fn a_loss_of_one_element_keeps_the_shapes_of_the_state() {
    let one = |model: &Linear, (x, y): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).mse_loss(y, Reduction::Mean).reshape([1])
    };
    for is_eager in [false, true] {
        let trainer = Trainer::new(Linear::new(3, 1, &mut Key::new(0)), Adam::new(0.1), one).quiet();
        let mut trainer = if is_eager { trainer.eager() } else { trainer };
        let shapes = |trainer: &Trainer<Linear, Batch, Adam>| -> Vec<Vec<usize>> {
            trainer.state().leaves().into_iter().map(|leaf| leaf.shape().to_vec()).collect()
        };
        let before = shapes(&trainer);
        trainer.fit(&mut loader(), 2).expect("it trains");
        assert_eq!(shapes(&trainer), before);
    }
}

#[test]
fn a_batch_may_begin_with_a_single_number() {
    type Weighted = (Tensor, Tensor);
    let loss = |model: &Linear, (weight, x): &Weighted, context: &mut Context<'_>| {
        assert!(weight.shape().is_empty());
        (model.forward(x, context) * weight).square().mean()
    };
    let batch = (Tensor::from(2.0), data().tree().0.slice(..10));
    let train = |parts: usize| {
        let linear = Linear::new(3, 1, &mut Key::new(4));
        let mut trainer = Trainer::new(linear, Sgd::new(0.1), loss).accumulate(parts).quiet();
        trainer.step(&batch).expect("it trains");
        trainer.into_model().weight
    };
    let whole = train(1);
    assert!(whole.all_close(&train(3), 1e-12) && whole != Linear::new(3, 1, &mut Key::new(4)).weight);
}

#[test]
fn a_loss_that_is_not_finite_names_the_example_or_the_operation() {
    let exponential =
        |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| (model.forward(x, context) + 1e3).exp().sum();
    let constant = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).sum() + Tensor::from(f64::INFINITY)
    };
    let (x, y) = data().tree().clone();
    let holes = |value: f64| {
        let mut numbers = y.to_vec::<f64>();
        numbers[7] = value;
        (x.clone(), Tensor::from_vec(numbers, [50, 1]))
    };
    let mse = |model: &Linear, (x, y): &Batch, context: &mut Context<'_>| {
        model.forward(x, context).mse_loss(y, Reduction::Mean)
    };
    type Function = fn(&Linear, &Batch, &mut Context<'_>) -> Tensor;
    let cases: [(Function, Batch, &str); 4] = [
        (
            mse,
            holes(f64::NAN),
            "the loss of step 1 is NaN, and nothing was updated; leaf `1` of the batch has NaN at [7, 0]",
        ),
        (mse, holes(f64::INFINITY), "leaf `1` of the batch has inf at [7, 0]"),
        (exponential, holes(0.0), "the loss of step 1 is inf, and nothing was updated; first: exp: "),
        (constant, holes(0.0), "the loss of step 1 is inf, and nothing was updated"),
    ];
    for (loss, batch, text) in cases {
        for is_eager in [false, true] {
            let trainer = Trainer::new(Linear::new(3, 1, &mut Key::new(0)), Sgd::new(0.1), loss).quiet();
            let mut trainer = if is_eager { trainer.eager() } else { trainer };
            let error = trainer.step(&batch).expect_err(text);
            assert!(error.message().contains(text) && error.suggestion().is_some(), "{error}");
            assert!(!text.contains("exp") || error.line().is_some_and(|line| line.file() == file!()), "{error}");
        }
    }
}

#[test]
fn files_that_cannot_be_written_are_found_before_training() {
    let folder = folder("unwritable");
    let missing = folder.join("missing").join("file");
    let wrong = [
        (trainer().save_to(&missing, 50), "save"),
        (trainer().keep_best(&missing, "loss", false), "save"),
        (trainer().save_to(&folder, 50), "save"),
        (trainer().csv(&missing), "csv"),
        (trainer().plot(&missing), "plot"),
    ];
    for (mut trainer, operation) in wrong {
        let error = trainer.fit(&mut loader(), 1).expect_err("no file");
        assert_eq!((error.kind(), error.operation(), trainer.steps()), (&ErrorKind::File, operation, 0));
        assert!(error.message().contains(&folder.display().to_string()), "{error}");
    }
    // Files that can be written are not touched before there is something to write.
    let [table, checkpoint] = ["table.csv", "run.safetensors"].map(|name| folder.join(name));
    std::fs::write(&table, "mine").expect("a file");
    let broken = |_: &Model, _: &Batch, _: &mut Context<'_>| Tensor::from(f64::NAN);
    let mut trainer = Trainer::new(model(), Sgd::new(0.1), broken).csv(&table).save_to(&checkpoint, 1).quiet();
    trainer.fit(&mut loader(), 1).expect_err("a loss of NaN");
    assert_eq!(std::fs::read_to_string(&table).expect("a file"), "mine");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn curves_and_events_are_written_after_every_epoch() {
    let folder = folder("curves");
    let accuracy = |model: &Model, (x, y): &Batch, context: &mut Context<'_>| {
        (model.forward(x, context) - y).abs().lt(0.5).cast(DType::F64).mean()
    };
    let trainer = trainer().plot(folder.join("loss.svg")).csv(folder.join("loss.csv"));
    let trainer = trainer.tensorboard(folder.join("events")).expect("a folder");
    let mut trainer = trainer.validate(Loader::new(data(), 25)).metric("close", accuracy);
    let report = trainer.fit(&mut loader(), 3).expect("it trains");
    let picture = std::fs::read_to_string(folder.join("loss.svg")).expect("a picture");
    assert_eq!(picture, report.plot().svg());
    assert_eq!(picture.matches("<polyline").count(), 2, "a loss and a metric");
    assert!(report.plot().terminal(60, 10).contains("close"));
    assert_eq!(std::fs::read_to_string(folder.join("loss.csv")).expect("a table").lines().count(), 4);

    let events: Vec<_> = std::fs::read_dir(folder.join("events")).expect("a folder").collect();
    let bytes = std::fs::read(events[0].as_ref().expect("a file").path()).expect("a file");
    // Of each record: the length, its checksum, the content, its checksum.
    let (mut rest, mut records) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let (content, after) = after[4..].split_at(u64::from_le_bytes(*length) as usize);
        records.push(content);
        rest = &after[4..];
    }
    let has = |record: &[u8], name: &str| record.windows(name.len()).any(|part| part == name.as_bytes());
    let of = |name: &str| records.iter().copied().filter(|record| has(record, name)).collect::<Vec<_>>();
    assert_eq!(["loss", "close", "rate"].map(|name| of(name).len()), [12, 3, 3]);
    let last = of("close")[2];
    let value = f32::from_le_bytes(last[last.len() - 4..].try_into().expect("four bytes"));
    assert_eq!(f64::from(value), f64::from(report.metric("close")[2] as f32));
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn a_single_example_has_no_statistics() {
    let error = catch(|| BatchNorm::new(3).forward(&Tensor::ones([1, 3]), &mut Context::training(Key::new(0))));
    let text = error.expect_err("a variance of 0").to_string();
    assert!(text.contains("(BatchNorm)") && text.contains("variance") && text.contains("drop_last"), "{text}");
    assert_eq!(BatchNorm::new(3).predict(&Tensor::ones([1, 3])).shape(), [1, 3]);
}

fn close(model: &Model, (x, y): &Batch, context: &mut Context<'_>) -> Tensor {
    (model.forward(x, context) - y).abs().lt(0.5).cast(DType::F64).mean()
}

#[test]
fn a_run_that_would_learn_or_watch_nothing_does_not_begin() {
    let folder = folder("watched");
    let measured = |name: &str| trainer().validate(loader()).metric(name, close);
    let wrong = [
        (
            trainer().early_stopping("acuracy", true, 2),
            "\"acuracy\" is watched, but it is no metric; there are \"loss\"",
        ),
        (measured("close").observe("clos"), "\"clos\" is watched, but it is no metric; there are \"loss\", \"close\""),
        (measured("close").keep_best(folder.join("best"), "far", true), "\"far\" is watched"),
        (trainer().metric("close", close), "there are no data for the metric \"close\""),
        (measured("a,b"), "\"a,b\" cannot be the name"),
        (measured("a\nb"), "\"a\\nb\" cannot be the name"),
        (measured("loss"), "\"loss\" cannot be the name"),
        (measured("close").metric("close", close), "\"close\" cannot be the name"),
    ];
    for (mut trainer, text) in wrong {
        let error = trainer.fit(&mut loader(), 2).expect_err(text);
        assert_eq!((error.kind(), trainer.steps()), (&ErrorKind::Argument, 0));
        assert!(error.message().contains(text), "{error}");
    }
    let error = trainer().fit(&mut Loader::new(data(), 64).drop_last(), 2).expect_err("no batch");
    assert!(
        error.message().contains("50 examples in batches of 64, in order, without a smaller last batch"),
        "{error}"
    );
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn the_model_of_the_best_epoch_is_kept_and_nan_is_no_best() {
    use std::sync::atomic::AtomicUsize;
    let folder = folder("best");
    let path = folder.join("best.safetensors");
    let values = [f64::NAN, 0.5, 0.9, f64::NAN, 0.7];
    let epoch = std::sync::Arc::new(AtomicUsize::new(0));
    let metric =
        move |_: &Model, _: &Batch, _: &mut Context<'_>| Tensor::from(values[epoch.fetch_add(1, Ordering::Relaxed)]);
    let trainer = trainer().validate(Loader::new(data(), 50)).metric("score", metric);
    let mut trainer = trainer.keep_best(&path, "score", true).early_stopping("score", true, 2);
    let mut third = None;
    let report = trainer.fit_with(&mut loader(), 9, |report, _| {
        if report.epoch == 3 {
            third = Some(std::fs::read(&path).expect("the best so far"));
        }
        true
    });
    // The third epoch is the best; two more bring nothing better.
    let report = report.expect("it trains");
    assert_eq!((report.stopped, report.epochs.len()), (Stopped::Early, 5));
    assert!(std::fs::read(&path).expect("a file") == third.expect("a third epoch"));
    let mut best = model();
    files::load(&mut best, &path).expect("a model");
    assert_ne!(bits(&best), bits(trainer.averaged()));

    // What fits is loaded; the rest is told and stays.
    let key = &mut Key::new(7);
    let mut wider: Model = (Linear::new(3, 8, key), BatchNorm::new(8), Tanh, Dropout::new(0.2), Linear::new(8, 2, key));
    let before = wider.4.clone();
    let problems = files::load_matching(&mut wider, &path).expect("a file");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["4.weight: [1, 8] in the file, [2, 8] in the tree", "4.bias: [1] in the file, [2] in the tree"]);
    assert_eq!((bits(&wider.0), bits(&wider.4)), (bits(&best.0), bits(&before)));
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn a_loss_that_is_nan_in_f16_only_is_traced_in_f16() {
    let overflows = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| {
        let large = (model.forward(x, context) * 0.0 + 300.0).square();
        (&large - &large).sum()
    };
    let batch = (Tensor::from([[1.0f32, 2.0]]), Tensor::from([[0f32]]));
    let error = in_f16(overflows, 0.1).step(&batch).expect_err("infinity - infinity");
    assert!(error.message().contains("first: sub") && error.line().is_some(), "{error}");

    let large = |model: &Linear, (x, _): &Batch, context: &mut Context<'_>| {
        (model.forward(x, context) * 0.0 + 300.0).square().sum()
    };
    let error = in_f16(large, 0.1).step(&batch).expect_err("90000 is no f16");
    assert!(error.message().contains("first: square"), "{error}");
    assert!(error.suggestion().expect("a help").contains("bf16()"), "{error}");
}
