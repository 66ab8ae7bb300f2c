//! Levels, and the tensors that carry them.

use super::Node;
use super::equation::{System, Unknown};
use super::jet::Series;
use super::pattern::Columns;
use crate::autograd::modes;
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::program::{Builder, Var};
use crate::sparse::Sets;
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The newest level; the imperative tape is 0.
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// What a level does with operations on its tensors.
pub(crate) enum LevelKind {
    Reverse,
    Tangent,
    /// Taylor coefficients up to this order.
    Jet {
        order: usize,
    },
    /// The series that one operation of a jet is made of.
    Equations(Mutex<System>),
    Batch {
        size: usize,
    },
    Trace(Mutex<Builder>),
    Pattern(Columns),
}

/// One running transform.
pub(crate) struct Level {
    pub id: u64,
    /// The transform's name, for errors.
    pub name: &'static str,
    pub kind: LevelKind,
    opened_at: Line,
    closed: AtomicBool,
}

impl Level {
    pub fn open(name: &'static str, kind: LevelKind, opened_at: Line) -> OpenLevel {
        let id = NEWEST.fetch_add(1, Ordering::Relaxed) + 1;
        OpenLevel(Arc::new(Level { id, name, kind, opened_at, closed: AtomicBool::new(false) }))
    }

    /// The id of the newest level opened so far, by any thread.
    pub fn newest() -> u64 {
        NEWEST.load(Ordering::Relaxed)
    }
}

/// A level that closes when its transform ends, by a panic too.
pub(crate) struct OpenLevel(pub Arc<Level>);

impl Drop for OpenLevel {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
    }
}

/// A tensor of a level: what the interpreter knows instead of numbers.
pub(crate) struct Tracer {
    pub level: Arc<Level>,
    pub spec: Spec,
    pub content: Content,
    made_at: Line,
}

/// What each interpreter attaches to a tensor of lower level.
pub(crate) enum Content {
    /// The value, and the record that made it.
    Reverse { primal: Tensor, node: Arc<Node> },
    /// The value, and its tangent.
    Tangent { primal: Tensor, tangent: Tensor },
    /// The value, and its Taylor coefficients.
    Jet { series: Series },
    /// The value, and where its Taylor coefficients will be found.
    Unknown { value: Tensor, unknown: Unknown },
    /// All values of the batch, along axis 0.
    Batch { values: Tensor },
    /// A variable of the program being built.
    Trace { var: Var },
    /// The value, and which input elements each of its elements may depend on.
    Pattern { primal: Tensor, sets: Sets },
}

impl Content {
    /// The value, at a derivative level.
    pub fn primal(&self) -> Option<&Tensor> {
        match self {
            Content::Reverse { primal, .. } | Content::Tangent { primal, .. } | Content::Pattern { primal, .. } => {
                Some(primal)
            }
            Content::Jet { series } => Some(series.value()),
            Content::Unknown { value, .. } => Some(value),
            Content::Batch { .. } | Content::Trace { .. } => None,
        }
    }
}

impl Tensor {
    /// Whether it is a variable of a program being built, and of no other transform.
    pub(crate) fn is_staged(&self) -> bool {
        matches!(&self.value, Value::Tracer(tracer) if matches!(tracer.level.kind, LevelKind::Trace(_)))
    }
}

impl Tracer {
    pub fn tensor(level: &Arc<Level>, spec: Spec, content: Content, made_at: Line) -> Tensor {
        Tensor::from(Value::Tracer(Arc::new(Tracer { level: level.clone(), spec, content, made_at })))
    }

    /// The content of `tensor` at exactly this level.
    pub fn at<'t>(tensor: &'t Tensor, level: &Level) -> Option<&'t Content> {
        match &tensor.value {
            Value::Tracer(tracer) if tracer.level.id == level.id => Some(&tracer.content),
            _ => None,
        }
    }

    /// The tensor below a derivative level, for reading; closed levels may still be read, batched and symbolic ones not.
    pub fn primal(&self, reader: &str) -> Result<&Tensor, Error> {
        if let Some(primal) = self.content.primal() {
            return Ok(primal);
        }
        match &self.content {
            Content::Batch { .. } => Err(Error::new(
                ErrorKind::Traced,
                reader,
                format!("a tensor inside vmap has one value per batch element{}", self.made()),
            )
            .help("return it from the mapped function, or choose with `where_` instead of `if`")),
            Content::Trace { .. } if self.is_closed() => Err(self.leaked()),
            Content::Trace { .. } => Err(Error::new(
                ErrorKind::Traced,
                reader,
                format!("a tensor inside {} has no value yet{}", self.level.name, self.made()),
            )
            .help("return it from the function; `where_` and `cond` choose instead of `if`, `scan` and `while_loop` repeat")),
            _ => unreachable!("a derivative level has a value"),
        }
    }

    fn made(&self) -> String {
        let (made, opened) = (location::shown(self.made_at), location::shown(self.level.opened_at));
        format!(
            " (made at {}:{}:{}, in the {} at {}:{}:{})",
            made.file(),
            made.line(),
            made.column(),
            self.level.name,
            opened.file(),
            opened.line(),
            opened.column()
        )
    }

    pub fn check_open(&self) -> Result<(), Error> {
        if !self.is_closed() || modes::is_replaying() {
            return Ok(());
        }
        Err(self.leaked())
    }

    fn is_closed(&self) -> bool {
        self.level.closed.load(Ordering::Acquire)
    }

    fn leaked(&self) -> Error {
        let (what, help) = match self.content {
            Content::Trace { .. } => (
                format!("a symbolic tensor leaked out of {} and is used after that ended", self.level.name),
                "return it from the function: its code runs once for each signature, and what it stores outside has no numbers",
            ),
            _ => (
                "a tensor is used after its transform ended".to_string(),
                "return it from the differentiated function instead of storing it outside",
            ),
        };
        Error::new(ErrorKind::LevelClosed, self.level.name, format!("{what}{}", self.made())).help(help)
    }
}
