//! The axes of a reduction.

use super::{AnyAxis, Tensor};
use crate::rules::{checked_axes, keep_axes};
use crate::{Error, ErrorKind};
use smallvec::SmallVec;
use std::ops::RangeFull;

/// The axes that a reduction runs over: one axis, an array of axes, or `..` for all. Negative axes count from the end. The axes are removed
/// from the result; with [`keepdim`] they stay, with size one.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.sum_over(0), Tensor::from([4.0, 6.0]));
/// assert_eq!(x.sum_over([0, -1]).item(), 10.0);
/// assert_eq!(x.sum_over(keepdim(1)), Tensor::from([[3.0], [7.0]]));
/// assert_eq!(x.sum_over(..), x.sum());
/// ```
#[derive(Clone, Debug)]
pub struct Over {
    /// `None` means all axes.
    axes: Option<SmallVec<[isize; 4]>>,
    keepdim: bool,
}

/// The same axes, kept in the result with size one, so that it broadcasts against the operand.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 3.0], [2.0, 6.0]]);
/// assert_eq!(&x - x.mean_over(keepdim(1)), Tensor::from([[-1.0, 1.0], [-2.0, 2.0]]));
/// ```
pub fn keepdim(axes: impl Into<Over>) -> Over {
    Over { keepdim: true, ..axes.into() }
}

#[doc(hidden)]
impl Over {
    /// The axes as non-negative indices, in ascending order.
    pub fn checked(&self, name: &str, shape: &[usize]) -> Result<Vec<usize>, Error> {
        match &self.axes {
            None => Ok((0..shape.len()).collect()),
            Some(axes) => checked_axes(name, axes, shape),
        }
    }

    /// The axes in the given order, or an error unless there are exactly `N`.
    pub fn exactly<const N: usize>(&self, name: &str) -> Result<[isize; N], Error> {
        let named = self.axes.as_deref();
        named.and_then(|axes| <[isize; N]>::try_from(axes).ok()).ok_or_else(|| {
            let given = named.map_or("all axes".into(), |axes| format!("axes {axes:?}"));
            let wanted = if N == 1 { "one axis".into() } else { format!("{N} axes") };
            let help = "`reshape` or `flatten` makes one axis of several";
            Error::new(ErrorKind::Argument, name, format!("it takes {wanted}, not {given}")).help(help)
        })
    }

    /// Whether the axes are kept with size one.
    pub fn keeps(&self) -> bool {
        self.keepdim
    }

    /// The result of a reduction over the checked axes of `shape`, with those axes put back if they are kept.
    #[track_caller]
    pub fn kept(&self, reduced: Tensor, axes: &[usize], shape: &[usize]) -> Tensor {
        if self.keepdim { keep_axes(reduced, axes, shape) } else { reduced }
    }
}

impl<A: AnyAxis> From<A> for Over {
    fn from(axis: A) -> Over {
        Over::from(&[axis][..])
    }
}

impl<A: AnyAxis> From<&[A]> for Over {
    fn from(axes: &[A]) -> Over {
        Over { axes: Some(axes.iter().map(|axis| axis.signed()).collect()), keepdim: false }
    }
}

impl<A: AnyAxis, const N: usize> From<[A; N]> for Over {
    fn from(axes: [A; N]) -> Over {
        Over::from(&axes[..])
    }
}

impl<A: AnyAxis, const N: usize> From<&[A; N]> for Over {
    fn from(axes: &[A; N]) -> Over {
        Over::from(&axes[..])
    }
}

impl<A: AnyAxis> From<&Vec<A>> for Over {
    fn from(axes: &Vec<A>) -> Over {
        Over::from(&axes[..])
    }
}

impl<A: AnyAxis> From<Vec<A>> for Over {
    fn from(axes: Vec<A>) -> Over {
        Over::from(&axes[..])
    }
}

/// All axes.
impl From<RangeFull> for Over {
    fn from(_: RangeFull) -> Over {
        Over { axes: None, keepdim: false }
    }
}
