//! Taylor mode: closed forms, nested derivatives, and jets composed with other transforms.

use std::cell::Cell;
use wengert::prelude::*;

fn numbers(derivatives: &[Tensor]) -> Vec<f64> {
    derivatives.iter().map(Tensor::item).collect()
}

/// The derivatives of a function of one number, up to `order`.
fn derivatives(f: impl Fn(&Tensor) -> Tensor, x: f64, order: usize) -> Vec<f64> {
    numbers(&jet(|x: &Tensor| f(x), &Tensor::from(x), &[Tensor::from(1.0)][..order.min(1)], order))
}

#[track_caller]
fn close(got: &[f64], right: &[f64], tolerance: f64) {
    assert_eq!(got.len(), right.len());
    for (order, (got, right)) in got.iter().zip(right).enumerate() {
        let size = right.abs().max(1.0);
        assert!((got - right).abs() <= tolerance * size, "derivative {order}: {got:?}, should be {right:?}");
    }
}

/// The derivative of this order by nested tangents.
fn nested(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, order: usize) -> Tensor {
    match order {
        0 => f(x),
        _ => jvp(|x: &Tensor| nested(f, x, order - 1), x, &x.full_like(1.0)).1,
    }
}

/// The derivative of this order by nested gradients.
fn nested_grad(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, order: usize) -> Tensor {
    match order {
        0 => f(x),
        _ => grad(|x: &Tensor| nested_grad(f, x, order - 1))(x),
    }
}

fn factorial(k: usize) -> f64 {
    (1..=k).map(|k| k as f64).product()
}

#[test]
fn derivatives_of_exp_sin_and_cosh_are_theirs() {
    let x = 0.7f64;
    close(&derivatives(|x| x.exp(), x, 12), &[x.exp(); 13], 1e-13);
    let sines: Vec<f64> = (0..=12).map(|k| (x + k as f64 * std::f64::consts::FRAC_PI_2).sin()).collect();
    close(&derivatives(|x| x.sin(), x, 12), &sines, 1e-13);
    let hyperbolic: Vec<f64> = (0..=12).map(|k| if k % 2 == 0 { x.cosh() } else { x.sinh() }).collect();
    close(&derivatives(|x| x.cosh(), x, 12), &hyperbolic, 1e-13);
}

#[test]
fn derivatives_of_a_polynomial_end() {
    // x^5 - 2 x^3 + 4 at 2, in integers without rounding.
    let f = |x: &Tensor| x.powi(5) - x * x * x * 2.0 + 4.0;
    assert_eq!(derivatives(f, 2.0, 7), [20.0, 56.0, 136.0, 228.0, 240.0, 120.0, 0.0, 0.0]);
    let at_zero = derivatives(|x| x.powi(3), 0.0, 5);
    assert_eq!(at_zero, [0.0, 0.0, 0.0, 6.0, 0.0, 0.0]);
}

#[test]
fn derivatives_of_tan_and_tanh_at_0_are_tangent_numbers() {
    let tan = [0.0, 1.0, 0.0, 2.0, 0.0, 16.0, 0.0, 272.0, 0.0, 7936.0, 0.0, 353_792.0];
    close(&derivatives(|x| x.tan(), 0.0, 11), &tan, 1e-13);
    let tanh: Vec<f64> = tan.iter().enumerate().map(|(k, t)| if k % 4 == 3 { -t } else { *t }).collect();
    close(&derivatives(|x| x.tanh(), 0.0, 11), &tanh, 1e-13);
}

