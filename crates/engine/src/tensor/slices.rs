//! Numbers as slices, for kernels that know no strides.

use super::{Tensor, collect};
use crate::primitive::Spec;
use std::borrow::Cow;
use wengert_kernels::dtype::Compute;
use wengert_kernels::view::Out;

/// The numbers of a plain tensor in row-major order, as `T`: its own memory where that is contiguous and of `T`.
pub(crate) fn numbers<T: Compute>(tensor: &Tensor) -> Cow<'_, [T]> {
    let view = tensor.value.view();
    let own = view.contiguous_bytes().filter(|_| view.dtype == T::DTYPE);
    match own.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()) {
        Some(numbers) => Cow::Borrowed(numbers),
        None => Cow::Owned(collect(tensor)),
    }
}

/// Lets `write` fill an output as `T`; another dtype is converted from it.
pub(crate) fn fill<T: Compute, R>(out: Out<'_>, write: impl FnOnce(&mut [T]) -> R) -> R {
    if out.dtype == T::DTYPE {
        return write(bytemuck::cast_slice_mut(out.bytes));
    }
    let mut numbers = vec![T::ZERO; out.bytes.len() / out.dtype.size()];
    let result = write(&mut numbers);
    T::store(&numbers, out.dtype, out.bytes);
    result
}

/// A new tensor of `spec` that `write` computes as `T`.
pub(crate) fn computed<T: Compute, R>(spec: &Spec, write: impl FnOnce(&mut [T]) -> R) -> (Tensor, R) {
    Tensor::build(spec, |out| fill(out, write))
}

/// `computing!(dtype, T => body)` runs the body with `T` the type that `dtype` computes in.
macro_rules! computing {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype.compute() {
            $crate::DType::F64 => {
                type $t = f64;
                $body
            }
            $crate::DType::F32 => {
                type $t = f32;
                $body
            }
            _ => {
                type $t = i64;
                $body
            }
        }
    };
}
pub(crate) use computing;

/// The same for dtypes that are known to be floats.
macro_rules! computing_float {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F64 => {
                type $t = f64;
                $body
            }
            _ => {
                type $t = f32;
                $body
            }
        }
    };
}
pub(crate) use computing_float;
