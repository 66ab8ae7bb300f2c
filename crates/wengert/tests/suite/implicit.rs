//! Implicit differentiation: roots, fixed points and minima compared with closed forms; how solvers fail.

use super::closeness::{close, near};
use super::matrices::skew;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

/// A symmetric positive definite matrix.
fn definite(n: usize) -> Tensor {
    let a = skew(n);
    a.matmul(&a.t())
}

fn ramp(n: usize) -> Tensor {
    Tensor::linspace(-1.0, 2.0, n)
}

fn product(a: &Tensor, x: &Tensor) -> Tensor {
    a.matmul(x)
}

#[test]
fn the_square_root_as_a_root_has_its_three_derivatives() {
    let f = |a: &Tensor| root(|a: &Tensor, x: &Tensor| x * x - a, a, &Tensor::from(1.0));
    let a = Tensor::from(2.0);
    let (first, second, third) = (0.5 * 2f64.powf(-0.5), -0.25 * 2f64.powf(-1.5), 0.375 * 2f64.powf(-2.5));
    near(f(&a).item(), 2f64.sqrt(), 1e-15);
    near(grad(f)(&a).item(), first, 1e-15);
    near(grad(grad(f))(&a).item(), second, 1e-14);
    near(grad(grad(grad(f)))(&a).item(), third, 1e-14);
    let one = Tensor::from(1.0);
    let forward = |x: &Tensor| jvp(f, x, &Tensor::from(1.0)).1;
    near(forward(&a).item(), first, 1e-15);
    near(jvp(forward, &a, &one).1.item(), second, 1e-14);
    near(jvp(grad(f), &a, &one).1.item(), second, 1e-14);
    near(grad(forward)(&a).item(), second, 1e-14);
    near(grad(|x: &Tensor| jvp(forward, x, &Tensor::from(1.0)).1)(&a).item(), third, 1e-14);
    let many = Tensor::from([1.0, 2.0, 9.0]);
    close(&vmap(f)(&many), &many.sqrt(), 1e-14);
    close(&vmap(grad(f))(&many), &(many.pow(-0.5) * 0.5), 1e-14);
    close(&vmap(grad(grad(f)))(&many), &(many.pow(-1.5) * -0.25), 1e-14);
    close(&grad(|x: &Tensor| vmap(f)(x).sum())(&many), &(many.pow(-0.5) * 0.5), 1e-14);
    let staged = compile(grad(f));
    near(staged.call(&a).item(), first, 1e-15);
    near(staged.call(&Tensor::from(9.0)).item(), 1.0 / 6.0, 1e-15);
    near(grad(|x: &Tensor| staged.call(x))(&a).item(), second, 1e-14);
    close(&compile(vmap(grad(f))).call(&many), &(many.pow(-0.5) * 0.5), 1e-14);
    let leaf = a.require_grad();
    let first_again = wengert::autograd::grad_with(&[&f(&leaf)], &[&leaf], Backward::new().create_graph()).remove(0);
    let second_again = wengert::autograd::grad(&[&first_again.unwrap()], &[&leaf]).remove(0);
    near(second_again.item(), second, 1e-14);
}

#[test]
fn keplers_equation_has_its_derivatives() {
    // E - e sin E = M: dE/dM = 1 / (1 - e cos E), dE/de = sin E / (1 - e cos E).
    let anomaly = |(e, m): &(Tensor, Tensor)| {
        root(|(e, m): &(Tensor, Tensor), x: &Tensor| x - e * x.sin() - m, &(e.clone(), m.clone()), m)
    };
    for (e, m) in [(0.1, 0.5), (0.7, 2.0), (0.95, 0.3)] {
        let at = (Tensor::from(e), Tensor::from(m));
        let x = anomaly(&at).item();
        near(x - e * x.sin(), m, 1e-14);
        let (by_e, by_m) = grad(anomaly)(&at);
        let w = 1.0 - e * x.cos();
        near(by_m.item(), 1.0 / w, 1e-12);
        near(by_e.item(), x.sin() / w, 1e-12);
        let second = grad(|at: &(Tensor, Tensor)| grad(anomaly)(at).1)(&at).1.item();
        near(second / (-e * x.sin() / w.powi(3)), 1.0, 1e-10);
    }
}

