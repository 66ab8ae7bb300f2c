//! Selections: positions, ranges, new axes, index tensors and masks, in a single call.

use super::indexing::Address;
use crate::bind::bind1;
use crate::error::OrRaise;
use crate::methods::*;
use crate::movement::slice::{SLICE, length};
use crate::movement::slice_update::{SLICE_ADD, SLICE_ASSIGN};
use crate::primitive::Attrs;
use crate::tensor::broadcast;
use crate::{DType, Error, ErrorKind, Operand, Shape, Tensor};
use easy_ext::ext;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A selection from one axis, or an axis inserted between others.
#[derive(Clone, Debug)]
pub enum Select {
    /// One position, whose axis is removed; negative positions count from the end.
    At(i64),
    /// Every `step`-th position from a start up to an end, excluded; negative positions count from the end.
    Range {
        /// The first position.
        start: Option<i64>,
        /// The position after the last.
        stop: Option<i64>,
        /// The distance between positions. With a negative step, the same range is read in reverse order, starting from its last position.
        step: i64,
    },
    /// A new axis of size one.
    NewAxis,
    /// All axes that the other entries do not cover.
    Rest,
    /// The positions given by an integer tensor; negative ones count from the end. Several such tensors broadcast and are used together. A
    /// boolean tensor stands for its true positions, along as many axes as it has.
    Index(Tensor),
}

impl Select {
    /// The same range with another step.
    ///
    /// ```
    /// use wengert::{Select, prelude::*};
    /// let x = Tensor::arange(6);
    /// assert_eq!(x.slice(Select::from(1..).step(2)), Tensor::from([1i64, 3, 5]));
    /// assert_eq!(x.slice(Select::from(..).step(-2)), Tensor::from([5i64, 3, 1]));
    /// ```
    #[track_caller]
    pub fn step(self, step: i64) -> Select {
        match self {
            Select::Range { start, stop, .. } => Select::Range { start, stop, step },
            other => Error::new(ErrorKind::Argument, "step", format!("{other:?} is not a range")).raise(),
        }
    }
}

/// In a selection: a new axis of size one.
///
/// ```
/// use wengert::{NewAxis, prelude::*};
/// assert_eq!(Tensor::zeros([2, 3]).slice((.., NewAxis, 0)).shape(), [2, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAxis;

/// In a selection: all axes that the other entries do not cover.
///
/// ```
/// use wengert::{Ellipsis, prelude::*};
/// assert_eq!(Tensor::zeros([2, 3, 4]).slice((Ellipsis, 0)).shape(), [2, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ellipsis;

impl From<NewAxis> for Select {
    fn from(_: NewAxis) -> Select {
        Select::NewAxis
    }
}

impl From<Ellipsis> for Select {
    fn from(_: Ellipsis) -> Select {
        Select::Rest
    }
}

impl From<RangeFull> for Select {
    fn from(_: RangeFull) -> Select {
        Select::Range { start: None, stop: None, step: 1 }
    }
}

impl From<&Tensor> for Select {
    fn from(index: &Tensor) -> Select {
        Select::Index(index.clone())
    }
}

