//! The policies of the design, one by one: kinks, domains, determinism, accuracy, what is differentiated.

use super::process::alone;
use wengert::prelude::*;
use wengert::{autograd, set_threads, threads};

/// The derivative of `f` at one number, by reverse and by forward mode, which must agree; in both compute types.
fn slope_at(f: impl Fn(&Tensor) -> Tensor, x: f64) -> f64 {
    let slopes = [DType::F64, DType::F32].map(|dtype| {
        let x = Tensor::from([x]).cast(dtype);
        let reverse = grad(|x: &Tensor| f(x).sum())(&x).to_f64_vec()[0];
        let forward = jvp(&f, &x, &x.ones_like()).1.to_f64_vec()[0];
        assert!(reverse == forward || (reverse.is_nan() && forward.is_nan()), "{reverse} and {forward} at {x}");
        reverse
    });
    let [wide, narrow] = slopes;
    assert!((wide - narrow).abs() < 1e-6 || wide == narrow || (wide.is_nan() && narrow.is_nan()), "{slopes:?}");
    wide
}

#[test]
fn at_a_kink_the_subgradient_of_least_norm() {
    let kinks: &[(&str, fn(&Tensor) -> Tensor, f64, f64)] = &[
        ("relu", Tensor::relu, 0.0, 0.0),
        ("relu of -0", Tensor::relu, -0.0, 0.0),
        ("abs", Tensor::abs, 0.0, 0.0),
        ("relu6 below", Tensor::relu6, 0.0, 0.0),
        ("relu6 above", Tensor::relu6, 6.0, 0.0),
        ("hardtanh below", |x| x.hardtanh(-1.0, 2.0), -1.0, 0.0),
        ("hardtanh above", |x| x.hardtanh(-1.0, 2.0), 2.0, 0.0),
        ("hardsigmoid below", Tensor::hardsigmoid, -3.0, 0.0),
        ("hardsigmoid above", Tensor::hardsigmoid, 3.0, 0.0),
        // Slopes 0 and -1/2 meet at -3, 3/2 and 1 at 3.
        ("hardswish below", Tensor::hardswish, -3.0, 0.0),
        ("hardswish above", Tensor::hardswish, 3.0, 1.0),
        ("softshrink", |x| x.softshrink(0.5), 0.5, 0.0),
        ("threshold", |x| x.threshold(1.0, 1.0), 1.0, 0.0),
        // Between alpha and 1, the one closer to 0; 0 itself if it is in between.
        ("leaky_relu 1/4", |x| x.leaky_relu(0.25), 0.0, 0.25),
        ("leaky_relu 2", |x| x.leaky_relu(2.0), 0.0, 1.0),
        ("leaky_relu -1/2", |x| x.leaky_relu(-0.5), 0.0, 0.0),
        ("prelu 1/4", |x| x.prelu(&Tensor::from([0.25]).cast(x.dtype())), 0.0, 0.25),
        ("prelu 2", |x| x.prelu(&Tensor::from([2.0]).cast(x.dtype())), 0.0, 1.0),
        ("prelu -1/2", |x| x.prelu(&Tensor::from([-0.5]).cast(x.dtype())), 0.0, 0.0),
        ("elu 1", |x| x.elu(1.0), 0.0, 1.0),
        ("elu 1/2", |x| x.elu(0.5), 0.0, 0.5),
        ("elu 2", |x| x.elu(2.0), 0.0, 1.0),
        ("elu -1", |x| x.elu(-1.0), 0.0, 0.0),
        ("celu, smooth", |x| x.celu(2.0), 0.0, 1.0),
        ("selu", Tensor::selu, 0.0, 1.050_700_987_355_480_5),
        ("x^0", |x| x.powf(0.0), 0.0, 0.0),
        ("x^0 of tensors", |x| x.pow(x.zeros_like()), 0.0, 0.0),
        ("copysign", |x| x.copysign(-1.0), 0.0, 0.0),
        ("norm", |x| x.norm(2.0), 0.0, 0.0),
        ("dist", |x| x.dist(&x.full_like(3.0), 2.0), 3.0, 0.0),
        ("l1_loss", |x| x.l1_loss(&x.full_like(3.0), Reduction::Sum), 3.0, 0.0),
        // Step functions are flat on both sides.
        ("floor", Tensor::floor, 2.0, 0.0),
        ("round", Tensor::round, 2.5, 0.0),
        ("sign", Tensor::sign, 0.0, 0.0),
    ];
    for &(name, f, x, right) in kinks {
        let slope = slope_at(f, x);
        assert!((slope - right).abs() < 1e-6, "{name} at {x}: {slope}, not {right}");
    }
}

#[test]
fn at_a_tie_two_arguments_share() {
    let functions: [fn(&Tensor, &Tensor) -> Tensor; 4] =
        [|x, y| x.maximum(y), |x, y| x.minimum(y), |x, y| x.fmax(y), |x, y| x.fmin(y)];
    for f in functions {
        let (dx, dy) = grad(|(x, y): &(Tensor, Tensor)| f(x, y).sum())(&(Tensor::from([2.0]), Tensor::from([2.0])));
        assert_eq!((dx.slice(0).item(), dy.slice(0).item()), (0.5, 0.5));
    }
    // The cone over the disc: every point of it is a subgradient, and its centre is the smallest.
    let (dx, dy) = grad(|(x, y): &(Tensor, Tensor)| x.hypot(y))(&(Tensor::from(0.0), Tensor::from(0.0)));
    assert_eq!((dx.item(), dy.item()), (0.0, 0.0));
}

