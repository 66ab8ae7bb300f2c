//! This library's methods: the tape, a replay, dual numbers.

use super::rosenbrock::FEW;
use super::system::{Library, System};
use super::tape::{C, Recorded, Recorder, START};
use std::hint::black_box;
use std::time::Instant;
use wengert::scalar::{Dual, Real, Replay, Symbol, Var, gradient, gradient_of, recording};

pub static WENGERT: Library = Library { rosenbrock, tiny, tape };

/// Rosenbrock's function.
pub fn valley<T: Real>(x: &[T]) -> T {
    x.windows(2).fold(T::lit(0.0), |sum, pair| {
        let (a, b) = (T::lit(1.0) - pair[0], pair[1] - pair[0] * pair[0]);
        sum + a * a + T::lit(100.0) * (b * b)
    })
}

fn four<T: Real>(x: &[T]) -> T {
    (x[0] * x[1] + x[2]).sin() * x[3] + (x[0] / x[3]).exp() - x[1] * x[2]
}

fn rosenbrock(x: &[f64]) -> Vec<System> {
    let replay = Replay::record(valley::<Symbol>, x);
    let mut systems = vec![
        System::new("wengert-tape", |x, slopes| {
            black_box(gradient(valley, x, slopes));
        }),
        System::new("wengert-replay", move |x, slopes| {
            black_box(replay.value_and_grad(x, slopes));
        }),
    ];
    if x.len() <= FEW {
        systems.push(System::new("wengert-forward-1", |x, slopes| forward::<1>(valley, x, slopes)));
        systems.push(System::new("wengert-forward-8", |x, slopes| forward::<8>(valley, x, slopes)));
    }
    let whole = match x.len() {
        2 => Some(System::new("wengert-forward", |x, slopes| forward::<2>(valley, x, slopes))),
        10 => Some(System::new("wengert-forward", |x, slopes| forward::<10>(valley, x, slopes))),
        100 => Some(System::new("wengert-forward", |x, slopes| forward::<100>(valley, x, slopes))),
        _ => None,
    };
    systems.extend(whole);
    systems
}

fn tiny(x: &[f64]) -> Vec<System> {
    let replay = Replay::record(four::<Symbol>, x);
    vec![
        System::new("wengert-tape", |x, slopes| {
            let (value, found) = gradient_of(|x: [Var; 4]| four(&x), [x[0], x[1], x[2], x[3]]);
            black_box(value);
            slopes.copy_from_slice(&found);
        }),
        System::new("wengert-replay", move |x, slopes| {
            black_box(replay.value_and_grad(x, slopes));
        }),
        System::new("wengert-forward", |x, slopes| forward::<4>(four, x, slopes)),
    ]
}

/// The gradient along `N` directions at a time. A separate function, so that its code does not depend on what is measured next to it.
#[inline(never)]
fn forward<const N: usize>(f: impl Fn(&[Dual<f64, N>]) -> Dual<f64, N>, x: &[f64], slopes: &mut [f64]) {
    let mut inputs: Vec<Dual<f64, N>> = x.iter().map(|x| Dual::lit(*x)).collect();
    for (number, slopes) in slopes.chunks_mut(N).enumerate() {
        let places = number * N..number * N + slopes.len();
        places.clone().for_each(|place| inputs[place] = Dual::variable(x[place], place - number * N));
        slopes.copy_from_slice(&f(&inputs).tangents()[..slopes.len()]);
        places.for_each(|place| inputs[place] = Dual::lit(x[place]));
    }
}

fn tape() -> Vec<Recorder> {
    let record = |turns: usize| {
        recording(|tape| {
            let inputs = START.map(|start| tape.input(black_box(start)));
            let ([mut x, mut y], c) = (inputs, Var::lit(C));
            let start = Instant::now();
            for _ in 0..turns {
                let z = x * y;
                x = z.mul_add(c, y);
                y = z - x;
            }
            let record = start.elapsed();
            let mut slopes = [0.0; 2];
            let start = Instant::now();
            tape.pull(y, &inputs, &mut slopes);
            Recorded { record, reverse: start.elapsed(), bytes: tape.bytes(), slopes }
        })
    };
    vec![Recorder { name: "wengert-tape", record: Box::new(record) }]
}
