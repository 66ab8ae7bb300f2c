//! reshape - another shape of as many elements, in row-major order.   y = x,   dy = dx.   Copies only where strides cannot
//! express the result.

use crate::ops::prelude::*;
use crate::tensor::Layout;

impl Tensor {
    /// The same elements in another shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0, 4.0]).reshape([2, 2]), Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if shape[..] == *self.shape() {
            return self.clone();
        }
        bind1(&RESHAPE, Attrs::new().with_sizes("shape", shape.iter()), &[self])
    }

    /// With an axis of size one at `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).unsqueeze(1).shape(), [2, 1, 3]);
    /// ```
    #[track_caller]
    pub fn unsqueeze(&self, axis: usize) -> Tensor {
        if axis > self.rank() {
            let message =
                format!("axis {axis} is beyond the {} axes of shape {}", self.rank(), Shape::from(self.shape()));
            Error::new(ErrorKind::Range, "unsqueeze", message).raise();
        }
        let mut shape = self.shape().to_vec();
        shape.insert(axis, 1);
        self.reshape(shape)
    }
}

/// The primitive `reshape`.
pub static RESHAPE: Reshape = Reshape;

/// See the module.
pub struct Reshape;

impl Primitive for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["shape"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (from, shape) = (Shape::from(operands[0].shape), attrs.sizes("shape"));
        shape.check("reshape")?;
        if from.elements() != shape.elements() {
            let message =
                format!("shape {from} of {} elements does not become {shape} of {}", from.elements(), shape.elements());
            return Err(Error::new(ErrorKind::Shape(vec![from, shape]), "reshape", message)
                .help("the product of the sizes must stay the same"));
        }
        Ok(smallvec![Spec { shape, dtype: operands[0].dtype }])
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let shape = &outputs[0].shape;
        let reshaped = |layout: &Layout| layout.reshaped(shape);
        let source = match operands[0].is_contiguous() || operands[0].layout_allows(reshaped) {
            true => operands[0].clone(),
            false => operands[0].contiguous(),
        };
        let reshape = |layout: &Layout| layout.reshaped(shape).expect("contiguous tensors take any shape");
        Ok(smallvec![source.with_layout(reshape)])
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(g.reshape(rule.shape(0)))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| tangent.reshape(rule.attrs.sizes("shape")))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], _batched: Mask) -> Result<Outputs, Error> {
        Ok(smallvec![operands[0].reshape(attrs.sizes("shape").prepended(size))])
    }

    fn cost(&self, _attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        Cost::default()
    }

    fn dependency(&self) -> Dependency {
        Dependency::Movement
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = reshape(dy)"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |from: Shape, to: Shape| {
            let attrs = Attrs::new().with_sizes("shape", to.iter());
            Case::new(format!("{from} to {to}"), attrs, [Sample::wave(from, 0.6)], move |s| {
                vec![Sample::new(to.clone(), s[0].data.clone())]
            })
        };
        vec![
            case(Shape::from([2, 6]), Shape::from([3, 4])),
            case(Shape::from([]), Shape::from([1, 1])),
            case(Shape::from([0, 3]), Shape::from([5, 0])),
        ]
    }
}
