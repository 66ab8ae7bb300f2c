//! A compiled function under transforms and on the imperative tape: one call, whose derivatives are compiled too.

use std::cell::{Cell, RefCell};
use wengert::prelude::*;

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} against {b}");
}

fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    assert!(a.spec() == b.spec() && a.all_close(b, tolerance), "{a} against {b}");
}

fn vector() -> Tensor {
    Tensor::from([0.3, -0.7, 1.1])
}

/// Compares all transforms of a function of a vector, compiled with eager.
fn agrees(f: impl Fn(&Tensor) -> Tensor, tolerance: f64) {
    let (x, v) = (vector(), Tensor::from([0.5, 1.5, -0.25]));
    let staged = compile(&f);
    let g = |x: &Tensor| staged.call(x);
    close(&g(&x), &f(&x), tolerance);
    close(&grad(g)(&x), &grad(&f)(&x), tolerance);
    let ((y, dy), (z, dz)) = (jvp(g, &x, &v), jvp(&f, &x, &v));
    close(&y, &z, tolerance);
    close(&dy, &dz, tolerance);
    close(&jvp(grad(g), &x, &v).1, &jvp(grad(&f), &x, &v).1, tolerance);
    close(&grad(|x: &Tensor| jvp(g, x, &v).1)(&x), &grad(|x: &Tensor| jvp(&f, x, &v).1)(&x), tolerance);
    close(&hvp(g, &x, &v), &hvp(&f, &x, &v), tolerance);
    close(&hessian(g)(&x), &hessian(&f)(&x), tolerance);
    let (rows, columns) = (|x: &Tensor| g(x) * x.sin(), |x: &Tensor| f(x) * x.sin());
    close(&jacrev(rows)(&x), &jacrev(columns)(&x), tolerance);
    close(&jacfwd(rows)(&x), &jacfwd(columns)(&x), tolerance);
    let many = Tensor::stack(&[&x, &v], 0);
    close(&vmap(g)(&many), &vmap(&f)(&many), tolerance);
    close(&vmap(grad(g))(&many), &vmap(grad(&f))(&many), tolerance);
    close(&grad(|x: &Tensor| vmap(g)(x).sum())(&many), &grad(|x: &Tensor| vmap(&f)(x).sum())(&many), tolerance);
    let of_map = compile(vmap(&f));
    let through = |x: &Tensor| of_map.call(x).square().sum();
    close(&grad(through)(&many), &grad(|x: &Tensor| vmap(&f)(x).square().sum())(&many), tolerance);
    let slope = compile(grad(&f));
    close(&jacrev(|x: &Tensor| slope.call(x))(&x), &hessian(&f)(&x), tolerance);
    close(&compile(grad(g)).call(&x), &grad(&f)(&x), tolerance);
    let (value, map) = linearize(g, &x);
    close(&value, &f(&x), tolerance);
    for v in [&v, &x] {
        close(&map.apply(v), &jvp(&f, &x, v).1, tolerance);
    }
    close(&map.apply_transpose(&Tensor::from(2.0)), &(grad(&f)(&x) * 2.0), tolerance);
    let leaf = x.clone().require_grad();
    let y = g(&leaf);
    for times in [1.0, 2.0] {
        y.backward_with(Backward::new().retain_graph());
        close(&leaf.grad().unwrap(), &(grad(&f)(&x) * times), tolerance);
    }
    assert_eq!(staged.signatures(), 1);
}

#[test]
fn compiled_equals_eager_under_every_transform() {
    agrees(|x| (x.sin() * x.exp()).sum(), 1e-12);
    agrees(|x| x.softmax(0).log().square().sum() * x.sum(), 1e-12);
    let w = Tensor::from([[0.2, 0.4, -0.1], [0.3, -0.5, 0.6]]);
    agrees(move |x| w.matmul(x).tanh().square().sum(), 1e-12);
}