#[test]
fn large_systems_use_products_alone() {
    // x^3 + x coupled to its neighbours, with more unknowns than are factored.
    let n = 150;
    let f = |(s, b): &(Tensor, Tensor), x: &Tensor| x * x * x + x * 3.0 - s * x.roll(&[1], &[0]) - b;
    let solve = move |theta: &(Tensor, Tensor)| root(f, theta, &Tensor::zeros([n]));
    let theta = (Tensor::from(0.5), Tensor::linspace(-2.0, 3.0, n));
    let x = solve(&theta);
    close(&f(&theta, &x), &Tensor::zeros([n]), 1e-12);
    let matrix = jacobian(|x: &Tensor| f(&theta, x))(&x);
    let weights = ramp(n);
    let scalar = |theta: &(Tensor, Tensor)| (solve(theta) * ramp(n)).sum();
    let (by_s, by_b) = grad(scalar)(&theta);
    let adjoint = matrix.t().solve(&weights);
    close(&by_b, &adjoint, 1e-9);
    near(by_s.item(), (&adjoint * x.roll(&[1], &[0])).sum().item(), 1e-8);
    let direction = (Tensor::from(1.0), Tensor::zeros([n]));
    close(&jvp(solve, &theta, &direction).1, &matrix.solve(&x.roll(&[1], &[0])), 1e-9);
    let second = jvp(|t: &(Tensor, Tensor)| grad(scalar)(t).0, &theta, &direction).1.item();
    let slope_at = |s: f64| grad(scalar)(&(Tensor::from(s), theta.1.clone())).0.item();
    near(second, (slope_at(0.5 + 1e-4) - slope_at(0.5 - 1e-4)) / 2e-4, 1e-4);
}

#[test]
fn fixed_points_are_differentiated_by_their_equation() {
    let babylonian = |a: &Tensor, x: &Tensor| (x + a / x) / 2.0;
    let f = |a: &Tensor| fixed_point(babylonian, a, &Tensor::from(1.0));
    let a = Tensor::from(3.0);
    near(f(&a).item(), 3f64.sqrt(), 1e-14);
    near(grad(f)(&a).item(), 0.5 * 3f64.powf(-0.5), 1e-14);
    near(grad(grad(f))(&a).item(), -0.25 * 3f64.powf(-1.5), 1e-14);
    close(&vmap(grad(f))(&Tensor::from([1.0, 4.0])), &Tensor::from([0.5, 0.25]), 1e-14);
    // x = tanh(W x + b): dx = (I - D W)^-1 D db, with D = diag(1 - x^2).
    let g = |(w, b): &(Tensor, Tensor), x: &Tensor| (w.matmul(x) + b).tanh();
    let theta = (skew(5) * 0.15, ramp(5));
    for options in [FixedPoint::new(), FixedPoint::new().anderson(4)] {
        let solve = |theta: &(Tensor, Tensor)| options.clone().tolerance(1e-13).solve(g, theta, &Tensor::zeros([5]));
        let x = solve(&theta);
        close(&g(&theta, &x), &x, 1e-12);
        let slopes = (-x.square() + 1.0).reshape([5, 1]);
        let expected = (Tensor::eye(5) - &theta.0 * &slopes).solve(&(Tensor::eye(5) * &slopes));
        close(&jacobian(solve)(&theta).1, &expected, 1e-11);
    }
    let count = |options: FixedPoint| {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let slow = move |_: &(), x: &Tensor| {
            counted.fetch_add(1, Ordering::Relaxed);
            (x * Tensor::linspace(0.5, 0.95, 6) + 1.0).sin() + x * 0.0
        };
        options.solve(slow, &(), &Tensor::zeros([6]));
        calls.load(Ordering::Relaxed)
    };
    let (plain, accelerated) = (count(FixedPoint::new()), count(FixedPoint::new().anderson(5)));
    assert!(accelerated < plain, "{accelerated} calls with acceleration, {plain} without");
}

