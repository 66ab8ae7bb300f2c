//! A function over a batch: the function itself under a batch level, which is opened anew for every pass.

use super::{Function, Residual};
use crate::interp::{Content, Level, OpenLevel, Tracer, batch};
use crate::location::{self, Line};
use crate::primitive::{Mask, Out, Spec, SpecRef, Specs};
use crate::{Shape, Tensor};
use std::sync::Arc;

/// `function` of operands that carry a batch of `size` along axis 0 where `batched` says so; all of its outputs carry it.
pub struct Batched {
    pub function: Arc<dyn Function>,
    pub size: usize,
    pub batched: Mask,
}

/// One pass under its own level.
struct Pass {
    level: OpenLevel,
    size: usize,
    line: Line,
}

impl Pass {
    fn lift(&self, values: &Tensor) -> Tensor {
        batch::lift(&self.level.0, values, self.line)
    }

    fn lower(&self, tensor: Tensor) -> Tensor {
        match Tracer::at(&tensor, &self.level.0) {
            Some(Content::Batch { values }) => values.clone(),
            _ => tensor.broadcast_to(Shape::from(tensor.shape()).prepended(self.size)),
        }
    }

    fn lower_all(&self, tensors: Vec<Tensor>) -> Vec<Tensor> {
        tensors.into_iter().map(|tensor| self.lower(tensor)).collect()
    }

    fn lift_residual(&self, residual: &Residual) -> Residual {
        let tensors = residual.tensors.iter().map(|tensor| self.lift(tensor)).collect();
        Residual { tensors, form: residual.form.clone() }
    }
}

impl Batched {
    fn pass(&self) -> Pass {
        let line = location::resolve(Line::caller());
        let level = Level::open("vmap", batch::Batch { size: self.size }, line);
        Pass { level, size: self.size, line }
    }

    /// Operands, or their tangents, on the level of a pass.
    fn lift_operand(&self, pass: &Pass, position: usize, operand: &Tensor) -> Tensor {
        if self.batched.has(position) { pass.lift(operand) } else { operand.clone() }
    }

    fn lift_operands(&self, pass: &Pass, x: &[Tensor]) -> Vec<Tensor> {
        x.iter().enumerate().map(|(position, operand)| self.lift_operand(pass, position, operand)).collect()
    }

    /// Calls the function once for every element.
    fn call_each(&self, x: &[Tensor]) -> Vec<Tensor> {
        let specs: Vec<SpecRef<'_>> = x.iter().map(|operand| operand.value.spec_ref()).collect();
        let outputs = self.infer(&specs);
        if self.size == 0 {
            return outputs.iter().map(|output| Tensor::constant(0.0, output)).collect();
        }
        let mut rows: Vec<Vec<Tensor>> = vec![Vec::with_capacity(self.size); outputs.len()];
        for element in 0..self.size {
            let operand = |(position, operand): (usize, &Tensor)| match self.batched.has(position) {
                true => operand.with_layout(|layout| layout.at(element)),
                false => operand.clone(),
            };
            let operands: Vec<Tensor> = x.iter().enumerate().map(operand).collect();
            for (row, output) in rows.iter_mut().zip(self.function.call(&operands)) {
                row.push(output);
            }
        }
        rows.iter().zip(&outputs).map(|(rows, spec)| stacked(rows, spec)).collect()
    }
}

/// Stacks the rows.
fn stacked(rows: &[Tensor], spec: &Spec) -> Tensor {
    let fill = |out: Out<'_>| {
        for (row, bytes) in rows.iter().zip(out.bytes.chunks_mut((spec.bytes() / rows.len()).max(1))) {
            wengert_kernels::copy(row.value.view(), Out { dtype: spec.dtype, bytes });
        }
    };
    Tensor::build(spec, fill).0
}

impl Function for Batched {
    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        let element = |(position, operand): (usize, &SpecRef<'_>)| {
            let skipped = usize::from(self.batched.has(position));
            Spec::new(&operand.shape[skipped..], operand.dtype)
        };
        let elements: Vec<Spec> = operands.iter().enumerate().map(element).collect();
        let elements: Vec<SpecRef<'_>> = elements.iter().map(Spec::as_ref).collect();
        let outputs = self.function.infer(&elements).into_iter();
        outputs.map(|output| Spec { shape: output.shape.prepended(self.size), ..output }).collect()
    }

    fn reads_numbers(&self) -> bool {
        self.function.reads_numbers()
    }

    fn effect(&self) -> bool {
        self.function.effect()
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        if self.reads_numbers() {
            return self.call_each(x);
        }
        let pass = self.pass();
        pass.lower_all(self.function.call(&self.lift_operands(&pass, x)))
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let pass = self.pass();
        let (y, residual) = self.function.forward(&self.lift_operands(&pass, x));
        (pass.lower_all(y), Residual { tensors: pass.lower_all(residual.tensors), form: residual.form })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>> {
        let pass = self.pass();
        let cotangents: Vec<Option<Tensor>> =
            cotangents.iter().map(|cotangent| cotangent.as_ref().map(|cotangent| pass.lift(cotangent))).collect();
        let pulled = self.function.pull(&pass.lift_residual(residual), &cotangents, wanted);
        // An operand shared by all elements receives the sum over them.
        let lower = |(position, gradient): (usize, Option<Tensor>)| {
            let whole = pass.lower(gradient?);
            Some(if self.batched.has(position) { whole } else { whole.sum_over(0) })
        };
        pulled.into_iter().enumerate().map(lower).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let pass = self.pass();
        let lift = |(position, tangent): (usize, &Option<Tensor>)| {
            tangent.as_ref().map(|tangent| self.lift_operand(&pass, position, tangent))
        };
        let tangents: Vec<Option<Tensor>> = tangents.iter().enumerate().map(lift).collect();
        let pushed = self.function.push(&pass.lift_residual(residual), &tangents);
        pushed.into_iter().map(|tangent| tangent.map(|tangent| pass.lower(tangent))).collect()
    }
}
