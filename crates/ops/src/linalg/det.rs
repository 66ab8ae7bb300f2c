//! det - determinant.   y = det A,   dy = tr(C^T dA) with the cofactor matrix C, which is y A^-T where A has an inverse.   Exact to every
//! order, for singular matrices too: the cofactor matrix is computed without dividing. Leading axes are a batch; the determinant of a 0 x 0
//! matrix is 1.

use super::cofactor::COFACTOR;
use crate::prelude::*;
use crate::rules::matrix::plain;
use wengert_kernels::linalg::{self, Real, Status};

/// The methods of `det`.
#[ext(DetMethods)]
impl Tensor {
    /// The determinant of a matrix, or of each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [2.0, 4.0]]).require_grad();
    /// let y = a.det();
    /// y.backward();
    /// assert_eq!(y.item(), 0.0);
    /// assert!(a.grad().unwrap().all_close(&Tensor::from([[4.0, -2.0], [-2.0, 1.0]]), 1e-14));
    /// ```
    #[track_caller]
    pub fn det(&self) -> Tensor {
        bind1(&DET, Attrs::new(), &[self])
    }
}

/// The primitive `det`.
pub static DET: DecompositionOp<Det> = DecompositionOp::NEW;

/// See the module.
pub struct Det;

impl Decomposition for Det {
    const NAME: &'static str = "det";
    const RULE: &'static str = "dA = dy C, with the cofactors C of A";
    const WORK: f64 = 2.0 / 3.0;

    fn sizes(_attrs: &Attrs, _m: usize, _n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], [batch, n, _]: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        let (mut packed, mut pivots) = (Buffer::<T>::zeros(a.len()), Buffer::zeros(batch * n));
        let y = &mut floats[0];
        let status = linalg::lu(a, [batch, n, n], &mut packed, &mut pivots, y);
        for (y, packed) in y.iter_mut().zip(packed.chunks_exact((n * n).max(1))) {
            let diagonal: f64 = packed.iter().step_by(n + 1).map(|x| x.to_f64()).product();
            *y = T::from_f64(y.to_f64() * diagonal);
        }
        status
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.operand(0)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let g = cotangents[0].take()?;
        let rank = g.rank();
        Some(g.unsqueeze(rank).unsqueeze(rank) * COFACTOR.of(&[rule.operand(0)]))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        vec![Some((COFACTOR.of(&[rule.operand(0)]) * da).sum_over([-2, -1]))]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |label: &str, lead: &[usize], a: Sample| {
            let lead = lead.to_vec();
            Case::new(label, Attrs::new(), [a], move |s| {
                let each: Vec<f64> = plain::matrices(&s[0]).iter().map(plain::determinant).collect();
                vec![Sample::new(lead.clone(), each)]
            })
        };
        let rank = |rank: usize| {
            let (u, v) = (plain::rotation(3, 0.7), plain::rotation(3, 1.9));
            Sample::build([3, 3], |i| (0..rank).map(|k| u.at(&[i[0], k]) * v.at(&[i[1], k])).sum())
        };
        vec![
            case("3 x 3", &[], plain::regular(&[3, 3], 0.6)),
            case("batch", &[2], plain::regular(&[2, 2, 2], 0.1)),
            case("identity", &[], Sample::build([3, 3], |i| f64::from(i[0] == i[1]))),
            case("rank 2 of 3", &[], rank(2)),
            case("rank 1 of 3", &[], rank(1)),
            case("zero", &[], Sample::new([3, 3], [0.0; 9])),
            case("1 x 1", &[], Sample::new([1, 1], [0.7])),
            case("0 x 0", &[], Sample::new([0, 0], [])),
            case("no matrices", &[0], Sample::new([0, 2, 2], [])),
        ]
    }
}