impl From<Tensor> for Select {
    fn from(index: Tensor) -> Select {
        Select::Index(index)
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
        impl From<RangeInclusive<$int>> for Select {
            fn from(range: RangeInclusive<$int>) -> Select {
                Select::Range { start: Some(position(*range.start())), stop: after(*range.end()), step: 1 }
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
        impl From<RangeToInclusive<$int>> for Select {
            fn from(range: RangeToInclusive<$int>) -> Select {
                Select::Range { start: None, stop: after(range.end), step: 1 }
            }
        }
    )*};
}
selects!(i32, i64, usize, isize);

/// A position too large for i64 is out of range for every axis; it must not wrap to a negative one.
fn position(at: impl TryInto<i64>) -> i64 {
    at.try_into().unwrap_or(i64::MAX)
}

/// The position after a given one; after the last, -1, comes the end.
fn after(at: impl TryInto<i64>) -> Option<i64> {
    match position(at) {
        -1 => None,
        at => Some(at.saturating_add(1)),
    }
}

/// Selections for the leading axes: one, a tuple of them, or a slice of [`Select`]; the remaining axes are taken whole.
pub trait Selection {
    /// The entries in order.
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

/// A checked selection: a strided part, then axes indexed by tensors.
pub struct Plan {
    start: Vec<i64>,
    stop: Vec<i64>,
    step: Vec<i64>,
    /// Axes of the part in reverse order.
    flips: Vec<isize>,
    /// The shape of the part, with single positions removed and new axes added.
    pub shape: Shape,
    /// The indexed axes of that shape and their index tensors; a mask is still whole, at its first axis.
    addressed: Vec<(usize, Tensor)>,
}

impl Plan {
    pub fn of(shape: &[usize], selects: Vec<Select>) -> Result<Plan, Error> {
        let whole = Shape::from(shape);
        let axes_of = |select: &Select| match select {
            Select::NewAxis | Select::Rest => 0,
            Select::Index(index) if index.dtype() == DType::Bool => index.rank(),
            _ => 1,
        };
        let named: usize = selects.iter().map(axes_of).sum();
        if named > shape.len() {
            let message = format!("{named} selections for the {} axes of shape {whole}", shape.len());
            return Err(Error::new(ErrorKind::Range, "slice", message));
        }
        let rests = selects.iter().filter(|select| matches!(select, Select::Rest)).count();
        if rests > 1 {
            return Err(Error::new(ErrorKind::Argument, "slice", "the rest of the axes can be named only once"));
        }
        let mut plan = Plan {
            start: vec![],
            stop: vec![],
            step: vec![],
            flips: vec![],
            shape: Shape::default(),
            addressed: vec![],
        };
        let mut kept: Vec<usize> = Vec::new();
        let implied = (rests == 0).then_some(Select::Rest);
        for select in selects.into_iter().chain(implied) {
            match select {
                Select::NewAxis => kept.push(1),
                Select::Rest => {
                    for _ in named..shape.len() {
                        plan.push(shape, &Select::from(..), &mut kept)?;
                    }
                }
                Select::Index(index) => {
                    plan.addressed.push((kept.len(), index.clone()));
                    for axis in 0..axes_of(&Select::Index(index.clone())) {
                        let size = shape[plan.start.len()];
                        if index.dtype() == DType::Bool && index.shape()[axis] != size {
                            let shapes = vec![whole, Shape::from(index.shape())];
                            let message = format!("a mask of shape {} does not fit shape {}", shapes[1], shapes[0]);
                            return Err(Error::new(ErrorKind::Shape(shapes), "slice", message));
                        }
                        plan.push(shape, &Select::from(..), &mut kept)?;
                    }
                }
                select => plan.push(shape, &select, &mut kept)?,
            }
        }
        plan.shape = Shape::from(kept);
        Ok(plan)
    }

    /// Checks and adds the next axis of `shape`.
    fn push(&mut self, shape: &[usize], select: &Select, kept: &mut Vec<usize>) -> Result<(), Error> {
        let axis = self.start.len();
        let size = shape[axis] as i64;
        let from_end = |position: i64| if position < 0 { position + size } else { position };
        let (start, stop, step) = match *select {
            Select::At(at) => (from_end(at), from_end(at).saturating_add(1), 1),
            Select::Range { start, stop, step } => (from_end(start.unwrap_or(0)), from_end(stop.unwrap_or(size)), step),
            _ => unreachable!("only positions and ranges name one axis"),
        };
        if start < 0 || stop > size || start > stop || step == 0 {
            let what = match select {
                Select::At(at) => format!("position {at}"),
                _ => format!("range {start}..{stop} by {step}"),
            };
            let inside = start >= 0 && stop <= size;
            let message = match inside {
                true => format!("{what} along axis {axis} names nothing"),
                false => format!("{what} is outside axis {axis} of shape {}", Shape::from(shape)),
            };
            let help = match size {
                _ if inside && step == 0 => "a step is not 0".to_string(),
                _ if inside => "a range goes upward; a negative step takes the same positions from the end".to_string(),
                0 => "the axis is empty".to_string(),
                _ => format!("positions along this axis go from 0 to {}, or -{size} to -1", size - 1),
            };
            return Err(Error::new(ErrorKind::Range, "slice", message).help(help));
        }
        let count = length(start, stop, step.abs());
        // Backward from the last position: the lowest one reached depends on the step.
        let start = if step < 0 && count > 0 { stop - 1 - (count as i64 - 1) * step.abs() } else { start };
        if step < 0 {
            self.flips.push(axis as isize);
        }
        if !matches!(select, Select::At(_)) {
            kept.push(count);
        }
        self.start.push(start);
        self.stop.push(stop);
        self.step.push(step.abs());
        Ok(())
    }

