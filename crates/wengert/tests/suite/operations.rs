//! Every expected operation exists under its usual name, accepts the usual arguments, and has a gradient.

use wengert::TorchMethods;
use wengert::prelude::*;
use wengert::{Interpolation, primitive};

type Call = fn(&Tensor) -> Tensor;

/// Calls each on `x`, and takes a gradient if the result is a float tensor.
fn call_all(x: &Tensor, calls: &[(&str, Call)]) {
    for (name, f) in calls {
        let y = f(x);
        if y.dtype().is_float() {
            let slope = grad(|x: &Tensor| f(x).cast(DType::F64).sum())(x);
            assert_eq!(slope.shape(), x.shape(), "{name}");
            assert!(slope.to_f64_vec().iter().all(|g| g.is_finite()), "{name}: {slope}");
        }
        assert!(y.cast(DType::F64).to_f64_vec().iter().all(|y| y.is_finite()), "{name}: {y}");
    }
}

/// Inside the domains of all functions, and not at a kink.
fn fractions() -> Tensor {
    Tensor::from([[0.15, 0.35, 0.55], [0.3, 0.8, 0.65]])
}

#[test]
fn elementwise() {
    let unary: &[(&str, Call)] = &[
        ("neg", Tensor::neg),
        ("abs", Tensor::abs),
        ("sign", Tensor::sign),
        ("exp", Tensor::exp),
        ("exp2", Tensor::exp2),
        ("expm1", Tensor::expm1),
        ("log", Tensor::log),
        ("ln", Tensor::ln),
        ("clip", |x| x.clip(0.0, 1.0)),
        ("log2", Tensor::log2),
        ("log10", Tensor::log10),
        ("log1p", Tensor::log1p),
        ("sqrt", Tensor::sqrt),
        ("rsqrt", Tensor::rsqrt),
        ("cbrt", Tensor::cbrt),
        ("square", Tensor::square),
        ("recip", Tensor::recip),
        ("sin", Tensor::sin),
        ("cos", Tensor::cos),
        ("tan", Tensor::tan),
        ("asin", Tensor::asin),
        ("acos", Tensor::acos),
        ("atan", Tensor::atan),
        ("sinh", Tensor::sinh),
        ("cosh", Tensor::cosh),
        ("tanh", Tensor::tanh),
        ("asinh", Tensor::asinh),
        ("acosh", |x| (x + 1.0).acosh()),
        ("atanh", Tensor::atanh),
        ("sigmoid", Tensor::sigmoid),
        ("logit", Tensor::logit),
        ("erf", Tensor::erf),
        ("erfc", Tensor::erfc),
        ("erfinv", Tensor::erfinv),
        ("lgamma", Tensor::lgamma),
        ("digamma", Tensor::digamma),
        ("polygamma", |x| x.polygamma(2)),
        ("sinc", Tensor::sinc),
        ("floor", Tensor::floor),
        ("ceil", Tensor::ceil),
        ("round", Tensor::round),
        ("trunc", Tensor::trunc),
        ("frac", Tensor::frac),
        ("relu", Tensor::relu),
        ("leaky_relu", |x| x.leaky_relu(0.1)),
        ("elu", |x| x.elu(1.0)),
        ("selu", Tensor::selu),
        ("celu", |x| x.celu(1.0)),
        ("gelu", Tensor::gelu),
        ("gelu_tanh", Tensor::gelu_tanh),
        ("silu", Tensor::silu),
        ("softplus", Tensor::softplus),
        ("softsign", Tensor::softsign),
        ("mish", Tensor::mish),
        ("hardtanh", |x| x.hardtanh(-1.0, 1.0)),
        ("hardswish", Tensor::hardswish),
        ("hardsigmoid", Tensor::hardsigmoid),
        ("logsigmoid", Tensor::logsigmoid),
        ("tanhshrink", Tensor::tanhshrink),
        ("cast", |x| x.cast(DType::F32)),
        ("nan_to_num", Tensor::nan_to_num),
        ("logical_not", |x| x.gt(0.5).logical_not()),
        ("isnan", Tensor::isnan),
        ("isinf", Tensor::isinf),
        ("isfinite", Tensor::isfinite),
    ];
    call_all(&fractions(), unary);
    let binary: &[(&str, fn(&Tensor, &Tensor) -> Tensor)] = &[
        ("add", |x, y| x + y),
        ("sub", |x, y| x - y),
        ("mul", |x, y| x * y),
        ("div", |x, y| x / y),
        ("pow", |x, y| x.pow(y)),
        ("atan2", |x, y| x.atan2(y)),
        ("hypot", |x, y| x.hypot(y)),
        ("maximum", |x, y| x.maximum(y)),
        ("minimum", |x, y| x.minimum(y)),
        ("fmod", |x, y| x.fmod(y)),
        ("remainder", |x, y| x.remainder(y)),
        ("copysign", |x, y| x.copysign(y)),
        ("xlogy", |x, y| x.xlogy(y)),
        ("logaddexp", |x, y| x.logaddexp(y)),
        ("where", |x, y| x.gt(0.5).where_(x, y)),
        ("clamp", |x, y| x.clamp(y, y + 0.5)),
        ("lerp", |x, y| x.lerp(y, 0.3)),
        ("lerp by a tensor", |x, y| x.lerp(y, x)),
        ("addcmul", |x, y| x.addcmul(y, x, 0.5)),
        ("addcdiv", |x, y| x.addcdiv(x, y, 0.5)),
        ("lt", |x, y| x.lt(y)),
        ("le", |x, y| x.le(y)),
        ("gt", |x, y| x.gt(y)),
        ("ge", |x, y| x.ge(y)),
        ("equal", |x, y| x.equal(y)),
        ("not_equal", |x, y| x.not_equal(y)),
        ("logical_and", |x, y| x.gt(0.5).logical_and(&y.gt(0.5))),
        ("logical_or", |x, y| x.gt(0.5).logical_or(&y.gt(0.5))),
        ("logical_xor", |x, y| x.gt(0.5).logical_xor(&y.gt(0.5))),
    ];
    let y = Tensor::from([0.4, 0.25, 0.7]);
    for (name, f) in binary {
        let z = f(&fractions(), &y);
        assert_eq!(z.shape(), [2, 3], "{name} broadcasts");
        if z.dtype().is_float() {
            let (dx, dy) = grad(|(x, y): &(Tensor, Tensor)| f(x, y).sum())(&(fractions(), y.clone()));
            assert_eq!((dx.shape(), dy.shape()), (&[2, 3][..], &[3][..]), "{name}");
            assert!(dx.to_f64_vec().iter().chain(&dy.to_f64_vec()).all(|g| g.is_finite()), "{name}");
        }
    }
}

