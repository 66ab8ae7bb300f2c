//! slice_add - addition to a part.   y = x with y[part] += v,   dy likewise.   The transpose of slice; updates in place where it may.
//!
//! slice_assign - replacement of a part.   y = x with y[part] = v,   dy likewise.   What is overwritten gets gradient 0. Written
//! `x.slice_mut(..).assign(v)`.

use super::slice::{SLICE, batched_part, inside, part_shape, sample_parts};
use crate::ops::prelude::*;
use crate::tensor::Layout;
use wengert_kernels::map::copy;

/// The primitive `slice_add`.
pub static SLICE_ADD: SliceUpdate = SliceUpdate { name: "slice_add", adds: true };

/// The primitive `slice_assign`.
pub static SLICE_ASSIGN: SliceUpdate = SliceUpdate { name: "slice_assign", adds: false };

/// See the module.
pub struct SliceUpdate {
    name: &'static str,
    /// Whether the values are added to the part or replace it.
    adds: bool,
}

/// Zeros of the shape of the part of `x`.
fn zero_part(rule: &Rule<'_>, x: &Tensor) -> Tensor {
    let shape = part_shape(rule.name, rule.attrs, x.shape()).expect("checked by the call");
    Tensor::constant(0.0, &Spec { shape, dtype: x.dtype() })
}

impl Primitive for SliceUpdate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["start", "stop", "step"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, part) = (operands[0], operands[1]);
        expect_same_dtype(self.name, x.dtype, part.dtype)?;
        if self.adds {
            expect_arithmetic(self.name, x.dtype)?;
        }
        let expected = part_shape(self.name, attrs, x.shape)?;
        if expected[..] != *part.shape {
            let shapes = vec![expected, Shape::from(part.shape)];
            let message = format!("the part has shape {}, the values {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), self.name, message));
        }
        Ok(smallvec![x.to_spec()])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let (x, values) = (operands[0], operands[1]);
        if outputs[0].shape.elements() == 1 {
            let whole = || values.plain().reshape(x.shape());
            return Ok(smallvec![match (values.elements(), self.adds) {
                (0, _) => x.plain(),
                (_, true) => x.plain() + whole(),
                (_, false) => whole(),
            }]);
        }
        let (mut y, ()) = Tensor::build(&outputs[0], |out| copy(x.value.view(), out));
        self.eval_in_place(attrs, &mut y, &[values])?;
        Ok(smallvec![y])
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        let (start, step) = (attrs.ints("start"), attrs.ints("step"));
        let part = |layout: &Layout| layout.sliced(start, step, Shape::from(rest[0].shape()));
        target.update_part(part, rest[0], self.adds);
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        // Only a tangent of the part alone needs the shape of the whole.
        if wanted.has(0) { Saves::NOTHING } else { Saves::NOTHING.shape(0) }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let part = match rule.wants(1) {
            true => Gradient::Dense(bind1(&SLICE, rule.attrs.clone(), &[&g])),
            false => Gradient::Zero,
        };
        let whole = match (rule.wants(0), self.adds) {
            (false, _) => Gradient::Zero,
            (true, true) => Gradient::Dense(g),
            (true, false) => Gradient::Dense(bind1(self, rule.attrs.clone(), &[&g, &zero_part(rule, &g)])),
        };
        smallvec![whole, part]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let whole = match &tangents[0] {
            Some(x) => x.clone(),
            None => Tensor::constant(0.0, rule.spec(0)),
        };
        let part = tangents[1].clone().unwrap_or_else(|| zero_part(rule, &whole));
        smallvec![Some(bind1(self, rule.attrs.clone(), &[&whole, &part]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, batched_part(attrs, size), &[&aligned[0], &aligned[1]])])
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        match self.adds {
            true => "dx = dy, dv = dy[part]",
            false => "dx = dy with dx[part] = 0, dv = dy[part]",
        }
    }

    fn cases(&self) -> Vec<Case> {
        let adds = self.adds;
        let case = |(shape, attrs): (Shape, Attrs)| {
            let (start, step) = (attrs.ints("start").to_vec(), attrs.ints("step").to_vec());
            let part = part_shape(self.name, &attrs, &shape).expect("the sample parts fit");
            let operands = [Sample::wave(shape.clone(), 0.9), Sample::wave(part.clone(), 0.1)];
            Case::new(format!("{attrs} of {shape}"), attrs, operands, move |s| {
                let mut y = s[0].clone();
                for i in Sample::indices(&part) {
                    let place = y.position(&inside(&i, &start, &step));
                    y.data[place] = if adds { y.data[place] } else { 0.0 } + s[1].at(&i);
                }
                vec![y]
            })
        };
        sample_parts().into_iter().map(case).collect()
    }
}
