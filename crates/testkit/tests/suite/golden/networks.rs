//! Activations, losses, normalisation, convolution and pooling. One line per operation, in alphabetical order.

use super::call::{Arg, Call};
use super::{Adapter, Exception, pair};
use wengert::prelude::*;

/// Window sizes: one number or one for each axis, some omitted.
fn sizes(arg: &Arg) -> wengert::Sizes {
    let size = |arg: &Arg| arg.int().map(|number| usize::try_from(number).expect("a size"));
    match arg {
        Arg::List(list) => list.iter().map(size).collect::<Vec<_>>().into(),
        single => vec![size(single)].into(),
    }
}

fn reduction(c: &Call) -> Reduction {
    match c.word_or("reduction", usize::MAX, "mean") {
        "none" => Reduction::None,
        "sum" => Reduction::Sum,
        "batchmean" => Reduction::BatchMean,
        _ => Reduction::Mean,
    }
}

fn conv(c: &Call) -> Conv {
    let mut conv = Conv::new().groups(c.size_or("groups", usize::MAX, 1));
    if let Some(bias) = c.opt_tensor("bias", 1) {
        conv = conv.bias(bias);
    }
    for (name, set) in [
        ("stride", Conv::stride as fn(Conv, wengert::Sizes) -> Conv),
        ("dilation", Conv::dilation),
        ("output_padding", Conv::output_padding),
    ] {
        conv = c.arg(name, usize::MAX).map_or(conv.clone(), |arg| set(conv, sizes(arg)));
    }
    match c.arg("padding", usize::MAX) {
        Some(Arg::Word(word)) if word == "same" => conv.padding(Padding::Same),
        Some(Arg::Word(_)) | None => conv,
        Some(arg) => conv.padding(Padding::Each(sizes(arg))),
    }
}

/// F.unfold: kernel, dilation, padding and stride.
fn patches(c: &Call) -> Conv {
    let or = |name: &str, position: usize, usual: usize| c.arg(name, position).map_or(usual.into(), sizes);
    Conv::new().dilation(or("dilation", 1, 1)).padding(Padding::Each(or("padding", 2, 0))).stride(or("stride", 3, 1))
}

fn pool(c: &Call) -> Pool {
    let mut pool = Pool::new(sizes(c.arg("kernel_size", 0).expect("a kernel")));
    for (name, position, set) in [
        ("stride", 1, Pool::stride as fn(Pool, wengert::Sizes) -> Pool),
        ("padding", 2, Pool::padding),
        ("dilation", usize::MAX, Pool::dilation),
    ] {
        let given = c.arg(name, position).filter(|arg| arg.list().is_none_or(|list| !list.is_empty()));
        pool = given.map_or(pool.clone(), |arg| set(pool, sizes(arg)));
    }
    if let Some(divisor) = c.opt_real("divisor_override", 5) {
        pool = pool.divisor(divisor);
    }
    pool.ceil_mode(c.flag("ceil_mode", 3)).count_include_pad(c.flag_or("count_include_pad", 4, true))
}

/// The values, and the positions if they are requested.
fn maxima(c: &Call, outputs: (Tensor, Tensor)) -> Vec<Tensor> {
    let asked = c.flag("return_indices", 1);
    if asked { pair(outputs) } else { vec![outputs.0] }
}

fn target(c: &Call) -> wengert::Sizes {
    sizes(c.arg("output_size", 0).expect("a size"))
}

/// The spatial part of a recorded output size.
fn unpooled(c: &Call) -> Vec<usize> {
    c.sizes("output_size", usize::MAX)[2..].to_vec()
}

fn norm(weight: Option<&Tensor>, bias: Option<&Tensor>, epsilon: Option<f64>) -> Norm {
    let norm = weight.map_or_else(Norm::new, |weight| Norm::new().weight(weight));
    let norm = bias.map_or(norm.clone(), |bias| norm.bias(bias));
    epsilon.map_or(norm.clone(), |epsilon| norm.epsilon(epsilon))
}

