//! Implicit differentiation: linear systems by operators, roots, fixed points and minima, against closed forms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    let difference = (a - b).abs().max().item();
    assert!(difference <= tolerance, "{a:?} against {b:?}: {difference:e}");
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} against {b}: {:e}", (a - b).abs());
}

/// A well conditioned matrix that is not symmetric.
fn skew(n: usize) -> Tensor {
    let entry = |place: usize| {
        let (i, j) = (place / n, place % n);
        if i == j { 4.0 } else { ((3 * i + 5 * j) as f64).sin() / n as f64 }
    };
    Tensor::from_vec((0..n * n).map(entry).collect::<Vec<f64>>(), [n, n])
}

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

/// A system as (solver, whether the matrix is made symmetric), and the same by factoring the matrix.
type Solve = Box<dyn Fn(&(Tensor, Tensor)) -> Tensor>;

fn both(symmetric: bool) -> (Solve, Solve) {
    let matrix = move |a: &Tensor| if symmetric { a.matmul(&a.t()) } else { a.clone() };
    let by_products = move |(a, b): &(Tensor, Tensor)| {
        let solver = if symmetric { Krylov::cg() } else { Krylov::gmres() };
        let operator = move |a: &Tensor, x: &Tensor| match symmetric {
            true => a.matmul(&a.t().matmul(x)),
            false => a.matmul(x),
        };
        linear_solve(operator, a, b, solver.tolerance(1e-13))
    };
    (Box::new(by_products), Box::new(move |(a, b): &(Tensor, Tensor)| matrix(a).solve(b)))
}

#[test]
fn linear_systems_agree_with_factoring_in_every_mode() {
    for symmetric in [true, false] {
        let (f, g) = both(symmetric);
        let x = (skew(6), ramp(6));
        let dx = (skew(6).t() * 0.3, ramp(6).square());
        close(&f(&x), &g(&x), 1e-11);
        let scalar = |h: &Solve, x: &(Tensor, Tensor)| (h(x).sin() * ramp(6)).sum();
        let (of_f, of_g) = (|x: &(Tensor, Tensor)| scalar(&f, x), |x: &(Tensor, Tensor)| scalar(&g, x));
        let (a, b) = (grad(of_f)(&x), grad(of_g)(&x));
        close(&a.0, &b.0, 1e-10);
        close(&a.1, &b.1, 1e-10);
        close(&jvp(&f, &x, &dx).1, &jvp(&g, &x, &dx).1, 1e-10);
        let (a, b) = (linearize(&f, &x).1, linearize(&g, &x).1);
        close(&a.apply(&dx), &b.apply(&dx), 1e-10);
        close(&a.apply_transpose(&ramp(6)).0, &b.apply_transpose(&ramp(6)).0, 1e-10);
    }
}

#[test]
fn second_derivatives_of_linear_systems_agree_by_every_order_of_modes() {
    for symmetric in [true, false] {
        let (f, g) = both(symmetric);
        let x = (skew(4), ramp(4));
        let dx = (skew(4).t() * 0.3, ramp(4).square());
        let of_f = |x: &(Tensor, Tensor)| (f(x).sin() * ramp(4)).sum();
        let of_g = |x: &(Tensor, Tensor)| (g(x).sin() * ramp(4)).sum();
        let expected = hvp(of_g, &x, &dx);
        let along = |x: &(Tensor, Tensor)| jvp(of_f, x, &dx).1;
        for found in [hvp(of_f, &x, &dx), vhp(of_f, &x, &dx), grad(along)(&x)] {
            close(&found.0, &expected.0, 1e-9);
            close(&found.1, &expected.1, 1e-9);
        }
        let third = |h: &dyn Fn(&(Tensor, Tensor)) -> Tensor| {
            let once = |x: &(Tensor, Tensor)| jvp(h, x, &dx).1;
            let twice = |x: &(Tensor, Tensor)| jvp(once, x, &dx).1;
            grad(twice)(&x)
        };
        let (found, expected) = (third(&of_f), third(&of_g));
        close(&found.0, &expected.0, 1e-8);
        close(&found.1, &expected.1, 1e-8);
    }
}

