use super::*;
use crate::simd;
use crate::view::samples::{Numbers, Sample, element, random_shape};

fn out_of(dtype: DType, bytes: &mut [u8]) -> Out<'_> {
    Out { dtype, bytes }
}

#[test]
fn copy_equals_the_element_by_element_conversion_for_every_pair_of_dtypes() {
    for seed in 0..60 {
        let shape = random_shape(seed, 9);
        for from in DType::ALL {
            let sample = Sample::random(from, &shape, seed);
            for to in DType::ALL {
                let length = shape.iter().product::<usize>();
                let mut bytes = vec![9; length * to.size()];
                copy(sample.view(), out_of(to, &mut bytes));
                let expected: Vec<f64> = sample.values();
                for (i, &value) in expected.iter().enumerate() {
                    let value = if to == DType::Bool { (value != 0.0) as u8 as f64 } else { value };
                    let value = if to == DType::U8 { value.max(0.0) } else { value };
                    assert_eq!(element::<f64>(to, &bytes, i), value, "{from} to {to}, {shape:?}");
                }
            }
        }
    }
}

#[test]
fn large_transposes_and_batches_of_them_copy_right() {
    let cases: [(&[usize], &[isize]); 7] = [
        (&[301, 203], &[1, 301]),
        (&[3, 130, 120], &[15600, 1, 130]),
        (&[17, 300, 9], &[1, 17 * 9, 17]),
        (&[40, 50, 33], &[1, 40, 2000]),
        (&[2, 3, 100, 100], &[30000, 10000, 1, 100]),
        (&[1 << 12, 17], &[1, 1 << 12]),
        (&[60, 2, 30, 25], &[1500, 750, 1, 30]),
    ];
    for (shape, strides) in cases {
        let length: usize = shape.iter().product();
        let values: Vec<f32> = (0..length).map(|i| i as f32).collect();
        let view = View { dtype: DType::F32, bytes: bytemuck::cast_slice(&values), offset: 0, shape, strides };
        let mut out = vec![0f32; length];
        copy(view, out_of(DType::F32, bytemuck::cast_slice_mut(&mut out)));
        for (i, &value) in out.iter().enumerate() {
            assert_eq!(value, view.at_linear::<f32>(i), "{shape:?} at {i}");
        }
    }
}

#[test]
fn copy_of_equal_dtypes_keeps_the_bits_of_nans() {
    let payload = f32::from_bits(0x7fa0_1234);
    let mut out = [0f32; 2];
    let input = [payload, -0.0];
    let view = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&input), offset: 0, shape: &[2], strides: &[1] };
    copy(view, out_of(DType::F32, bytemuck::bytes_of_mut(&mut out)));
    assert_eq!(out.map(f32::to_bits), input.map(f32::to_bits));
}

#[test]
fn map_equals_a_plain_loop_over_strided_broadcast_and_converted_inputs() {
    for seed in 0..300 {
        let shape = random_shape(seed, if seed % 10 == 0 { 30 } else { 7 });
        let mut numbers = Numbers::new(seed);
        let mut pick = || DType::ALL[numbers.below(8)];
        let samples = [(); 3].map(|()| pick()).map(|dtype| Sample::random(dtype, &shape, seed * 3 + dtype as u32));
        let [a, b, c] = samples.each_ref().map(Sample::values::<f32>);
        for to in [DType::F32, DType::BF16, DType::F16] {
            let mut bytes = vec![1; a.len() * to.size()];
            map(
                samples.each_ref().map(Sample::view),
                out_of(to, &mut bytes),
                &|[a, b, c]: [&[f32]; 3], out: &mut [f32]| {
                    assert!(a.len() <= TILE);
                    loop3(a, b, c, out, |a, b, c| a * 2.0 + b - c);
                },
            );
            for i in 0..a.len() {
                assert_eq!(element::<f32>(to, &bytes, i), a[i] * 2.0 + b[i] - c[i], "{shape:?}");
            }
        }
    }
}

