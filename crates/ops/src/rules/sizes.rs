//! Sizes of windows: one for all axes, or one for each.

use crate::{Error, ErrorKind};

/// The largest size, stride or padding of windows, so that products of two of them do not overflow.
pub const LARGEST: usize = 1 << 31;

/// One size for all spatial axes, or one for each; `None` means the default.
///
/// ```
/// use wengert::Sizes;
/// assert_eq!(Sizes::from(2), Sizes::from([2]));
/// assert_ne!(Sizes::from([2, 3]), Sizes::from([Some(2), None]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(Vec<Option<usize>>);

impl Sizes {
    /// The sizes of `axes` axes.
    #[track_caller]
    pub(crate) fn each(&self, name: &str, what: &str, axes: usize, usual: usize) -> Vec<usize> {
        self.each_or(name, what, &vec![usual; axes])
    }

    /// The sizes of the axes, given their defaults.
    #[track_caller]
    pub(crate) fn each_or(&self, name: &str, what: &str, usual: &[usize]) -> Vec<usize> {
        match &self.0[..] {
            [one] => usual.iter().map(|&usual| one.unwrap_or(usual)).collect(),
            each if each.len() == usual.len() => {
                each.iter().zip(usual).map(|(size, &usual)| size.unwrap_or(usual)).collect()
            }
            each => {
                let message = format!("{} sizes of the {what} for {} spatial axes", each.len(), usual.len());
                Error::new(ErrorKind::Argument, name, message).help("give one number, or one for each axis").raise()
            }
        }
    }
}

impl From<usize> for Sizes {
    fn from(size: usize) -> Sizes {
        Sizes(vec![Some(size)])
    }
}

impl<const N: usize> From<[usize; N]> for Sizes {
    fn from(sizes: [usize; N]) -> Sizes {
        Sizes::from(&sizes[..])
    }
}

impl From<&[usize]> for Sizes {
    fn from(sizes: &[usize]) -> Sizes {
        Sizes(sizes.iter().copied().map(Some).collect())
    }
}

impl From<Vec<usize>> for Sizes {
    fn from(sizes: Vec<usize>) -> Sizes {
        Sizes::from(&sizes[..])
    }
}

impl<const N: usize> From<[Option<usize>; N]> for Sizes {
    fn from(sizes: [Option<usize>; N]) -> Sizes {
        Sizes(sizes.to_vec())
    }
}

impl From<Vec<Option<usize>>> for Sizes {
    fn from(sizes: Vec<Option<usize>>) -> Sizes {
        Sizes(sizes)
    }
}

/// The sizes of the last axes as those of three; missing axes come first.
pub fn window_sizes(sizes: &[usize], rest: usize) -> [usize; 3] {
    std::array::from_fn(|axis| (axis + sizes.len()).checked_sub(3).map_or(rest, |axis| sizes[axis]))
}
