//! slice - part of a tensor.   y = x[start : stop : step] along every axis,   dy likewise.   Its transpose adds into zeros, or
//! into the cotangent that is already there. Nothing is copied.

use super::slice_update::SLICE_ADD;
use crate::error::OrRaise;
use crate::ops::prelude::*;
use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// What is taken of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Select {
    /// One position, whose axis disappears; negative from the end.
    At(i64),
    /// From a position to before another, negative from the end, every `step`-th.
    Range {
        /// The first position.
        start: Option<i64>,
        /// The position after the last.
        stop: Option<i64>,
        /// The distance between positions, at least 1.
        step: i64,
    },
}

impl From<RangeFull> for Select {
    fn from(_: RangeFull) -> Select {
        Select::Range { start: None, stop: None, step: 1 }
    }
}

macro_rules! selects {
    ($($int:ty),*) => {$(
        impl From<$int> for Select {
            fn from(at: $int) -> Select { Select::At(position(at)) }
        }
        impl From<Range<$int>> for Select {
            fn from(range: Range<$int>) -> Select {
                Select::Range { start: Some(position(range.start)), stop: Some(position(range.end)), step: 1 }
            }
        }
        impl From<RangeFrom<$int>> for Select {
            fn from(range: RangeFrom<$int>) -> Select {
                Select::Range { start: Some(position(range.start)), stop: None, step: 1 }
            }
        }
        impl From<RangeTo<$int>> for Select {
            fn from(range: RangeTo<$int>) -> Select {
                Select::Range { start: None, stop: Some(position(range.end)), step: 1 }
            }
        }
    )*};
}
selects!(i32, i64, usize, isize);

/// A position too large for i64 is outside every axis; it must not wrap to one from the end.
fn position(at: impl TryInto<i64>) -> i64 {
    at.try_into().unwrap_or(i64::MAX)
}

/// Selections for the leading axes: one, a tuple of them, or a slice of [`Select`]; the other axes are taken whole.
pub trait Selection {
    /// One entry for each leading axis.
    fn selects(self) -> Vec<Select>;
}

impl<T: Into<Select>> Selection for T {
    fn selects(self) -> Vec<Select> {
        vec![self.into()]
    }
}

impl Selection for &[Select] {
    fn selects(self) -> Vec<Select> {
        self.to_vec()
    }
}

