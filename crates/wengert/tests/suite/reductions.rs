//! Edge cases of reductions, scans and sorting: zeros, ties, empty inputs, long sums.

use wengert::prelude::*;

/// The Hessian-vector product of `f` with `v`, forward over reverse and by finite differences of the gradient.
fn curvature(f: impl Fn(&Tensor) -> Tensor, x: &Tensor, v: &Tensor) -> (Tensor, Tensor) {
    let slope = grad(&f);
    let exact = jvp(&slope, x, v).1;
    let h = 1e-4;
    let numeric = (slope(&(x + v * h)) - slope(&(x - v * h))) / (2.0 * h);
    (exact, numeric)
}

#[test]
fn products_are_exact_with_any_number_of_zeros_to_second_order() {
    let v = Tensor::from([0.3, -0.7, 0.2, 1.1, -0.4]);
    for zeros in 0..32u32 {
        let numbers: Vec<f64> = (0..5).map(|i| if zeros >> i & 1 == 1 { 0.0 } else { 1.5 - 0.6 * i as f64 }).collect();
        let x = Tensor::from(&numbers[..]);
        let others: Vec<f64> = (0..5).map(|i| (0..5).filter(|&j| j != i).map(|j| numbers[j]).product()).collect();
        assert!(grad(|x: &Tensor| x.prod())(&x).all_close(&Tensor::from(others), 1e-14), "{numbers:?}");
        let (exact, numeric) = curvature(|x| x.prod(), &x, &v);
        assert!(exact.all_close(&numeric, 1e-7), "prod at {numbers:?}: {exact} and {numeric}");

        let weights = Tensor::from([1.0, -2.0, 0.5, 3.0, 0.7]);
        let running = |x: &Tensor| (x.cumprod(0) * &weights).sum();
        let (exact, numeric) = curvature(running, &x, &v);
        assert!(exact.all_close(&numeric, 1e-7), "cumprod at {numbers:?}: {exact} and {numeric}");
        let h = 1e-6;
        for i in 0..5 {
            let mut step = vec![0.0; 5];
            step[i] = h;
            let step = Tensor::from(step);
            let numeric = (running(&(&x + &step)) - running(&(&x - &step))).item() / (2.0 * h);
            assert!((grad(running)(&x).slice(i).item() - numeric).abs() < 1e-8, "cumprod at {numbers:?}, element {i}");
        }
    }
}

#[test]
fn a_full_maximum_shares_its_gradient_and_one_along_an_axis_does_not() {
    let x = Tensor::from([[2.0, 5.0, 5.0], [5.0, 1.0, 5.0]]);
    let quarter = Tensor::from([[0.0, 0.25, 0.25], [0.25, 0.0, 0.25]]);
    assert_eq!(grad(|x: &Tensor| x.max())(&x), quarter);
    assert_eq!(grad(|x: &Tensor| (-x).min())(&x), -&quarter);
    let halves = Tensor::from([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]);
    assert_eq!(grad(|x: &Tensor| x.max_over(1).sum())(&x), halves);
    assert_eq!(grad(|x: &Tensor| x.norm(f64::INFINITY))(&x), quarter);
    let first = Tensor::from([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]);
    assert_eq!(grad(|x: &Tensor| x.max_along(1).0.sum())(&x), first);
    let last = Tensor::from([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0]]);
    assert_eq!(grad(|x: &Tensor| x.cummax(1).0.sum())(&x), last);
}

#[test]
fn norms_and_deviations_have_gradient_zero_where_they_are_zero() {
    let zero = Tensor::zeros([3]);
    for p in [0.5, 1.0, 1.5, 2.0, 3.0, f64::INFINITY, 0.0, -1.0, f64::NEG_INFINITY] {
        assert_eq!(zero.norm(p).item(), 0.0, "p = {p}");
        assert_eq!(grad(|x: &Tensor| x.norm(p))(&zero), zero, "p = {p}");
    }
    let same = Tensor::full([3], 2.5);
    assert_eq!(grad(|x: &Tensor| x.std())(&same), zero);
    assert_eq!(grad(|x: &Tensor| x.dist(&same, 2.0))(&same), zero);
}