#[test]
fn reductions_and_scans_with_axes_and_keepdim() {
    type Whole = Call;
    type Along = fn(&Tensor, isize) -> Tensor;
    let reductions: &[(&str, Option<Whole>, Along, Along)] = &[
        ("sum", Some(Tensor::sum), |x, a| x.sum_over(a), |x, a| x.sum_over(keepdim(a))),
        ("mean", Some(Tensor::mean), |x, a| x.mean_over(a), |x, a| x.mean_over(keepdim(a))),
        ("prod", Some(Tensor::prod), |x, a| x.prod_over(a), |x, a| x.prod_over(keepdim(a))),
        ("max", Some(Tensor::max), |x, a| x.max_along(a).0, |x, a| x.max_along(keepdim(a)).0),
        ("min", Some(Tensor::min), |x, a| x.min_along(a).0, |x, a| x.min_along(keepdim(a)).0),
        ("amax", None, |x, a| x.max_over(a), |x, a| x.max_over(keepdim(a))),
        ("amin", None, |x, a| x.min_over(a), |x, a| x.min_over(keepdim(a))),
        ("argmax", Some(Tensor::argmax), |x, a| x.argmax_along(a), |x, a| x.argmax_along(keepdim(a))),
        ("argmin", Some(Tensor::argmin), |x, a| x.argmin_along(a), |x, a| x.argmin_along(keepdim(a))),
        ("any", Some(|x| x.gt(0.5).any()), |x, a| x.gt(0.5).any_over(a), |x, a| x.gt(0.5).any_over(keepdim(a))),
        ("all", Some(|x| x.gt(0.5).all()), |x, a| x.gt(0.5).all_over(a), |x, a| x.gt(0.5).all_over(keepdim(a))),
        ("var", Some(Tensor::var), |x, a| x.var_over(a), |x, a| x.var_over(keepdim(a))),
        ("std", Some(Tensor::std), |x, a| x.std_over(a), |x, a| x.std_over(keepdim(a))),
        ("norm", Some(|x| x.norm(3.0)), |x, a| x.norm_over(3.0, a), |x, a| x.norm_over(3.0, keepdim(a))),
        (
            "logsumexp",
            Some(|x| x.logsumexp_over([0, 1])),
            |x, a| x.logsumexp_over(a),
            |x, a| x.logsumexp_over(keepdim(a)),
        ),
        ("median", Some(Tensor::median), |x, a| x.median_along(a).0, |x, a| x.median_along(keepdim(a)).0),
        (
            "quantile",
            Some(|x| x.quantile(0.3)),
            |x, a| x.quantile_along(0.3, a, Interpolation::Linear),
            |x, a| x.quantile_along(0.3, keepdim(a), Interpolation::Linear),
        ),
        (
            "count_nonzero",
            Some(Tensor::count_nonzero),
            |x, a| x.count_nonzero_over(a),
            |x, a| x.count_nonzero_over(keepdim(a)),
        ),
    ];
    let x = fractions();
    for (name, whole, along, keepdim) in reductions {
        if let Some(whole) = whole {
            assert_eq!(whole(&x).shape(), [0; 0], "{name}");
            call_all(&x, &[(name, *whole)]);
        }
        for axis in [0isize, 1] {
            let (dropped, kept) = (along(&x, axis), keepdim(&x, axis));
            assert_eq!((dropped.shape(), kept.shape().len()), (&[x.shape()[1 - axis as usize]][..], 2), "{name}");
            assert_eq!(kept.shape()[axis as usize], 1, "{name}");
            assert_eq!(kept.reshape(dropped.shape()), dropped, "{name}");
            assert_eq!(along(&x, axis - 2), dropped, "{name} counts axes from the end");
        }
    }
    let scans: &[(&str, Call)] = &[
        ("softmax", |x| x.softmax(1)),
        ("log_softmax", |x| x.log_softmax(1)),
        ("cumsum", |x| x.cumsum(0)),
        ("cumprod", |x| x.cumprod(1)),
        ("cummax", |x| x.cummax(1).0),
        ("cummin", |x| x.cummin(1).0),
        ("logcumsumexp", |x| x.logcumsumexp(1)),
        ("trace", Tensor::trace),
    ];
    call_all(&x, scans);
}

