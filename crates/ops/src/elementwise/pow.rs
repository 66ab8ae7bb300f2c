//! pow - power of two tensors.   z = x^y,   dz = y x^(y-1) dx + z ln(x) dy.   Domain: x > 0, or x of any sign and integer y; at x = 0 the
//! gradient for y >= 0 is 0, for x < 0 it is NaN. For a number as exponent see powf.

use crate::prelude::*;
use crate::rules::TILE;
use wengert_kernels::dtype::Compute;
use wengert_kernels::functions::guarded;
use wengert_kernels::map::{loop1, loop2_in_place};
use wengert_kernels::math::{Real, log, powf, powf_slice};

/// The methods of `pow`.
#[ext(PowMethods)]
impl Tensor {
    /// Every element raised to the power of the other's. [`powf`](Tensor::powf) and [`powi`](Tensor::powi) take a number.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, 9.0]).pow(&Tensor::from([3.0, 0.5])), Tensor::from([8.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn pow(&self, exponent: impl Operand) -> Tensor {
        match exponent.own_dtype() {
            Some(_) => binary(&POW, Attrs::new(), self, &exponent.tensor(self.dtype())),
            None => self.powf(exponent.tensor(DType::F64).to_f64_vec()[0]),
        }
    }
}

/// 0 at x = y = 0, where y x^(y-1) is 0 times infinity.
#[inline(always)]
fn base_slope<T: Real + Compute>(x: T, y: T) -> T {
    guarded(y, powf(x, y - T::of(1.0)))
}

fn base_slope_slice<T: Real + Compute>(x: &[T], y: &[T], out: &mut [T]) {
    let mut less = [T::of(0.0); TILE];
    for ((x, y), out) in x.chunks(TILE).zip(y.chunks(TILE)).zip(out.chunks_mut(TILE)) {
        let less = &mut less[..y.len()];
        loop1(
            y,
            less,
            #[inline(always)]
            |y: T| y - T::of(1.0),
        );
        powf_slice(x, less, out);
        loop2_in_place(
            out,
            y,
            #[inline(always)]
            |power: T, y: T| guarded(y, power),
        );
    }
}

/// At y = 0 the slope is 0, but its derivative is not.
fn base_slope_tensor(x: &Tensor, y: &Tensor) -> Tensor {
    y.guarded_mul(&x.pow(y - 1.0))
}

#[inline(always)]
fn exponent_slope<T: Real>(x: T, z: T) -> T {
    let zero = T::of(0.0);
    if (x == zero) & (z.abs() < T::of(f64::INFINITY)) { zero } else { z * log(x) }
}

fn exponent_slope_tensor(x: &Tensor, z: &Tensor) -> Tensor {
    let (logarithm, is_zero) = (x.log(), x.equal(0.0));
    // Where z is 0, its derivative still matters in second order; 0^0 is 1.
    let of_zero = z.equal(0.0).where_(z.guarded_mul(&logarithm), 0.0);
    is_zero.logical_and(&z.isfinite()).where_(of_zero, z * logarithm)
}

elementwise! {
    POW = "pow",
    value: |x, y| powf(x, y),
    slices: powf_slice(x, y),
    slopes: [
        slope!(|x: operand 0, y: operand 1| base_slope(x, y), slices: base_slope_slice(x, y), tensor: base_slope_tensor(x, y)),
        slope!(|x: operand 0, z: output 0| exponent_slope(x, z), tensor: exponent_slope_tensor(x, z))
    ],
    rule: "dx = y x^(y-1) dz, dy = z log(x) dz",
    reference: |x, y| (y * x.ln()).exp(),
    domain: Positive,
    edges: &[(0.0, 0.0, 1.0), (-3.0, 2.0, 9.0), (0.0, 2.0, 0.0), (-1.0, 0.5, f64::NAN), (0.0, -1.0, f64::INFINITY)],
    jet: Slope,
}
