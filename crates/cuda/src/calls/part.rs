//! Parts of a tensor that are written or added to.

use super::{Macros, addresses, alignment};
use crate::launch::{Shape, Work};
use crate::lower::{Call, Lowering};
use crate::source::{stored, summed};
use wengert_compiler::plan::Read;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/part.cu");

/// Where a part lies in the tensor that it is taken from or put into, in elements.
pub(super) struct Place {
    pub offset: usize,
    pub strides: Vec<isize>,
}

/// The strides of row-major elements.
pub(super) fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}

/// A span that begins this many elements later.
fn later(span: Span, elements: usize, dtype: DType) -> Span {
    Span { start: span.start + elements * dtype.size(), ..span }
}

/// The elements of an operand, with their strides, where they lie.
pub(super) fn laid(lowering: &Lowering, read: &Read) -> (Span, Vec<isize>) {
    let span = lowering.at(read.span);
    (later(span, read.layout.offset as usize, read.spec.dtype), read.layout.strides.to_vec())
}

/// Copies an operand to where the result goes, unless the plan lets the result take its place.
pub(super) fn begin(lowering: &mut Lowering, x: &Read, to: Span) -> Result<(), Error> {
    if !is_there(lowering, x, to) {
        lowering.copy(x, to)?;
    }
    Ok(())
}

/// Whether an operand lies where the result goes.
pub(super) fn is_there(lowering: &Lowering, x: &Read, to: Span) -> bool {
    let (span, _) = laid(lowering, x);
    x.layout.is_contiguous() && (span.region, span.start) == (to.region, to.start)
}

/// An axis of a part: its size, and its strides in both tensors.
type Axis = (usize, isize, isize);

/// The axes of a part, merged where they are one in both tensors.
fn merged(shape: &[usize], from: &[isize], to: &[isize]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for ((&size, &from), &to) in shape.iter().zip(from).zip(to).filter(|((size, _), _)| **size != 1) {
        match axes.last_mut() {
            Some(last) if last.1 == from * size as isize && last.2 == to * size as isize => {
                *last = (last.0 * size, from, to);
            }
            _ => axes.push((size, from, to)),
        }
    }
    if axes.is_empty() { vec![(1, 1, 1)] } else { axes }
}

/// `to[place] = from`, or `+=`, for elements of this shape.
pub(super) fn write(
    lowering: &mut Lowering,
    dtype: DType,
    shape: &[usize],
    (from, strides): (Span, &[isize]),
    (to, place): (Span, &Place),
    adds: bool,
) {
    let elements: usize = shape.iter().product();
    if elements == 0 {
        return;
    }
    let to = later(to, place.offset, dtype);
    let axes = merged(shape, strides, &place.strides);
    if let ([(_, 1, 1)], false) = (&axes[..], adds) {
        let length = elements * dtype.size();
        lowering.push(Work::Copy { from: Span { length, ..from }, to: Span { length, ..to } });
        return;
    }
    let (last, outer) = axes.split_last().expect("there is an axis");
    let divides = |width: &usize| {
        let even = |stride: isize| stride.unsigned_abs().is_multiple_of(*width);
        last.0.is_multiple_of(*width) && outer.iter().all(|(_, from, to)| even(*from) && even(*to))
    };
    let most = if (last.1, last.2) == (1, 1) { alignment(&[from, to]) / dtype.size() } else { 1 };
    let width = [16, 8, 4, 2].into_iter().find(|width| *width <= most && divides(width)).unwrap_or(1);
    let count = elements / width;
    let text = Macros::default()
        .set("PART", 1)
        .set("T", stored(dtype))
        .set("COMPUTE", summed(dtype))
        .set("ADDS", u8::from(adds))
        .set("RANK", axes.len())
        .list("SIZES", axes.iter().map(|axis| axis.0))
        .list("FROM", axes.iter().map(|axis| axis.1))
        .list("TO", axes.iter().map(|axis| axis.2))
        .set("INDEX", if count < 1 << 31 { "u32" } else { "i64" })
        .set("WIDTH", width)
        .set("COUNT", count)
        .before(TEXT);
    lowering.launch("part", text, Shape::line(count.div_ceil(256), 256), addresses(&[Some(from), Some(to)]));
}

