//! `A = Q R` by Householder reflections `H = I - t v v^T`.
//!
//! The algorithm works on the transpose of `A`, so that columns are contiguous. Reflections are collected in blocks of 32,
//! `H_1 .. H_w = I - V T V^T` with upper triangular `T`, and applied with matrix products: `C -= (C V) T V^T`. As in LAPACK, each diagonal
//! element of `R` has the sign opposite to that of the leading entry of its column.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::real::{largest_entry, scale_of};
use super::submatrix::{dot, subtract};
use super::{Real, Status, Submatrix, multiply, transpose};

/// Decomposes `m x n` matrices. Reduced: `q` is `m x k` and `r` is `k x n` with `k = min(m, n)`; `complete`: `q` is `m x m`
/// and `r` is `m x n`. The diagonal of `R` may be negative.
///
/// ```
/// let (mut q, mut r) = ([0.0; 2], [0.0; 1]);
/// assert!(wengert_kernels::linalg::qr(&[3.0, 4.0], [1, 2, 1], false, &mut q, &mut r).is_ok());
/// assert!((r[0] + 5.0f64).abs() < 1e-14 && (q[0] + 0.6).abs() < 1e-14 && (q[1] + 0.8).abs() < 1e-14);
/// ```
pub fn qr<T: Real>(a: &[T], [batch, m, n]: [usize; 3], complete: bool, q: &mut [T], r: &mut [T]) -> Status {
    let k = if complete { m } else { m.min(n) };
    expect_length("qr", "a", a.len(), [batch, m, n]);
    expect_length("qr", "q", q.len(), [batch, m, k]);
    expect_length("qr", "r", r.len(), [batch, k, n]);
    for_each_matrix(batch, 2 * m * m.min(n) * (n + k), [q, r], &mut [], &|matrix, [q, r], _| {
        let a = &a[matrix * m * n..][..m * n];
        expect_finite(a)?;
        let mut columns = vec![T::ZERO; m * n];
        transpose(a, m, n, &mut columns);
        let reflectors = Reflectors::of(&mut columns, m, n);
        transpose(&reflectors.product(k), k, m, q);
        for i in 0..k {
            for j in 0..n {
                r[i * n + j] = if i <= j { columns[j * m + i] } else { T::ZERO };
            }
        }
        Ok(())
    })
}

const BLOCK: usize = 32;

/// Reflections `I - t_j v_j v_j^T` of vectors of `height` elements; `v_j` is 0 before `first + j` and 1 there.
pub(crate) struct Reflectors<T> {
    vectors: Vec<T>,
    scales: Vec<T>,
    height: usize,
    first: usize,
}

impl<T: Real> Reflectors<T> {
    /// Space for `count` reflections, to be [set](Self::set).
    pub(super) fn new(count: usize, height: usize, first: usize) -> Reflectors<T> {
        Reflectors { vectors: vec![T::ZERO; count * height], scales: vec![T::ZERO; count], height, first }
    }

    /// Decomposes a matrix of `n` columns of `m` elements, which follow each other; they become the columns of `R`
    /// on and above the diagonal, and are of no meaning below.
    pub(crate) fn of(columns: &mut [T], m: usize, n: usize) -> Reflectors<T> {
        let k = m.min(n);
        let mut reflectors = Reflectors::new(k, m, 0);
        for start in (0..k).step_by(BLOCK) {
            let end = k.min(start + BLOCK);
            for j in start..end {
                let (head, rest) = columns.split_at_mut((j + 1) * m);
                let column = &mut head[j * m + j..];
                column[0] = reflectors.set(j, column);
                let (v, scale) = reflectors.get(j);
                for other in rest.chunks_exact_mut(m).take(end - j - 1) {
                    let other = &mut other[j..];
                    subtract(other, scale * dot(v, other), v);
                }
            }
            let block = reflectors.block(start, end);
            let factor = block.factor();
            let width = end - start;
            block.apply(Submatrix::new(&factor, width, width, width), &mut columns[end * m..], n - end, m);
        }
        reflectors
    }

