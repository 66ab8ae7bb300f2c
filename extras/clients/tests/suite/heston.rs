//! Options in the model of Heston: the characteristic function, and paths.

use std::array::from_fn;
use wengert::scalar::{Dual, Real, Var, gradient};
use wengert::set_threads;
use wengert_clients::options::monte_carlo::{by_replay, by_tape};
use wengert_clients::options::{BlackScholes, European, Heston, Model, Right, normal_draws};

/// Spot, variance, speed, level, spread, correlation, rate.
const PARAMETERS: [f64; 7] = [100.0, 0.05, 1.5, 0.06, 0.3, -0.6, 0.03];
/// Twice the speed times the level is far below the square of the spread: the variance reaches zero on most paths.
const WILD: [f64; 7] = [100.0, 0.03, 1.0, 0.03, 0.8, -0.7, 0.02];

fn model(right: Right, strike: f64, time: f64, steps: usize) -> Heston {
    Heston { option: European { right, strike }, time, steps }
}

fn slopes_of_price(model: &Heston, parameters: [f64; 7]) -> [f64; 7] {
    *model.price(from_fn(|k| Dual::<f64, 7>::variable(parameters[k], k))).tangents()
}

#[test]
fn the_characteristic_function_gives_published_prices() {
    // Broadie and Kaya, Operations Research 54 (2006), tables 1 and 2.
    let first = model(Right::Call, 100.0, 1.0, 1).price([100.0, 0.010201, 6.21, 0.019, 0.61, -0.7, 0.0319]);
    assert!((first - 6.8061).abs() < 5e-5, "{first}");
    let second = model(Right::Call, 100.0, 5.0, 1).price([100.0, 0.09, 2.0, 0.09, 1.0, -0.3, 0.05]);
    assert!((second - 34.9998).abs() < 5e-5, "{second}");
}

#[test]
fn without_spread_the_price_is_that_of_black_and_scholes() {
    for (right, strike) in [(Right::Call, 90.0), (Right::Put, 115.0)] {
        let steady = BlackScholes { option: European { right, strike } }.price([100.0, 0.2, 1.5, 0.03]);
        let gap =
            |spread: f64| model(right, strike, 1.5, 1).price([100.0, 0.04, 1.5, 0.04, spread, 0.0, 0.03]) - steady;
        // Of second order in the spread, where there is no correlation.
        let (wide, narrow) = (gap(0.02), gap(0.01));
        assert!(narrow.abs() < 1e-3 && (wide / narrow - 4.0).abs() < 0.02, "{wide} {narrow}");
    }
}

#[test]
fn slopes_of_the_characteristic_function_are_those_by_differences() {
    for (right, strike) in [(Right::Call, 110.0), (Right::Put, 95.0)] {
        let model = model(right, strike, 1.0, 1);
        for (k, slope) in slopes_of_price(&model, PARAMETERS).into_iter().enumerate() {
            let width = 1e-3 * PARAMETERS[k].abs();
            let at = |times: f64| model.price(from_fn(|j| PARAMETERS[j] + if j == k { times * width } else { 0.0 }));
            // Of fourth order in the width.
            let difference = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * width);
            assert!(
                (slope - difference).abs() < 1e-7 * slope.abs().max(1.0),
                "{}: {slope} {difference}",
                Heston::NAMES[k]
            );
        }
    }
}

#[test]
fn price_and_slopes_by_monte_carlo_are_exact_within_four_standard_errors() {
    for (right, strike, seed) in [(Right::Call, 105.0, 21), (Right::Put, 95.0, 22)] {
        // The scheme is wrong in proportion to its step: with 64 of them, by about half of these standard errors at most.
        let model = model(right, strike, 1.0, 64);
        let estimates = by_replay(&model, &PARAMETERS, &normal_draws(&model, 1 << 15, seed));
        let exact = model.price(PARAMETERS);
        assert!(estimates.value.errors_from(exact) < 4.0, "{right:?}: {:?}, exactly {exact}", estimates.value);
        // Errors that hide nothing.
        assert!(estimates.value.error < 0.015 * exact && estimates.slopes[0].error < 0.01);
        let slopes = slopes_of_price(&model, PARAMETERS);
        for ((name, estimate), exact) in Heston::NAMES.iter().zip(&estimates.slopes).zip(slopes) {
            assert!(estimate.errors_from(exact) < 4.0, "{right:?}, {name}: {estimate:?}, exactly {exact}");
            assert!(estimate.error < 0.12 * exact.abs(), "{right:?}, {name}: {estimate:?}, exactly {exact}");
        }
        assert_eq!(estimates.recordings, 1);
    }
}

