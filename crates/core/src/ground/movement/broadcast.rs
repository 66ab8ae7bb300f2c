//! broadcast - repetition along axes of size one and missing leading axes.   y = x repeated,   dy = dx repeated.   Its transpose is the sum
//! over the repeated axes. Nothing is copied: repeated axes have stride 0.

use crate::ground::prelude::*;
use crate::tensor;

impl Tensor {
    /// Repeats axes of size one and adds leading axes, up to `shape`.
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

    /// The sum over the axes that broadcasting from `shape` repeats: the transpose of [`broadcast_to`](Tensor::broadcast_to).
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
            false => self.sum_over(&axes).reshape(shape),
        }
    }
}

/// The primitive `broadcast`.
pub static BROADCAST: LinearOp<Broadcast> = LinearOp::NEW;

/// See the module.
pub struct Broadcast;

impl Linear for Broadcast {
    const NAME: &'static str = "broadcast";
    const ATTRIBUTES: &'static [&'static str] = &["shape"];
    const RULE: &'static str = "dx = sum of dy over repeated axes";
    const NEEDS_SHAPE: bool = true;
    const IS_VIEW: bool = true;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        let shape = attrs.sizes("shape");
        shape.check("broadcast")?;
        if tensor::broadcast(x.shape, &shape).as_ref() != Some(&shape) {
            let from = Shape::from(x.shape);
            let message = format!("shape {from} does not broadcast to {shape}");
            return Err(Error::new(ErrorKind::Shape(vec![from, shape]), "broadcast", message)
                .help("sizes must agree from the last axis backward, or be 1 in the tensor"));
        }
        Ok(Spec { shape, dtype: x.dtype })
    }

    fn view(_attrs: &Attrs, x: &Layout, output: &Spec) -> Option<Layout> {
        Some(x.broadcast(&output.shape))
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(g.sum_to(rule.shape(0)))
    }

    fn batch(_op: &'static dyn Primitive, attrs: &Attrs, size: usize, x: &Tensor) -> Tensor {
        let shape = attrs.sizes("shape");
        // The batch stays in front: axes that broadcasting adds on the left go between it and the rest.
        let added = shape.rank() + 1 - x.rank();
        let aligned: Shape =
            std::iter::once(size).chain((0..added).map(|_| 1)).chain(x.shape()[1..].iter().copied()).collect();
        x.reshape(aligned).broadcast_to(shape.prepended(size))
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
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
