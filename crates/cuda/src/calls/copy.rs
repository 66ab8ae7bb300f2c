//! Copies of views to row-major memory.

use super::{Macros, address, alignment};
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use wengert_compiler::plan::Read;
use wengert_core::Error;
use wengert_kernels::memory::Span;
use wengert_kernels::view::collapse;

pub(super) const TEXT: &str = include_str!("../kernels/copy.cu");

/// From this size on, both axes of a transposed matrix are walked in tiles.
const LEAST_TILED: usize = 8;

/// Copies a view that has elements.
pub fn strided(lowering: &mut Lowering, read: &Read, to: Span) {
    let mut layout = collapse(&read.layout.shape, &read.layout.strides);
    if layout.shape.is_empty() {
        (layout.shape, layout.strides) = ([1].into_iter().collect(), [1].into_iter().collect());
    }
    let bytes = read.spec.dtype.size();
    let span = lowering.at(read.span);
    let from = Span { start: span.start + read.layout.offset as usize * bytes, ..span };
    let (shape, strides) = (&layout.shape, &layout.strides);
    let last = shape.len() - 1;
    let beside = (0..last).find(|&axis| strides[axis] == 1);
    let is_turned = !matches!(strides[last], 0 | 1) && shape[last] >= LEAST_TILED;
    let axis = beside.filter(|&axis| is_turned && shape[axis] >= LEAST_TILED);
    let divides = |width: usize| {
        let even = strides[..last].iter().all(|stride| stride.unsigned_abs().is_multiple_of(width));
        even && shape[last].is_multiple_of(width) && width * bytes <= alignment(&[from, to])
    };
    let widest = [16, 8, 4, 2].into_iter().find(|&width| width * bytes <= 16 && divides(width));
    let width = if axis.is_none() && strides[last] == 1 { widest.unwrap_or(1) } else { 1 };
    let text = Macros::default()
        .set("BYTES", bytes)
        .set("RANK", shape.len())
        .list("SIZES", shape)
        .list("STRIDES", strides)
        .set("WIDTH", width)
        .set("TILED", u8::from(axis.is_some()))
        .set("AXIS", axis.unwrap_or(0))
        .before(TEXT);
    let elements: usize = shape.iter().product();
    let (name, blocks) = match axis {
        Some(axis) => {
            let side = if bytes <= 2 { 64 } else { 32 };
            let batch = elements / shape[axis] / shape[last];
            ("copy_tiled", shape[axis].div_ceil(side) * shape[last].div_ceil(side) * batch)
        }
        None => ("copy", (elements / width).div_ceil(1024)),
    };
    lowering.launch(name, text, Shape::line(blocks, 256), vec![address(from), address(to)]);
}

/// `reshape` of what is no view.
pub fn reshape(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let to = lowering.at(call.writes[0].0);
    lowering.copy(&call.reads[0], to)
}
