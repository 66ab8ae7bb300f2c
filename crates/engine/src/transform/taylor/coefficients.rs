//! How operations act on Taylor coefficients.
//!
//! If an operation declares it ([`Jet`]), coefficients are propagated one by one:
//!
//! - linear: y_k = J x_k;
//! - bilinear: y_k = sum of B(a_j, b_k-j), whose two ends are the tangent J (a_k, b_k);
//! - a quotient z = M^-1 r: the tangent in M is linear in the output, -M^-1 dM z, so z_k = M_0^-1 r_k plus the sum of the tangents
//!   in M_j with z_k-j as the output;
//! - a power series f of one matrix: series up to t^k are blocks along the diagonals of an upper triangular matrix, which add and
//!   multiply like it, so f of the matrix of A_0 .. A_k has f(A)_0 .. f(A)_k in its first row.

use crate::bind::bind1;
use crate::interp::{Level, Tracer};
use crate::location::Line;
use crate::methods::*;
use crate::primitive::{Adjoints, Attrs, Jet, Mask, Outputs, Primitive, Rule};
use crate::{Ellipsis, Tensor};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Taylor coefficients, the value first; `None` and missing trailing coefficients are zero.
#[derive(Clone)]
pub(crate) struct Series(Arc<[Option<Tensor>]>);

impl Series {
    pub fn constant(value: &Tensor) -> Series {
        Series(Arc::new([Some(value.clone())]))
    }

    pub fn new(value: Tensor, higher: impl IntoIterator<Item = Option<Tensor>>) -> Series {
        Series(std::iter::once(Some(value)).chain(higher).collect())
    }

    pub fn value(&self) -> &Tensor {
        self.0[0].as_ref().expect("a series has a value")
    }

    pub fn at(&self, order: usize) -> Option<&Tensor> {
        self.0.get(order)?.as_ref()
    }

    /// Whether all coefficients after the value are zero.
    pub fn is_constant(&self) -> bool {
        self.0[1..].iter().all(Option::is_none)
    }
}

/// The series of operands at a level.
pub(super) fn series_of(level: &Arc<Level>, operands: &[&Tensor]) -> SmallVec<[Series; 4]> {
    let series = |operand: &&Tensor| match Tracer::attached::<Series>(operand, level) {
        Some((_, series)) => series.clone(),
        _ => Series::constant(operand),
    };
    operands.iter().map(series).collect()
}

/// A tensor of this level.
pub(crate) fn lift(level: &Arc<Level>, series: Series, line: Line) -> Tensor {
    Tracer::attach(level, &series.value().clone(), series, line)
}

/// The coefficients after the value of each output.
pub(super) fn by_coefficient(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[Series],
    outputs: &Outputs,
    order: usize,
) -> Vec<Vec<Option<Tensor>>> {
    let at = |position: usize, j: usize| operands[position].at(j);
    if op.jet() == Jet::MatrixFunction {
        return vec![matrix_function(op, attrs, &at, order).into_iter().skip(1).map(Some).collect()];
    }
    let mut known: Vec<Vec<Option<Tensor>>> = outputs.iter().map(|output| vec![Some(output.clone())]).collect();
    let values: SmallVec<[&Tensor; 4]> = operands.iter().map(Series::value).collect();
    for k in 1..=order {
        let next = coefficient(op, attrs, &values, &at, &known, k);
        known.iter_mut().zip(next).for_each(|(known, next)| known.push(next));
    }
    known.iter_mut().for_each(|known| drop(known.remove(0)));
    known
}

/// Whether an operation of this class needs only the coefficients of its operands and earlier ones of its outputs.
pub(super) fn acts_on_coefficients(class: Jet) -> bool {
    matches!(class, Jet::Linear | Jet::Bilinear | Jet::Quotient(_) | Jet::MatrixFunction)
}

/// Coefficient `k` of each output, from coefficients up to `k` of the operands (`at(operand, order)`) and the `known` lower ones of the
/// outputs.
pub(super) fn coefficient<'c>(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    values: &[&Tensor],
    at: &dyn Fn(usize, usize) -> Option<&'c Tensor>,
    known: &[Vec<Option<Tensor>>],
    k: usize,
) -> Adjoints {
    if op.jet() == Jet::MatrixFunction {
        return smallvec![matrix_function(op, attrs, at, k).pop()];
    }
    let outputs_at = |j: usize| known.iter().map(|output| output[j].clone()).collect::<Option<Outputs>>();
    let outputs = outputs_at(0).expect("a series has a value");
    let tangents: SmallVec<[Option<Tensor>; 4]> = (0..values.len()).map(|position| at(position, k).cloned()).collect();
    let mut sum = push(op, attrs, values, &outputs, &tangents);
    let inner = |term: &mut dyn FnMut(usize)| (1..k).for_each(term);
    match op.jet() {
        Jet::Bilinear => inner(&mut |j| {
            if let (Some(a), Some(b)) = (at(0, j), at(1, k - j)) {
                add(&mut sum[0], Some(bind1(op, attrs.clone(), &[a, b])));
            }
        }),
        Jet::Quotient(divisor) => inner(&mut |j| {
            if let (Some(change), Some(outputs)) = (at(divisor, j), outputs_at(k - j)) {
                let mut tangents: SmallVec<[Option<Tensor>; 4]> = smallvec![None; values.len()];
                tangents[divisor] = Some(change.clone());
                add(&mut sum[0], push(op, attrs, values, &outputs, &tangents).swap_remove(0));
            }
        }),
        _ => {}
    }
    sum
}

/// Coefficients 0 to `order` of a power series of one matrix.
fn matrix_function<'c>(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    at: &dyn Fn(usize, usize) -> Option<&'c Tensor>,
    order: usize,
) -> Vec<Tensor> {
    let value = at(0, 0).expect("a series has a value");
    let (n, zero) = (value.shape()[value.rank() - 1], value.full_like(0.0));
    let block = |row: usize, column: usize| column.checked_sub(row).and_then(|j| at(0, j)).unwrap_or(&zero);
    let row = |row: usize| Tensor::concat(&(0..=order).map(|column| block(row, column)).collect::<Vec<_>>(), -1);
    let y = bind1(op, attrs.clone(), &[&Tensor::concat(&(0..=order).map(row).collect::<Vec<_>>(), -2)]);
    (0..=order).map(|k| y.slice((Ellipsis, 0..n, k * n..(k + 1) * n))).collect()
}

/// Computes the tangents of the outputs.
fn push(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[&Tensor],
    outputs: &Outputs,
    tangents: &[Option<Tensor>],
) -> Adjoints {
    let wanted = Mask::of(tangents.len(), |position| tangents[position].is_some());
    if wanted.is_empty() {
        return smallvec![None; outputs.len()];
    }
    op.jvp(&Rule::new(op, attrs, operands, outputs, wanted), tangents)
}

fn add(sum: &mut Option<Tensor>, term: Option<Tensor>) {
    match (&mut *sum, term) {
        (Some(sum), Some(term)) => sum.accumulate(&term),
        (None, Some(term)) => *sum = Some(term),
        (_, None) => {}
    }
}
