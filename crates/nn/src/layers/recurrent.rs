//! Recurrent networks over `[time, batch, inputs]`.
//!
//! A cell maps the gates' inputs and the state to the next state; stacking, directions and weights are the same for all cells. Names and
//! the order of gates are PyTorch's.

use crate::loss::shape_error;
use crate::prelude::*;
use crate::{Context, Dropout, Layer, init};
use std::fmt::Debug;

/// The weights of one direction of one layer; rows are the gates one after the other.
#[derive(Clone, Debug)]
struct Direction {
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Option<Tensor>,
    bias_hh: Option<Tensor>,
}

impl Direction {
    fn new(inputs: usize, hidden: usize, gates: usize, key: &mut Key) -> Direction {
        let mut draw = |shape: &[usize]| init::usual(shape, hidden, key);
        let rows = gates * hidden;
        Direction {
            weight_ih: draw(&[rows, inputs]),
            weight_hh: draw(&[rows, hidden]),
            bias_ih: Some(draw(&[rows])),
            bias_hh: Some(draw(&[rows])),
        }
    }

    fn gates_of_input(&self, x: &Tensor) -> Tensor {
        product(x, &self.weight_ih, self.bias_ih.as_ref())
    }

    fn gates_of_state(&self, h: &Tensor) -> Tensor {
        product(h, &self.weight_hh, self.bias_hh.as_ref())
    }
}

fn product(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    match bias {
        Some(bias) => x.linear_bias(weight, bias),
        None => x.linear(weight),
    }
}

/// The weights of all layers and directions, named as in PyTorch: `weight_ih_l0`, `bias_hh_l1_reverse`.
#[derive(Clone, Debug)]
struct Weights {
    directions: Vec<Direction>,
    is_bidirectional: bool,
}

impl Weights {
    /// `_l1_reverse` for the second direction of the second layer.
    fn suffix(&self, index: usize) -> String {
        match self.is_bidirectional {
            true => format!("_l{}{}", index / 2, if index % 2 == 1 { "_reverse" } else { "" }),
            false => format!("_l{index}"),
        }
    }
}

macro_rules! fields {
    ($direction:expr, $borrow:tt $(, $mutable:tt)?) => {
        [
            ("weight_ih", Some($borrow $($mutable)? $direction.weight_ih)),
            ("weight_hh", Some($borrow $($mutable)? $direction.weight_hh)),
            ("bias_ih", fields!(@option $direction.bias_ih $(, $mutable)?)),
            ("bias_hh", fields!(@option $direction.bias_hh $(, $mutable)?)),
        ]
    };
    (@option $option:expr) => { $option.as_ref() };
    (@option $option:expr, mut) => { $option.as_mut() };
}

impl Tree for Weights {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        for (index, direction) in self.directions.iter().enumerate() {
            let suffix = self.suffix(index);
            for (name, leaf) in fields!(direction, &) {
                leaf.into_iter().for_each(|leaf| path.within((name, &suffix), |path| f(path, leaf)));
            }
        }
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        let suffixes: Vec<String> = (0..self.directions.len()).map(|index| self.suffix(index)).collect();
        for (direction, suffix) in self.directions.iter_mut().zip(&suffixes) {
            for (name, leaf) in fields!(direction, &, mut) {
                leaf.into_iter().for_each(|leaf| path.within((name, suffix), |path| f(path, leaf)));
            }
        }
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        let mapped = |(index, direction): (usize, &Direction)| {
            let suffix = self.suffix(index);
            let mut map = |name: &str, leaf: &Tensor| path.within((name, &suffix), |path| f(path, leaf));
            Direction {
                weight_ih: map("weight_ih", &direction.weight_ih),
                weight_hh: map("weight_hh", &direction.weight_hh),
                bias_ih: direction.bias_ih.as_ref().map(|leaf| map("bias_ih", leaf)),
                bias_hh: direction.bias_hh.as_ref().map(|leaf| map("bias_hh", leaf)),
            }
        };
        let directions = self.directions.iter().enumerate().map(mapped).collect();
        Weights { directions, is_bidirectional: self.is_bidirectional }
    }
}

/// The recurrence of a cell.
pub trait Cell: Clone + Debug + Default + Send + Sync + 'static {
    /// The number of gates, each with a row of weights for each hidden unit.
    const GATES: usize;
    /// The state: the hidden units, and what the cell keeps besides.
    type State: Tree + Clone;

    /// A state of zeros like this tensor `[batch, hidden]`.
    fn start(zeros: Tensor) -> Self::State;
    /// The hidden units of a state.
    fn hidden(state: &Self::State) -> &Tensor;
    /// The next state from the gates' inputs, `W_ih x + b_ih` and `W_hh h + b_hh`, both `[batch, GATES * hidden]`.
    fn step(x: Tensor, h: Tensor, state: &Self::State) -> Self::State;
}

