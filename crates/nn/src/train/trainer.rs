//! The trainer.

use super::output::expect_writable;
use super::progress::Progress;
use super::report::{Better, EpochReport, Report, Stopped, csv, plot};
use super::step::{LossScale, Precision, Rules, TrainingState, examples_of};
#[cfg(feature = "tensorboard")]
use super::tensorboard::TensorBoard;
use super::{not_finite, output};
use crate::Context;
use crate::data::{Data, Loader, Position};
use crate::optimise::Optimiser;
use crate::prelude::*;
#[cfg(feature = "tensorboard")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

type State<M, O> = TrainingState<M, <O as Optimiser>::State>;
type Step<M, B, O> = Box<dyn Fn(&mut State<M, O>, &B) -> Tensor>;
type Function<M, B> = Arc<dyn Fn(&M, &B, &mut Context<'_>) -> Tensor>;

/// A training loop: compiled steps, metrics, checkpoints, progress.
///
/// ```
/// use wengert::nn::data::{Loader, Tensors};
/// use wengert::nn::optimise::Adam;
/// use wengert::nn::{Context, Layer, Linear, Sequential, Tanh, Trainer, sequential};
/// use wengert::prelude::*;
///
/// let mut key = Key::new(0);
/// let model = sequential![Linear::new(1, 16, &mut key), Tanh, Linear::new(16, 1, &mut key)];
/// let x = Tensor::linspace(-1.0, 1.0, 64).reshape([64, 1]);
/// let mut loader = Loader::new(Tensors::new((x.clone(), (&x * 3.0).sin())), 16).shuffled(0);
///
/// let loss = |model: &Sequential, (x, y): &(Tensor, Tensor), context: &mut Context| {
///     model.forward(x, context).mse_loss(y, Reduction::Mean)
/// };
/// let mut trainer = Trainer::new(model, Adam::new(0.02), loss).quiet();
/// let report = trainer.fit(&mut loader, 100)?;
/// assert!(report.losses()[99] < 0.01, "{:?}", report.losses());
/// # Ok::<(), Error>(())
/// ```
pub struct Trainer<M, B, O: Optimiser> {
    pub(super) state: State<M, O>,
    rules: Arc<Rules<O>>,
    loss: Function<M, B>,
    step: Option<Step<M, B, O>>,
    is_compiled: bool,
    is_quiet: bool,
    has_progress: bool,
    pub(super) run: Run,
    metrics: Vec<(String, Function<M, B>)>,
    validation: Option<Validation<B>>,
    patience: Option<(Better, u64)>,
    saved_at: Option<(PathBuf, u64)>,
    #[cfg(feature = "files")]
    best_at: Option<(PathBuf, Better)>,
    observed: String,
    csv: Option<PathBuf>,
    plot: Option<PathBuf>,
    #[cfg(feature = "tensorboard")]
    events: Option<TensorBoard>,
    stop: Arc<AtomicBool>,
}

/// Batches of validation data.
type Validation<B> = Box<dyn FnMut() -> Result<Vec<B>, Error>>;

/// How far a run has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub steps: u64,
    pub epochs: Vec<EpochReport>,
    /// The sum of the losses of the current epoch, and their number.
    pub sum: (f64, u64),
}