#[test]
fn derivatives_of_logarithm_root_and_geometric_series() {
    let x = 1.5f64;
    let log = |k: usize| if k == 0 { x.ln() } else { -factorial(k - 1) * (-x).powi(-(k as i32)) };
    close(&derivatives(|x| x.log(), x, 10), &(0..=10).map(log).collect::<Vec<_>>(), 1e-12);
    let root = |k: usize| (0..k).map(|j| 0.5 - j as f64).product::<f64>() * x.powf(0.5 - k as f64);
    close(&derivatives(|x| x.sqrt(), x, 10), &(0..=10).map(root).collect::<Vec<_>>(), 1e-12);
    close(&derivatives(|x| x.powf(0.5), x, 10), &(0..=10).map(root).collect::<Vec<_>>(), 1e-12);
    let geometric = |k: usize| factorial(k) * 2f64.powi(k as i32 + 1);
    let right: Vec<f64> = (0..=12).map(geometric).collect();
    close(&derivatives(|x| 1.0 / (1.0 - x), 0.5, 12), &right, 1e-13);
    close(&derivatives(|x| (1.0 - x).recip(), 0.5, 12), &right, 1e-13);
}

#[test]
fn derivatives_of_x_to_the_x_at_1() {
    // OEIS A005727.
    let right = [1.0, 1.0, 2.0, 3.0, 8.0, 10.0, 54.0, -42.0, 944.0, -5112.0, 47_160.0];
    close(&derivatives(|x| x.pow(x), 1.0, 10), &right, 1e-11);
    close(&derivatives(|x| (x * x.log()).exp(), 1.0, 10), &right, 1e-11);
}

#[test]
fn derivatives_of_inverse_functions() {
    // atan at 0: (-1)^j (2j)!; asin at 0: ((2j-1)!!)^2; erf at 0: 2/sqrt(pi) times Hermite numbers.
    close(&derivatives(|x| x.atan(), 0.0, 9), &[0.0, 1.0, 0.0, -2.0, 0.0, 24.0, 0.0, -720.0, 0.0, 40_320.0], 1e-13);
    close(&derivatives(|x| x.asin(), 0.0, 9), &[0.0, 1.0, 0.0, 1.0, 0.0, 9.0, 0.0, 225.0, 0.0, 11_025.0], 1e-13);
    let c = 2.0 / std::f64::consts::PI.sqrt();
    let erf = [0.0, c, 0.0, -2.0 * c, 0.0, 12.0 * c, 0.0, -120.0 * c, 0.0, 1680.0 * c];
    close(&derivatives(|x| x.erf(), 0.0, 9), &erf, 1e-13);
}

#[test]
fn functions_that_never_close_still_have_all_derivatives() {
    // The derivatives of lgamma at 1 are -gamma, zeta(2), -2 zeta(3), 6 zeta(4), -24 zeta(5).
    let (gamma, zeta3, zeta5) = (0.577_215_664_901_532_9, 1.202_056_903_159_594_2, 1.036_927_755_143_37);
    let pi = std::f64::consts::PI;
    let right = [0.0, -gamma, pi.powi(2) / 6.0, -2.0 * zeta3, pi.powi(4) / 15.0, -24.0 * zeta5];
    close(&derivatives(|x| x.lgamma(), 1.0, 5), &right, 1e-12);
}

/// Ten different primitives in one composition.
fn composite(x: &Tensor) -> Tensor {
    let a = x.sin() * x.exp();
    let b = (a.square() + 1.5).log();
    let c = b.tanh() / (x.cosh() + 0.5);
    c.sigmoid().sqrt() - x.atan()
}

#[test]
fn order_8_of_a_composite_of_ten_primitives_equals_nested_derivatives() {
    let x = Tensor::from(0.4);
    let found = derivatives(composite, 0.4, 8);
    let forward: Vec<f64> = (0..=8).map(|order| nested(&composite, &x, order).item()).collect();
    close(&found, &forward, 1e-9);
    let reverse: Vec<f64> = (0..=6).map(|order| nested_grad(&composite, &x, order).item()).collect();
    close(&found[..7], &reverse, 1e-9);
}

