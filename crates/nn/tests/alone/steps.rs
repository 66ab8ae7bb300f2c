//! A compiled step of a network allocates nothing once it is warm.

use super::{ALLOCATOR, turn};
use wengert::nn::optimise::{AdamW, Memory, Optimiser, Rule, Schedule, Sgd};
use wengert::nn::{BatchNorm, Context, Layer, Linear, Relu};
use wengert::prelude::*;

type Network = (Linear, BatchNorm, Relu, Linear);
type Batch = (Tensor, Tensor);

/// Takes steps until three in a row allocate nothing.
fn allocates_nothing(optimiser: impl Optimiser<State = Memory> + 'static) {
    let key = &mut Key::new(0);
    let network: Network =
        default_dtype(DType::F32, || (Linear::new(20, 64, key), BatchNorm::new(64), Relu, Linear::new(64, 10, key)));
    let batch = (Tensor::randn([16, 20], 1).cast(DType::F32), Tensor::arange(16).remainder(10));
    let memory = optimiser.start(&network);
    let step = compile_step(move |(network, memory): &mut (Network, Memory), (x, labels): &Batch| {
        let loss = |network: &Network| {
            let mut context = Context::training(Key::new(0)).of(network);
            let logits = network.forward(x, &mut context);
            (logits.cross_entropy(labels, &CrossEntropy::new()), context.updates())
        };
        let ((loss, updates), gradients) = value_and_grad_with_aux(loss)(network);
        optimiser.update(network, &gradients, memory);
        updates.apply(network);
        loss
    });
    let mut state = (network, memory);
    let mut loss = step.call(&mut state, &batch);
    let first = loss.item();
    let mut counts = Vec::new();
    while counts.len() < 20 && !counts.ends_with(&[0, 0, 0]) {
        let before = ALLOCATOR.count();
        step.call_into(&mut state, &batch, &mut loss);
        counts.push(ALLOCATOR.count() - before);
    }
    assert!(counts.ends_with(&[0, 0, 0]), "allocations of each step: {counts:?}\n{}", step.plan(&state, &batch));
    assert!(loss.item() < first, "it learns");
}

#[test]
fn a_warm_compiled_step_allocates_nothing() {
    let _turn = turn();
    allocates_nothing(Sgd::new(0.05).momentum(0.9));
    allocates_nothing(AdamW::new(1e-3).schedule(Schedule::cosine(100).warm_up(10)).clip_norm(1.0));
}
