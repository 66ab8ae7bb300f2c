//! Small graphs to draw.

use wengert::prelude::*;
use wengert_view::{Graph, graph, plan, program};

/// The tape of x1 x2 + sin x1 at (2, 3), with all values.
pub fn classic() -> Graph {
    let (x1, x2) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    let y = record_values(|| {
        let y = &x1 * &x2 + x1.sin();
        y.backward_with(Backward::new().retain_graph());
        y
    });
    let tape = Tape::of(&y);
    graph(&tape).named(&tape, [("x1", &x1), ("x2", &x2)]).titled("y = x1 x2 + sin x1")
}

/// The loss of a network of two layers.
fn loss((weights, x, y): &([Tensor; 4], Tensor, Tensor)) -> Tensor {
    let [w1, b1, w2, b2] = weights;
    let hidden = (x.matmul(w1) + b1).tanh();
    let prediction = hidden.matmul(w2) + b2;
    (prediction - y).square().mean()
}

fn network() -> ([Tensor; 4], Tensor, Tensor) {
    let numbers = |count: usize, sizes: &[usize]| Tensor::linspace(-1.0, 1.0, count).reshape(sizes.to_vec());
    let weights = [numbers(24, &[3, 8]), numbers(8, &[8]), numbers(8, &[8, 1]), Tensor::zeros([1])];
    (weights, numbers(48, &[16, 3]), numbers(16, &[16, 1]))
}

/// The tape of a network, with all values.
pub fn network_tape() -> Graph {
    let (weights, x, y) = network();
    let weights = weights.map(|weight| weight.require_grad());
    let loss = record_values(|| {
        let loss = loss(&(weights.clone(), x, y));
        loss.backward_with(Backward::new().retain_graph());
        loss
    });
    let tape = Tape::of(&loss);
    graph(&tape).named(&tape, ["w1", "b1", "w2", "b2"].into_iter().zip(&weights)).titled("Two layers")
}

/// The gradient of a network as a program, and its plan.
pub fn network_program() -> (Graph, Graph) {
    let gradient = compile(value_and_grad(loss));
    (program(&gradient.program(&network())), plan(&gradient.plan(&network())))
}

/// A program with a loop and a branch.
pub fn control_flow() -> Graph {
    let f = |(w, x): &(Tensor, Tensor)| {
        let step = |state: &Tensor, x: &Tensor| ((state * w + x).tanh(), state * 2.0);
        let (last, all) = scan(step, &Tensor::from(0.0), x);
        cond(&last.gt(0.0), |all: &Tensor| all.sum(), |all: &Tensor| all.square().sum(), &all)
    };
    let text = compile(f).program(&(Tensor::from(0.5), Tensor::from([1.0, 2.0, 3.0])));
    program(&text).titled("A loop and a branch")
}
