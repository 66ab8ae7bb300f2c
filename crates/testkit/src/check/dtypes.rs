//! Values and derivatives in other dtypes than those of the case.

use super::Trial;
use super::subject::{Derived, Subject, pick};
use super::values::{against_reference, in_place, inferred};
use crate::numeric::{directions, epsilon, norm_difference};
use crate::report::Aspect;
use wengert::prelude::*;
use wengert::primitive::Sample;

const HERE: Aspect = Aspect::Dtypes;

const NARROW: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The number of roundings in a value: each is half an epsilon, and a decomposition magnifies that of its operand by the ratio of norm and
/// gap, about 6 in the cases of `svd`.
const ROUNDINGS: f64 = 16.0;

/// The number of roundings in a derivative rule: one in each of its operations, and those of the saved values.
const RULE_ROUNDINGS: f64 = 64.0;

/// Values: floats in three narrower dtypes, integers in those that the shape rule accepts.
pub(super) fn values(trial: &mut Trial, subject: &Subject<'_>) {
    if !subject.floats.is_empty() {
        NARROW.into_iter().for_each(|dtype| narrow_floats(trial, subject, dtype));
    }
    for dtype in [DType::I32, DType::U8] {
        narrow_integers(trial, subject, dtype);
    }
}

/// The reference is evaluated on the rounded operands.
fn narrow_floats(trial: &mut Trial, subject: &Subject<'_>, dtype: DType) {
    let samples = &subject.case.operands;
    let operands: Vec<Tensor> = samples.iter().map(|sample| sample.tensor(dtype)).collect();
    let round = |(sample, tensor): (&Sample, &Tensor)| Sample { data: tensor.to_f64_vec(), ..sample.clone() };
    let rounded: Vec<Sample> = samples.iter().zip(&operands).map(round).collect();
    let expected = (subject.case.reference)(&rounded);
    against_reference(trial, HERE, subject, &operands, &expected, ROUNDINGS * epsilon(dtype));
    in_place(trial, HERE, subject, &operands);
}

fn narrow_integers(trial: &mut Trial, subject: &Subject<'_>, dtype: DType) {
    let wide = |tensor: &&Tensor| tensor.dtype() == DType::I64;
    let fits = |tensor: &Tensor| tensor.to_f64_vec().iter().all(|x| dtype == DType::I32 || (0.0..256.0).contains(x));
    let every = || subject.operands.iter().chain(&subject.outputs).filter(wide);
    if !subject.operands.iter().any(|operand| wide(&operand)) || !every().all(fits) {
        return;
    }
    let narrow = |tensor: &Tensor| if wide(&tensor) { tensor.cast(dtype) } else { tensor.clone() };
    let operands: Vec<Tensor> = subject.operands.iter().map(narrow).collect();
    if inferred(subject.op, subject.case, &operands).is_ok() {
        let numbers = |list: &[Tensor]| -> Vec<Tensor> { list.iter().map(|tensor| tensor.cast(DType::F64)).collect() };
        let (got, right) = (numbers(&subject.call(&operands)), numbers(&subject.outputs));
        trial.all_same(HERE, &format!("with {dtype}, output"), &got, &right, 0.0);
    }
}

/// Tangents, gradients and second derivatives have the right dtypes, eager and staged, and approximately the values that f64 gives at the
/// same point.
pub(super) fn derivatives(trial: &mut Trial, subject: &Subject<'_>) {
    let widened = |list: &[Tensor]| -> Vec<Tensor> {
        let wide = |tensor: &Tensor| if tensor.dtype().is_float() { tensor.cast(DType::F64) } else { tensor.clone() };
        list.iter().map(wide).collect()
    };
    for dtype in NARROW {
        let operands: Vec<Tensor> = subject.case.operands.iter().map(|sample| sample.tensor(dtype)).collect();
        let x = pick(&operands, &subject.floats);
        let y = pick(&subject.call(&operands), &subject.float_outputs);
        let (u, v) = (directions(&y, 0.8), directions(&x, 0.45));
        let eager = subject.derive(&operands, &u, &v);
        let staged = compile(|x: &Vec<Tensor>| {
            let derived = subject.derive(&super::subject::replaced(&operands, &subject.floats, x), &u, &v);
            [derived.tangents, derived.gradients, derived.second]
        });
        let [tangents, gradients, second] = staged.call(&x);
        let right = subject.derive(&widened(&operands), &widened(&u), &widened(&v));
        for (how, got) in [("eager", eager), ("compiled", Derived { tangents, gradients, second })] {
            let parts = [
                ("tangent", got.tangents, &right.tangents, &y),
                ("gradient", got.gradients, &right.gradients, &x),
                ("second derivative", got.second, &right.second, &x),
            ];
            for (what, got, right, like) in parts {
                for (position, ((got, right), like)) in got.iter().zip(right).zip(like).enumerate() {
                    let right = right.cast(like.dtype());
                    let found = norm_difference(got, &right, RULE_ROUNDINGS * epsilon(dtype));
                    trial.holds(HERE, found.is_none(), || {
                        format!("in {dtype}, {how} {what} {position} {}", found.unwrap_or_default())
                    });
                }
            }
        }
    }
}
