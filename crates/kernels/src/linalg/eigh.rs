//! `A = V diag(w) V^T` for symmetric `A`: Householder reduction to tridiagonal form, then implicit QL steps.
//!
//! With `p = t A v` and `w = p - (t / 2) (p^T v) v`, a two-sided reflection is `A -= v w^T + w v^T`. The same pass over the matrix also
//! computes the product with the next `v`, so the matrix is read and written once per reflection. QL steps rotate neighbouring rows of
//! `V^T`. Rotations are collected over many steps and then applied to a few columns at a time, which fit in the nearest cache; the row
//! shared by two rotations stays in registers.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::real::{largest_entry, scale_of};
use super::submatrix::{dot, dot_inline, subtract};
use super::{Real, Reason, Reflectors, Status};
use crate::simd::vectorised;

/// Eigenvalues in ascending order and eigenvectors, as columns, of symmetric `n x n` matrices, of which only the lower triangle is read.
/// The entry of largest magnitude in each vector (the first among equals) is positive.
///
/// ```
/// let (mut values, mut vectors) = ([0.0; 2], [0.0; 4]);
/// let a = [3.0, f64::NAN, 0.0, -1.0]; // the upper triangle is not read
/// assert!(wengert_kernels::linalg::eigh(&a, [1, 2], &mut values, &mut vectors).is_ok());
/// assert_eq!((values, vectors), ([-1.0, 3.0], [0.0, 1.0, 1.0, 0.0]));
/// ```
pub fn eigh<T: Real>(a: &[T], [batch, n]: [usize; 2], values: &mut [T], vectors: &mut [T]) -> Status {
    expect_length("eigh", "a", a.len(), [batch, n, n]);
    expect_length("eigh", "values", values.len(), [batch, n, 1]);
    expect_length("eigh", "vectors", vectors.len(), [batch, n, n]);
    for_each_matrix(batch, 10 * n * n * n, [values, vectors], &mut [], &|matrix, [values, vectors], _| {
        let a = &a[matrix * n * n..][..n * n];
        let mut full = vec![T::ZERO; n * n];
        for i in 0..n {
            full[i * n..][..=i].copy_from_slice(&a[i * n..][..=i]);
        }
        expect_finite(&full)?;
        let (scale, unscale) = scale_of(&full);
        for i in 0..n {
            for j in 0..=i {
                let value = full[i * n + j] * scale;
                (full[i * n + j], full[j * n + i]) = (value, value);
            }
        }
        decompose(full, n, unscale, values, vectors)
    })
}

fn decompose<T: Real>(a: Vec<T>, n: usize, unscale: T, values: &mut [T], vectors: &mut [T]) -> Result<(), Reason> {
    let (diagonal, rows) = eigenpairs(a, n)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| diagonal[i].to_f64().total_cmp(&diagonal[j].to_f64()));
    for (j, &from) in order.iter().enumerate() {
        values[j] = diagonal[from] * unscale;
        let row = &rows[from * n..][..n];
        let sign = T::ONE.with_sign_of(largest_entry(row));
        for (i, &x) in row.iter().enumerate() {
            // Adding zero turns -0 into 0.
            vectors[i * n + j] = x * sign + T::ZERO;
        }
    }
    Ok(())
}

/// Eigenvalues of a symmetric matrix of moderate scale, in no particular order, and the eigenvectors as rows.
pub(crate) fn eigenpairs<T: Real>(a: Vec<T>, n: usize) -> Result<(Vec<T>, Vec<T>), Reason> {
    let Tridiagonal { mut diagonal, mut beside, reflectors } = tridiagonalise(a, n);
    let mut rows = reflectors.product(n);
    diagonalise(&mut diagonal, &mut beside, &mut rows)?;
    Ok((diagonal, rows))
}

struct Tridiagonal<T> {
    diagonal: Vec<T>,
    /// The off-diagonal: element `i` couples `i` and `i + 1`; the last is 0.
    beside: Vec<T>,
    reflectors: Reflectors<T>,
}

