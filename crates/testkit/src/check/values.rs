//! Values: compared with the reference, also in place.

use super::Trial;
use super::subject::Subject;
use crate::report::Aspect;
use wengert::prelude::*;
use wengert::primitive::{Case, Primitive, Sample, SpecRef, Specs};

/// Kernel and reference are different formulas in f64; each is accurate to a few units in the last place.
const TIGHT: f64 = 1e-12;

/// The result of the shape rule.
pub(super) fn inferred(op: &'static dyn Primitive, case: &Case, operands: &[Tensor]) -> Result<Specs, Error> {
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

/// The outputs for `operands` have the specs of the shape rule and the values of the reference.
pub(super) fn against_reference(
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

/// If the operation can compute in place over its first operand, the result is the same.
pub(super) fn in_place(trial: &mut Trial, aspect: Aspect, subject: &Subject<'_>, operands: &[Tensor]) {
    let outputs = subject.call(operands);
    let Some((first, rest)) = operands.split_first() else { return };
    // The driver only offers memory that is unique, contiguous and of the output's spec; single elements have none.
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
