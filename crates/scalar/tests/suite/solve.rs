//! Solvers have the derivatives of closed forms, in every number type, and their iterations are not recorded.

use std::cell::Cell;
use wengert_engine::ErrorKind;
use wengert_scalar::{
    Dual, Equation, Equations, Real, Replay, Symbol, Var, fixed_point, gradient, integrate, linear_solve, recording,
    root, root_in, try_integrate, try_root, try_root_in,
};

/// A function by a solver, and in closed form.
trait Pair {
    const INPUTS: usize;
    fn solved<T: Real>(x: &[T]) -> T;
    fn closed<T: Real>(x: &[T]) -> T;
}

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (number, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0), "number {number}: {a} and {b}");
    }
}

fn directed<T: Real>(x: &[T], phase: f64) -> Vec<Dual<T, 1>> {
    let along = |(i, x): (usize, &T)| Dual::new(*x, [T::lit((i as f64 * 1.3 + phase).cos())]);
    x.iter().enumerate().map(along).collect()
}

/// Value, gradient, and the gradient along directions: forward over reverse, forward over forward to the third order.
fn derivatives(f: impl Fn(&[Var]) -> Var, g: impl Fn(&[Dual<Var, 1>]) -> Dual<Var, 1>, x: &[f64]) -> Vec<f64> {
    let (mut slopes, mut second) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let value = gradient(f, x, &mut slopes);
    let along = gradient(|x| g(&directed(x, 0.4)).tangents()[0], x, &mut second);
    [&[value, along], &slopes[..], &second].concat()
}

fn third(f: impl Fn(&[Dual<Dual<Dual<f64, 1>, 1>, 1>]) -> Dual<Dual<Dual<f64, 1>, 1>, 1>, x: &[f64]) -> Vec<f64> {
    let y = f(&directed(&directed(&directed(x, 0.4), 1.1), 2.3));
    let (first, second) = (y.value(), y.tangents()[0]);
    let parts = [first.value(), first.tangents()[0], second.value(), second.tangents()[0]];
    parts.iter().flat_map(|part| [part.value(), part.tangents()[0]]).collect()
}

#[track_caller]
fn check<P: Pair>(tolerance: f64) {
    let points: Vec<Vec<f64>> =
        (0..6).map(|k| (0..P::INPUTS).map(|i| 1.5 + 0.6 * ((i * 5 + k * 11) as f64 * 0.7).sin()).collect()).collect();
    let replay = Replay::record(P::solved::<Symbol>, &points[0]);
    for x in &points {
        assert_close(&[P::solved(x)], &[P::closed(x)], tolerance);
        let expected = derivatives(P::closed, P::closed, x);
        assert_close(&derivatives(P::solved, P::solved, x), &expected, 10.0 * tolerance);
        assert_close(&third(P::solved, x), &third(P::closed, x), 100.0 * tolerance);
        // The recording is replayed with other values.
        let closed = Replay::record(P::closed::<Symbol>, x);
        let n = P::INPUTS;
        let (mut slopes, mut product, mut along) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let value = replay.value_and_grad(x, &mut slopes);
        assert_close(
            &[&[value], &slopes[..]].concat(),
            &[&[P::closed(x)], &expected[2..2 + n]].concat(),
            10.0 * tolerance,
        );
        let direction: Vec<f64> = (0..n).map(|i| (i as f64 * 1.3 + 0.4).cos()).collect();
        replay.hvp(x, &direction, &mut product);
        closed.hvp(x, &direction, &mut along);
        assert_close(&product, &along, 100.0 * tolerance);
    }
    assert!(replay.recordings() <= points.len());
}

struct System;
impl Pair for System {
    const INPUTS: usize = 4;

    fn solved<T: Real>(p: &[T]) -> T {
        let (matrix, rhs) = System::parts(p);
        let x = linear_solve(&matrix, &rhs);
        x[0] + T::lit(2.0) * x[1] * x[2]
    }

    /// Cramer's rule.
    fn closed<T: Real>(p: &[T]) -> T {
        let (matrix, rhs) = System::parts(p);
        let det = |m: &[T]| {
            m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6])
        };
        let x = [0, 1, 2].map(|column| {
            let mut other = matrix.clone();
            (0..3).for_each(|row| other[row * 3 + column] = rhs[row]);
            det(&other) / det(&matrix)
        });
        x[0] + T::lit(2.0) * x[1] * x[2]
    }
}

impl System {
    /// The first pivot is not on the diagonal.
    fn parts<T: Real>(p: &[T]) -> (Vec<T>, Vec<T>) {
        let one = T::lit(1.0);
        (
            vec![T::lit(0.1), p[0], p[1] * p[0], p[2] + one, one, p[0].sin(), p[1], T::lit(-3.0), p[3]],
            vec![p[3], one, p[0]],
        )
    }
}

#[test]
fn linear_solves_have_the_slopes_of_cramers_rule() {
    check::<System>(1e-12);
}

struct Meeting;
impl Equations for Meeting {
    fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
        vec![x[0] * x[0] + x[1] * x[1] - T::lit(8.0) * p[0], x[0] * x[1] - p[1]]
    }
}

