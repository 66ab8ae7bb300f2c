//! Compositions of transforms.

use wengert::prelude::*;

#[test]
fn perturbations_are_not_confused() {
    // d/dx [x * d/dy (x + y)] at 1.
    let f = |x: &Tensor| x * grad(|y: &Tensor| x + y)(&Tensor::from(1.0));
    assert_eq!(grad(f)(&Tensor::from(1.0)).item(), 1.0);
    assert_eq!(jvp(f, &Tensor::from(1.0), &Tensor::from(1.0)).1.item(), 1.0);
    let g = |x: &Tensor| x * jvp(|y: &Tensor| x + y, &Tensor::from(1.0), &Tensor::from(1.0)).1;
    assert_eq!(jvp(g, &Tensor::from(1.0), &Tensor::from(1.0)).1.item(), 1.0);
    assert_eq!(grad(g)(&Tensor::from(1.0)).item(), 1.0);
}

#[test]
fn a_vanishing_first_derivative_keeps_the_second() {
    let f = |x: &Tensor| (x.exp() - 1.0).square() / 2.0;
    let x = Tensor::from(0.0);
    assert_eq!(grad(f)(&x).item(), 0.0);
    assert_eq!(grad(grad(f))(&x).item(), 1.0);
    assert_eq!(jvp(grad(f), &x, &Tensor::from(1.0)).1.item(), 1.0);
    assert_eq!(compile(grad(grad(f))).call(&x).item(), 1.0);
}

#[test]
fn a_masked_logarithm_has_no_gradient_where_it_is_masked() {
    let f = |x: &Tensor| x.gt(0.0).where_(x.log(), 0.0).sum();
    let x = Tensor::from([0.0, 2.0]);
    assert_eq!(grad(f)(&x), Tensor::from([0.0, 0.5]));
    assert_eq!(compile(grad(f)).call(&x), Tensor::from([0.0, 0.5]));
    assert_eq!(vmap(grad(f))(&x.reshape([2, 1])), Tensor::from([[0.0], [0.5]]));
    assert_eq!(jvp(f, &x, &Tensor::from([1.0, 1.0])).1.item(), 0.5);
}

#[test]
fn svd_and_max_compose() {
    let f = |x: &Tensor| {
        let (u, s, vt) = x.svd();
        let (m, _) = x.max_along(0);
        (u.slice((.., 0)) * vt.slice((0, ..))).sum() + (&s * &s).sum() * 0.1 + m.tanh().sum()
    };
    let x = Tensor::from([[1.0, 0.2, -0.4], [0.3, 2.0, 0.1], [0.5, -0.7, 3.0]]);
    let g = grad(f)(&x);
    let c = compile(grad(f)).call(&x);
    assert!(g.all_close(&c, 1e-12));
    let h = 1e-6;
    for i in 0..3 {
        for j in 0..3 {
            let mut d = Tensor::zeros([3, 3]);
            d.set((i, j), 1.0);
            let (_, forward) = jvp(f, &x, &d);
            let numeric = (f(&(&x + &d * h)).item() - f(&(&x - &d * h)).item()) / (2.0 * h);
            assert!((forward.item() - numeric).abs() < 1e-7, "{forward} {numeric}");
            assert!((g.slice((i, j)).item() - numeric).abs() < 1e-7);
        }
    }
}
