//! Loops and branches that stay in programs.

use wengert::prelude::*;

fn recurrent(w: &Tensor, x: &Tensor) -> Tensor {
    scan(|h: &Tensor, x: &Tensor| ((w * h + x).tanh(), ()), &Tensor::from(0.0), x).0
}

#[test]
fn the_adjoint_of_a_shared_parameter_is_the_sum_over_one_copy_per_step() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let rust_loop = |w: &Tensor| (0..3).fold(Tensor::from(0.0), |h, t| (w * h + x.slice(t)).tanh());
    let copies = |w: &Vec<Tensor>| {
        (0..3).fold(Tensor::from(0.0), |h, t| (&w[t as usize] * h + x.slice(t)).tanh())
    };
    let w = Tensor::from(0.5);
    let right = 0.003687663930367921;
    let by_copies: f64 = grad(copies)(&vec![w.clone(); 3]).iter().map(Tensor::item).sum();
    let compiled = compile(grad(|w: &Tensor| recurrent(w, &x)));
    for found in [grad(rust_loop)(&w).item(), by_copies, grad(|w: &Tensor| recurrent(w, &x))(&w).item(), compiled.call(&w).item()] {
        assert!((found - right).abs() < 1e-15, "{found:?}");
    }
    println!("{}", compile(|(w, x): &(Tensor, Tensor)| recurrent(w, x)).program(&(w.clone(), x.clone())));
    println!("{}", compiled.program(&w));
    println!("{}", compile(hessian(|w: &Tensor| recurrent(w, &x))).program(&w));
    let leaf = w.require_grad();
    recurrent(&leaf, &x).backward();
    assert!((leaf.grad().unwrap().item() - right).abs() < 1e-15);
}
