//! The reverse graph: order, hooks, depth, sharing, memory and threads.

use super::process::alone;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use wengert::autograd;
use wengert::prelude::*;
use wengert::primitive::{
    Attrs, Case, Device, Gradient, Gradients, Mask, Outputs, Primitive, Rule, Spec, SpecRef, Specs, bind1,
};

/// A small generator, so that a failure can be reproduced from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// An operation that counts its pullbacks: y = a + b.
struct Counted;
static COUNTED: Counted = Counted;
static PULLBACKS: AtomicUsize = AtomicUsize::new(0);

impl Primitive for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }
    fn operands(&self) -> usize {
        2
    }
    fn infer(&self, _: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(Specs::from_iter([operands[0].to_spec()]))
    }
    fn eval(&self, _: Device, _: &Attrs, operands: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
        Ok(Outputs::from_iter([operands[0] + operands[1]]))
    }
    fn vjp(&'static self, _: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        PULLBACKS.fetch_add(1, Ordering::Relaxed);
        let g = cotangents[0].take().expect("the only output has a cotangent");
        Gradients::from_iter([Gradient::Dense(g.clone()), Gradient::Dense(g)])
    }
    fn batch(&'static self, _: &Attrs, _: usize, _: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        unreachable!("not batched here")
    }
    fn cases(&self) -> Vec<Case> {
        vec![]
    }
}

#[test]
fn each_pullback_runs_once_after_all_its_consumers_and_hooks_see_the_complete_adjoint() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let count = 2 + random.below(40);
        let x = Tensor::from(1.0).require_grad();
        let mut nodes = vec![x.clone()];
        let mut operands: Vec<(usize, usize)> = vec![(0, 0)];
        let seen: Arc<Mutex<Vec<(usize, f64)>>> = Arc::default();
        for index in 1..=count {
            let (a, b) = (random.below(nodes.len()), random.below(nodes.len()));
            let node = bind1(&COUNTED, Attrs::new(), &[&nodes[a], &nodes[b]]);
            let log = seen.clone();
            node.register_hook(move |adjoint| {
                log.lock().unwrap().push((index, adjoint.item()));
                None
            });
            nodes.push(node);
            operands.push((a, b));
        }
        // The adjoint of a node is the number of paths to it, counted independently from the end.
        let mut paths = vec![0.0; nodes.len()];
        paths[count] = 1.0;
        let mut reached = 0;
        for index in (1..=count).rev() {
            let (a, b) = operands[index];
            if paths[index] > 0.0 {
                reached += 1;
                paths[a] += paths[index];
                paths[b] += paths[index];
            }
        }
        let before = PULLBACKS.load(Ordering::Relaxed);
        nodes[count].backward();
        assert_eq!(PULLBACKS.load(Ordering::Relaxed) - before, reached, "seed {seed}");
        assert_eq!(x.grad().unwrap().item(), paths[0], "seed {seed}");
        let seen = seen.lock().unwrap();
        let order: Vec<usize> = seen.iter().map(|(index, _)| *index).collect();
        let expected: Vec<usize> = (1..=count).rev().filter(|index| paths[*index] > 0.0).collect();
        assert_eq!(order, expected, "seed {seed}: each once, consumers first");
        assert!(seen.iter().all(|(index, adjoint)| *adjoint == paths[*index]), "seed {seed}");
    }
}

/// Runs on a thread with the default stack size.
fn on_small_stack(f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
}

#[test]
fn ten_million_nodes_are_built_differentiated_and_dropped_on_a_small_stack() {
    on_small_stack(|| {
        let x = Tensor::from(1.0f32).require_grad();
        let mut y = x.clone();
        for _ in 0..10_000_000 {
            y = &y * &x;
        }
        y.backward();
        assert_eq!(x.grad().unwrap().item(), 10_000_001.0);
        drop(y);
    });
}

