//! Strided inputs and contiguous outputs.
//!
//! Element `(i, j, ..)` of a [`View`] is at `offset + i * strides[0] + j * strides[1] + ..`, counted in elements.
//! Stride 0 broadcasts; strides may be negative.

mod collapse;
mod odometer;

pub use collapse::{Layout, collapse};
pub(crate) use odometer::Odometer;

use crate::dtype::{Compute, DType};

/// A strided, read-only array of any dtype.
///
/// ```
/// use wengert_kernels::{DType, View};
/// let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// // The transpose of a 2 x 3 matrix.
/// let view = View { dtype: DType::F32, bytes: bytemuck::cast_slice(&data), offset: 0, shape: &[3, 2], strides: &[1, 3] };
/// assert_eq!(view.get::<f32>(&[2, 1]), 6.0);
/// assert_eq!(view.at_linear::<f32>(1), 4.0);
/// assert!(!view.is_contiguous());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The type of the elements.
    pub dtype: DType,
    /// The memory that holds the elements.
    pub bytes: &'a [u8],
    /// The position of the first element, in elements.
    pub offset: isize,
    /// The size of each axis.
    pub shape: &'a [usize],
    /// The step along each axis, in elements.
    pub strides: &'a [isize],
}

impl<'a> View<'a> {
    /// The number of elements.
    ///
    /// ```
    /// # use wengert_kernels::{DType, View};
    /// let scalar = View { dtype: DType::U8, bytes: &[7], offset: 0, shape: &[], strides: &[] };
    /// assert_eq!(scalar.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether an axis has size 0.
    ///
    /// ```
    /// # use wengert_kernels::{DType, View};
    /// assert!(View { dtype: DType::U8, bytes: &[], offset: 0, shape: &[3, 0], strides: &[0, 1] }.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether the elements are contiguous in row-major order. Axes of size 1 may have any stride.
    ///
    /// ```
    /// # use wengert_kernels::{DType, View};
    /// assert!(View { dtype: DType::U8, bytes: &[1, 2], offset: 0, shape: &[1, 2], strides: &[77, 1] }.is_contiguous());
    /// ```
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous_length().is_some()
    }

    /// The number of elements, if they are contiguous.
    #[inline]
    fn contiguous_length(&self) -> Option<usize> {
        let mut length = 1;
        for (&size, &stride) in self.shape.iter().zip(self.strides).rev() {
            if size != 1 {
                if stride != length as isize && size != 0 {
                    return self.is_empty().then_some(0);
                }
                length *= size;
            }
        }
        Some(length)
    }

    /// The bytes of the elements, if they are contiguous.
    ///
    /// ```
    /// # use wengert_kernels::{DType, View};
    /// let view = View { dtype: DType::U8, bytes: &[1, 2, 3, 4], offset: 1, shape: &[2], strides: &[1] };
    /// assert_eq!(view.contiguous_bytes(), Some(&[2, 3][..]));
    /// ```
    #[inline]
    pub fn contiguous_bytes(&self) -> Option<&'a [u8]> {
        let bytes = self.contiguous_length()? * self.dtype.size();
        if bytes == 0 {
            // The start of the memory is aligned.
            return Some(&self.bytes[..0]);
        }
        let start = self.offset as usize * self.dtype.size();
        Some(&self.bytes[start..][..bytes])
    }

    /// The elements themselves, if they are contiguous, of type `T` and aligned.
    #[inline]
    pub(crate) fn direct<T: Compute>(&self) -> Option<&'a [T]> {
        if self.dtype != T::DTYPE {
            return None;
        }
        bytemuck::try_cast_slice(self.contiguous_bytes()?).ok()
    }

    /// The element at `index`, converted to `T`. Panics if out of range.
    ///
    /// ```
    /// # use wengert_kernels::{DType, View};
    /// let view = View { dtype: DType::U8, bytes: &[1, 2, 3], offset: 2, shape: &[3], strides: &[-1] };
    /// assert_eq!(view.get::<i64>(&[0]), 3);
    /// ```
    pub fn get<T: Compute>(&self, index: &[usize]) -> T {
        assert_eq!(index.len(), self.shape.len(), "get: the index needs one number per axis");
        let mut position = self.offset;
        for ((&i, &size), &stride) in index.iter().zip(self.shape).zip(self.strides) {
            assert!(i < size, "get: index {index:?} in shape {:?}", self.shape);
            position += i as isize * stride;
        }
        self.element(position)
    }

    /// The element at row-major position `linear`, converted to `T`. Panics if out of range.
    ///
    /// ```
    /// # use wengert_kernels::{DType, View};
    /// let repeated = View { dtype: DType::U8, bytes: &[5, 6], offset: 0, shape: &[2, 3], strides: &[1, 0] };
    /// assert_eq!(repeated.at_linear::<f64>(4), 6.0);
    /// ```
    pub fn at_linear<T: Compute>(&self, linear: usize) -> T {
        assert!(linear < self.len(), "at_linear: position {linear} in shape {:?}", self.shape);
        let mut rest = linear;
        let mut position = self.offset;
        for (&size, &stride) in self.shape.iter().zip(self.strides).rev() {
            position += (rest % size) as isize * stride;
            rest /= size;
        }
        self.element(position)
    }

    fn element<T: Compute>(&self, position: isize) -> T {
        let mut value = [T::ZERO];
        T::load_strided(self.dtype, self.bytes, position, 0, &mut value);
        value[0]
    }
}

