//! A small causal transformer.

use super::{Argument, Optimiser, Parameter, Size, Workload, linear, parameters};
use wengert::nn::{Context, Layer, LayerNorm, Linear, MultiHeadAttention, TransformerBlock};
use wengert::prelude::*;

/// Parameters of one block: two norms, and four linear maps.
const PER_BLOCK: usize = 12;

pub fn gpt(size: Size) -> Workload {
    let (width, blocks) = (size.or_large(256, 32, 768), size.or_large(4, 2, 12));
    let (batch, tokens) = (size.of(8, 2), size.or_large(128, 8, 1024));
    let vocabulary = size.or_large(96, 96, 50304);
    let norm = || [true, false].map(|is_gain| Parameter { shape: vec![width], is_gain });
    let mut list = parameters(&[&[vocabulary, width], &[tokens, width]]);
    for _ in 0..blocks {
        list.extend(norm());
        list.extend(norm());
        for (outputs, inputs) in [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)] {
            list.extend(parameters(&[&[outputs, inputs], &[outputs]]));
        }
    }
    list.extend(norm());
    list.extend(parameters(&[&[vocabulary, width]]));
    Workload {
        name: "gpt",
        parameters: list,
        arguments: (0..2).map(|_| Argument::Whole(vec![batch, tokens], vocabulary as i64)).collect(),
        loss,
        optimiser: Optimiser::AdamW,
    }
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let context = &mut Context::evaluation();
    let (vocabulary, width) = (p[0].size(0), p[0].size(1));
    // As many as in GPT-2 at its width.
    let heads = if width == 768 { 12 } else { 8 };
    let norm = |p: &[Tensor]| LayerNorm::of(p[0].clone(), p[1].clone());
    let mut x = p[0].embedding(&data[0]) + &p[1];
    for p in p[2..p.len() - 3].chunks_exact(PER_BLOCK) {
        let attention = MultiHeadAttention::of(p[4].clone(), p[5].clone(), linear(&p[6..]), heads).causal();
        let block = TransformerBlock::of(attention, [linear(&p[8..]), linear(&p[10..])], [norm(p), norm(&p[2..])]);
        x = block.forward(&x, context);
    }
    let end = &p[p.len() - 3..];
    let output = (norm(end), Linear { weight: end[2].clone(), bias: None });
    let rows = data[1].elements();
    let logits = output.forward(&x, context).reshape([rows, vocabulary]);
    logits.cross_entropy(&data[1].reshape([rows]), &CrossEntropy::new())
}