fn tridiagonalise<T: Real>(mut a: Vec<T>, n: usize) -> Tridiagonal<T> {
    let mut reflectors = Reflectors::new(n.saturating_sub(2), n, 1);
    let (mut diagonal, mut beside) = (vec![T::ZERO; n], vec![T::ZERO; n]);
    // v and w of the pending update, and the product with the next v; all from row j on.
    let (mut v, mut w, mut p) = (vec![T::ZERO; n], vec![T::ZERO; n], vec![T::ZERO; n]);
    for j in 0..n {
        let row = &mut a[j * n..][j..n];
        if j > 0 {
            subtract(row, v[j], &w[j..]);
            subtract(row, w[j], &v[j..]);
        }
        diagonal[j] = row[0];
        if j + 2 >= n {
            if j + 2 == n {
                beside[j] = row[1];
            }
            // The pass below is for reflections; the lines above have already updated the last row.
            continue;
        }
        beside[j] = reflectors.set(j, &row[1..]);
        let (next, scale) = reflectors.get(j);
        update_and_multiply(&mut a[(j + 1) * n..], n, j + 1, (&v, &w), next, &mut p);
        let half = scale * dot(&p[j + 1..], next) * scale / (T::ONE + T::ONE);
        v[j + 1..].copy_from_slice(next);
        for i in j + 1..n {
            w[i] = scale * p[i] - half * v[i];
        }
        // The next pass applies this update to row j + 2 and those after it; row j + 1 gets it at the top of the loop.
    }
    Tridiagonal { diagonal, beside, reflectors }
}

vectorised! {
    /// For the rows `first..`: `row -= v_i w + w_i v`, then `p_i = row . next`.
    fn update_and_multiply[T: Real](rows: &mut [T], n: usize, first: usize, old: (&[T], &[T]), next: &[T], p: &mut [T]) {
        let (v, w) = (&old.0[first..n], &old.1[first..n]);
        for (i, row) in rows.chunks_exact_mut(n).enumerate() {
            let row = &mut row[first..];
            let (v_i, w_i) = (v[i], w[i]);
            for ((x, &v), &w) in row.iter_mut().zip(v).zip(w) {
                *x = *x - v_i * w - w_i * v;
            }
            p[first + i] = dot_inline(row, next);
        }
    }
}

/// The limit of steps per eigenvalue, on average; two are typical.
const STEPS: usize = 40;

