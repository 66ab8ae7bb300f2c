//! The singular value decomposition `A = U diag(s) V^T` by one-sided Jacobi rotations (Hestenes), in `f64`.
//!
//! A wide matrix is transposed first. The columns of the tall matrix are sorted by length and decomposed, `A P = Q R`. Rotations `J^T` then
//! make the rows of the small, graded `R` pairwise orthogonal; few sweeps suffice (Drmac and Veselic). The lengths of the rows are the
//! singular values, the normalised rows are `V^T P`, and `U = Q J`. Rows of length zero are replaced by an orthonormal completion. In each
//! column of `U` the entry of largest magnitude (the first among equals) is positive.

use crate::dtype::Compute;
use crate::linalg::{Reflectors, Submatrix, dot, eigenpairs, largest_entry, multiply};
use crate::simd::vectorised;

/// The limit of sweeps. Convergence is quadratic: ten sweeps are already many.
const SWEEPS: usize = 60;

/// Up to this order, sweeps alone are faster than computing an initial guess first.
const SMALL: usize = 12;

/// Decomposes the row-major `m x n` matrix `a`: `u` is `m x k`, `s` has `k` elements in descending order, `vt` is `k x n`, with
/// `k = min(m, n)`. If the input is not finite, all outputs are NaN.
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
    // A power of two, so scaling is exact and squares neither overflow nor underflow.
    let scale = if largest > 0.0 { 2f64.powi(-(largest.log2().floor().clamp(-1000.0, 1000.0) as i32)) } else { 1.0 };

    let wide = m < n;
    let (tall, short) = if wide { (n, m) } else { (m, n) };
    let element = |i: usize, j: usize| if wide { a[j * n + i] } else { a[i * n + j] }.to_f64() * scale;
    let columns: Vec<f64> = (0..short * tall).map(|at| element(at % tall, at / tall)).collect();
    let Factors { left, singular, right } = decompose(&columns, tall, short);

    let (left, right) = if wide { (right, left) } else { (left, right) };
    for j in 0..k {
        let (left, right) = (&left[j * m..][..m], &right[j * n..][..n]);
        let sign = if largest_entry(left) < 0.0 { -1.0 } else { 1.0 };
        s[j] = T::from_f64(singular[j] / scale);
        for i in 0..m {
            u[i * k + j] = T::from_f64(left[i] * sign + 0.0);
        }
        for i in 0..n {
            vt[j * n + i] = T::from_f64(right[i] * sign + 0.0);
        }
    }
}

/// The columns of `U` and `V`, column by column, and the singular values in descending order.
struct Factors {
    left: Vec<f64>,
    singular: Vec<f64>,
    right: Vec<f64>,
}

/// The indices of `lengths` in descending order.
fn descending(lengths: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by(|&p, &q| lengths[q].total_cmp(&lengths[p]));
    order
}

fn decompose(columns: &[f64], height: usize, count: usize) -> Factors {
    let lengths: Vec<f64> = columns.chunks_exact(height).map(norm).collect();
    let sorted = descending(&lengths);
    let mut triangle: Vec<f64> = sorted.iter().flat_map(|&j| &columns[j * height..][..height]).copied().collect();
    let q = Reflectors::of(&mut triangle, height, count).product(count);
    let mut rows = vec![0.0; count * count];
    for i in 0..count {
        for j in i..count {
            rows[i * count + j] = triangle[j * height + i];
        }
    }
    let mut turns = first_turns(&rows, count);
    if count > SMALL {
        let triangle = std::mem::replace(&mut rows, vec![0.0; count * count]);
        let square = |data| Submatrix::new(data, count, count, count);
        multiply(square(&turns), square(&triangle), 1.0, false, &mut rows, count);
    }
    orthogonalise_rows(&mut rows, &mut turns, count);

    let lengths: Vec<f64> = rows.chunks_exact(count).map(norm).collect();
    let order = descending(&lengths);
    let negligible = lengths[order[0]] * f64::EPSILON * height as f64;
    let mut right = vec![0.0; count * count];
    let mut turns_in_order = vec![0.0; count * count];
    let mut normed: Vec<Vec<f64>> = Vec::with_capacity(count);
    for (j, &from) in order.iter().enumerate() {
        let row = &rows[from * count..][..count];
        if lengths[from] > negligible {
            normed.push(row.iter().map(|x| x / lengths[from]).collect());
        } else {
            normed.push(completion(&normed, count));
        }
        for (i, &column) in sorted.iter().enumerate() {
            right[j * count + column] = normed[j][i];
        }
        turns_in_order[j * count..][..count].copy_from_slice(&turns[from * count..][..count]);
    }
    let mut left = vec![0.0; count * height];
    let (turns, q) = (Submatrix::new(&turns_in_order, count, count, count), Submatrix::new(&q, count, height, height));
    multiply(turns, q, 1.0, false, &mut left, height);
    Factors { left, singular: order.iter().map(|&j| lengths[j]).collect(), right }
}

/// An initial guess for the rotations: the eigenvectors of `R R^T`, the largest first. Their error is `eps` times the square of the
/// condition number, which saves most of the sweeps; the remaining sweeps provide the accuracy.
fn first_turns(rows: &[f64], count: usize) -> Vec<f64> {
    let mut turns = vec![0.0; count * count];
    turns.iter_mut().step_by(count + 1).for_each(|x| *x = 1.0);
    if count <= SMALL {
        return turns;
    }
    let part = Submatrix::new(rows, count, count, count);
    let mut gram = vec![0.0; count * count];
    multiply(part, part.transposed(), 1.0, false, &mut gram, count);
    if let Ok((values, vectors)) = eigenpairs(gram, count) {
        for (turn, from) in turns.chunks_exact_mut(count).zip(descending(&values)) {
            turn.copy_from_slice(&vectors[from * count..][..count]);
        }
    }
    turns
}

/// Rotates rows in pairs, and the rows of `turns` with them, until all are orthogonal.
fn orthogonalise_rows(rows: &mut [f64], turns: &mut [f64], count: usize) {
    let orthogonal = f64::EPSILON * (count as f64).sqrt().max(4.0);
    let mut squares = vec![0.0; count];
    for _ in 0..SWEEPS {
        for (square, row) in squares.iter_mut().zip(rows.chunks_exact(count)) {
            *square = dot(row, row);
        }
        let mut turned = false;
        for p in 0..count {
            for q in p + 1..count {
                let (head, rest) = rows.split_at_mut(q * count);
                let (x, y) = (&mut head[p * count..][..count], &mut rest[..count]);
                let gamma = dot(x, y);
                if gamma == 0.0 || gamma.abs() <= orthogonal * (squares[p] * squares[q]).sqrt() {
                    continue;
                }
                turned = true;
                // tan of the angle: the smaller root of t^2 + 2 zeta t - 1 = 0.
                let zeta = (squares[q] - squares[p]) / (2.0 * gamma);
                let tangent = 1f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                let sine = cosine * tangent;
                rotate(x, y, cosine, sine);
                squares[p] -= tangent * gamma;
                squares[q] += tangent * gamma;
                let (head, rest) = turns.split_at_mut(q * count);
                rotate(&mut head[p * count..][..count], &mut rest[..count], cosine, sine);
            }
        }
        if !turned {
            break;
        }
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

/// A unit vector orthogonal to `basis`: the coordinate vector that the basis covers least, projected twice.
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
