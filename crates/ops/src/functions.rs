//! The primitives and methods of the functions of one variable, from the [table](wengert_kernels::functions!).

use crate::Tensor;
use crate::bind::bind1;
use crate::ground::Member;
use crate::primitive::{Attrs, Jet};
use crate::rules::reference::*;
use crate::rules::{Domain::*, *};
use easy_ext::ext;
use wengert_kernels::functions as table;

macro_rules! primitives_of_functions {
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
        /// Functions of one variable.
        #[ext(FunctionMethods)]
        impl Tensor {
            $(
                $(#[doc = $doc])*
                #[track_caller]
                pub fn $name(&self) -> Tensor {
                    bind1(&$NAME, Attrs::new(), &[self])
                }
            )*
        }

        $(
            #[doc = concat!("The primitive `", stringify!($name), "`.")]
            pub static $NAME: Elementwise = Elementwise {
                name: stringify!($name),
                rule_text: $rule,
                parameters: &[],
                operand_names: &["x"],
                text: text!($name $($value)?),
                integer_text: integer_text!($($integer)?),
                f64: &table::$NAME.f64,
                f32: &table::$NAME.f32,
                i64: table::$NAME.i64.as_ref(),
                slopes: &[Slope::Expression(SlopeExpression {
                    sources: sources!($of),
                    needs: Needs::of(sources!($of)),
                    text: stringify!($slope),
                    names: sources!(@names $of $x $y),
                    parameters: &[],
                    is_source: is_same(stringify!($slope), stringify!($y)),
                    keeps_both: false,
                    tensor: |saved, _| {
                        #[allow(unused_imports)]
                        use formula::tensor::*;
                        saved!($of saved $x $y);
                        formula::IntoSlope::into_slope($slope)
                    },
                    f64: &table::$NAME.slope_f64,
                    f32: &table::$NAME.slope_f32,
                })],
                jet: Jet::Slope,
                #[cfg(feature = "cases")]
                tested: Tested {
                    tried: &[[0.0; 3]],
                    reference: |$r, _, _| $reference,
                    domain: $domain,
                    edges: Edges::One(&$edges),
                },
            };
        )*

        pub static ALL: &[Member] = &[$((items::$NAME, "elementwise")),*];

        /// The primitives, for crates that compare with them.
        pub mod items {
            $(pub static $NAME: &dyn crate::primitive::Primitive = &super::$NAME;)*
        }

        /// The text that a separate file for each would contain.
        #[cfg(feature = "cases")]
        pub const TEXTS: &[&str] = &[$(concat!(
            "//! ", $page, "\n\nimpl Tensor {\n", $("    ///", $doc, "\n",)*
            "    pub fn ", stringify!($name), "(&self) -> Tensor {\n    }\n}\n"
        )),*];
    };
}

/// The value as an expression.
macro_rules! text {
    ($name:ident) => {
        concat!(stringify!($name), "(x)")
    };
    ($name:ident $value:expr) => {
        stringify!($value)
    };
}

/// The value of integers as an expression.
macro_rules! integer_text {
    () => {
        None
    };
    ($integer:expr) => {
        Some(stringify!($integer))
    };
}

macro_rules! sources {
    (operand) => {
        &[SavedValue::Operand(0)]
    };
    (output) => {
        &[SavedValue::Output(0)]
    };
    (both) => {
        &[SavedValue::Operand(0), SavedValue::Output(0)]
    };
    (@names operand $x:ident $y:ident) => {
        &[stringify!($x)]
    };
    (@names output $x:ident $y:ident) => {
        &[stringify!($y)]
    };
    (@names both $x:ident $y:ident) => {
        &[stringify!($x), stringify!($y)]
    };
}

macro_rules! saved {
    (operand $saved:ident $x:ident $y:ident) => {
        let $x = $saved[0];
    };
    (output $saved:ident $x:ident $y:ident) => {
        let $y = $saved[0];
    };
    (both $saved:ident $x:ident $y:ident) => {
        let ($x, $y) = ($saved[0], $saved[1]);
    };
}

wengert_kernels::functions!(primitives_of_functions);
