//! Shapes, and the layouts that place their elements in memory.

use crate::{Error, ErrorKind};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;
use wengert_kernels::view::View;

/// The most axes a tensor can have.
pub const MOST_AXES: usize = 64;

/// The sizes of a tensor's axes; a scalar has none.
///
/// ```
/// use wengert::prelude::*;
/// let shape = Shape::from([2, 3]);
/// assert_eq!(shape.elements(), 6);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// ```
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

/// Copies the sizes as a block; the derived impl goes through an iterator.
impl Clone for Shape {
    #[inline]
    fn clone(&self) -> Shape {
        Shape(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    /// The number of elements of a tensor of this shape.
    pub fn elements(&self) -> usize {
        elements(self)
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// An error if no tensor can have this shape.
    #[doc(hidden)]
    pub fn check(&self, name: &str) -> Result<(), Error> {
        let message = match (self.rank() > MOST_AXES, self.elements() > isize::MAX as usize / 8) {
            (true, _) => format!("a shape of {} axes is more than the {MOST_AXES} a tensor can have", self.rank()),
            (_, true) => format!("shape {self} has more elements than memory can hold"),
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Shape(vec![self.clone()]), name, message))
    }

    /// The shape without the axes that `dropped` marks.
    #[doc(hidden)]
    pub fn without(&self, dropped: &[bool]) -> Shape {
        self.iter().zip(dropped).filter(|(_, dropped)| !**dropped).map(|(&size, _)| size).collect()
    }

    /// This shape with one more axis in front.
    #[doc(hidden)]
    pub fn prepended(&self, size: usize) -> Shape {
        std::iter::once(size).chain(self.iter().copied()).collect()
    }

    /// The sizes, for writing.
    #[doc(hidden)]
    pub fn sizes_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

/// An axis as any integer type; negative axes count from the end.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::zeros([2, 3]);
/// assert_eq!(x.unsqueeze(-1).shape(), x.unsqueeze(x.rank()).shape());
/// ```
pub trait AnyAxis: Copy {
    /// The axis with its sign.
    fn signed(self) -> isize;
}

macro_rules! any_axis {
    ($($int:ty),*) => {$(
        impl AnyAxis for $int {
            fn signed(self) -> isize { isize::try_from(self).unwrap_or(isize::MAX) }
        }
    )*};
}
any_axis!(i32, i64, isize, usize);

/// The product of the sizes. It saturates at the largest number instead of wrapping.
pub fn elements(sizes: &[usize]) -> usize {
    match sizes.contains(&0) {
        true => 0,
        false => sizes.iter().fold(1, |product: usize, &size| product.saturating_mul(size)),
    }
}

impl AsRef<[usize]> for Shape {
    fn as_ref(&self) -> &[usize] {
        self
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Shape {
        Shape(sizes.into_iter().collect())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(sizes: [usize; N]) -> Shape {
        Shape(SmallVec::from_slice(&sizes))
    }
}

impl From<&[usize]> for Shape {
    fn from(sizes: &[usize]) -> Shape {
        Shape(SmallVec::from_slice(sizes))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Shape {
        Shape(SmallVec::from_vec(sizes))
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        shape.clone()
    }
}

impl From<usize> for Shape {
    fn from(size: usize) -> Shape {
        Shape::from([size])
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0[..])
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        self[..] == other[..]
    }
}

/// The shape of two tensors after NumPy broadcasting, if they are compatible.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let rank = a.len().max(b.len());
    let from_end = |sizes: &[usize], back: usize| sizes.len().checked_sub(back + 1).map_or(1, |axis| sizes[axis]);
    let mut shape: Shape = (0..rank).map(|_| 1).collect();
    for back in 0..rank {
        let size = match (from_end(a, back), from_end(b, back)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return None,
        };
        shape.0[rank - 1 - back] = size;
    }
    Some(shape)
}

/// The position of element `index` in memory: `offset + sum(index * stride)`, in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The sizes of the axes.
    pub shape: Shape,
    /// The step along each axis.
    pub strides: SmallVec<[isize; 4]>,
    /// The position of the first element.
    pub offset: isize,
}

impl Layout {
    /// The layout of a view.
    ///
    /// ```
    /// use wengert::{prelude::*, primitive::{Layout, view_of}};
    /// let x = Tensor::zeros([2, 3]).contiguous();
    /// assert_eq!(Layout::of(view_of(&x.t()).unwrap()).strides[..], [1, 3]);
    /// ```
    pub fn of(view: View<'_>) -> Layout {
        Layout { shape: Shape::from(view.shape), strides: SmallVec::from_slice(view.strides), offset: view.offset }
    }

    /// The view of the same memory as `view`, with this layout.
    ///
    /// ```
    /// use wengert::{prelude::*, primitive::{Layout, find, Attrs, view_of}};
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let (view, spec) = (view_of(&x).unwrap(), x.spec());
    /// let transpose = find("transpose").unwrap();
    /// let attrs = Attrs::new().with_sizes("permutation", &[1, 0]);
    /// let layout = transpose.view(&attrs, &Layout::of(view), &spec).unwrap();
    /// assert_eq!(layout.over(view).at_linear::<f64>(1), 3.0);
    /// ```
    pub fn over<'a>(&'a self, view: View<'a>) -> View<'a> {
        View { offset: self.offset, shape: &self.shape, strides: &self.strides, ..view }
    }

    /// Row-major from the start of the buffer.
    #[doc(hidden)]
    pub fn contiguous(shape: Shape) -> Layout {
        // Strides are written where they stay: a move right after that would wait for it.
        let mut layout = Layout { strides: SmallVec::from_elem(0, shape.rank()), shape, offset: 0 };
        let mut stride = 1;
        for (own, size) in layout.strides.iter_mut().zip(layout.shape.iter()).rev() {
            *own = stride;
            stride *= *size as isize;
        }
        layout
    }

    /// Whether the elements lie row-major without gaps (axes of size one may have any stride).
    #[doc(hidden)]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for axis in (0..self.shape.rank()).rev() {
            if self.shape[axis] != 1 {
                if self.strides[axis] != expected {
                    return false;
                }
                expected *= self.shape[axis] as isize;
            }
        }
        true
    }

    /// Whether every element has the same position in memory: the layout of a broadcast scalar.
    #[doc(hidden)]
    pub fn is_splat(&self) -> bool {
        self.shape.iter().zip(&self.strides).all(|(&size, &stride)| stride == 0 || size == 1)
    }

    /// The layout at one index of the first axis.
    #[doc(hidden)]
    pub fn at(&self, place: usize) -> Layout {
        let offset = self.offset + place as isize * self.strides[0];
        Layout { offset, shape: self.shape[1..].iter().copied().collect(), strides: self.strides[1..].into() }
    }

    /// The view with the axes in the order `permutation`.
    #[doc(hidden)]
    pub fn permuted(&self, permutation: &[usize]) -> Layout {
        Layout {
            shape: permutation.iter().map(|&axis| self.shape[axis]).collect(),
            strides: permutation.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        }
    }

    /// The view that repeats axes of size one (and missing leading axes) up to `shape`.
    #[doc(hidden)]
    pub fn broadcast(&self, shape: &Shape) -> Layout {
        let missing = shape.rank() - self.shape.rank();
        let stride = |axis: usize| match axis.checked_sub(missing) {
            Some(own) if self.shape[own] == shape[axis] => self.strides[own],
            _ => 0,
        };
        Layout { shape: shape.clone(), strides: (0..shape.rank()).map(stride).collect(), offset: self.offset }
    }

    /// The view of every `step`-th element from `start`, `shape` of them along each axis.
    #[doc(hidden)]
    pub fn sliced(&self, start: &[i64], step: &[i64], shape: Shape) -> Layout {
        let skipped: isize = self.strides.iter().zip(start).map(|(&stride, &start)| stride * start as isize).sum();
        let offset = if elements(&shape) == 0 { self.offset } else { self.offset + skipped };
        // A step beyond the axis, of any size, leaves one element.
        let stride = |axis: usize| self.strides[axis] * if shape[axis] > 1 { step[axis] as isize } else { 1 };
        let strides = (0..shape.rank()).map(stride).collect();
        Layout { shape, strides, offset }
    }

    /// The view with another shape of the same number of elements, if strides can express it.
    #[doc(hidden)]
    pub fn reshaped(&self, shape: &Shape) -> Option<Layout> {
        if elements(&self.shape) == 0 {
            return Some(Layout { offset: self.offset, ..Layout::contiguous(shape.clone()) });
        }
        let old: SmallVec<[(usize, isize); 4]> =
            (self.shape.iter().copied().zip(self.strides.iter().copied())).filter(|&(size, _)| size != 1).collect();
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, shape.rank());
        let (mut from, mut axis) = (0, 0);
        // Both shapes are cut into the shortest groups of axes with equal products. Within a group, each old axis must step over exactly
        // the next one.
        while from < old.len() {
            let (mut old_end, mut old_product) = (from + 1, old[from].0);
            while axis < shape.rank() && shape[axis] == 1 {
                axis += 1;
            }
            let (mut new_end, mut new_product) = (axis + 1, shape[axis]);
            while old_product != new_product {
                if old_product < new_product {
                    old_product *= old[old_end].0;
                    old_end += 1;
                } else {
                    new_product *= shape[new_end];
                    new_end += 1;
                }
            }
            for pair in old[from..old_end].windows(2) {
                if pair[0].1 != pair[1].1 * pair[1].0 as isize {
                    return None;
                }
            }
            let mut stride = old[old_end - 1].1;
            for new in (axis..new_end).rev() {
                strides[new] = stride;
                stride *= shape[new] as isize;
            }
            (from, axis) = (old_end, new_end);
        }
        Some(Layout { shape: shape.clone(), strides, offset: self.offset })
    }
}

/// The inverse of a permutation.
pub fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (to, &from) in permutation.iter().enumerate() {
        inverse[from] = to;
    }
    inverse
}
