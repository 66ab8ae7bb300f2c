use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;

/// Uniform in -3..3.
fn random<T: Float>(length: usize, seed: u32) -> Vec<T> {
    let mut numbers = Numbers::new(seed);
    (0..length).map(|_| T::from_f64(numbers.next() as f64 / 4294967296.0 * 6.0 - 3.0)).collect()
}

fn f64s<T: Float>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// Equal up to `tolerance` relative to 1 or to the larger; NaN equals NaN and infinities equal themselves.
fn assert_near<T: Float>(ours: &[T], exact: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), exact.len(), "{what}");
    for (i, (ours, &exact)) in ours.iter().zip(exact).enumerate() {
        let ours = ours.to_f64();
        let near = (ours - exact).abs() <= tolerance * exact.abs().max(1.0);
        assert!(near || ours == exact || (ours.is_nan() && exact.is_nan()), "{what}: {ours} against {exact} at {i}");
    }
}

fn tolerance<T: Float>() -> f64 {
    if size_of::<T>() == 4 { 2e-6 } else { 1e-14 }
}

/// Runs `body` with 1, 2, 3 and 7 threads and checks that the bits are the same.
pub(crate) fn same_bits<T: Float>(mut body: impl FnMut() -> Vec<T>) -> Vec<T> {
    let mut first: Option<Vec<T>> = None;
    for threads in [1, 2, 3, 7] {
        set_threads(threads);
        let result = body();
        let first = first.get_or_insert_with(|| result.clone());
        assert_eq!(bytemuck::cast_slice::<T, u8>(first), bytemuck::cast_slice::<T, u8>(&result), "{threads} threads");
    }
    first.expect("four rounds")
}