    /// Sets reflection `j` to one that maps `x` (from element `first + j` on) onto its first axis. Returns the resulting first element.
    pub(super) fn set(&mut self, j: usize, x: &[T]) -> T {
        let v = &mut self.vectors[j * self.height..][self.first + j..self.height];
        v.copy_from_slice(x);
        v[0] = T::ONE;
        let (alpha, tail) = (x[0], &mut v[1..]);
        if largest_entry(tail) == T::ZERO {
            self.scales[j] = T::ZERO;
            return alpha;
        }
        // The squares of the scaled column neither overflow nor underflow.
        let (scale, unscale) = scale_of(x);
        tail.iter_mut().for_each(|x| *x = *x * scale);
        let alpha = alpha * scale;
        let norm = (alpha * alpha + dot(tail, tail)).root();
        let beta = -norm.with_sign_of(alpha);
        let divisor = alpha - beta;
        tail.iter_mut().for_each(|x| *x = *x / divisor);
        self.scales[j] = (beta - alpha) / beta;
        beta * unscale
    }

    /// Vector `j` from its leading one on, and its factor.
    pub(super) fn get(&self, j: usize) -> (&[T], T) {
        (&self.vectors[j * self.height..][self.first + j..self.height], self.scales[j])
    }

    /// The reflections `start..end`, restricted to the elements that they change.
    fn block(&self, start: usize, end: usize) -> Block<'_, T> {
        let offset = self.first + start;
        let all = Submatrix::new(&self.vectors, self.scales.len(), self.height, self.height);
        let vectors = all.block(start, offset, end - start, self.height - offset);
        Block { vectors, scales: &self.scales[start..end], offset }
    }

    /// The first `columns` columns of `H_1 H_2 ..`, column by column.
    pub(crate) fn product(&self, columns: usize) -> Vec<T> {
        let (count, height) = (self.scales.len(), self.height);
        let mut q = vec![T::ZERO; columns * height];
        q.iter_mut().step_by(height + 1).for_each(|x| *x = T::ONE);
        for start in (0..count).step_by(BLOCK).rev() {
            let block = self.block(start, count.min(start + BLOCK));
            let width = block.scales.len();
            let factor = block.factor();
            let factor = Submatrix::new(&factor, width, width, width).transposed();
            // The columns before this one are still unit vectors, which the block does not change.
            let untouched = block.offset.min(columns);
            block.apply(factor, &mut q[untouched * height..], columns - untouched, height);
        }
        q
    }
}

struct Block<'a, T> {
    /// One vector per row.
    vectors: Submatrix<'a, T>,
    scales: &'a [T],
    offset: usize,
}

impl<T: Real> Block<'_, T> {
    /// `T` of `H_1 .. H_w = I - V T V^T`, row-major and upper triangular.
    fn factor(&self) -> Vec<T> {
        let width = self.scales.len();
        let mut inner = vec![T::ZERO; width * width];
        multiply(self.vectors, self.vectors.transposed(), T::ONE, false, &mut inner, width);
        let mut factor = vec![T::ZERO; width * width];
        for j in 0..width {
            factor[j * width + j] = self.scales[j];
            for i in 0..j {
                let sum = (i..j).fold(T::ZERO, |sum, p| sum + factor[i * width + p] * inner[p * width + j]);
                factor[i * width + j] = -self.scales[j] * sum;
            }
        }
        factor
    }

    /// `C -= (C V) factor V^T` for `rows` rows of `c`, which are `step` apart.
    fn apply(&self, factor: Submatrix<'_, T>, c: &mut [T], rows: usize, step: usize) {
        if rows == 0 {
            return;
        }
        let (width, length) = (self.vectors.rows, self.vectors.cols);
        let mut first = vec![T::ZERO; rows * width];
        let mut second = first.clone();
        let c = &mut c[self.offset..];
        multiply(Submatrix::new(c, rows, length, step), self.vectors.transposed(), T::ONE, false, &mut first, width);
        multiply(Submatrix::new(&first, rows, width, width), factor, T::ONE, false, &mut second, width);
        multiply(Submatrix::new(&second, rows, width, width), self.vectors, -T::ONE, true, c, step);
    }
}
