//! Differential equations: solutions and both adjoints compared with closed forms and with each other.

use super::closeness::{close, near};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

const ADJOINTS: [Adjoint; 2] = [Adjoint::Discrete, Adjoint::Continuous];

fn tight(adjoint: Adjoint) -> Ode {
    Ode::new().rtol(1e-10).atol(1e-12).adjoint(adjoint)
}

fn linear(_: &Tensor, y: &Tensor, a: &Tensor) -> Tensor {
    a.matmul(y)
}

fn logistic(_: &Tensor, y: &Tensor, (rate, most): &(Tensor, Tensor)) -> Tensor {
    rate * y * (1.0 - y / most)
}

fn van_der_pol(_: &Tensor, y: &Tensor, mu: &Tensor) -> Tensor {
    let (x, v) = (y.select(0, 0), y.select(0, 1));
    Tensor::stack(&[v.clone(), mu * (1.0 - x.square()) * &v - &x], 0)
}

#[test]
fn a_linear_equation_is_the_matrix_exponential_with_its_derivatives() {
    let a = Tensor::from([[-0.5, 1.0, 0.2], [-1.0, -0.3, 0.4], [0.1, -0.2, -0.8]]);
    let y0 = Tensor::from([1.0, -0.5, 2.0]);
    let times = [0.0, 0.4, 1.5];
    let exact = |(a, y0): &(Tensor, Tensor)| Tensor::stack(&times.map(|t| (a * t).matrix_exp().matmul(y0)), 0);
    let weights = Tensor::from([[0.3, 0.1, 0.0], [-1.0, 2.0, 0.5], [1.0, 1.0, -2.0]]);
    let x = (a, y0);
    let dx = (Tensor::from([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6], [0.7, 0.8, -0.9]]), Tensor::from([0.5, 1.0, -1.0]));
    let scalar = |f: &dyn Fn(&(Tensor, Tensor)) -> Tensor, x: &(Tensor, Tensor)| (f(x).sin() * &weights).sum();
    for adjoint in ADJOINTS {
        let solved = |(a, y0): &(Tensor, Tensor)| odeint(linear, a, y0, &times, tight(adjoint));
        close(&solved(&x), &exact(&x), 1e-9);
        let (of_solved, of_exact) = (|x: &_| scalar(&solved, x), |x: &_| scalar(&exact, x));
        let (found, expected) = (grad(of_solved)(&x), grad(of_exact)(&x));
        close(&found.0, &expected.0, 1e-8);
        close(&found.1, &expected.1, 1e-8);
        close(&jvp(solved, &x, &dx).1, &jvp(exact, &x, &dx).1, 1e-8);
        let expected = hvp(of_exact, &x, &dx);
        for found in [hvp(of_solved, &x, &dx), vhp(of_solved, &x, &dx), grad(|x: &_| jvp(of_solved, x, &dx).1)(&x)] {
            close(&found.0, &expected.0, 1e-7);
            close(&found.1, &expected.1, 1e-7);
        }
        close(&jacrev(solved)(&x).1, &jacobian(exact)(&x).1, 1e-8);
        close(&jacfwd(solved)(&x).1, &jacobian(exact)(&x).1, 1e-8);
    }
}

