//! Linear algebra composed of the decompositions.

use crate::Triangle;
use crate::error::OrRaise;
use crate::methods::*;
use crate::rules::checked_axis;
use crate::rules::matrix::{block, expect_matrix, identity, split};
use crate::{DType, Error, ErrorKind, Over, Shape, Tensor};
use easy_ext::ext;

/// A norm of a matrix.
///
/// ```
/// use wengert::prelude::*;
/// let a = Tensor::from([[3.0, 0.0], [0.0, -4.0]]);
/// assert!((a.matrix_norm(MatrixNorm::Nuclear).item() - 7.0).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixNorm {
    /// The square root of the sum of squares.
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// The largest singular value.
    Two,
    /// The smallest singular value.
    MinusTwo,
    /// The largest sum of absolute values in a column.
    One,
    /// The smallest sum of absolute values in a column.
    MinusOne,
    /// The largest sum of absolute values in a row.
    Infinity,
    /// The smallest sum of absolute values in a row.
    MinusInfinity,
}

/// Householder reflections `1 - t v v^T` stored below the diagonal, as in LAPACK: `v` is 0 above row `i`, 1 there, and column `i` below.
struct Reflections {
    vectors: Tensor,
    scales: Tensor,
    count: usize,
}

impl Reflections {
    #[track_caller]
    fn of(name: &str, vectors: &Tensor, scales: &Tensor) -> Reflections {
        expect_matrix(name, vectors.spec().as_ref(), false).or_raise();
        let (lead, [m, n]) = split(vectors.shape());
        let count = scales.shape().last().copied().unwrap_or(usize::MAX);
        if scales.rank() != lead.len() + 1 || scales.shape()[..lead.len()] != *lead || count > n.min(m) {
            let shapes = vec![Shape::from(vectors.shape()), Shape::from(scales.shape())];
            let message = format!("{} are no scales for the reflections in {}", shapes[1], shapes[0]);
            Error::new(ErrorKind::Shape(shapes), name, message)
                .help("the scales have the leading axes of the matrix, and at most one for each column")
                .raise();
        }
        Reflections { vectors: vectors.clone(), scales: scales.clone(), count }
    }

    /// Reflection `i` times `x`.
    fn apply(&self, i: usize, x: &Tensor) -> Tensor {
        let (_, [m, _]) = split(self.vectors.shape());
        let below = Tensor::from_vec((0..m).map(|row| row > i).collect(), [m, 1]);
        let one = Tensor::from_vec((0..m).map(|row| f64::from(row == i)).collect(), [m, 1]).cast(x.dtype());
        let v = below.where_(block(&self.vectors, 0..m, i..i + 1), 0.0) + one;
        let scale = {
            let scales = self.scales.unsqueeze(self.scales.rank());
            block(&scales, i..i + 1, 0..1)
        };
        x - (v.clone() * scale).matmul(&v.t().matmul(x))
    }

    /// The product of all reflections times `x`: the first is applied last, or the other way round for the transposed product.
    fn product(&self, x: &Tensor, transposed: bool) -> Tensor {
        let order: Vec<usize> = if transposed { (0..self.count).collect() } else { (0..self.count).rev().collect() };
        order.into_iter().fold(x.clone(), |x, i| self.apply(i, &x))
    }
}

/// The methods of `linalg`.
#[ext(LinalgMethods)]
impl Tensor {
    /// The solution X of A X = B, where this is B and `factor` is the lower triangular Cholesky factor of A.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[4.0, 2.0], [2.0, 10.0]]);
    /// let x = Tensor::from([[6.0], [12.0]]).cholesky_solve(&a.cholesky());
    /// assert!(x.all_close(&Tensor::from([[1.0], [1.0]]), 1e-14));
    /// ```
    #[track_caller]
    pub fn cholesky_solve(&self, factor: &Tensor) -> Tensor {
        let half = factor.solve_triangular(self, Triangle::lower());
        factor.solve_triangular(&half, Triangle::lower().transposed())
    }

    /// The solution X of A X = B, where this is B and A = U^T U with the upper triangular `factor` U.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[4.0, 2.0], [2.0, 10.0]]);
    /// let x = Tensor::from([[6.0], [12.0]]).cholesky_solve_upper(&a.cholesky_upper());
    /// assert!(x.all_close(&Tensor::from([[1.0], [1.0]]), 1e-14));
    /// ```
    #[track_caller]
    pub fn cholesky_solve_upper(&self, factor: &Tensor) -> Tensor {
        let half = factor.solve_triangular(self, Triangle::upper().transposed());
        factor.solve_triangular(&half, Triangle::upper())
    }

