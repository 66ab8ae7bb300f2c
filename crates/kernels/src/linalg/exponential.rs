//! `exp(A)` by scaling and squaring: `exp(A) = r(A / 2^s)^(2^s)` with the diagonal Pade approximant `r`.
//!
//! The degree (3, 5, 7, 9 or 13) and `s` are the smallest for which the backward error is below the rounding of `f64`, based on the 1-norm
//! of `A` (Higham 2005). With `U` the odd and `V` the even part of the numerator, `(V - U) r = V + U`.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::{Reason, Status, Submatrix, multiply, solve};

/// The largest 1-norm for each degree, and the coefficients of the numerator from the constant term up.
const APPROXIMANTS: [(f64, &[f64]); 5] = [
    (1.495585217958292e-2, &[120.0, 60.0, 12.0, 1.0]),
    (2.53939833006323e-1, &[30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0]),
    (9.504178996162932e-1, &[17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0]),
    (
        2.097847961257068,
        &[17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0],
    ),
    (
        5.371920351148152,
        &[
            64764752532480000.0,
            32382376266240000.0,
            7771770303897600.0,
            1187353796428800.0,
            129060195264000.0,
            10559470521600.0,
            670442572800.0,
            33522128640.0,
            1323241920.0,
            40840800.0,
            960960.0,
            16380.0,
            182.0,
            1.0,
        ],
    ),
];

/// The exponentials of `n x n` matrices.
///
/// ```
/// let mut y = [0.0; 4];
/// assert!(wengert_kernels::linalg::matrix_exp(&[0.0, 1.0, 0.0, 0.0], [1, 2], &mut y).is_ok());
/// assert_eq!(y, [1.0, 1.0, 0.0, 1.0]);
/// ```
pub fn matrix_exp(a: &[f64], [batch, n]: [usize; 2], out: &mut [f64]) -> Status {
    expect_length("matrix_exp", "a", a.len(), [batch, n, n]);
    expect_length("matrix_exp", "out", out.len(), [batch, n, n]);
    for_each_matrix(batch, 20 * n * n * n, [out], &mut [], &|matrix, [out], _| {
        let a = &a[matrix * n * n..][..n * n];
        expect_finite(a)?;
        exponential(a, n, out)
    })
}

fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    multiply(Submatrix::new(a, n, n, n), Submatrix::new(b, n, n, n), 1.0, false, &mut out, n);
    out
}

fn exponential(a: &[f64], n: usize, out: &mut [f64]) -> Result<(), Reason> {
    if n == 0 {
        return Ok(());
    }
    let norm = (0..n).map(|j| (0..n).map(|i| a[i * n + j].abs()).sum::<f64>()).fold(0.0, f64::max);
    let (largest, _) = APPROXIMANTS[4];
    let (_, coefficients) = APPROXIMANTS.into_iter().find(|(most, _)| norm <= *most).unwrap_or(APPROXIMANTS[4]);
    // Beyond 2^1000 the scaled matrix would be zero; every such exponential over- or underflows.
    let squarings = (norm / largest).log2().ceil().clamp(0.0, 1000.0) as i32;
    let scale = 2f64.powi(-squarings);
    let a: Vec<f64> = a.iter().map(|x| x * scale).collect();
    let (odd, even) = parts(&a, coefficients, n);
    let denominator: Vec<f64> = even.iter().zip(&odd).map(|(v, u)| v - u).collect();
    let numerator: Vec<f64> = even.iter().zip(&odd).map(|(v, u)| v + u).collect();
    let status = solve(&denominator, &numerator, [1, n, n], false, out);
    if let Some(failure) = status.failed.first() {
        return Err(failure.reason);
    }
    for _ in 0..squarings {
        let square = product(out, out, n);
        out.copy_from_slice(&square);
    }
    Ok(())
}

/// The odd part `U = A (b1 + b3 A^2 + ..)` and the even part `V = b0 + b2 A^2 + ..`.
fn parts(a: &[f64], b: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let a2 = product(a, a, n);
    let add = |sum: &mut [f64], factor: f64, x: &[f64]| sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
    let constant = |value: f64| {
        let mut matrix = vec![0.0; n * n];
        matrix.iter_mut().step_by(n + 1).for_each(|x| *x = value);
        matrix
    };
    let (mut inner, mut even) = (constant(b[1]), constant(b[0]));
    if b.len() == 14 {
        let a4 = product(&a2, &a2, n);
        let a6 = product(&a4, &a2, n);
        let high = |first: usize| {
            let mut sum = vec![0.0; n * n];
            for (place, power) in [&a2, &a4, &a6].into_iter().enumerate() {
                add(&mut sum, b[first + 2 * place], power);
            }
            product(&a6, &sum, n)
        };
        for (part, first) in [(&mut even, 0), (&mut inner, 1)] {
            for (place, power) in [&a2, &a4, &a6].into_iter().enumerate() {
                add(part, b[first + 2 + 2 * place], power);
            }
            add(part, 1.0, &high(first + 8));
        }
    } else {
        let mut power = a2.clone();
        for pair in (2..b.len()).step_by(2) {
            if pair > 2 {
                power = product(&power, &a2, n);
            }
            add(&mut even, b[pair], &power);
            add(&mut inner, b[pair + 1], &power);
        }
    }
    (product(a, &inner, n), even)
}
