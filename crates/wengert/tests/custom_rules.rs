//! Rules given by the user, under every transform.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

/// x^3 with a rule of its own, written so that it is not the one of the operations inside: the residual is x.
fn cube() -> impl Fn(&Tensor) -> Tensor {
    custom_vjp(|x: &Tensor| (x * x * x, x.clone()), |x: &Tensor, dy: &Tensor| dy * x * x * 3.0)
}

/// x^3 by a tangent rule that uses the output: 3 y / x.
fn cube_forward() -> impl Fn(&Tensor) -> Tensor {
    custom_jvp(|x: &Tensor| x * x * x, |x: &Tensor, y: &Tensor, dx: &Tensor| dx * y * 3.0 / x)
}

/// A rule that is deliberately not the derivative, so that one sees whether it was used: dx = 7 dy.
fn sevenfold() -> impl Fn(&Tensor) -> Tensor {
    custom_vjp(|x: &Tensor| (x.sin(), ()), |_: &(), dy: &Tensor| dy * 7.0)
}

#[test]
fn the_rule_is_used_in_every_mode_and_composition() {
    let f = sevenfold();
    let x = Tensor::from([0.5, 1.0]);
    let expected = Tensor::from([7.0, 7.0]);
    let total = |x: &Tensor| f(x).sum();
    assert_eq!(grad(total)(&x), expected);
    assert_eq!(jvp(&f, &x, &Tensor::from([1.0, 1.0])).1, expected, "forward mode transposes it");
    assert_eq!(linearize(&f, &x).1.apply(&Tensor::from([1.0, 1.0])), expected);
    assert_eq!(jacobian(&f)(&x), Tensor::from([[7.0, 0.0], [0.0, 7.0]]));
    assert_eq!(jacfwd(&f)(&x), Tensor::from([[7.0, 0.0], [0.0, 7.0]]));
    assert_eq!(vmap(grad(&f))(&x), expected);
    assert_eq!(grad(|x: &Tensor| vmap(&f)(x).sum())(&x), expected);
    assert_eq!(vmap(|x: &Tensor| jvp(&f, x, &Tensor::from(1.0)).1)(&x), expected);
    assert_eq!(compile(grad(total)).call(&x), expected);
    let staged = compile(total);
    assert_eq!(grad(|x: &Tensor| staged.call(x))(&x), expected, "a program keeps the rule");
    assert_eq!(vmap(grad(|x: &Tensor| staged.call(x)))(&x.reshape([2, 1])), expected.reshape([2, 1]));
    let leaf = x.clone().require_grad();
    f(&leaf).sum().backward();
    assert_eq!(leaf.grad().unwrap(), expected);
    assert!(!no_grad(|| f(&leaf)).requires_grad());
    // A constant input needs no rule.
    assert_eq!(f(&x), x.sin());
}

#[test]
fn higher_derivatives_differentiate_the_rule() {
    for f in [Box::new(cube()) as Box<dyn Fn(&Tensor) -> Tensor>, Box::new(cube_forward())] {
        let x = Tensor::from(2.0);
        assert_eq!(grad(&f)(&x).item(), 12.0);
        assert_eq!(grad(grad(&f))(&x).item(), 12.0);
        assert_eq!(grad(grad(grad(&f)))(&x).item(), 6.0);
        let tangent = |x: &Tensor| jvp(&f, x, &Tensor::from(1.0)).1;
        assert_eq!(jvp(tangent, &x, &Tensor::from(1.0)).1.item(), 12.0);
        assert_eq!(grad(tangent)(&x).item(), 12.0);
        assert_eq!(jvp(grad(&f), &x, &Tensor::from(1.0)).1.item(), 12.0);
        assert_eq!(compile(grad(grad(&f))).call(&x).item(), 12.0);
        assert_eq!(vmap(grad(grad(&f)))(&Tensor::from([1.0, 2.0])), Tensor::from([6.0, 12.0]));
        assert_eq!(
            hessian(|x: &Tensor| f(x).sum())(&Tensor::from([1.0, 2.0])),
            Tensor::from([[6.0, 0.0], [0.0, 12.0]])
        );
        // On the imperative tape the sweep is recorded, and comes back through what the rule kept.
        let leaf = x.clone().require_grad();
        let first = wengert::autograd::grad_with(&[&f(&leaf)], &[&leaf], Backward::new().create_graph()).remove(0);
        let second =
            wengert::autograd::grad_with(&[&first.unwrap()], &[&leaf], Backward::new().create_graph()).remove(0);
        let third = wengert::autograd::grad(&[second.as_ref().unwrap()], &[&leaf]).remove(0);
        assert_eq!((second.unwrap().item(), third.item()), (12.0, 6.0));
    }
}

#[derive(Tree)]
struct Pair {
    weight: Tensor,
    bias: Option<Tensor>,
    #[tree(static)]
    power: i64,
}

