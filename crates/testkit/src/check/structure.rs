//! The declarations of a primitive, and its errors for invalid calls.

use super::Trial;
use super::subject::Subject;
use crate::caught::panic_text;
use crate::numeric::{directions, moved};
use crate::report::Aspect;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wengert::prelude::*;
use wengert::primitive::{Attr, Case, Dependency, Jet, PRIMITIVES, Primitive, SpecRef, bind};

const HERE: Aspect = Aspect::Structure;

/// Its name is unique and can be parsed in a program's text; its cases have distinct labels.
pub(super) fn identity(trial: &mut Trial, op: &'static dyn Primitive) {
    let name = op.name();
    let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    trial.holds(HERE, word, || format!("'{name}' is not a word of small letters, digits and underscores"));
    let namesakes = PRIMITIVES.iter().filter(|other| other.name() == name).count();
    let built_in = PRIMITIVES.iter().any(|other| std::ptr::addr_eq(*other, op) && other.name() == name);
    trial.holds(HERE, namesakes == usize::from(built_in), || format!("another primitive is called '{name}'"));
    let mut attributes = op.attributes().to_vec();
    attributes.sort_unstable();
    attributes.dedup();
    trial.holds(HERE, attributes.len() == op.attributes().len(), || "an attribute is declared twice".into());
}

/// A case matches the declarations, and the cost of its call is plausible.
pub(super) fn declarations(trial: &mut Trial, op: &'static dyn Primitive, case: &Case) {
    let given: Vec<&str> = case.attrs.iter().map(|(name, _)| *name).collect();
    trial.holds(HERE, given == op.attributes(), || {
        format!("the attributes are declared as {:?}, the case has {given:?}", op.attributes())
    });
    trial.holds(HERE, op.accepts(case.operands.len()), || {
        format!("{} operands are declared, the case has {}", op.operands(), case.operands.len())
    });
    let specs: Vec<SpecRef<'_>> =
        case.operands.iter().map(|sample| SpecRef { shape: &sample.shape, dtype: sample.dtype }).collect();
    let outputs = op.infer(&case.attrs, &specs).unwrap_or_else(|error| error.raise());
    let cost = op.cost(&case.attrs, &specs, &outputs);
    let sensible = |x: f64| x.is_finite() && x >= 0.0;
    trial.holds(HERE, sensible(cost.flops) && sensible(cost.bytes), || format!("the cost of a call is {cost:?}"));
}

/// The shape rule validates every attribute: an attribute of another kind is a typed error, and so is a meaningless value, unless it is in
/// fact valid. Programs come from files, where attributes may be anything.
pub(super) fn attributes(trial: &mut Trial, op: &'static dyn Primitive, case: &Case) {
    let specs: Vec<SpecRef<'_>> =
        case.operands.iter().map(|sample| SpecRef { shape: &sample.shape, dtype: sample.dtype }).collect();
    let ints = [0, 1, -1, 2, 1 << 31, i64::MAX, i64::MIN];
    let lists = ints.iter().flat_map(|&x| [vec![x], vec![x, x]]).chain([vec![], vec![0, 1, 2, 3]]);
    let reals = [0.0, -1.0, f64::NAN, f64::INFINITY].map(|x| Attr::Real(x.to_bits()));
    let values: Vec<Attr> = (ints.iter().map(|x| Attr::Int(*x)))
        .chain(lists.map(Attr::Ints))
        .chain(reals)
        .chain([Attr::DType(DType::F16), Attr::Word("nonsense".into())])
        .collect();
    for (name, usual) in case.attrs.iter() {
        for value in &values {
            let attrs = case.attrs.clone().with(name, value.clone());
            let same_kind = std::mem::discriminant(usual) == std::mem::discriminant(value);
            match catch_unwind(AssertUnwindSafe(|| catch(|| op.infer(&attrs, &specs)).flatten())) {
                Ok(result) => trial.holds(HERE, same_kind || result.is_err(), || {
                    format!("the shape rule takes {value} for the attribute '{name}', which is {usual} here")
                }),
                Err(panic) => {
                    trial.fail(HERE, format!("with {name}={value} the shape rule panics: {}", panic_text(&*panic)))
                }
            }
        }
    }
}

/// Operands of a wrong dtype or rank either work or fail with a typed error.
pub(super) fn errors(trial: &mut Trial, subject: &Subject<'_>) {
    for (position, operand) in subject.operands.iter().enumerate() {
        let other_dtypes = DType::ALL.into_iter().filter(|dtype| *dtype != operand.dtype());
        let mut variants: Vec<Tensor> = other_dtypes.map(|dtype| operand.full_like(0.0).cast(dtype)).collect();
        variants.push(operand.full_like(0.0).unsqueeze(0));
        variants.push(Tensor::constant(0.0, &Tensor::from(0.0).cast(operand.dtype()).spec()));
        for variant in variants {
            let spec = variant.spec();
            let mut operands = subject.operands.clone();
            operands[position] = variant;
            let operands: Vec<&Tensor> = operands.iter().collect();
            let call = || catch(|| bind(subject.op, subject.case.attrs.clone(), &operands));
            match catch_unwind(AssertUnwindSafe(call)) {
                Ok(result) => {
                    let mute = result.is_err_and(|error| error.operation().is_empty() || error.message().is_empty());
                    trial
                        .holds(HERE, !mute, || format!("with {spec} as operand {position} the error explains nothing"));
                }
                Err(panic) => {
                    trial.fail(HERE, format!("with {spec} as operand {position} it panics: {}", panic_text(&*panic)))
                }
            }
        }
    }
}

