//! The rules themselves: they read exactly the values that they declared, and preserve zeros.

use super::Trial;
use super::subject::{Subject, pick};
use crate::numeric::{directions, zeros_like};
use crate::report::Aspect;
use wengert::prelude::*;
use wengert::primitive::{Dependency, Gradient, Gradients, Mask, Outputs, Rule, bind1};

/// A rule's contribution as a tensor, or `None` if there is none.
fn dense(gradient: &Gradient) -> Option<Tensor> {
    match gradient {
        Gradient::Zero => None,
        Gradient::Dense(tensor) => Some(tensor.clone()),
        Gradient::Patch(patch) => {
            let base = Tensor::constant(0.0, &patch.spec);
            let operands: Vec<&Tensor> = std::iter::once(&base).chain(&patch.values).collect();
            Some(bind1(patch.op, patch.attrs.clone(), &operands))
        }
    }
}

/// Every nonempty set of these positions.
fn subsets(positions: &[usize]) -> Vec<Mask> {
    let set = |bits: usize| {
        let chosen = positions.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
        chosen.map(|(_, &position)| position).collect()
    };
    (1..1usize << positions.len()).map(set).collect()
}

/// For each set of requested gradients, the rules read everything that `saves` declares for it, and nothing else: reading more panics. They
/// return gradients for the requested operands, with the right specs, and never for integers. The same holds for each alternative to a
/// residual, and it gives the same results as the residual.
pub(super) fn saves(trial: &mut Trial, subject: &Subject<'_>) {
    let here = Aspect::Saves;
    let operands: Vec<&Tensor> = subject.operands.iter().collect();
    let outputs: Outputs = subject.outputs.iter().cloned().collect();
    let attrs = &subject.case.attrs;
    let choices = |wanted: Mask| {
        let declared = subject.op.saves(attrs, wanted);
        let others = if declared.residual { subject.op.alternatives() } else { &[] };
        std::iter::once(declared).chain(others.iter().copied()).map(move |saves| (wanted, saves))
    };
    let mut by_residual: Vec<Vec<Option<Tensor>>> = Vec::new();
    for (wanted, saves) in subsets(&subject.floats).into_iter().flat_map(choices) {
        let mut rule = Rule::keeping(saves, subject.op, attrs, &operands, &outputs, wanted);
        let is_alternative = saves != subject.op.saves(attrs, wanted);
        trial.holds(here, !(is_alternative && saves.residual), || "an alternative to a residual is no residual".into());
        if saves.residual {
            let dtype = subject.op.residual(attrs, &operands, &outputs.iter().collect::<Vec<_>>()).dtype();
            trial.holds(here, !dtype.is_float(), || {
                format!("the residual is {dtype}: a saved number that is neither operand nor output has no derivative")
            });
        }
        let mut found: Vec<Vec<Option<Tensor>>> = Vec::new();
        for given in subsets(&subject.float_outputs) {
            let cotangent = |position: usize| given.has(position).then(|| subject.cotangents[position].clone());
            let mut given: Vec<Option<Tensor>> = (0..outputs.len()).map(cotangent).collect();
            let gradients = subject.op.vjp(&rule, &mut given);
            answers(trial, subject, wanted, &gradients);
            found.push(gradients.iter().map(dense).collect());
        }
        let v = directions(&subject.operands, 0.5);
        let tangents: Vec<Option<Tensor>> =
            (0..operands.len()).map(|position| wanted.has(position).then(|| v[position].clone())).collect();
        let derived = subject.op.jvp(&rule, &tangents);
        found.push(derived.iter().cloned().collect());
        match is_alternative {
            false => by_residual = found,
            true => trial.holds(here, same(&found, &by_residual), || {
                format!("with {saves:?} in place of the residual the rules give {found:?}, not {by_residual:?}")
            }),
        }
        trial.holds(here, derived.len() == outputs.len(), || {
            format!("jvp gives {} tangents for {} outputs", derived.len(), outputs.len())
        });
        for ((position, tangent), output) in derived.iter().enumerate().zip(&outputs) {
            let fits = |tangent: &Tensor| tangent.spec() == output.spec() && output.dtype().is_float();
            trial.holds(here, tangent.as_ref().is_none_or(fits), || {
                format!("output {position} is {}, its tangent {tangent:?}", output.spec())
            });
        }
        // A linear map from the record may be given fewer tangents than it has operands.
        for given in subsets(&subject.floats) {
            if given != wanted && given.iter().all(|position| wanted.has(position)) {
                let tangents: Vec<Option<Tensor>> =
                    (0..operands.len()).map(|position| given.has(position).then(|| v[position].clone())).collect();
                rule.want(given);
                let got = subject.op.jvp(&rule, &tangents);
                let alone = Rule::new(subject.op, attrs, &operands, &outputs, given);
                let right = subject.op.jvp(&alone, &tangents);
                trial.holds(here, same(&[got.to_vec()], &[right.to_vec()]), || {
                    format!("recorded for {wanted:?}, tangents of {given:?} give {got:?}, not {right:?}")
                });
            }
        }
        let unread = rule.unread();
        trial.holds(here, unread.is_empty(), || {
            format!("for the gradients of operands {wanted:?} it saves what no rule reads: {}", unread.join(", "))
        });
    }
}

