use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;

fn size(sizes: [usize; 3]) -> usize {
    sizes.iter().product()
}

/// Small integers, so that every sum is exact in any order.
fn integers<T: Convolve>(length: usize, numbers: &mut Numbers) -> Vec<T> {
    (0..length).map(|_| T::from_f64(numbers.below(9) as f64 - 4.0)).collect()
}

/// Strides 1 to 3, dilations 1 and 2, any groups, asymmetric padding, one to three axes, sizes from 0 on.
fn random_geometry(seed: u32) -> Convolution {
    let mut numbers = Numbers::new(seed);
    let groups = [1, 1, 2, 3, 7][numbers.below(5)];
    let depthwise = numbers.below(4) == 0;
    let channels = if depthwise { groups } else { groups * numbers.below(5) };
    let outputs = groups * [0, 1, 2, 5, 6, 16, 17, 33, 40][numbers.below(9)];
    let rank = 1 + numbers.below(3);
    let mut geometry = Convolution { groups, ..Convolution::new(numbers.below(4), channels, outputs, [1; 3]) };
    for axis in 3 - rank..3 {
        geometry.kernel[axis] = 1 + numbers.below(3);
        geometry.stride[axis] = 1 + numbers.below(3);
        geometry.dilation[axis] = 1 + numbers.below(2);
        geometry.before[axis] = numbers.below(4);
        geometry.after[axis] = numbers.below(3);
        geometry.input[axis] = numbers.below([0, 40, 12, 7][rank]);
    }
    geometry
}

/// Calls `each(output, weight, input)` for every triple, by the definition.
fn for_each_triple(c: &Convolution, mut each: impl FnMut(usize, usize, usize)) {
    let (output, depth, outputs) = (c.output(), c.channels / c.groups, c.outputs / c.groups);
    let split = |at: usize, sizes: [usize; 3]| [at / sizes[2] / sizes[1], at / sizes[2] % sizes[1], at % sizes[2]];
    for (q, k) in (0..size(output)).flat_map(|q| (0..size(c.kernel)).map(move |k| (q, k))) {
        let (q3, k3) = (split(q, output), split(k, c.kernel));
        let i = [0, 1, 2].map(|a| {
            (q3[a] * c.stride[a] + k3[a] * c.dilation[a]).checked_sub(c.before[a]).filter(|&i| i < c.input[a])
        });
        let [Some(i0), Some(i1), Some(i2)] = i else { continue };
        let pixel = (i0 * c.input[1] + i1) * c.input[2] + i2;
        for (n, o) in (0..c.batch).flat_map(|n| (0..c.outputs).map(move |o| (n, o))) {
            for channel in 0..depth {
                let plane = n * c.channels + o / outputs * depth + channel;
                each(
                    (n * c.outputs + o) * size(output) + q,
                    (o * depth + channel) * size(c.kernel) + k,
                    plane * size(c.input) + pixel,
                );
            }
        }
    }
}

struct Arrays<T> {
    x: Vec<T>,
    w: Vec<T>,
    g: Vec<T>,
}

fn tensors<T: Convolve>(c: &Convolution, mut fill: impl FnMut(usize) -> Vec<T>) -> Arrays<T> {
    Arrays {
        x: fill(c.batch * c.channels * size(c.input)),
        w: fill(c.outputs * (c.channels / c.groups) * size(c.kernel)),
        g: fill(c.batch * c.outputs * size(c.output())),
    }
}

/// All three results. The outputs start as NaN, so that a missing element shows.
fn all_three<T: Convolve>(c: &Convolution, tensors: &Arrays<T>) -> [Vec<T>; 3] {
    let empty = |like: &Vec<T>| vec![T::from_f64(f64::NAN); like.len()];
    let (mut y, mut dx, mut dw) = (empty(&tensors.g), empty(&tensors.x), empty(&tensors.w));
    c.forward(&tensors.x, &tensors.w, &mut y);
    c.input_gradient(&tensors.g, &tensors.w, &mut dx);
    c.weight_gradient(&tensors.x, &tensors.g, &mut dw);
    [y, dx, dw]
}

