//! Prices and Greeks of options by Monte Carlo, beside exact ones.

use wengert::scalar::Dual;
use wengert_clients::options::monte_carlo::{Estimate, by_replay, by_tape};
use wengert_clients::options::{BlackScholes, Delta, European, Greeks, Heston, Model, Right, normal_draws};

fn main() {
    black_scholes([100.0, 0.2, 1.0, 0.05], 1 << 18);
    heston([100.0, 0.05, 1.5, 0.06, 0.3, -0.6, 0.03], 1 << 16);
}

fn black_scholes(parameters: [f64; 4], paths: usize) {
    let model = BlackScholes { option: European { right: Right::Call, strike: 105.0 } };
    println!("Black-Scholes, a call at {}: {} = {parameters:?}", model.option.strike, BlackScholes::NAMES.join(", "));
    let draws = normal_draws(&model, paths, 3);
    let price = by_replay(&model, &parameters, &draws);
    let delta = by_replay(&Delta(model), &[&parameters[..], &parameters[..1]].concat(), &draws);
    let estimated = Greeks::estimated(&price, &delta).to_array();
    table(Greeks::<f64>::NAMES.into_iter().zip(estimated).zip(Greeks::exact(&model, parameters).to_array()));
    println!("{paths} paths, of which {} was recorded\n", price.recordings);
}

fn heston(parameters: [f64; 7], paths: usize) {
    let model = Heston { option: European { right: Right::Call, strike: 105.0 }, time: 1.0, steps: 64 };
    println!("Heston, a call at {}: {} = {parameters:?}", model.option.strike, Heston::NAMES.join(", "));
    let draws = normal_draws(&model, paths, 4);
    let found = by_replay(&model, &parameters, &draws);
    let exact = model.price(std::array::from_fn(|k| Dual::<f64, 7>::variable(parameters[k], k)));
    let names = std::iter::once("price").chain(Heston::NAMES.iter().copied());
    let estimates = std::iter::once(found.value).chain(found.slopes);
    table(names.zip(estimates).zip(std::iter::once(exact.value()).chain(*exact.tangents())));
    let few = &draws[..draws.len() / 16];
    let (replay, tape) = (by_replay(&model, &parameters, few), by_tape(&model, &parameters, few));
    let gap = |(a, b): (&Estimate, &Estimate)| (a.value - b.value).abs() / b.value.abs();
    let most = replay.slopes.iter().zip(&tape.slopes).map(gap).fold(0.0, f64::max);
    println!("{paths} paths of {} steps; on the tape, slopes of a few differ by {most:.0e} at most", model.steps);
}

fn table<'n>(rows: impl Iterator<Item = ((&'n str, Estimate), f64)>) {
    println!("{:<12} {:>11} {:>10} {:>11} {:>7}", "", "estimate", "error", "exact", "errors");
    for ((name, estimate), exact) in rows {
        let Estimate { value, error } = estimate;
        println!("{name:<12} {value:>11.5} {error:>10.5} {exact:>11.5} {:>7.1}", estimate.errors_from(exact));
    }
}
