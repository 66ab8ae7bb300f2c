//! Products of matrices and vectors. One line an operation, in the order of the alphabet.

use super::{Adapter, Exception};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("matmul", |c| vec![c.input().matmul(c.tensor(0))]),
    ("mm", |c| vec![c.input().matmul(c.tensor(0))]),
    ("mv", |c| vec![c.input().matmul(c.tensor(0))]),
];

pub const EXCEPTIONS: &[Exception] = &[];
