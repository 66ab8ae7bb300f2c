//! Compares eager with compiled execution, and transforms with the imperative tape.

use super::Trial;
use super::subject::{Subject, pick, replaced};
use crate::numeric::directions;
use crate::report::Aspect;
use wengert::autograd;
use wengert::prelude::*;

/// A compiled program may fuse operations, so it rounds differently.
const CLOSE: f64 = 1e-12;

/// Rules of rules have tens of operations.
const CLOSE_SECOND: f64 = 1e-10;

/// A program's text round-trips to the same text and the same result.
fn text_round_trip(
    trial: &mut Trial,
    subject: &Subject<'_>,
    what: &str,
    program: &Program,
    x: &[Tensor],
    right: &[Tensor],
) {
    let here = Aspect::Compiled;
    if let Err(error) = program.verify() {
        trial.fail(here, format!("the program of {what} is inconsistent: {error}"));
    }
    // A text with many elements tests nothing that a short one does not.
    if subject.operands.iter().any(|operand| operand.elements() > 256) {
        return;
    }
    let text = program.to_string();
    match Program::parse_with(&text, &[subject.op]) {
        Err(error) => trial.fail(here, format!("the text of {what} does not read back: {error}\n{text}")),
        Ok(parsed) => {
            trial.holds(here, parsed.to_string() == text, || format!("the text of {what} changes:\n{text}{parsed}"));
            match parsed.evaluate(x) {
                Err(error) => trial.fail(here, format!("the text of {what} does not run: {error}\n{text}")),
                Ok(outputs) => trial.all_same(here, &format!("{what} from text, result"), &outputs, right, CLOSE),
            }
        }
    }
}

/// The compiled call equals the eager one.
pub(super) fn compiled_value(trial: &mut Trial, subject: &Subject<'_>) {
    let compiled = compile(|x: &Vec<Tensor>| subject.call(x));
    let x = &subject.operands;
    trial.all_same(Aspect::Compiled, "the compiled call, output", &compiled.call(x), &subject.outputs, CLOSE);
    text_round_trip(trial, subject, "the call", &compiled.program(x), x, &subject.outputs);
    // A program is called again with other values.
    let again = compiled.call(x);
    trial.all_same(Aspect::Compiled, "the second compiled call, output", &again, &subject.outputs, CLOSE);
    trial.holds(Aspect::Compiled, compiled.signatures() == 1, || "one signature was traced more than once".into());
}

/// The compiled gradient equals the eager one, at kinks too; a compiled function can be differentiated.
pub(super) fn compiled_gradient(trial: &mut Trial, subject: &Subject<'_>) {
    let here = Aspect::Compiled;
    for active in subject.active_sets() {
        let (f, x) = (subject.loss(&active), subject.at(&active));
        let right = grad(&f)(&x);
        let compiled = compile(grad(&f));
        let by = format!("by operands {active:?}");
        trial.all_same(here, &format!("{by}, the compiled gradient"), &compiled.call(&x), &right, CLOSE);
        text_round_trip(trial, subject, &format!("the gradient {by}"), &compiled.program(&x), &x, &right);

        let inner = compile(&f);
        let got = grad(|x: &Vec<Tensor>| inner.call(x))(&x);
        trial.all_same(here, &format!("{by}, the gradient of the compiled function"), &got, &right, CLOSE);

        let v = directions(&x, 0.4);
        let (_, right) = jvp(&f, &x, &v);
        let got = compile(|x: &Vec<Tensor>| jvp(&f, x, &v).1).call(&x);
        trial.same(here, &format!("{by}, the compiled tangent"), &got, &right, CLOSE);
        if subject.case.smooth {
            let (_, right) = jvp(grad(&f), &x, &v);
            let got = compile(|x: &Vec<Tensor>| jvp(grad(&f), x, &v).1).call(&x);
            trial.all_same(here, &format!("{by}, the compiled second derivative"), &got, &right, CLOSE_SECOND);
        }
    }
}

