//! slice_add - addition to a part.   y = x with y[part] += v,   dy likewise.   The transpose of slice; updates in place where it may.

use super::super::elementwise_rule::align_batch;
use super::slice::{SLICE, batched_part, inside, part_shape, sample_parts};
use crate::bind::bind1;
use crate::primitive::{
    Adjoints, Attrs, Case, Dependency, Device, Gradient, Gradients, Jet, Mask, Outputs, Primitive, Rule, Sample, Saves,
    Spec, SpecRef, Specs, expect_arithmetic, expect_same_dtype,
};
use crate::tensor::Layout;
use crate::{Error, ErrorKind, Shape, Tensor};
use smallvec::smallvec;

/// The primitive `slice_add`.
pub static SLICE_ADD: SliceAdd = SliceAdd;

/// See the module.
pub struct SliceAdd;

impl Primitive for SliceAdd {
    fn name(&self) -> &'static str {
        "slice_add"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["start", "stop", "step"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, part) = (operands[0], operands[1]);
        expect_same_dtype("slice_add", x.dtype, part.dtype)?;
        expect_arithmetic("slice_add", x.dtype)?;
        let expected = part_shape("slice_add", attrs, x.shape)?;
        if expected[..] != *part.shape {
            let shapes = vec![expected, Shape::from(part.shape)];
            let message = format!("the part has shape {}, the values {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "slice_add", message));
        }
        Ok(smallvec![x.to_spec()])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let (mut y, ()) = Tensor::build(&outputs[0], |out| wengert_kernels::map::copy(operands[0].value.view(), out));
        if outputs[0].shape.elements() == 1 {
            let whole = operands[1].elements() == 1;
            let sum = || operands[0] + operands[1].reshape(operands[0].shape());
            return Ok(smallvec![if whole { sum() } else { y }]);
        }
        self.eval_in_place(attrs, &mut y, &operands[1..])?;
        Ok(smallvec![y])
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        let (start, step) = (attrs.ints("start"), attrs.ints("step"));
        let part = |layout: &Layout| layout.sliced(start, step, Shape::from(rest[0].shape()));
        target.update_part(part, rest[0], true);
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        // Only a tangent of the part alone needs the shape of the whole.
        if wanted.has(0) { Saves::NOTHING } else { Saves::NOTHING.shape(0) }
    }

    fn vjp(&'static self, rule: &Rule<'_>, mut cotangents: Adjoints) -> Gradients {
        let Some(g) = cotangents.pop().flatten() else { return Gradients::new() };
        let part = match rule.wants(1) {
            true => Gradient::Dense(bind1(&SLICE, rule.attrs.clone(), &[&g])),
            false => Gradient::Zero,
        };
        smallvec![if rule.wants(0) { Gradient::Dense(g) } else { Gradient::Zero }, part]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![match tangents {
            [x, None] => x.clone(),
            [None, Some(part)] => {
                let zeros = Tensor::constant(0.0, rule.spec(0));
                Some(bind1(self, rule.attrs.clone(), &[&zeros, part]))
            }
            [Some(x), Some(part)] => Some(bind1(self, rule.attrs.clone(), &[x, part])),
            _ => unreachable!("two operands"),
        }]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, batched_part(attrs, size), &[&aligned[0], &aligned[1]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Dense
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy, dv = dy[part]"
    }

    fn cases(&self) -> Vec<Case> {
        sample_parts()
            .into_iter()
            .map(|(shape, attrs)| {
                let (start, step) = (attrs.ints("start").to_vec(), attrs.ints("step").to_vec());
                let part = part_shape("slice_add", &attrs, &shape).expect("the sample parts fit");
                let operands = [Sample::wave(shape.clone(), 0.9), Sample::wave(part.clone(), 0.1)];
                Case::new(format!("{attrs} of {shape}"), attrs, operands, move |s| {
                    let mut y = s[0].clone();
                    for i in Sample::indices(&part) {
                        let place = y.position(&inside(&i, &start, &step));
                        y.data[place] += s[1].at(&i);
                    }
                    vec![y]
                })
            })
            .collect()
    }
}
