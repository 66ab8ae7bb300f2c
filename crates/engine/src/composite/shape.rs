//! Shapes made of reshape, transpose, slice, broadcast and concat. Axes count from 0, or from the end if negative.

use super::indexing::axis_of;
use crate::error::OrRaise;
use crate::ops::Operand;
use crate::ops::movement::diagonal::DIAGONAL_ADD;
use crate::ops::movement::slice_update::SLICE_ASSIGN;
use crate::ops::reduction::sum::checked_axis;
use crate::primitive::{Attrs, Spec};
use crate::tensor::broadcast;
use crate::{Error, ErrorKind, Select, Shape, Tensor, bind};
use std::borrow::Borrow;

/// How [`Tensor::pad`] fills what it adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// With one number.
    Constant(f64),
    /// With the elements beyond the border element, mirrored: `c b | a b c | b a`.
    Reflect,
    /// With the border element: `a a | a b c | c c`.
    Replicate,
    /// With the elements from the other end: `b c | a b c | a b`.
    Circular,
}

/// Sizes of which one may be -1: what is left of `elements`.
#[track_caller]
fn inferred(name: &str, sizes: &[isize], elements: usize) -> Vec<usize> {
    let known: usize = sizes.iter().filter(|&&size| size >= 0).map(|&size| size as usize).product();
    let unknown = sizes.iter().filter(|&&size| size < 0).count();
    let fits = match unknown {
        0 => true,
        1 => known > 0 && elements.is_multiple_of(known) && sizes.iter().all(|&size| size >= -1),
        _ => false,
    };
    if !fits {
        let message = format!("sizes {sizes:?} do not divide {elements} elements");
        Error::new(ErrorKind::Argument, name, message)
            .help("one size may be -1; the others must divide the rest")
            .raise();
    }
    sizes.iter().map(|&size| if size < 0 { elements / known } else { size as usize }).collect()
}

#[track_caller]
fn axes_of(name: &str, axes: &[isize], shape: &[usize]) -> Vec<usize> {
    let checked: Result<Vec<usize>, Error> = axes.iter().map(|&axis| axis_of(name, axis, shape)).collect();
    let axes = checked.or_raise();
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        Error::new(ErrorKind::Argument, name, format!("{axes:?} names an axis twice")).raise();
    }
    axes
}

/// Reordering and merging axes.
impl Tensor {
    /// The same elements in another shape, in which one size may be -1: as much as is left.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([4, 6]).view(&[3, -1]).shape(), [3, 8]);
    /// ```
    #[track_caller]
    pub fn view(&self, sizes: &[isize]) -> Tensor {
        self.reshape(inferred("view", sizes, self.elements()))
    }

