//! Reductions, scans, sorting and statistics. One line per operation, in alphabetical order.

use super::call::Call;
use super::case::Check;
use super::{Adapter, Exception, pair};
use wengert::methods::*;
use wengert::{Covariance, Interpolation, Over, Tensor, TorchMethods, keepdim};

/// The axes, kept or not, according to the argument at `position`.
fn over(axes: impl Into<Over>, c: &Call, position: usize) -> Over {
    if c.flag("keepdim", position) { keepdim(axes) } else { axes.into() }
}

/// The method for all elements, or for some axes.
macro_rules! reduced {
    ($c:expr, $all:ident, $axes:ident) => {
        match $c.opt_ints("dim", 0) {
            None => $c.input().$all(),
            Some(axes) => $c.input().$axes(over(axes, $c, 1)),
        }
    };
}

/// The same for one axis at a position among the arguments, with further arguments before it.
macro_rules! along {
    ($c:expr, $position:expr, $axis:ident $(, $argument:expr)*) => {
        $c.input().$axis($($argument,)* over($c.int_or("dim", $position, -1), $c, $position + 1))
    };
}

/// The method for some axes with a correction.
macro_rules! corrected {
    ($c:expr, $axes:ident) => {{
        let axes = over(axes($c, "dim", usize::MAX), $c, usize::MAX);
        $c.input().$axes(axes, correction($c))
    }};
}

/// The method at given positions, or at equal distances.
macro_rules! areas {
    ($c:expr, $at:ident, $spaced:ident) => {{
        let axis = $c.int_or("dim", usize::MAX, -1);
        match $c.opt_tensor("x", 0) {
            Some(x) => $c.input().$at(x, axis),
            None => $c.input().$spaced($c.real_or("dx", usize::MAX, 1.0), axis),
        }
    }};
}