#[test]
fn loops_branches_and_solvers_inside_are_differentiated() {
    let recurrent = |x: &Tensor| {
        let w = x.narrow(0, 0, 1).sum();
        scan(|h: &Tensor, x: &Tensor| ((&w * h + x).tanh(), ()), &Tensor::from(0.1), x).0
    };
    agrees(recurrent, 1e-11);
    agrees(|x| cond(&x.sum().gt(0.0), |x: &Tensor| x.exp().sum(), |x: &Tensor| x.square().sum(), x), 1e-12);
    agrees(
        |x| {
            let start = (x.square().sum(), Tensor::from(0i64));
            let going_on = |(_, k): &(Tensor, Tensor)| k.lt(3i64);
            while_loop(going_on, |(y, k): &(Tensor, Tensor)| (y.sin() * 2.0, k + 1i64), &start).0
        },
        1e-11,
    );
    agrees(|x| root(|x: &Tensor, y: &Tensor| y * y * y + y - x.exp().sum(), x, &Tensor::from(1.0)), 1e-7);
    let cube = custom_jvp(|x: &Tensor| x * x * x, |x: &Tensor, _: &Tensor, dx: &Tensor| x * x * dx * 3.0);
    agrees(move |x| cube(x).sin().sum(), 1e-11);
    let square = custom_vjp(|x: &Tensor| (x * x, x.clone()), |x: &Tensor, g: &Tensor| g * x * 2.0);
    let (f, plain) = (compile(move |x: &Tensor| square(x).sin().sum()), |x: &Tensor| (x * x).sin().sum());
    close(&grad(|x: &Tensor| f.call(x))(&vector()), &grad(plain)(&vector()), 1e-12);
    close(&hessian(|x: &Tensor| f.call(x))(&vector()), &hessian(plain)(&vector()), 1e-12);
}

#[test]
fn checkpoints_inside_and_around_give_the_same() {
    fn layer(x: &Tensor) -> Tensor {
        (x.sin() * x).exp().sum()
    }
    agrees(|x| checkpoint(layer)(x), 1e-12);
    let inner = std::sync::Arc::new(compile(layer));
    let around = move |x: &Tensor| {
        checkpoint({
            let inner = inner.clone();
            move |x: &Tensor| inner.call(x)
        })(x)
    };
    close(&grad(&around)(&vector()), &grad(layer)(&vector()), 1e-13);
    close(&hessian(&around)(&vector()), &hessian(layer)(&vector()), 1e-12);
    let leaf = vector().require_grad();
    around(&leaf).backward();
    close(&leaf.grad().unwrap(), &grad(layer)(&vector()), 1e-13);
}

#[test]
fn the_rust_code_runs_once_for_each_signature() {
    let runs = Cell::new(0);
    let f = compile(|x: &Tensor| {
        runs.set(runs.get() + 1);
        (x.exp() * x).sum()
    });
    let g = |x: &Tensor| f.call(x);
    let (x, v) = (vector(), Tensor::ones([3]));
    for _ in 0..3 {
        grad(g)(&x);
        grad(|x: &Tensor| grad(g)(x).square().sum())(&x);
        hvp(g, &x, &v);
        jvp(g, &x, &v);
        hessian(g)(&x);
        vmap(grad(g))(&Tensor::stack(&[&x, &v], 0));
        let leaf = x.clone().require_grad();
        g(&leaf).backward();
    }
    assert_eq!(runs.get(), 1);
    grad(g)(&Tensor::ones([2]));
    assert_eq!(runs.get(), 2);
}

#[test]
fn a_pullback_is_called_with_several_cotangents_and_after_other_calls() {
    let f = compile(|x: &Tensor| x.exp() * x);
    let (x, other) = (vector(), vector() * 3.0 + 0.1);
    let (y, pullback) = vjp(|x: &Tensor| f.call(x), &x);
    f.call(&other);
    let (_, later) = vjp(|x: &Tensor| f.call(x), &other);
    let slope = |x: &Tensor| x.exp() * (x + 1.0);
    close(&y, &(x.exp() * &x), 1e-14);
    for scale in [1.0, -2.0, 0.5] {
        let seed = Tensor::full([3], scale);
        close(&pullback.call(&seed), &(slope(&x) * scale), 1e-13);
        close(&later.call(&seed), &(slope(&other) * scale), 1e-13);
    }
    let seeds = Tensor::from([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]);
    let rows = vmap(|seed: &Tensor| pullback.call(seed))(&seeds);
    close(&rows, &(slope(&x).broadcast_to([2, 3]) * seeds), 1e-13);
}

