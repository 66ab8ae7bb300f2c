//! What a training run reports.

use crate::prelude::view::Plot;
use std::fmt::Write;

/// One epoch of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochReport {
    /// Its number, counted from 1.
    pub epoch: u64,
    /// The number of steps since the beginning of the run.
    pub steps: u64,
    /// The mean loss of its steps.
    pub loss: f64,
    /// The learning rate of the next step, if the optimiser has one.
    pub rate: Option<f64>,
    /// The metrics on the validation data, by name.
    pub metrics: Vec<(String, f64)>,
    /// The seconds that it took.
    pub seconds: f64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// All epochs are done.
    Complete,
    /// The watched metric did not improve for as long as was allowed.
    Early,
    /// It was asked to stop.
    Interrupted,
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The epochs, also those before a checkpoint that the run resumed from.
    pub epochs: Vec<EpochReport>,
    /// Why it ended.
    pub stopped: Stopped,
}

impl Report {
    /// The losses of the epochs.
    pub fn losses(&self) -> Vec<f64> {
        self.epochs.iter().map(|epoch| epoch.loss).collect()
    }

    /// A metric of all epochs that have it.
    pub fn metric(&self, name: &str) -> Vec<f64> {
        self.epochs.iter().filter_map(|epoch| epoch.metric(name)).collect()
    }

    /// The table as CSV.
    pub fn csv(&self) -> String {
        csv(&self.epochs, true)
    }

    /// The losses and the metrics, epoch by epoch: `plot().svg()` is a picture, and `plot().terminal(80, 16)` is one for a terminal.
    ///
    /// ```
    /// # use wengert::nn::{Report, Stopped};
    /// # let report = Report { epochs: Vec::new(), stopped: Stopped::Complete };
    /// assert!(report.plot().svg().contains("epoch"));
    /// ```
    pub fn plot(&self) -> Plot {
        plot(&self.epochs)
    }
}

impl EpochReport {
    /// A metric.
    pub fn metric(&self, name: &str) -> Option<f64> {
        if name == "loss" {
            return Some(self.loss);
        }
        self.metrics.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// The epochs of a table without seconds.
    #[cfg(feature = "files")]
    pub(super) fn parse_all(text: &str) -> Option<Vec<EpochReport>> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next()?.split(',').skip(4).collect();
        let parse = |line: &str| {
            let mut fields = line.split(',');
            let (epoch, steps) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            let (loss, rate) = (fields.next()?.parse().ok()?, fields.next()?);
            let rate = if rate.is_empty() { None } else { Some(rate.parse().ok()?) };
            let cells = names.iter().zip(fields).filter(|(_, field)| !field.is_empty());
            let metrics: Option<_> =
                cells.map(|(name, field)| field.parse().ok().map(|value| (name.to_string(), value))).collect();
            let metrics = metrics?;
            Some(EpochReport { epoch, steps, loss, rate, metrics, seconds: 0.0 })
        };
        lines.map(parse).collect()
    }

    /// One line for a terminal.
    pub fn line(&self) -> String {
        let mut line = format!("epoch {:>3}  loss {:<9.5}", self.epoch, self.loss);
        for (name, value) in &self.metrics {
            let _ = write!(line, "  {name} {value:.4}");
        }
        let _ = write!(line, "  {:.1} s", self.seconds);
        line
    }
}

/// Which epoch is the best: that with the largest or smallest value of a metric.
pub(super) struct Better {
    pub metric: String,
    pub is_high: bool,
}

impl Better {
    /// The position of the best epoch; of equal ones the first. A value that is NaN is not a value.
    pub fn best(&self, epochs: &[EpochReport]) -> Option<usize> {
        let values = epochs.iter().map(|epoch| epoch.metric(&self.metric).filter(|value| !value.is_nan()));
        let is_better = |a: f64, b: f64| if self.is_high { a > b } else { a < b };
        let mut best: Option<(usize, f64)> = None;
        for (place, value) in values.enumerate() {
            if let Some(value) = value
                && best.is_none_or(|(_, best)| is_better(value, best))
            {
                best = Some((place, value));
            }
        }
        best.map(|(place, _)| place)
    }
}

/// The curves of a run, on a logarithmic axis if they are far apart.
pub(super) fn plot(epochs: &[EpochReport]) -> Plot {
    let curve = |name: &str| -> Vec<(f64, f64)> {
        let value = |epoch: &EpochReport| epoch.metric(name).map(|value| (epoch.epoch as f64, value));
        epochs.iter().filter_map(value).collect()
    };
    let all: Vec<(&str, Vec<(f64, f64)>)> =
        std::iter::once("loss").chain(names(epochs)).map(|name| (name, curve(name))).collect();
    let values = || all.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let empty = Plot::new("Training").x_label("epoch");
    let plot = all.iter().fold(empty, |plot, (name, points)| plot.line(*name, points));
    if low > 0.0 && high > LOGARITHMIC * low { plot.log_y() } else { plot }
}

/// The ratio of the largest to the smallest value from which an axis is logarithmic.
const LOGARITHMIC: f64 = 20.0;

/// The metrics of all epochs, in the order in which they appear. A run that was resumed may have other ones than before.
fn names(epochs: &[EpochReport]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in epochs.iter().flat_map(|epoch| &epoch.metrics) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// Epochs as a table, with a column for every metric; the cell of an epoch without it is empty.
pub(super) fn csv(epochs: &[EpochReport], with_seconds: bool) -> String {
    let names = names(epochs);
    let mut text = String::from("epoch,steps,loss,rate");
    names.iter().for_each(|name| {
        let _ = write!(text, ",{name}");
    });
    text.push_str(if with_seconds { ",seconds\n" } else { "\n" });
    for epoch in epochs {
        let rate = epoch.rate.map_or_else(String::new, |rate| rate.to_string());
        let _ = write!(text, "{},{},{},{rate}", epoch.epoch, epoch.steps, epoch.loss);
        for name in &names {
            let value = epoch.metric(name).map_or_else(String::new, |value| value.to_string());
            let _ = write!(text, ",{value}");
        }
        let _ = if with_seconds { writeln!(text, ",{:.3}", epoch.seconds) } else { writeln!(text) };
    }
    text
}
