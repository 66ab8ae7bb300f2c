//! Values and derivatives of tensors with other memory layouts: transposed, with gaps, broadcast.

use super::Trial;
use super::subject::{Subject, pick, replaced};
use crate::numeric::directions;
use crate::report::Aspect;
use wengert::Select;
use wengert::prelude::*;
use wengert::primitive::Sample;

const HERE: Aspect = Aspect::Strided;

/// Bits may depend on the layout only through the order of sums.
const CLOSE: f64 = 1e-12;

/// The tensor with the memory order of its axes reversed.
fn transposed(x: &Tensor) -> Option<Tensor> {
    let backward: Vec<usize> = (0..x.rank()).rev().collect();
    (x.rank() >= 2).then(|| x.permute(&backward).contiguous().permute(&backward))
}

/// Every other element of a longer tensor, along every axis; the rest of it is NaN, or an integer that is not a valid index.
fn stepped(x: &Tensor) -> Option<Tensor> {
    let small = Sample::new(x.shape(), x.to_f64_vec());
    let junk = if x.dtype().is_float() { f64::NAN } else { 113.0 };
    let sizes: Vec<usize> = x.shape().iter().map(|size| 2 * size + 1).collect();
    let long = Sample::build(sizes, |i| match i.iter().all(|i| i % 2 == 1) {
        true => small.at(&i.iter().map(|i| i / 2).collect::<Vec<_>>()),
        false => junk,
    });
    let every_other = Select::Range { start: Some(1), stop: None, step: 2 };
    let taken: Vec<Select> = x.shape().iter().map(|_| every_other.clone()).collect();
    let has_gaps = x.rank() >= 1 && x.elements() > 0;
    has_gaps.then(|| long.tensor(DType::F64).cast(x.dtype()).slice(&taken[..]))
}

/// The tensor with the memory along every axis reversed.
fn reversed(x: &Tensor) -> Option<Tensor> {
    let axes: Vec<isize> = (0..x.rank() as isize).collect();
    (x.elements() > 1).then(|| x.flip(&axes).contiguous().flip(&axes))
}

/// The first slice along axis 0, broadcast without copying.
fn repeated(x: &Tensor) -> Option<Tensor> {
    (x.rank() >= 1 && x.shape()[0] > 1 && x.elements() > 0).then(|| x.slice(0..1).broadcast_to(x.shape()))
}

/// Puts the same elements into another layout, if there is one for this shape.
type Rearrange = fn(&Tensor) -> Option<Tensor>;

/// The same tensors with each one alone, and then all, in another layout.
pub(super) fn rearranged(tensors: &[Tensor]) -> Vec<(String, Vec<Tensor>)> {
    let mut all = Vec::new();
    for (how, other) in [("transposed", transposed as Rearrange), ("stepped", stepped), ("reversed", reversed)] {
        let others: Vec<Option<Tensor>> = tensors.iter().map(other).collect();
        for (position, other) in others.iter().enumerate() {
            let with = |other: &Tensor| replaced(tensors, &[position], std::slice::from_ref(other));
            all.extend(other.as_ref().map(|other| (format!("{position} {how}"), with(other))));
        }
        if others.iter().flatten().count() > 1 {
            let together = others.into_iter().zip(tensors).map(|(other, tensor)| other.unwrap_or(tensor.clone()));
            all.push((format!("all {how}"), together.collect()));
        }
    }
    all
}

/// Every layout gives the same value.
pub(super) fn values(trial: &mut Trial, subject: &Subject<'_>) {
    for (how, operands) in rearranged(&subject.operands) {
        let outputs = subject.call(&operands);
        trial.all_same(HERE, &format!("operand {how}, output"), &outputs, &subject.outputs, CLOSE);
    }
    // Broadcasting changes the elements, so it is compared with the same elements in contiguous memory.
    for (position, operand) in subject.operands.iter().enumerate() {
        let Some(repeated) = repeated(operand) else { continue };
        let with = |tensor: Tensor| catch(|| subject.call(&replaced(&subject.operands, &[position], &[tensor])));
        let what = format!("operand {position} repeated, output");
        match (with(repeated.clone()), with(repeated.contiguous())) {
            (Ok(outputs), Ok(right)) => trial.all_same(HERE, &what, &outputs, &right, CLOSE),
            // Equal rows may be outside the domain: a matrix of them has no inverse.
            (Err(error), Err(right)) => trial.holds(HERE, error.kind() == right.kind(), || {
                format!("{what} fails with {error}, written out with {right}")
            }),
            (one, other) => trial.fail(HERE, format!("{what}: {:?}, written out {:?}", one.err(), other.err())),
        }
    }
}

/// Operands, cotangents and tangents in every layout give the same derivatives.
pub(super) fn derivatives(trial: &mut Trial, subject: &Subject<'_>) {
    let u = pick(&subject.cotangents, &subject.float_outputs);
    let v = directions(&subject.at(&subject.floats), 0.6);
    let derive = |operands: &[Tensor], u: &[Tensor], v: &[Tensor]| {
        let derived = subject.derive(operands, u, v);
        [derived.tangents, derived.gradients].concat()
    };
    let right = derive(&subject.operands, &u, &v);
    for (how, operands) in rearranged(&subject.operands) {
        let got = derive(&operands, &u, &v);
        trial.all_same(HERE, &format!("operand {how}, tangent or gradient"), &got, &right, CLOSE);
    }
    for (how, seeds) in rearranged(&[u.clone(), v.clone()].concat()) {
        let got = derive(&subject.operands, &seeds[..u.len()], &seeds[u.len()..]);
        trial.all_same(HERE, &format!("cotangent or tangent {how}, result"), &got, &right, CLOSE);
    }
    // A cotangent that is a single broadcast number, like that of a sum.
    let flat: Vec<Tensor> = u.iter().map(|u| u.full_like(0.25)).collect();
    if flat.iter().any(|flat| !flat.is_contiguous()) {
        let written: Vec<Tensor> = flat.iter().map(Tensor::contiguous).collect();
        let (got, right) = (derive(&subject.operands, &flat, &v), derive(&subject.operands, &written, &v));
        trial.all_same(HERE, "with a repeated cotangent, result", &got, &right, CLOSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{difference, direction};

    #[test]
    fn layouts_hold_the_same_numbers_in_other_places() {
        let x = direction(&Tensor::zeros([3, 4]).spec(), 0.2);
        for (how, other) in rearranged(&[x.clone(), x.clone()]) {
            assert!(other.iter().any(|other| !other.is_contiguous()), "{how}");
            assert!(other.iter().all(|other| difference(other, &x, 0.0).is_none()), "{how}");
        }
        assert!(!repeated(&x).unwrap().is_contiguous());
        assert_eq!(stepped(&Tensor::from([1i64, 2])).unwrap(), Tensor::from([1i64, 2]));
        assert!(transposed(&Tensor::from([1.0])).is_none() && stepped(&Tensor::from(1.0)).is_none());
    }
}