#[test]
fn shapes() {
    let calls: &[(&str, Call)] = &[
        ("reshape", |x| x.reshape([3, 2])),
        ("flatten", Tensor::flatten),
        ("squeeze", |x| x.unsqueeze(0).squeeze()),
        ("unsqueeze", |x| x.unsqueeze(1)),
        ("permute", |x| x.permute([1, 0])),
        ("transpose", |x| x.transpose(0, 1)),
        ("broadcast", |x| x.broadcast_to([4, 2, 3])),
        ("expand", |x| x.unsqueeze(0).expand([4, -1, -1])),
        ("repeat", |x| x.repeat([2, 1])),
        ("tile", |x| x.tile(&[2])),
        ("slice", |x| x.slice((1, ..))),
        ("pad constant", |x| x.pad(&[1, 1], PadMode::Constant(0.5))),
        ("pad reflect", |x| x.pad(&[1, 1], PadMode::Reflect)),
        ("pad replicate", |x| x.pad(&[1, 1], PadMode::Replicate)),
        ("pad circular", |x| x.pad(&[1, 1], PadMode::Circular)),
        ("repeat_interleave", |x| x.repeat_interleave_flat(2)),
        ("concat", |x| Tensor::concat(&[x, x], 0)),
        ("stack", |x| Tensor::stack(&[x, x], 0)),
        ("split", |x| x.split(2, 1).remove(0)),
        ("chunk", |x| x.chunk(2, 1).remove(1)),
        ("unbind", |x| x.unbind(0).remove(1)),
        ("flip", |x| x.flip(&[0])),
        ("roll", |x| x.roll(&[1], &[1])),
        ("diagonal", Tensor::diagonal),
        ("diag", |x| x.diag(0)),
        ("tril", |x| x.tril(0)),
        ("triu", |x| x.triu(0)),
        ("unfold, windows", |x| x.unfold(1, 2, 1)),
        ("movedim", |x| x.movedim(&[0], &[1])),
    ];
    call_all(&fractions(), calls);
}