#[test]
fn ridge_regression_by_argmin_has_the_gradient_of_its_closed_form() {
    let data = Tensor::from_vec((0..24).map(|i| ((i * i) as f64).cos()).collect::<Vec<_>>(), [8, 3]);
    let targets = Tensor::linspace(0.0, 1.0, 8).square();
    let loss = |(x, y, strength): &(Tensor, Tensor, Tensor), w: &Tensor| {
        (x.matmul(w) - y).square().sum() + strength * w.square().sum()
    };
    let fitted = |theta: &(Tensor, Tensor, Tensor)| argmin(loss, theta, &Tensor::zeros([3]));
    let closed = |(x, y, strength): &(Tensor, Tensor, Tensor)| {
        (x.t().matmul(x) + Tensor::eye(3) * strength).solve(&x.t().matmul(y))
    };
    let theta = (data, targets, Tensor::from(0.3));
    close(&fitted(&theta), &closed(&theta), 1e-12);
    let of = |f: &dyn Fn(&(Tensor, Tensor, Tensor)) -> Tensor, t: &(Tensor, Tensor, Tensor)| (f(t) * ramp(3)).sum();
    let (found, expected) = (grad(|t: &_| of(&fitted, t))(&theta), grad(|t: &_| of(&closed, t))(&theta));
    close(&found.0, &expected.0, 1e-11);
    close(&found.1, &expected.1, 1e-11);
    close(&found.2, &expected.2, 1e-11);
    let second = |f: &dyn Fn(&(Tensor, Tensor, Tensor)) -> Tensor| grad(|t: &_| grad(|t: &_| of(f, t))(t).2)(&theta).2;
    close(&second(&fitted), &second(&closed), 1e-10);
}

#[test]
fn minima_are_found_past_saddles_and_along_valleys() {
    // Rosenbrock's valley.
    let valley = |a: &Tensor, x: &(Tensor, Tensor)| (a - &x.0).square() + (&x.1 - x.0.square()).square() * 100.0;
    let start = (Tensor::from(-1.2), Tensor::from(1.0));
    let f = |a: &Tensor| argmin(valley, a, &(Tensor::from(-1.2), Tensor::from(1.0)));
    let (x, y) = argmin(valley, &Tensor::from(1.0), &start);
    near(x.item(), 1.0, 1e-9);
    near(y.item(), 1.0, 1e-9);
    // The minimum is (a, a^2).
    near(grad(|a: &Tensor| f(a).1)(&Tensor::from(1.5)).item(), 3.0, 1e-8);
    // Negative curvature near the start.
    let wells = |a: &Tensor, x: &Tensor| (x.square() - a).square().sum();
    let x = argmin(wells, &Tensor::from(4.0), &Tensor::from([1e-3, -1e-3]));
    close(&x, &Tensor::from([2.0, -2.0]), 1e-9);
    // More unknowns than are factored: the derivative uses conjugate gradients.
    let n = 120;
    let chain = move |b: &Tensor, x: &Tensor| {
        let steps = x.narrow(0, 1, n - 1) - x.narrow(0, 0, n - 1);
        steps.square().sum() + (x - b).square().sum() + x.cosh().sum() * 0.1
    };
    let b = ramp(n);
    let solve = move |b: &Tensor| argmin(chain, b, &Tensor::zeros([n]));
    let hessian = hessian(|x: &Tensor| chain(&b, x))(&solve(&b));
    close(&grad(|b: &Tensor| solve(b).sum())(&b), &(hessian.solve(&Tensor::ones([n])) * 2.0), 1e-8);
}

#[test]
fn gradients_through_a_root_neither_record_nor_repeat_its_iterations() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let f = move |a: &Tensor, x: &Tensor| {
        counter.fetch_add(1, Ordering::Relaxed);
        x.exp() - a
    };
    let solve = move |start: f64| {
        let f = f.clone();
        move |a: &Tensor| root(f.clone(), a, &Tensor::from(start))
    };
    let a = Tensor::from(5.0);
    let used = |g: &dyn Fn() -> f64| {
        calls.store(0, Ordering::Relaxed);
        (g(), calls.load(Ordering::Relaxed))
    };
    for start in [1.6, 12.0] {
        let (_, forward) = used(&|| solve(start)(&a).item());
        let (slope, both) = used(&|| grad(solve(start))(&a).item());
        near(slope, 0.2, 1e-12);
        assert_eq!(both - forward, 2, "one run for the Jacobian and one for the parameters");
    }
    let (_, few) = used(&|| solve(1.6)(&a).item());
    let (_, many) = used(&|| solve(12.0)(&a).item());
    assert!(many > few + 5, "{many} against {few}");
    // The imperative tape holds one record, however long the iteration was.
    let held = |start: f64| {
        let leaf = a.clone().require_grad();
        Tape::of(&solve(start)(&leaf)).rows().len()
    };
    assert_eq!(held(1.6), held(12.0));
    assert!(held(1.6) <= 3);
}

