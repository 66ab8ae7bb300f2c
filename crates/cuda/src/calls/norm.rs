//! Normalisations of rows.

use super::{Macros, PROCESSORS, addresses, alignment};
use crate::absorbed::Addition;
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use crate::source::{held, stored};
use wengert_compiler::plan::Read;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/norm.cu");

/// Rows and columns of an operand.
pub(super) fn rows(read: &Read) -> (usize, usize) {
    let columns = read.spec.shape.last().copied().unwrap_or(1);
    (read.spec.shape.elements() / columns.max(1), columns)
}

/// Rows that the gradient has in shared memory.
fn stages(addition: Option<&Addition>) -> usize {
    if addition.is_some() { 2 } else { 3 }
}

/// The macros of an addition that the kernel does besides.
fn added(macros: Macros, addition: Option<&Addition>, dtype: DType) -> Macros {
    macros
        .set("ADDEND", stored(addition.map_or(dtype, |addition| addition.dtype)))
        .set("HAS_ADDEND", u8::from(addition.is_some()))
        .set("HAS_COPY", u8::from(addition.is_some_and(|addition| addition.copy.is_some())))
        .set("STAGES", stages(addition))
}

/// `layer_norm` and `rms_norm`: of x, w and b the result and the statistics of rows.
pub fn forward(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (rows, cols) = rows(&call.reads[0]);
    if rows == 0 {
        return Ok(());
    }
    let has = |name: &str| call.attrs.int(name) != 0;
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let mut operands = spans.iter().copied();
    let (x, w) = (operands.next(), operands.by_ref().take(usize::from(has("weight"))).next());
    let b = operands.next();
    let mut outs: Vec<_> = call.writes.iter().map(|(span, _)| lowering.at(*span)).collect();
    let (narrow, addition) = (lowering.narrow_result(), lowering.addition());
    outs[0] = narrow.unwrap_or(outs[0]);
    let x = addition.and_then(|addition| addition.operand).map_or(x, Some);
    let (addend, sum) = (addition.map(|addition| addition.addend), addition.map(|addition| addition.sum));
    let all: Vec<Span> = spans.iter().copied().chain([outs[0]]).chain(x).chain(addend).chain(sum).collect();
    let centered = call.op.name() == "layer_norm";
    let (m, r) = (centered.then(|| outs[1]), outs[outs.len() - 1]);
    let dtype = call.reads[0].spec.dtype;
    let macros = Macros::default()
        .set("T", stored(dtype))
        .set("COMPUTE", held(dtype))
        .set("STAT", stored(dtype))
        .set("RESULT", if narrow.is_some() { "bf16" } else { stored(dtype) })
        .set("SLOPE", stored(dtype))
        .set("ROWS", rows)
        .set("COLS", cols)
        .set("EPSILON", format!("{:?}", call.attrs.real("epsilon")))
        .set("CENTERED", u8::from(centered))
        .set("HAS_WEIGHT", u8::from(has("weight")))
        .set("HAS_BIAS", u8::from(has("bias")))
        .set("ALIGN", alignment(&all))
        .set("PARTS", 1);
    let macros = added(macros, addition.as_ref(), dtype);
    let shape = match cols {
        _ if cols * if held(dtype) == "double" { 8 } else { 4 } <= 4096 => Shape::line(rows.div_ceil(4), 128),
        0..=4096 => Shape::line(rows, 256),
        4097..=16384 => Shape::line(rows, 512),
        _ => Shape::line(rows, 1024),
    };
    lowering.launch(
        "norm_rows",
        macros.before(TEXT),
        shape,
        addresses(&[x, w, b, Some(outs[0]), m, Some(r), addend, sum]),
    );
    Ok(())
}

/// The gradients with respect to x, w and b.
pub fn gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (rows, cols) = rows(&call.reads[0]);
    let has = |name: &str| call.attrs.int(name) != 0;
    let addition = lowering.addition();
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let cotangent = call.reads[spans.len() - 1].spec.dtype;
    let centered = call.op.name() == "layer_norm_gradient";
    let (x, w) = (spans[0], has("weight").then(|| spans[1]));
    let (m, r, dy) = (centered.then(|| spans[spans.len() - 3]), spans[spans.len() - 2], spans[spans.len() - 1]);
    let mut outs = call.writes.iter().map(|(span, _)| lowering.at(*span)).collect::<Vec<_>>().into_iter();
    let dx = outs.next().expect("the gradient of x");
    let dx = addition.map_or(dx, |addition| addition.sum);
    let (addend, copy) = (addition.map(|addition| addition.addend), addition.and_then(|addition| addition.copy));
    let dtype = call.reads[0].spec.dtype;
    let size = if held(dtype) == "double" { 8 } else { 4 };
    let dw = if has("dweight") { outs.next() } else { has("weight").then(|| lowering.scratch(cols * size)) };
    let db = if has("dbias") { outs.next() } else { None };
    let row = cols * size;
    let together = if row <= 4096 { 8 } else { 1 };
    let most = if row > 4096 && cols <= 2048 { 2 * PROCESSORS } else { PROCESSORS };
    let parts = rows.div_ceil(together).min(most).max(1);
    let sums = usize::from(dw.is_some()) + usize::from(db.is_some());
    let scratch = lowering.scratch(sums * parts * cols * size);
    let macros = Macros::default()
        .set("T", stored(dtype))
        .set("COMPUTE", held(dtype))
        .set("STAT", stored(dtype))
        .set("RESULT", stored(dtype))
        .set("SLOPE", stored(cotangent))
        .set("ROWS", rows)
        .set("COLS", cols)
        .set("EPSILON", 0)
        .set("CENTERED", u8::from(centered))
        .set("HAS_WEIGHT", u8::from(dw.is_some()))
        .set("HAS_BIAS", u8::from(db.is_some()))
        .set("ALIGN", alignment(&spans.iter().copied().chain([dx]).chain(addend).chain(copy).collect::<Vec<_>>()))
        .set("PARTS", parts);
    let macros = added(macros, addition.as_ref(), dtype);
    let text = macros.before(TEXT);
    let threads = if row <= 4096 || cols <= 4096 { 256 } else { 512 };
    let is_long = row > 32768;
    let added = addition.map_or(0, |addition| addition.dtype.size());
    let stages = stages(addition.as_ref()) * together * cols * (dtype.size() + cotangent.size() + added);
    let shared = if is_long { 0 } else { stages.max(together * cols * size) };
    let shape = Shape { shared: shared as u32, ..Shape::line(parts, threads) };
    let arguments = addresses(&[Some(x), w, m, Some(r), Some(dy), Some(dx), addend, copy, Some(scratch)]);
    lowering.launch("norm_gradient", text.clone(), shape, arguments);
    if sums == 0 {
        return Ok(());
    }
    if is_long {
        let shape =
            Shape { grid: [cols.div_ceil(256) as u32, parts as u32, 1], block: [256, 1, 1], shared: 0, cluster: 1 };
        let arguments = addresses(&[Some(x), m, Some(r), Some(dy), Some(scratch)]);
        lowering.launch("norm_gradient_columns", text.clone(), shape, arguments);
    }
    let shape = Shape { grid: [cols.div_ceil(32) as u32, sums as u32, 1], block: [1024, 1, 1], shared: 0, cluster: 1 };
    lowering.launch("norm_gradient_sum", text, shape, addresses(&[Some(scratch), dw, db]));
    Ok(())
}
