//! Functions as attributes of calls.

use crate::primitive::{AttrValue, Attrs, Form, Function, Residual};
use std::any::Any;
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

/// A function as an attribute: two are equal if they are the same object.
#[derive(Clone)]
pub struct FunctionAttr {
    #[doc(hidden)]
    pub function: Arc<dyn Function>,
    /// The non-tensor part of the forward pass's residual, once it has run.
    pub(super) form: Option<Form>,
    /// Whether the function, or an operation in it, has an effect; for operations this is known once the function is in a program.
    effect: bool,
}

impl fmt::Debug for FunctionAttr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.name())
    }
}

impl AttrValue for FunctionAttr {
    fn is_same(&self, other: &dyn AttrValue) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<FunctionAttr>().is_some_and(|other| Arc::ptr_eq(&self.function, &other.function))
    }

    fn feed(&self, mut state: &mut dyn Hasher) {
        std::ptr::hash(Arc::as_ptr(&self.function), &mut state);
    }

    fn has_effect(&self) -> bool {
        self.effect
    }
}

/// The attributes of a call that has not been made yet.
pub fn attrs_of(function: Arc<dyn Function>) -> Attrs {
    let effect = function.effect();
    Attrs::new().with_other("function", FunctionAttr { function, form: None, effect })
}

/// The attributes of a recorded call: `results` outputs, followed by the residual. `keeps` says whether the residual may receive cotangents
/// itself, so that the operands are kept.
pub fn recorded(attrs: &Attrs, operands: usize, results: usize, residual: &Residual, keeps: bool) -> Attrs {
    let function = FunctionAttr { form: Some(residual.form.clone()), ..attr(attrs).clone() };
    Attrs::new()
        .with_other("function", function)
        .with_sizes("counts", &[if keeps { operands } else { 0 }, results, residual.tensors.len()])
}

/// The attributes of a call in a program, and whether one of its operations has an effect.
pub fn staged(attrs: &Attrs, results: usize, effect: bool) -> Attrs {
    let FunctionAttr { function, effect: own, .. } = attr(attrs).clone();
    Attrs::new()
        .with_other("function", FunctionAttr { function, form: None, effect: own || effect })
        .with_sizes("counts", &[0, results, 0])
}

pub(super) fn attr(attrs: &Attrs) -> &FunctionAttr {
    attrs.other("function").expect("a custom call has its function")
}

/// The number of operands kept, of results, and of tensors in the residual.
pub(super) fn counts(attrs: &Attrs) -> [usize; 3] {
    let counts = attrs.sizes("counts");
    [counts[0], counts[1], counts[2]]
}
