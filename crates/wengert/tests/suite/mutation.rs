//! Mutation is always correct: updates happen in place if they are not observable, and copy otherwise, with gradients in both cases.

use wengert::prelude::*;

#[test]
fn views_and_their_source_do_not_see_each_other() {
    let mut x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let mut row = x.slice(0);
    assert!(row.shares_memory_with(&x));
    row += 10.0;
    assert_eq!((x.slice(0), row.clone()), (Tensor::from([1.0, 2.0]), Tensor::from([11.0, 12.0])));
    let transposed = x.t();
    x.set((0, 1), 9.0);
    assert_eq!(transposed, Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    assert_eq!(x, Tensor::from([[1.0, 9.0], [3.0, 4.0]]));
}

#[test]
fn a_repeated_layout_is_copied_before_it_is_written() {
    let mut x = Tensor::from([1.0, 2.0]).broadcast_to([3, 2]);
    x.set((0, 0), 7.0);
    assert_eq!(x, Tensor::from([[7.0, 2.0], [1.0, 2.0], [1.0, 2.0]]));
    let mut zeros = Tensor::zeros([3]);
    zeros.slice_mut(1).add(5.0);
    assert_eq!(zeros, Tensor::from([0.0, 5.0, 0.0]));
}

/// The gradient of `f` in every way.
fn check(f: impl Fn(&Tensor) -> Tensor, x: &Tensor, expected: &Tensor) {
    let leaf = x.clone().require_grad();
    f(&leaf).backward();
    assert_eq!(leaf.grad().unwrap(), *expected);
    assert_eq!(leaf, *x, "the leaf keeps its value");
    assert_eq!(grad(&f)(x), *expected);
    assert_eq!(compile(grad(&f)).call(x), *expected);
    let batch = |t: &Tensor| t.broadcast_to([&[3], t.shape()].concat());
    assert_eq!(vmap(grad(&f))(&batch(x)), batch(expected));
    assert_eq!(jvp(&f, x, &x.full_like(1.0)).1, expected.sum());
}

#[test]
fn an_assigned_part_gets_the_gradient_and_what_was_there_gets_none() {
    let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    check(
        |x| {
            let mut y = x.square();
            y.slice_mut(1..3).assign(x.slice(0..2) * 10.0);
            y.sum()
        },
        &x,
        &Tensor::from([12.0, 10.0, 0.0, 8.0]),
    );
    check(
        |x| {
            let mut y = x.clone();
            y.set(2, 5.0);
            y.square().sum()
        },
        &x,
        &Tensor::from([2.0, 4.0, 0.0, 8.0]),
    );
    check(
        |x| {
            let mut y = x.clone();
            y.slice_mut(0).add(x.slice(3));
            y.square().sum()
        },
        &x,
        &Tensor::from([10.0, 4.0, 6.0, 18.0]),
    );
}

#[test]
fn every_assigning_operator_has_gradients() {
    let x = Tensor::from([1.0, 2.0]);
    check(
        |x| {
            let mut y = x.clone();
            y += x;
            y.sum()
        },
        &x,
        &Tensor::from([2.0, 2.0]),
    );
    check(
        |x| {
            let mut y = x.clone();
            y -= x * 3.0;
            y.sum()
        },
        &x,
        &Tensor::from([-2.0, -2.0]),
    );
    check(
        |x| {
            let mut y = x.clone();
            y *= x;
            y.sum()
        },
        &x,
        &Tensor::from([2.0, 4.0]),
    );
    check(
        |x| {
            let mut y = x.square();
            y /= x;
            y.sum()
        },
        &x,
        &Tensor::from([1.0, 1.0]),
    );
    check(
        |x| {
            let mut y = x.clone();
            y *= 4.0;
            y += x.sum();
            y.sum()
        },
        &x,
        &Tensor::from([6.0, 6.0]),
    );
}

#[test]
fn a_loop_that_overwrites_keeps_every_version_in_the_graph() {
    let x = Tensor::from(0.5);
    let f = |x: &Tensor| {
        let mut h = Tensor::zeros([3]);
        for step in 0..3usize {
            let next = (h.sum() + x).tanh();
            h.set(step, &next);
        }
        h.sum()
    };
    let leaf = x.clone().require_grad();
    f(&leaf).backward();
    let step = 1e-5;
    let numeric = (f(&(&x + step)).item() - f(&(&x - step)).item()) / (2.0 * step);
    assert!((leaf.grad().unwrap().item() - numeric).abs() < 1e-9);
    assert!((grad(f)(&x).item() - numeric).abs() < 1e-9);
}

#[test]
fn inside_no_grad_a_leaf_stays_the_leaf() {
    let mut x = Tensor::from([1.0, 2.0]).require_grad();
    x.square().sum().backward();
    let gradient = x.grad().unwrap();
    no_grad(|| x -= &gradient * 0.1);
    assert!(x.is_leaf() && x.requires_grad());
    assert_eq!(x.grad().unwrap(), gradient, "the gradient slot survives");
    assert!(x.all_close(&Tensor::from([0.8, 1.6]), 1e-15));
    x.zero_grad();
    x.square().sum().backward();
    assert!(x.grad().unwrap().all_close(&Tensor::from([1.6, 3.2]), 1e-15));
}

#[test]
fn under_grad_mode_an_updated_leaf_becomes_an_intermediate() {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    let mut y = x.clone();
    y *= 3.0;
    assert!(!y.is_leaf() && y.requires_grad());
    y.square().sum().backward();
    assert_eq!(catch(|| y.grad()).unwrap_err().kind(), &ErrorKind::NoGradient);
    assert_eq!(x.grad().unwrap(), Tensor::from([18.0, 36.0]));
}

#[test]
fn taking_an_array_apart_is_linear() {
    // A quadratic backward pass would touch 10^5 * 10^5 elements here.
    let n = 100_000usize;
    let x = Tensor::from_vec((0..n).map(|i| i as f64).collect(), [n]).require_grad();
    let mut sum = Tensor::from(0.0);
    for i in 0..n {
        sum += x.slice(i) * 2.0;
    }
    sum.backward();
    assert_eq!(x.grad().unwrap(), Tensor::full([n], 2.0));
}

#[test]
fn a_handle_that_was_updated_outside_no_grad_has_no_gradient_and_says_where() {
    let mut w = Tensor::from([1.0, 2.0]).require_grad();
    w.square().sum().backward();
    let line = line!() + 1;
    w -= w.grad().unwrap() * 0.1;
    w.square().sum().backward();
    for error in [catch(|| w.grad()).unwrap_err(), catch(|| w.take_grad()).unwrap_err()] {
        assert_eq!(error.kind(), &ErrorKind::NoGradient);
        assert!(error.message().contains(&format!("mutation.rs:{line}")), "{error}");
        assert!(error.suggestion().unwrap().contains("no_grad"), "{error}");
        assert!(error.to_string().contains("mutation.rs"), "{error}");
    }
    // Clearing a missing gradient is not an error, and a requested gradient is there.
    w.zero_grad();
    let mut w = Tensor::from([1.0, 2.0]).require_grad();
    w *= 3.0;
    let w = w.retain_grad();
    w.square().sum().backward();
    assert!(w.grad().unwrap().all_close(&(&w * 2.0), 1e-15));
    // A leaf that still has another handle has lost nothing.
    let x = Tensor::from(1.0).require_grad();
    let mut sum = x.clone();
    (0..4).for_each(|_| sum += &x);
    sum.backward();
    assert_eq!(x.grad().unwrap().item(), 5.0);
}

#[test]
fn tensors_cross_threads() {
    fn send_and_sync<T: Send + Sync + Clone>() {}
    send_and_sync::<Tensor>();
    let x = Tensor::from([1.0, 2.0]).require_grad();
    let y = std::thread::scope(|scope| scope.spawn(|| x.square().sum()).join().unwrap());
    std::thread::spawn(move || y.backward()).join().unwrap();
    assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0]));
}
