//! The rule shape *rows*: maps rows along the last axis to rows of the same length.
//!
//! One or two operands of the same shape. An operation states its kernels and its rules; callers move other axes to the end.

use super::align_batch;
use crate::autograd::modes;
use crate::bind::bind1;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Gradient, Gradients, Mask, Out, Outputs, Primitive, Rule, Sample, Saves,
    Spec, SpecRef, Specs, View, expect_float, expect_same_dtype, streaming_cost,
};
use crate::tensor::{fill, numbers};
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use smallvec::{SmallVec, smallvec};
use wengert_kernels::dtype::Compute;

/// `kernel(operands, n, out)` on rows of `n` elements.
pub type RowKernel<T> = fn(&[&[T]], usize, &mut [T]);

/// Whether a rule may use its own kernel: all tensors are plain values, and nothing records or inspects operations on them.
pub fn all_numbers(tensors: &[&Tensor]) -> bool {
    tensors.iter().all(|tensor| tensor.is_at_hand()) && !modes::detects_anomalies()
}

/// A primitive of the rows shape.
pub struct RowMap {
    pub(crate) name: &'static str,
    pub(crate) operands: usize,
    pub(crate) rule_text: &'static str,
    /// Arithmetic operations for each element.
    pub(crate) flops: f64,
    pub(crate) f64: RowKernel<f64>,
    pub(crate) f32: RowKernel<f32>,
    pub(crate) saves: fn(Mask) -> Saves,
    /// The gradient of operand `position` from the cotangent.
    pub(crate) pull: fn(&Rule<'_>, usize, &Tensor) -> Tensor,
    /// The tangent of the output from that of operand `position`.
    pub(crate) push: fn(&Rule<'_>, usize, &Tensor) -> Tensor,
    /// One row, by a different formula than the kernel's.
    pub(crate) reference: fn(&[&[f64]]) -> Vec<f64>,
    /// Rows with a prescribed value.
    pub(crate) edges: &'static [&'static [f64]],
}

impl RowMap {
    /// Applies it along `axis`.
    #[track_caller]
    pub(crate) fn along(&'static self, operands: &[&Tensor], axis: isize) -> Tensor {
        let (first, axis) = super::row_and_axis(self.name, operands[0], axis);
        let rank = first.rank();
        if axis + 1 == rank {
            let rows: SmallVec<[_; 2]> = operands.iter().map(|operand| super::at_least_vector(operand)).collect();
            let rows: SmallVec<[&Tensor; 4]> = rows.iter().map(|row| &**row).collect();
            return super::as_given(operands[0], bind1(self, Attrs::new(), &rows));
        }
        let order: Vec<usize> = (0..rank).filter(|other| *other != axis).chain([axis]).collect();
        let moved: SmallVec<[Tensor; 2]> = operands.iter().map(|operand| operand.permute(&order)).collect();
        let moved: SmallVec<[&Tensor; 4]> = moved.iter().collect();
        let mut back: Vec<usize> = (0..rank - 1).collect();
        back.insert(axis, rank - 1);
        bind1(self, Attrs::new(), &moved).permute(&back)
    }

    fn run_rows<T: Compute>(&self, kernel: RowKernel<T>, operands: &[View<'_>], out: Out<'_>) {
        let numbers: SmallVec<[_; 2]> = operands.iter().map(|operand| numbers::<T>(*operand)).collect();
        let slices: SmallVec<[&[T]; 2]> = numbers.iter().map(|numbers| &**numbers).collect();
        let n = *operands[0].shape.last().expect("the shape rule refused scalars");
        fill(out, |out| kernel(&slices, n, out));
    }
}

impl Primitive for RowMap {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        self.operands
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let first = operands[0];
        expect_float(self.name, first.dtype)?;
        if first.shape.is_empty() {
            let message = "a scalar has no last axis";
            return Err(
                Error::new(ErrorKind::Shape(vec![Shape::default()]), self.name, message).help("reshape it to [1]")
            );
        }
        for other in &operands[1..] {
            expect_same_dtype(self.name, first.dtype, other.dtype)?;
            if first.shape != other.shape {
                let shapes = vec![Shape::from(first.shape), Shape::from(other.shape)];
                let message = format!("shapes {} and {} differ", shapes[0], shapes[1]);
                return Err(Error::new(ErrorKind::Shape(shapes), self.name, message));
            }
        }
        Ok(smallvec![first.to_spec()])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let out = outputs[0].reborrow();
        match out.dtype {
            DType::F64 => self.run_rows(self.f64, operands, out),
            _ => self.run_rows(self.f32, operands, out),
        }
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        (self.saves)(wanted)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let gradient = |position: usize| match rule.wants(position) {
            true => Gradient::Dense((self.pull)(rule, position, &g)),
            false => Gradient::Zero,
        };
        (0..self.operands).map(gradient).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let parts = tangents
            .iter()
            .enumerate()
            .filter_map(|(position, tangent)| tangent.as_ref().map(|tangent| (self.push)(rule, position, tangent)));
        smallvec![parts.reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &aligned.iter().collect::<SmallVec<[&Tensor; 4]>>())])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Blocks(1)
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let streaming = streaming_cost(operands, outputs);
        Cost { flops: self.flops * streaming.flops, ..streaming }
    }

    fn rule_text(&self) -> &'static str {
        self.rule_text
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let reference = self.reference;
        let case = |label: String, operands: Vec<Sample>| {
            Case::new(label, Attrs::new(), operands, move |s| {
                let n = s[0].shape.last().copied().unwrap_or(1);
                let rows = s[0].data.len().checked_div(n).unwrap_or(0);
                let row = |row: usize| {
                    let operands: Vec<&[f64]> = s.iter().map(|sample| &sample.data[row * n..][..n]).collect();
                    reference(&operands)
                };
                vec![Sample::new(s[0].shape.clone(), (0..rows).flat_map(row).collect::<Vec<f64>>())]
            })
        };
        let samples = |shape: &[usize]| -> Vec<Sample> {
            (0..self.operands).map(|position| Sample::wave(shape, 0.3 + 0.4 * position as f64)).collect()
        };
        let shapes: [&[usize]; 6] = [&[3, 4], &[5], &[2, 2, 3], &[1], &[0, 3], &[2, 0]];
        let mut cases: Vec<Case> =
            shapes.iter().map(|shape| case(format!("shape {shape:?}"), samples(shape))).collect();
        for edge in self.edges {
            let row = || Sample::new([edge.len()], edge.to_vec());
            cases.push(case(format!("row {edge:?}"), (0..self.operands).map(|_| row()).collect()).values_only());
        }
        cases
    }
}
