//! matrix_exp - matrix exponential.   Y = 1 + A + A^2 / 2 + ..,   dY = the upper right block of exp [[A, dA], [0, A]].   Computed by
//! scaling, squaring and Pade approximation, chosen by the norm. The gradient is the same block with A^T and the cotangent, so it is exact
//! to every order. Leading axes are a batch.

use crate::prelude::*;
use crate::rules::matrix::{assembled, block, plain, split};
use wengert_kernels::linalg::{self, Real, Status};

/// The methods of `matrix_exp`.
#[ext(MatrixExpMethods)]
impl Tensor {
    /// The exponential of a matrix, or of each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[0.0, 1.0], [0.0, 0.0]]).matrix_exp();
    /// assert_eq!(y, Tensor::from([[1.0, 1.0], [0.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn matrix_exp(&self) -> Tensor {
        bind1(&MATRIX_EXP, Attrs::new(), &[self])
    }
}

/// The primitive `matrix_exp`.
pub static MATRIX_EXP: DecompositionOp<MatrixExp> = DecompositionOp::NEW;

/// See the module.
pub struct MatrixExp;

/// The derivative of the exponential at `a` along `direction`.
fn derivative(a: &Tensor, direction: &Tensor) -> Tensor {
    let (_, [n, _]) = split(a.shape());
    let blocks = assembled([2 * n, 2 * n], &[(0, 0, a), (0, n, direction), (n, n, a)]);
    block(&blocks.matrix_exp(), 0..n, n..2 * n)
}

impl Decomposition for MatrixExp {
    const NAME: &'static str = "matrix_exp";
    const RULE: &'static str = "dA = the upper right block of exp [[A^T, dY], [0, A^T]]";
    const JET: Jet = Jet::MatrixFunction;
    const WORK: f64 = 20.0;

    fn sizes(_attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![m, n], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], [batch, n, _]: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        let a: Vec<f64> = a.iter().map(|x| x.to_f64()).collect();
        let mut y = vec![0.0; a.len()];
        let status = linalg::matrix_exp(&a, [batch, n], &mut y);
        floats[0].iter_mut().zip(y).for_each(|(out, y)| *out = T::from_f64(y));
        status
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.operand(0)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        cotangents[0].take().map(|g| derivative(&rule.operand(0).t(), &g))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        vec![Some(derivative(rule.operand(0), da))]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // The series itself.
        let reference = |s: &[Sample]| {
            let series = |a: &Sample| {
                let n = a.shape[0];
                let mut term = Sample::build([n, n], |i| f64::from(i[0] == i[1]));
                let mut sum = term.clone();
                for k in 1..80 {
                    term = plain::product(&term, a);
                    term.data.iter_mut().for_each(|x| *x /= k as f64);
                    sum.data.iter_mut().zip(&term.data).for_each(|(sum, x)| *sum += x);
                }
                sum
            };
            let each: Vec<Sample> = plain::matrices(&s[0]).iter().map(series).collect();
            vec![plain::stacked(&[], &each, &s[0].shape)]
        };
        let case = |shape: &[usize], scale: f64| {
            let mut a = Sample::wave(shape.to_vec(), 0.65);
            a.data.iter_mut().for_each(|x| *x *= scale);
            Case::new(format!("{shape:?} scaled by {scale}"), Attrs::new(), [a], reference)
        };
        vec![
            case(&[3, 3], 0.3),
            case(&[2, 2], 0.05),
            case(&[2, 2], 0.002),
            case(&[2, 2, 2], 0.6),
            case(&[3, 3], 1.6).values_only(),
            case(&[1, 1], 0.5),
            case(&[0, 0], 1.0),
            case(&[0, 2, 2], 1.0),
        ]
    }
}
