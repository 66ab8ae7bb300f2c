//! Edge cases of linear algebra: singular, degenerate, rejected.

use wengert::prelude::*;

fn kind<T>(f: impl FnOnce() -> T) -> ErrorKind {
    match catch(f) {
        Ok(_) => panic!("it should fail"),
        Err(error) => {
            assert!(error.suggestion().is_some(), "{error}");
            error.kind().clone()
        }
    }
}

#[test]
fn a_singular_matrix_is_refused_with_its_place() {
    let mut batch = Tensor::eye(2).broadcast_to([2, 3, 2, 2]).contiguous();
    batch.slice_mut((1, 2)).assign(Tensor::from([[1.0, 2.0], [2.0, 4.0]]));
    assert_eq!(kind(|| batch.inv()), ErrorKind::Singular(vec![1, 2]));
    assert_eq!(kind(|| batch.solve(&Tensor::ones([2, 3, 2, 1]))), ErrorKind::Singular(vec![1, 2]));
    assert_eq!(kind(|| Tensor::zeros([2, 2]).inv()), ErrorKind::Singular(vec![]));
    let error = batch.try_inv().unwrap_err();
    assert!(error.to_string().contains("matrix [1, 2] of the batch [2, 3] is singular: pivot 1 is zero"), "{error}");
    assert!(error.line().is_some_and(|line| line.file().ends_with("linear_algebra.rs")));
    let (inverse, info) = batch.inv_ex();
    assert_eq!(info, Tensor::from([[0i32, 0, 0], [0, 0, 1]]));
    assert_eq!(inverse.slice((0, 0)), Tensor::eye(2));
}

#[test]
fn a_matrix_that_is_not_positive_definite_is_refused() {
    let a = Tensor::from([[1.0, 2.0], [2.0, 1.0]]);
    assert_eq!(kind(|| a.cholesky()), ErrorKind::NotPositiveDefinite(vec![]));
    assert_eq!(kind(|| compile(|a: &Tensor| a.cholesky()).call(&a)), ErrorKind::NotPositiveDefinite(vec![]));
    assert!(a.try_cholesky().unwrap_err().to_string().contains("pivot 1 is not positive"));
}

#[test]
fn what_is_not_finite_stays_so_without_an_error() {
    let a = Tensor::from([[1.0, f64::NAN], [0.0, 1.0]]);
    assert!(a.inv().to_f64_vec().iter().all(|x| x.is_nan()));
    assert!(a.det().item().is_nan());
}

#[test]
fn shapes_that_do_not_fit_are_explained() {
    assert!(matches!(kind(|| Tensor::ones([2, 3]).inv()), ErrorKind::Shape(_)));
    assert!(matches!(kind(|| Tensor::ones([3]).det()), ErrorKind::Shape(_)));
    assert!(matches!(kind(|| Tensor::eye(3).solve(&Tensor::ones([2, 1]))), ErrorKind::Shape(_)));
    assert!(matches!(kind(|| Tensor::from([[1i64]]).inv()), ErrorKind::DType(_)));
}

#[test]
fn determinants_of_singular_matrices_are_exact_to_third_order() {
    // det diag(x, y, z) = x y z, at zero: only the mixed third derivative remains.
    let f = |x: &Tensor| (Tensor::eye(3) * x).det();
    let zero = Tensor::zeros([3]);
    assert_eq!(grad(f)(&zero), zero);
    let second = |x: &Tensor| grad(|x: &Tensor| grad(f)(x).slice(0))(x);
    assert_eq!(second(&zero), zero);
    let third = grad(|x: &Tensor| second(x).slice(1))(&zero);
    assert!(third.all_close(&Tensor::from([0.0, 0.0, 1.0]), 1e-14));
    // Rank n - 1: the gradient is the cofactor matrix.
    let a = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    assert!(grad(Tensor::det)(&a).all_close(&Tensor::from([[4.0, -2.0], [-2.0, 1.0]]), 1e-14));
    let curvature = |h: &Tensor| jvp(grad(Tensor::det), &a, h).1;
    let h = Tensor::from([[0.3, -0.7], [1.1, 0.2]]);
    assert!(curvature(&h).all_close(&Tensor::from([[0.2, -1.1], [0.7, 0.3]]), 1e-14));
}

