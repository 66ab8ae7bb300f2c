//! The singular value decomposition `A = U diag(s) V^T` by one-sided Jacobi rotations (Hestenes), in `f64`.
//!
//! Rotations make the columns of a tall matrix orthogonal in pairs; then the column norms are the singular values, the
//! normed columns are `U`, and the product of the rotations is `V`. A wide matrix is transposed first. Columns without
//! weight are replaced by an orthonormal completion. In each column of `U` the entry of largest magnitude (the first
//! among equals) is positive.

use crate::dtype::Compute;
use crate::simd::vectorised;

/// Cosines below this count as zero.
const ORTHOGONAL: f64 = 1e-15;

/// Convergence is quadratic: ten sweeps are many.
const SWEEPS: usize = 60;

/// Decomposes the row-major `m x n` matrix `a`: `u` is `m x k`, `s` has `k` elements in descending order, `vt` is
/// `k x n`, with `k = min(m, n)`. An input that is not finite fills everything with NaN.
///
/// ```
/// let a = [3.0, 0.0, 0.0, -4.0];
/// let (mut u, mut s, mut vt) = ([0.0; 4], [0.0; 2], [0.0; 4]);
/// wengert_kernels::svd(&a, 2, 2, &mut u, &mut s, &mut vt);
/// assert_eq!(s, [4.0, 3.0]);
/// assert_eq!(u, [0.0, 1.0, 1.0, 0.0]);
/// assert_eq!(vt, [0.0, -1.0, 1.0, 0.0]);
/// ```
pub fn svd<T: Compute>(a: &[T], m: usize, n: usize, u: &mut [T], s: &mut [T], vt: &mut [T]) {
    let k = m.min(n);
    assert!(T::DTYPE.is_float(), "svd: {} has no square roots", T::DTYPE);
    assert_eq!(a.len(), m * n, "svd: the input is {m}x{n}");
    assert!(
        u.len() == m * k && s.len() == k && vt.len() == k * n,
        "svd: the outputs of a {m}x{n} matrix are {m}x{k}, {k} and {k}x{n}"
    );
    if k == 0 {
        return;
    }
    let largest = a.iter().fold(0.0, |largest: f64, x| {
        let magnitude = x.to_f64().abs();
        if magnitude.is_finite() { largest.max(magnitude) } else { f64::INFINITY }
    });
    if !largest.is_finite() {
        for out in [u, s, vt] {
            out.fill(T::from_f64(f64::NAN));
        }
        return;
    }
    // A power of two, so scaling is exact and squares neither overflow nor vanish.
    let scale = if largest > 0.0 { 2f64.powi(-(largest.log2().floor().clamp(-1000.0, 1000.0) as i32)) } else { 1.0 };

    let wide = m < n;
    let (tall, short) = if wide { (n, m) } else { (m, n) };
    let element = |i: usize, j: usize| if wide { a[j * n + i] } else { a[i * n + j] }.to_f64() * scale;
    let columns = (0..short).map(|j| (0..tall).map(|i| element(i, j)).collect()).collect();
    let Factors { left, singular, right } = decompose(columns, tall);

    let (left, right) = if wide { (right, left) } else { (left, right) };
    for j in 0..k {
        let sign = if largest_entry(&left[j]) < 0.0 { -1.0 } else { 1.0 };
        s[j] = T::from_f64(singular[j] / scale);
        for i in 0..m {
            u[i * k + j] = T::from_f64(left[j][i] * sign + 0.0);
        }
        for i in 0..n {
            vt[j * n + i] = T::from_f64(right[j][i] * sign + 0.0);
        }
    }
}

/// Columns of `U` and `V` and the values between them, in descending order.
struct Factors {
    left: Vec<Vec<f64>>,
    singular: Vec<f64>,
    right: Vec<Vec<f64>>,
}

fn decompose(mut columns: Vec<Vec<f64>>, height: usize) -> Factors {
    let count = columns.len();
    let mut rotations: Vec<Vec<f64>> =
        (0..count).map(|j| (0..count).map(|i| (i == j) as u8 as f64).collect()).collect();
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..count {
            for q in p + 1..count {
                turned |= orthogonalise(&mut columns, &mut rotations, p, q);
            }
        }
        if !turned {
            break;
        }
    }
    let norms: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&p, &q| norms[q].total_cmp(&norms[p]));

    let negligible = norms[order[0]] * f64::EPSILON * height as f64;
    let mut left: Vec<Vec<f64>> = Vec::with_capacity(count);
    for &j in &order {
        let mut column = std::mem::take(&mut columns[j]);
        if norms[j] > negligible {
            column.iter_mut().for_each(|x| *x /= norms[j]);
        } else {
            column = completion(&left, height);
        }
        left.push(column);
    }
    let singular = order.iter().map(|&j| norms[j]).collect();
    let right = order.iter().map(|&j| std::mem::take(&mut rotations[j])).collect();
    Factors { left, singular, right }
}

const LANES: usize = 16;

