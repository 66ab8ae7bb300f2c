//! Matrices for linear systems, and the derivatives of the solutions.

use nalgebra::{RealField, SMatrix, SVector};

pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// Pseudo-random numbers between -1 and 1.
pub fn numbers<const N: usize>(seed: u64) -> [f64; N] {
    let mut state = seed;
    std::array::from_fn(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    })
}

/// A function of the solution, and its gradient with respect to it.
pub fn weighted<T: RealField + Copy, const N: usize>(x: &SVector<T, N>) -> T {
    let weight = |i: usize| nalgebra::convert::<f64, T>(1.0 + i as f64);
    x.iter().enumerate().fold(T::zero(), |sum, (i, x)| sum + weight(i) * x.sin())
}

fn weighted_slopes<const N: usize>(x: &SVector<f64, N>) -> SVector<f64, N> {
    SVector::from_fn(|i, _| (1.0 + i as f64) * x[i].cos())
}

/// The gradients of `weighted(A^-1 b)` by A, column by column, and by b, from the implicit function theorem.
pub fn implicit_slopes<const N: usize>(a: &SMatrix<f64, N, N>, b: &SVector<f64, N>) -> Vec<f64> {
    let inverse = a.try_inverse().unwrap();
    let x = inverse * b;
    let by_b = inverse.transpose() * weighted_slopes(&x);
    let by_a = -by_b * x.transpose();
    by_a.iter().chain(by_b.iter()).copied().collect()
}

pub fn lu<T: RealField, const N: usize>(a: SMatrix<T, N, N>, b: SVector<T, N>) -> SVector<T, N>
where
    nalgebra::Const<N>: nalgebra::DimMin<nalgebra::Const<N>, Output = nalgebra::Const<N>>,
{
    a.lu().solve(&b).unwrap()
}