fn named_norm(c: &Call) -> Norm {
    let none = usize::MAX;
    norm(c.opt_tensor("weight", none), c.opt_tensor("bias", none), c.opt_real("eps", none))
}

fn classes(c: &Call) -> CrossEntropy {
    let none = usize::MAX;
    let options = CrossEntropy::new()
        .reduction(reduction(c))
        .ignore_index(c.int_or("ignore_index", none, -100) as i64)
        .label_smoothing(c.real_or("label_smoothing", none, 0.0));
    c.opt_tensor("weight", none).map_or(options.clone(), |weight| options.weight(weight))
}

fn interpolate(c: &Call, mode: InterpolateMode) -> Vec<Tensor> {
    let options = match c.arg("size", 0) {
        Some(arg) => Interpolate::size(sizes(arg)),
        None => Interpolate::scale(c.real("scale_factor", usize::MAX)),
    };
    let aligned = c.flag("align_corners", usize::MAX);
    let options =
        options.mode(mode).align_corners(aligned).recompute_scale(c.flag("recompute_scale_factor", usize::MAX));
    vec![c.input().interpolate(&options)]
}

fn upsample(c: &Call, mode: InterpolateMode, aligned: bool) -> Vec<Tensor> {
    let options = match c.arg("size", usize::MAX) {
        Some(arg) => Interpolate::size(sizes(arg)),
        None => Interpolate::scale(c.real("scale_factor", usize::MAX)),
    };
    vec![c.input().interpolate(&options.mode(mode).align_corners(aligned))]
}

fn bag(c: &Call) -> EmbeddingBag {
    let none = usize::MAX;
    let mode = match c.word_or("mode", none, "mean") {
        "sum" => Bag::Sum,
        "max" => Bag::Max,
        _ => Bag::Mean,
    };
    let mut bag = EmbeddingBag::new().mode(mode).include_last_offset(c.flag("include_last_offset", none));
    if let Some(offsets) = c.opt_tensor("offsets", none) {
        bag = bag.offsets(offsets);
    }
    if let Some(weights) = c.opt_tensor("per_sample_weights", none) {
        bag = bag.weights(weights);
    }
    match c.opt_int("padding_idx", none) {
        Some(row) => bag.padding_index(row as i64),
        None => bag,
    }
}