/// Diagonalises the tridiagonal matrix, and rotates the rows of `vectors` accordingly.
fn diagonalise<T: Real>(d: &mut [T], e: &mut [T], vectors: &mut [T]) -> Result<(), Reason> {
    let n = d.len();
    let two = T::ONE + T::ONE;
    let mut rotations = Rotations { steps: Vec::new(), turns: Vec::new() };
    // Far below the rounding of the matrix. Without it, iterations near underflow might never converge.
    let nothing = T::EPSILON * T::EPSILON * (largest_entry(d).magnitude() + largest_entry(e).magnitude());
    let mut steps = 0;
    for first in 0..n {
        let mut known_last = None;
        loop {
            let negligible =
                |i: usize| e[i].magnitude() <= T::EPSILON * (d[i].magnitude() + d[i + 1].magnitude()) + nothing;
            let last = (first..n - 1).find(|&i| negligible(i)).unwrap_or(n - 1);
            if last == first {
                break;
            }
            // QL steps need the small end first: a new block is flipped if necessary.
            if known_last != Some(last) && d[last].magnitude() < d[first].magnitude() / T::from_f64(16.0) {
                e[last] = T::ZERO;
                d[first..=last].reverse();
                e[first..last].reverse();
                rotations.apply(vectors, n);
                reverse_rows(&mut vectors[first * n..(last + 1) * n], n);
            }
            known_last = Some(last);
            if steps == STEPS * n {
                return Err(Reason::NotConverged);
            }
            steps += 1;
            // Wilkinson's shift: the eigenvalue of the leading 2 x 2 block that is nearer to d[first].
            let ratio = (d[first + 1] - d[first]) / (two * e[first]);
            let shift = ratio + hypotenuse(ratio, T::ONE).with_sign_of(ratio);
            let mut g = d[last] - d[first] + e[first] / shift;
            let (mut sine, mut cosine, mut p) = (T::ONE, T::ONE, T::ZERO);
            let mut stop = first;
            for i in (first..last).rev() {
                let (f, b) = (sine * e[i], cosine * e[i]);
                let r = hypotenuse(f, g);
                e[i + 1] = r;
                if r == T::ZERO {
                    d[i + 1] = d[i + 1] - p;
                    stop = i + 1;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = d[i + 1] - p;
                let r = (d[i] - g) * sine + two * cosine * b;
                p = sine * r;
                d[i + 1] = g + p;
                g = cosine * r - b;
                rotations.turns.push((cosine, sine));
            }
            if stop == first {
                d[first] = d[first] - p;
                e[first] = g;
            }
            e[last] = T::ZERO;
            rotations.steps.push((stop, last));
            if rotations.turns.len() >= GATHERED * n {
                rotations.apply(vectors, n);
            }
        }
    }
    rotations.apply(vectors, n);
    Ok(())
}

fn reverse_rows<T>(rows: &mut [T], n: usize) {
    let count = rows.len() / n;
    let (upper, lower) = rows.split_at_mut(count.div_ceil(2) * n);
    upper.chunks_exact_mut(n).zip(lower.chunks_exact_mut(n).rev()).for_each(|(x, y)| x.swap_with_slice(y));
}

#[inline(always)]
fn hypotenuse<T: Real>(x: T, y: T) -> T {
    let (x, y) = (x.magnitude(), y.magnitude());
    let (small, large) = if x < y { (x, y) } else { (y, x) };
    if large == T::ZERO {
        return large;
    }
    let ratio = small / large;
    large * (T::ONE + ratio * ratio).root()
}

/// How many rotations are collected before they are applied, in multiples of the order of the matrix.
const GATHERED: usize = 16;

/// Steps `(first, last)`, each with a rotation for the rows `i` and `i + 1` for `i` from `last - 1` down to `first`.
struct Rotations<T> {
    steps: Vec<(usize, usize)>,
    turns: Vec<(T, T)>,
}

impl<T: Real> Rotations<T> {
    /// Rotates the rows and clears the rotations.
    fn apply(&mut self, rows: &mut [T], n: usize) {
        if n <= 8 {
            rotate(rows, &mut vec![[T::ZERO; 8]; n], &self.steps, &self.turns);
        } else {
            rotate(rows, &mut vec![[T::ZERO; 16]; n], &self.steps, &self.turns);
        }
        self.steps.clear();
        self.turns.clear();
    }
}

vectorised! {
    /// `columns` is scratch memory with one entry per row.
    fn rotate[T: Real, const LANES: usize](rows: &mut [T], columns: &mut [[T; LANES]], steps: &[(usize, usize)], turns: &[(T, T)]) {
        let n = columns.len();
        for start in (0..n).step_by(LANES) {
            let width = LANES.min(n - start);
            for (column, row) in columns.iter_mut().zip(rows.chunks_exact(n)) {
                column[..width].copy_from_slice(&row[start..start + width]);
            }
            let mut turns = turns.iter();
            for &(first, last) in steps {
                let block = &mut columns[first..=last];
                let mut carried = block[last - first];
                for (i, &(cosine, sine)) in (0..last - first).rev().zip(turns.by_ref()) {
                    let upper = block[i];
                    let mut lower = [T::ZERO; LANES];
                    for e in 0..LANES {
                        lower[e] = sine * upper[e] + cosine * carried[e];
                        carried[e] = cosine * upper[e] - sine * carried[e];
                    }
                    block[i + 1] = lower;
                }
                block[0] = carried;
            }
            for (column, row) in columns.iter().zip(rows.chunks_exact_mut(n)) {
                row[start..start + width].copy_from_slice(&column[..width]);
            }
        }
    }
}