#[test]
fn the_first_guess_has_no_gradient() {
    let f = |(a, x0): &(Tensor, Tensor)| root(|a: &Tensor, x: &Tensor| x * x - a, a, x0);
    let (a, x0) = grad(f)(&(Tensor::from(4.0), Tensor::from(1.0)));
    assert_eq!((a.item(), x0.item()), (0.25, 0.0));
    let by_guess = |x0: &Tensor| f(&(Tensor::from(4.0), x0.clone()));
    close(&vmap(by_guess)(&Tensor::from([1.0, -1.0])), &Tensor::from([2.0, -2.0]), 1e-14);
    assert_eq!(
        jvp(|x0: &Tensor| f(&(Tensor::from(4.0), x0.clone())), &Tensor::from(1.0), &Tensor::from(1.0)).1.item(),
        0.0
    );
}

#[test]
fn what_is_computed_without_gradients_is_a_number() {
    let leaf = Tensor::from([4.0, 9.0]).require_grad();
    let x = no_grad(|| root(|a: &Tensor, x: &Tensor| x * x - a, &leaf, &leaf));
    assert!(!x.requires_grad());
    let x = no_grad(|| linear_solve(|_: &(), x: &Tensor| x.clone(), &(), &leaf, Krylov::gmres()));
    assert!(!x.requires_grad());
    close(&x, &Tensor::from([4.0, 9.0]), 1e-14);
}

#[test]
fn a_root_has_any_number_of_parameters() {
    let many = |count: usize| vec![Tensor::from(1.0); count];
    let f = |a: &Vec<Tensor>| root(|a: &Vec<Tensor>, x: &Tensor| x - &a[0], a, &Tensor::from(0.0));
    for count in [62, 63, 64, 65, 200] {
        assert_eq!(grad(f)(&many(count))[0].item(), 1.0);
    }
}

#[test]
fn solvers_run_inside_checkpoints() {
    let inner = |a: &Tensor| root(|a: &Tensor, x: &Tensor| x * x - a, &a.exp(), &Tensor::from(1.0)).sin();
    let plain = |a: &Tensor| (a / 2.0).exp().sin();
    let f = |a: &Tensor| checkpoint(inner)(a) + a;
    let g = |a: &Tensor| plain(a) + a;
    let a = Tensor::from(0.7);
    near(grad(f)(&a).item(), grad(g)(&a).item(), 1e-13);
    near(grad(grad(f))(&a).item(), grad(grad(g))(&a).item(), 1e-12);
    near(jvp(grad(f), &a, &Tensor::from(1.0)).1.item(), grad(grad(g))(&a).item(), 1e-12);
    let many = Tensor::from([0.2, 0.7]);
    close(&vmap(grad(f))(&many), &vmap(grad(g))(&many), 1e-13);
    let leaf = a.clone().require_grad();
    f(&leaf).backward();
    near(leaf.grad().unwrap().item(), grad(g)(&a).item(), 1e-13);
}

#[test]
fn taylor_mode_passes_through_solvers() {
    let along = [Tensor::from(1.0)];
    let square_root = |a: &Tensor| root(|a: &Tensor, x: &Tensor| x * x - a, a, &Tensor::from(1.0));
    let by_systems = |a: &Tensor| linear_solve(|a: &Tensor, x: &Tensor| a * x, a, &Tensor::from(1.0), Krylov::gmres());
    let a = Tensor::from(2.0);
    let (found, expected) = (jet(square_root, &a, &along, 4), jet(|a: &Tensor| a.sqrt(), &a, &along, 4));
    found.iter().zip(&expected).for_each(|(found, expected)| near(found.item(), expected.item(), 1e-12));
    let (found, expected) = (jet(by_systems, &a, &along, 4), jet(|a: &Tensor| 1.0 / a, &a, &along, 4));
    found.iter().zip(&expected).for_each(|(found, expected)| near(found.item(), expected.item(), 1e-12));
}