/// `y = x` with a part replaced or added to.
fn update(lowering: &mut Lowering, call: &Call<'_>, place: &Place) -> Result<(), Error> {
    let (x, v, to) = (&call.reads[0], &call.reads[1], lowering.at(call.writes[0].0));
    begin(lowering, x, to)?;
    let (from, strides) = laid(lowering, v);
    let adds = call.op.name().ends_with("_add");
    write(lowering, v.spec.dtype, &v.spec.shape, (from, &strides), (to, place), adds);
    Ok(())
}

/// `slice_add` and `slice_assign`.
pub fn slice(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let whole = row_major(&call.reads[0].spec.shape);
    let (start, step) = (call.attrs.ints("start"), call.attrs.ints("step"));
    let offset = whole.iter().zip(start).map(|(stride, start)| *stride as usize * *start as usize).sum();
    let strides = whole.iter().zip(step).zip(&call.reads[1].spec.shape[..]).map(|((stride, step), size)| {
        // A step of any size is never taken along an axis of one element.
        if *size > 1 { stride * *step as isize } else { 0 }
    });
    update(lowering, call, &Place { offset, strides: strides.collect() })
}

/// `diagonal_add` and `diagonal_assign`.
pub fn diagonal(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let whole = row_major(&call.reads[0].spec.shape);
    let (rows, columns, offset) = (call.attrs.axis("rows"), call.attrs.axis("columns"), call.attrs.int("offset"));
    let others = (0..whole.len()).filter(|&axis| axis != rows && axis != columns).map(|axis| whole[axis]);
    let strides = others.chain([whole[rows] + whole[columns]]).collect();
    let (down, right) = (offset.min(0).unsigned_abs() as usize, offset.max(0) as usize);
    // A diagonal outside of the matrix has no elements, and no place.
    let is_empty = call.reads[1].spec.bytes() == 0;
    let offset = if is_empty { 0 } else { down * whole[rows] as usize + right * whole[columns] as usize };
    update(lowering, call, &Place { offset, strides })
}

/// `concat`: each operand is written to its part.
pub fn concat(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (to, spec) = &call.writes[0];
    let (to, axis) = (lowering.at(*to), call.attrs.axis("axis"));
    let strides = row_major(&spec.shape);
    let mut place = Place { offset: 0, strides };
    for x in call.reads {
        let (from, strides) = laid(lowering, x);
        write(lowering, spec.dtype, &x.spec.shape, (from, &strides), (to, &place), false);
        place.offset += x.spec.shape[axis] * place.strides[axis] as usize;
    }
    Ok(())
}

/// `windows_add`: windows overlap, so each element adds what it takes.
pub fn windows(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (x, v) = (lowering.contiguous(&call.reads[0])?, lowering.contiguous(&call.reads[1])?);
    let (to, spec) = &call.writes[0];
    let (to, axis) = (lowering.at(*to), call.attrs.axis("axis"));
    let length = spec.shape[axis];
    let step = call.attrs.axis("step").min(length);
    let text = Macros::default()
        .set("WINDOWS_ADD", 1)
        .set("T", stored(spec.dtype))
        .set("COMPUTE", summed(spec.dtype))
        .set("OUTER", spec.shape[..axis].iter().product::<usize>())
        .set("LENGTH", length)
        .set("INNER", spec.shape[axis + 1..].iter().product::<usize>())
        .set("WINDOWS", call.reads[1].spec.shape[axis])
        .set("SIZE", call.attrs.axis("size"))
        .set("STEP", step)
        .before(TEXT);
    let blocks = spec.shape.elements().div_ceil(256);
    lowering.launch("windows_add", text, Shape::line(blocks, 256), addresses(&[Some(x), Some(v), Some(to)]));
    Ok(())
}