#[test]
fn a_deep_graph_of_a_transform_is_dropped_without_recursion() {
    on_small_stack(|| {
        let f = |x: &Tensor| (0..300_000).fold(x.clone(), |y, _| y + x);
        assert_eq!(grad(f)(&Tensor::from(1.0)).item(), 300_001.0);
        let twice = |x: &Tensor| (0..50_000).fold(x.clone(), |y, _| y * x);
        assert_eq!(grad(grad(twice))(&Tensor::from(1.0)).item(), 50_001.0 * 50_000.0);
        let x = Tensor::from(1.0).require_grad();
        let y = (0..100_000).fold(x.clone(), |y, _| y * &x);
        let dx = autograd::grad_with(&[&y], &[&x], Backward::new().create_graph()).remove(0).unwrap();
        drop(y);
        assert_eq!(autograd::grad(&[&dx], &[&x])[0].item(), 100_001.0 * 100_000.0);
    });
}

#[test]
fn two_to_the_sixty_paths_cost_sixty_steps() {
    let x = Tensor::from(1.0).require_grad();
    let steps = Arc::new(AtomicUsize::new(0));
    let mut y = x.clone();
    for _ in 0..60 {
        y = &y + &y;
        let steps = steps.clone();
        y.register_hook(move |_| {
            steps.fetch_add(1, Ordering::Relaxed);
            None
        });
    }
    y.backward();
    assert_eq!(x.grad().unwrap().item(), 2f64.powi(60));
    assert_eq!(steps.load(Ordering::Relaxed), 60);
}

/// Resident memory in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

#[test]
fn loops_that_only_go_forward_do_not_grow() {
    if !alone(module_path!(), "loops_that_only_go_forward_do_not_grow") {
        return;
    }
    let x = Tensor::from([0.1, 0.2, 0.3]).require_grad();
    let forward = |steps: usize| {
        let mut y = x.detach();
        for _ in 0..steps {
            y = (&y * &x.detach()).tanh();
        }
        for _ in 0..steps {
            assert!((&x * 2.0).requires_grad());
        }
    };
    let create_graph = |steps: usize| {
        for _ in 0..steps {
            let y = (&x * &x).sum();
            y.backward_with(Backward::new().create_graph());
            x.zero_grad();
        }
        // If it stays in the slot, the gradient's graph refers to the leaf; that must not be a cycle.
        for _ in 0..steps {
            let x = Tensor::from(1.0).require_grad();
            (&x * &x).backward_with(Backward::new().create_graph());
        }
    };
    forward(10_000);
    create_graph(10_000);
    let before = resident();
    assert!(before > 0, "resident memory is known");
    forward(300_000);
    create_graph(100_000);
    let after = resident();
    assert!(after < before + (8 << 20), "{before} bytes before, {after} after");
}

#[test]
fn eight_threads_differentiate_one_retained_graph_and_agree() {
    let x = Tensor::from_vec((0..500).map(|i| (i as f64).sin()).collect(), [500]).require_grad();
    let mut y = x.clone();
    for _ in 0..50 {
        y = (&y * &x).tanh() + &x;
    }
    let y = y.sum();
    let expected = autograd::grad_with(&[&y], &[&x], Backward::new().retain_graph()).remove(0).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let found = autograd::grad_with(&[&y], &[&x], Backward::new().retain_graph()).remove(0).unwrap();
                    assert_eq!(found, expected);
                }
            });
        }
    });
    // Of many threads that consume the graph, exactly one succeeds; the others get the typed error.
    let failures = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                if let Err(error) = catch(|| y.backward()) {
                    assert_eq!(error.kind(), &ErrorKind::GraphFreed);
                    failures.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(failures.load(Ordering::Relaxed), 7);
    assert_eq!(x.grad().unwrap(), expected);
}

