//! Maxima of windows, and sums at their positions.

use super::{Macros, addresses, windows};
use crate::launch::Shape;
use crate::lower::{Call, Lowering, missing};
use wengert_core::{DType, Error};

pub(super) const TEXT: &str = include_str!("../kernels/pooling.cu");

/// Sizes of one or two axes as those of two.
pub(super) fn two(call: &Call<'_>, name: &str, missing_axis: usize) -> Result<[usize; 2], Error> {
    match call.attrs.sizes(name)[..] {
        [one] => Ok([missing_axis, one]),
        [height, width] => Ok([height, width]),
        _ => Err(missing(format!("{} over more than two axes has no kernel for this device", call.op.name()))),
    }
}

/// The maxima of windows, and where they are.
pub fn max_pool(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (y, spec) = &call.writes[0];
    if spec.dtype != DType::F32 || call.attrs.sizes("kernel").rank() > 2 {
        return windows::pool(lowering, call);
    }
    let [height, width] = two(call, "input", 1)?;
    let [out_h, out_w] = two(call, "output", 1)?;
    let (kernel, stride) = (two(call, "kernel", 1)?, two(call, "stride", 1)?);
    let (dilation, before) = (two(call, "dilation", 1)?, two(call, "padding", 0)?);
    let x = lowering.contiguous(&call.reads[0])?;
    let (y, index) = (lowering.at(*y), lowering.at(call.writes[1].0));
    let elements = spec.shape.elements();
    let text = Macros::default()
        .set("MAX_POOL", 1)
        .set("PLANES", elements / (out_h * out_w))
        .set("HEIGHT", height)
        .set("WIDTH", width)
        .set("KERNEL_H", kernel[0])
        .set("KERNEL_W", kernel[1])
        .set("STRIDE_H", stride[0])
        .set("STRIDE_W", stride[1])
        .set("DILATION_H", dilation[0])
        .set("DILATION_W", dilation[1])
        .set("BEFORE_H", before[0])
        .set("BEFORE_W", before[1])
        .set("OUT_H", out_h)
        .set("OUT_W", out_w)
        .before(TEXT);
    let arguments = addresses(&[Some(x), Some(y), Some(index)]);
    lowering.launch("max_pool", text, Shape::line(elements.div_ceil(256), 256), arguments);
    Ok(())
}

/// Values of f32 added into planes of zeros, at positions of i64.
pub fn scatter_planes(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (y, spec) = &call.writes[0];
    let plane: usize = call.attrs.sizes("size").iter().product();
    let planes = spec.shape.elements() / plane;
    let outs = call.reads[0].spec.shape.elements() / planes;
    let (x, index) = (lowering.contiguous(&call.reads[0])?, lowering.contiguous(&call.reads[1])?);
    let y = lowering.at(*y);
    let (segment, team, threads) = (plane.min(4096), 32, 128);
    let text = Macros::default()
        .set("SCATTER_PLANES", 1)
        .set("PLANES", planes)
        .set("PLANE", plane)
        .set("OUTS", outs)
        .set("SEGMENT", segment)
        .set("TEAM", team)
        .set("THREADS", threads)
        .before(TEXT);
    let blocks = (planes * plane.div_ceil(segment)).div_ceil(threads / team);
    let shared = (threads / team * segment.next_multiple_of(4) * 4) as u32;
    let shape = Shape { shared, ..Shape::line(blocks, threads) };
    lowering.launch("scatter_planes", text, shape, addresses(&[Some(x), Some(index), Some(y)]));
    Ok(())
}
