//! The memory of losses.

use super::turn;
use wengert::nn::loss::{LinearCrossEntropy, linear_cross_entropy};
use wengert::prelude::*;

const MIB: f64 = (1 << 20) as f64;

type Classifier = (Tensor, Tensor);

/// The peak of a call in MiB, above its inputs and results. A loop keeps its working memory for the next call, so every measurement
/// has a width of its own.
fn peak<T: Tree>(width: usize, run: impl Fn(&Classifier) -> T) -> f64 {
    let input = default_dtype(DType::F32, || (Tensor::randn([ROWS, width], 1), Tensor::randn([CLASSES, width], 2)));
    let before = wengert::memory::statistics().live_bytes;
    wengert::memory::reset_peak();
    let results = run(&input);
    let peak = wengert::memory::statistics().peak_bytes;
    let bytes: usize = results.leaves().iter().map(|leaf| leaf.elements() * leaf.dtype().size()).sum();
    (peak - before).saturating_sub(bytes) as f64 / MIB
}

// 64 MiB of logits in f32; inputs and gradients take less than 1 MiB each.
const ROWS: usize = 4096;
const CLASSES: usize = 4096;

#[test]
fn linear_cross_entropy_never_holds_all_logits() {
    let _turn = turn();
    let targets = Tensor::arange(ROWS);
    let loss = |(x, weight): &Classifier, options| linear_cross_entropy(x, weight, None, &targets, &options);
    let chunked = |input: &Classifier| loss(input, LinearCrossEntropy::new());
    let with_a_rest = |input: &Classifier| loss(input, LinearCrossEntropy::new().rows_per_chunk(250));
    let plain = |(x, weight): &Classifier| x.linear(weight).cross_entropy(&targets, &CrossEntropy::new());

    let found = [
        ("forward", peak(32, chunked)),
        ("eager", peak(34, value_and_grad(chunked))),
        ("with a rest of rows", peak(36, value_and_grad(with_a_rest))),
        ("compiled", peak(38, |input| compile(value_and_grad(chunked)).call(input))),
    ];
    let whole = peak(40, value_and_grad(plain));
    println!("MiB above inputs and gradients: {found:.1?}; with all logits {whole:.1}");
    for (way, peak) in found {
        assert!((4.0..20.0).contains(&peak), "{peak} MiB, {way}");
    }
    assert!(whole > 120.0, "the test measures nothing: {whole} MiB with all logits and their gradient");
}