    /// Whether some axes are indexed by tensors.
    pub fn is_addressed(&self) -> bool {
        !self.addressed.is_empty()
    }

    /// The attributes of the strided part.
    pub fn attrs(&self) -> Attrs {
        Attrs::new()
            .with_ints("start", self.start.iter().copied())
            .with_ints("stop", self.stop.iter().copied())
            .with_ints("step", self.step.iter().copied())
    }

    /// The shape of the part with all axes.
    pub fn full_shape(&self) -> Shape {
        let sizes = self.start.iter().zip(&self.stop).zip(&self.step);
        sizes.map(|((&start, &stop), &step)| length(start, stop, step)).collect()
    }

    /// Values of the part's shape, arranged as in the whole tensor.
    #[track_caller]
    pub fn unrolled(&self, values: &Tensor) -> Tensor {
        values.reshape(self.full_shape()).flip(&self.flips)
    }

    /// The strided part of `x`.
    #[track_caller]
    pub fn part_of(&self, x: &Tensor) -> Tensor {
        let part = match self.full_shape()[..] == *x.shape() {
            true => x.clone(),
            false => bind1(&SLICE, self.attrs(), &[x]),
        };
        part.flip(&self.flips).reshape(self.shape.clone())
    }

    /// The mask, if it is the only index.
    pub fn only_mask(&self) -> Option<(usize, &Tensor)> {
        match &self.addressed[..] {
            [(axis, mask)] if mask.dtype() == DType::Bool => Some((*axis, mask)),
            _ => None,
        }
    }

    /// The axes indexed by tensors, with masks read.
    #[track_caller]
    pub fn address(&self, part: &Tensor) -> Address {
        Address::masked("slice", part, &self.addressed)
    }
}

/// A part of a tensor that is about to be written.
///
/// ```
/// use wengert::prelude::*;
/// let mut x = Tensor::zeros([2, 3]);
/// x.slice_mut((1, ..)).assign(&Tensor::from([1.0, 2.0, 3.0]));
/// x.slice_mut((.., 0)).add(10.0);
/// assert_eq!(x, Tensor::from([[10.0, 0.0, 0.0], [11.0, 2.0, 3.0]]));
///
/// // Index tensors and masks; what is named twice adds up.
/// x.slice_mut((0, Tensor::from([1i64, 1]))).add(&Tensor::from([1.0, 2.0]));
/// x.slice_mut(x.gt(9.0)).assign(0.0);
/// assert_eq!(x, Tensor::from([[0.0, 3.0, 0.0], [0.0, 2.0, 3.0]]));
/// ```
pub struct SliceMut<'a> {
    tensor: &'a mut Tensor,
    plan: Plan,
}

impl SliceMut<'_> {
    #[track_caller]
    fn write(self, adds: bool, values: impl Operand) {
        let SliceMut { tensor, plan } = self;
        let values = values.tensor(tensor.dtype());
        if plan.is_addressed() {
            let part = plan.part_of(tensor);
            let written = match plan.only_mask() {
                // A scalar for all positions does not require reading the mask.
                Some((axis, mask)) if values.rank() == 0 => {
                    let behind = part.rank() - axis - mask.rank();
                    let aligned = mask.reshape([mask.shape(), &vec![1; behind]].concat());
                    let new = if adds { &part + &*values } else { values.broadcast_to(part.shape()) };
                    aligned.where_(new, &part)
                }
                _ => plan.address(&part).put("slice_mut", &part, &values, adds),
            };
            return tensor.update(&SLICE_ASSIGN, plan.attrs(), &[&plan.unrolled(&written)]);
        }
        if broadcast(values.shape(), &plan.shape).as_ref() != Some(&plan.shape) {
            let (given, part) = (Shape::from(values.shape()), plan.shape);
            let message = format!("values of shape {given} do not fit a part of shape {part}");
            Error::new(ErrorKind::Shape(vec![given, part]), "slice_mut", message).raise();
        }
        let values = plan.unrolled(&values.broadcast_to(plan.shape.clone()));
        tensor.update(if adds { &SLICE_ADD } else { &SLICE_ASSIGN }, plan.attrs(), &[&values]);
    }