/// Only zeros pass through an operation that has no gradient, or that returns integers.
pub(super) fn no_gradient(trial: &mut Trial, subject: &Subject<'_>) {
    let (floats, all) = (&subject.floats, (0..subject.outputs.len()).collect::<Vec<_>>());
    let f = subject.function(floats, &all);
    let x = subject.at(floats);
    let zero = |tensor: &Tensor| tensor.to_f64_vec().iter().all(|x| *x == 0.0);
    let (_, tangents) = jvp(&f, &x, &directions(&x, 0.2));
    trial.holds(HERE, tangents.iter().all(zero), || "it has no gradient, and a tangent".into());
    let (_, pullback) = vjp(&f, &x);
    let gradients = pullback.call(&subject.cotangents);
    trial.holds(HERE, gradients.iter().all(zero), || "it has no gradient, and a cotangent".into());
    let leaves: Vec<Tensor> = x.into_iter().map(Tensor::require_grad).collect();
    let outputs = f(&leaves);
    let floats: Vec<usize> = (0..outputs.len()).filter(|&place| outputs[place].dtype().is_float()).collect();
    let recorded = subject.op.records() && !leaves.is_empty();
    for (place, output) in outputs.iter().enumerate() {
        let expected = recorded && floats.contains(&place);
        trial.holds(HERE, output.requires_grad() == expected, || {
            format!("it has no gradient, and output {place} requires one: {}", output.requires_grad())
        });
    }
    if recorded && let [place] = floats[..] {
        outputs[place].backward_with(Backward::new().seed(&subject.cotangents[place]));
        let all_zero = leaves.iter().all(|leaf| leaf.grad().is_some_and(|gradient| zero(&gradient)));
        trial.holds(HERE, all_zero, || "it is recorded, and leaves have no gradient of zero".into());
    }
}

/// The declared dependency and jet classes hold.
pub(super) fn classes(trial: &mut Trial, subject: &Subject<'_>) {
    let (floats, outputs) = (&subject.floats, &subject.float_outputs);
    let f = subject.function(floats, outputs);
    let x = subject.at(floats);
    let v = directions(&x, 0.9);
    let (dependency, jet) = (subject.op.dependency(), subject.op.jet());
    trial.holds(HERE, dependency != Dependency::None && jet != Jet::Constant, || {
        format!("it has a gradient, and is declared {dependency:?} and {jet:?}")
    });
    if dependency == Dependency::Elementwise {
        elementwise(trial, subject);
    }
    if jet == Jet::Linear {
        // Close enough to stay on the same side of a kink.
        let there = moved(&x, &directions(&x, 2.1), 1e-3);
        let (here, there) = (jvp(&f, &x, &v).1, jvp(&f, &there, &v).1);
        trial.all_same(HERE, "declared linear: at another point, tangent", &there, &here, 0.0);
    }
    if matches!(dependency, Dependency::Movement | Dependency::Accumulation) && jet != Jet::Linear {
        trial.fail(HERE, format!("declared {dependency:?}, which is linear, and not declared so"));
    }
}

/// A cotangent at one element reaches only that element of every operand.
fn elementwise(trial: &mut Trial, subject: &Subject<'_>) {
    let (floats, outputs) = (&subject.floats, &subject.float_outputs);
    let (y, pullback) = vjp(subject.function(floats, outputs), &subject.at(floats));
    let elements = y[0].elements();
    let alike = y.iter().chain(&subject.at(floats)).all(|tensor| tensor.shape() == y[0].shape());
    trial.holds(HERE, alike, || "declared elementwise, and its shapes differ".into());
    for element in [0, elements / 2].into_iter().filter(|_| elements > 0 && alike) {
        let one = |tensor: &Tensor| {
            let numbers = (0..elements).map(|i| f64::from(i == element)).collect();
            Tensor::from_vec::<f64>(numbers, tensor.shape()).cast(tensor.dtype())
        };
        let gradients = pullback.call(&y.iter().map(one).collect());
        let elsewhere = |gradient: &Tensor| {
            gradient.to_f64_vec().iter().enumerate().any(|(i, number)| i != element && *number != 0.0)
        };
        trial.holds(HERE, !gradients.iter().any(elsewhere), || {
            format!("declared elementwise, and element {element} of the output depends on other elements")
        });
    }
}