#[test]
fn indexing_and_order() {
    let calls: &[(&str, Call)] = &[
        ("gather", |x| x.gather(1, &Tensor::from([[2i64], [0]]))),
        ("scatter", |x| x.scatter(1, &Tensor::from([[2i64], [0]]), &Tensor::from([[5.0], [6.0]]))),
        ("scatter_add", |x| x.scatter_add(1, &Tensor::from([[2i64], [0]]), &Tensor::from([[5.0], [6.0]]))),
        ("scatter_reduce", |x| {
            x.scatter_reduce(1, &Tensor::from([[2i64], [0]]), &Tensor::from([[5.0], [6.0]]), ScatterReduce::Amax, true)
        }),
        ("index_select", |x| x.index_select(1, &Tensor::from([2i64, 0, 2]))),
        ("index_add", |x| x.index_add(0, &Tensor::from([1i64]), &Tensor::ones([1, 3]))),
        ("index_put", |x| x.index_put(&[Tensor::from([1i64])], &Tensor::ones([1, 3]), false)),
        ("index_put, mask", |x| x.index_put(&[x.gt(0.5)], &Tensor::from(1.0), true)),
        ("take_along", |x| x.take_along_dim(&x.argsort(1), 1)),
        ("masked_fill", |x| x.masked_fill(&x.gt(0.5), 9.0)),
        ("masked_select", |x| x.masked_select(&x.gt(0.5))),
        ("sort", |x| x.sort(1).0),
        ("argsort", |x| x.argsort(1)),
        ("topk", |x| x.topk(2, 1).0),
        ("unique", |x| x.unique().values),
        ("searchsorted", |x| Tensor::from([0.2, 0.5, 0.9]).searchsorted(x)),
    ];
    call_all(&fractions(), calls);
    assert_eq!(Tensor::from([1i64, 0]).one_hot(2), Tensor::from([[0i64, 1], [1, 0]]));
}

#[test]
fn products() {
    let calls: &[(&str, Call)] = &[
        ("matmul", |x| x.matmul(&x.t())),
        ("matmul, batch", |x| x.broadcast_to([4, 2, 3]).matmul(&x.t())),
        ("matmul, vector", |x| x.matmul(&x.slice(0))),
        ("dot", |x| x.slice(0).dot(&x.slice(1))),
        ("outer", |x| x.slice(0).outer(&x.slice(1))),
        ("einsum", |x| Tensor::einsum("ij,kj,k->i", &[x, x, &x.slice((.., 0))])),
        ("tensordot", |x| x.tensordot(&x.t(), 1)),
        ("kron", |x| x.kron(x)),
        ("cross", |x| x.cross(&x.flip(&[0]))),
        ("cdist", |x| x.cdist(&(x + 1.0))),
    ];
    call_all(&fractions(), calls);
}

#[test]
fn linear_algebra() {
    let calls: &[(&str, Call)] = &[
        ("inv", Tensor::inv),
        ("solve", |a| a.solve(&Tensor::from([1.0, 2.0]))),
        ("solve_triangular", |a| a.solve_triangular(&Tensor::ones([2, 1]), Triangle::lower())),
        ("det", Tensor::det),
        ("slogdet", |a| a.slogdet().1),
        ("cholesky", Tensor::cholesky),
        ("cholesky_solve", |a| Tensor::ones([2, 1]).cholesky_solve(&a.cholesky())),
        ("qr", |a| a.qr().1),
        ("eigh", |a| a.eigh().1),
        ("svd", |a| a.svd().0),
        ("pinv", Tensor::pinv),
        ("matrix_power", |a| a.matrix_power(3)),
        ("matrix_exp", Tensor::matrix_exp),
        ("lstsq", |a| a.lstsq(&Tensor::ones([2, 1])).0),
        ("norms", |a| a.matrix_norm(MatrixNorm::Nuclear)),
    ];
    call_all(&Tensor::from([[2.0, 0.5], [0.5, 1.0]]), calls);
}

