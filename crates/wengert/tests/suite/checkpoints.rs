//! Checkpoints: the same derivatives, recomputed instead of saved.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use wengert::prelude::*;

fn block(w: &Tensor, x: &Tensor) -> Tensor {
    let h = x.matmul(w).tanh();
    let (mean, spread) = (h.mean(), (&h * &h).sum().sqrt());
    (&h - mean) / spread + x.relu() * h.exp()
}

fn weight() -> Tensor {
    Tensor::arange(9).cast(DType::F64).sin().reshape([3, 3])
}

fn input() -> Tensor {
    Tensor::arange(6).cast(DType::F64).cos().reshape([2, 3])
}

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_vec::<f64>().into_iter().map(f64::to_bits).collect()
}

type Pair = (Tensor, Tensor);

fn plain((w, x): &Pair) -> Tensor {
    block(w, &block(w, x)).sum()
}

/// The first block's weight is captured, the second's is an input; one checkpoint is inside another.
fn saving((w, x): &Pair) -> Tensor {
    let captured = w.clone();
    let inner = checkpoint(move |x: &Tensor| block(&captured, x));
    let outer = checkpoint(|(w, h): &Pair| block(w, h).sum());
    outer(&(w.clone(), inner(x)))
}

fn nested((w, x): &Pair) -> Tensor {
    let captured = w.clone();
    let whole = checkpoint(move |x: &Tensor| {
        let (first, second) = (captured.clone(), captured.clone());
        let h = checkpoint(move |x: &Tensor| block(&first, x))(x);
        checkpoint(move |h: &Tensor| block(&second, h))(&h).sum()
    });
    whole(x)
}

#[test]
fn inputs_and_captured_parameters_receive_the_same_under_every_transform() {
    let at = (weight(), input());
    let v = at.map_leaves(|leaf| leaf.cos());
    let direction = |x: &Pair| jvp(plain, x, &v).1;
    let expected = grad(plain)(&at);
    for f in [saving as fn(&Pair) -> Tensor, nested] {
        assert_eq!(f(&at), plain(&at));
        let same = |got: Pair, expected: &Pair, what: &str| {
            assert_eq!(bits(&got.0), bits(&expected.0), "{what}");
            assert_eq!(bits(&got.1), bits(&expected.1), "{what}");
        };
        // If the second run is itself differentiated, sums are taken in another order.
        let close = |got: Pair, expected: &Pair, what: &str| {
            assert!(got.0.all_close(&expected.0, 1e-12) && got.1.all_close(&expected.1, 1e-12), "{what}");
        };
        same(grad(f)(&at), &expected, "grad");
        assert_eq!(bits(&jvp(f, &at, &v).1), bits(&direction(&at)), "jvp");
        same(jvp(grad(f), &at, &v).1, &jvp(grad(plain), &at, &v).1, "forward over reverse");
        let dotted = |g: Pair| (&g.0 * &v.0).sum() + (&g.1 * &v.1).sum();
        close(grad(|x: &Pair| dotted(grad(f)(x)))(&at), &grad(|x: &Pair| dotted(grad(plain)(x)))(&at), "grad of grad");
        close(grad(|x: &Pair| jvp(f, x, &v).1)(&at), &grad(direction)(&at), "reverse over forward");
        let third = |f: fn(&Pair) -> Tensor| {
            let second = move |x: &Pair, v: &Pair| jvp(grad(f), x, v).1;
            let v = v.clone();
            grad(move |x: &Pair| {
                let s = second(x, &v);
                (&s.0 * &v.0).sum() + (&s.1 * &v.1).sum()
            })
        };
        close(third(f)(&at), &third(plain)(&at), "third order");
        let many = (Tensor::stack(&[&at.0, &at.0.sin()], 0), Tensor::stack(&[&at.1, &at.1.exp()], 0));
        same(vmap(grad(f))(&many), &vmap(grad(plain))(&many), "vmap of grad");
        let total = |f: fn(&Pair) -> Tensor| grad(move |x: &Pair| vmap(f)(x).sum());
        same(total(f)(&many), &total(plain)(&many), "grad of vmap");
        same(compile(grad(f)).call(&at), &expected, "compiled");
        let (_, map) = linearize(f, &at);
        assert_eq!(bits(&map.apply(&v)), bits(&direction(&at)), "linear map");
        for _ in 0..2 {
            same(map.apply_transpose(&Tensor::from(1.0)), &expected, "a pullback called again");
        }
        let rows = |f: fn(&Pair) -> Tensor| jacrev(f)(&at);
        same(rows(f), &rows(plain), "batched seeds");
    }
}

