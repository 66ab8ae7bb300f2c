//! scatter_add - addition at chosen places along an axis.   y = x with y[index[i][j]][j] += v[i][j] along axis 0, and likewise along
//! others,   dy likewise.   Repeated places accumulate in order. The transpose of gather; updates in place where it may.

use super::gather::{expect_index, out_of_range};
use crate::error::OrRaise;
use crate::ops::prelude::*;
use crate::ops::reduction::sum::checked_axis;
use wengert_kernels::index::scatter_add;

impl Tensor {
    /// This tensor with `values` added at the places that `index` names along `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::zeros([3]);
    /// let y = x.scatter_add(0, &Tensor::from([2i64, 0, 2]), &Tensor::from([1.0, 5.0, 2.0]));
    /// assert_eq!(y, Tensor::from([5.0, 0.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn scatter_add(&self, axis: isize, index: &Tensor, values: &Tensor) -> Tensor {
        let axis = checked_axis("scatter_add", axis, self.shape()).or_raise();
        bind1(&SCATTER_ADD, Attrs::new().with_int("axis", axis as i64), &[self, index, values])
    }
}

/// The primitive `scatter_add`.
pub static SCATTER_ADD: ScatterAdd = ScatterAdd;

/// See the module.
pub struct ScatterAdd;

impl Primitive for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter_add"
    }

    fn operands(&self) -> usize {
        3
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, index, values) = (operands[0], operands[1], operands[2]);
        expect_index("scatter_add", attrs, x.shape, index)?;
        expect_same_dtype("scatter_add", x.dtype, values.dtype)?;
        expect_arithmetic("scatter_add", x.dtype)?;
        if index.shape != values.shape {
            let shapes = vec![Shape::from(index.shape), Shape::from(values.shape)];
            let message = format!("the index has shape {}, the values {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "scatter_add", message));
        }
        Ok(smallvec![x.to_spec()])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        // The kernel adds in the dtype it computes in; narrower ones are widened around it.
        let wide = Spec { dtype: outputs[0].dtype.compute(), ..outputs[0].clone() };
        let (axis, index, values) = (attrs.axis("axis"), operands[1].value.view(), operands[2].value.view());
        let (y, result) = Tensor::build(&wide, |out| {
            let (dtype, bytes) = (out.dtype, out.bytes);
            wengert_kernels::map::copy(operands[0].value.view(), wengert_kernels::view::Out { dtype, bytes });
            match dtype {
                DType::F64 => scatter_add::<f64>(bytemuck::cast_slice_mut(bytes), &wide.shape, axis, index, values),
                DType::F32 => scatter_add::<f32>(bytemuck::cast_slice_mut(bytes), &wide.shape, axis, index, values),
                _ => scatter_add::<i64>(bytemuck::cast_slice_mut(bytes), &wide.shape, axis, index, values),
            }
        });
        result.map_err(|wrong| out_of_range("scatter_add", axis, wrong))?;
        Ok(smallvec![y.cast(outputs[0].dtype)])
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        let (axis, index, values) = (attrs.axis("axis"), rest[0].value.view(), rest[1].value.view());
        let spec = target.spec();
        let bytes = target.unique_bytes().expect("the driver found it unique");
        let result = match spec.dtype {
            DType::F64 => scatter_add::<f64>(bytemuck::cast_slice_mut(bytes), &spec.shape, axis, index, values),
            DType::F32 => scatter_add::<f32>(bytemuck::cast_slice_mut(bytes), &spec.shape, axis, index, values),
            _ => return Ok(false),
        };
        result.map(|()| true).map_err(|wrong| out_of_range("scatter_add", axis, wrong))
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let index = if wanted.has(2) { Saves::NOTHING.operand(1) } else { Saves::NOTHING };
        // Only a tangent of the values alone needs the shape of the whole.
        if wanted.has(0) { index } else { index.shape(0) }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let values = match rule.wants(2) {
            true => Gradient::Dense(g.gather(rule.attrs.int("axis") as isize, rule.operand(1))),
            false => Gradient::Zero,
        };
        smallvec![if rule.wants(0) { Gradient::Dense(g) } else { Gradient::Zero }, Gradient::Zero, values]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![match (&tangents[0], &tangents[2]) {
            (x, None) => x.clone(),
            (None, Some(values)) => {
                let zeros = Tensor::constant(0.0, rule.spec(0));
                Some(bind1(self, rule.attrs.clone(), &[&zeros, rule.operand(1), values]))
            }
            (Some(x), Some(values)) => Some(bind1(self, rule.attrs.clone(), &[x, rule.operand(1), values])),
        }]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let attrs = Attrs::new().with_int("axis", attrs.int("axis") + 1);
        Ok(smallvec![bind1(self, attrs, &[&aligned[0], &aligned[1], &aligned[2]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Dense
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy, dv = dy[index]"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape, axis: usize, index: Sample| {
            let attrs = Attrs::new().with_int("axis", axis as i64);
            let values = Sample::wave(index.shape.clone(), 0.45);
            let operands = [Sample::wave(shape.clone(), 0.15), index, values];
            Case::new(format!("{shape} along {axis}"), attrs, operands, move |s| {
                let mut y = s[0].clone();
                for i in Sample::indices(&s[1].shape) {
                    let mut place = i.clone();
                    place[axis] = s[1].at(&i) as usize;
                    let place = y.position(&place);
                    y.data[place] += s[2].at(&i);
                }
                vec![y]
            })
        };
        vec![
            case(Shape::from([3, 2]), 0, Sample::integers([4, 2], [2, 0, 0, 1, 2, 2, 2, 0])),
            case(Shape::from([2, 4]), 1, Sample::integers([2, 1], [3, 0])),
            case(Shape::from([5]), 0, Sample::integers([0], [])),
        ]
    }
}
