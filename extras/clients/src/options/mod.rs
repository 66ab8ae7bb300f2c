//! European options by Monte Carlo, with the derivatives of their prices with respect to all parameters: the Greeks.
//!
//! A price is the mean of a discounted payoff, `V = E[exp(-r T) h(S)]`, where `S` is the price of a share at time `T`. A [`Model`] computes
//! `S` from parameters and normal draws. It is written once, for any [`Real`], and [`monte_carlo`] differentiates it path by path: as a
//! replay that is traced once and runs in lanes, or on a tape that discards each path.
//!
//! The payoff `max(S - K, 0)` has a kink but no jump, so the mean of its derivatives is the derivative of its mean. The second derivative
//! needs more: the derivative of a path jumps where the path ends at the strike, and its own derivative is 0 on both sides. [`Delta`] has
//! the same mean but is smooth path by path, and its derivative with respect to the spot is gamma.
//!
//! Black-Scholes prices have a closed form, Heston prices are an integral over a characteristic function. Both are also written for any
//! [`Real`], and the tests compare with their derivatives.

mod black_scholes;
mod complex;
mod heston;
pub mod monte_carlo;

pub use black_scholes::{BlackScholes, Delta, Greeks};
pub use heston::Heston;

use std::f64::consts::TAU;
use wengert::prelude::*;
use wengert::scalar::Real;

/// The right to buy or to sell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Right {
    /// To buy at the strike.
    Call,
    /// To sell at the strike.
    Put,
}

/// An option that can only be exercised at expiry.
#[derive(Clone, Copy, Debug)]
pub struct European {
    /// Call or put.
    pub right: Right,
    /// The agreed price.
    pub strike: f64,
}

impl European {
    /// The payoff for this final price of the share.
    ///
    /// ```
    /// use wengert_clients::options::{European, Right};
    /// let pays = |right, price: f64| European { right, strike: 100.0 }.payoff(price);
    /// assert_eq!((pays(Right::Call, 103.0), pays(Right::Put, 103.0), pays(Right::Put, 96.0)), (3.0, 0.0, 4.0));
    /// ```
    pub fn payoff<T: Real>(&self, price: T) -> T {
        let gain = match self.right {
            Right::Call => price - T::lit(self.strike),
            Right::Put => T::lit(self.strike) - price,
        };
        gain.max(T::lit(0.0))
    }
}

/// A random quantity computed from parameters and normal draws, whose mean is estimated.
pub trait Model {
    /// The names of the parameters, in their order.
    const NAMES: &'static [&'static str];

    /// The number of normal draws per path.
    fn draws(&self) -> usize;

    /// The value of one path: in most models, the discounted payoff.
    fn path<T: Real>(&self, parameters: &[T], draws: &[T]) -> T;
}

/// Independent normal draws for this many paths of a model. Each depends only on the seed and its position.
///
/// ```
/// use wengert_clients::options::{BlackScholes, European, Right, normal_draws};
/// let model = BlackScholes { option: European { right: Right::Call, strike: 1.0 } };
/// assert_eq!(normal_draws(&model, 64, 7)[..32], normal_draws(&model, 32, 7));
/// ```
pub fn normal_draws<M: Model>(model: &M, paths: usize, seed: u64) -> Vec<f64> {
    let count = paths * model.draws();
    let uniform: Vec<f64> = Key::new(seed).uniform([count.next_multiple_of(2)], DType::F64).to_vec();
    // Box-Muller: a pair is a point of the plane, given by radius and angle. A uniform number is below 1.
    let point = |pair: &[f64]| {
        let radius = (-2.0 * (1.0 - pair[0]).ln()).sqrt();
        [radius * (TAU * pair[1]).cos(), radius * (TAU * pair[1]).sin()]
    };
    uniform.chunks_exact(2).flat_map(point).take(count).collect()
}
