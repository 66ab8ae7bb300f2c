//! svd - singular value decomposition.   A = U diag(s) V^T, thin: with k = min(m, n), U is m x k, s descending, V^T is k x n.
//!
//! With P = U^T dA V and F_ij = 1 / (s_j^2 - s_i^2) off the diagonal, 0 on it:
//! ds = diag P,   dU = U (F * (P S + S P^T)) + (1 - U U^T) dA V S^-1,   dV = V (F * (S P + P^T S)) + (1 - V V^T) dA^T U S^-1.
//!
//! The derivative of the singular values alone never divides, so it is finite everywhere; where two coincide or one is 0 it
//! is a subgradient. The vectors need distinct, non-zero singular values: their derivative is infinite where two coincide.
//! The entry of largest magnitude in each column of U is positive.

use crate::ops::prelude::*;
use crate::primitive::streaming_cost;
use crate::tensor::collect;
use wengert_kernels::dtype::Compute;

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
}

/// The primitive `svd`.
pub static SVD: Svd = Svd;

/// See the module.
pub struct Svd;

fn decompose<T: Compute>(
    a: &Tensor,
    outputs: &[Spec],
    run: impl Fn(&[T], usize, usize, &mut [T], &mut [T], &mut [T]),
) -> Outputs {
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let k = m.min(n);
    let zeros = |spec: &Spec| vec![T::ZERO; spec.shape.elements()];
    let (a, mut u, mut s, mut vt) = (collect::<T>(a), zeros(&outputs[0]), zeros(&outputs[1]), zeros(&outputs[2]));
    if k > 0 {
        let parts = u.chunks_mut(m * k).zip(s.chunks_mut(k)).zip(vt.chunks_mut(k * n));
        for (a, ((u, s), vt)) in a.chunks(m * n).zip(parts) {
            run(a, m, n, u, s, vt);
        }
    }
    let finish = |numbers: Vec<T>, spec: &Spec| {
        let wide = Spec { dtype: T::DTYPE, ..spec.clone() };
        Tensor::build(&wide, |out| out.bytes.copy_from_slice(bytemuck::cast_slice(&numbers))).0.cast(spec.dtype)
    };
    smallvec![finish(u, &outputs[0]), finish(s, &outputs[1]), finish(vt, &outputs[2])]
}

/// 1 / (s_j^2 - s_i^2) off the diagonal, 0 on it.
fn differences(s: &Tensor) -> Tensor {
    let squares = s * s;
    let axis = s.rank() - 1;
    let differences = squares.unsqueeze(axis) - squares.unsqueeze(axis + 1);
    let diagonal = Tensor::eye(s.shape()[axis]).equal(1.0);
    // The diagonal is replaced before the division: 1/0 must not meet a zero cotangent.
    diagonal.where_(0.0, diagonal.where_(1.0, differences).recip())
}

/// Columns of `x` scaled by `s`.
fn scale_columns(x: &Tensor, s: &Tensor) -> Tensor {
    x * s.unsqueeze(s.rank() - 1)
}

/// Rows of `x` scaled by `s`.
fn scale_rows(s: &Tensor, x: &Tensor) -> Tensor {
    s.unsqueeze(s.rank()) * x
}

/// The part of `x` outside the span of the orthonormal columns of `q`; a square `q` spans everything.
fn outside(q: &Tensor, x: &Tensor) -> Option<Tensor> {
    let [.., rows, columns] = *q.shape() else { unreachable!("q is a matrix") };
    (rows != columns).then(|| x - q.matmul(&q.t().matmul(x)))
}

