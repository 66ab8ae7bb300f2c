//! transpose - axes in another order.   y[i] = x[permuted i],   dy likewise.   Its transpose is the inverse permutation. Nothing is
//! copied.

use crate::bind::bind1;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Device, Gradient, Gradients, Jet, Mask, Outputs, Primitive, Rule, Sample,
    Spec, SpecRef, Specs,
};
use crate::{Error, ErrorKind, Shape, Tensor};
use smallvec::smallvec;

impl Tensor {
    /// Axis `i` of the result is axis `permutation[i]` of this tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3, 4]).permute(&[2, 0, 1]).shape(), [4, 2, 3]);
    /// ```
    #[track_caller]
    pub fn permute(&self, permutation: &[usize]) -> Tensor {
        bind1(&TRANSPOSE, Attrs::new().with_sizes("permutation", permutation), &[self])
    }

    /// The last two axes exchanged: the transpose of a matrix, or of each matrix of a batch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t(), Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn t(&self) -> Tensor {
        let rank = self.rank();
        if rank < 2 {
            let shape = Shape::from(self.shape());
            Error::new(ErrorKind::Shape(vec![shape.clone()]), "transpose", format!("shape {shape} has no two axes"))
                .help("reshape a vector to one row or one column first")
                .raise();
        }
        let mut permutation: Vec<usize> = (0..rank).collect();
        permutation.swap(rank - 2, rank - 1);
        self.permute(&permutation)
    }
}

/// The primitive `transpose`.
pub static TRANSPOSE: Transpose = Transpose;

/// See the module.
pub struct Transpose;

fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (to, &from) in permutation.iter().enumerate() {
        inverse[from] = to;
    }
    inverse
}

impl Primitive for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["permutation"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, permutation) = (operands[0], attrs.sizes("permutation"));
        let mut sorted = permutation.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..x.shape.len()) {
            let shape = Shape::from(x.shape);
            let message = format!("{permutation} is not an order of the {} axes of shape {shape}", shape.rank());
            return Err(Error::new(ErrorKind::Range, "transpose", message).help("name every axis from 0 once"));
        }
        let shape = permutation.iter().map(|&axis| x.shape[axis]).collect();
        Ok(smallvec![Spec { shape, dtype: x.dtype }])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let permutation = attrs.sizes("permutation");
        Ok(smallvec![operands[0].with_layout(|layout| layout.permuted(&permutation))])
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(g.permute(&inverse(&rule.attrs.sizes("permutation"))))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| tangent.permute(&rule.attrs.sizes("permutation")))]
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        let permutation: Shape =
            std::iter::once(0).chain(attrs.sizes("permutation").iter().map(|&axis| axis + 1)).collect();
        Ok(smallvec![operands[0].permute(&permutation)])
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
        "dx = dy with the inverse permutation"
    }

    fn cases(&self) -> Vec<Case> {
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
