//! The registry of built-in primitives.

use crate::FILES;
use crate::primitive::Primitive;
use wengert_core::ground::Member;

const LISTS: [&[Member]; 4] = {
    let [functions, ground, files] = wengert_ops::ALL;
    [functions, ground, files, FILES]
};

const COUNT: usize = LISTS[0].len() + LISTS[1].len() + LISTS[2].len() + LISTS[3].len();

/// All built-in primitives with their family, in the order of the documentation.
pub static MEMBERS: &[Member] = &{
    let mut all = [FILES[0]; COUNT];
    let (mut list, mut place, mut i) = (0, 0, 0);
    while i < COUNT {
        if place == LISTS[list].len() {
            (list, place) = (list + 1, 0);
        }
        all[i] = LISTS[list][place];
        (place, i) = (place + 1, i + 1);
    }
    all
};

/// All built-in primitives, in the order of the documentation.
pub static PRIMITIVES: &[&dyn Primitive] = &{
    let mut all = [FILES[0].0; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = MEMBERS[i].0;
        i += 1;
    }
    all
};

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