#[test]
fn nested_grad_to_order_6_is_exact() {
    let x = Tensor::from(0.7);
    let of = |f: &dyn Fn(&Tensor) -> Tensor| (0..=6).map(|k| nested_grad(f, &x, k).item()).collect::<Vec<f64>>();
    close(&of(&|x| x.exp()), &[0.7f64.exp(); 7], 1e-14);
    let sines: Vec<f64> = (0..=6).map(|k| (0.7 + k as f64 * std::f64::consts::FRAC_PI_2).sin()).collect();
    close(&of(&|x| x.sin()), &sines, 1e-14);
    let recip: Vec<f64> =
        (0..=6).map(|k| factorial(k) * (-1f64).powi(k as i32) * 0.7f64.powi(-(k as i32) - 1)).collect();
    close(&of(&|x| 1.0 / x), &recip, 1e-13);
    let product: Vec<f64> = (0..=6).map(|k| (0.7 + k as f64) * 0.7f64.exp()).collect();
    close(&of(&|x| x * x.exp()), &product, 1e-13);
}

#[test]
fn directions_are_derivatives_of_the_curve() {
    // f(x(t)) with x(t) = 1 + 2 t + 3 t^2/2 + 5 t^3/6 and f = x^2: by Leibniz.
    let directions = [2.0, 3.0, 5.0].map(Tensor::from);
    let found = jet(|x: &Tensor| x * x, &Tensor::from(1.0), &directions, 6);
    close(&numbers(&found), &[1.0, 4.0, 14.0, 46.0, 134.0, 300.0, 500.0], 1e-14);
    let slow = jet(|x: &Tensor| x.exp(), &Tensor::from(0.0), &[Tensor::from(0.0), Tensor::from(1.0)], 6);
    // e^(t^2/2): the even derivatives are 1, 3, 15.
    assert_eq!(numbers(&slow), [1.0, 0.0, 1.0, 0.0, 3.0, 0.0, 15.0]);
}

#[test]
fn order_0_is_the_value_and_f_runs_once() {
    let calls = Cell::new(0);
    let f = |x: &Tensor| {
        calls.set(calls.get() + 1);
        x.sin()
    };
    let x = Tensor::from([0.5, 1.0]);
    assert_eq!(jet(f, &x, &[], 0), [x.sin()]);
    assert_eq!(calls.get(), 1);
    let all = jet(f, &x, &[], 2);
    assert_eq!((calls.get(), &all[1]), (2, &Tensor::zeros([2])));
    jet(f, &x, &[x.ones_like()], 7);
    assert_eq!(calls.get(), 3);
}

/// f along a line equals the nested derivatives of t -> f(x + t v), to order 5.
#[track_caller]
fn agrees(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, v: &Tensor) {
    let found = jet(|x: &Tensor| f(x), x, std::slice::from_ref(v), 5);
    let along = |t: &Tensor| f(&(x + v * t));
    for (order, found) in found.iter().enumerate() {
        let right = nested(&along, &Tensor::from(0.0), order);
        assert!(found.all_close(&right, 1e-9), "derivative {order}: {found}, should be {right}");
    }
}

#[test]
fn jets_pass_through_products_solutions_and_reductions() {
    let x = Tensor::from([[2.0, 0.3, -0.4], [0.1, 1.5, 0.6], [-0.2, 0.5, 1.8]]);
    let v = Tensor::from([[0.3, -0.1, 0.2], [0.5, 0.4, -0.3], [-0.6, 0.2, 0.1]]);
    agrees(&|x| x.matmul(&x.sin()).matmul(x), &x, &v);
    agrees(&|x| x.solve(&x.square()), &x, &v);
    agrees(&|x| x.inv(), &x, &v);
    agrees(&|x| x.sin().matrix_exp(), &x, &v);
    agrees(&|x| grad(|x: &Tensor| x.matrix_exp().square().sum())(x), &x, &v);
    agrees(&|x| x.det(), &x, &v);
    agrees(&|x| (x.matmul(&x.t()) + Tensor::eye(3)).cholesky(), &x, &v);
    agrees(&|x| (x + x.t()).eigh().0, &x, &v);
    agrees(&|x| x.softmax(-1).log_softmax(0), &x, &v);
    agrees(&|x| x.logsumexp_over([0, 1]) + x.var() + x.norm(2.0) + x.square().prod(), &x, &v);
    agrees(&|x| x.cumsum(0).cumprod(1), &x, &v);
    agrees(&|x| x.linear_bias(&x.exp(), &x.slice((0, ..))), &x, &v);
}

