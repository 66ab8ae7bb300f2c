//! Elementwise operations as instructions of fused loops.

use crate::DType;
use std::sync::Arc;
use wengert_kernels::dtype::Compute;
use wengert_kernels::tiled::Lane;

/// An instruction from a loop over slices. Results that `output` cannot represent are rounded as they would be in memory, so that fused
/// operations are bit-identical to single ones.
pub fn lane<T: Compute>(output: DType, body: impl Fn(&[&[T]], &mut [T]) + Send + Sync + 'static) -> Lane {
    Arc::new(move |inputs, out| {
        let out = bytemuck::cast_slice_mut(out);
        body(&cast(inputs)[..inputs.len()], out);
        if output != T::DTYPE {
            round(output, out);
        }
    })
}

/// Instructions read three registers at most.
fn cast<'a, T: Compute>(inputs: &[&'a [u8]]) -> [&'a [T]; 3] {
    let mut typed: [&[T]; 3] = [&[]; 3];
    for (typed, input) in typed.iter_mut().zip(inputs) {
        *typed = bytemuck::cast_slice(input);
    }
    typed
}

/// Rounds through `dtype` and back.
fn round<T: Compute>(dtype: DType, values: &mut [T]) {
    const PART: usize = 128;
    let mut bytes = [0u8; 8 * PART];
    for values in values.chunks_mut(PART) {
        let bytes = &mut bytes[..values.len() * dtype.size()];
        T::store(values, dtype, bytes);
        T::load(dtype, bytes, values);
    }
}
