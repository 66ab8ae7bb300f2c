//! svd - singular value decomposition.   A = U diag(s) V^T, thin: with k = min(m, n), U is m x k, s descending, V^T is k x n.
//!
//! With P = U^T dA V and F_ij = 1 / (s_j^2 - s_i^2) off the diagonal, 0 on it:
//! ds = diag P,   dU = U (F * (P S + S P^T)) + (1 - U U^T) dA V S^-1,   dV = V (F * (S P + P^T S)) + (1 - V V^T) dA^T U S^-1.
//!
//! The derivative of the singular values alone never divides, so it is finite everywhere; where two coincide or one is 0 it is a
//! subgradient. The singular vectors need distinct, nonzero singular values: their derivative is infinite where two coincide. The entry of
//! largest absolute value in each column of U is positive. Leading axes are a batch.

use crate::prelude::*;
use crate::rules::matrix::{
    diagonal, diagonal_matrix, outside, plain, reciprocal_differences, scale_columns, scale_rows, split,
};
use wengert_kernels::linalg::{self, Real, Status};

/// The methods of `svd`.
#[ext(SvdMethods)]
impl Tensor {
    /// The thin singular value decomposition (U, s, V^T) of a matrix, or of each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, s, _) = Tensor::from([[3.0, 0.0], [0.0, -2.0]]).svd();
    /// assert!(s.all_close(&Tensor::from([3.0, 2.0]), 1e-14));
    /// ```
    #[track_caller]
    pub fn svd(&self) -> (Tensor, Tensor, Tensor) {
        let mut outputs = bind(&SVD, Attrs::new(), &[self]).into_iter();
        let mut next = || outputs.next().expect("three outputs");
        (next(), next(), next())
    }

    /// The singular values, descending.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let s = Tensor::from([[3.0, 0.0], [0.0, -2.0]]).svdvals();
    /// assert!(s.all_close(&Tensor::from([3.0, 2.0]), 1e-14));
    /// ```
    #[track_caller]
    pub fn svdvals(&self) -> Tensor {
        self.svd().1
    }
}

/// The primitive `svd`.
pub static SVD: DecompositionOp<Svd> = DecompositionOp::NEW;

/// See the module.
pub struct Svd;

/// 1 / (s_j^2 - s_i^2) off the diagonal, 0 on it.
fn differences(s: &Tensor) -> Tensor {
    reciprocal_differences(&(s * s))
}

impl Decomposition for Svd {
    const NAME: &'static str = "svd";
    const RULE: &'static str = "dA = U (diag ds + (F*(U^T dU - dU^T U)) S + S (F*(V^T dV - dV^T V))) V^T + ...";
    const OUTPUTS: usize = 3;
    const SQUARE: bool = false;
    const WORK: f64 = 14.0;

    fn sizes(_attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        let k = m.min(n);
        vec![(vec![m, k], None), (vec![k], None), (vec![k, n], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], sizes: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        let [u, s, vt] = floats else { unreachable!("three outputs") };
        linalg::svd(a, sizes, false, u, s, vt)
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.output(0).output(1).output(2)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let (u, s, vt) = (rule.output(0), rule.output(1), rule.output(2));
        let [gu, gs, gvt] = cotangents else { unreachable!("three outputs") };
        // The middle factor between U and V^T; only outputs with a cotangent contribute.
        let mut middle: Vec<Tensor> = Vec::new();
        let mut terms: Vec<Tensor> = Vec::new();
        if let Some(gs) = gs {
            middle.push(diagonal_matrix(gs));
        }
        if let Some(gu) = gu {
            let inner = u.t().matmul(gu);
            middle.push(scale_columns(&(&inner - inner.t()).guarded_mul(&differences(s)), s));
            terms.extend(outside(u, gu).map(|rest| scale_columns(&rest, &s.recip()).matmul(vt)));
        }
        if let Some(gvt) = gvt {
            let (v, gv) = (vt.t(), gvt.t());
            let inner = vt.matmul(&gv);
            middle.push(scale_rows(s, &(&inner - inner.t()).guarded_mul(&differences(s))));
            terms.extend(outside(&v, &gv).map(|rest| u.matmul(&scale_columns(&rest, &s.recip()).t())));
        }
        let middle = middle.into_iter().reduce(|a, b| a + b).map(|middle| u.matmul(&middle).matmul(vt));
        middle.into_iter().chain(terms).reduce(|a, b| a + b)
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let (u, s, vt) = (rule.output(0), rule.output(1), rule.output(2));
        let v = vt.t();
        let p = u.t().matmul(da).matmul(&v);
        let ds = diagonal(&p);
        let f = differences(s);
        let with_rest = |inside: Tensor, rest: Option<Tensor>| match rest {
            Some(rest) => inside + scale_columns(&rest, &s.recip()),
            None => inside,
        };
        let du = u.matmul(&(scale_columns(&p, s) + scale_rows(s, &p.t())).guarded_mul(&f));
        let du = with_rest(du, outside(u, &da.matmul(&v)));
        let dv = v.matmul(&(scale_rows(s, &p) + scale_columns(&p.t(), s)).guarded_mul(&f));
        let dv = with_rest(dv, outside(&v, &da.t().matmul(u)));
        vec![Some(du), Some(ds), Some(dv.t())]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // A is built from known factors, so the answer is known without computing a decomposition.
        let case = |m: usize, n: usize| {
            let k = m.min(n);
            let s: Vec<f64> = (0..k).map(|j| 2.5 / (1.0 + 0.8 * j as f64)).collect();
            let (mut u, mut v) = (plain::rotation(m, 0.4), plain::rotation(n, 1.1));
            for j in 0..k {
                let largest = (0..m).map(|i| u.at(&[i, j])).fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
                if largest < 0.0 {
                    (0..m).for_each(|i| u.data[i * m + j] *= -1.0);
                    (0..n).for_each(|i| v.data[i * n + j] *= -1.0);
                }
            }
            let a = Sample::build([m, n], |i| (0..k).map(|j| u.at(&[i[0], j]) * s[j] * v.at(&[i[1], j])).sum());
            let outputs = vec![
                Sample::build([m, k], |i| u.at(i)),
                Sample::new([k], s),
                Sample::build([k, n], |i| v.at(&[i[1], i[0]])),
            ];
            Case::new(format!("{m} x {n}"), Attrs::new(), [a], move |_| outputs.clone())
        };
        let empty = |shape: &[usize]| {
            let (lead, [m, n]) = split(shape);
            let k = m.min(n);
            let sizes = [vec![m, k], vec![k], vec![k, n]];
            let outputs: Vec<Sample> = sizes.iter().map(|last| Sample::new([lead, last].concat(), [])).collect();
            Case::new(format!("{shape:?}"), Attrs::new(), [Sample::new(shape.to_vec(), [])], move |_| outputs.clone())
        };
        vec![case(3, 3), case(4, 2), case(2, 3), case(1, 1), empty(&[0, 3]), empty(&[0, 2, 2])]
    }
}
