//! max - largest element along an axis, with its position.   y = x[k], k = argmax x,   dy = dx[k].   The whole gradient goes to the
//! position that is returned: the first among equals; a NaN wins. The maximum of nothing is an error.

use super::sum::checked_axis;
use crate::error::OrRaise;
use crate::ops::indexing::scatter_add::SCATTER_ADD;
use crate::ops::prelude::*;
use wengert_kernels::reduce;

impl Tensor {
    /// The largest elements along an axis, which disappears, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).max_along(-1);
    /// assert_eq!(values, Tensor::from([5.0, 7.0]));
    /// assert_eq!(positions, Tensor::from([1i64, 0]));
    /// ```
    #[track_caller]
    pub fn max_along(&self, axis: isize) -> (Tensor, Tensor) {
        let axis = checked_axis("max", axis, self.shape()).or_raise();
        let mut outputs = bind(&MAX, Attrs::new().with_int("axis", axis as i64), &[self]).into_iter();
        let (values, positions) = (outputs.next(), outputs.next());
        (values.expect("two outputs"), positions.expect("two outputs"))
    }
}

/// The primitive `max`.
pub static MAX: Max = Max;

/// See the module.
pub struct Max;

impl Primitive for Max {
    fn name(&self) -> &'static str {
        "max"
    }

    fn operands(&self) -> usize {
        1
    }

    fn outputs(&self, _attrs: &Attrs) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let x = operands[0];
        let axis = checked_axis("max", attrs.axis("axis") as isize, x.shape)?;
        if x.shape[axis] == 0 {
            let shape = Shape::from(x.shape);
            let message = format!("axis {axis} of shape {shape} is empty, so it has no maximum");
            return Err(Error::new(ErrorKind::Shape(vec![shape]), "max", message));
        }
        let dropped: Vec<bool> = (0..x.shape.len()).map(|other| other == axis).collect();
        let shape = Shape::from(x.shape).without(&dropped);
        Ok(smallvec![Spec { shape: shape.clone(), dtype: x.dtype }, Spec { shape, dtype: DType::I64 }])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let mut positions = vec![0i64; outputs[1].shape.elements()];
        let (x, axis) = (operands[0].value.view(), attrs.axis("axis"));
        let (values, ()) = Tensor::build(&outputs[0], |out| reduce::max(x, axis, out, &mut positions));
        Ok(smallvec![values, Tensor::from_vec(positions, outputs[1].shape.clone())])
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0).output(1)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let axis = rule.attrs.axis("axis");
        smallvec![Gradient::Patch(Box::new(Patch {
            op: &SCATTER_ADD,
            attrs: rule.attrs.clone(),
            values: smallvec![rule.output(1).unsqueeze(axis), g.unsqueeze(axis)],
            spec: rule.spec(0).clone(),
        }))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let (axis, positions) = (rule.attrs.axis("axis"), rule.output(1));
        let taken =
            |tangent: &Tensor| tangent.gather(axis as isize, &positions.unsqueeze(axis)).reshape(positions.shape());
        smallvec![tangents[0].as_ref().map(taken), None]
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(bind(self, Attrs::new().with_int("axis", attrs.int("axis") + 1), &[&operands[0]]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Reduction
    }

    fn rule_text(&self) -> &'static str {
        "dx[k] += dy at the position k of the maximum"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape, axis: usize, x: Option<Vec<f64>>| {
            let x = x.map_or_else(|| Sample::wave(shape.clone(), 0.35), |data| Sample::new(shape.clone(), data));
            let attrs = Attrs::new().with_int("axis", axis as i64);
            Case::new(format!("{shape} along {axis}"), attrs, [x], move |s| {
                let dropped: Vec<bool> = (0..shape.rank()).map(|other| other == axis).collect();
                let to = shape.without(&dropped);
                let best = |i: &[usize]| {
                    let at = |k: usize| s[0].at(&[&i[..axis], &[k], &i[axis..]].concat());
                    (0..shape[axis]).fold(0, |best, k| if at(k) > at(best) { k } else { best })
                };
                let value = |i: &[usize]| s[0].at(&[&i[..axis], &[best(i)], &i[axis..]].concat());
                let positions = Sample::build(to.clone(), |i| best(i) as f64).of(DType::I64);
                vec![Sample::build(to, value), positions]
            })
        };
        vec![
            case(Shape::from([3, 4]), 0, None),
            case(Shape::from([3, 4]), 1, None),
            case(Shape::from([5]), 0, None),
            case(Shape::from([0, 2]), 1, None),
            case(Shape::from([4]), 0, Some(vec![1.0, 3.0, 3.0, 2.0])).values_only(),
        ]
    }
}
