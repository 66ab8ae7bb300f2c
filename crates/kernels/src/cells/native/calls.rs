//! Functions that native code calls for operations that take more than a few instructions.

use super::super::Op;
use crate::functions::Function;

/// The signature of a called function.
pub(super) enum Called {
    /// Takes one or two numbers; a function of one number ignores the second.
    Numbers(extern "sysv64" fn(f64, f64) -> f64),
    /// Takes a number and an integer.
    Integer(extern "sysv64" fn(f64, i64) -> f64, i64),
}

/// The function for an operation. Panics if the operation is compiled to instructions instead.
pub(super) fn called(op: Op) -> Called {
    match op {
        Op::Of(function) => Called::Numbers(of_table(function)),
        Op::Rem => Called::Numbers(rem),
        Op::Powf => Called::Numbers(powf),
        Op::Atan2 => Called::Numbers(atan2),
        Op::Hypot => Called::Numbers(hypot),
        Op::Powi(n) => Called::Integer(powi, i64::from(n)),
        Op::Polygamma(n) => Called::Integer(polygamma, i64::from(n)),
        _ => unreachable!("{op:?} has instructions"),
    }
}

extern "sysv64" fn rem(a: f64, b: f64) -> f64 {
    Op::Rem.apply(a, b)
}

extern "sysv64" fn powf(a: f64, b: f64) -> f64 {
    Op::Powf.apply(a, b)
}

extern "sysv64" fn atan2(a: f64, b: f64) -> f64 {
    Op::Atan2.apply(a, b)
}

extern "sysv64" fn hypot(a: f64, b: f64) -> f64 {
    Op::Hypot.apply(a, b)
}

extern "sysv64" fn powi(a: f64, n: i64) -> f64 {
    Op::Powi(n as i32).apply(a, a)
}

extern "sysv64" fn polygamma(a: f64, n: i64) -> f64 {
    Op::Polygamma(n as u32).apply(a, a)
}

macro_rules! functions_called {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident { $($row:tt)* })*) => {
        fn of_table(function: Function) -> extern "sysv64" fn(f64, f64) -> f64 {
            $(
                extern "sysv64" fn $name(a: f64, _: f64) -> f64 {
                    Function::$name.value(a)
                }
            )*
            match function {
                $(Function::$name => $name,)*
            }
        }
    };
}
crate::functions!(functions_called);
