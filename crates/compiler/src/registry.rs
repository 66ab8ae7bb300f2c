//! The registry of built-in primitives.

use crate::FILES;
use crate::primitive::Primitive;
use std::sync::LazyLock;
use wengert_core::ground::Member;

/// All built-in primitives with their family, in the order of the documentation.
pub static MEMBERS: LazyLock<Vec<Member>> = LazyLock::new(|| {
    let [functions, ground, files] = wengert_ops::all();
    [functions, ground, files, FILES].concat()
});

/// All built-in primitives, in the order of the documentation.
pub static PRIMITIVES: LazyLock<Vec<&'static dyn Primitive>> =
    LazyLock::new(|| MEMBERS.iter().map(|&(op, _)| op).collect());

/// All built-in primitives with their family and source file, from which the documentation is generated.
#[cfg(feature = "cases")]
pub fn sources() -> impl Iterator<Item = (&'static dyn Primitive, &'static str, &'static str)> {
    let [functions, ground, files] = wengert_ops::ALL_TEXTS;
    let texts = [functions, ground, files, crate::TEXTS].into_iter().flatten();
    MEMBERS.iter().zip(texts).map(|(&(op, family), &text)| (op, family, text))
}

/// The built-in primitive with this name.
///
/// ```
/// use wengert::primitive::find;
/// assert_eq!(find("matmul").unwrap().operands(), 2);
/// assert!(find("no_such").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static dyn Primitive> {
    PRIMITIVES.iter().copied().find(|primitive| primitive.name() == name)
}