fn naive_logsumexp(x: &[f64]) -> f64 {
    let m = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let m = if m.is_finite() { m } else { 0.0 };
    m + x.iter().map(|x| (x - m).exp()).sum::<f64>().ln()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

const SHAPES: [(usize, usize); 9] =
    [(0, 5), (1, 1), (3, 1), (7, 5), (5, 33), (2, 1030), (300, 129), (1, 70_001), (2000, 17)];

fn softmax_family<T: Float>() {
    for (rows, n) in SHAPES {
        let (x, g): (Vec<T>, Vec<T>) = (random(rows * n, 1), random(rows * n, 2));
        let (wide_x, wide_g) = (f64s(&x), f64s(&g));
        let out = |f: &dyn Fn(&mut [T])| {
            same_bits(|| {
                let mut out = vec![T::from_f64(9.0); rows * n];
                f(&mut out);
                out
            })
        };
        let y = out(&|y| softmax(&x, n, y));
        let log_y = out(&|y| log_softmax(&x, n, y));
        let lse = same_bits(|| {
            let mut out = vec![T::ZERO; rows];
            logsumexp(&x, n, &mut out);
            out
        });
        let dx = out(&|dx| softmax_gradient(&y, &g, n, dx));
        let log_dx = out(&|dx| log_softmax_gradient(&log_y, &g, n, dx));
        let lse_dx = out(&|dx| logsumexp_gradient(&x, &lse, &g[..rows], n, dx));
        let exact_lse: Vec<f64> = wide_x.chunks(n).map(naive_logsumexp).collect();
        let exact_log: Vec<f64> = wide_x.iter().enumerate().map(|(i, x)| x - exact_lse[i / n]).collect();
        let exact: Vec<f64> = exact_log.iter().map(|y| y.exp()).collect();
        let tolerance = tolerance::<T>();
        assert_near(&lse, &exact_lse, tolerance, "logsumexp");
        assert_near(&y, &exact, tolerance, "softmax");
        assert_near(&log_y, &exact_log, tolerance, "log_softmax");
        let products: Vec<f64> = wide_g.chunks(n).zip(exact.chunks(n)).map(|(g, y)| dot(g, y)).collect();
        let totals: Vec<f64> = wide_g.chunks(n).map(|g| g.iter().sum()).collect();
        let exact_dx: Vec<f64> = (0..rows * n).map(|i| exact[i] * (wide_g[i] - products[i / n])).collect();
        assert_near(&dx, &exact_dx, tolerance, "softmax gradient");
        let u: Vec<T> = random(rows * n, 3);
        let (wide_y, wide_u) = (f64s(&y), f64s(&u));
        let dy = out(&|dy| softmax_gradient_by_value(&y, &g, &u, n, dy));
        let sum = |a: &[f64], i: usize| dot(&a[i / n * n..][..n], &wide_y[i / n * n..][..n]);
        let exact_dy = |i: usize| wide_u[i] * (wide_g[i] - sum(&wide_g, i)) - wide_g[i] * sum(&wide_u, i);
        // Checking some elements of long rows is enough: each takes two sums over its row.
        let some: Vec<usize> = (0..rows * n).step_by(1 + rows * n / 500).collect();
        let exact_dy: Vec<f64> = some.iter().map(|&i| exact_dy(i)).collect();
        let dy: Vec<T> = some.iter().map(|&i| dy[i]).collect();
        assert_near(&dy, &exact_dy, 30.0 * tolerance, "softmax gradient by value");
        let exact_dx: Vec<f64> = (0..rows * n).map(|i| wide_g[i] - exact[i] * totals[i / n]).collect();
        assert_near(&log_dx, &exact_dx, 30.0 * tolerance, "log_softmax gradient");
        let exact_dx: Vec<f64> = (0..rows * n).map(|i| wide_g[i / n] * exact[i]).collect();
        assert_near(&lse_dx, &exact_dx, tolerance, "logsumexp gradient");
    }
}

#[test]
fn softmax_and_its_kin_equal_naive_loops_in_f32() {
    softmax_family::<f32>();
}

#[test]
fn softmax_and_its_kin_equal_naive_loops_in_f64() {
    softmax_family::<f64>();
}

#[test]
fn infinities_and_nan_follow_the_documented_rules() {
    const INF: f32 = f32::INFINITY;
    let x = [-INF, -INF, -INF, 0.0, -INF, 0.0, INF, 1.0, 2.0, f32::NAN, 1.0, 2.0, -3e38, 3e38, 3e38];
    let (mut y, mut log_y, mut lse, mut dx) = ([0f32; 15], [0f32; 15], [0f32; 5], [0f32; 15]);
    softmax(&x, 3, &mut y);
    log_softmax(&x, 3, &mut log_y);
    logsumexp(&x, 3, &mut lse);
    logsumexp_gradient(&x, &lse, &[1.0; 5], 3, &mut dx);
    for wrong in [0, 2, 3] {
        assert!(y[wrong * 3..][..3].iter().chain(&log_y[wrong * 3..][..3]).all(|y| y.is_nan()), "row {wrong}");
    }
    assert_eq!((&y[3..6], log_y[4]), (&[0.5, 0.0, 0.5][..], -INF));
    assert_eq!(y[12..], [0.0, 0.5, 0.5]);
    assert_eq!((lse[0], lse[2]), (-INF, INF));
    assert!(lse[3].is_nan() && lse[4] == 3e38);
    assert_eq!(dx[..3], [0.0; 3]);
    logsumexp::<f32>(&[], 0, &mut lse);
    assert_eq!(lse, [-INF; 5]);
}

fn cross_entropy_equals_its_formula<T: Float>() {
    for (rows, n) in [(0, 3), (1, 1), (5, 3), (9, 40), (3, 2050), (700, 65)] {
        let x: Vec<T> = random(rows * n, 5);
        let weights: Vec<T> = random(n, 6).into_iter().map(|w: T| w * w).collect();
        let g: Vec<T> = random(rows, 7);
        let mut numbers = Numbers::new(rows as u32);
        let targets: Vec<i64> =
            (0..rows).map(|_| if numbers.below(5) == 0 { -100 } else { numbers.below(n) as i64 }).collect();
        for (smoothing, weights) in [(0.0, None), (0.1, None), (0.0, Some(&weights[..])), (0.3, Some(&weights[..]))] {
            let target =
                CrossEntropy { targets: &targets, ignored: Some(-100), smoothing: T::from_f64(smoothing), weights };
            let (mut loss, mut lse) = (vec![T::ONE; rows], vec![T::ONE; rows]);
            let both = same_bits(|| {
                cross_entropy(&x, n, target, &mut loss, &mut lse).unwrap();
                [&loss[..], &lse[..]].concat()
            });
            let dx = same_bits(|| {
                let mut dx = vec![T::ONE; rows * n];
                cross_entropy_gradient(&x, n, target, &lse, &g, &mut dx);
                dx
            });
            let (mut exact_loss, mut exact_dx) = (vec![0.0; rows], vec![0.0; rows * n]);
            for row in 0..rows {
                if targets[row] == -100 {
                    continue;
                }
                let x = f64s(&x[row * n..][..n]);
                let lse = naive_logsumexp(&x);
                let part = |c: usize| {
                    let own = if c as i64 == targets[row] { 1.0 - smoothing } else { 0.0 };
                    (own + smoothing / n as f64) * weights.map_or(1.0, |weights| weights[c].to_f64())
                };
                let whole: f64 = (0..n).map(part).sum();
                for c in 0..n {
                    exact_loss[row] += part(c) * (lse - x[c]);
                    exact_dx[row * n + c] = g[row].to_f64() * ((x[c] - lse).exp() * whole - part(c));
                }
            }
            assert_near(&both[..rows], &exact_loss, 3.0 * tolerance::<T>(), "cross entropy");
            assert_near(&dx, &exact_dx, 10.0 * tolerance::<T>(), "cross entropy gradient");
        }
    }
}

#[test]
fn cross_entropy_equals_its_formula_in_f32() {
    cross_entropy_equals_its_formula::<f32>();
}

#[test]
fn cross_entropy_equals_its_formula_in_f64() {
    cross_entropy_equals_its_formula::<f64>();
}

#[test]
fn a_target_that_is_no_class_is_an_error() {
    let target = CrossEntropy { targets: &[0, 2], ignored: None, smoothing: 0.0, weights: None };
    let error = cross_entropy(&[0f32; 4], 2, target, &mut [0.0; 2], &mut [0.0; 2]).unwrap_err();
    assert_eq!((error.index, error.position, error.length), (2, 1, 2));
}

fn norms_equal_their_formulas<T: Float>() {
    for (rows, n) in [(0, 4), (1, 1), (3, 7), (33, 64), (70, 1030), (1200, 40)] {
        let (x, g): (Vec<T>, Vec<T>) = (random(rows * n, 1), random(rows * n, 2));
        let (gain, bias): (Vec<T>, Vec<T>) = (random(n, 3), random(n, 4));
        for centered in [true, false] {
            for with in [true, false] {
                let affine = Affine { gain: with.then_some(&gain[..]), bias: with.then_some(&bias[..]) };
                let epsilon = T::from_f64(1e-3);
                let forward = same_bits(|| {
                    let (mut y, mut mean, mut rstd) = (vec![T::ONE; rows * n], vec![T::ZERO; rows], vec![T::ONE; rows]);
                    match centered {
                        true => layer_norm(&x, n, affine, epsilon, &mut y, &mut mean, &mut rstd),
                        false => rms_norm(&x, n, affine, epsilon, &mut y, &mut rstd),
                    }
                    [y, mean, rstd].concat()
                });
                let (y, rest) = forward.split_at(rows * n);
                let (mean, rstd) = rest.split_at(rows);
                let backward = same_bits(|| {
                    let (mut dx, mut dgain, mut dbias) = (vec![T::ONE; rows * n], vec![T::ONE; n], vec![T::ONE; n]);
                    let to = NormGradient { dx: &mut dx, dgain: Some(&mut dgain), dbias: Some(&mut dbias) };
                    match centered {
                        true => layer_norm_gradient(&x, n, affine.gain, mean, rstd, &g, to),
                        false => rms_norm_gradient(&x, n, affine.gain, rstd, &g, to),
                    }
                    [dx, dgain, dbias].concat()
                });
                let (mut exact_y, mut exact_dx) = (vec![], vec![]);
                let (mut exact_dgain, mut exact_dbias) = (vec![0.0; n], vec![0.0; n]);
                for row in 0..rows {
                    let (x, g) = (f64s(&x[row * n..][..n]), f64s(&g[row * n..][..n]));
                    let count = n as f64;
                    let mean = if centered { x.iter().sum::<f64>() / count } else { 0.0 };
                    let rstd =
                        1.0 / (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count + epsilon.to_f64()).sqrt();
                    let u: Vec<f64> = x.iter().map(|x| (x - mean) * rstd).collect();
                    let factor = |c: usize| if with { gain[c].to_f64() } else { 1.0 };
                    let h: Vec<f64> = (0..n).map(|c| g[c] * factor(c)).collect();
                    let average = if centered { h.iter().sum::<f64>() / count } else { 0.0 };
                    for c in 0..n {
                        exact_y.push(u[c] * factor(c) + if with { bias[c].to_f64() } else { 0.0 });
                        exact_dx.push(rstd * (h[c] - average - u[c] * dot(&h, &u) / count));
                        exact_dgain[c] += g[c] * u[c];
                        exact_dbias[c] += g[c];
                    }
                }
                let tolerance = 30.0 * tolerance::<T>();
                assert_near(y, &exact_y, tolerance, "norm");
                // A row of one element has rstd 1/sqrt(epsilon), which magnifies the rounding of its cancellation.
                assert_near(&backward[..rows * n], &exact_dx, tolerance, "norm dx");
                assert_near(&backward[rows * n..][..n], &exact_dgain, tolerance, "norm dgain");
                assert_near(&backward[rows * n + n..], &exact_dbias, tolerance, "norm dbias");
            }
        }
    }
}

#[test]
fn norms_equal_their_formulas_in_f32() {
    norms_equal_their_formulas::<f32>();
}

#[test]
fn norms_equal_their_formulas_in_f64() {
    norms_equal_their_formulas::<f64>();
}

#[test]
fn moments_keep_their_digits_beside_a_large_mean() {
    for (rows, n) in [(1, 1), (3, 5), (2, 5000), (5000, 3), (600, 70)] {
        let x: Vec<f32> = random::<f32>(rows * n, 8).into_iter().map(|x| x / 64.0 + 1000.0).collect();
        let naive = |values: &mut dyn Iterator<Item = f32>| {
            let values: Vec<f64> = values.map(f64::from).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
        };
        let row_result = same_bits(|| {
            let (mut mean, mut variance) = (vec![0f32; rows], vec![0f32; rows]);
            mean_variance(&x, n, &mut mean, &mut variance);
            [mean, variance].concat()
        });
        let column_result = same_bits(|| {
            let (mut mean, mut variance) = (vec![0f32; n], vec![0f32; n]);
            mean_variance_of_columns(&x, n, &mut mean, &mut variance);
            [mean, variance].concat()
        });
        for row in 0..rows {
            let (mean, variance) = naive(&mut x[row * n..][..n].iter().copied());
            assert!((row_result[row] as f64 - mean).abs() <= 4e-5);
            assert!((row_result[rows + row] as f64 - variance).abs() <= 1e-5 * variance, "{rows}x{n}");
        }
        for column in 0..n {
            let (mean, variance) = naive(&mut x.iter().copied().skip(column).step_by(n));
            assert!((column_result[column] as f64 - mean).abs() <= 4e-5);
            assert!((column_result[n + column] as f64 - variance).abs() <= 1e-5 * variance, "{rows}x{n}");
        }
    }
    let mut nothing = ([0.0; 2], [0.0; 2]);
    mean_variance_of_columns::<f64>(&[], 2, &mut nothing.0, &mut nothing.1);
    assert!(nothing.0[0].is_nan() && nothing.1[1].is_nan());
}

#[test]
fn p_norms_neither_overflow_nor_lose_zeros() {
    let norm = |x: &[f64], p: f64| {
        let mut y = [f64::NAN];
        p_norm(x, x.len(), p, &mut y);
        y[0]
    };
    assert_eq!(norm(&[], 3.0), 0.0);
    assert_eq!(norm(&[0.0, -0.0], 2.0), 0.0);
    assert!((norm(&[3e200, 4e200], 2.0) / 5e200 - 1.0).abs() < 1e-15);
    assert!((norm(&[3e-200, 4e-200], 2.0) / 5e-200 - 1.0).abs() < 1e-15);
    assert!((norm(&[1.0, -2.0], 3.0) - 9f64.cbrt()).abs() < 1e-15);
    assert!((norm(&[1.0, -2.0], -1.0) - 2.0 / 3.0).abs() < 1e-15);
    assert_eq!(norm(&[1.0, 0.0], -1.0), 0.0);
    assert_eq!(norm(&[f64::INFINITY, 1.0], 2.0), f64::INFINITY);
    assert!(norm(&[1.0, f64::NAN, 2.0], 2.0).is_nan() && norm(&[1.0, f64::NAN, 2.0], -1.5).is_nan());
}
