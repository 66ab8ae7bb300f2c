//! Levels, and the tensors that belong to them.

use super::{Content, Interpreter, Level, Tracer};
use crate::autograd::modes;
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The newest level; the imperative tape is 0.
static NEWEST: AtomicU64 = AtomicU64::new(0);

impl Level {
    pub fn open(name: &'static str, interpreter: impl Interpreter, opened_at: Line) -> OpenLevel {
        let id = NEWEST.fetch_add(1, Ordering::Relaxed) + 1;
        let interpreter = Box::new(interpreter);
        OpenLevel(Arc::new(Level { id, name, interpreter, opened_at, closed: AtomicBool::new(false) }))
    }

    /// The interpreter that it was opened with.
    pub fn interpreter<I: Interpreter>(&self) -> &I {
        let interpreter: &dyn Any = self.interpreter.as_ref();
        interpreter.downcast_ref().expect("the level was opened with it")
    }

    /// The id of the newest level opened so far, by any thread.
    pub fn newest() -> u64 {
        NEWEST.load(Ordering::Relaxed)
    }
}

/// A level that closes when its transform ends, even by a panic.
pub struct OpenLevel(pub Arc<Level>);

impl Drop for OpenLevel {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
    }
}

impl Content {
    /// The value, at a derivative level.
    pub fn primal(&self) -> Option<&Tensor> {
        match self {
            Content::Reverse { primal, .. } | Content::Tangent { primal, .. } | Content::Attached { primal, .. } => {
                Some(primal)
            }
            Content::Batch { .. } | Content::Symbol { .. } => None,
        }
    }
}

impl Tensor {
    /// Whether it is a variable of a program being built, and of no other transform.
    #[doc(hidden)]
    pub fn is_staged(&self) -> bool {
        matches!(&self.value, Value::Tracer(tracer) if matches!(tracer.content, Content::Symbol { .. }))
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

    /// The value, and the data that the interpreter of exactly this level attached to `tensor`.
    pub fn attached<'t, T: 'static>(tensor: &'t Tensor, level: &Level) -> Option<(&'t Tensor, &'t T)> {
        match Tracer::at(tensor, level)? {
            Content::Attached { primal, with } => Some((primal, with.downcast_ref()?)),
            _ => None,
        }
    }

    /// A tensor of this level with attached data of its interpreter.
    pub fn attach(level: &Arc<Level>, primal: &Tensor, with: impl Any + Send + Sync, line: Line) -> Tensor {
        let content = Content::Attached { primal: primal.clone(), with: Box::new(with) };
        Tracer::tensor(level, primal.spec(), content, line)
    }

    /// The tensor below a derivative level, for reading. Closed levels can still be read; batched and symbolic ones cannot.
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
            Content::Symbol { .. } if self.is_closed() => Err(self.leaked()),
            Content::Symbol { .. } => Err(Error::new(
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
            Content::Symbol { .. } => (
                format!("a symbolic tensor leaked out of {} and is used after that ended", self.level.name),
                "return it from the function: its code runs once for each signature, and what it stores outside has no numbers",
            ),
            _ => (
                "a tensor is used after its transform ended".to_string(),
                "return it from the differentiated function instead of storing it outside; if the `backward` of a custom_vjp captured it, make it an input and return it as a residual",
            ),
        };
        Error::new(ErrorKind::LevelClosed, self.level.name, format!("{what}{}", self.made())).help(help)
    }
}