    /// The inverse of A, where this is the lower triangular Cholesky factor of A.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let inverse = Tensor::from([[2.0, 0.0], [0.0, 4.0]]).cholesky_inverse();
    /// assert_eq!(inverse, Tensor::from([[0.25, 0.0], [0.0, 0.0625]]));
    /// ```
    #[track_caller]
    pub fn cholesky_inverse(&self) -> Tensor {
        expect_matrix("cholesky_inverse", self.spec().as_ref(), true).or_raise();
        let inverse = self.solve_triangular(&identity(split(self.shape()).1[0], self), Triangle::lower());
        inverse.t().matmul(&inverse)
    }

    /// The inverse of A = U^T U, where this is the upper triangular U.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let inverse = Tensor::from([[2.0, 0.0], [0.0, 4.0]]).cholesky_inverse_upper();
    /// assert_eq!(inverse, Tensor::from([[0.25, 0.0], [0.0, 0.0625]]));
    /// ```
    #[track_caller]
    pub fn cholesky_inverse_upper(&self) -> Tensor {
        expect_matrix("cholesky_inverse", self.spec().as_ref(), true).or_raise();
        let inverse = self.solve_triangular(&identity(split(self.shape()).1[0], self), Triangle::upper());
        inverse.matmul(&inverse.t())
    }

