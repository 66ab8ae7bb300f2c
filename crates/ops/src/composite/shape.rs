//! Shape changes composed of reshape, transpose and broadcast. Axes count from 0, or from the end if negative.

use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::Spec;
use crate::rules::axis_of;
use crate::rules::checked_axis;
use crate::tensor::broadcast;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;
use std::borrow::Borrow;

/// Sizes with -1 replaced by the size that makes up `elements`.
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
/// The methods of `shape`.
#[ext(ShapeMethods)]
impl Tensor {
    /// The same elements in another shape, in which one size may be -1 and is inferred.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([4, 6]).view([3, -1]).shape(), [3, 8]);
    /// ```
    #[track_caller]
    pub fn view(&self, sizes: impl AsRef<[isize]>) -> Tensor {
        self.reshape(inferred("view", sizes.as_ref(), self.elements()))
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

    /// Splits one axis into several; one size may be -1 and is inferred.
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

    /// Removes all axes of size one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 1, 3, 1]).squeeze().shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn squeeze(&self) -> Tensor {
        self.reshape(self.shape().iter().copied().filter(|&size| size != 1).collect::<Shape>())
    }

    /// Removes those of these axes that have size one; the others stay.
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

    /// Adds axes up to at least one: a scalar becomes a vector.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).atleast_1d().shape(), [1]);
    /// ```
    #[track_caller]
    pub fn atleast_1d(&self) -> Tensor {
        if self.rank() == 0 { self.reshape([1]) } else { self.clone() }
    }

    /// Adds axes up to at least two: a vector becomes one row.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3]).atleast_2d().shape(), [1, 3]);
    /// ```
    #[track_caller]
    pub fn atleast_2d(&self) -> Tensor {
        if self.rank() < 2 { self.reshape([1, self.elements()]) } else { self.clone() }
    }

    /// Adds axes up to at least three: a vector becomes `[1, n, 1]`, a matrix gets a last axis.
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

    /// Swaps two axes.
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

    /// Moves axes to other positions; the rest keep their order.
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

    /// Broadcasts axes of size one to these sizes, without copying; -1 leaves an axis unchanged.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3, 1]).expand([2, -1, 4]).shape(), [2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn expand(&self, sizes: impl AsRef<[isize]>) -> Tensor {
        let sizes = sizes.as_ref();
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

    /// The whole tensor repeated along each axis; if there are more counts than axes, leading axes are added.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat([2]), Tensor::from([1.0, 2.0, 1.0, 2.0]));
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat([2, 1]), Tensor::from([[1.0, 2.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn repeat(&self, counts: impl AsRef<[usize]>) -> Tensor {
        let counts = counts.as_ref();
        if counts.len() < self.rank() {
            let message = format!("{} counts for the {} axes", counts.len(), self.rank());
            Error::new(ErrorKind::Argument, "repeat", message).help("tile takes fewer counts than axes").raise();
        }
        let missing = counts.len() - self.rank();
        let size = |axis: usize| axis.checked_sub(missing).map_or(1, |own| self.shape()[own]);
        // Each axis of size n becomes [count, n]: broadcasting the first is free, then both are merged in one copy.
        let apart: Shape = (0..counts.len()).flat_map(|axis| [1, size(axis)]).collect();
        let repeated: Shape = (0..counts.len()).flat_map(|axis| [counts[axis], size(axis)]).collect();
        let merged: Shape = (0..counts.len()).map(|axis| counts[axis].saturating_mul(size(axis))).collect();
        Spec::new(&merged[..], self.dtype()).check("repeat").or_raise();
        self.reshape(apart).broadcast_to(repeated).reshape(merged)
    }

    /// Repeats each slice along `axis` `count` times in place.
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
        let merged = [&shape[..axis], &[shape[axis].saturating_mul(count)], &shape[axis + 1..]].concat();
        Spec::new(&merged[..], self.dtype()).check("repeat_interleave").or_raise();
        x.reshape(apart).broadcast_to(repeated).reshape(merged)
    }

    /// Repeats each element `count` times in place, row-major in one axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0], [2.0]]).repeat_interleave_flat(2), Tensor::from([1.0, 1.0, 2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn repeat_interleave_flat(&self, count: usize) -> Tensor {
        self.flatten().repeat_interleave(count, 0)
    }

    /// Repeats each slice along `axis` as many times as its entry in `counts`.
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
        let total = counts.iter().fold(0usize, |total, &count| total.saturating_add(count));
        Spec::new([total], DType::I64).check("repeat_interleave").or_raise();
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
