//! Elements at indices along an axis.

use super::{Macros, addresses, width};
use crate::launch::{Shape, Word};
use crate::lower::{Call, Lowering, missing};
use crate::source::{held, stored};
use wengert_compiler::plan::Read;
use wengert_core::Error;
use wengert_kernels::memory::Span;
use wengert_kernels::view::collapse;

pub(super) const TEXT: &str = include_str!("../kernels/index.cu");

/// The sizes of a call, with the strides of its indices where they were found; other indices are copied.
struct Sizes {
    outer: usize,
    n: usize,
    k: usize,
    inner: usize,
    index: Span,
    strides: [isize; 3],
}

/// The step along axes that are one in memory.
fn step(shape: &[usize], strides: &[isize]) -> Option<isize> {
    let one = collapse(shape, strides);
    match one.strides[..] {
        [] => Some(0),
        [stride] => Some(stride),
        _ => None,
    }
}

fn sizes(lowering: &mut Lowering, axis: usize, x: &[usize], index: &Read) -> Result<Sizes, Error> {
    let (shape, strides) = (&index.spec.shape, &index.layout.strides);
    if shape.iter().zip(x).enumerate().any(|(other, (here, all))| other != axis && here != all) {
        return Err(missing(format!(
            "positions of shape {shape} in a part of the other axes have no kernel for this device"
        )));
    }
    let (outer, k) = (shape[..axis].iter().product(), shape[axis]);
    let inner: usize = shape[axis + 1..].iter().product();
    let parts = [(0, axis), (axis, axis + 1), (axis + 1, shape.len())];
    let found = parts.map(|(from, to)| step(&shape[from..to], &strides[from..to]));
    let n = x[axis];
    Ok(match found {
        [Some(a), Some(b), Some(c)] => {
            let span = lowering.at(index.span);
            let start = span.start + index.layout.offset as usize * index.spec.dtype.size();
            Sizes { outer, n, k, inner, index: Span { start, ..span }, strides: [a, b, c] }
        }
        _ => {
            let index = lowering.contiguous(index)?;
            Sizes { outer, n, k, inner, index, strides: [(k * inner) as isize, inner as isize, 1] }
        }
    })
}

fn macros(sizes: &Sizes, dtype: wengert_core::DType, width: usize) -> Macros {
    let [io, ik, ii] = sizes.strides;
    Macros::default()
        .set("T", stored(dtype))
        .set("COMPUTE", held(dtype))
        .set("OUTER", sizes.outer)
        .set("N", sizes.n)
        .set("K", sizes.k)
        .set("INNER", sizes.inner)
        .set("IO", io)
        .set("IK", ik)
        .set("II", ii)
        .set("WIDTH", width)
}

fn is_i64(call: &Call<'_>) -> Result<(), Error> {
    let dtype = call.reads[1].spec.dtype;
    if dtype == wengert_core::DType::I64 {
        return Ok(());
    }
    Err(missing(format!("{} with indices of {dtype} has no kernel for this device", call.op.name())))
}

/// `y[o][k][i] = x[o][index[o][k][i]][i]`
pub fn gather(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    is_i64(call)?;
    let (x, (to, spec)) = (&call.reads[0], &call.writes[0]);
    if spec.bytes() == 0 {
        return Ok(());
    }
    let sizes = sizes(lowering, call.attrs.axis("axis"), &x.spec.shape, &call.reads[1])?;
    let (from, to) = (lowering.contiguous(x)?, lowering.at(*to));
    let width = if sizes.strides[2] == 0 { width(sizes.inner, spec.dtype.size(), &[from, to]) } else { 1 };
    let text = macros(&sizes, spec.dtype, width).set("ZERO", 1).set("PIECE", 1).before(TEXT);
    let blocks = (sizes.outer * sizes.k * sizes.inner / width).div_ceil(1024);
    lowering.launch("gather", text, Shape::line(blocks, 256), addresses(&[Some(from), Some(sizes.index), Some(to)]));
    Ok(())
}

/// `y = x`, then `y[o][index[o][k][i]][i] += v[o][k][i]` in order of k.
pub fn scatter_add(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    is_i64(call)?;
    let (x, v, (to, spec)) = (&call.reads[0], &call.reads[2], &call.writes[0]);
    if spec.bytes() == 0 {
        return Ok(());
    }
    let sizes = sizes(lowering, call.attrs.axis("axis"), &x.spec.shape, &call.reads[1])?;
    // x is also where the result goes, where the plan found nobody else who needs it.
    let (values, to) = (lowering.contiguous(v)?, lowering.at(*to));
    let is_zero = lowering.is_zero(x);
    let from = if is_zero { to } else { lowering.contiguous(x)? };
    let by_rows = sizes.strides[2] == 0;
    let width = if by_rows { width(sizes.inner, spec.dtype.size(), &[from, values, to]) } else { 1 };
    let count = sizes.outer * sizes.k;
    let piece = match count {
        0..=4096 => 8,
        4097..=65536 => 32,
        _ => 64,
    };
    let text = macros(&sizes, spec.dtype, width).set("ZERO", u8::from(is_zero)).set("PIECE", piece).before(TEXT);
    let null = vec![Word::Number(0)];
    if !by_rows {
        let arguments = vec![null.clone(), super::address(from), super::address(to), null];
        lowering.launch("scatter_begin", text.clone(), Shape::line(264, 1024), arguments);
        let arguments = addresses(&[Some(sizes.index), Some(values), Some(to)]);
        lowering.launch(
            "scatter_columns",
            text,
            Shape::line((sizes.outer * sizes.inner).div_ceil(128), 128),
            arguments,
        );
        return Ok(());
    }
    let tiles = count.div_ceil(1024);
    let fill = (sizes.outer * sizes.n * sizes.inner / width).div_ceil(1024).min(264);
    let (mut sorted, mut other) = (lowering.scratch(8192 * tiles), lowering.scratch(8192 * tiles));
    let arguments = addresses(&[Some(sizes.index), Some(from), Some(to), Some(sorted)]);
    lowering.launch("scatter_begin", text.clone(), Shape::line(tiles + fill, 1024), arguments);
    let mut run = 1024;
    while run < 1024 * tiles {
        let arguments = vec![super::address(sorted), super::address(other), vec![Word::Number(run as u64)]];
        lowering.launch("scatter_merge", text.clone(), Shape::line(32 * tiles, 256), arguments);
        std::mem::swap(&mut sorted, &mut other);
        run *= 8;
    }
    let pieces = count.div_ceil(piece);
    let partials = lowering.scratch(pieces * 2 * sizes.inner * if held(spec.dtype) == "float" { 4 } else { 8 });
    let threads = (sizes.inner / width).next_multiple_of(32).min(256);
    let arguments = addresses(&[Some(sorted), Some(from), Some(values), Some(to), Some(partials)]);
    lowering.launch("scatter_sum", text.clone(), Shape::line(pieces, threads), arguments);
    let shape = Shape {
        grid: [pieces.div_ceil(4) as u32, sizes.inner.div_ceil(128) as u32, 1],
        block: [256, 1, 1],
        shared: 0,
        cluster: 1,
    };
    lowering.launch("scatter_pieces", text, shape, addresses(&[Some(sorted), Some(partials), Some(to)]));
    Ok(())
}
