//! Operations that carry programs, which interpreters call whole.

use super::{Adjoints, Attrs, Mask, Outputs};
use crate::location::Line;
use crate::{Error, Tensor};
use std::any::Any;

/// A call that is made in place of another where that is to be pulled back.
pub struct Recording {
    /// The attributes of the call: its first outputs are those of the other, what the pullback needs follows.
    pub call: Attrs,
    /// An operand of the call besides those of the other.
    pub more: Option<Tensor>,
    /// The attributes of the record, which know how to pull back.
    pub record: Attrs,
    /// For each output of the other call whether it depends on the operands that are wanted.
    pub reached: Vec<bool>,
}

/// What a primitive that carries programs does with a whole call where others only have rules: values and derivatives come from one
/// run of a larger program.
pub trait Control: Send + Sync {
    /// How a call is recorded for the gradients of the operands `wanted`; `None` if no output depends on them.
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording>;

    /// Outputs and their tangents.
    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error>;

    /// Whether a trace takes its equations in, in place of one for the call.
    fn is_inlined(&self) -> bool {
        false
    }

    /// How a plan runs it, in the compiler's words; `None` leaves that to its kernel.
    fn flow(&self, _attrs: &Attrs) -> Option<Box<dyn Any>> {
        None
    }

    /// The outputs step by step, on the level of the operands.
    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error>;
}
