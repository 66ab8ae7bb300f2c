//! What a compiler asks of an operation besides its rules.

use super::{Attrs, Expression};
use crate::DType;
use wengert_kernels::tiled::{Fold, Lane};

/// How an operation becomes a part of fused loops.
pub trait Lower: Send + Sync {
    /// The operation as an instruction of a fused loop, for operands and an output of these dtypes, if it is elementwise.
    fn lane(&self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Lane> {
        None
    }

    /// The same instruction as text, if it can be had.
    fn expression(&self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        None
    }

    /// Whether its kernel completes a large result part by part, so that a fused loop can follow it.
    fn leads(&self) -> bool {
        false
    }

    /// How a fused loop folds its operand along `axes`, if it is such a reduction.
    fn fold(&self) -> Option<Fold> {
        None
    }
}

/// An operation that says nothing answers as one that is not a part of fused loops.
pub(super) struct Apart;

impl Lower for Apart {}