#[test]
fn kinks_choices_and_selections_follow_the_branch_taken() {
    let x = Tensor::from([[2.0, -0.3], [-1.2, 0.7]]);
    let v = Tensor::from([[0.3, 0.9], [0.5, -0.4]]);
    agrees(&|x| x.gt(0.0).where_(x.exp(), x.square() * x), &x, &v);
    agrees(&|x| x.abs().maximum(&(x.square() * 0.5)).sqrt() + x.relu().exp(), &x, &v);
    agrees(&|x| x.max_along(1).0.exp() + x.sort(0).0.slice((0, ..)).sin(), &x, &v);
    agrees(&|x| x.clamp(-0.5, 1.0).exp() + x.floor() * x, &x, &v);
    // At the kink itself: abs'(0) = 0, so only the value remains.
    assert_eq!(derivatives(|x| x.abs(), 0.0, 3), [0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn outside_the_domain_everything_is_nan() {
    let found = derivatives(|x| x.log(), -1.0, 4);
    assert!(found.iter().all(|number| number.is_nan()), "{found:?}");
    let masked = |x: &Tensor| x.gt(0.0).where_(x.log(), 0.0).sum();
    let found = jet(masked, &Tensor::from([-1.0, 1.0]), &[Tensor::from([1.0, 1.0])], 3);
    assert_eq!(numbers(&found), [0.0, 1.0, -1.0, 2.0]);
}

#[test]
fn rust_control_flow_reads_values() {
    let f = |x: &Tensor| {
        let mut y = x.clone();
        while y.item() < 10.0 {
            y = if y.item() < 3.0 { &y * x } else { &y + 2.0 * x };
        }
        y
    };
    // 2, 4, 8, 12: x^2 + 4 x.
    assert_eq!(derivatives(f, 2.0, 3), [12.0, 8.0, 2.0, 0.0]);
}

#[test]
fn trees_integers_and_outputs_without_influence() {
    let x = (Tensor::from([1.0, 2.0]), Tensor::from([1i64, 0]), vec![Tensor::from(3.0)]);
    let v = (Tensor::from([1.0, 0.0]), Tensor::from([7i64, 7]), vec![Tensor::from(1.0)]);
    let f = |(a, index, rest): &(Tensor, Tensor, Vec<Tensor>)| {
        let picked = a.index_select(0, index);
        (picked * &rest[0], index.clone(), Tensor::from(5.0), no_grad(|| a.exp()), a.detach())
    };
    let still = (Tensor::zeros([2]), Tensor::from([5i64, 5]), vec![Tensor::from(0.0)]);
    let found = jet(f, &x, &[v, still], 2);
    assert_eq!(found[0].0, Tensor::from([6.0, 3.0]));
    assert_eq!(found[1].0, Tensor::from([2.0, 4.0]));
    assert_eq!(found[2].0, Tensor::from([0.0, 2.0]));
    assert_eq!((&found[0].1, &found[1].1), (&Tensor::from([1i64, 0]), &Tensor::from([0i64, 0])));
    assert_eq!((found[0].2.item(), found[1].2.item()), (5.0, 0.0));
    assert_eq!((&found[0].3, &found[1].3), (&x.0.exp(), &Tensor::zeros([2])));
    assert_eq!((&found[0].4, &found[1].4), (&x.0, &Tensor::zeros([2])));
}

#[test]
fn grad_of_a_jet_and_jet_of_a_grad() {
    let f = |x: &Tensor| (x.sin() * x.exp()).sum();
    let (x, v) = (Tensor::from([0.3, -0.8]), Tensor::from([1.0, 1.0]));
    // d/dx of the third derivative along ones is the fourth derivative: (sin x e^x)'''' = -4 sin x e^x.
    let right = x.sin() * x.exp() * -4.0;
    let third = |x: &Tensor| jet(f, x, std::slice::from_ref(&v), 3).swap_remove(3);
    assert!(grad(third)(&x).all_close(&right, 1e-12));
    let fourth = jet(grad(f), &x, std::slice::from_ref(&v), 3).swap_remove(3);
    assert!(fourth.all_close(&right, 1e-12));
    assert!(
        jvp(|x: &Tensor| grad(third)(x).sum(), &x, &v)
            .1
            .all_close(&((x.sin() + x.cos()) * x.exp() * -4.0).sum(), 1e-12)
    );
    let leaf = x.require_grad();
    third(&leaf).backward();
    assert!(leaf.grad().unwrap().all_close(&right, 1e-12));
}

#[test]
fn vmap_and_compile_of_a_jet_and_a_jet_of_them() {
    let f = |x: &Tensor| (x.tanh() * x.square().sum()).softmax(0).log().sum() + (x / (x.exp() + 1.0)).sum();
    let batch = Tensor::from([[0.3, -0.8], [1.2, 0.4], [-0.5, 0.9]]);
    let along = |x: &Tensor| jet(f, x, &[x.cos(), x.clone()], 4);
    let all = |x: &Tensor| Tensor::stack(&along(x).iter().collect::<Vec<_>>(), 0);
    let rows: Vec<Tensor> = (0..3).map(|i| all(&batch.slice((i, ..)))).collect();
    let right = Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0);
    assert!(vmap(all)(&batch).all_close(&right, 1e-12));
    assert!(compile(vmap(all)).call(&batch).all_close(&right, 1e-12));
    let staged = compile(all);
    for (i, right) in rows.iter().enumerate() {
        assert!(staged.call(&batch.slice((i, ..))).all_close(right, 1e-12));
    }
    let (batched, compiled) = (vmap(f), compile(f));
    let x = batch.slice((1, ..));
    let (dx, ddx) = (x.cos(), x.clone());
    let by_program = jet(|x: &Tensor| compiled.call(x), &x, &[dx, ddx], 4);
    assert!(by_program[4].all_close(&rows[1].slice(4), 1e-12));
    let by_batch = jet(&batched, &batch, &[batch.cos(), batch.clone()], 4);
    assert!(by_batch[4].all_close(&right.slice((.., 4)), 1e-12));
    assert!(grad(|x: &Tensor| compile(all).call(x).sum())(&x).all_close(&grad(|x: &Tensor| all(x).sum())(&x), 1e-12));
}

#[test]
fn perturbations_of_jets_are_not_confused() {
    let one = || [Tensor::from(1.0)];
    // d/dx [x * d/dy (x + y)] at 1.
    let f = |x: &Tensor| x * jet(|y: &Tensor| x + y, &Tensor::from(1.0), &one(), 1).swap_remove(1);
    assert_eq!(numbers(&jet(f, &Tensor::from(1.0), &one(), 2)), [1.0, 1.0, 0.0]);
    assert_eq!(grad(f)(&Tensor::from(1.0)).item(), 1.0);
    // d^2/dx^2 [x * d^2/dy^2 (x^2 y^3)] at y = 2 is d^2/dx^2 12 x^3 = 72 x.
    let g = |x: &Tensor| x * jet(|y: &Tensor| x * x * y.powi(3), &Tensor::from(2.0), &one(), 2).swap_remove(2);
    assert_eq!(numbers(&jet(g, &Tensor::from(3.0), &one(), 3)), [324.0, 324.0, 216.0, 72.0]);
    // The derivative of a derivative: a jet of a jet of sin.
    let inner = |x: &Tensor| jet(|x: &Tensor| x.sin(), x, &one(), 3).swap_remove(3);
    let found = numbers(&jet(inner, &Tensor::from(0.7), &one(), 4));
    let (s, c) = 0.7f64.sin_cos();
    close(&found, &[-c, s, c, -s, -c], 1e-13);
}

#[test]
fn other_floats_keep_their_dtype() {
    for dtype in [DType::F32, DType::BF16] {
        let x = Tensor::from([0.5, 1.0]).cast(dtype);
        let found = jet(|x: &Tensor| x.exp(), &x, &[x.ones_like()], 4);
        assert!(found.iter().all(|y| y.dtype() == dtype));
        let tolerance = if dtype == DType::F32 { 1e-5 } else { 5e-2 };
        assert!(found[4].cast(DType::F64).all_close(&Tensor::from([0.5, 1.0]).exp(), tolerance));
    }
    let empty = jet(|x: &Tensor| x.sin().sum(), &Tensor::zeros([0, 3]), &[Tensor::zeros([0, 3])], 3);
    assert_eq!(numbers(&empty), [0.0; 4]);
}

#[test]
fn errors_name_the_direction_its_path_and_the_line() {
    let x = (Tensor::from(1.0), Tensor::from([1.0, 2.0]));
    let wrong = (Tensor::from(1.0), Tensor::from([1.0]));
    let error = catch(|| jet(|(a, b): &(Tensor, Tensor)| a * b, &x, &[wrong], 1)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("direction 0 is f64[1] at '1', where f64[2] is needed"), "{text}");
    assert!(text.contains("jets.rs"), "{text}");
    let one = || Tensor::from(1.0);
    let error = catch(|| jet(|x: &Tensor| x.sin(), &one(), &[one(), one()], 1)).unwrap_err();
    assert!(error.to_string().contains("2 directions for derivatives up to order 1"), "{error}");
    let kept = std::cell::RefCell::new(None);
    jet(|x: &Tensor| kept.replace(Some(x.clone())).map_or(x.clone(), |x| x), &one(), &[one()], 1);
    let leaked = kept.take().unwrap();
    let error = catch(|| leaked.sin()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LevelClosed), "{error}");
}

#[test]
fn laplacians_of_closed_forms() {
    let x = Tensor::from([[0.5, -1.0, 2.0], [0.3, 0.7, -0.4]]);
    let square = x.square().sum().item();
    // In n dimensions: |x|^4 has 4 (n + 2) |x|^2, exp(-|x|^2/2) has (|x|^2 - n) times itself.
    assert!((laplacian(|x: &Tensor| x.square().sum().square())(&x).item() - 4.0 * 8.0 * square).abs() < 1e-12);
    let gauss = |x: &Tensor| (x.square().sum() * -0.5).exp();
    assert!((laplacian(gauss)(&x).item() - (square - 6.0) * gauss(&x).item()).abs() < 1e-13);
    // A harmonic function: the real part of (u + i v)^3.
    let harmonic = |(u, v): &(Tensor, Tensor)| u.powi(3) - u * v * v * 3.0;
    assert!(laplacian(harmonic)(&(Tensor::from(1.3), Tensor::from(-0.6))).item().abs() < 1e-14);
    assert_eq!(laplacian(harmonic)(&(Tensor::from(1.3), Tensor::from(-0.6))).rank(), 0);
    // Several chunks, additional integers, a result of shape [1].
    let many = (Tensor::arange(0.0..200.0).sin(), Tensor::from([2i64]));
    let quartic = |(x, n): &(Tensor, Tensor)| (x.powi(4).sum() * n.cast(DType::F64)).reshape([1]);
    let right = many.0.square().sum().item() * 24.0;
    assert!((laplacian(quartic)(&many).item() - right).abs() < 1e-10 * right);
    assert_eq!(laplacian(|x: &Tensor| x.sum() + 1.0)(&Tensor::zeros([0])).item(), 0.0);
}

#[test]
fn a_laplacian_is_differentiable_batched_and_compiled() {
    let f = |x: &Tensor| x.square().sum().square();
    let x = Tensor::from([0.5, -1.0, 2.0]);
    assert!(grad(laplacian(f))(&x).all_close(&(&x * 40.0), 1e-12));
    // The bilaplacian of |x|^4 in 3 dimensions is 20 times that of |x|^2, which is 6.
    assert!((laplacian(laplacian(f))(&x).item() - 120.0).abs() < 1e-10);
    let rows = Tensor::from([[1.0, 0.0, 0.0], [1.0, 2.0, 2.0]]);
    assert!(vmap(laplacian(f))(&rows).all_close(&Tensor::from([20.0, 180.0]), 1e-12));
    assert!((compile(laplacian(f)).call(&x).item() - 20.0 * 5.25).abs() < 1e-12);
    let leaf = x.clone().require_grad();
    laplacian(f)(&leaf).backward();
    assert!(leaf.grad().unwrap().all_close(&(&x * 40.0), 1e-12));
    let error = catch(|| laplacian(|x: &Tensor| x.clone())(&x)).unwrap_err();
    assert!(error.to_string().contains("returned f64[3], not one real number"), "{error}");
}

#[test]
fn work_grows_with_the_square_of_the_order() {
    // The operations of the staged jet, along a curve with all coefficients.
    let steps = |f: &dyn Fn(&Tensor) -> Tensor, order: usize| {
        let along = |x: &Tensor| {
            let directions: Vec<Tensor> = (0..order).map(|k| x * (0.3 + k as f64)).collect();
            jet(|x: &Tensor| f(x), x, &directions, order)
        };
        compile(along).program(&Tensor::from([[1.5, 0.3], [0.2, 1.8]])).equations().len()
    };
    let functions: [(&str, &dyn Fn(&Tensor) -> Tensor); 12] = [
        ("composite", &composite),
        ("sin cos", &|x| x.sin() * x.cos()),
        ("tan", &|x| x.tan()),
        ("powf", &|x| x.powf(2.5)),
        ("gelu", &|x| x.gelu()),
        ("erf", &|x| x.erf()),
        ("softmax", &|x| x.softmax(-1)),
        ("logsumexp", &|x| x.logsumexp_over(-1)),
        ("norm", &|x| x.norm(2.0)),
        ("prod", &|x| x.prod()),
        ("solve", &|x| x.solve(x)),
        ("inv", &|x| x.inv()),
    ];
    for (name, f) in functions {
        let (short, long) = (steps(f, 8), steps(f, 16));
        assert!(long <= 5 * short, "{name}: {short} operations at order 8, {long} at 16");
    }
}

#[test]
fn high_orders_of_a_matrix_exponential_cost_one_larger_matrix() {
    // exp(t R) for a quarter turn R: the derivatives at 0 are the powers of R.
    let turn = Tensor::from([[0.0, -1.0], [1.0, 0.0]]);
    let found = jet(|x: &Tensor| x.matrix_exp(), &Tensor::zeros([2, 2]), std::slice::from_ref(&turn), 16);
    let mut power = Tensor::eye(2);
    for (order, found) in found.iter().enumerate() {
        assert!(found.all_close(&power, 1e-11), "derivative {order}: {found}");
        power = power.matmul(&turn);
    }
}

#[test]
fn custom_rules_give_the_equation_of_a_jet() {
    // The rule says that the slope of this exponential is twice itself.
    let twice = custom_jvp(|x: &Tensor| x.exp(), |x: &Tensor, _: &Tensor, dx: &Tensor| dx * x.exp() * 2.0);
    close(&derivatives(&twice, 0.0, 4), &[1.0, 2.0, 2.0, 2.0, 2.0], 1e-14);
    let exp = custom_jvp(|x: &Tensor| x.exp(), |_: &Tensor, y: &Tensor, dx: &Tensor| dx * y);
    agrees(&|x| exp(&x.sin()).square(), &Tensor::from([0.4, -0.7]), &Tensor::from([1.0, 0.5]));
    let root = custom_vjp(|x: &Tensor| (x.sqrt(), x.clone()), |x: &Tensor, dy: &Tensor| dy / (x.sqrt() * 2.0));
    agrees(&|x| root(&(x.square() + 1.0)), &Tensor::from([0.4, -0.7]), &Tensor::from([1.0, 0.5]));
}

#[test]
fn jets_pass_through_checkpoints() {
    let f = |x: &Tensor| checkpoint(|x: &Tensor| x.sin() * x.exp())(x);
    agrees(&f, &Tensor::from([0.4, -0.7]), &Tensor::from([1.0, 0.5]));
    agrees(&|x| grad(|x: &Tensor| f(x).sum())(x), &Tensor::from([0.4, -0.7]), &Tensor::from([1.0, 0.5]));
}

#[test]
fn jets_and_laplacians_of_loops_are_the_same_in_batches_and_programs() {
    // The number of iterations depends on the values: x^2 + 1 until the sum is large.
    let f = |x: &Tensor| {
        let shift = x.slice(0) * 0.1;
        while_loop(|y: &Tensor| y.sum().lt(10.0), |y: &Tensor| y.square() + 1.0 + &shift, x).sum()
    };
    let rows = Tensor::from([[0.5, 0.7], [1.5, 2.0], [6.0, 7.0]]);
    let single: Vec<Tensor> = (0..3).map(|row| rows.select(0, row)).collect();
    let same = |g: &dyn Fn(&Tensor) -> Tensor| {
        let alone = Tensor::stack(&single.iter().map(g).collect::<Vec<_>>(), 0);
        assert!(vmap(g)(&rows).all_close(&alone, 1e-13));
        for (row, alone) in single.iter().map(|row| (row, g(row))) {
            assert!(compile(g).call(row).all_close(&alone, 1e-13));
        }
        assert!(compile(vmap(g)).call(&rows).all_close(&alone, 1e-13));
        alone
    };
    let laplacians = same(&laplacian(f));
    for (row, laplacian) in single.iter().zip(laplacians.to_vec::<f64>()) {
        let trace = hessian(f)(row).trace();
        assert!((laplacian - trace.item()).abs() <= 1e-12 * laplacian.abs().max(1.0), "{laplacian} {trace}");
    }
    let direction = Tensor::from([1.0, -0.5]);
    same(&|x| Tensor::stack(&jet(f, x, std::slice::from_ref(&direction), 4), 0));
    same(&grad(|x: &Tensor| jet(f, x, std::slice::from_ref(&direction), 3).swap_remove(3)));
    same(&|x| jet(|x: &Tensor| grad(f)(x).sum(), x, std::slice::from_ref(&direction), 2).swap_remove(2));
}

#[test]
fn bessel_functions_near_0_have_derivatives_of_every_order() {
    // Of I0 at 0, derivative 2k is (2k)! / (4^k k!^2), and of I1 derivative 2k - 1 is the same.
    let at_0 = [1.0, 0.5, 0.375, 0.3125, 0.2734375, 0.24609375];
    let even = jet(|x: &Tensor| x.i0(), &Tensor::from(0.0), &[Tensor::from(1.0)], 10);
    let odd = |k: usize| 2 * k - 1;
    let of_1 = jet(|x: &Tensor| x.i1(), &Tensor::from(0.0), &[Tensor::from(1.0)], 9);
    for (k, exact) in at_0.into_iter().enumerate() {
        assert!((even[2 * k].item() - exact).abs() < 1e-12, "I0, derivative {}: {}", 2 * k, even[2 * k]);
        if k > 0 {
            assert!((of_1[odd(k)].item() - exact).abs() < 1e-12, "I1, derivative {}: {}", odd(k), of_1[odd(k)]);
        }
    }
    // Beside 0, by the Taylor series at 0.
    let near = jet(|x: &Tensor| x.i0(), &Tensor::from(0.01), &[Tensor::from(1.0)], 8);
    assert!((near[8].item() - (at_0[4] + at_0[5] * 1e-4 / 2.0)).abs() < 1e-8, "{}", near[8]);
}
