//! Triangular parts of matrices.

use crate::dtype::Compute;
use crate::simd::vectorised;
use crate::threads::{for_each_chunk, tile_elements};

/// Rows of at most this many elements are masked element by element; a block copy would cost more.
const SHORT: usize = 16;

/// Copies the elements `(i, j)` of each `m x n` matrix of `a` with `j <= i + offset`, or `j >= i + offset` for the `upper` part;
/// the others are 0.
///
/// ```
/// let mut lower = [9.0; 4];
/// wengert_kernels::linalg::triangle_part(&[1.0, 2.0, 3.0, 4.0], [2, 2], false, 0, &mut lower);
/// assert_eq!(lower, [1.0, 0.0, 3.0, 4.0]);
/// ```
pub fn triangle_part<T: Compute>(a: &[T], [m, n]: [usize; 2], upper: bool, offset: isize, out: &mut [T]) {
    assert_eq!(a.len(), out.len(), "triangle_part: operand and result have one shape");
    if out.is_empty() {
        return;
    }
    let rows = (tile_elements(out.len()) / n).max(1);
    for_each_chunk(out, rows * n, &|chunk, out| {
        copy_rows(&a[chunk * rows * n..][..out.len()], [m, n], chunk * rows, upper, offset, out);
    });
}

vectorised! {
    /// Rows from `first` on, counted over all matrices.
    fn copy_rows[T: Compute](a: &[T], sizes: [usize; 2], first: usize, upper: bool, offset: isize, out: &mut [T]) {
        let [m, n] = sizes;
        let mut row = first % m;
        for (a, out) in a.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            // The part of the row that belongs to the triangle.
            let border = (row as isize).saturating_add(offset).saturating_add(isize::from(!upper));
            let border = border.clamp(0, n as isize) as usize;
            let (from, to) = if upper { (border, n) } else { (0, border) };
            if n <= SHORT {
                for (j, (out, &a)) in out.iter_mut().zip(a).enumerate() {
                    *out = if from <= j && j < to { a } else { T::ZERO };
                }
            } else {
                out[..from].fill(T::ZERO);
                out[from..to].copy_from_slice(&a[from..to]);
                out[to..].fill(T::ZERO);
            }
            row = if row + 1 == m { 0 } else { row + 1 };
        }
    }
}
