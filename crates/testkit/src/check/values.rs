//! Values: against the reference, in place, in every dtype, from every layout.

use super::Trial;
use super::subject::{Subject, pick};
use crate::numeric::{directions, epsilon, norm_difference};
use crate::report::Aspect;
use wengert::Select;
use wengert::prelude::*;
use wengert::primitive::{Case, Primitive, Sample, SpecRef, Specs};

/// Kernel and reference are different formulas in f64; each is good to a few units in the last place.
const TIGHT: f64 = 1e-12;

/// Roundings in a narrower dtype: a rounding is half an epsilon, and a decomposition magnifies that of its operands by
/// the ratio of norm and gap, about 6 in the cases of `svd`.
const ROUNDINGS: f64 = 16.0;

/// Roundings in a derivative rule: one in each of its operations, and those of what it saved.
const RULE_ROUNDINGS: f64 = 64.0;

fn inferred(op: &'static dyn Primitive, case: &Case, operands: &[Tensor]) -> Result<Specs, Error> {
    let specs: Vec<_> = operands.iter().map(Tensor::spec).collect();
    let specs: Vec<SpecRef<'_>> = specs.iter().map(|spec| spec.as_ref()).collect();
    op.infer(&case.attrs, &specs)
}

/// The outputs equal the reference.
pub(super) fn value<'a>(trial: &mut Trial, op: &'static dyn Primitive, case: &'a Case) -> Option<Subject<'a>> {
    let subject = Subject::new(op, case);
    let expected = (case.reference)(&case.operands);
    against_reference(trial, Aspect::Value, &subject, &subject.operands, &expected, TIGHT);
    in_place(trial, Aspect::Value, &subject, &subject.operands);
    Some(subject)
}

/// Outputs for `operands` have the specs of the shape rule and the numbers of the reference.
fn against_reference(
    trial: &mut Trial,
    aspect: Aspect,
    subject: &Subject<'_>,
    operands: &[Tensor],
    expected: &[Sample],
    tolerance: f64,
) {
    let (op, case) = (subject.op, subject.case);
    let outputs = subject.call(operands);
    let specs = match inferred(op, case, operands) {
        Ok(specs) => specs,
        Err(error) => return trial.fail(aspect, format!("the shape rule refuses what the call accepts: {error}")),
    };
    let counts = [outputs.len(), specs.len(), expected.len(), op.outputs(&case.attrs)];
    trial.holds(aspect, counts.iter().all(|&count| count == counts[0]), || {
        format!("outputs of the call, its shape rule, the reference and `outputs`: {counts:?}")
    });
    for (position, ((output, spec), sample)) in outputs.iter().zip(&specs).zip(expected).enumerate() {
        let kind = |dtype: DType| if dtype.is_float() { DType::F64 } else { dtype };
        trial.holds(aspect, output.spec() == *spec, || {
            format!("output {position} is {}, the shape rule says {spec}", output.spec())
        });
        trial.holds(aspect, kind(spec.dtype) == sample.dtype, || {
            format!("output {position} is {}, the reference is {}", spec.dtype, sample.dtype)
        });
        let sample = Sample { dtype: DType::F64, ..sample.clone() };
        let right = sample.tensor(DType::F64).cast(spec.dtype);
        trial.same(aspect, &format!("output {position}"), output, &right, tolerance);
    }
}

/// What the operation computes over its first operand, if it can, is what it computes elsewhere.
fn in_place(trial: &mut Trial, aspect: Aspect, subject: &Subject<'_>, operands: &[Tensor]) {
    let outputs = subject.call(operands);
    let Some((first, rest)) = operands.split_first() else { return };
    // The driver offers memory that is unique, contiguous and of the output's spec; single elements have none.
    if outputs.len() != 1 || outputs[0].spec() != first.spec() || first.elements() == 1 {
        return;
    }
    let mut target = Tensor::from_vec(first.to_f64_vec(), first.shape()).cast(first.dtype());
    let rest: Vec<&Tensor> = rest.iter().collect();
    match subject.op.eval_in_place(&subject.case.attrs, &mut target, &rest) {
        Ok(true) => trial.same(aspect, "the output in place", &target, &outputs[0], 0.0),
        Ok(false) => {}
        Err(error) => trial.fail(aspect, format!("in place: {error}")),
    }
}

const NARROW: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The samples after rounding to the dtype of the tensors made from them.
fn rounded(samples: &[Sample], tensors: &[Tensor]) -> Vec<Sample> {
    let round = |(sample, tensor): (&Sample, &Tensor)| Sample { data: tensor.to_f64_vec(), ..sample.clone() };
    samples.iter().zip(tensors).map(round).collect()
}

