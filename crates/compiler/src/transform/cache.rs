//! Summaries of cached programs, and reports of tracing and planning.

use crate::location::{self, Line};
use crate::primitive::Spec;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Number of signatures kept by default.
pub(super) const KEPT: usize = 64;

/// After this many signatures, a warning says that they keep changing.
const MANY: usize = 16;

/// One signature of a compiled function and what was built for it; it prints as text.
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
    /// The path and the spec of every leaf; those of a step's state are below `state`.
    pub leaves: Vec<(String, Spec)>,
    /// Everything else that is part of the signature: lengths, variants, static fields, with their paths.
    pub structure: Vec<(String, String)>,
    /// The number of calls.
    pub calls: u64,
    /// The number of equations as traced.
    pub equations: usize,
    /// The time of the trace.
    pub trace_time: Duration,
    /// The number of equations after all passes, once it has run on concrete tensors.
    pub optimised: Option<usize>,
    /// The number of kernels per call.
    pub kernels: Option<usize>,
    /// The bytes that a call needs besides inputs, constants and outputs.
    pub workspace_bytes: Option<usize>,
    /// The time of passes and planning.
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

/// Counters and times of one staged program.
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

    /// The summary of a signature, given in words, with the specs of its leaves.
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

/// The signatures that a function was traced for, as needed for reports.
#[derive(Default)]
pub(super) struct History {
    traced: usize,
    last: Option<SignatureSummary>,
}

impl History {
    /// Notes that a signature was traced, and whether it is kept or used for one call only.
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

/// The differences between two signatures, in words.
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

/// Sets a logger that receives a message for every trace, plan and warning, instead of standard error, where traces and plans are only
/// printed if the environment has `WENGERT_LOG=compile`. `None` restores that.
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

/// Reported even if logging is off.
fn warn(text: &str) {
    match logger() {
        Some(logger) => logger(&format!("warning: {text}")),
        None => eprintln!("wengert compile: warning: {text}"),
    }
}

/// A source line as `file:line:column`.
pub(super) fn place(line: Line) -> String {
    location::shown(line).to_string()
}
