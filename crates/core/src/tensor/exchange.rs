//! Memory shared with other code: borrowed elements, and tensors over memory that third-party code owns.

use super::convert::filled;
use super::{Scalar, Shape, Tensor, Value};
use crate::error::OrRaise;
use crate::primitive::Spec;
use crate::{DType, Error, ErrorKind};
use wengert_kernels::pool::Block;

impl Tensor {
    /// A tensor over the row-major elements that `owner` holds: a vector, an [`Arc`](std::sync::Arc) of a slice, a memory-mapped file, an
    /// array of another library.
    ///
    /// Nothing is copied, except a single element. The memory only has to be aligned as `T` is. It is never written to: an update of the
    /// tensor copies it first. The owner is dropped together with the last tensor that uses its memory, on whichever thread that happens.
    /// The memory does not count as memory of the pool ([`memory::statistics`](crate::memory::statistics)).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wengert::prelude::*;
    /// let numbers: Arc<[f32]> = Arc::from([1.0, 2.0, 3.0, 4.0]);
    /// let mut x = Tensor::from_owner(numbers.clone(), [2, 2]);
    /// assert_eq!(x.as_slice::<f32>().as_ptr(), numbers.as_ptr());
    /// x += 1.0;
    /// assert_eq!(x, Tensor::from([[2.0f32, 3.0], [4.0, 5.0]]));
    /// assert_eq!(numbers[..], [1.0, 2.0, 3.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn from_owner<T: Scalar>(owner: impl AsRef<[T]> + Send + Sync + 'static, shape: impl Into<Shape>) -> Tensor {
        Tensor::try_from_owner(owner, shape).or_raise()
    }

    /// A tensor over the row-major elements that `owner` holds, or an error if they do not fit; see [`from_owner`](Tensor::from_owner).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let error = Tensor::try_from_owner(vec![1.0, 2.0], [3]).unwrap_err();
    /// assert!(error.to_string().contains("2 numbers do not fill shape [3]"));
    /// ```
    pub fn try_from_owner<T: Scalar>(
        owner: impl AsRef<[T]> + Send + Sync + 'static,
        shape: impl Into<Shape>,
    ) -> Result<Tensor, Error> {
        let block = Block::from_owner(owner);
        let spec = filled::<T>("from_owner", block.len() / size_of::<T>(), shape.into())?;
        Ok(Tensor::from_block(spec, block))
    }

    /// Borrows all elements in row-major order, without a copy. As for [`to_vec`](Tensor::to_vec), a tensor inside a derivative has values;
    /// a traced or batched one has none.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.as_slice::<f64>(), [1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.t().contiguous().as_slice::<f64>(), [1.0, 3.0, 2.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn as_slice<T: Scalar>(&self) -> &[T] {
        self.try_as_slice().or_raise()
    }

    /// Borrows all elements in row-major order, or returns an error if it cannot: the dtype or the order in memory differs, or the tensor
    /// has no values.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let transposed = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t();
    /// let error = transposed.try_as_slice::<f64>().unwrap_err();
    /// assert_eq!(*error.kind(), ErrorKind::NotContiguous);
    /// ```
    pub fn try_as_slice<T: Scalar>(&self) -> Result<&[T], Error> {
        self.lent("as_slice")
    }

    /// Borrows the bytes of all elements in row-major order, each element little-endian.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1i32, 256]).as_bytes(), [1, 0, 0, 0, 0, 1, 0, 0]);
    /// ```
    #[track_caller]
    pub fn as_bytes(&self) -> &[u8] {
        self.try_as_bytes().or_raise()
    }

    /// Borrows the bytes of all elements in row-major order, or returns an error if it cannot.
    pub fn try_as_bytes(&self) -> Result<&[u8], Error> {
        row_major("as_bytes", self.numbers("as_bytes")?)
    }

    /// A tensor of these bytes: elements in row-major order, each little-endian, such as [`as_bytes`](Tensor::as_bytes) lends them. An
    /// error if they do not fill the shape, or if a boolean is neither 0 nor 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::try_from_bytes(&[1, 0, 0, 0, 0, 1, 0, 0], DType::I32, [2])?;
    /// assert_eq!(x, Tensor::from([1i32, 256]));
    /// assert!(Tensor::try_from_bytes(&[2], DType::Bool, [1]).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn try_from_bytes(bytes: &[u8], dtype: DType, shape: impl Into<Shape>) -> Result<Tensor, Error> {
        let shape = shape.into();
        shape.check("from_bytes")?;
        let wanted = shape.iter().try_fold(dtype.size(), |bytes, size| bytes.checked_mul(*size));
        if wanted != Some(bytes.len()) {
            let message = format!("{} bytes do not fill shape {shape} of {dtype}", bytes.len());
            return Err(Error::new(ErrorKind::Shape(vec![shape]), "from_bytes", message));
        }
        if dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
            return Err(Error::new(ErrorKind::Range, "from_bytes", "a boolean is neither 0 nor 1"));
        }
        Ok(Tensor::build(&Spec { shape, dtype }, |out| out.bytes.copy_from_slice(bytes)).0)
    }

    /// Borrows all elements on behalf of `reader`.
    pub(super) fn lent<T: Scalar>(&self, reader: &str) -> Result<&[T], Error> {
        let bytes = row_major(reader, self.numbers_of::<T>(reader)?)?;
        Ok(bytemuck::checked::cast_slice(bytes))
    }
}

fn row_major<'a>(reader: &str, value: &'a Value) -> Result<&'a [u8], Error> {
    let view = value.view();
    view.contiguous_bytes().ok_or_else(|| {
        let message = format!("the numbers of shape {} do not lie row-major without gaps", Shape::from(view.shape));
        Error::new(ErrorKind::NotContiguous, reader, message)
            .help("contiguous() copies them into that order, to_vec() copies from any order")
    })
}
