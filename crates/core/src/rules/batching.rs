//! Aligns operands under a batch.

use crate::primitive::Mask;
use crate::{Shape, Tensor};
use smallvec::SmallVec;

/// Every operand with the batch as the leading axis: unbatched ones are broadcast without copying.
pub fn align_batch(size: usize, operands: &[Tensor], batched: Mask) -> SmallVec<[Tensor; 2]> {
    let align = |(position, operand): (usize, &Tensor)| match batched.has(position) {
        true => operand.clone(),
        false => operand.broadcast_to(Shape::from(operand.shape()).prepended(size)),
    };
    operands.iter().enumerate().map(align).collect()
}
