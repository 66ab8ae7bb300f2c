//! reshape - the same elements in another shape, in row-major order.   y = x,   dy = dx.   Copies only where strides cannot express the
//! result.

use crate::ground::prelude::*;
use crate::tensor::AnyAxis;
use wengert_kernels::map::copy;

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

    /// Inserts an axis of size one at `axis`; negative axes count from the end of the result.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).unsqueeze(1).shape(), [2, 1, 3]);
    /// ```
    #[track_caller]
    pub fn unsqueeze(&self, axis: impl AnyAxis) -> Tensor {
        let (axis, rank) = (axis.signed(), self.rank() as isize);
        if !(-rank - 1..=rank).contains(&axis) {
            let message = format!("axis {axis} is beyond the {rank} axes of shape {}", Shape::from(self.shape()));
            Error::new(ErrorKind::Range, "unsqueeze", message)
                .help(format!("a new axis goes from {} to {rank}", -rank - 1))
                .raise();
        }
        let mut shape = self.shape().to_vec();
        shape.insert(if axis < 0 { axis + rank + 1 } else { axis } as usize, 1);
        self.reshape(shape)
    }
}

/// The primitive `reshape`.
pub static RESHAPE: LinearOp<Reshape> = LinearOp::NEW;

/// See the module.
pub struct Reshape;

impl Linear for Reshape {
    const NAME: &'static str = "reshape";
    const ATTRIBUTES: &'static [&'static str] = &["shape"];
    const RULE: &'static str = "dx = reshape(dy)";
    const NEEDS_SHAPE: bool = true;
    const IS_VIEW: bool = true;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        let (from, shape) = (Shape::from(x.shape), attrs.sizes("shape"));
        shape.check("reshape")?;
        if from.elements() != shape.elements() {
            let message =
                format!("shape {from} of {} elements does not become {shape} of {}", from.elements(), shape.elements());
            return Err(Error::new(ErrorKind::Shape(vec![from, shape]), "reshape", message)
                .help("the product of the sizes must stay the same"));
        }
        Ok(Spec { shape, dtype: x.dtype })
    }

    fn view(_attrs: &Attrs, x: &Layout, output: &Spec) -> Option<Layout> {
        x.reshaped(&output.shape)
    }

    fn run(_attrs: &Attrs, x: View<'_>, out: Out<'_>) -> Result<(), Error> {
        copy(x, out);
        Ok(())
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(g.reshape(rule.shape(0)))
    }

    fn batch(_op: &'static dyn Primitive, attrs: &Attrs, size: usize, x: &Tensor) -> Tensor {
        x.reshape(attrs.sizes("shape").prepended(size))
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
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
