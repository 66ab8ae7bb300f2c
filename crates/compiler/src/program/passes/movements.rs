//! Rules for movements: reshapes, transposes, broadcasts and slices are composed, and sums of them become smaller sums.

use super::edit::Edit;
use super::known::*;
use crate::primitive::Attrs;
use crate::program::{Equation, Var};
use crate::{DType, Shape};
use smallvec::SmallVec;

/// A call that keeps the shape of its operand returns its operand.
pub(super) fn same_shape(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let x = equation.inputs[0];
    (edit.shape(x) == edit.shape(equation.outputs[0])).then_some(x)
}

pub(super) fn reshape_of_reshape(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, x) = edit.source_of(equation.inputs[0], RESHAPE)?;
    let shape = edit.shape(equation.outputs[0]).clone();
    Some(edit.reshape(x, &shape))
}

pub(super) fn reshape_of_transpose(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (attrs, x) = edit.source_of(equation.inputs[0], TRANSPOSE)?;
    if !keeps_order(&attrs.sizes("permutation"), edit.shape(x)) {
        return None;
    }
    let shape = edit.shape(equation.outputs[0]).clone();
    Some(edit.reshape(x, &shape))
}

/// Whether a permutation keeps the order of all axes with more than one element.
fn keeps_order(permutation: &[usize], shape: &[usize]) -> bool {
    permutation.iter().filter(|axis| shape[**axis] != 1).is_sorted()
}

pub(super) fn same_order(_edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let permutation = equation.attrs.ints("permutation");
    permutation.iter().copied().eq(0..permutation.len() as i64).then_some(equation.inputs[0])
}

pub(super) fn transpose_of_transpose(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (first, x) = edit.source_of(equation.inputs[0], TRANSPOSE)?;
    let (first, then) = (first.sizes("permutation"), equation.attrs.sizes("permutation"));
    let both: SmallVec<[usize; 4]> = then.iter().map(|&axis| first[axis]).collect();
    Some(edit.transpose(x, &both))
}

pub(super) fn transpose_as_reshape(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let x = equation.inputs[0];
    if !keeps_order(&equation.attrs.sizes("permutation"), edit.shape(x)) {
        return None;
    }
    let shape = edit.shape(equation.outputs[0]).clone();
    Some(edit.reshape(x, &shape))
}

pub(super) fn broadcast_of_broadcast(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, x) = edit.source_of(equation.inputs[0], BROADCAST)?;
    let shape = edit.shape(equation.outputs[0]).clone();
    Some(edit.broadcast(x, &shape))
}

pub(super) fn broadcast_of_reshape(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, x) = edit.source_of(equation.inputs[0], RESHAPE)?;
    let (from, through, to) = (edit.shape(x), edit.shape(equation.inputs[0]), edit.shape(equation.outputs[0]));
    let without_ones = |shape: &Shape| shape.iter().copied().skip_while(|&size| size == 1).collect::<Shape>();
    if without_ones(from) != without_ones(through) || from.rank() > to.rank() {
        return None;
    }
    let shape = edit.shape(equation.outputs[0]).clone();
    Some(edit.broadcast(x, &shape))
}

/// The attributes of a slice: start, stop and step along each axis.
pub(super) fn slice_attrs(start: &[i64], stop: &[i64], step: &[i64]) -> Attrs {
    let list = |list: &[i64]| list.to_vec();
    Attrs::new().with_ints("start", list(start)).with_ints("stop", list(stop)).with_ints("step", list(step))
}

pub(super) fn slice_of_slice(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (first, x) = edit.source_of(equation.inputs[0], SLICE)?;
    let then = &equation.attrs;
    let (mut start, mut stop, mut step) = (vec![], vec![], vec![]);
    for (axis, &size) in edit.shape(equation.outputs[0]).iter().enumerate() {
        let (from, by) = (first.ints("start")[axis], first.ints("step")[axis]);
        let at = from + by * then.ints("start")[axis];
        step.push(by * then.ints("step")[axis]);
        // An empty slice may begin past the end.
        let at = at.min(edit.shape(x)[axis] as i64);
        start.push(at);
        stop.push(if size == 0 { at } else { at + step[axis] * (size as i64 - 1) + 1 });
    }
    Some(edit.call(SLICE, slice_attrs(&start, &stop, &step), &[x]))
}

