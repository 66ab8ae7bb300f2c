//! Softmax along the last axis, its logarithm, and their gradients.

use super::axes::lanes;
use super::norm::rows;
use super::{Macros, addresses, width};
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use crate::source::{held, stored};
use wengert_core::{DType, Error};

pub(super) const TEXT: &str = include_str!("../kernels/softmax.cu");

/// Rows of one or two operands.
pub fn softmax(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let kind = match call.op.name() {
        "softmax" => 0,
        "log_softmax" => 1,
        "softmax_gradient" => 2,
        _ => 3,
    };
    let (rows, columns) = rows(&call.reads[0]);
    let dtype = call.reads[0].spec.dtype;
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let y = lowering.at(call.writes[0].0);
    let width = width(columns, dtype.size(), &[&spans[..], &[y]].concat());
    let lanes = match columns {
        0..=1024 => lanes(columns / width, 2, 32),
        _ => lanes(columns, 16, 512).max(128),
    };
    let each = (columns / width).div_ceil(lanes) * width;
    // The elements that a thread keeps without running out of registers.
    let most = if dtype == DType::F64 || kind >= 2 { 16 } else { 32 };
    let threads = lanes.max(128);
    let text = Macros::default()
        .set("T", stored(dtype))
        .set("H", held(dtype))
        .set("KIND", kind)
        .set("ROWS", rows)
        .set("COLUMNS", columns)
        .set("WIDTH", width)
        .set("LANES", lanes)
        .set("THREADS", threads)
        .set("HELD", u8::from(each <= most))
        .before(TEXT);
    let shape = Shape::line(rows.div_ceil(threads / lanes), threads);
    lowering.launch("softmax", text, shape, addresses(&[Some(spans[0]), spans.get(1).copied(), Some(y)]));
    Ok(())
}