#[test]
fn logistic_growth_has_the_derivatives_of_its_closed_form() {
    let exact =
        |((rate, most), y0): &((Tensor, Tensor), Tensor)| most / (1.0 + (most / y0 - 1.0) * (-(rate * 2.0)).exp());
    let x = ((Tensor::from(0.9), Tensor::from(3.0)), Tensor::from(0.4));
    for adjoint in ADJOINTS {
        let solved = |(theta, y0): &((Tensor, Tensor), Tensor)| {
            odeint(logistic, theta, y0, &[0.0, 2.0], tight(adjoint)).select(0, 1)
        };
        near(solved(&x).item(), exact(&x).item(), 1e-9);
        let (found, expected) = (grad(solved)(&x), grad(exact)(&x));
        near(found.0.0.item(), expected.0.0.item(), 1e-8);
        near(found.0.1.item(), expected.0.1.item(), 1e-8);
        near(found.1.item(), expected.1.item(), 1e-8);
        let (found, expected) = (grad(|x: &_| grad(solved)(x).0.0)(&x), grad(|x: &_| grad(exact)(x).0.0)(&x));
        near(found.0.0.item(), expected.0.0.item(), 1e-7);
        near(found.1.item(), expected.1.item(), 1e-7);
        // Batched over the start, staged, and recorded imperatively.
        let starts = Tensor::from([0.2, 0.4, 1.5]);
        let by_start = |y0: &Tensor| solved(&((Tensor::from(0.9), Tensor::from(3.0)), y0.clone()));
        let of_exact = |y0: &Tensor| exact(&((Tensor::from(0.9), Tensor::from(3.0)), y0.clone()));
        assert_eq!(vmap(by_start)(&starts).select(0, 1).item(), by_start(&starts.select(0, 1)).item());
        close(&vmap(grad(by_start))(&starts), &vmap(grad(of_exact))(&starts), 1e-8);
        close(&grad(|y: &Tensor| vmap(by_start)(y).sum())(&starts), &vmap(grad(of_exact))(&starts), 1e-8);
        close(&vmap(grad(grad(by_start)))(&starts), &vmap(grad(grad(of_exact)))(&starts), 1e-7);
        let one = Tensor::from(1.0);
        close(&vmap(|y: &Tensor| jvp(by_start, y, &one).1)(&starts), &vmap(grad(of_exact))(&starts), 1e-8);
        let (staged, slope) = (compile(by_start), compile(grad(by_start)));
        for start in [0.4, 1.5] {
            let start = Tensor::from(start);
            near(staged.call(&start).item(), of_exact(&start).item(), 1e-9);
            near(slope.call(&start).item(), grad(of_exact)(&start).item(), 1e-8);
            near(grad(|y: &Tensor| staged.call(y))(&start).item(), grad(of_exact)(&start).item(), 1e-8);
        }
        let leaf = Tensor::from(0.4).require_grad();
        by_start(&leaf).backward();
        near(leaf.grad().unwrap().item(), grad(of_exact)(&Tensor::from(0.4)).item(), 1e-8);
    }
}

#[derive(Tree)]
struct Oscillator {
    position: Tensor,
    velocity: Tensor,
}

#[test]
fn a_harmonic_oscillator_goes_forward_and_back_as_a_tree() {
    let f = |_: &Tensor, y: &Oscillator, w: &Tensor| Oscillator {
        position: y.velocity.clone(),
        velocity: -(w.square() * &y.position),
    };
    let start = Oscillator { position: Tensor::from([1.0, 0.5]), velocity: Tensor::from([0.0, 1.0]) };
    let times: Vec<f64> = (0..=20).map(|i| i as f64 * 0.35).collect();
    let w = Tensor::from(1.7);
    let there = odeint(f, &w, &start, &times, tight(Adjoint::Discrete));
    assert_eq!(there.position.shape(), [21, 2]);
    for (row, t) in times.iter().enumerate() {
        near(there.position.select(0, row as isize).select(0, 0).item(), (1.7 * t).cos(), 1e-8);
        near(there.velocity.select(0, row as isize).select(0, 0).item(), -1.7 * (1.7 * t).sin(), 1e-8);
    }
    let end = there.map_leaves(|leaf| leaf.select(0, 20));
    let back = odeint(f, &w, &end, &[7.0, 3.0, 0.0], tight(Adjoint::Discrete));
    close(&back.position.select(0, 2), &start.position, 1e-8);
    for adjoint in ADJOINTS {
        // At time -t from the start: d cos(w t) / dw = -t sin(w t).
        let position = |w: &Tensor| {
            let one = Oscillator { position: Tensor::from(1.0), velocity: Tensor::from(0.0) };
            odeint(f, w, &one, &[0.0, -2.0], tight(adjoint)).position.select(0, 1)
        };
        near(grad(position)(&w).item(), -2.0 * (3.4f64).sin(), 1e-8);
        near(grad(grad(position))(&w).item(), -4.0 * (3.4f64).cos(), 1e-7);
    }
}

