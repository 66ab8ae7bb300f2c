//! The rule shape *reduction*: every output is a function of the elements along some axes, which are removed.
//!
//! An operation states how to compute its value and its slope, dy/dx element by element. Then dy = sum of slope dx over the axes, and
//! dx = slope dy. The axes are an attribute, ascending; keeping them as axes of size one is a reshape.

use super::{batched_axes, keep_axes, kept_shape, reduced_shape};
use crate::bind::bind1;
use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Gradient, Gradients, Layout, Lower, Mask, Out, Outputs, Primitive, Rule,
    Sample, Saves, Spec, SpecRef, Specs, View, expect_float, expect_reals, streaming_cost,
};
use crate::{DType, Error, ErrorKind, Over, Shape, Tensor, keepdim};
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use wengert_kernels::tiled::Fold;

/// The definition of a reduction; [`ReductionOp`] turns it into a primitive.
pub trait Reduction: Send + Sync + 'static {
    const NAME: &'static str;
    /// `axes` comes first, followed by real numbers.
    const ATTRIBUTES: &'static [&'static str] = &["axes"];
    /// The derivative in a few words.
    const RULE: &'static str = "no gradient";
    const DIFFERENTIABLE: bool = true;
    /// Whether the slope is computed from the output as well.
    const READS_OUTPUT: bool = false;
    /// Arithmetic operations for each element of the operand.
    const FLOPS: f64 = 1.0;
    /// Whether reducing no elements is an error.
    const NEEDS_ELEMENTS: bool = false;

    /// The reduction in a fused loop, if possible.
    const FOLD: Option<Fold> = None;

    /// The dtype of the result, or an error if the dtype is not supported.
    fn dtype(x: DType) -> Result<DType, Error> {
        expect_float(Self::NAME, x).map(|()| x)
    }

    fn run(attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>);

    /// dy/dx for every element of the operand.
    fn slope(_call: &Reduced<'_>) -> Tensor {
        unreachable!("{} has no gradient", Self::NAME)
    }

    /// The gradient of the operand from the cotangent, whose reduced axes have size one.
    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        Self::slope(call) * g
    }

    /// The gradient of the operand from the cotangent of the squared output, if the square is smooth where the output is not.
    fn pull_of_square(_attrs: &Attrs) -> Option<fn(&Reduced<'_>, Tensor) -> Tensor> {
        None
    }

    /// The tangent of the result.
    fn push(call: &Reduced<'_>, tangent: &Tensor) -> Tensor {
        (Self::slope(call) * tangent).sum_over(&call.axes[..])
    }

    /// The result for the elements of one output, by a different formula than the kernel's.
    fn reference(attrs: &Attrs, elements: &[f64]) -> f64;

    /// Attributes to test, without the axes.
    fn tried() -> Vec<Attrs> {
        vec![Attrs::new()]
    }

    /// Elements with a prescribed value, where derivatives are not tested.
    fn edges() -> Vec<Vec<f64>> {
        vec![]
    }

    /// Elements of a smooth case.
    fn sample(shape: Shape, phase: f64) -> Sample {
        Sample::wave(shape, phase)
    }
}

/// The call that a rule differentiates.
pub struct Reduced<'r> {
    rule: &'r Rule<'r>,
    pub axes: Shape,
}

impl Reduced<'_> {
    pub fn attrs(&self) -> &Attrs {
        self.rule.attrs
    }

    /// The operand.
    pub fn x(&self) -> &Tensor {
        self.rule.operand(0)
    }

    /// The output with its reduced axes kept at size one.
    pub fn y(&self) -> Tensor {
        keep_axes(self.rule.output(0).clone(), &self.axes, self.x().shape())
    }

    /// `number` where the output is finite, else NaN.
    pub fn if_finite(&self, number: f64) -> Tensor {
        let y = self.y();
        y.lt(f64::INFINITY).where_(y.full_like(number), f64::NAN)
    }

    /// The number of elements reduced to each output.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|&axis| self.x().shape()[axis]).product()
    }

    /// The sum over the reduced axes, which are kept with size one.
    pub fn sum(&self, x: &Tensor) -> Tensor {
        x.sum_over(keepdim(&self.axes[..]))
    }

    /// The mean over the reduced axes, which are kept with size one.
    pub fn mean(&self, x: &Tensor) -> Tensor {
        x.mean_over(keepdim(&self.axes[..]))
    }
}

/// The gradient that `pull` computes from a cotangent.
fn pulled(rule: &Rule<'_>, g: Tensor, pull: fn(&Reduced<'_>, Tensor) -> Tensor) -> Tensor {
    let call = Reduced { rule, axes: rule.attrs.sizes("axes") };
    let g = keep_axes(g, &call.axes, call.x().shape());
    pull(&call, g)
}

/// A primitive of the reduction shape.
pub struct ReductionOp<R>(PhantomData<R>);

impl<R: Reduction> ReductionOp<R> {
    pub(crate) const NEW: ReductionOp<R> = ReductionOp(PhantomData);

    /// The reduction over some axes; `attrs` are those besides the axes.
    #[track_caller]
    pub(crate) fn over(&'static self, x: &Tensor, axes: impl Into<Over>, attrs: Attrs) -> Tensor {
        let over = axes.into();
        let axes = over.checked(R::NAME, x.shape()).or_raise();
        over.kept(bind1(self, Attrs::new().with_sizes("axes", &axes).and(&attrs), &[x]), &axes, x.shape())
    }
}

