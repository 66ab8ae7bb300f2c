//! Random loops: a Rust loop, a scan and a compiled scan agree, including their gradients.

use super::Random;
use wengert::prelude::*;

/// One operation of a step, on values given by kind and number: matrices (2 x 3), square weights (3 x 3), one row (3).
#[derive(Clone, Copy, Debug)]
enum Step {
    Product(usize, usize),
    Bound(usize),
    Sum(usize, usize),
    Times(usize, usize),
    AddRow(usize, usize),
    Outer(usize, usize),
    SumRows(usize),
    Wave(usize),
    Square(usize, usize),
    Inner(usize, usize),
    Again(usize, usize),
    Counted(usize),
}

/// How a carried sum is updated.
#[derive(Clone, Copy, Debug)]
enum Next {
    Kept,
    Added(usize),
    AddedTwice(usize, usize),
    Replaced(usize),
    Mixed(usize),
}

/// A loop whose steps are random.
///
/// ```
/// use wengert_testkit::fuzz::RandomLoop;
/// RandomLoop::random(3).verify().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct RandomLoop {
    steps: Vec<Step>,
    state: usize,
    weights: Next,
    row: Next,
    given: Vec<usize>,
    given_rows: Vec<usize>,
    length: usize,
    reverse: bool,
}

/// A state, sums of weights and of rows, and a count.
type Carry = (Tensor, Tensor, Tensor, Tensor);
/// Two matrices and a row that every step reads; the initial state and sums; the elements.
type Inputs = ((Tensor, Tensor, Tensor), (Tensor, Tensor, Tensor), Tensor);
type Outputs = (Vec<Tensor>, Vec<Tensor>);

impl RandomLoop {
    /// The loop of a seed.
    pub fn random(seed: u64) -> RandomLoop {
        let mut random = Random::new(seed);
        // The number of values of each kind: the state and an element, two constants and a sum, and so on.
        let (mut rows, mut squares, mut lines) = (2, 3, 2);
        let mut steps = Vec::new();
        for _ in 0..3 + random.below(10) {
            let step = match random.below(14) {
                0 | 1 | 12 => Step::Product(random.below(rows), random.below(squares)),
                2 => Step::Bound(random.below(rows)),
                3 => Step::Sum(random.below(rows), random.below(rows)),
                4 => Step::Times(random.below(rows), random.below(rows)),
                5 => Step::AddRow(random.below(rows), random.below(lines)),
                6 | 13 => Step::Outer(random.below(rows), random.below(rows)),
                7 => Step::SumRows(random.below(rows)),
                8 => Step::Wave(random.below(squares)),
                9 => Step::Square(random.below(squares), random.below(squares)),
                10 => match random.below(2) {
                    0 => Step::Inner(random.below(rows), random.below(squares)),
                    _ => Step::Again(random.below(rows), random.below(squares)),
                },
                _ => Step::Counted(random.below(rows)),
            };
            match step {
                Step::Outer(..) | Step::Wave(_) | Step::Square(..) => squares += 1,
                Step::SumRows(_) => lines += 1,
                _ => rows += 1,
            }
            steps.push(step);
        }
        let next = |random: &mut Random, count: usize| match random.below(6) {
            0 => Next::Kept,
            1 | 2 => Next::Added(random.below(count)),
            3 => Next::AddedTwice(random.below(count), random.below(count)),
            4 => Next::Replaced(random.below(count)),
            _ => Next::Mixed(random.below(count)),
        };
        RandomLoop {
            state: random.below(rows),
            weights: next(&mut random, squares),
            row: next(&mut random, lines),
            given: (0..random.below(3)).map(|_| random.below(rows)).collect(),
            given_rows: (0..random.below(2)).map(|_| random.below(lines)).collect(),
            length: *random.pick(&[0, 1, 2, 3, 5]),
            reverse: random.below(2) == 0,
            steps,
        }
    }

