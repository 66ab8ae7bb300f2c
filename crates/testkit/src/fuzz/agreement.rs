//! All ways to differentiate a composition, compared.

use super::composition::Composition;
use crate::numeric::{difference, direction, inner, moved, norm_difference, stack_each};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wengert::autograd;
use wengert::prelude::*;

/// Different orders of the same exact operations.
const EXACT: f64 = 1e-9;

/// The same after a rounding to f32, which may fall the other way.
const ROUNDED: f64 = 1e-4;

/// A derivative against finite differences.
const NUMERIC: f64 = 1e-6;

/// What was used, and what could be compared.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// The primitives of the composition and of its gradient, once for each use.
    pub primitives: Vec<&'static str>,
    /// Whether finite differences were compared: near a kink or behind a rounding they mean nothing.
    pub numeric: bool,
}

/// Whether all transforms agree on a composition; if not, what differs and after how many steps.
///
/// ```
/// use wengert_testkit::fuzz::{Composition, verify};
/// let verified = verify(&Composition::random(5, 4)).unwrap();
/// assert!(verified.primitives.contains(&"tanh"));
/// ```
pub fn verify(composition: &Composition) -> Result<Verified, String> {
    let run = |steps: usize| {
        let part = composition.truncated(steps);
        let compare = || catch(|| compare(&part)).unwrap_or_else(|error| Err(format!("stopped with {error}")));
        catch_unwind(AssertUnwindSafe(compare)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Err(format!("panicked: {}", text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("")))
        })
    };
    run(composition.steps.len()).map_err(|message| {
        // A program that fails is shown only as far as it must run to fail.
        let fewest = (0..=composition.steps.len()).find_map(|steps| run(steps).err().map(|message| (steps, message)));
        let (steps, message) = fewest.unwrap_or((composition.steps.len(), message));
        format!("{message}\n{}", composition.truncated(steps))
    })
}

/// The first difference, if any, becomes the error.
fn agree(what: &str, got: &[Tensor], right: &[Tensor], tolerance: f64) -> Result<(), String> {
    for (position, (got, right)) in got.iter().zip(right).enumerate() {
        if let Some(found) = norm_difference(got, right, tolerance) {
            return Err(format!("{what}: leaf {position} {found}"));
        }
    }
    if got.len() == right.len() { Ok(()) } else { Err(format!("{what}: {} leaves", got.len())) }
}

fn compare(composition: &Composition) -> Result<Verified, String> {
    let tolerance = if composition.is_rounded() { ROUNDED } else { EXACT };
    let x = composition.inputs().to_vec();
    let v = along(&x, 0.3);
    let f = |x: &Vec<Tensor>| composition.run(x);
    let dot = |a: &[Tensor]| {
        let floats = a.iter().zip(&v).filter(|(a, _)| a.dtype().is_float());
        floats.map(|(a, v)| (a * v).sum()).reduce(|a, b| a + b).expect("a float input")
    };

    let (value, gradient) = value_and_grad(f)(&x);
    if !value.item().is_finite() || gradient.iter().flat_map(Tensor::to_f64_vec).any(|number| !number.is_finite()) {
        return Err(format!("the value is {value}, the gradient {gradient:?}"));
    }
    let mut verified = first_order(composition, &x, &v, &value, &gradient, tolerance)?;
    batches(composition, &x, tolerance)?;
    imperative(composition, &x, &gradient, tolerance)?;

    let hessian_v = jvp(grad(f), &x, &v).1;
    agree(
        "grad of <grad, v> against jvp of grad",
        &grad(|x: &Vec<Tensor>| dot(&grad(f)(x)))(&x),
        &hessian_v,
        tolerance,
    )?;
    agree("compiled jvp of grad", &compile(|x: &Vec<Tensor>| jvp(grad(f), x, &v).1).call(&x), &hessian_v, tolerance)?;
    let staged = compile(grad(f));
    verified.primitives.extend(staged.program(&x).equations().iter().map(|equation| equation.op.name()));
    Ok(verified)
}

/// A direction for every input; keys stay.
fn along(x: &[Tensor], phase: f64) -> Vec<Tensor> {
    x.iter().enumerate().map(|(number, x)| direction(&x.spec(), phase + number as f64)).collect()
}