fn equals_naive_loops<T: Convolve>(c: &Convolution, seed: u32) {
    let mut numbers = Numbers::new(seed + 500);
    let tensors = tensors::<T>(c, |length| integers(length, &mut numbers));
    let [y, dx, dw] = all_three(c, &tensors);
    let (mut y2, mut dx2, mut dw2) = (vec![0.0; y.len()], vec![0.0; dx.len()], vec![0.0; dw.len()]);
    let widen = |values: &[T]| values.iter().map(|value| value.to_f64()).collect::<Vec<_>>();
    let (g, w, x) = (widen(&tensors.g), widen(&tensors.w), widen(&tensors.x));
    for_each_triple(c, |o, k, i| {
        y2[o] += w[k] * x[i];
        dx2[i] += w[k] * g[o];
        dw2[k] += g[o] * x[i];
    });
    assert_eq!(widen(&y), y2, "forward, {c:?}");
    assert_eq!(widen(&dx), dx2, "input gradient, {c:?}");
    assert_eq!(widen(&dw), dw2, "weight gradient, {c:?}");
}

#[test]
fn all_three_kernels_equal_naive_loops_over_random_geometries() {
    for seed in 0..600 {
        equals_naive_loops::<f32>(&random_geometry(seed), seed);
        equals_naive_loops::<f64>(&random_geometry(seed), seed);
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    for seed in 600..660 {
        let case = random_geometry(seed);
        let mut numbers = Numbers::new(seed);
        let tensors32 = tensors(&case, |length| (0..length).map(|_| numbers.next() as f32 / 4e9 - 0.5).collect());
        let tensors64 = tensors(&case, |length| (0..length).map(|_| numbers.next() as f64 / 4e9 - 0.5).collect());
        let mut first = None;
        crate::simd::at_every_level(|level| {
            let results = (all_three(&case, &tensors32), all_three(&case, &tensors64));
            assert!(*first.get_or_insert_with(|| results.clone()) == results, "{level:?}, {case:?}");
        });
    }
}

#[test]
fn large_images_in_slabs_and_many_small_images_equal_naive_loops() {
    let cases = [
        Convolution {
            kernel: [1, 3, 3],
            before: [0, 1, 1],
            after: [0, 1, 0],
            ..Convolution::new(1, 20, 8, [1, 90, 80])
        },
        Convolution { kernel: [1, 3, 3], stride: [1, 2, 2], ..Convolution::new(1, 40, 7, [1, 60, 61]) },
        Convolution { kernel: [3, 2, 2], before: [1; 3], ..Convolution::new(2, 8, 16, [20, 14, 14]) },
        Convolution { kernel: [1, 3, 3], after: [0, 1, 1], ..Convolution::new(50, 16, 32, [1, 5, 5]) },
        Convolution { kernel: [1, 1, 9], stride: [1, 1, 4], ..Convolution::new(3, 3, 12, [1, 1, 3000]) },
        Convolution { kernel: [1, 3, 3], groups: 24, ..Convolution::new(4, 24, 24, [1, 60, 60]) },
        Convolution { kernel: [1, 3, 3], ..Convolution::new(6, 48, 3, [1, 33, 40]) },
        Convolution { kernel: [1, 5, 5], ..Convolution::new(40, 1, 32, [1, 28, 28]) },
    ];
    for (index, case) in cases.iter().enumerate() {
        equals_naive_loops::<f32>(case, index as u32);
    }
}

#[test]
fn gradients_are_adjoint_to_the_convolution() {
    let cases = [
        Convolution {
            kernel: [1, 3, 3],
            before: [0, 1, 1],
            after: [0, 1, 1],
            ..Convolution::new(3, 9, 20, [1, 15, 13])
        },
        Convolution { kernel: [2, 3, 3], stride: [1, 2, 3], groups: 3, ..Convolution::new(2, 9, 6, [5, 15, 13]) },
        Convolution { kernel: [1, 3, 3], stride: [1, 2, 1], groups: 8, ..Convolution::new(2, 8, 8, [1, 16, 40]) },
    ];
    for case in cases {
        let mut numbers = Numbers::new(5);
        let tensors = tensors(&case, |length| (0..length).map(|_| numbers.next() as f64 / 4e9 - 0.5).collect());
        let [y, dx, dw] = all_three(&case, &tensors);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let expected = dot(&y, &tensors.g);
        assert!((dot(&tensors.x, &dx) - expected).abs() < 1e-10, "{case:?}");
        assert!((dot(&tensors.w, &dw) - expected).abs() < 1e-10, "{case:?}");
    }
}

#[test]
fn bits_do_not_depend_on_the_thread_count() {
    let cases = [
        Convolution { kernel: [1, 3, 3], ..Convolution::new(17, 8, 24, [1, 14, 14]) },
        Convolution {
            kernel: [1, 3, 3],
            before: [0, 1, 1],
            after: [0, 1, 1],
            ..Convolution::new(1, 24, 40, [1, 40, 40])
        },
        Convolution { kernel: [1, 5, 5], stride: [1, 2, 2], groups: 32, ..Convolution::new(5, 32, 32, [1, 40, 40]) },
        Convolution { kernel: [3, 3, 3], stride: [2; 3], groups: 2, ..Convolution::new(3, 12, 12, [9, 20, 20]) },
    ];
    for case in cases {
        let mut numbers = Numbers::new(8);
        let tensors = tensors(&case, |length| (0..length).map(|_| numbers.next() as f32 / 4e9 - 0.5).collect());
        let mut first = None;
        for threads in [1, 2, 3, 7] {
            set_threads(threads);
            let bits =
                all_three(&case, &tensors).map(|values| values.into_iter().map(f32::to_bits).collect::<Vec<_>>());
            assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "{threads} threads, {case:?}");
        }
    }
}

