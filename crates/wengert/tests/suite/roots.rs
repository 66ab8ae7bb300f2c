//! Second derivatives of roots at their kinks: right for the square of a root, NaN otherwise, and never a silent 0.

use wengert::autograd;
use wengert::prelude::*;

/// A root, a point where it is 0, and the Hessian of its square (or of the sum of its squares).
struct Root {
    name: &'static str,
    of: fn(&Tensor) -> Tensor,
    kink: Vec<f64>,
    hessian: Vec<Vec<f64>>,
}

fn diagonal(entries: &[f64]) -> Vec<Vec<f64>> {
    (0..entries.len()).map(|i| (0..entries.len()).map(|j| if i == j { entries[i] } else { 0.0 }).collect()).collect()
}

fn roots() -> Vec<Root> {
    let third = 1.0 / 3.0;
    let off = |i: usize, j: usize| if i == j { 1.0 - third } else { -third };
    vec![
        Root { name: "norm", of: |x| x.norm(2.0), kink: vec![0.0; 3], hessian: diagonal(&[2.0; 3]) },
        Root {
            name: "norms of rows, one of them 0",
            of: |x| x.reshape([2, 2]).norm_over(2.0, 1),
            kink: vec![0.0, 0.0, 3.0, -4.0],
            hessian: diagonal(&[2.0; 4]),
        },
        Root { name: "hypot", of: |x| x.hypot(3.0 * x), kink: vec![0.0], hessian: vec![vec![20.0]] },
        Root {
            name: "cdist, one pair of two coincident",
            of: |x| x.reshape([1, 2]).cdist(&Tensor::from([[1.0, 2.0], [5.0, 0.0]])),
            kink: vec![1.0, 2.0],
            hessian: diagonal(&[4.0; 2]),
        },
        Root {
            name: "std",
            of: |x| x.std(),
            kink: vec![0.7; 3],
            hessian: (0..3).map(|i| (0..3).map(|j| off(i, j)).collect()).collect(),
        },
    ]
}

/// The ways to square.
fn squares() -> [(&'static str, fn(Tensor) -> Tensor); 4] {
    [("square", |y| y.square()), ("y * y", |y| &y * &y), ("powi", |y| y.powi(2)), ("pow", |y| y.pow(2.0))]
}

fn assert_close(found: &Tensor, expected: &[f64], what: &str) {
    let found = found.to_f64_vec();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{what}: {found} against {expected}");
    }
}

#[test]
fn the_square_of_a_root_has_its_second_derivative_at_the_kink() {
    for Root { name, of, kink, hessian: expected } in roots() {
        let (x, n) = (Tensor::from(kink.clone()), kink.len());
        let expected_all: Vec<f64> = expected.concat();
        for (way, square) in squares() {
            let what = format!("{name} by {way}");
            let f = move |x: &Tensor| square(of(x)).sum();
            assert_close(&hessian(f)(&x), &expected_all, &what);
            let compiled = compile(hessian(f));
            assert_close(&compiled.call(&x), &expected_all, &format!("{what}, compiled"));
            let compiled = compile(f);
            assert_close(&hessian(|x: &Tensor| compiled.call(x))(&x), &expected_all, &format!("{what}, of compiled"));
            for (i, expected) in expected.iter().enumerate() {
                let v = Tensor::from((0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect::<Vec<f64>>());
                let reverse = grad(|x: &Tensor| (grad(f)(x) * &v).sum())(&x);
                assert_close(&reverse, expected, &format!("{what}, reverse over reverse"));
                let forward = jvp(grad(f), &x, &v).1;
                assert_close(&forward, expected, &format!("{what}, forward over reverse"));
                let points = Tensor::from(kink.clone()).unsqueeze(0);
                let batched = vmap(|x: &Tensor| grad(|x: &Tensor| (grad(f)(x) * &v).sum())(x))(&points);
                assert_close(&batched, expected, &format!("{what}, batched"));
            }
            let x = Tensor::from(kink.clone()).require_grad();
            let slope = autograd::grad_with(&[&f(&x)], &[&x], Backward::new().create_graph()).remove(0).unwrap();
            slope.sum().backward();
            let sums: Vec<f64> = (0..n).map(|j| expected.iter().map(|row| row[j]).sum()).collect();
            assert_close(&x.grad().unwrap(), &sums, &format!("{what}, on the tape"));
        }
    }
}

#[test]
fn a_root_has_a_first_derivative_of_zero_and_no_second_one() {
    let others: [(&str, fn(&Tensor) -> Tensor); 3] =
        [("itself", |y| y.clone()), ("cosh", |y| y.cosh()), ("times sine", |y| y * y.sin())];
    for Root { name, of, kink, .. } in roots() {
        // The rows that are not at their kink would have slopes.
        if name.contains("one of") || name.contains("one pair") {
            continue;
        }
        let (x, n) = (Tensor::from(kink.clone()), kink.len());
        let v = Tensor::from((0..n).map(|i| 1.0 + i as f64).collect::<Vec<f64>>());
        for (of_root, g) in others {
            let what = format!("{of_root} of {name}");
            let f = move |x: &Tensor| g(&of(x)).sum();
            assert_close(&grad(f)(&x), &vec![0.0; n], &what);
            assert_close(&jvp(f, &x, &v).1, &[0.0], &what);
            let is_nan = |found: Tensor, mode: &str| {
                assert!(found.to_f64_vec().iter().any(|number| number.is_nan()), "{what}, {mode}: {found}");
            };
            is_nan(hessian(f)(&x), "hessian");
            is_nan(compile(hessian(f)).call(&x), "compiled hessian");
            is_nan(grad(|x: &Tensor| (grad(f)(x) * &v).sum())(&x), "reverse over reverse");
            is_nan(jvp(grad(f), &x, &v).1, "forward over reverse");
            is_nan(jvp(|x: &Tensor| jvp(f, x, &v).1, &x, &v).1, "forward over forward");
            // A zero cotangent stays zero: that of a function that is flat at the kink.
            if of_root == "itself" {
                is_nan(grad(|x: &Tensor| jvp(f, x, &v).1)(&x), "reverse over forward");
            }
            is_nan(jet(f, &x, std::slice::from_ref(&v), 2).remove(2), "jet");
        }
    }
}

#[test]
fn squares_of_other_norms_are_not_silently_flat_at_zero() {
    for p in [1.5, 3.0] {
        let f = |x: &Tensor| x.norm(p).square();
        let x = Tensor::zeros([2]);
        assert_eq!(grad(f)(&x), Tensor::zeros([2]));
        let second = [hessian(f)(&x), grad(|x: &Tensor| grad(f)(x).sum())(&x), compile(hessian(f)).call(&x)];
        assert!(second.iter().all(|second| second.to_f64_vec().iter().any(|number| number.is_nan())), "{second:?}");
    }
}

#[test]
fn anomaly_mode_sees_the_rule_of_a_square() {
    let x = Tensor::from([f64::INFINITY, 1.0]).require_grad();
    let error = catch(|| {
        detect_anomaly(|| autograd::grad_with(&[&x.norm(2.0).square()], &[&x], Backward::new().create_graph()))
    })
    .unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Anomaly, "norm"));
}
