//! The primitives: one file each, registered by one line here.
//!
//! The order of the lines is the order in documents. Adding a primitive touches its own new file and this list.

mod operand;

pub use linalg::solve_triangular::Triangle;
pub use movement::slice::{Select, Selection};
pub use operand::Operand;
pub(crate) use operand::{binary, common_shape};
pub use random::uniform::Key;

use crate::primitive::Primitive;

/// What the file of an operation needs.
pub(crate) mod prelude {
    pub(crate) use super::{Operand, binary, common_shape};
    pub(crate) use crate::bind::{bind, bind1, try_bind1};
    pub(crate) use crate::primitive::{
        Adjoints, Attrs, Case, Cost, Dependency, Device, Gradient, Gradients, Jet, Mask, Outputs, Patch, Primitive,
        Rule, Sample, Saves, Spec, SpecRef, Specs, expect_arithmetic, expect_float, expect_same_dtype,
    };
    pub(crate) use crate::rules::{Decomposition, DecompositionOp, Linear, LinearOp, align_batch, elementwise, slope};
    pub(crate) use crate::{DType, Error, ErrorKind, Shape, Tensor};
    pub(crate) use smallvec::{SmallVec, smallvec};
}

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
        abs: ABS;
        sign: SIGN;
        recip: RECIP;
        sqrt: SQRT;
        exp: EXP;
        log: LOG;
        sin: SIN;
        cos: COS;
        asin: ASIN;
        tanh: TANH;
        sigmoid: SIGMOID;
        relu: RELU;
        leaky_relu: LEAKY_RELU;
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
        cdist: CDIST;
    }
    linalg {
        inv: INV;
        solve: SOLVE;
        solve_triangular: SOLVE_TRIANGULAR;
        det: DET;
        cofactor: COFACTOR;
        slogdet: SLOGDET;
        cholesky: CHOLESKY;
        lu: LU;
        lu_permutation: LU_PERMUTATION;
        lu_solve: LU_SOLVE;
        qr: QR;
        eigh: EIGH;
        svd: SVD;
        pinv: PINV;
        matrix_exp: MATRIX_EXP;
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
