//! reverse: a tape that variables borrow.

use reverse::{Gradient, Tape, Var};
use std::hint::black_box;
use std::time::Instant;
use wengert_bench::scalar::{C, Library, Recorded, Recorder, START, System};

pub const REVERSE: Library = Library { rosenbrock, tiny, tape };

fn valley<'a>(x: &[Var<'a>]) -> Var<'a> {
    let terms = x.windows(2).map(|pair| {
        let (a, b) = (1.0 - pair[0], pair[1] - pair[0] * pair[0]);
        a * a + 100.0 * (b * b)
    });
    terms.reduce(|sum, term| sum + term).expect("two variables at least")
}

fn four<'a>(x: &[Var<'a>]) -> Var<'a> {
    (x[0] * x[1] + x[2]).sin() * x[3] + (x[0] / x[3]).exp() - x[1] * x[2]
}

fn rosenbrock(_: &[f64]) -> Vec<System> {
    vec![gradient(valley)]
}

fn tiny(_: &[f64]) -> Vec<System> {
    vec![gradient(four)]
}

/// The gradient on a tape whose memory is reused.
fn gradient(f: impl for<'a> Fn(&[Var<'a>]) -> Var<'a> + 'static) -> System {
    let tape = Tape::new();
    System::new("reverse", move |x, slopes| {
        tape.clear();
        let inputs = tape.add_vars(x);
        let found = f(&inputs).grad();
        slopes.iter_mut().zip(&inputs).for_each(|(slope, input)| *slope = found.wrt(input));
    })
}

fn tape() -> Vec<Recorder> {
    let tape = Tape::new();
    let record = move |turns: usize| {
        tape.clear();
        let inputs = START.map(|start| tape.add_var(black_box(start)));
        let [mut x, mut y] = inputs;
        let start = Instant::now();
        for _ in 0..turns {
            let z = x * y;
            x = y + z * C;
            y = z - x;
        }
        let record = start.elapsed();
        let start = Instant::now();
        let found = y.grad();
        let reverse = start.elapsed();
        // A node is two partial derivatives and two indices.
        let bytes = tape.len() * 2 * (size_of::<f64>() + size_of::<usize>());
        Recorded { record, reverse, bytes, slopes: inputs.map(|input| found.wrt(&input)) }
    };
    vec![Recorder { name: "reverse", record: Box::new(record) }]
}
