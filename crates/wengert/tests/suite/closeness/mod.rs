//! Numbers that should be equal up to rounding.

use wengert::prelude::*;

#[track_caller]
pub fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    let difference = (a - b).abs().max().item();
    assert!(difference <= tolerance, "{a:?} against {b:?}: {difference:e}");
}

#[track_caller]
pub fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} against {b}: {:e}", (a - b).abs());
}
