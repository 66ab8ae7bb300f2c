//! Elementary functions in double-double arithmetic (about 100 bits), by series and Newton's iteration.
//!
//! Slow and simple: it shares nothing with the code under test but Taylor's theorem.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unevaluated sum of two numbers.
#[derive(Clone, Copy, Debug)]
pub struct Pair(pub f64, pub f64);

fn two_sum(a: f64, b: f64) -> Pair {
    let s = a + b;
    let t = s - a;
    Pair(s, (a - (s - t)) + (b - t))
}

fn two_product(a: f64, b: f64) -> Pair {
    let split = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        (high, x - high)
    };
    let p = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    Pair(p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
}

impl From<f64> for Pair {
    fn from(x: f64) -> Pair {
        Pair(x, 0.0)
    }
}

impl Add for Pair {
    type Output = Pair;
    fn add(self, other: Pair) -> Pair {
        let high = two_sum(self.0, other.0);
        let low = two_sum(self.1, other.1);
        let sum = two_sum(high.0, high.1 + low.0);
        two_sum(sum.0, sum.1 + low.1)
    }
}

impl Neg for Pair {
    type Output = Pair;
    fn neg(self) -> Pair {
        Pair(-self.0, -self.1)
    }
}

impl Sub for Pair {
    type Output = Pair;
    fn sub(self, other: Pair) -> Pair {
        self + -other
    }
}

