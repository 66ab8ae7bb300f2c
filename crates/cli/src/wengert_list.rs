//! The Wengert list that the tour begins with.

use crate::grad::listing;

/// The list of y = x1 x2 + sin x1 at x1 = 2, x2 = 3, with every value that reverse mode computes.
pub fn wengert_list() -> String {
    listing("x1*x2 + sin(x1)", &["x1=2", "x2=3"]).expect("the expression is right")
}
