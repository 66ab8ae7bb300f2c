//! ad_trait: a graph of operations in reverse mode (`adr`), and tangents in forward mode (`adfn`).

use crate::scalar::rosenbrock::FEW;
use crate::scalar::system::{Library, System};
use crate::scalar::tape::{C, Recorded, Recorder, START};
use ad_trait::AD;
use ad_trait::forward_ad::adfn::adfn;
use ad_trait::reverse_ad::adr::{ComputationGraphNode, GlobalComputationGraph, adr};
use std::hint::black_box;
use std::time::Instant;

pub const AD_TRAIT: Library = Library { rosenbrock, tiny, tape };

fn valley<T: AD>(x: &[T]) -> T {
    x.windows(2).fold(T::constant(0.0), |sum, pair| {
        let (a, b) = (T::constant(1.0) - pair[0], pair[1] - pair[0] * pair[0]);
        sum + a * a + T::constant(100.0) * (b * b)
    })
}

fn four<T: AD>(x: &[T]) -> T {
    (x[0] * x[1] + x[2]).sin() * x[3] + (x[0] / x[3]).exp() - x[1] * x[2]
}

fn recurrence<T: AD>([mut x, mut y]: [T; 2], turns: usize) -> T {
    let c = T::constant(C);
    for _ in 0..turns {
        let z = x * y;
        x = y + z * c;
        y = z - x;
    }
    y
}

fn rosenbrock(x: &[f64]) -> Vec<System> {
    let mut systems = vec![System::new("ad_trait", |x, slopes| reverse(valley, x, slopes))];
    if x.len() <= FEW {
        systems.push(System::new("ad_trait-forward-1", |x, slopes| forward::<1>(valley, x, slopes)));
        systems.push(System::new("ad_trait-forward-8", |x, slopes| forward::<8>(valley, x, slopes)));
    }
    let whole = match x.len() {
        2 => Some(System::new("ad_trait-forward", |x, slopes| forward::<2>(valley, x, slopes))),
        10 => Some(System::new("ad_trait-forward", |x, slopes| forward::<10>(valley, x, slopes))),
        100 => Some(System::new("ad_trait-forward", |x, slopes| forward::<100>(valley, x, slopes))),
        _ => None,
    };
    systems.extend(whole);
    systems
}

fn tiny(_: &[f64]) -> Vec<System> {
    vec![
        System::new("ad_trait", |x, slopes| reverse(four, x, slopes)),
        System::new("ad_trait-forward", |x, slopes| forward::<4>(four, x, slopes)),
    ]
}

fn reverse(f: impl Fn(&[adr]) -> adr, x: &[f64], slopes: &mut [f64]) {
    GlobalComputationGraph::get().reset();
    let inputs: Vec<adr> = x.iter().map(|x| adr::new_variable(*x, false)).collect();
    let found = f(&inputs).get_backwards_mode_grad();
    slopes.iter_mut().zip(&inputs).for_each(|(slope, input)| *slope = found.wrt(input));
}

/// The gradient along `N` directions at a time.
fn forward<const N: usize>(f: impl Fn(&[adfn<N>]) -> adfn<N>, x: &[f64], slopes: &mut [f64]) {
    let mut inputs: Vec<adfn<N>> = x.iter().map(|x| adfn::new_constant(*x)).collect();
    for (number, slopes) in slopes.chunks_mut(N).enumerate() {
        let places = number * N..number * N + slopes.len();
        for place in places.clone() {
            let direction = std::array::from_fn(|lane| if lane == place - number * N { 1.0 } else { 0.0 });
            inputs[place] = adfn::new(x[place], direction);
        }
        slopes.copy_from_slice(&f(&inputs).tangent()[..slopes.len()]);
        places.for_each(|place| inputs[place] = adfn::new_constant(x[place]));
    }
}

fn tape() -> Vec<Recorder> {
    let record = |turns: usize| {
        let graph = GlobalComputationGraph::get();
        graph.reset();
        let inputs = START.map(|start| adr::new_variable(black_box(start), false));
        let start = Instant::now();
        let y = recurrence(inputs, turns);
        let record = start.elapsed();
        let start = Instant::now();
        let found = y.get_backwards_mode_grad();
        let reverse = start.elapsed();
        let bytes = graph.num_nodes() * size_of::<ComputationGraphNode>();
        Recorded { record, reverse, bytes, slopes: inputs.map(|input| found.wrt(&input)) }
    };
    vec![Recorder { name: "ad_trait", record: Box::new(record) }]
}
