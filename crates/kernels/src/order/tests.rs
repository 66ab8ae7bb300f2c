use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;
use std::cmp::Ordering;

/// Few distinct values, so that there are ties; for floats, NaN, infinities and both zeros too.
fn random<T: Sortable>(length: usize, seed: u32) -> Vec<T> {
    let mut numbers = Numbers::new(seed);
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];
    let mut value = || match numbers.below(10) {
        0 if T::DTYPE.is_float() => special[numbers.below(5)],
        _ => numbers.below(40) as f64 - 20.0,
    };
    (0..length).map(|_| T::from_f64(value())).collect()
}

fn compare<T: Sortable>(a: T, b: T) -> Ordering {
    let (a, b) = (a.to_f64(), b.to_f64());
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn sorted_positions<T: Sortable>(x: &[T], descending: bool) -> Vec<i64> {
    let mut positions: Vec<usize> = (0..x.len()).collect();
    positions.sort_by(|&i, &j| if descending { compare(x[j], x[i]) } else { compare(x[i], x[j]) });
    positions.into_iter().map(|position| position as i64).collect()
}

fn same<T: Sortable>(a: &[T], b: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b)
}

fn orders_equal_the_stable_sort<T: Sortable>() {
    for (seed, (rows, n)) in [(0, 3), (3, 0), (1, 1), (4, 2), (7, 33), (300, 40), (2, 5001)].into_iter().enumerate() {
        let x = random::<T>(rows * n, seed as u32);
        for threads in [1, 2, 3, 7] {
            set_threads(threads);
            for descending in [false, true] {
                let (mut values, mut indices) = (vec![T::ONE; rows * n], vec![-1; rows * n]);
                sort(&x, n, descending, &mut values, &mut indices);
                for row in 0..if n == 0 { 0 } else { rows } {
                    let x = &x[row * n..][..n];
                    let expected = sorted_positions(x, descending);
                    assert_eq!(indices[row * n..][..n], expected);
                    let gathered: Vec<T> = expected.iter().map(|&i| x[i as usize]).collect();
                    assert!(same(&values[row * n..][..n], &gathered));
                }
                for k in [0, 1, n / 2, n] {
                    let (mut top, mut top_indices) = (vec![T::ONE; rows * k], vec![-1; rows * k]);
                    if k > n || (n == 0 && k > 0) {
                        continue;
                    }
                    topk(&x, n, k, descending, &mut top, &mut top_indices);
                    for row in 0..if n == 0 { 0 } else { rows } {
                        assert_eq!(top_indices[row * k..][..k], indices[row * n..][..k]);
                        assert!(same(&top[row * k..][..k], &values[row * n..][..k]));
                    }
                    if !descending && k < n {
                        let (mut value, mut index) = (vec![T::ONE; rows], vec![-1; rows]);
                        kth_value(&x, n, k, &mut value, &mut index);
                        for row in 0..rows {
                            assert_eq!(index[row], indices[row * n + k]);
                            assert!(same(&value[row..=row], &values[row * n + k..][..1]));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sort_topk_and_kth_value_equal_the_stable_sort() {
    orders_equal_the_stable_sort::<f64>();
    orders_equal_the_stable_sort::<f32>();
    orders_equal_the_stable_sort::<i64>();
}

#[test]
fn large_integers_keep_their_order() {
    let x = [i64::MAX, i64::MIN, i64::MAX - 1, 0, -1];
    let (mut values, mut indices) = ([0; 5], [0; 5]);
    sort(&x, 5, false, &mut values, &mut indices);
    assert_eq!(values, [i64::MIN, -1, 0, i64::MAX - 1, i64::MAX]);
}

#[test]
fn unique_values_multiply_back() {
    for length in [0, 1, 2, 100, 3000] {
        let x = random::<f32>(length, length as u32);
        let found = unique(&x);
        assert!(found.values.windows(2).all(|pair| pair[0] < pair[1] || pair[1].is_nan()));
        assert_eq!(found.counts.iter().sum::<i64>(), length as i64);
        let mut counts = vec![0; found.values.len()];
        for (x, &place) in x.iter().zip(&found.inverse) {
            let value = found.values[place as usize];
            assert!(value == *x || (value.is_nan() && x.is_nan()));
            counts[place as usize] += 1;
        }
        assert_eq!(counts, found.counts);
    }
}

#[test]
fn searches_equal_counting() {
    for (rows, n, m) in [(1, 0, 3), (2, 5, 0), (3, 1, 2), (5, 40, 30), (4, 700, 9000)] {
        let unsorted = random::<f64>(rows * n, 5);
        let (mut sorted, mut indices) = (unsorted.clone(), vec![0; rows * n]);
        sort(&unsorted, n, false, &mut sorted, &mut indices);
        let values = random::<f64>(rows * m, 6);
        for (right, shared) in [(false, false), (true, false), (false, true), (true, true)] {
            let sorted = if shared { &sorted[..n] } else { &sorted[..] };
            let mut first = None;
            for threads in [1, 2, 3, 7] {
                set_threads(threads);
                let mut out = vec![-1; rows * m];
                searchsorted(sorted, n, &values, m, right, &mut out);
                assert_eq!(first.get_or_insert_with(|| out.clone()), &out);
            }
            for (i, place) in first.unwrap().into_iter().enumerate() {
                let row = if shared { sorted } else { &sorted[i / m * n..][..n] };
                let wanted = |x: &&f64| match compare(**x, values[i]) {
                    Ordering::Less => true,
                    Ordering::Equal => right,
                    Ordering::Greater => false,
                };
                assert_eq!(place as usize, row.iter().filter(wanted).count());
            }
        }
    }
}

#[test]
fn medians_and_modes_of_rows_with_ties_and_nan() {
    let x = [3.0, 1.0, 3.0, 2.0, f64::NAN, f64::NAN, f64::NAN, 5.0, f64::NAN, 5.0, 4.0, 9.0];
    let (mut values, mut indices) = ([0.0; 3], [0; 3]);
    median(&x, 4, true, &mut values, &mut indices);
    assert_eq!((values, indices), ([2.0, 5.0, 5.0], [3, 3, 1]));
    median(&x, 4, false, &mut values, &mut indices);
    assert_eq!((values[0], indices), (2.0, [3, 0, 0]));
    mode(&x, 4, &mut values, &mut indices);
    assert_eq!((values[0], indices), (3.0, [0, 0, 2]));
}
