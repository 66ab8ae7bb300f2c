//! sum - sum over axes.   y = sum of x over the axes,   dy likewise.   Its transpose is a broadcast. An empty sum is 0.
//!
//! Half-precision sums accumulate in f32 or wider, f32 sums pairwise or wider; the order is fixed and does not depend on the number of
//! threads.

use crate::error::OrRaise;
use crate::ground::prelude::*;
use crate::primitive::streaming_cost;

use crate::rules::{batched_axes, keep_axes, reduced_shape};
use wengert_kernels::reduce;
use wengert_kernels::tiled::Fold;

impl Tensor {
    /// The sum of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).sum().item(), 10.0);
    /// ```
    #[track_caller]
    pub fn sum(&self /* of some axes: sum_over(axes) */) -> Tensor {
        let axes: Vec<usize> = (0..self.rank()).collect();
        bind1(&SUM, Attrs::new().with_sizes("axes", &axes), &[self])
    }

    /// The sum over one or several axes; see [`Over`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).sum_over(0), Tensor::from([4.0, 6.0]));
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).sum_over(keepdim(-1)), Tensor::from([[3.0], [7.0]]));
    /// ```
    #[track_caller]
    pub fn sum_over(&self, axes: impl Into<Over>) -> Tensor {
        let over = axes.into();
        let axes = over.checked("sum", self.shape()).or_raise();
        over.kept(bind1(&SUM, Attrs::new().with_sizes("axes", &axes), &[self]), &axes, self.shape())
    }
}

/// The primitive `sum`.
pub static SUM: Sum = Sum;

/// See the module.
pub struct Sum;

fn reduced(attrs: &Attrs, rank: usize) -> SmallVec<[bool; 8]> {
    let axes = attrs.sizes("axes");
    (0..rank).map(|axis| axes.contains(&axis)).collect()
}

impl Primitive for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axes"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let x = operands[0];
        let shape = reduced_shape("sum", attrs, x.shape)?;
        expect_arithmetic("sum", x.dtype)?;
        Ok(smallvec![Spec { shape, dtype: x.dtype }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let x = operands[0];
        reduce::sum(x, &reduced(attrs, x.shape.len()), outputs[0].reborrow());
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let kept = keep_axes(g, &rule.attrs.sizes("axes"), rule.shape(0));
        smallvec![Gradient::Dense(kept.broadcast_to(rule.shape(0)))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent]))]
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, batched_axes(attrs), &[&operands[0]])])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let elements: usize = operands[0].shape.iter().product();
        Cost { flops: elements as f64, ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Reduction
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy repeated along the axes"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape, axes: Shape| {
            let attrs = Attrs::new().with_sizes("axes", axes.iter());
            Case::new(format!("{shape} over {axes}"), attrs, [Sample::wave(shape.clone(), 0.8)], move |s| {
                let dropped: Vec<bool> = (0..shape.rank()).map(|axis| axes.contains(&axis)).collect();
                let to = shape.without(&dropped);
                let mut y = Sample::build(to, |_| 0.0);
                for i in Sample::indices(&shape) {
                    let kept: Vec<usize> = (0..i.len()).filter(|&axis| !dropped[axis]).map(|axis| i[axis]).collect();
                    let place = y.position(&kept);
                    y.data[place] += s[0].at(&i);
                }
                vec![y]
            })
        };
        vec![
            case(Shape::from([2, 3]), Shape::from([0])),
            case(Shape::from([2, 3]), Shape::from([1])),
            case(Shape::from([2, 3, 2]), Shape::from([0, 2])),
            case(Shape::from([3]), Shape::from([0])),
            case(Shape::from([2, 3]), Shape::from([])),
            case(Shape::from([]), Shape::from([])),
            case(Shape::from([0, 3]), Shape::from([0])),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Sum {
    fn fold(&self) -> Option<Fold> {
        Some(Fold::Sum)
    }
}