/// `backward` equals `vjp`, gradients of selected tensors equal both, and a recorded backward pass can be differentiated.
pub(super) fn imperative(trial: &mut Trial, subject: &Subject<'_>) {
    let here = Aspect::Imperative;
    for active in subject.active_sets() {
        let x = subject.at(&active);
        let leaves = || -> Vec<Tensor> { x.iter().map(|x| x.clone().require_grad()).collect() };
        let received = |leaves: &[Tensor]| -> Vec<Tensor> {
            leaves.iter().map(|leaf| leaf.grad().unwrap_or_else(|| leaf.detach().full_like(0.0))).collect()
        };
        let by = format!("by operands {active:?}");
        for &output in &subject.float_outputs {
            let own = leaves();
            let y = subject.call(&replaced(&subject.operands, &active, &own)).swap_remove(output);
            if !y.requires_grad() {
                let moved: Vec<Tensor> = x.iter().zip(directions(&x, 0.3)).map(|(x, v)| x + v * 0.01).collect();
                let elsewhere = subject.call(&replaced(&subject.operands, &active, &moved)).swap_remove(output);
                trial.holds(here, y == elsewhere, || format!("{by}, output {output} does not require a gradient"));
                continue;
            }
            let u = &subject.cotangents[output];
            y.backward_with(Backward::new().seed(u));
            let (_, pullback) = vjp(subject.function(&active, &[output]), &x);
            let what = format!("{by} from output {output}, backward");
            trial.all_same(here, &what, &received(&own), &pullback.call(&vec![u.clone()]), CLOSE);
        }
        let f = subject.loss(&active);
        let right = grad(&f)(&x);
        let own = leaves();
        f(&own).backward();
        trial.all_same(here, &format!("{by}, backward of a loss,"), &received(&own), &right, CLOSE);
        double_backward(trial, subject, &active, &leaves(), &right);
    }
    one_of_many(trial, subject);
}

fn double_backward(trial: &mut Trial, subject: &Subject<'_>, active: &[usize], leaves: &[Tensor], right: &[Tensor]) {
    let here = Aspect::Imperative;
    let (f, x) = (subject.loss(active), subject.at(active));
    let v = directions(&x, 0.7);
    let inputs: Vec<&Tensor> = leaves.iter().collect();
    let loss = f(&leaves.to_vec());
    let first = autograd::grad_with(&[&loss], &inputs, Backward::new().create_graph());
    let first: Vec<Tensor> =
        first.into_iter().zip(right).map(|(first, right)| first.unwrap_or_else(|| right.full_like(0.0))).collect();
    trial.all_same(here, "a recorded gradient", &first, right, CLOSE);
    let dot = |a: &[Tensor]| a.iter().zip(&v).map(|(a, v)| (a * v).sum()).reduce(|a, b| a + b).expect("an operand");
    let along = dot(&first);
    // For an operand that the outputs do not depend on, there is nothing to record.
    let nothing = first.iter().all(|first| first.to_f64_vec().iter().all(|number| *number == 0.0));
    trial.holds(here, along.requires_grad() || nothing, || "a recorded gradient cannot be differentiated".into());
    if along.requires_grad() {
        let second = autograd::grad(&[&along], &inputs);
        let right = grad(|x: &Vec<Tensor>| dot(&grad(&f)(x)))(&x);
        let what = format!("by operands {active:?}, backward of backward");
        trial.all_same(here, &what, &second, &right, CLOSE_SECOND);
    }
}

/// All operands are recorded and only the gradient of one is requested: its rule was prepared for more than is requested.
fn one_of_many(trial: &mut Trial, subject: &Subject<'_>) {
    let floats = &subject.floats;
    let right = grad(subject.loss(floats))(&subject.at(floats));
    for (chosen, right) in right.iter().enumerate() {
        let leaves: Vec<Tensor> = subject.at(floats).into_iter().map(Tensor::require_grad).collect();
        let loss = subject.loss(floats)(&leaves);
        let got = autograd::grad(&[&loss], &pick(&leaves, &[chosen]).iter().collect::<Vec<_>>());
        let what = format!("asked for operand {} of all, gradient", floats[chosen]);
        trial.same(Aspect::Imperative, &what, &got[0], right, CLOSE);
    }
}