#[test]
fn functions_of_repeated_eigenvalues_and_singular_values_have_right_gradients() {
    // The sum of squares of the eigenvalues is that of the elements; of the singular values too.
    let a = Tensor::eye(3) * 2.0;
    assert!(grad(|a: &Tensor| a.eigvalsh().square().sum())(&a).all_close(&(&a * 2.0), 1e-14));
    assert!(grad(|a: &Tensor| a.svdvals().square().sum())(&a).all_close(&(&a * 2.0), 1e-14));
    // The vectors have no derivative there, and the result is NaN.
    let vectors = grad(|a: &Tensor| a.eigh().1.slice((0, 1)))(&a);
    assert!(vectors.to_f64_vec().iter().any(|x| !x.is_finite()));
}

#[test]
fn a_complete_qr_of_a_tall_matrix_has_values_and_no_derivative() {
    let a = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]);
    let (q, r) = a.qr_complete();
    assert!(q.t().matmul(&q).all_close(&Tensor::eye(3), 1e-14));
    assert!(q.matmul(&r).all_close(&a, 1e-14));
    assert_eq!(kind(|| grad(|a: &Tensor| a.qr_complete().1.sum())(&a)), ErrorKind::NoGradient);
}

#[test]
fn one_matrix_for_many_right_sides_is_factored_once() {
    let a = Tensor::from([[2.0, 1.0], [0.5, 3.0]]);
    let b = Tensor::from_vec((0..24).map(|i| f64::from(i) * 0.3).collect(), [3, 2, 4]);
    let x = a.solve(&b);
    assert!(a.matmul(&x).all_close(&b, 1e-13));
    let batched = vmap(|b: &Tensor| a.solve(b))(&b);
    assert!(batched.all_close(&x, 1e-14));
    let text = compile(|b: &Tensor| vmap(|b: &Tensor| a.solve(b))(b)).program(&b).to_string();
    assert!(text.contains("f64[2, 12] = solve"), "{text}");
}

#[test]
fn vectors_and_batches_of_right_sides_are_told_apart() {
    let a = Tensor::from([[2.0, 0.0], [0.0, 4.0]]);
    assert_eq!(a.solve(&Tensor::from([2.0, 4.0])), Tensor::ones([2]));
    let many = a.broadcast_to([3, 2, 2]);
    assert_eq!(many.solve(&Tensor::full([3, 2], 4.0)).slice(1), Tensor::from([2.0, 1.0]));
    assert_eq!(many.solve(&Tensor::full([2, 1], 4.0)).shape(), [3, 2, 1]);
}

#[test]
fn a_decomposition_solves_from_either_side_for_batches_too() {
    let a = Tensor::from([[[1.0, 2.0], [4.0, 3.0]], [[3.0, 1.0], [1.0, -2.0]]]);
    let b = Tensor::from([[1.0, 2.0], [-1.0, 5.0], [3.0, 0.5]]);
    let (packed, pivots) = a.lu_factor();
    assert!(packed.lu_solve_right(&pivots, &b).matmul(&a).all_close(&b.broadcast_to([2, 3, 2]), 1e-13));
    assert!(packed.lu_solve_right_transposed(&pivots, &b).matmul(&a.t()).all_close(&b.broadcast_to([2, 3, 2]), 1e-13));
    let f = |(a, b): &(Tensor, Tensor)| {
        let (packed, pivots) = a.lu_factor();
        packed.lu_solve_right(&pivots, b)
    };
    GradCheck::new().second_order().run(f, &(a, b)).unwrap();
}

#[test]
fn mirrored_triangles_have_symmetric_gradients() {
    let a = Tensor::from([[1.0, 5.0], [0.5, 2.0]]);
    let direct = Tensor::from([[1.0, 0.5], [0.5, 2.0]]);
    assert_eq!(a.mirror_lower().eigvalsh(), direct.eigvalsh());
    let gradient = grad(|a: &Tensor| a.mirror_lower().eigvalsh().slice(1))(&a);
    assert!(gradient.all_close(&grad(|a: &Tensor| a.eigvalsh().slice(1))(&direct), 1e-14));
    assert_eq!(gradient, gradient.t());
}