#[test]
fn the_imperative_tape_forgets_and_computes_again() {
    let expected = grad(plain)(&(weight(), input()));
    for f in [saving as fn(&Pair) -> Tensor, nested] {
        let leaves = (weight().require_grad(), input().require_grad());
        let y = f(&leaves);
        y.backward_with(Backward::new().retain_graph());
        assert_eq!(bits(&leaves.0.grad().unwrap()), bits(&expected.0));
        assert_eq!(bits(&leaves.1.grad().unwrap()), bits(&expected.1));
        y.backward();
        assert_eq!(bits(&leaves.0.grad().unwrap()), bits(&(&expected.0 + &expected.0)), "once more on the kept graph");
        assert!(catch(|| y.backward()).is_err(), "the graph is used up");
        // The sweep is recorded: second derivatives.
        let hessian = |f: fn(&Pair) -> Tensor| {
            let leaf = input().require_grad();
            let y = f(&(weight(), leaf.clone()));
            let first =
                wengert::autograd::grad_with(&[&y], &[&leaf], Backward::new().create_graph()).remove(0).unwrap();
            wengert::autograd::grad(&[&(&first * &first).sum()], &[&leaf]).remove(0)
        };
        assert_eq!(bits(&hessian(f)), bits(&hessian(plain)));
        // Inside no_grad nothing is recorded, and backward may be called there.
        let leaf = input().require_grad();
        let y = f(&(weight(), leaf.clone()));
        no_grad(|| y.backward());
        assert_eq!(bits(&leaf.grad().unwrap()), bits(&expected.1));
        assert!(!no_grad(|| f(&(weight(), leaf.clone()))).requires_grad());
    }
}

/// Layers that log when they compute their value.
fn logged(count: usize) -> (Vec<impl Fn(&Tensor) -> Tensor + Clone + Send + Sync>, Arc<Mutex<Vec<usize>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let layers = (1..=count).map(|k| {
        let log = log.clone();
        move |x: &Tensor| {
            let y = x.sin();
            log.lock().unwrap().push(k);
            y
        }
    });
    (layers.collect(), log.clone())
}

#[test]
fn eight_layers_in_two_segments_compute_x5_x6_x7_and_then_x1_x2_x3_again() {
    let (layers, log) = logged(8);
    let x0 = Tensor::linspace(0.0, 1.0, 5);
    let (y, pullback) = vjp(|x: &Tensor| checkpoint_chain(&layers, x, 2), &x0);
    assert_eq!(*log.lock().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    log.lock().unwrap().clear();
    let got = pullback.call(&y.ones_like());
    assert_eq!(*log.lock().unwrap(), [5, 6, 7, 1, 2, 3]);
    let (_, whole) = vjp(|x: &Tensor| layers.iter().fold(x.clone(), |x, layer| layer(&x)), &x0);
    assert_eq!(bits(&got), bits(&whole.call(&y.ones_like())));
}

#[test]
fn segments_of_any_number_cover_the_chain() {
    let x0 = Tensor::linspace(0.1, 1.0, 3);
    let (layers, _) = logged(7);
    let expected = grad(|x: &Tensor| layers.iter().fold(x.clone(), |x, layer| layer(&x)).sum())(&x0);
    for segments in [1, 2, 3, 6, 7, 20] {
        let got = grad(|x: &Tensor| checkpoint_chain(&layers, x, segments).sum())(&x0);
        assert_eq!(bits(&got), bits(&expected), "{segments} segments");
    }
    assert_eq!(checkpoint_chain(&layers[..0], &x0, 0), x0);
    assert_eq!(catch(|| checkpoint_chain(&layers, &x0, 0)).unwrap_err().kind(), &ErrorKind::Argument);
}

#[test]
fn nested_checkpoints_compute_every_part_once_more_per_depth() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let inner = move |x: &Tensor| {
        count.fetch_add(1, Ordering::Relaxed);
        x.sin().exp()
    };
    let f = checkpoint(move |x: &Tensor| {
        let (a, b) = (inner.clone(), inner.clone());
        checkpoint(b)(&checkpoint(a)(x).tanh()).cos()
    });
    grad(|x: &Tensor| f(x).sum())(&Tensor::from([0.3, 0.4]));
    // Two calls at first, two when the outer one runs again, one for each inner one.
    assert_eq!(calls.load(Ordering::Relaxed), 6);
}