pub(super) fn slice_of_concat(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (joined, parts) = edit.call_of(equation.inputs[0], CONCAT)?;
    let axis = joined.axis("axis");
    let (start, stop, step) = (equation.attrs.ints("start"), equation.attrs.ints("stop"), equation.attrs.ints("step"));
    let (from, size) = (start[axis], edit.shape(equation.outputs[0])[axis] as i64);
    let last = from + step[axis] * (size - 1);
    let mut before = 0;
    for (part, length) in parts.iter().zip(joined.ints("sizes")) {
        if size > 0 && before <= from && last < before + length {
            let (mut start, mut stop) = (start.to_vec(), stop.to_vec());
            (start[axis], stop[axis]) = (from - before, last + 1 - before);
            return Some(edit.call(SLICE, slice_attrs(&start, &stop, step), &[*part]));
        }
        before += length;
    }
    None
}

/// Whether a slice covers everything, in order.
fn is_all(attrs: &Attrs, shape: &[usize]) -> bool {
    let from_zero = attrs.ints("start").iter().all(|&start| start == 0);
    let to_end = attrs.ints("stop").iter().zip(shape).all(|(&stop, &size)| stop == size as i64);
    from_zero && to_end && attrs.ints("step").iter().all(|&step| step == 1)
}

pub(super) fn assign_all(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, values] = equation.inputs[..] else { return None };
    is_all(&equation.attrs, edit.shape(x)).then_some(values)
}

pub(super) fn add_all(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, values] = equation.inputs[..] else { return None };
    let is_zero = edit.number(x).is_some_and(|number| number.is(0.0));
    (is_zero && is_all(&equation.attrs, edit.shape(x))).then_some(values)
}

/// The maximum number of parts of a concat.
const MOST_PARTS: usize = 64;

/// The gradient of an array that was split: parts added into zeros, which they fill along one axis.
pub(super) fn parts_that_fill(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let shape = edit.shape(equation.outputs[0]).clone();
    let axis = (0..shape.rank()).find(|&axis| {
        let (start, stop) = (equation.attrs.ints("start")[axis], equation.attrs.ints("stop")[axis]);
        start != 0 || stop != shape[axis] as i64
    })?;
    let along = |attrs: &Attrs| {
        let whole = |other: usize| {
            other == axis || (attrs.ints("start")[other] == 0 && attrs.ints("stop")[other] == shape[other] as i64)
        };
        let simple = attrs.ints("step").iter().all(|&step| step == 1) && (0..shape.rank()).all(whole);
        simple.then(|| (attrs.ints("start")[axis], attrs.ints("stop")[axis]))
    };
    let mut parts: SmallVec<[(i64, i64, Var); 8]> = SmallVec::new();
    let (mut base, mut attrs, mut values) = (equation.inputs[0], equation.attrs.clone(), equation.inputs[1]);
    let mut filled = 0;
    loop {
        let (start, stop) = along(&attrs)?;
        parts.push((start, stop, values));
        filled += stop - start;
        if filled >= shape[axis] as i64 || parts.len() == MOST_PARTS {
            break;
        }
        let (inner, inputs) = edit.call_of(base, SLICE_ADD)?;
        (attrs, base, values) = (inner, inputs[0], inputs[1]);
    }
    parts.sort_unstable_by_key(|part| part.0);
    let in_order = parts.windows(2).all(|pair| pair[0].1 == pair[1].0);
    let whole = parts[0].0 == 0 && parts[parts.len() - 1].1 == shape[axis] as i64;
    if !in_order || !whole || parts.len() < 2 || !edit.number(base).is_some_and(|number| number.is(0.0)) {
        return None;
    }
    let sizes = parts.iter().map(|(start, stop, _)| stop - start);
    let attrs = Attrs::new().with_int("axis", axis as i64).with_ints("sizes", sizes);
    let vars: SmallVec<[Var; 8]> = parts.iter().map(|part| part.2).collect();
    Some(edit.call(CONCAT, attrs, &vars))
}