struct Circle;
impl Pair for Circle {
    const INPUTS: usize = 2;

    fn solved<T: Real>(p: &[T]) -> T {
        let x = root(&Meeting, &[3.0, 0.5], p);
        x[0] * x[1].exp()
    }

    fn closed<T: Real>(p: &[T]) -> T {
        let half = T::lit(4.0) * p[0];
        let x = (half + (half * half - p[1] * p[1]).sqrt()).sqrt();
        x * (p[1] / x).exp()
    }
}

#[test]
fn roots_of_systems_have_the_slopes_of_a_closed_form() {
    check::<Circle>(1e-11);
}

struct Babylonian;
impl Equations for Babylonian {
    fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
        vec![(x[0] + p[0] / x[0]) * T::lit(0.5), (x[1] * T::lit(2.0) + x[0] * p[1]) * T::lit(0.25)]
    }
}

struct Mean;
impl Pair for Mean {
    const INPUTS: usize = 2;

    fn solved<T: Real>(p: &[T]) -> T {
        fixed_point(&Babylonian, &[1.0, 0.0], p)[1]
    }

    fn closed<T: Real>(p: &[T]) -> T {
        T::lit(0.5) * p[0].sqrt() * p[1]
    }
}

#[test]
fn fixed_points_have_the_slopes_of_a_closed_form() {
    check::<Mean>(1e-11);
}

struct Power;
impl Equation for Power {
    fn at<T: Real>(&self, x: T, p: &[T]) -> T {
        x.powf(p[0] + T::lit(1.0)) - p[1]
    }
}

struct Radical;
impl Pair for Radical {
    const INPUTS: usize = 2;

    fn solved<T: Real>(p: &[T]) -> T {
        root_in(&Power, [0.0, 10.0], p).sin()
    }

    fn closed<T: Real>(p: &[T]) -> T {
        p[1].powf((p[0] + T::lit(1.0)).recip()).sin()
    }
}

#[test]
fn roots_in_ranges_have_the_slopes_of_a_closed_form() {
    check::<Radical>(1e-11);
}

struct Wave;
impl Pair for Wave {
    const INPUTS: usize = 3;

    fn solved<T: Real>(p: &[T]) -> T {
        integrate(|x| (p[0] * x).cos() * T::lit(3.0), p[1] - T::lit(5.0), p[2] * p[2], 1e-11)
    }

    fn closed<T: Real>(p: &[T]) -> T {
        T::lit(3.0) * ((p[0] * p[2] * p[2]).sin() - (p[0] * (p[1] - T::lit(5.0))).sin()) / p[0]
    }
}

#[test]
fn integrals_have_the_slopes_of_a_closed_form() {
    check::<Wave>(1e-10);
}

#[test]
fn the_rule_is_exact_for_polynomials() {
    for degree in 0..=22 {
        let value = integrate(|x: f64| x.powi(degree), 0.0, 1.0, f64::MAX);
        assert!((value * f64::from(degree + 1) - 1.0).abs() < 1e-14, "{degree}: {value}");
    }
}

#[test]
fn kinks_and_infinite_ends_of_integrands_are_halved_away() {
    let kink = integrate(|x: f64| (x - 0.3).abs(), 0.0, 1.0, 1e-12);
    assert!((kink - (0.045 + 0.245)).abs() < 1e-12);
    let peak = integrate(|x: f64| (1e-6 + (x - 0.7).powi(2)).recip(), 0.0, 1.0, 1e-6);
    assert!((peak - 1000.0 * (300f64.atan() + 700f64.atan())).abs() < 1e-6);
    let mut slopes = [0.0];
    let infinite = gradient(|p| integrate(|x| p[0] / x.sqrt(), 0.0.into(), 1.0.into(), 1e-6), &[1.5], &mut slopes);
    assert!((infinite - 3.0).abs() < 1e-6 && (slopes[0] - 2.0).abs() < 1e-6);
    assert!(matches!(try_integrate(|_| f64::NAN, 0.0, 1.0, 1e-6).unwrap_err().kind(), ErrorKind::Diverged { .. }));
    assert_eq!(try_integrate(|x: f64| (-x).exp(), 0.0, f64::INFINITY, 1e-6).unwrap_err().kind(), &ErrorKind::Argument);
}

/// x^30 = p, with a count of its calls.
#[derive(Default)]
struct Steep(Cell<usize>);
impl Equations for Steep {
    fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
        self.0.set(self.0.get() + 1);
        vec![x[0].powi(30) - p[0]]
    }
}

#[test]
fn a_tape_around_a_solver_holds_no_iterations() {
    let statements = |start: f64| {
        let steep = Steep::default();
        let statements = recording(|tape| {
            let p = tape.input(2.0);
            let before = tape.statements();
            let x = root(&steep, &[start], &[p])[0];
            let mut slope = [0.0];
            tape.pull(x, &[p], &mut slope);
            assert!((slope[0] - x.value() / 60.0).abs() < 1e-14);
            tape.statements() - before
        });
        (statements, steep.0.get())
    };
    let (near, far) = (statements(1.02), statements(8.0));
    assert!(near.1 < 20 && far.1 > 100, "{near:?} {far:?}");
    assert_eq!(near.0, far.0);
    assert!(far.0 <= 5, "{far:?}");
}