#[test]
fn random_numbers_are_the_same_when_they_are_drawn_again() {
    let f = |x: &Tensor| {
        let noisy = checkpoint(|x: &Tensor| {
            let mask = Key::new(7).uniform([4], DType::F64).gt(0.5);
            mask.where_(x * x, x.exp()).tanh()
        });
        noisy(x).sum()
    };
    let direct = |x: &Tensor| {
        let mask = Key::new(7).uniform([4], DType::F64).gt(0.5);
        mask.where_(x * x, x.exp()).tanh().sum()
    };
    let x = Tensor::from([0.1, 0.2, 0.3, 0.4]);
    assert_eq!(bits(&grad(f)(&x)), bits(&grad(direct)(&x)));
}

#[test]
fn transforms_inside_a_checkpoint_work_as_outside() {
    let inside = checkpoint(|x: &Tensor| grad(|y: &Tensor| (y.sin() * y).sum())(x).exp());
    let outside = |x: &Tensor| grad(|y: &Tensor| (y.sin() * y).sum())(x).exp();
    let x = Tensor::from([0.3, 0.9]);
    assert_eq!(bits(&grad(|x: &Tensor| inside(x).sum())(&x)), bits(&grad(|x: &Tensor| outside(x).sum())(&x)));
    let vmapped = checkpoint(|x: &Tensor| vmap(|y: &Tensor| y.sin() * y.exp())(x));
    let direct = |x: &Tensor| x.sin() * x.exp();
    assert_eq!(bits(&grad(|x: &Tensor| vmapped(x).sum())(&x)), bits(&grad(|x: &Tensor| direct(x).sum())(&x)));
    let custom = checkpoint(|x: &Tensor| {
        custom_vjp(|x: &Tensor| (x.exp(), x.exp()), |y: &Tensor, dy: &Tensor| y * dy)(&x.sin()).tanh()
    });
    let direct = |x: &Tensor| x.sin().exp().tanh();
    assert!(grad(|x: &Tensor| custom(x).sum())(&x).all_close(&grad(|x: &Tensor| direct(x).sum())(&x), 1e-15));
}

#[test]
fn a_checkpoint_under_a_derivative_inside_a_checkpoint_is_differentiated_to_any_order() {
    let x = Tensor::from([0.3, -0.4, 0.7]);
    // cos x, through a checkpoint that the inner gradient re-enters while the outer one still runs.
    let inner = Arc::new(checkpoint(|x: &Tensor| x.sin()));
    let f = checkpoint(move |x: &Tensor| grad(|z: &Tensor| inner(z).sum())(x));
    assert_eq!(f(&x), x.cos());
    let total = |x: &Tensor| f(x).sum();
    assert!(grad(total)(&x).all_close(&-x.sin(), 1e-15));
    assert!(hessian(total)(&x).diagonal().all_close(&-x.cos(), 1e-15));
    assert!(jvp(&f, &x, &x.ones_like()).1.all_close(&-x.sin(), 1e-15));
    assert!(vmap(grad(total))(&x.reshape([3, 1])).all_close(&-x.sin().reshape([3, 1]), 1e-15));
    let leaf = x.clone().require_grad();
    f(&leaf).sum().backward();
    assert!(leaf.grad().unwrap().all_close(&-x.sin(), 1e-15));
}

#[test]
fn nested_checkpoints_of_any_length_have_every_derivative() {
    let short = |x: &Tensor| checkpoint(|x: &Tensor| checkpoint(|x: &Tensor| x.sin().cos())(x).sinh())(x).sum();
    let plain = |x: &Tensor| x.sin().cos().sinh().sum();
    let deep = |x: &Tensor| {
        let inner = |x: &Tensor| checkpoint(|x: &Tensor| checkpoint(|x: &Tensor| x.sin())(x).cos())(x);
        checkpoint(move |x: &Tensor| inner(x).sinh())(x).sum()
    };
    let x = Tensor::from([0.3, -0.4, 0.7]);
    for f in [&short as &dyn Fn(&Tensor) -> Tensor, &deep] {
        assert!(hessian(f)(&x).all_close(&hessian(plain)(&x), 1e-14));
        let third = |f: &dyn Fn(&Tensor) -> Tensor| grad(|x: &Tensor| grad(|x: &Tensor| grad(f)(x).sum())(x).sum())(&x);
        assert!(third(f).all_close(&third(&plain), 1e-13));
        assert!(compile(hessian(f)).call(&x).all_close(&hessian(plain)(&x), 1e-14));
    }
}