#[test]
fn results_are_the_same_bits_for_every_number_of_pool_threads() {
    // The pool is process-wide: next to other tests a region might run on its caller alone.
    if !alone(module_path!(), "results_are_the_same_bits_for_every_number_of_pool_threads") {
        return;
    }
    let compute = || {
        let x = Key::new(3).uniform([300, 400], DType::F32).require_grad();
        let w = Key::new(4).uniform([400, 300], DType::F32).require_grad();
        let y = (x.matmul(&w) * 0.01).tanh() * x.sum_over(1).reshape([300, 1]) + w.max_along(0).0;
        y.sum().backward();
        let big = (Key::new(5).uniform([1 << 18], DType::F64) * 3.0).exp().sum();
        let bits = |tensor: Tensor| tensor.to_f64_vec().into_iter().map(f64::to_bits).collect::<Vec<_>>();
        [bits(y.detach()), bits(x.grad().unwrap()), bits(w.grad().unwrap()), bits(big)]
    };
    let machine = wengert::threads();
    let results: Vec<_> = [1, 2, 3, 7]
        .map(|threads| {
            wengert::set_threads(threads);
            compute()
        })
        .into();
    wengert::set_threads(machine);
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(results[0][0].iter().any(|bits| *bits != results[0][0][0]), "the numbers differ among themselves");
}

#[test]
fn a_dropped_leaf_takes_its_gradient_with_it() {
    let kept = Tensor::from(2.0).require_grad();
    let y = {
        let dropped = Tensor::from(3.0).require_grad();
        &dropped * &kept
    };
    y.backward();
    assert_eq!(kept.grad().unwrap().item(), 3.0);
}

#[test]
fn a_saved_output_of_several_is_found_again_under_create_graph() {
    let a = Tensor::from([[2.0, 0.3], [0.1, 1.0]]).require_grad();
    let (u, s, _) = a.svd();
    let y = u.slice((0, 0)) * u.slice((1, 0));
    let da = autograd::grad_with(&[&y], &[&a], Backward::new().create_graph()).remove(0).unwrap();
    // The gradient contains 1 / (s_j^2 - s_i^2), so it depends on the s that the user holds.
    let ds = autograd::grad_with(&[&da.square().sum()], &[&s], Backward::new().retain_graph()).remove(0);
    assert!(ds.expect("a gradient").to_f64_vec().iter().all(|g| g.abs() > 1e-6));
}

#[test]
fn a_sweep_that_keeps_beside_one_that_consumes_gets_a_typed_error_or_the_right_gradient() {
    for _ in 0..100 {
        let x = Tensor::from([0.5, 1.5]).require_grad();
        let y = (0..30).fold(x.clone(), |y, _| (&y * &x).tanh()).sum();
        let expected = autograd::grad_with(&[&y], &[&x], Backward::new().retain_graph()).remove(0).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| y.backward());
            scope.spawn(|| {
                match catch(|| autograd::grad_with(&[&y], &[&x], Backward::new().retain_graph()).remove(0)) {
                    Ok(found) => assert_eq!(found.unwrap(), expected),
                    Err(error) => assert_eq!(error.kind(), &ErrorKind::GraphFreed),
                }
            });
        });
        assert_eq!(x.grad().unwrap(), expected);
    }
}

#[test]
fn a_hook_that_computes_with_leaves_does_not_record_the_sweep() {
    let (x, scale) = (Tensor::from(2.0).require_grad(), Tensor::from(10.0).require_grad());
    for _ in 0..3 {
        let y = &x * 3.0;
        let scale = scale.clone();
        y.register_hook(move |g| Some(g * &scale));
        y.backward();
    }
    let gradient = x.grad().unwrap();
    assert_eq!(gradient.item(), 90.0);
    assert!(!gradient.requires_grad());
    // Conversely, if requested, the graph is created even inside no_grad.
    let y = &x * &x;
    x.zero_grad();
    no_grad(|| y.backward_with(Backward::new().create_graph()));
    assert!(x.grad().unwrap().requires_grad());
}

#[test]
fn recorded_values_do_not_keep_their_own_graph_alive() {
    let token = Arc::new(());
    let watched = Arc::downgrade(&token);
    {
        let x = Tensor::from(2.0).require_grad();
        record_values(|| {
            let y = &x * &x;
            let z = &y * &x;
            z.register_hook(move |_| {
                let _held = &token;
                None
            });
            z.backward_with(Backward::new().create_graph());
        });
    }
    assert!(watched.upgrade().is_none());
}

