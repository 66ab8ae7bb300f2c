//! lstm - the loss of a recurrent network that predicts the next row of a sequence; all its weights are diagonal.
//!
//! A layer with input x, hidden state h and cell c: f = s(x w_f + b_f), i = s(h w_i + b_i), o = s(x w_o + b_o), g = tanh(h w_g + b_g), with
//! s the logistic function; c = c f + i g and h = o tanh c, which is the next layer's input.

use super::{Module, Workload, by_product};
use crate::matrix::Matrix;
use crate::run::{Input, ensure, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use std::cell::RefCell;
use wengert::scalar::{Items, Real, Replay, Symbol};

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
    /// Numbers of a row.
    width: usize,
    /// For each layer the weights of its four gates and their biases; then weights of the input, of the output, biases of the output.
    parameters: Vec<f64>,
    /// For each layer its hidden state and its cell; then the sum of the losses so far.
    state: Vec<f64>,
    /// Every row and the one behind it.
    pairs: Vec<f64>,
    /// One row: from state, parameters and a pair to the next state.
    step: RefCell<Replay<Step>>,
}

type Step = Box<dyn Fn(&[Symbol]) -> Vec<Symbol>>;

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
        let state = [state.into_numbers("state", (rows, width))?, vec![0.0]].concat();
        let sequence = sequence.into_numbers("sequence", (length, width))?;
        let pairs = sequence.windows(2 * width).step_by(width).flatten().copied().collect::<Vec<f64>>();
        let parameters = [main, extra].concat();
        let (states, first) = (state.len(), [&state, &parameters, &pairs[..2 * width]].map(|part| &part[..]).concat());
        let step: Step = Box::new(move |inputs| {
            let (state, rest) = inputs.split_at(states);
            let (parameters, pair) = rest.split_at(rest.len() - 2 * width);
            let mut state = state.to_vec();
            predict(parameters, &mut state, pair);
            state
        });
        Ok(Problem { width, parameters, state, pairs, step: RefCell::new(Replay::record(step, &first)) })
    }
}

/// One step of a layer: its state is updated, and its input replaced by its output.
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

/// Predicts a row from the one before: layers advance, and the loss grows.
fn predict<T: Real>(parameters: &[T], state: &mut [T], pair: &[T]) {
    let (row, next) = pair.split_at(pair.len() / 2);
    let width = row.len();
    let (layers, extra) = parameters.split_at(parameters.len() - 3 * width);
    let (in_weight, rest) = extra.split_at(width);
    let (out_weight, out_bias) = rest.split_at(width);
    let [layer_states @ .., total] = state else { unreachable!("the sum of the losses is part of the state") };
    let mut x: Vec<T> = in_weight.iter().zip(row).map(|(weight, x)| *weight * *x).collect();
    for (layer, state) in layers.chunks_exact(8 * width).zip(layer_states.chunks_exact_mut(2 * width)) {
        advance(layer, state, &mut x);
    }
    (0..width).for_each(|j| x[j] = x[j].mul_add(out_weight[j], out_bias[j]));
    let powers: Vec<T> = x.iter().map(|x| x.exp()).collect();
    let normaliser = (T::sum_of(&powers) + T::lit(2.0)).ln();
    *total += T::dot(next, &x) - normaliser * T::sum_of(next);
}

impl Problem {
    /// What the sum of the losses is multiplied by.
    fn weight(&self) -> f64 {
        -2.0 / self.pairs.len() as f64
    }
}

fn objective(problem: &Problem) -> f64 {
    let mut state = problem.state.clone();
    problem.pairs.chunks_exact(2 * problem.width).for_each(|pair| predict(&problem.parameters, &mut state, pair));
    problem.weight() * state[state.len() - 1]
}

fn jacobian(problem: &Problem) -> Vec<f64> {
    let Problem { width, parameters, state, pairs, step } = problem;
    let (mut state, mut slopes, mut seeds) = (state.clone(), vec![0.0; parameters.len()], vec![0.0; state.len()]);
    *seeds.last_mut().expect("the sum of the losses is part of the state") = problem.weight();
    let pairs = Items::of(pairs, 2 * width);
    step.borrow_mut().fold_over_and_pull(parameters, &pairs, &mut state, &mut seeds, &mut slopes);
    slopes
}

fn workloads() -> Vec<Workload> {
    let width = 14;
    let one = |(layers, length): (usize, usize)| {
        Workload::new(format!("l={layers},c={length}"), move |random| {
            // Characters of a text in ASCII, the most significant bit first.
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
