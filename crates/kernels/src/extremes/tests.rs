use super::*;
use crate::scan::Accumulate;
use crate::set_threads;
use crate::view::samples::Numbers;

const SHAPES: [[usize; 3]; 9] =
    [[0, 3, 2], [2, 3, 0], [1, 1, 1], [3, 7, 1], [3, 7, 5], [2, 40_001, 1], [2, 60, 1100], [50, 90, 20], [900, 77, 1]];

fn random<T: Compute>(length: usize, nan: bool) -> Vec<T> {
    let mut numbers = Numbers::new(length as u32);
    let mut value = || match (nan && T::DTYPE.is_float(), numbers.below(60)) {
        (true, 0) => f64::NAN,
        _ => numbers.below(9) as f64 - 4.0,
    };
    (0..length).map(|_| T::from_f64(value())).collect()
}

/// The elements along the axis for each output.
fn lines<T: Compute>(x: &[T], [outer, n, inner]: [usize; 3]) -> Vec<Vec<f64>> {
    let line = |o: usize, i: usize| (0..n).map(|t| x[(o * n + t) * inner + i].to_f64()).collect();
    (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))).map(|(o, i)| line(o, i)).collect()
}

fn extremes_equal_naive_loops<T: Compute>() {
    for shape in SHAPES {
        let x = random::<T>(shape.iter().product(), true);
        let lines = lines(&x, shape);
        for least in [false, true] {
            for threads in [1, 2, 3, 7] {
                set_threads(threads);
                let (mut values, mut indices) = (vec![T::ZERO; lines.len()], vec![-1; lines.len()]);
                match least {
                    true => min(&x, shape, &mut values, &mut indices),
                    false => max(&x, shape, &mut values, &mut indices),
                }
                let mut only = vec![-1; lines.len()];
                match least {
                    true => argmin(&x, shape, &mut only),
                    false => argmax(&x, shape, &mut only),
                }
                assert_eq!(only, indices);
                for (k, line) in lines.iter().enumerate() {
                    let mut best = 0;
                    for (t, &value) in line.iter().enumerate() {
                        let beyond = if least { value < line[best] } else { value > line[best] };
                        if beyond || (value.is_nan() && !line[best].is_nan()) {
                            best = t;
                        }
                    }
                    assert_eq!(indices[k], best as i64, "{shape:?}");
                    let value = values[k].to_f64();
                    assert!(value == line[best] || (value.is_nan() && line[best].is_nan()));
                }
            }
        }
    }
}

#[test]
fn maxima_and_minima_equal_naive_loops() {
    extremes_equal_naive_loops::<f64>();
    extremes_equal_naive_loops::<f32>();
    extremes_equal_naive_loops::<i64>();
}

#[test]
#[should_panic(expected = "min: axis 1 of shape [2, 0, 3] is empty")]
fn an_empty_axis_has_no_least_element() {
    argmin::<f64>(&[], [2, 0, 3], &mut [0; 6]);
}

fn products_equal_naive_loops<T: Accumulate>() {
    for shape in SHAPES.into_iter().chain([[2, 0, 3]]) {
        // Near 1, so that long products stay in range; for integers 1 and -1.
        let x: Vec<T> = random::<T>(shape.iter().product(), false)
            .iter()
            .map(|x| {
                let sign = if x.to_f64() < 0.0 { -1.0 } else { 1.0 };
                T::from_f64(if T::DTYPE.is_float() { sign + x.to_f64() / 4096.0 } else { sign })
            })
            .collect();
        let lines = lines(&x, shape);
        let mut first: Option<Vec<T>> = None;
        for threads in [1, 2, 3, 7] {
            set_threads(threads);
            let mut out = vec![T::ZERO; lines.len()];
            prod(&x, shape, &mut out);
            assert_eq!(first.get_or_insert_with(|| out.clone()), &out);
        }
        for (ours, line) in first.unwrap().iter().zip(&lines) {
            let exact: f64 = line.iter().product();
            assert!((ours.to_f64() - exact).abs() <= 2e-7 * exact.abs(), "{ours:?} against {exact}");
        }
    }
}

#[test]
fn products_along_an_axis_equal_naive_loops() {
    products_equal_naive_loops::<f64>();
    products_equal_naive_loops::<f32>();
    products_equal_naive_loops::<i64>();
}

#[test]
fn any_and_all_equal_naive_loops() {
    for shape in SHAPES.into_iter().chain([[2, 0, 3]]) {
        let mut numbers = Numbers::new(shape[1] as u32);
        for zeros in [1, 2, 9, 100_000] {
            let x: Vec<f32> =
                (0..shape.iter().product()).map(|_| if numbers.below(zeros) == 0 { -0.0 } else { f32::NAN }).collect();
            let lines = lines(&x, shape);
            for threads in [1, 2, 3, 7] {
                set_threads(threads);
                let (mut some, mut every) = (vec![7; lines.len()], vec![7; lines.len()]);
                any(&x, shape, &mut some);
                all(&x, shape, &mut every);
                for (k, line) in lines.iter().enumerate() {
                    assert_eq!(some[k], line.iter().any(|&x| x != 0.0) as u8);
                    assert_eq!(every[k], line.iter().all(|&x| x != 0.0) as u8);
                }
            }
        }
    }
}

/// The product of `x + t1 h1 + ..` without element `i`, differentiated by all `t`: a sum over the element that each `h` replaces.
fn product_without(x: &[f64], directions: &[&[f64]], i: usize) -> f64 {
    let Some((h, rest)) = directions.split_first() else {
        return (0..x.len()).filter(|&j| j != i).map(|j| x[j]).product();
    };
    let along = |j: usize| {
        let mut given = x.to_vec();
        given[j] = h[j];
        // A later direction must not replace the same element.
        let rest: Vec<Vec<f64>> =
            rest.iter().map(|h| h.iter().enumerate().map(|(k, &h)| if k == j { 0.0 } else { h }).collect()).collect();
        product_without(&given, &rest.iter().map(|h| &h[..]).collect::<Vec<_>>(), i)
    };
    (0..x.len()).filter(|&j| j != i).map(along).sum()
}

#[test]
fn products_of_others_equal_naive_loops_for_every_length_and_order() {
    for (rows, n) in [(3, 1), (2, 2), (4, 5), (1, 70), (2, 64), (5000, 7)] {
        let samples: Vec<Vec<f64>> = (0..4)
            .map(|k| {
                (0..rows * n).map(|i| if i % 11 == 3 { 0.0 } else { (i as f64 * 0.7 + k as f64).sin() * 1.3 }).collect()
            })
            .collect();
        for order in 0..if n > 10 || rows > 10 { 2 } else { 4 } {
            let directions: Vec<&[f64]> = samples[1..=order].iter().map(|h| &h[..]).collect();
            let mut out = vec![9.0; rows * n];
            product_of_others(&samples[0], &directions, n, &mut out);
            for place in (0..rows * n).step_by(if rows > 10 { 97 } else { 1 }) {
                let row = place / n * n;
                let parts: Vec<&[f64]> = directions.iter().map(|h| &h[row..][..n]).collect();
                let want = product_without(&samples[0][row..][..n], &parts, place % n);
                let got = out[place];
                assert!((got - want).abs() <= 1e-13 * want.abs().max(1.0), "{rows}x{n}, {order}: {got}, not {want}");
            }
        }
    }
}