/// The smallest variance of a path.
fn least_variance([_, variance, speed, level, spread, correlation, _]: [f64; 7], step: f64, draws: &[f64]) -> f64 {
    let (mut now, mut least) = (variance, variance);
    for draws in draws.chunks_exact(2) {
        let (positive, across) = (now.max(0.0), (1.0 - correlation * correlation).sqrt());
        now += speed * (level - positive) * step;
        now += spread * (positive * step).sqrt() * (correlation * draws[0] + across * draws[1]);
        least = least.min(now);
    }
    least
}

#[test]
fn slopes_of_a_path_are_those_by_differences_also_where_the_variance_is_cut_off() {
    let model = model(Right::Call, 60.0, 1.0, 32);
    let (mut cut_off, mut sharp) = (0, 0);
    for draws in normal_draws(&model, 200, 31).chunks_exact(64) {
        cut_off += usize::from(least_variance(WILD, 1.0 / 32.0, draws) < 0.0);
        let mut slopes = [0.0; 7];
        let recorded = |x: &[Var]| model.path(x, &draws.iter().map(|z| Var::lit(*z)).collect::<Vec<_>>());
        let value = gradient(recorded, &WILD, &mut slopes);
        let plain = |x: [f64; 7]| model.path(&x, draws);
        assert_eq!(value, plain(WILD));
        let constants: Vec<Dual<f64, 7>> = draws.iter().map(|z| Dual::lit(*z)).collect();
        let forward = model.path(&from_fn::<_, 7, _>(|k| Dual::variable(WILD[k], k)), &constants);
        for (k, name) in Heston::NAMES.iter().enumerate() {
            let scale = slopes[k].abs().max(1.0);
            assert!((slopes[k] - forward.tangents()[k]).abs() < 1e-10 * scale, "{name}: {slopes:?} {forward:?}");
            let difference = |width: f64| {
                let moved = |by: f64| plain(from_fn(|j| WILD[j] + if j == k { by } else { 0.0 }));
                (moved(width) - moved(-width)) / (2.0 * width)
            };
            let [wide, narrow] = [2e-7, 1e-7].map(|part| difference(part * WILD[k].abs()));
            // Where the variance is just above zero the path bends sharply, and differences are as wrong as they differ.
            let gap = (slopes[k] - narrow).abs();
            assert!(gap < 1e-5 * scale + (wide - narrow).abs(), "{name}: {} {narrow} {wide}", slopes[k]);
            sharp += usize::from(gap < 1e-5 * scale);
        }
    }
    assert!(sharp > 1300, "{sharp} of 1400 slopes");
    assert!(cut_off > 150, "{cut_off} of 200 paths");
}

#[test]
fn replay_and_tape_agree_to_rounding() {
    let model = model(Right::Put, 100.0, 1.0, 24);
    let draws = normal_draws(&model, 1 << 11, 41);
    for parameters in [PARAMETERS, WILD] {
        let (replay, tape) = (by_replay(&model, &parameters, &draws), by_tape(&model, &parameters, &draws));
        for (replay, tape) in replay.slopes.iter().zip(&tape.slopes).chain([(&replay.value, &tape.value)]) {
            let scale = tape.value.abs() + tape.error;
            assert!((replay.value - tape.value).abs() < 1e-11 * scale, "{replay:?} {tape:?}");
            assert!((replay.error - tape.error).abs() < 1e-11 * scale, "{replay:?} {tape:?}");
        }
        assert_eq!((replay.recordings, tape.recordings), (1, 1 << 11));
    }
}

#[test]
fn estimates_have_the_same_bits_for_any_number_of_threads() {
    let model = model(Right::Call, 100.0, 1.0, 16);
    let draws = normal_draws(&model, 1 << 13, 51);
    let estimates = |threads| {
        set_threads(threads);
        by_replay(&model, &WILD, &draws)
    };
    let one = estimates(1);
    for threads in [2, 3, 4] {
        assert_eq!(estimates(threads), one, "{threads} threads");
    }
}
