//! What is known about cached programs, and reports of tracing and planning.

use crate::location::{self, Line};
use crate::primitive::Spec;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many signatures are kept unless somebody says otherwise.
pub(super) const KEPT: usize = 64;

/// After this many signatures somebody is told that they keep changing.
const MANY: usize = 16;

/// One signature of a compiled function, with what was made for it; printed, in words.
///
/// ```
/// use wengert::prelude::*;
/// let f = compile(|x: &Tensor| (x.exp() + 1.0).sum());
/// f.call(&Tensor::from([1.0, 2.0]));
/// f.call(&Tensor::from([1.0, 2.0]));
/// let known = &f.inspect()[0];
/// assert_eq!((known.leaves[0].1.to_string().as_str(), known.calls, known.kernels), ("f64[2]", 2, Some(1)));
/// assert!(known.to_string().starts_with("'': f64[2]; called 2 times"));
/// ```
#[derive(Clone, Debug)]
pub struct SignatureSummary {
    /// The path and the spec of every leaf; those of a step's state lie below `state`.
    pub leaves: Vec<(String, Spec)>,
    /// Whatever else decides: lengths, variants, static fields, with their paths.
    pub structure: Vec<(String, String)>,
    /// How often it was called.
    pub calls: u64,
    /// Equations as they were traced.
    pub equations: usize,
    /// How long the trace took.
    pub trace_time: Duration,
    /// Equations after all passes, once it has run on numbers.
    pub optimised: Option<usize>,
    /// Kernels of a call.
    pub kernels: Option<usize>,
    /// Bytes that a call needs besides inputs, constants and outputs.
    pub workspace_bytes: Option<usize>,
    /// How long passes and planning took.
    pub compile_time: Option<Duration>,
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for SignatureSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaves = self.leaves.iter().map(|(path, spec)| format!("'{path}': {spec}"));
        let structure = self.structure.iter().map(|(path, word)| format!("'{path}': {word}"));
        let words: Vec<String> = leaves.chain(structure).collect();
        write!(f, "{}; ", if words.is_empty() { "no tensors".to_string() } else { words.join(", ") })?;
        match self.calls {
            0 => {}
            1 => write!(f, "called once; ")?,
            calls => write!(f, "called {calls} times; ")?,
        }
        write!(f, "{} traced in {}", counted(self.equations, "equation"), milliseconds(self.trace_time))?;
        let planned = (self.optimised, self.kernels, self.workspace_bytes, self.compile_time);
        let (Some(equations), Some(kernels), Some(bytes), Some(time)) = planned else { return Ok(()) };
        let (kernels, time) = (counted(kernels, "kernel"), milliseconds(time));
        write!(f, ", {equations} after passes, {kernels} planned in {time}, {bytes} bytes of workspace")
    }
}

/// What is counted and timed of one staged program.
pub(super) struct Record {
    /// Where the function was compiled.
    line: Line,
    pub trace_time: Duration,
    planned: OnceLock<Planned>,
    calls: AtomicU64,
}

#[derive(Clone, Copy)]
pub(super) struct Planned {
    pub time: Duration,
    pub equations: usize,
    pub kernels: usize,
    pub workspace_bytes: usize,
}

impl Record {
    pub fn new(line: Line, start: Instant) -> Record {
        Record { line, trace_time: start.elapsed(), planned: OnceLock::new(), calls: AtomicU64::new(0) }
    }

    pub fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub fn planned(&self, before: usize, planned: Planned) {
        if is_heard() {
            let Planned { time, equations, kernels, workspace_bytes } = planned;
            let (before, kernels) = (counted(before, "equation"), counted(kernels, "kernel"));
            let after = format!("{before}, {equations} after passes, {kernels}");
            let time = milliseconds(time);
            say(&format!("{}: planned in {time}: {after}, {workspace_bytes} bytes of workspace", place(self.line)));
        }
        let _ = self.planned.set(planned);
    }

    /// The summary of a signature in words, whose leaves have these specs.
    pub fn summary(&self, words: &[(String, String)], specs: &[Spec], equations: usize) -> SignatureSummary {
        let (leaves, structure): (Vec<_>, Vec<_>) =
            words.iter().cloned().partition(|(_, word)| word == crate::tree::TENSOR);
        let planned = self.planned.get().copied();
        SignatureSummary {
            leaves: leaves.into_iter().map(|(path, _)| path).zip(specs.iter().cloned()).collect(),
            structure,
            calls: self.calls.load(Ordering::Relaxed),
            equations,
            trace_time: self.trace_time,
            optimised: planned.map(|planned| planned.equations),
            kernels: planned.map(|planned| planned.kernels),
            workspace_bytes: planned.map(|planned| planned.workspace_bytes),
            compile_time: planned.map(|planned| planned.time),
        }
    }
}

