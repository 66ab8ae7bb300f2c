//! Elements in the form that kernels need: slices for kernels without strides, views in another dtype or shape, and scratch memory from the
//! pool.

use super::{Layout, Shape};
use crate::DType;
use std::ops::Deref;
use wengert_kernels::dtype::{Compute, Element};
use wengert_kernels::map::copy;
use wengert_kernels::pool::{Block, Buffer};
use wengert_kernels::view::{Out, View};

/// A copy of the elements of a view in row-major order.
pub fn collected<T: Compute>(view: View<'_>) -> Buffer<T> {
    let mut numbers = Buffer::new(view.len());
    copy(view, Out { dtype: T::DTYPE, bytes: bytemuck::cast_slice_mut(&mut numbers) });
    numbers
}

/// The elements of a view in row-major order.
pub enum Numbers<'a, T> {
    Own(&'a [T]),
    Copied(Buffer<T>),
}

impl<T: Element> Deref for Numbers<'_, T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Numbers::Own(numbers) => numbers,
            Numbers::Copied(numbers) => numbers,
        }
    }
}

/// The elements of a view in row-major order, as `T`: its own memory if it is contiguous and of type `T`, otherwise a copy.
pub fn numbers<T: Compute>(view: View<'_>) -> Numbers<'_, T> {
    let own = view.contiguous_bytes().filter(|_| view.dtype == T::DTYPE);
    match own.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()) {
        Some(numbers) => Numbers::Own(numbers),
        None => Numbers::Copied(collected(view)),
    }
}

/// A view in the dtype, shape or order that a kernel needs: of the operand's own memory, or of a row-major copy.
pub enum Laid<'a> {
    Own(View<'a>),
    Seen(View<'a>, Layout),
    Copied(Block, Layout, DType),
}

impl<'a> Laid<'a> {
    /// A copy in this dtype.
    pub fn copy(view: View<'_>, dtype: DType) -> Laid<'a> {
        Laid::copied(view, dtype, Shape::from(view.shape))
    }

    fn copied(view: View<'_>, dtype: DType, shape: Shape) -> Laid<'a> {
        let mut block = Block::new(view.len() * dtype.size());
        copy(view, Out { dtype, bytes: block.bytes_mut().expect("a new block is unique") });
        Laid::Copied(block, Layout::contiguous(shape), dtype)
    }

    /// The view itself if it has this dtype, otherwise a converted copy.
    pub fn of(view: View<'a>, dtype: DType) -> Laid<'a> {
        match view.dtype == dtype {
            true => Laid::Own(view),
            false => Laid::copy(view, dtype),
        }
    }

    /// The view itself if it is contiguous, otherwise a copy.
    pub fn packed(view: View<'a>) -> Laid<'a> {
        match view.is_contiguous() {
            true => Laid::Own(view),
            false => Laid::copy(view, view.dtype),
        }
    }

    /// The view in another shape of the same number of elements; a copy where strides cannot express it.
    pub fn reshaped(view: View<'a>, shape: &Shape) -> Laid<'a> {
        match Layout::of(view).reshaped(shape) {
            Some(layout) => Laid::Seen(view, layout),
            None => Laid::copied(view, view.dtype, shape.clone()),
        }
    }

    #[inline]
    pub fn view(&self) -> View<'_> {
        match self {
            Laid::Own(view) => *view,
            Laid::Seen(view, layout) => layout.over(*view),
            Laid::Copied(block, layout, dtype) => {
                View { dtype: *dtype, bytes: block.bytes(), offset: 0, shape: &layout.shape, strides: &layout.strides }
            }
        }
    }
}

/// All of the memory that a view of `T` covers. An empty view may point anywhere.
pub fn memory_of<T: bytemuck::Pod>(view: View<'_>) -> &[T] {
    match view.bytes {
        [] => &[],
        bytes => bytemuck::cast_slice(&bytes[..bytes.len() / size_of::<T>() * size_of::<T>()]),
    }
}

/// Memory of `T` for an output of any dtype: its own, or a buffer that is converted at the end.
enum Target<'a, T> {
    Own(&'a mut [T]),
    Converted(Buffer<T>, Out<'a>),
}

impl<'a, T: Compute> Target<'a, T> {
    fn of(out: Out<'a>) -> Target<'a, T> {
        if out.bytes.is_empty() {
            return Target::Own(&mut []);
        }
        if out.dtype == T::DTYPE {
            return Target::Own(bytemuck::cast_slice_mut(out.bytes));
        }
        Target::Converted(Buffer::new(out.bytes.len() / out.dtype.size()), out)
    }

    #[inline]
    fn numbers(&mut self) -> &mut [T] {
        match self {
            Target::Own(numbers) => numbers,
            Target::Converted(numbers, _) => numbers,
        }
    }

    fn finish(self) {
        if let Target::Converted(numbers, out) = self {
            T::store(&numbers, out.dtype, out.bytes);
        }
    }
}

/// Lets `write` fill an output as `T`; an output of another dtype is converted from that.
pub fn fill<T: Compute, R>(out: Out<'_>, write: impl FnOnce(&mut [T]) -> R) -> R {
    let mut target = Target::of(out);
    let result = write(target.numbers());
    target.finish();
    result
}

/// [`fill`] for an output that starts as a copy of `from`.
pub fn fill_from<T: Compute, R>(from: View<'_>, out: Out<'_>, update: impl FnOnce(&mut [T]) -> R) -> R {
    fill(out, |numbers: &mut [T]| {
        copy(from, Out { dtype: T::DTYPE, bytes: bytemuck::cast_slice_mut(numbers) });
        update(numbers)
    })
}

/// `computing!(dtype, T => body)` runs the body with `T` as the type in which `dtype` is computed.
#[macro_export]
#[doc(hidden)]
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

/// `computing!` for dtypes that are known to be floats.
#[macro_export]
#[doc(hidden)]
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
