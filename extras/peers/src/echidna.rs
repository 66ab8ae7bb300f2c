//! echidna: a tape of partial derivatives (`grad`), a tape of operations that is re-evaluated (`BytecodeTape`), and dual numbers.

use echidna::tape::{Tape, TapeGuard};
use echidna::{BReverse, BytecodeTape, DualVec, Reverse, Scalar, grad, record};
use std::hint::black_box;
use std::time::Instant;
use wengert_bench::scalar::{C, FEW, Library, Recorded, Recorder, START, System};

pub const ECHIDNA: Library = Library { rosenbrock, tiny, tape };

fn valley<T: Scalar<Float = f64>>(x: &[T]) -> T {
    x.windows(2).fold(T::zero(), |sum, pair| {
        let (a, b) = (T::one() - pair[0], pair[1] - pair[0] * pair[0]);
        sum + a * a + T::from_f(100.0) * (b * b)
    })
}

fn four<T: Scalar<Float = f64>>(x: &[T]) -> T {
    (x[0] * x[1] + x[2]).sin() * x[3] + (x[0] / x[3]).exp() - x[1] * x[2]
}

fn recurrence<T: Scalar<Float = f64>>([mut x, mut y]: [T; 2], turns: usize) -> T {
    let c = T::from_f(C);
    for _ in 0..turns {
        let z = x * y;
        x = y + z * c;
        y = z - x;
    }
    y
}

fn rosenbrock(x: &[f64]) -> Vec<System> {
    let mut systems =
        vec![System::new("echidna-tape", |x, slopes| slopes.copy_from_slice(&grad(valley::<Reverse<f64>>, x)))];
    systems.extend(evaluated_again(|| record(valley::<BReverse<f64>>, x).0));
    if x.len() <= FEW {
        let mut tape = record(valley::<BReverse<f64>>, x).0;
        systems.push(System::new("echidna-cross-country", move |x, slopes| {
            slopes.copy_from_slice(&tape.jacobian_cross_country(x)[0]);
        }));
        systems.push(System::new("echidna-forward-1", |x, slopes| forward::<1>(valley, x, slopes)));
        systems.push(System::new("echidna-forward-8", |x, slopes| forward::<8>(valley, x, slopes)));
    }
    let whole = match x.len() {
        2 => Some(System::new("echidna-forward", |x, slopes| forward::<2>(valley, x, slopes))),
        10 => Some(System::new("echidna-forward", |x, slopes| forward::<10>(valley, x, slopes))),
        100 => Some(System::new("echidna-forward", |x, slopes| forward::<100>(valley, x, slopes))),
        _ => None,
    };
    systems.extend(whole);
    systems
}

fn tiny(x: &[f64]) -> Vec<System> {
    let mut systems =
        vec![System::new("echidna-tape", |x, slopes| slopes.copy_from_slice(&grad(four::<Reverse<f64>>, x)))];
    systems.extend(evaluated_again(|| record(four::<BReverse<f64>>, x).0));
    systems.push(System::new("echidna-forward", |x, slopes| forward::<4>(four, x, slopes)));
    systems
}

/// A recorded function at other points: as recorded; and after its optimisation passes, reusing the memory for adjoints.
fn evaluated_again(record: impl Fn() -> BytecodeTape<f64>) -> [System; 2] {
    let (mut tape, mut optimised, mut adjoints) = (record(), record(), Vec::new());
    optimised.optimize();
    [
        System::new("echidna-bytecode", move |x, slopes| slopes.copy_from_slice(&tape.gradient(x))),
        System::new("echidna-bytecode-optimized", move |x, slopes| {
            slopes.copy_from_slice(&optimised.gradient_with_buf(x, &mut adjoints));
        }),
    ]
}

/// The gradient along `N` directions at a time.
fn forward<const N: usize>(f: impl Fn(&[DualVec<f64, N>]) -> DualVec<f64, N>, x: &[f64], slopes: &mut [f64]) {
    let mut inputs: Vec<DualVec<f64, N>> = x.iter().map(|x| DualVec::constant(*x)).collect();
    for (number, slopes) in slopes.chunks_mut(N).enumerate() {
        let places = number * N..number * N + slopes.len();
        places.clone().for_each(|place| inputs[place] = DualVec::with_tangent(x[place], place - number * N));
        slopes.copy_from_slice(&f(&inputs).eps[..slopes.len()]);
        places.for_each(|place| inputs[place] = DualVec::constant(x[place]));
    }
}

fn tape() -> Vec<Recorder> {
    let mut tape = Tape::new();
    let of_slopes = move |turns: usize| {
        tape.clear();
        let inputs = START.map(|start| {
            let (place, start) = tape.new_variable(black_box(start));
            Reverse::from_tape(start, place)
        });
        let start = Instant::now();
        let y = {
            let _active = TapeGuard::new(&mut tape);
            recurrence(inputs, turns)
        };
        let record = start.elapsed();
        let start = Instant::now();
        let adjoints = tape.reverse(y.index());
        let (reverse, slopes) = (start.elapsed(), inputs.map(|input| adjoints[input.index() as usize]));
        // A statement is its index and its end; an operand is a partial derivative and an index. A round has four statements, of which one,
        // the product with a constant, has one operand.
        let bytes = turns * (4 * 2 * size_of::<u32>() + 7 * (size_of::<f64>() + size_of::<u32>()));
        Recorded { record, reverse, bytes, slopes }
    };
    let of_operations = |turns: usize| {
        let start = Instant::now();
        let (tape, _) = record(|x| recurrence([x[0], x[1]], turns), black_box(&START));
        let record = start.elapsed();
        let start = Instant::now();
        let slopes = tape.reverse_seeded(&[1.0]);
        let reverse = start.elapsed();
        let bytes = size_of_val(tape.opcodes_slice())
            + size_of_val(tape.arg_indices_slice())
            + size_of_val(tape.values_slice());
        Recorded { record, reverse, bytes, slopes: [slopes[0], slopes[1]] }
    };
    vec![
        Recorder { name: "echidna-tape", record: Box::new(of_slopes) },
        Recorder { name: "echidna-bytecode", record: Box::new(of_operations) },
    ]
}
