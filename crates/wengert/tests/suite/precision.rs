//! Products of 16 bits in programs of 32.

use wengert::prelude::*;

fn wave(shape: [usize; 2], by: f64) -> Tensor {
    let numbers: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (by * i as f64).sin() as f32).collect();
    Tensor::from(numbers).reshape(shape)
}

/// A layer, its activation, another layer and a loss.
fn loss((w, v): &(Tensor, Tensor), x: &Tensor, classes: &Tensor) -> Tensor {
    let logits = x.linear(w).tanh().reshape([6, 8]).linear(v);
    logits.cross_entropy(classes, &CrossEntropy::new())
}

fn parts() -> ((Tensor, Tensor), Tensor, Tensor) {
    let weights = (wave([8, 5], 0.7), wave([4, 8], 0.3));
    (weights, wave([6, 5], 0.9), Tensor::from([0i64, 1, 2, 3, 0, 1]))
}

#[test]
fn operands_are_cast_and_statistics_are_not() {
    let (weights, x, classes) = parts();
    let f = compile(value_and_grad(|w: &(Tensor, Tensor)| loss(w, &x, &classes))).precision(Precision::Bf16);
    let text = f.program(&weights).to_string();
    assert_eq!(text.matches("= linear(").count(), 2, "{text}");
    for line in text.lines().filter(|line| line.contains("= linear(") || line.contains("= matmul(")) {
        assert!(line.contains(": bf16["), "{line}");
    }
    // Logits are read as they are, and losses are sums of f32.
    let entropy = text.lines().find(|line| line.contains("= softmax_cross_entropy[")).unwrap();
    assert_eq!(entropy.matches(": f32[").count(), 2, "{entropy}");
    let (value, gradients) = f.call(&weights);
    assert_eq!((value.dtype(), gradients.0.dtype()), (DType::F32, DType::F32));
    let (right, slopes) = value_and_grad(|w: &(Tensor, Tensor)| loss(w, &x, &classes))(&weights);
    assert!((value.item() - right.item()).abs() < 2e-2 * right.item());
    assert_ne!(value.item(), right.item());
    for (found, right) in [(gradients.0, slopes.0), (gradients.1, slopes.1)] {
        assert!((&found - &right).square().sum().item().sqrt() < 2e-2 * right.square().sum().item().sqrt());
    }
}

#[test]
fn numbers_are_rounded_before_they_are_moved_and_once() {
    let f = compile(|x: &Tensor| x.t().matmul(x).matmul(&x.t())).precision(Precision::Bf16);
    let text = f.program(&wave([3, 4], 0.7)).to_string();
    assert_eq!(text.matches("cast[dtype=bf16]").count(), 1, "{text}");
    assert_eq!(text.matches("cast[dtype=f32]").count(), 2, "{text}");
}

#[test]
fn gradients_of_a_compiled_call_are_those_of_the_casts() {
    let w = wave([3, 4], 0.3);
    let f = compile(|x: &Tensor| x.matmul(&w).sum()).precision(Precision::Bf16);
    let (x, rounded) = (wave([5, 3], 0.7), w.cast(DType::BF16).cast(DType::F32));
    let right = grad(|x: &Tensor| x.matmul(&rounded).sum())(&x);
    let found = grad(|x: &Tensor| f.call(x))(&x);
    assert_eq!(found, right.cast(DType::BF16).cast(DType::F32));
    assert_ne!(found, right);
}

#[test]
fn loops_and_branches_are_narrow_inside() {
    let f = compile(|(w, x): &(Tensor, Tensor)| fori(3, |_, h: &Tensor| h.matmul(w).tanh(), x));
    let text = f.precision(Precision::Bf16).program(&(wave([4, 4], 0.7), wave([2, 4], 0.3))).to_string();
    assert!(text.contains(": bf16[2, 4] = matmul("), "{text}");
}

#[test]
fn strict_programs_and_those_of_other_dtypes_stay() {
    let f = |x: &Tensor| x.matmul(x);
    let (x, y) = (wave([3, 3], 0.7), wave([3, 3], 0.7).cast(DType::F64));
    let strict = compile(f).program(&x).to_string();
    assert_eq!(compile(f).precision(Precision::Tf32).program(&x).to_string(), strict);
    assert_eq!(compile(f).precision(Precision::Bf16).program(&y).to_string(), compile(f).program(&y).to_string());
}

#[test]
fn losses_of_16_bits_are_sums_of_32() {
    let x = wave([3, 4], 0.7).cast(DType::BF16);
    let classes = Tensor::from([0i64, 1, 2]);
    let f = |x: &Tensor| x.cross_entropy(&classes, &CrossEntropy::new().reduction(Reduction::None));
    let y = f(&x);
    assert_eq!(y.dtype(), DType::F32);
    let (z, pullback) = vjp(f, &x);
    assert_eq!(z.dtype(), DType::F32);
    assert_eq!(pullback.call(&Tensor::ones([3]).cast(DType::F32)).dtype(), DType::BF16);
    let second = jvp(|x: &Tensor| vjp(f, x).1.call(&Tensor::ones([3]).cast(DType::F32)), &x, &x).1;
    assert_eq!(second.dtype(), DType::BF16);
    let compiled = compile(|x: &Tensor| vjp(f, x).1.call(&Tensor::ones([3]).cast(DType::F32)));
    assert_eq!(compiled.call(&x).dtype(), DType::BF16);
}

#[test]
fn a_loop_behind_a_large_product_of_16_bits() {
    let (x, w) = (wave([192, 160], 0.7), wave([256, 160], 0.3));
    let f = |(x, w): &(Tensor, Tensor)| x.linear(w).tanh();
    let found = compile(f).precision(Precision::Bf16).call(&(x.clone(), w.clone()));
    let rounded = x.cast(DType::BF16).linear(&w.cast(DType::BF16)).cast(DType::F32).tanh();
    assert_eq!(found, rounded);
}