/// Part `k` of `count` equal parts of the last axis.
fn gate(gates: &Tensor, k: usize, count: usize) -> Tensor {
    let size = gates.size(-1) / count;
    gates.slice((Ellipsis, k * size..(k + 1) * size))
}

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh).
#[derive(Clone, Debug, Default)]
pub struct RnnCell;

impl Cell for RnnCell {
    const GATES: usize = 1;
    type State = Tensor;

    fn start(zeros: Tensor) -> Tensor {
        zeros
    }

    fn hidden(state: &Tensor) -> &Tensor {
        state
    }

    fn step(x: Tensor, h: Tensor, _: &Tensor) -> Tensor {
        (x + h).tanh()
    }
}

/// Reset gate r, update gate z and candidate n: h' = (1 - z) n + z h with n = tanh(x_n + r h_n).
#[derive(Clone, Debug, Default)]
pub struct GruCell;

impl Cell for GruCell {
    const GATES: usize = 3;
    type State = Tensor;

    fn start(zeros: Tensor) -> Tensor {
        zeros
    }

    fn hidden(state: &Tensor) -> &Tensor {
        state
    }

    fn step(x: Tensor, h: Tensor, state: &Tensor) -> Tensor {
        let [r, z] = [0, 1].map(|k| (gate(&x, k, 3) + gate(&h, k, 3)).sigmoid());
        let n = (gate(&x, 2, 3) + r * gate(&h, 2, 3)).tanh();
        &n + z * (state - &n)
    }
}

/// Gates i, f, g and o: c' = f c + i g, h' = o tanh c'. The state is (h, c).
#[derive(Clone, Debug, Default)]
pub struct LstmCell;

impl Cell for LstmCell {
    const GATES: usize = 4;
    type State = (Tensor, Tensor);

    fn start(zeros: Tensor) -> (Tensor, Tensor) {
        (zeros.clone(), zeros)
    }

    fn hidden((h, _): &(Tensor, Tensor)) -> &Tensor {
        h
    }

    fn step(x: Tensor, h: Tensor, (_, c): &(Tensor, Tensor)) -> (Tensor, Tensor) {
        let gates = x + h;
        let [i, f, o] = [0, 1, 3].map(|k| gate(&gates, k, 4).sigmoid());
        let c = f * c + i * gate(&gates, 2, 4).tanh();
        (o * c.tanh(), c)
    }
}

/// Elman's network.
///
/// ```
/// use wengert::nn::{Context, Layer, Rnn};
/// use wengert::prelude::*;
/// let layer = Rnn::new(3, 5, &mut Key::new(0));
/// assert_eq!(layer.forward(&Tensor::ones([7, 2, 3]), &mut Context::evaluation()).shape(), [7, 2, 5]);
/// ```
pub type Rnn = Recurrent<RnnCell>;
/// A network of gated recurrent units.
pub type Gru = Recurrent<GruCell>;
/// A network of long short-term memory.
///
/// ```
/// use wengert::nn::{Context, Lstm};
/// use wengert::prelude::*;
/// let layer = Lstm::stacked(3, 5, 2, true, &mut Key::new(0));
/// let (y, states) = layer.run(&Tensor::ones([7, 2, 3]), None, &mut Context::evaluation());
/// assert_eq!(y.shape(), [7, 2, 10]);
/// assert_eq!(states.len(), 4); // two layers, two directions
/// ```
pub type Lstm = Recurrent<LstmCell>;

/// Layers of a recurrent cell, in one or both directions. See [`Rnn`], [`Gru`] and [`Lstm`].
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Recurrent<C: Cell> {
    #[tree(flatten)]
    weights: Weights,
    #[tree(static)]
    dropout: f64,
    #[tree(static)]
    cell: C,
}

impl<C: Cell> Recurrent<C> {
    /// One layer in one direction.
    pub fn new(inputs: usize, hidden: usize, key: &mut Key) -> Recurrent<C> {
        Recurrent::stacked(inputs, hidden, 1, false, key)
    }

    /// Several layers, each on the outputs of the one before; in both directions the outputs of the two lie side by side.
    ///
    /// # Panics
    /// If there is no layer.
    #[track_caller]
    pub fn stacked(inputs: usize, hidden: usize, layers: usize, is_bidirectional: bool, key: &mut Key) -> Recurrent<C> {
        if layers == 0 {
            Error::new(ErrorKind::Argument, "Recurrent", "a network of 0 layers").at(Line::caller()).raise();
        }
        let count = if is_bidirectional { 2 } else { 1 };
        let direction = |index: usize| {
            let inputs = if index < count { inputs } else { count * hidden };
            Direction::new(inputs, hidden, C::GATES, key)
        };
        let directions = (0..layers * count).map(direction).collect();
        Recurrent { weights: Weights { directions, is_bidirectional }, dropout: 0.0, cell: C::default() }
    }