    /// Writes these values, broadcast as needed; if a position occurs several times, the last value wins.
    #[track_caller]
    pub fn assign(self, values: impl Operand) {
        self.write(false, values);
    }

    /// Adds these values, broadcast as needed; if a position occurs several times, its values add up.
    #[track_caller]
    pub fn add(self, values: impl Operand) {
        self.write(true, values);
    }
}

/// The methods of `selection`.
#[ext(SelectionMethods)]
impl Tensor {
    /// A part of the tensor: a position, range, new axis, index tensor or mask for each leading axis.
    ///
    /// Positions, ranges and new axes copy nothing. Index tensors broadcast and are used together; their axes replace the indexed axes, or
    /// come first if those are not adjacent.
    ///
    /// ```
    /// use wengert::{NewAxis, Select, prelude::*};
    /// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.slice((.., 1..3)), Tensor::from([[2.0, 3.0], [5.0, 6.0]]));
    /// assert_eq!(x.slice((-1, 0)).item(), 4.0);
    /// assert_eq!(x.slice((0, Select::from(..).step(-1))), Tensor::from([3.0, 2.0, 1.0]));
    /// assert_eq!(x.slice((NewAxis, 0)).shape(), [1, 3]);
    /// assert_eq!(x.slice((.., Tensor::from([2i64, 0, 0]))), Tensor::from([[3.0, 1.0, 1.0], [6.0, 4.0, 4.0]]));
    /// assert_eq!(x.slice(x.gt(2.5)), Tensor::from([3.0, 4.0, 5.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn slice(&self, selection: impl Selection) -> Tensor {
        selected(self, selection.selects())
    }

    /// The part of the tensor given by a selection as in [`slice`](Tensor::slice), for writing.
    #[track_caller]
    pub fn slice_mut(&mut self, selection: impl Selection) -> SliceMut<'_> {
        let plan = Plan::of(self.shape(), selection.selects()).or_raise();
        SliceMut { tensor: self, plan }
    }

    /// Writes one element, or the values of a part: index assignment.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut x = Tensor::zeros([2, 2]);
    /// x.set((0, 1), 5.0);
    /// assert_eq!(x, Tensor::from([[0.0, 5.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn set(&mut self, selection: impl Selection, values: impl Operand) {
        self.slice_mut(selection).assign(values);
    }
}

#[track_caller]
fn selected(x: &Tensor, selects: Vec<Select>) -> Tensor {
    let plan = Plan::of(x.shape(), selects).or_raise();
    let part = plan.part_of(x);
    match plan.is_addressed() {
        true => plan.address(&part).take(&part),
        false => part,
    }
}

/// The selection that takes a part of one axis and all of the others.
pub fn along_axis(rank: usize, axis: usize, select: impl Into<Select>) -> Vec<Select> {
    let mut selects: Vec<Select> = (0..rank).map(|_| Select::from(..)).collect();
    selects[axis] = select.into();
    selects
}
