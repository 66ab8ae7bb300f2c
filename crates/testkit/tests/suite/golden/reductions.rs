//! Reductions, scans, sorting and statistics. One line an operation, in the order of the alphabet.

use super::call::Call;
use super::case::Check;
use super::{Adapter, Exception, pair};
use wengert::methods::*;
use wengert::{Covariance, Interpolation, Tensor};

/// The method for all elements, for some axes, or for axes that are kept, as the arguments say.
macro_rules! reduced {
    ($c:expr, $all:ident, $axes:ident, $keepdim:ident) => {
        match ($c.opt_ints("dim", 0), $c.flag("keepdim", 1)) {
            (None, _) => $c.input().$all(),
            (Some(axes), false) => $c.input().$axes(&axes),
            (Some(axes), true) => $c.input().$keepdim(&axes),
        }
    };
}

/// The same for one axis at a position among the arguments, with further arguments before it.
macro_rules! along {
    ($c:expr, $position:expr, $axis:ident, $keepdim:ident $(, $argument:expr)*) => {{
        let axis = $c.int_or("dim", $position, -1);
        match $c.flag("keepdim", $position + 1) {
            false => $c.input().$axis($($argument,)* axis),
            true => $c.input().$keepdim($($argument,)* axis),
        }
    }};
}

/// The method for some axes with a correction.
macro_rules! corrected {
    ($c:expr, $axes:ident, $keepdim:ident) => {{
        let (axes, correction) = ($c.opt_ints("dim", usize::MAX).unwrap_or_else(|| every($c)), correction($c));
        match $c.flag("keepdim", usize::MAX) {
            false => $c.input().$axes(&axes, correction),
            true => $c.input().$keepdim(&axes, correction),
        }
    }};
}

/// The method at given places, or at equal distances.
macro_rules! areas {
    ($c:expr, $at:ident, $spaced:ident) => {{
        let axis = $c.int_or("dim", usize::MAX, -1);
        match $c.opt_tensor("x", 0) {
            Some(x) => $c.input().$at(x, axis),
            None => $c.input().$spaced($c.real_or("dx", usize::MAX, 1.0), axis),
        }
    }};
}