    /// The same elements in the shape of another tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([6]).reshape_as(&Tensor::zeros([2, 3])).shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn reshape_as(&self, other: &Tensor) -> Tensor {
        self.reshape(other.shape())
    }

    /// All elements in one axis, row-major.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).flatten(), Tensor::from([1.0, 2.0, 3.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn flatten(&self) -> Tensor {
        self.reshape([self.elements()])
    }

    /// The axes `first` to `last`, both included, merged into one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3, 4]).flatten_axes(1, -1).shape(), [2, 12]);
    /// ```
    #[track_caller]
    pub fn flatten_axes(&self, first: isize, last: isize) -> Tensor {
        let first = axis_of("flatten", first, self.shape()).or_raise();
        let last = axis_of("flatten", last, self.shape()).or_raise();
        if self.rank() == 0 {
            return self.reshape([1]);
        }
        if first > last {
            let message = format!("the first axis {first} comes after the last {last}");
            Error::new(ErrorKind::Range, "flatten", message).raise();
        }
        let shape = self.shape();
        let merged = shape[first..=last].iter().product();
        self.reshape([&shape[..first], &[merged], &shape[last + 1..]].concat())
    }

    /// All elements in one axis, row-major.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).ravel().shape(), [6]);
    /// ```
    #[track_caller]
    pub fn ravel(&self) -> Tensor {
        self.flatten()
    }

    /// One axis split into several, of which one size may be -1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 12]).unflatten(1, &[3, -1]).shape(), [2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn unflatten(&self, axis: isize, sizes: &[isize]) -> Tensor {
        let axis = checked_axis("unflatten", axis, self.shape()).or_raise();
        let shape = self.shape();
        let sizes = inferred("unflatten", sizes, shape[axis]);
        self.reshape([&shape[..axis], &sizes, &shape[axis + 1..]].concat())
    }

    /// Without the axes of size one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 1, 3, 1]).squeeze().shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn squeeze(&self) -> Tensor {
        self.reshape(self.shape().iter().copied().filter(|&size| size != 1).collect::<Shape>())
    }

    /// Without those of these axes that have size one; the others stay.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 1, 3, 1]).squeeze_axes(&[0, -1]).shape(), [2, 1, 3]);
    /// ```
    #[track_caller]
    pub fn squeeze_axes(&self, axes: &[isize]) -> Tensor {
        let axes = axes_of("squeeze", axes, self.shape());
        let dropped: Vec<bool> = (0..self.rank()).map(|axis| axes.contains(&axis) && self.shape()[axis] == 1).collect();
        self.reshape(Shape::from(self.shape()).without(&dropped))
    }

    /// With at least one axis: a scalar becomes a vector.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).atleast_1d().shape(), [1]);
    /// ```
    #[track_caller]
    pub fn atleast_1d(&self) -> Tensor {
        if self.rank() == 0 { self.reshape([1]) } else { self.clone() }
    }

    /// With at least two axes: a vector becomes one row.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3]).atleast_2d().shape(), [1, 3]);
    /// ```
    #[track_caller]
    pub fn atleast_2d(&self) -> Tensor {
        if self.rank() < 2 { self.reshape([1, self.elements()]) } else { self.clone() }
    }

    /// With at least three axes: a vector becomes `[1, n, 1]`, a matrix gets a last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3]).atleast_3d().shape(), [1, 3, 1]);
    /// assert_eq!(Tensor::zeros([2, 3]).atleast_3d().shape(), [2, 3, 1]);
    /// ```
    #[track_caller]
    pub fn atleast_3d(&self) -> Tensor {
        match self.rank() {
            0 | 1 => self.reshape([1, self.elements(), 1]),
            2 => self.unsqueeze(2),
            _ => self.clone(),
        }
    }

    /// Two axes exchanged.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3, 4]).transpose(0, -1).shape(), [4, 3, 2]);
    /// ```
    #[track_caller]
    pub fn transpose(&self, a: isize, b: isize) -> Tensor {
        let a = axis_of("transpose", a, self.shape()).or_raise();
        let b = axis_of("transpose", b, self.shape()).or_raise();
        if a == b {
            return self.clone();
        }
        let mut permutation: Vec<usize> = (0..self.rank()).collect();
        permutation.swap(a, b);
        self.permute(&permutation)
    }

    /// Each matrix transposed: the last two axes exchanged.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([5, 2, 3]).mt().shape(), [5, 3, 2]);
    /// ```
    #[track_caller]
    pub fn mt(&self) -> Tensor {
        self.t()
    }

    /// Axes moved to other places; the rest keep their order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3, 4]).movedim(&[0], &[-1]).shape(), [3, 4, 2]);
    /// ```
    #[track_caller]
    pub fn movedim(&self, from: &[isize], to: &[isize]) -> Tensor {
        let (from, to) = (axes_of("movedim", from, self.shape()), axes_of("movedim", to, self.shape()));
        if from.len() != to.len() {
            let message = format!("{} axes to {} places", from.len(), to.len());
            Error::new(ErrorKind::Argument, "movedim", message).raise();
        }
        let mut rest = (0..self.rank()).filter(|axis| !from.contains(axis));
        let place = |axis: usize| match to.iter().position(|&place| place == axis) {
            Some(which) => from[which],
            None => rest.next().expect("as many axes as places"),
        };
        let permutation: Vec<usize> = (0..self.rank()).map(place).collect();
        self.permute(&permutation)
    }
}

