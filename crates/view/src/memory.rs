//! Where the memory of eager code goes: every operation with the bytes that it added, what records keep and why, and live bytes over time.

use crate::Plot;
use crate::json::{array, object, optional, string};
use std::collections::{HashMap, HashSet};
use std::fmt;
use wengert_engine::autograd::{Tape, Timing, record_times};
use wengert_engine::memory::{SavedValue, record_saved, statistics};
use wengert_engine::{Line, Tensor};

/// Runs `f` and accounts for the memory of tensors: what every operation on this thread added, and what records saved.
///
/// The report prints as tables; [`svg`](MemoryReport::svg) draws live bytes over time, [`json`](MemoryReport::json) has all of it.
///
/// ```standalone_crate
/// use wengert::prelude::*;
/// use wengert_view::memory_report;
///
/// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
/// let (loss, report) = memory_report(|| x.tanh().sin().sum());
/// let saved = report.saved();
/// assert_eq!((saved[0].operation, saved[0].bytes), ("tanh", 8000));
/// assert!(report.to_string().contains("kept by tanh for its output"));
/// // The sum of all changes is the change of `memory::statistics()`.
/// assert_eq!(report.changes().iter().map(|change| change.bytes).sum::<isize>(), report.change());
/// assert!(report.svg().starts_with("<svg") && report.json().starts_with('{'));
/// loss.backward();
/// ```
pub fn memory_report<R>(f: impl FnOnce() -> R) -> (R, MemoryReport) {
    let before = statistics().live_bytes;
    let ((result, saved), timings) = record_times(|| record_saved(f));
    (result, MemoryReport { before, after: statistics().live_bytes, saved, timings })
}

/// The memory of a piece of code.
#[derive(Clone, Debug)]
pub struct MemoryReport {
    before: usize,
    after: usize,
    saved: Vec<SavedValue>,
    timings: Vec<Timing>,
}

/// What all calls of an operation at one line added to the live bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryChange {
    /// The operation, or that whose rule made the calls; `None` for what happened between operations, where handles are made and dropped.
    pub operation: Option<&'static str>,
    /// The line of user code.
    pub line: Option<Line>,
    /// Whether it belongs to a backward pass.
    pub is_backward: bool,
    /// The bytes that were taken, minus those that were given back.
    pub bytes: isize,
}

impl MemoryReport {
    /// The live bytes at the end, minus those at the beginning.
    pub fn change(&self) -> isize {
        self.after as isize - self.before as isize
    }

    /// The most live bytes before or after an operation.
    pub fn peak(&self) -> usize {
        self.live().into_iter().max().unwrap_or_default()
    }

    /// The live bytes: at the beginning, before and after every operation, and at the end.
    pub fn live(&self) -> Vec<usize> {
        let of_calls = self.timings.iter().flat_map(|timing| [timing.live_before, timing.live_after]);
        std::iter::once(self.before).chain(of_calls).chain([self.after]).collect()
    }

    /// Every value that a record saved, in order.
    pub fn saved(&self) -> &[SavedValue] {
        &self.saved
    }

    /// The changes by operation and line, the largest first. Their sum is [`change`](MemoryReport::change), to the byte.
    pub fn changes(&self) -> Vec<MemoryChange> {
        let mut places = HashMap::new();
        let mut changes = vec![MemoryChange { operation: None, line: None, is_backward: false, bytes: self.change() }];
        for timing in &self.timings {
            let bytes = timing.live_after as isize - timing.live_before as isize;
            let operation = timing.rule_of.unwrap_or(timing.operation);
            let place = *places.entry((operation, timing.line, timing.is_backward)).or_insert_with(|| {
                let (operation, line) = (Some(operation), Some(timing.line));
                changes.push(MemoryChange { operation, line, is_backward: timing.is_backward, bytes: 0 });
                changes.len() - 1
            });
            changes[place].bytes += bytes;
            changes[0].bytes -= bytes;
        }
        changes.sort_by_key(|change| std::cmp::Reverse(change.bytes));
        changes
    }

