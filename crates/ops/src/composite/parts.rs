//! Parts of tensors, and rearranged parts; composed of slice, flip and concat.

use crate::error::OrRaise;
use crate::methods::*;
use crate::rules::checked_axis;
use crate::{Error, ErrorKind, Select, Tensor};
use easy_ext::ext;
use wengert_kernels::pool;

/// The methods of `parts`.
#[ext(PartsMethods)]
impl Tensor {
    /// The `length` positions from `start` along `axis`, without copying.
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

    /// One position along `axis`, which is removed; negative positions count from the end.
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

    /// This tensor with `values` written at one position along `axis`.
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

    /// Splits into pieces of `size` along `axis`, without copying; the last may be shorter.
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
        expect_room_for("split", starts.len());
        let sizes: Vec<usize> = starts.map(|start| size.min(length - start)).collect();
        self.split_sizes(&sizes, axis as isize)
    }

    /// Splits into pieces of these sizes along `axis`, without copying.
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

    /// Splits into at most `count` pieces of equal size along `axis`, without copying; the last may be shorter.
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

    /// Splits into `count` pieces of nearly equal size along `axis`, the longer ones first, without copying.
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
        expect_room_for("tensor_split", count);
        let sizes: Vec<usize> = (0..count).map(|i| length / count + usize::from(i < length % count)).collect();
        self.split_sizes(&sizes, axis as isize)
    }

    /// Splits at these positions along `axis`, without copying.
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
            // Positions beyond the end or before the previous one give empty pieces.
            let (from, to) = (start.min(length), stop.min(length));
            parts.push(self.narrow(axis as isize, from, to.saturating_sub(from)));
            start = stop;
        }
        parts
    }

    /// Every position along `axis` as a separate tensor, without copying.
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

    /// Shifts the elements along each of these axes; elements that leave at one end reenter at the other.
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

    /// Rotates by `quarters` of 90 degrees in the plane of two axes, from the first toward the second, without copying.
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

/// Selects whole axes before `axis`, and `select` there.
fn along(axis: usize, select: Select) -> Vec<Select> {
    (0..axis).map(|_| Select::from(..)).chain([select]).collect()
}

/// Raises an error if there is no memory for this many tensors.
#[track_caller]
fn expect_room_for(name: &str, pieces: usize) {
    let bytes = pieces.saturating_mul(size_of::<Tensor>() + size_of::<usize>());
    let refused = |refused| Error::out_of_memory(name, format_args!("a list of {pieces} tensors"), refused);
    pool::request(bytes).map_err(refused).or_raise();
}