#[test]
fn the_tape_sweeps_a_call_twice_and_differentiates_the_sweep() {
    let f = compile(|x: &Tensor| (x * x * x).sum());
    let leaf = vector().require_grad();
    let y = f.call(&leaf);
    let first = wengert::autograd::grad_with(&[&y], &[&leaf], Backward::new().create_graph()).remove(0).unwrap();
    close(&first.detach(), &(vector().square() * 3.0), 1e-14);
    let again = wengert::autograd::grad_with(&[&y], &[&leaf], Backward::new().create_graph()).remove(0).unwrap();
    let second =
        wengert::autograd::grad_with(&[&again.sum()], &[&leaf], Backward::new().create_graph()).remove(0).unwrap();
    close(&second.detach(), &(vector() * 6.0), 1e-13);
    let third =
        wengert::autograd::grad_with(&[&second.sum()], &[&leaf], Backward::new().retain_graph()).remove(0).unwrap();
    close(&third, &Tensor::full([3], 6.0), 1e-13);
    first.sum().backward();
    close(&leaf.grad().unwrap(), &(vector() * 6.0), 1e-13);
    let used = vector().require_grad();
    let y = f.call(&used);
    y.backward();
    assert_eq!(catch(|| y.backward()).unwrap_err().kind(), &ErrorKind::GraphFreed);
}

#[test]
fn third_order_is_that_of_the_closed_form() {
    let f = compile(|x: &Tensor| x.sin() * x.exp());
    let g = |x: &Tensor| f.call(x);
    for at in [0.3, -0.8, 1.4f64] {
        let x = Tensor::from(at);
        // (e^x sin x)''' = 2 e^x (cos x - sin x).
        let third = 2.0 * at.exp() * (at.cos() - at.sin());
        near(grad(grad(grad(g)))(&x).item(), third, 1e-13);
        let one = Tensor::from(1.0);
        near(jvp(grad(grad(g)), &x, &one).1.item(), third, 1e-13);
        near(grad(|x: &Tensor| jvp(grad(g), x, &one).1)(&x).item(), third, 1e-13);
        near(jvp(|x: &Tensor| jvp(|x: &Tensor| jvp(g, x, &one).1, x, &one).1, &x, &one).1.item(), third, 1e-13);
        // Coefficients of the series: the third derivative over 3!.
        near(
            jet(g, &x, &[one], 3)[3].item(),
            jet(|x: &Tensor| x.sin() * x.exp(), &x, &[Tensor::from(1.0)], 3)[3].item(),
            1e-13,
        );
    }
}

#[test]
fn whole_numbers_truth_values_and_leaves_that_do_not_matter_pass() {
    type Many = (Tensor, (Tensor, Tensor), Tensor);
    let f = |(x, (k, b), unused): &Many| {
        let picked = x.index_select(0, k);
        (b.where_(&picked, &(&picked * 2.0)), k + 1i64, unused.full_like(3.0))
    };
    let many: Many = (vector(), (Tensor::from([2i64, 0]), Tensor::from([true, false])), Tensor::from(5.0));
    let staged = compile(f);
    let (y, k, three) = staged.call(&many);
    assert_eq!((y, k, three.item()), (Tensor::from([1.1, 0.6]), Tensor::from([3i64, 1]), 3.0));
    let loss = |x: &Many| {
        let (y, k, three) = staged.call(x);
        y.square().sum() + k.cast(DType::F64).sum() + three
    };
    // d/dx of x2^2 + (2 x0)^2.
    let (dx, _, unused) = grad_wrt(["0", "2"], loss)(&many);
    close(&dx, &Tensor::from([8.0 * 0.3, 0.0, 2.0 * 1.1]), 1e-13);
    assert_eq!(unused.item(), 0.0);
    let leaf = vector().require_grad();
    loss(&(leaf.clone(), many.1.clone(), many.2)).backward();
    close(&leaf.grad().unwrap(), &dx, 1e-14);
}

#[test]
fn a_function_without_outputs_or_inputs_is_called() {
    let nothing = compile(|_: &Tensor| ());
    let leaf = vector().require_grad();
    nothing.call(&leaf);
    assert_eq!(
        grad(|x: &Tensor| {
            nothing.call(x);
            x.sum()
        })(&vector()),
        Tensor::ones([3])
    );
    let w = vector().require_grad();
    let constant = compile(|(): &()| w.square().sum());
    constant.call(&()).backward();
    close(&w.grad().unwrap(), &(vector() * 2.0), 1e-14);
}

