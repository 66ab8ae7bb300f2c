use super::*;
use crate::dtype::DType;
use crate::set_threads;
use crate::view::samples::{Numbers, Sample, element, random_shape};
use crate::view::{Out, View};

/// Position of the output that element `linear` of `shape` is reduced into.
fn output_of(linear: usize, shape: &[usize], reduced: &[bool]) -> usize {
    let mut rest = linear;
    let (mut position, mut step) = (0, 1);
    for axis in (0..shape.len()).rev() {
        if !reduced[axis] {
            position += rest % shape[axis] * step;
            step *= shape[axis];
        }
        rest /= shape[axis];
    }
    position
}

fn kept(shape: &[usize], reduced: &[bool]) -> usize {
    shape.iter().zip(reduced).filter(|&(_, &reduced)| !reduced).map(|(&size, _)| size).product()
}

#[test]
fn sums_equal_plain_loops_for_all_axes_layouts_and_dtypes() {
    for seed in 0..300 {
        let shape = random_shape(seed, if seed % 7 == 0 { 35 } else { 6 });
        let mut numbers = Numbers::new(seed);
        let reduced: Vec<bool> = shape.iter().map(|_| numbers.below(2) == 0).collect();
        let dtype = DType::ALL[numbers.below(8)];
        let to = if dtype.is_float() { DType::F64 } else { DType::I64 };
        let sample = Sample::random(dtype, &shape, seed);
        let mut expected = vec![0i64; kept(&shape, &reduced)];
        for (i, value) in sample.values::<i64>().into_iter().enumerate() {
            expected[output_of(i, &shape, &reduced)] += value;
        }
        let mut bytes = vec![3; expected.len() * to.size()];
        sum(sample.view(), &reduced, Out { dtype: to, bytes: &mut bytes });
        for (i, &value) in expected.iter().enumerate() {
            assert_eq!(element::<i64>(to, &bytes, i), value, "{dtype} {shape:?} {reduced:?}");
        }
    }
}

#[test]
fn float_sums_have_the_same_bits_for_every_thread_count_and_are_accurate() {
    let cases: [(&[usize], &[bool]); 9] = [
        (&[300_001], &[true]),
        (&[40_000, 3], &[true, false]),
        (&[3, 40_000], &[false, true]),
        (&[700, 300], &[true, false]),
        (&[300, 700], &[false, true]),
        (&[5, 5000, 7], &[false, true, false]),
        (&[100, 20, 100], &[true, false, true]),
        (&[20, 3000], &[true, false]),
        (&[70, 40, 50], &[false, true, false]),
    ];
    for (shape, reduced) in cases {
        let length: usize = shape.iter().product();
        let mut numbers = Numbers::new(length as u32);
        let values: Vec<f64> = (0..length).map(|_| numbers.next() as f64 / 3e9 - 0.5).collect();
        for dtype in [DType::F64, DType::F32] {
            let sample = Sample::contiguous(dtype, shape, &values);
            let mut expected = vec![0.0; kept(shape, reduced)];
            for (i, value) in sample.values::<f64>().into_iter().enumerate() {
                expected[output_of(i, shape, reduced)] += value;
            }
            let mut first: Option<Vec<u8>> = None;
            for threads in [1, 2, 3, 7] {
                set_threads(threads);
                let mut bytes = vec![0; expected.len() * dtype.size()];
                sum(sample.view(), reduced, Out { dtype, bytes: &mut bytes });
                for (i, &value) in expected.iter().enumerate() {
                    let tolerance = if dtype == DType::F32 { 1e-7 } else { 1e-12 } * value.abs() + 1e-9;
                    assert!((element::<f64>(dtype, &bytes, i) - value).abs() < tolerance, "{shape:?} {reduced:?}");
                }
                assert_eq!(first.get_or_insert_with(|| bytes.clone()), &bytes, "{threads} threads, {shape:?}");
            }
        }
    }
}

#[test]
fn two_to_the_25_ones_and_4096_bf16_ones_sum_exactly() {
    let ones = vec![1f32; 1 << 25];
    for (shape, strides, reduced) in [
        (&[1usize << 25][..], &[1isize][..], &[true][..]),
        (&[1 << 23, 4], &[4, 1], &[true, false]),
        (&[1 << 10, 1 << 15], &[1 << 15, 1], &[true, true]),
    ] {
        let view = View { dtype: DType::F32, bytes: bytemuck::cast_slice(&ones), offset: 0, shape, strides };
        let outputs = kept(shape, reduced);
        let mut total = vec![0f32; outputs];
        sum(view, reduced, Out { dtype: DType::F32, bytes: bytemuck::cast_slice_mut(&mut total) });
        assert!(total.iter().all(|&total| total == ((1 << 25) / outputs) as f32));
    }
    let one = Sample::contiguous(DType::BF16, &[1], &[1.0]);
    let view = View { shape: &[4096], strides: &[0], ..one.view() };
    let mut bytes = [0; 2];
    sum(view, &[true], Out { dtype: DType::BF16, bytes: &mut bytes });
    assert_eq!(element::<f32>(DType::BF16, &bytes, 0), 4096.0);
}

