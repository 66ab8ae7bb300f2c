//! The primitives: one file each, registered by one line here.
//!
//! The order of the lines is the order in documents. Adding a primitive touches its own new file and this list.

mod elementwise_rule;
mod operand;

pub use movement::slice::{Select, Selection};
pub use operand::Operand;
pub(crate) use operand::{binary, common_shape};
pub use random::uniform::Key;

use crate::primitive::Primitive;

macro_rules! primitives {
    ($($family:ident { $($module:ident: $($primitive:ident)+;)* })*) => {
        $(pub(crate) mod $family { $(pub(crate) mod $module;)* })*

        /// Every built-in primitive, in the order of the documents.
        pub static PRIMITIVES: &[&dyn Primitive] = &[$($($(&$family::$module::$primitive,)+)*)*];

        /// (primitive, family, source file), from which documents are made.
        pub static SOURCES: &[(&dyn Primitive, &str, &str)] = &[$($($((
            &$family::$module::$primitive,
            stringify!($family),
            include_str!(concat!(stringify!($family), "/", stringify!($module), ".rs")),
        ),)+)*)*];
    };
}

primitives! {
    elementwise {
        add: ADD;
        sub: SUB;
        mul: MUL;
        div: DIV;
        neg: NEG;
        recip: RECIP;
        sqrt: SQRT;
        exp: EXP;
        log: LOG;
        sin: SIN;
        cos: COS;
        tanh: TANH;
        sigmoid: SIGMOID;
        relu: RELU;
        where_: WHERE;
        compare: COMPARE;
        cast: CAST;
    }
    movement {
        broadcast: BROADCAST;
        reshape: RESHAPE;
        transpose: TRANSPOSE;
        slice: SLICE;
        slice_update: SLICE_ADD SLICE_ASSIGN;
    }
    reduction {
        sum: SUM;
        max: MAX;
    }
    product {
        matmul: MATMUL;
        svd: SVD;
    }
    indexing {
        gather: GATHER;
        scatter_add: SCATTER_ADD;
    }
    random {
        uniform: UNIFORM;
        split_key: SPLIT_KEY;
    }
    internal {
        guarded_mul: GUARDED_MUL;
        stop_gradient: STOP_GRADIENT;
        pack_positive: PACK_POSITIVE;
        select_bits: SELECT_BITS;
    }
}

/// The built-in primitive of this name.
///
/// ```
/// use wengert::primitive::find;
/// assert_eq!(find("matmul").unwrap().operands(), 2);
/// assert!(find("no_such").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static dyn Primitive> {
    PRIMITIVES.iter().copied().find(|primitive| primitive.name() == name)
}
