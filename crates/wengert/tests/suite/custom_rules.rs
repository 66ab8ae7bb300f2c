//! User-defined rules, under every transform.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

/// x^3 with a custom rule, written differently from the rule of the operations inside: the residual is x.
fn cube() -> impl Fn(&Tensor) -> Tensor {
    custom_vjp(|x: &Tensor| (x * x * x, x.clone()), |x: &Tensor, dy: &Tensor| dy * x * x * 3.0)
}

/// x^3 with a tangent rule that uses the output: 3 y / x.
fn cube_forward() -> impl Fn(&Tensor) -> Tensor {
    custom_jvp(|x: &Tensor| x * x * x, |x: &Tensor, y: &Tensor, dx: &Tensor| dx * y * 3.0 / x)
}

/// A rule that is deliberately not the derivative, to show whether it was used: dx = 7 dy.
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
        // On the imperative tape the sweep is recorded, and passes through the values that the rule saved.
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

/// A second derivative in every possible way.
fn second_derivatives(f: &(impl Fn(&Tensor) -> Tensor + Sync), x: f64) -> Vec<(&'static str, f64)> {
    let (x, one) = (Tensor::from(x), Tensor::from(1.0));
    let (staged, slope) = (compile(f), compile(grad(f)));
    let by_tape = |f: &dyn Fn(&Tensor) -> Tensor| {
        let leaf = x.clone().require_grad();
        let create = Backward::new().create_graph();
        let first = wengert::autograd::grad_with(&[&f(&leaf)], &[&leaf], create).remove(0).unwrap();
        if first.requires_grad() {
            first.backward()
        }
        leaf.grad().map_or(0.0, |second| second.item())
    };
    let tangent = |x: &Tensor| jvp(f, x, &one).1;
    vec![
        ("reverse twice", grad(grad(f))(&x).item()),
        ("forward over reverse", jvp(grad(f), &x, &one).1.item()),
        ("reverse over forward", grad(tangent)(&x).item()),
        ("forward twice", jvp(tangent, &x, &one).1.item()),
        ("batched", vmap(grad(grad(f)))(&x.reshape([1])).select(0, 0).item()),
        ("the tape", by_tape(&|x| f(x))),
        ("the derivative compiled", compile(grad(grad(f))).call(&x).item()),
        ("the slope compiled", grad(|x: &Tensor| slope.call(x))(&x).item()),
        ("the function compiled", grad(grad(|x: &Tensor| staged.call(x)))(&x).item()),
        ("the tape of the function compiled", by_tape(&|x| staged.call(x))),
    ]
}

#[test]
fn a_rule_that_is_not_the_derivative_is_used_at_every_order() {
    let reversed = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| -dy);
    let root = custom_vjp(
        |x: &Tensor| {
            let y = x.sqrt();
            (y.clone(), y)
        },
        |y: &Tensor, dy: &Tensor| dy * 3.0 / y,
    );
    let root_forward = custom_jvp(|x: &Tensor| x.sqrt(), |_: &Tensor, y: &Tensor, dx: &Tensor| dx * 3.0 / y);
    let rounded = custom_vjp(|x: &Tensor| (x.round(), x.exp()), |e: &Tensor, dy: &Tensor| dy * e);
    // The residual equals the input by chance: x^2 at 1.
    let squared = custom_vjp(|x: &Tensor| (x.exp(), x * x), |s: &Tensor, dy: &Tensor| dy * s);
    let e = 2.2f64.exp();
    type Function = Box<dyn Fn(&Tensor) -> Tensor + Sync>;
    let cases: [(&str, Function, f64, f64); 5] = [
        // y^2 x with y = x, y' = -1: -2 y x + y^2, and -2 y' x - 2 y + 2 y y' = -2 x.
        ("reversed", Box::new(move |x| reversed(x).square() * x), 3.0, -6.0),
        // y^3 with y' = 3 / y: 9 y, and 27 / y.
        ("root", Box::new(move |x| root(x).powi(3)), 4.0, 13.5),
        ("root by tangents", Box::new(move |x| root_forward(x).powi(3)), 4.0, 13.5),
        // y^2 with y' = e^x: 2 y e^x, and 2 e^2x + 2 y e^x.
        ("rounded", Box::new(move |x| rounded(x).square()), 2.2, 2.0 * e * e + 4.0 * e),
        // y' = x^2, and 2 x.
        ("squared", Box::new(move |x| squared(x)), 1.0, 2.0),
    ];
    for (name, f, x, expected) in &cases {
        for (way, found) in second_derivatives(f, *x) {
            assert!((found - expected).abs() < 1e-12 * expected.abs(), "{name}, {way}: {found}, not {expected}");
        }
    }
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
    // An input shared by all elements of a batch receives the sum over them.
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
            let y = x.exp();
            (y.clone(), (x.clone(), y))
        },
        |(_, y): &(Tensor, Tensor), dy: &Tensor| y * dy,
    );
    let slope = |x: &Tensor| grad(|x: &Tensor| f(x).sum())(x).sum();
    let x = Tensor::from([0.5, 0.0]);
    assert_eq!(grad(|x: &Tensor| grad(slope)(x).sum())(&x), x.exp());
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
    let both = |x: &Tensor| {
        let inner = x.clone();
        custom_vjp(move |y: &Tensor| (&inner * y, ()), |_: &(), dy: &Tensor| dy.clone())(x)
    };
    let error = catch(|| grad(both)(&Tensor::from(3.0))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::WrongLevel);
    assert_eq!(error.message(), "the closure captures a tensor that the surrounding `grad` is differentiating");
    assert_eq!(error.line().unwrap().file(), file!());
    let batch = Tensor::from([2.0, 3.0]);
    assert_eq!(catch(|| vmap(both)(&batch)).unwrap_err().kind(), &ErrorKind::WrongLevel);
    let one = [Tensor::from(1.0)];
    assert_eq!(catch(|| jet(both, &Tensor::from(2.0), &one, 2)).unwrap_err().kind(), &ErrorKind::WrongLevel);
    let leaf = Tensor::from(3.0).require_grad();
    assert_eq!(catch(|| both(&leaf)).unwrap_err().kind(), &ErrorKind::WrongLevel);
}

