//! The rule shape *pick*: selected elements along one axis, and their positions.
//!
//! y = x[k], dy = dx[k]: for any selection, the whole gradient goes to the returned positions. An operation states how many elements it
//! picks and how.

use super::{as_given, row_and_axis};
use crate::bind::bind;
use crate::error::OrRaise;
use crate::indexing::scatter_add::SCATTER_ADD;
use crate::methods::*;
use crate::primitive::{
    Adjoints, Attrs, Case, Dependency, Gradient, Gradients, Layout, Mask, Out, Outputs, Patch, Primitive, Rule, Sample,
    Saves, Spec, SpecRef, Specs, View, expect_flags,
};
use crate::tensor::{Over, fill, numbers};
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::copy;
use wengert_kernels::pool::Buffer;

/// The definition of a selection along an axis; [`PickOp`] turns it into a primitive.
pub trait Pick: Send + Sync + 'static {
    const NAME: &'static str;
    /// `axis` comes first.
    const ATTRIBUTES: &'static [&'static str] = &["axis"];
    /// The attributes that are 0 or 1.
    const FLAGS: &'static [&'static str] = &[];
    const RULE: &'static str = "dx[k] += dy at the positions k that were picked";

    /// Whether an empty axis is an error.
    const NEEDS_ELEMENTS: bool = false;

    /// The number of elements picked from `n`; `None` means one, whose axis is removed.
    fn length(attrs: &Attrs, n: usize) -> Result<Option<usize>, Error>;

    /// Computes values and positions.
    fn run(attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]);

    /// The positions picked from one row, by a different method than the kernel's.
    fn reference(attrs: &Attrs, row: &[f64]) -> Vec<usize>;

    /// Attributes to test, without the axis.
    fn tried() -> Vec<Attrs> {
        vec![Attrs::new()]
    }

    /// Rows with ties and NaN, where the selection is prescribed.
    fn edges() -> Vec<Vec<f64>> {
        vec![vec![1.0, 3.0, 3.0, 2.0, 1.0]]
    }
}

/// A primitive of the pick shape.
pub struct PickOp<P>(PhantomData<P>);

impl<P: Pick> PickOp<P> {
    pub(crate) const NEW: PickOp<P> = PickOp(PhantomData);

    /// The picked values and their positions; `attrs` are those besides the axis.
    #[track_caller]
    pub(crate) fn pick(&'static self, x: &Tensor, axis: impl Into<Over>, attrs: Attrs) -> (Tensor, Tensor) {
        let over = axis.into();
        let [axis] = over.exactly(P::NAME).or_raise();
        let (row, axis) = row_and_axis(P::NAME, x, axis);
        let mut outputs = bind(self, at(axis).and(&attrs), &[&row]).into_iter();
        let (values, positions) = (outputs.next().expect("two outputs"), outputs.next().expect("two outputs"));
        let (values, positions) = (as_given(x, values), as_given(x, positions));
        match over.keeps() && x.rank() > 0 {
            true => (values.unsqueeze(axis), positions.unsqueeze(axis)),
            false => (values, positions),
        }
    }
}

fn at(axis: usize) -> Attrs {
    Attrs::new().with_int("axis", axis as i64)
}

/// Runs a kernel that picks along rows: `pick(x, n, values, positions)`.
pub fn pick_rows<T: Compute>(
    x: View<'_>,
    axis: usize,
    values: Out<'_>,
    positions: &mut [i64],
    pick: impl FnOnce(&[T], usize, &mut [T], &mut [i64]),
) {
    let (layout, [count, n, _]) = super::rows_last(x, &[axis]);
    let rows = numbers::<T>(layout.over(x));
    let length = positions.len() / count.max(1);
    if length <= 1 || axis + 1 == x.shape.len() {
        return fill(values, |values| pick(&rows, n, values, positions));
    }
    // With the axis moved last, and moved back afterwards.
    let (mut found, mut places) = (Buffer::<T>::new(positions.len()), Buffer::<i64>::new(positions.len()));
    pick(&rows, n, &mut found, &mut places);
    let mut back: SmallVec<[usize; 4]> = (0..x.shape.len() - 1).collect();
    back.insert(axis, x.shape.len() - 1);
    let mut shape = layout.shape;
    shape.sizes_mut()[x.shape.len() - 1] = length;
    let moved = Layout::contiguous(shape).permuted(&back);
    fn over<'a, T: Compute>(moved: &'a Layout, numbers: &'a [T]) -> View<'a> {
        moved.over(View { dtype: T::DTYPE, bytes: bytemuck::cast_slice(numbers), offset: 0, shape: &[], strides: &[] })
    }
    copy(over(&moved, &found), values);
    copy(over(&moved, &places), Out { dtype: DType::I64, bytes: bytemuck::cast_slice_mut(positions) });
}

