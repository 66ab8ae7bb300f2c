//! The cost of layers and optimisers: the same training step with `wengert::nn` and without, side by side.

use crate::timing::medians;
use wengert::fused::*;
use wengert::nn::optimise::{Optimiser, Sgd};
use wengert::nn::{Context, Layer, Linear, ModelMethods, Relu};
use wengert::prelude::*;

const RATE: f64 = 1e-3;

type Model = (Linear, Relu, Linear, Relu, Linear);

/// Perceptrons from one where layers matter to one where they cannot.
pub fn run(json: bool) {
    for (width, batch) in [(32, 16), (128, 64), (512, 128)] {
        let [with, without] = step(width, batch);
        match json {
            true => println!(
                r#"{{"bench":"layers","width":{width},"batch":{batch},"with_us":{with:.3},"without_us":{without:.3},"ratio":{:.4}}}"#,
                with / without
            ),
            false => println!(
                "width {width:4}, batch {batch:4}: {with:9.2} us with layers, {without:9.2} without: {:.3}",
                with / without
            ),
        }
    }
}

/// The microseconds of an eager step with layers and without.
fn step(width: usize, batch: usize) -> [f64; 2] {
    let key = &mut Key::new(0);
    let model: Model = default_dtype(DType::F32, || {
        (Linear::new(10, width, key), Relu, Linear::new(width, width, key), Relu, Linear::new(width, 1, key))
    });
    let (x, y) = (Tensor::randn([batch, 10], 1).f32(), Tensor::randn([batch, 1], 2).f32());

    let mut parameters: Vec<Tensor> = model.leaves().into_iter().map(|leaf| leaf.detach().require_grad()).collect();
    let mut without = || {
        let p = &parameters;
        let h = x.linear_bias(&p[0], &p[1]).relu();
        let h = h.linear_bias(&p[2], &p[3]).relu();
        (h.linear_bias(&p[4], &p[5]) - &y).square().mean().backward();
        no_grad(|| {
            for parameter in &mut parameters {
                let gradient = parameter.take_grad().expect("it is used");
                parameter.combine_assign(1.0, &gradient, -RATE);
            }
        });
    };
    let mut model = model.require_grad();
    let optimiser = Sgd::new(RATE);
    let mut memory = optimiser.start(&model);
    let mut with = || {
        (model.forward(&x, &mut Context::evaluation()) - &y).square().mean().backward();
        optimiser.step(&mut model, &mut memory);
    };
    // Both sides take many steps in a turn, so that neither is measured with the other's data in the caches.
    let many = 2000 * 32 * 16 / (width * batch).max(512);
    let mut with = || (0..many).for_each(|_| with());
    let mut without = || (0..many).for_each(|_| without());
    medians([&mut with, &mut without]).map(|seconds| seconds * 1e6 / many as f64)
}