/// Values in the other dtypes: floats in three narrower ones, whole numbers in those that the shape rule accepts.
pub(super) fn dtypes(trial: &mut Trial, subject: &Subject<'_>) {
    let samples = &subject.case.operands;
    for dtype in NARROW.into_iter().filter(|_| !subject.floats.is_empty()) {
        let operands: Vec<Tensor> = samples.iter().map(|sample| sample.tensor(dtype)).collect();
        let expected = (subject.case.reference)(&rounded(samples, &operands));
        against_reference(trial, Aspect::Dtypes, subject, &operands, &expected, ROUNDINGS * epsilon(dtype));
        in_place(trial, Aspect::Dtypes, subject, &operands);
    }
    for dtype in [DType::I32, DType::U8] {
        let fits = |numbers: &[f64]| dtype == DType::I32 || numbers.iter().all(|x| (0.0..256.0).contains(x));
        let narrow = |tensor: &Tensor| if tensor.dtype() == DType::I64 { tensor.cast(dtype) } else { tensor.clone() };
        let operands: Vec<Tensor> = subject.operands.iter().map(narrow).collect();
        let changed = operands.iter().zip(&subject.operands).any(|(narrow, wide)| narrow.dtype() != wide.dtype());
        let mut every = subject.operands.iter().chain(&subject.outputs).filter(|tensor| tensor.dtype() == DType::I64);
        if !changed || !every.all(|tensor| fits(&tensor.to_f64_vec())) {
            continue;
        }
        if inferred(subject.op, subject.case, &operands).is_ok() {
            let numbers = |tensor: &Tensor| tensor.cast(DType::F64);
            let outputs: Vec<Tensor> = subject.call(&operands).iter().map(numbers).collect();
            let expected: Vec<Tensor> = subject.outputs.iter().map(numbers).collect();
            trial.all_same(Aspect::Dtypes, &format!("with {dtype}, output"), &outputs, &expected, 0.0);
        }
    }
}

/// Tangents and cotangents have the dtype of what they belong to, eager and staged, and about the right numbers.
pub(super) fn gradient_dtypes(trial: &mut Trial, subject: &Subject<'_>) {
    for dtype in NARROW {
        let all: Vec<Tensor> = subject.case.operands.iter().map(|sample| sample.tensor(dtype)).collect();
        let wide: Vec<Tensor> = (all.iter())
            .map(|tensor| if tensor.dtype().is_float() { tensor.cast(DType::F64) } else { tensor.clone() })
            .collect();
        let tolerance = RULE_ROUNDINGS * epsilon(dtype);
        let outputs = pick(&subject.call(&all), &subject.float_outputs);
        let derive = |base: &[Tensor], u: &[Tensor]| {
            let (x, base) = (pick(base, &subject.floats), base.to_vec());
            let f = |x: &Vec<Tensor>| {
                pick(&subject.call(&super::subject::replaced(&base, &subject.floats, x)), &subject.float_outputs)
            };
            let (u, v) = (u.to_vec(), directions(&x, 0.45));
            let both = |x: &Vec<Tensor>| {
                let (_, pullback) = vjp(f, x);
                (jvp(f, x, &v).1, pullback.call(&u))
            };
            (both(&x), compile(both).call(&x))
        };
        let u = directions(&outputs, 0.8);
        let right_u: Vec<Tensor> = pick(&subject.outputs, &subject.float_outputs)
            .iter()
            .zip(&u)
            .map(|(output, u)| u.cast(output.dtype()))
            .collect();
        let (eager, staged) = derive(&all, &u);
        let (right, _) = derive(&wide, &right_u);
        for (how, (tangents, gradients)) in [("eager", eager), ("compiled", staged)] {
            let pairs = [
                ("tangent", &tangents, &right.0, &outputs),
                ("gradient", &gradients, &right.1, &pick(&all, &subject.floats)),
            ];
            for (what, got, right, like) in pairs {
                for (position, ((got, right), like)) in got.iter().zip(right).zip(like).enumerate() {
                    // A dtype is compared first: the numbers are compared after rounding to it.
                    let right = right.cast(like.dtype());
                    let found = norm_difference(got, &right, tolerance);
                    trial.holds(Aspect::Dtypes, found.is_none(), || {
                        format!("in {dtype}, {how} {what} {position} {}", found.unwrap_or_default())
                    });
                }
            }
        }
    }
}

/// The same numbers in other places: (what, tensor).
fn layouts(x: &Tensor) -> Vec<(&'static str, Tensor)> {
    let mut all = Vec::new();
    if x.rank() >= 2 {
        let backward: Vec<usize> = (0..x.rank()).rev().collect();
        all.push(("transposed", x.permute(&backward).contiguous().permute(&backward)));
    }
    if x.rank() >= 1 && x.elements() > 0 {
        all.push(("stepped", stepped(x)));
    }
    all
}

