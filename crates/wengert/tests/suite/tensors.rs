//! Tensors as values: dtypes, creation, operators, randomness, closeness, and how they print.

use wengert::prelude::*;

const DTYPES: [DType; 8] =
    [DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32, DType::U8, DType::Bool];

#[test]
fn every_dtype_is_made_moved_reduced_and_converted() {
    let numbers = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    for from in DTYPES {
        let x = Tensor::from(numbers).cast(from).reshape([2, 3]);
        assert_eq!((x.dtype(), x.to_f64_vec()), (from, numbers.to_vec()));
        assert_eq!(x.t().to_f64_vec(), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0], "{from}");
        assert_eq!(x.slice((.., 1)).to_f64_vec(), [1.0, 1.0], "{from}");
        assert_eq!(x.max_along(1).1.to_vec::<i64>(), [1, 1], "{from}");
        assert_eq!(x.count_nonzero().to_f64_vec(), [4.0], "{from}");
        if from != DType::Bool {
            assert_eq!(x.sum().to_f64_vec(), [4.0], "{from}");
        }
        assert_eq!(Tensor::concat(&[&x, &x], 0).shape(), [4, 3]);
        for to in DTYPES {
            assert_eq!(x.cast(to).to_f64_vec(), numbers, "{from} to {to}");
        }
    }
    assert_eq!(Tensor::from([300.0, -1.5, f64::NAN]).cast(DType::Bool), Tensor::from([true, true, true]));
    assert_eq!(Tensor::from([1.9, -1.9]).cast(DType::I32), Tensor::from([1i32, -1]));
}

#[test]
fn tensors_are_made_from_what_rust_has() {
    assert_eq!(Tensor::from(2.5).shape(), [0; 0]);
    assert_eq!(Tensor::from([1.0f32, 2.0]).dtype(), DType::F32);
    assert_eq!(Tensor::from([[1i64, 2], [3, 4], [5, 6]]).shape(), [3, 2]);
    assert_eq!(Tensor::from(vec![vec![true], vec![false]]).shape(), [2, 1]);
    assert_eq!(Tensor::from(&[1u8, 2, 3][..]).dtype(), DType::U8);
    assert_eq!(Tensor::from_vec(vec![1, 2, 3, 4i32], [2, 2]).slice((1, 0)).item(), 3.0);
    assert_eq!(Tensor::from_slice(&[1.0, 2.0], [2, 1]).shape(), [2, 1]);
    assert_eq!(Tensor::zeros([2, 0]).elements(), 0);
    assert_eq!(Tensor::ones([2]), Tensor::from([1.0, 1.0]));
    assert_eq!(Tensor::full([2], 7i32), Tensor::from([7i32, 7]));
    assert_eq!(Tensor::arange(3), Tensor::from([0i64, 1, 2]));
    assert_eq!(Tensor::arange(2.0..4.0), Tensor::from([2.0, 3.0]));
    assert_eq!(Tensor::arange((0..7, 3)), Tensor::from([0i64, 3, 6]));
    let (first, end) = (3, 0);
    assert_eq!(Tensor::arange((first..end, -1)), Tensor::from([3i64, 2, 1]));
    assert_eq!(Tensor::linspace(0.0, 1.0, 5), Tensor::from([0.0, 0.25, 0.5, 0.75, 1.0]));
    assert_eq!(Tensor::linspace(3.0, 9.0, 1), Tensor::from([3.0]));
    assert_eq!(Tensor::eye(2), Tensor::from([[1.0, 0.0], [0.0, 1.0]]));
    assert_eq!(Tensor::eye_of(2, 3, DType::I32), Tensor::from([[1i32, 0, 0], [0, 1, 0]]));
    let numbers: Vec<f32> = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]).t().to_vec();
    assert_eq!(numbers, [1.0, 3.0, 2.0, 4.0]);
    let mut room = [0i64; 3];
    Tensor::arange(3).copy_to(&mut room);
    assert_eq!(room, [0, 1, 2]);
    assert!(catch(|| Tensor::from(vec![vec![1.0], vec![1.0, 2.0]])).is_err(), "rows of unequal length");
    assert!(catch(|| Tensor::from_vec(vec![1.0; 5], [2, 3])).is_err());
}

