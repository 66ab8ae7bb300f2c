//! The values passed from the forward to the backward half of a program: as few bytes as possible.

use wengert::prelude::*;
use wengert::program::{Residual, Var, split};

fn wave(shape: &[usize], phase: f64) -> Tensor {
    let count = shape.iter().product::<usize>();
    let numbers: Vec<f64> = (0..count).map(|i| 0.4 * (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

const VIEWS: [&str; 4] = ["transpose", "reshape", "broadcast", "slice"];

/// The bytes of earlier values that gradients read and that are neither inputs nor results, not counting views: what is passed if nothing
/// is recomputed.
fn asked(joint: &Program, results: usize) -> usize {
    let given = &joint.inputs()[..joint.inputs().len() - 1];
    let mut late: Vec<Var> = joint.inputs()[given.len()..].to_vec();
    let mut asked: Vec<Var> = Vec::new();
    for equation in joint.equations() {
        if !equation.inputs.iter().any(|var| late.contains(var)) {
            continue;
        }
        late.extend(&equation.outputs);
        for var in equation.inputs.iter().filter(|var| !late.contains(var)) {
            let mut var = *var;
            while let Some(view) = joint.equations().iter().find(|equation| equation.outputs[0] == var) {
                if !VIEWS.contains(&view.op.name()) {
                    break;
                }
                var = view.inputs[0];
            }
            let is_constant = joint.captures().iter().any(|(constant, _)| *constant == var);
            if !is_constant && ![given, &joint.outputs()[..results], &asked[..]].concat().contains(&var) {
                asked.push(var);
            }
        }
    }
    asked.iter().map(|var| joint.spec(*var).bytes()).sum()
}

/// The bytes passed, without and with recomputation, for the gradients of `f` by a list of tensors; checks that the halves give the right
/// gradients.
fn bytes(f: impl Fn(&Vec<Tensor>) -> Tensor, inputs: Vec<Tensor>) -> (usize, usize) {
    let joint = |(x, dy): &(Vec<Tensor>, Tensor)| {
        let (y, pullback) = vjp(&f, x);
        (y, pullback.call(dy))
    };
    let dy = wave(f(&inputs).shape(), 0.7);
    let program = compile(joint).program(&(inputs.clone(), dy.clone()));
    let halves = split(&program, 1, 1);
    let forward = halves.forward.evaluate(&inputs).unwrap();
    let (mut crossing, mut given) = (0, Vec::new());
    for residual in &halves.residuals {
        match residual {
            Residual::Input(place) => given.push(inputs[*place].clone()),
            Residual::Output(place) => {
                crossing += if *place > 0 { forward[*place].spec().bytes() } else { 0 };
                given.push(forward[*place].clone());
            }
        }
    }
    given.push(dy.clone());
    let gradients = halves.backward.evaluate(&given).unwrap();
    for (got, right) in gradients.iter().zip(joint(&(inputs, dy)).1) {
        assert!(got.all_close(&right, 1e-13));
    }
    let heavy = |program: &Program, name: &str| program.equations().iter().filter(|e| e.op.name() == name).count();
    for name in ["matmul", "linear", "sum", "softmax", "uniform", "layer_norm"] {
        let both = heavy(&halves.forward, name) + heavy(&halves.backward, name);
        assert_eq!(both, heavy(&program, name), "{name} runs once");
    }
    (asked(&program, 1), crossing)
}

#[test]
fn a_perceptron_with_gelu_keeps_what_products_give() {
    let f = |p: &Vec<Tensor>| p[2].linear_bias(&p[0], &p[1]).gelu().linear(&p[3]).gelu().linear(&p[4]);
    let (x, w) = (wave(&[8, 16], 0.2), wave(&[32, 16], 0.1));
    let inputs = vec![w, wave(&[32], 0.3), x, wave(&[32, 32], 0.4), wave(&[4, 32], 0.5)];
    // Before and after each gelu; only before it.
    assert_eq!(bytes(f, inputs), (4 * 8 * 32 * 8, 2 * 8 * 32 * 8));
}

#[test]
fn a_lstm_cell_keeps_its_gates() {
    let f = |p: &Vec<Tensor>| {
        let gates = p[0].linear_bias(&p[2], &p[3]) + p[1].linear(&p[4]);
        let gate = |k: isize| gates.slice((.., k * 16..(k + 1) * 16));
        let c = gate(0).sigmoid() * &p[5] + gate(1).sigmoid() * gate(2).tanh();
        gate(3).sigmoid() * c.tanh()
    };
    let inputs = vec![
        wave(&[8, 12], 0.1),
        wave(&[8, 16], 0.2),
        wave(&[64, 12], 0.3),
        wave(&[64], 0.4),
        wave(&[64, 16], 0.5),
        wave(&[8, 16], 0.6),
    ];
    // Four gates and the tanh of the new cell; the last one is recomputed.
    assert_eq!(bytes(f, inputs), (5 * 8 * 16 * 8, 4 * 8 * 16 * 8));
}

#[test]
fn a_transformer_block_keeps_less() {
    let f = |p: &Vec<Tensor>| {
        let norm = |x: &Tensor| {
            let centred = x - x.mean_over(keepdim(-1));
            let scale = ((&centred * &centred).mean_over(keepdim(-1)) + 1e-5).rsqrt();
            centred * scale
        };
        let h = norm(&p[0]);
        let scores = h.linear(&p[1]).matmul(&h.linear(&p[2]).t()) * 0.25;
        let x = &p[0] + scores.softmax(-1).matmul(&h.linear(&p[3])).linear(&p[4]);
        &x + norm(&x).linear(&p[5]).gelu().linear(&p[6])
    };
    let w = |phase: f64| wave(&[16, 16], phase);
    let inputs = vec![wave(&[8, 16], 0.1), w(0.2), w(0.3), w(0.4), w(0.5), wave(&[64, 16], 0.6), wave(&[16, 64], 0.7)];
    assert_eq!(bytes(f, inputs), (17024, 9920));
}

#[test]
fn a_compiled_gate_is_computed_again_in_the_loop_that_needs_it() {
    // x W, times its own sigmoid, times V: the sigmoid is not saved for the backward pass.
    let f = |p: &Vec<Tensor>| {
        let h = p[0].matmul(&p[1]);
        (&h * h.sigmoid()).matmul(&p[2]).square().sum()
    };
    let inputs = vec![wave(&[64, 64], 0.1), wave(&[64, 64], 0.2), wave(&[64, 64], 0.3)];
    let program = compile(value_and_grad(f)).program(&inputs);
    let optimised = program.optimised();
    let count = |name: &str| optimised.equations().iter().filter(|equation| equation.op.name() == name).count();
    assert_eq!((count("sigmoid"), count("matmul")), (2, 6), "{optimised}");
    let (right, got) = (program.evaluate(&inputs).unwrap(), optimised.evaluate(&inputs).unwrap());
    right.iter().zip(&got).for_each(|(right, got)| assert!(got.all_close(right, 1e-12)));
    let (value, gradients) = compile(value_and_grad(f)).call(&inputs);
    assert!(value.all_close(&right[0], 1e-12));
    gradients.iter().zip(&right[1..]).for_each(|(got, right)| assert!(got.all_close(right, 1e-12)));
    let plan = optimised.plan();
    assert!(plan.to_string().contains("sigmoid, guarded_mul, guarded_mul, slope, add"), "{plan}");
    // The product, the output of the gate, and two cotangents; not the sigmoid.
    assert_eq!(plan.workspace_bytes(), 4 * 64 * 64 * 8);
}