#[test]
fn integer_sums_wrap_and_empty_sums_are_zero() {
    let big = [i64::MAX, 1, 5];
    let view = View { dtype: DType::I64, bytes: bytemuck::bytes_of(&big), offset: 0, shape: &[3], strides: &[1] };
    let mut total = [0i64];
    sum(view, &[true], Out { dtype: DType::I64, bytes: bytemuck::bytes_of_mut(&mut total) });
    assert_eq!(total[0], i64::MIN + 5);
    let view = View { dtype: DType::F32, bytes: &[], offset: 0, shape: &[2, 0], strides: &[0, 1] };
    let mut totals = [7f32; 2];
    sum(view, &[false, true], Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut totals) });
    assert_eq!(totals, [0.0; 2]);
}

#[test]
fn infinities_and_nans_reach_the_sum() {
    let sample = Sample::contiguous(DType::F32, &[2, 2], &[f64::INFINITY, 1.0, f64::NAN, 1.0]);
    let mut totals = [0f32; 2];
    sum(sample.view(), &[false, true], Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut totals) });
    assert!(totals[0] == f32::INFINITY && totals[1].is_nan());
}

#[test]
fn max_equals_a_plain_loop_with_first_index_and_first_nan() {
    for seed in 0..400 {
        let mut shape = random_shape(seed, if seed % 9 == 0 { 14 } else { 6 });
        shape.push(1 + seed as usize % 40);
        let mut numbers = Numbers::new(seed);
        let axis = numbers.below(shape.len());
        let dtype = DType::ALL[numbers.below(8)];
        if shape[axis] == 0 {
            continue;
        }
        let mut sample = Sample::random(dtype, &shape, seed);
        if dtype.is_float() && numbers.below(2) == 0 {
            let count = sample.bytes.len() / dtype.size();
            for _ in 0..1 + count / 10 {
                let at = numbers.below(count) * dtype.size();
                let bits = crate::convert_bits(f64::NAN.to_bits(), DType::F64, dtype).to_le_bytes();
                sample.bytes[at..at + dtype.size()].copy_from_slice(&bits[..dtype.size()]);
            }
        }
        let reduced: Vec<bool> = (0..shape.len()).map(|i| i == axis).collect();
        let outputs = kept(&shape, &reduced);
        let inner: usize = shape[axis + 1..].iter().product();
        let mut expected: Vec<Option<(f64, i64)>> = vec![None; outputs];
        for (i, value) in sample.values::<f64>().into_iter().enumerate() {
            let slot = &mut expected[output_of(i, &shape, &reduced)];
            let index = (i / inner % shape[axis]) as i64;
            match *slot {
                None => *slot = Some((value, index)),
                Some((best, _)) if best.is_nan() => {}
                Some((best, _)) if value > best || value.is_nan() => *slot = Some((value, index)),
                Some(_) => {}
            }
        }
        let mut bytes = vec![0; outputs * dtype.size()];
        let mut indices = vec![-1; outputs];
        max(sample.view(), axis, Out { dtype, bytes: &mut bytes }, &mut indices);
        for (i, expected) in expected.into_iter().enumerate() {
            let (value, index) = expected.unwrap();
            let found = element::<f64>(dtype, &bytes, i);
            assert!(found == value || (found.is_nan() && value.is_nan()), "{dtype} {shape:?} axis {axis}");
            assert_eq!(indices[i], index, "{dtype} {shape:?} axis {axis}");
        }
    }
}

#[test]
fn max_of_a_long_axis_finds_the_first_of_equals_and_the_first_nan_for_every_thread_count() {
    let mut x = vec![0f32; 200_003];
    for peak in [199_999, 70_000, 30_001] {
        x[peak] = 5.0;
        let view =
            View { dtype: DType::F32, bytes: bytemuck::cast_slice(&x), offset: 0, shape: &[200_003], strides: &[1] };
        for threads in [1, 2, 7] {
            set_threads(threads);
            let (mut value, mut index) = ([0f32], [0]);
            max(view, 0, Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut value) }, &mut index);
            assert_eq!((value, index), ([5.0], [peak as i64]));
        }
    }
    x[180_000] = f32::NAN;
    x[100_000] = f32::NAN;
    let view = View { dtype: DType::F32, bytes: bytemuck::cast_slice(&x), offset: 0, shape: &[200_003], strides: &[1] };
    let (mut value, mut index) = ([0f32], [0]);
    max(view, 0, Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut value) }, &mut index);
    assert!(value[0].is_nan() && index == [100_000]);
}
