use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;

const SHAPES: [[usize; 3]; 10] = [
    [0, 3, 2],
    [2, 0, 3],
    [2, 3, 0],
    [1, 1, 1],
    [3, 7, 1],
    [3, 7, 5],
    [2, 40_001, 1],
    [2, 60, 1100],
    [50, 90, 20],
    [900, 77, 1],
];

fn random<T: Compute>(length: usize, special: bool) -> Vec<T> {
    let mut numbers = Numbers::new(length as u32);
    let value = |numbers: &mut Numbers| match (special, numbers.below(50)) {
        (true, 0) => f64::NEG_INFINITY,
        _ => numbers.below(2001) as f64 / 500.0 - 2.0,
    };
    (0..length).map(|_| T::from_f64(value(&mut numbers))).collect()
}

/// Applies `naive` to every line along the axis and compares; `body` must give the same bits for all thread counts.
fn check<T: Compute>(
    x: &[T],
    [outer, n, inner]: [usize; 3],
    tolerance: f64,
    body: impl Fn(&mut [T], &mut [i64]),
    naive: impl Fn(&[f64]) -> Vec<(f64, i64)>,
) {
    let mut first: Option<(Vec<T>, Vec<i64>)> = None;
    for threads in [1, 2, 3, 7] {
        set_threads(threads);
        let mut result = (vec![T::ZERO; x.len()], vec![-7; x.len()]);
        body(&mut result.0, &mut result.1);
        let first = first.get_or_insert_with(|| result.clone());
        assert_eq!(bytemuck::cast_slice::<T, u8>(&first.0), bytemuck::cast_slice::<T, u8>(&result.0));
        assert_eq!(first.1, result.1);
    }
    let (values, indices) = first.unwrap();
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        let at = |t: usize| (o * n + t) * inner + i;
        let line: Vec<f64> = (0..n).map(|t| x[at(t)].to_f64()).collect();
        for (t, (value, index)) in naive(&line).into_iter().enumerate() {
            let ours = values[at(t)].to_f64();
            let near = (ours - value).abs() <= tolerance * value.abs().max(1.0);
            assert!(near || ours == value || (ours.is_nan() && value.is_nan()), "{ours} against {value} at {t} of {n}");
            assert!(index < 0 || indices[at(t)] == index, "index {} against {index}", indices[at(t)]);
        }
    }
}

fn running(line: &[f64], reverse: bool, start: f64, step: impl Fn(f64, f64) -> f64) -> Vec<(f64, i64)> {
    let mut state = start;
    let order: Box<dyn Iterator<Item = usize>> =
        if reverse { Box::new((0..line.len()).rev()) } else { Box::new(0..line.len()) };
    let mut out = vec![(0.0, -1); line.len()];
    for t in order {
        state = step(state, line[t]);
        out[t].0 = state;
    }
    out
}

fn sums_and_products<T: Accumulate>(tolerance: f64) {
    for shape in SHAPES {
        let x = random::<T>(shape.iter().product(), false);
        for reverse in [false, true] {
            check(
                &x,
                shape,
                tolerance,
                |out, _| cumsum(&x, shape, reverse, out),
                |line| running(line, reverse, 0.0, |a, b| a + b),
            );
        }
        let signs: Vec<T> = x.iter().map(|x| T::from_f64(if x.to_f64() < 0.0 { -1.0 } else { 1.0 })).collect();
        for reverse in [false, true] {
            check(
                &signs,
                shape,
                0.0,
                |out, _| cumprod(&signs, shape, reverse, out),
                |line| running(line, reverse, 1.0, |a, b| a * b),
            );
        }
    }
}

#[test]
fn cumulative_sums_and_products_equal_naive_loops() {
    sums_and_products::<f64>(1e-11);
    sums_and_products::<f32>(1e-7);
    sums_and_products::<i64>(0.0);
}

fn log_sums<T: Float>(tolerance: f64) {
    for shape in SHAPES {
        let x = random::<T>(shape.iter().product(), true);
        for reverse in [false, true] {
            check(
                &x,
                shape,
                tolerance,
                |out, _| logcumsumexp(&x, shape, reverse, out),
                |line| {
                    let sums = running(line, reverse, 0.0, |a, b| a + b.exp());
                    sums.into_iter().map(|(sum, index)| (sum.ln(), index)).collect()
                },
            );
        }
    }
}

#[test]
fn logcumsumexp_equals_naive_loops() {
    log_sums::<f64>(1e-12);
    log_sums::<f32>(1e-4);
}

#[test]
fn logcumsumexp_passes_infinities_and_nan_on() {
    const INF: f64 = f64::INFINITY;
    let mut y = [0.0; 5];
    logcumsumexp(&[-INF, -1000.0, INF, 3.0, f64::NAN], [1, 5, 1], false, &mut y);
    assert_eq!(y[..4], [-INF, -1000.0, INF, INF]);
    assert!(y[4].is_nan());
}

fn extremes<T: Compute>() {
    for shape in SHAPES {
        let x: Vec<T> =
            random::<T>(shape.iter().product(), false).iter().map(|x| T::from_f64(x.to_f64().round())).collect();
        for least in [false, true] {
            check(
                &x,
                shape,
                0.0,
                |out, indices| if least { cummin(&x, shape, out, indices) } else { cummax(&x, shape, out, indices) },
                |line| {
                    let mut best = 0;
                    (0..line.len())
                        .map(|t| {
                            if if least { line[t] <= line[best] } else { line[t] >= line[best] } {
                                best = t;
                            }
                            (line[best], best as i64)
                        })
                        .collect()
                },
            );
        }
    }
}

#[test]
fn cumulative_extremes_equal_naive_loops() {
    extremes::<f64>();
    extremes::<f32>();
    extremes::<i64>();
}

#[test]
fn nan_stays_the_extreme_once_seen() {
    let (mut values, mut indices) = ([0f32; 4], [0; 4]);
    cummin(&[1.0, f32::NAN, 0.0, f32::NAN], [1, 4, 1], &mut values, &mut indices);
    assert!(values[0] == 1.0 && values[1..].iter().all(|v| v.is_nan()));
    assert_eq!(indices, [0, 1, 1, 3]);
}

#[test]
fn the_reverse_sum_is_the_transpose_of_the_sum() {
    let (x, y) = (random::<f64>(3 * 50 * 4, false), random::<f64>(601, false)[..600].to_vec());
    let (mut forward, mut backward) = (vec![0.0; 600], vec![0.0; 600]);
    cumsum(&x, [3, 50, 4], false, &mut forward);
    cumsum(&y, [3, 50, 4], true, &mut backward);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    assert!((dot(&forward, &y) - dot(&x, &backward)).abs() < 1e-9);
}

#[test]
fn a_linear_recurrence_equals_a_plain_loop() {
    for (shape, reverse) in [([2, 5, 1], false), ([2, 5, 3], true), ([1, 3, 700], false), ([0, 3, 2], true)] {
        let [outer, n, inner] = shape;
        let count = outer * n * inner;
        let a: Vec<f64> = (0..count).map(|i| (i as f64 * 0.7).sin()).collect();
        let b: Vec<f64> = (0..count).map(|i| (i as f64 * 1.3).cos()).collect();
        let mut y = vec![f64::NAN; count];
        linear_scan(&a, &b, shape, reverse, &mut y);
        for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
            let mut state = 0.0;
            for t in 0..n {
                let at = (o * n + if reverse { n - 1 - t } else { t }) * inner + i;
                state = a[at] * state + b[at];
                assert_eq!(y[at], state);
            }
        }
    }
}
