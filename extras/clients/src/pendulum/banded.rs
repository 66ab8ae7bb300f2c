//! Linear systems with banded matrices.
//!
//! Gaussian elimination with partial pivoting. With w diagonals on either side, row exchanges fill in at most 2 w diagonals above the main
//! one, and n equations take O(n w^2) operations.

/// A matrix with equally many diagonals above the main one and below.
#[derive(Clone, Debug)]
pub struct Banded {
    size: usize,
    width: usize,
    /// Row by row, the elements from `width` positions left of the diagonal to `2 * width` right of it.
    numbers: Vec<f64>,
}

impl Banded {
    /// Zeros, with `width` diagonals on either side of the main one.
    pub fn zeros(size: usize, width: usize) -> Banded {
        Banded { size, width, numbers: vec![0.0; size * (3 * width + 1)] }
    }

    fn place(&self, row: usize, column: usize) -> usize {
        row * (3 * self.width + 1) + column + self.width - row
    }

    /// Adds to an element of the band. Panics outside the band.
    #[track_caller]
    pub fn add(&mut self, row: usize, column: usize, number: f64) {
        let is_inside = row < self.size && column < self.size && row.abs_diff(column) <= self.width;
        assert!(is_inside, "({row}, {column}) is not in a band of {} diagonals each side", self.width);
        let place = self.place(row, column);
        self.numbers[place] += number;
    }

    /// The solution for a right-hand side, or `None` if the matrix is singular.
    ///
    /// ```
    /// use wengert_clients::pendulum::Banded;
    /// let mut matrix = Banded::zeros(2, 1);
    /// matrix.add(0, 1, 2.0);
    /// matrix.add(1, 0, 4.0);
    /// assert_eq!(matrix.clone().solve(vec![6.0, 4.0]), Some(vec![1.0, 3.0]));
    /// assert_eq!(Banded::zeros(2, 1).solve(vec![6.0, 4.0]), None);
    /// ```
    #[track_caller]
    pub fn solve(mut self, mut right: Vec<f64>) -> Option<Vec<f64>> {
        assert_eq!(right.len(), self.size, "a right side for another matrix");
        for column in 0..self.size {
            let below = self.size.min(column + self.width + 1);
            let end = self.size.min(column + 2 * self.width + 1);
            let length = |row: &usize| self.numbers[self.place(*row, column)].abs();
            let pivot = (column..below).max_by(|a, b| length(a).total_cmp(&length(b)))?;
            if length(&pivot) == 0.0 || !length(&pivot).is_finite() {
                return None;
            }
            if pivot != column {
                right.swap(pivot, column);
                for k in column..end {
                    let places = (self.place(pivot, k), self.place(column, k));
                    self.numbers.swap(places.0, places.1);
                }
            }
            for row in column + 1..below {
                let factor = self.numbers[self.place(row, column)] / self.numbers[self.place(column, column)];
                for k in column..end {
                    let (to, from) = (self.place(row, k), self.place(column, k));
                    self.numbers[to] -= factor * self.numbers[from];
                }
                right[row] -= factor * right[column];
            }
        }
        for row in (0..self.size).rev() {
            let end = self.size.min(row + 2 * self.width + 1);
            let known: f64 = (row + 1..end).map(|k| self.numbers[self.place(row, k)] * right[k]).sum();
            right[row] = (right[row] - known) / self.numbers[self.place(row, row)];
        }
        Some(right)
    }

    /// The number of negative pivots when rows are not exchanged. Unless one is zero, a symmetric matrix has as many negative eigenvalues
    /// (Sylvester).
    ///
    /// ```
    /// use wengert_clients::pendulum::Banded;
    /// // The eigenvalues are 3 and -1.
    /// let mut matrix = Banded::zeros(2, 1);
    /// [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 1.0)].map(|(row, column, x)| matrix.add(row, column, x));
    /// assert_eq!(matrix.negative_pivots(), 1);
    /// ```
    pub fn negative_pivots(mut self) -> usize {
        for column in 0..self.size {
            let end = self.size.min(column + self.width + 1);
            for row in column + 1..end {
                let factor = self.numbers[self.place(row, column)] / self.numbers[self.place(column, column)];
                for k in column..end {
                    let (to, from) = (self.place(row, k), self.place(column, k));
                    self.numbers[to] -= factor * self.numbers[from];
                }
            }
        }
        (0..self.size).filter(|row| self.numbers[self.place(*row, *row)] < 0.0).count()
    }
}
