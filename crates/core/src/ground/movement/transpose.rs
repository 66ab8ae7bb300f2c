//! transpose - axes in another order.   y[i] = x[permuted i],   dy likewise.   Its transpose is the inverse permutation. Nothing is
//! copied.

use crate::ground::prelude::*;
use crate::tensor::{AnyAxis, inverse};

impl Tensor {
    /// Axis `i` of the result is axis `permutation[i]` of this tensor; negative axes count from the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3, 4]).permute([2, 0, 1]).shape(), [4, 2, 3]);
    /// assert_eq!(Tensor::zeros([2, 3, 4]).permute([-1, 0, 1]).shape(), [4, 2, 3]);
    /// ```
    #[track_caller]
    pub fn permute<A: AnyAxis>(&self, permutation: impl AsRef<[A]>) -> Tensor {
        let permutation = permutation.as_ref();
        let from_end = |axis: &A| axis.signed() + if axis.signed() < 0 { self.rank() as isize } else { 0 };
        let axes: SmallVec<[usize; 4]> = permutation.iter().map(|axis| from_end(axis) as usize).collect();
        if axes.iter().any(|&axis| axis >= self.rank()) {
            let shape = Shape::from(self.shape());
            let given: Vec<isize> = permutation.iter().map(|axis| axis.signed()).collect();
            let message = format!("{given:?} is not an order of the {} axes of shape {shape}", shape.rank());
            Error::new(ErrorKind::Range, "transpose", message).help("name every axis once").raise();
        }
        bind1(&TRANSPOSE, Attrs::new().with_sizes("permutation", &axes), &[self])
    }

    /// Swaps the last two axes: the transpose of a matrix, or of each matrix of a batch; a vector stays unchanged.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t(), Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn t(&self) -> Tensor {
        let rank = self.rank();
        if rank < 2 {
            return self.clone();
        }
        let mut permutation: Vec<usize> = (0..rank).collect();
        permutation.swap(rank - 2, rank - 1);
        self.permute(&permutation)
    }
}

/// The primitive `transpose`.
pub static TRANSPOSE: LinearOp<Transpose> = LinearOp::NEW;

/// See the module.
pub struct Transpose;

impl Linear for Transpose {
    const NAME: &'static str = "transpose";
    const ATTRIBUTES: &'static [&'static str] = &["permutation"];
    const RULE: &'static str = "dx = dy with the inverse permutation";
    const IS_VIEW: bool = true;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        let permutation = attrs.sizes("permutation");
        let mut sorted = permutation.clone();
        sorted.sizes_mut().sort_unstable();
        if !sorted.iter().copied().eq(0..x.shape.len()) {
            let shape = Shape::from(x.shape);
            let message = format!("{permutation} is not an order of the {} axes of shape {shape}", shape.rank());
            return Err(Error::new(ErrorKind::Range, "transpose", message).help("name every axis from 0 once"));
        }
        let shape = permutation.iter().map(|&axis| x.shape[axis]).collect();
        Ok(Spec { shape, dtype: x.dtype })
    }

    fn view(attrs: &Attrs, x: &Layout, _output: &Spec) -> Option<Layout> {
        Some(x.permuted(&attrs.sizes("permutation")))
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(g.permute(inverse(&rule.attrs.sizes("permutation"))))
    }

    fn batch(_op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        let inner = attrs.sizes("permutation");
        let permutation: Shape = std::iter::once(0).chain(inner.iter().map(|&axis| axis + 1)).collect();
        x.permute(&permutation)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: Shape, permutation: Shape| {
            let attrs = Attrs::new().with_sizes("permutation", permutation.iter());
            Case::new(format!("{shape} by {permutation}"), attrs, [Sample::wave(shape.clone(), 0.2)], move |s| {
                let to: Shape = permutation.iter().map(|&axis| shape[axis]).collect();
                let back = inverse(&permutation);
                let source = |i: &[usize]| back.iter().map(|&axis| i[axis]).collect::<Vec<_>>();
                vec![Sample::build(to, |i| s[0].at(&source(i)))]
            })
        };
        vec![
            case(Shape::from([2, 3]), Shape::from([1, 0])),
            case(Shape::from([2, 3, 4]), Shape::from([2, 0, 1])),
            case(Shape::from([]), Shape::from([])),
            case(Shape::from([0, 3]), Shape::from([1, 0])),
        ]
    }
}
