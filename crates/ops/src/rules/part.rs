//! The rule shape *part*: strided elements that are taken, added to or replaced.
//!
//! y = x[part] is a view. Its transpose adds to the part, in place if the cotangent is uniquely owned, so a loop that slices an array takes
//! linear time. Slices, diagonals and windows are parts.

use crate::bind::bind1;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Gradient, Gradients, Jet, Mask, Out, Outputs, Patch, Primitive, Rule,
    Sample, Saves, Spec, SpecRef, Specs, View, expect_arithmetic, expect_same_dtype,
};
use crate::rules::align_batch;
use crate::tensor::{Layout, computing, fill};
use crate::{Error, ErrorKind, Shape, Tensor};
use smallvec::smallvec;
use std::marker::PhantomData;
use wengert_kernels::dtype::Element;
use wengert_kernels::map::{StridedPart, add_part, assign_part, copy};

/// How attributes describe a kind of part.
pub trait PartOf: Sized + Send + Sync + 'static {
    const ATTRIBUTES: &'static [&'static str];
    /// Whether a part may contain one position several times.
    const OVERLAPS: bool = false;
    /// The primitive that takes such a part.
    const TAKE: &'static PartTake<Self>;
    /// The primitive that adds to such a part.
    const ADD: &'static PartUpdate<Self>;

    /// The shape of the part, checked against the whole.
    fn shape(name: &str, attrs: &Attrs, whole: &[usize]) -> Result<Shape, Error>;

    /// The layout of the part, from that of the whole.
    fn layout(attrs: &Attrs, whole: &Layout, part: &Shape) -> Layout;

    /// The same part under a leading batch axis.
    fn batched(attrs: &Attrs, size: usize) -> Attrs;

    /// The position in the whole of position `i` in the part; for references.
    fn place(attrs: &Attrs, i: &[usize]) -> Vec<usize>;

    /// Wholes and their parts for tests.
    fn samples() -> Vec<(Shape, Attrs)>;
}

/// A primitive that takes a part: y = x\[part\].
pub struct PartTake<P> {
    name: &'static str,
    part: PhantomData<P>,
}

impl<P> PartTake<P> {
    pub(crate) const fn new(name: &'static str) -> PartTake<P> {
        PartTake { name, part: PhantomData }
    }
}

impl<P: PartOf> Primitive for PartTake<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        P::ATTRIBUTES
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let shape = P::shape(self.name, attrs, operands[0].shape)?;
        Ok(smallvec![Spec { shape, dtype: operands[0].dtype }])
    }

    fn view(&self, attrs: &Attrs, operand: &Layout, output: &Spec) -> Option<Layout> {
        Some(P::layout(attrs, operand, &output.shape))
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Patch(Box::new(Patch {
            op: P::ADD,
            attrs: rule.attrs.clone(),
            values: smallvec![g],
            spec: rule.spec(0).clone()
        }))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], _batched: Mask) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, P::batched(attrs, size), &[&operands[0]])])
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
        "dx[part] += dy"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |(shape, attrs): (Shape, Attrs)| {
            let (part, named) = (P::shape(self.name, &attrs, &shape).expect("the sample parts fit"), attrs.clone());
            Case::new(format!("{attrs} of {shape}"), attrs, [Sample::wave(shape, 0.9)], move |s| {
                vec![Sample::build(part.clone(), |i| s[0].at(&P::place(&named, i)))]
            })
        };
        P::samples().into_iter().map(case).collect()
    }
}

/// A primitive that adds to a part, y = x with y\[part\] += v, or replaces it, y = x with y\[part\] = v.
pub struct PartUpdate<P> {
    name: &'static str,
    adds: bool,
    part: PhantomData<P>,
}

impl<P> PartUpdate<P> {
    pub(crate) const fn adding(name: &'static str) -> PartUpdate<P> {
        PartUpdate { name, adds: true, part: PhantomData }
    }

    /// Only for parts that contain every position once.
    pub(crate) const fn replacing(name: &'static str) -> PartUpdate<P> {
        PartUpdate { name, adds: false, part: PhantomData }
    }
}

