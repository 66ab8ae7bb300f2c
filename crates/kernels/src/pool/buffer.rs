//! A typed buffer with a single owner: the scratch memory of a kernel.

use super::Block;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A slice in memory from the pool.
///
/// ```
/// use wengert_kernels::pool::Buffer;
/// let mut sums = Buffer::<f64>::zeros(3);
/// sums[1] += 2.0;
/// assert_eq!(sums[..], [0.0, 2.0, 0.0]);
/// ```
pub struct Buffer<T> {
    block: Block,
    of: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// `length` elements with arbitrary but initialised contents.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::pool::Buffer::<f32>::new(5).len(), 5);
    /// ```
    #[inline]
    pub fn new(length: usize) -> Buffer<T> {
        Buffer { block: Block::new(length.saturating_mul(size_of::<T>())), of: PhantomData }
    }

    /// `length` elements whose bytes are all 0.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::pool::Buffer::<i64>::zeros(2)[..], [0, 0]);
    /// ```
    #[inline]
    pub fn zeros(length: usize) -> Buffer<T> {
        let mut zeros = Buffer::new(length);
        zeros.fill(T::zeroed());
        zeros
    }

    /// The first `length` elements of the iterator `elements`.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::pool::Buffer::from_elements(3, 5usize..)[..], [5, 6, 7]);
    /// ```
    #[inline]
    pub fn from_elements(length: usize, elements: impl IntoIterator<Item = T>) -> Buffer<T> {
        let mut buffer = Buffer::new(length);
        let mut elements = elements.into_iter();
        buffer.fill_with(|| elements.next().expect("as many elements as were announced"));
        buffer
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(self.block.bytes())
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.block.bytes_mut().expect("a buffer has one owner"))
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}
