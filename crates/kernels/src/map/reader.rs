//! Reads any view as contiguous tiles of a compute type.
//!
//! [`Reader::new`] decides once how a view is read. `tile(start, n)` then returns the elements `start..start + n` in row-major order,
//! either from the view's own memory or through a [`Scratch`] tile.

use super::panel::{sheet_of, walk_panels};
use crate::dtype::{Compute, DType};
use crate::simd::vectorised;
use crate::view::{Layout, Odometer, View, collapse};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The number of elements in a tile: few enough for several tiles to stay in the first-level cache.
pub(crate) const TILE: usize = 1024;

/// The longest innermost axis whose rows are written with one fixed-length store.
const SHORT: usize = 16;

/// One view, read as `T`.
pub(crate) enum Reader<'a, T> {
    /// Contiguous and of type `T`: the memory itself.
    Direct(&'a [T]),
    /// Contiguous, of another dtype.
    Convert(DType, &'a [u8]),
    /// One value for all elements.
    Constant(T),
    /// Anything else.
    Strided(Strided<'a>),
}

pub(crate) struct Strided<'a> {
    pub(super) dtype: DType,
    pub(super) bytes: &'a [u8],
    pub(super) offset: isize,
    /// Collapsed; rank at least 1.
    pub(super) layout: Layout,
}

impl<'a, T: Compute> Reader<'a, T> {
    #[inline]
    pub(crate) fn new(view: View<'a>) -> Reader<'a, T> {
        if let Some(values) = view.direct() {
            Reader::Direct(values)
        } else if let Some(bytes) = view.contiguous_bytes() {
            Reader::Convert(view.dtype, bytes)
        } else {
            Reader::scattered(view)
        }
    }

    /// For views that are not contiguous.
    #[inline(never)]
    fn scattered(view: View<'a>) -> Reader<'a, T> {
        let layout = collapse(view.shape, view.strides);
        if layout.strides.iter().all(|&stride| stride == 0) {
            let mut value = [T::ZERO];
            T::load_strided(view.dtype, view.bytes, view.offset, 0, &mut value);
            return Reader::Constant(value[0]);
        }
        Reader::Strided(Strided { dtype: view.dtype, bytes: view.bytes, offset: view.offset, layout })
    }

    /// Elements `start..start + length`, at most [`TILE`] unless the reader is direct.
    #[inline]
    pub(crate) fn tile<'s>(&self, start: usize, length: usize, scratch: &'s mut Scratch<T>) -> &'s [T]
    where
        'a: 's,
    {
        match self {
            Reader::Direct(values) => &values[start..start + length],
            Reader::Convert(dtype, bytes) => {
                let size = dtype.size();
                let tile = scratch.slice(length);
                T::load(*dtype, &bytes[start * size..(start + length) * size], tile);
                tile
            }
            Reader::Constant(value) => scratch.filled(length, *value),
            Reader::Strided(strided) => {
                let tile = scratch.slice(length);
                strided.walker().load(start, tile);
                tile
            }
        }
    }

    pub(crate) fn is_direct(&self) -> bool {
        matches!(self, Reader::Direct(_))
    }
}

impl Strided<'_> {
    fn walker(&self) -> Walker<'_> {
        Walker { dtype: self.dtype, bytes: self.bytes, offset: self.offset, layout: &self.layout }
    }
}

/// A view whose axes were merged.
pub(crate) struct Walker<'a> {
    pub(crate) dtype: DType,
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: isize,
    /// Rank at least 1.
    pub(crate) layout: &'a Layout,
}

impl Walker<'_> {
    /// Elements from `start` on, row by row of the innermost axis.
    pub(crate) fn load<T: Compute>(&self, start: usize, mut out: &mut [T]) {
        let inner = self.layout.rank() - 1;
        let (size, stride) = (self.layout.shape[inner], self.layout.strides[inner]);
        let mut column = start % size;
        if size <= SHORT
            && self.dtype == T::DTYPE
            && let Ok(values) = bytemuck::try_cast_slice(self.bytes)
        {
            return self.load_short(values, start, out);
        }
        let mut rows = Odometer::at(&self.layout.shape[..inner], &self.layout.strides[..inner], start / size);
        while !out.is_empty() {
            let (run, rest) = out.split_at_mut((size - column).min(out.len()));
            self.load_run(self.offset + rows.offset + column as isize * stride, stride, run);
            out = rest;
            column = 0;
            rows.advance();
        }
    }

    /// Loads rows so short that locating one costs more than reading it.
    fn load_short<T: Compute>(&self, values: &[T], start: usize, mut out: &mut [T]) {
        let inner = self.layout.rank() - 1;
        let (size, stride) = (self.layout.shape[inner], self.layout.strides[inner]);
        let mut column = start % size;
        let mut rows = Odometer::at(&self.layout.shape[..inner], &self.layout.strides[..inner], start / size);
        while !out.is_empty() {
            let first = self.offset + rows.offset + column as isize * stride;
            let run = (size - column).min(out.len());
            match (stride, out.first_chunk_mut::<SHORT>()) {
                // A store of fixed length; anything written beyond the row is overwritten later.
                (0, Some(whole)) => *whole = [values[first as usize]; SHORT],
                (1, Some(whole)) if let Some(source) = values[first as usize..].first_chunk() => *whole = *source,
                _ => {
                    for (i, out) in out[..run].iter_mut().enumerate() {
                        *out = values[(first + i as isize * stride) as usize];
                    }
                }
            }
            out = &mut out[run..];
            column = 0;
            rows.advance();
        }
    }

    fn load_run<T: Compute>(&self, position: isize, stride: isize, out: &mut [T]) {
        match stride {
            0 => {
                T::load_strided(self.dtype, self.bytes, position, 0, &mut out[..1]);
                let value = out[0];
                out.fill(value);
            }
            1 => {
                let size = self.dtype.size();
                let start = position as usize * size;
                T::load(self.dtype, &self.bytes[start..start + out.len() * size], out);
            }
            _ => T::load_strided(self.dtype, self.bytes, position, stride, out),
        }
    }
}

