//! Dense linear algebra. One line an operation, in the order of the alphabet.
//!
//! Vectors of a decomposition are recorded through a function that does not depend on their signs.

use super::{Adapter, Exception};

pub const ADAPTERS: &[(&str, Adapter)] = &[];

pub const EXCEPTIONS: &[Exception] = &[];
