//! cofactor - cofactor matrix.   C(A) = the gradient of det A,   dC = C(A; dA).   The derivative rule of the determinant.
//!
//! C(A; H1 .. Hk) is C differentiated along each H in turn. Derivatives of every order are exact for matrices of every rank.

use crate::prelude::*;
use crate::rules::matrix::{expect_matrix, plain, split};
use crate::rules::{Polar, PolarOp, polar_attrs};
use wengert_kernels::linalg;

/// The methods of `cofactor`.
#[ext(CofactorMethods)]
impl Tensor {
    /// The cofactor matrix: the transpose of the adjugate, and the gradient of the determinant.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let c = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).cofactor();
    /// assert!(c.all_close(&Tensor::from([[4.0, -3.0], [-2.0, 1.0]]), 1e-14));
    /// ```
    #[track_caller]
    pub fn cofactor(&self) -> Tensor {
        COFACTOR.of(&[self])
    }
}

/// The primitive `cofactor`.
pub static COFACTOR: PolarOp<Cofactor> = PolarOp::NEW;

/// See the module.
pub struct Cofactor;

impl Polar for Cofactor {
    const NAME: &'static str = "cofactor";
    const RULE: &'static str = "dA = C(A; H.., dC), dH = C(A; .. dC ..)";
    const AXES: usize = 2;

    fn expect(x: SpecRef<'_>) -> Result<(), Error> {
        expect_matrix(Self::NAME, x, true)
    }

    fn run(operands: &[View<'_>], out: Out<'_>) {
        let (lead, [n, _]) = split(operands[0].shape);
        let all: SmallVec<[_; 3]> = operands.iter().map(|operand| numbers::<f64>(*operand)).collect();
        let directions: SmallVec<[&[f64]; 2]> = all[1..].iter().map(|numbers| &numbers[..]).collect();
        // Matrices that are not finite give NaN in the result.
        let _ = fill(out, |out| linalg::cofactor(&all[0], &directions, [lead.iter().product(), n], out));
    }

    fn flops(operands: usize, shape: &[usize]) -> f64 {
        30.0 * (shape.iter().product::<usize>() * shape[shape.len() - 1] * operands) as f64
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // The determinant in which every direction contributes exactly one row, the matrix itself the others.
        fn mixed(rows: &[Vec<Vec<f64>>], pending: &[usize], columns: &[usize]) -> f64 {
            let Some((row, rest)) = rows.split_first() else { return f64::from(pending.is_empty()) };
            let mut sum = 0.0;
            for (place, &column) in columns.iter().enumerate() {
                let sign = if place % 2 == 0 { 1.0 } else { -1.0 };
                let columns = [&columns[..place], &columns[place + 1..]].concat();
                sum += sign * row[0][column] * mixed(rest, pending, &columns);
                for (which, &matrix) in pending.iter().enumerate() {
                    let pending = [&pending[..which], &pending[which + 1..]].concat();
                    sum += sign * row[matrix][column] * mixed(rest, &pending, &columns);
                }
            }
            sum
        }
        fn expected(s: &[Sample]) -> Sample {
            let n = s[0].shape[0];
            let row = |i: usize| s.iter().map(|a| (0..n).map(|j| a.at(&[i, j])).collect()).collect::<Vec<Vec<f64>>>();
            let directions: Vec<usize> = (1..s.len()).collect();
            Sample::build([n, n], |i| {
                let rows: Vec<_> = (0..n).filter(|&r| r != i[0]).map(row).collect();
                let columns: Vec<usize> = (0..n).filter(|&c| c != i[1]).collect();
                let sign = if (i[0] + i[1]) % 2 == 0 { 1.0 } else { -1.0 };
                sign * mixed(&rows, &directions, &columns)
            })
        }
        let case = |label: &str, operands: Vec<Sample>| {
            let attrs = polar_attrs(operands.len());
            Case::new(label, attrs, operands, |s| {
                let lead = s[0].shape[..s[0].shape.rank() - 2].to_vec();
                let split: Vec<Vec<Sample>> = s.iter().map(plain::matrices).collect();
                let one = |k: usize| expected(&split.iter().map(|list| list[k].clone()).collect::<Vec<_>>());
                let each: Vec<Sample> = (0..split[0].len()).map(one).collect();
                vec![plain::stacked(&lead, &each, &s[0].shape[lead.len()..])]
            })
        };
        let half = |shape: &[usize], phase: f64| {
            let mut sample = Sample::wave(shape.to_vec(), phase);
            sample.data.iter_mut().for_each(|x| *x *= 0.5);
            sample
        };
        let rank_one = Sample::build([3, 3], |i| (0.4 + 0.3 * i[0] as f64) * (0.9 - 0.5 * i[1] as f64));
        vec![
            case("3 x 3", vec![plain::regular(&[3, 3], 0.9)]),
            case("batch", vec![plain::regular(&[2, 2, 2], 0.4)]),
            case("zero", vec![Sample::new([3, 3], [0.0; 9])]),
            case("rank 1 of 3", vec![rank_one.clone()]),
            case("along one", vec![plain::regular(&[3, 3], 0.9), half(&[3, 3], 0.2)]),
            case("along one at rank 1", vec![rank_one, half(&[3, 3], 0.5)]),
            case("along two", vec![plain::regular(&[3, 3], 0.3), half(&[3, 3], 0.2), half(&[3, 3], 0.7)]),
            case("1 x 1", vec![Sample::new([1, 1], [2.0])]),
            case("0 x 0", vec![Sample::new([0, 0], [])]),
        ]
    }
}