macro_rules! tuple_selections {
    ($(($($name:ident)+))*) => {$(
        impl<$($name: Into<Select>),+> Selection for ($($name,)+) {
            #[allow(non_snake_case, reason = "type parameters name the values")]
            fn selects(self) -> Vec<Select> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    )*};
}
tuple_selections! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

/// A checked part of a tensor: positions along every axis, and which axes disappear.
pub(crate) struct Part {
    start: Vec<i64>,
    stop: Vec<i64>,
    step: Vec<i64>,
    /// The shape with the axes of single positions dropped.
    pub shape: Shape,
}

impl Part {
    pub fn attrs(&self) -> Attrs {
        Attrs::new()
            .with_ints("start", self.start.iter().copied())
            .with_ints("stop", self.stop.iter().copied())
            .with_ints("step", self.step.iter().copied())
    }

    /// The shape with all axes.
    pub fn full_shape(&self) -> Shape {
        let sizes = self.start.iter().zip(&self.stop).zip(&self.step);
        sizes.map(|((&start, &stop), &step)| length(start, stop, step)).collect()
    }

    pub fn of(shape: &[usize], selection: impl Selection) -> Result<Part, Error> {
        let selects = selection.selects();
        let whole = Shape::from(shape);
        if selects.len() > shape.len() {
            let message = format!("{} selections for the {} axes of shape {whole}", selects.len(), shape.len());
            return Err(Error::new(ErrorKind::Range, "slice", message));
        }
        let rest = (selects.len()..shape.len()).map(|_| Select::from(..));
        let mut part = Part { start: vec![], stop: vec![], step: vec![], shape: Shape::default() };
        let mut kept: Vec<usize> = Vec::new();
        for (axis, select) in selects.iter().copied().chain(rest).enumerate() {
            let size = shape[axis] as i64;
            let from_end = |position: i64| if position < 0 { position + size } else { position };
            let (start, stop, step) = match select {
                Select::At(at) => (from_end(at), from_end(at).saturating_add(1), 1),
                Select::Range { start, stop, step } => {
                    (from_end(start.unwrap_or(0)), from_end(stop.unwrap_or(size)), step)
                }
            };
            if start < 0 || stop > size || start > stop || step < 1 {
                let what = match select {
                    Select::At(at) => format!("position {at}"),
                    Select::Range { .. } => format!("range {start}..{stop} by {step}"),
                };
                let message = format!("{what} is outside axis {axis} of shape {whole}");
                let help = match size {
                    0 => "the axis is empty".to_string(),
                    _ => format!("positions along this axis go from 0 to {}, or -{size} to -1", size - 1),
                };
                return Err(Error::new(ErrorKind::Range, "slice", message).help(help));
            }
            if !matches!(select, Select::At(_)) {
                kept.push(length(start, stop, step));
            }
            part.start.push(start);
            part.stop.push(stop);
            part.step.push(step);
        }
        part.shape = Shape::from(kept);
        Ok(part)
    }
}

fn length(start: i64, stop: i64, step: i64) -> usize {
    if stop <= start { 0 } else { ((stop - start - 1) / step + 1) as usize }
}

/// The shape of the part that `attrs` names, checked against `shape`.
pub(crate) fn part_shape(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<Shape, Error> {
    let (start, stop, step) = (attrs.ints("start"), attrs.ints("stop"), attrs.ints("step"));
    let fits = start.len() == shape.len() && stop.len() == shape.len() && step.len() == shape.len();
    let inside = |axis: usize| {
        0 <= start[axis] && start[axis] <= stop[axis] && stop[axis] <= shape[axis] as i64 && step[axis] >= 1
    };
    if !fits || !(0..shape.len()).all(inside) {
        let message = format!("{start:?} to {stop:?} by {step:?} is not a part of shape {}", Shape::from(shape));
        return Err(Error::new(ErrorKind::Range, name, message));
    }
    Ok((0..shape.len()).map(|axis| length(start[axis], stop[axis], step[axis])).collect())
}

/// The attributes of the same part under a leading batch axis.
pub(crate) fn batched_part(attrs: &Attrs, size: usize) -> Attrs {
    let with = |name: &str, first: i64| -> Vec<i64> {
        std::iter::once(first).chain(attrs.ints(name).iter().copied()).collect()
    };
    Attrs::new()
        .with_ints("start", with("start", 0))
        .with_ints("stop", with("stop", size as i64))
        .with_ints("step", with("step", 1))
}

impl Tensor {
    /// Part of the tensor: a position or range for each leading axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.slice((.., 1..3)), Tensor::from([[2.0, 3.0], [5.0, 6.0]]));
    /// assert_eq!(x.slice((-1, 0)).item(), 4.0);
    /// ```
    #[track_caller]
    pub fn slice(&self, selection: impl Selection) -> Tensor {
        let part = Part::of(self.shape(), selection).or_raise();
        bind1(&SLICE, part.attrs(), &[self]).reshape(part.shape)
    }
}

/// The primitive `slice`.
pub static SLICE: Slice = Slice;

/// See the module.
pub struct Slice;

impl Primitive for Slice {
    fn name(&self) -> &'static str {
        "slice"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["start", "stop", "step"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let shape = part_shape("slice", attrs, operands[0].shape)?;
        Ok(smallvec![Spec { shape, dtype: operands[0].dtype }])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let (start, step, shape) = (attrs.ints("start"), attrs.ints("step"), &outputs[0].shape);
        Ok(smallvec![operands[0].with_layout(|layout| layout.sliced(start, step, shape.clone()))])
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Patch(Box::new(Patch {
            op: &SLICE_ADD,
            attrs: rule.attrs.clone(),
            values: smallvec![g],
            spec: rule.spec(0).clone()
        }))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], _batched: Mask) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, batched_part(attrs, size), &[&operands[0]])])
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

    fn cases(&self) -> Vec<Case> {
        sample_parts()
            .into_iter()
            .map(|(shape, attrs)| {
                let (start, step) = (attrs.ints("start").to_vec(), attrs.ints("step").to_vec());
                let part = part_shape("slice", &attrs, &shape).expect("the sample parts fit");
                Case::new(format!("{attrs} of {shape}"), attrs, [Sample::wave(shape, 0.9)], move |s| {
                    vec![Sample::build(part.clone(), |i| s[0].at(&inside(i, &start, &step)))]
                })
            })
            .collect()
    }
}

/// The position in the whole of position `i` in the part.
pub(crate) fn inside(i: &[usize], start: &[i64], step: &[i64]) -> Vec<usize> {
    i.iter().zip(start).zip(step).map(|((&i, &start), &step)| (start + step * i as i64) as usize).collect()
}

/// Parts that the cases of all slice primitives share.
pub(crate) fn sample_parts() -> Vec<(Shape, Attrs)> {
    let part = |start: [i64; 2], stop: [i64; 2], step: [i64; 2]| {
        Attrs::new().with_ints("start", start).with_ints("stop", stop).with_ints("step", step)
    };
    let scalar = Attrs::new().with_ints("start", []).with_ints("stop", []).with_ints("step", []);
    vec![
        (Shape::from([4, 5]), part([1, 0], [3, 5], [1, 2])),
        (Shape::from([2, 3]), part([1, 1], [2, 2], [1, 1])),
        (Shape::from([3, 2]), part([1, 0], [1, 2], [1, 1])),
        (Shape::from([]), scalar),
    ]
}
