//! cholesky - Cholesky factor.   A = L L^T with L lower triangular,   dL = L Phi(L^-1 dA L^-T), where Phi takes the lower triangle and half
//! of the diagonal.   A function of the symmetric part of A, and so is its gradient. Leading axes are a batch. A matrix that is not
//! positive definite is an error that names its index; with attribute `checked` 0 its factor is NaN.

use super::solve_triangular::{Triangle, triangular_or_nan};
use crate::prelude::*;
use crate::rules::matrix::{failures, lower_half, plain};
use wengert_kernels::linalg::{self, Real, Status};

fn attrs(checked: bool) -> Attrs {
    Attrs::new().with_int("checked", i64::from(checked))
}

/// The methods of `cholesky`.
#[ext(CholeskyMethods)]
impl Tensor {
    /// The lower triangular L with A = L L^T, for a symmetric positive definite A or each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[4.0, 2.0], [2.0, 10.0]]);
    /// assert_eq!(a.cholesky(), Tensor::from([[2.0, 0.0], [1.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn cholesky(&self) -> Tensor {
        bind1(&CHOLESKY, attrs(true), &[self])
    }

    /// The upper triangular U with A = U^T U.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[4.0, 2.0], [2.0, 10.0]]).cholesky_upper().slice((0, 1)).item(), 1.0);
    /// ```
    #[track_caller]
    pub fn cholesky_upper(&self) -> Tensor {
        self.cholesky().t()
    }

    /// The Cholesky factor, or an error that names the first matrix that is not positive definite.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let error = (-Tensor::eye(2)).try_cholesky().unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::NotPositiveDefinite(vec![]));
    /// ```
    #[track_caller]
    pub fn try_cholesky(&self) -> Result<Tensor, Error> {
        try_bind1(&CHOLESKY, attrs(true), &[self])
    }

    /// The Cholesky factor, NaN where there is none, and a flag for each matrix: 0 for success, else 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!((-Tensor::eye(2)).cholesky_ex().1.item(), 1.0);
    /// ```
    #[track_caller]
    pub fn cholesky_ex(&self) -> (Tensor, Tensor) {
        let factor = bind1(&CHOLESKY, attrs(false), &[self]);
        let info = failures(&factor);
        (factor, info)
    }
}

/// The primitive `cholesky`.
pub static CHOLESKY: DecompositionOp<Cholesky> = DecompositionOp::NEW;

/// See the module.
pub struct Cholesky;

impl Decomposition for Cholesky {
    const NAME: &'static str = "cholesky";
    const ATTRIBUTES: &'static [&'static str] = &["checked"];
    const FLAGS: &'static [&'static str] = Self::ATTRIBUTES;
    const RULE: &'static str = "dA = sym(L^-T Phi(L^T dL) L^-1)";
    const SYMMETRIC: bool = true;
    const WORK: f64 = 1.0 / 3.0;

    fn sizes(_attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![m, n], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], [batch, n, _]: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        linalg::cholesky(a, [batch, n], &mut floats[0])
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.output(0)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let (g, l) = (cotangents[0].take()?, rule.output(0));
        let inner = lower_half(&l.t().matmul(&g));
        let left = triangular_or_nan(l, &inner, Triangle::lower().transposed());
        Some(triangular_or_nan(l, &left, Triangle::lower().right()))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let l = rule.output(0);
        let left = triangular_or_nan(l, da, Triangle::lower());
        let inner = triangular_or_nan(l, &left, Triangle::lower().transposed().right());
        vec![Some(l.matmul(&lower_half(&inner)))]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let reference = |s: &[Sample]| {
            let factor = |a: &Sample| {
                let n = a.shape[0];
                let mut l = Sample::build([n, n], |_| 0.0);
                for i in 0..n {
                    for j in 0..=i {
                        let mean = 0.5 * (a.at(&[i, j]) + a.at(&[j, i]));
                        let rest = mean - (0..j).map(|k| l.at(&[i, k]) * l.at(&[j, k])).sum::<f64>();
                        l.data[i * n + j] = if i == j { rest.sqrt() } else { rest / l.at(&[j, j]) };
                    }
                }
                l
            };
            let each: Vec<Sample> = plain::matrices(&s[0]).iter().map(factor).collect();
            vec![plain::stacked(&[], &each, &s[0].shape)]
        };
        let case = |shape: &[usize], checked: bool| {
            let a = plain::regular(shape, 0.8);
            Case::new(format!("{shape:?}, checked {checked}"), attrs(checked), [a], reference)
        };
        let indefinite = Case::new("indefinite", attrs(false), [Sample::new([2, 2], [1.0, 2.0, 2.0, 1.0])], |_| {
            vec![Sample::new([2, 2], [f64::NAN; 4])]
        });
        vec![
            case(&[3, 3], true),
            case(&[2, 2, 2], true),
            case(&[1, 1], true),
            case(&[0, 0], true),
            case(&[0, 2, 2], false),
            indefinite.values_only(),
        ]
    }
}