#[test]
fn a_captured_leaf_is_an_operand_and_its_updates_are_seen_without_tracing() {
    let (w, runs) = (RefCell::new(Tensor::from(0.0).require_grad()), Cell::new(0));
    let f = compile(|x: &Tensor| {
        runs.set(runs.get() + 1);
        (x * &*w.borrow() - 6.0).square().sum()
    });
    let x = Tensor::from(2.0);
    for _ in 0..50 {
        f.call(&x).backward();
        let mut w = w.borrow_mut();
        let step = w.grad().unwrap() * 0.1;
        no_grad(|| *w -= step);
        w.zero_grad();
    }
    near(w.borrow().item(), 3.0, 1e-6);
    near(no_grad(|| f.call(&x)).item(), (2.0 * w.borrow().item() - 6.0).powi(2), 1e-12);
    assert_eq!(runs.get(), 1);
    // Second order through the operand: d2/dw2 (x w - 6)^2 = 2 x^2.
    let leaf = w.borrow().clone();
    let first = wengert::autograd::grad_with(&[&f.call(&x)], &[&leaf], Backward::new().create_graph());
    near(wengert::autograd::grad(&[first[0].as_ref().unwrap()], &[&leaf])[0].item(), 8.0, 1e-13);
}

#[test]
fn a_snapshot_of_a_leaf_keeps_its_value_in_a_compiled_function() {
    let mut w = Tensor::from(2.0).require_grad();
    let old = w.clone();
    let f = compile(move |x: &Tensor| x * &old);
    let x = Tensor::from(3.0);
    assert_eq!(f.call(&x).item(), 6.0);
    no_grad(|| w += 1.0);
    assert_eq!((f.call(&x).item(), w.item()), (6.0, 3.0));
}

#[test]
fn nested_compile_is_inlined() {
    let inner = compile(|x: &Tensor| x.sin() * 2.0);
    let plain = |x: &Tensor| (x.sin() * 2.0).exp().sum();
    let outer = |x: &Tensor| inner.call(x).exp().sum();
    let x = vector();
    let names = |program: &Program| program.equations().iter().map(|e| e.op.name()).collect::<Vec<_>>();
    assert_eq!(names(&compile(outer).program(&x)), names(&compile(plain).program(&x)));
    assert_eq!(names(&compile(grad(outer)).program(&x)), names(&compile(grad(plain)).program(&x)));
    close(&grad(|x: &Tensor| compile(outer).call(x))(&x), &grad(plain)(&x), 1e-13);
    // A body of a loop is a trace as well.
    let looped = |x: &Tensor| fori(2, |_: &Tensor, h: &Tensor| inner.call(h), x).sum();
    let rust = |x: &Tensor| ((x.sin() * 2.0).sin() * 2.0).sum();
    close(&grad(looped)(&x), &grad(rust)(&x), 1e-13);
}

#[test]
fn a_step_is_differentiated_by_state_and_input() {
    let step = compile_step(|w: &mut Tensor, x: &Tensor| {
        *w = &*w * x;
        w.square().sum()
    });
    let loss = |(w, x): &(Tensor, Tensor)| {
        let mut w = w.clone();
        step.call(&mut w, x) + w.sum()
    };
    let (w, x) = (vector(), Tensor::from([2.0, 0.5, -1.0]));
    let (dw, dx) = grad(loss)(&(w.clone(), x.clone()));
    close(&dw, &(&w * x.square() * 2.0 + &x), 1e-13);
    close(&dx, &(w.square() * &x * 2.0 + &w), 1e-13);
}

#[test]
fn the_programs_of_a_pullback_are_shown() {
    let f = compile(|x: &Tensor| x.exp() * x);
    let x = vector();
    let split = f.pullback_program(&x);
    let forward = split.forward.evaluate(std::slice::from_ref(&x)).unwrap();
    let residual = |residual: &wengert::program::Residual| match *residual {
        wengert::program::Residual::Input(0) => x.clone(),
        wengert::program::Residual::Output(place) => forward[place].clone(),
        other => panic!("there is one input: {other:?}"),
    };
    let inputs: Vec<Tensor> = split.residuals.iter().map(residual).chain([Tensor::ones([3])]).collect();
    close(&split.backward.evaluate(&inputs).unwrap()[0], &(x.exp() * (&x + 1.0)), 1e-13);
    let text = split.to_string();
    assert!(text.contains("backward program(") && text.contains("residual 0: f64[3] = "), "{text}");
}

