//! The operations of instructions, on single values and on slices.

use crate::functions::Function;
use crate::map::{loop1, loop2};
use crate::math;

/// A function of one or two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The operand itself.
    Copy,
    /// -a.
    Neg,
    /// 1 / a.
    Recip,
    /// A function of the table.
    Of(Function),
    /// Derivative of this order of the digamma function.
    Polygamma(u32),
    /// An integer power.
    Powi(i32),
    /// 1, -1, or 0 at 0.
    Signum,
    /// The largest integer not above a.
    Floor,
    /// The smallest integer not below a.
    Ceil,
    /// The nearest integer, ties to even.
    Round,
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a b.
    Mul,
    /// a / b.
    Div,
    /// The remainder of a / b, with the sign of a.
    Rem,
    /// a b, and 0 where a is 0 (even if b is infinite or NaN) or where b is 0 and a is infinite.
    Times,
    /// a^b.
    Powf,
    /// The angle of the point (b, a).
    Atan2,
    /// The length of (a, b).
    Hypot,
    /// The maximum, NaN if either is NaN.
    Max,
    /// The minimum, NaN if either is NaN.
    Min,
    /// 0 if b is larger, 1/2 if they are equal, else 1.
    Share,
    /// a where b is not negative, NaN elsewhere.
    Inside,
}

#[inline(always)]
fn signum(a: f64) -> f64 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        a * 0.0
    }
}

#[inline(always)]
pub(super) fn times(a: f64, b: f64) -> f64 {
    if (a == 0.0) | ((b == 0.0) & !a.is_nan()) { 0.0 } else { a * b }
}

#[inline(always)]
fn max(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn min(a: f64, b: f64) -> f64 {
    if a <= b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn share(a: f64, b: f64) -> f64 {
    let tie = if a == b { 0.5 } else { 1.0 };
    if a < b { 0.0 } else { tie }
}

#[inline(always)]
fn inside(a: f64, b: f64) -> f64 {
    if b >= 0.0 { a } else { f64::NAN }
}

impl Op {
    /// The number of operands.
    ///
    /// ```
    /// use wengert_kernels::cells::Op;
    /// assert_eq!((Op::Floor.operands(), Op::Add.operands()), (1, 2));
    /// ```
    pub fn operands(self) -> usize {
        use Op::{Add, Atan2, Div, Hypot, Inside, Max, Min, Mul, Powf, Rem, Share, Sub, Times};
        match self {
            Add | Sub | Mul | Div | Rem | Times | Powf | Atan2 | Hypot | Max | Min | Share | Inside => 2,
            _ => 1,
        }
    }

    /// Whether native code calls a function for it instead of using a few instructions.
    pub(super) fn is_called(self) -> bool {
        match self {
            Op::Of(function) => !matches!(function, Function::abs | Function::sqrt),
            Op::Powi(n) => !(-1..=4).contains(&n),
            Op::Polygamma(_) | Op::Rem | Op::Powf | Op::Atan2 | Op::Hypot => true,
            _ => false,
        }
    }

    /// Its value; an operation of one operand ignores `b`.
    ///
    /// ```
    /// use wengert_kernels::cells::Op;
    /// assert_eq!(Op::Times.apply(0.0, f64::NAN), 0.0);
    /// assert_eq!(Op::Times.apply(f64::INFINITY, 0.0), 0.0);
    /// ```
    #[inline(always)]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Op::Copy => a,
            Op::Neg => -a,
            Op::Recip => 1.0 / a,
            Op::Of(Function::sqrt) => a.sqrt(),
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            Op::Times => times(a, b),
            _ => self.apply_rare(a, b),
        }
    }

    /// A separate function, to keep the common path short.
    #[inline(never)]
    fn apply_rare(self, a: f64, b: f64) -> f64 {
        match self {
            Op::Of(function) => function.value(a),
            Op::Polygamma(n) => math::polygamma(n, a),
            Op::Powi(n) => math::powi(a, i64::from(n)),
            Op::Signum => signum(a),
            Op::Floor => a.floor(),
            Op::Ceil => a.ceil(),
            Op::Round => a.round_ties_even(),
            Op::Rem => a % b,
            Op::Powf => math::powf(a, b),
            Op::Atan2 => math::atan2(a, b),
            Op::Hypot => math::hypot(a, b),
            Op::Max => max(a, b),
            Op::Min => min(a, b),
            Op::Share => share(a, b),
            Op::Inside => inside(a, b),
            Op::Copy | Op::Neg | Op::Recip | Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Times => self.apply(a, b),
        }
    }

    /// Its values over slices, bitwise equal to [`apply`](Op::apply).
    pub(super) fn apply_all(self, a: &[f64], b: &[f64], to: &mut [f64]) {
        match self {
            Op::Copy => to.copy_from_slice(a),
            Op::Neg => loop1(a, to, |a| -a),
            Op::Recip => loop1(a, to, |a| 1.0 / a),
            Op::Of(function) => function.values(a, to),
            Op::Powi(n) => math::powi_slice(a, i64::from(n), to),
            Op::Signum => loop1(a, to, signum),
            Op::Floor => loop1(a, to, f64::floor),
            Op::Ceil => loop1(a, to, f64::ceil),
            Op::Round => loop1(a, to, f64::round_ties_even),
            Op::Polygamma(_) => to.iter_mut().zip(a).for_each(|(to, a)| *to = self.apply(*a, 0.0)),
            Op::Add => loop2(a, b, to, |a, b| a + b),
            Op::Sub => loop2(a, b, to, |a, b| a - b),
            Op::Mul => loop2(a, b, to, |a, b| a * b),
            Op::Div => loop2(a, b, to, |a, b| a / b),
            Op::Rem => loop2(a, b, to, |a, b| a % b),
            Op::Times => loop2(a, b, to, times),
            Op::Powf => math::powf_slice(a, b, to),
            Op::Atan2 => math::atan2_slice(a, b, to),
            Op::Hypot => math::hypot_slice(a, b, to),
            Op::Max => loop2(a, b, to, max),
            Op::Min => loop2(a, b, to, min),
            Op::Share => loop2(a, b, to, share),
            Op::Inside => loop2(a, b, to, inside),
        }
    }
}