impl<P: PartOf> PartUpdate<P> {
    /// Zeros of the shape of the part of `x`.
    fn zero_part(rule: &Rule<'_>, x: &Tensor) -> Tensor {
        let shape = P::shape(rule.name, rule.attrs, x.shape()).expect("checked by the call");
        Tensor::constant(0.0, &Spec { shape, dtype: x.dtype() })
    }
}

impl<P: PartOf> Primitive for PartUpdate<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        P::ATTRIBUTES
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, part) = (operands[0], operands[1]);
        expect_same_dtype(self.name, x.dtype, part.dtype)?;
        if self.adds {
            expect_arithmetic(self.name, x.dtype)?;
        }
        let expected = P::shape(self.name, attrs, x.shape)?;
        if expected[..] != *part.shape {
            let shapes = vec![expected, Shape::from(part.shape)];
            let message = format!("the part has shape {}, the values {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), self.name, message));
        }
        Ok(smallvec![x.to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, values, out) = (operands[0], operands[1], outputs[0].reborrow());
        let layout = P::layout(attrs, &Layout::contiguous(Shape::from(x.shape)), &Shape::from(values.shape));
        let part = StridedPart { offset: layout.offset as usize, shape: &layout.shape, strides: &layout.strides };
        let update = |Out { dtype, bytes }: Out<'_>| {
            copy(x, Out { dtype, bytes: &mut *bytes });
            match self.adds {
                true => add_part(Out { dtype, bytes }, part, values),
                false => assign_part(Out { dtype, bytes }, part, values),
            }
        };
        // Positions that take several terms accumulate in the compute dtype.
        match P::OVERLAPS {
            true => computing!(out.dtype, T => fill(out, |wide: &mut [T]| {
                update(Out { dtype: T::DTYPE, bytes: bytemuck::cast_slice_mut(wide) });
            })),
            false => update(out),
        }
        Ok(true)
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        // Positions that take several terms accumulate in the compute dtype.
        if P::OVERLAPS && target.dtype() != target.dtype().compute() {
            return Ok(false);
        }
        let shape = Shape::from(rest[0].shape());
        target.update_part(|layout| P::layout(attrs, layout, &shape), rest[0], self.adds);
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        // The tangent of the part alone needs the shape of the whole.
        if wanted.has(1) { Saves::NOTHING.shape(0) } else { Saves::NOTHING }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let part = match rule.wants(1) {
            true => Gradient::Dense(bind1(P::TAKE, rule.attrs.clone(), &[&g])),
            false => Gradient::Zero,
        };
        let whole = match (rule.wants(0), self.adds) {
            (false, _) => Gradient::Zero,
            (true, true) => Gradient::Dense(g),
            (true, false) => Gradient::Dense(bind1(self, rule.attrs.clone(), &[&g, &Self::zero_part(rule, &g)])),
        };
        smallvec![whole, part]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let whole = match &tangents[0] {
            Some(x) => x.clone(),
            None => Tensor::constant(0.0, rule.spec(0)),
        };
        let part = tangents[1].clone().unwrap_or_else(|| Self::zero_part(rule, &whole));
        smallvec![Some(bind1(self, rule.attrs.clone(), &[&whole, &part]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, P::batched(attrs, size), &[&aligned[0], &aligned[1]])])
    }

    fn dependency(&self) -> Dependency {
        if self.adds { Dependency::Accumulation } else { Dependency::Movement }
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        match self.adds {
            true => "dx = dy, dv = dy[part]",
            false => "dx = dy with dx[part] = 0, dv = dy[part]",
        }
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let adds = self.adds;
        let case = |(shape, attrs): (Shape, Attrs)| {
            let (part, named) = (P::shape(self.name, &attrs, &shape).expect("the sample parts fit"), attrs.clone());
            let operands = [Sample::wave(shape.clone(), 0.9), Sample::wave(part.clone(), 0.1)];
            Case::new(format!("{attrs} of {shape}"), attrs, operands, move |s| {
                let mut y = s[0].clone();
                for i in Sample::indices(&part) {
                    let place = y.position(&P::place(&named, &i));
                    y.data[place] = if adds { y.data[place] } else { 0.0 } + s[1].at(&i);
                }
                vec![y]
            })
        };
        P::samples().into_iter().map(case).collect()
    }
}