#[test]
fn inverses_and_powers_agree() {
    let a = Tensor::from([[[2.0, 1.0], [0.5, 3.0]], [[1.0, 0.3], [-0.2, 0.8]]]);
    let one = Tensor::eye(2).broadcast_to([2, 2, 2]);
    assert!(a.matmul(&a.inv()).all_close(&one, 1e-14));
    assert!(a.pinv().all_close(&a.inv(), 1e-13));
    assert!(a.matrix_power(-3).matmul(&a.matrix_power(3)).all_close(&one, 1e-12));
    assert_eq!(a.matrix_power(0), one);
    assert!(a.matrix_exp().matmul(&(-&a).matrix_exp()).all_close(&one, 1e-12));
    let s = &a.matmul(&a.t());
    assert!(s.cholesky().cholesky_inverse().all_close(&s.inv(), 1e-12));
    let (p, l, u) = a.lu();
    assert!(p.matmul(&l).matmul(&u).all_close(&a, 1e-14));
    let (sign, log) = a.slogdet();
    assert!((sign * log.exp()).all_close(&a.det(), 1e-13));
}

#[test]
fn reflections_rebuild_an_orthogonal_matrix() {
    let v = Tensor::from([[9.0, 9.0], [0.5, 9.0], [-0.25, 0.75]]);
    let below = |i: usize| -> Vec<f64> { v.to_f64_vec().into_iter().skip(i).step_by(2).collect() };
    let scale = |column: Vec<f64>| 2.0 / (1.0 + column.iter().map(|x| x * x).sum::<f64>());
    let scales = Tensor::from([scale(below(0)[1..].to_vec()), scale(below(1)[2..].to_vec())]);
    let q = v.householder_product(&scales);
    assert!(q.t().matmul(&q).all_close(&Tensor::eye(2), 1e-14));
    let c = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let full = v.ormqr(&scales, &Tensor::eye(3));
    assert!(full.slice((.., 0..2)).all_close(&q, 1e-14));
    assert!(v.ormqr_transposed(&scales, &c).all_close(&full.t().matmul(&c), 1e-13));
    assert!(v.ormqr_right(&scales, &c.t()).all_close(&c.t().matmul(&full), 1e-13));
    assert!(v.ormqr_right_transposed(&scales, &c.t()).all_close(&c.t().matmul(&full.t()), 1e-13));
}

#[test]
fn norms_of_matrices_are_right_and_zero_has_gradient_zero() {
    let a = Tensor::from([[1.0, -2.0], [3.0, 4.0]]);
    let s = a.svdvals().to_f64_vec();
    let value = |norm: MatrixNorm| a.matrix_norm(norm).item();
    assert!((value(MatrixNorm::Frobenius) - 30f64.sqrt()).abs() < 1e-14);
    assert!((value(MatrixNorm::Nuclear) - s[0] - s[1]).abs() < 1e-14);
    assert_eq!((value(MatrixNorm::Two), value(MatrixNorm::MinusTwo)), (s[0], s[1]));
    assert_eq!((value(MatrixNorm::One), value(MatrixNorm::MinusOne)), (6.0, 4.0));
    assert_eq!((value(MatrixNorm::Infinity), value(MatrixNorm::MinusInfinity)), (7.0, 3.0));
    let zero = Tensor::zeros([2, 2]);
    assert_eq!(grad(|a: &Tensor| a.matrix_norm(MatrixNorm::Frobenius))(&zero), zero);
    // Equal singular values share the gradient, as equal elements do for amax.
    let slope = grad(|a: &Tensor| a.matrix_norm(MatrixNorm::Two))(&Tensor::eye(2));
    assert!(slope.all_close(&(Tensor::eye(2) * 0.5), 1e-15), "{slope}");
}
