//! slogdet - sign and logarithm of a determinant.   y = log |det A|,   dy = tr(A^-1 dA).   The sign has derivative 0. A singular
//! matrix has sign 0 and logarithm -inf, and its gradient is NaN. Leading axes are a batch.

use crate::prelude::*;
use crate::rules::matrix::{inverse_or_nan, plain};
use wengert_kernels::linalg::{self, Real, Status};

/// The methods of `slogdet`.
#[ext(SlogdetMethods)]
impl Tensor {
    /// The sign of the determinant and the logarithm of its absolute value, which neither overflows nor underflows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (sign, log) = (Tensor::eye(3) * -1e200).slogdet();
    /// assert_eq!(sign.item(), -1.0);
    /// assert!((log.item() - 600.0 * 10f64.ln()).abs() < 1e-11);
    /// ```
    #[track_caller]
    pub fn slogdet(&self) -> (Tensor, Tensor) {
        let mut outputs = bind(&SLOGDET, Attrs::new(), &[self]).into_iter();
        let mut next = || outputs.next().expect("two outputs");
        (next(), next())
    }

    /// The logarithm of the determinant: -inf where it is 0, NaN where it is negative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!((Tensor::from([[2.0, 0.0], [0.0, 4.0]]).logdet().item() - 8f64.ln()).abs() < 1e-14);
    /// assert!(Tensor::from([[-1.0]]).logdet().item().is_nan());
    /// ```
    #[track_caller]
    pub fn logdet(&self) -> Tensor {
        let (sign, log) = self.slogdet();
        // A factor, not a selection: outside the domain the gradient is NaN too.
        log * sign.lt(0.0).where_(sign.full_like(f64::NAN), 1.0)
    }
}

/// The primitive `slogdet`.
pub static SLOGDET: DecompositionOp<Slogdet> = DecompositionOp::NEW;

/// See the module.
pub struct Slogdet;

impl Decomposition for Slogdet {
    const NAME: &'static str = "slogdet";
    const RULE: &'static str = "dA = dlog A^-T";
    const OUTPUTS: usize = 2;
    const WORK: f64 = 2.0 / 3.0;

    fn sizes(_attrs: &Attrs, _m: usize, _n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![], None), (vec![], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], [batch, n, _]: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        let (mut packed, mut pivots) = (Buffer::<T>::zeros(a.len()), Buffer::zeros(batch * n));
        let [signs, logs] = floats else { unreachable!("two outputs") };
        let status = linalg::lu(a, [batch, n, n], &mut packed, &mut pivots, signs);
        let matrices = packed.chunks_exact((n * n).max(1));
        for ((sign, log), packed) in signs.iter_mut().zip(logs.iter_mut()).zip(matrices) {
            let diagonal = || packed.iter().step_by(n + 1).map(|x| x.to_f64());
            let turn = |sign: f64, x: f64| if x == 0.0 { 0.0 } else { sign * x.signum() };
            *sign = T::from_f64(diagonal().fold(sign.to_f64(), turn));
            *log = T::from_f64(diagonal().map(|x| x.abs().ln()).sum());
        }
        status
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.operand(0)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let g = cotangents[1].take()?;
        let rank = g.rank();
        Some(g.unsqueeze(rank).unsqueeze(rank) * inverse_or_nan(rule.operand(0)).t())
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let inverse = inverse_or_nan(rule.operand(0));
        vec![None, Some((inverse.t() * da).sum_over([-2, -1]))]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |label: &str, lead: &[usize], a: Sample| {
            let lead = lead.to_vec();
            Case::new(label, Attrs::new(), [a], move |s| {
                let each: Vec<f64> = plain::matrices(&s[0]).iter().map(plain::determinant).collect();
                let sign = |y: &f64| if *y == 0.0 { 0.0 } else { y.signum() };
                vec![
                    Sample::new(lead.clone(), each.iter().map(sign).collect::<Vec<_>>()),
                    Sample::new(lead.clone(), each.iter().map(|y| y.abs().ln()).collect::<Vec<_>>()),
                ]
            })
        };
        let mut negative = plain::regular(&[3, 3], 0.6);
        negative.data[..3].iter_mut().for_each(|x| *x = -*x);
        vec![
            case("3 x 3", &[], plain::regular(&[3, 3], 0.2)),
            case("negative", &[], negative),
            case("batch", &[2], plain::regular(&[2, 2, 2], 0.1)),
            case("1 x 1", &[], Sample::new([1, 1], [0.7])),
            case("0 x 0", &[], Sample::new([0, 0], [])),
            case("no matrices", &[0], Sample::new([0, 2, 2], [])),
            case("singular", &[], Sample::new([2, 2], [1.0, 2.0, 2.0, 4.0])).values_only(),
        ]
    }
}