#[test]
fn transposed_inputs_are_read_right_beside_others() {
    let cases: [(&[usize], &[isize]); 9] = [
        (&[301, 203], &[1, 301]),
        (&[301, 203], &[1, -301]),
        (&[20, 3000], &[1, 20]),
        (&[3000, 5], &[1, 3000]),
        (&[7, 37, 300], &[37 * 300, 1, 37]),
        (&[2, 9, 50, 70], &[31500, 1, 9 * 70, 9]),
        (&[40, 50, 33], &[1, 40, 2000]),
        (&[33, 1100], &[1, 33]),
        (&[4, 20_000], &[1, 4]),
    ];
    for (shape, strides) in cases {
        let length: usize = shape.iter().product();
        for dtype in [DType::F32, DType::BF16, DType::I64] {
            let values: Vec<f64> = (0..length).map(|i| (i * 7919 % 251) as f64).collect();
            let [plain, turned] = [0, 1].map(|_| Sample::contiguous(dtype, shape, &values));
            let offset = strides.iter().zip(shape).map(|(&s, &n)| (-s).max(0) * (n as isize - 1)).sum();
            let turned = View { offset, strides, ..turned.view() };
            let mut out = vec![0f32; length];
            let half = View { offset: 0, strides: &vec![0; shape.len()], ..plain.view() };
            map(
                [plain.view(), turned, half],
                out_of(DType::F32, bytemuck::cast_slice_mut(&mut out)),
                &|[a, b, c]: [&[f32]; 3], out: &mut [f32]| {
                    assert!(a.len() <= TILE);
                    loop3(a, b, c, out, |a, b, c| a * 1000.0 + b + c);
                },
            );
            for (i, &value) in out.iter().enumerate() {
                let expected = plain.view().at_linear::<f32>(i) * 1000.0 + turned.at_linear::<f32>(i);
                assert_eq!(value, expected + half.at_linear::<f32>(i), "{shape:?} {strides:?} at {i}");
            }
        }
    }
}

#[test]
fn map_writes_masks_and_takes_no_inputs() {
    let sample = Sample::random(DType::F64, &[40, 60, 30], 5);
    let mut mask = vec![7u8; 72_000];
    map([sample.view()], out_of(DType::Bool, &mut mask), &|[x]: [&[f64]; 1], out: &mut [u8]| {
        loop1(x, out, |x| (x > 0.0) as u8);
    });
    for (value, bit) in sample.values::<f64>().into_iter().zip(&mask) {
        assert_eq!((value > 0.0) as u8, *bit);
    }
    let mut ones = vec![0i32; 50_000];
    map([], out_of(DType::I32, bytemuck::cast_slice_mut(&mut ones)), &|_: [&[i64]; 0], out: &mut [i64]| out.fill(1));
    assert!(ones.iter().all(|&one| one == 1));
}

#[test]
fn map_in_place_updates_every_element_once() {
    for seed in 0..100 {
        let shape = random_shape(seed, if seed % 10 == 0 { 40 } else { 7 });
        let sample = Sample::random(DType::I32, &shape, seed);
        let added: Vec<i64> = sample.values();
        let mut target: Vec<i64> = (0..added.len() as i64).collect();
        map_in_place(&mut target, &shape, [sample.view()], &|target: &mut [i64], [x]: [&[i64]; 1]| {
            loop2_in_place(target, x, |t, x| t * 3 + x);
        });
        for (i, value) in target.into_iter().enumerate() {
            assert_eq!(value, i as i64 * 3 + added[i]);
        }
    }
}

#[test]
#[should_panic(expected = "cannot fill an output of f64")]
fn map_refuses_an_output_of_another_compute_type() {
    map([], out_of(DType::F64, &mut [0; 8]), &|_: [&[f32]; 0], out: &mut [f32]| out.fill(1.0));
}

#[test]
#[should_panic(expected = "an input of shape [3] for 2 outputs")]
fn map_refuses_inputs_of_another_size() {
    let sample = Sample::contiguous(DType::F32, &[3], &[1.0, 2.0, 3.0]);
    map([sample.view()], out_of(DType::F32, &mut [0; 8]), &|_: [&[f32]; 1], out: &mut [f32]| out.fill(1.0));
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    let x: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.37).sin()).collect();
    let y: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.11).cos()).collect();
    let mut results: Vec<Vec<u32>> = Vec::new();
    simd::at_every_level(|_| {
        let mut out = vec![0f32; 1003];
        loop2(&x, &y, &mut out, |x, y| x * y + x / (y + 2.0));
        results.push(out.into_iter().map(f32::to_bits).collect());
    });
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