#[test]
fn trees_go_in_and_come_out() {
    let f = custom_vjp(
        |(p, k): &(Pair, Tensor)| {
            let y = p.weight.powi(p.power) * k.cast(DType::F64);
            (vec![y.clone(), y.sum()], (p.weight.clone(), p.bias.clone(), k.clone()))
        },
        |(w, b, k): &(Tensor, Option<Tensor>, Tensor), dy: &Vec<Tensor>| {
            let dw = (&dy[0] + &dy[1]) * w * 2.0 * k.cast(DType::F64);
            (Pair { weight: dw, bias: b.as_ref().map(Tensor::zeros_like), power: 2 }, k.zeros_like())
        },
    );
    let x =
        (Pair { weight: Tensor::from([1.0, 2.0]), bias: Some(Tensor::from(1.0)), power: 2 }, Tensor::from([1i64, 3]));
    let y = f(&x);
    assert_eq!((y[0].clone(), y[1].item()), (Tensor::from([1.0, 12.0]), 13.0));
    let (dp, dk) = grad(|x: &(Pair, Tensor)| f(x)[1].clone())(&x);
    assert_eq!((dp.weight, dp.power, dk), (Tensor::from([2.0, 12.0]), 2, Tensor::from([0i64, 0])));
    let batch = x.map_leaves(|leaf| Tensor::stack(&[leaf, leaf], 0));
    let (dp, _) = vmap(grad(|x: &(Pair, Tensor)| f(x)[1].clone()))(&batch);
    assert_eq!(dp.weight, Tensor::from([[2.0, 12.0], [2.0, 12.0]]));
    // One input for all elements of a batch receives the sum over them.
    let shared = |w: &Tensor| {
        let each = |k: &Tensor| f(&(Pair { weight: w.clone(), bias: None, power: 2 }, k.clone()))[1].clone();
        vmap(each)(&Tensor::from([[1i64, 3], [2, 5]])).sum()
    };
    assert_eq!(grad(shared)(&Tensor::from([1.0, 2.0])), Tensor::from([6.0, 32.0]));
}

#[test]
fn the_forward_pass_runs_once_however_deep_it_is_differentiated() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let f = custom_vjp(
        move |x: &Tensor| {
            counter.fetch_add(1, Ordering::Relaxed);
            (x.exp(), x.exp())
        },
        |y: &Tensor, dy: &Tensor| y * dy,
    );
    assert_eq!(grad(grad(&f))(&Tensor::from(0.0)).item(), 1.0);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let pull = vjp(&f, &Tensor::from(0.0)).1;
    pull.call_batch(&Tensor::from([1.0, 2.0, 3.0]));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn wrong_rules_and_captures_are_typed_errors() {
    let wrong = custom_vjp(|x: &Tensor| (x.sum(), ()), |_: &(), dy: &Tensor| dy.clone());
    let error = catch(|| grad(|x: &Tensor| wrong(x))(&Tensor::from([1.0, 2.0]))).unwrap_err();
    assert!(error.to_string().contains("what `backward` returned is f64[], not f64[2]"), "{error}");
    let captured = |x: &Tensor| {
        let x = x.clone();
        custom_vjp(move |y: &Tensor| (&x * y, ()), |_: &(), dy: &Tensor| dy.clone())(&x_of(&Tensor::from(1.0)))
    };
    fn x_of(x: &Tensor) -> Tensor {
        x.clone()
    }
    // Captured alone: the function is called on a constant, so no rule is needed and the captured tensor is ordinary.
    assert_eq!(grad(captured)(&Tensor::from(3.0)).item(), 1.0);
    let both = |x: &Tensor| {
        let inner = x.clone();
        custom_vjp(move |y: &Tensor| (&inner * y, ()), |_: &(), dy: &Tensor| dy.clone())(x)
    };
    let error = catch(|| grad(both)(&Tensor::from(3.0))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::WrongLevel);
    assert!(error.to_string().contains("captured a tensor of the grad that it runs in"), "{error}");
    assert_eq!(error.line().unwrap().file(), file!());
    let batch = Tensor::from([2.0, 3.0]);
    assert_eq!(catch(|| vmap(both)(&batch)).unwrap_err().kind(), &ErrorKind::WrongLevel);
    let one = [Tensor::from(1.0)];
    assert_eq!(catch(|| jet(both, &Tensor::from(2.0), &one, 2)).unwrap_err().kind(), &ErrorKind::WrongLevel);
    let leaf = Tensor::from(3.0).require_grad();
    assert_eq!(catch(|| both(&leaf)).unwrap_err().kind(), &ErrorKind::WrongLevel);
}

#[test]
fn stopped_gradients_stop_in_every_mode() {
    let f = |x: &(Tensor, Tensor)| &x.0 * &stop_gradient(x).0 + &x.1;
    let x = (Tensor::from(3.0), Tensor::from(1.0));
    assert_eq!(grad(f)(&x).0.item(), 3.0);
    assert_eq!(jvp(f, &x, &(Tensor::from(1.0), Tensor::from(0.0))).1.item(), 3.0);
    assert_eq!(compile(grad(f)).call(&x).0.item(), 3.0);
}
