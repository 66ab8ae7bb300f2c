//! First and second derivatives: compared with finite differences, and with each other.

use super::Trial;
use super::subject::{Subject, pick};
use crate::numeric::{directions, finite_difference, inner};
use crate::report::Aspect;
use wengert::prelude::*;

/// The accuracy of the five-point stencil, with room for functions with large fifth derivatives.
const NUMERIC: f64 = 1e-7;

/// The same for a gradient, whose own rounding error the stencil divides by its step.
const NUMERIC_SECOND: f64 = 1e-6;

/// Two exact ways to compute the same number differ by rounding.
const EXACT: f64 = 1e-12;

/// Two exact ways to compute a second derivative: rules of rules have tens of operations.
const EXACT_SECOND: f64 = 1e-10;

/// Tangents equal finite differences, for each float operand alone and all together.
pub(super) fn jvp(trial: &mut Trial, subject: &Subject<'_>) {
    for active in subject.active_sets() {
        let f = subject.function(&active, &subject.float_outputs);
        let x = subject.at(&active);
        let v = directions(&x, 0.5);
        let (y, tangents) = wengert::jvp(&f, &x, &v);
        let right = finite_difference(|x| f(&x.to_vec()), &x, &v);
        let what = format!("by operands {active:?}, tangent");
        trial.all_same(Aspect::Jvp, &what, &tangents, &right, NUMERIC);
        // The values saved by the tape suffice for tangents.
        let recorded = linearize(&f, &x).1.apply(&v);
        trial.all_same(Aspect::Jvp, &format!("{what} of a linear map"), &recorded, &tangents, EXACT);
        trial.all_same(
            Aspect::Jvp,
            "the value beside a tangent,",
            &y,
            &pick(&subject.outputs, &subject.float_outputs),
            EXACT,
        );
    }
}

/// `<vjp(u), v> = <u, jvp(v)>`, for each output's cotangent alone (the others are absent, not zero) and all together.
pub(super) fn vjp(trial: &mut Trial, subject: &Subject<'_>) {
    let all_gradients = {
        let f = subject.function(&subject.floats, &subject.float_outputs);
        wengert::vjp(f, &subject.at(&subject.floats)).1.call(&pick(&subject.cotangents, &subject.float_outputs))
    };
    for active in subject.active_sets() {
        let x = subject.at(&active);
        for outputs in subject.output_sets() {
            let f = subject.function(&active, &outputs);
            let u = pick(&subject.cotangents, &outputs);
            let (y, pullback) = wengert::vjp(&f, &x);
            let gradients = pullback.call(&u);
            trial.all_same(Aspect::Vjp, "the value beside a pullback,", &y, &pick(&subject.outputs, &outputs), EXACT);
            for (gradient, x) in gradients.iter().zip(&x) {
                trial.holds(Aspect::Vjp, gradient.spec() == x.spec(), || {
                    format!("the gradient of {} is {}", x.spec(), gradient.spec())
                });
            }
            // Two directions: one might be orthogonal to an error.
            for phase in [0.5, 1.9] {
                let v = directions(&x, phase);
                let what = format!("by operands {active:?} from outputs {outputs:?}, <vjp(u), v>");
                let (backward, size) = inner(&gradients, &v);
                let (forward, _) = inner(&u, &wengert::jvp(&f, &x, &v).1);
                trial.holds(Aspect::Vjp, (backward - forward).abs() <= EXACT * size.max(1.0), || {
                    format!("{what} = {backward:?}, and <u, jvp(v)> = {forward:?}")
                });
                let (numeric, _) = inner(&u, &finite_difference(|x| f(&x.to_vec()), &x, &v));
                trial.holds(Aspect::Vjp, (backward - numeric).abs() <= NUMERIC * size.max(1.0), || {
                    format!("{what} = {backward:?}, finite differences give {numeric:?}")
                });
            }
            if outputs == subject.float_outputs {
                let positions: Vec<usize> =
                    active.iter().map(|at| subject.floats.iter().position(|float| float == at).unwrap_or(0)).collect();
                let right = pick(&all_gradients, &positions);
                trial.all_same(Aspect::Vjp, "asked for some operands only, gradient", &gradients, &right, EXACT);
            }
        }
    }
}

/// Outside the domain of an elementwise function, where its value is NaN, its gradient is NaN too, for any formula of the slope.
pub(super) fn outside(trial: &mut Trial, subject: &Subject<'_>) {
    let ([x], [y]) = (&subject.floats[..], &subject.float_outputs[..]) else { return };
    let (x, outputs) = (subject.at(&[*x]), subject.outputs[*y].to_f64_vec());
    let (y, pullback) = wengert::vjp(subject.function(&subject.floats, &subject.float_outputs), &x);
    let gradients = pullback.call(&vec![y[0].full_like(1.0)])[0].to_f64_vec();
    for ((x, y), gradient) in x[0].to_f64_vec().iter().zip(&outputs).zip(gradients) {
        if y.is_nan() && !x.is_nan() {
            trial.holds(Aspect::Vjp, gradient.is_nan(), || {
                format!("at {x:?}, outside the domain, the value is NaN and the gradient {gradient:?}")
            });
        }
    }
}

/// Hessian-vector products, by finite differences of the gradient and in all orders of forward and reverse mode.
pub(super) fn second_order(trial: &mut Trial, subject: &Subject<'_>) {
    let here = Aspect::SecondOrder;
    for active in subject.active_sets() {
        let f = subject.loss(&active);
        let x = subject.at(&active);
        let v = directions(&x, 0.7);
        let slope = grad(&f);
        let dot = |a: &[Tensor]| {
            let products = a.iter().zip(&v).map(|(a, v)| (a * v).sum());
            products.reduce(|a, b| a + b).expect("an active operand")
        };
        let (_, forward_over_reverse) = wengert::jvp(&slope, &x, &v);
        let numeric = finite_difference(|x| slope(&x.to_vec()), &x, &v);
        let by = format!("by operands {active:?}");
        trial.all_same(here, &format!("{by}, jvp of grad"), &forward_over_reverse, &numeric, NUMERIC_SECOND);

        let reverse_over_reverse = grad(|x: &Vec<Tensor>| dot(&slope(x)))(&x);
        let what = format!("{by}, grad of grad against jvp of grad:");
        trial.all_same(here, &what, &reverse_over_reverse, &forward_over_reverse, EXACT_SECOND);

        let along = |x: &Vec<Tensor>| wengert::jvp(&f, x, &v).1;
        let reverse_over_forward = grad(along)(&x);
        let what = format!("{by}, grad of jvp against jvp of grad:");
        trial.all_same(here, &what, &reverse_over_forward, &forward_over_reverse, EXACT_SECOND);

        let (_, forward_over_forward) = wengert::jvp(along, &x, &v);
        let curvature = dot(&forward_over_reverse);
        trial.same(here, &format!("{by}, jvp of jvp"), &forward_over_forward, &curvature, EXACT_SECOND);
    }
}