#[test]
fn operators_take_tensors_references_and_numbers_on_both_sides() {
    let (x, y) = (Tensor::from([8.0, 6.0]), Tensor::from([2.0, 4.0]));
    let (own, other) = (|| x.clone(), || y.clone());
    let sums = [&x + &y, own() + &y, &x + other(), own() + other()];
    assert!(sums.iter().all(|sum| *sum == Tensor::from([10.0, 10.0])));
    let differences = [&x - &y, own() - &y, &x - other(), own() - other()];
    assert!(differences.iter().all(|difference| *difference == Tensor::from([6.0, 2.0])));
    let products = [&x * &y, own() * &y, &x * other(), own() * other()];
    assert!(products.iter().all(|product| *product == Tensor::from([16.0, 24.0])));
    let quotients = [&x / &y, own() / &y, &x / other(), own() / other()];
    assert!(quotients.iter().all(|quotient| *quotient == Tensor::from([4.0, 1.5])));
    assert_eq!(&x % &Tensor::from([3.0, 4.0]), Tensor::from([2.0, 2.0]));
    assert_eq!((-&x, -own()), (Tensor::from([-8.0, -6.0]), Tensor::from([-8.0, -6.0])));
    let eight = [&x + 1.0, &x + 1, 1.0 + &x, 1 + &x, own() + 1.0f32, own() + 1i32, 1.0 + own()];
    assert!(eight.iter().all(|sum| *sum == Tensor::from([9.0, 7.0])));
    assert_eq!((10.0 - &x, 24.0 / &x, 2.0 * &x), (Tensor::from([2.0, 4.0]), Tensor::from([3.0, 4.0]), &x * 2.0));
    // A literal keeps the dtype of its tensor.
    for dtype in DTYPES.into_iter().filter(|dtype| *dtype != DType::Bool) {
        assert_eq!((Tensor::ones_of([2], dtype) * 2 + 1).dtype(), dtype);
    }
    let mut z = own();
    z += &y;
    z -= 1.0;
    z *= other();
    z /= 2;
    z %= 7.0;
    assert_eq!(z, Tensor::from([(8.0 + 2.0 - 1.0) * 2.0 / 2.0 % 7.0, (6.0 + 4.0 - 1.0) * 4.0 / 2.0 % 7.0]));
}

#[test]
fn shapes_broadcast_as_in_numpy() {
    for (a, b, right) in [
        (vec![5, 4], vec![1], vec![5, 4]),
        (vec![5, 4], vec![4], vec![5, 4]),
        (vec![15, 3, 5], vec![15, 1, 5], vec![15, 3, 5]),
        (vec![8, 1, 6, 1], vec![7, 1, 5], vec![8, 7, 6, 5]),
        (vec![], vec![2, 3], vec![2, 3]),
        (vec![0], vec![1], vec![0]),
        (vec![3, 0], vec![1], vec![3, 0]),
        (vec![2, 1], vec![0], vec![2, 0]),
    ] {
        assert_eq!((Tensor::zeros(a.clone()) + Tensor::zeros(b.clone())).shape(), right, "{a:?} and {b:?}");
        assert_eq!((Tensor::zeros(b) + Tensor::zeros(a)).shape(), right);
    }
    for (a, b) in [(vec![3], vec![4]), (vec![2, 1], vec![8, 4, 3]), (vec![0], vec![2])] {
        assert!(catch(|| Tensor::zeros(a.clone()) + Tensor::zeros(b.clone())).is_err(), "{a:?} and {b:?}");
    }
}

#[test]
fn equal_seeds_give_equal_numbers_and_other_seeds_others() {
    let draws: [fn(u64) -> Tensor; 5] = [
        |seed| Tensor::rand([1000], seed),
        |seed| Tensor::randn([1000], seed),
        |seed| Tensor::randint(-3, 1000, [1000], seed).cast(DType::F64),
        |seed| Tensor::bernoulli(0.3, [1000], seed).cast(DType::F64),
        |seed| Tensor::permutation(1000, seed).cast(DType::F64),
    ];
    for draw in draws {
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }
}

#[test]
fn uniform_numbers_are_the_words_of_philox() {
    // Philox 4x32-10 with key 0 and counter 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8 (Salmon and others, 2011). An f32 takes the upper
    // 24 bits of a word, an f64 the upper 53 of two.
    let single = Key::new(0).uniform([1], DType::F32).to_vec::<f32>()[0];
    assert_eq!(single, (0x6627e8d5u32 >> 8) as f32 / 16_777_216.0);
    let double = Key::new(0).uniform([1], DType::F64).to_vec::<f64>()[0];
    assert_eq!(double, (0xe169c58d6627e8d5u64 >> 11) as f64 / 9_007_199_254_740_992.0);
}

