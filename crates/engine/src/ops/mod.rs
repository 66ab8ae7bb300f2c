//! The primitives: one file each, registered by one line here.
//!
//! The order of the lines is the order in documents. Adding a primitive touches its own new file and this list.

pub use control::scan::{scan, scan_reverse, scan_times};
pub use control::switch::{cond, switch};
pub use control::while_loop::{Count, fori, while_loop};
pub use linalg::solve_triangular::Triangle;
pub use network::attention::Attention;
pub use network::conv::{Conv, Padding};
pub use network::layer_norm::Norm;
pub use network::max_pool::Pool;
pub use random::uniform::Key;

use crate::ground::{self, Member};
use crate::primitive::Primitive;

/// What the file of an operation needs.
pub(crate) mod prelude {
    pub(crate) use super::internal::pack_positive::PackPositiveParts;
    pub(crate) use super::internal::select_bits::SelectBitsParts;
    pub(crate) use super::reduction::cumprod::CumprodParts;
    pub(crate) use super::reduction::linear_scan::LinearScanParts;
    pub(crate) use crate::Operand;
    pub(crate) use crate::bind::{bind, bind1, try_bind1};
    pub(crate) use crate::methods::*;
    pub(crate) use crate::primitive::{
        Adjoints, Attrs, Case, Cost, Dependency, Expression, Gradient, Gradients, Jet, Layout, Mask, Out, Outputs,
        Patch, Primitive, Rule, Sample, Saves, Spec, SpecRef, Specs, View, expect_arithmetic, expect_float,
        expect_same_dtype,
    };
    pub(crate) use crate::rules::{
        Decomposition, DecompositionOp, Fused, FusedOp, Linear, LinearOp, PartOf, PartTake, PartUpdate, Pick, PickOp,
        Reduced, Reduction, ReductionOp, Rows, align_batch, arranged, away_from, elementwise, lane,
        pick_rows, rows_last, slope,
    };
    pub(crate) use crate::tensor::{
        Laid, binary, collected, computing, computing_float, fill, fill_from, numbers,
    };
    pub(crate) use crate::{DType, Error, ErrorKind, Shape, Tensor};
    pub(crate) use easy_ext::ext;
    pub(crate) use smallvec::{SmallVec, smallvec};
    pub(crate) use wengert_kernels::pool::Buffer;
    pub(crate) use wengert_kernels::tiled::Lane;
}

pub(crate) mod functions;

const COUNT: usize = functions::ALL.len() + ground::FILES.len() + FILES.len();

