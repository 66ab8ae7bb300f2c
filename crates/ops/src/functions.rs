//! The primitives and methods of the functions of one number, from the [table](wengert_kernels::functions!).

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
        values: $values:ident,
        $(integer: |$i:ident| $integer:expr,)?
        slope: |$x:ident, $y:ident| $slope:expr, of: $of:ident, $(by: $by:ident,)?
        rule: $rule:literal,
        reference: |$r:ident| $reference:expr,
        domain: $domain:expr,
        edges: $edges:expr,
    })*) => {
        /// The functions of one number.
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
                constants: &[],
                text: concat!(stringify!($name), "(x)"),
                f64: &table::$NAME.f64,
                f32: &table::$NAME.f32,
                i64: table::$NAME.i64.as_ref(),
                slopes: &[Slope::Expression(SlopeExpression {
                    sources: &[source!($of)],
                    needs: Needs::of(&[source!($of)]),
                    text: stringify!($slope),
                    names: &[source!(@name $of $x $y)],
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

        pub const ALL: &[Member] = &[$((&$NAME, "elementwise")),*];

        /// Each as a file of its own would say it.
        #[cfg(feature = "cases")]
        pub const TEXTS: &[&str] = &[$(concat!(
            "//! ", $page, "\n\nimpl Tensor {\n", $("    ///", $doc, "\n",)*
            "    pub fn ", stringify!($name), "(&self) -> Tensor {\n    }\n}\n"
        )),*];
    };
}

macro_rules! source {
    (operand) => {
        Source::Operand(0)
    };
    (output) => {
        Source::Output(0)
    };
    (@name operand $x:ident $y:ident) => {
        stringify!($x)
    };
    (@name output $x:ident $y:ident) => {
        stringify!($y)
    };
}

macro_rules! saved {
    (operand $saved:ident $x:ident $y:ident) => {
        let $x = $saved[0];
    };
    (output $saved:ident $x:ident $y:ident) => {
        let $y = $saved[0];
    };
}

wengert_kernels::functions!(primitives_of_functions);
