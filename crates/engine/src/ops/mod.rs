//! The primitives: one file each, registered by one line here.
//!
//! The order of the lines is the order in documents. Adding a primitive touches its own new file and this list.

mod operand;

pub use operand::Operand;
pub(crate) use operand::{binary, common_shape};
pub use random::uniform::Key;

use crate::primitive::Primitive;

/// What the file of an operation needs.
pub(crate) mod prelude {
    pub(crate) use super::{Operand, binary, common_shape};
    pub(crate) use crate::bind::{bind, bind1};
    pub(crate) use crate::primitive::{
        Adjoints, Attrs, Case, Cost, Dependency, Device, Gradient, Gradients, Jet, Mask, Outputs, Patch, Primitive,
        Rule, Sample, Saves, Spec, SpecRef, Specs, expect_arithmetic, expect_float, expect_same_dtype,
    };
    pub(crate) use crate::rules::{
        Linear, LinearOp, PartOf, PartTake, PartUpdate, Pick, PickOp, Reduced, Reduction, ReductionOp, Rows,
        align_batch, arranged, checked_axes, elementwise, pick_rows, rows_last, slope,
    };
    pub(crate) use crate::tensor::{computing, computing_float, fill, numbers};
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
        flip: FLIP;
        diagonal: DIAGONAL DIAGONAL_ADD DIAGONAL_ASSIGN;
        windows: WINDOWS WINDOWS_ADD;
        concat: CONCAT;
    }
    reduction {
        sum: SUM;
        prod: PROD;
        amax: AMAX;
        amin: AMIN;
        max: MAX;
        min: MIN;
        any: ANY;
        all: ALL;
        var: VAR;
        std: STD;
        norm: NORM;
        logsumexp: LOGSUMEXP;
        softmax: SOFTMAX;
        log_softmax: LOG_SOFTMAX;
        cumsum: CUMSUM;
        cumprod: CUMPROD;
        cummax: CUMMAX;
        cummin: CUMMIN;
        logcumsumexp: LOGCUMSUMEXP;
        linear_scan: LINEAR_SCAN;
    }
    order {
        sort: SORT;
        topk: TOPK;
        kthvalue: KTHVALUE;
        median: MEDIAN;
        mode: MODE;
        searchsorted: SEARCHSORTED;
    }
    product {
        matmul: MATMUL;
        svd: SVD;
    }
    indexing {
        gather: GATHER;
        scatter_add: SCATTER_ADD;
        scatter: SCATTER;
        scatter_fold: SCATTER_MUL SCATTER_MAX SCATTER_MIN;
        wrap_index: WRAP_INDEX;
    }
    random {
        uniform: UNIFORM;
        permutation: PERMUTATION;
        split_key: SPLIT_KEY;
    }
    internal {
        guarded_mul: GUARDED_MUL;
        stop_gradient: STOP_GRADIENT;
        pack_positive: PACK_POSITIVE;
        select_bits: SELECT_BITS;
        softmax_gradient: SOFTMAX_GRADIENT;
        log_softmax_gradient: LOG_SOFTMAX_GRADIENT;
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