#[test]
fn time_enters_the_right_side() {
    let f = |t: &Tensor, y: &Tensor, a: &Tensor| a * t.cos() + y * 0.0;
    for adjoint in ADJOINTS {
        let end = |a: &Tensor| odeint(f, a, &Tensor::from(0.0), &[0.5, 2.0], tight(adjoint)).select(0, 1);
        near(end(&Tensor::from(3.0)).item(), 3.0 * (2f64.sin() - 0.5f64.sin()), 1e-9);
        near(grad(end)(&Tensor::from(3.0)).item(), 2f64.sin() - 0.5f64.sin(), 1e-9);
    }
}

#[test]
fn van_der_pol_agrees_with_differences_of_tight_solutions() {
    let y0 = Tensor::from([2.0, 0.0]);
    let end = |mu: f64, y0: &Tensor| {
        let options = Ode::new().rtol(1e-12).atol(1e-12);
        odeint(van_der_pol, &Tensor::from(mu), y0, &[0.0, 5.0], options).select(0, 1).sum().item()
    };
    // Differences over two distances, for a fourth-order error.
    let slope = |f: &dyn Fn(f64) -> f64| {
        let over = |h: f64| (f(h) - f(-h)) / (2.0 * h);
        (4.0 * over(1e-4) - over(2e-4)) / 3.0
    };
    let expected = slope(&|h| end(2.0 + h, &y0));
    let by_start = slope(&|h| end(2.0, &Tensor::from([2.0 + h, 0.0])));
    let mut found = Vec::new();
    for adjoint in ADJOINTS {
        let f =
            |(mu, y0): &(Tensor, Tensor)| odeint(van_der_pol, mu, y0, &[0.0, 5.0], tight(adjoint)).select(0, 1).sum();
        let (by_mu, by_y0) = grad(f)(&(Tensor::from(2.0), y0.clone()));
        near(by_mu.item(), expected, 1e-7);
        near(by_y0.select(0, 0).item(), by_start, 1e-7);
        found.push(by_mu.item());
    }
    near(found[0], found[1], 1e-8);
}

#[test]
fn checkpoints_keep_the_continuous_adjoint_exact_where_solutions_come_together() {
    let slope = |options: Ode| {
        let f = |mu: &Tensor| odeint(van_der_pol, mu, &Tensor::from([2.0, 0.0]), &[0.0, 5.0], options.clone());
        grad(|mu: &Tensor| f(mu).select(0, 1).sum())(&Tensor::from(2.0)).item()
    };
    let options = Ode::new().rtol(1e-8).atol(1e-8);
    let expected = slope(tight(Adjoint::Discrete));
    let error = |options: Ode| (slope(options.adjoint(Adjoint::Continuous)) - expected).abs();
    assert!(error(options.clone()) < 1e-7);
    assert!(error(options.clone().checkpoints(0)) > 1e-4, "the state does not find its way back");
    assert!(error(options.checkpoints(40)) < 1e-7);
}

#[test]
fn solutions_may_be_checkpointed() {
    for adjoint in ADJOINTS {
        let end = move |a: &Tensor| {
            odeint(
                |_: &Tensor, y: &Tensor, a: &Tensor| a * y,
                &a.sin(),
                &Tensor::from(1.0),
                &[0.0, 2.0],
                tight(adjoint),
            )
            .select(0, 1)
        };
        let exact = |a: &Tensor| (a.sin() * 2.0).exp();
        let a = Tensor::from(0.7);
        near(grad(checkpoint(end))(&a).item(), grad(exact)(&a).item(), 1e-8);
        near(grad(grad(checkpoint(end)))(&a).item(), grad(grad(exact))(&a).item(), 1e-7);
    }
}

