//! Elementwise operations as text.

use smallvec::SmallVec;
use std::borrow::Cow;

/// An elementwise operation as one expression, for backends that print code.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The names of the operands, in order.
    pub operands: SmallVec<[&'static str; 3]>,
    /// Named numbers of one call, in the type of the computation.
    pub parameters: SmallVec<[(&'static str, f64); 3]>,
    /// Named numbers in double precision.
    pub constants: &'static [(&'static str, f64)],
    /// Rust code in these names and the functions of [`vocabulary`](wengert_kernels::functions::vocabulary).
    pub text: Cow<'static, str>,
}

impl Expression {
    /// An expression without named numbers.
    #[doc(hidden)]
    pub fn of(operands: &[&'static str], text: &'static str) -> Expression {
        let (operands, parameters) = (operands.into(), SmallVec::new());
        Expression { operands, parameters, constants: &[], text: Cow::Borrowed(text) }
    }
}
