//! Reading and writing by index, sorting, selecting. One line an operation, in the order of the alphabet.

use super::case::Part;
use super::{Adapter, Exception};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("gather", |c| vec![c.input().gather(c.int("dim", 0), c.tensor(1))]),
    ("scatter_add", |c| vec![c.input().scatter_add(c.int("dim", 0), c.tensor(1), c.tensor(2))]),
];

pub const EXCEPTIONS: &[Exception] = &[
    ("gather", &[5], &[Part::Value], "a scalar has no axis 0"),
    ("scatter_add", &[6], &[Part::Value], "a scalar has no axis 0"),
];
