//! The Heston model: a share whose variance is random too, and mean-reverting.
//!
//! `d ln S = (r - v / 2) dt + sqrt(v) dW` and `dv = speed (level - v) dt + spread sqrt(v) dU`, where W and U are correlated. On a grid the
//! variance may become negative. Full truncation keeps it as it is, and uses `max(v, 0)` everywhere on the right-hand side; the remaining
//! error is proportional to the step.
//!
//! The exact price is an integral over the characteristic function of `X = ln(S_T / F)`, with the forward `F = S exp(r T)` (Lewis):
//!
//! ```text
//! call = exp(-r T) (F - sqrt(F K) / pi * integral over u > 0 of Re(exp(i u ln(F / K)) phi(u)) / (u^2 + 1/4))
//! phi(u) = E[exp((1/2 + i u) X)] = exp(level a + v b)
//! beta = speed - correlation spread (1/2 + i u),   d = sqrt(beta^2 + spread^2 (u^2 + 1/4)),   g = (beta - d) / (beta + d)
//! a = speed / spread^2 ((beta - d) T - 2 ln((1 - g exp(-d T)) / (1 - g)))
//! b = (beta - d) / spread^2 (1 - exp(-d T)) / (1 - g exp(-d T))
//! ```
//!
//! The integrand is even and analytic up to its poles at i/2 and -i/2, so the error of the trapezoidal rule with width h is `exp(-pi / h)`.

use super::complex::Complex;
use super::{European, Model, Right};
use std::f64::consts::PI;
use wengert::scalar::Real;

/// An option on a share with random variance. The parameters are spot, current variance, speed of mean reversion, level, spread (the
/// volatility of the variance), correlation and rate.
#[derive(Clone, Copy, Debug)]
pub struct Heston {
    /// The option to price.
    pub option: European,
    /// Its expiry.
    pub time: f64,
    /// The number of steps of a path.
    pub steps: usize,
}

impl Model for Heston {
    const NAMES: &'static [&'static str] = &["spot", "variance", "speed", "level", "spread", "correlation", "rate"];

    fn draws(&self) -> usize {
        2 * self.steps
    }

    fn path<T: Real>(&self, parameters: &[T], draws: &[T]) -> T {
        let &[spot, variance, speed, level, spread, correlation, rate] = parameters else { panic!("seven parameters") };
        let step = T::lit(self.time / self.steps as f64);
        let across = (T::lit(1.0) - correlation * correlation).sqrt();
        let (mut growth, mut variance) = (T::lit(0.0), variance);
        for draws in draws.chunks_exact(2) {
            // The zero slope of the maximum stops the infinite slope of the square root.
            let positive = variance.max(T::lit(0.0));
            let deviation = (positive * step).sqrt();
            growth += (rate - positive * T::lit(0.5)) * step + deviation * draws[0];
            variance +=
                speed * (level - positive) * step + spread * deviation * (correlation * draws[0] + across * draws[1]);
        }
        (-rate * T::lit(self.time)).exp() * self.option.payoff(spot * growth.exp())
    }
}

/// The width of the trapezoids, whose error is 2e-14, and their number.
const WIDTH: f64 = 0.1;
const TRAPEZOIDS: usize = 4000;

impl Heston {
    /// The price, from the characteristic function.
    pub fn price<T: Real>(&self, parameters: [T; 7]) -> T {
        let [spot, .., rate] = parameters;
        let strike = T::lit(self.option.strike);
        let (discount, forward) = ((-rate * T::lit(self.time)).exp(), spot * (rate * T::lit(self.time)).exp());
        let distance = (forward / strike).ln();
        let mut sum = T::lit(0.0);
        for number in 0..TRAPEZOIDS {
            let u = WIDTH * number as f64;
            let height = self.exponent(u, &parameters) + Complex::new(T::lit(0.0), distance * T::lit(u));
            let weight = if number == 0 { 0.5 } else { 1.0 };
            sum += height.exp().real * T::lit(weight / (u * u + 0.25));
        }
        let call = discount * (forward - (forward * strike).sqrt() * sum * T::lit(WIDTH / PI));
        match self.option.right {
            Right::Call => call,
            Right::Put => call - discount * (forward - strike),
        }
    }

    /// The logarithm of phi(u).
    fn exponent<T: Real>(&self, u: f64, parameters: &[T; 7]) -> Complex<T> {
        let [_, variance, speed, level, spread, correlation, _] = *parameters;
        let (time, square) = (T::lit(self.time), spread * spread);
        let [zero, one] = [0.0, 1.0].map(|x| Complex::new(T::lit(x), T::lit(0.0)));
        let slope = correlation * spread;
        let beta = Complex::new(speed - slope * T::lit(0.5), -slope * T::lit(u));
        let d = (beta * beta + Complex::new(square * T::lit(u * u + 0.25), T::lit(0.0))).sqrt();
        let (lower, fall) = (beta - d, (zero - d.scaled(time)).exp());
        let g = lower / (beta + d);
        let rest = one - g * fall;
        let a = (lower.scaled(time) - (rest / (one - g)).ln().scaled(T::lit(2.0))).scaled(speed / square);
        let b = (lower * (one - fall) / rest).scaled(square.recip());
        a.scaled(level) + b.scaled(variance)
    }
}
