//! sinc - cardinal sine.   y = sin(pi x) / (pi x), and 1 at 0,   dy = (cos(pi x) - y) / x dx.   Domain: all reals.

use crate::prelude::*;
use wengert_kernels::math::{Real, cos};

/// The methods of `sinc`.
#[ext(SincMethods)]
impl Tensor {
    /// The cardinal sine of every element, with zeros at the whole numbers.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 1.0]).sinc(), Tensor::from([1.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn sinc(&self) -> Tensor {
        bind1(&SINC, Attrs::new(), &[self])
    }
}

/// Below this the slope is a polynomial: the difference of cosine and value would cancel.
const NEAR: f64 = 0.3;

/// Of x^(2k + 1) in the slope: (-1)^(k + 1) (2k + 2) pi^(2k + 2) / (2k + 3)!.
const SERIES: [f64; 9] = series();

const fn series() -> [f64; 9] {
    let mut all = [0.0; 9];
    let (mut k, mut power) = (0, 1.0);
    while k < 9 {
        let n = (2 * k + 2) as f64;
        // power = (-1)^k pi^(2k + 2) / (2k + 3)!
        power *= -std::f64::consts::PI * std::f64::consts::PI / (n * (n + 1.0));
        all[k] = n * power;
        k += 1;
    }
    all
}

fn slope<T: Real>(x: T, y: T) -> T {
    let (x, y) = (x.wide(), y.wide());
    T::of(match x.abs() < NEAR {
        true => x * SERIES.iter().rev().fold(0.0, |sum, coefficient| sum * x * x + coefficient),
        false => (cos(std::f64::consts::PI * x) - y) / x,
    })
}

fn slope_tensor(x: &Tensor, y: &Tensor) -> Tensor {
    let z = x.square();
    let near = SERIES.iter().rev().fold(z.full_like(0.0), |sum, &coefficient| sum * &z + coefficient) * x;
    x.abs().lt(NEAR).where_(near, ((x * std::f64::consts::PI).cos() - y) / x)
}

elementwise! {
    SINC = "sinc",
    value: |x| sinc(x),
    slopes: [slope!(|x: operand 0, y: output 0| slope(x, y), tensor: slope_tensor(x, y))],
    rule: "dx = (cos(pi x) - y) / x dy",
    reference: |x| if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) },
    domain: Reals,
    edges: &[(0.0, 1.0), (1.0, 0.0), (f64::INFINITY, 0.0)],
    jet: Slope,
}