#[test]
fn long_sums_are_exact_and_half_precision_counts_to_thousands() {
    assert_eq!(Tensor::full([1 << 25], 1.0f32).contiguous().sum().item(), 33_554_432.0);
    let x = Tensor::full([1], 1.0f32).cast(DType::BF16).require_grad();
    x.broadcast_to([4096]).sum().backward();
    assert_eq!(x.grad().unwrap().cast(DType::F64).item(), 4096.0);
    let x = Tensor::full([3000], 1.0f32).cast(DType::BF16);
    assert_eq!(x.mean().cast(DType::F64).item(), 1.0);
    assert_eq!(x.cumsum(0).slice(-1).cast(DType::F64).item(), 3008.0, "3000 in bf16");
}

#[test]
fn reductions_of_nothing_are_neutral_or_errors() {
    let nothing = Tensor::zeros([2, 0]);
    assert_eq!(nothing.sum_over(1), Tensor::zeros([2]));
    assert_eq!(nothing.prod_over(1), Tensor::ones([2]));
    assert_eq!(nothing.logsumexp_over(1), Tensor::full([2], f64::NEG_INFINITY));
    assert_eq!(nothing.norm_over(2.0, 1), Tensor::zeros([2]));
    assert_eq!(nothing.any_over(1), Tensor::from([false, false]));
    assert_eq!(nothing.all_over(1), Tensor::from([true, true]));
    assert_eq!(nothing.max_over(0).shape(), [0]);
    assert!(nothing.mean().item().is_nan() && nothing.var().item().is_nan());
    assert_eq!(grad(|x: &Tensor| x.prod())(&Tensor::zeros([0])).shape(), [0]);
    let errors: [fn(&Tensor) -> Tensor; 8] = [
        |x| x.max(),
        |x| x.min_over(1),
        |x| x.max_along(1).0,
        |x| x.argmin(),
        |x| x.median(),
        |x| x.quantile(0.5),
        |x| x.kthvalue(1, 1).0,
        |x| x.mode(1).0,
    ];
    for (number, f) in errors.iter().enumerate() {
        let error = catch(|| f(&nothing)).expect_err(&format!("reduction {number} of nothing"));
        assert!(error.suggestion().is_some(), "{error}");
        assert!(error.line().unwrap().file().ends_with("reductions.rs"), "{error}");
    }
}

#[test]
fn axes_are_named_once_and_in_range() {
    let x = Tensor::zeros([2, 3]);
    for f in [|x: &Tensor| x.sum_over([0, -2]), |x: &Tensor| x.prod_over(2), |x: &Tensor| x.cumsum(-3)] {
        assert!(matches!(catch(|| f(&x)).unwrap_err().kind(), ErrorKind::Range));
    }
    // A scalar is a row of one element.
    let x = Tensor::from(3.0);
    assert_eq!((x.sum_over(0).item(), x.cumprod(-1).item(), x.sort(0).1.item()), (3.0, 3.0, 0.0));
    assert_eq!(x.softmax(0), Tensor::from(1.0));
    assert!(catch(|| x.sum_over(1)).is_err() && catch(|| x.max_along(1)).is_err());
}

#[test]
fn extreme_logits_have_finite_gradients() {
    let x = Tensor::from([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]]);
    let weights = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let functions: [fn(&Tensor) -> Tensor; 4] =
        [|x| x.softmax(1), |x| x.log_softmax(1), |x| x.logsumexp_over(keepdim(1)), |x| x.logcumsumexp(1)];
    for f in functions {
        let slope = grad(|x: &Tensor| (f(x) * &weights).sum())(&x);
        assert!(slope.to_f64_vec().iter().all(|g| g.is_finite()), "{slope}");
        let along = jvp(grad(|x: &Tensor| (f(x) * &weights).sum()), &x, &weights).1;
        assert!(along.to_f64_vec().iter().all(|g| g.is_finite()), "{along}");
    }
    let infinite = Tensor::from([f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0]);
    assert_eq!(grad(|x: &Tensor| x.logcumsumexp(0).slice(2))(&infinite), Tensor::from([0.0, 0.0, 1.0]));
    assert_eq!(grad(|x: &Tensor| x.slice(0..2).logsumexp_over(0))(&infinite), Tensor::zeros([3]));
}

#[test]
fn softmax_along_any_axis_equals_softmax_of_the_moved_axis() {
    let x = Tensor::from_vec((0..24).map(|i| (i as f64 * 0.9).sin()).collect(), [2, 3, 4]);
    for axis in 0..3isize {
        let shares = x.softmax(axis).sum_over(axis);
        assert!(shares.all_close(&shares.full_like(1.0), 1e-14));
        assert!(x.log_softmax(axis).exp().all_close(&x.softmax(axis), 1e-14));
        assert_eq!(x.softmax(axis - 3), x.softmax(axis));
    }
}