/// Value, gradient and tangent: eager, staged, from text, and by finite differences.
fn first_order(
    composition: &Composition,
    x: &Vec<Tensor>,
    v: &Vec<Tensor>,
    value: &Tensor,
    gradient: &[Tensor],
    tolerance: f64,
) -> Result<Verified, String> {
    let f = |x: &Vec<Tensor>| composition.run(x);
    let one = |tensor: Tensor| [tensor];
    let staged = compile(f);
    agree("compiled value", &one(staged.call(x)), &one(value.clone()), tolerance)?;
    agree("grad of compiled", &grad(|x: &Vec<Tensor>| staged.call(x))(x), gradient, tolerance)?;
    agree("compiled grad", &compile(grad(f)).call(x), gradient, tolerance)?;

    let program = staged.program(x);
    let text = program.to_string();
    let parsed = Program::parse(&text).map_err(|error| format!("the program's text does not read back: {error}"))?;
    if parsed.to_string() != text {
        return Err("the program's text changes when it is read and printed".into());
    }
    let again = parsed.evaluate(x).map_err(|error| format!("the program's text does not run: {error}"))?;
    agree("value from text", &again, &one(value.clone()), tolerance)?;

    let (slope, size) = inner(gradient, v);
    let tangent = jvp(f, x, v).1;
    agree("jvp against <grad, v>", &one(tangent.clone()), &one(Tensor::from(slope)), tolerance * size.max(1.0))?;
    agree("jvp of compiled", &one(jvp(|x: &Vec<Tensor>| staged.call(x), x, v).1), &one(tangent), tolerance)?;

    let numeric = numeric_slope(composition, x, v).filter(|_| !composition.is_rounded());
    if let Some(numeric) = numeric {
        let found = difference(&Tensor::from(slope), &Tensor::from(numeric), NUMERIC);
        found.map_or(Ok(()), |found| Err(format!("<grad, v> {found} by finite differences")))?;
    }
    let primitives = program.equations().iter().map(|equation| equation.op.name()).collect();
    Ok(Verified { primitives, numeric: numeric.is_some() })
}

/// The five-point stencil with two steps; `None` where they disagree, as next to a kink.
fn numeric_slope(composition: &Composition, x: &[Tensor], v: &[Tensor]) -> Option<f64> {
    let held = composition.held(x);
    let at = |t: f64| composition.run_holding(&moved(x, v, t), &held).item();
    let stencil = |h: f64| (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
    let (wide, narrow) = (stencil(1e-3), stencil(4e-4));
    ((wide - narrow).abs() <= 0.1 * NUMERIC * narrow.abs().max(1.0)).then_some(narrow)
}

/// Batches of gradients, gradients of batches, and gradients of tangents in batches, against loops.
fn batches(composition: &Composition, x: &[Tensor], tolerance: f64) -> Result<(), String> {
    let f = |x: &Vec<Tensor>| composition.run(x);
    let copy = |number: usize| -> Vec<Tensor> {
        let mut copy = moved(x, &along(x, 1.7 + number as f64), 0.01 * number as f64);
        let key = copy.pop().expect("the key");
        copy.push(key + number as i64);
        copy
    };
    let copies: Vec<Vec<Tensor>> = (0..3).map(copy).collect();
    let batch = stack_each(&copies);
    let looped = stack_each(&copies.iter().map(|x| grad(f)(x)).collect::<Vec<_>>());
    agree("vmap of grad", &vmap(grad(f))(&batch), &looped, tolerance)?;
    agree("compiled vmap of grad", &compile(vmap(grad(f))).call(&batch), &looped, tolerance)?;
    agree("grad of vmap", &grad(|x: &Vec<Tensor>| vmap(f)(x).sum())(&batch), &looped, tolerance)?;

    let v = along(x, 2.9);
    let tangent = |x: &Vec<Tensor>| jvp(f, x, &v).1;
    let looped = stack_each(&copies.iter().map(|x| grad(tangent)(x)).collect::<Vec<_>>());
    agree("vmap of grad of jvp", &vmap(grad(tangent))(&batch), &looped, tolerance)
}

/// `backward` on leaves, once and twice.
fn imperative(composition: &Composition, x: &[Tensor], gradient: &[Tensor], tolerance: f64) -> Result<(), String> {
    let leaf = |x: &Tensor| if x.dtype().is_float() { x.clone().require_grad() } else { x.clone() };
    let leaves: Vec<Tensor> = x.iter().map(leaf).collect();
    composition.run(&leaves).backward();
    let received: Vec<Tensor> =
        leaves.iter().map(|leaf| leaf.grad().unwrap_or_else(|| leaf.detach().full_like(0.0))).collect();
    agree("backward", &received, gradient, tolerance)?;

    let floats: Vec<&Tensor> = leaves.iter().filter(|leaf| leaf.requires_grad()).collect();
    let first = autograd::grad_with(&[&composition.run(&leaves)], &floats, Backward::new().create_graph());
    let squares = first.into_iter().flatten().map(|first| (&first * &first).sum());
    let norm = squares.reduce(|a, b| a + b).ok_or("no gradient was recorded")?;
    if !norm.requires_grad() {
        return Ok(());
    }
    let second = autograd::grad(&[&norm], &floats);
    let f = |x: &Vec<Tensor>| composition.run(x);
    let norm = |x: &Vec<Tensor>| {
        let floats = grad(f)(x).into_iter().filter(|gradient| gradient.dtype().is_float());
        floats.map(|gradient| (&gradient * &gradient).sum()).reduce(|a, b| a + b).expect("a float input")
    };
    let mut right = grad(norm)(&x.to_vec());
    right.retain(|gradient| gradient.dtype().is_float());
    agree("backward of backward", &second, &right, tolerance)
}
