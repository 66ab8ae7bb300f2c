//! What derivatives of scalar programs cost: statements of the tape, tiny functions, Rosenbrock's function.

use std::hint::black_box;
use std::time::Instant;
use wengert::scalar::{Real, Replay, Symbol, Var, gradient, gradient_of, recording};

/// Statements of a tape that fits in a cache, and of one that does not.
const IN_CACHE: usize = 10_000;
const IN_MEMORY: usize = 80_000_000;

pub fn run(json: bool, most: usize) {
    tape(json, "cache", IN_CACHE.min(most), 2000);
    if most >= IN_MEMORY {
        tape(json, "dram", IN_MEMORY, 3);
    }
    tiny(json);
    for n in [2, 10, 100, 1_000_000].into_iter().filter(|n| *n <= most) {
        rosenbrock(json, n);
    }
    if most >= 100_000 {
        compiling(json, 100_000);
    }
    for points in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|points| *points <= most) {
        many_points(json, points);
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// z = x y; x = y + c z; y = z - x: three statements of two arguments.
fn tape(json: bool, place: &str, statements: usize, rounds: usize) {
    let (mut records, mut sweeps, mut bytes) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..rounds + 1 {
        recording(|tape| {
            let inputs = [tape.input(black_box(1e-3)), tape.input(black_box(2e-3))];
            let (mut x, mut y, c) = (inputs[0], inputs[1], Var::lit(0.1));
            let start = Instant::now();
            for _ in 0..statements / 3 {
                let z = x * y;
                x = z.mul_add(c, y);
                y = z - x;
            }
            let recorded = start.elapsed();
            let count = tape.statements() as f64;
            bytes = tape.bytes() as f64 / count;
            let mut slopes = [0.0; 2];
            let start = Instant::now();
            tape.pull(y, &inputs, &mut slopes);
            let swept = start.elapsed();
            black_box(slopes);
            records.push(recorded.as_secs_f64() * 1e9 / count);
            sweeps.push(swept.as_secs_f64() * 1e9 / count);
        });
    }
    // The first one touches new memory.
    let (record, sweep) = (median(records.split_off(1)), median(sweeps.split_off(1)));
    match json {
        true => println!(
            "{{\"bench\":\"tape\",\"where\":\"{place}\",\"statements\":{statements},\"record_ns\":{record:.3},\"reverse_ns\":{sweep:.3},\
             \"bytes_per_statement\":{bytes:.2}}}"
        ),
        false => println!(
            "tape in {place}: record {record:.2} ns, reverse {sweep:.2} ns a statement of two arguments, {bytes:.1} bytes"
        ),
    }
}

/// Nanoseconds of a call, the median of several rounds.
fn time(mut f: impl FnMut()) -> f64 {
    let mut calls = 1;
    let mut round = |calls: usize| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64()
    };
    while round(calls) < 0.01 {
        calls *= 2;
    }
    median((0..11).map(|_| round(calls) * 1e9 / calls as f64).collect())
}

fn tiny(json: bool) {
    let x = black_box([0.5, 1.5, -0.3, 2.0]);
    let f = |[a, b, c, d]: [Var; 4]| (a * b + c).sin() * d + (a / d).exp() - b * c;
    let ns = time(|| {
        black_box(gradient_of(f, x));
    });
    match json {
        true => println!("{{\"bench\":\"tiny\",\"variables\":4,\"system\":\"wengert-tape\",\"ns\":{ns:.1}}}"),
        false => println!("gradient of a function of four numbers: {ns:.0} ns"),
    }
}

fn valley<T: Real>(x: &[T]) -> T {
    x.windows(2).fold(T::lit(0.0), |sum, pair| {
        let (a, b) = (T::lit(1.0) - pair[0], pair[1] - pair[0] * pair[0]);
        sum + a * a + T::lit(100.0) * (b * b)
    })
}

