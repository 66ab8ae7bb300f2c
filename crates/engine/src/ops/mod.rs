//! The primitives: one file each, registered by one line here.
//!
//! The order of the lines is the order in documents. Adding a primitive touches its own new file and this list.

mod operand;

pub use control::scan::{scan, scan_reverse, scan_times};
pub use control::switch::{cond, switch};
pub use control::while_loop::{Count, fori, while_loop};
pub use linalg::solve_triangular::Triangle;
pub use network::attention::Attention;
pub use network::conv::{Conv, Padding};
pub use network::layer_norm::Norm;
pub use network::max_pool::Pool;
pub use operand::Operand;
pub(crate) use operand::{binary, binary_owned, common_shape};
pub use random::uniform::Key;

use crate::primitive::Primitive;

/// What the file of an operation needs.
pub(crate) mod prelude {
    pub(crate) use super::{Operand, binary, common_shape};
    pub(crate) use crate::bind::{bind, bind1, try_bind1};
    pub(crate) use crate::primitive::{
        Adjoints, Attrs, Case, Cost, Dependency, Expression, Gradient, Gradients, Jet, Layout, Mask, Out, Outputs,
        Patch, Primitive, Rule, Sample, Saves, Spec, SpecRef, Specs, View, expect_arithmetic, expect_float,
        expect_same_dtype,
    };
    pub(crate) use crate::rules::{
        Decomposition, DecompositionOp, Fused, FusedOp, Linear, LinearOp, PartOf, PartTake, PartUpdate, Pick, PickOp,
        Reduced, Reduction, ReductionOp, Rows, align_batch, arranged, away_from, checked_axes, elementwise, lane,
        pick_rows, rows_last, slope,
    };
    pub(crate) use crate::tensor::{Laid, collected, computing, computing_float, fill, fill_from, numbers};
    pub(crate) use crate::{DType, Error, ErrorKind, Shape, Tensor};
    pub(crate) use smallvec::{SmallVec, smallvec};
    pub(crate) use wengert_kernels::pool::Buffer;
    pub(crate) use wengert_kernels::tiled::Lane;
}

mod functions;

/// A primitive and its family.
type Member = (&'static dyn Primitive, &'static str);

macro_rules! primitives {
    ($($family:ident { $($module:ident: $($primitive:ident)+;)* })*) => {
        $(pub(crate) mod $family { $(pub(crate) mod $module;)* })*

        const FILES: &[Member] = &[$($($((&$family::$module::$primitive, stringify!($family)),)+)*)*];

        #[cfg(feature = "cases")]
        const TEXTS: &[&str] = &[$($($(source_of!($family $module $primitive),)+)*)*];
    };
}

#[cfg(feature = "cases")]
macro_rules! source_of {
    ($family:ident $module:ident $primitive:ident) => {
        include_str!(concat!(stringify!($family), "/", stringify!($module), ".rs"))
    };
}

const COUNT: usize = functions::ALL.len() + FILES.len();

/// Every built-in primitive with its family, in the order of the documents: functions of the table, then files.
pub(crate) static MEMBERS: &[Member] = &{
    let mut all = [FILES[0]; COUNT];
    let mut i = 0;
    while i < COUNT {
        let of_table = functions::ALL.len();
        all[i] = if i < of_table { functions::ALL[i] } else { FILES[i - of_table] };
        i += 1;
    }
    all
};

/// Every built-in primitive, in the order of the documents.
pub static PRIMITIVES: &[&dyn Primitive] = &{
    let mut all = [FILES[0].0; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = MEMBERS[i].0;
        i += 1;
    }
    all
};

/// Every built-in primitive with its family and its source file, from which documents are made.
#[cfg(feature = "cases")]
pub fn sources() -> impl Iterator<Item = (&'static dyn Primitive, &'static str, &'static str)> {
    let texts = functions::TEXTS.iter().chain(TEXTS);
    MEMBERS.iter().zip(texts).map(|(&(op, family), &text)| (op, family, text))
}

primitives! {
    elementwise {
        add: ADD;
        sub: SUB;
        combine: COMBINE;
        combine_square: COMBINE_SQUARE;
        over_root: OVER_ROOT;
        mul: MUL;
        div: DIV;
        neg: NEG;
        sign: SIGN;
        recip: RECIP;
        square: SQUARE;
        rsqrt: RSQRT;
        pow: POW;
        powf: POWF;
        logaddexp: LOGADDEXP;
        xlogy: XLOGY;
        xlog1py: XLOG1PY;
        atan2: ATAN2;
        hypot: HYPOT;
        sinc: SINC;
        logit: LOGIT;
        logsigmoid: LOGSIGMOID;
        relu: RELU;
        leaky_relu: LEAKY_RELU;
        prelu: PRELU;
        elu: ELU;
        celu: CELU;
        selu: SELU;
        gelu: GELU;
        gelu_tanh: GELU_TANH;
        silu: SILU;
        softplus: SOFTPLUS;
        softsign: SOFTSIGN;
        tanhshrink: TANHSHRINK;
        mish: MISH;
        hardtanh: HARDTANH;
        hardswish: HARDSWISH;
        hardsigmoid: HARDSIGMOID;
        threshold: THRESHOLD;
        hardshrink: HARDSHRINK;
        softshrink: SOFTSHRINK;
        erfcx: ERFCX;
        erfinv: ERFINV;
        ndtr: NDTR;
        ndtri: NDTRI;
        log_ndtr: LOG_NDTR;
        entr: ENTR;
        digamma: DIGAMMA;
        polygamma: POLYGAMMA;
        i0: I0;
        i0e: I0E;
        i1: I1;
        i1e: I1E;
        floor: FLOOR;
        ceil: CEIL;
        round: ROUND;
        trunc: TRUNC;
        fmod: FMOD;
        remainder: REMAINDER;
        floor_divide: FLOOR_DIVIDE;
        maximum: MAXIMUM;
        minimum: MINIMUM;
        fmax: FMAX;
        fmin: FMIN;
        clamp: CLAMP;
        clamp_min: CLAMP_MIN;
        clamp_max: CLAMP_MAX;
        copysign: COPYSIGN;
        nan_to_num: NAN_TO_NUM;
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
        triangle_part: TRIANGLE_PART;
        windows: WINDOWS WINDOWS_ADD;
        concat: CONCAT;
    }
    reduction {
        sum: SUM;
        prod: PROD;
        product_of_others: PRODUCT_OF_OTHERS;
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
        scatter: SCATTER;
        unscatter: UNSCATTER;
        scatter_fold: SCATTER_MUL SCATTER_MAX SCATTER_MIN;
        wrap_index: WRAP_INDEX;
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
        attention: ATTENTION ATTENTION_GRADIENT;
        self_attention: SELF_ATTENTION SELF_ATTENTION_GRADIENT;
    }
    random {
        uniform: UNIFORM;
        permutation: PERMUTATION;
        split_key: SPLIT_KEY;
    }
    control {
        call: CALL;
        switch: SWITCH;
        scan: SCAN;
        while_loop: WHILE;
        while_gradient: WHILE_GRADIENT;
    }
    internal {
        guarded_mul: GUARDED_MUL;
        zero_mul: ZERO_MUL;
        slope: SLOPE;
        stop_gradient: STOP_GRADIENT;
        barrier: BARRIER;
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