#[test]
fn a_linear_solve_costs_four_statements_for_each_unknown() {
    for n in [1, 5, 20] {
        let statements = recording(|tape| {
            let matrix: Vec<Var> = (0..n * n)
                .map(|k| tape.input(((k * k) as f64).sin() + if k % (n + 1) == 0 { 4.0 } else { 0.0 }))
                .collect();
            let rhs: Vec<Var> = (0..n).map(|k| tape.input(k as f64)).collect();
            let before = tape.statements();
            linear_solve(&matrix, &rhs);
            tape.statements() - before
        });
        assert!(statements <= 4 * n, "{n}: {statements}");
    }
}

#[test]
fn constants_are_solved_without_statements() {
    let statements = recording(|tape| {
        root(&Meeting, &[3.0, 0.5], &[Var::lit(1.0), Var::lit(1.0)]);
        root_in(&Power, [0.0, 10.0], &[Var::lit(1.0), Var::lit(1.0)]);
        tape.statements()
    });
    assert_eq!(statements, 0);
}

/// (x - p)^2, which has a root with zero slope.
struct Touching;
impl Equations for Touching {
    fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
        vec![(x[0] - p[0]) * (x[0] - p[0])]
    }
}
impl Equation for Touching {
    fn at<T: Real>(&self, x: T, p: &[T]) -> T {
        (x - p[0]).powi(3)
    }
}

#[test]
fn what_has_no_derivative_is_an_error_unless_there_is_nothing_to_differentiate() {
    assert!((root(&Touching, &[2.0], &[1.0])[0] - 1.0).abs() < 1e-9);
    assert_eq!(root_in(&Touching, [0.0, 2.0], &[1.0]), 1.0);
    let active = [Dual::<f64, 1>::variable(1.0, 0)];
    assert_eq!(try_root_in(&Touching, [0.0, 2.0], &active).unwrap_err().kind(), &ErrorKind::Singular(vec![]));
}

#[test]
fn a_start_without_a_direction_is_an_error() {
    struct Flat;
    impl Equations for Flat {
        fn at<T: Real>(&self, x: &[T], _: &[T]) -> Vec<T> {
            vec![x[0] + x[1] - T::lit(1.0), x[0] + x[1] - T::lit(2.0)]
        }
    }
    let error = try_root::<f64>(&Flat, &[0.0, 0.0], &[]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Singular(vec![]));
    assert!(error.to_string().contains("solve.rs"), "{error}");
}

#[test]
fn floats_of_32_bits_are_solved() {
    assert!((root(&Meeting, &[3.0, 0.5], &[0.5f32, 1.0])[0] - (2.0 + 3f32.sqrt()).sqrt()).abs() < 1e-6);
    assert!((linear_solve(&[2f32, 1.0, 1.0, 3.0], &[1.0, 1.0])[0] - 0.4).abs() < 1e-6);
    assert!((integrate(|x: f32| x.sin(), 0.0, 1.0, 1e-5) - (1.0 - 1f32.cos())).abs() < 1e-5);
}

/// x^2 = p.
struct Square;

impl Equation for Square {
    fn at<T: Real>(&self, x: T, p: &[T]) -> T {
        x * x - p[0]
    }
}

/// 1 / (x - p).
struct Pole;

impl Equation for Pole {
    fn at<T: Real>(&self, x: T, p: &[T]) -> T {
        (x - p[0]).recip()
    }
}

#[test]
fn a_root_is_as_exact_in_a_wide_range_as_in_a_narrow_one() {
    for far in [3.0, 1e15, 1e100] {
        assert_eq!(try_root_in(&Square, [0.0, far], &[4.0]).unwrap(), 2.0);
    }
    let small = try_root_in(&Square, [0.0, 1.0], &[1e-30]).unwrap();
    assert!((small - 1e-15).abs() < 1e-30, "{small}");
    let mut slope = [0.0];
    let value = gradient(|p| root_in(&Square, [0.0, 1e100], p), &[4.0], &mut slope);
    assert_eq!((value, slope), (2.0, [0.25]));
}

#[test]
fn a_pole_is_no_root() {
    let error = try_root_in(&Pole, [0.0, 3.0], &[1.0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { .. }), "{error}");
}

#[test]
fn an_integrand_that_is_infinite_at_a_node_is_an_error() {
    let root = |x: f64| x.abs().sqrt().recip();
    let error = try_integrate(root, -1.0, 1.0, 1e-6).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Diverged { .. }), "{error}");
    let halves = try_integrate(root, -1.0, 0.0, 1e-6).unwrap() + try_integrate(root, 0.0, 1.0, 1e-6).unwrap();
    assert!((halves - 4.0).abs() < 1e-5);
}