vectorised! {
    fn dot[](x: &[f64], y: &[f64]) -> f64 {
        let mut lanes = [0.0; LANES];
        let ((x_chunks, x_tail), (y_chunks, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        for (x, y) in x_chunks.iter().zip(y_chunks) {
            for i in 0..LANES {
                lanes[i] += x[i] * y[i];
            }
        }
        for ((lane, x), y) in lanes.iter_mut().zip(x_tail).zip(y_tail) {
            *lane += x * y;
        }
        let mut half = LANES / 2;
        while half > 0 {
            for i in 0..half {
                lanes[i] += lanes[i + half];
            }
            half /= 2;
        }
        lanes[0]
    }
}

vectorised! {
    fn rotate[](x: &mut [f64], y: &mut [f64], cosine: f64, sine: f64) {
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
        }
    }
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// Turns columns `p` and `q` until they are orthogonal, the longer one first; false when they already are.
fn orthogonalise(columns: &mut [Vec<f64>], rotations: &mut [Vec<f64>], p: usize, q: usize) -> bool {
    let (alpha, beta) = (dot(&columns[p], &columns[p]), dot(&columns[q], &columns[q]));
    let gamma = dot(&columns[p], &columns[q]);
    if gamma == 0.0 || gamma.abs() <= ORTHOGONAL * (alpha * beta).sqrt() {
        return false;
    }
    // tan of the angle: the smaller root of t^2 + 2 zeta t - 1 = 0.
    let zeta = (beta - alpha) / (2.0 * gamma);
    let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = cosine * tangent;
    for vectors in [columns, rotations] {
        let (head, rest) = vectors.split_at_mut(q);
        rotate(&mut head[p], &mut rest[0], cosine, sine);
    }
    true
}

/// A unit vector orthogonal to `basis`: the unit vector that the basis covers least, projected twice.
fn completion(basis: &[Vec<f64>], height: usize) -> Vec<f64> {
    let covered = |i: usize| basis.iter().map(|column| column[i] * column[i]).sum::<f64>();
    let least = (0..height)
        .map(|i| (i, covered(i)))
        .fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
    let mut vector = vec![0.0; height];
    vector[least.0] = 1.0;
    for _ in 0..2 {
        for column in basis {
            let part = dot(&vector, column);
            vector.iter_mut().zip(column).for_each(|(x, y)| *x -= part * y);
        }
        let length = norm(&vector);
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

fn largest_entry(column: &[f64]) -> f64 {
    column.iter().fold(0.0, |best: f64, &x| if x.abs() > best.abs() { x } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::samples::Numbers;

    fn check(a: &[f64], m: usize, n: usize) -> Vec<f64> {
        let k = m.min(n);
        let (mut u, mut s, mut vt) = (vec![0.0; m * k], vec![0.0; k], vec![0.0; k * n]);
        svd(a, m, n, &mut u, &mut s, &mut vt);
        let size = s.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        for i in 0..m {
            for j in 0..n {
                let product: f64 = (0..k).map(|p| u[i * k + p] * s[p] * vt[p * n + j]).sum();
                assert!((product - a[i * n + j]).abs() <= 1e-13 * size, "{m}x{n}: {product} against {}", a[i * n + j]);
            }
        }
        for p in 0..k {
            for q in 0..k {
                let unit = (p == q) as u8 as f64;
                let left: f64 = (0..m).map(|i| u[i * k + p] * u[i * k + q]).sum();
                let right: f64 = (0..n).map(|i| vt[p * n + i] * vt[q * n + i]).sum();
                assert!((left - unit).abs() < 1e-13 && (right - unit).abs() < 1e-13, "{m}x{n}: {left} {right}");
            }
            let column: Vec<f64> = (0..m).map(|i| u[i * k + p]).collect();
            assert!(largest_entry(&column) > 0.0);
        }
        assert!(s.windows(2).all(|pair| pair[0] >= pair[1]) && s.iter().all(|&s| s >= 0.0));
        s
    }

    fn random(m: usize, n: usize, seed: u32) -> Vec<f64> {
        let mut numbers = Numbers::new(seed);
        (0..m * n).map(|_| numbers.next() as f64 / 2e9 - 1.0).collect()
    }

    #[test]
    fn factors_multiply_back_and_are_orthonormal() {
        for (seed, (m, n)) in
            [(0, 0), (0, 3), (1, 1), (1, 5), (5, 1), (3, 3), (8, 5), (5, 8), (40, 40), (60, 17), (9, 70)]
                .into_iter()
                .enumerate()
        {
            check(&random(m, n, seed as u32), m, n);
        }
    }

    #[test]
    fn rank_deficient_matrices_get_a_complete_basis() {
        check(&[0.0; 12], 3, 4);
        check(&[1.0; 20], 5, 4);
        for (m, n, rank) in [(10, 8, 3), (8, 10, 1), (20, 20, 19)] {
            let (left, right) = (random(m, rank, 1), random(rank, n, 2));
            let a: Vec<f64> =
                (0..m * n).map(|e| (0..rank).map(|p| left[e / n * rank + p] * right[p * n + e % n]).sum()).collect();
            let s = check(&a, m, n);
            assert!(s[rank] < 1e-13 * s[0] && s[rank - 1] > 1e-6 * s[0]);
        }
    }

    #[test]
    fn graded_and_extreme_scales_are_accurate() {
        let a: Vec<f64> =
            random(6, 6, 4).iter().enumerate().map(|(i, x)| x * 10f64.powi(-(i as i32 % 6) * 3)).collect();
        check(&a, 6, 6);
        for scale in [1e-300, 1e300, 1e-320] {
            let a: Vec<f64> = [3.0, 0.0, 4.0, 5.0].iter().map(|x| x * scale).collect();
            let (mut u, mut s, mut vt) = ([0.0; 4], [0.0; 2], [0.0; 4]);
            svd(&a, 2, 2, &mut u, &mut s, &mut vt);
            assert!((s[0] / scale - 45f64.sqrt()).abs() < 1e-3 && (s[1] / scale - 5f64.sqrt()).abs() < 1e-3);
        }
    }

    #[test]
    fn non_finite_input_gives_nan_everywhere() {
        for bad in [f32::NAN, f32::INFINITY] {
            let (mut u, mut s, mut vt) = ([0f32; 2], [0f32], [0f32; 1]);
            svd(&[1.0, bad], 2, 1, &mut u, &mut s, &mut vt);
            assert!(u.iter().chain(&s).chain(&vt).all(|x| x.is_nan()));
        }
    }
}
