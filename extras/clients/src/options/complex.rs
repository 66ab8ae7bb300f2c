//! Complex numbers over any real type, with the operations that a characteristic function needs.

use std::ops::{Add, Div, Mul, Sub};
use wengert::scalar::Real;

/// `real + i imaginary`.
#[derive(Clone, Copy)]
pub(super) struct Complex<T> {
    pub real: T,
    pub imaginary: T,
}

impl<T: Real> Complex<T> {
    pub fn new(real: T, imaginary: T) -> Complex<T> {
        Complex { real, imaginary }
    }

    pub fn scaled(self, factor: T) -> Complex<T> {
        Complex::new(self.real * factor, self.imaginary * factor)
    }

    pub fn exp(self) -> Complex<T> {
        Complex::new(self.imaginary.cos(), self.imaginary.sin()).scaled(self.real.exp())
    }

    /// The principal logarithm: its imaginary part is within half a turn of 0.
    pub fn ln(self) -> Complex<T> {
        Complex::new(self.real.hypot(self.imaginary).ln(), self.imaginary.atan2(self.real))
    }

    /// The square root of a number in the right half plane, in the right half plane: there is no cancellation there.
    pub fn sqrt(self) -> Complex<T> {
        let root = ((self.real.hypot(self.imaginary) + self.real) * T::lit(0.5)).sqrt();
        Complex::new(root, self.imaginary / (root + root))
    }
}

impl<T: Real> Add for Complex<T> {
    type Output = Complex<T>;
    fn add(self, other: Complex<T>) -> Complex<T> {
        Complex::new(self.real + other.real, self.imaginary + other.imaginary)
    }
}

impl<T: Real> Sub for Complex<T> {
    type Output = Complex<T>;
    fn sub(self, other: Complex<T>) -> Complex<T> {
        Complex::new(self.real - other.real, self.imaginary - other.imaginary)
    }
}

impl<T: Real> Mul for Complex<T> {
    type Output = Complex<T>;
    fn mul(self, other: Complex<T>) -> Complex<T> {
        let real = self.real * other.real - self.imaginary * other.imaginary;
        Complex::new(real, self.real * other.imaginary + self.imaginary * other.real)
    }
}

impl<T: Real> Div for Complex<T> {
    type Output = Complex<T>;
    fn div(self, other: Complex<T>) -> Complex<T> {
        let square = other.real * other.real + other.imaginary * other.imaginary;
        (self * Complex::new(other.real, -other.imaginary)).scaled(square.recip())
    }
}