impl Primitive for Svd {
    fn name(&self) -> &'static str {
        "svd"
    }

    fn operands(&self) -> usize {
        1
    }

    fn outputs(&self, _attrs: &Attrs) -> usize {
        3
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let a = operands[0];
        expect_float("svd", a.dtype)?;
        let rank = a.shape.len();
        if rank < 2 {
            let shape = Shape::from(a.shape);
            return Err(Error::new(
                ErrorKind::Shape(vec![shape.clone()]),
                "svd",
                format!("needs a matrix, got shape {shape}"),
            ));
        }
        let (lead, m, n) = (&a.shape[..rank - 2], a.shape[rank - 2], a.shape[rank - 1]);
        let k = m.min(n);
        let spec = |last: &[usize]| Spec { shape: lead.iter().chain(last).copied().collect(), dtype: a.dtype };
        Ok(Specs::from_vec(vec![spec(&[m, k]), spec(&[k]), spec(&[k, n])]))
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(match outputs[0].dtype {
            DType::F64 => decompose::<f64>(operands[0], outputs, wengert_kernels::svd::svd),
            _ => decompose::<f32>(operands[0], outputs, wengert_kernels::svd::svd),
        })
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.output(0).output(1).output(2)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let (u, s, vt) = (rule.output(0), rule.output(1), rule.output(2));
        let [gu, gs, gvt] = cotangents else { unreachable!("three outputs") };
        // The middle factor between U and V^T; only what has a cotangent is touched.
        let mut middle: Vec<Tensor> = Vec::new();
        let mut terms: Vec<Tensor> = Vec::new();
        if let Some(gs) = gs {
            middle.push(scale_columns(&Tensor::eye(s.shape()[s.rank() - 1]).cast(s.dtype()), gs));
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
        let gradient = middle.into_iter().chain(terms).reduce(|a, b| a + b);
        smallvec![gradient.map_or(Gradient::Zero, Gradient::Dense)]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let Some(da) = &tangents[0] else { return smallvec![None, None, None] };
        let (u, s, vt) = (rule.output(0), rule.output(1), rule.output(2));
        let v = vt.t();
        let p = u.t().matmul(da).matmul(&v);
        let identity = Tensor::eye(s.shape()[s.rank() - 1]).cast(s.dtype());
        let ds = (&p * identity).sum_axes(&[-1]);
        let f = differences(s);
        let with_rest = |inside: Tensor, rest: Option<Tensor>| match rest {
            Some(rest) => inside + scale_columns(&rest, &s.recip()),
            None => inside,
        };
        let du = u.matmul(&(scale_columns(&p, s) + scale_rows(s, &p.t())).guarded_mul(&f));
        let du = with_rest(du, outside(u, &da.matmul(&v)));
        let dv = v.matmul(&(scale_rows(s, &p) + scale_columns(&p.t(), s)).guarded_mul(&f));
        let dv = with_rest(dv, outside(&v, &da.t().matmul(u)));
        Adjoints::from_vec(vec![Some(du), Some(ds), Some(dv.t())])
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(bind(self, attrs.clone(), &[&operands[0]]))
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let elements: usize = operands[0].shape.iter().product();
        let smaller = outputs[1].shape.last().copied().unwrap_or(0);
        Cost { flops: 14.0 * (elements * smaller) as f64, ..streaming_cost(operands, outputs) }
    }

    fn rule_text(&self) -> &'static str {
        "dA = U (diag ds + (F*(U^T dU - dU^T U)) S + S (F*(V^T dV - dV^T V))) V^T + ..."
    }

    fn cases(&self) -> Vec<Case> {
        // The reference builds A from known factors, so the right answer is known without computing a decomposition.
        let case = |m: usize, n: usize| {
            let k = m.min(n);
            let rotation = |size: usize, angle: f64| {
                let mut q = Sample::build([size, size], |i| f64::from(i[0] == i[1]));
                for (turn, (a, b)) in (0..size).flat_map(|a| (a + 1..size).map(move |b| (a, b))).enumerate() {
                    let (sin, cos) = (angle + 0.3 * turn as f64).sin_cos();
                    for row in 0..size {
                        let (x, y) = (q.at(&[row, a]), q.at(&[row, b]));
                        q.data[row * size + a] = cos * x - sin * y;
                        q.data[row * size + b] = sin * x + cos * y;
                    }
                }
                q
            };
            let s: Vec<f64> = (0..k).map(|j| 2.5 / (1.0 + 0.8 * j as f64)).collect();
            let (mut u, mut v) = (rotation(m, 0.4), rotation(n, 1.1));
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
        vec![case(3, 3), case(4, 2), case(2, 3), case(1, 1)]
    }
}