#[test]
fn random_numbers_follow_their_distributions() {
    let count = 200_000;
    let moments = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let central = |p: i32| x.iter().map(|x| (x - mean).powi(p)).sum::<f64>() / x.len() as f64;
        (mean, central(2), central(3), central(4))
    };
    for dtype in [DType::F32, DType::F64] {
        // A normal variable has moments 0, 1, 0 and 3; five standard errors of each.
        let x = Key::new(1).normal([count], dtype).to_f64_vec();
        let (mean, second, third, fourth) = moments(&x);
        let error = |variance: f64| 5.0 * (variance / count as f64).sqrt();
        assert!(mean.abs() < error(1.0) && (second - 1.0).abs() < error(2.0), "{mean} {second}");
        assert!(third.abs() < error(15.0) && (fourth - 3.0).abs() < error(96.0), "{third} {fourth}");
        let u = Key::new(2).uniform([count], dtype).to_f64_vec();
        assert!(u.iter().all(|&u| (0.0..1.0).contains(&u)));
        let (mean, second, ..) = moments(&u);
        assert!((mean - 0.5).abs() < error(1.0 / 12.0) && (second - 1.0 / 12.0).abs() < error(1.0 / 180.0));
    }
    let mut counts = [0i64; 7];
    for x in Tensor::randint(-2, 5, [count], 3).to_vec::<i64>() {
        counts[(x + 2) as usize] += 1;
    }
    let even = count as f64 / 7.0;
    assert!(counts.iter().all(|&n| (n as f64 - even).abs() < 5.0 * even.sqrt()), "{counts:?}");
    let share = Tensor::bernoulli(0.3, [count], 4).cast(DType::F64).sum().item() / count as f64;
    assert!((share - 0.3).abs() < 5.0 * (0.21 / count as f64).sqrt(), "{share}");
    let each = Tensor::bernoulli(Tensor::from([0.0, 1.0]), [1000, 2], 4).cast(DType::F64).sum_over(0);
    assert_eq!(each, Tensor::from([0.0, 1000.0]));
    let mut order = Tensor::permutation(1000, 5).to_vec::<i64>();
    assert!(order.iter().enumerate().filter(|&(i, &x)| i as i64 == x).count() < 10, "it is mixed");
    order.sort();
    assert_eq!(order, (0..1000).collect::<Vec<i64>>());
}

#[test]
fn closeness_is_relative_or_absolute_and_knows_shapes_nan_and_infinities() {
    let x = Tensor::from([1.0, 1e6]);
    assert!(x.all_close(&Tensor::from([1.0 + 1e-9, 1e6 + 1e-4]), 1e-8));
    assert!(!x.all_close(&Tensor::from([1.0, 1e6 + 1.0]), 1e-8));
    assert!(!x.all_close(&Tensor::from([[1.0, 1e6]]), 1e-8), "another shape");
    let odd = Tensor::from([f64::NAN, f64::INFINITY]);
    assert!(odd.all_close(&odd, 0.0) && !odd.all_close(&Tensor::from([f64::NAN, f64::NEG_INFINITY]), 1.0));
    assert!(!odd.all_close(&Tensor::from([0.0, f64::INFINITY]), 1.0));
    let infinite = Tensor::from([f64::INFINITY]);
    assert!(!infinite.all_close(&Tensor::from([1.0]), 0.5) && !Tensor::from([1.0]).all_close(&infinite, 0.5));
    assert!(
        !Tensor::from([1.0]).all_close_within(&infinite, 0.5, 0.5) && infinite.all_close_within(&infinite, 0.0, 0.0)
    );
    assert!(!infinite.all_close_within(&-&infinite, 0.5, 0.5));
    // |x - y| <= absolute + relative |y|, as NumPy has it: not symmetric.
    let (a, b) = (Tensor::from([10.0]), Tensor::from([11.0]));
    assert!(a.all_close_within(&b, 0.0917, 0.0) && !b.all_close_within(&a, 0.0917, 0.0));
    assert!(a.all_close_within(&b, 0.0, 1.0) && !a.all_close_within(&b, 0.0, 0.99));
    assert!(!odd.all_close_within(&odd, 1.0, 1.0), "NaN is close to nothing");
    assert_eq!(a.max_abs_difference(&b), 1.0);
    assert!(odd.max_abs_difference(&odd).is_nan());
    // Equality compares shape, dtype and every element; NaN equals nothing.
    assert_eq!(x, x.clone());
    assert_ne!(Tensor::from([1.0]), Tensor::from([1.0f32]));
    assert_ne!(Tensor::from([1.0]), Tensor::from([[1.0]]));
    assert_ne!(odd, odd.clone());
    assert_eq!(x.t(), x.t().contiguous());
}