#[test]
fn hooks_outside_of_a_compiled_function_fire() {
    use std::sync::{Arc, Mutex};
    let log: Arc<Mutex<Vec<(&str, f64)>>> = Arc::default();
    let note = |name: &'static str| {
        let log = log.clone();
        move |g: &Tensor| log.lock().unwrap().push((name, g.item()))
    };
    let hook = |name: &'static str| {
        let note = note(name);
        move |g: &Tensor| {
            note(g);
            None
        }
    };
    let (w, x) = (Tensor::from(3.0).require_grad(), Tensor::from(2.0).require_grad());
    let f = compile(|x: &Tensor| {
        // Computed from a leaf alone: part of the program like any other operation.
        let doubled = &w * 2.0;
        let refused = catch(|| drop(doubled.register_hook(hook("inside")))).unwrap_err();
        assert_eq!((refused.operation(), refused.kind()), ("register_hook", &ErrorKind::WrongLevel));
        x * x * doubled
    });
    w.register_hook(hook("w"));
    w.register_accumulate_hook(note("committed"));
    x.register_hook(hook("x"));
    for _ in 0..2 {
        let y = f.call(&x);
        y.register_hook(hook("y"));
        y.backward();
        let mut seen = std::mem::take(&mut *log.lock().unwrap());
        seen.retain(|(name, _)| *name != "committed");
        seen.sort_by_key(|(name, _)| *name);
        assert_eq!(seen, [("w", 8.0), ("x", 24.0), ("y", 1.0)]);
    }
    assert_eq!(w.grad().unwrap().item(), 16.0);
}

#[test]
fn what_a_call_saves_goes_through_the_hooks_of_saved_values() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    let (packed, unpacked): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
    let (p, u) = (packed.clone(), unpacked.clone());
    let f = compile(|x: &Tensor| (x.exp() * x).sum());
    let x = vector().require_grad();
    let y = wengert::autograd::save_packed(
        move |v| {
            p.fetch_add(1, Relaxed);
            v
        },
        move |v: &Tensor| {
            u.fetch_add(1, Relaxed);
            v.clone()
        },
        || f.call(&x),
    );
    assert!(packed.load(Relaxed) > 0 && unpacked.load(Relaxed) == 0);
    y.backward();
    assert_eq!(packed.load(Relaxed), unpacked.load(Relaxed));
    close(&x.grad().unwrap(), &(vector().exp() * (vector() + 1.0)), 1e-13);
}

#[test]
fn hooks_and_sweeps_inside_a_compiled_function_are_refused() {
    let kind = |f: &dyn Fn(&Tensor) -> Tensor| catch(|| compile(f).call(&vector())).unwrap_err();
    let error = kind(&|x| {
        x.register_hook(|_| None);
        x.clone()
    });
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::WrongLevel, "register_hook"));
    assert!(error.to_string().contains("inside compile"), "{error}");
    assert_eq!(kind(&|x| x.sin().retain_grad()).kind(), &ErrorKind::WrongLevel);
    let error = kind(&|x| {
        x.register_accumulate_hook(|_| {});
        x.clone()
    });
    assert_eq!(error.kind(), &ErrorKind::WrongLevel);
    let error = kind(&|x| wengert::autograd::save_packed(|v| v, |v: &Tensor| v.clone(), || x * x));
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Hook, "save_packed"));
    assert_eq!(error.line().unwrap().line(), line!() - 2);
    let error = kind(&|x| {
        let y = x.sum();
        y.backward();
        y
    });
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::WrongLevel, "backward"));
    let w = Tensor::from(1.0).require_grad();
    let error = kind(&|x| {
        (&w * 2.0).backward();
        x.clone()
    });
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::WrongLevel, "backward"));
    assert!(w.grad().is_none());
    assert_eq!(kind(&|x| x.clone().require_grad()).kind(), &ErrorKind::WrongLevel);
}

#[test]
fn stopped_gradients_stay_stopped_in_second_derivatives() {
    let x = Tensor::from([0.7, 1.6]);
    let functions: [fn(&Tensor) -> Tensor; 4] = [
        |x| (stop_gradient(x) * x * x).sum(),
        |w| (w + stop_gradient(&(w.round() - w))).square().sum(),
        |x| (x.detach() * x.exp() * x).sum(),
        |x| scan_times(3, |h: &Tensor| (h * stop_gradient(h).sin(), ()), x).0.sum(),
    ];
    for f in functions {
        let compiled = compile(f);
        let call = |x: &Tensor| compiled.call(x);
        close(&hessian(call)(&x), &hessian(f)(&x), 1e-12);
        close(&grad(|x: &Tensor| grad(call)(x).sum())(&x), &grad(|x: &Tensor| grad(f)(x).sum())(&x), 1e-12);
    }
    // d2/dx2 of c x^2 with c = x held constant: 2 x.
    let compiled = compile(|x: &Tensor| stop_gradient(x) * x * x);
    near(grad(grad(|x: &Tensor| compiled.call(x)))(&Tensor::from(0.7)).item(), 1.4, 1e-14);
}