    /// For each line, the bytes that only its operations keep first: what a checkpoint around them would free.
    ///
    /// ```standalone_crate
    /// use wengert::prelude::*;
    /// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
    /// let (_, report) = wengert_view::memory_report(|| x.sin().cos().exp().sum());
    /// assert_eq!(report.by_line()[0].1, 3 * 8000 - 8000);
    /// let (_, report) = wengert_view::memory_report(|| {
    ///     let y = x.exp();
    ///     y.sin().sum()
    /// });
    /// assert_eq!(report.by_line(), [], "both lines save the result of the first");
    /// ```
    pub fn by_line(&self) -> Vec<(Line, usize)> {
        // Calls at other columns of a line belong to it.
        let place = |line: &Line| (line.file(), line.line());
        // A checkpoint keeps its inputs, and a value that another line saves stays as well.
        let mut first: HashMap<usize, (&str, u32)> = HashMap::new();
        let mut stays: HashSet<usize> = HashSet::new();
        for value in &self.saved {
            let own = place(&value.line);
            let saved_first = *first.entry(value.block()).or_insert(own);
            if saved_first != own || value.made_at.as_ref().map(place) != Some(own) {
                stays.insert(value.block());
            }
        }
        let mut found: HashMap<(&str, u32), (Line, usize)> = HashMap::new();
        for value in self.saved.iter().filter(|value| value.is_first && !stays.contains(&value.block())) {
            found.entry(place(&value.line)).or_insert((value.line, 0)).1 += value.bytes;
        }
        let mut lines: Vec<(Line, usize)> = found.into_values().collect();
        lines.sort_by_key(|(line, bytes)| (std::cmp::Reverse(*bytes), line.file(), line.line(), line.column()));
        lines
    }

    /// Why the memory of a tensor stays alive: which records keep it, and for what; then its handle, with the line that made it.
    ///
    /// ```standalone_crate
    /// use wengert::prelude::*;
    /// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
    /// let (y, report) = wengert_view::memory_report(|| { let y = x.exp(); y.sin(); y });
    /// let why = report.why_alive(&y);
    /// assert!(why[0].starts_with("kept by exp for its output") && why[1].starts_with("kept by sin for its operand 0"));
    /// assert!(why[2].starts_with("held by a handle made by exp at "));
    /// ```
    pub fn why_alive(&self, tensor: &Tensor) -> Vec<String> {
        let tape = Tape::of(tensor);
        let handle = match tape.rows().last().filter(|row| row.is_of(tensor)) {
            Some(row) => {
                let name = row.operation.split(['(', '[', ' ']).next().unwrap_or_default();
                format!("held by a handle made by {name} at {}", row.line)
            }
            None => "held by a handle that no record made".to_string(),
        };
        self.saved.iter().filter(|value| value.is_of(tensor)).map(reason).chain([handle]).collect()
    }

    /// Live bytes over time as a picture.
    pub fn svg(&self) -> String {
        let live: Vec<f64> = self.live().into_iter().map(|bytes| bytes as f64).collect();
        Plot::new("Live bytes").values("live", &live).x_label("before and after every operation").y_label("bytes").svg()
    }

    /// Everything as JSON: `{before, after, peak, live, changes, saved}`.
    pub fn json(&self) -> String {
        let integer = |bytes: usize| bytes.to_string();
        let text = |line: &Line| string(&line.to_string());
        let change = |change: &MemoryChange| {
            object(&[
                ("operation", optional(&change.operation, |name| string(name))),
                ("line", optional(&change.line, text)),
                ("backward", change.is_backward.to_string()),
                ("bytes", change.bytes.to_string()),
            ])
        };
        let saved = |value: &SavedValue| {
            object(&[
                ("operation", string(value.operation)),
                ("line", text(&value.line)),
                ("reason", string(&value.reason.to_string())),
                ("bytes", integer(value.bytes)),
                ("first", value.is_first.to_string()),
            ])
        };
        object(&[
            ("before", integer(self.before)),
            ("after", integer(self.after)),
            ("peak", integer(self.peak())),
            ("live", array(self.live().into_iter().map(integer))),
            ("changes", array(self.changes().iter().map(change))),
            ("saved", array(self.saved.iter().map(saved))),
        ])
    }
}

fn reason(value: &SavedValue) -> String {
    format!("kept by {} for {}, {}", value.operation, value.reason, value.line)
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} bytes before, {} after, {} at the peak", self.before, self.after, self.peak())?;
        writeln!(f, "\n       bytes  added by")?;
        for change in self.changes().iter().filter(|change| change.bytes != 0) {
            let pass = if change.is_backward { "backward of " } else { "" };
            match (change.operation, &change.line) {
                (Some(operation), Some(line)) => writeln!(f, "{:12}  {pass}{operation}, {line}", change.bytes)?,
                _ => writeln!(f, "{:12}  handles made and dropped between operations", change.bytes)?,
            }
        }
        writeln!(f, "\n       bytes  saved")?;
        for value in self.saved.iter().filter(|value| value.is_first) {
            writeln!(f, "{:12}  {}", value.bytes, reason(value))?;
        }
        writeln!(f, "\n       bytes  that a checkpoint of a line would free")?;
        self.by_line().iter().try_for_each(|(line, bytes)| writeln!(f, "{bytes:12}  {line}"))
    }
}