pub(super) fn sum_of_nothing(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let x = equation.inputs[0];
    if equation.attrs.sizes("axes").iter().any(|&axis| edit.shape(x)[axis] != 1) {
        return None;
    }
    let shape = edit.shape(equation.outputs[0]).clone();
    let reshaped = edit.reshape(x, &shape);
    Some(as_sum(edit, reshaped))
}

/// A term as a sum of one term: it starts from 0, so it is never -0.
fn as_sum(edit: &mut Edit<'_>, term: Var) -> Var {
    let spec = edit.spec(term).clone();
    if !spec.dtype.is_float() {
        return term;
    }
    let zero = edit.filled(0.0, &spec);
    edit.call(ADD, Attrs::new(), &[term, zero])
}

/// Half precision rounds between two sums, but not inside one.
fn sums_exactly(dtype: DType) -> bool {
    !matches!(dtype, DType::BF16 | DType::F16)
}

pub(super) fn sum_of_sum(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (first, x) = edit.source_of(equation.inputs[0], SUM)?;
    let (first, then, rank) = (first.sizes("axes"), equation.attrs.sizes("axes"), edit.shape(x).rank());
    if !sums_exactly(edit.spec(x).dtype) {
        return None;
    }
    let kept: SmallVec<[usize; 4]> = (0..rank).filter(|axis| !first.contains(axis)).collect();
    let mut axes: SmallVec<[usize; 4]> = first.iter().copied().chain(then.iter().map(|&axis| kept[axis])).collect();
    axes.sort_unstable();
    Some(edit.call(SUM, Attrs::new().with_sizes("axes", &axes), &[x]))
}

pub(super) fn sum_of_reshape(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, x) = edit.source_of(equation.inputs[0], RESHAPE)?;
    if edit.shape(equation.outputs[0]).rank() != 0 {
        return None;
    }
    let axes: SmallVec<[usize; 4]> = (0..edit.shape(x).rank()).collect();
    Some(edit.call(SUM, Attrs::new().with_sizes("axes", &axes), &[x]))
}

/// The largest integer up to which a dtype represents all integers.
fn counts_up_to(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 2f64.powi(53),
        DType::F32 => 2f64.powi(24),
        DType::I64 => 2f64.powi(62),
        // Other dtypes compute in a wider dtype and round once.
        _ => 0.0,
    }
}

/// n x rounds once where a sum of n equal terms rounds many times, and overflows where the sum does.
pub(super) fn sum_of_broadcast(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, x) = edit.source_of(equation.inputs[0], BROADCAST)?;
    let whole = edit.shape(equation.inputs[0]).clone();
    let own = padded(edit.shape(x), whole.rank());
    let axes = equation.attrs.sizes("axes");
    let is_repeated = |axis: &usize| own[*axis] != whole[*axis];
    let count: f64 = axes.iter().filter(|axis| is_repeated(axis)).map(|&axis| whole[axis] as f64).product();
    let repeated = axes.iter().any(is_repeated);
    if !repeated || count == 0.0 || whole.elements() == 0 || count > counts_up_to(edit.spec(x).dtype) {
        return None;
    }
    let aligned = edit.reshape(x, &own);
    let summed = edit.call(SUM, Attrs::new().with_sizes("axes", axes.iter()), &[aligned]);
    let spec = edit.spec(summed).clone();
    let times = edit.filled(count, &spec);
    let product = edit.call(MUL, Attrs::new(), &[summed, times]);
    let shape = edit.shape(equation.outputs[0]).clone();
    Some(edit.broadcast(product, &shape))
}

/// A shape padded with leading axes of size one, up to a rank.
pub(super) fn padded(shape: &[usize], rank: usize) -> Shape {
    std::iter::repeat_n(1, rank - shape.len()).chain(shape.iter().copied()).collect()
}