/// Every other element of a longer tensor, along every axis; the rest of it is NaN, or a number that no index is.
fn stepped(x: &Tensor) -> Tensor {
    let long: Vec<usize> = x.shape().iter().map(|size| 2 * size + 1).collect();
    let numbers = x.to_f64_vec();
    let small = Sample::new(x.shape(), numbers);
    let junk = if x.dtype().is_float() { f64::NAN } else { 113.0 };
    let long = Sample::build(long, |i| match i.iter().all(|i| i % 2 == 1) {
        true => small.at(&i.iter().map(|i| i / 2).collect::<Vec<_>>()),
        false => junk,
    });
    let every_other = Select::Range { start: Some(1), stop: None, step: 2 };
    let taken: Vec<Select> = x.shape().iter().map(|_| every_other).collect();
    long.tensor(DType::F64).cast(x.dtype()).slice(&taken[..])
}

/// The first part along axis 0, repeated without copying.
fn repeated(x: &Tensor) -> Option<Tensor> {
    (x.rank() >= 1 && x.shape()[0] > 1 && x.elements() > 0).then(|| x.slice(0..1).broadcast_to(x.shape()))
}

/// Calls with one operand, then all, in another layout.
fn strided_calls(operands: &[Tensor]) -> Vec<(String, Vec<Tensor>)> {
    let mut calls = Vec::new();
    for (position, operand) in operands.iter().enumerate() {
        for (how, tensor) in layouts(operand) {
            let mut call = operands.to_vec();
            call[position] = tensor;
            calls.push((format!("operand {position} {how}"), call));
        }
    }
    for how in ["transposed", "stepped"] {
        let other = |x: &Tensor| layouts(x).into_iter().find(|(name, _)| *name == how).map(|(_, tensor)| tensor);
        if operands.len() > 1 && operands.iter().any(|x| other(x).is_some()) {
            calls.push((format!("all {how}"), operands.iter().map(|x| other(x).unwrap_or(x.clone())).collect()));
        }
    }
    calls
}

/// The same value from every layout.
pub(super) fn strided(trial: &mut Trial, subject: &Subject<'_>) {
    for (how, operands) in strided_calls(&subject.operands) {
        let outputs = subject.call(&operands);
        trial.all_same(Aspect::Strided, &format!("{how}, output"), &outputs, &subject.outputs, TIGHT);
    }
    // Repetition changes the numbers, so it is compared with the same numbers written out.
    for (position, operand) in subject.operands.iter().enumerate() {
        let Some(repeated) = repeated(operand) else { continue };
        let with = |tensor: Tensor| super::subject::replaced(&subject.operands, &[position], &[tensor]);
        let outputs = subject.call(&with(repeated.clone()));
        let right = subject.call(&with(repeated.contiguous()));
        trial.all_same(Aspect::Strided, &format!("operand {position} repeated, output"), &outputs, &right, TIGHT);
    }
}

/// The same derivatives from operands, cotangents and tangents in every layout.
pub(super) fn strided_gradient(trial: &mut Trial, subject: &Subject<'_>) {
    let (floats, outputs) = (&subject.floats, &subject.float_outputs);
    let (u, v) = (pick(&subject.cotangents, outputs), directions(&subject.at(floats), 0.6));
    let derive = |operands: &[Tensor], u: &[Tensor], v: &[Tensor]| {
        let base = operands.to_vec();
        let f = |x: &Vec<Tensor>| pick(&subject.call(&super::subject::replaced(&base, floats, x)), outputs);
        let x = pick(operands, floats);
        [jvp(f, &x, &v.to_vec()).1, vjp(f, &x).1.call(&u.to_vec())].concat()
    };
    let right = derive(&subject.operands, &u, &v);
    for (how, operands) in strided_calls(&subject.operands) {
        let got = derive(&operands, &u, &v);
        trial.all_same(Aspect::Strided, &format!("{how}, tangent or gradient"), &got, &right, TIGHT);
    }
    let seeds: Vec<Tensor> = u.iter().chain(&v).cloned().collect();
    for (how, seeds) in strided_calls(&seeds) {
        let got = derive(&subject.operands, &seeds[..u.len()], &seeds[u.len()..]);
        trial.all_same(Aspect::Strided, &format!("cotangent or tangent {how}, result"), &got, &right, TIGHT);
    }
    // A cotangent that is one repeated number, as a sum passes on.
    let flat: Vec<Tensor> = u.iter().map(|u| u.full_like(0.25)).collect();
    let written: Vec<Tensor> = flat.iter().map(Tensor::contiguous).collect();
    let (got, right) = (derive(&subject.operands, &flat, &v), derive(&subject.operands, &written, &v));
    trial.all_same(Aspect::Strided, "with a repeated cotangent, result", &got, &right, TIGHT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{difference, direction};

    #[test]
    fn layouts_hold_the_same_numbers_in_other_places() {
        let x = direction(&Tensor::zeros([3, 4]).spec(), 0.2);
        let all = layouts(&x);
        assert_eq!(all.len(), 2);
        for (how, other) in all {
            assert!(!other.is_contiguous(), "{how}");
            assert_eq!(difference(&other, &x, 0.0), None, "{how}");
        }
        assert!(!repeated(&x).unwrap().is_contiguous());
        assert_eq!(stepped(&Tensor::from([1i64, 2])), Tensor::from([1i64, 2]));
    }
}
