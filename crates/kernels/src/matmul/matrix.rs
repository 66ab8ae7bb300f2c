//! Strided matrices.

/// A strided, read-only matrix: element `(i, j)` is `data[offset + i * row_stride + j * col_stride]`.
///
/// ```
/// use wengert_kernels::Matrix;
/// let m = Matrix { data: &[1.0f32, 2.0, 3.0, 4.0], offset: 0, rows: 2, cols: 2, row_stride: 1, col_stride: 2 };
/// assert_eq!(m.get(0, 1), 3.0);
/// ```
#[derive(Debug)]
pub struct Matrix<'a, T> {
    /// The memory the elements lie in.
    pub data: &'a [T],
    /// The position of element (0, 0).
    pub offset: usize,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The step from one row to the next, in elements.
    pub row_stride: isize,
    /// The step from one column to the next, in elements.
    pub col_stride: isize,
}

impl<T> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matrix<'_, T> {}

impl<'a, T> Matrix<'a, T> {
    /// Element `(row, col)`.
    ///
    /// ```
    /// # use wengert_kernels::Matrix;
    /// let m = Matrix { data: &[1, 2, 3], offset: 2, rows: 1, cols: 3, row_stride: 0, col_stride: -1 };
    /// assert_eq!(m.get(0, 2), 1);
    /// ```
    pub fn get(&self, row: usize, col: usize) -> T
    where
        T: Copy,
    {
        assert!(row < self.rows && col < self.cols, "element ({row}, {col}) of a {}x{} matrix", self.rows, self.cols);
        self.data[(self.offset as isize + row as isize * self.row_stride + col as isize * self.col_stride) as usize]
    }

    /// The same elements with rows and columns exchanged.
    ///
    /// ```
    /// # use wengert_kernels::Matrix;
    /// let m = Matrix { data: &[1, 2, 3], offset: 0, rows: 1, cols: 3, row_stride: 3, col_stride: 1 };
    /// assert_eq!(m.transpose().get(2, 0), 3);
    /// ```
    pub fn transpose(self) -> Matrix<'a, T> {
        Matrix { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    /// Panics unless every element lies in `data`.
    #[inline]
    pub(super) fn expect_bounds(&self) {
        if self.rows == 0 || self.cols == 0 {
            return;
        }
        let reach = |size: usize, stride: isize| isize::try_from(size - 1).ok()?.checked_mul(stride);
        let range =
            reach(self.rows, self.row_stride).zip(reach(self.cols, self.col_stride)).and_then(|(rows, cols)| {
                let first = self.offset.checked_add_signed(rows.min(0).checked_add(cols.min(0))?)?;
                let last = self.offset.checked_add_signed(rows.max(0).checked_add(cols.max(0))?)?;
                Some((first, last))
            });
        assert!(
            range.is_some_and(|(_, last)| last < self.data.len()),
            "matmul: a {}x{} matrix with strides {} and {} from element {} on leaves its {} elements",
            self.rows,
            self.cols,
            self.row_stride,
            self.col_stride,
            self.offset,
            self.data.len()
        );
    }

    /// Panics unless the matrix lies in `data` at its own offset and wherever it is [moved](Matrix::moved) to, up to `last` times. All of
    /// those offsets lie between the first and the last.
    pub(super) fn expect_moves(&self, last: usize, step: isize) {
        self.expect_bounds();
        let reach = isize::try_from(last).ok().and_then(|last| last.checked_mul(step));
        let furthest = reach.and_then(|reach| self.offset.checked_add_signed(reach));
        // No slice has an element with this index.
        Matrix { offset: furthest.unwrap_or(usize::MAX), ..*self }.expect_bounds();
    }

    /// The matrix moved by `count` times `step` elements.
    pub(super) fn moved(&self, count: usize, step: isize) -> Matrix<'a, T> {
        Matrix { offset: self.offset.wrapping_add_signed((count as isize).wrapping_mul(step)), ..*self }
    }

    /// Rows `first..first + count`.
    pub(super) fn some_rows(&self, first: usize, count: usize) -> Matrix<'a, T> {
        let offset = self.offset.wrapping_add_signed(first as isize * self.row_stride);
        Matrix { offset, rows: count, ..*self }
    }

    /// Columns `first..first + count`.
    pub(super) fn some_cols(&self, first: usize, count: usize) -> Matrix<'a, T> {
        let offset = self.offset.wrapping_add_signed(first as isize * self.col_stride);
        Matrix { offset, cols: count, ..*self }
    }

    /// The address of element (0, 0); meaningful for a non-empty matrix within bounds.
    pub(super) fn start(&self) -> *const T {
        self.data.as_ptr().wrapping_add(self.offset)
    }
}