impl<R: Reduction> Primitive for ReductionOp<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        R::ATTRIBUTES
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let x = operands[0];
        let shape = reduced_shape(R::NAME, attrs, x.shape)?;
        expect_reals(attrs, &R::ATTRIBUTES[1..]);
        let dtype = R::dtype(x.dtype)?;
        let from = Shape::from(x.shape);
        if R::NEEDS_ELEMENTS && shape.elements() > 0 && from.elements() == 0 {
            let message =
                format!("axes {} of shape {from} hold no elements, so there is none to choose", attrs.sizes("axes"));
            return Err(Error::new(ErrorKind::Shape(vec![from]), R::NAME, message)
                .help("look at the shape first, or join a smallest value to the tensor"));
        }
        Ok(smallvec![Spec { shape, dtype }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        R::run(attrs, operands[0], &attrs.sizes("axes"), outputs[0].reborrow());
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        let saves = Saves::NOTHING.operand(0);
        if R::READS_OUTPUT { saves.output(0) } else { saves }
    }

    fn differentiable(&self) -> bool {
        R::DIFFERENTIABLE
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(pulled(rule, g, R::pull))]
    }

    fn vjp_of_square(&'static self, attrs: &Attrs) -> Option<fn(&Rule<'_>, Tensor) -> Gradients> {
        R::pull_of_square(attrs)?;
        Some(|rule, g| {
            let pull = R::pull_of_square(rule.attrs).expect("it was there for these attributes");
            smallvec![Gradient::Dense(pulled(rule, g, pull))]
        })
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        if !R::DIFFERENTIABLE {
            return smallvec![None];
        }
        let call = Reduced { rule, axes: rule.attrs.sizes("axes") };
        smallvec![tangents[0].as_ref().map(|tangent| R::push(&call, tangent))]
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
        Cost { flops: R::FLOPS * elements as f64, ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        if R::DIFFERENTIABLE { Dependency::Reduction } else { Dependency::None }
    }

    fn rule_text(&self) -> &'static str {
        R::RULE
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (number, tried) in R::tried().into_iter().enumerate() {
            // Every shape with the first attributes; one shape with several rows for the others.
            let shapes = if number == 0 { 0..SHAPES.len() } else { 0..1 };
            for &(shape, axes) in &SHAPES[shapes] {
                let empty = shape.contains(&0);
                let of_nothing = axes.iter().any(|&axis| shape[axis] == 0);
                if !(of_nothing && R::NEEDS_ELEMENTS) {
                    let x = R::sample(Shape::from(shape), 0.35);
                    let case = case_of::<R>(&tried, x, axes);
                    cases.push(if empty { case.values_only() } else { case });
                }
            }
        }
        for edge in R::edges() {
            let x = Sample::new([edge.len()], edge);
            cases.push(case_of::<R>(&R::tried()[0], x, &[0]).values_only());
        }
        cases
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl<R: Reduction> Lower for ReductionOp<R> {
    fn fold(&self) -> Option<Fold> {
        R::FOLD
    }
}

/// Shapes and axes on which every reduction is tested.
const SHAPES: [(&[usize], &[usize]); 8] = [
    (&[3, 4], &[1]),
    (&[3, 2], &[0]),
    (&[2, 3, 2], &[0, 2]),
    (&[2, 2, 3], &[1, 2]),
    (&[4], &[0]),
    (&[1, 2], &[0]),
    (&[], &[]),
    (&[0, 2], &[0]),
];

fn case_of<R: Reduction>(tried: &Attrs, x: Sample, axes: &[usize]) -> Case {
    let attrs = Attrs::new().with_sizes("axes", axes).and(tried);
    let (tried, axes) = (tried.clone(), axes.to_vec());
    let label = format!("{tried}{:?}{} over {axes:?}", &x.data[..x.data.len().min(1)], x.shape);
    let label = if x.data.iter().all(|x| x.is_finite()) { label } else { format!("{label} {:?}", x.data) };
    Case::new(label, attrs, [x], move |s| {
        let kept: Vec<usize> = (0..s[0].shape.rank()).filter(|axis| !axes.contains(axis)).collect();
        let shape: Shape = kept.iter().map(|&axis| s[0].shape[axis]).collect();
        let indices = Sample::indices(&s[0].shape);
        let mut y = Sample::build(shape, |place| {
            let own = indices.iter().filter(|i| kept.iter().zip(place).all(|(&axis, &at)| i[axis] == at));
            R::reference(&tried, &own.map(|i| s[0].at(i)).collect::<Vec<f64>>())
        });
        let dtype = R::dtype(s[0].dtype).expect("the case has a result");
        y.dtype = if dtype.is_float() { DType::F64 } else { dtype };
        vec![y]
    })
}

/// A view as `[outer, n, inner]` with the reduced axes in the middle; with permuted axes if they are not adjacent.
pub fn arranged(x: View<'_>, axes: &[usize]) -> (Layout, [usize; 3]) {
    let together = axes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let (Some(&first), true) = (axes.first(), together) else { return rows_last(x, axes) };
    let size = |part: &[usize]| part.iter().product();
    let (before, rest) = x.shape.split_at(first);
    let (middle, after) = rest.split_at(axes.len());
    (Layout::of(x), [size(before), size(middle), size(after)])
}

/// [`arranged`] with the reduced axes last.
pub fn rows_last(x: View<'_>, axes: &[usize]) -> (Layout, [usize; 3]) {
    let kept = (0..x.shape.len()).filter(|axis| !axes.contains(axis));
    let permutation: SmallVec<[usize; 4]> = kept.chain(axes.iter().copied()).collect();
    let n = axes.iter().map(|&axis| x.shape[axis]).product();
    let others = kept_shape(axes, x.shape).elements();
    (Layout::of(x).permuted(&permutation), [others, n, 1])
}