/// A tile on the stack. Only the part in use is ever written.
pub(crate) struct Scratch<T> {
    values: [MaybeUninit<T>; TILE],
    /// The first `ready` values are initialised.
    ready: usize,
}

impl<T: bytemuck::Pod> Scratch<T> {
    #[inline(always)]
    pub(crate) fn new() -> Scratch<T> {
        Scratch { values: [MaybeUninit::uninit(); TILE], ready: 0 }
    }

    /// The first `length` elements, with arbitrary contents.
    #[inline]
    pub(crate) fn slice(&mut self, length: usize) -> &mut [T] {
        self.filled(length, T::zeroed())
    }

    /// The first `length` elements. Those that were not requested before are `value`.
    #[inline]
    pub(crate) fn filled(&mut self, length: usize, value: T) -> &mut [T] {
        let tile = &mut self.values[..length];
        if self.ready < length {
            fill(&mut tile[self.ready..], value);
            self.ready = length;
        }
        // SAFETY: `MaybeUninit<T>` has the layout of `T`. `fill` wrote the first `ready` elements, and `length <= ready` now; the slice
        // borrows `self` mutably.
        unsafe { &mut *(std::ptr::from_mut(tile) as *mut [T]) }
    }
}

vectorised! {
    fn fill[T: Copy](slots: &mut [MaybeUninit<T>], value: T) {
        for slot in slots {
            slot.write(value);
        }
    }
}

/// All inputs as they are in memory, if none needs a scratch tile.
#[inline]
pub(crate) fn direct_inputs<'a, T: Compute, const N: usize>(inputs: &[View<'a>; N]) -> Option<[&'a [T]; N]> {
    let mut slices: [&[T]; N] = [&[]; N];
    for (slice, input) in slices.iter_mut().zip(inputs) {
        *slice = input.direct()?;
    }
    Some(slices)
}

/// Calls `visit` with every input in full, of `length <= TILE` elements each.
#[inline(never)]
pub(crate) fn with_whole<T: Compute, const N: usize>(
    inputs: &[View<'_>; N],
    length: usize,
    visit: &mut dyn FnMut([&[T]; N]),
) {
    let mut scratch: [Scratch<T>; N] = std::array::from_fn(|_| Scratch::new());
    let mut slices: [&[T]; N] = [&[]; N];
    for ((slice, view), scratch) in slices.iter_mut().zip(inputs).zip(&mut scratch) {
        *slice = Reader::new(*view).tile(0, length, scratch);
    }
    visit(slices);
}

/// Visits the elements `start..start + length` tile by tile, with the range (relative to `start`) and the slice of every input. Tiles come
/// in any order; together they cover the whole range.
pub(crate) fn walk<T: Compute, const N: usize>(
    readers: &[Reader<'_, T>; N],
    start: usize,
    length: usize,
    visit: &mut dyn FnMut(Range<usize>, [&[T]; N]),
) {
    if readers.iter().all(Reader::is_direct) {
        walk_direct(readers, start, length, visit);
    } else if let Some(sheet) = sheet_of(readers)
        && sheet.fits(start, length)
    {
        walk_panels(readers, sheet, start, length, visit);
    } else {
        walk_scratch(readers, start, length, visit);
    }
}

fn tiles(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(TILE).map(move |begin| begin..(begin + TILE).min(length))
}

fn walk_direct<T: Compute, const N: usize>(
    readers: &[Reader<'_, T>; N],
    start: usize,
    length: usize,
    visit: &mut dyn FnMut(Range<usize>, [&[T]; N]),
) {
    for range in tiles(length) {
        let inputs = readers.each_ref().map(|reader| match reader {
            Reader::Direct(values) => &values[start + range.start..start + range.end],
            _ => unreachable!("`walk` checked that all readers are direct"),
        });
        visit(range, inputs);
    }
}

/// Separate from `walk_direct`, so that small direct calls do not pay for the large stack frame.
#[inline(never)]
fn walk_scratch<T: Compute, const N: usize>(
    readers: &[Reader<'_, T>; N],
    start: usize,
    length: usize,
    visit: &mut dyn FnMut(Range<usize>, [&[T]; N]),
) {
    let mut scratch: [Scratch<T>; N] = std::array::from_fn(|_| Scratch::new());
    for range in tiles(length) {
        let mut inputs: [&[T]; N] = [&[]; N];
        for ((input, reader), scratch) in inputs.iter_mut().zip(readers).zip(&mut scratch) {
            *input = reader.tile(start + range.start, range.len(), scratch);
        }
        visit(range, inputs);
    }
}
