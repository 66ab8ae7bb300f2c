//! Merges axes that form a single axis in memory.

use smallvec::SmallVec;

/// The sizes and strides of a few axes, in practice without a heap allocation.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// The sizes.
    pub shape: SmallVec<[usize; 6]>,
    /// The strides.
    pub strides: SmallVec<[isize; 6]>,
}

impl Layout {
    /// The number of axes.
    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Adds an innermost axis, merged with the last one if memory allows. The element order is preserved.
    pub(crate) fn push(&mut self, size: usize, stride: isize) {
        if size == 1 {
            return;
        }
        if let (Some(last_size), Some(last_stride)) = (self.shape.last_mut(), self.strides.last_mut())
            && *last_stride == size as isize * stride
        {
            *last_size *= size;
            *last_stride = stride;
            return;
        }
        self.shape.push(size);
        self.strides.push(stride);
    }
}

/// The same elements in the same order with as few axes as possible; axes of size 1 are removed.
///
/// Outer and inner axes merge when `outer stride = inner size * inner stride`.
pub fn collapse(shape: &[usize], strides: &[isize]) -> Layout {
    let mut layout = Layout::default();
    for (&size, &stride) in shape.iter().zip(strides) {
        layout.push(size, stride);
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_axes_become_one_and_broadcast_axes_too() {
        assert_eq!(collapse(&[2, 3, 4], &[12, 4, 1]), collapse(&[24], &[1]));
        assert_eq!(collapse(&[2, 3], &[0, 0]), collapse(&[6], &[0]));
        assert_eq!(collapse(&[2, 1, 3], &[3, 99, 1]), collapse(&[6], &[1]));
        assert_eq!(collapse(&[], &[]).rank(), 0);
    }

    #[test]
    fn transposes_and_rows_of_a_broadcast_stay_apart() {
        assert_eq!(collapse(&[3, 2], &[1, 3]).rank(), 2);
        assert_eq!(collapse(&[4, 3], &[0, 1]).rank(), 2);
        assert_eq!(collapse(&[5, 3, 2], &[6, 1, 3]).rank(), 3);
    }
}
