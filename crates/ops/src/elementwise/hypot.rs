//! hypot - length of a vector.   z = sqrt(x^2 + y^2),   dz = (x dx + y dy) / z.   Domain: the plane, without overflow; at the origin the
//! gradient is the subgradient of least norm, 0, and the second derivative is NaN, but that of z^2 is exact.

use crate::prelude::*;

/// The methods of `hypot`.
#[ext(HypotMethods)]
impl Tensor {
    /// The square root of the sum of two squares.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(3e300).hypot(4e300).item(), 5e300);
    /// ```
    #[track_caller]
    pub fn hypot(&self, other: impl Operand) -> Tensor {
        binary(&HYPOT, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    HYPOT = "hypot",
    value: |x, y| hypot(x, y),
    slices: hypot_slice(x, y),
    slopes: [
        slope!(|x: operand 0, z: output 0| ratio(x, z)),
        slope!(|y: operand 1, z: output 0| ratio(y, z))
    ],
    rule: "dx = x dz / z, dy = y dz / z",
    reference: |x, y| (x * x + y * y).sqrt(),
    domain: Positive,
    edges: &[(0.0, 0.0, 0.0), (-3.0, 4.0, 5.0), (f64::INFINITY, 1.0, f64::INFINITY)],
    jet: Slope,
}
