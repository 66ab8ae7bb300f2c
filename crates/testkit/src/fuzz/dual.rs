//! Hyper-dual numbers, which carry their derivatives: the independent reference of scalar programs.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `value + first e1 + second e2 + both e1 e2` with e1^2 = e2^2 = 0. A function of it has exact first derivatives along two directions, and
/// the exact mixed second derivative.
///
/// ```
/// use wengert_testkit::fuzz::HyperDual;
/// let x = HyperDual { value: 3.0, first: 1.0, second: 1.0, both: 0.0 };
/// let y = x * x * x;
/// assert_eq!((y.value, y.first, y.both), (27.0, 27.0, 18.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperDual {
    /// The value.
    pub value: f64,
    /// The derivative along the first direction.
    pub first: f64,
    /// The derivative along the second direction.
    pub second: f64,
    /// The mixed second derivative.
    pub both: f64,
}

impl HyperDual {
    /// A constant.
    pub fn constant(value: f64) -> HyperDual {
        HyperDual { value, first: 0.0, second: 0.0, both: 0.0 }
    }

    /// Applies a function of one number, given its value and first two derivatives there.
    fn map(self, value: f64, slope: f64, curvature: f64) -> HyperDual {
        let both = slope * self.both + curvature * self.first * self.second;
        HyperDual { value, first: slope * self.first, second: slope * self.second, both }
    }

    /// 1/x.
    pub fn recip(self) -> HyperDual {
        let x = self.value;
        self.map(1.0 / x, -1.0 / (x * x), 2.0 / (x * x * x))
    }

    /// The square root.
    pub fn sqrt(self) -> HyperDual {
        let x = self.value;
        self.map(x.sqrt(), 0.5 * x.powf(-0.5), -0.25 * x.powf(-1.5))
    }

    /// e^x.
    pub fn exp(self) -> HyperDual {
        let y = self.value.exp();
        self.map(y, y, y)
    }

    /// The natural logarithm.
    pub fn log(self) -> HyperDual {
        let x = self.value;
        self.map(x.ln(), 1.0 / x, -1.0 / (x * x))
    }

    /// The sine.
    pub fn sin(self) -> HyperDual {
        let (sin, cos) = self.value.sin_cos();
        self.map(sin, cos, -sin)
    }

    /// The cosine.
    pub fn cos(self) -> HyperDual {
        let (sin, cos) = self.value.sin_cos();
        self.map(cos, -sin, -cos)
    }

    /// The hyperbolic tangent.
    pub fn tanh(self) -> HyperDual {
        let y = self.value.tanh();
        let slope = self.value.cosh().powi(-2);
        self.map(y, slope, -2.0 * y * slope)
    }

    /// max(x, 0).
    pub fn relu(self) -> HyperDual {
        let on = f64::from(self.value > 0.0);
        self.map(on * self.value, on, 0.0)
    }
}

impl Add for HyperDual {
    type Output = HyperDual;
    fn add(self, other: HyperDual) -> HyperDual {
        HyperDual {
            value: self.value + other.value,
            first: self.first + other.first,
            second: self.second + other.second,
            both: self.both + other.both,
        }
    }
}

impl Mul for HyperDual {
    type Output = HyperDual;
    fn mul(self, other: HyperDual) -> HyperDual {
        HyperDual {
            value: self.value * other.value,
            first: self.first * other.value + self.value * other.first,
            second: self.second * other.value + self.value * other.second,
            both: self.both * other.value
                + self.first * other.second
                + self.second * other.first
                + self.value * other.both,
        }
    }
}

impl Neg for HyperDual {
    type Output = HyperDual;
    fn neg(self) -> HyperDual {
        self * HyperDual::constant(-1.0)
    }
}

impl Sub for HyperDual {
    type Output = HyperDual;
    fn sub(self, other: HyperDual) -> HyperDual {
        self + -other
    }
}

impl Div for HyperDual {
    type Output = HyperDual;
    #[allow(clippy::suspicious_arithmetic_impl, reason = "a quotient is a product with a reciprocal")]
    fn div(self, other: HyperDual) -> HyperDual {
        self * other.recip()
    }
}