#[test]
fn networks() {
    let row = Tensor::rand([2, 4, 8], 1);
    let image = Tensor::rand([2, 4, 6, 6], 2);
    let volume = Tensor::rand([1, 2, 4, 4, 4], 3);
    let rows: &[(&str, Call)] = &[
        ("conv1d", |x| x.conv1d(&Tensor::ones([6, 2, 3]), &Conv::new().stride(2).padding(1).dilation(2).groups(2))),
        ("conv_transpose1d", |x| x.conv_transpose1d(&Tensor::ones([4, 3, 3]), &Conv::new().stride(2))),
        ("max_pool1d", |x| x.max_pool1d(&Pool::new(2))),
        ("avg_pool1d", |x| x.avg_pool1d(&Pool::new(2))),
        ("adaptive_max_pool1d", |x| x.adaptive_max_pool1d(3)),
        ("adaptive_avg_pool1d", |x| x.adaptive_avg_pool1d(3)),
        ("layer_norm", |x| x.layer_norm(&[8], &Norm::new())),
        ("rms_norm", |x| x.rms_norm(&[8], &Norm::new())),
        ("batch_norm", |x| x.batch_norm(&Norm::new()).0),
        ("group_norm", |x| x.group_norm(2, &Norm::new())),
        ("embedding", |x| x.slice(0).embedding(&Tensor::from([3i64, 0, 3]))),
        ("dropout", |x| x.dropout(0.5, &Key::new(1))),
        ("attention", |x| x.attention(x, x, &Attention::new())),
        ("attention, causal", |x| x.attention(x, x, &Attention::new().causal())),
        ("attention, mask", |x| x.attention(x, x, &Attention::new().mask(&Tensor::full([4, 4], true)))),
        ("interpolate", |x| x.interpolate(&Interpolate::scale(2.0))),
    ];
    call_all(&row, rows);
    let images: &[(&str, Call)] = &[
        ("conv2d", |x| x.conv2d(&Tensor::ones([6, 2, 3, 3]), &Conv::new().stride(2).padding(1).dilation(2).groups(2))),
        ("conv_transpose2d", |x| x.conv_transpose2d(&Tensor::ones([4, 3, 3, 3]), &Conv::new().stride(2))),
        ("max_pool2d", |x| x.max_pool2d(&Pool::new(2))),
        ("avg_pool2d", |x| x.avg_pool2d(&Pool::new(2))),
        ("adaptive_max_pool2d", |x| x.adaptive_max_pool2d(3)),
        ("adaptive_avg_pool2d", |x| x.adaptive_avg_pool2d(3)),
        ("interpolate", |x| x.interpolate(&Interpolate::size(9).mode(InterpolateMode::Linear))),
        ("pixel_shuffle", |x| x.pixel_shuffle(2)),
        ("unfold", |x| x.unfold_patches([3, 3], &Conv::new())),
        ("fold", |x| x.unfold_patches([3, 3], &Conv::new()).fold_patches([6, 6], 3, &Conv::new())),
    ];
    call_all(&image, images);
    let volumes: &[(&str, Call)] = &[
        ("conv3d", |x| x.conv3d(&Tensor::ones([3, 2, 3, 3, 3]), &Conv::new())),
        ("conv_transpose3d", |x| x.conv_transpose3d(&Tensor::ones([2, 3, 3, 3, 3]), &Conv::new())),
        ("max_pool3d", |x| x.max_pool3d(&Pool::new(2))),
        ("avg_pool3d", |x| x.avg_pool3d(&Pool::new(2))),
        ("adaptive_max_pool3d", |x| x.adaptive_max_pool3d(3)),
        ("adaptive_avg_pool3d", |x| x.adaptive_avg_pool3d(3)),
    ];
    call_all(&volume, volumes);
    let losses: &[(&str, Call)] = &[
        ("cross_entropy", |x| x.cross_entropy(&Tensor::from([2i64, 0]), &CrossEntropy::new())),
        ("of shares", |x| x.cross_entropy(&Tensor::full([2, 3], 1.0 / 3.0), &CrossEntropy::new())),
        ("ignored", |x| x.cross_entropy(&Tensor::from([2i64, 0]), &CrossEntropy::new().ignore_index(0))),
        ("smoothed", |x| x.cross_entropy(&Tensor::from([2i64, 0]), &CrossEntropy::new().label_smoothing(0.1))),
        ("nll_loss", |x| x.nll_loss(&Tensor::from([2i64, 0]), &CrossEntropy::new())),
        ("mse_loss", |x| x.mse_loss(&(x * 2.0).detach(), Reduction::Mean)),
        ("l1_loss", |x| x.l1_loss(&(x * 2.0).detach(), Reduction::Mean)),
        ("smooth_l1_loss", |x| x.smooth_l1_loss(&(x * 2.0).detach(), 1.0, Reduction::Mean)),
        ("huber_loss", |x| x.huber_loss(&(x * 2.0).detach(), 1.0, Reduction::Mean)),
        ("binary_cross_entropy", |x| x.binary_cross_entropy(&x.detach(), None, Reduction::Mean)),
        ("with logits", |x| x.binary_cross_entropy_with_logits(&x.detach(), None, None, Reduction::Mean)),
        ("kl_div", |x| x.kl_div(&x.detach(), Reduction::Mean)),
    ];
    call_all(&fractions(), losses);
}

