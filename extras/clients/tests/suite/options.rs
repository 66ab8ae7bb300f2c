//! Options in the model of Black and Scholes: Greeks of the closed form, and by Monte Carlo.

use std::f64::consts::TAU;
use wengert::scalar::{Dual, Real, Replay, Symbol, Var, gradient};
use wengert::set_threads;
use wengert_clients::options::monte_carlo::{by_replay, by_tape};
use wengert_clients::options::{BlackScholes, Delta, European, Greeks, Model, Right, normal_draws};

const STRIKE: f64 = 100.0;
/// Spot, volatility, time, rate.
const PARAMETERS: [f64; 4] = [104.0, 0.25, 0.75, 0.03];

fn model(right: Right) -> BlackScholes {
    BlackScholes { option: European { right, strike: STRIKE } }
}

/// The normal distribution by the series of its ratio to the density, all of whose terms have one sign.
fn below(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while sum + term != sum {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * density(x)
}

fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / TAU.sqrt()
}

/// The price, its slopes and its second derivatives by spot, volatility, time and rate, by hand.
fn by_hand(right: Right, [spot, volatility, time, rate]: [f64; 4]) -> (f64, [f64; 4], [[f64; 4]; 4]) {
    let sign = if right == Right::Call { 1.0 } else { -1.0 };
    let (root, present) = (time.sqrt(), STRIKE * (-rate * time).exp());
    let upper = ((spot / STRIKE).ln() + (rate + volatility * volatility / 2.0) * time) / (volatility * root);
    let lower = upper - volatility * root;
    let [spot_share, strike_share] = [upper, lower].map(|d| below(sign * d));
    let [high, low] = [upper, lower].map(density);
    let upper_by_time = (rate + volatility * volatility / 2.0) / (volatility * root) - upper / (2.0 * time);
    let lower_by_time = upper_by_time - volatility / (2.0 * root);

    let price = sign * (spot * spot_share - present * strike_share);
    let by_rate = sign * present * time * strike_share;
    let by_time = spot * high * volatility / (2.0 * root) + sign * rate * present * strike_share;
    let slopes = [sign * spot_share, spot * high * root, by_time, by_rate];

    let mut second = [[0.0; 4]; 4];
    second[0][0] = high / (spot * volatility * root);
    second[0][1] = -high * lower / volatility;
    second[0][2] = high * upper_by_time;
    second[0][3] = high * root / volatility;
    second[1][1] = spot * high * root * upper * lower / volatility;
    second[1][2] = spot * high * (0.5 / root - root * upper * upper_by_time);
    second[1][3] = -present * time * low * upper / volatility;
    second[2][2] = spot * volatility * high / 2.0 * (-upper * upper_by_time / root - 0.5 / (time * root))
        + rate * present * (low * lower_by_time - sign * rate * strike_share);
    second[2][3] = sign * present * strike_share * (1.0 - rate * time) + present * time * low * lower_by_time;
    second[3][3] = present * time * low * root / volatility - time * by_rate;
    let second = std::array::from_fn(|row| std::array::from_fn(|column| second[row.min(column)][row.max(column)]));
    (price, slopes, second)
}

#[track_caller]
fn assert_close(found: f64, right: f64, tolerance: f64) {
    assert!((found - right).abs() <= tolerance * right.abs().max(1.0), "{found}, by hand {right}");
}

const MARKETS: [[f64; 4]; 4] = [PARAMETERS, [80.0, 0.4, 2.0, 0.05], [100.0, 0.1, 0.25, 0.0], [150.0, 0.3, 1.5, -0.01]];

#[test]
fn dual_numbers_of_the_closed_form_are_the_greeks_by_hand_to_second_order() {
    for right in [Right::Call, Right::Put] {
        for market in MARKETS {
            let (price, slopes, second) = by_hand(right, market);
            type Twice = Dual<Dual<f64, 4>, 4>;
            let inner: [Dual<f64, 4>; 4] = std::array::from_fn(|k| Dual::variable(market[k], k));
            let outer = |k: usize| std::array::from_fn(|other| Dual::lit(if k == other { 1.0 } else { 0.0 }));
            let found = model(right).price(std::array::from_fn(|k| Twice::new(inner[k], outer(k))));
            assert_close(found.to_f64(), price, 1e-12);
            let once = (*found.value().tangents()).into_iter().zip(slopes);
            let twice = found.tangents().iter().flat_map(|row| *row.tangents()).zip(second.concat());
            once.chain(twice).for_each(|(found, right)| assert_close(found, right, 1e-12));
            let greeks = Greeks::exact(&model(right), market);
            let right = [price, slopes[0], second[0][0], slopes[1], -slopes[2], slopes[3]];
            greeks.to_array().into_iter().zip(right).for_each(|(found, right)| assert_close(found, right, 1e-12));
        }
    }
}