#[test]
fn single_precision_has_tolerances_of_its_own() {
    for adjoint in ADJOINTS {
        let end = |a: &Tensor| {
            let grow = |t: &Tensor, y: &Tensor, a: &Tensor| {
                assert_eq!(t.dtype(), DType::F32);
                a * y
            };
            odeint(grow, a, &Tensor::from(1f32), &[0.0, 1.0], Ode::new().adjoint(adjoint)).select(0, 1)
        };
        let (value, slope) = value_and_grad(end)(&Tensor::from(0.5f32));
        assert_eq!((value.dtype(), slope.dtype()), (DType::F32, DType::F32));
        near(value.item(), 0.5f64.exp(), 1e-4);
        near(slope.item(), 0.5f64.exp(), 1e-3);
    }
}

#[test]
fn taylor_mode_passes_through_solutions() {
    for adjoint in ADJOINTS {
        let grow = |_: &Tensor, y: &Tensor, a: &Tensor| a * y;
        let end = |a: &Tensor| odeint(grow, a, &Tensor::from(1.0), &[0.0, 2.0], tight(adjoint)).select(0, 1);
        // d^k/da^k e^(2 a) = 2^k e^(2 a).
        for (k, found) in jet(end, &Tensor::from(0.3), &[Tensor::from(1.0)], 3).iter().enumerate() {
            near(found.item(), 2f64.powi(k as i32) * 0.6f64.exp(), 1e-7);
        }
    }
}

#[test]
fn a_right_side_may_return_a_parameter_as_it_is() {
    let constant = |_: &Tensor, _: &Tensor, a: &Tensor| a.clone();
    for adjoint in ADJOINTS {
        let end = |a: &Tensor| odeint(constant, a, &Tensor::from(1.0), &[0.0, 2.0], tight(adjoint)).select(0, 1);
        let leaf = Tensor::from(3.0).require_grad();
        near(no_grad(|| end(&leaf)).item(), 7.0, 1e-14);
        end(&leaf).backward();
        near(leaf.grad().unwrap().item(), 2.0, 1e-14);
        near(jvp(end, &Tensor::from(3.0), &Tensor::from(1.0)).1.item(), 2.0, 1e-14);
    }
}

#[test]
fn the_discrete_adjoint_is_exact_for_the_numbers_that_were_computed() {
    // With loose tolerances the discrete gradient is still that of the computed values, as long as the steps do not change.
    let loose = |adjoint: Adjoint| Ode::new().rtol(1e-2).atol(1e-2).first_step(0.1).adjoint(adjoint);
    let f = |adjoint: Adjoint| {
        move |rate: &Tensor| {
            let theta = (rate.clone(), Tensor::from(3.0));
            odeint(logistic, &theta, &Tensor::from(0.4), &[0.0, 2.0], loose(adjoint)).select(0, 1)
        }
    };
    let rate = Tensor::from(0.9);
    let forward = jvp(f(Adjoint::Discrete), &rate, &Tensor::from(1.0)).1.item();
    let reverse = grad(f(Adjoint::Discrete))(&rate).item();
    near(forward, reverse, 1e-13);
    assert!((grad(f(Adjoint::Continuous))(&rate).item() - reverse).abs() > 1e-9, "the other is of the exact solution");
}

#[test]
fn a_long_solution_is_recomputed_in_segments() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let f = move |_: &Tensor, y: &Tensor, w: &Tensor| {
        counter.fetch_add(1, Ordering::Relaxed);
        Tensor::stack(&[y.select(0, 1), -(w * y.select(0, 0))], 0)
    };
    let end = move |w: &Tensor| {
        let options = Ode::new().rtol(1e-9).atol(1e-9);
        odeint(f.clone(), w, &Tensor::from([1.0, 0.0]), &[0.0, 60.0], options).select(0, 1).select(0, 0)
    };
    let w = Tensor::from(1.0);
    end(&w);
    let forward = calls.swap(0, Ordering::Relaxed);
    let slope = grad(&end)(&w).item();
    let both = calls.load(Ordering::Relaxed);
    // d cos(sqrt(w) t) / dw at w = 1 is -t/2 sin t.
    near(slope, -30.0 * 60f64.sin(), 1e-4);
    assert!(forward > 1000);
    assert!(both <= 2 * forward, "{both} evaluations for value and gradient, {forward} for the value");
    let leaf = w.require_grad();
    let rows = Tape::of(&end(&leaf)).rows().len();
    assert!(rows < forward / 50, "{rows} records for {forward} evaluations");
}