#[test]
fn tensors_print_as_in_numpy() {
    // The output of numpy.array2string(x, separator=", ").
    let text = |x: &Tensor| x.to_string();
    assert_eq!(text(&Tensor::from(3i64)), "3");
    assert_eq!(text(&Tensor::arange(4)), "[0, 1, 2, 3]");
    assert_eq!(text(&Tensor::from([[1i64, -20], [300, 4]])), "[[  1, -20],\n [300,   4]]");
    assert_eq!(text(&Tensor::from([[1.0, 2.5], [-3.25, 4.0]])), "[[ 1.  ,  2.5 ],\n [-3.25,  4.  ]]");
    assert_eq!(text(&Tensor::from([1e10, 1.0])), "[1.e+10, 1.e+00]");
    assert_eq!(text(&Tensor::from([0.1f32, 0.2])), "[0.1, 0.2]");
    let cube = "[[[ 0,  1,  2],\n  [ 3,  4,  5]],\n\n [[ 6,  7,  8],\n  [ 9, 10, 11]]]";
    assert_eq!(text(&Tensor::arange(12).reshape([2, 2, 3])), cube);
    assert_eq!(text(&Tensor::zeros([0])), "[]");
    // A thousand elements are printed; one more is shortened to three at each end of each long axis.
    assert!(!text(&Tensor::arange(1000)).contains("..."));
    assert_eq!(text(&Tensor::arange(1001)), "[   0,    1,    2, ...,  998,  999, 1000]");
    let wide = "[[   0,    1,    2, ...,  997,  998,  999],\n [1000, 1001, 1002, ..., 1997, 1998, 1999]]";
    assert_eq!(text(&Tensor::arange(2000).reshape([2, 1000])), wide);
    let tall = text(&Tensor::arange(2000).reshape([1000, 2]));
    let ends = "[[   0,    1],\n [   2,    3],\n [   4,    5],\n ...,\n [1994, 1995],\n [1996, 1997],\n [1998, 1999]]";
    assert_eq!(tall, ends);
}

#[test]
fn a_precision_is_the_number_of_digits_after_the_point() {
    let x = Tensor::from([[1.0, 2.5], [-3.256, f64::NAN]]);
    assert_eq!(format!("{x:.2}"), "[[ 1.00,  2.50],\n [-3.26,   NaN]]");
    assert_eq!(format!("{:.0}", Tensor::from([1e10, 1.0])), "[10000000000,           1]");
    assert_eq!(format!("{:.3}", Tensor::from(0.1f32)), "0.100");
    assert_eq!(format!("{:.2} {:.2}", Tensor::arange(2), Tensor::from(true)), "[0, 1] true");
    assert_eq!(format!("{:.1?}", Tensor::from([0.25])), "Tensor([0.2], f64[1])");
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "references to arrays are accepted too")]
fn sizes_are_given_as_arrays_slices_and_vectors() {
    let x = Tensor::zeros([2, 3]);
    assert_eq!([x.view([3, -1]), x.view(&[3, -1]), x.view(vec![3, -1])].map(|x| x.size(0)), [3; 3]);
    assert_eq!([x.permute([1, 0]), x.permute(&[-1, 0]), x.permute(vec![1usize, 0])].map(|x| x.size(0)), [3; 3]);
    assert_eq!([x.expand([4, -1, 3]), x.expand(&[4, -1, 3][..])].map(|x| x.size(0)), [4; 2]);
    assert_eq!([x.repeat([2, 1]), x.repeat(&[2, 1])].map(|x| x.size(0)), [4; 2]);
}

