//! lu - LU decomposition with partial pivoting.   P^T A = L U,   with H = L^-1 P^T dA U^-1: dL = L tril(H, -1), dU = triu(H) U.
//!
//! The outputs are L (below the diagonal, whose ones are not stored) and U in one matrix, and the pivots: step i swapped row i with row
//! pivots[i], counted from 1 as in LAPACK. For rectangular matrices, the rule applies to their leading square block; the rows below it have
//! dL2 = (dA2 - L2 dU) U^-1, the columns beside it dU2 = L^-1 (dA2 - dL U2). Derivatives of a singular matrix are NaN. Leading axes are a
//! batch.

use super::lu_permutation::permuted_rows;
use super::solve_triangular::{Triangle, triangular_or_nan};
use crate::prelude::*;
use crate::rules::matrix::{assembled, block, identity, plain, split};
use wengert_kernels::linalg::{self, Real, Status};

/// The methods of `lu`.
#[ext(LuMethods)]
impl Tensor {
    /// L and U of P^T A = L U packed in one matrix, and the pivots, for [`lu_solve`](Tensor::lu_solve) and
    /// [`lu_unpack`](Tensor::lu_unpack).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (packed, pivots) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor();
    /// assert_eq!(packed, Tensor::from([[4.0, 4.0], [0.25, 1.0]]));
    /// assert_eq!(pivots, Tensor::from([2i32, 2]));
    /// ```
    #[track_caller]
    pub fn lu_factor(&self) -> (Tensor, Tensor) {
        let mut outputs = bind(&LU, Attrs::new(), &[self]).into_iter();
        let mut next = || outputs.next().expect("two outputs");
        (next(), next())
    }

    /// The decomposition A = P L U: a permutation, a unit lower triangular and an upper triangular matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [4.0, 4.0]]);
    /// let (p, l, u) = a.lu();
    /// assert_eq!(p.matmul(&l).matmul(&u), a);
    /// ```
    #[track_caller]
    pub fn lu(&self) -> (Tensor, Tensor, Tensor) {
        let (packed, pivots) = self.lu_factor();
        packed.lu_unpack(&pivots)
    }

    /// P, L and U from the two results of [`lu_factor`](Tensor::lu_factor); this tensor is the first.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (packed, pivots) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor();
    /// assert_eq!(packed.lu_unpack(&pivots).1, Tensor::from([[1.0, 0.0], [0.25, 1.0]]));
    /// ```
    #[track_caller]
    pub fn lu_unpack(&self, pivots: &Tensor) -> (Tensor, Tensor, Tensor) {
        if self.rank() < 2 {
            let shape = Shape::from(self.shape());
            let message = format!("needs a matrix, got shape {shape}");
            Error::new(ErrorKind::Shape(vec![shape]), "lu_unpack", message).raise();
        }
        let (lead, [m, _]) = split(self.shape());
        let square: Shape = lead.iter().copied().chain([m, m]).collect();
        let permutation = permuted_rows(&identity(m, self).broadcast_to(square), pivots, true);
        let (l, u) = unpacked(self);
        (permutation, l, u)
    }
}

/// L with its unit diagonal, and U.
pub(crate) fn unpacked(packed: &Tensor) -> (Tensor, Tensor) {
    let (_, [m, n]) = split(packed.shape());
    let k = m.min(n);
    let ones = Tensor::eye(m).slice((.., 0..k)).cast(packed.dtype());
    (block(packed, 0..m, 0..k).tril(-1) + ones, block(packed, 0..k, 0..n).triu(0))
}

/// `l` below the diagonal, `u` on it and above.
pub(crate) fn packed_from(l: &Tensor, u: &Tensor) -> Tensor {
    let (_, [m, n]) = split(l.shape());
    let (rows, columns) = (Tensor::arange(m).reshape([m, 1]), Tensor::arange(n));
    columns.lt(rows).where_(l, u)
}

/// The primitive `lu`.
pub static LU: DecompositionOp<Lu> = DecompositionOp::NEW;

/// See the module.
pub struct Lu;

const UNIT: Triangle = Triangle::lower().unit();
const UPPER: Triangle = Triangle::upper();

impl Decomposition for Lu {
    const NAME: &'static str = "lu";
    const RULE: &'static str = "dA = P L^-T (tril(L^T dL, -1) + triu(dU U^T)) U^-T";
    const OUTPUTS: usize = 2;
    const SQUARE: bool = false;
    const WORK: f64 = 2.0 / 3.0;