impl<M, B, O> Trainer<M, B, O>
where
    M: Tree + Clone + 'static,
    B: Tree + Send + 'static,
    O: Optimiser + 'static,
    O::State: Clone + 'static,
{
    /// Trains a model with an optimiser by a loss of one batch.
    #[track_caller]
    pub fn new(
        model: M,
        optimiser: O,
        loss: impl Fn(&M, &B, &mut Context<'_>) -> Tensor + 'static,
    ) -> Trainer<M, B, O> {
        let memory = optimiser.start(&model);
        Trainer {
            state: TrainingState { model, optimiser: memory, key: Key::new(0), average: None, scale: None },
            rules: Arc::new(Rules { optimiser, average: None, parts: 1, precision: Precision::Full }),
            loss: Arc::new(loss),
            step: None,
            is_compiled: true,
            is_quiet: false,
            has_progress: true,
            run: Run::default(),
            metrics: Vec::new(),
            validation: None,
            patience: None,
            saved_at: None,
            #[cfg(feature = "files")]
            best_at: None,
            observed: "loss".to_string(),
            csv: None,
            plot: None,
            #[cfg(feature = "tensorboard")]
            events: None,
            stop: Arc::default(),
        }
    }

    fn with_rules(mut self, change: impl FnOnce(&mut Rules<O>)) -> Self {
        self.step = None;
        let rules = Arc::get_mut(&mut self.rules).expect("no step holds the rules");
        change(rules);
        self
    }

    /// The key of dropout and other random numbers (default: of seed 0).
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.state.key = key;
        self
    }

    /// Runs operations at once instead of compiling the step.
    #[must_use]
    pub fn eager(mut self) -> Self {
        self.is_compiled = false;
        self
    }

    /// Prints nothing.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.is_quiet = true;
        self.progress(false)
    }

    /// Whether a progress bar is shown on standard error if that is a terminal (default: yes).
    #[must_use]
    pub fn progress(mut self, is_shown: bool) -> Self {
        self.has_progress = is_shown;
        self
    }

    /// Keeps a moving average of the model, of which each step keeps this part, such as 0.999.
    #[must_use]
    pub fn average(mut self, kept: f64) -> Self {
        self.state.average = Some(self.state.model.clone());
        self.with_rules(|rules| rules.average = Some(kept))
    }

    /// Computes each batch in this many parts, whose sizes differ by one example at most, and adds their gradients, which takes less
    /// memory. Every leaf of the batch has its examples along the first axis; a leaf of rank 0 belongs to every part.
    #[must_use]
    pub fn accumulate(self, parts: usize) -> Self {
        self.with_rules(|rules| rules.parts = parts.max(1))
    }

    /// Computes loss and gradients in bf16; the parameters keep their dtype.
    #[must_use]
    pub fn bf16(mut self) -> Self {
        self.state.scale = None;
        self.with_rules(|rules| rules.precision = Precision::Bf16)
    }

    /// Computes loss and gradients in f16; the parameters keep their dtype.
    ///
    /// Small gradients would vanish in f16, so the loss is multiplied by a scale, and the gradients are divided by it. If they
    /// overflow, the step changes nothing but the scale, which is halved; after 2000 steps without that it is doubled. If they overflow
    /// although the scale is 1, which is the least, the step is an error.
    #[must_use]
    pub fn f16(mut self) -> Self {
        self.state.scale = Some(LossScale::new());
        self.with_rules(|rules| rules.precision = Precision::F16)
    }

    /// Computes metrics on these data after every epoch.
    #[must_use]
    pub fn validate<D: Data<Batch = B>>(mut self, mut loader: Loader<D>) -> Self {
        self.validation = Some(Box::new(move || {
            loader.seek(Position::default());
            loader.epoch().collect()
        }));
        self
    }

    /// A metric of the validation data: a number of one batch, whose mean over the examples is reported.
    #[must_use]
    pub fn metric(mut self, name: &str, f: impl Fn(&M, &B, &mut Context<'_>) -> Tensor + 'static) -> Self {
        self.metrics.push((name.to_string(), Arc::new(f)));
        self
    }

    /// Stops if a metric (or `"loss"`) has not improved for this many epochs; `is_high` if larger is better.
    #[must_use]
    pub fn early_stopping(mut self, metric: &str, is_high: bool, epochs: u64) -> Self {
        self.patience = Some((Better { metric: metric.to_string(), is_high }, epochs));
        self
    }

    /// The metric that a [`Plateau`](crate::optimise::Plateau) of the optimiser watches (default `"loss"`, that of training).
    #[must_use]
    pub fn observe(mut self, metric: &str) -> Self {
        self.observed = metric.to_string();
        self
    }

    /// Writes a checkpoint to this file every so many steps, at the end, and when the run is interrupted.
    #[cfg(feature = "files")]
    #[must_use]
    pub fn save_to(mut self, path: impl Into<PathBuf>, every: u64) -> Self {
        self.saved_at = Some((path.into(), every.max(1)));
        self
    }

    /// Writes the model of the epoch with the best metric (or `"loss"`) to this file; `is_high` if larger is better.
    #[cfg(feature = "files")]
    #[must_use]
    pub fn keep_best(mut self, path: impl Into<PathBuf>, metric: &str, is_high: bool) -> Self {
        self.best_at = Some((path.into(), Better { metric: metric.to_string(), is_high }));
        self
    }

    /// Writes a table of the epochs to this file, after every epoch.
    #[must_use]
    pub fn csv(mut self, path: impl Into<PathBuf>) -> Self {
        self.csv = Some(path.into());
        self
    }

    /// Draws the losses and metrics as SVG to this file, after every epoch.
    #[must_use]
    pub fn plot(mut self, path: impl Into<PathBuf>) -> Self {
        self.plot = Some(path.into());
        self
    }

    /// Writes the loss of every step, and the rate and metrics of every epoch, to an event file in this folder.
    #[cfg(feature = "tensorboard")]
    pub fn tensorboard(mut self, folder: impl AsRef<Path>) -> Result<Self, Error> {
        self.events = Some(TensorBoard::create(folder)?);
        Ok(self)
    }

    /// A flag that ends the run after the current step if it is set, such as by a handler of Ctrl-C.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.state.model
    }

    /// The moving average of the model, if there is one, else the model.
    pub fn averaged(&self) -> &M {
        self.state.average.as_ref().unwrap_or(&self.state.model)
    }

    /// Everything that changes during training.
    pub fn state(&self) -> &State<M, O> {
        &self.state
    }

    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.run.steps
    }

    /// The model, when training is over.
    pub fn into_model(self) -> M {
        self.state.model
    }

    /// One step on one batch; returns the loss before it.
    #[track_caller]
    pub fn step(&mut self, batch: &B) -> Result<f64, Error> {
        let _scope = primitive::scope(Line::caller());
        if self.step.is_none() {
            let (rules, loss) = (self.rules.clone(), self.loss.clone());
            let step = move |state: &mut State<M, O>, batch: &B| rules.step(&*loss, state, batch);
            self.step = Some(match self.is_compiled {
                true => {
                    let compiled = compile_step(step);
                    Box::new(move |state, batch| compiled.call(state, batch))
                }
                false => Box::new(step),
            });
        }
        let step = self.step.as_ref().expect("just made");
        let key = self.state.key.clone();
        let was_least = self.state.scale.as_ref().is_some_and(LossScale::is_least);
        let loss = catch(|| step(&mut self.state, batch))?.item();
        if !loss.is_finite() {
            return Err(self.wrong_loss(loss, batch, key));
        }
        if was_least && self.state.scale.as_ref().is_some_and(LossScale::has_overflowed) {
            return Err(self.wrong_gradients(batch, key));
        }
        self.run.steps += 1;
        Ok(loss)
    }

    /// The error of a loss that is not finite.
    fn wrong_loss(&self, loss: f64, batch: &B, mut key: Key) -> Error {
        let message = format!("the loss of step {} is {loss}, and nothing was updated", self.run.steps + 1);
        let error = Error::new(ErrorKind::Anomaly, "Trainer", message);
        not_finite::loss_error(error, loss, &self.rules, &*self.loss, (&self.state.model, batch, &key.next()))
    }

    /// The error of gradients in f16 that are not finite although the loss was not scaled.
    fn wrong_gradients(&self, batch: &B, mut key: Key) -> Error {
        let step = self.run.steps + 1;
        let leaf = not_finite::gradient(&self.rules, &*self.loss, (&self.state.model, batch, &key.next()));
        let first = leaf.map_or_else(String::new, |name| format!(", first that of `{name}`"));
        let message = format!(
            "the gradients of step {step} are not finite at the least scale of the loss{first}, and nothing was updated"
        );
        Error::new(ErrorKind::Anomaly, "Trainer", message)
            .at(Line::caller())
            .help("a slope is infinite, as that of sqrt at 0, or larger than 65504, the largest f16: bf16() has the range of f32")
    }

    /// The means of the metrics on the validation data, in evaluation mode.
    #[track_caller]
    pub fn evaluate(&mut self) -> Result<Vec<(String, f64)>, Error> {
        let _scope = primitive::scope(Line::caller());
        let Some(validation) = &mut self.validation else { return Ok(Vec::new()) };
        let batches = validation()?;
        let model = self.state.average.as_ref().unwrap_or(&self.state.model);
        let mut values = Vec::new();
        for (name, metric) in &self.metrics {
            let (mut sum, mut count) = (0.0, 0.0);
            for batch in &batches {
                let examples = examples_of(batch).unwrap_or(1) as f64;
                let value = catch(|| no_grad(|| metric(model, batch, &mut Context::evaluation().of(model))))?;
                if value.elements() != 1 {
                    let message = format!("the metric {name:?} is {}, not one number", value.spec());
                    return Err(Error::new(ErrorKind::Shape(vec![Shape::from(value.shape())]), "Trainer", message)
                        .at(Line::caller())
                        .help("the metric of a batch is a mean over its examples, such as .mean()"));
                }
                let value = value.item();
                (sum, count) = (sum + value * examples, count + examples);
            }
            values.push((name.clone(), sum / count));
        }
        Ok(values)
    }

    /// Trains until `epochs` epochs are complete, counted from the beginning of the run.
    /// Prints a line after each epoch. Files that cannot be written are an error before anything is trained.
    #[track_caller]
    pub fn fit<D: Data<Batch = B>>(&mut self, loader: &mut Loader<D>, epochs: u64) -> Result<Report, Error> {
        let _scope = primitive::scope(Line::caller());
        let is_quiet = self.is_quiet;
        let report = self.fit_with(loader, epochs, |epoch, _| {
            if !is_quiet {
                println!("  {}", epoch.line());
            }
            true
        })?;
        if let (Stopped::Interrupted, Some((path, _)), false) = (report.stopped, &self.saved_at, is_quiet) {
            println!("  stopped after step {}; {} continues from there", self.run.steps, path.display());
        }
        Ok(report)
    }

    /// Like [`fit`](Trainer::fit), but calls a function after each epoch instead of printing; it ends the run by returning false.
    #[track_caller]
    pub fn fit_with<D: Data<Batch = B>>(
        &mut self,
        loader: &mut Loader<D>,
        epochs: u64,
        mut each: impl FnMut(&EpochReport, &M) -> bool,
    ) -> Result<Report, Error> {
        let _scope = primitive::scope(Line::caller());
        self.check(loader)?;
        self.check_files()?;
        let per_epoch = loader.batches() as u64;
        let mut progress = Progress::new(epochs.saturating_mul(per_epoch), self.run.steps, self.has_progress);
        let mut stopped = Stopped::Complete;
        while loader.position().epoch < epochs {
            let start = Instant::now();
            let mut batches = loader.epoch();
            let mut is_interrupted = false;
            while let Some(batch) = batches.next() {
                let loss = self.step(&batch?)?;
                self.run.sum = (self.run.sum.0 + loss, self.run.sum.1 + 1);
                #[cfg(feature = "tensorboard")]
                if let Some(events) = &mut self.events {
                    events.scalar("loss", self.run.steps, loss)?;
                }
                progress.step(loss);
                let is_due = self.saved_at.as_ref().is_some_and(|(_, every)| self.run.steps.is_multiple_of(*every));
                if is_due {
                    self.save_now(batches.loader())?;
                }
                if self.stop.swap(false, Ordering::Relaxed) {
                    is_interrupted = true;
                    break;
                }
            }
            if is_interrupted {
                stopped = Stopped::Interrupted;
                break;
            }
            progress.clear();
            self.end_epoch(loader.position().epoch, start.elapsed().as_secs_f64())?;
            let last = self.run.epochs.last().expect("just added");
            if !each(last, &self.state.model) || self.has_lost_patience() {
                stopped = Stopped::Early;
                break;
            }
        }
        progress.clear();
        self.save_now(loader)?;
        Ok(Report { epochs: self.run.epochs.clone(), stopped })
    }

    fn end_epoch(&mut self, epoch: u64, seconds: f64) -> Result<(), Error> {
        let metrics = self.evaluate()?;
        let (sum, count) = std::mem::take(&mut self.run.sum);
        let rate = self.rules.optimiser.rate(&self.state.optimiser);
        let report =
            EpochReport { epoch, steps: self.run.steps, loss: sum / count.max(1) as f64, rate, metrics, seconds };
        self.run.epochs.push(report);
        let values: Vec<f64> = self.run.epochs.iter().filter_map(|epoch| epoch.metric(&self.observed)).collect();
        self.rules.optimiser.observe(&values, &mut self.state.optimiser);
        if let Some(path) = &self.csv {
            output::write(path, "csv", &csv(&self.run.epochs, true))?;
        }
        if let Some(path) = &self.plot {
            output::write(path, "plot", &plot(&self.run.epochs).svg())?;
        }
        #[cfg(feature = "tensorboard")]
        if let (Some(events), Some(epoch)) = (&mut self.events, self.run.epochs.last()) {
            let rate = epoch.rate.map(|rate| ("rate", rate));
            let metrics = epoch.metrics.iter().map(|(name, value)| (name.as_str(), *value));
            metrics.chain(rate).try_for_each(|(name, value)| events.scalar(name, epoch.steps, value))?;
            events.flush()?;
        }
        #[cfg(feature = "files")]
        if let Some((path, better)) = &self.best_at
            && better.best(&self.run.epochs) == Some(self.run.epochs.len() - 1)
        {
            crate::files::save(self.averaged(), path)?;
        }
        Ok(())
    }

    #[cfg(feature = "files")]
    fn save_now<D: Data<Batch = B>>(&self, loader: &Loader<D>) -> Result<(), Error> {
        self.saved_at.as_ref().map_or(Ok(()), |(path, _)| self.save(path, loader))
    }

    #[cfg(not(feature = "files"))]
    fn save_now<D: Data<Batch = B>>(&self, _: &Loader<D>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the best epoch is too long ago.
    fn has_lost_patience(&self) -> bool {
        let Some((better, patience)) = &self.patience else { return false };
        let epochs = &self.run.epochs;
        epochs.len() as u64 > better.best(epochs).map_or(0, |best| best as u64) + *patience
    }

    /// That the files of this run can be written.
    fn check_files(&self) -> Result<(), Error> {
        self.csv.iter().try_for_each(|path| expect_writable(path, "csv"))?;
        self.plot.iter().try_for_each(|path| expect_writable(path, "plot"))?;
        #[cfg(feature = "files")]
        {
            let best = self.best_at.iter().map(|(path, _)| path);
            let whole = self.saved_at.iter().map(|(path, _)| path).chain(best);
            whole.into_iter().try_for_each(|path| output::expect_replaceable(path, "save"))?;
        }
        Ok(())
    }

    /// That there is something to learn from, and that every metric that is watched is measured.
    fn check<D: Data<Batch = B>>(&self, loader: &Loader<D>) -> Result<(), Error> {
        let wrong = |message: String, help: &str| Err(Error::new(ErrorKind::Argument, "Trainer", message).help(help));
        if loader.batches() == 0 {
            let message = format!("no batch is left of {}", loader.describe());
            return wrong(message, "smaller batches, or keep the last one");
        }
        let names: Vec<&str> = self.metrics.iter().map(|(name, _)| name.as_str()).collect();
        for (place, name) in names.iter().enumerate() {
            if *name == "loss"
                || names[..place].contains(name)
                || name.contains([',', '"'])
                || name.contains(char::is_control)
            {
                let message = format!("{name:?} cannot be the name of a metric");
                return wrong(
                    message,
                    "\"loss\" is that of training; names differ, and are a field of a table in a file",
                );
            }
        }
        if let (Some(name), None) = (names.first(), &self.validation) {
            return wrong(format!("there are no data for the metric {name:?}"), "validate(loader) gives them");
        }
        let watched = self.patience.iter().map(|(better, _)| better.metric.as_str()).chain([self.observed.as_str()]);
        #[cfg(feature = "files")]
        let watched = watched.chain(self.best_at.iter().map(|(_, better)| better.metric.as_str()));
        for name in watched {
            if name != "loss" && !names.contains(&name) {
                let known: Vec<String> = ["loss"].iter().chain(&names).map(|name| format!("{name:?}")).collect();
                let message = format!("{name:?} is watched, but it is no metric; there are {}", known.join(", "));
                return wrong(message, "metric(name, function) adds one");
            }
        }
        Ok(())
    }
}