/// The input is a constant, so nothing but the capture belongs to the transform.
#[test]
fn a_captured_tensor_is_an_error_even_if_the_input_is_a_constant() {
    let at = Tensor::from(3.0);
    let by_vjp = |w: &Tensor| {
        let w = w.clone();
        custom_vjp(move |x: &Tensor| (x * &w, ()), |_: &(), dy: &Tensor| dy.clone())(&Tensor::from(2.0))
    };
    let by_jvp = |w: &Tensor| {
        let w = w.clone();
        custom_jvp(move |x: &Tensor| x * &w, |_: &Tensor, _: &Tensor, dx: &Tensor| dx.clone())(&Tensor::from(2.0))
    };
    let errors = |f: &dyn Fn(&Tensor) -> Tensor| {
        [
            catch(|| grad(f)(&at)),
            catch(|| jvp(f, &at, &Tensor::from(1.0)).1),
            catch(|| vmap(f)(&Tensor::from([3.0, 4.0]))),
            catch(|| jet(f, &at, &[Tensor::from(1.0)], 2).remove(0)),
            catch(|| compile(f).call(&at)),
            catch(|| compile(grad(f)).call(&at)),
        ]
        .map(Result::unwrap_err)
    };
    for (name, errors) in [("custom_vjp", errors(&by_vjp)), ("custom_jvp", errors(&by_jvp))] {
        for error in &errors {
            assert_eq!((error.operation(), error.kind()), (name, &ErrorKind::WrongLevel), "{error}");
            assert!(error.suggestion().unwrap().contains("make it an input"), "{error}");
            assert_eq!(error.line().unwrap().file(), file!());
        }
        assert_eq!(errors[0].message(), "the closure captures a tensor that the surrounding `grad` is differentiating");
        assert_eq!(errors[2].message(), "the closure captures a tensor that the surrounding `vmap` is batching");
    }
    // Outside of transforms it is an ordinary value.
    assert_eq!((by_vjp(&at).item(), by_jvp(&at).item()), (6.0, 6.0));
}

#[test]
fn a_tensor_that_backward_captures_should_be_a_residual() {
    let f = |w: &Tensor| {
        let c = w.clone();
        custom_vjp(|x: &Tensor| (x * 2.0, ()), move |_: &(), dy: &Tensor| dy * &c)(w)
    };
    let error = catch(|| grad(f)(&Tensor::from(3.0))).unwrap_err();
    assert!(error.suggestion().unwrap().contains("make it an input and return it as a residual"), "{error}");
    let error = catch(|| jvp(f, &Tensor::from(3.0), &Tensor::from(1.0))).unwrap_err();
    assert!(error.suggestion().unwrap().contains("return it as a residual if `backward` needs it"), "{error}");
}

#[test]
fn stopped_gradients_stop_in_every_mode() {
    let f = |x: &(Tensor, Tensor)| &x.0 * &stop_gradient(x).0 + &x.1;
    let x = (Tensor::from(3.0), Tensor::from(1.0));
    assert_eq!(grad(f)(&x).0.item(), 3.0);
    assert_eq!(jvp(f, &x, &(Tensor::from(1.0), Tensor::from(0.0))).1.item(), 3.0);
    assert_eq!(compile(grad(f)).call(&x).0.item(), 3.0);
}

#[test]
fn a_plan_takes_in_what_a_function_with_a_rule_does() {
    let f = custom_vjp(|x: &Tensor| (x.exp(), x * x), |s: &Tensor, dy: &Tensor| dy * s);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    assert_eq!(compile(|x: &Tensor| f(&(x + 1.0)) * 2.0).plan(&x).kernels(), 1);
    assert_eq!(compile(grad(|x: &Tensor| f(&(x + 1.0)).sum())).plan(&x).kernels(), 1);
}

