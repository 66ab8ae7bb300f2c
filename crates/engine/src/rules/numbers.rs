//! Row-major numbers in the dtype that kernels compute in.

use crate::primitive::Spec;
use crate::{DType, Tensor};
use std::marker::PhantomData;
use wengert_kernels::dtype::Compute;

/// The numbers of a tensor for kernels without strides: its own memory where that fits, else a converted copy.
pub(crate) struct Numbers<T> {
    tensor: Tensor,
    element: PhantomData<T>,
}

impl<T: Compute> Numbers<T> {
    pub fn of(tensor: &Tensor) -> Numbers<T> {
        Numbers { tensor: tensor.plain().cast(T::DTYPE).contiguous(), element: PhantomData }
    }

    pub fn slice(&self) -> &[T] {
        let (view, elements) = (self.tensor.value.view(), self.tensor.elements());
        let start = if elements == 0 { 0 } else { view.offset as usize * size_of::<T>() };
        bytemuck::cast_slice(&view.bytes[start..start + elements * size_of::<T>()])
    }
}

/// A new tensor of `spec` that `fill` computes in `T`.
pub(crate) fn computed<T: Compute, R>(spec: &Spec, fill: impl FnOnce(&mut [T]) -> R) -> (Tensor, R) {
    let wide = Spec { dtype: T::DTYPE, ..spec.clone() };
    let (tensor, result) = Tensor::build(&wide, |out| fill(bytemuck::cast_slice_mut(out.bytes)));
    (tensor.cast(spec.dtype), result)
}

/// Whether a float dtype computes in f64; the others do in f32.
pub(crate) fn is_wide(dtype: DType) -> bool {
    dtype == DType::F64
}