/// The method for all elements, along an axis, or along one that is kept.
macro_rules! quantile {
    ($c:expr, $all:ident, $along:ident, $keepdim:ident) => {{
        let number = || Tensor::from($c.real("q", 0));
        let (q, interpolation) = ($c.opt_tensor("q", 0).cloned().unwrap_or_else(number), interpolation($c));
        match ($c.opt_int("dim", 1), $c.flag("keepdim", 2)) {
            (None, _) => $c.input().$all(q),
            (Some(axis), false) => $c.input().$along(q, axis, interpolation),
            (Some(axis), true) => $c.input().$keepdim(q, axis, interpolation),
        }
    }};
}

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("amax", |c| vec![reduced!(c, max, amax, amax_keepdim)]),
    ("amin", |c| vec![reduced!(c, min, amin, amin_keepdim)]),
    ("aminmax", |c| {
        let axes = c.opt_ints("dim", 0).unwrap_or_else(|| every(c));
        pair(if c.flag("keepdim", 1) { c.input().aminmax_keepdim(&axes) } else { c.input().aminmax(&axes) })
    }),
    ("corrcoef", |c| vec![c.input().corrcoef()]),
    ("cov", |c| vec![covariance(c).of(c.input())]),
    ("cummax", |c| pair(c.input().cummax(c.int("dim", 0)))),
    ("cummin", |c| pair(c.input().cummin(c.int("dim", 0)))),
    ("cumprod", |c| vec![c.input().cumprod(c.int("dim", 0))]),
    ("cumsum", |c| vec![c.input().cumsum(c.int("dim", 0))]),
    ("cumulative_trapezoid", |c| vec![areas!(c, cumulative_trapezoid_at, cumulative_trapezoid)]),
    ("diff", |c| {
        let (order, axis) = (c.size_or("n", 0, 1), c.int_or("dim", 1, -1));
        match (c.opt_tensor("prepend", 2), c.opt_tensor("append", 3)) {
            (None, None) => vec![c.input().diff(order, axis)],
            (before, after) => vec![c.input().diff_with(order, axis, before, after)],
        }
    }),
    ("dist", |c| vec![c.input().dist(c.tensor(0), c.real_or("p", 1, 2.0))]),
    ("kthvalue", |c| pair(along!(c, 1, kthvalue, kthvalue_keepdim, c.size("k", 0)))),
    ("log_softmax", |c| vec![c.input().log_softmax(c.int("dim", 0))]),
    ("log_softmax.with_dtype", |c| vec![c.input().log_softmax(c.int("dim", 0))]),
    ("logcumsumexp", |c| vec![c.input().logcumsumexp(c.int("dim", 0))]),
    ("logsumexp", |c| match c.flag("keepdim", 1) {
        false => vec![c.input().logsumexp(&c.ints("dim", 0))],
        true => vec![c.input().logsumexp_keepdim(&c.ints("dim", 0))],
    }),
    ("max.reduction_no_dim", |c| vec![c.input().max()]),
    ("max.reduction_with_dim", |c| pair(along!(c, 0, max_along, max_along_keepdim))),
    ("mean", |c| vec![reduced!(c, mean, mean_axes, mean_axes_keepdim)]),
    ("median", |c| match c.opt_int("dim", 0) {
        None => vec![c.input().median()],
        Some(_) => pair(along!(c, 0, median_along, median_along_keepdim)),
    }),
    ("min.reduction_no_dim", |c| vec![c.input().min()]),
    ("min.reduction_with_dim", |c| pair(along!(c, 0, min_along, min_along_keepdim))),
    ("mode", |c| pair(along!(c, 0, mode, mode_keepdim))),
    ("msort", |c| vec![c.input().msort()]),
    ("nanmean", |c| vec![reduced!(c, nanmean, nanmean_axes, nanmean_axes_keepdim)]),
    ("nanmedian", |c| match c.opt_int("dim", 0) {
        None => vec![c.input().nanmedian()],
        Some(_) => pair(along!(c, 0, nanmedian_along, nanmedian_along_keepdim)),
    }),
    ("nanquantile", |c| vec![quantile!(c, nanquantile, nanquantile_along, nanquantile_along_keepdim)]),
    ("nansum", |c| vec![reduced!(c, nansum, nansum_axes, nansum_axes_keepdim)]),
    ("nn.functional.cosine_similarity", |c| {
        vec![c.input().cosine_similarity(c.tensor(0), c.int_or("dim", 1, 1), c.real_or("eps", 2, 1e-8))]
    }),
    ("nn.functional.normalize", |c| {
        vec![c.input().normalize(c.real_or("p", 0, 2.0), c.int_or("dim", 1, 1), c.real_or("eps", 2, 1e-12))]
    }),
    ("nn.functional.pairwise_distance", |c| {
        let (p, shift) = (c.real_or("p", 1, 2.0), c.real_or("eps", 2, 1e-6));
        match c.flag("keepdim", 3) {
            false => vec![c.input().pairwise_distance(c.tensor(0), p, shift)],
            true => vec![c.input().pairwise_distance_keepdim(c.tensor(0), p, shift)],
        }
    }),
    ("nn.functional.pdist", |c| vec![c.input().pdist(c.real_or("p", 0, 2.0))]),
    ("nn.functional.softmin", |c| vec![c.input().softmin(c.int("dim", 0))]),
    ("nn.functional.softmin.with_dtype", |c| vec![c.input().softmin(c.int("dim", 0))]),
    ("norm", norm),
    ("norm.fro", norm),
    ("norm.inf", norm),
    ("prod", |c| vec![reduced!(c, prod, prod_axes, prod_axes_keepdim)]),
    ("quantile", |c| vec![quantile!(c, quantile, quantile_along, quantile_along_keepdim)]),
    ("renorm", |c| vec![c.input().renorm(c.real("p", 0), c.int("dim", 1), c.real("maxnorm", 2))]),
    ("softmax", |c| vec![c.input().softmax(c.int("dim", 0))]),
    ("softmax.with_dtype", |c| vec![c.input().softmax(c.int("dim", 0))]),
    ("sort", |c| match c.flag("descending", 1) {
        false => pair(c.input().sort(c.int_or("dim", 0, -1))),
        true => pair(c.input().sort_descending(c.int_or("dim", 0, -1))),
    }),
    ("std", |c| vec![corrected!(c, std_corrected, std_corrected_keepdim)]),
    ("std.unbiased", |c| vec![corrected!(c, std_corrected, std_corrected_keepdim)]),
    ("std_mean", |c| pair(corrected!(c, std_mean, std_mean_keepdim))),
    ("std_mean.unbiased", |c| pair(corrected!(c, std_mean, std_mean_keepdim))),
    ("sum", |c| vec![reduced!(c, sum, sum_axes, sum_axes_keepdim)]),
    ("sum_to_size", |c| vec![c.input().sum_to(c.shape(0))]),
    ("topk", |c| match c.flag_or("largest", 2, true) {
        true => pair(c.input().topk(c.size("k", 0), c.int_or("dim", 1, -1))),
        false => pair(c.input().topk_smallest(c.size("k", 0), c.int_or("dim", 1, -1))),
    }),
    ("trace", |c| vec![c.input().trace()]),
    ("trapezoid", |c| vec![areas!(c, trapezoid_at, trapezoid)]),
    ("trapz", |c| vec![areas!(c, trapezoid_at, trapezoid)]),
    ("var", |c| vec![corrected!(c, var_corrected, var_corrected_keepdim)]),
    ("var.unbiased", |c| vec![corrected!(c, var_corrected, var_corrected_keepdim)]),
    ("var_mean", |c| pair(corrected!(c, var_mean, var_mean_keepdim))),
    ("var_mean.unbiased", |c| pair(corrected!(c, var_mean, var_mean_keepdim))),
];

