//! The memory that derivatives take.

use super::turn;
use wengert::prelude::*;

#[test]
fn products_with_a_long_jacobian_need_a_few_vectors_of_memory() {
    let _turn = turn();
    let (n, m) = (1_000_000, 1_000);
    // Every output depends on a thousand inputs and on the sum of all.
    let f = |x: &Tensor| x.sin().reshape([m, n / m]).sum_over(1) * x.square().mean();
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

#[test]
fn eight_layers_in_two_segments_keep_x0_and_x4() {
    let _turn = turn();
    let n = 100_000;
    let layers = vec![|x: &Tensor| x.sin(); 8];
    let x0 = Tensor::linspace(0.0, 1.0, n);
    let held = |run: &dyn Fn(&Tensor) -> Tensor| {
        let before = wengert::memory::statistics().live_bytes;
        let recorded = vjp(run, &x0);
        let vectors = (wengert::memory::statistics().live_bytes - before) as f64 / (8 * n) as f64;
        drop(recorded);
        vectors
    };
    // x0 belongs to the caller; x8 is the result.
    let whole = held(&|x| layers.iter().fold(x.clone(), |x, layer| layer(&x)));
    let segments = held(&|x| checkpoint_chain(&layers, x, 2));
    assert!((8.0..8.5).contains(&whole), "x1 to x8 without segments, not {whole} vectors");
    assert!((2.0..2.5).contains(&segments), "x4 and x8 with two segments, not {segments} vectors");
}
