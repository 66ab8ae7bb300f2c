//! What passes know of built-in primitives: their names mean what their files say. A user's operation of the same name does
//! not.

use crate::primitive::Primitive;
use crate::registry::MEMBERS;
use crate::rules::Elementwise;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

static KNOWN: LazyLock<FxHashMap<&'static str, (&'static dyn Primitive, &'static str)>> =
    LazyLock::new(|| MEMBERS.iter().map(|&(op, family)| (op.name(), (op, family))).collect());

/// The built-in primitive of this name.
pub(super) fn known(name: &str) -> &'static dyn Primitive {
    KNOWN.get(name).unwrap_or_else(|| panic!("there is no primitive '{name}'")).0
}

/// The folder of a built-in primitive; `None` for a user's.
fn family(op: &'static dyn Primitive) -> Option<&'static str> {
    let (own, family) = KNOWN.get(op.name())?;
    std::ptr::addr_eq(*own, op).then_some(*family)
}

pub fn is_built_in(op: &'static dyn Primitive) -> bool {
    family(op).is_some()
}

/// Whether a built-in primitive draws random numbers.
pub(super) fn is_random(op: &'static dyn Primitive) -> bool {
    family(op) == Some("random")
}

/// Whether it keeps what follows apart from what was computed before.
pub(super) fn is_barrier(op: &'static dyn Primitive) -> bool {
    op.name() == "barrier" && is_built_in(op)
}

/// Whether every output element is one function, the same for all places, of the operands' elements at its place.
pub(super) fn is_elementwise(op: &'static dyn Primitive) -> bool {
    let family = family(op);
    family == Some("elementwise") || (family.is_some() && Elementwise::of(op).is_some())
}

/// Whether two operands may trade places, to the bit.
pub(super) fn is_commutative(op: &'static dyn Primitive) -> bool {
    matches!(op.name(), "add" | "mul") && is_built_in(op)
}