#[test]
fn a_full_reduction_splits_ties_evenly() {
    let x = Tensor::from([3.0, 7.0, 7.0, 7.0, 7.0]);
    assert_eq!(grad(Tensor::max)(&x), Tensor::from([0.0, 0.25, 0.25, 0.25, 0.25]));
    assert_eq!(grad(|x: &Tensor| (-x).min())(&x), Tensor::from([0.0, -0.25, -0.25, -0.25, -0.25]));
}

#[test]
fn a_selection_sends_everything_to_its_index() {
    let x = Tensor::from([1.0, 5.0, 5.0, 2.0]);
    let first = Tensor::from([0.0, 1.0, 0.0, 0.0]);
    let functions: [(&str, fn(&Tensor) -> Tensor); 7] = [
        ("max along an axis", |x| x.max_along(0).0),
        ("min along an axis", |x| (-x).min_along(0).0),
        ("topk", |x| x.topk(1, 0).0.sum()),
        ("kthvalue", |x| -(-x).kthvalue(1, 0).0),
        ("max_pool", |x| x.reshape([1, 1, 4]).max_pool1d(&Pool::new(4)).sum()),
        ("adaptive_max_pool", |x| x.reshape([1, 1, 4]).adaptive_max_pool1d(1).sum()),
        ("sort", |x| x.sort_descending(0).0.slice(0)),
    ];
    for (name, f) in functions {
        let slope = grad(f)(&x);
        assert!(slope == first || slope == -&first, "{name}: {slope}");
    }
    // The running maximum moves to an equal element, as its index does.
    let (_, places) = x.cummax(0);
    let mut counts = [0.0; 4];
    places.to_vec::<i64>().iter().for_each(|&place| counts[place as usize] += 1.0);
    assert_eq!(grad(|x: &Tensor| x.cummax(0).0.sum())(&x), Tensor::from(counts));
}

