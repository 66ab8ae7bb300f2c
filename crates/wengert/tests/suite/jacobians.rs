//! Linear maps, Jacobians and Hessians.

use std::cell::Cell;
use wengert::prelude::*;

/// (x1 x2, sin x1) at (2, 3) with seed (4, 5).
fn worked(x: &Tensor) -> Tensor {
    let (x1, x2) = (x.slice(0), x.slice(1));
    Tensor::stack(&[&x1 * &x2, x1.sin()], 0)
}

#[test]
fn a_seed_goes_back_by_pullback_by_matrix_and_by_transposed_linear_map() {
    let (x, seed) = (Tensor::from([2.0, 3.0]), Tensor::from([4.0, 5.0]));
    let expected = Tensor::from([9.919265817264288, 8.0]);
    assert_eq!(vjp(worked, &x).1.call(&seed), expected);
    assert_eq!(jacobian(worked)(&x).t().matmul(&seed), expected);
    let (_, map) = linearize(worked, &x);
    assert_eq!(map.transpose().call(&seed), expected);
    assert_eq!(map.apply_transpose(&seed), expected);
    assert_eq!(map.to_dense().unwrap().t().matmul(&seed), expected);
}

#[test]
fn pullbacks_applied_in_sequence_are_the_pullback_of_the_composition() {
    let f = |x: &Tensor| x.sin() * x.exp();
    let g = |y: &Tensor| y.cumsum(0).tanh();
    let x = Tensor::from([0.3, -0.7, 1.1]);
    let seed = Tensor::from([1.0, -2.0, 0.5]);
    let (y, pull_f) = vjp(f, &x);
    let (_, pull_g) = vjp(g, &y);
    let (_, whole) = vjp(|x: &Tensor| g(&f(x)), &x);
    assert_eq!(pull_f.call(&pull_g.call(&seed)).to_vec::<f64>(), whole.call(&seed).to_vec::<f64>());
}

#[test]
fn a_linear_map_is_reusable_and_is_the_jvp() {
    let calls = Cell::new(0);
    let f = |(w, x): &(Tensor, Vec<Tensor>)| {
        calls.set(calls.get() + 1);
        // Control flow depends on data.
        let mut y = w.matmul(&x[0]);
        while y.square().sum().item() < 100.0 {
            y = &y * 1.7 + y.sin();
        }
        (y.softmax(0), x[1].relu())
    };
    let x = (Tensor::from([[0.5, 0.2], [-0.3, 0.8]]), vec![Tensor::from([1.0, 2.0]), Tensor::from([0.5, -0.5])]);
    let (_, map) = linearize(f, &x);
    for k in 0..3 {
        let dx = x.map_leaves(|leaf| (leaf * (k as f64 + 0.3)).cos());
        let (_, expected) = jvp(f, &x, &dx);
        let got = map.apply(&dx);
        assert_eq!(got.0.to_vec::<f64>(), expected.0.to_vec::<f64>());
        assert_eq!(got.1.to_vec::<f64>(), expected.1.to_vec::<f64>());
    }
    assert_eq!(calls.get(), 4, "linearize runs the function once, jvp once a call");
}

#[test]
fn every_transform_calls_a_function_once() {
    let calls = Cell::new(0);
    let f = |x: &Tensor| {
        calls.set(calls.get() + 1);
        (x * x).sum()
    };
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let expect_one = |name: &str, run: &dyn Fn()| {
        calls.set(0);
        run();
        assert_eq!(calls.get(), 1, "{name}");
    };
    expect_one("grad", &|| drop(grad(f)(&x)));
    expect_one("vjp", &|| drop(vjp(f, &x)));
    expect_one("jvp", &|| drop(jvp(f, &x, &x)));
    expect_one("linearize", &|| drop(linearize(f, &x)));
    expect_one("jacobian", &|| drop(jacobian(f)(&x)));
    expect_one("jacfwd", &|| drop(jacfwd(f)(&x)));
    expect_one("hessian", &|| drop(hessian(f)(&x)));
    expect_one("hvp", &|| drop(hvp(f, &x, &x)));
    expect_one("vhp", &|| drop(vhp(f, &x, &x)));
    expect_one("vmap", &|| drop(vmap(f)(&x)));
    expect_one("grad of grad", &|| drop(grad(|x: &Tensor| grad(f)(x).sum())(&x)));
}

