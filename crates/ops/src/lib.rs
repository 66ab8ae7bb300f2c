//! Tensor operations: one file per primitive, registered by one line here; functions composed of others are in `composite`.
//!
//! The order of the lines is the order in the documentation. Adding a primitive touches its own new file and this list. Users reach this
//! crate through `wengert`.

// Functions that only test cases call are unused without the feature; with it, the compiler still warns about unused ones.
#![cfg_attr(not(feature = "cases"), allow(dead_code, unused_imports))]

#[doc(hidden)]
pub mod composite;
#[doc(hidden)]
pub mod functions;
#[doc(hidden)]
pub mod rules;

pub use linalg::solve_triangular::Triangle;
pub use network::attention::Attention;
pub use network::conv::{Conv, Padding};
pub use network::layer_norm::Norm;
pub use network::max_pool::Pool;
pub use random::uniform::Key;

pub use composite::{
    Covariance, Ellipsis, Interpolation, MatrixNorm, NewAxis, PadMode, ScatterReduce, Select, Selection, SliceMut,
    TorchMethods, Unique,
};

/// Options of network operations.
pub use composite::{Bag, CrossEntropy, EmbeddingBag, GridSample, Interpolate, InterpolateMode, Outside, Reduction};
pub use rules::Sizes;

pub(crate) use wengert_core::{
    DType, Error, ErrorKind, Operand, Over, Shape, Tensor, Tree, TreePath, autograd, bind, error, ground, jvp, keepdim,
    primitive, tensor,
};

use crate::ground::Member;

/// Imports for the file of an operation.
#[doc(hidden)]
pub mod prelude {
    pub(crate) use super::internal::pack_positive::PackPositiveParts;
    pub(crate) use super::internal::select_bits::SelectBitsParts;
    pub(crate) use super::reduction::cumprod::CumprodParts;
    pub(crate) use super::reduction::linear_scan::LinearScanParts;
    pub use crate::methods::*;
    pub use crate::rules::{
        Decomposition, DecompositionOp, PartOf, PartTake, PartUpdate, Pick, PickOp, Reduced, Reduction, ReductionOp,
        RowMap, arranged, pick_rows, rows_last,
    };
    pub use wengert_core::ground::prelude::*;
}

/// The methods of tensors, a trait for each operation or theme.
pub mod methods {
    pub use crate::composite::methods::*;
    pub use crate::file_methods::*;
    pub use crate::functions::FunctionMethods;
}

/// The same methods without their names, for a prelude.
#[doc(hidden)]
pub mod unnamed_methods {
    pub use crate::composite::unnamed_methods::*;
    pub use crate::functions::FunctionMethods as _;
    pub use crate::unnamed_file_methods::*;
}

/// Weighted sums and optimiser steps in one pass over memory. They are not in the prelude: `use wengert::fused::*;`.
pub mod fused {
    pub use crate::elementwise::combine::CombineMethods;
    pub use crate::elementwise::combine_square::CombineSquareMethods;
    pub use crate::elementwise::over_root::OverRootMethods;
}

#[doc(hidden)]
/// The primitives in the order of the documentation: functions of the table, ground operations, those with a file here.
pub fn all() -> [&'static [Member]; 3] {
    [functions::ALL, ground::FILES, FILES]
}

/// The source text of each primitive's file.
#[cfg(feature = "cases")]
pub const ALL_TEXTS: [&[&str]; 3] = [functions::TEXTS, ground::TEXTS, TEXTS];

wengert_core::primitives! {
    elementwise {
        combine: COMBINE;
        combine_square: COMBINE_SQUARE;
        over_root: OVER_ROOT;
        sign: SIGN, SignMethods;
        recip: RECIP, RecipMethods;
        pow: POW, PowMethods;
        powf: POWF, PowfMethods;
        logaddexp: LOGADDEXP, LogaddexpMethods;
        xlogy: XLOGY, XlogyMethods;
        xlog1py: XLOG1PY, Xlog1pyMethods;
        atan2: ATAN2, Atan2Methods;
        hypot: HYPOT, HypotMethods;
        relu: RELU, ReluMethods;
        leaky_relu: LEAKY_RELU, LeakyReluMethods;
        prelu: PRELU, PreluMethods;
        elu: ELU, EluMethods;
        celu: CELU, CeluMethods;
        softplus: SOFTPLUS, SoftplusMethods;
        hardtanh: HARDTANH, HardtanhMethods;
        threshold: THRESHOLD, ThresholdMethods;
        hardshrink: HARDSHRINK, HardshrinkMethods;
        softshrink: SOFTSHRINK, SoftshrinkMethods;
        polygamma: POLYGAMMA, PolygammaMethods;
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
    internal {
        stop_gradient: STOP_GRADIENT, StopGradientMethods;
        tag: TAG, TagMethods;
        pack_positive: PACK_POSITIVE;
        select_bits: SELECT_BITS;
        softmax_gradient: SOFTMAX_GRADIENT;
        log_softmax_gradient: LOG_SOFTMAX_GRADIENT;
    }
}