/// Repetition.
impl Tensor {
    /// Repeats axes of size one up to these sizes, without copying; -1 leaves an axis as it is.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3, 1]).expand(&[2, -1, 4]).shape(), [2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn expand(&self, sizes: &[isize]) -> Tensor {
        let added = sizes.len().checked_sub(self.rank());
        let size = |(axis, &size): (usize, &isize)| match (size, axis.checked_sub(added?)) {
            (0.., _) => Some(size as usize),
            (-1, Some(own)) => Some(self.shape()[own]),
            _ => None,
        };
        let shape: Option<Shape> = sizes.iter().enumerate().map(size).collect();
        let Some(shape) = shape.filter(|_| added.is_some()) else {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} does not expand to {sizes:?}");
            Error::new(ErrorKind::Shape(vec![shape]), "expand", message)
                .help("-1 keeps an axis that is there; new axes come in front and need a size")
                .raise();
        };
        self.broadcast_to(shape)
    }

    /// Repeats axes of size one up to the shape of another tensor, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3, 1]).expand_as(&Tensor::zeros([3, 4])).shape(), [3, 4]);
    /// ```
    #[track_caller]
    pub fn expand_as(&self, other: &Tensor) -> Tensor {
        self.broadcast_to(other.shape())
    }

    /// The whole tensor repeated along each axis; more counts than axes add axes in front.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat(&[2]), Tensor::from([1.0, 2.0, 1.0, 2.0]));
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat(&[2, 1]), Tensor::from([[1.0, 2.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn repeat(&self, counts: &[usize]) -> Tensor {
        if counts.len() < self.rank() {
            let message = format!("{} counts for the {} axes", counts.len(), self.rank());
            Error::new(ErrorKind::Argument, "repeat", message).help("tile takes fewer counts than axes").raise();
        }
        let missing = counts.len() - self.rank();
        let size = |axis: usize| axis.checked_sub(missing).map_or(1, |own| self.shape()[own]);
        // Each axis of size n becomes [count, n]: the first is repeated for nothing, then both merge in one copy.
        let apart: Shape = (0..counts.len()).flat_map(|axis| [1, size(axis)]).collect();
        let repeated: Shape = (0..counts.len()).flat_map(|axis| [counts[axis], size(axis)]).collect();
        let merged: Shape = (0..counts.len()).map(|axis| counts[axis] * size(axis)).collect();
        self.reshape(apart).broadcast_to(repeated).reshape(merged)
    }

    /// The whole tensor repeated along its last axes; missing counts are 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3]).tile(&[2]).shape(), [2, 6]);
    /// ```
    #[track_caller]
    pub fn tile(&self, counts: &[usize]) -> Tensor {
        let missing = self.rank().saturating_sub(counts.len());
        self.repeat(&[&vec![1; missing], counts].concat())
    }

    /// Each slice along `axis` repeated `count` times in place.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat_interleave(2, 0), Tensor::from([1.0, 1.0, 2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn repeat_interleave(&self, count: usize, axis: isize) -> Tensor {
        let axis = axis_of("repeat_interleave", axis, self.shape()).or_raise();
        let x = self.atleast_1d();
        let shape = x.shape();
        let apart = [&shape[..=axis], &[1], &shape[axis + 1..]].concat();
        let repeated = [&shape[..=axis], &[count], &shape[axis + 1..]].concat();
        let merged = [&shape[..axis], &[shape[axis] * count], &shape[axis + 1..]].concat();
        x.reshape(apart).broadcast_to(repeated).reshape(merged)
    }

    /// Each slice along `axis` repeated as many times as `counts` says for it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat_interleave_each(&[0, 3], 0), Tensor::from([2.0, 2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn repeat_interleave_each(&self, counts: &[usize], axis: isize) -> Tensor {
        let axis = checked_axis("repeat_interleave", axis, self.shape()).or_raise();
        if counts.len() != self.shape()[axis] {
            let message = format!("{} counts for an axis of length {}", counts.len(), self.shape()[axis]);
            Error::new(ErrorKind::Argument, "repeat_interleave", message).raise();
        }
        let positions = (0i64..).zip(counts).flat_map(|(position, &count)| std::iter::repeat_n(position, count));
        self.index_select(axis as isize, &Tensor::from(positions.collect::<Vec<i64>>()))
    }

    /// All tensors broadcast to one shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let both = Tensor::broadcast_tensors(&[Tensor::zeros([3, 1]), Tensor::zeros([4])]);
    /// assert_eq!(both[1].shape(), [3, 4]);
    /// ```
    #[track_caller]
    pub fn broadcast_tensors<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<Tensor> {
        let shapes = tensors.iter().map(|x| x.borrow().shape());
        let Some(shape) = shapes.clone().try_fold(Shape::default(), |shape, other| broadcast(&shape, other)) else {
            let shapes: Vec<Shape> = shapes.map(Shape::from).collect();
            let message = format!("shapes {shapes:?} do not broadcast");
            Error::new(ErrorKind::Shape(shapes), "broadcast_tensors", message).raise();
        };
        tensors.iter().map(|x| x.borrow().broadcast_to(&shape)).collect()
    }
}

