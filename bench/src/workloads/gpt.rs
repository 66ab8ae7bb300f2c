//! A small causal transformer.

use super::{Argument, Optimiser, Parameter, Size, Workload, parameters};
use wengert::prelude::*;

const VOCABULARY: usize = 96;
const HEADS: usize = 8;

/// Parameters of one block: two norms, and four linear maps.
const PER_BLOCK: usize = 12;

pub fn gpt(size: Size) -> Workload {
    let (width, blocks) = (size.of(256, 32), size.of(4, 2));
    let (batch, tokens) = (size.of(8, 2), size.of(128, 8));
    let norm = || [true, false].map(|is_gain| Parameter { shape: vec![width], is_gain });
    let mut list = parameters(&[&[VOCABULARY, width], &[tokens, width]]);
    for _ in 0..blocks {
        list.extend(norm());
        list.extend(norm());
        for (outputs, inputs) in [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)] {
            list.extend(parameters(&[&[outputs, inputs], &[outputs]]));
        }
    }
    list.extend(norm());
    list.extend(parameters(&[&[VOCABULARY, width]]));
    Workload {
        name: "gpt",
        parameters: list,
        arguments: (0..2).map(|_| Argument::Whole(vec![batch, tokens], VOCABULARY as i64)).collect(),
        loss,
        optimiser: Optimiser::AdamW,
    }
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let width = p[0].shape()[1];
    let mut x = p[0].embedding(&data[0]) + &p[1];
    for block in p[2..p.len() - 3].chunks_exact(PER_BLOCK) {
        let [gain1, bias1, gain2, bias2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias] = block else {
            unreachable!("a block has {PER_BLOCK} parameters")
        };
        let h = x.layer_norm(&[width], &Norm::new().weight(gain1).bias(bias1)).linear_bias(qkv, qkv_bias);
        x += h.self_attention(HEADS, &Attention::new().causal()).linear_bias(out, out_bias);
        let h = x.layer_norm(&[width], &Norm::new().weight(gain2).bias(bias2)).linear_bias(up, up_bias);
        x += h.gelu_tanh().linear_bias(down, down_bias);
    }
    let [gain, bias, output] = &p[p.len() - 3..] else { unreachable!("the last three parameters") };
    let rows = data[1].elements();
    let logits = x.layer_norm(&[width], &Norm::new().weight(gain).bias(bias)).linear(output);
    logits.reshape([rows, VOCABULARY]).cross_entropy(&data[1].reshape([rows]), &CrossEntropy::new())
}
