//! Batches of matrices on any number of threads give the same bits.

use super::turn;
use wengert_kernels::linalg::*;
use wengert_kernels::{set_threads, uniform_f64};

fn every_output<T: Real>(n: usize, batch: usize) -> Vec<Vec<f64>> {
    let mut a = vec![0.0; batch * n * n];
    uniform_f64(1, 2, &mut a);
    for matrix in a.chunks_exact_mut(n * n) {
        matrix.iter_mut().step_by(n + 1).for_each(|x| *x += n as f64);
    }
    let a: Vec<T> = a.iter().map(|&x| T::from_f64(x)).collect();
    let out = || vec![T::ZERO; batch * n * n];
    let (mut pivots, mut short) = (vec![0; batch * n], vec![T::ZERO; batch * n]);
    let mut results = Vec::new();
    let mut keep = |status: Status, outs: &[&[T]]| {
        assert!(status.is_ok());
        outs.iter().for_each(|out| results.push(out.iter().map(|x| x.to_f64()).collect()));
    };
    let (mut x, mut y) = (out(), out());
    keep(lu(&a, [batch, n, n], &mut x, &mut pivots, &mut short[..batch]), &[&x, &short[..batch]]);
    keep(solve(&a, &a, [batch, n, n], true, &mut x), &[&x]);
    keep(inv(&a, [batch, n], &mut x), &[&x]);
    keep(solve_triangular(&a, &a, [batch, n, n], Triangular::UPPER, &mut x), &[&x]);
    keep(cholesky(&a, [batch, n], &mut x), &[&x]);
    keep(qr(&a, [batch, n, n], false, &mut x, &mut y), &[&x, &y]);
    keep(eigh(&a, [batch, n], &mut short, &mut x), &[&short, &x]);
    keep(svd(&a, [batch, n, n], false, &mut x, &mut short, &mut y), &[&x, &short, &y]);
    results.push(pivots.iter().map(|&pivot| pivot as f64).collect());
    results
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let _turn = turn();
    for (n, batch) in [(8, 400), (33, 20)] {
        set_threads(1);
        let (single, double) = (every_output::<f32>(n, batch), every_output::<f64>(n, batch));
        for threads in [1, 2, 3, 7] {
            set_threads(threads);
            assert!(single == every_output::<f32>(n, batch) && double == every_output::<f64>(n, batch), "{threads}");
        }
        // Nor do they depend on the position in the batch.
        let first = every_output::<f64>(n, 1);
        assert!(first.iter().zip(&double).all(|(one, many)| one[..] == many[..one.len()]));
    }
}
