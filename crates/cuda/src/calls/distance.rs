//! Distances between the rows of matrices.

use super::{Macros, addresses};
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use crate::source::{held, stored};
use wengert_core::Error;

pub(super) const TEXT: &str = include_str!("../kernels/distance.cu");

/// Euclidean distances.
pub fn cdist(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let (y, spec) = &call.writes[0];
    let [lead @ .., rows, columns] = &spec.shape[..] else { unreachable!("distances are matrices") };
    let batch: usize = lead.iter().product();
    let text = Macros::default()
        .set("T", stored(spec.dtype))
        .set("H", held(spec.dtype))
        .set("BATCH", batch)
        .set("ROWS", rows)
        .set("COLUMNS", columns)
        .set("LENGTH", call.reads[0].spec.shape[lead.len() + 1])
        .before(TEXT);
    let y = lowering.at(*y);
    let blocks = batch * rows.div_ceil(32) * columns.div_ceil(32);
    lowering.launch("distances", text, Shape::line(blocks, 256), addresses(&[Some(spans[0]), Some(spans[1]), Some(y)]));
    Ok(())
}