#[test]
fn a_traced_tensor_that_a_rule_captures_is_an_error_with_its_name() {
    let staged = compile(|(x, w): &(Tensor, Tensor)| {
        let w = w.clone();
        let f = custom_vjp(move |x: &Tensor| (x * &w, ()), |_: &(), dy: &Tensor| dy.clone());
        f(x)
    });
    let error = catch(|| staged.call(&(Tensor::from(1.0), Tensor::from(2.0)))).unwrap_err();
    assert_eq!((error.operation(), error.kind()), ("custom_vjp", &ErrorKind::WrongLevel));
    assert!(error.suggestion().unwrap().contains("make it an input"), "{error}");
}

#[test]
fn inputs_that_share_their_numbers_are_told_apart() {
    let product = custom_vjp(
        |(a, b): &(Tensor, Tensor)| ((a * b).sum(), (a.clone(), b.clone())),
        |(a, b): &(Tensor, Tensor), dy: &Tensor| (dy * b, dy * a),
    );
    let f = |x: &(Tensor, Tensor)| product(x);
    let x = Tensor::from([1.2, 0.7]);
    let (zero, one) = (Tensor::zeros([2]), Tensor::ones([2]));
    let (at, v, right) = ((x.clone(), x.clone()), (one.clone(), zero.clone()), (zero.clone(), one.clone()));
    assert_eq!(hvp(f, &at, &v), right);
    assert_eq!(vhp(f, &at, &v), right);
    assert_eq!(compile(|x: &(Tensor, Tensor)| vhp(f, x, &(Tensor::ones([2]), Tensor::zeros([2])))).call(&at), right);
    // a b with b held constant: no second derivative.
    assert_eq!(vhp(|x: &Tensor| product(&(x.clone(), stop_gradient(x))), &x, &one), zero);
    let (l, m) = (x.clone().require_grad(), x.require_grad());
    let create = Backward::new().create_graph();
    let slope = wengert::autograd::grad_with(&[&product(&(l.clone(), m.clone()))], &[&l], create).remove(0).unwrap();
    slope.sum().backward();
    assert_eq!((l.grad(), m.grad()), (None, Some(one)));
}

#[test]
fn a_function_that_reads_numbers_has_second_derivatives() {
    let f = custom_vjp(
        |x: &Tensor| (Tensor::from(x.to_f64_vec().iter().map(|v| v.exp()).sum::<f64>()), x.clone()),
        |x: &Tensor, dy: &Tensor| dy * x.exp(),
    );
    let e = 1f64.exp();
    assert!((grad(grad(&f))(&Tensor::from(1.0)).item() - e).abs() < 1e-15);
    assert!((hvp(&f, &Tensor::from([1.0]), &Tensor::from([1.0])).item() - e).abs() < 1e-15);
    // A program has no values to read.
    assert_eq!(catch(|| compile(|x: &Tensor| f(x)).call(&Tensor::from(1.0))).unwrap_err().kind(), &ErrorKind::Traced);
}

#[test]
fn a_leaf_that_a_rule_captures_is_an_error_everywhere() {
    let w = Tensor::from(3.0).require_grad();
    let f = custom_vjp(move |x: &Tensor| (x * &w, ()), |_: &(), dy: &Tensor| dy * 2.0);
    let staged = compile(|x: &Tensor| f(x));
    for x in [Tensor::from(1.0), Tensor::from(1.0).require_grad()] {
        for error in [catch(|| f(&x)).unwrap_err(), catch(|| staged.call(&x)).unwrap_err()] {
            assert_eq!((error.operation(), error.kind()), ("custom_vjp", &ErrorKind::WrongLevel));
        }
        assert_eq!(no_grad(|| f(&x)).item(), 3.0);
    }
}

#[test]
fn a_rule_of_another_shape_is_named_in_both_modes() {
    let (x, one) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 1.0]));
    let pulls = custom_vjp(|x: &Tensor| (x.sum(), ()), |_: &(), dy: &Tensor| dy.clone());
    for error in [catch(|| grad(|x: &Tensor| pulls(x))(&x)).unwrap_err(), catch(|| jvp(&pulls, &x, &one)).unwrap_err()]
    {
        assert!(error.message().contains("what `backward` returned is f64[], not f64[2]"), "{error}");
    }
    let pushes = custom_jvp(|x: &Tensor| x.sum(), |_: &Tensor, _: &Tensor, dx: &Tensor| dx.clone());
    for error in
        [catch(|| grad(|x: &Tensor| pushes(x))(&x)).unwrap_err(), catch(|| jvp(&pushes, &x, &one)).unwrap_err()]
    {
        assert!(error.message().contains("what the rule returned is f64[2], not f64[]"), "{error}");
    }
}