    fn sizes(_attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![m, n], None), (vec![m.min(n)], Some(DType::I32))]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], sizes: [usize; 3], floats: &mut [Buffer<T>], whole: &mut [i64]) -> Status {
        let mut signs = Buffer::<T>::zeros(sizes[0]);
        let status = linalg::lu(a, sizes, &mut floats[0], whole, &mut signs);
        whole.iter_mut().for_each(|pivot| *pivot += 1);
        status
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.output(0).output(1)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let (g, packed) = (cotangents[0].take()?, rule.output(0));
        let (_, [m, n]) = split(packed.shape());
        let k = m.min(n);
        let (corner, square) = (block(packed, 0..k, 0..k), block(&g, 0..k, 0..k));
        let (mut gl, mut gu) = (square.tril(-1), square.triu(0));
        let (mut below, mut beside) = (None, None);
        if m > n {
            let rows = triangular_or_nan(&corner, &block(&g, k..m, 0..n), UPPER.right().transposed());
            gu -= block(packed, k..m, 0..n).t().matmul(&rows);
            below = Some(rows);
        }
        if n > m {
            let columns = triangular_or_nan(&corner, &block(&g, 0..m, k..n), UNIT.transposed());
            gl -= columns.matmul(&block(packed, 0..m, k..n).t());
            beside = Some(columns);
        }
        let (l, u) = unpacked(&corner);
        let inner = packed_from(&l.t().matmul(&gl), &gu.matmul(&u.t()));
        let left = triangular_or_nan(&corner, &inner, UNIT.transposed());
        let middle = triangular_or_nan(&corner, &left, UPPER.right().transposed());
        let parts: Vec<(usize, usize, &Tensor)> = std::iter::once((0, 0, &middle))
            .chain(below.as_ref().map(|rows| (k, 0, rows)))
            .chain(beside.as_ref().map(|columns| (0, k, columns)))
            .collect();
        let whole = if m == n { middle } else { assembled([m, n], &parts) };
        Some(permuted_rows(&whole, rule.output(1), true))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let packed = rule.output(0);
        let (_, [m, n]) = split(packed.shape());
        let k = m.min(n);
        let da = permuted_rows(da, rule.output(1), false);
        let corner = block(packed, 0..k, 0..k);
        let left = triangular_or_nan(&corner, &block(&da, 0..k, 0..k), UNIT);
        let h = triangular_or_nan(&corner, &left, UPPER.right());
        let (l, u) = unpacked(&corner);
        let (dl, du) = (l.matmul(&h.tril(-1)), h.triu(0).matmul(&u));
        let square = packed_from(&dl, &du);
        if m > n {
            let change = block(&da, k..m, 0..n) - block(packed, k..m, 0..n).matmul(&du.triu(0));
            let rows = triangular_or_nan(&corner, &change, UPPER.right());
            return vec![Some(assembled([m, n], &[(0, 0, &square), (k, 0, &rows)])), None];
        }
        if n > m {
            let change = block(&da, 0..m, k..n) - dl.tril(-1).matmul(&block(packed, 0..m, k..n));
            let columns = triangular_or_nan(&corner, &change, UNIT);
            return vec![Some(assembled([m, n], &[(0, 0, &square), (0, k, &columns)])), None];
        }
        vec![Some(square), None]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // Elimination row by row, as on paper.
        let eliminate = |a: &Sample| {
            let (m, n) = (a.shape[0], a.shape[1]);
            let (mut a, mut pivots) = (a.clone(), Vec::new());
            for i in 0..m.min(n) {
                let largest =
                    |best: usize, row: usize| if a.at(&[row, i]).abs() > a.at(&[best, i]).abs() { row } else { best };
                let pivot = (i..m).fold(i, largest);
                (0..n).for_each(|j| a.data.swap(i * n + j, pivot * n + j));
                pivots.push(pivot as i64 + 1);
                for row in i + 1..m {
                    let factor = a.at(&[row, i]) / a.at(&[i, i]);
                    (i + 1..n).for_each(|j| a.data[row * n + j] -= factor * a.data[i * n + j]);
                    a.data[row * n + i] = factor;
                }
            }
            (a, pivots)
        };
        let case = |label: &str, a: Sample| {
            Case::new(label, Attrs::new(), [a], move |s| {
                let (lead, [m, n]) = split(&s[0].shape);
                let each: Vec<_> = plain::matrices(&s[0]).iter().map(eliminate).collect();
                let packed: Vec<Sample> = each.iter().map(|(packed, _)| packed.clone()).collect();
                let pivots: Vec<i64> = each.iter().flat_map(|(_, pivots)| pivots.clone()).collect();
                let pivots = Sample::integers([lead, &[m.min(n)]].concat(), pivots).of(DType::I32);
                vec![plain::stacked(lead, &packed, &[m, n]), pivots]
            })
        };
        let mut turned = plain::regular(&[3, 3], 0.5);
        turned.data.rotate_left(3);
        vec![
            case("3 x 3", plain::regular(&[3, 3], 0.5)),
            case("3 x 3, rows turned", turned),
            case("4 x 2", plain::regular(&[4, 2], 0.2)),
            case("2 x 4", plain::regular(&[2, 4], 0.7)),
            case("batch", plain::regular(&[2, 2, 2], 0.1)),
            case("1 x 1", Sample::new([1, 1], [0.7])),
            case("0 x 2", Sample::new([0, 2], [])),
            case("no matrices", Sample::new([0, 2, 2], [])),
        ]
    }
}
