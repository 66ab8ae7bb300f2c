//! Loops of elementwise functions: values, and cotangents times slopes.

use crate::dtype::Compute;
use crate::map::{Stored, loop2, map, map_in_place};
use crate::view::{Out, View};
use std::ops::Range;

/// The real attributes of one call; missing ones are 0.
pub type Parameters<T> = [T; 3];

/// The value in one native type; unary functions ignore the second operand.
pub struct Loops<T> {
    /// Of one element.
    pub one: fn(T, T, Parameters<T>) -> T,
    /// Of slices of one length.
    pub slices: fn(&[T], &[T], &mut [T], Parameters<T>),
    /// Over the first of two operands.
    pub update: Option<fn(&mut [T], &[T], Parameters<T>)>,
}

impl<T: Compute + Stored> Loops<T> {
    /// The values of one or two operands of any layout.
    pub fn run(&self, inputs: &[View<'_>], out: Out<'_>, p: Parameters<T>) {
        let slices = self.slices;
        match *inputs {
            [x] => map::<T, T, 1>([x], out, &|[x]: [&[T]; 1], out: &mut [T]| slices(x, x, out, p)),
            [x, y] => map::<T, T, 2>([x, y], out, &|[x, y]: [&[T]; 2], out: &mut [T]| slices(x, y, out, p)),
            _ => unreachable!("elementwise operations have one or two operands"),
        }
    }

    /// The values over the first operand; `false`, and nothing done, if there is no such loop.
    pub fn run_in_place(&self, target: &mut [u8], shape: &[usize], other: View<'_>, p: Parameters<T>) -> bool {
        let Some(update) = self.update else { return false };
        let body = |x: &mut [T], [y]: [&[T]; 1]| update(x, y, p);
        map_in_place::<T, 1>(bytemuck::cast_slice_mut(target), shape, [other], &body);
        true
    }
}

/// `g * slope`, guarded.
pub struct SlopeLoops<T> {
    /// Of one element: the cotangent and what the slope is computed from.
    pub one: fn(T, T, T, Parameters<T>) -> T,
    /// Of slices of one length.
    pub slices: fn(&[T], &[T], &[T], &mut [T], Parameters<T>),
}

/// Elements that are worked on while they lie in the nearest cache.
pub const TILE: usize = 256;

/// `g * slope` where the slopes come from a function over slices: `fill` writes those of a range.
pub fn scaled_by_tiles<T: Compute>(g: &[T], out: &mut [T], fill: impl Fn(Range<usize>, &mut [T])) {
    let mut slopes = [T::ZERO; TILE];
    for (tile, out) in out.chunks_mut(TILE).enumerate() {
        let range = tile * TILE..tile * TILE + out.len();
        let slopes = &mut slopes[..out.len()];
        fill(range.clone(), slopes);
        scale_slices(&g[range], slopes, out);
    }
}

/// `g * s`, but a zero on either side stays zero: a zero cotangent through an infinite or NaN slope, and an infinite
/// cotangent or tangent through a zero slope. A NaN that comes in goes on.
#[inline(always)]
pub fn guarded<T: Compute>(g: T, s: T) -> T {
    // A NaN is neither above nor below.
    if g == T::ZERO || (s == T::ZERO && ((g < T::ZERO) | (g > T::ZERO))) { T::ZERO } else { g * s }
}

/// `a * b`, but a zero on either side stays zero beside NaN too.
#[inline(always)]
pub fn both<T: Compute>(a: T, b: T) -> T {
    if (a == T::ZERO) | (b == T::ZERO) { T::ZERO } else { a * b }
}

/// One copy for all slopes that come from functions over slices.
fn scale_slices<T: Compute>(g: &[T], s: &[T], out: &mut [T]) {
    loop2(g, s, out, guarded::<T>);
}

impl<T: Compute + Stored> SlopeLoops<T> {
    /// The products of a cotangent and what was saved, of any layout.
    pub fn run(&self, g: View<'_>, saved: &[View<'_>], out: Out<'_>, p: Parameters<T>) {
        let slices = self.slices;
        match *saved {
            [a] => map::<T, T, 2>([g, a], out, &|[g, a]: [&[T]; 2], out: &mut [T]| slices(g, a, a, out, p)),
            [a, b] => map::<T, T, 3>([g, a, b], out, &|[g, a, b]: [&[T]; 3], out: &mut [T]| slices(g, a, b, out, p)),
            _ => unreachable!("a slope has one or two sources"),
        }
    }

    /// The products over the cotangent.
    pub fn run_in_place(&self, g: &mut [u8], shape: &[usize], saved: &[View<'_>], p: Parameters<T>) {
        let g: &mut [T] = bytemuck::cast_slice_mut(g);
        match *saved {
            [a] => map_in_place::<T, 1>(g, shape, [a], &|g: &mut [T], [a]: [&[T]; 1]| self.update(g, a, a, p)),
            [a, b] => map_in_place::<T, 2>(g, shape, [a, b], &|g: &mut [T], [a, b]: [&[T]; 2]| self.update(g, a, b, p)),
            _ => unreachable!("a slope has one or two sources"),
        }
    }

    /// Over the cotangent, a copy of which lies in the nearest cache: a loop of its own for every slope would cost more
    /// code than the copy costs time.
    pub fn update(&self, g: &mut [T], a: &[T], b: &[T], p: Parameters<T>) {
        let mut copy = [T::ZERO; TILE];
        for ((g, a), b) in g.chunks_mut(TILE).zip(a.chunks(TILE)).zip(b.chunks(TILE)) {
            let copy = &mut copy[..g.len()];
            copy.copy_from_slice(g);
            (self.slices)(copy, a, b, g, p);
        }
    }
}
