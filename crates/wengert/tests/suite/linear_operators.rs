//! Linear systems solved by products with an operator, compared with factoring its matrix.

use super::closeness::{close, near};
use super::matrices::skew;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

fn ramp(n: usize) -> Tensor {
    Tensor::linspace(-1.0, 2.0, n)
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
        // Over and under grad, and with one matrix for all right-hand sides.
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
