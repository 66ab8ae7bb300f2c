//! The elementwise functions of one argument, one row of [`functions!`](crate::functions!) each. A row generates the loops here, the
//! instruction of [`cells`](crate::cells), the primitive and method of tensors, and the methods of all scalar number types.

mod loops;
mod table;
#[cfg(test)]
mod tests;
pub mod vocabulary;

pub use crate::math::Real;
pub use loops::{Loops, Parameters, SlopeLoops, TILE, both, guarded, scaled_by_tiles};

use crate::map::{loop1, loop3};

/// The loops of a function: values, and cotangents times slopes.
pub struct Row {
    /// Values.
    pub f64: Loops<f64>,
    /// Values in single precision.
    pub f32: Loops<f32>,
    /// Values of integers, if the function has an integer version.
    pub i64: Option<Loops<i64>>,
    /// Cotangents times slopes, computed from the argument or the value.
    pub slope_f64: SlopeLoops<f64>,
    /// Cotangents times slopes in single precision.
    pub slope_f32: SlopeLoops<f32>,
    /// The slope as it is written in the table, in terms of x and y.
    pub slope: &'static str,
}

macro_rules! rows {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident {
        page: $page:literal,
        $(value: |$v:ident| $value:expr,)?
        $(values: $values:ident,)?
        $(integer: |$i:ident| $integer:expr,)?
        slope: |$x:ident, $y:ident| $slope:expr, of: $of:ident, $(by: $by:ident,)?
        rule: $rule:literal,
        reference: |$r:ident| $reference:expr,
        domain: $domain:expr,
        edges: $edges:expr,
    })*) => {
        /// A function of the table, by its name.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $(
                #[doc = $page]
                $name,
            )*
        }

        impl Function {
            /// Every function, in the order of the table.
            pub const ALL: &[Function] = &[$(Function::$name),*];

            /// Its name.
            ///
            /// ```
            /// use wengert_kernels::functions::Function;
            /// assert_eq!(Function::ALL[0].name(), "sqrt");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(Function::$name => stringify!($name),)*
                }
            }

            /// Its value.
            ///
            /// ```
            /// use wengert_kernels::functions::Function;
            /// assert_eq!(Function::exp.value(0.0), 1.0);
            /// ```
            pub fn value(self, x: f64) -> f64 {
                match self {
                    $(Function::$name => Functions::$name(x),)*
                }
            }

            /// Its values over a slice, bitwise equal to [`value`](Function::value). Panics unless the lengths are equal.
            pub fn values(self, x: &[f64], out: &mut [f64]) {
                (self.row().f64.slices)(x, x, out, [0.0; 3]);
            }

            /// Its loops.
            pub fn row(self) -> &'static Row {
                match self {
                    $(Function::$name => &$NAME,)*
                }
            }
        }

        /// The functions as methods of one number.
        pub trait Functions: Real {
            $(
                #[doc = $page]
                fn $name(self) -> Self;
            )*
        }

        impl Functions for f64 {
            $(#[inline(always)]
            fn $name(self) -> f64 {
                values!(@one f64 $name self $(|$v| $value)?)
            })*
        }

        impl Functions for f32 {
            $(#[inline(always)]
            fn $name(self) -> f32 {
                values!(@one f32 $name self $(|$v| $value)?)
            })*
        }

        $(
            #[doc = $page]
            pub static $NAME: Row = Row {
                f64: values!(f64 $name $($values)?),
                f32: values!(f32 $name $($values)?),
                i64: values!(integer $(|$i| $integer)?),
                slope_f64: slopes!(f64 $of $($by)? |$x, $y| $slope),
                slope_f32: slopes!(f32 $of $($by)? |$x, $y| $slope),
                slope: stringify!($slope),
            };
        )*
    };
}

macro_rules! values {
    (integer) => {
        None
    };
    (integer |$i:ident| $integer:expr) => {
        Some(Loops {
            one: |$i: i64, _, _| $integer,
            slices: |x, _, out, _| loop1(x, out, |$i: i64| $integer),
            update: None,
        })
    };
    ($t:ident $name:ident $values:ident) => {
        Loops::<$t> {
            one: |x, _, _| Functions::$name(x),
            slices: |x, _, out, _| vocabulary::$values(x, out),
            update: None,
        }
    };
    ($t:ident $name:ident) => {
        Loops::<$t> {
            one: |x, _, _| Functions::$name(x),
            slices: |x, _, out, _| {
                loop1(
                    x,
                    out,
                    #[inline(always)]
                    |x: $t| Functions::$name(x),
                )
            },
            update: None,
        }
    };
    (@one $t:ident $name:ident $self:ident) => {
        vocabulary::one::$name($self)
    };
    (@one $t:ident $name:ident $self:ident |$x:ident| $value:expr) => {{
        #[allow(unused_imports)]
        use vocabulary::*;
        lit!($t);
        let $x: $t = $self;
        $value
    }};
}

/// The input of the slope comes first, whether that is the argument or the value.
macro_rules! slopes {
    ($t:ident both |$x:ident, $y:ident| $slope:expr) => {
        SlopeLoops::<$t> {
            one: |g, $x, $y, _| guarded(g, slopes!(@both $t $slope)),
            slices: |g, x, y, out, _| loop3(g, x, y, out, #[inline(always)] |g: $t, $x: $t, $y: $t| {
                guarded(g, slopes!(@both $t $slope))
            }),
        }
    };
    ($t:ident $of:ident $by:ident |$x:ident, $y:ident| $slope:expr) => {
        SlopeLoops::<$t> {
            one: |g, s, _, _| guarded(g, slopes!(@slope $t $of s |$x, $y| $slope)),
            slices: |g, s, _, out, _| scaled_by_tiles(g, out, |range, slopes| vocabulary::$by(&s[range], slopes)),
        }
    };
    ($t:ident $of:ident |$x:ident, $y:ident| $slope:expr) => {
        SlopeLoops::<$t> {
            one: |g, s, _, _| guarded(g, slopes!(@slope $t $of s |$x, $y| $slope)),
            slices: |g, s, unused, out, _| loop3(g, s, unused, out, #[inline(always)] |g: $t, s: $t, _: $t| {
                guarded(g, slopes!(@slope $t $of s |$x, $y| $slope))
            }),
        }
    };
    (@both $t:ident $slope:expr) => {{
        #[allow(unused_imports)]
        use vocabulary::*;
        lit!($t);
        $slope
    }};
    (@slope $t:ident operand $s:ident |$x:ident, $y:ident| $slope:expr) => {{
        #[allow(unused_imports)]
        use vocabulary::*;
        lit!($t);
        let $x: $t = $s;
        $slope
    }};
    (@slope $t:ident output $s:ident |$x:ident, $y:ident| $slope:expr) => {{
        #[allow(unused_imports)]
        use vocabulary::*;
        lit!($t);
        let $y: $t = $s;
        $slope
    }};
}

/// Defines `lit`, a literal of a known type: the type on the left of an operator cannot be inferred.
macro_rules! lit {
    ($t:ident) => {
        #[allow(dead_code)]
        #[inline(always)]
        fn lit(value: f64) -> $t {
            value as $t
        }
    };
}

crate::functions!(rows);
