//! inv - inverse matrix.   Y = A^-1,   dY = -Y dA Y.   Leading axes are a batch. A singular matrix is an error that names its index in the
//! batch; with attribute `checked` 0 its inverse is NaN. Elements that are not finite give NaN.

use crate::prelude::*;
use crate::rules::matrix::plain;
use wengert_kernels::linalg::{self, Real, Status};

fn attrs(checked: bool) -> Attrs {
    Attrs::new().with_int("checked", i64::from(checked))
}

/// The methods of `inv`.
#[ext(InvMethods)]
impl Tensor {
    /// The inverse of a matrix, or of each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(a.inv(), Tensor::from([[0.5, 0.0], [0.0, 0.25]]));
    /// ```
    #[track_caller]
    pub fn inv(&self) -> Tensor {
        bind1(&INV, attrs(true), &[self])
    }

    /// The inverse, or an error that names the first singular matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let batch = Tensor::from([[[1.0]], [[0.0]]]);
    /// assert_eq!(batch.try_inv().unwrap_err().kind(), &ErrorKind::Singular(vec![1]));
    /// ```
    #[track_caller]
    pub fn try_inv(&self) -> Result<Tensor, Error> {
        try_bind1(&INV, attrs(true), &[self])
    }

    /// The inverse, NaN for singular matrices, and a flag for each matrix: 0 for success, else 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (inverse, info) = Tensor::from([[[2.0]], [[0.0]]]).inv_ex();
    /// assert_eq!(inverse.slice(0), Tensor::from([[0.5]]));
    /// assert_eq!(info, Tensor::from([0i32, 1]));
    /// ```
    #[track_caller]
    pub fn inv_ex(&self) -> (Tensor, Tensor) {
        let inverse = bind1(&INV, attrs(false), &[self]);
        let info = crate::rules::matrix::failures(&inverse);
        (inverse, info)
    }
}

/// The primitive `inv`.
pub static INV: DecompositionOp<Inv> = DecompositionOp::NEW;

/// See the module.
pub struct Inv;

impl Decomposition for Inv {
    const NAME: &'static str = "inv";
    const ATTRIBUTES: &'static [&'static str] = &["checked"];
    const FLAGS: &'static [&'static str] = Self::ATTRIBUTES;
    const RULE: &'static str = "dA = -Y^T dY Y^T";
    const WORK: f64 = 2.0;

    fn sizes(_attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![m, n], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], [batch, n, _]: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        linalg::inv(a, [batch, n], &mut floats[0])
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.output(0)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let y = rule.output(0).t();
        cotangents[0].take().map(|g| -y.matmul(&g).matmul(&y))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let y = rule.output(0);
        vec![Some(-y.matmul(da).matmul(y))]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: &[usize], checked: bool| {
            let shape = shape.to_vec();
            let a = plain::regular(&shape, 0.35);
            Case::new(format!("{:?}, checked {checked}", shape), attrs(checked), [a], move |s| {
                let inverses: Vec<Sample> = plain::matrices(&s[0]).iter().map(plain::inverse).collect();
                vec![plain::stacked(&[], &inverses, &shape)]
            })
        };
        let singular = Case::new("singular", attrs(false), [Sample::new([2, 2], [1.0, 2.0, 2.0, 4.0])], |_| {
            vec![Sample::new([2, 2], [f64::NAN; 4])]
        });
        vec![
            case(&[3, 3], true),
            case(&[2, 2, 2], true),
            case(&[1, 1], true),
            case(&[0, 0], true),
            case(&[0, 2, 2], false),
            singular.values_only(),
        ]
    }
}