#[test]
fn failures_are_typed_and_name_the_line() {
    let here = |error: &Error| assert_eq!(error.line().unwrap().file(), file!(), "{error}");
    let error = try_root(|_: &(), x: &Tensor| x * x + 1.0, &(), &Tensor::from(2.0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { .. } | ErrorKind::Singular(_)), "{error}");
    here(&error);
    let error = catch(|| root(|_: &(), x: &Tensor| x * 0.0 + 1.0, &(), &Tensor::from([2.0, 1.0]))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Singular(vec![]));
    here(&error);
    let error = try_fixed_point(|_: &(), x: &Tensor| x * -3.0, &(), &Tensor::from(2.0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { .. }), "{error}");
    here(&error);
    let error = try_argmin(|_: &(), x: &Tensor| -x.square(), &(), &Tensor::from(2.0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { .. }), "{error}");
    here(&error);
    let wrong = Tensor::from([[1.0, 2.0], [2.0, 1.0]]);
    let error = try_linear_solve(product, &wrong, &Tensor::from([1.0, -1.0]), Krylov::cg()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotPositiveDefinite(vec![]));
    here(&error);
    let singular = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
    let error = try_linear_solve(product, &singular, &Tensor::from([1.0, 2.0]), Krylov::gmres()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Singular(_) | ErrorKind::Diverged { .. }), "{error}");
    here(&error);
    let error = try_linear_solve(product, &definite(30), &ramp(30), Krylov::cg().steps(2)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { steps: 2, .. }), "{error}");
    // The derivative at a double root does not exist; the error names the call of root.
    let double = |a: &Tensor| root(|a: &Tensor, x: &Tensor| (x - a) * (x - a), a, &Tensor::from(1.0));
    let error = catch(|| grad(double)(&Tensor::from(1.0))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Singular(vec![]));
    here(&error);
    let error = catch(|| root(|_: &(), x: &Tensor| x.sum(), &(), &Tensor::from([2.0, 1.0]))).unwrap_err();
    assert!(error.to_string().contains("what the function returned is f64[], not f64[2]"), "{error}");
    here(&error);
    let error = catch(|| root(|_: &(), x: &Tensor| x.clone(), &(), &Tensor::from([2i64]))).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DType(_)));
    here(&error);
}

#[test]
fn captured_tensors_are_constants_and_others_an_error() {
    let captured = |a: &Tensor| {
        let inner = a.clone();
        root(move |_: &(), x: &Tensor| x * x - &inner, &(), &Tensor::from(1.0))
    };
    near(captured(&Tensor::from(4.0)).item(), 2.0, 1e-14);
    near(no_grad(|| captured(&Tensor::from(4.0).require_grad())).item(), 2.0, 1e-14);
    for error in [
        catch(|| grad(captured)(&Tensor::from(4.0))).unwrap_err(),
        catch(|| vmap(captured)(&Tensor::from([4.0, 9.0]))).unwrap_err(),
        catch(|| captured(&Tensor::from(4.0).require_grad())).unwrap_err(),
        catch(|| compile(captured).call(&Tensor::from(4.0))).unwrap_err(),
    ] {
        assert_eq!(error.kind(), &ErrorKind::WrongLevel, "{error}");
        assert!(error.suggestion().unwrap().contains("make it an input"), "{error}");
        assert_eq!(error.line().unwrap().file(), file!());
    }
}

#[test]
fn numbers_whose_squares_leave_the_range_are_solved_too() {
    for scale in [1e-200, 1e200] {
        let b = ramp(5) * scale;
        close(&(linear_solve(product, &skew(5), &b, Krylov::gmres()) / scale), &skew(5).solve(&ramp(5)), 1e-9);
        close(&(linear_solve(product, &definite(5), &b, Krylov::cg()) / scale), &definite(5).solve(&ramp(5)), 1e-9);
    }
    let error = try_fixed_point(|_: &(), x: &Tensor| x * 1e60, &(), &Tensor::from(1.0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { .. }), "{error}");
    let x = root(|_: &(), x: &Tensor| (x - 1.0) * 1e-30, &(), &Tensor::from(3f32));
    near(x.item(), 1.0, 1e-6);
}

#[test]
fn single_precision_and_empty_batches_work() {
    let f = |a: &Tensor| root(|a: &Tensor, x: &Tensor| x * x - a, a, &Tensor::from(1f32));
    let (x, slope) = value_and_grad(f)(&Tensor::from(2f32));
    assert_eq!((x.dtype(), slope.dtype()), (DType::F32, DType::F32));
    near(slope.item(), 0.5 * 2f64.powf(-0.5), 1e-6);
    let a = skew(20).cast(DType::F32);
    let x = linear_solve(product, &a, &ramp(20).cast(DType::F32), Krylov::gmres());
    close(&x.cast(DType::F64), &skew(20).solve(&ramp(20)), 1e-5);
    assert_eq!(vmap(f)(&Tensor::zeros_of([0], DType::F32)).shape(), [0]);
}
