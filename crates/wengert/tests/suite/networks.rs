//! Neural network operations: attention on views, losses, keys.

use wengert::primitive::{Attrs, Sample, bind1, find};
use wengert::{Select, prelude::*};
use wengert_kernels::random;

/// Queries, keys and values of several heads as views into one projection.
fn parts(qkv: &Tensor, heads: usize) -> [Tensor; 3] {
    let [batch, tokens, width] = qkv.shape() else { unreachable!("three axes") };
    let apart = qkv.reshape([*batch, *tokens, 3, heads, width / (3 * heads)]).permute([2, 0, 3, 1, 4]);
    [0, 1, 2].map(|part| apart.slice(part))
}

#[test]
fn views_into_a_projection_are_read_in_place_and_agree_with_the_formula() {
    let (heads, tokens) = (3, 150);
    let qkv = Sample::wave([2, tokens, 3 * heads * 4], 0.3).tensor(DType::F64);
    let options = Attention::new().causal();
    let loss = |y: Tensor| (&y * &y).sum();
    let apart = |qkv: &Tensor| {
        let [q, k, v] = parts(qkv, heads);
        loss(q.attention(&k, &v, &options))
    };
    let together = |qkv: &Tensor| loss(qkv.self_attention(heads, &options));
    let plain = |qkv: &Tensor| {
        let [q, k, v] = parts(qkv, heads);
        let hidden = Tensor::ones([tokens, tokens]).tril(0).equal(0.0);
        let scores = hidden.where_(f64::NEG_INFINITY, q.matmul(&k.transpose(-1, -2)) * 0.5);
        loss(scores.softmax(-1).matmul(&v))
    };
    let (value, gradient) = value_and_grad(plain)(&qkv);
    for f in [&apart as &dyn Fn(&Tensor) -> Tensor, &together] {
        let (y, dx) = value_and_grad(f)(&qkv);
        assert!(y.all_close(&value, 1e-10) && dx.all_close(&gradient, 1e-12));
    }
    let [q, k, v] = parts(&qkv, heads);
    assert!(!q.is_contiguous());
    let out = q.attention(&k, &v, &options);
    // The result has the layout of its queries, so heads are joined again without a copy.
    let whole = out.permute([0, 2, 1, 3]);
    assert!(whole.is_contiguous() && whole.reshape([2, tokens, heads * 4]).shares_memory_with(&whole));
}

#[test]
fn a_mask_of_truth_values_hides_keys() {
    let x = Sample::wave([2, 3, 4], 0.3).tensor(DType::F64);
    let seen = Tensor::from([[true, false, true]]);
    let two = x.slice(&[Select::from(..), Select::Range { start: None, stop: None, step: 2 }][..]);
    let hidden = x.attention(&x, &x, &Attention::new().mask(&seen));
    assert!(hidden.all_close(&x.attention(&two, &two, &Attention::new()), 1e-14));

    let qkv = Sample::wave([2, 5, 3 * 2 * 4], 0.3).tensor(DType::F64);
    let truths = Tensor::arange(25).reshape([5, 5]).fmod(3).not_equal(1);
    let added = truths.where_(Tensor::from(0.0), f64::NEG_INFINITY);
    let [by_truths, by_numbers] = [&truths, &added].map(|mask| {
        let options = Attention::new().mask(mask).causal();
        value_and_grad(|qkv: &Tensor| qkv.self_attention(2, &options).square().sum())(&qkv)
    });
    assert!(by_truths.0.all_close(&by_numbers.0, 1e-14) && by_truths.1.all_close(&by_numbers.1, 1e-14));
}

#[test]
fn cross_entropy_gradient_is_the_difference_of_probabilities() {
    let labels = Tensor::from([2i64, 0]);
    let f = |x: &Tensor| x.cross_entropy(&labels, &CrossEntropy::new());
    let (loss, gradient) = value_and_grad(f)(&Tensor::from([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]));
    assert!((loss.item() - 0.40760596444438046).abs() < 1e-15);
    let row = Tensor::from([0.04501528658519, 0.12236423552740, -0.16737952211259]);
    assert!(gradient.slice(0).all_close(&row, 1e-13));

    let (loss, gradient) = value_and_grad(f)(&Tensor::from([[1e4, -1e4, 0.0], [1e4, 0.0, -1e4]]));
    assert_eq!(loss.item(), 5e3);
    assert_eq!(gradient, Tensor::from([[0.5, 0.0, -0.5], [0.0, 0.0, 0.0]]));
}

#[test]
fn probabilities_that_name_one_class_are_that_class() {
    let x = Tensor::from([[0.3, -0.7, 1.1], [2.0, 0.1, -0.4]]);
    let options = CrossEntropy::new().weight(&Tensor::from([0.5, 2.0, 1.0])).label_smoothing(0.3);
    let options = options.reduction(Reduction::Sum);
    let by_class = x.cross_entropy(&Tensor::from([1i64, 0]), &options);
    let by_share = x.cross_entropy(&Tensor::from([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), &options);
    assert!(by_class.all_close(&by_share, 1e-14));
}

#[test]
fn a_logit_of_zero_has_half_a_slope() {
    let f = |x: &Tensor| x.binary_cross_entropy_with_logits(&Tensor::from([1.0]), None, None, Reduction::Sum);
    assert_eq!(value_and_grad(f)(&Tensor::from([0.0])).1, Tensor::from([-0.5]));
}

#[test]
fn children_follow_philox_and_batches_are_loops() {
    let split_key = find("split_key").unwrap();
    let both = bind1(split_key, Attrs::new(), &[&Tensor::from([[1i64, 2], [3, 4]]), &Tensor::from([0i64, 3])]);
    let one = bind1(split_key, Attrs::new(), &[&Tensor::from([3i64, 4]), &Tensor::from(3i64)]);
    assert_eq!(both.slice(1), one);
    let (key, stream) = random::child(3, 4, 3);
    assert_eq!(one.to_vec::<i64>(), [key as i64, stream as i64]);
    assert_ne!(both.slice(0), both.slice(1));
}