/// The Frobenius norm is the Euclidean one of all elements.
fn norm(c: &Call) -> Vec<Tensor> {
    let p = c.opt_real("p", 0).unwrap_or(2.0);
    vec![match (c.opt_ints("dim", 1), c.flag("keepdim", 2)) {
        (None, false) => c.input().norm(p),
        (None, true) => c.input().norm_axes_keepdim(p, &every(c)),
        (Some(axes), false) => c.input().norm_axes(p, &axes),
        (Some(axes), true) => c.input().norm_axes_keepdim(p, &axes),
    }]
}

fn every(c: &Call) -> Vec<isize> {
    (0..c.input().rank() as isize).collect()
}

fn correction(c: &Call) -> f64 {
    let unbiased = f64::from(u8::from(c.flag_or("unbiased", 0, true)));
    c.real_or("correction", usize::MAX, unbiased)
}

fn interpolation(c: &Call) -> Interpolation {
    match c.word_or("interpolation", 3, "linear") {
        "linear" => Interpolation::Linear,
        "midpoint" => Interpolation::Midpoint,
        "lower" => Interpolation::Lower,
        "higher" => Interpolation::Higher,
        other => panic!("interpolation {other}"),
    }
}

fn covariance(c: &Call) -> Covariance {
    let plain = Covariance::new().correction(c.real_or("correction", usize::MAX, 1.0));
    match (c.opt_tensor("fweights", usize::MAX), c.opt_tensor("aweights", usize::MAX)) {
        (None, None) => plain,
        (None, Some(weights)) => plain.weights(weights),
        (Some(counts), None) => plain.frequencies(counts),
        (Some(counts), Some(weights)) => plain.frequencies(counts).weights(weights),
    }
}

pub const EXCEPTIONS: &[Exception] = &[
    ("cov", &[2], &[Check::Gradient, Check::SecondGradient], SINGLE_WEIGHTS),
    ("cov", &[4, 6, 8], &[Check::Value, Check::Gradient, Check::SecondGradient], SINGLE_WEIGHTS),
];

const SINGLE_WEIGHTS: &str =
    "the weights are recorded as f32, in which PyTorch adds them up; here they are widened first";
