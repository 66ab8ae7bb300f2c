//! Values and gradients at many points, compared with the plain function in a loop.

use crate::agreement::expect_agreement;
use crate::timing::{Rounds, in_turn, seconds, shown};
use std::hint::black_box;
use wengert::scalar::{Real, Replay, Symbol};

/// 200 operations: 120 multiply-adds, 40 divisions and square roots, 40 calls of exp, ln, sin and tanh.
fn mixed<T: Real>(x: &[T]) -> T {
    let (mut a, mut b) = (x[0], x[1]);
    for k in 0..10 {
        let c = T::lit(0.1 + 0.01 * f64::from(k));
        for x in &x[..3] {
            a = a * c + *x;
            b = b * c + a;
        }
        a /= (b * b + T::lit(1.5)).sqrt();
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

pub fn run(json: bool, points: usize) {
    let x: Vec<f64> = (0..4 * points).map(|i| 0.5 + 0.4 * (i as f64 * 0.7).sin()).collect();
    let (mut values, mut slopes) = (vec![0.0; points], vec![0.0; 4 * points]);
    let replay = Replay::record(mixed::<Symbol>, &x[..4]);
    let plain: Vec<f64> = x.chunks(4).map(plain_mixed).collect();
    replay.values_and_grads(&x, &mut values, &mut slopes);
    expect_agreement([("plain", plain), ("replay", values.clone())].into_iter());
    let rounds = Rounds { least: 3, most: 101, seconds: 5.0 };
    let found = in_turn(&shown(&format!("{points} points")), rounds, 2, |number| {
        let time = match number {
            0 => seconds(|| {
                values.iter_mut().zip(x.chunks(4)).for_each(|(value, x)| *value = plain_mixed(black_box(x)));
            }),
            _ => seconds(|| replay.values_and_grads(black_box(&x), &mut values, &mut slopes)),
        };
        [time * 1e9 / points as f64]
    });
    let (plain, replayed) = (found[0][0], found[1][0]);
    let ratio = replayed / plain;
    match json {
        true => println!(
            "{{\"bench\":\"simd_replay\",\"points\":{points},\"plain_ns\":{plain:.1},\"ns\":{replayed:.1},\"ratio_to_plain\":{ratio:.3}}}"
        ),
        false => println!("{points} points: {replayed:.0} ns each with gradient, {plain:.0} ns for the plain value"),
    }
}