#[test]
fn other_numbers_in_the_second_run_are_an_error() {
    let calls = Arc::new(AtomicUsize::new(0));
    let fickle = checkpoint(move |x: &Tensor| {
        let factor = calls.fetch_add(1, Ordering::Relaxed) as f64;
        (x * factor).sin().cos().sinh()
    });
    let error = catch(|| grad(|x: &Tensor| fickle(x).sum())(&Tensor::linspace(0.1, 0.9, 1000))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Checkpoint);
    assert!(error.to_string().contains("it saved other numbers"), "{error}");
    // A key that advances is another input.
    let key = Mutex::new(Key::new(1));
    let dropout = checkpoint(move |x: &Tensor| x * key.lock().unwrap().next().uniform([1000], DType::F64));
    let error = catch(|| grad(|x: &Tensor| dropout(x).sum())(&Tensor::ones([1000]))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Checkpoint);
}

#[test]
fn two_threads_may_pull_through_one_checkpoint_at_once() {
    let x = Tensor::linspace(0.1, 0.9, 64);
    let f = checkpoint(|x: &Tensor| checkpoint(|x: &Tensor| x.sin().exp())(x).tanh().cos());
    let (y, pullback) = vjp(&f, &x);
    let expected = bits(&vjp(|x: &Tensor| x.sin().exp().tanh().cos(), &x).1.call(&y));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..300).for_each(|_| assert_eq!(bits(&pullback.call(&y)), expected)));
        }
    });
}

#[test]
fn a_long_chain_of_checkpoints_is_swept_and_dropped_without_recursion() {
    let layer = checkpoint(|x: &Tensor| x.sin().cos());
    let chain = |x: &Tensor| (0..100_000).fold(x.clone(), |x, _| layer(&x));
    let leaf = Tensor::from([0.5, 0.6]).require_grad();
    drop(chain(&leaf));
    chain(&leaf).sum().backward();
    assert!(leaf.grad().unwrap().to_vec::<f64>().iter().all(|slope| slope.is_finite()));
    drop(vjp(chain, &leaf.detach()));
    assert_eq!(vjp(chain, &leaf.detach()).1.call(&Tensor::from([1.0, 1.0])).shape(), [2]);
}

#[test]
fn empty_values_and_values_that_are_not_numbers_are_computed_again() {
    let f = checkpoint(|x: &Tensor| x.sin().exp());
    assert_eq!(grad(|x: &Tensor| f(x).sum())(&Tensor::zeros([0, 3])).shape(), [0, 3]);
    let gradient = grad(|x: &Tensor| f(x).sum())(&Tensor::from([f64::NAN, f64::INFINITY, 0.0])).to_vec::<f64>();
    assert!(gradient[0].is_nan() && gradient[1].is_nan() && gradient[2] == 1.0);
    let single = grad(|x: &Tensor| f(x).sum())(&Tensor::from([0.0f32, 1.0]));
    assert_eq!(single.dtype(), DType::F32);
}

#[test]
fn backward_inside_a_checkpoint_is_an_error_and_not_a_loop() {
    let leaf = Tensor::from([1.0, 2.0]).require_grad();
    let captured = leaf.clone();
    let f = checkpoint(move |x: &Tensor| {
        captured.sin().exp().sum().backward();
        x.clone()
    });
    assert_eq!(catch(|| f(&leaf)).unwrap_err().kind(), &ErrorKind::Checkpoint);
}

#[test]
fn a_function_that_changes_its_mind_is_a_typed_error_with_the_users_line() {
    let calls = Arc::new(AtomicUsize::new(0));
    let line = line!() + 1;
    let fickle = checkpoint(move |x: &Tensor| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => x.sin().exp().tanh(),
        _ => x.sin(),
    });
    let error = catch(|| grad(|x: &Tensor| fickle(x).sum())(&Tensor::from([1.0, 2.0]))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Checkpoint);
    assert!(error.to_string().contains("it saved 1 values, 3 before"), "{error}");
    assert_eq!((error.line().unwrap().file(), error.line().unwrap().line()), (file!(), line));
}

/// Eight layers of 64 x 64 numbers, and the gradients by their weights and the input.
fn eight_layers((weights, x): &(Vec<Tensor>, Tensor), segments: Option<usize>) -> Tensor {
    let layers: Vec<_> = weights.iter().cloned().map(|w| move |x: &Tensor| x.matmul(&w).tanh()).collect();
    match segments {
        None => layers.iter().fold(x.clone(), |x, layer| layer(&x)).sum(),
        Some(segments) => checkpoint_chain(&layers, x, segments).sum(),
    }
}

