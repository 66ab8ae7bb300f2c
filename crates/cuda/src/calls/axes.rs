//! Operands as rows along axes.

use crate::lower::Lowering;
use wengert_compiler::plan::Read;
use wengert_core::Error;
use wengert_core::primitive::Spec;
use wengert_kernels::memory::Span;

/// Row-major memory `[outer, n, inner]`.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub span: Span,
    pub outer: usize,
    pub n: usize,
    pub inner: usize,
}

impl Rows {
    /// The number of rows.
    pub fn count(&self) -> usize {
        self.outer * self.inner
    }
}

fn size(part: &[usize]) -> usize {
    part.iter().product()
}

/// An operand with ascending axes in the middle; if others lie between them, they are moved to the end.
pub(super) fn arranged(lowering: &mut Lowering, read: &Read, axes: &[usize]) -> Result<Rows, Error> {
    let shape = &read.spec.shape;
    if let (Some(&first), Some(&last)) = (axes.first(), axes.last())
        && (first..=last).all(|axis| axes.contains(&axis) || shape[axis] == 1)
    {
        let (outer, n, inner) = (size(&shape[..first]), size(&shape[first..=last]), size(&shape[last + 1..]));
        return Ok(Rows { span: lowering.contiguous(read)?, outer, n, inner });
    }
    let order: Vec<usize> = (0..shape.rank()).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
    let layout = read.layout.permuted(&order);
    let (outer, n) = layout.shape.split_at(order.len() - axes.len());
    let (outer, n) = (size(outer), size(n));
    let spec = Spec { shape: layout.shape.clone(), dtype: read.spec.dtype };
    let span = lowering.contiguous(&Read { span: read.span, spec, layout })?;
    Ok(Rows { span, outer, n, inner: 1 })
}

/// The least power of two that is at least a quotient, within bounds: threads that share work.
pub(super) fn lanes(work: usize, each: usize, most: usize) -> usize {
    work.div_ceil(each).next_power_of_two().clamp(1, most)
}
