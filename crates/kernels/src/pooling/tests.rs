use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;

fn size(sizes: [usize; 3]) -> usize {
    sizes.iter().product()
}

/// Strides 1 to 3, dilations 1 and 2, padding up to half a kernel, both roundings, sizes from 0 on.
fn random_pooling(seed: u32) -> Pooling {
    let mut numbers = Numbers::new(seed);
    let rank = 1 + numbers.below(3);
    let mut pooling = Pooling::new([0, 1, 3, 40][numbers.below(4)], [1; 3], [1; 3]);
    for axis in 3 - rank..3 {
        pooling.kernel[axis] = 1 + numbers.below(3);
        pooling.stride[axis] = 1 + numbers.below(3);
        pooling.dilation[axis] = 1 + numbers.below(2);
        pooling.before[axis] = numbers.below(pooling.kernel[axis] / 2 + 1);
        pooling.after[axis] = numbers.below(pooling.kernel[axis] / 2 + 1);
        pooling.input[axis] = numbers.below([0, 40, 12, 7][rank]);
    }
    pooling.output = pooling.output_size(numbers.below(2) == 0);
    pooling
}

fn coordinates(linear: usize, sizes: [usize; 3]) -> [usize; 3] {
    [linear / sizes[2] / sizes[1], linear / sizes[2] % sizes[1], linear % sizes[2]]
}

/// For each output of a plane: the inputs of its window in order, and how many elements lie in the padded input.
fn naive_windows(pooling: &Pooling) -> Vec<(Vec<usize>, usize)> {
    (0..size(pooling.output))
        .map(|o| {
            let o = coordinates(o, pooling.output);
            let (mut inputs, mut padded) = (Vec::new(), 0);
            for k in 0..size(pooling.kernel) {
                let k = coordinates(k, pooling.kernel);
                let at = [0, 1, 2].map(|a| o[a] * pooling.stride[a] + k[a] * pooling.dilation[a]);
                let end = [0, 1, 2].map(|a| pooling.before[a] + pooling.input[a]);
                padded += (0..3).all(|a| at[a] < end[a] + pooling.after[a]) as usize;
                if (0..3).all(|a| (pooling.before[a]..end[a]).contains(&at[a])) {
                    let i = [0, 1, 2].map(|a| at[a] - pooling.before[a]);
                    inputs.push((i[0] * pooling.input[1] + i[1]) * pooling.input[2] + i[2]);
                }
            }
            (inputs, padded)
        })
        .collect()
}

fn naive_adaptive_windows(pooling: &AdaptivePooling) -> Vec<(Vec<usize>, usize)> {
    let bounds = |axis: usize, o: usize| {
        let (input, output) = (pooling.input[axis], pooling.output[axis]);
        (o * input / output)..((o + 1) * input).div_ceil(output)
    };
    (0..size(pooling.output))
        .map(|o| {
            let o = coordinates(o, pooling.output);
            let mut inputs = Vec::new();
            for i in bounds(0, o[0]) {
                for j in bounds(1, o[1]) {
                    inputs.extend(bounds(2, o[2]).map(|k| (i * pooling.input[1] + j) * pooling.input[2] + k));
                }
            }
            let count = inputs.len();
            (inputs, count)
        })
        .collect()
}

/// Few distinct values, so that ties are common, and occasionally a NaN or an infinity.
fn values<T: Product>(length: usize, numbers: &mut Numbers) -> Vec<T> {
    let special = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY];
    (0..length)
        .map(|_| {
            T::from_f64(if numbers.below(20) == 0 { special[numbers.below(3)] } else { numbers.below(7) as f64 - 3.0 })
        })
        .collect()
}

fn expect_maxima<T: Product>(windows: &[(Vec<usize>, usize)], plane: usize, x: &[T], out: &[T], index: &[i64]) {
    for (i, (&out, &index)) in out.iter().zip(index).enumerate() {
        let x = &x[i / windows.len() * plane..][..plane];
        let (inputs, _) = &windows[i % windows.len()];
        let number = |at: &usize| x[*at].to_f64();
        let nan = inputs.iter().find(|at| number(at).is_nan());
        let best = nan.unwrap_or_else(|| {
            let best = inputs.iter().map(number).fold(f64::NEG_INFINITY, f64::max);
            inputs.iter().find(|at| number(at) == best).unwrap()
        });
        assert_eq!(index, *best as i64);
        assert!(out == x[*best] || nan.is_some() && out.to_f64().is_nan());
    }
}

