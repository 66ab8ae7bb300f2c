//! How much memory products with a Jacobian take, in a process of its own because the counters are the process's.

use wengert::prelude::*;

#[test]
fn products_with_a_long_jacobian_need_a_few_vectors_of_memory() {
    let (n, m) = (1_000_000, 1_000);
    // Every output depends on a thousand inputs and on the sum of all.
    let f = |x: &Tensor| x.sin().reshape([m, n / m]).sum_axes(&[1]) * x.square().mean();
    let x = Tensor::linspace(0.0, 1.0, n);
    let (dx, dy) = (x.cos(), Tensor::ones([m]).contiguous());
    let used = |run: &dyn Fn()| {
        let before = wengert::memory::statistics().live_bytes;
        wengert::memory::reset_peak();
        run();
        (wengert::memory::statistics().peak_bytes - before) / 8
    };
    let forward = used(&|| drop(jvp(f, &x, &dx)));
    let reverse = used(&|| drop(vjp(f, &x).1.call(&dy)));
    assert!(forward < 6 * (n + m), "{forward} numbers in forward mode");
    assert!(reverse < 6 * (n + m), "{reverse} numbers in reverse mode");
    let map = Jacobian::of(f, &x);
    let paired = ((map.apply(&dx) * &dy).sum().item(), (map.apply_transpose(&dy) * &dx).sum().item());
    assert!((paired.0 - paired.1).abs() < 1e-9 * paired.0.abs());
    let error = map.to_dense().unwrap_err();
    assert!(error.to_string().contains("8000000000 bytes"), "{error}");
    assert_eq!(error.line().unwrap().file(), file!());
}