#[test]
fn rows_and_columns_agree_with_closed_forms_for_trees() {
    let f = |(a, b): &(Tensor, Tensor)| (a.outer(b), (a * a).sum());
    let x = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0, 5.0]));
    for rows in [jacobian(f)(&x), jacrev(f)(&x), jacfwd(f)(&x)] {
        let (da, db) = &rows["0"];
        assert_eq!((da.shape(), db.shape()), (&[2, 3, 2][..], &[2, 3, 3][..]));
        for i in 0..2 {
            for j in 0..3 {
                for k in 0..2 {
                    let expected = if i == k { 3.0 + j as f64 } else { 0.0 };
                    assert_eq!(da.slice((i, j, k)).item(), expected);
                }
                for k in 0..3 {
                    let expected = if j == k { 1.0 + i as f64 } else { 0.0 };
                    assert_eq!(db.slice((i, j, k)).item(), expected);
                }
            }
        }
        assert_eq!(rows["1"].0, Tensor::from([2.0, 4.0]));
        assert_eq!(rows["1"].1, Tensor::from([0.0, 0.0, 0.0]));
    }
    let rows = jacobian(f)(&x);
    let error = catch(|| rows["2"].0.clone()).unwrap_err();
    assert!(error.to_string().contains("'2' is no path of the output"), "{error}");
    let dense = Jacobian::of(f, &x).to_dense().unwrap();
    assert_eq!(dense.shape(), [7, 5]);
    assert_eq!(dense.slice(6), Tensor::from([2.0, 4.0, 0.0, 0.0, 0.0]));
}

#[test]
fn rows_in_several_batches_are_the_rows_in_one() {
    // 5000 seeds of 5000 elements exceed what one pass holds.
    let weight = Tensor::arange(5000).cast(DType::F64).sin();
    let rows = jacrev(|x: &Tensor| x.square() * &weight)(&Tensor::ones([5000]));
    assert_eq!(rows.diagonal().to_vec::<f64>(), (&weight * 2.0).to_vec::<f64>());
    assert_eq!(rows.count_nonzero(), weight.count_nonzero());
}

#[test]
fn a_leaf_without_influence_gives_zeros_without_memory_or_none() {
    let f = |(a, _, c): &(Tensor, Tensor, Tensor)| (a * a).sum() + c.cast(DType::F64).sum();
    let x = (Tensor::from([1.0, 2.0]), Tensor::zeros([3, 4]), Tensor::from([1i64, 2]));
    let (da, db, dc) = grad(f)(&x);
    assert_eq!((da, db, dc), (Tensor::from([2.0, 4.0]), Tensor::zeros([3, 4]), Tensor::from([0i64, 0])));
    let named = vjp(f, &x).1.call_named(&Tensor::from(1.0));
    assert!(named[0].1.is_some() && named[1].1.is_none() && named[2].1.is_none());
    // A structural zero is preserved by another pullback.
    let (y, pull) = vjp(|(a, b): &(Tensor, Tensor)| (a * 2.0, b.exp()), &(x.0.clone(), x.1));
    let named = pull.call_named(&(y.0, y.1.zeros_like()));
    assert!(named[0].1.is_some() && named[1].1.is_none());
}

#[test]
fn chosen_arguments_alone_are_differentiated() {
    #[derive(Tree, Debug)]
    struct Model {
        weight: Tensor,
        #[tree(frozen)]
        mean: Tensor,
        #[tree(static)]
        power: i64,
    }
    let model = Model { weight: Tensor::from([1.0, 2.0]), mean: Tensor::from([0.5, 0.5]), power: 2 };
    let f = |(model, x): &(Model, Tensor)| ((x - &model.mean) * &model.weight).powi(model.power).sum();
    let input = (model, Tensor::from([3.0, 4.0]));
    let (all, dx) = grad(f)(&input);
    assert_eq!(all.weight, Tensor::from([12.5, 49.0]));
    assert_eq!(all.mean, Tensor::from([0.0, 0.0]));
    assert_eq!(dx, Tensor::from([5.0, 28.0]));
    let (only, dx) = grad_wrt(["0.weight"], f)(&input);
    assert_eq!((only.weight, dx), (Tensor::from([12.5, 49.0]), Tensor::from([0.0, 0.0])));
    let error = catch(|| grad_wrt(["0.bias"], f)(&input)).unwrap_err();
    assert!(error.to_string().contains("'0.bias'") && error.to_string().contains("0.weight, 1"), "{error}");
    assert_eq!(error.line().unwrap().file(), file!());
    assert!(catch(|| grad_wrt(["0.mean"], f)(&input)).is_err(), "a frozen leaf cannot be chosen");
    let (_, tangent) = jvp(f, &input, &input.map_leaves(Tensor::ones_like));
    assert_eq!(tangent.item(), 12.5 + 49.0 + 5.0 + 28.0);
}

fn network(x: &(Tensor, Tensor)) -> Tensor {
    let inputs = Tensor::from([[0.1, -0.4, 0.9], [1.2, 0.3, -0.7]]);
    let y = inputs.matmul(&x.0).tanh().matmul(&x.1).sigmoid();
    (y - Tensor::from([[0.2], [0.9]])).square().sum()
}