/// The method for all elements, or along an axis.
macro_rules! quantile {
    ($c:expr, $all:ident, $along:ident) => {{
        let number = || Tensor::from($c.real("q", 0));
        let (q, interpolation) = ($c.opt_tensor("q", 0).cloned().unwrap_or_else(number), interpolation($c));
        match $c.opt_int("dim", 1) {
            None => $c.input().$all(q),
            Some(axis) => $c.input().$along(q, over(axis, $c, 2), interpolation),
        }
    }};
}

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("amax", |c| vec![reduced!(c, max, max_over)]),
    ("amin", |c| vec![reduced!(c, min, min_over)]),
    ("aminmax", |c| pair(c.input().min_max_over(over(axes(c, "dim", 0), c, 1)))),
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
    ("kthvalue", |c| pair(along!(c, 1, kthvalue, c.size("k", 0)))),
    ("log_softmax", |c| vec![c.input().log_softmax(c.int("dim", 0))]),
    ("log_softmax.with_dtype", |c| vec![c.input().log_softmax(c.int("dim", 0))]),
    ("logcumsumexp", |c| vec![c.input().logcumsumexp(c.int("dim", 0))]),
    ("logsumexp", |c| vec![c.input().logsumexp_over(over(c.ints("dim", 0), c, 1))]),
    ("max.reduction_no_dim", |c| vec![c.input().max()]),
    ("max.reduction_with_dim", |c| pair(along!(c, 0, max_along))),
    ("mean", |c| vec![reduced!(c, mean, mean_over)]),
    ("median", |c| match c.opt_int("dim", 0) {
        None => vec![c.input().median()],
        Some(_) => pair(along!(c, 0, median_along)),
    }),
    ("min.reduction_no_dim", |c| vec![c.input().min()]),
    ("min.reduction_with_dim", |c| pair(along!(c, 0, min_along))),
    ("mode", |c| pair(along!(c, 0, mode))),
    ("msort", |c| vec![c.input().msort()]),
    ("nanmean", |c| vec![reduced!(c, nanmean, nanmean_over)]),
    ("nanmedian", |c| match c.opt_int("dim", 0) {
        None => vec![c.input().nanmedian()],
        Some(_) => pair(along!(c, 0, nanmedian_along)),
    }),
    ("nanquantile", |c| vec![quantile!(c, nanquantile, nanquantile_along)]),
    ("nansum", |c| vec![reduced!(c, nansum, nansum_over)]),
    ("nn.functional.cosine_similarity", |c| {
        vec![c.input().cosine_similarity(c.tensor(0), c.int_or("dim", 1, 1), c.real_or("eps", 2, 1e-8))]
    }),
    ("nn.functional.normalize", |c| {
        vec![c.input().normalize(c.real_or("p", 0, 2.0), c.int_or("dim", 1, 1), c.real_or("eps", 2, 1e-12))]
    }),
    ("nn.functional.pairwise_distance", |c| {
        let (p, shift) = (c.real_or("p", 1, 2.0), c.real_or("eps", 2, 1e-6));
        let distances = c.input().pairwise_distance(c.tensor(0), p, shift);
        vec![if c.flag("keepdim", 3) { distances.unsqueeze(-1) } else { distances }]
    }),
    ("nn.functional.pdist", |c| vec![c.input().pdist(c.real_or("p", 0, 2.0))]),
    ("nn.functional.softmin", |c| vec![c.input().softmin(c.int("dim", 0))]),
    ("nn.functional.softmin.with_dtype", |c| vec![c.input().softmin(c.int("dim", 0))]),
    ("norm", norm),
    ("norm.fro", norm),
    ("norm.inf", norm),
    ("prod", |c| vec![reduced!(c, prod, prod_over)]),
    ("quantile", |c| vec![quantile!(c, quantile, quantile_along)]),
    ("renorm", |c| vec![c.input().renorm(c.real("p", 0), c.int("dim", 1), c.real("maxnorm", 2))]),
    ("softmax", |c| vec![c.input().softmax(c.int("dim", 0))]),
    ("softmax.with_dtype", |c| vec![c.input().softmax(c.int("dim", 0))]),
    ("sort", |c| match c.flag("descending", 1) {
        false => pair(c.input().sort(c.int_or("dim", 0, -1))),
        true => pair(c.input().sort_descending(c.int_or("dim", 0, -1))),
    }),
    ("std", |c| vec![corrected!(c, std_corrected)]),
    ("std.unbiased", |c| vec![corrected!(c, std_corrected)]),
    ("std_mean", |c| pair(corrected!(c, std_mean))),
    ("std_mean.unbiased", |c| pair(corrected!(c, std_mean))),
    ("sum", |c| vec![reduced!(c, sum, sum_over)]),
    ("sum_to_size", |c| vec![c.input().sum_to(c.shape(0))]),
    ("topk", |c| match c.flag_or("largest", 2, true) {
        true => pair(c.input().topk(c.size("k", 0), c.int_or("dim", 1, -1))),
        false => pair(c.input().topk_smallest(c.size("k", 0), c.int_or("dim", 1, -1))),
    }),
    ("trace", |c| vec![c.input().trace()]),
    ("trapezoid", |c| vec![areas!(c, trapezoid_at, trapezoid)]),
    ("trapz", |c| vec![areas!(c, trapezoid_at, trapezoid)]),
    ("var", |c| vec![corrected!(c, var_corrected)]),
    ("var.unbiased", |c| vec![corrected!(c, var_corrected)]),
    ("var_mean", |c| pair(corrected!(c, var_mean))),
    ("var_mean.unbiased", |c| pair(corrected!(c, var_mean))),
];

/// The Frobenius norm is the Euclidean one of all elements.
fn norm(c: &Call) -> Vec<Tensor> {
    let p = c.opt_real("p", 0).unwrap_or(2.0);
    vec![c.input().norm_over(p, over(axes(c, "dim", 1), c, 2))]
}

/// The axes of an argument, or all.
fn axes(c: &Call, name: &str, position: usize) -> Over {
    c.opt_ints(name, position).map_or(Over::from(..), Over::from)
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
