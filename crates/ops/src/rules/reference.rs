//! Special functions computed differently from the kernels, as references for test cases. Plain and slow.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// `erf(x)` by Kummer's series, whose terms are all positive.
pub fn erf(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 0.25 * f64::EPSILON * sum.abs() {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// The cumulative distribution function of a standard normal variable.
pub fn normal(x: f64) -> f64 {
    0.5 + 0.5 * erf(x * FRAC_1_SQRT_2)
}

/// The x between `low` and `high` at which an increasing function equals `y`, by bisection.
pub fn inverse(f: fn(f64) -> f64, y: f64, mut low: f64, mut high: f64) -> f64 {
    loop {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            return middle;
        }
        if f(middle) < y { low = middle } else { high = middle }
    }
}

/// `log Gamma(x)` for positive x, by Stirling's series for large x and the recurrence.
pub fn log_gamma(x: f64) -> f64 {
    let (mut a, mut product) = (x, 1.0);
    while a < 30.0 {
        product *= a;
        a += 1.0;
    }
    let series = 1.0 / (12.0 * a) - 1.0 / (360.0 * a.powi(3)) + 1.0 / (1260.0 * a.powi(5)) - 1.0 / (1680.0 * a.powi(7));
    (a - 0.5) * a.ln() - a + 0.5 * (2.0 * PI).ln() + series - f64::ln(product)
}

/// The derivative of order n + 1 of `log Gamma` for positive x: a sum of powers, and the integral of the remainder.
pub fn poly_gamma(n: i32, x: f64) -> f64 {
    let terms = 60;
    let a = x + terms as f64;
    if n == 0 {
        let below: f64 = (0..terms).map(|k| 1.0 / (x + k as f64)).sum();
        return a.ln() - 0.5 / a - 1.0 / (12.0 * a * a) + 1.0 / (120.0 * a.powi(4)) - below;
    }
    let s = n as f64 + 1.0;
    let below: f64 = (0..terms).rev().map(|k| (x + k as f64).powi(-n - 1)).sum();
    let rest = a.powi(-n) / (s - 1.0) + 0.5 * a.powi(-n - 1) + s / 12.0 * a.powi(-n - 2)
        - s * (s + 1.0) * (s + 2.0) / 720.0 * a.powi(-n - 4)
        + s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / 30240.0 * a.powi(-n - 6);
    let factorial: f64 = (1..=n).map(f64::from).product();
    if n % 2 == 1 { factorial * (below + rest) } else { -factorial * (below + rest) }
}

/// The modified Bessel function of order n: the mean of `e^(x cos t) cos(n t)`, for which the trapezoidal rule is accurate to all digits.
pub fn bessel_i(n: i32, x: f64) -> f64 {
    let points = 64;
    let angle = |k: i32| 2.0 * PI * f64::from(k) / f64::from(points);
    let sum: f64 = (0..points).map(|k| (x * angle(k).cos()).exp() * (f64::from(n) * angle(k)).cos()).sum();
    sum / f64::from(points)
}
