//! A small causal transformer.

use super::{Argument, Optimiser, Parameter, Workload, parameters};
use wengert::prelude::*;

const VOCABULARY: usize = 96;
const WIDTH: usize = 256;
const BLOCKS: usize = 4;
const HEADS: usize = 8;
const BATCH: usize = 8;
const TOKENS: usize = 128;

/// Parameters of one block: two norms, and four linear maps.
const PER_BLOCK: usize = 12;

pub fn gpt() -> Workload {
    let mut list = parameters(&[&[VOCABULARY, WIDTH], &[TOKENS, WIDTH]]);
    for _ in 0..BLOCKS {
        list.extend(norm());
        list.extend(norm());
        for (outputs, inputs) in [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)] {
            list.extend(parameters(&[&[outputs, inputs], &[outputs]]));
        }
    }
    list.extend(norm());
    list.extend(parameters(&[&[VOCABULARY, WIDTH]]));
    Workload {
        name: "gpt",
        parameters: list,
        arguments: &[Argument::Whole(&[BATCH, TOKENS], 96), Argument::Whole(&[BATCH, TOKENS], 96)],
        loss,
        optimiser: Optimiser::AdamW,
    }
}

fn norm() -> [Parameter; 2] {
    [true, false].map(|is_gain| Parameter { shape: vec![WIDTH], is_gain })
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let mut x = p[0].embedding(&data[0]) + &p[1];
    for block in p[2..].chunks_exact(PER_BLOCK).take(BLOCKS) {
        let [gain1, bias1, gain2, bias2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias] = block else {
            unreachable!("a block has {PER_BLOCK} parameters")
        };
        let h = x.layer_norm(&[WIDTH], &Norm::new().weight(gain1).bias(bias1)).linear_bias(qkv, qkv_bias);
        x += h.self_attention(HEADS, &Attention::new().causal()).linear_bias(out, out_bias);
        let h = x.layer_norm(&[WIDTH], &Norm::new().weight(gain2).bias(bias2)).linear_bias(up, up_bias);
        x += h.gelu_tanh().linear_bias(down, down_bias);
    }
    let [gain, bias, output] = &p[p.len() - 3..] else { unreachable!("the last three parameters") };
    let logits = x.layer_norm(&[WIDTH], &Norm::new().weight(gain).bias(bias)).linear(output);
    logits.reshape([BATCH * TOKENS, VOCABULARY]).cross_entropy(&data[1].reshape([BATCH * TOKENS]), &CrossEntropy::new())
}