/// The signatures that a function was traced for, as far as reports need them.
#[derive(Default)]
pub(super) struct History {
    traced: usize,
    last: Option<SignatureSummary>,
}

impl History {
    /// A signature was traced and is kept, or good for one call only.
    pub fn note(&mut self, line: Line, now: SignatureSummary, kept: bool) {
        let changes = self.last.as_ref().map(|last| changes(last, &now));
        let other = kept && changes.as_ref().is_none_or(|changes| !changes.is_empty());
        self.traced += usize::from(other);
        let (place, count) = (place(line), self.traced);
        if is_heard() {
            let new = match &changes {
                None => "the first signature".to_string(),
                Some(changes) if changes.is_empty() => "the same signature as before".to_string(),
                Some(changes) => format!("new: {}", changes.join(", ")),
            };
            let kept = if kept { "" } else { "; not kept, it captured a tensor of a running transform" };
            say(&format!("{place}: traced {now}; {new}{kept}"));
        }
        if other && count == MANY {
            let changes = changes.unwrap_or_default().join(", ");
            let message = format!("{place}: traced for {count} different signatures; the last change: {changes}");
            warn(&format!(
                "{message}\n  help: every signature costs a trace: pad to fixed sizes, or make a static field a tensor"
            ));
        }
        if kept {
            self.last = Some(now);
        }
    }
}

/// What two signatures differ in, in words.
fn changes(last: &SignatureSummary, now: &SignatureSummary) -> Vec<String> {
    let words = |summary: &SignatureSummary| -> Vec<(String, String)> {
        let leaves = summary.leaves.iter().map(|(path, spec)| (path.clone(), spec.to_string()));
        leaves.chain(summary.structure.iter().cloned()).collect()
    };
    let (before, after) = (words(last), words(now));
    let mut changes = Vec::new();
    for (path, word) in &after {
        let old: Vec<&String> = before.iter().filter(|(other, _)| other == path).map(|(_, word)| word).collect();
        if old.is_empty() {
            changes.push(format!("'{path}' is {word} and was not there"));
        } else if !old.contains(&word) {
            changes.push(format!("'{path}' was {} and is {word}", old[0]));
        }
    }
    let gone = before.iter().filter(|(path, _)| !after.iter().any(|(other, _)| other == path));
    changes.extend(gone.map(|(path, word)| format!("'{path}' was {word} and is gone")));
    changes
}

type Logger = Arc<dyn Fn(&str) + Send + Sync>;

static LOGGER: Mutex<Option<Logger>> = Mutex::new(None);

/// Hears about every trace, every plan and every warning, instead of the standard error output, where `WENGERT_LOG=compile` in the
/// environment asks for traces and plans. `None` goes back to that.
///
/// ```
/// use wengert::{log_compilations, prelude::*};
/// use std::sync::{Arc, Mutex};
/// let heard = Arc::new(Mutex::new(Vec::new()));
/// let keep = heard.clone();
/// log_compilations(Some(Arc::new(move |text: &str| keep.lock().unwrap().push(text.to_string()))));
/// compile(|x: &Tensor| x * 2.0).call(&Tensor::from(1.0));
/// log_compilations(None);
/// assert!(heard.lock().unwrap()[0].contains("traced '': f64[]"));
/// ```
pub fn log_compilations(logger: Option<Arc<dyn Fn(&str) + Send + Sync>>) {
    *LOGGER.lock().unwrap_or_else(PoisonError::into_inner) = logger;
}

fn logger() -> Option<Logger> {
    LOGGER.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn is_heard() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    let asks = || std::env::var("WENGERT_LOG").is_ok_and(|words| words.split(',').any(|word| word == "compile"));
    *ASKED.get_or_init(asks) || logger().is_some()
}

fn say(text: &str) {
    match logger() {
        Some(logger) => logger(text),
        None => eprintln!("wengert compile: {text}"),
    }
}

/// Said whether or not somebody asked.
fn warn(text: &str) {
    match logger() {
        Some(logger) => logger(&format!("warning: {text}")),
        None => eprintln!("wengert compile: warning: {text}"),
    }
}

/// A line as a file names it.
pub(super) fn place(line: Line) -> String {
    location::shown(line).to_string()
}