/// Parts.
impl Tensor {
    /// `length` positions from `start` along `axis`, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0, 4.0]).narrow(0, 1, 2), Tensor::from([2.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn narrow(&self, axis: isize, start: usize, length: usize) -> Tensor {
        let axis = checked_axis("narrow", axis, self.shape()).or_raise();
        self.slice(&along(axis, Select::from(start..start.saturating_add(length)))[..])
    }

    /// One position along `axis`, whose axis disappears; negative positions count from the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).select(1, -1), Tensor::from([2.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn select(&self, axis: isize, position: isize) -> Tensor {
        let axis = checked_axis("select", axis, self.shape()).or_raise();
        self.slice(&along(axis, Select::from(position))[..])
    }

    /// This tensor with `values` at one position along `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([2, 2]).select_scatter(&Tensor::from([1.0, 2.0]), 1, -1);
    /// assert_eq!(y, Tensor::from([[0.0, 1.0], [0.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn select_scatter(&self, values: &Tensor, axis: isize, position: isize) -> Tensor {
        let axis = checked_axis("select_scatter", axis, self.shape()).or_raise();
        let mut y = self.clone();
        y.slice_mut(&along(axis, Select::from(position))[..]).assign(values);
        y
    }

    /// Pieces of `size` along `axis`, the last maybe shorter, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let parts = Tensor::arange(5).split(2, 0);
    /// assert_eq!(parts[2], Tensor::from([4i64]));
    /// ```
    #[track_caller]
    pub fn split(&self, size: usize, axis: isize) -> Vec<Tensor> {
        let axis = checked_axis("split", axis, self.shape()).or_raise();
        let length = self.shape()[axis];
        if size == 0 && length > 0 {
            Error::new(ErrorKind::Argument, "split", "pieces of size 0 never end").raise();
        }
        let starts = (0..length.max(1)).step_by(size.max(1));
        let sizes: Vec<usize> = starts.map(|start| size.min(length - start)).collect();
        self.split_sizes(&sizes, axis as isize)
    }

    /// Pieces of these sizes along `axis`, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let parts = Tensor::arange(5).split_sizes(&[1, 4], 0);
    /// assert_eq!(parts[1].shape(), [4]);
    /// ```
    #[track_caller]
    pub fn split_sizes(&self, sizes: &[usize], axis: isize) -> Vec<Tensor> {
        let axis = checked_axis("split", axis, self.shape()).or_raise();
        let length = self.shape()[axis];
        if sizes.iter().sum::<usize>() != length {
            let message = format!("sizes {sizes:?} do not add up to the {length} positions of axis {axis}");
            Error::new(ErrorKind::Argument, "split", message).raise();
        }
        let mut parts = Vec::with_capacity(sizes.len());
        let mut start = 0;
        for &size in sizes {
            parts.push(self.narrow(axis as isize, start, size));
            start += size;
        }
        parts
    }

    /// At most `count` pieces of equal size along `axis`, the last maybe shorter, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let sizes: Vec<usize> = Tensor::arange(5).chunk(3, 0).iter().map(Tensor::elements).collect();
    /// assert_eq!(sizes, [2, 2, 1]);
    /// ```
    #[track_caller]
    pub fn chunk(&self, count: usize, axis: isize) -> Vec<Tensor> {
        let axis = checked_axis("chunk", axis, self.shape()).or_raise();
        if count == 0 {
            Error::new(ErrorKind::Argument, "chunk", "there is no way to make 0 pieces").raise();
        }
        self.split(self.shape()[axis].div_ceil(count).max(1), axis as isize)
    }

    /// `count` pieces of nearly equal size along `axis`, the longer ones first, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let sizes: Vec<usize> = Tensor::arange(5).tensor_split(3, 0).iter().map(Tensor::elements).collect();
    /// assert_eq!(sizes, [2, 2, 1]);
    /// ```
    #[track_caller]
    pub fn tensor_split(&self, count: usize, axis: isize) -> Vec<Tensor> {
        let axis = checked_axis("tensor_split", axis, self.shape()).or_raise();
        if count == 0 {
            Error::new(ErrorKind::Argument, "tensor_split", "there is no way to make 0 pieces").raise();
        }
        let length = self.shape()[axis];
        let sizes: Vec<usize> = (0..count).map(|i| length / count + usize::from(i < length % count)).collect();
        self.split_sizes(&sizes, axis as isize)
    }

    /// Pieces that end at these positions along `axis`, and the rest, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let parts = Tensor::arange(5).tensor_split_at(&[1, 3], 0);
    /// assert_eq!(parts[1], Tensor::from([1i64, 2]));
    /// ```
    #[track_caller]
    pub fn tensor_split_at(&self, positions: &[usize], axis: isize) -> Vec<Tensor> {
        let axis = checked_axis("tensor_split", axis, self.shape()).or_raise();
        let length = self.shape()[axis];
        let mut parts = Vec::with_capacity(positions.len() + 1);
        let mut start = 0;
        for &stop in positions.iter().chain([&length]) {
            // Positions beyond the end or before the last one make empty pieces.
            let (from, to) = (start.min(length), stop.min(length));
            parts.push(self.narrow(axis as isize, from, to.saturating_sub(from)));
            start = stop;
        }
        parts
    }

    /// Every position along `axis` as a tensor of its own, without copying.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).unbind(0);
    /// assert_eq!(rows[1], Tensor::from([3.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn unbind(&self, axis: isize) -> Vec<Tensor> {
        let axis = checked_axis("unbind", axis, self.shape()).or_raise();
        let mut parts = Vec::with_capacity(self.shape()[axis]);
        for position in 0..self.shape()[axis] {
            parts.push(self.select(axis as isize, position as isize));
        }
        parts
    }

    /// The elements in the opposite order along axis 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0]]).fliplr(), Tensor::from([[2.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn fliplr(&self) -> Tensor {
        self.flip(&[1])
    }

    /// The elements in the opposite order along axis 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).flipud(), Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn flipud(&self) -> Tensor {
        self.flip(&[0])
    }

    /// The elements moved along each of these axes, what leaves at one end coming in at the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0]).roll(&[1], &[0]), Tensor::from([3.0, 1.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn roll(&self, shifts: &[isize], axes: &[isize]) -> Tensor {
        if shifts.len() != axes.len() {
            let message = format!("{} shifts for {} axes", shifts.len(), axes.len());
            Error::new(ErrorKind::Argument, "roll", message).help("roll_flat moves all elements row-major").raise();
        }
        let mut y = self.clone();
        for (&shift, &axis) in shifts.iter().zip(axes) {
            let axis = checked_axis("roll", axis, self.shape()).or_raise() as isize;
            let size = self.shape()[axis as usize];
            let moved = if size == 0 { 0 } else { shift.rem_euclid(size as isize) as usize };
            if moved > 0 {
                y = Tensor::concat(&[y.narrow(axis, size - moved, moved), y.narrow(axis, 0, size - moved)], axis);
            }
        }
        y
    }

    /// All elements moved row-major, what leaves at one end coming in at the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).roll_flat(1), Tensor::from([[4.0, 1.0], [2.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn roll_flat(&self, shift: isize) -> Tensor {
        self.flatten().roll(&[shift], &[0]).reshape(self.shape())
    }

    /// Turned by `quarters` of a full turn in the plane of two axes, from the first toward the second; nothing is copied.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).rot90(1, 0, 1), Tensor::from([[2.0, 4.0], [1.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn rot90(&self, quarters: isize, from: isize, to: isize) -> Tensor {
        match quarters.rem_euclid(4) {
            0 => self.clone(),
            1 => self.flip(&[to]).transpose(from, to),
            2 => self.flip(&[from, to]),
            _ => self.transpose(from, to).flip(&[to]),
        }
    }
}