    /// The matrix raised to `power`; a negative power raises the inverse, and power 0 is the identity.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 1.0], [0.0, 1.0]]);
    /// assert_eq!(a.matrix_power(5), Tensor::from([[1.0, 5.0], [0.0, 1.0]]));
    /// assert_eq!(a.matrix_power(-1), Tensor::from([[1.0, -1.0], [0.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn matrix_power(&self, power: i64) -> Tensor {
        expect_matrix("matrix_power", self.spec().as_ref(), true).or_raise();
        let mut square = if power < 0 { self.inv() } else { self.clone() };
        let mut product: Option<Tensor> = None;
        let mut rest = power.unsigned_abs();
        while rest > 0 {
            if rest & 1 == 1 {
                product = Some(product.map_or(square.clone(), |product| product.matmul(&square)));
            }
            rest >>= 1;
            if rest > 0 {
                square = square.matmul(&square);
            }
        }
        product.unwrap_or_else(|| identity(split(self.shape()).1[0], self).broadcast_to(self.shape()))
    }

    /// The Moore-Penrose inverse of a symmetric matrix; only the lower triangle is read.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[2.0, 9.0], [0.0, 0.0]]).pinv_symmetric();
    /// assert!(y.all_close(&Tensor::from([[0.5, 0.0], [0.0, 0.0]]), 1e-15));
    /// ```
    #[track_caller]
    pub fn pinv_symmetric(&self) -> Tensor {
        expect_matrix("pinv", self.spec().as_ref(), true).or_raise();
        self.mirror_lower().pinv()
    }

    /// The number of singular values above the rounding error of the largest one, of dtype i64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([3, 3]).matrix_rank(), Tensor::from(1i64));
    /// ```
    #[track_caller]
    pub fn matrix_rank(&self) -> Tensor {
        let s = self.svdvals();
        let epsilon = if self.dtype() == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let bound = split(self.shape()).1.into_iter().max().unwrap_or(0) as f64 * epsilon;
        let axis = s.rank() - 1;
        if s.shape()[axis] == 0 {
            return s.cast(DType::I64).sum_over(-1);
        }
        let (largest, _) = s.max_along(-1);
        s.gt(&(largest.unsqueeze(axis) * bound)).cast(DType::I64).sum_over(-1)
    }

    /// The least-squares solution X that minimises |A X - B|, where this is A; among several, the one of least norm. Also returns, if A has
    /// more rows than columns, the sum of squares of A X - B for each column, else an empty tensor. B is a matrix, or a batch of them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, residuals) = Tensor::from([[1.0], [1.0]]).lstsq(&Tensor::from([[1.0], [3.0]]));
    /// assert!(x.all_close(&Tensor::from([[2.0]]), 1e-14) && residuals.all_close(&Tensor::from([2.0]), 1e-14));
    /// ```
    #[track_caller]
    pub fn lstsq(&self, b: &Tensor) -> (Tensor, Tensor) {
        expect_matrix("lstsq", self.spec().as_ref(), false).or_raise();
        let x = self.pinv().matmul(b);
        let (_, [m, n]) = split(self.shape());
        let residuals = match m > n && b.rank() >= 2 {
            true => (self.matmul(&x) - b).square().sum_over(-2),
            false => Tensor::zeros([0]).cast(self.dtype()),
        };
        (x, residuals)
    }

    /// [`lstsq`](Tensor::lstsq), followed by the rank of A and its singular values, as NumPy's `lstsq` returns them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, _, rank, s) = Tensor::from([[2.0, 0.0], [0.0, 0.0]]).lstsq_full(&Tensor::from([[4.0], [1.0]]));
    /// assert!(x.all_close(&Tensor::from([[2.0], [0.0]]), 1e-14));
    /// assert_eq!((rank.item(), s), (1.0, Tensor::from([2.0, 0.0])));
    /// ```
    #[track_caller]
    pub fn lstsq_full(&self, b: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let (x, residuals) = self.lstsq(b);
        (x, residuals, self.matrix_rank(), self.svdvals())
    }

    /// The inverse of a tensor viewed as a matrix: its first `count` axes are the rows, the others the columns.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::eye(6).reshape([6, 2, 3]);
    /// assert_eq!(a.tensorinv(1).shape(), [2, 3, 6]);
    /// ```
    #[track_caller]
    pub fn tensorinv(&self, count: usize) -> Tensor {
        let (rows, columns) = self.shape().split_at(count.min(self.rank()));
        let (m, n): (usize, usize) = (rows.iter().product(), columns.iter().product());
        if count == 0 || m != n {
            let shape = Shape::from(self.shape());
            let message = format!("the first {count} axes of {shape} have {m} elements, the others {n}");
            Error::new(ErrorKind::Shape(vec![shape]), "tensorinv", message).help("both products must be equal").raise();
        }
        let shape: Shape = columns.iter().chain(rows).copied().collect();
        self.reshape([m, n]).inv().reshape(shape)
    }

    /// The solution X such that this tensor, contracted with X over all axes of X, is `b`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = (Tensor::eye(6) * 2.0).reshape([2, 3, 6]).tensorsolve(&Tensor::ones([2, 3]));
    /// assert_eq!(x, Tensor::full([6], 0.5));
    /// ```
    #[track_caller]
    pub fn tensorsolve(&self, b: &Tensor) -> Tensor {
        let shape = Shape::from(&self.shape()[b.rank().min(self.rank())..]);
        if shape.elements() != b.elements() || b.elements() * shape.elements() != self.elements() {
            let shapes = vec![Shape::from(self.shape()), Shape::from(b.shape())];
            let message = format!("{} is no square system for {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "tensorsolve", message)
                .help("the axes after those of the right side must have as many elements as it")
                .raise();
        }
        let n = b.elements();
        self.reshape([n, n]).solve(&b.reshape([n])).reshape(shape)
    }

    /// [`tensorsolve`](Tensor::tensorsolve) after moving these axes, in this order, to the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = (Tensor::eye(6) * 2.0).reshape([2, 3, 6]).movedim(&[2], &[0]);
    /// assert_eq!(a.tensorsolve_axes(&Tensor::ones([2, 3]), &[0]), Tensor::full([6], 0.5));
    /// ```
    #[track_caller]
    pub fn tensorsolve_axes(&self, b: &Tensor, axes: &[isize]) -> Tensor {
        let behind: Vec<isize> = (-(axes.len() as isize)..0).collect();
        self.movedim(axes, &behind).tensorsolve(b)
    }

    /// The condition number: the ratio of the largest to the smallest singular value.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!((Tensor::from([[4.0, 0.0], [0.0, -2.0]]).cond().item() - 2.0).abs() < 1e-14);
    /// ```
    #[track_caller]
    pub fn cond(&self) -> Tensor {
        let s = self.svdvals();
        let [.., count] = s.shape() else { unreachable!("singular values have an axis") };
        if *count == 0 {
            let shape = Shape::from(self.shape());
            let message = format!("a matrix of shape {shape} has no singular values");
            Error::new(ErrorKind::Shape(vec![shape]), "cond", message).raise();
        }
        element(&s, 0) / element(&s, *count - 1)
    }

    /// The condition number in another norm: the norm of the matrix times the norm of its inverse.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[4.0, 0.0], [0.0, 2.0]]).cond_with(MatrixNorm::One).item(), 2.0);
    /// ```
    #[track_caller]
    pub fn cond_with(&self, norm: MatrixNorm) -> Tensor {
        match norm {
            MatrixNorm::Two => self.cond(),
            MatrixNorm::MinusTwo => self.cond().recip(),
            _ => self.matrix_norm(norm) * self.inv().matrix_norm(norm),
        }
    }

    /// The norm of a matrix, or of each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, -2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matrix_norm(MatrixNorm::One).item(), 6.0);
    /// assert_eq!(a.matrix_norm(MatrixNorm::Infinity).item(), 7.0);
    /// ```
    #[track_caller]
    pub fn matrix_norm(&self, norm: MatrixNorm) -> Tensor {
        expect_matrix("matrix_norm", self.spec().as_ref(), false).or_raise();
        match norm {
            MatrixNorm::Frobenius => self.norm_over(2.0, [-2, -1]),
            MatrixNorm::Nuclear => self.svdvals().sum_over(-1),
            MatrixNorm::Two => self.svdvals().max_over(-1),
            MatrixNorm::MinusTwo => self.svdvals().min_over(-1),
            MatrixNorm::One => self.abs().sum_over(-2).max_over(-1),
            MatrixNorm::MinusOne => self.abs().sum_over(-2).min_over(-1),
            MatrixNorm::Infinity => self.abs().sum_over(-1).max_over(-1),
            MatrixNorm::MinusInfinity => self.abs().sum_over(-1).min_over(-1),
        }
    }

    /// The norms of the matrices along two axes; the first axis holds the rows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[[1.0, -2.0]], [[3.0, 4.0]]]);
    /// assert_eq!(a.matrix_norm_over(MatrixNorm::One, [0, 2]), Tensor::from([6.0]));
    /// let a = Tensor::from([[1.0, -2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matrix_norm_over(MatrixNorm::One, keepdim([0, 1])), Tensor::from([[6.0]]));
    /// ```
    #[track_caller]
    pub fn matrix_norm_over(&self, norm: MatrixNorm, axes: impl Into<Over>) -> Tensor {
        let over = axes.into();
        let [rows, columns] = matrix_axes(self, &over).or_raise();
        let others = (0..self.rank()).filter(|axis| *axis != rows && *axis != columns);
        let order: Vec<usize> = others.chain([rows, columns]).collect();
        over.kept(self.permute(&order).matrix_norm(norm), &[rows, columns], self.shape())
    }

    /// The first columns of the product of Householder reflections, whose vectors are stored below the diagonal of this matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let q = Tensor::zeros([3, 2]).householder_product(&Tensor::zeros([2]));
    /// assert_eq!(q, Tensor::from([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn householder_product(&self, scales: &Tensor) -> Tensor {
        let reflections = Reflections::of("householder_product", self, scales);
        let (_, [m, n]) = split(self.shape());
        let columns = identity(m, self).slice((.., 0..n.min(m))).broadcast_to(self.shape());
        reflections.product(&columns, false)
    }

    /// Q C, where Q is the product of all Householder reflections whose vectors are stored below the diagonal of this matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let c = Tensor::ones([3, 2]);
    /// assert_eq!(Tensor::zeros([3, 2]).ormqr(&Tensor::zeros([2]), &c), c);
    /// ```
    #[track_caller]
    pub fn ormqr(&self, scales: &Tensor, c: &Tensor) -> Tensor {
        Reflections::of("ormqr", self, scales).product(c, false)
    }

    /// Q^T C with the Q of [`ormqr`](Tensor::ormqr).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let c = Tensor::ones([3, 2]);
    /// assert_eq!(Tensor::zeros([3, 2]).ormqr_transposed(&Tensor::zeros([2]), &c), c);
    /// ```
    #[track_caller]
    pub fn ormqr_transposed(&self, scales: &Tensor, c: &Tensor) -> Tensor {
        Reflections::of("ormqr", self, scales).product(c, true)
    }

    /// C Q with the Q of [`ormqr`](Tensor::ormqr).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let c = Tensor::ones([2, 3]);
    /// assert_eq!(Tensor::zeros([3, 2]).ormqr_right(&Tensor::zeros([2]), &c), c);
    /// ```
    #[track_caller]
    pub fn ormqr_right(&self, scales: &Tensor, c: &Tensor) -> Tensor {
        Reflections::of("ormqr", self, scales).product(&c.t(), true).t()
    }

    /// C Q^T with the Q of [`ormqr`](Tensor::ormqr).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let c = Tensor::ones([2, 3]);
    /// assert_eq!(Tensor::zeros([3, 2]).ormqr_right_transposed(&Tensor::zeros([2]), &c), c);
    /// ```
    #[track_caller]
    pub fn ormqr_right_transposed(&self, scales: &Tensor, c: &Tensor) -> Tensor {
        Reflections::of("ormqr", self, scales).product(&c.t(), false).t()
    }
}

/// Two different axes, as non-negative indices.
fn matrix_axes(x: &Tensor, over: &Over) -> Result<[usize; 2], Error> {
    let axes: [isize; 2] = over.exactly("matrix_norm")?;
    let [rows, columns] =
        [checked_axis("matrix_norm", axes[0], x.shape())?, checked_axis("matrix_norm", axes[1], x.shape())?];
    if rows == columns {
        let message = format!("axes {axes:?} of shape {} are the same", Shape::from(x.shape()));
        return Err(Error::new(ErrorKind::Range, "matrix_norm", message).help("name two different axes"));
    }
    Ok([rows, columns])
}

/// Element `place` along the last axis.
fn element(x: &Tensor, place: usize) -> Tensor {
    let lead = (1..x.rank()).map(|_| crate::Select::from(..));
    x.slice(&lead.chain([crate::Select::from(place)]).collect::<Vec<_>>()[..])
}
