//! The results of a check.

use std::fmt;
use wengert::primitive::Primitive;

/// An aspect of a primitive that is checked.
///
/// ```
/// use wengert_testkit::Aspect;
/// assert_eq!(Aspect::SecondOrder.to_string(), "second order");
/// assert_eq!(Aspect::ALL.len(), 15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aspect {
    /// Names, attributes, counts, costs and declared classes are consistent; errors are typed.
    Structure,
    /// Outputs equal the reference, in shape, dtype and values; in place too.
    Value,
    /// Values and derivatives in the other dtypes.
    Dtypes,
    /// Values and derivatives of transposed, strided and broadcast operands.
    Strided,
    /// The kernel writes all of its output memory, bitwise equal to a call; a view returns views of those values.
    Memory,
    /// Tangents equal finite differences.
    Jvp,
    /// Cotangents are the transpose of tangents.
    Vjp,
    /// Derivatives of derivatives: forward and reverse in all four orders, and finite differences.
    SecondOrder,
    /// Derivatives along a curve equal nested tangents.
    Jet,
    /// `vmap` equals a loop.
    Batch,
    /// Staged equals eager; the program's text round-trips.
    Compiled,
    /// `backward` equals `vjp`; `create_graph` equals `grad` of `grad`.
    Imperative,
    /// The saved values suffice and are minimal.
    Saves,
    /// A zero cotangent stays zero, for any slope.
    ZeroCotangent,
    /// The dependency pattern has every entry of the Jacobian.
    Sparsity,
}

impl Aspect {
    /// Every aspect, in the order of the columns of the coverage table.
    pub const ALL: [Aspect; 15] = [
        Aspect::Structure,
        Aspect::Value,
        Aspect::Dtypes,
        Aspect::Strided,
        Aspect::Memory,
        Aspect::Jvp,
        Aspect::Vjp,
        Aspect::SecondOrder,
        Aspect::Jet,
        Aspect::Batch,
        Aspect::Compiled,
        Aspect::Imperative,
        Aspect::Saves,
        Aspect::ZeroCotangent,
        Aspect::Sparsity,
    ];

    /// Whether the aspect only applies to operations with a gradient.
    fn needs_gradient(self) -> bool {
        matches!(self, Aspect::Jvp | Aspect::Vjp | Aspect::SecondOrder | Aspect::Saves | Aspect::ZeroCotangent)
            || matches!(self, Aspect::Imperative | Aspect::Sparsity | Aspect::Jet)
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Aspect::Structure => "structure",
            Aspect::Value => "value",
            Aspect::Dtypes => "dtypes",
            Aspect::Strided => "strided",
            Aspect::Memory => "memory",
            Aspect::Jvp => "jvp",
            Aspect::Vjp => "vjp",
            Aspect::SecondOrder => "second order",
            Aspect::Jet => "jet",
            Aspect::Batch => "batch",
            Aspect::Compiled => "compiled",
            Aspect::Imperative => "imperative",
            Aspect::Saves => "saves",
            Aspect::ZeroCotangent => "zero cotangent",
            Aspect::Sparsity => "sparsity",
        })
    }
}

/// A failure of a primitive.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The primitive.
    pub operation: &'static str,
    /// The label of the case; empty if it concerns no case.
    pub case: String,
    /// The aspect being checked.
    pub aspect: Aspect,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let case = if self.case.is_empty() { String::new() } else { format!(" ({})", self.case) };
        write!(f, "{}{case}: {}: {}", self.operation, self.aspect, self.message)
    }
}

/// What a check exercised.
///
/// ```
/// use wengert::primitive::find;
/// use wengert_testkit::{Aspect, check};
/// let report = check(find("compare").unwrap());
/// assert_eq!(report.cases(Aspect::Jvp), 0);
/// assert_eq!(report.hole(Aspect::Jvp), Some("no gradient"));
/// assert_eq!(report.hole(Aspect::Value), None);
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    name: &'static str,
    differentiable: bool,
    counts: [Count; Aspect::ALL.len()],
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    cases: usize,
    comparisons: usize,
}

impl Report {
    pub(crate) fn new(op: &'static dyn Primitive) -> Report {
        Report { name: op.name(), differentiable: op.differentiable(), counts: Default::default() }
    }

    /// The primitive's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// In how many cases the aspect was exercised.
    pub fn cases(&self, aspect: Aspect) -> usize {
        self.counts[aspect as usize].cases
    }

    /// How many comparisons were made for the aspect.
    pub fn comparisons(&self, aspect: Aspect) -> usize {
        self.counts[aspect as usize].comparisons
    }

    /// Why the aspect was not exercised; `None` if it was.
    pub fn hole(&self, aspect: Aspect) -> Option<&'static str> {
        match aspect {
            _ if self.cases(aspect) > 0 => None,
            _ if aspect.needs_gradient() && !self.differentiable => Some("no gradient"),
            Aspect::Dtypes => Some("one dtype"),
            Aspect::Memory => Some("kernel of tensors"),
            _ => Some("no case"),
        }
    }

    pub(crate) fn count_case(&mut self, aspect: Aspect) {
        self.counts[aspect as usize].cases += 1;
    }

    pub(crate) fn count_comparison(&mut self, aspect: Aspect) {
        self.counts[aspect as usize].comparisons += 1;
    }
}