#[test]
fn the_hessian_of_a_network_is_the_same_by_all_orders_of_modes() {
    let flat = |f: &dyn Fn(&(Tensor, Tensor)) -> Tensor, v: &Tensor| {
        f(&(v.slice(..12).reshape([3, 4]), v.slice(12..).reshape([4, 1])))
    };
    let f = |v: &Tensor| flat(&network, v);
    let v = Tensor::arange(16).cast(DType::F64).sin();
    let by = [jacfwd(grad(f))(&v), jacrev(grad(f))(&v), jacfwd(jacfwd(f))(&v), jacrev(jacfwd(f))(&v), hessian(f)(&v)];
    for h in &by {
        assert_eq!(h.shape(), [16, 16]);
        assert!(h.all_close(&by[0], 1e-10), "{h}\n{}", by[0]);
        assert!(h.all_close(&h.t().contiguous(), 1e-12));
    }
    // Compared with differences of gradients.
    let step = 1e-5;
    for k in 0..16 {
        let mut e = Tensor::zeros([16]);
        e.set(k, step);
        let column = (grad(f)(&(&v + &e)) - grad(f)(&(&v - &e))) / (2.0 * step);
        assert!(by[0].slice((.., k)).all_close(&column, 1e-8));
    }
    // Hessian-vector products in every order of modes.
    let d = Tensor::arange(16).cast(DType::F64).cos();
    let expected = by[0].matmul(&d);
    let forward = |x: &Tensor| jvp(f, x, &d).1;
    for product in [hvp(f, &v, &d), vhp(f, &v, &d), grad(forward)(&v), linearize(grad(f), &v).1.apply(&d)] {
        assert!(product.all_close(&expected, 1e-10));
    }
}

#[test]
fn the_hessian_of_a_tree_has_blocks_by_path() {
    let x = (Tensor::arange(12).cast(DType::F64).sin().reshape([3, 4]), Tensor::from([[0.3], [-0.2], [0.8], [0.1]]));
    let h = hessian(network)(&x);
    assert_eq!(h["0"].0.shape(), [3, 4, 3, 4]);
    assert_eq!(h["0"].1.shape(), [3, 4, 4, 1]);
    let (upper, lower) = (h["0"].1.reshape([12, 4]), h["1"].0.reshape([4, 12]));
    assert!(upper.all_close(&lower.t().contiguous(), 1e-12));
    assert!(upper.abs().sum().item() > 0.1);
}

#[test]
fn gauss_newton_is_the_product_of_its_three_matrices() {
    let f = |x: &Tensor| Tensor::stack(&[x.prod(), x.sin().sum(), (x * x).sum()], 0);
    let loss = |y: &Tensor| y.exp().sum() + y.prod();
    let (x, v) = (Tensor::from([0.5, -0.3]), Tensor::from([1.0, 2.0]));
    let (j, h) = (jacobian(f)(&x), hessian(loss)(&f(&x)));
    let expected = j.t().matmul(&h.matmul(&j.matmul(&v)));
    assert!(gauss_newton_product(f, loss, &x, &v).all_close(&expected, 1e-13));
}

#[test]
fn jacobians_compose_with_every_transform() {
    let f = |x: &Tensor| x.sin() * x.sum();
    let x = Tensor::from([0.3, 0.8]);
    // The trace of the Jacobian, differentiated: d/dx_k sum_i (cos x_i s + sin x_i).
    let trace = |x: &Tensor| jacobian(f)(x).diagonal().sum();
    let s = 0.3f64 + 0.8;
    let cosines = 0.3f64.cos() + 0.8f64.cos();
    let expected: Vec<f64> = [0.3f64, 0.8].iter().map(|x| -x.sin() * s + cosines + x.cos()).collect();
    assert!(grad(trace)(&x).all_close(&Tensor::from(expected.clone()), 1e-14));
    assert!(compile(grad(trace)).call(&x).all_close(&Tensor::from(expected), 1e-14));
    let batch = Tensor::from([[0.3, 0.8], [-0.1, 0.4]]);
    let many = vmap(jacobian(f))(&batch);
    for k in 0..2 {
        assert_eq!(many.slice(k), jacobian(f)(&batch.slice(k)));
    }
    let linear = |x: &Tensor| linearize(f, x).1.apply(&Tensor::from([1.0, 2.0])).sum();
    let pushed = |x: &Tensor| jvp(f, x, &Tensor::from([1.0, 2.0])).1.sum();
    assert_eq!(grad(linear)(&x), grad(pushed)(&x));
}

#[test]
fn a_linear_map_of_a_million_records_is_applied_without_recursion() {
    let f = |x: &Tensor| (0..1_000_000).fold(x.clone(), |y, _| &y * 0.999_999);
    let (_, map) = linearize(f, &Tensor::from(1.0));
    let expected = 0.999_999f64.powi(1_000_000);
    assert!((map.apply(&Tensor::from(2.0)).item() - 2.0 * expected).abs() < 1e-9);
    assert!((map.apply_transpose(&Tensor::from(2.0)).item() - 2.0 * expected).abs() < 1e-9);
}
