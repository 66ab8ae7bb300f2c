//! Windows over one to three axes: pooling, patches, and convolutions that have no faster kernel.

use super::{Macros, addresses};
use crate::launch::Shape;
use crate::lower::{Call, Lowering, missing};
use crate::source::{stored, summed};
use wengert_core::Error;

pub(super) const TEXT: &str = include_str!("../kernels/windows.cu");

/// The geometry of windows; missing axes come first and have size 1.
#[derive(Clone, Copy)]
struct Windows {
    input: [usize; 3],
    output: [usize; 3],
    taps: [usize; 3],
    stride: [usize; 3],
    dilation: [usize; 3],
    before: [usize; 3],
    after: [usize; 3],
    adaptive: bool,
}

/// Three sizes; missing ones come first.
fn three(sizes: &[usize], missing: usize) -> [usize; 3] {
    std::array::from_fn(|axis| (axis + sizes.len()).checked_sub(3).map_or(missing, |axis| sizes[axis]))
}

impl Windows {
    /// Those of these attributes, whose outputs have these sizes.
    fn spaced(call: &Call<'_>, output: &[usize], [before, after]: [&str; 2]) -> Windows {
        let sizes = |name: &str, missing| three(&call.attrs.sizes(name), missing);
        Windows {
            input: sizes("input", 1),
            output: three(output, 1),
            taps: sizes("kernel", 1),
            stride: sizes("stride", 1),
            dilation: sizes("dilation", 1),
            before: sizes(before, 0),
            after: sizes(after, 0),
            adaptive: false,
        }
    }

    /// Those of pooling.
    fn pooling(call: &Call<'_>) -> Windows {
        let output = call.attrs.sizes("output");
        if !call.op.name().starts_with("adaptive") {
            return Windows::spaced(call, &output, ["padding"; 2]);
        }
        let (input, output) = (three(&call.attrs.sizes("input"), 1), three(&output, 1));
        let (ones, zeros) = ([1; 3], [0; 3]);
        // A window may begin and end within an element of an even division.
        let taps = std::array::from_fn(|axis| input[axis].div_ceil(output[axis].max(1)) + 1);
        let (stride, dilation, before, after) = (ones, ones, zeros, zeros);
        Windows { input, output, taps, stride, dilation, before, after, adaptive: true }
    }

    /// The geometry of a convolution or of patches, from the sizes of its attributes.
    fn patches(call: &Call<'_>) -> Windows {
        let windows = Windows::spaced(call, &[], ["before", "after"]);
        let Windows { input, taps, stride, dilation, before, after, .. } = windows;
        let output = std::array::from_fn(|axis| {
            let room = input[axis] + before[axis] + after[axis];
            room.checked_sub(dilation[axis] * (taps[axis] - 1) + 1).map_or(0, |free| free / stride[axis] + 1)
        });
        Windows { output, ..windows }
    }

    fn macros(&self, call: &Call<'_>) -> Macros {
        let dtype = call.writes[0].1.dtype;
        let covers = match self.adaptive {
            true => std::array::from_fn(|axis| self.output[axis].div_ceil(self.input[axis].max(1)) + 1),
            false => self.taps,
        };
        Macros::default()
            .set("T", stored(dtype))
            .set("SUM", summed(dtype))
            .list("IN", self.input)
            .list("OUT", self.output)
            .list("TAPS", self.taps)
            .list("COVERS", covers)
            .list("STRIDE", self.stride)
            .list("DILATION", self.dilation)
            .list("BEFORE", self.before)
            .list("AFTER", self.after)
            .set("ADAPTIVE", u8::from(self.adaptive))
    }
}

/// Launches a kernel on all operands and results.
fn launch(lowering: &mut Lowering, call: &Call<'_>, name: &str, macros: &Macros, shape: Shape) -> Result<(), Error> {
    let mut spans = Vec::new();
    for read in call.reads {
        spans.push(Some(lowering.contiguous(read)?));
    }
    spans.extend(call.writes.iter().map(|(span, _)| Some(lowering.at(*span))));
    lowering.launch(name, macros.before(TEXT), shape, addresses(&spans));
    Ok(())
}

/// A thread for each element of the result.
fn each(call: &Call<'_>) -> Shape {
    Shape::line(call.writes[0].1.shape.elements().div_ceil(256), 256)
}

/// The macros of kernels that are no convolutions.
fn of_planes(macros: Macros, planes: usize, counts_padding: bool, divisor: f64) -> Macros {
    macros
        .set("PLANES", planes)
        .set("COUNTS_PADDING", u8::from(counts_padding))
        .set("DIVISOR", format!("({divisor:?})"))
        .set("BATCH", 1)
        .set("CHANNELS", 1)
        .set("OUTPUTS", 1)
        .set("GROUPS", 1)
}

/// Maxima and averages of windows, and the gradients of averages.
pub fn pool(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let name = match call.op.name() {
        "max_pool" | "adaptive_max_pool" => "maximum",
        "avg_pool" | "adaptive_avg_pool" => "average",
        _ => "average_gradient",
    };
    let shape = &call.reads[0].spec.shape;
    let planes = shape[..shape.rank() - call.attrs.sizes("input").rank()].iter().product();
    let windows = Windows::pooling(call);
    let (counts_padding, divisor) = match windows.adaptive || name == "maximum" {
        true => (false, 0.0),
        false => (call.attrs.int("count_include_pad") != 0, call.attrs.real("divisor")),
    };
    if !divisor.is_finite() {
        return Err(missing(format!("the divisor {divisor} has no kernel for this device")));
    }
    let macros = of_planes(windows.macros(call), planes, counts_padding, divisor);
    launch(lowering, call, name, &macros, each(call))
}

/// `unfold_patches` and `fold_patches`.
pub fn patches(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let windows = Windows::patches(call);
    let (name, images) = match call.op.name() {
        "unfold_patches" => ("unfold", &call.reads[0].spec),
        _ => ("fold", &call.writes[0].1),
    };
    let planes = images.shape[..images.shape.rank() - call.attrs.sizes("kernel").rank()].iter().product();
    launch(lowering, call, name, &of_planes(windows.macros(call), planes, false, 0.0), each(call))
}

/// The three convolutions of images `x`, weights and results `y` of these shapes.
pub fn conv(lowering: &mut Lowering, call: &Call<'_>, x: &[usize], y: &[usize]) -> Result<(), Error> {
    let windows = Windows::spaced(call, &y[2..], ["before", "after"]);
    let macros = windows
        .macros(call)
        .set("PLANES", 1)
        .set("COUNTS_PADDING", 0)
        .set("DIVISOR", 1)
        .set("BATCH", x[0])
        .set("CHANNELS", x[1])
        .set("OUTPUTS", y[1])
        .set("GROUPS", call.attrs.axis("groups"));
    let shape = match call.op.name() {
        "conv_weight_gradient" => Shape::line(call.writes[0].1.shape.elements(), 128),
        _ => each(call),
    };
    launch(lowering, call, call.op.name(), &macros, shape)
}
