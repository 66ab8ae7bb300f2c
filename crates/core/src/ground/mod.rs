//! The operations behind Rust's operators, from which derivatives are built: arithmetic, selection, broadcasting and its transpose, the
//! sum. One file each, like all other operations.

/// Imports for the file of such an operation.
pub mod prelude {
    pub use super::file_methods::*;
    pub use crate::bind::{bind, bind1, try_bind1};
    pub use crate::primitive::{
        Adjoints, Attrs, Case, Cost, Dependency, Expression, Gradient, Gradients, Jet, Layout, Lower, Mask, Out,
        Outputs, Patch, Primitive, Rule, Sample, Saves, Spec, SpecRef, Specs, View, expect_arithmetic, expect_flags,
        expect_float, expect_reals, expect_same_dtype,
    };
    pub use crate::rules::{
        Fused, FusedOp, Linear, LinearOp, align_batch, away_from, checked_axes, elementwise, lane, slope,
    };
    pub use crate::tensor::{
        Laid, binary, collected, common_shape, computing, computing_float, fill, fill_from, numbers,
    };
    pub use crate::{DType, Error, ErrorKind, Operand, Over, Shape, Tensor, keepdim};
    pub use easy_ext::ext;
    pub use smallvec::{SmallVec, smallvec};
    pub use wengert_kernels::pool::Buffer;
    pub use wengert_kernels::tiled::Lane;
}

use crate::primitive::Primitive;

/// A primitive and its family.
pub type Member = (&'static dyn Primitive, &'static str);

/// Declares the files of operations by family, and lists their primitives and source texts.
#[macro_export]
#[doc(hidden)]
macro_rules! primitives {
    ($($family:ident { $($module:ident: $($primitive:ident)+ $(, $($methods:ident)+)?;)* })*) => {
        $(
            #[doc(hidden)]
            pub mod $family {
                $(
                    pub(crate) mod $module;
                    pub use $module::{$($primitive),+};
                )*
            }
        )*

        /// The methods that the files define.
        #[doc(hidden)]
        pub mod file_methods {
            $($($(pub use super::$family::$module::{$($methods),+};)?)*)*
        }

        /// The same methods, imported without their names.
        #[doc(hidden)]
        pub mod unnamed_file_methods {
            $($($(pub use super::$family::$module::{$($methods as _),+};)?)*)*
        }

        /// The primitives in the order of the documentation. A static, as all that names them for other crates: a constant would compile
        /// their generic code again in every crate that reads it.
        pub static FILES: &[$crate::ground::Member] =
            &[$($($((items::$primitive, stringify!($family)),)+)*)*];

        /// The primitives, for crates that compare with them.
        #[doc(hidden)]
        pub mod items {
            $($($(pub static $primitive: &dyn $crate::primitive::Primitive = &super::$family::$module::$primitive;)+)*)*
        }

        /// The source text of each primitive's file.
        #[cfg(feature = "cases")]
        pub const TEXTS: &[&str] = &[$($($($crate::source_of!($family $module $primitive),)+)*)*];
    };
}

/// The source text of a primitive's file.
#[macro_export]
#[doc(hidden)]
macro_rules! source_of {
    ($family:ident $module:ident $primitive:ident) => {
        include_str!(concat!(stringify!($family), "/", stringify!($module), ".rs"))
    };
}

primitives! {
    elementwise {
        add: ADD;
        sub: SUB;
        mul: MUL;
        div: DIV;
        neg: NEG;
        fmod: FMOD;
        round: ROUND;
        where_: WHERE;
        compare: COMPARE;
        cast: CAST;
    }
    movement {
        broadcast: BROADCAST;
        reshape: RESHAPE;
        transpose: TRANSPOSE;
    }
    reduction {
        sum: SUM;
    }
    internal {
        guarded_mul: GUARDED_MUL, GuardedMulMethods;
        zero_mul: ZERO_MUL, ZeroMulMethods;
        slope: SLOPE;
        barrier: BARRIER;
    }
}