/// Whole axes before `axis`, and `select` there.
fn along(axis: usize, select: Select) -> Vec<Select> {
    (0..axis).map(|_| Select::from(..)).chain([select]).collect()
}

/// Joining.
impl Tensor {
    /// The tensors, all of one shape, one after another along a new axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!(Tensor::stack(&[&x, &y], 0), Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(Tensor::stack(&[&x, &y], -1), Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn stack<T: Borrow<Tensor>>(tensors: &[T], axis: isize) -> Tensor {
        let Some(first) = tensors.first().map(Borrow::borrow) else {
            Error::new(ErrorKind::Argument, "stack", "there is no tensor to stack").raise();
        };
        let mut longer = Vec::with_capacity(tensors.len());
        for x in tensors {
            let x = x.borrow();
            if x.shape() != first.shape() {
                let shapes = vec![Shape::from(first.shape()), Shape::from(x.shape())];
                let message = format!("shapes {} and {} differ", shapes[0], shapes[1]);
                Error::new(ErrorKind::Shape(shapes), "stack", message).raise();
            }
            longer.push(x.unsqueeze(axis));
        }
        let axis = if axis < 0 { axis + first.rank() as isize + 1 } else { axis };
        Tensor::concat(&longer, axis)
    }

    /// Side by side: along axis 1, or axis 0 for vectors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::hstack(&[Tensor::zeros([2]), Tensor::zeros([3])]).shape(), [5]);
    /// ```
    #[track_caller]
    pub fn hstack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let tensors: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_1d()).collect();
        Tensor::concat(&tensors, isize::from(tensors.first().is_some_and(|x| x.rank() > 1)))
    }

    /// One above another: along axis 0, vectors as rows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::vstack(&[Tensor::zeros([3]), Tensor::zeros([3])]).shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn vstack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let tensors: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_2d()).collect();
        Tensor::concat(&tensors, 0)
    }

    /// One behind another: along axis 2.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::dstack(&[Tensor::zeros([3]), Tensor::zeros([3])]).shape(), [1, 3, 2]);
    /// ```
    #[track_caller]
    pub fn dstack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let tensors: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_3d()).collect();
        Tensor::concat(&tensors, 2)
    }

    /// Side by side, vectors as columns.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::column_stack(&[Tensor::zeros([3]), Tensor::zeros([3])]).shape(), [3, 2]);
    /// ```
    #[track_caller]
    pub fn column_stack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let column = |x: &Tensor| if x.rank() < 2 { x.reshape([x.elements(), 1]) } else { x.clone() };
        let tensors: Vec<Tensor> = tensors.iter().map(|x| column(x.borrow())).collect();
        Tensor::concat(&tensors, 1)
    }

    /// Grids of coordinates: the i-th result varies along axis i.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let grids = Tensor::meshgrid(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0, 5.0])]);
    /// assert_eq!(grids[0], Tensor::from([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]));
    /// assert_eq!(grids[1].slice(0), Tensor::from([3.0, 4.0, 5.0]));
    /// ```
    #[track_caller]
    pub fn meshgrid<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<Tensor> {
        let shape: Shape = tensors.iter().map(|x| x.borrow().elements()).collect();
        let mut grids = Vec::with_capacity(tensors.len());
        for (axis, x) in tensors.iter().enumerate() {
            let mut own = vec![1; tensors.len()];
            own[axis] = x.borrow().elements();
            grids.push(x.borrow().reshape(own).broadcast_to(&shape));
        }
        grids
    }

    /// Grids of coordinates in the order of plots: the first result varies along axis 1, the second along axis 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let grids = Tensor::meshgrid_xy(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0, 5.0])]);
    /// assert_eq!(grids[0].shape(), [3, 2]);
    /// ```
    #[track_caller]
    pub fn meshgrid_xy<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<Tensor> {
        let grids = Tensor::meshgrid(tensors);
        if tensors.len() < 2 { grids } else { grids.iter().map(|grid| grid.transpose(0, 1)).collect() }
    }

    /// Every combination of one element of each vector, one row for each.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let all = Tensor::cartesian_prod(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])]);
    /// assert_eq!(all, Tensor::from([[1.0, 3.0], [1.0, 4.0], [2.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn cartesian_prod<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        if let [only] = tensors {
            return only.borrow().clone();
        }
        let columns: Vec<Tensor> = Tensor::meshgrid(tensors).iter().map(Tensor::flatten).collect();
        Tensor::stack(&columns, 1)
    }

    /// Every choice of `count` elements of this vector, in order, one row for each; with or without taking one twice.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let pairs = Tensor::from([1.0, 2.0, 3.0]).combinations(2, false);
    /// assert_eq!(pairs, Tensor::from([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn combinations(&self, count: usize, with_replacement: bool) -> Tensor {
        let mut choices: Vec<Vec<i64>> = vec![vec![]];
        for _ in 0..count {
            let longer = |choice: &Vec<i64>| -> Vec<Vec<i64>> {
                let first = choice.last().map_or(0, |&last| last + i64::from(!with_replacement));
                (first..self.elements() as i64).map(|next| [&choice[..], &[next]].concat()).collect()
            };
            choices = choices.iter().flat_map(longer).collect();
        }
        if count == 0 {
            choices.clear();
        }
        let rows = choices.len();
        self.take(&Tensor::from_vec(choices.concat(), [rows, count]))
    }

    /// Matrices along the diagonal of a larger one, zeros elsewhere; vectors count as rows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::block_diag(&[Tensor::from([[1.0, 2.0]]), Tensor::from([[3.0], [4.0]])]);
    /// assert_eq!(y, Tensor::from([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn block_diag<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let blocks: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_2d()).collect();
        let columns: usize = blocks.iter().map(|block| block.shape()[1]).sum();
        let (mut rows, mut before) = (Vec::with_capacity(blocks.len()), 0);
        for block in &blocks {
            let after = columns - before - block.shape()[1];
            rows.push(block.pad(&[before as isize, after as isize], PadMode::Constant(0.0)));
            before += block.shape()[1];
        }
        Tensor::concat(&rows, 0)
    }
}