#[test]
fn what_cannot_go_on_says_when() {
    let here = |error: &Error| assert_eq!(error.line().unwrap().file(), file!(), "{error}");
    let square = |_: &Tensor, y: &Tensor, _: &()| y * y;
    let y0 = Tensor::from(1.0);
    for adjoint in ADJOINTS {
        let options = Ode::new().adjoint(adjoint);
        let error = try_odeint(square, &(), &y0, &[0.0, 2.0], options.clone()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Integration { time, .. } if (*time - 1.0).abs() < 1e-2), "{error}");
        assert!(error.to_string().contains("at time 0.99") || error.to_string().contains("at time 1"), "{error}");
        here(&error);
        let error = catch(|| odeint(square, &(), &y0, &[0.0, 0.9], options.clone().steps(3))).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Integration { steps: 3, .. }), "{error}");
        here(&error);
        let cut = |t: &Tensor, y: &Tensor, _: &()| y + (0.5 - t).sqrt();
        let error = try_odeint(cut, &(), &y0, &[0.0, 1.0], options.clone()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Integration { time, .. } if (*time - 0.5).abs() < 1e-2), "{error}");
        let error = try_odeint(cut, &(), &y0, &[0.6, 1.0], options.clone()).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Integration { time: 0.6, steps: 0 });
    }
    let times = |times: &[f64]| try_odeint(square, &(), &y0, times, Ode::new());
    assert_eq!(times(&[0.0, 0.5, 0.2]).unwrap_err().kind(), &ErrorKind::Argument);
    assert_eq!(times(&[]).unwrap_err().kind(), &ErrorKind::Argument);
    here(&times(&[f64::NAN]).unwrap_err());
    assert_eq!(times(&[0.3]).unwrap(), Tensor::from([1.0]));
    assert_eq!(times(&[0.3, 0.3]).unwrap(), Tensor::from([1.0, 1.0]));
    let error =
        catch(|| odeint(|_: &Tensor, _: &Tensor, _: &()| Tensor::zeros([3]), &(), &y0, &[0.0, 1.0], Ode::new()));
    assert!(error.unwrap_err().to_string().contains("what the right side returned is f64[3], not f64[]"));
}

#[derive(Tree, Clone)]
struct Field {
    inner: Tensor,
    bias: Tensor,
    outer: Tensor,
}

#[test]
fn a_neural_equation_learns_a_spiral() {
    let field = |_: &Tensor, y: &Tensor, p: &Field| (y.matmul(&p.inner) + &p.bias).tanh().matmul(&p.outer);
    let times: Vec<f64> = (0..8).map(|i| i as f64 * 0.2).collect();
    let truth = Tensor::from([[-0.1, 1.0], [-1.0, -0.1]]);
    let starts = Tensor::from([[1.0, 0.0], [0.0, 1.5]]);
    let wanted = odeint(|_: &Tensor, y: &Tensor, a: &Tensor| y.matmul(a), &truth, &starts, &times, Ode::new());
    let number = |seed: usize| move |i: usize| ((i * 7 + seed) as f64 * 1.3).sin() * 0.5;
    let tensor = |seed: usize, shape: [usize; 2]| {
        Tensor::from_vec((0..shape[0] * shape[1]).map(number(seed)).collect::<Vec<_>>(), shape)
    };
    for adjoint in ADJOINTS {
        let options = Ode::new().rtol(1e-5).atol(1e-6).adjoint(adjoint);
        let loss = |p: &Field| (odeint(field, p, &starts, &times, options.clone()) - &wanted).square().mean();
        let mut p = Field { inner: tensor(1, [2, 8]), bias: Tensor::zeros([8]), outer: tensor(5, [8, 2]) };
        let before = loss(&p).item();
        for _ in 0..40 {
            let slope = grad(loss)(&p);
            p = p.zip_leaves(&slope, |p, slope| p - slope * 0.3).unwrap();
        }
        let after = loss(&p).item();
        assert!(after < before / 5.0, "{before} to {after}");
    }
}
