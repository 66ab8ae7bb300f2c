//! eigh - eigenvalues and eigenvectors of a symmetric matrix.   A V = V diag(w),   dw = diag(V^T dA V), dV = V (F * V^T dA V),
//! where F_ij = 1 / (w_j - w_i) off the diagonal.
//!
//! A function of the symmetric part of A, and so is its gradient. The derivative of the eigenvalues alone never divides. It is exact for
//! functions of the eigenvalues even where some coincide (the second derivative is not). The eigenvectors need distinct eigenvalues: their
//! derivative is infinite where two coincide. Eigenvalues ascend; the entry of largest absolute value in each eigenvector is positive.
//! Leading axes are a batch.

use crate::prelude::*;
use crate::rules::matrix::{diagonal, diagonal_matrix, plain, reciprocal_differences, split, symmetric_part};
use wengert_kernels::linalg::{self, Real, Status};

/// The methods of `eigh`.
#[ext(EighMethods)]
impl Tensor {
    /// The eigenvalues, ascending, and the eigenvectors, as columns, of a symmetric matrix or each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, vectors) = Tensor::from([[3.0, 0.0], [0.0, -1.0]]).eigh();
    /// assert_eq!(values, Tensor::from([-1.0, 3.0]));
    /// assert_eq!(vectors, Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn eigh(&self) -> (Tensor, Tensor) {
        let mut outputs = bind(&EIGH, Attrs::new(), &[self]).into_iter();
        let mut next = || outputs.next().expect("two outputs");
        (next(), next())
    }

    /// The eigenvalues of a symmetric matrix, ascending.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[3.0, 0.0], [0.0, -1.0]]).eigvalsh(), Tensor::from([-1.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn eigvalsh(&self) -> Tensor {
        self.eigh().0
    }

    /// [`eigh`](Tensor::eigh) of the symmetric matrix whose lower triangle this tensor holds.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, _) = Tensor::from([[3.0, 9.0], [0.0, -1.0]]).eigh_lower();
    /// assert_eq!(values, Tensor::from([-1.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn eigh_lower(&self) -> (Tensor, Tensor) {
        self.mirror_lower().eigh()
    }

    /// [`eigh`](Tensor::eigh) of the symmetric matrix whose upper triangle this tensor holds.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, _) = Tensor::from([[3.0, 0.0], [9.0, -1.0]]).eigh_upper();
    /// assert_eq!(values, Tensor::from([-1.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn eigh_upper(&self) -> (Tensor, Tensor) {
        self.mirror_upper().eigh()
    }

    /// The symmetric matrix whose lower triangle this tensor holds. Gradients are those of a symmetric matrix, spread over both triangles.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 9.0], [2.0, 3.0]]);
    /// assert_eq!(a.mirror_lower(), Tensor::from([[1.0, 2.0], [2.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn mirror_lower(&self) -> Tensor {
        let below = self.detach();
        mirrored(self, below.tril(0) + below.tril(-1).t())
    }

    /// The symmetric matrix whose upper triangle this tensor holds. Gradients are those of a symmetric matrix, spread over both triangles.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 9.0], [2.0, 3.0]]);
    /// assert_eq!(a.mirror_upper(), Tensor::from([[1.0, 9.0], [9.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn mirror_upper(&self) -> Tensor {
        let above = self.detach();
        mirrored(self, above.triu(0) + above.triu(1).t())
    }
}

/// The values of `value` with the gradient of the symmetric part of `x`.
fn mirrored(x: &Tensor, value: Tensor) -> Tensor {
    let part = symmetric_part(x);
    let zero = &part - part.detach();
    value + zero
}

/// The primitive `eigh`.
pub static EIGH: DecompositionOp<Eigh> = DecompositionOp::NEW;

/// See the module.
pub struct Eigh;

impl Decomposition for Eigh {
    const NAME: &'static str = "eigh";
    const RULE: &'static str = "dA = sym(V (diag dw + F * V^T dV) V^T)";
    const OUTPUTS: usize = 2;
    const SYMMETRIC: bool = true;
    const WORK: f64 = 9.0;

    fn sizes(_attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)> {
        vec![(vec![n], None), (vec![m, n], None)]
    }

    fn eval<T: Real>(_: &Attrs, a: &[T], [batch, n, _]: [usize; 3], floats: &mut [Buffer<T>], _: &mut [i64]) -> Status {
        let [values, vectors] = floats else { unreachable!("two outputs") };
        linalg::eigh(a, [batch, n], values, vectors)
    }

    fn saves(_attrs: &Attrs) -> Saves {
        Saves::NOTHING.output(0).output(1)
    }

    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor> {
        let (w, v) = (rule.output(0), rule.output(1));
        let by_values = cotangents[0].take().map(|g| diagonal_matrix(&g));
        let by_vectors = cotangents[1].take().map(|g| v.t().matmul(&g).guarded_mul(&reciprocal_differences(w)));
        let inner = by_values.into_iter().chain(by_vectors).reduce(|a, b| a + b)?;
        Some(v.matmul(&inner).matmul(&v.t()))
    }

    fn jvp(rule: &Rule<'_>, da: &Tensor) -> Vec<Option<Tensor>> {
        let (w, v) = (rule.output(0), rule.output(1));
        let inner = v.t().matmul(da).matmul(v);
        let dv = v.matmul(&inner.guarded_mul(&reciprocal_differences(w)));
        vec![Some(diagonal(&inner)), Some(dv)]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // A is built from known factors, so the answer is known without computing a decomposition.
        let known = |values: Vec<f64>, angle: f64| {
            let n = values.len();
            let mut v = plain::rotation(n, angle);
            for j in 0..n {
                let largest = (0..n).map(|i| v.at(&[i, j])).fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
                (0..n).for_each(|i| v.data[i * n + j] *= largest.signum());
            }
            let a = Sample::build([n, n], |i| (0..n).map(|k| v.at(&[i[0], k]) * values[k] * v.at(&[i[1], k])).sum());
            (a, Sample::new([n], values), v)
        };
        let case = |label: &str, values: Vec<f64>, angle: f64| {
            let (a, values, vectors) = known(values, angle);
            Case::new(label, Attrs::new(), [a], move |_| vec![values.clone(), vectors.clone()])
        };
        let batch = {
            let parts = [known(vec![-1.0, 1.2], 0.4), known(vec![0.3, 2.4], 2.1)];
            let of = |pick: fn(&(Sample, Sample, Sample)) -> &Sample, last: &[usize]| {
                plain::stacked(&[2], &parts.iter().map(|part| pick(part).clone()).collect::<Vec<_>>(), last)
            };
            let (a, values, vectors) = (of(|p| &p.0, &[2, 2]), of(|p| &p.1, &[2]), of(|p| &p.2, &[2, 2]));
            Case::new("batch", Attrs::new(), [a], move |_| vec![values.clone(), vectors.clone()])
        };
        let empty = |shape: &[usize]| {
            let (lead, [_, n]) = split(shape);
            let (values, vectors) = (Sample::new([lead, &[n]].concat(), []), Sample::new(shape.to_vec(), []));
            let a = Sample::new(shape.to_vec(), []);
            Case::new(format!("{shape:?}"), Attrs::new(), [a], move |_| vec![values.clone(), vectors.clone()])
        };
        vec![
            case("3 x 3", vec![-1.1, 0.6, 2.2], 0.5),
            case("2 x 2", vec![0.5, 2.0], 0.3),
            case("1 x 1", vec![0.7], 0.0),
            batch,
            empty(&[0, 0]),
            empty(&[0, 2, 2]),
        ]
    }
}
