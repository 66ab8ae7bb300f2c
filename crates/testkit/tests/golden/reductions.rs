//! Reductions and scans. One line an operation, in the order of the alphabet.

use super::case::Part;
use super::{Adapter, Exception, pair};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("max.reduction_with_dim", |c| pair(c.input().max_along(c.int("dim", 0)))),
    ("sum_to_size", |c| vec![c.input().sum_to(c.shape(0))]),
];

pub const EXCEPTIONS: &[Exception] = &[("max.reduction_with_dim", &[2], &[Part::Value], "a scalar has no axis 0")];
