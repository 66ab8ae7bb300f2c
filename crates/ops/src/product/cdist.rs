//! cdist - Euclidean distances between the rows of two matrices.   d_ij = |x_i - y_j|,   dd_ij = (x_i - y_j) (dx_i - dy_j) / d_ij.
//!
//! With W = dbar / d, and 0 where d is 0: xbar = diag(W 1) x - W y,   ybar = diag(W^T 1) y - W^T x, two matrix products. At coincident
//! points the gradient is 0 and the second derivative NaN; but that of d^2 is exact. Leading axes are a batch. Other p-norms are
//! composites.

use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::formula::tensor::{kinked, unsteady};
use crate::rules::matrix::{scale_rows, split};
use wengert_kernels::distance::euclidean;
use wengert_kernels::linalg::Real;

/// The primitive `cdist`, for Euclidean distances; see `Tensor::cdist`.
pub static CDIST: Cdist = Cdist;

/// See the module.
pub struct Cdist;

fn distances<T: Real>(x: View<'_>, y: View<'_>, out: Out<'_>) {
    let (lead, [m, k]) = split(x.shape);
    let sizes = [lead.iter().product(), m, y.shape[y.shape.len() - 2], k];
    fill(out, |out: &mut [T]| euclidean(&numbers(x), &numbers(y), sizes, out));
}

/// 1 / d, and 0 where d is 0.
fn reciprocal(d: &Tensor) -> Tensor {
    let coincident = d.equal(0.0);
    coincident.where_(0.0, coincident.where_(1.0, d).recip())
}

/// The inner products of corresponding rows.
fn row_products(a: &Tensor, b: &Tensor) -> Tensor {
    (a * b).sum_over(-1)
}

/// The gradients for weights of the differences of rows, without derivatives at `kinks`.
fn pulled(rule: &Rule<'_>, weights: &Tensor, kinks: Option<Tensor>) -> Gradients {
    let (x, y) = (rule.operand(0), rule.operand(1));
    let toward = |weights: &Tensor, from: &Tensor, to: &Tensor, kinks: Option<Tensor>| {
        let smooth = scale_rows(&weights.sum_over(-1), from) - weights.matmul(to);
        Gradient::Dense(match kinks {
            Some(kinks) => smooth + unsteady(from, &kinks.any_over(keepdim(-1))),
            None => smooth,
        })
    };
    smallvec![
        if rule.wants(0) { toward(weights, x, y, kinks.clone()) } else { Gradient::Zero },
        if rule.wants(1) { toward(&weights.t(), y, x, kinks.map(|kinks| kinks.t())) } else { Gradient::Zero },
    ]
}

impl Primitive for Cdist {
    fn name(&self) -> &'static str {
        "cdist"
    }

    fn operands(&self) -> usize {
        2
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, y) = (operands[0], operands[1]);
        expect_same_dtype("cdist", x.dtype, y.dtype)?;
        expect_float("cdist", x.dtype)?;
        let shapes = || vec![Shape::from(x.shape), Shape::from(y.shape)];
        let fits = x.shape.len() >= 2 && y.shape.len() == x.shape.len() && {
            let ((x_lead, [_, x_length]), (y_lead, [_, y_length])) = (split(x.shape), split(y.shape));
            x_lead == y_lead && x_length == y_length
        };
        if !fits {
            let message = format!("the rows of shapes {} and {} have no distances", shapes()[0], shapes()[1]);
            return Err(Error::new(ErrorKind::Shape(shapes()), "cdist", message)
                .help("both sides are matrices of rows of equal length; leading axes broadcast"));
        }
        let (lead, [rows, _]) = split(x.shape);
        let shape = lead.iter().copied().chain([rows, y.shape[y.shape.len() - 2]]).collect();
        Ok(smallvec![Spec { shape, dtype: x.dtype }])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        computing_float!(outputs[0].dtype, T => distances::<T>(operands[0], operands[1], outputs[0].reborrow()));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(0).operand(1).output(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let d = rule.output(0);
        let coincident = (!g.is_plain() || !d.is_plain()).then(|| d.equal(0.0));
        pulled(rule, &(g * reciprocal(d)), coincident)
    }

    fn vjp_of_square(&'static self, _attrs: &Attrs) -> Option<fn(&Rule<'_>, Tensor) -> Gradients> {
        Some(|rule, g| {
            let d = rule.output(0);
            pulled(rule, &(g * d.lt(f64::INFINITY).where_(d.full_like(2.0), f64::NAN)), None)
        })
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let (x, y) = (rule.operand(0), rule.operand(1));
        let last = x.rank() - 1;
        let left = tangents[0].as_ref().map(|dx| row_products(x, dx).unsqueeze(last) - dx.matmul(&y.t()));
        let right = tangents[1].as_ref().map(|dy| row_products(y, dy).unsqueeze(last - 1) - x.matmul(&dy.t()));
        let sum = left.into_iter().chain(right).reduce(|a, b| a + b);
        let d = rule.output(0);
        smallvec![sum.map(|sum| kinked(&d.equal(0.0), &sum, &sum * reciprocal(d)))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &[&aligned[0], &aligned[1]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Product { transposed: true }
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let length = operands[0].shape.last().copied().unwrap_or(0);
        Cost { flops: 3.0 * (outputs[0].shape.elements() * length) as f64, ..streaming_cost(operands, outputs) }
    }

    fn rule_text(&self) -> &'static str {
        "W = dd / d, dx = diag(W 1) x - W y, dy = diag(W^T 1) y - W^T x"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let reference = |x: Shape, y: Shape| {
            move |s: &[Sample]| {
                let (lead, length) = (x.rank() - 2, x[x.rank() - 1]);
                let to: Shape = x[..lead + 1].iter().chain([&y[lead]]).copied().collect();
                vec![Sample::build(to, |i| {
                    let square = |k: usize| {
                        let (a, b) =
                            (s[0].at(&[&i[..lead + 1], &[k]].concat()), [&i[..lead], &[i[lead + 1], k]].concat());
                        (a - s[1].at(&b)).powi(2)
                    };
                    (0..length).map(square).sum::<f64>().sqrt()
                })]
            }
        };
        let case = |x: &[usize], y: &[usize]| {
            let (x, y) = (Shape::from(x), Shape::from(y));
            // Far apart, so that no distance is near its kink.
            let mut far = Sample::wave(y.clone(), 0.55);
            far.data.iter_mut().for_each(|number| *number += 3.0);
            let operands = [Sample::wave(x.clone(), 0.15), far];
            Case::new(format!("{x} to {y}"), Attrs::new(), operands, reference(x, y))
        };
        let same = [Sample::wave([3, 2], 0.3), Sample::wave([3, 2], 0.3)];
        vec![
            case(&[3, 2], &[4, 2]),
            case(&[1, 1], &[1, 1]),
            case(&[2, 2, 3], &[2, 1, 3]),
            case(&[2, 20], &[3, 20]),
            case(&[0, 2], &[3, 2]),
            case(&[2, 3], &[0, 3]),
            Case::new("coincident points", Attrs::new(), same, reference(Shape::from([3, 2]), Shape::from([3, 2])))
                .values_only(),
        ]
    }
}
