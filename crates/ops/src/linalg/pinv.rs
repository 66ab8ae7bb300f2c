//! pinv - Moore-Penrose inverse.   Y = V diag(1/s) U^T over the singular values above a bound,   dY = -Y dA Y + Y Y^T dA^T (1 - A Y)
//! + (1 - Y A) dA^T Y^T Y.
//!
//! The rule holds where the rank does not change, for singular and rectangular matrices alike; where it does change, Y jumps and has no
//! derivative. Singular values of at most `rtol` times the largest count as zero. Leading axes are a batch.

use crate::prelude::*;
use crate::rules::matrix::{plain, split};
use wengert_kernels::linalg::{self, Real, Status};
use wengert_kernels::matmul::{Matrix, matmul};

/// The methods of `pinv`.
#[ext(PinvMethods)]
impl Tensor {
    /// The Moore-Penrose inverse; singular values below the rounding error of the largest count as zero.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[2.0, 0.0], [0.0, 0.0]]).pinv();
    /// assert!(y.all_close(&Tensor::from([[0.5, 0.0], [0.0, 0.0]]), 1e-15));
    /// ```
    #[track_caller]
    pub fn pinv(&self) -> Tensor {
        let larger = self.shape().iter().rev().take(2).max().copied().unwrap_or(0);
        let epsilon = match self.dtype() {
            DType::F64 => f64::EPSILON,
            DType::F16 => 2f64.powi(-10),
            DType::BF16 => 2f64.powi(-7),
            _ => f64::from(f32::EPSILON),
        };
        self.pinv_with(larger as f64 * epsilon)
    }

    /// The Moore-Penrose inverse; singular values of at most `rtol` times the largest count as zero.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[2.0, 0.0], [0.0, 1e-3]]).pinv_with(0.1);
    /// assert!(y.all_close(&Tensor::from([[0.5, 0.0], [0.0, 0.0]]), 1e-15));
    /// ```
    #[track_caller]
    pub fn pinv_with(&self, rtol: f64) -> Tensor {
        bind1(&PINV, Attrs::new().with_real("rtol", rtol), &[self])
    }
}

/// The primitive `pinv`.
pub static PINV: DecompositionOp<Pinv> = DecompositionOp::NEW;

/// See the module.
pub struct Pinv;

impl Decomposition for Pinv {
    const NAME: &'static str = "pinv";
    const ATTRIBUTES: &'static [&'static str] = &["rtol"];
    const RULE: &'static str = "dA = -Y^T dY Y^T + (1 - A Y) dY^T Y Y^T + Y^T Y dY^T (1 - Y A)";
    const SQUARE: bool = false;
    const WORK: f64 = 16.0;

    fn sizes(attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        expect_reals(attrs, Self::ATTRIBUTES);
        vec![(vec![n, m], None)]
    }

    fn eval<T: Real>(
        attrs: &Attrs,
        a: &[T],
        [batch, m, n]: [usize; 3],
        floats: &mut [Buffer<T>],
        _: &mut [i64],
    ) -> Status {
        let k = m.min(n);
        let zeros = |count: usize| Buffer::<T>::zeros(batch * count);
        let (mut u, mut s, mut vt) = (zeros(m * k), zeros(k), zeros(k * n));
        let status = linalg::svd(a, [batch, m, n], false, &mut u, &mut s, &mut vt);
        if k == 0 {
            return status;
        }
        for (matrix, out) in floats[0].chunks_exact_mut(n * m).enumerate() {
            let (s, vt) = (&s[matrix * k..][..k], &mut vt[matrix * k * n..][..k * n]);
            let least = attrs.real("rtol") * s[0].to_f64();
            for (s, row) in s.iter().zip(vt.chunks_exact_mut(n)) {
                let s = s.to_f64();
                let factor = T::from_f64(if s <= least { 0.0 } else { 1.0 / s });
                row.iter_mut().for_each(|x| *x = *x * factor);
            }
            let v = Matrix { data: vt, offset: 0, rows: n, cols: k, row_stride: 1, col_stride: n as isize };
            let u = &u[matrix * m * k..][..m * k];
            let u = Matrix { data: u, offset: 0, rows: k, cols: m, row_stride: 1, col_stride: k as isize };
            matmul(v, u, out);
        }
        status
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.operand(0).output(0)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let (g, a, y) = (cotangents[0].take()?, rule.operand(0), rule.output(0));
        let yt = y.t();
        // (1 - A Y) X and X (1 - Y A), with X = G^T.
        let gt = g.t();
        let left = &gt - a.matmul(&y.matmul(&gt));
        let right = &gt - gt.matmul(y).matmul(a);
        Some(left.matmul(y).matmul(&yt) + yt.matmul(&y.matmul(&right)) - yt.matmul(&g).matmul(&yt))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let (a, y) = (rule.operand(0), rule.output(0));
        let (yt, dat) = (y.t(), da.t());
        let right = &dat - dat.matmul(a).matmul(y);
        let left = &dat - y.matmul(&a.matmul(&dat));
        vec![Some(y.matmul(&yt.matmul(&right)) + left.matmul(&yt).matmul(y) - y.matmul(da).matmul(y))]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let attrs = || Attrs::new().with_real("rtol", 1e-3);
        // For full rank: (A^T A)^-1 A^T, or A^T (A A^T)^-1.
        let case = |shape: &[usize]| {
            Case::new(format!("{shape:?}"), attrs(), [plain::regular(shape, 0.25)], |s| {
                let (lead, [m, n]) = split(&s[0].shape);
                let invert = |a: &Sample| {
                    let t = plain::transpose(a);
                    match m >= n {
                        true => plain::product(&plain::inverse(&plain::product(&t, a)), &t),
                        false => plain::product(&t, &plain::inverse(&plain::product(a, &t))),
                    }
                };
                let each: Vec<Sample> = plain::matrices(&s[0]).iter().map(invert).collect();
                vec![plain::stacked(lead, &each, &[n, m])]
            })
        };
        let (x, y) = ([1.0, -0.5, 2.0], [0.7, 1.5]);
        let outer = Sample::build([3, 2], |i| x[i[0]] * y[i[1]]);
        let scale: f64 = x.iter().map(|x| x * x).sum::<f64>() * y.iter().map(|y| y * y).sum::<f64>();
        let rank_one = Case::new("rank 1 of 2", Attrs::new().with_real("rtol", 0.2), [outer], move |_| {
            vec![Sample::build([2, 3], |i| y[i[0]] * x[i[1]] / scale)]
        });
        vec![
            case(&[3, 3]),
            case(&[4, 2]),
            case(&[2, 3]),
            case(&[2, 2, 2]),
            case(&[1, 1]),
            case(&[0, 2]),
            case(&[0, 2, 2]),
            rank_one.values_only(),
        ]
    }
}
