//! The interface of an operation to a compiler, besides its rules.

use super::{Attrs, Expression};
use crate::DType;
use wengert_kernels::tiled::{Fold, Lane};

/// How an operation becomes a part of fused loops.
pub trait Lower: Send + Sync {
    /// The operation as an instruction of a fused loop, for operands and an output of these dtypes, if it is elementwise.
    fn lane(&self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Lane> {
        None
    }

    /// The same instruction as text, if available.
    fn expression(&self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        None
    }

    /// Whether its kernel completes a large result part by part, so that a fused loop can consume it as it goes.
    fn leads(&self) -> bool {
        false
    }

    /// How a fused loop reduces its operand along `axes`, if it is such a reduction.
    fn fold(&self) -> Option<Fold> {
        None
    }
}

/// The default for operations that cannot be part of fused loops.
pub(super) struct Apart;

impl Lower for Apart {}