/// Padding.
impl Tensor {
    /// Adds positions before and after the last axes: `[before, after]` of the last axis, then of the one before it, and
    /// so on, as PyTorch does. Negative numbers take positions away.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.pad(&[1, 0], PadMode::Constant(9.0)), Tensor::from([9.0, 1.0, 2.0, 3.0]));
    /// assert_eq!(x.pad(&[2, -1], PadMode::Constant(0.0)), Tensor::from([0.0, 0.0, 1.0, 2.0]));
    /// assert_eq!(x.pad(&[1, 1], PadMode::Reflect), Tensor::from([2.0, 1.0, 2.0, 3.0, 2.0]));
    /// assert_eq!(x.pad(&[1, 1], PadMode::Replicate), Tensor::from([1.0, 1.0, 2.0, 3.0, 3.0]));
    /// assert_eq!(x.pad(&[1, 1], PadMode::Circular), Tensor::from([3.0, 1.0, 2.0, 3.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn pad(&self, padding: &[isize], mode: PadMode) -> Tensor {
        if !padding.len().is_multiple_of(2) || padding.len() / 2 > self.rank() {
            let shape = Shape::from(self.shape());
            let message = format!("padding {padding:?} does not fit shape {shape}");
            Error::new(ErrorKind::Argument, "pad", message)
                .help("give [before, after] for the last axis, then for the one before it, and so on")
                .raise();
        }
        let pairs = padding.as_chunks::<2>().0;
        let axis = |which: usize| self.rank() - 1 - which;
        for (which, &[before, after]) in pairs.iter().enumerate() {
            let size = self.shape()[axis(which)] as isize;
            let (cut, longest) = ((-before).max(0) + (-after).max(0), before.max(after));
            let room = match mode {
                PadMode::Constant(_) => isize::MAX,
                PadMode::Reflect => size - 1,
                PadMode::Replicate => {
                    if size > 0 {
                        isize::MAX
                    } else {
                        0
                    }
                }
                PadMode::Circular => size,
            };
            // An edge may lie in what the other side adds, so only the sum counts.
            let (left, all) = (size + before + after, matches!(mode, PadMode::Constant(_) | PadMode::Replicate));
            if left < 0 || longest > room || (cut > size && !all) {
                let message = format!(
                    "[{before}, {after}] does not fit axis {} of shape {}",
                    axis(which),
                    Shape::from(self.shape())
                );
                Error::new(ErrorKind::Argument, "pad", message)
                    .help(match mode {
                        PadMode::Reflect => "reflection needs padding shorter than the axis",
                        PadMode::Circular => "circular padding is at most as long as the axis",
                        _ => "no more can be taken away than is there",
                    })
                    .raise();
            }
        }
        if let PadMode::Constant(number) = mode {
            return self.pad_constant(pairs, number);
        }
        let mut y = self.clone();
        for (which, &[before, after]) in pairs.iter().enumerate() {
            y = y.pad_axis(axis(which) as isize, before, after, mode);
        }
        y
    }

    /// One copy into a constant.
    #[track_caller]
    fn pad_constant(&self, pairs: &[[isize; 2]], number: f64) -> Tensor {
        let rank = self.rank();
        let pair = |axis: usize| pairs.get(rank - 1 - axis).copied().unwrap_or([0, 0]);
        let size = |axis: usize| self.shape()[axis] as isize;
        let shape: Shape = (0..rank).map(|axis| (size(axis) + pair(axis)[0] + pair(axis)[1]) as usize).collect();
        // What of the tensor stays, and where it goes.
        let kept = |axis: usize| {
            let [before, after] = pair(axis);
            let start = (-before).clamp(0, size(axis));
            (start, (size(axis) + after.min(0)).max(start))
        };
        let starts = (0..rank).map(|axis| pair(axis)[0].max(0).min(shape[axis] as isize) as i64);
        let stops = (0..rank).map(|axis| {
            let (start, stop) = kept(axis);
            pair(axis)[0].max(0).min(shape[axis] as isize) as i64 + (stop - start) as i64
        });
        let part: Vec<Select> = (0..rank).map(|axis| Select::from(kept(axis).0..kept(axis).1)).collect();
        let inside = self.slice(&part[..]);
        if inside.shape() == &shape[..] {
            return inside;
        }
        let attrs =
            Attrs::new().with_ints("start", starts).with_ints("stop", stops).with_ints("step", (0..rank).map(|_| 1));
        let fill = Tensor::constant(number, &Spec { shape, dtype: self.dtype() });
        bind::bind1(&SLICE_ASSIGN, attrs, &[&fill, &inside])
    }

    #[track_caller]
    fn pad_axis(&self, axis: isize, before: isize, after: isize, mode: PadMode) -> Tensor {
        let size = self.shape()[axis as usize];
        let (left, right) = (before.max(0) as usize, after.max(0) as usize);
        let repeated = |at: usize, count: usize| {
            let mut shape = self.shape().to_vec();
            shape[axis as usize] = count;
            self.narrow(axis, at, 1).broadcast_to(shape)
        };
        let mut parts = Vec::with_capacity(3);
        if left > 0 {
            parts.push(match mode {
                PadMode::Reflect => self.narrow(axis, 1, left).flip(&[axis]),
                PadMode::Circular => self.narrow(axis, size - left, left),
                _ => repeated(0, left),
            });
        }
        parts.push(self.clone());
        if right > 0 {
            parts.push(match mode {
                PadMode::Reflect => self.narrow(axis, size - 1 - right, right).flip(&[axis]),
                PadMode::Circular => self.narrow(axis, 0, right),
                _ => repeated(size - 1, right),
            });
        }
        let whole = Tensor::concat(&parts, axis);
        let start = (-before).max(0) as usize;
        whole.narrow(axis, start, (size as isize + before + after) as usize)
    }
}

