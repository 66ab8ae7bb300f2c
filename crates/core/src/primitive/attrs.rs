//! Attributes: the plain parameters of a primitive, which can be hashed and printed.

use crate::{Error, ErrorKind, Shape};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::{fmt, slice};
use wengert_kernels::DType;

/// One attribute's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    /// An integer or an axis.
    Int(i64),
    /// Axes, sizes or positions.
    Ints(Vec<i64>),
    /// A dtype.
    DType(DType),
    /// One of a fixed set of words, such as a relation.
    Word(String),
    /// A real number, stored as bits so that it can be hashed.
    Real(u64),
    /// A value of another kind, such as the programs that an operation runs.
    Other(Arc<dyn AttrValue>),
}

/// A kind of attribute beyond the plain ones.
pub trait AttrValue: Any + fmt::Debug + Send + Sync {
    /// Whether two values are equal.
    fn is_same(&self, other: &dyn AttrValue) -> bool;

    /// Feeds the hasher; equal attributes must feed the same.
    fn feed(&self, state: &mut dyn Hasher);

    /// Whether running it has an effect besides computing: see [`Primitive::effect`](super::Primitive::effect).
    fn has_effect(&self) -> bool {
        false
    }

    /// Whether its text is complete, so that [`Primitive::named`](super::Primitive::named) can restore it.
    fn is_text(&self) -> bool {
        false
    }

    /// Whether programs print it after the operands, in braces.
    fn is_body(&self) -> bool {
        false
    }
}

impl PartialEq for dyn AttrValue {
    fn eq(&self, other: &dyn AttrValue) -> bool {
        self.is_same(other)
    }
}

impl Eq for dyn AttrValue {}

impl Hash for dyn AttrValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.feed(state);
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attr::Int(value) => write!(f, "{value}"),
            Attr::Ints(values) => write!(f, "{values:?}"),
            Attr::DType(dtype) => write!(f, "{dtype}"),
            Attr::Word(word) => write!(f, "{word}"),
            Attr::Real(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
            Attr::Other(value) => write!(f, "{value:?}"),
        }
    }
}

/// The attributes of one call by name, in the order in which the primitive declares them.
///
/// ```
/// use wengert::primitive::Attrs;
/// let attrs = Attrs::new().with_ints("axes", [0, 2]).with_int("step", 1);
/// assert_eq!(attrs.to_string(), "[axes=[0, 2], step=1]");
/// assert_eq!(attrs.ints("axes"), &[0, 2]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attrs(Option<Arc<SmallVec<[(&'static str, Attr); 2]>>>);

impl Attrs {
    /// No attributes.
    pub const fn new() -> Attrs {
        Attrs(None)
    }