#[test]
fn sorting_is_stable_both_ways_and_its_gradient_returns() {
    let x = Tensor::from([[2.0, 1.0], [1.0, 1.0], [2.0, 0.0]]);
    assert_eq!(x.argsort(0), Tensor::from([[1i64, 2], [0, 0], [2, 1]]));
    assert_eq!(x.argsort_descending(0), Tensor::from([[0i64, 0], [2, 1], [1, 2]]));
    let weights = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let slope = grad(|x: &Tensor| (x.sort(0).0 * &weights).sum())(&x);
    assert_eq!(slope, Tensor::from([[3.0, 4.0], [1.0, 6.0], [5.0, 2.0]]));
    assert!(matches!(catch(|| x.topk(4, 0)).unwrap_err().kind(), ErrorKind::Range));
    assert!(catch(|| x.kthvalue(0, 0)).is_err());
}

#[test]
fn unique_inside_a_batch_or_a_program_names_the_alternative() {
    let x = Tensor::from([[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]]);
    let batched = catch(|| vmap(|row: &Tensor| row.unique().values)(&x)).unwrap_err();
    let staged = catch(|| compile(|x: &Tensor| x.unique().values).call(&x)).unwrap_err();
    for error in [batched, staged] {
        assert_eq!(error.operation(), "unique");
        assert!(error.suggestion().unwrap().contains("sort"), "{error}");
    }
    assert_eq!(x.unique().inverse, Tensor::from([[2i64, 0, 2], [1, 1, 1]]));
}

#[test]
fn quantiles_interpolate_and_pass_over_nan_on_request() {
    use wengert::Interpolation::{Higher, Linear, Lower, Midpoint, Nearest};
    let x = Tensor::from([[4.0, 1.0, 3.0, 2.0], [f64::NAN, 5.0, 9.0, f64::NAN]]);
    let row = x.slice(0);
    for (interpolation, right) in [(Linear, 1.9), (Lower, 1.0), (Higher, 2.0), (Midpoint, 1.5), (Nearest, 2.0)] {
        assert!((row.quantile_along(0.3, 0, interpolation).item() - right).abs() < 1e-12, "{interpolation:?}");
    }
    assert_eq!(row.quantile_along(0.5, 0, Nearest).item(), 3.0, "places 1 and 2 are equally near; 2 is even");
    let plain = x.quantile_along(0.25, 1, Linear).to_f64_vec();
    assert!(plain[0] == 1.75 && plain[1].is_nan());
    assert_eq!(x.nanquantile_along(0.25, 1, Linear), Tensor::from([1.75, 6.0]));
    let slope = grad(|x: &Tensor| x.nanquantile_along(0.25, 1, Linear).sum())(&x);
    assert_eq!(slope, Tensor::from([[0.0, 0.25, 0.0, 0.75], [0.0, 0.75, 0.25, 0.0]]));
}

#[test]
fn several_quantiles_have_an_axis_in_front_and_gradients_for_the_shares() {
    use wengert::Interpolation::{Linear, Lower};
    let x = Tensor::from([[4.0, 1.0, 3.0], [5.0, 9.0, 6.0]]);
    let q = Tensor::from([0.25, 0.6, 1.0, 0.1]);
    for axis in [0, 1, -1] {
        let one = |k: isize| x.quantile_along(q.slice(k).item(), axis, Linear);
        let each: Vec<Tensor> = (0..4).map(one).collect();
        assert!(x.quantile_along(&q, axis, Linear).all_close(&Tensor::stack(&each, 0), 1e-15), "axis {axis}");
    }
    assert_eq!(x.quantile_along(&q, keepdim(0), Lower).shape(), [4, 1, 3]);
    assert_eq!(x.quantile_along(&q, keepdim(1), Lower).shape(), [4, 2, 1]);
    assert_eq!(Tensor::from(7.0).quantile_along(&q, keepdim(0), Linear), Tensor::full([4], 7.0));
    // Sorted rows 1 3 4 and 5 6 9, positions 2 q: the slope is twice the distance between two neighbours.
    let slope = grad(|q: &Tensor| x.quantile_along(q, 1, Linear).sum())(&q);
    assert!(slope.all_close(&Tensor::from([6.0, 8.0, 0.0, 6.0]), 1e-13), "{slope}");
    let all = x.quantile(&q);
    assert!(vmap(|q: &Tensor| x.quantile(q))(&q).all_close(&all, 1e-15));
    assert!(compile(|q: &Tensor| x.quantile(q)).call(&q).all_close(&all, 1e-15));
    let beyond = catch(|| x.quantile(Tensor::from([0.5, 1.5]))).unwrap_err();
    assert!(beyond.to_string().contains("q = 1.5"), "{beyond}");
    assert!(matches!(catch(|| x.quantile(&x)).unwrap_err().kind(), ErrorKind::Shape(_)));
}