#[test]
fn clamp_passes_the_gradient_at_its_bounds() {
    for (x, right) in [(-1.5, 0.0), (-1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (2.5, 0.0)] {
        assert_eq!(slope_at(|x| x.clamp(-1.0, 2.0), x), right, "clamp at {x}");
    }
    assert_eq!(slope_at(|x| x.clamp_min(1.0), 1.0), 1.0);
    assert_eq!(slope_at(|x| x.clamp_max(1.0), 1.0), 1.0);
}

#[test]
fn an_infinite_slope_is_reached_by_continuity() {
    let ends: &[(&str, fn(&Tensor) -> Tensor, f64, f64)] = &[
        ("sqrt", Tensor::sqrt, 0.0, f64::INFINITY),
        ("log", Tensor::log, 0.0, f64::INFINITY),
        ("log1p", Tensor::log1p, -1.0, f64::INFINITY),
        ("asin", Tensor::asin, 1.0, f64::INFINITY),
        ("acos", Tensor::acos, 1.0, f64::NEG_INFINITY),
        ("acosh", Tensor::acosh, 1.0, f64::INFINITY),
        ("atanh", Tensor::atanh, 1.0, f64::INFINITY),
        ("logit", Tensor::logit, 0.0, f64::INFINITY),
    ];
    for &(name, f, x, right) in ends {
        assert_eq!(slope_at(f, x), right, "{name} at {x}");
    }
}

#[test]
fn outside_its_domain_a_function_and_its_gradient_are_nan() {
    let outside: &[(&str, fn(&Tensor) -> Tensor, &[f64])] = &[
        ("log", Tensor::log, &[-1e-30, -2.0, f64::NEG_INFINITY]),
        ("log1p", Tensor::log1p, &[-1.5, -3.0]),
        ("log2", Tensor::log2, &[-1e-30, -2.0]),
        ("log10", Tensor::log10, &[-1e-30, -2.0]),
        ("atanh", Tensor::atanh, &[1.5, -1.5, f64::INFINITY]),
        ("acosh", Tensor::acosh, &[0.5, -2.0]),
        ("logit", Tensor::logit, &[-0.5, 1.5]),
        ("sqrt", Tensor::sqrt, &[-1.0]),
        ("rsqrt", Tensor::rsqrt, &[-1.0]),
        ("asin", Tensor::asin, &[1.5, -1.5]),
        ("acos", Tensor::acos, &[1.5, -1.5]),
        ("erfinv", Tensor::erfinv, &[1.5, -1.5]),
        ("x^(1/2)", |x| x.powf(0.5), &[-1.0]),
        ("x^(1/3)", |x| x.powf(1.0 / 3.0), &[-1.0]),
        ("xlogy", |x| x.ones_like().xlogy(x), &[-1.0]),
    ];
    for &(name, f, points) in outside {
        for &x in points {
            assert!(f(&Tensor::from([x])).to_f64_vec()[0].is_nan(), "{name}({x})");
            assert!(slope_at(f, x).is_nan(), "the slope of {name} at {x}");
        }
    }
}

/// The bits of every element.
fn bits(tensor: &Tensor) -> Vec<u64> {
    tensor.to_f64_vec().into_iter().map(f64::to_bits).collect()
}

/// Values with all bits in use, so that the order of a sum shows.
fn spread(shape: impl Into<Shape>, seed: u64, dtype: DType) -> Tensor {
    (Key::new(seed).uniform(shape, DType::F64) * 2.0 - 1.0).cast(dtype)
}

#[test]
fn the_same_bits_for_every_number_of_threads_and_every_run() {
    if !alone(module_path!(), "the_same_bits_for_every_number_of_threads_and_every_run") {
        return;
    }
    for dtype in [DType::F32, DType::F64] {
        let table = spread([1000, 64], 1, dtype);
        let rows = spread([20_000, 64], 2, dtype);
        let long = spread([1 << 19], 3, dtype);
        let image = spread([4, 8, 33, 31], 4, dtype);
        let weight = spread([16, 8, 3, 3], 5, dtype);
        let heads = spread([2, 4, 130, 16], 6, dtype);
        // Few targets and many sources: most indices occur often.
        let index = Tensor::randint(0, 7, [20_000], 7);
        let places = index.reshape([20_000, 1]).broadcast_to([20_000, 64]);
        let classes = Tensor::randint(0, 64, [20_000], 8);
        type Work<'a> = Box<dyn Fn() -> Vec<Tensor> + 'a>;
        let works: Vec<(&str, Work<'_>)> = vec![
            ("scatter_add", Box::new(|| vec![table.scatter_add(0, &places, &rows)])),
            ("index_add", Box::new(|| vec![table.index_add(0, &index, &rows)])),
            ("index_put", Box::new(|| vec![table.index_put(std::slice::from_ref(&index), &rows, true)])),
            ("scatter_reduce", Box::new(|| vec![table.scatter_reduce(0, &places, &rows, ScatterReduce::Mean, true)])),
            ("gradient of gather", Box::new(|| vec![grad(|x: &Tensor| (x.gather(0, &places) * &rows).sum())(&table)])),
            (
                "gradient of embedding",
                Box::new(|| vec![grad(|x: &Tensor| (x.embedding(&index) * &rows).sum())(&table)]),
            ),
            (
                "gradient of an index tensor",
                Box::new(|| vec![grad(|x: &Tensor| (x.slice(&index) * &rows).sum())(&table)]),
            ),
            ("sum", Box::new(|| vec![long.sum(), rows.sum_over(0), rows.sum_over(1), rows.var_over(0)])),
            ("cumsum", Box::new(|| vec![long.cumsum(0), rows.cumsum(0), long.logcumsumexp(0)])),
            ("sort", Box::new(|| vec![long.sort(0).0, long.topk(100, 0).0, long.median()])),
            (
                "convolution",
                Box::new(|| {
                    let f = |(x, w): &(Tensor, Tensor)| x.conv2d(w, &Conv::new().padding(1)).square().sum();
                    let (dx, dw) = grad(f)(&(image.clone(), weight.clone()));
                    vec![image.conv2d(&weight, &Conv::new()), dx, dw]
                }),
            ),
            (
                "pooling",
                Box::new(|| {
                    let f = |x: &Tensor| x.max_pool2d(&Pool::new(3).stride(1)).square().sum();
                    vec![grad(f)(&image), grad(|x: &Tensor| x.avg_pool2d(&Pool::new(3)).square().sum())(&image)]
                }),
            ),
            (
                "attention",
                Box::new(|| {
                    let f = |x: &Tensor| x.attention(x, x, &Attention::new().causal()).square().sum();
                    vec![f(&heads), grad(f)(&heads)]
                }),
            ),
            (
                "layer_norm and softmax",
                Box::new(|| {
                    let f = |x: &Tensor| x.layer_norm(&[64], &Norm::new()).softmax(-1).square().sum();
                    vec![f(&rows), grad(f)(&rows)]
                }),
            ),
            (
                "cross_entropy",
                Box::new(|| {
                    let f = |x: &Tensor| x.cross_entropy(&classes, &CrossEntropy::new());
                    let (y, dx) = value_and_grad(f)(&rows);
                    vec![y, dx]
                }),
            ),
            ("matmul", Box::new(|| vec![rows.t().matmul(&rows), rows.slice(0..500).matmul(&table.t())])),
            ("einsum", Box::new(|| vec![Tensor::einsum("bhtd,bhsd->ts", &[&heads, &heads])])),
            ("random", Box::new(|| vec![Tensor::randn([100_000], 9), Tensor::permutation(100_000, 9)])),
            ("exp", Box::new(|| vec![long.exp(), long.sin(), long.gelu()])),
        ];
        let machine = threads();
        for (name, work) in &works {
            let runs = [1, 1, 2, 3, 7].map(|count| {
                set_threads(count);
                work().iter().map(bits).collect::<Vec<_>>()
            });
            assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{name} in {dtype}");
        }
        set_threads(machine);
    }
}

#[test]
fn duplicate_indices_add_in_the_order_they_stand() {
    // 1e16 + 1 - 1e16 is 0 in this order and 1 in another.
    let values = Tensor::from([1e16, 1.0, -1e16, 4.0]);
    let index = Tensor::from([1i64, 1, 1, 0]);
    let right = Tensor::from([4.0, (1e16 + 1.0) - 1e16]);
    assert_eq!(Tensor::zeros([2]).scatter_add(0, &index, &values), right);
    assert_eq!(Tensor::zeros([2]).index_add(0, &index, &values), right);
    assert_eq!(Tensor::zeros([2]).index_put(std::slice::from_ref(&index), &values, true), right);
    let table = Tensor::zeros([2]);
    assert_eq!(grad(|x: &Tensor| (x.gather(0, &index) * &values).sum())(&table), right);
    assert_eq!(grad(|x: &Tensor| (x.index_select(0, &index) * &values).sum())(&table), right);
}

#[test]
fn bits_depend_neither_on_addresses_nor_on_what_follows() {
    for dtype in [DType::F32, DType::F64] {
        let x = spread([5000], 11, dtype).abs() + 0.1;
        let maps: [fn(&Tensor) -> Tensor; 9] = [
            Tensor::exp,
            Tensor::log,
            Tensor::sin,
            Tensor::tanh,
            Tensor::erf,
            Tensor::gelu,
            Tensor::sqrt,
            Tensor::lgamma,
            |x| x.powf(1.7),
        ];
        let reductions: [fn(&Tensor) -> Tensor; 5] =
            [Tensor::sum, Tensor::prod, |x| x.norm(2.0), |x| x.cumsum(0), |x| x.softmax(0)];
        for offset in 0..20 {
            let view = x.slice(offset..offset + 1000);
            let copy = Tensor::from(view.to_f64_vec()).cast(dtype);
            for (number, f) in maps.iter().chain(&reductions).enumerate() {
                assert_eq!(bits(&f(&view)), bits(&f(&copy)), "function {number} at offset {offset} in {dtype}");
            }
        }
        // The last elements use the same function as the others.
        for f in maps {
            let whole = bits(&f(&x));
            for length in (1..70).chain([255, 256, 257, 1023, 1025]) {
                assert_eq!(bits(&f(&x.slice(0..length))), whole[..length], "of length {length} in {dtype}");
            }
        }
    }
}

#[test]
fn numbers_below_the_normal_ones_are_kept() {
    let tiny = f32::from_bits(3);
    let (a, b) = (spread([300, 300], 12, DType::F32), spread([300, 300], 13, DType::F32));
    let kept = |after: &str| {
        assert_eq!(Tensor::from([tiny; 40]).sum().item() as f32, f32::from_bits(120), "after {after}");
        assert_eq!((Tensor::from([tiny; 40]) * 1.0f32).to_vec::<f32>(), [tiny; 40], "after {after}");
        assert_eq!(std::hint::black_box(tiny) * std::hint::black_box(1.0), tiny, "after {after}");
    };
    kept("nothing");
    a.matmul(&b).sum().item();
    kept("a product");
    let image = spread([2, 8, 40, 40], 14, DType::F32);
    let weight = spread([8, 8, 3, 3], 15, DType::F32);
    grad(|w: &Tensor| image.conv2d(w, &Conv::new()).square().sum())(&weight);
    kept("a convolution");
    let heads = spread([1, 4, 200, 16], 16, DType::F32);
    grad(|x: &Tensor| x.attention(x, x, &Attention::new()).sum())(&heads);
    kept("attention");
    assert_eq!(Tensor::from([[tiny]]).matmul(&Tensor::from([[1f32]])).item() as f32, tiny);
}

#[test]
fn half_precision_sums_are_accumulated_wider() {
    for dtype in [DType::BF16, DType::F16] {
        let ones = Tensor::ones_of([4096], dtype);
        assert_eq!(ones.sum().cast(DType::F64).item(), 4096.0, "{dtype}");
        assert_eq!(Tensor::ones_of([4096, 3], dtype).sum_over(0).to_f64_vec(), [4096.0; 3], "{dtype}");
        assert_eq!(ones.reshape([1, 4096]).matmul(&ones.reshape([4096, 1])).to_f64_vec(), [4096.0], "{dtype}");
        // The gradient of a broadcast operand is such a sum.
        for f in [
            (|b: &Tensor| b.broadcast_to([4096]).sum()) as fn(&Tensor) -> Tensor,
            |b| (Tensor::zeros_of([4096, 1], b.dtype()) + b).sum(),
            |b| (Tensor::ones_of([64, 64], b.dtype()) * b).sum(),
        ] {
            let gradient = grad(f)(&Tensor::ones_of([1], dtype));
            assert_eq!((gradient.dtype(), gradient.to_f64_vec()), (dtype, vec![4096.0]));
        }
    }
}

#[test]
fn long_sums_of_singles_are_exact() {
    let ones = Tensor::full([1 << 25], 1f32).contiguous();
    assert_eq!(ones.sum().item(), 33_554_432.0);
    assert_eq!(ones.reshape([1 << 24, 2]).sum_over(0), Tensor::from([16_777_216f32, 16_777_216.0]));
    assert_eq!(ones.mean().item(), 1.0);
    // 2^24 + 1 is the first integer that no f32 represents: a plain loop stops there.
    assert_eq!((0..(1 << 24) + 8).fold(0f32, |sum, _| sum + 1.0), 16_777_216.0);
}

#[test]
fn the_executed_branch_is_what_is_differentiated() {
    let f = |x: &Tensor| if x.item() > 1.0 { x * x } else { x * 5.0 };
    assert_eq!(grad(f)(&Tensor::from(3.0)).item(), 6.0);
    assert_eq!(grad(f)(&Tensor::from(1.0)).item(), 5.0);
    let x = Tensor::from(2.0).require_grad();
    let mut y = x.clone();
    while y.item() < 100.0 {
        y = &y * &x;
    }
    y.backward();
    assert_eq!((y.item(), x.grad().unwrap().item()), (128.0, 7.0 * 64.0));
}

#[test]
fn whole_numbers_and_truth_values_carry_no_gradient() {
    let x = Tensor::from([1i64, 2]);
    assert!(catch(|| x.clone().require_grad()).is_err());
    assert!(catch(|| Tensor::from([true]).require_grad()).is_err());
    assert!(catch(|| grad(|x: &Tensor| x.sum())(&x)).is_err());
    let w = Tensor::from([1.5, -2.5]).require_grad();
    assert!(!w.cast(DType::I64).requires_grad() && !w.gt(0.0).requires_grad() && !w.argmax().requires_grad());
    assert!(catch(|| w.gt(0.0).cast(DType::F64).sum().backward()).is_err());
}

#[test]
fn what_is_out_of_scope_is_said_in_the_guide() {
    let guide = include_str!("../../../../docs/guide.md");
    let line = guide.lines().find(|line| line.contains("out of scope")).expect("a line about what is out of scope");
    assert!(["Complex", "FFT", "ONNX"].iter().all(|word| line.contains(word)), "{line}");
}

#[test]
fn powers_with_a_number_as_exponent_take_no_logarithm() {
    assert_eq!(slope_at(|x| x.powf(2.0), -3.0), -6.0);
    assert_eq!(slope_at(|x| x.pow(2), -3.0), -6.0);
    assert_eq!(slope_at(|x| x.pow(2.0), -3.0), -6.0);
    assert_eq!(slope_at(|x| x.powi(3), 0.0), 0.0);
    assert_eq!(slope_at(|x| x.pow(3), 0.0), 0.0);
    assert_eq!(slope_at(|x| x.powi(-1), -2.0), -0.25);
    assert_eq!(slope_at(|x| x.powi(1), 0.0), 1.0);
    let second = |p: i64, x: f64| grad(grad(move |x: &Tensor| x.powi(p)))(&Tensor::from(x)).item();
    assert_eq!((second(2, 0.0), second(2, -3.0), second(3, 0.0), second(3, -2.0)), (2.0, 2.0, 0.0, -12.0));
    assert_eq!(grad(grad(grad(|x: &Tensor| x.powi(3))))(&Tensor::from(0.0)).item(), 6.0);
    for p in [2.0, 3.0, 0.5, -1.0] {
        let text = compile(grad(move |x: &Tensor| x.pow(p).sum())).program(&Tensor::from([1.0, 2.0])).to_string();
        assert!(!text.contains("log"), "{text}");
    }
}

#[test]
fn the_backward_of_cross_entropy_is_the_difference_of_probabilities_over_the_batch() {
    let labels = Tensor::from([2i64, 0]);
    let f = |x: &Tensor| x.cross_entropy(&labels, &CrossEntropy::new());
    let (loss, gradient) = value_and_grad(f)(&Tensor::from([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]));
    assert!((loss.item() - 0.40760596444438046).abs() < 1e-15, "{}", loss.item());
    let first = Tensor::from([0.04501528658519, 0.12236423552740, -0.16737952211259]);
    assert!(gradient.slice(0).all_close(&first, 1e-13), "{gradient}");

    let (batch, classes) = (7, 5);
    let x: Vec<f64> = (0..batch * classes).map(|i| 3.0 * (1.7 * i as f64).sin()).collect();
    let labels: Vec<i64> = (0..batch as i64).map(|i| (3 * i + 1) % classes as i64).collect();
    let mut right = vec![0.0; batch * classes];
    for (row, &label) in labels.iter().enumerate() {
        let row = row * classes..(row + 1) * classes;
        let total: f64 = x[row.clone()].iter().map(|x| x.exp()).sum();
        for i in row.clone() {
            let target = if i - row.start == label as usize { 1.0 } else { 0.0 };
            right[i] = (x[i].exp() / total - target) / batch as f64;
        }
    }
    let labels = Tensor::from(labels);
    let gradient =
        grad(|x: &Tensor| x.cross_entropy(&labels, &CrossEntropy::new()))(&Tensor::from_vec(x, [batch, classes]));
    assert!(gradient.all_close(&Tensor::from_vec(right, [batch, classes]), 1e-14));

    for dtype in [DType::F32, DType::F64] {
        let x = Tensor::from([[1e4, -1e4, 0.0], [1e4, 0.0, -1e4]]).cast(dtype);
        let labels = Tensor::from([2i64, 0]);
        let (loss, gradient) = value_and_grad(|x: &Tensor| x.cross_entropy(&labels, &CrossEntropy::new()))(&x);
        assert_eq!(loss.cast(DType::F64).item(), 5e3);
        assert_eq!(gradient.to_f64_vec(), [0.5, 0.0, -0.5, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn determinants_of_singular_matrices_have_exact_derivatives() {
    // Rank 1 and 0: the gradient is the cofactor matrix, the second derivative consists of the cofactors' derivatives.
    let det = |m: &[f64]| {
        m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6])
    };
    let singular: [[f64; 9]; 4] = [
        [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, -1.0, -2.0, -3.0],
        [0.0; 9],
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0],
    ];
    for m in singular {
        let a = Tensor::from_vec(m.to_vec(), [3, 3]);
        // A determinant is linear in each element, so differences over a step of 1 are exact.
        let moved = |steps: &[usize]| {
            let mut m = m;
            steps.iter().for_each(|&i| m[i] += 1.0);
            det(&m)
        };
        let first: Vec<f64> = (0..9).map(|i| moved(&[i]) - det(&m)).collect();
        assert!(grad(Tensor::det)(&a).all_close(&Tensor::from_vec(first, [3, 3]), 1e-13), "{a}");
        for i in 0..9 {
            let second = |j: usize| if i == j { 0.0 } else { moved(&[i, j]) - moved(&[i]) - moved(&[j]) + det(&m) };
            let right: Vec<f64> = (0..9).map(second).collect();
            let row = grad(|a: &Tensor| grad(Tensor::det)(a).reshape([9]).slice(i))(&a);
            assert!(row.all_close(&Tensor::from_vec(right, [3, 3]), 1e-12), "row {i} of the curvature at {a}: {row}");
        }
    }
}

#[test]
fn the_maximum_of_nothing_is_an_error_and_the_sum_is_zero() {
    for shape in [vec![0], vec![0, 3], vec![3, 0]] {
        let nothing = Tensor::zeros(shape.clone());
        for f in [Tensor::max, Tensor::min, Tensor::argmax, Tensor::argmin] {
            assert!(catch(|| f(&nothing)).is_err(), "{shape:?}");
        }
        assert_eq!(nothing.sum().item(), 0.0);
        assert_eq!(nothing.cast(DType::I64).sum(), Tensor::from(0i64));
        assert_eq!(grad(|x: &Tensor| x.sum())(&nothing).shape(), shape);
    }
}

#[test]
fn products_and_convolutions_of_size_zero_work() {
    for (left, right, out) in [
        (vec![0, 3], vec![3, 4], vec![0, 4]),
        (vec![2, 0], vec![0, 4], vec![2, 4]),
        (vec![2, 3], vec![3, 0], vec![2, 0]),
        (vec![0], vec![0], vec![]),
        (vec![0, 2, 3], vec![3, 4], vec![0, 2, 4]),
        (vec![0, 2, 3], vec![0, 3, 4], vec![0, 2, 4]),
        (vec![5, 2, 0], vec![5, 0, 4], vec![5, 2, 4]),
    ] {
        let (a, b) = (Tensor::ones(left.clone()), Tensor::ones(right.clone()));
        assert_eq!(a.matmul(&b), Tensor::zeros(out.clone()), "{left:?} {right:?}");
        let (da, db) = grad(|(a, b): &(Tensor, Tensor)| a.matmul(b).sum())(&(a.clone(), b.clone()));
        assert_eq!((da.shape(), db.shape()), (a.shape(), b.shape()));
        let nothing = |x: &Tensor| x.to_f64_vec().iter().all(|&x| x == 0.0);
        assert!(nothing(&da) && nothing(&db), "{left:?} {right:?}");
    }
    // No images, no input channels, no output channels.
    for (x, w, out) in [
        ([0, 4, 6, 6], [3, 4, 3, 3], [0, 3, 4, 4]),
        ([2, 0, 6, 6], [3, 0, 3, 3], [2, 3, 4, 4]),
        ([2, 4, 6, 6], [0, 4, 3, 3], [2, 0, 4, 4]),
    ] {
        let (x, w) = (Tensor::ones(x), Tensor::ones(w));
        assert_eq!(x.conv2d(&w, &Conv::new()), Tensor::zeros(out), "{:?} {:?}", x.shape(), w.shape());
        let f = |(x, w): &(Tensor, Tensor)| x.conv2d(w, &Conv::new()).square().sum();
        let (dx, dw) = grad(f)(&(x.clone(), w.clone()));
        assert_eq!((dx, dw), (x.zeros_like(), w.zeros_like()));
    }
    let (x, w) = (Tensor::ones([0, 2, 8]), Tensor::ones([3, 2, 3]));
    assert_eq!(x.conv1d(&w, &Conv::new()).shape(), [0, 3, 6]);
    assert_eq!(x.conv_transpose1d(&Tensor::ones([2, 3, 3]), &Conv::new()).shape(), [0, 3, 10]);
    assert_eq!(
        Tensor::ones([0, 2, 4, 4, 4]).conv3d(&Tensor::ones([3, 2, 3, 3, 3]), &Conv::new()).shape(),
        [0, 3, 2, 2, 2]
    );
}

/// A branch that is not taken contributes nothing, in any mode and to second order, however steep it is.
#[test]
fn zeros_stay_zero_beside_infinite_slopes_in_every_mode() {
    let masked: &[(&str, fn(&Tensor) -> Tensor)] = &[
        ("log", |x| x.gt(0.0).where_(x.log(), 0.0)),
        ("sqrt", |x| x.gt(0.0).where_(x.sqrt(), 0.0)),
        ("recip", |x| x.gt(0.0).where_(x.recip(), 0.0)),
        ("relu", |x| (-x.sqrt()).relu()),
        ("clamp_min", |x| x.log().clamp_min(-100.0)),
        ("maximum", |x| x.log().maximum(-5.0)),
        ("times 0", |x| x.sqrt() * 0.0),
        ("root of a rectifier", |x| (x - 1.0).relu().sqrt()),
    ];
    for (name, f) in masked {
        assert_eq!(slope_at(f, 0.0), 0.0, "{name}");
        let slope = grad(|x: &Tensor| f(x).sum());
        let x = Tensor::from([0.0]);
        assert_eq!(jvp(&slope, &x, &x.ones_like()).1, Tensor::from([0.0]), "{name}, forward over reverse");
        let again = grad(|x: &Tensor| grad(|x: &Tensor| f(x).sum())(x).sum());
        assert_eq!(again(&x), Tensor::from([0.0]), "{name}, reverse over reverse");
    }
    // The way to compute a Hessian that the guide recommends.
    let f = |x: &Tensor| x.gt(0.0).where_(x.log(), 0.0).sum();
    let x = Tensor::from([0.0, 1.0]);
    let hessian = vmap(|v: &Tensor| jvp(grad(f), &x, v).1)(&Tensor::eye(2));
    assert_eq!(hessian, Tensor::from([[0.0, 0.0], [0.0, -1.0]]));
    // An incoming NaN is not hidden by a slope of 0.
    assert!(grad(|x: &Tensor| (x * 0.0 - 1.0).log())(&Tensor::from(1.0)).item().is_nan());
}

#[test]
fn outside_a_domain_second_derivatives_are_nan_too() {
    let functions: &[(&str, fn(&Tensor) -> Tensor, f64)] = &[
        ("log", Tensor::log, -1.0),
        ("log2", Tensor::log2, -1.0),
        ("log10", Tensor::log10, -1.0),
        ("log1p", Tensor::log1p, -2.0),
        ("atanh", Tensor::atanh, 2.0),
        ("acosh", Tensor::acosh, 0.5),
    ];
    for (name, f, x) in functions {
        let second = grad(|x: &Tensor| grad(|x: &Tensor| f(x).sum())(x).sum());
        assert!(second(&Tensor::from([*x])).to_f64_vec()[0].is_nan(), "{name}");
    }
}

#[test]
fn a_norm_of_zero_has_gradient_zero_for_every_power() {
    for p in [-1.0, -2.5, 0.5, 2.0, 3.0] {
        let x = if p < 0.0 { Tensor::from([0.0, 5.0]) } else { Tensor::zeros([2]) };
        assert_eq!((x.norm(p).item(), grad(|x: &Tensor| x.norm(p))(&x)), (0.0, Tensor::zeros([2])), "p = {p}");
    }
}

#[test]
fn far_out_slopes_and_quotients_are_right() {
    for x in [1e4f64, 1e8, 1e16, 1e300] {
        let slope = grad(|x: &Tensor| x.mish())(&Tensor::from(x)).item();
        assert!((slope - 1.0).abs() < 1e-15, "mish at {x}: {slope}");
    }
    let infinity = f64::INFINITY;
    for (x, y, quotient) in [(-3.0, infinity, -1.0), (3.0, infinity, 0.0), (3.0, -infinity, -1.0), (0.0, infinity, 0.0)]
    {
        assert_eq!(Tensor::from(x).floor_divide(y).item(), quotient, "{x} by {y}");
    }
}

#[test]
fn a_side_that_is_not_taken_has_no_second_derivative_in_any_mode() {
    // x log x for x > 0: slope log x + 1, curvature 1 / x; 0 elsewhere, where the logarithm is NaN.
    let f = |x: &Tensor| x.gt(0.0).where_(x * x.log(), 0.0).sum();
    let x = Tensor::from([-2.0, 0.5, 4.0]);
    let curvature = Tensor::from([0.0, 2.0, 0.25]);
    let (one, slope) = (x.ones_like(), |x: &Tensor| grad(f)(x));
    let staged = compile(f);
    let tangent = |x: &Tensor| jvp(f, x, &Tensor::from([1.0, 1.0, 1.0])).1;
    let found = [
        ("forward over reverse", hvp(f, &x, &one)),
        ("reverse over reverse", vhp(f, &x, &one)),
        ("reverse twice", grad(|x: &Tensor| slope(x).sum())(&x)),
        ("the gradient of a tangent", grad(tangent)(&x)),
        ("the diagonal of the Hessian", hessian(f)(&x).diagonal()),
        ("compiled", hvp(|x: &Tensor| staged.call(x), &x, &one)),
        ("all compiled", compile(|x: &Tensor| hvp(f, x, &Tensor::from([1.0, 1.0, 1.0]))).call(&x)),
    ];
    for (way, found) in found {
        assert_eq!(found, curvature, "{way}");
    }
    assert_eq!(jvp(tangent, &x, &one).1.item(), 2.25);
}

#[test]
fn functions_that_are_constant_between_jumps_have_gradient_zero_in_every_mode() {
    let functions: [(&str, fn(&Tensor) -> Tensor); 6] = [
        ("round", Tensor::round),
        ("floor", Tensor::floor),
        ("ceil", Tensor::ceil),
        ("trunc", Tensor::trunc),
        ("sign", Tensor::sign),
        ("floor_divide", |x| x.floor_divide(&(x + 1.0))),
    ];
    for (name, f) in functions {
        for x in [Tensor::from(1.3), Tensor::from([0.4, 1.6, -2.5]), Tensor::full([70, 50], 0.7).contiguous()] {
            let zeros = x.full_like(0.0);
            assert_eq!(grad(|x: &Tensor| f(x).sum())(&x), zeros, "{name}");
            let leaf = x.clone().require_grad();
            let y = f(&leaf);
            assert!(y.requires_grad(), "{name}");
            y.sum().backward();
            assert_eq!(leaf.grad(), Some(zeros.clone()), "{name}");
            // Next to another path, and with an infinite cotangent.
            leaf.zero_grad();
            (f(&leaf) * f64::INFINITY + &leaf * 3.0).sum().backward();
            assert_eq!(leaf.grad(), Some(x.full_like(3.0)), "{name}");
            let again = autograd::grad_with(&[&f(&leaf).sum()], &[&leaf], Backward::new().create_graph()).remove(0);
            assert_eq!(again.unwrap().plain(), zeros, "{name}");
        }
    }
    let x = Tensor::from([0.4, 1.6]).require_grad();
    assert!(!x.detach().requires_grad() && !x.gt(1.0).requires_grad());
}

#[test]
fn where_the_largest_element_is_not_a_number_every_mode_follows_it() {
    let functions: [(&str, fn(&Tensor) -> Tensor); 4] =
        [("max", Tensor::max), ("min", Tensor::min), ("amax", |x| x.max_over(0)), ("amin", |x| x.min_over(0))];
    for (name, f) in functions {
        for (x, slopes) in [([f64::NAN, 1.0], [1.0, 0.0]), ([f64::NAN, f64::NAN], [0.5, 0.5])] {
            let (x, slopes, along) = (Tensor::from(x), Tensor::from(slopes), Tensor::from([3.0, 5.0]));
            assert_eq!(grad(f)(&x), slopes, "{name}");
            assert_eq!(compile(grad(f)).call(&x), slopes, "{name}");
            assert_eq!(jvp(f, &x, &along).1.item(), (&slopes * &along).sum().item(), "{name}");
        }
    }
}

#[test]
fn a_bound_that_is_not_a_number_is_the_result() {
    for (low, high) in [(f64::NAN, 1.0), (0.0, f64::NAN), (f64::NAN, f64::NAN)] {
        let f = |x: &Tensor| x.clamp(low, high);
        let by_tensors = |x: &Tensor| x.clamp(Tensor::from(low), Tensor::from(high));
        for x in [Tensor::from([-1.0, 0.5, 2.0]), Tensor::full([3000], 0.5).contiguous()] {
            for y in [f(&x), compile(f).call(&x), vmap(f)(&x), by_tensors(&x)] {
                assert!(y.to_vec::<f64>().iter().all(|y| y.is_nan()), "{low} {high}: {y}");
            }
        }
    }
}

#[test]
fn a_whole_number_that_is_to_move_is_an_error() {
    let f = |(x, i): &(Tensor, Tensor)| x * i.cast(DType::F64);
    let x = (Tensor::from(2.0), Tensor::from(3i64));
    assert_eq!(jvp(f, &x, &(Tensor::from(1.0), Tensor::from(0i64))).1.item(), 3.0);
    let error = catch(|| jvp(f, &x, &(Tensor::from(1.0), Tensor::from(1i64)))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NoGradient);
    assert!(error.message().contains("'1'") && error.to_string().contains("policies.rs"), "{error}");
}

/// A sum starts from 0, so it is never -0, in programs too.
#[test]
fn compiled_sums_of_repeated_numbers_have_the_sign_of_zero_of_eager_ones() {
    let sums: [fn(&Tensor) -> Tensor; 3] = [
        |x| x.broadcast_to([4]).sum(),
        |x| x.reshape([1, 1]).sum_over(0),
        |x| x.reshape([1]).broadcast_to([3, 1]).sum_over(0),
    ];
    for sum in sums {
        let x = Tensor::from(-0.0);
        let found = [sum(&x), compile(sum).call(&x)].map(|sum| sum.to_f64_vec()[0].to_bits());
        assert_eq!(found, [0.0f64.to_bits(); 2]);
        let seed = |x: &Tensor| vjp(|x: &Tensor| x.broadcast_to([4]), &Tensor::from(1.0)).1.call(&x.broadcast_to([4]));
        assert_eq!(compile(seed).call(&x).item().to_bits(), seed(&x).item().to_bits());
    }
}

#[test]
fn gelu_and_silu_end_as_the_identity() {
    for f in [Tensor::gelu, Tensor::silu] as [fn(&Tensor) -> Tensor; 2] {
        assert_eq!(slope_at(f, f64::INFINITY), 1.0);
    }
}
