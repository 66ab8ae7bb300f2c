//! Loops of compiled programs: what moves out of them, and that nothing else changes.

use wengert::prelude::*;
use wengert::program::{Equation, ProgramAttrs};

fn wave(shape: &[usize], phase: f64) -> Tensor {
    let count = shape.iter().product::<usize>();
    let numbers: Vec<f64> = (0..count).map(|i| 0.4 * (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

fn is_product(equation: &Equation) -> bool {
    matches!(equation.op.name(), "matmul" | "linear")
}

/// The number of products outside loops, and in the body of each loop.
fn products(program: &Program) -> (usize, Vec<usize>) {
    let count = |program: &Program| program.equations().iter().filter(|equation| is_product(equation)).count();
    let bodies = program.equations().iter().flat_map(|equation| equation.attrs.bodies());
    (count(program), bodies.map(|(_, body)| count(body)).collect())
}

/// Both programs give the same results.
fn agree(before: &Program, after: &Program, inputs: &[Tensor]) {
    let (right, got) = (before.evaluate(inputs).unwrap(), after.evaluate(inputs).unwrap());
    for (got, right) in got.iter().zip(&right) {
        assert!(got.all_close(right, 1e-12), "{got} is not {right}\n{before}{after}");
    }
}

fn leaves(x: &impl Tree) -> Vec<Tensor> {
    x.leaves().into_iter().cloned().collect()
}

type Weights = Vec<Tensor>;

fn weights() -> Weights {
    vec![wave(&[12, 6], 0.1), wave(&[12], 0.2), wave(&[12, 12], 0.3), wave(&[5, 12], 0.4), wave(&[5], 0.5)]
}

/// A recurrent network with a loss on its last state.
fn recurrent(w: &Weights, x: &Tensor, backwards: bool) -> Tensor {
    let step = |h: &Tensor, x: &Tensor| ((x.linear_bias(&w[0], &w[1]) + h.linear(&w[2])).tanh(), ());
    let first = Tensor::zeros([4, 12]);
    let (h, ()) = if backwards { scan_reverse(step, &first, x) } else { scan(step, &first, x) };
    let labels = Tensor::from([0i64, 3, 1, 4]);
    h.linear_bias(&w[3], &w[4]).cross_entropy(&labels, &CrossEntropy::new())
}

#[test]
fn a_recurrent_network_has_one_product_in_each_loop() {
    for backwards in [false, true] {
        let step = move |(w, x): &(Weights, Tensor)| value_and_grad(|w: &Weights| recurrent(w, x, backwards))(w);
        let inputs = (weights(), wave(&[7, 4, 6], 0.6));
        let program = compile(step).program(&inputs);
        let optimised = program.optimised();
        agree(&program, &optimised, &leaves(&inputs));
        assert_eq!(products(&program), (3, vec![2, 3]), "{program}");
        // Outside: the input of all steps, the last layer, its two gradients, and two gradients of weights.
        assert_eq!(products(&optimised), (6, vec![1, 1]), "{optimised}");
        let loops: Vec<_> = optimised.equations().iter().filter(|equation| equation.op.name() == "scan").collect();
        assert!(loops.iter().all(|scan| scan.attrs.int("carry") == 1), "only the state is carried\n{optimised}");
        assert_eq!(optimised.optimised().to_string(), optimised.to_string());
        let (value, gradients) = compile(step).call(&inputs);
        let (right, slopes) = step(&inputs);
        assert!(value.all_close(&right, 1e-12));
        gradients.iter().zip(&slopes).for_each(|(got, right)| assert!(got.all_close(right, 1e-12)));
    }
}