#[test]
fn a_compiled_program_computes_again_what_it_does_not_keep() {
    let wave = |phase: f64| {
        Tensor::from_vec((0..64 * 64).map(|i| 0.2 * (1.3 * i as f64 + phase).sin()).collect::<Vec<f64>>(), [64, 64])
    };
    let at = ((0..8).map(|k| wave(f64::from(k))).collect::<Vec<_>>(), wave(9.0));
    let activation = 64 * 64 * 8;
    let run = |segments: Option<usize>| {
        let step = compile(move |at: &(Vec<Tensor>, Tensor)| value_and_grad(|at: &_| eight_layers(at, segments))(at));
        let products = step.program(&at).optimised();
        let products = products.equations().iter().filter(|equation| equation.op.name() == "matmul").count();
        (step.plan(&at).workspace_bytes(), products, step.call(&at))
    };
    let (plain, products, gradients) = run(None);
    let (two, again, found) = run(Some(2));
    for (got, right) in found.leaves().into_iter().zip(gradients.leaves()) {
        assert!(got.all_close(right, 1e-12));
    }
    // Eight products forward and sixteen backward; four layers of each segment run again.
    assert_eq!((products, again), (24, 32));
    // x1 .. x8 are live at the end of the forward pass; with segments x4, then x5 .. x8, and then x1 .. x4. One cotangent is live as well.
    assert_eq!((plain, two), (9 * activation, 6 * activation));
}

#[test]
fn a_split_program_computes_again_on_the_way_back() {
    use wengert::program::{Residual, split};
    let joint = |(x, dy): &Pair| {
        let (y, pullback) = vjp(|x: &Tensor| checkpoint(|x: &Tensor| (x.sin() * x).exp().tanh())(x), x);
        (y, pullback.call(dy))
    };
    let (x, dy) = (Tensor::from([0.3, -0.2]), Tensor::from([1.0, 2.0]));
    let halves = split(&compile(joint).program(&(x.clone(), dy.clone())), 1, 1);
    assert_eq!(halves.residuals, [Residual::Input(0)]);
    let gradient = halves.backward.evaluate(&[x.clone(), dy.clone()]).unwrap();
    assert!(gradient[0].all_close(&joint(&(x, dy)).1, 1e-14));
}

#[test]
fn operations_that_the_first_run_did_not_make_are_an_error() {
    let x = Tensor::from([0.1, 0.2, 0.3]).require_grad();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    // The extra operation saves nothing and changes no value.
    let f = move |x: &Tensor| {
        let x = if counted.fetch_add(1, Ordering::Relaxed) == 0 { x.clone() } else { x + 0.0 };
        x.sin().exp()
    };
    let y = checkpoint(f)(&x).sum();
    let error = catch(|| y.backward()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Checkpoint);
    assert!(error.message().contains("it made 2 operations until it saved value 0, 1 before: it is "), "{error}");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert!(x.grad().is_none());
}

/// Operations that save nothing are compared too, so that a traced function, which has no values yet, is not a mixture of two.
#[test]
fn a_second_run_with_other_operations_or_attributes_is_an_error() {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    let other_part = || {
        let runs = AtomicUsize::new(0);
        move |x: &Tensor| x.slice(runs.fetch_add(1, SeqCst).min(1)).sin().exp()
    };
    let other_function = || {
        let runs = AtomicUsize::new(0);
        move |x: &Tensor| if runs.fetch_add(1, SeqCst) == 0 { x.sin().exp().sum() } else { x.cos().exp().sum() }
    };
    let x = Tensor::from([0.3, 0.7]);
    for error in [
        catch(|| compile(grad(checkpoint(other_part()))).call(&x)).unwrap_err(),
        catch(|| vmap(grad(checkpoint(other_part())))(&x.unsqueeze(0))).unwrap_err(),
        catch(|| grad(checkpoint(other_function()))(&x)).unwrap_err(),
        catch(|| compile(grad(checkpoint(other_function()))).call(&x)).unwrap_err(),
    ] {
        assert!(matches!(error.kind(), ErrorKind::Checkpoint), "{error}");
    }
    let error = catch(|| grad(checkpoint(other_function()))(&x)).unwrap_err();
    let (now, before) = error.message().split_once(", and was ").expect("what it was");
    assert!(now.contains("operand 0 of cos at ") && now.ends_with("f64[2] that begins with 0.3"), "{error}");
    assert!(before.contains("operand 0 of sin at ") && before.contains("checkpoints.rs"), "{error}");
}