#[test]
fn linear_systems_are_batched_staged_and_recorded_imperatively() {
    for symmetric in [true, false] {
        let (f, g) = both(symmetric);
        let matrices = Tensor::stack(&[skew(3), skew(3).t() + Tensor::eye(3)], 0);
        let rights = Tensor::stack(&[ramp(3), ramp(3).square()], 0);
        let x = (matrices.clone(), rights.clone());
        close(&vmap(&f)(&x), &vmap(&g)(&x), 1e-11);
        let scalar = |h: &Solve, x: &(Tensor, Tensor)| h(x).square().sum();
        let of_f = |x: &(Tensor, Tensor)| scalar(&f, x);
        let of_g = |x: &(Tensor, Tensor)| scalar(&g, x);
        // Over and under grad, and one matrix for all right sides.
        close(&vmap(grad(of_f))(&x).0, &vmap(grad(of_g))(&x).0, 1e-10);
        let total = |h: &Solve| grad(|x: &(Tensor, Tensor)| vmap(h)(x).square().sum())(&x);
        close(&total(&f).0, &total(&g).0, 1e-10);
        let shared = |h: &Solve| {
            grad(|a: &Tensor| vmap(|b: &Tensor| h(&(a.clone(), b.clone())))(&rights).square().sum())(&skew(3))
        };
        close(&shared(&f), &shared(&g), 1e-10);
        let one = (skew(3), ramp(3));
        let (rows, columns) = (jacrev(&f)(&one), jacfwd(&f)(&one));
        close(&rows.0, &jacobian(&g)(&one).0, 1e-10);
        close(&columns.1, &jacobian(&g)(&one).1, 1e-10);
        // A program solves when it is evaluated, and keeps the rule.
        let staged = compile(of_f);
        near(staged.call(&one).item(), of_g(&one).item(), 1e-10);
        let other = (skew(3).t(), ramp(3) + 1.0);
        near(staged.call(&other).item(), of_g(&other).item(), 1e-10);
        assert_eq!(staged.signatures(), 1);
        close(&grad(|x: &(Tensor, Tensor)| staged.call(x))(&other).0, &grad(of_g)(&other).0, 1e-10);
        close(&compile(grad(of_f)).call(&other).0, &grad(of_g)(&other).0, 1e-10);
        close(&compile(vmap(grad(of_f))).call(&x).1, &vmap(grad(of_g))(&x).1, 1e-10);
        let leaves = (skew(3).require_grad(), ramp(3).require_grad());
        of_f(&leaves).backward();
        close(&leaves.0.grad().unwrap(), &grad(of_g)(&one).0, 1e-10);
        close(&leaves.1.grad().unwrap(), &grad(of_g)(&one).1, 1e-10);
    }
}

#[derive(Tree)]
struct Unknown {
    position: Tensor,
    multiplier: Tensor,
}

#[test]
fn trees_of_unknowns_and_parameters_are_solved_as_one_system() {
    // The saddle point of a constrained minimum: [[Q, a], [a', 0]].
    let operator = |(q, a): &(Tensor, Vec<Tensor>), x: &Unknown| Unknown {
        position: q * &x.position + &a[0] * &x.multiplier,
        multiplier: (&a[0] * &x.position).sum(),
    };
    let theta = (Tensor::from([2.0, 3.0]), vec![Tensor::from([1.0, 1.0])]);
    let b = Unknown { position: Tensor::from([1.0, 1.0]), multiplier: Tensor::from(1.0) };
    let x = linear_solve(operator, &theta, &b, Krylov::gmres());
    let dense = |q: &Tensor| {
        let q = q.to_vec::<f64>();
        Tensor::from([[q[0], 0.0, 1.0], [0.0, q[1], 1.0], [1.0, 1.0, 0.0]]).solve(&Tensor::from([1.0, 1.0, 1.0]))
    };
    let expected = dense(&theta.0).to_vec::<f64>();
    close(&x.position, &Tensor::from([expected[0], expected[1]]), 1e-12);
    near(x.multiplier.item(), expected[2], 1e-12);
    let f = move |theta: &(Tensor, Vec<Tensor>)| linear_solve(operator, theta, &b, Krylov::gmres()).multiplier.sum();
    let slope = grad(f)(&theta).0.to_vec::<f64>();
    for (place, slope) in slope.into_iter().enumerate() {
        let moved = |h: f64| {
            let mut q = [2.0, 3.0];
            q[place] += h;
            dense(&Tensor::from(q)).to_vec::<f64>()[2]
        };
        near(slope, (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-9);
    }
}

#[test]
fn preconditioners_save_steps_and_change_nothing_else() {
    let n = 200;
    let diagonal = Tensor::linspace(1.0, 1e4, n);
    let scale = diagonal.clone();
    let count = Arc::new(AtomicUsize::new(0));
    let operator = |d: &Tensor, x: &Tensor| d * x + x.roll(&[1], &[0]) * 0.1;
    let solve = move |d: &Tensor, preconditioned: bool| {
        let mut solver = Krylov::gmres().tolerance(1e-12).steps(40).restart(40);
        if preconditioned {
            let (scale, count) = (scale.clone(), count.clone());
            solver = solver.preconditioner(move |r: &Tensor| {
                count.fetch_add(1, Ordering::Relaxed);
                r / &scale
            });
        }
        try_linear_solve(operator, d, &Tensor::ones([n]), solver)
    };
    assert!(matches!(solve(&diagonal, false).unwrap_err().kind(), ErrorKind::Diverged { steps: 40, .. }));
    let x = solve(&diagonal, true).unwrap();
    close(&(operator(&diagonal, &x)), &Tensor::ones([n]), 1e-10);
    // The transposed system uses the transposed preconditioner.
    let slope = grad(|d: &Tensor| solve(d, true).unwrap().sum())(&diagonal);
    let matrix = jacobian(|x: &Tensor| operator(&diagonal, x))(&x);
    close(&slope, &(-(matrix.t().solve(&Tensor::ones([n])) * &x)), 1e-10);
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
    let leaf = a.clone().require_grad();
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
    // x^3 + x coupled to its neighbours, more unknowns than are factored.
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
    // More unknowns than are factored: the derivative by conjugate gradients.
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
    // What the imperative tape holds is one record, however long the iteration was.
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
fn more_parameters_than_a_call_takes_are_a_typed_error() {
    let many = |count: usize| vec![Tensor::from(1.0); count];
    let f = |a: &Vec<Tensor>| root(|a: &Vec<Tensor>, x: &Tensor| x - &a[0], a, &Tensor::from(0.0));
    assert_eq!(grad(f)(&many(62))[0].item(), 1.0);
    for count in [63, 64] {
        assert_eq!(catch(|| grad(f)(&many(count))).unwrap_err().kind(), &ErrorKind::Argument);
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
