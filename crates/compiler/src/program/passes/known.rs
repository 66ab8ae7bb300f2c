//! The built-in primitives that passes refer to, as statics, and properties of all built-in primitives. A user-defined operation of the
//! same name is a different item.

pub(super) use crate::ground::items::{
    ADD, BARRIER, BROADCAST, CAST, COMPARE, MUL, NEG, RESHAPE, SUM, TRANSPOSE, WHERE,
};
pub(super) use crate::items::SCAN;
use crate::primitive::Primitive;
use crate::registry::MEMBERS;
use crate::rules::Elementwise;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
pub(super) use wengert_ops::functions::items::{ABS, COSH, EXP, EXP2, SIGMOID, SQRT, SQUARE};
pub(super) use wengert_ops::items::{
    CONCAT, LAYER_NORM, LINEAR, MATMUL, PACK_POSITIVE, RELU, RMS_NORM, SLICE, SLICE_ADD,
};

static KNOWN: LazyLock<FxHashMap<&'static str, (&'static dyn Primitive, &'static str)>> =
    LazyLock::new(|| MEMBERS.iter().map(|&(op, family)| (op.name(), (op, family))).collect());

/// The built-in primitive named in the text of a rule.
pub(super) fn known(name: &str) -> &'static dyn Primitive {
    KNOWN.get(name).unwrap_or_else(|| panic!("there is no primitive '{name}'")).0
}

/// The family of a built-in primitive; `None` for a user-defined one.
fn family(op: &'static dyn Primitive) -> Option<&'static str> {
    let (own, family) = KNOWN.get(op.name())?;
    op.is(*own).then_some(*family)
}

pub fn is_built_in(op: &'static dyn Primitive) -> bool {
    family(op).is_some()
}

/// Whether it is one of these.
pub(super) fn is_any(op: &'static dyn Primitive, items: &[&'static dyn Primitive]) -> bool {
    items.iter().any(|item| op.is(*item))
}

/// Whether a built-in primitive draws random numbers.
pub(super) fn is_random(op: &'static dyn Primitive) -> bool {
    family(op) == Some("random")
}

/// Whether it separates subsequent equations from earlier ones.
pub(super) fn is_barrier(op: &'static dyn Primitive) -> bool {
    op.is(BARRIER)
}

/// Whether every output element is the same function of the operands' elements at its position.
pub(super) fn is_elementwise(op: &'static dyn Primitive) -> bool {
    let family = family(op);
    family == Some("elementwise") || (family.is_some() && Elementwise::of(op).is_some())
}

/// Whether two operands can be swapped without changing a bit.
pub(super) fn is_commutative(op: &'static dyn Primitive) -> bool {
    is_any(op, &[ADD, MUL])
}