/// Every built-in primitive with its family, in the order of the documents: functions of the table, the ground, other files.
pub(crate) static MEMBERS: &[Member] = &{
    let mut all = [FILES[0]; COUNT];
    let mut i = 0;
    while i < COUNT {
        let of_table = functions::ALL.len();
        let of_ground = of_table + ground::FILES.len();
        all[i] = match i {
            _ if i < of_table => functions::ALL[i],
            _ if i < of_ground => ground::FILES[i - of_table],
            _ => FILES[i - of_ground],
        };
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
    let texts = functions::TEXTS.iter().chain(ground::TEXTS).chain(TEXTS);
    MEMBERS.iter().zip(texts).map(|(&(op, family), &text)| (op, family, text))
}

wengert_core::primitives! {
    elementwise {
        combine: COMBINE, CombineMethods;
        combine_square: COMBINE_SQUARE, CombineSquareMethods;
        over_root: OVER_ROOT, OverRootMethods;
        sign: SIGN, SignMethods;
        recip: RECIP, RecipMethods;
        square: SQUARE, SquareMethods;
        rsqrt: RSQRT, RsqrtMethods;
        pow: POW, PowMethods;
        powf: POWF, PowfMethods;
        logaddexp: LOGADDEXP, LogaddexpMethods;
        xlogy: XLOGY, XlogyMethods;
        xlog1py: XLOG1PY, Xlog1pyMethods;
        atan2: ATAN2, Atan2Methods;
        hypot: HYPOT, HypotMethods;
        sinc: SINC, SincMethods;
        logit: LOGIT, LogitMethods;
        logsigmoid: LOGSIGMOID, LogsigmoidMethods;
        relu: RELU, ReluMethods;
        leaky_relu: LEAKY_RELU, LeakyReluMethods;
        prelu: PRELU, PreluMethods;
        elu: ELU, EluMethods;
        celu: CELU, CeluMethods;
        selu: SELU, SeluMethods;
        gelu: GELU, GeluMethods;
        gelu_tanh: GELU_TANH, GeluTanhMethods;
        silu: SILU, SiluMethods;
        softplus: SOFTPLUS, SoftplusMethods;
        softsign: SOFTSIGN, SoftsignMethods;
        tanhshrink: TANHSHRINK, TanhshrinkMethods;
        mish: MISH, MishMethods;
        hardtanh: HARDTANH, HardtanhMethods;
        hardswish: HARDSWISH, HardswishMethods;
        hardsigmoid: HARDSIGMOID, HardsigmoidMethods;
        threshold: THRESHOLD, ThresholdMethods;
        hardshrink: HARDSHRINK, HardshrinkMethods;
        softshrink: SOFTSHRINK, SoftshrinkMethods;
        erfcx: ERFCX, ErfcxMethods;
        erfinv: ERFINV, ErfinvMethods;
        ndtr: NDTR, NdtrMethods;
        ndtri: NDTRI, NdtriMethods;
        log_ndtr: LOG_NDTR, LogNdtrMethods;
        entr: ENTR, EntrMethods;
        digamma: DIGAMMA, DigammaMethods;
        polygamma: POLYGAMMA, PolygammaMethods;
        i0: I0, I0Methods;
        i0e: I0E, I0eMethods;
        i1: I1, I1Methods;
        i1e: I1E, I1eMethods;
        floor: FLOOR, FloorMethods;
        ceil: CEIL, CeilMethods;
        trunc: TRUNC, TruncMethods;
        remainder: REMAINDER, RemainderMethods;
        floor_divide: FLOOR_DIVIDE, FloorDivideMethods;
        maximum: MAXIMUM, MaximumMethods;
        minimum: MINIMUM, MinimumMethods;
        fmax: FMAX, FmaxMethods;
        fmin: FMIN, FminMethods;
        clamp: CLAMP, ClampMethods;
        clamp_min: CLAMP_MIN, ClampMinMethods;
        clamp_max: CLAMP_MAX, ClampMaxMethods;
        copysign: COPYSIGN, CopysignMethods;
        nan_to_num: NAN_TO_NUM, NanToNumMethods;
    }
    movement {
        slice: SLICE;
        slice_update: SLICE_ADD SLICE_ASSIGN;
        flip: FLIP, FlipMethods;
        diagonal: DIAGONAL DIAGONAL_ADD DIAGONAL_ASSIGN, DiagonalMethods;
        triangle_part: TRIANGLE_PART, TrianglePartMethods;
        windows: WINDOWS WINDOWS_ADD, WindowsMethods;
        concat: CONCAT, ConcatMethods;
    }
    reduction {
        prod: PROD, ProdMethods;
        product_of_others: PRODUCT_OF_OTHERS;
        amax: AMAX, AmaxMethods;
        amin: AMIN, AminMethods;
        max: MAX, MaxMethods;
        min: MIN, MinMethods;
        any: ANY, AnyMethods;
        all: ALL, AllMethods;
        var: VAR, VarMethods;
        std: STD, StdMethods;
        norm: NORM, NormMethods;
        logsumexp: LOGSUMEXP, LogsumexpMethods;
        softmax: SOFTMAX, SoftmaxMethods;
        log_softmax: LOG_SOFTMAX, LogSoftmaxMethods;
        cumsum: CUMSUM, CumsumMethods;
        cumprod: CUMPROD, CumprodMethods;
        cummax: CUMMAX, CummaxMethods;
        cummin: CUMMIN, CumminMethods;
        logcumsumexp: LOGCUMSUMEXP, LogcumsumexpMethods;
        linear_scan: LINEAR_SCAN, LinearScanMethods;
    }
    order {
        sort: SORT, SortMethods;
        topk: TOPK, TopkMethods;
        kthvalue: KTHVALUE, KthvalueMethods;
        median: MEDIAN, MedianMethods;
        mode: MODE, ModeMethods;
        searchsorted: SEARCHSORTED, SearchsortedMethods;
    }
    product {
        matmul: MATMUL, MatmulMethods;
        cdist: CDIST;
    }
    linalg {
        inv: INV, InvMethods;
        solve: SOLVE, SolveMethods;
        solve_triangular: SOLVE_TRIANGULAR, SolveTriangularMethods;
        det: DET, DetMethods;
        cofactor: COFACTOR, CofactorMethods;
        slogdet: SLOGDET, SlogdetMethods;
        cholesky: CHOLESKY, CholeskyMethods;
        lu: LU, LuMethods;
        lu_permutation: LU_PERMUTATION;
        lu_solve: LU_SOLVE, LuSolveMethods;
        qr: QR, QrMethods;
        eigh: EIGH, EighMethods;
        svd: SVD, SvdMethods;
        pinv: PINV, PinvMethods;
        matrix_exp: MATRIX_EXP, MatrixExpMethods;
    }
    indexing {
        gather: GATHER, GatherMethods;
        scatter_add: SCATTER_ADD, ScatterAddMethods;
        scatter: SCATTER, ScatterMethods;
        unscatter: UNSCATTER;
        scatter_fold: SCATTER_MUL SCATTER_MAX SCATTER_MIN;
        wrap_index: WRAP_INDEX;
    }
    network {
        linear: LINEAR, LinearMethods;
        conv: CONV CONV_INPUT_GRADIENT CONV_WEIGHT_GRADIENT, ConvMethods;
        unfold_patches: UNFOLD_PATCHES FOLD_PATCHES, UnfoldPatchesMethods;
        max_pool: MAX_POOL ADAPTIVE_MAX_POOL, MaxPoolMethods;
        planes: GATHER_PLANES SCATTER_PLANES;
        avg_pool: AVG_POOL AVG_POOL_GRADIENT ADAPTIVE_AVG_POOL ADAPTIVE_AVG_POOL_GRADIENT, AvgPoolMethods;
        layer_norm: LAYER_NORM LAYER_NORM_GRADIENT RMS_NORM RMS_NORM_GRADIENT, LayerNormMethods;
        cross_entropy: SOFTMAX_CROSS_ENTROPY SOFTMAX_CROSS_ENTROPY_GRADIENT;
        attention: ATTENTION ATTENTION_GRADIENT, AttentionMethods;
        self_attention: SELF_ATTENTION SELF_ATTENTION_GRADIENT, SelfAttentionMethods;
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
        stop_gradient: STOP_GRADIENT, StopGradientMethods;
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
