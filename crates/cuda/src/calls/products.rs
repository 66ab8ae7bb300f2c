//! Matrix products.

use super::{sum, tiled};
use crate::lower::{Call, Lowering, missing};
use crate::product::{Matrix, PARTIAL_SUMS, Product};
use wengert_compiler::plan::Read;
use wengert_core::Error;
use wengert_core::primitive::Spec;
use wengert_kernels::memory::Span;
use wengert_kernels::view::collapse;

/// `y = x w^T + b` with weights `[out, in]`.
pub fn linear(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (x, w) = (matrix(lowering, &call.reads[0])?, matrix(lowering, &call.reads[1])?);
    let [rows, inner] = call.reads[0].spec.shape[..] else { unreachable!("inputs are a matrix") };
    let cols = call.reads[1].spec.shape[0];
    if let (0, Some(bias)) = (inner, call.reads.get(2)) {
        // The bias of every row.
        let (to, spec) = &call.writes[0];
        let layout = bias.layout.broadcast(&spec.shape);
        let to = lowering.at(*to);
        return lowering.copy(&Read { span: bias.span, spec: spec.clone(), layout }, to);
    }
    let bias = call.reads.get(2).map(|bias| lowering.contiguous(bias)).transpose()?;
    let w = Matrix { is_transposed: !w.is_transposed, ..w };
    product(lowering, &call.writes[0], 1, [rows, inner, cols], x, w, bias)
}

/// `c = a b`, for every matrix of a batch.
pub fn matmul(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (a, b) = (matrix(lowering, &call.reads[0])?, matrix(lowering, &call.reads[1])?);
    let [lead @ .., rows, inner] = &call.reads[0].spec.shape[..] else { unreachable!("operands are matrices") };
    let cols = call.reads[1].spec.shape[lead.len() + 1];
    product(lowering, &call.writes[0], lead.iter().product(), [*rows, *inner, cols], a, b, None)
}

/// The most products of a batch in one launch; a multiple of 8.
const MOST_TOGETHER: usize = 32768;

fn product(
    lowering: &mut Lowering,
    (c, spec): &(Span, Spec),
    batch: usize,
    [rows, inner, cols]: [usize; 3],
    a: Matrix,
    b: Matrix,
    bias: Option<Span>,
) -> Result<(), Error> {
    let dtype = spec.dtype;
    if !dtype.is_float() {
        return Err(missing(format!("a product of {dtype} has no kernel for this device")));
    }
    if spec.bytes() == 0 {
        return Ok(());
    }
    if inner == 0 {
        let c = lowering.at(*c);
        sum::zeros(lowering, c, spec);
        return Ok(());
    }
    if batch > MOST_TOGETHER {
        // The parts begin at multiples of 16 bytes, as the whole does.
        let size = dtype.size();
        let part = |whole: Matrix, first: usize| {
            // Elements may lie far apart, so the length says little.
            let start = whole.span.start + first * whole.batch * size;
            Matrix { span: Span { start, ..whole.span }, ..whole }
        };
        return (0..batch).step_by(MOST_TOGETHER).try_for_each(|first| {
            let (count, start) = (MOST_TOGETHER.min(batch - first), first * rows * cols * size);
            let to = Span { start: c.start + start, length: count * rows * cols * size, ..*c };
            product(lowering, &(to, spec.clone()), count, [rows, inner, cols], part(a, first), part(b, first), bias)
        });
    }
    let (c, workspace) = (lowering.at(*c), Span::default());
    let rounding = lowering.rounding;
    let product = Product { dtype, batch, rows, cols, inner, a, b, c, bias, rounding, workspace };
    match tiled::is_better(&product) {
        true => tiled::launch(lowering, &product),
        false => {
            let (each, most) = PARTIAL_SUMS;
            let workspace = lowering.scratch((each * spec.shape.elements()).min(most));
            lowering.product(Product { workspace, ..product });
        }
    }
    Ok(())
}

/// An operand whose rows or columns lie side by side; others are copied.
fn matrix(lowering: &mut Lowering, read: &Read) -> Result<Matrix, Error> {
    let shape = &read.spec.shape[..];
    let [lead @ .., rows, cols] = shape else { unreachable!("factors are matrices") };
    let strides = &read.layout.strides[..];
    let [outer @ .., down, across] = strides else { unreachable!("one stride for each axis") };
    let batches = collapse(lead, outer);
    let batch = match (&batches.shape[..], &batches.strides[..]) {
        ([], []) => Some(0),
        ([_], [stride]) if *stride >= 0 => Some(*stride as usize),
        _ => None,
    };
    let fits = |side: isize, beside: usize, lead: isize, leads: usize| {
        let leading = if leads == 1 { beside } else { usize::try_from(lead).unwrap_or(0) };
        ((side == 1 || beside == 1) && leading >= beside).then_some(leading)
    };
    let laid = fits(*across, *cols, *down, *rows)
        .map(|leading| (leading, false))
        .or_else(|| fits(*down, *rows, *across, *cols).map(|leading| (leading, true)));
    let size = read.spec.dtype.size();
    if let (Some(batch), Some((leading, is_transposed))) = (batch, laid) {
        let span = lowering.at(read.span);
        let span = Span { start: span.start + read.layout.offset as usize * size, length: read.spec.bytes(), ..span };
        return Ok(Matrix { span, is_transposed, leading, batch });
    }
    let span = lowering.scratch(read.spec.bytes());
    lowering.copy(read, span)?;
    Ok(Matrix { span, is_transposed: false, leading: *cols, batch: rows * cols })
}