#[test]
fn parts_are_named_by_positions_ranges_new_axes_index_tensors_and_masks() {
    let x = Tensor::arange(24).reshape([2, 3, 4]);
    let at = |i: usize, j: usize, k: usize| (12 * i + 4 * j + k) as f64;
    assert_eq!(x.slice((1, 2, 3)).item(), at(1, 2, 3));
    assert_eq!(x.slice((-1, -1, -1)).item(), at(1, 2, 3));
    assert_eq!(x.slice(1).shape(), [3, 4]);
    assert_eq!(x.slice((.., 1..3)).shape(), [2, 2, 4]);
    assert_eq!(x.slice((.., .., 1..=2)).shape(), [2, 3, 2]);
    assert_eq!(x.slice((0, 0, Select::from(..).step(2))).to_f64_vec(), [at(0, 0, 0), at(0, 0, 2)]);
    assert_eq!(x.slice((0, 0, Select::from(..).step(-1))).to_f64_vec(), [3.0, 2.0, 1.0, 0.0]);
    assert_eq!(x.slice((NewAxis, .., NewAxis)).shape(), [1, 2, 1, 3, 4]);
    assert_eq!(x.slice((Ellipsis, 0)).shape(), [2, 3]);
    assert_eq!(x.slice((0, Tensor::from([2i64, 0, 2]), 1)).to_f64_vec(), [at(0, 2, 1), at(0, 0, 1), at(0, 2, 1)]);
    assert_eq!(x.slice(Tensor::from([[1i64, 0], [0, 1]])).shape(), [2, 2, 3, 4]);
    assert_eq!(x.slice(x.gt(20)).to_f64_vec(), [21.0, 22.0, 23.0]);
    assert_eq!(x.slice((Tensor::from([false, true]), 0)).shape(), [1, 4]);
    assert_eq!(x.slice((.., 3..)).elements(), 0);
    let slope = grad(|x: &Tensor| {
        (x.slice((Tensor::from([0i64, 0, 1]), ..)).sum_over(1) * Tensor::from([1.0, 10.0, 100.0])).sum()
    });
    assert_eq!(slope(&Tensor::zeros([2, 2])), Tensor::from([[11.0, 11.0], [100.0, 100.0]]));
}

#[test]
fn the_default_dtype_is_that_of_constructors_in_its_scope() {
    let dtypes = || {
        let made = [
            Tensor::zeros([2]),
            Tensor::ones([2]),
            Tensor::eye(2),
            Tensor::linspace(0.0, 1.0, 3),
            Tensor::logspace(0.0, 1.0, 3),
            Tensor::arange((0.0..1.0, 0.5)),
            Tensor::rand([2], 1),
            Tensor::randn([2], 1),
        ];
        made.map(|x| x.dtype())
    };
    assert_eq!(default_dtype(DType::F32, dtypes), [DType::F32; 8]);
    assert_eq!(default_dtype(DType::F32, || default_dtype(DType::BF16, dtypes)), [DType::BF16; 8]);
    // It ends with its scope, even if that panics.
    assert!(std::panic::catch_unwind(|| default_dtype(DType::F32, || panic!())).is_err());
    assert_eq!(dtypes(), [DType::F64; 8]);
    // Data has its own type, and so does the result of an operation.
    let (from, counted) = default_dtype(DType::F32, || (Tensor::from([1.0]), Tensor::arange(3)));
    assert_eq!((from.dtype(), counted.dtype()), (DType::F64, DType::I64));
    let a = Tensor::from([[2.0, 1.0], [1.0, 3.0]]);
    let inverse = default_dtype(DType::F32, || grad(|a: &Tensor| a.inv().sum() + a.lu().1.sum())(&a));
    assert_eq!(inverse.dtype(), DType::F64);
    // A thread has its own, and a program the one that it was traced with.
    let elsewhere = default_dtype(DType::F32, || std::thread::spawn(dtypes).join().unwrap());
    assert_eq!(elsewhere, [DType::F64; 8]);
    let zeros = compile(|x: &Tensor| x.sum() + Tensor::zeros([2]));
    assert_eq!(zeros.call(&Tensor::from([1.0])).dtype(), DType::F64);
    assert_eq!(default_dtype(DType::F32, || zeros.call(&Tensor::from([1.0]))).dtype(), DType::F64);
    let error = catch(|| default_dtype(DType::I64, || ())).unwrap_err();
    assert_eq!(error.operation(), "default_dtype");
}

#[test]
fn the_size_of_an_axis_counts_from_both_ends() {
    let x = Tensor::zeros([2, 3, 4]);
    assert_eq!((x.size(0), x.size(-1), x.size(1usize)), (2, 4, 3));
    assert_eq!(catch(|| x.size(3)).unwrap_err().operation(), "size");
}