    /// One layer in one direction, with these parameters.
    ///
    /// # Panics
    /// If their shapes are not those of the gates of this cell.
    #[track_caller]
    pub fn of(weight_ih: Tensor, weight_hh: Tensor, bias_ih: Option<Tensor>, bias_hh: Option<Tensor>) -> Recurrent<C> {
        let rows = weight_ih.shape().first().copied().unwrap_or(0);
        let hidden = rows / C::GATES;
        let fits = weight_ih.rank() == 2
            && weight_hh.shape() == [C::GATES * hidden, hidden]
            && rows == C::GATES * hidden
            && [&bias_ih, &bias_hh].into_iter().flatten().all(|bias| bias.shape() == [rows]);
        if !fits {
            let biases = [("bias_ih", &bias_ih), ("bias_hh", &bias_hh)];
            let biases = biases.into_iter().filter_map(|(name, bias)| bias.as_ref().map(|bias| (name, bias)));
            let all = [("weight_ih", &weight_ih), ("weight_hh", &weight_hh)].into_iter().chain(biases);
            let gates = C::GATES;
            let help = format!("they are [{gates} hidden, inputs], [{gates} hidden, hidden] and [{gates} hidden]");
            shape_error("Recurrent", &all.collect::<Vec<_>>(), &help).at(Line::caller()).raise();
        }
        let directions = vec![Direction { weight_ih, weight_hh, bias_ih, bias_hh }];
        Recurrent { weights: Weights { directions, is_bidirectional: false }, dropout: 0.0, cell: C::default() }
    }

    /// Dropout between layers, in training.
    ///
    /// # Panics
    /// If the probability is not between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn dropout(self, p: f64) -> Recurrent<C> {
        Recurrent { dropout: Dropout::new(p).probability(), ..self }
    }

    /// With one bias for each gate, that of the inputs.
    #[must_use]
    pub fn with_one_bias(mut self) -> Recurrent<C> {
        self.weights.directions.iter_mut().for_each(|direction| direction.bias_hh = None);
        self
    }

    /// The outputs `[time, batch, directions * hidden]` and the last state of each direction of each layer, from these states or zeros.
    #[track_caller]
    pub fn run(&self, x: &Tensor, states: Option<&[C::State]>, context: &mut Context<'_>) -> (Tensor, Vec<C::State>) {
        let mut last = Vec::new();
        let y = context.run(self, |context| {
            self.expect_states(states.map(<[_]>::len));
            let count = if self.weights.is_bidirectional { 2 } else { 1 };
            let mut x = x.clone();
            for (layer, directions) in self.weights.directions.chunks(count).enumerate() {
                if layer > 0 && self.dropout > 0.0 && context.is_training() {
                    x = x.dropout(self.dropout, &context.key());
                }
                let outputs: Vec<Tensor> = directions
                    .iter()
                    .enumerate()
                    .map(|(k, direction)| {
                        let state = states.map(|states| states[layer * count + k].clone());
                        let state = state.unwrap_or_else(|| self.zeros(&x));
                        let step = |state: &C::State, x: &Tensor| {
                            let next = self.next(direction, state, x);
                            let output = C::hidden(&next).clone();
                            (next, output)
                        };
                        let (end, output) =
                            if k == 0 { scan(step, &state, &x) } else { scan_reverse(step, &state, &x) };
                        last.push(end);
                        output
                    })
                    .collect();
                x = match &outputs[..] {
                    [one] => one.clone(),
                    both => Tensor::concat(&both.iter().collect::<Vec<_>>(), -1),
                };
            }
            x
        });
        (y, last)
    }

    /// The hidden units after the last step of a network of one layer and direction: [`run`](Recurrent::run) without the other outputs.
    #[track_caller]
    pub fn last(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        let [direction] = &self.weights.directions[..] else {
            let (_, states) = self.run(x, None, context);
            return C::hidden(states.last().expect("at least one layer")).clone();
        };
        context.run(self, |_| {
            let step = |state: &C::State, x: &Tensor| (self.next(direction, state, x), ());
            let (end, ()) = scan(step, &self.zeros(x), x);
            C::hidden(&end).clone()
        })
    }

    fn next(&self, direction: &Direction, state: &C::State, x: &Tensor) -> C::State {
        C::step(direction.gates_of_input(x), direction.gates_of_state(C::hidden(state)), state)
    }

    fn zeros(&self, x: &Tensor) -> C::State {
        if x.rank() != 3 {
            let shape = Shape::from(x.shape());
            let message = format!("the input {shape} is not [time, batch, inputs]");
            Error::new(ErrorKind::Shape(vec![shape]), "scan", message).raise();
        }
        let hidden = self.weights.directions[0].weight_hh.size(1);
        C::start(Tensor::zeros_of([x.size(1), hidden], x.dtype()))
    }

    fn expect_states(&self, given: Option<usize>) {
        let wanted = self.weights.directions.len();
        if let Some(given) = given.filter(|given| *given != wanted) {
            let message = format!("{given} states are given, but there are {wanted} layers times directions");
            Error::new(ErrorKind::Argument, "run", message).raise();
        }
    }
}

/// The outputs of all steps.
impl<C: Cell> Layer for Recurrent<C> {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        self.run(x, None, context).0
    }
}