#[test]
fn whole_numbers_reduce_without_floats() {
    let x = Tensor::from([[3i64, -2], [7, 1 << 60]]);
    assert_eq!(x.sum_over(0), Tensor::from([10i64, (1 << 60) - 2]));
    assert_eq!(x.prod_over(1).dtype(), DType::I64);
    assert_eq!(x.max(), Tensor::from(1i64 << 60));
    assert_eq!(x.cumsum(1), Tensor::from([[3i64, 1], [7, (1 << 60) + 7]]));
    assert_eq!(x.cast(DType::I32).sort(1).0.dtype(), DType::I32);
    assert_eq!(Tensor::from([true, false]).max(), Tensor::from(true));
    assert!(matches!(catch(|| x.mean()).unwrap_err().kind(), ErrorKind::DType(_)));
}

#[test]
fn axes_are_one_several_or_all_of_any_integer_type() {
    let x = Tensor::arange(24).cast(DType::F64).reshape([2, 3, 4]);
    let first = Tensor::from([12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0, 26.0, 28.0, 30.0, 32.0, 34.0]).reshape([3, 4]);
    assert_eq!(x.sum_over(0), first);
    assert_eq!(x.sum_over(0usize), first);
    assert_eq!(x.sum_over(-3isize), first);
    assert_eq!(x.sum_over([0]), first);
    assert_eq!(x.sum_over(vec![0i64]), first);
    assert_eq!(x.sum_over([2, 0]), Tensor::from([60.0, 92.0, 124.0]));
    assert_eq!(x.sum_over(&[0usize, 2][..]), Tensor::from([60.0, 92.0, 124.0]));
    assert_eq!(x.sum_over(..).item(), 276.0);
    assert_eq!(x.sum_over(keepdim(..)), Tensor::from([[[276.0]]]));
    assert_eq!(x.sum_over(keepdim([0, 2])).shape(), [1, 3, 1]);
    assert_eq!(x.sum_over([0isize; 0]), x);
    assert_eq!(x.max_along(keepdim(-1)).1.shape(), [2, 3, 1]);
    assert_eq!(x.quantile_along(0.5, keepdim(1), wengert::Interpolation::Linear).shape(), [2, 1, 4]);
}

#[test]
fn what_takes_one_axis_says_so_for_several() {
    let line = line!() + 1;
    let error = catch(|| Tensor::zeros([2, 3]).max_along([0, 1])).unwrap_err();
    assert_eq!((error.operation(), error.message()), ("max", "it takes one axis, not axes [0, 1]"));
    assert_eq!(error.line().unwrap().line(), line);
    let error = catch(|| Tensor::zeros([2, 3]).argmin_along(..)).unwrap_err();
    assert_eq!(error.message(), "it takes one axis, not all axes");
    // A scalar is a row of one number; axes beyond all integers are errors, not wrapped.
    assert_eq!(Tensor::from(2.0).sum_over(keepdim(0)).shape(), [0usize; 0]);
    assert_eq!(Tensor::from(2.0).max_along(keepdim(-1)).0.item(), 2.0);
    assert_eq!(Tensor::zeros([0, 3]).sum_over(keepdim(0)), Tensor::zeros([1, 3]));
    for axis in [isize::MIN, isize::MAX, 2, -3] {
        assert_eq!(catch(|| Tensor::zeros([2, 3]).mean_over(axis)).unwrap_err().kind(), &ErrorKind::Range);
    }
    assert_eq!(catch(|| Tensor::zeros([2, 3]).sum_over(usize::MAX)).unwrap_err().kind(), &ErrorKind::Range);
    let error = catch(|| Tensor::zeros([2, 3]).sum_over(keepdim([1, -1]))).unwrap_err();
    assert_eq!(error.message(), "axis 1 of shape [2, 3] is named twice");
}
