//! Cross-entropy of rows of logits.

use super::norm::rows;
use super::{Macros, addresses, alignment};
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use crate::source::{held, stored};
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/cross_entropy.cu");

/// Macros, blocks and threads of both kernels; `vectors` are x and its gradient.
fn text(call: &Call<'_>, loss: DType, vectors: &[Span]) -> (String, Shape) {
    let (rows, classes) = rows(&call.reads[0]);
    let dtype = call.reads[0].spec.dtype;
    let ignored = call.attrs.int("ignored");
    let macros = Macros::default()
        .set("T", stored(dtype))
        .set("COMPUTE", held(dtype))
        .set("STAT", stored(loss))
        .set("LOSS", stored(loss))
        .set("ROWS", rows)
        .set("CLASSES", classes)
        .set("IGNORED", if ignored == i64::MIN { format!("(-{}LL - 1)", i64::MAX) } else { format!("({ignored}LL)") })
        .set("SMOOTHING", format!("{:?}", call.attrs.real("smoothing")))
        .set("HAS_WEIGHT", call.attrs.int("weight"))
        .set("ALIGN", alignment(vectors));
    let shape = match classes {
        0..=1024 => Shape::line(rows.div_ceil(4), 128),
        1025..=8192 => Shape::line(rows, 256),
        _ => Shape::line(rows, 512),
    };
    (macros.before(TEXT), shape)
}

/// The loss and the logsumexp of each row.
pub fn forward(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    if call.writes[0].1.bytes() == 0 {
        return Ok(());
    }
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let (loss, lse) = (lowering.at(call.writes[0].0), lowering.at(call.writes[1].0));
    let (text, shape) = text(call, call.writes[0].1.dtype, &spans[..1]);
    let arguments = addresses(&[Some(spans[0]), Some(spans[1]), spans.get(2).copied(), Some(loss), Some(lse)]);
    lowering.launch("cross_entropy", text, shape, arguments);
    Ok(())
}

/// The gradient of the logits.
pub fn gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    if call.writes[0].1.bytes() == 0 {
        return Ok(());
    }
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let dx = lowering.at(call.writes[0].0);
    let weight = (call.attrs.int("weight") != 0).then(|| spans[2]);
    let (lse, g) = (spans[spans.len() - 2], spans[spans.len() - 1]);
    let (text, shape) = text(call, call.reads[call.reads.len() - 1].spec.dtype, &[spans[0], dx]);
    let arguments = addresses(&[Some(spans[0]), Some(spans[1]), weight, Some(lse), Some(g), Some(dx)]);
    lowering.launch("cross_entropy_gradient", text, shape, arguments);
    Ok(())
}
