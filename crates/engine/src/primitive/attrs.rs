//! Attributes: the plain parameters of a primitive, hashable and printed.

use crate::custom::FunctionAttr;
use crate::program::ProgramAttr;
use crate::{Error, ErrorKind, Shape};
use std::sync::Arc;
use std::{fmt, slice, vec};
use wengert_kernels::DType;

/// One attribute's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    /// A whole number or an axis.
    Int(i64),
    /// Axes, sizes or positions.
    Ints(Vec<i64>),
    /// A dtype.
    DType(DType),
    /// One of a few words, such as a relation.
    Word(String),
    /// A real number, by its bits so that it can be hashed.
    Real(u64),
    /// A function with rules of its own.
    #[doc(hidden)]
    Function(FunctionAttr),
    /// Programs that the operation runs: one body, or several branches.
    Programs(Vec<ProgramAttr>),
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attr::Int(value) => write!(f, "{value}"),
            Attr::Ints(values) => write!(f, "{values:?}"),
            Attr::DType(dtype) => write!(f, "{dtype}"),
            Attr::Word(word) => write!(f, "{word}"),
            Attr::Real(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
            Attr::Function(function) => write!(f, "{function:?}"),
            Attr::Programs(programs) => write!(f, "{} programs", programs.len()),
        }
    }
}

/// The attributes of one call, by name, in the order the primitive declares them.
///
/// ```
/// use wengert::primitive::Attrs;
/// let attrs = Attrs::new().with_ints("axes", [0, 2]).with_int("step", 1);
/// assert_eq!(attrs.to_string(), "[axes=[0, 2], step=1]");
/// assert_eq!(attrs.ints("axes"), &[0, 2]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attrs(Option<Arc<Vec<(&'static str, Attr)>>>);

impl Attrs {
    /// No attributes.
    pub const fn new() -> Attrs {
        Attrs(None)
    }

    /// With one more attribute.
    pub fn with(self, name: &'static str, value: Attr) -> Attrs {
        let mut list = self.0.map_or_else(Vec::new, Arc::unwrap_or_clone);
        match list.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => list.push((name, value)),
        }
        Attrs(Some(Arc::new(list)))
    }

    /// With a whole number.
    pub fn with_int(self, name: &'static str, value: i64) -> Attrs {
        self.with(name, Attr::Int(value))
    }

    /// With a list of whole numbers.
    pub fn with_ints(self, name: &'static str, values: impl IntoIterator<Item = i64>) -> Attrs {
        self.with(name, Attr::Ints(values.into_iter().collect()))
    }

    /// With a list of sizes or axes.
    pub fn with_sizes<'a>(self, name: &'static str, values: impl IntoIterator<Item = &'a usize>) -> Attrs {
        self.with_ints(name, values.into_iter().map(|&size| size as i64))
    }

    /// With a dtype.
    pub fn with_dtype(self, name: &'static str, dtype: DType) -> Attrs {
        self.with(name, Attr::DType(dtype))
    }

    /// With a word.
    pub fn with_word(self, name: &'static str, word: impl Into<String>) -> Attrs {
        self.with(name, Attr::Word(word.into()))
    }

    /// With a real number.
    pub fn with_real(self, name: &'static str, value: f64) -> Attrs {
        self.with(name, Attr::Real(value.to_bits()))
    }

    /// With a program that the operation runs.
    pub fn with_program(self, name: &'static str, program: impl Into<ProgramAttr>) -> Attrs {
        self.with(name, Attr::Programs(vec![program.into()]))
    }

    /// With several programs, of which the operation runs one.
    pub fn with_programs(self, name: &'static str, programs: impl IntoIterator<Item = ProgramAttr>) -> Attrs {
        self.with(name, Attr::Programs(programs.into_iter().collect()))
    }

    /// With all of `more` after these.
    pub(crate) fn and(self, more: &Attrs) -> Attrs {
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

    /// The whole number called `name`.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Attr::Int(value) => *value,
            other => wrong(format!("attribute '{name}' is {other}, not a whole number")),
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

    /// The programs called `name`.
    pub fn programs(&self, name: &str) -> &[ProgramAttr] {
        match self.get(name) {
            Attr::Programs(programs) => programs,
            other => wrong(format!("attribute '{name}' is {other}, not a program")),
        }
    }

    /// The only program called `name`.
    pub fn program(&self, name: &str) -> &ProgramAttr {
        match self.programs(name) {
            [program] => program,
            several => wrong(format!("attribute '{name}' has {} programs, not one", several.len())),
        }
    }

    /// Every program among the attributes, with the name it has there: where a pass descends.
    pub fn bodies(&self) -> vec::IntoIter<(&'static str, &ProgramAttr)> {
        let mut bodies = Vec::new();
        for (name, value) in self.iter() {
            if let Attr::Programs(programs) = value {
                bodies.extend(programs.iter().map(|program| (*name, program)));
            }
        }
        bodies.into_iter()
    }

    /// Whether a program among them has an effect.
    pub(super) fn have_effect(&self) -> bool {
        self.bodies().any(|(_, body)| body.has_effect())
    }

    /// The real number called `name`.
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Attr::Real(bits) => f64::from_bits(*bits),
            other => wrong(format!("attribute '{name}' is {other}, not a real number")),
        }
    }
}

/// Attributes are checked by those who make them; a program's text may still have wrong ones.
fn wrong<T>(message: String) -> T {
    Error::new(ErrorKind::Argument, "attributes", message).raise()
}

impl fmt::Display for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Programs stand after the operands, in braces.
        let mut plain = self.iter().filter(|(_, value)| !matches!(value, Attr::Programs(_))).enumerate().peekable();
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
