//! Padding; composed of slice, flip and concat.

use crate::autograd::modes::within;
use crate::methods::*;
use crate::movement::slice_update::SLICE_ASSIGN;
use crate::primitive::{Attrs, Spec};
use crate::{Error, ErrorKind, Select, Shape, Tensor, bind};
use easy_ext::ext;

/// How [`Tensor::pad`] fills the added positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// With one number.
    Constant(f64),
    /// With the elements mirrored at the border element: `c b | a b c | b a`.
    Reflect,
    /// With the border element: `a a | a b c | c c`.
    Replicate,
    /// With the elements from the other end: `b c | a b c | a b`. Negative padding is applied first: with [-1, 1] the result is `b c | b`.
    Circular,
}

/// The methods of `padding`.
#[ext(PaddingMethods)]
impl Tensor {
    /// Adds positions before and after the last axes: `[before, after]` of the last axis, then of the one before it, and so on, as in
    /// PyTorch. Negative numbers remove positions.
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
        let _name = within("pad");
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
                PadMode::Circular => size - cut,
            };
            // An edge may lie in the positions that the other side adds, so only the total matters.
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
                        PadMode::Circular => "circular padding is at most as long as what is left of the axis",
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
}

#[ext(PaddingParts)]
impl Tensor {
    /// Copies once into a constant.
    #[track_caller]
    fn pad_constant(&self, pairs: &[[isize; 2]], number: f64) -> Tensor {
        let rank = self.rank();
        let pair = |axis: usize| pairs.get(rank - 1 - axis).copied().unwrap_or([0, 0]);
        let size = |axis: usize| self.shape()[axis] as isize;
        let shape: Shape = (0..rank).map(|axis| (size(axis) + pair(axis)[0] + pair(axis)[1]) as usize).collect();
        // The part of the tensor that stays, and its position in the result.
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
        let cut = (-before).max(0) as usize;
        let kept = (size as isize + before.min(0) + after.min(0)) as usize;
        if mode == PadMode::Circular && kept < size {
            let inner = self.narrow(axis, cut, kept);
            return inner.pad_axis(axis, before.max(0), after.max(0), mode);
        }
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
        whole.narrow(axis, cut, (size as isize + before + after) as usize)
    }
}
