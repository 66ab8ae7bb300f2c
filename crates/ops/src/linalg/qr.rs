//! qr - orthogonal and triangular factors.   A = Q R,   with W = Q^T dX U^-1 and K = tril(W, -1) - tril(W, -1)^T: dR = Q^T dA - K R, dQ = Q
//! K + (1 - Q Q^T) dX U^-1.
//!
//! With k = min(m, n), X is the first k columns of A and U those of R. Reduced: Q is m x k and R is k x n; complete: m x m and m x n. As in
//! LAPACK, the diagonal of R may be negative. The columns of a complete Q beyond the rank of A are an arbitrary choice, so a complete
//! decomposition of a matrix with more rows than columns has no derivative, and requesting it is an error. Where U is singular, derivatives
//! are NaN. Leading axes are a batch.

use super::solve_triangular::{Triangle, triangular_or_nan};
use crate::prelude::*;
use crate::rules::matrix::{assembled, block, outside, plain, split};
use wengert_kernels::linalg::{self, Real, Status};

fn attrs(complete: bool) -> Attrs {
    Attrs::new().with_int("complete", i64::from(complete))
}

#[track_caller]
fn decomposed(a: &Tensor, complete: bool) -> (Tensor, Tensor) {
    let mut outputs = bind(&QR, attrs(complete), &[a]).into_iter();
    let mut next = || outputs.next().expect("two outputs");
    (next(), next())
}

/// The methods of `qr`.
#[ext(QrMethods)]
impl Tensor {
    /// The reduced decomposition A = Q R: Q has orthonormal columns, R is upper triangular.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[3.0], [4.0]]);
    /// let (q, r) = a.qr();
    /// assert!(r.all_close(&Tensor::from([[-5.0]]), 1e-14));
    /// assert!(q.matmul(&r).all_close(&a, 1e-14));
    /// ```
    #[track_caller]
    pub fn qr(&self) -> (Tensor, Tensor) {
        decomposed(self, false)
    }

    /// The complete decomposition A = Q R: Q is square.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (q, r) = Tensor::from([[3.0], [4.0]]).qr_complete();
    /// assert_eq!((q.shape(), r.shape()), (&[2, 2][..], &[2, 1][..]));
    /// ```
    #[track_caller]
    pub fn qr_complete(&self) -> (Tensor, Tensor) {
        decomposed(self, true)
    }
}

/// The primitive `qr`.
pub static QR: DecompositionOp<Qr> = DecompositionOp::NEW;

/// See the module.
pub struct Qr;

fn expect_unique(rule: &Rule<'_>, q: &Tensor, r: &Tensor) {
    let ([.., rows, _], [.., columns]) = (q.shape(), r.shape()) else { unreachable!("Q and R are matrices") };
    if rule.attrs.int("complete") != 0 && rows > columns {
        let message = format!("the complete decomposition of {rows} rows and {columns} columns has no derivative");
        Error::new(ErrorKind::NoGradient, "qr", message)
            .help("the last columns of Q are an arbitrary choice; differentiate the reduced qr()")
            .raise();
    }
}