impl<P: Pick> Primitive for PickOp<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn operands(&self) -> usize {
        1
    }

    fn outputs(&self, _attrs: &Attrs) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        P::ATTRIBUTES
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let x = operands[0];
        let axis = super::checked_axis(P::NAME, attrs.axis("axis") as isize, x.shape)?;
        expect_flags(P::NAME, attrs, P::FLAGS)?;
        let mut shape: Vec<usize> = x.shape.to_vec();
        let n = shape.remove(axis);
        if P::NEEDS_ELEMENTS && n == 0 {
            let shape = Shape::from(x.shape);
            let message = format!("axis {axis} of shape {shape} is empty, so there is nothing to pick");
            return Err(Error::new(ErrorKind::Shape(vec![shape]), P::NAME, message).help("look at the shape first"));
        }
        if let Some(length) = P::length(attrs, n)? {
            shape.insert(axis, length);
        }
        let shape = Shape::from(shape);
        Ok(smallvec![Spec { shape: shape.clone(), dtype: x.dtype }, Spec { shape, dtype: DType::I64 }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let [values, positions] = outputs else { unreachable!("two outputs") };
        let (values, axis) = (values.reborrow(), attrs.axis("axis"));
        fill(positions.reborrow(), |positions| P::run(attrs, operands[0], axis, values, positions));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0).output(1)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (axis, positions) = (rule.attrs.axis("axis"), rule.output(1));
        let whole = |picked: &Tensor| match picked.rank() < rule.shape(0).rank() {
            true => picked.unsqueeze(axis),
            false => picked.clone(),
        };
        smallvec![Gradient::Patch(Box::new(Patch {
            op: &SCATTER_ADD,
            attrs: at(axis),
            values: smallvec![whole(positions), whole(&g)],
            spec: rule.spec(0).clone(),
        }))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let (axis, positions) = (rule.attrs.axis("axis"), rule.output(1));
        let taken = |tangent: &Tensor| match positions.rank() < tangent.rank() {
            true => tangent.gather(axis as isize, &positions.unsqueeze(axis)).reshape(positions.shape()),
            false => tangent.gather(axis as isize, positions),
        };
        smallvec![tangents[0].as_ref().map(taken), None]
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(bind(self, attrs.clone().with_int("axis", attrs.int("axis") + 1), &[&operands[0]]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Reduction
    }

    fn rule_text(&self) -> &'static str {
        P::RULE
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let shapes: [(&[usize], usize); 6] =
            [(&[3, 4], 1), (&[5, 2], 0), (&[2, 4, 2], 1), (&[5], 0), (&[1], 0), (&[0, 4], 1)];
        let mut cases = Vec::new();
        for (number, tried) in P::tried().into_iter().enumerate() {
            for &(shape, axis) in &shapes[..if number == 0 { shapes.len() } else { 2 }] {
                if P::length(&tried, shape[axis]).is_ok() {
                    cases.push(case_of::<P>(&tried, Sample::wave(shape, 0.35), axis));
                }
            }
            for edge in P::edges() {
                cases.push(case_of::<P>(&tried, Sample::new([edge.len()], edge), 0).values_only());
            }
        }
        cases
    }
}

fn case_of<P: Pick>(tried: &Attrs, x: Sample, axis: usize) -> Case {
    let (tried, attrs) = (tried.clone(), at(axis).and(tried));
    let label = format!("{tried}{} along {axis} of {:?}", x.shape, &x.data[..x.data.len().min(5)]);
    Case::new(label, attrs, [x], move |s| {
        let shape = &s[0].shape;
        let length = P::length(&tried, shape[axis]).expect("the case has a result");
        let picked = |i: &[usize]| -> usize {
            let place = if length.is_some() { i[axis] } else { 0 };
            let after = if length.is_some() { axis + 1 } else { axis };
            let row: Vec<f64> = (0..shape[axis]).map(|k| s[0].at(&[&i[..axis], &[k], &i[after..]].concat())).collect();
            P::reference(&tried, &row)[place]
        };
        let value = |i: &[usize]| {
            let after = if length.is_some() { axis + 1 } else { axis };
            s[0].at(&[&i[..axis], &[picked(i)], &i[after..]].concat())
        };
        let mut to: Vec<usize> = shape.to_vec();
        to.remove(axis);
        length.into_iter().for_each(|length| to.insert(axis, length));
        let positions = Sample::build(to.clone(), |i| picked(i) as f64).of(DType::I64);
        vec![Sample { dtype: s[0].dtype, ..Sample::build(to, value) }, positions]
    })
}