#[test]
fn unfold_and_fold_equal_naive_loops() {
    for seed in 0..300 {
        // One output channel per channel: triple (o, k, i) of the output belongs to column (o, k).
        let mut c = random_geometry(seed);
        (c.groups, c.outputs) = (c.channels.max(1), c.channels);
        let (kernel, positions) = (size(c.kernel), size(c.output()));
        let mut numbers = Numbers::new(seed);
        let x: Vec<f64> = integers(c.batch * c.channels * size(c.input), &mut numbers);
        let columns: Vec<f64> = integers(c.batch * c.channels * kernel * positions, &mut numbers);
        let (mut unfolded, mut folded) = (vec![f64::NAN; columns.len()], vec![f64::NAN; x.len()]);
        c.unfold(&x, &mut unfolded);
        c.fold(&columns, &mut folded);
        let (mut unfolded2, mut folded2) = (vec![0.0; columns.len()], vec![0.0; x.len()]);
        for_each_triple(&c, |o, k, i| {
            let column = (o / positions * kernel + k % kernel) * positions + o % positions;
            unfolded2[column] = x[i];
            folded2[i] += columns[column];
        });
        assert_eq!(unfolded, unfolded2, "unfold, {c:?}");
        assert_eq!(folded, folded2, "fold, {c:?}");
    }
}

#[test]
#[should_panic(expected = "the weight must have 18 elements")]
fn tensors_of_wrong_sizes_are_refused() {
    let c = Convolution { kernel: [1, 3, 3], ..Convolution::new(1, 1, 2, [1, 3, 3]) };
    c.forward(&[0.0f32; 9], &[0.0; 17], &mut [0.0; 2]);
}

#[test]
#[should_panic(expected = "more positions than can be counted")]
fn a_kernel_whose_reach_overflows_is_refused() {
    // Three times this wraps around to 1.
    let third = 0xaaaa_aaaa_aaaa_aaab;
    let c = Convolution { kernel: [1, 1, 4], dilation: [1, 1, third], ..Convolution::new(1, 1, 8, [1, 1, 8]) };
    c.forward(&[1.0f32; 8], &[1.0; 32], &mut [0.0; 56]);
}
