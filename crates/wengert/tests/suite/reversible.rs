//! Reversible steps.

use wengert::memory::{Verify, saved_bytes};
use wengert::prelude::*;

type Pair = (Tensor, Tensor);

fn coupling((a, b): &Pair) -> Pair {
    let a = a + (b * 0.7).tanh();
    let b = b + a.sin() * 0.3;
    (a, b)
}

fn uncoupling((a, b): &Pair) -> Pair {
    let b = b - a.sin() * 0.3;
    (a - (&b * 0.7).tanh(), b)
}

fn start() -> Pair {
    (Tensor::linspace(-0.9, 0.9, 1000), Tensor::linspace(0.2, 0.5, 1000))
}

fn chain(layer: impl Fn(&Pair) -> Pair, steps: usize) -> impl Fn(&Pair) -> Tensor {
    move |x| {
        let (a, b) = (0..steps).fold(x.clone(), |x, _| layer(&x));
        (a * b).sum()
    }
}

#[test]
fn a_chain_saves_nothing_but_has_the_same_gradient() {
    let plain = grad(chain(coupling, 64))(&start());
    let reversed = chain(reversible(coupling, uncoupling), 64);
    let found = grad(&reversed)(&start());
    assert!(found.0.all_close(&plain.0, 1e-10) && found.1.all_close(&plain.1, 1e-10));
    let leaves = start().map_leaves(|leaf| leaf.clone().require_grad());
    let (loss, bytes) = saved_bytes(|| reversed(&leaves));
    // The product at the end saves its two operands.
    assert_eq!(bytes, 2 * 8000);
    loss.backward();
    assert_eq!((leaves.0.grad().unwrap(), leaves.1.grad().unwrap()), found);
}

#[test]
fn branches_middle_values_and_parts_of_a_chain_are_right() {
    let layer = reversible(coupling, uncoupling);
    let f = |layer: &dyn Fn(&Pair) -> Pair, x: &Pair| {
        let one = layer(x);
        let (two, other) = (layer(&one), layer(&(one.0.sin(), one.1.clone())));
        let three = layer(&layer(&two));
        layer(&three); // nobody reads it
        (three.0 * other.1 + &one.0 * two.1).sum()
    };
    let plain = grad(|x: &Pair| f(&coupling, x))(&start());
    let found = grad(|x: &Pair| f(&layer, x))(&start());
    assert!(found.0.all_close(&plain.0, 1e-11) && found.1.all_close(&plain.1, 1e-11));
}

#[test]
fn compiled_and_second_derivatives_are_those_of_the_function() {
    let (x, v) = (start(), start().map_leaves(|leaf| leaf.cos()));
    let reversed = chain(reversible(coupling, uncoupling), 3);
    let second = |f: &dyn Fn(&Pair) -> Tensor| jvp(grad(f), &x, &v).1;
    let (plain, found) = (second(&chain(coupling, 3)), second(&reversed));
    assert!(found.0.all_close(&plain.0, 1e-10) && found.1.all_close(&plain.1, 1e-10));
    let gradient = compile(grad(chain(reversible(coupling, uncoupling), 3)));
    assert!(gradient.call(&x).0.all_close(&grad(chain(coupling, 3))(&x).0, 1e-12));
}

#[test]
fn an_inverse_that_is_none_is_an_error_with_both_numbers() {
    let wrong = chain(reversible(coupling, |(a, b): &Pair| (a - 1.0, b.clone())), 1);
    let leaves = start().map_leaves(|leaf| leaf.clone().require_grad());
    let error = catch(|| wrong(&leaves).backward()).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Checkpoint);
    assert!(error.message().contains("the inverse does not return the input: element 0"), "{error}");
    assert!(leaves.0.grad().is_none() && error.line().is_some());
    assert!(catch(|| Verify::Off.within(|| wrong(&leaves).backward())).is_ok());
}

#[test]
fn a_long_chain_is_dropped_without_overflow() {
    let layer = reversible(|x: &Tensor| x + 1.0, |x: &Tensor| x - 1.0);
    let x = Tensor::from([0.0, 1.0]).require_grad();
    drop((0..20_000).fold(x.clone(), |x, _| layer(&x)));
    (0..20_000).fold(x.clone(), |x, _| layer(&x)).sum().backward();
    assert_eq!(x.grad().unwrap(), Tensor::from([1.0, 1.0]));
}
