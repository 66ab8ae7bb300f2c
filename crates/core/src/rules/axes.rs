//! Validation of user-given axes: in range, negative ones counted from the end, and on scalars.

use crate::error::OrRaise;
use crate::primitive::Attrs;
use crate::{Error, ErrorKind, Shape, Tensor};
use std::borrow::Cow;

/// The axis as a non-negative index, or an error if it is out of range; negative axes count from the end.
pub fn checked_axis(name: &str, axis: isize, shape: &[usize]) -> Result<usize, Error> {
    let rank = shape.len() as isize;
    let checked = if axis < 0 { axis + rank } else { axis };
    if (0..rank).contains(&checked) {
        return Ok(checked as usize);
    }
    let shape = Shape::from(shape);
    let message = format!("axis {axis} is not one of the {rank} axes of shape {shape}");
    let help =
        if rank == 0 { "a scalar has no axes".into() } else { format!("axes go from {} to {}", -rank, rank - 1) };
    Err(Error::new(ErrorKind::Range, name, message).help(help))
}

/// The axes as non-negative indices, ascending. A scalar counts as a row of one element, whose axis 0 or -1 reduces nothing.
pub fn checked_axes(name: &str, axes: &[isize], shape: &[usize]) -> Result<Vec<usize>, Error> {
    if shape.is_empty() {
        return axes.iter().try_for_each(|&axis| checked_axis(name, axis, &[1]).map(drop)).map(|()| Vec::new());
    }
    let checked: Result<Vec<usize>, Error> = axes.iter().map(|&axis| checked_axis(name, axis, shape)).collect();
    let mut axes = checked?;
    axes.sort_unstable();
    match axes.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(axes),
        Some(pair) => {
            let message = format!("axis {} of shape {} is named twice", pair[0], Shape::from(shape));
            Err(Error::new(ErrorKind::Range, name, message).help("every axis is reduced once"))
        }
    }
}

/// A scalar as a row of one element; other tensors unchanged.
#[track_caller]
pub fn at_least_vector(x: &Tensor) -> Cow<'_, Tensor> {
    if x.rank() == 0 { Cow::Owned(x.reshape([1])) } else { Cow::Borrowed(x) }
}

/// The tensor, with a scalar as a row of one element, and the checked axis; [`as_given`] undoes it.
#[track_caller]
pub fn row_and_axis<'x>(name: &str, x: &'x Tensor, axis: isize) -> (Cow<'x, Tensor>, usize) {
    let row = at_least_vector(x);
    let axis = checked_axis(name, axis, row.shape()).or_raise();
    (row, axis)
}

/// The result for `x` from that of its row: for a scalar, a scalar again, unless the result has several elements or none.
#[track_caller]
pub fn as_given(x: &Tensor, result: Tensor) -> Tensor {
    if x.rank() == 0 && result.elements() == 1 { result.reshape([]) } else { result }
}

/// A reduced tensor with the reduced axes put back as axes of size one.
#[track_caller]
pub fn keep_axes(reduced: Tensor, axes: &[usize], shape: &[usize]) -> Tensor {
    reduced.reshape(kept_shape(axes, shape))
}

/// `shape` with these axes set to size one.
pub fn kept_shape(axes: &[usize], shape: &[usize]) -> Shape {
    shape.iter().enumerate().map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect()
}

/// The shape without the reduced axes, or an error if they are not axes of it.
pub fn reduced_shape(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<Shape, Error> {
    let axes = attrs.sizes("axes");
    let in_order = axes.windows(2).all(|pair| pair[0] < pair[1]);
    if !in_order || axes.last().is_some_and(|&axis| axis >= shape.len()) {
        let message = format!("axes {axes} are not distinct axes of shape {}", Shape::from(shape));
        return Err(Error::new(ErrorKind::Range, name, message));
    }
    let kept = shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    Ok(kept.map(|(_, &size)| size).collect())
}

/// The attributes of the same reduction under a leading batch axis.
pub fn batched_axes(attrs: &Attrs) -> Attrs {
    attrs.clone().with_ints("axes", attrs.ints("axes").iter().map(|axis| axis + 1))
}

/// The axis as in [`checked_axis`]; a scalar counts as a vector of one element.
pub fn axis_of(name: &str, axis: isize, shape: &[usize]) -> Result<usize, Error> {
    match shape.is_empty() && (-1..=0).contains(&axis) {
        true => Ok(0),
        false => checked_axis(name, axis, shape),
    }
}
