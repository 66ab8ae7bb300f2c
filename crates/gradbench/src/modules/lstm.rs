//! lstm - the loss of a recurrent network that predicts the next row of a sequence; all its weights are diagonal.
//!
//! A layer with input x, hidden state h and cell c: f = s(x w_f + b_f), i = s(h w_i + b_i), o = s(x w_o + b_o), g = tanh(h w_g + b_g), with
//! s the logistic function; c = c f + i g and h = o tanh c, which is the next layer's input.

use super::{Module, Workload, by_product};
use crate::matrix::Matrix;
use crate::run::{Input, ensure, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::scalar::{Real, gradient};

pub static MODULE: Module = Module {
    name: "lstm",
    functions: &[("objective", |input| repeated(input, objective)), ("jacobian", |input| repeated(input, jacobian))],
    primal: Some("objective"),
    workloads,
};

#[derive(Deserialize)]
struct Fields {
    main_params: Matrix,
    extra_params: Matrix,
    state: Matrix,
    sequence: Matrix,
}

struct Problem {
    /// The number of elements in a row.
    width: usize,
    /// For each layer, the weights of its four gates and their biases; then the input weights, the output weights and the output biases.
    parameters: Vec<f64>,
    /// For each layer its hidden state and its cell.
    state: Vec<f64>,
    sequence: Vec<f64>,
}

impl Input for Problem {
    type Fields = Fields;

    fn check(fields: Fields) -> Result<Problem, String> {
        let Fields { main_params, extra_params, state, sequence } = fields;
        let ((length, width), (rows, _)) = (sequence.size(), main_params.size());
        ensure(length >= 2, "sequence must have at least 2 rows")?;
        ensure_some("the width of sequence", width)?;
        ensure(rows > 0 && rows % 2 == 0, "main_params must have two rows for each layer")?;
        let main = main_params.into_numbers("main_params", (rows, 4 * width))?;
        let extra = extra_params.into_numbers("extra_params", (3, width))?;
        let state = state.into_numbers("state", (rows, width))?;
        let sequence = sequence.into_numbers("sequence", (length, width))?;
        Ok(Problem { width, parameters: [main, extra].concat(), state, sequence })
    }
}

/// One step of a layer: updates its state, and replaces its input by its output.
fn advance<T: Real>(layer: &[T], state: &mut [T], x: &mut [T]) {
    let width = x.len();
    let (hidden, cell) = state.split_at_mut(width);
    for j in 0..width {
        let gate = |number: usize, input: T| input.mul_add(layer[number * width + j], layer[(4 + number) * width + j]);
        let forget = gate(0, x[j]).sigmoid();
        let ingate = gate(1, hidden[j]).sigmoid();
        let outgate = gate(2, x[j]).sigmoid();
        let change = gate(3, hidden[j]).tanh();
        cell[j] = cell[j].mul_add(forget, ingate * change);
        hidden[j] = outgate * cell[j].tanh();
        x[j] = hidden[j];
    }
}

fn loss<T: Real>(problem: &Problem, parameters: &[T]) -> T {
    let width = problem.width;
    let (layers, extra) = parameters.split_at(parameters.len() - 3 * width);
    let (in_weight, rest) = extra.split_at(width);
    let (out_weight, out_bias) = rest.split_at(width);
    let mut state: Vec<T> = problem.state.iter().map(|number| T::lit(*number)).collect();
    let (mut x, mut powers) = (vec![T::lit(0.0); width], vec![T::lit(0.0); width]);
    let mut total = T::lit(0.0);
    let rows = || problem.sequence.chunks_exact(width);
    for (row, next) in rows().zip(rows().skip(1)) {
        (0..width).for_each(|j| x[j] = in_weight[j] * T::lit(row[j]));
        for (layer, state) in layers.chunks_exact(8 * width).zip(state.chunks_exact_mut(2 * width)) {
            advance(layer, state, &mut x);
        }
        (0..width).for_each(|j| x[j] = x[j].mul_add(out_weight[j], out_bias[j]));
        (0..width).for_each(|j| powers[j] = x[j].exp());
        let normaliser = (T::sum_of(&powers) + T::lit(2.0)).ln();
        (0..width).for_each(|j| powers[j] = T::lit(next[j]));
        total += T::dot(&powers, &x) - normaliser * T::lit(next.iter().sum());
    }
    -total / T::lit((problem.sequence.len() - width) as f64)
}

fn objective(problem: &Problem) -> f64 {
    loss(problem, &problem.parameters)
}

fn jacobian(problem: &Problem) -> Vec<f64> {
    let mut slopes = vec![0.0; problem.parameters.len()];
    gradient(|parameters| loss(problem, parameters), &problem.parameters, &mut slopes);
    slopes
}

fn workloads() -> Vec<Workload> {
    let width = 14;
    let one = |(layers, length): (usize, usize)| {
        Workload::new(format!("l={layers},c={length}"), move |random| {
            // Characters of an ASCII text, most significant bit first.
            let bits = |code: usize| (0..width).map(|j| (code >> (width - 1 - j) & 1) as f64).collect::<Vec<f64>>();
            let sequence: Vec<_> = (0..length).map(|_| bits(32 + random.below(91))).collect();
            json!({
                "main_params": random.uniform_rows(2 * layers, 4 * width), "extra_params": random.uniform_rows(3, width),
                "state": random.uniform_rows(2 * layers, width), "sequence": sequence,
            })
        })
    };
    by_product([2, 4, 6], [1024, 4096, 8192]).into_iter().map(one).collect()
}