    fn step(&self, consts: &(Tensor, Tensor, Tensor), carry: &Carry, x: &Tensor) -> (Carry, Outputs) {
        let (h, weights, row, count) = carry;
        let mut rows = vec![h.clone(), x.clone()];
        let mut squares = vec![consts.0.clone(), consts.1.clone(), weights.clone()];
        let mut lines = vec![consts.2.clone(), row.clone()];
        for step in &self.steps {
            match *step {
                Step::Product(a, w) => rows.push(rows[a].matmul(&squares[w])),
                Step::Bound(a) => rows.push(rows[a].tanh()),
                Step::Sum(a, b) => rows.push(&rows[a] + &rows[b]),
                Step::Times(a, b) => rows.push((&rows[a] * &rows[b]).sin()),
                Step::AddRow(a, r) => rows.push((&rows[a] + &lines[r]).sin()),
                Step::Outer(a, b) => squares.push(rows[a].t().matmul(&rows[b])),
                Step::SumRows(a) => lines.push(rows[a].sum_over(0)),
                Step::Wave(w) => squares.push(squares[w].sin()),
                Step::Square(v, w) => squares.push(squares[v].matmul(&squares[w]).tanh()),
                Step::Inner(a, w) => {
                    let weights = &squares[w];
                    let inner = |h: &Tensor| ((h.matmul(&weights.sin())).tanh(), h.sum_over(0));
                    let (last, all) = scan_times(2, inner, &rows[a]);
                    rows.push(last + all.sum_over(0).tanh());
                }
                Step::Again(a, w) => {
                    let layer = checkpoint(|(a, w): &(Tensor, Tensor)| a.matmul(w).sin().tanh());
                    rows.push(layer(&(rows[a].clone(), squares[w].clone())));
                }
                Step::Counted(a) => rows.push((&rows[a] * count.cast(DType::F64)).sin()),
            }
        }
        let next = |now: &Tensor, values: &[Tensor], next: Next| match next {
            Next::Kept => now.clone(),
            Next::Added(a) => now + &values[a],
            Next::AddedTwice(a, b) => now + (&values[a] + &values[b]),
            Next::Replaced(a) => values[a].tanh(),
            Next::Mixed(a) => (now * &values[a]).sin(),
        };
        let (weights, row) = (next(weights, &squares, self.weights), next(row, &lines, self.row));
        let pick = |values: &[Tensor], places: &[usize]| places.iter().map(|&place| values[place].clone()).collect();
        let outputs = (pick(&rows, &self.given), pick(&lines, &self.given_rows));
        ((rows[self.state].tanh(), weights, row, count + 1i64), outputs)
    }

    fn first(inputs: &Inputs) -> Carry {
        let (h, weights, row) = inputs.1.clone();
        (h, weights, row, Tensor::from(1i64))
    }

    fn total(carry: &Carry, outputs: &Outputs) -> Tensor {
        let weighted = |x: &Tensor| {
            let weights: Vec<f64> = (0..x.elements()).map(|i| (1.1 * i as f64 + 0.3).sin()).collect();
            (x * Tensor::from_vec(weights, x.shape())).sum()
        };
        let all = [&carry.0, &carry.1, &carry.2].into_iter().chain(&outputs.0).chain(&outputs.1);
        all.map(weighted).reduce(|sum, term| sum + term).expect("there is a carry")
    }

    /// Runs the loop as a Rust loop.
    fn by_hand(&self, inputs: &Inputs) -> Tensor {
        let mut carry = RandomLoop::first(inputs);
        let mut all: Vec<Outputs> = Vec::new();
        for t in 0..self.length {
            let at = if self.reverse { self.length - 1 - t } else { t };
            let (next, outputs) = self.step(&inputs.0, &carry, &inputs.2.select(0, at as isize));
            carry = next;
            all.push(outputs);
        }
        if self.reverse {
            all.reverse();
        }
        if all.is_empty() {
            return RandomLoop::total(&carry, &(Vec::new(), Vec::new()));
        }
        let stack = |place: usize, part: fn(&Outputs) -> &Vec<Tensor>| {
            Tensor::stack(&all.iter().map(|outputs| part(outputs)[place].clone()).collect::<Vec<_>>(), 0)
        };
        let rows = (0..self.given.len()).map(|place| stack(place, |outputs| &outputs.0)).collect();
        let lines = (0..self.given_rows.len()).map(|place| stack(place, |outputs| &outputs.1)).collect();
        RandomLoop::total(&carry, &(rows, lines))
    }

    fn by_scan(&self, inputs: &Inputs) -> Tensor {
        let step = |carry: &Carry, x: &Tensor| self.step(&inputs.0, carry, x);
        let (carry, outputs) = match self.reverse {
            true => scan_reverse(step, &RandomLoop::first(inputs), &inputs.2),
            false => scan(step, &RandomLoop::first(inputs), &inputs.2),
        };
        RandomLoop::total(&carry, &outputs)
    }

    /// Values and gradients are the same by hand, by scan and compiled.
    pub fn verify(&self) -> Result<(), String> {
        let mut random = Random::new(17);
        let mut tensor = |shape: &[usize]| Tensor::from_vec(random.reals(shape.iter().product()), shape);
        let consts = (tensor(&[3, 3]), tensor(&[3, 3]), tensor(&[3]));
        let inputs: Inputs = (consts, (tensor(&[2, 3]), tensor(&[3, 3]), tensor(&[3])), tensor(&[self.length, 2, 3]));
        let right = value_and_grad(|x: &Inputs| self.by_hand(x))(&inputs);
        let scanned = value_and_grad(|x: &Inputs| self.by_scan(x));
        let compiled = compile(&scanned);
        for (name, got) in [("scan", scanned(&inputs)), ("compiled", compiled.call(&inputs))] {
            for (got, right) in got.leaves().into_iter().zip(right.leaves()) {
                let scale = right.abs().sum().item().max(1.0);
                if !got.all_close(right, 1e-12 * scale) {
                    return Err(format!("{name}: {got} is not {right}\n{self:?}\n{}", compiled.program(&inputs)));
                }
            }
        }
        let program = compiled.program(&inputs).optimised();
        match program.optimised().to_string() == program.to_string() {
            true => Ok(()),
            false => Err(format!("the program does not settle\n{self:?}\n{program}\n{}", program.optimised())),
        }
    }
}
