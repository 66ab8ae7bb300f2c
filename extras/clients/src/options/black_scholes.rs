//! The Black-Scholes model: a share whose logarithm is a Brownian motion with drift.
//!
//! Its final price is `S exp((r - v^2 / 2) T + v sqrt(T) z)`, with volatility v and one normal draw z. With
//! `d = (ln(S / K) + (r + v^2 / 2) T) / (v sqrt(T))` and the normal distribution N, a call is worth
//! `S N(d) - K exp(-r T) N(d - v sqrt(T))`.
//!
//! Gamma is the second derivative with respect to the spot. Let `D(s, z)` be the derivative of a path's payoff with respect to its spot; it
//! jumps where the path ends at the strike. Move the draw with the spot so that the path ends where it did,
//! `z' = z - ln(s / S) / (v sqrt(T))`. As `dz' = dz`, and with the normal density n, the delta at any s is
//! `E[D(s, z)] = E[D(s, z') n(z') / n(z)]`. The right-hand side does not jump when s moves, so its derivative with respect to s, at s = S,
//! is an unbiased gamma. It is the likelihood ratio times the pathwise delta; by hand, for a call that pays,
//! `exp(-r T) S_T / S^2 (z / (v sqrt(T)) - 1)`.

use super::monte_carlo::{Estimate, Estimates};
use super::{European, Model, Right};
use std::f64::consts::FRAC_1_SQRT_2;
use wengert::scalar::{Dual, Real};

/// An option on a share with constant volatility. The parameters are spot, volatility, time and rate.
#[derive(Clone, Copy, Debug)]
pub struct BlackScholes {
    /// The option to price.
    pub option: European,
}

/// The final price of the share.
fn end<T: Real>(spot: T, volatility: T, time: T, rate: T, draw: T) -> T {
    let drift = (rate - volatility * volatility * T::lit(0.5)) * time;
    spot * (drift + volatility * time.sqrt() * draw).exp()
}

impl Model for BlackScholes {
    const NAMES: &'static [&'static str] = &["spot", "volatility", "time", "rate"];

    fn draws(&self) -> usize {
        1
    }

    fn path<T: Real>(&self, parameters: &[T], draws: &[T]) -> T {
        let &[spot, volatility, time, rate] = parameters else { panic!("four parameters") };
        (-rate * time).exp() * self.option.payoff(end(spot, volatility, time, rate, draws[0]))
    }
}

impl BlackScholes {
    /// The price in closed form.
    ///
    /// ```
    /// use wengert_clients::options::{BlackScholes, European, Right};
    /// let model = BlackScholes { option: European { right: Right::Call, strike: 100.0 } };
    /// let price: f64 = model.price([100.0, 0.2, 1.0, 0.05]);
    /// assert!((price - 10.4506).abs() < 1e-4);
    /// ```
    pub fn price<T: Real>(&self, [spot, volatility, time, rate]: [T; 4]) -> T {
        let (deviation, strike) = (volatility * time.sqrt(), T::lit(self.option.strike));
        let middle = ((spot / strike).ln() + rate * time) / deviation;
        let sign = T::lit(if self.option.right == Right::Call { 1.0 } else { -1.0 });
        let below = |d: T| (-(sign * d) * T::lit(FRAC_1_SQRT_2)).erfc() * T::lit(0.5);
        let half = deviation * T::lit(0.5);
        sign * (spot * below(middle + half) - strike * (-rate * time).exp() * below(middle - half))
    }
}

/// The delta of an option in a form that can be differentiated once more. The parameters are those of [`BlackScholes`], followed by the
/// spot again, which is held fixed: the mean is delta, and its derivative with respect to the first parameter is gamma. Derivatives with
/// respect to the others are meaningless.
#[derive(Clone, Copy, Debug)]
pub struct Delta(pub BlackScholes);

impl Model for Delta {
    const NAMES: &'static [&'static str] = &["spot", "volatility", "time", "rate", "anchor"];

    fn draws(&self) -> usize {
        1
    }

    fn path<T: Real>(&self, parameters: &[T], draws: &[T]) -> T {
        let &[spot, volatility, time, rate, anchor] = parameters else { panic!("five parameters") };
        let draw = draws[0];
        let moved = draw - (spot / anchor).ln() / (volatility * time.sqrt());
        let spot = Dual::new(spot, [T::lit(1.0)]);
        let [volatility, time, rate, noise] = [volatility, time, rate, moved].map(Dual::from);
        let delta = self.0.path(&[spot, volatility, time, rate], &[noise]).tangents()[0];
        delta * ((draw * draw - moved * moved) * T::lit(0.5)).exp()
    }
}

/// The price and its sensitivities, exact or estimated.
#[derive(Clone, Copy, Debug)]
pub struct Greeks<N> {
    /// The price.
    pub price: N,
    /// The derivative with respect to the spot.
    pub delta: N,
    /// The derivative of delta with respect to the spot.
    pub gamma: N,
    /// The derivative of the price with respect to the volatility.
    pub vega: N,
    /// The change of the price as time passes: minus the derivative with respect to the remaining time.
    pub theta: N,
    /// The derivative of the price with respect to the rate.
    pub rho: N,
}

impl<N: Copy> Greeks<N> {
    /// Their names.
    pub const NAMES: [&'static str; 6] = ["price", "delta", "gamma", "vega", "theta", "rho"];

    /// All of them, in the order of the names.
    pub fn to_array(&self) -> [N; 6] {
        [self.price, self.delta, self.gamma, self.vega, self.theta, self.rho]
    }
}

impl Greeks<f64> {
    /// The derivatives of the closed form, by dual numbers.
    pub fn exact(model: &BlackScholes, parameters: [f64; 4]) -> Greeks<f64> {
        let inner: [Dual<f64, 4>; 4] = std::array::from_fn(|number| Dual::variable(parameters[number], number));
        let along_spot = |number| Dual::lit(if number == 0 { 1.0 } else { 0.0 });
        let price = model.price(std::array::from_fn(|number| Dual::new(inner[number], [along_spot(number)])));
        let [delta, vega, by_time, rho] = *price.value().tangents();
        let gamma = price.tangents()[0].tangents()[0];
        Greeks { price: price.value().value(), delta, gamma, vega, theta: -by_time, rho }
    }
}

impl Greeks<Estimate> {
    /// From estimates of the price, and of [`Delta`].
    pub fn estimated(price: &Estimates, delta: &Estimates) -> Greeks<Estimate> {
        let &[by_spot, vega, by_time, rho] = price.slopes.as_slice() else { panic!("estimates of another model") };
        let gamma = delta.slopes[0];
        Greeks { price: price.value, delta: by_spot, gamma, vega, theta: by_time.negated(), rho }
    }
}