impl Decomposition for Qr {
    const NAME: &'static str = "qr";
    const ATTRIBUTES: &'static [&'static str] = &["complete"];
    const FLAGS: &'static [&'static str] = Self::ATTRIBUTES;
    const RULE: &'static str = "dA = Q dR + (Q tril(G - G^T, -1) + (1 - Q Q^T) dQ) U^-T, with G = Q^T dQ - dR R^T";
    const OUTPUTS: usize = 2;
    const SQUARE: bool = false;
    const WORK: f64 = 4.0;

    fn sizes(attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        let k = if attrs.int("complete") != 0 { m } else { m.min(n) };
        vec![(vec![m, k], None), (vec![k, n], None)]
    }

    fn eval<T: Real>(attrs: &Attrs, a: &[T], sizes: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        let [q, r] = floats else { unreachable!("two outputs") };
        linalg::qr(a, sizes, attrs.int("complete") != 0, q, r)
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.output(0).output(1)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let (q, r) = (rule.output(0), rule.output(1));
        expect_unique(rule, q, r);
        let (_, [k, n]) = split(r.shape());
        let (gq, gr) = (cotangents[0].take(), cotangents[1].take().map(|g| g.triu(0)));
        let corner = block(r, 0..k, 0..k.min(n));
        let turn = gq.as_ref().map(|gq| q.t().matmul(gq));
        let bend = gr.as_ref().map(|gr| -gr.matmul(&r.t()));
        let inner = turn.into_iter().chain(bend).reduce(|a, b| a + b)?;
        let rest = gq.as_ref().and_then(|gq| outside(q, gq));
        let columns = std::iter::once(q.matmul(&(&inner - inner.t()).tril(-1))).chain(rest).reduce(|a, b| a + b)?;
        let columns = triangular_or_nan(&corner, &columns, Triangle::upper().transposed().right());
        let (_, [m, _]) = split(q.shape());
        let columns = if k < n { assembled([m, n], &[(0, 0, &columns)]) } else { columns };
        gr.map(|gr| q.matmul(&gr)).into_iter().chain([columns]).reduce(|a, b| a + b)
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let (q, r) = (rule.output(0), rule.output(1));
        expect_unique(rule, q, r);
        let ((_, [m, _]), (_, [k, n])) = (split(q.shape()), split(r.shape()));
        let corner = block(r, 0..k, 0..k.min(n));
        let divided = |x: &Tensor| triangular_or_nan(&corner, x, Triangle::upper().right());
        let first = block(da, 0..m, 0..k.min(n));
        let below = divided(&q.t().matmul(&first)).tril(-1);
        let turn = &below - below.t();
        let dr = (q.t().matmul(da) - turn.matmul(r)).triu(0);
        let dq = q.matmul(&turn);
        let dq = match outside(q, &first) {
            Some(rest) => dq + divided(&rest),
            None => dq,
        };
        vec![Some(dq), Some(dr)]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // Gram-Schmidt with the signs of Householder reflections for columns near those of the identity: every column is negated, except
        // the last one of a square matrix, which is a single number.
        let case = |shape: &[usize], complete: bool| {
            let a = plain::regular(shape, 0.4);
            Case::new(format!("{shape:?}, complete {complete}"), attrs(complete), [a], move |s| {
                let (lead, [m, n]) = split(&s[0].shape);
                let k = m.min(n);
                let factor = |a: &Sample| {
                    let mut q = Sample::build([m, k], |i| a.at(i));
                    for j in 0..k {
                        for _ in 0..2 {
                            for before in 0..j {
                                let dot: f64 = (0..m).map(|i| q.at(&[i, before]) * q.at(&[i, j])).sum();
                                (0..m).for_each(|i| q.data[i * k + j] -= dot * q.at(&[i, before]));
                            }
                        }
                        let length = (0..m).map(|i| q.at(&[i, j]).powi(2)).sum::<f64>().sqrt();
                        let sign = if j + 1 < m { -1.0 } else { 1.0 };
                        (0..m).for_each(|i| q.data[i * k + j] *= sign / length);
                    }
                    let r = plain::product(&plain::transpose(&q), a);
                    (q, Sample::build([k, n], |i| if i[0] <= i[1] { r.at(i) } else { 0.0 }))
                };
                let (q, r): (Vec<Sample>, Vec<Sample>) = plain::matrices(&s[0]).iter().map(factor).unzip();
                vec![plain::stacked(lead, &q, &[m, k]), plain::stacked(lead, &r, &[k, n])]
            })
        };
        vec![
            case(&[3, 3], false),
            case(&[4, 2], false),
            case(&[2, 4], false),
            case(&[2, 3], true),
            case(&[2, 2, 2], false),
            case(&[1, 1], false),
            case(&[3, 0], false),
            case(&[0, 2, 2], false),
        ]
    }
}
