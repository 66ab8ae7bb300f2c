//! Programs at the edges of what kernels take: views that are none, strides beyond 32 bits, odd addresses, many matrices, far windows.

use super::emulator::Emulator;
use super::recorder::Recorder;
use std::sync::Arc;
use wengert::prelude::*;
use wengert_cuda::launch::Launches;

fn wave(shape: &[usize]) -> Tensor {
    let numbers = (0..shape.iter().product()).map(|i: usize| (1.7 * i as f64 + 0.3).sin() as f32);
    Tensor::from(numbers.collect::<Vec<f32>>()).reshape(shape)
}

/// Results are those of the processor.
fn compare(name: &str, f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, x: Vec<Tensor>, tolerance: f64) {
    let f = |x: &Vec<Tensor>| f(x);
    let found = compile(f).on(Arc::new(Emulator("edges"))).call(&x);
    for (number, (found, right)) in found.iter().zip(compile(f).call(&x)).enumerate() {
        assert_eq!(found.spec(), right.spec(), "{name}, result {number}");
        let (found, right) = (found.cast(DType::F64), right.cast(DType::F64));
        assert!(found.all_close(&right, tolerance), "{name}, result {number}: {found}, not {right}");
    }
}

#[test]
fn reshapes_that_need_a_copy() {
    let f = |x: &Vec<Tensor>| {
        let turned = x[0].t().reshape([5, 7]);
        let rounded = x[0].cast(DType::BF16).f32();
        let relaid = x[0].cast(DType::BF16).t().f32().reshape([5, 7]);
        vec![
            turned.clone(),
            turned.exp(),
            turned.sort(1).0,
            x[0].flip(&[0]).reshape([35]),
            x[0].broadcast_to([3, 5, 7]).reshape([15, 7]).sin(),
            rounded.t().reshape([5, 7]).clamp(-1.0, 1.0).sum_over(1),
            relaid.sin(),
        ]
    };
    compare("reshapes", f, vec![wave(&[5, 7])], 1e-5);
    // A conversion whose transpose has to be copied is stored; no loop reads it in place.
    let loss = |x: &Vec<Tensor>| (x[0].cast(DType::BF16).f32().t().reshape([5, 7]) * &x[1]).sin().sum();
    compare("their gradients", |x| grad(loss)(x), vec![wave(&[5, 7]), wave(&[5, 7])], 1e-2);
}

#[test]
fn a_loop_of_many_operations_on_16_bits() {
    for dtype in [DType::F16, DType::BF16] {
        let f = |x: &Vec<Tensor>| vec![(0..20).fold(x[0].clone(), |y, i| (y * 0.5 + f64::from(i)).sin())];
        compare("many operations", f, vec![wave(&[8]).cast(dtype)], 1e-2);
    }
}

#[test]
fn many_matrices_of_slices_and_of_nothing() {
    let slices = |x: &Vec<Tensor>| vec![x[0].narrow(-1, 0, 4).matmul(&x[1])];
    compare("slices", slices, vec![wave(&[33_000, 2, 8]), wave(&[33_000, 4, 1])], 1e-4);
    let nothing = |x: &Vec<Tensor>| vec![x[0].matmul(&x[1])];
    compare("nothing", nothing, vec![Tensor::zeros([33_000, 2, 0]).f32(), Tensor::zeros([33_000, 0, 3]).f32()], 0.0);
}

#[test]
fn a_scan_whose_operands_begin_between_words() {
    let f = |x: &Vec<Tensor>| {
        let step = |h: &Tensor, y: &Tensor| (h + &y.narrow(0, 1, 4), y.narrow(0, 1, 4));
        let (last, all) = scan(step, &x[0].narrow(0, 1, 4), &x[1]);
        vec![last, all]
    };
    compare("scan", f, vec![wave(&[5]).cast(DType::BF16), wave(&[7, 5]).cast(DType::BF16)], 2e-2);
}

#[test]
fn windows_that_reach_far() {
    // Sizes of images and kernels, channels, outputs, groups, and the dilation.
    for (size, kernel, channels, outputs, groups, dilation) in
        [(49, 3, 32, 4, 1, 24), (26, 13, 8, 8, 8, 1), (40, 3, 3, 1, 1, 12)]
    {
        let options = Conv::new().groups(groups).dilation(dilation).padding(dilation * (kernel - 1) / 2);
        let loss = |x: &Vec<Tensor>| x[0].conv2d(&x[1], &options).square().mean();
        let x = vec![wave(&[2, channels, size, size]), wave(&[outputs, channels / groups, kernel, kernel])];
        compare(&format!("{size} by {kernel}"), |x| grad(loss)(x), x, 1e-3);
    }
}

/// What a function of tensors of one repeated number, which take no memory, launches.
fn launches(f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, x: Vec<Tensor>) -> Result<Launches, Error> {
    let recorder = Recorder::default();
    let error = catch(|| compile(|x: &Vec<Tensor>| f(x)).on(Arc::new(recorder.clone())).call(&x)).unwrap_err();
    recorder.take().ok_or(error)
}

#[test]
fn convolutions_of_all_sizes_have_launches_that_a_device_takes() {
    let zeros = |shape: &[usize]| Tensor::zeros(shape).f32();
    // Batch, channels, outputs, size, kernel, stride, dilation, groups.
    for [batch, channels, outputs, size, kernel, stride, dilation, groups] in [
        [1, 256, 256, 33, 3, 1, 12, 1],
        [1, 32, 32, 64, 3, 1, 6, 1],
        [1, 64, 64, 224, 4, 4, 1, 1],
        [64, 8, 8, 28, 11, 1, 1, 8],
        [64, 8, 8, 28, 31, 1, 1, 8],
        [1, 2, 2, 512, 3, 1, 128, 1],
        [32, 3, 64, 224, 7, 2, 1, 1],
    ] {
        let options = Conv::new().stride(stride).dilation(dilation).groups(groups).padding(dilation * (kernel - 1) / 2);
        let x = vec![zeros(&[batch, channels, size, size]), zeros(&[outputs, channels / groups, kernel, kernel])];
        let loss = |x: &Vec<Tensor>| x[0].conv2d(&x[1], &options).square().sum();
        launches(|x| grad(loss)(x), x).unwrap_or_else(|error| panic!("{size} by {kernel}, {dilation} apart: {error}"));
    }
}

#[test]
fn positions_beyond_32_bits_are_long_numbers() {
    let x = Tensor::zeros_of([1, 1], DType::U8).broadcast_to([70_000, 70_000]);
    let all = launches(|x| vec![x[0].narrow(1, 5, 1) + 1], vec![x]).unwrap();
    let texts: Vec<&str> = all.kernels.iter().map(|kernel| &kernel.text[..]).collect();
    assert!(texts.iter().any(|text| text.contains("* 70000ll + 5ll")), "{}", texts.join("\n"));
}

#[test]
fn losses_of_logits_at_the_end_of_the_range() {
    for (dtype, least) in [(DType::F32, f64::from(f32::MIN)), (DType::F64, -1e300), (DType::F32, -3e38)] {
        let x = Tensor::full([3, 4], least).cast(dtype).contiguous();
        let loss = |x: &Vec<Tensor>| {
            vec![x[0].cross_entropy(&Tensor::from([0i64, 1, 3]), &CrossEntropy::new().reduction(Reduction::None))]
        };
        compare(&format!("{dtype} {least}"), loss, vec![x], 1e-5);
    }
}