impl Mul for Pair {
    type Output = Pair;
    fn mul(self, other: Pair) -> Pair {
        let p = two_product(self.0, other.0);
        two_sum(p.0, p.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Pair {
    type Output = Pair;
    fn div(self, other: Pair) -> Pair {
        let q = self.0 / other.0;
        let r = self - other * Pair(q, 0.0);
        let q2 = r.0 / other.0;
        let r = r - other * Pair(q2, 0.0);
        two_sum(q, q2) + Pair(r.0 / other.0, 0.0)
    }
}

pub const LN2: Pair = Pair(std::f64::consts::LN_2, 2.3190468138462996e-17);
pub const LN10: Pair = Pair(std::f64::consts::LN_10, -2.1707562233822494e-16);
pub const HALF_PI: Pair = Pair(std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);
const HALF_PI_REST: f64 = -1.4973849048591698e-33;
/// `2 / sqrt(pi)`.
const TWO_OVER_ROOT_PI: Pair = Pair(std::f64::consts::FRAC_2_SQRT_PI, 1.533545961316588e-17);

impl Pair {
    pub fn times(self, x: f64) -> Pair {
        self * Pair(x, 0.0)
    }

    pub fn sqrt(self) -> Pair {
        if self.0 == 0.0 {
            return self;
        }
        let r = Pair(self.0.sqrt(), 0.0);
        let r = r + (self - r * r) / r.times(2.0);
        r + (self - r * r) / r.times(2.0)
    }

    /// `e^x - 1` for a small `x`.
    fn expm1_series(self) -> Pair {
        let (mut sum, mut term) = (self, self);
        for n in 2..40 {
            term = term * self / Pair(n as f64, 0.0);
            sum = sum + term;
            if term.0.abs() < 1e-34 * sum.0.abs() {
                break;
            }
        }
        sum
    }

    /// `(k, m)` with `e^x = 2^k m`.
    pub fn exp_scaled(self) -> (i32, Pair) {
        let k = (self.0 / LN2.0).round();
        let r = self - LN2.times(k);
        (k as i32, Pair(1.0, 0.0) + r.expm1_series())
    }

    pub fn exp(self) -> Pair {
        let (k, m) = self.exp_scaled();
        let half = 2f64.powi(k / 2);
        let rest = 2f64.powi(k - k / 2);
        Pair(m.0 * half * rest, m.1 * half * rest)
    }

    pub fn expm1(self) -> Pair {
        if self.0.abs() < 0.5 { self.expm1_series() } else { self.exp() - Pair(1.0, 0.0) }
    }

    pub fn log1p(self) -> Pair {
        if self.0.abs() > 0.3 {
            return (Pair(1.0, 0.0) + self).log();
        }
        let s = self / (Pair(2.0, 0.0) + self);
        let z = s * s;
        let (mut sum, mut power) = (s, s);
        for n in 1..60 {
            power = power * z;
            let term = power / Pair(2.0 * n as f64 + 1.0, 0.0);
            sum = sum + term;
            if term.0.abs() < 1e-34 * sum.0.abs() {
                break;
            }
        }
        sum.times(2.0)
    }

    pub fn log(self) -> Pair {
        if self.0 < 1e-280 {
            let up = 2f64.powi(200);
            return Pair(self.0 * up, self.1 * up).log() - LN2.times(200.0);
        }
        if self.0 > 1e280 {
            let down = 2f64.powi(-200);
            return Pair(self.0 * down, self.1 * down).log() + LN2.times(200.0);
        }
        if (self.0 - 1.0).abs() < 0.3 {
            return (self - Pair(1.0, 0.0)).log1p();
        }
        let y = Pair(self.0.ln(), 0.0);
        let e = y.exp();
        y + (self - e).times(2.0) / (self + e)
    }

    /// `(r, n)` with `x = r + n pi/2`.
    fn turns(self) -> (Pair, i64) {
        let n = (self.0 / HALF_PI.0).round();
        let r = self - two_product(n, HALF_PI.0) - two_product(n, HALF_PI.1) - two_product(n, HALF_PI_REST);
        (r, n as i64)
    }

    fn sin_series(self) -> Pair {
        let z = -(self * self);
        let (mut sum, mut term) = (self, self);
        for n in 1..30 {
            term = term * z / Pair((2 * n * (2 * n + 1)) as f64, 0.0);
            sum = sum + term;
        }
        sum
    }

    fn cos_series(self) -> Pair {
        let z = -(self * self);
        let (mut sum, mut term) = (Pair(1.0, 0.0), Pair(1.0, 0.0));
        for n in 1..30 {
            term = term * z / Pair((2 * n * (2 * n - 1)) as f64, 0.0);
            sum = sum + term;
        }
        sum
    }

    pub fn sin_cos(self) -> (Pair, Pair) {
        let (r, n) = self.turns();
        let (s, c) = (r.sin_series(), r.cos_series());
        match n.rem_euclid(4) {
            0 => (s, c),
            1 => (c, -s),
            2 => (-s, -c),
            _ => (-c, s),
        }
    }

    pub fn atan(self) -> Pair {
        if self.0.abs() > 1e15 {
            let turn = if self.0 > 0.0 { HALF_PI } else { -HALF_PI };
            return turn - Pair(1.0, 0.0) / self;
        }
        if self.0.abs() < 1e-20 {
            return self;
        }
        let y = Pair(self.0.atan(), 0.0);
        let (s, c) = y.sin_cos();
        y + (self * c - s) / (c + self * s)
    }

    /// `erf(x)` for `0 <= x < 7`: a series of positive terms.
    pub fn erf(self) -> Pair {
        let z = (self * self).times(2.0);
        let (mut sum, mut term) = (self, self);
        for n in 1..400 {
            term = term * z / Pair(2.0 * n as f64 + 1.0, 0.0);
            sum = sum + term;
            if term.0 < 1e-34 * sum.0 {
                break;
            }
        }
        TWO_OVER_ROOT_PI * sum * (-(self * self)).exp()
    }

    /// `erfc(x)` for `x >= 0`: one minus the series, from 3 on a continued fraction.
    pub fn erfc(self) -> Pair {
        if self.0 < 3.0 {
            return Pair(1.0, 0.0) - self.erf();
        }
        let mut fraction = self;
        for n in (1..160).rev() {
            fraction = self + Pair(n as f64 * 0.5, 0.0) / fraction;
        }
        let (k, m) = (-(self * self)).exp_scaled();
        let y = m * TWO_OVER_ROOT_PI.times(0.5) / fraction;
        let (half, rest) = (2f64.powi(k / 2), 2f64.powi(k - k / 2));
        Pair(y.0 * half * rest, y.1 * half * rest)
    }
}