    /// Adds an attribute.
    pub fn with(self, name: &'static str, value: Attr) -> Attrs {
        let Some(mut shared) = self.0 else { return Attrs(Some(Arc::new(smallvec![(name, value)]))) };
        let list = Arc::make_mut(&mut shared);
        match list.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => list.push((name, value)),
        }
        Attrs(Some(shared))
    }

    /// Adds an integer.
    pub fn with_int(self, name: &'static str, value: i64) -> Attrs {
        self.with(name, Attr::Int(value))
    }

    /// Adds a list of integers.
    pub fn with_ints(self, name: &'static str, values: impl IntoIterator<Item = i64>) -> Attrs {
        self.with(name, Attr::Ints(values.into_iter().collect()))
    }

    /// Adds a list of sizes or axes.
    pub fn with_sizes<'a>(self, name: &'static str, values: impl IntoIterator<Item = &'a usize>) -> Attrs {
        self.with_ints(name, values.into_iter().map(|&size| size as i64))
    }

    /// Adds a dtype.
    pub fn with_dtype(self, name: &'static str, dtype: DType) -> Attrs {
        self.with(name, Attr::DType(dtype))
    }

    /// Adds a word.
    pub fn with_word(self, name: &'static str, word: impl Into<String>) -> Attrs {
        self.with(name, Attr::Word(word.into()))
    }

    /// Adds a real number.
    pub fn with_real(self, name: &'static str, value: f64) -> Attrs {
        self.with(name, Attr::Real(value.to_bits()))
    }

    /// Adds a value of another kind.
    pub fn with_other(self, name: &'static str, value: impl AttrValue) -> Attrs {
        self.with(name, Attr::Other(Arc::new(value)))
    }

    /// Appends all of `more`.
    #[doc(hidden)]
    pub fn and(self, more: &Attrs) -> Attrs {
        more.iter().fold(self, |attrs, (name, value)| attrs.with(name, value.clone()))
    }

    /// The attributes in order.
    pub fn iter(&self) -> slice::Iter<'_, (&'static str, Attr)> {
        self.0.as_ref().map_or([].iter(), |list| list.iter())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn get(&self, name: &str) -> &Attr {
        match self.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => value,
            None => wrong(format!("attribute '{name}' is missing")),
        }
    }

    /// The integer called `name`.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Attr::Int(value) => *value,
            other => wrong(format!("attribute '{name}' is {other}, not an integer")),
        }
    }

    /// The axis called `name`, counted from the front.
    pub fn axis(&self, name: &str) -> usize {
        match usize::try_from(self.int(name)) {
            Ok(axis) => axis,
            Err(_) => wrong(format!("attribute '{name}' is {}, not an axis counted from the front", self.int(name))),
        }
    }

    /// The list called `name`.
    pub fn ints(&self, name: &str) -> &[i64] {
        match self.get(name) {
            Attr::Ints(values) => values,
            other => wrong(format!("attribute '{name}' is {other}, not a list")),
        }
    }

    /// The list called `name`, as sizes or axes.
    pub fn sizes(&self, name: &str) -> Shape {
        let size = |value: &i64| match usize::try_from(*value) {
            Ok(size) => size,
            Err(_) => wrong(format!("attribute '{name}' has {value}, which is not a size")),
        };
        self.ints(name).iter().map(size).collect()
    }

    /// The dtype called `name`.
    pub fn dtype(&self, name: &str) -> DType {
        match self.get(name) {
            Attr::DType(dtype) => *dtype,
            other => wrong(format!("attribute '{name}' is {other}, not a dtype")),
        }
    }

    /// The word called `name`.
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Attr::Word(word) => word,
            other => wrong(format!("attribute '{name}' is {other}, not a word")),
        }
    }

    /// The value of another kind called `name`, if it has type `T`.
    pub fn other<T: AttrValue>(&self, name: &str) -> Option<&T> {
        match self.get(name) {
            Attr::Other(value) => {
                let value: &dyn Any = value.as_ref();
                value.downcast_ref()
            }
            _ => None,
        }
    }

    /// Whether running one of them has an effect besides computing.
    pub(super) fn have_effect(&self) -> bool {
        self.iter().any(|(_, value)| matches!(value, Attr::Other(value) if value.has_effect()))
    }

    /// The real number called `name`.
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Attr::Real(bits) => f64::from_bits(*bits),
            other => wrong(format!("attribute '{name}' is {other}, not a real number")),
        }
    }
}

/// Raises an error for a wrong attribute. Callers check attributes when they create them, but a program's text may still have wrong ones.
pub fn wrong<T>(message: String) -> T {
    Error::new(ErrorKind::Argument, "attributes", message).raise()
}

impl fmt::Display for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_body = |value: &Attr| matches!(value, Attr::Other(value) if value.is_body());
        let mut plain = self.iter().filter(|(_, value)| !is_body(value)).enumerate().peekable();
        if plain.peek().is_none() {
            return Ok(());
        }
        f.write_str("[")?;
        for (position, (name, value)) in plain {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{name}={value}")?;
        }
        f.write_str("]")
    }
}