/// Whether two rules gave the same results.
fn same(a: &[Vec<Option<Tensor>>], b: &[Vec<Option<Tensor>>]) -> bool {
    let one = |pair: (&Option<Tensor>, &Option<Tensor>)| match pair {
        (Some(a), Some(b)) => a.spec() == b.spec() && a.all_close(b, 1e-6),
        (a, b) => a.is_none() && b.is_none(),
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(one))
}

fn answers(trial: &mut Trial, subject: &Subject<'_>, wanted: Mask, gradients: &Gradients) {
    let here = Aspect::Saves;
    trial.holds(here, gradients.len() <= subject.operands.len(), || "vjp gives more gradients than operands".into());
    for (position, operand) in subject.operands.iter().enumerate() {
        let gradient = gradients.get(position).and_then(dense);
        match (&gradient, operand.dtype().is_float()) {
            (Some(_), false) => {
                trial.fail(here, format!("vjp gives a gradient to operand {position}, {}", operand.spec()))
            }
            (Some(gradient), true) => {
                trial.holds(here, gradient.spec() == operand.spec() || !wanted.has(position), || {
                    format!("the gradient of operand {position}, {}, is {}", operand.spec(), gradient.spec())
                })
            }
            (None, _) => {}
        }
    }
}

/// A zero cotangent gives zeros and a zero tangent gives zeros, for any slope: by the rule, staged and batched. For an elementwise
/// operation, a zero at one element gives a zero at that element.
pub(super) fn zero_cotangent(trial: &mut Trial, subject: &Subject<'_>) {
    let here = Aspect::ZeroCotangent;
    let (floats, outputs) = (&subject.floats, &subject.float_outputs);
    let f = subject.function(floats, outputs);
    let x = subject.at(floats);
    let y = pick(&subject.outputs, outputs);
    let all_zero = |tensors: &[Tensor]| tensors.iter().all(|tensor| tensor.to_f64_vec().iter().all(|g| *g == 0.0));
    let zeros = zeros_like(&y);
    let still = zeros_like(&x);

    rule_keeps_zero(trial, subject);
    let pulled = |x: &Vec<Tensor>| vjp(&f, x).1.call(&zeros);
    trial.holds(here, all_zero(&compile(pulled).call(&x)), || "compiled, a zero cotangent gives something else".into());
    let pushed = |x: &Vec<Tensor>| jvp(&f, x, &still).1;
    trial.holds(here, all_zero(&pushed(&x)), || "a zero tangent gives something else".into());
    trial.holds(here, all_zero(&compile(pushed).call(&x)), || "compiled, a zero tangent gives something else".into());
    let one: Vec<Tensor> = x.iter().map(|x| x.unsqueeze(0)).collect();
    trial.holds(here, all_zero(&vmap(pulled)(&one)), || "batched, a zero cotangent gives something else".into());

    if subject.op.dependency() != Dependency::Elementwise {
        return;
    }
    let even = |tensor: &Tensor| {
        let numbers = (0..tensor.elements()).map(|i| f64::from(i % 2 == 1)).collect();
        Tensor::from_vec::<f64>(numbers, tensor.shape()).cast(tensor.dtype())
    };
    let gradients = vjp(&f, &x).1.call(&y.iter().map(even).collect());
    let kept = |gradient: &Tensor| gradient.to_f64_vec().iter().step_by(2).all(|g| *g == 0.0);
    trial.holds(here, gradients.iter().all(kept), || {
        format!(
            "where a cotangent is zero, gradients are {:?}",
            gradients.iter().map(Tensor::to_f64_vec).collect::<Vec<_>>()
        )
    });
}

fn rule_keeps_zero(trial: &mut Trial, subject: &Subject<'_>) {
    let operands: Vec<&Tensor> = subject.operands.iter().collect();
    let outputs: Outputs = subject.outputs.iter().cloned().collect();
    let wanted = subject.floats.iter().copied().collect();
    let rule = Rule::new(subject.op, &subject.case.attrs, &operands, &outputs, wanted);
    let zero = |output: &Tensor| output.dtype().is_float().then(|| output.full_like(0.0));
    let mut cotangents: Vec<Option<Tensor>> = outputs.iter().map(zero).collect();
    for (position, gradient) in subject.op.vjp(&rule, &mut cotangents).iter().enumerate() {
        let numbers = dense(gradient).map(|tensor| tensor.to_f64_vec()).unwrap_or_default();
        trial.holds(Aspect::ZeroCotangent, numbers.iter().all(|g| *g == 0.0), || {
            format!("a zero cotangent gives operand {position} the gradient {numbers:?}")
        });
    }
}