/// Diagonals and triangles.
impl Tensor {
    /// The diagonal of a matrix, or the matrix with this vector on its diagonal, `offset` above the main one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).diag(0), Tensor::from([[1.0, 0.0], [0.0, 2.0]]));
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).diag(1), Tensor::from([2.0]));
    /// ```
    #[track_caller]
    pub fn diag(&self, offset: isize) -> Tensor {
        match self.rank() {
            1 => self.diag_embed(offset),
            2 => self.diagonal_of(offset, 0, 1),
            rank => {
                let shape = Shape::from(self.shape());
                Error::new(ErrorKind::Shape(vec![shape]), "diag", format!("needs one or two axes, got {rank}"))
                    .help("diagonal_of takes and diag_embed makes diagonals of any two axes")
                    .raise()
            }
        }
    }

    /// Matrices with the last axis on their diagonal, `offset` above the main one, zeros elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0, 2.0]).diag_embed(-1);
    /// assert_eq!(y, Tensor::from([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn diag_embed(&self, offset: isize) -> Tensor {
        self.diag_embed_axes(offset, -2, -1)
    }

    /// As [`diag_embed`](Tensor::diag_embed), with the new rows and columns at these axes of the result.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([5, 2]).diag_embed_axes(0, 0, 2).shape(), [2, 5, 2]);
    /// ```
    #[track_caller]
    pub fn diag_embed_axes(&self, offset: isize, rows: isize, columns: isize) -> Tensor {
        let x = self.atleast_1d();
        let (length, others) = x.shape().split_last().expect("at least one axis");
        let size = length + offset.unsigned_abs();
        let shape = [others, &[size, size]].concat();
        let rank = shape.len() as i64;
        let attrs =
            Attrs::new().with_int("offset", offset as i64).with_int("rows", rank - 2).with_int("columns", rank - 1);
        let zeros = Tensor::constant(0.0, &Spec::new(shape, self.dtype()));
        let y = match self.dtype() {
            // Truth values are not added; there is nothing to differentiate either.
            crate::DType::Bool => zeros.diagonal_scatter(&x, offset, -2, -1),
            _ => bind::bind1(&DIAGONAL_ADD, attrs, &[&zeros, &x]),
        };
        y.movedim(&[-2, -1], &[rows, columns])
    }

    /// The matrix with all elements on its diagonal, `offset` above the main one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 2]).diagflat(1).shape(), [5, 5]);
    /// ```
    #[track_caller]
    pub fn diagflat(&self, offset: isize) -> Tensor {
        self.flatten().diag_embed(offset)
    }

    /// This tensor's shape filled with one number that may be differentiated.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).fill(7.0), Tensor::from([7.0, 7.0]));
    /// ```
    #[track_caller]
    pub fn fill(&self, number: impl Operand) -> Tensor {
        number.tensor(self.dtype()).broadcast_to(self.shape())
    }
}
