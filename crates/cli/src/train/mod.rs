//! Training runs on embedded data.

pub mod digits;
pub mod mnist;
pub mod sonnets;

use crate::failure::Failure;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wengert::nn::data::{Data, Loader};
use wengert::nn::optimise::Optimiser;
use wengert::nn::{EpochReport, Stopped, Trainer};
use wengert::prelude::*;
use wengert::view::json::{number, object};

/// The settings of a run; two runs with the same settings give the same bits.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The number of epochs; by default what the task needs.
    pub epochs: Option<u64>,
    /// The seed of weights, order and noise.
    pub seed: u64,
    /// A checkpoint to go on from.
    pub resume: Option<PathBuf>,
    /// Where to write checkpoints.
    pub save: Option<PathBuf>,
    /// Where to draw the losses, as SVG.
    pub plot: Option<PathBuf>,
    /// The folder of an event file of TensorBoard.
    pub tensorboard: Option<PathBuf>,
    /// Print the result only.
    pub quiet: bool,
    /// Print one line of JSON for each epoch, unless only the result is wanted, and one for the result.
    pub json: bool,
}

impl Options {
    /// How to go on from a checkpoint: the same run needs the same seed and the same number of epochs.
    fn continued(&self, path: &Path) -> String {
        let mut text = format!("; go on with --resume {}", path.display());
        if let Some(epochs) = self.epochs {
            text += &format!(" --epochs {epochs}");
        }
        if self.seed != 0 {
            text += &format!(" --seed {}", self.seed);
        }
        text
    }
}

/// The number of steps between two checkpoints.
const SAVE_EVERY: u64 = 50;
/// The number of epochs that are printed.
const LINES: u64 = 10;

/// The columns and rows of the curves.
const CURVE: (usize, usize) = (72, 12);

/// Trains, with a progress bar on a terminal and a line for some epochs, and returns the trainer.
fn trained<M, B, O, D>(
    trainer: Trainer<M, B, O>,
    loader: &mut Loader<D>,
    epochs: u64,
    options: &Options,
    out: &mut dyn Write,
) -> Result<Trainer<M, B, O>, Failure>
where
    M: Tree + Clone + 'static,
    B: Tree + Send + 'static,
    O: Optimiser + 'static,
    O::State: Clone + 'static,
    D: Data<Batch = B>,
{
    let mut trainer = trainer.key(Key::new(options.seed)).progress(!options.quiet);
    if let Some(path) = &options.save {
        trainer = trainer.save_to(path, SAVE_EVERY);
    }
    if let Some(path) = &options.plot {
        trainer = trainer.plot(path);
    }
    if let Some(folder) = &options.tensorboard {
        trainer = trainer.tensorboard(folder).map_err(told)?;
    }
    if let Some(path) = &options.resume {
        trainer.resume(path, loader).map_err(told)?;
    }
    if options.save.is_some() {
        // Ctrl-C asks the trainer to save and stop; another one ends the program.
        let (flag, interrupt) = (trainer.stop_flag(), signal_hook::consts::SIGINT);
        signal_hook::flag::register_conditional_shutdown(interrupt, 130, Arc::clone(&flag))?;
        signal_hook::flag::register(interrupt, flag)?;
    }
    let is_told = !options.quiet && !options.json;
    let done = loader.position().epoch;
    if is_told && done >= epochs {
        writeln!(
            out,
            "  nothing was trained: the checkpoint has {done} epochs already, and this run ends after {epochs}"
        )?;
    }
    let start = Instant::now();
    let mut written = Ok(());
    let report = trainer.fit_with(loader, epochs, |epoch, _| {
        let is_shown = epoch.epoch == 1 || epoch.epoch == epochs || epoch.epoch.is_multiple_of(epochs.div_ceil(LINES));
        let line = match options.json {
            true if !options.quiet => json(epoch),
            false if !options.quiet && is_shown => format!("  {}", epoch.line()),
            _ => return true,
        };
        written = writeln!(out, "{line}");
        written.is_ok()
    });
    let report = report.map_err(told)?;
    written?;
    if report.stopped == Stopped::Interrupted {
        let place = options.save.as_ref().map_or_else(String::new, |path| options.continued(path));
        return Err(Failure::new(format!("stopped after step {}{place}", trainer.steps())));
    }
    if is_told {
        if report.epochs.len() > 2 {
            report.plot().terminal(CURVE.0, CURVE.1).lines().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        writeln!(out, "\n  {} steps, {:.1} s", trainer.steps(), start.elapsed().as_secs_f64())?;
    }
    Ok(trainer)
}

fn told(error: Error) -> Failure {
    Failure::new(error.to_string())
}

/// An epoch as a line of JSON.
fn json(epoch: &EpochReport) -> String {
    let counts = [("epoch", epoch.epoch.to_string()), ("steps", epoch.steps.to_string()), ("loss", number(epoch.loss))];
    let metrics = epoch.metrics.iter().map(|(name, value)| (name.as_str(), number(*value)));
    let fields = counts.into_iter().chain(metrics).chain([("seconds", format!("{:.3}", epoch.seconds))]);
    object(&fields.collect::<Vec<_>>())
}