fn rosenbrock(json: bool, n: usize) {
    let x: Vec<f64> = (0..n).map(|i| 0.5 + 0.1 * (i as f64).sin()).collect();
    let mut slopes = vec![0.0; n];
    let plain = time(|| {
        black_box(valley(black_box(&x)));
    });
    let tape = time(|| {
        black_box(gradient(valley, black_box(&x), &mut slopes));
    });
    let mut replay = Replay::record(valley::<Symbol>, &x);
    let replayed = time(|| {
        black_box(replay.value_and_grad(black_box(&x), &mut slopes));
    });
    for (system, ns) in [("wengert-tape", tape), ("wengert-replay", replayed)] {
        match json {
            true => println!(
                "{{\"bench\":\"rosenbrock\",\"n\":{n},\"system\":\"{system}\",\"ns\":{ns:.1},\"plain_ns\":{plain:.1}}}"
            ),
            false => println!("Rosenbrock of {n}: gradient by {system} {ns:.0} ns, value alone {plain:.0} ns"),
        }
    }
}

/// What it takes to record a function of many numbers, and to make its gradient.
fn compiling(json: bool, n: usize) {
    let x: Vec<f64> = (0..n).map(|i| 0.5 + 0.1 * (i as f64).sin()).collect();
    let mut bytes = 0;
    let ns = time(|| {
        let mut replay = Replay::record(valley::<Symbol>, &x);
        bytes = replay.code_bytes();
    });
    let ms = ns / 1e6;
    match json {
        true => {
            println!("{{\"bench\":\"compile\",\"function\":\"rosenbrock\",\"n\":{n},\"ms\":{ms:.2},\"bytes\":{bytes}}}")
        }
        false => println!("Rosenbrock of {n}: recorded and compiled in {ms:.1} ms to {bytes} bytes"),
    }
}

/// 200 operations: 120 of multiply-adds, 40 divisions and square roots, 40 of exp, ln, sin and tanh.
fn mixed<T: Real>(x: &[T]) -> T {
    let (mut a, mut b) = (x[0], x[1]);
    for k in 0..10 {
        let c = T::lit(0.1 + 0.01 * f64::from(k));
        for i in 0..3 {
            a = a * c + x[i];
            b = b * c + a;
        }
        a = a / (b * b + T::lit(1.5)).sqrt();
        b = (b / (a * a + T::lit(2.0))).exp().sqrt();
        a = (a + b.ln() * c).sin();
        b = (b + a * c).tanh() + x[3];
    }
    a * b
}

#[inline(never)]
fn plain_mixed(x: &[f64]) -> f64 {
    mixed(x)
}

/// Values and gradients at many points, against the plain function in a loop.
fn many_points(json: bool, points: usize) {
    let x: Vec<f64> = (0..4 * points).map(|i| 0.5 + 0.4 * (i as f64 * 0.7).sin()).collect();
    let (mut values, mut slopes) = (vec![0.0; points], vec![0.0; 4 * points]);
    let mut replay = Replay::record(mixed::<Symbol>, &x[..4]);
    let round = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e9 / points as f64
    };
    let (mut plain, mut replayed) = (Vec::new(), Vec::new());
    for _ in 0..(10_000_000 / points).clamp(3, 101) {
        plain.push(round(&mut || {
            values.iter_mut().zip(x.chunks(4)).for_each(|(value, x)| *value = plain_mixed(black_box(x)));
        }));
        replayed.push(round(&mut || replay.values_and_grads(black_box(&x), &mut values, &mut slopes)));
    }
    let (plain, replayed) = (median(plain), median(replayed));
    let ratio = replayed / plain;
    match json {
        true => println!(
            "{{\"bench\":\"simd_replay\",\"points\":{points},\"plain_ns\":{plain:.1},\"ns\":{replayed:.1},\"ratio_to_plain\":{ratio:.3}}}"
        ),
        false => println!("{points} points: {replayed:.0} ns each with gradient, {plain:.0} ns for the plain value"),
    }
}
