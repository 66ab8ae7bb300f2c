//! Times of the decompositions on one thread: `cargo run --release -p wengert-kernels --example linalg_speed`.

use std::time::Instant;
use wengert_kernels::linalg::*;
use wengert_kernels::{set_threads, uniform_f64};

/// Microseconds of one call: the best of 15 rounds of about 2 ms each.
fn time(mut body: impl FnMut() -> Status) -> f64 {
    let start = Instant::now();
    assert!(body().is_ok());
    let repeats = (2e-3 / start.elapsed().as_secs_f64()).clamp(1.0, 1e6) as usize;
    (0..15)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..repeats {
                assert!(body().is_ok());
            }
            start.elapsed().as_secs_f64() * 1e6 / repeats as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn all<T: Real>(n: usize) {
    let mut numbers = vec![0.0; n * n];
    uniform_f64(1, 2, &mut numbers);
    let a: Vec<T> = numbers.iter().map(|&x| T::from_f64(x - 0.5)).collect();
    let mut positive = a.clone();
    positive.iter_mut().step_by(n + 1).for_each(|x| *x = T::from_f64(n as f64));
    let square = || vec![T::ZERO; n * n];
    let (mut x, mut y, mut short, mut pivots) = (square(), square(), vec![T::ZERO; n], vec![0; n]);
    let name = std::any::type_name::<T>();
    let row = |what: &str, microseconds: f64| println!("{name} n = {n:3}: {what:16} {microseconds:10.1} us");
    row("lu", time(|| lu(&a, [1, n, n], &mut x, &mut pivots, &mut short[..1])));
    row("solve", time(|| solve(&a, &positive, [1, n, n], false, &mut x)));
    row("solve one column", time(|| solve(&a, &positive[..n], [1, n, 1], false, &mut x[..n])));
    row("inv", time(|| inv(&a, [1, n], &mut x)));
    row("solve_triangular", time(|| solve_triangular(&positive, &a, [1, n, n], Triangular::LOWER, &mut x)));
    row("cholesky", time(|| cholesky(&positive, [1, n], &mut x)));
    row("qr", time(|| qr(&a, [1, n, n], false, &mut x, &mut y)));
    row("eigh", time(|| eigh(&a, [1, n], &mut short, &mut x)));
    row("svd", time(|| svd(&a, [1, n, n], false, &mut x, &mut short, &mut y)));
}

fn main() {
    set_threads(1);
    for n in [8, 64, 256] {
        all::<f64>(n);
        all::<f32>(n);
    }
}
