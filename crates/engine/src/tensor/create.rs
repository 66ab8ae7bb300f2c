//! Creation without data.

use super::{DType, Layout, Shape, Tensor, Value};
use crate::error::OrRaise;
use crate::primitive::Spec;
use wengert_kernels::convert_bits;

impl Tensor {
    /// A tensor of `shape` filled with one number. It takes the memory of that number until it is written to.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::full([2], 3.0f32), Tensor::from([3.0f32, 3.0]));
    /// ```
    #[track_caller]
    pub fn full<T: super::Scalar>(shape: impl Into<Shape>, number: T) -> Tensor {
        Tensor::splat(number.to_bits64(), T::DTYPE, shape.into())
    }

    /// Zeros of dtype f64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3]).to_vec::<f64>(), [0.0; 3]);
    /// ```
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>) -> Tensor {
        Tensor::full(shape, 0.0)
    }

    /// Ones of dtype f64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([3]).to_vec::<f64>(), [1.0; 3]);
    /// ```
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>) -> Tensor {
        Tensor::full(shape, 1.0)
    }

    /// The identity matrix of dtype f64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::eye(2), Tensor::from([[1.0, 0.0], [0.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn eye(size: usize) -> Tensor {
        Shape::from([size, size]).check("eye").or_raise();
        Tensor::from_vec((0..size * size).map(|i| f64::from(i % (size + 1) == 0)).collect(), [size, size])
    }

    /// Whole numbers from 0 up, of dtype i64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::arange(3), Tensor::from([0i64, 1, 2]));
    /// ```
    pub fn arange(count: usize) -> Tensor {
        Tensor::from_vec((0..count as i64).collect(), [count])
    }

    /// `number` in `spec`'s dtype and shape.
    #[track_caller]
    pub fn constant(number: f64, spec: &Spec) -> Tensor {
        Tensor::splat(convert_bits(number.to_bits(), DType::F64, spec.dtype), spec.dtype, spec.shape.clone())
    }

    /// `number` in this tensor's dtype and shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.5f32, 2.5]).full_like(7.0), Tensor::from([7.0f32, 7.0]));
    /// ```
    #[track_caller]
    pub fn full_like(&self, number: f64) -> Tensor {
        Tensor::constant(number, &self.spec())
    }

    #[track_caller]
    fn splat(bits: u64, dtype: DType, shape: Shape) -> Tensor {
        shape.check("full").or_raise();
        let one = Tensor::one(bits, dtype, 0);
        if shape.rank() == 0 { one } else { one.with_layout(|layout| layout.broadcast(&shape)) }
    }

    /// The rank-0 tensor of which every element is a repetition, if the layout says so.
    pub(crate) fn splatted(&self) -> Option<Tensor> {
        match &self.value {
            Value::Array(array) if array.layout.is_splat() && array.layout.shape.elements() > 0 => Some(
                self.with_layout(|layout| Layout { offset: layout.offset, ..Layout::contiguous(Shape::default()) }),
            ),
            _ => None,
        }
    }
}