fn grid(c: &Call) -> GridSample {
    let outside = match (c.opt_word("padding_mode", usize::MAX), c.opt_int("", 2)) {
        (Some("border"), _) | (None, Some(1)) => Outside::Border,
        (Some("reflection"), _) | (None, Some(2)) => Outside::Reflection,
        _ => Outside::Zeros,
    };
    let options = GridSample::new().outside(outside).align_corners(c.flag("align_corners", 3));
    match (c.opt_word("mode", usize::MAX), c.opt_int("", 1)) {
        (Some("nearest"), _) | (None, Some(1)) => options.nearest(true),
        (Some("bicubic"), _) | (None, Some(2)) => options.bicubic(true),
        _ => options,
    }
}

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("grid_sampler_3d", |c| vec![c.input().grid_sample(c.tensor(0), &grid(c))]),
    ("native_group_norm", |c| {
        let norm = norm(c.opt_tensor("", 0), c.opt_tensor("", 1), c.opt_real("", 6));
        let (y, mean, rstd) = c.input().group_norm_with_statistics(c.size("", 5), &norm);
        vec![y, mean, rstd]
    }),
    ("native_layer_norm", |c| {
        let norm = norm(c.opt_tensor("", 1), c.opt_tensor("", 2), c.opt_real("", 3));
        let (y, mean, rstd) = c.input().layer_norm_with_statistics(&c.sizes("", 0), &norm);
        vec![y, mean, rstd]
    }),
    ("nn.functional.adaptive_avg_pool1d", |c| vec![c.input().adaptive_avg_pool1d(target(c))]),
    ("nn.functional.adaptive_avg_pool2d", |c| vec![c.input().adaptive_avg_pool2d(target(c))]),
    ("nn.functional.adaptive_avg_pool3d", |c| vec![c.input().adaptive_avg_pool3d(target(c))]),
    ("nn.functional.adaptive_max_pool1d", |c| maxima(c, c.input().adaptive_max_pool1d_with_indices(target(c)))),
    ("nn.functional.adaptive_max_pool2d", |c| maxima(c, c.input().adaptive_max_pool2d_with_indices(target(c)))),
    ("nn.functional.adaptive_max_pool3d", |c| maxima(c, c.input().adaptive_max_pool3d_with_indices(target(c)))),
    ("nn.functional.avg_pool1d", |c| vec![c.input().avg_pool1d(&pool(c))]),
    ("nn.functional.avg_pool2d", |c| vec![c.input().avg_pool2d(&pool(c))]),
    ("nn.functional.avg_pool3d", |c| vec![c.input().avg_pool3d(&pool(c))]),
    ("nn.functional.batch_norm", |c| {
        let norm = norm(c.opt_tensor("weight", 2), c.opt_tensor("bias", 3), c.opt_real("eps", usize::MAX));
        match (c.opt_tensor("", 0), c.opt_tensor("", 1), c.flag("training", usize::MAX)) {
            (Some(mean), Some(variance), false) => vec![c.input().batch_norm_given(mean, variance, &norm)],
            _ => vec![c.input().batch_norm(&norm).0],
        }
    }),
    ("nn.functional.binary_cross_entropy", |c| {
        vec![c.input().binary_cross_entropy(c.tensor(0), c.opt_tensor("weight", usize::MAX), reduction(c))]
    }),
    ("nn.functional.binary_cross_entropy_with_logits", |c| {
        let weight = |name: &str| c.opt_tensor(name, usize::MAX);
        let (weight, positive) = (weight("weight"), weight("pos_weight"));
        vec![c.input().binary_cross_entropy_with_logits(c.tensor(0), weight, positive, reduction(c))]
    }),
    ("nn.functional.channel_shuffle", |c| vec![c.input().channel_shuffle(c.size("groups", 0))]),
    ("nn.functional.conv1d", |c| vec![c.input().conv1d(c.tensor(0), &conv(c))]),
    ("nn.functional.conv2d", |c| vec![c.input().conv2d(c.tensor(0), &conv(c))]),
    ("nn.functional.conv3d", |c| vec![c.input().conv3d(c.tensor(0), &conv(c))]),
    ("nn.functional.conv_transpose1d", |c| vec![c.input().conv_transpose1d(c.tensor(0), &conv(c))]),
    ("nn.functional.conv_transpose2d", |c| vec![c.input().conv_transpose2d(c.tensor(0), &conv(c))]),
    ("nn.functional.conv_transpose3d", |c| vec![c.input().conv_transpose3d(c.tensor(0), &conv(c))]),
    ("nn.functional.cosine_embedding_loss", |c| {
        let margin = c.real_or("margin", usize::MAX, 0.0);
        vec![c.input().cosine_embedding_loss(c.tensor(0), c.tensor(1), margin, reduction(c))]
    }),
    ("nn.functional.cross_entropy", |c| vec![c.input().cross_entropy(c.tensor(0), &classes(c))]),
    ("nn.functional.embedding", |c| vec![c.input().embedding(c.tensor(0))]),
    ("nn.functional.embedding_bag", |c| vec![c.input().embedding_bag(c.tensor(0), &bag(c))]),
    ("nn.functional.gaussian_nll_loss", |c| {
        let (full, epsilon) = (c.flag("full", usize::MAX), c.real_or("eps", usize::MAX, 1e-6));
        vec![c.input().gaussian_nll_loss(c.tensor(0), c.tensor(1), full, epsilon, reduction(c))]
    }),
    ("nn.functional.grid_sample", |c| vec![c.input().grid_sample(c.tensor(0), &grid(c))]),
    ("nn.functional.group_norm", |c| vec![c.input().group_norm(c.size("num_groups", 0), &named_norm(c))]),
    ("nn.functional.hinge_embedding_loss", |c| {
        vec![c.input().hinge_embedding_loss(c.tensor(0), c.real_or("margin", usize::MAX, 1.0), reduction(c))]
    }),
    ("nn.functional.huber_loss", |c| {
        vec![c.input().huber_loss(c.tensor(0), c.real_or("delta", usize::MAX, 1.0), reduction(c))]
    }),
    ("nn.functional.instance_norm", |c| vec![c.input().instance_norm(&named_norm(c))]),
    ("nn.functional.interpolate.area", |c| interpolate(c, InterpolateMode::Area)),
    ("nn.functional.interpolate.bicubic", |c| interpolate(c, InterpolateMode::Bicubic)),
    ("nn.functional.interpolate.bilinear", |c| interpolate(c, InterpolateMode::Linear)),
    ("nn.functional.interpolate.linear", |c| interpolate(c, InterpolateMode::Linear)),
    ("nn.functional.interpolate.nearest", |c| interpolate(c, InterpolateMode::Nearest)),
    ("nn.functional.interpolate.nearest-exact", |c| interpolate(c, InterpolateMode::NearestExact)),
    ("nn.functional.interpolate.trilinear", |c| interpolate(c, InterpolateMode::Linear)),
    ("nn.functional.kl_div", |c| match c.flag("log_target", usize::MAX) {
        true => vec![c.input().kl_div_log_target(c.tensor(0), reduction(c))],
        false => vec![c.input().kl_div(c.tensor(0), reduction(c))],
    }),
    ("nn.functional.l1_loss", |c| vec![c.input().l1_loss(c.tensor(0), reduction(c))]),
    ("nn.functional.layer_norm", |c| {
        let norm = norm(c.opt_tensor("weight", 1), c.opt_tensor("bias", 2), c.opt_real("eps", 3));
        vec![c.input().layer_norm(&c.sizes("normalized_shape", 0), &norm)]
    }),
    ("nn.functional.leaky_relu", |c| vec![c.input().leaky_relu(c.real_or("negative_slope", 0, 0.01))]),
    ("nn.functional.linear", |c| match c.opt_tensor("bias", 1) {
        Some(bias) => vec![c.input().linear_bias(c.tensor(0), bias)],
        None => vec![c.input().linear(c.tensor(0))],
    }),
    ("nn.functional.local_response_norm", |c| {
        let real = |name: &str, usual: f64| c.real_or(name, usize::MAX, usual);
        let (alpha, beta, k) = (real("alpha", 1e-4), real("beta", 0.75), real("k", 1.0));
        vec![c.input().local_response_norm(c.size("size", 0), alpha, beta, k)]
    }),
    ("nn.functional.margin_ranking_loss", |c| {
        let margin = c.real_or("margin", usize::MAX, 0.0);
        vec![c.input().margin_ranking_loss(c.tensor(0), c.tensor(1), margin, reduction(c))]
    }),
    ("nn.functional.max_pool1d", |c| maxima(c, c.input().max_pool1d_with_indices(&pool(c)))),
    ("nn.functional.max_pool2d", |c| maxima(c, c.input().max_pool2d_with_indices(&pool(c)))),
    ("nn.functional.max_pool3d", |c| maxima(c, c.input().max_pool3d_with_indices(&pool(c)))),
    ("nn.functional.max_unpool1d", |c| vec![c.input().max_unpool1d(c.tensor(0), unpooled(c))]),
    ("nn.functional.max_unpool1d.grad", |c| vec![c.input().max_unpool1d(c.tensor(0), unpooled(c))]),
    ("nn.functional.max_unpool2d", |c| vec![c.input().max_unpool2d(c.tensor(0), unpooled(c))]),
    ("nn.functional.max_unpool2d.grad", |c| vec![c.input().max_unpool2d(c.tensor(0), unpooled(c))]),
    ("nn.functional.max_unpool3d", |c| vec![c.input().max_unpool3d(c.tensor(0), unpooled(c))]),
    ("nn.functional.max_unpool3d.grad", |c| vec![c.input().max_unpool3d(c.tensor(0), unpooled(c))]),
    ("nn.functional.mse_loss", |c| vec![c.input().mse_loss(c.tensor(0), reduction(c))]),
    ("nn.functional.multi_margin_loss", |c| {
        let (p, margin) = (c.size_or("p", usize::MAX, 1) as u32, c.real_or("margin", usize::MAX, 1.0));
        let weight = c.opt_tensor("weight", usize::MAX);
        vec![c.input().multi_margin_loss(c.tensor(0), p, margin, weight, reduction(c))]
    }),
    ("nn.functional.multilabel_margin_loss", |c| vec![c.input().multilabel_margin_loss(c.tensor(0), reduction(c))]),
    ("nn.functional.multilabel_soft_margin_loss", |c| {
        let weight = c.opt_tensor("weight", usize::MAX);
        vec![c.input().multilabel_soft_margin_loss(c.tensor(0), weight, reduction(c))]
    }),
    ("nn.functional.nll_loss", |c| vec![c.input().nll_loss(c.tensor(0), &classes(c))]),
    ("nn.functional.pixel_shuffle", |c| vec![c.input().pixel_shuffle(c.size("upscale_factor", 0))]),
    ("nn.functional.pixel_unshuffle", |c| vec![c.input().pixel_unshuffle(c.size("downscale_factor", 0))]),
    ("nn.functional.poisson_nll_loss", |c| {
        let (full, epsilon) = (c.flag("full", usize::MAX), c.real_or("eps", usize::MAX, 1e-8));
        match c.flag_or("log_input", usize::MAX, true) {
            true => vec![c.input().poisson_nll_loss(c.tensor(0), full, reduction(c))],
            false => vec![c.input().poisson_nll_loss_of_rate(c.tensor(0), full, epsilon, reduction(c))],
        }
    }),
    ("nn.functional.relu", |c| vec![c.input().relu()]),
    ("nn.functional.rms_norm", |c| {
        let norm = norm(c.opt_tensor("weight", 1), None, c.opt_real("eps", 2));
        vec![c.input().rms_norm(&c.sizes("normalized_shape", 0), &norm)]
    }),
    ("nn.functional.smooth_l1_loss", |c| {
        vec![c.input().smooth_l1_loss(c.tensor(0), c.real_or("beta", usize::MAX, 1.0), reduction(c))]
    }),
    ("nn.functional.soft_margin_loss", |c| vec![c.input().soft_margin_loss(c.tensor(0), reduction(c))]),
    ("nn.functional.triplet_margin_loss", |c| {
        let (margin, p) = (c.real_or("margin", usize::MAX, 1.0), c.real_or("p", usize::MAX, 2.0));
        match c.flag("swap", usize::MAX) {
            true => vec![c.input().triplet_margin_loss_swap(c.tensor(0), c.tensor(1), margin, p, reduction(c))],
            false => vec![c.input().triplet_margin_loss(c.tensor(0), c.tensor(1), margin, p, reduction(c))],
        }
    }),
    ("nn.functional.unfold", |c| {
        let kernel = c.sizes("kernel_size", 0);
        vec![c.input().unfold_patches([kernel[0], kernel[kernel.len() - 1]], &patches(c))]
    }),
    ("nn.functional.upsample_bilinear", |c| upsample(c, InterpolateMode::Linear, true)),
    ("nn.functional.upsample_nearest", |c| upsample(c, InterpolateMode::Nearest, false)),
];

pub const EXCEPTIONS: &[Exception] = &[];
