use super::*;
use crate::dtype::DType;
use crate::view::samples::{Numbers, Sample, element, random_shape};
use crate::view::{Out, View};

fn coordinates(linear: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = linear;
    let mut found = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        found[axis] = rest % shape[axis];
        rest /= shape[axis];
    }
    found
}

fn linear(coordinates: &[usize], shape: &[usize]) -> usize {
    coordinates.iter().zip(shape).fold(0, |sum, (&i, &size)| sum * size + i)
}

/// Input shape, axis, and an index sample (possibly broadcast or strided) with valid values.
fn case(seed: u32) -> (Vec<usize>, usize, Sample) {
    let mut numbers = Numbers::new(seed);
    let mut shape = random_shape(seed, if seed.is_multiple_of(20) { 40 } else { 6 });
    shape.push(1 + numbers.below(9));
    for size in &mut shape {
        *size = (*size).max(1);
    }
    let axis = numbers.below(shape.len());
    let index_shape: Vec<usize> = shape
        .iter()
        .enumerate()
        .map(|(i, &size)| if i == axis { numbers.below(7) } else { size - numbers.below(2).min(size - 1) })
        .collect();
    let dtype = [DType::I64, DType::I32, DType::U8][numbers.below(3)];
    let mut index = Sample::random(dtype, &index_shape, seed + 1000);
    let count = index.bytes.len() / dtype.size();
    let values: Vec<i64> = (0..count).map(|_| numbers.below(shape[axis]) as i64).collect();
    crate::Compute::store(&values, dtype, &mut index.bytes);
    (shape, axis, index)
}

#[test]
fn gather_equals_a_plain_loop() {
    for seed in 0..400 {
        let (shape, axis, index) = case(seed);
        let dtype = DType::ALL[seed as usize % 8];
        let input = Sample::random(dtype, &shape, seed);
        let (values, indices) = (input.values::<f64>(), index.values::<i64>());
        let mut bytes = vec![1; indices.len() * dtype.size()];
        gather(input.view(), axis, index.view(), Out { dtype, bytes: &mut bytes }).unwrap();
        for (i, &picked) in indices.iter().enumerate() {
            let mut at = coordinates(i, &index.shape);
            at[axis] = picked as usize;
            assert_eq!(element::<f64>(dtype, &bytes, i), values[linear(&at, &shape)], "{shape:?} axis {axis}");
        }
    }
}

#[test]
fn scatter_add_equals_a_plain_loop() {
    for seed in 0..400 {
        let (shape, axis, index) = case(seed);
        let source = Sample::random(DType::ALL[seed as usize % 8], &index.shape, seed);
        let (values, indices) = (source.values::<f64>(), index.values::<i64>());
        let mut expected: Vec<f64> = (0..shape.iter().product()).map(|i: usize| i as f64).collect();
        let mut target = expected.clone();
        scatter_add(&mut target, &shape, axis, index.view(), source.view()).unwrap();
        for (i, &picked) in indices.iter().enumerate() {
            let mut at = coordinates(i, &index.shape);
            at[axis] = picked as usize;
            expected[linear(&at, &shape)] += values[i];
        }
        assert_eq!(target, expected, "{shape:?} axis {axis}");
    }
}

#[test]
fn take_last_undoes_a_scatter_that_assigns() {
    for seed in 0..400 {
        let (shape, axis, index) = case(seed);
        let indices = index.values::<i64>();
        let mut expected: Vec<f64> = (0..shape.iter().product()).map(|i: usize| i as f64 + 1.0).collect();
        let (mut target, mut values) = (expected.clone(), vec![-1.0; indices.len()]);
        take_last(&mut target, &shape, axis, index.view(), &mut values).unwrap();
        for (i, &picked) in indices.iter().enumerate().rev() {
            let mut at = coordinates(i, &index.shape);
            at[axis] = picked as usize;
            assert_eq!(values[i], std::mem::take(&mut expected[linear(&at, &shape)]), "{shape:?} axis {axis}");
        }
        assert_eq!(target, expected, "{shape:?} axis {axis}");
    }
}

#[test]
fn the_first_bad_index_is_reported_and_nothing_is_written() {
    let mut indices = vec![0i64; 200_000];
    indices[150_000] = 10;
    indices[70_001] = -1;
    let index = View {
        dtype: DType::I64,
        bytes: bytemuck::cast_slice(&indices),
        offset: 0,
        shape: &[1000, 200],
        strides: &[200, 1],
    };
    let expected = OutOfRange { index: -1, position: 70_001, length: 10 };
    let input = Sample::random(DType::F32, &[1000, 10], 1);
    let mut out = vec![0; 800_000];
    let outcome = gather(input.view(), 1, index, Out { dtype: DType::F32, bytes: &mut out });
    assert_eq!(outcome, Err(expected.clone()));
    let source = View {
        dtype: DType::F64,
        bytes: bytemuck::bytes_of(&1.0f64),
        offset: 0,
        shape: &[1000, 200],
        strides: &[0, 0],
    };
    let mut target = vec![0f64; 10_000];
    assert_eq!(scatter_add(&mut target, &[1000, 10], 1, index, source), Err(expected));
    assert!(target.iter().all(|&value| value == 0.0));
}

#[test]
fn any_index_into_an_empty_axis_is_out_of_range() {
    let input = View { dtype: DType::F32, bytes: &[], offset: 0, shape: &[0], strides: &[1] };
    let index = View { dtype: DType::U8, bytes: &[0], offset: 0, shape: &[1], strides: &[1] };
    let outcome = gather(input, 0, index, Out { dtype: DType::F32, bytes: &mut [0; 4] });
    assert_eq!(outcome, Err(OutOfRange { index: 0, position: 0, length: 0 }));
}
