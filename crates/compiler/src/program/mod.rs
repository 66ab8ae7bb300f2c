//! Programs: computations that are staged once, in static single assignment form.
//!
//! A program is a list of equations over typed variables. It is built by tracing or by parsing its text, then verified. It is evaluated by
//! binding its equations again, so every transform works on it.

mod attr;
mod build;
mod cost;
mod evaluate;
mod file;
mod joined;
mod parse;
mod passes;
mod precision;
mod print;
mod renumber;
mod residuals;
mod split;
mod stage;
mod trace;
mod verify;

#[doc(hidden)]
pub mod control;

pub use attr::{ProgramAttr, ProgramAttrs};
#[doc(hidden)]
pub use attr::{Wish, bodies_of};
#[doc(hidden)]
pub use build::{Builder, identity};
#[doc(hidden)]
pub use file::File;
pub(crate) use joined::{Part, joined};
#[doc(hidden)]
pub use passes::{Again, Reads, insert};
pub use passes::{Equality, PASSES, Pass, Rule};
pub use precision::Precision;
#[doc(hidden)]
pub use split::split_by;
pub use split::{Residual, Split, split};
#[doc(hidden)]
pub use stage::{closed, hoisted, recaptured, stage, staged};
#[doc(hidden)]
pub use trace::infer_by_trial;

use crate::Tensor;
use crate::location::Line;
use crate::primitive::{Attrs, Primitive, Spec};

/// A variable: an index into a program's table of specs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(u32);

impl Var {
    #[doc(hidden)]
    pub fn new(index: usize) -> Var {
        Var(index as u32)
    }

    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One call: `outputs = op[attrs](inputs)`.
#[derive(Clone)]
pub struct Equation {
    /// The primitive.
    pub op: &'static dyn Primitive,
    /// Its attributes.
    pub attrs: Attrs,
    /// Its operands.
    pub inputs: Vec<Var>,
    /// The variables that it defines.
    pub outputs: Vec<Var>,
    /// The user's line that it was traced from, or the one named by a trailing comment in the text.
    pub line: Option<Line>,
    /// Whether a rule created it: then the line is that of the operation being differentiated or batched.
    pub from_rule: bool,
}

impl Equation {
    /// Whether it has a side effect; see [`Primitive::effect`].
    #[doc(hidden)]
    pub fn has_effect(&self) -> bool {
        self.op.effect(&self.attrs)
    }
}

/// A staged computation.
///
/// ```
/// use wengert::prelude::*;
/// let program = compile(|x: &Tensor| x.sin() * 2.0).program(&Tensor::from([1.0, 2.0]));
/// let text = program.to_string();
/// assert_eq!(Program::parse(&text).unwrap().to_string(), text);
/// ```
#[derive(Clone, Default)]
pub struct Program {
    specs: Vec<Spec>,
    inputs: Vec<Var>,
    /// Tensors captured while tracing: constants, or tensors of other levels that receive gradients.
    captures: Vec<(Var, Tensor)>,
    equations: Vec<Equation>,
    outputs: Vec<Var>,
}

impl Program {
    /// The shape and dtype of a variable.
    pub fn spec(&self, var: Var) -> &Spec {
        &self.specs[var.index()]
    }

    /// The number of variables.
    #[doc(hidden)]
    pub fn variables(&self) -> usize {
        self.specs.len()
    }

    /// The variables that a call passes in.
    pub fn inputs(&self) -> &[Var] {
        &self.inputs
    }

    /// The variables that a call returns.
    pub fn outputs(&self) -> &[Var] {
        &self.outputs
    }

    /// The equations, in order.
    pub fn equations(&self) -> &[Equation] {
        &self.equations
    }

    /// Whether an equation has an effect; see [`Primitive::effect`].
    #[doc(hidden)]
    pub fn has_effect(&self) -> bool {
        self.equations.iter().any(Equation::has_effect)
    }

    /// Tensors captured while tracing: constants, and tensors that require gradients, which receive them.
    pub fn captures(&self) -> &[(Var, Tensor)] {
        &self.captures
    }
}
