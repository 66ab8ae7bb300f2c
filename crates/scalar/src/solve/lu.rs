//! LU factorisation with partial pivoting.

use crate::Real;

/// P A = L U, stored as the rows that substitution multiplies with: each unknown is the dot product of a row and the known values.
pub(super) struct Lu<T> {
    n: usize,
    /// Rows with 1 on the diagonal and -L before it.
    lower: Vec<T>,
    /// Rows with 1 / U on the diagonal, and -U divided by the diagonal after it.
    upper: Vec<T>,
    /// The original index of every row.
    order: Vec<usize>,
}

impl<T: Real> Lu<T> {
    /// `None` if a column has no pivot.
    pub fn new(mut a: Vec<T>, n: usize) -> Option<Lu<T>> {
        let mut order: Vec<usize> = (0..n).collect();
        let mut lower = vec![T::lit(0.0); n * n];
        for column in 0..n {
            let mut pivot = column;
            for row in column + 1..n {
                if a[row * n + column].abs() > a[pivot * n + column].abs() {
                    pivot = row;
                }
            }
            if a[pivot * n + column] == T::lit(0.0) {
                return None;
            }
            order.swap(column, pivot);
            for place in 0..n {
                a.swap(column * n + place, pivot * n + place);
                lower.swap(column * n + place, pivot * n + place);
            }
            lower[column * n + column] = T::lit(1.0);
            let over = a[column * n + column].recip();
            for row in column + 1..n {
                let factor = -(a[row * n + column] * over);
                lower[row * n + column] = factor;
                for place in column + 1..n {
                    a[row * n + place] = factor.mul_add(a[column * n + place], a[row * n + place]);
                }
            }
            for place in column + 1..n {
                a[column * n + place] = -(a[column * n + place] * over);
            }
            a[column * n + column] = over;
        }
        Some(Lu { n, lower, upper: a, order })
    }

    /// A^-1 b.
    pub fn solve(&self, b: &[T]) -> Vec<T> {
        let n = self.n;
        let mut x: Vec<T> = self.order.iter().map(|row| b[*row]).collect();
        for row in 1..n {
            x[row] = T::dot(&self.lower[row * n..][..=row], &x[..=row]);
        }
        for row in (0..n).rev() {
            x[row] = T::dot(&self.upper[row * n + row..][..n - row], &x[row..]);
        }
        x
    }
}

impl Lu<f64> {
    /// The factors as constants.
    pub fn literal<T: Real>(&self) -> Lu<T> {
        let [lower, upper] = [&self.lower, &self.upper].map(|factor| super::literal(factor));
        Lu { n: self.n, lower, upper, order: self.order.clone() }
    }
}
