//! The primitives: one file each, registered by one line here.
//!
//! The order of the lines is the order in documents. Adding a primitive touches its own new file and this list.

mod operand;

pub use movement::slice::{Select, Selection};
pub use network::attention::Attention;
pub use network::conv::{Conv, Padding};
pub use network::layer_norm::Norm;
pub use network::max_pool::Pool;
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
        Fused, FusedOp, Linear, LinearOp, Numbers, align_batch, computed, elementwise, is_wide, slope,
    };
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
        svd: SVD;
    }
    indexing {
        gather: GATHER;
        scatter_add: SCATTER_ADD;
    }
    network {
        linear: LINEAR;
        conv: CONV CONV_INPUT_GRADIENT CONV_WEIGHT_GRADIENT;
        unfold_patches: UNFOLD_PATCHES FOLD_PATCHES;
        max_pool: MAX_POOL ADAPTIVE_MAX_POOL;
        planes: GATHER_PLANES SCATTER_PLANES;
        avg_pool: AVG_POOL AVG_POOL_GRADIENT ADAPTIVE_AVG_POOL ADAPTIVE_AVG_POOL_GRADIENT;
        layer_norm: LAYER_NORM LAYER_NORM_GRADIENT RMS_NORM RMS_NORM_GRADIENT;
        cross_entropy: SOFTMAX_CROSS_ENTROPY SOFTMAX_CROSS_ENTROPY_GRADIENT;
        attention: ATTENTION ATTENTION_GRADIENT SELF_ATTENTION SELF_ATTENTION_GRADIENT;
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