#[test]
fn what_no_grad_computes_inside_a_transform_outlives_it() {
    let average = std::cell::RefCell::new(Tensor::from(0.0));
    let gradient = grad(|x: &Tensor| {
        let mut average = average.borrow_mut();
        let next = no_grad(|| &*average * 0.9 + x * 0.1);
        *average = next;
        x * x
    });
    assert_eq!(gradient(&Tensor::from(10.0)).item(), 20.0);
    assert_eq!(gradient(&Tensor::from(10.0)).item(), 20.0);
    assert!((average.borrow().item() - 1.9).abs() < 1e-15);
    assert_eq!((&*average.borrow() * 2.0).item(), 3.8);
}

#[test]
fn tape_rows_of_several_outputs_and_of_updates_have_their_values() {
    let x = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).require_grad();
    let y = record_values(|| {
        let mut y = x.clone();
        y += 1.0;
        let y = y.max_along(1).0.sum();
        y.backward_with(Backward::new().retain_graph());
        y
    });
    let tape = Tape::of(&y);
    let row = |operation: &str| tape.rows().iter().find(|row| row.operation.starts_with(operation)).unwrap();
    assert_eq!(row("leaf").value.as_ref().unwrap(), &x.detach());
    assert_eq!(row("output 0").value.as_ref().unwrap(), &Tensor::from([6.0, 8.0]));
    assert_eq!(row("output 0").adjoint.as_ref().unwrap(), &Tensor::from([1.0, 1.0]));
    assert_eq!(row("max").contributions[0].as_ref().unwrap(), &Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
}

#[test]
fn create_graph_differentiates_the_gradient() {
    let x = Tensor::from([0.5, 1.5]).require_grad();
    let y = (x.sin() * x.exp()).sum();
    y.backward_with(Backward::new().create_graph());
    let gradient = x.grad().unwrap();
    assert!(gradient.requires_grad());
    x.zero_grad();
    gradient.sum().backward();
    let second: Vec<f64> = [0.5f64, 1.5].iter().map(|x| 2.0 * x.cos() * x.exp()).collect();
    assert!(x.grad().unwrap().all_close(&Tensor::from(second), 1e-14));
}

#[test]
fn hooks_can_be_removed_and_several_run_in_order() {
    let x = Tensor::from(1.0).require_grad();
    let y = &x * 2.0;
    let doubled = y.register_hook(|g| Some(g * 2.0));
    y.register_hook(|g| Some(g + 1.0));
    y.backward_with(Backward::new().retain_graph());
    assert_eq!(x.grad().unwrap().item(), 6.0, "(1 * 2 + 1) * 2");
    doubled.remove();
    x.zero_grad();
    y.backward();
    assert_eq!(x.grad().unwrap().item(), 4.0, "(1 + 1) * 2");
    let total = Arc::new(Mutex::new(Vec::new()));
    let log = total.clone();
    x.register_accumulate_hook(move |gradient| log.lock().unwrap().push(gradient.item()));
    (&x * 3.0).backward();
    (&x * 3.0).backward();
    assert_eq!(*total.lock().unwrap(), [7.0, 10.0]);
}

#[test]
fn modes_nest_and_levels_opened_inside_no_grad_ignore_it() {
    let x = Tensor::from(3.0).require_grad();
    no_grad(|| {
        assert!(!(&x * 2.0).requires_grad());
        enable_grad(|| assert!((&x * 2.0).requires_grad()));
        assert!(!(&x * 2.0).requires_grad());
        assert_eq!(grad(|x: &Tensor| x * x)(&x.detach()).item(), 6.0);
    });
    let caught = catch(|| no_grad(|| Tensor::zeros([3]) + Tensor::zeros([2])));
    assert!(caught.is_err() && (&x * 2.0).requires_grad(), "a panic leaves the mode as it was");
    // A level that is open on entry is stopped, in reverse and forward mode and staged.
    let f = |x: &Tensor| x * no_grad(|| x * x);
    assert_eq!(grad(f)(&Tensor::from(3.0)).item(), 9.0);
    assert_eq!(jvp(f, &Tensor::from(3.0), &Tensor::from(1.0)).1.item(), 9.0);
    let staged = compile(f);
    assert_eq!(grad(|x: &Tensor| staged.call(x))(&Tensor::from(3.0)).item(), 9.0);
    assert!(staged.program(&Tensor::from(3.0)).to_string().contains("stop_gradient"));
}