fn max_equals_a_plain_loop<T: Product>() {
    for seed in 0..500 {
        let pooling = random_pooling(seed);
        let windows = naive_windows(&pooling);
        if windows.iter().any(|(inputs, _)| inputs.is_empty()) {
            continue;
        }
        let x: Vec<T> = values(pooling.planes * size(pooling.input), &mut Numbers::new(seed));
        let (mut out, mut index) =
            (vec![T::ZERO; pooling.planes * windows.len()], vec![-1; pooling.planes * windows.len()]);
        pooling.max(&x, &mut out, &mut index);
        expect_maxima(&windows, size(pooling.input), &x, &out, &index);
    }
}

#[test]
fn max_equals_a_plain_loop_in_both_types() {
    max_equals_a_plain_loop::<f32>();
    max_equals_a_plain_loop::<f64>();
}

#[test]
fn windows_of_two_by_two_equal_a_plain_loop_at_every_level() {
    crate::simd::at_every_level(|_| {
        for (height, width) in [(2, 2), (5, 7), (26, 26), (24, 71)] {
            let pooling = Pooling::new(9, [1, height, width], [1, 2, 2]);
            assert!(pooling.output == [1, height / 2, width / 2]);
            let x: Vec<f32> = values(9 * height * width, &mut Numbers::new(width as u32));
            let count = 9 * size(pooling.output);
            let (mut out, mut index) = (vec![0.0; count], vec![-1; count]);
            pooling.max(&x, &mut out, &mut index);
            expect_maxima(&naive_windows(&pooling), height * width, &x, &out, &index);
        }
    });
}

#[test]
fn adaptive_max_equals_a_plain_loop() {
    for seed in 0..200 {
        let pooling = random_adaptive(seed);
        if pooling.input.contains(&0) {
            continue;
        }
        let windows = naive_adaptive_windows(&pooling);
        let x: Vec<f32> = values(pooling.planes * size(pooling.input), &mut Numbers::new(seed));
        let (mut out, mut index) =
            (vec![0.0; pooling.planes * windows.len()], vec![-1; pooling.planes * windows.len()]);
        pooling.max(&x, &mut out, &mut index);
        expect_maxima(&windows, size(pooling.input), &x, &out, &index);
    }
}

fn random_adaptive(seed: u32) -> AdaptivePooling {
    let mut numbers = Numbers::new(seed);
    let rank = 1 + numbers.below(3);
    let mut pooling = AdaptivePooling { planes: numbers.below(4), input: [1; 3], output: [1; 3] };
    for axis in 3 - rank..3 {
        pooling.input[axis] = 1 + numbers.below([0, 40, 12, 7][rank]);
        pooling.output[axis] = numbers.below(10);
    }
    pooling
}