/// A row-major, contiguous output of any dtype.
///
/// ```
/// use wengert_kernels::{DType, Out, View, copy};
/// let mut bytes = [0u8; 2];
/// let input = View { dtype: DType::F64, bytes: bytemuck::bytes_of(&[3.5f64, -1.0]), offset: 0, shape: &[2], strides: &[1] };
/// copy(input, Out { dtype: DType::Bool, bytes: &mut bytes });
/// assert_eq!(bytes, [1, 1]);
/// ```
#[derive(Debug)]
pub struct Out<'a> {
    /// The type of the elements.
    pub dtype: DType,
    /// The memory to fill; its length is the element count times the element size.
    pub bytes: &'a mut [u8],
}

impl Out<'_> {
    /// The same memory, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> Out<'_> {
        Out { dtype: self.dtype, bytes: self.bytes }
    }

    /// Writes `value`, converted, at row-major position `linear`. Panics if out of range.
    ///
    /// ```
    /// # use wengert_kernels::{DType, Out};
    /// let mut bytes = [0u8; 2];
    /// Out { dtype: DType::U8, bytes: &mut bytes }.put(1, 7.0f64);
    /// assert_eq!(bytes, [0, 7]);
    /// ```
    pub fn put<T: Compute>(&mut self, linear: usize, value: T) {
        let size = self.dtype.size();
        T::store(&[value], self.dtype, &mut self.bytes[linear * size..][..size]);
    }

    /// Panics unless there is room for exactly `length` elements.
    pub(crate) fn expect_length(&self, length: usize, operation: &str) {
        assert_eq!(
            self.bytes.len(),
            length * self.dtype.size(),
            "{operation}: the output must hold {length} elements of {}",
            self.dtype
        );
    }
}

#[cfg(test)]
pub(crate) mod samples;

#[cfg(test)]
mod tests {
    use super::samples::{Sample, random_shape};

    #[test]
    fn get_and_at_linear_agree_on_every_element() {
        for seed in 0..200 {
            let sample = Sample::random(crate::DType::F64, &random_shape(seed, 5), seed);
            let view = sample.view();
            for (linear, expected) in sample.values::<f64>().into_iter().enumerate() {
                assert_eq!(view.at_linear::<f64>(linear), expected);
            }
            assert_eq!(view.len(), sample.values::<f64>().len());
        }
    }
}