#[test]
fn a_replay_of_the_closed_form_has_the_greeks_by_hand_to_second_order() {
    for right in [Right::Call, Right::Put] {
        let traced = |x: &[Symbol]| model(right).price([x[0], x[1], x[2], x[3]]);
        let replay = Replay::record(traced, &PARAMETERS);
        for market in MARKETS {
            let (price, slopes, second) = by_hand(right, market);
            let mut found = [0.0; 4];
            assert_close(replay.value_and_grad(&market, &mut found), price, 1e-12);
            found.into_iter().zip(slopes).for_each(|(found, right)| assert_close(found, right, 1e-12));
            let hessian = replay.hessian(&market);
            hessian.into_iter().zip(second.concat()).for_each(|(found, right)| assert_close(found, right, 1e-12));
        }
        assert_eq!(replay.recordings(), 1);
    }
}

#[test]
fn greeks_by_monte_carlo_are_those_by_hand_within_four_standard_errors() {
    for (right, seed) in [(Right::Call, 11), (Right::Put, 12)] {
        let model = model(right);
        let draws = normal_draws(&model, 1 << 17, seed);
        let price = by_replay(&model, &PARAMETERS, &draws);
        let anchored = [&PARAMETERS[..], &PARAMETERS[..1]].concat();
        let delta = by_replay(&Delta(model), &anchored, &draws);
        let estimated = Greeks::estimated(&price, &delta).to_array();
        let (value, slopes, second) = by_hand(right, PARAMETERS);
        let exact = [value, slopes[0], second[0][0], slopes[1], -slopes[2], slopes[3]];
        for ((name, estimate), exact) in Greeks::<f64>::NAMES.iter().zip(estimated).zip(exact) {
            assert!(estimate.errors_from(exact) < 4.0, "{right:?}, {name}: {estimate:?}, exactly {exact}");
            // An error that hides nothing.
            assert!(estimate.error < 0.012 * exact.abs(), "{right:?}, {name}: {estimate:?}, exactly {exact}");
        }
        // The mean of the anchored delta is delta too, path by path.
        assert_close(delta.value.value, price.slopes[0].value, 1e-12);
    }
}

#[test]
fn standard_errors_are_as_large_as_errors() {
    let model = model(Right::Call);
    let exact = model.price(PARAMETERS);
    let seeds = 40;
    let away = (100..100 + seeds).map(|seed| {
        let estimate = by_replay(&model, &PARAMETERS, &normal_draws(&model, 1 << 12, seed)).value;
        (estimate.value - exact) / estimate.error
    });
    let away: Vec<f64> = away.collect();
    let mean = away.iter().sum::<f64>() / seeds as f64;
    let square = away.iter().map(|away| away * away).sum::<f64>() / seeds as f64;
    // Of forty normal numbers: the mean is known to 0.16, the mean square to 0.22.
    assert!(mean.abs() < 0.64 && (0.3..1.9).contains(&square), "{mean} {square}");
}

#[test]
fn gamma_of_a_path_is_the_likelihood_ratio_times_its_delta() {
    let [spot, volatility, time, rate] = PARAMETERS;
    let anchored = [spot, volatility, time, rate, spot];
    let mut paid = 0;
    for draw in [-2.0, -0.5, -0.1, 0.0, 0.3, 1.0, 2.5] {
        let mut slopes = [0.0; 5];
        let path = |x: &[Var]| Delta(model(Right::Call)).path(x, &[Var::lit(draw)]);
        let delta = gradient(path, &anchored, &mut slopes);
        let deviation = volatility * time.sqrt();
        let end = spot * ((rate - volatility * volatility / 2.0) * time + deviation * draw).exp();
        let pays = if end > STRIKE { 1.0 } else { 0.0 };
        let slope = pays * (-rate * time).exp() * end / spot;
        assert_close(delta, slope, 1e-14);
        assert_close(slopes[0], slope / spot * (draw / deviation - 1.0), 1e-14);
        paid += usize::from(end > STRIKE);
    }
    assert_eq!(paid, 5);
}

#[test]
fn replay_and_tape_agree_to_rounding() {
    let model = model(Right::Put);
    let draws = normal_draws(&model, 1 << 13, 3);
    let anchored = [&PARAMETERS[..], &PARAMETERS[..1]].concat();
    let replays = [by_replay(&model, &PARAMETERS, &draws), by_replay(&Delta(model), &anchored, &draws)];
    let tapes = [by_tape(&model, &PARAMETERS, &draws), by_tape(&Delta(model), &anchored, &draws)];
    for (replay, tape) in replays.iter().zip(&tapes) {
        let numbers = replay.slopes.iter().zip(&tape.slopes).chain([(&replay.value, &tape.value)]);
        for (replay, tape) in numbers {
            assert_close(replay.value, tape.value, 1e-12);
            assert_close(replay.error, tape.error, 1e-12);
        }
    }
    assert_eq!((replays[0].recordings, tapes[0].recordings), (1, 1 << 13));
}

#[test]
fn estimates_have_the_same_bits_for_any_number_of_threads() {
    let model = model(Right::Call);
    let draws = normal_draws(&model, 1 << 15, 5);
    let anchored = [&PARAMETERS[..], &PARAMETERS[..1]].concat();
    let estimates = |threads| {
        set_threads(threads);
        (by_replay(&model, &PARAMETERS, &draws), by_replay(&Delta(model), &anchored, &draws))
    };
    let one = estimates(1);
    for threads in [2, 3, 4] {
        assert_eq!(estimates(threads), one, "{threads} threads");
    }
}
