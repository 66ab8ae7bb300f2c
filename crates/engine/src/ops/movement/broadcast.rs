//! broadcast - repetition along axes of size one and missing leading axes.   y = x repeated,   dy = dx repeated.   Its transpose
//! is the sum over what was repeated. Nothing is copied: repeated axes have stride 0.

use crate::ops::prelude::*;
use crate::tensor;

impl Tensor {
    /// Repeats axes of size one, and adds leading axes, up to `shape`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).broadcast_to([2, 2]), Tensor::from([[1.0, 2.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if shape[..] == *self.shape() {
            return self.clone();
        }
        bind1(&BROADCAST, Attrs::new().with_sizes("shape", shape.iter()), &[self])
    }

    /// The sum over what broadcasting from `shape` repeated: the transpose of [`broadcast_to`](Tensor::broadcast_to).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([3, 2]).sum_to([1, 2]), Tensor::from([[3.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn sum_to(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if tensor::broadcast(&shape, self.shape()).is_none_or(|common| common[..] != *self.shape()) {
            let from = Shape::from(self.shape());
            let message = format!("shape {shape} does not broadcast to {from}, so {from} does not sum to it");
            Error::new(ErrorKind::Shape(vec![from, shape]), "sum_to", message).raise();
        }
        let missing = self.rank() - shape.rank();
        let repeated = |axis: &usize| *axis < missing || shape[axis - missing] != self.shape()[*axis];
        let axes: Vec<isize> = (0..self.rank()).filter(repeated).map(|axis| axis as isize).collect();
        match axes.is_empty() {
            true => self.clone(),
            false => self.sum_axes(&axes).reshape(shape),
        }
    }
}

/// The primitive `broadcast`.
pub static BROADCAST: Broadcast = Broadcast;

/// See the module.
pub struct Broadcast;

impl Primitive for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["shape"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, shape) = (operands[0], attrs.sizes("shape"));
        shape.check("broadcast")?;
        if tensor::broadcast(x.shape, &shape).as_ref() != Some(&shape) {
            let from = Shape::from(x.shape);
            let message = format!("shape {from} does not broadcast to {shape}");
            return Err(Error::new(ErrorKind::Shape(vec![from, shape]), "broadcast", message)
                .help("sizes must agree from the last axis backward, or be 1 in the tensor"));
        }
        Ok(smallvec![Spec { shape, dtype: x.dtype }])
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(smallvec![operands[0].with_layout(|layout| layout.broadcast(&outputs[0].shape))])
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(g.sum_to(rule.shape(0)))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| tangent.broadcast_to(rule.attrs.sizes("shape")))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], _batched: Mask) -> Result<Outputs, Error> {
        let (x, shape) = (&operands[0], attrs.sizes("shape"));
        // The batch stays in front: axes that broadcasting would add on the left go between it and the rest.
        let added = shape.rank() + 1 - x.rank();
        let aligned: Shape =
            std::iter::once(size).chain((0..added).map(|_| 1)).chain(x.shape()[1..].iter().copied()).collect();
        Ok(smallvec![x.reshape(aligned).broadcast_to(shape.prepended(size))])
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
        "dx = sum of dy over repeated axes"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |from: Shape, to: Shape| {
            let label = format!("{from} to {to}");
            let attrs = Attrs::new().with_sizes("shape", to.iter());
            Case::new(label, attrs, [Sample::wave(from.clone(), 0.5)], move |s| {
                let missing = to.rank() - from.rank();
                let source = |i: &[usize]| -> Vec<usize> {
                    i[missing..].iter().zip(from.iter()).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
                };
                vec![Sample::build(to.clone(), |i| s[0].at(&source(i)))]
            })
        };
        vec![
            case(Shape::from([]), Shape::from([2, 3])),
            case(Shape::from([3]), Shape::from([2, 3])),
            case(Shape::from([2, 1]), Shape::from([4, 2, 3])),
            case(Shape::from([1]), Shape::from([0])),
        ]
    }
}