#[test]
fn circular_padding_wraps_what_is_left() {
    let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    assert_eq!(x.pad(&[-1, 1], PadMode::Circular), Tensor::from([2.0, 3.0, 4.0, 2.0]));
    assert_eq!(x.pad(&[2, -1], PadMode::Circular), Tensor::from([2.0, 3.0, 1.0, 2.0, 3.0]));
    assert_eq!(x.pad(&[-1, -2], PadMode::Circular), Tensor::from([2.0]));
    let beyond = catch(|| x.pad(&[-3, 2], PadMode::Circular)).unwrap_err();
    assert!(beyond.suggestion().unwrap().contains("what is left"), "{beyond}");
}

#[test]
fn a_cubic_between_pixels_is_that_of_resampling_and_has_right_derivatives() {
    let x = Tensor::rand([1, 2, 4, 5], 3);
    // The pixel centres of a 7 by 6 picture that covers the same square.
    let middles = |count: usize| (Tensor::arange(count).cast(DType::F64) * 2.0 + 1.0) / count as f64 - 1.0;
    let grids = Tensor::meshgrid(&[middles(7), middles(6)]);
    let grid = Tensor::stack(&[&grids[1], &grids[0]], 2).unsqueeze(0);
    let options = GridSample::new().bicubic(true).outside(Outside::Border);
    let resized = x.interpolate(&Interpolate::size([7, 6]).mode(InterpolateMode::Bicubic));
    assert!(x.grid_sample(&grid, &options).all_close(&resized, 1e-13));
    let points = Tensor::from([[[[0.11, -0.37], [0.93, 0.42]], [[-1.13, 0.21], [0.3, 1.07]]]]);
    for outside in [Outside::Zeros, Outside::Border, Outside::Reflection] {
        let options = GridSample::new().bicubic(true).outside(outside);
        let f = |(x, points): &(Tensor, Tensor)| x.grid_sample(points, &options);
        GradCheck::new().second_order().run(f, &(x.clone(), points.clone())).unwrap();
    }
}

#[test]
fn an_unknown_primitive_is_not_found_and_every_known_one_is() {
    assert!(primitive::PRIMITIVES.len() > 150);
    for op in primitive::PRIMITIVES.iter() {
        assert_eq!(primitive::find(op.name()).map(|found| found.name()), Some(op.name()));
    }
    assert!(primitive::find("no such operation").is_none());
}

#[test]
fn an_index_that_names_nothing_may_have_any_rank() {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    let nothing = x.gather(0, &Tensor::full([2, 0], 0i64));
    assert_eq!(nothing.shape(), [2, 0]);
    nothing.sum().backward();
    assert_eq!(x.grad().unwrap(), Tensor::zeros([2]));
}