#[test]
fn a_captured_leaf_that_is_replaced_is_traced_again() {
    let cell = RefCell::new(Tensor::from([2.0]).require_grad());
    let f = compile(|x: &Tensor| x * &*cell.borrow());
    let one = Tensor::from([1.0]);
    assert_eq!(f.call(&one).item(), 2.0);
    no_grad(|| *cell.borrow_mut() += 1.0);
    assert_eq!(f.call(&one).item(), 3.0);
    *cell.borrow_mut() = Tensor::from([100.0]).require_grad();
    assert_eq!(f.call(&one).item(), 100.0);
}

#[test]
fn what_has_no_influence_gets_no_gradient_and_what_is_constant_has_no_graph() {
    let function = |(a, b, c): &(Tensor, Tensor, Tensor)| {
        (a * 2.0 + stop_gradient(b), Tensor::from([3.0, 4.0]), c.gt(0.0).where_(1.0, 2.0), c * 5.0)
    };
    let staged = compile(function);
    for f in [&function as &dyn Fn(&(Tensor, Tensor, Tensor)) -> _, &|x| staged.call(x)] {
        let x = ["a", "b", "c"].map(|_| Tensor::from([1.0, 2.0]).require_grad());
        let [a, b, c] = x.clone();
        let (first, fixed, chosen, last) = f(&(a, b, c));
        assert!(first.requires_grad() && last.requires_grad());
        assert!(!fixed.requires_grad() && !chosen.requires_grad());
        assert!(catch(|| fixed.sum().backward()).is_err());
        let [a, b, c] = &x;
        let found = wengert::autograd::grad_with(&[&first.sum()], &[a, b], Backward::new().retain_graph());
        assert_eq!(found, [Some(Tensor::from([2.0, 2.0])), None]);
        (first.sum() + last.sum()).backward();
        assert_eq!((a.grad(), b.grad()), (Some(Tensor::from([2.0, 2.0])), None));
        assert_eq!(c.grad(), Some(Tensor::from([5.0, 5.0])));
        // Each output separately.
        let leaf = || Tensor::from([1.0, 2.0]).require_grad();
        let (a, c) = (leaf(), leaf());
        f(&(a.clone(), leaf(), c.clone())).3.sum().backward();
        assert_eq!((a.grad(), c.grad()), (None, Some(Tensor::from([5.0, 5.0]))));
        let x = (a.detach(), b.detach(), c.detach());
        let ((_, fixed, chosen, _), pullback) = vjp(f, &x);
        let one = Tensor::from([1.0, 1.0]);
        let found = pullback.call_named(&(one.clone(), fixed, chosen, one));
        assert_eq!(found.iter().map(|(_, slope)| slope.is_some()).collect::<Vec<_>>(), [true, false, true]);
    }
}

#[test]
fn what_is_computed_from_captured_leaves_alone_is_part_of_the_program() {
    let w = RefCell::new(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).require_grad());
    let runs = Cell::new(0);
    let f = compile(|x: &Tensor| {
        runs.set(runs.get() + 1);
        let w = w.borrow();
        x.matmul(&w.t()).sum() + w.square().sum() * 0.5 + no_grad(|| w.sum())
    });
    let x = Tensor::from([1.0, 2.0]);
    for _ in 0..3 {
        let now = w.borrow().detach();
        let y = f.call(&x);
        assert_eq!(y, x.matmul(&now.t()).sum() + now.square().sum() * 0.5 + now.sum());
        w.borrow().zero_grad();
        y.backward();
        // d/dw_ij = x_j + w_ij; the sum was held constant.
        assert_eq!(w.borrow().grad().unwrap(), now + &x);
        no_grad(|| *w.borrow_mut() *= 0.5);
    }
    assert_eq!((runs.get(), f.signatures()), (1, 1));
}