#[test]
fn anomalies_name_the_operation_and_the_line() {
    let x = Tensor::from([-1.0, 4.0]).require_grad();
    let line = line!() + 1;
    let error = catch(|| detect_anomaly(|| x.sqrt())).unwrap_err();
    assert_eq!((error.operation(), error.line().unwrap().line()), ("sqrt", line));
    assert_eq!(error.kind(), &ErrorKind::Anomaly);
    let mut infinite = Tensor::from([f64::INFINITY, 1.0]);
    let error = catch(|| detect_anomaly(|| infinite *= Tensor::from([0.0, 1.0]))).unwrap_err();
    assert_eq!(error.operation(), "mul");
    assert_eq!(infinite, Tensor::from([f64::INFINITY, 1.0]), "a failing update leaves the tensor");
    let y = Tensor::from(-1.0).require_grad().log();
    let error = catch(|| detect_anomaly(|| y.backward())).unwrap_err();
    assert_eq!(error.operation(), "log", "the user's operation, not one of its rule");
    // The root is infinitely steep where the square is flat.
    let zero = Tensor::from(0.0).require_grad();
    let y = zero.square().sqrt();
    let ((), guarded) = detect_anomaly(|| y.backward());
    assert_eq!((guarded.len(), guarded[0].count, zero.grad().unwrap().item()), (1, 1, 0.0));
    // Outside anomaly mode NaN is a value like any other.
    assert!(x.sqrt().to_f64_vec()[0].is_nan());
    let zero = Tensor::from([0.0, 4.0]).require_grad();
    let y = detect_anomaly(|| zero.sqrt() * Tensor::from([f64::INFINITY, 1.0]).detach().recip()).0;
    let ((), guarded) = detect_anomaly(|| y.sum().backward());
    assert_eq!(guarded.len(), 1);
    assert_eq!(guarded[0].count, 1);
    assert_eq!(zero.grad().unwrap(), Tensor::from([0.0, 0.25]));
}

#[test]
fn transforms_work_inside_the_imperative_tape() {
    let w = Tensor::from(3.0).require_grad();
    // The gradient of w x^2 with respect to x is 2 w x, and that with respect to w is 2 x.
    let dx = grad(|x: &Tensor| &w * x * x)(&Tensor::from(5.0));
    assert_eq!(dx.item(), 30.0);
    dx.backward();
    assert_eq!(w.grad().unwrap().item(), 10.0);
}

#[test]
fn a_compiled_function_gives_captured_leaves_their_gradients_every_time() {
    let w = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).require_grad();
    let bare = compile(|x: &Tensor| x.matmul(&w).sum());
    let derived = compile(|x: &Tensor| x.matmul(&(w.t() * 2.0)).sum());
    let x = Tensor::ones([1, 2]);
    no_grad(|| (bare.call(&x), derived.call(&x)));
    for step in 1..=3 {
        bare.call(&x).backward();
        assert_eq!(w.grad().unwrap(), Tensor::full([2, 2], f64::from(step)));
    }
    w.zero_grad();
    for step in 1..=3 {
        derived.call(&x).backward();
        assert_eq!(w.grad().unwrap(), Tensor::full([2, 2], 2.0 * f64::from(step)));
    }
}

#[test]
fn a_compiled_function_sees_an_updated_leaf() {
    let w = std::cell::RefCell::new(Tensor::from(0.0).require_grad());
    let f = compile(|x: &Tensor| (x * &*w.borrow() - 6.0).square().sum());
    for _ in 0..50 {
        f.call(&Tensor::from(2.0)).backward();
        let mut w = w.borrow_mut();
        let step = w.grad().unwrap() * 0.1;
        no_grad(|| *w -= step);
        w.zero_grad();
    }
    assert!((w.borrow().item() - 3.0).abs() < 1e-6, "{}", w.borrow());
}