/// Compares averages and their transposes with naive windows, given the divisor of each window.
fn expect_averages(
    planes: usize,
    plane: usize,
    windows: &[(Vec<usize>, usize)],
    divisor: impl Fn(&(Vec<usize>, usize)) -> f64,
    average: impl Fn(&[f64], &mut [f64]),
    gradient: impl Fn(&[f64], &mut [f64]),
) {
    let mut numbers = Numbers::new(planes as u32 + 3);
    let mut integers = |length: usize| (0..length).map(|_| numbers.below(19) as f64 - 9.0).collect::<Vec<_>>();
    let (x, g) = (integers(planes * plane), integers(planes * windows.len()));
    let (mut y, mut dx) = (vec![f64::NAN; g.len()], vec![f64::NAN; x.len()]);
    average(&x, &mut y);
    gradient(&g, &mut dx);
    let mut expected = vec![0.0; x.len()];
    for (i, (&y, &g)) in y.iter().zip(&g).enumerate() {
        let window = &windows[i % windows.len()];
        let start = i / windows.len() * plane;
        let sum: f64 = window.0.iter().map(|at| x[start + at]).sum();
        assert!((y - sum / divisor(window)).abs() < 1e-12);
        for at in &window.0 {
            expected[start + at] += g / divisor(window);
        }
    }
    assert!(dx.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn averages_and_their_transposes_equal_plain_loops() {
    for seed in 0..500 {
        let pooling = random_pooling(seed);
        let windows = naive_windows(&pooling);
        for (include, fixed) in [(true, None), (false, None), (true, Some(2.5))] {
            expect_averages(
                pooling.planes,
                size(pooling.input),
                &windows,
                |(inputs, padded)| fixed.unwrap_or((if include { *padded } else { inputs.len() }.max(1)) as f64),
                |x, out| pooling.average(x, out, include, fixed),
                |g, out| pooling.average_gradient(g, out, include, fixed),
            );
        }
    }
}

#[test]
fn adaptive_averages_and_their_transposes_equal_plain_loops() {
    for seed in 0..200 {
        let pooling = random_adaptive(seed);
        expect_averages(
            pooling.planes,
            size(pooling.input),
            &naive_adaptive_windows(&pooling),
            |(inputs, _)| inputs.len() as f64,
            |x, out| pooling.average(x, out),
            |g, out| pooling.average_gradient(g, out),
        );
    }
}

#[test]
fn ceil_mode_drops_windows_that_begin_behind_the_input() {
    let pooling =
        Pooling { stride: [1, 1, 3], before: [0, 0, 1], after: [0, 0, 1], ..Pooling::new(1, [1, 1, 4], [1, 1, 2]) };
    // Windows begin at -1 and 2; one at 5 would be beyond the input.
    assert_eq!(pooling.output_size(true), [1, 1, 2]);
    let pooling = Pooling { stride: [1, 1, 2], ..Pooling::new(1, [1, 1, 6], [1, 1, 3]) };
    assert_eq!((pooling.output_size(false), pooling.output_size(true)), ([1, 1, 2], [1, 1, 3]));
}

#[test]
fn gather_and_scatter_are_transposes_and_threads_do_not_change_bits() {
    let pooling = Pooling { stride: [1; 3], ..Pooling::new(40, [1, 30, 31], [1, 3, 3]) };
    let pooling = Pooling { output: pooling.output_size(false), ..pooling };
    let count = 40 * size(pooling.output);
    let mut numbers = Numbers::new(9);
    let mut random = |length: usize| (0..length).map(|_| numbers.next() as f32 / 4e9 - 0.5).collect::<Vec<_>>();
    let (x, g) = (random(40 * 930), random(count));
    let mut first = None;
    for threads in [1, 2, 3, 7] {
        set_threads(threads);
        let (mut y, mut index, mut picked) = (vec![0.0; count], vec![0; count], vec![0.0; count]);
        let (mut dx, mut average, mut da) = (vec![f32::NAN; x.len()], vec![0.0; count], vec![0.0; x.len()]);
        pooling.max(&x, &mut y, &mut index);
        gather_planes(40, &x, &index, &mut picked);
        assert_eq!(y, picked);
        scatter_planes(40, &g, &index, &mut dx);
        pooling.average(&x, &mut average, true, None);
        pooling.average_gradient(&g, &mut da, true, None);
        let all = [y, dx.clone(), average, da].concat();
        assert!(*first.get_or_insert_with(|| all.clone()) == all, "{threads} threads");
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| a as f64 * b as f64).sum::<f64>();
        assert!((dot(&picked, &g) - dot(&x, &dx)).abs() < 1e-2);
    }
}

#[test]
#[should_panic(expected = "a window holds no element")]
fn a_maximum_of_padding_alone_is_refused() {
    let pooling = Pooling { before: [0, 0, 2], ..Pooling::new(1, [1, 1, 4], [1, 1, 2]) };
    let pooling = Pooling { output: pooling.output_size(false), ..pooling };
    pooling.max(&[0.0f32; 4], &mut [0.0; 3], &mut [0; 3]);
}
