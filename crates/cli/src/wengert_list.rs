//! The Wengert list that the tour begins with.

use crate::grad::Options;

/// The request for the list of y = x1 x2 + sin x1 at x1 = 2, x2 = 3.
pub fn options(json: bool) -> Options {
    let at = ["x1=2", "x2=3"].map(String::from).into();
    Options { expression: "x1*x2 + sin(x1)".into(), at, json, ..Options::default() }
}
