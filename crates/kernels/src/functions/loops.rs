//! Loops of elementwise functions: values, and cotangents times slopes.

use crate::dtype::Compute;
use crate::map::{Stored, loop2, map, map_in_place};
use crate::view::{Out, View};
use std::ops::Range;

/// The real attributes of one call; missing ones are 0.
pub type Parameters<T> = [T; 3];

/// The loops for the value in one native type; unary functions ignore the second operand.
pub struct Loops<T> {
    /// The value of one element.
    pub one: fn(T, T, Parameters<T>) -> T,
    /// The values of slices of equal length.
    pub slices: fn(&[T], &[T], &mut [T], Parameters<T>),
    /// The values of two operands, written over the first.
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

    /// Writes the values over the first operand. Returns `false`, and does nothing, if there is no such loop.
    pub fn run_in_place(&self, target: &mut [u8], shape: &[usize], other: View<'_>, p: Parameters<T>) -> bool {
        let Some(update) = self.update else { return false };
        let body = |x: &mut [T], [y]: [&[T]; 1]| update(x, y, p);
        map_in_place::<T, 1>(bytemuck::cast_slice_mut(target), shape, [other], &body);
        true
    }
}

/// Loops for `g * slope`, guarded against `0 * inf` and `0 * NaN`.
pub struct SlopeLoops<T> {
    /// For one element: takes the cotangent and the values that the slope is computed from.
    pub one: fn(T, T, T, Parameters<T>) -> T,
    /// For slices of equal length.
    pub slices: fn(&[T], &[T], &[T], &mut [T], Parameters<T>),
}

/// The number of elements that are processed while they are in the nearest cache.
pub const TILE: usize = 256;

/// `g * slope` where a function over slices computes the slopes: `fill` writes those of a range.
pub fn scaled_by_tiles<T: Compute>(g: &[T], out: &mut [T], fill: impl Fn(Range<usize>, &mut [T])) {
    let mut slopes = [T::ZERO; TILE];
    for (tile, out) in out.chunks_mut(TILE).enumerate() {
        let range = tile * TILE..tile * TILE + out.len();
        let slopes = &mut slopes[..out.len()];
        fill(range.clone(), slopes);
        scale_slices(&g[range], slopes, out);
    }
}

/// `g * s`, but a zero cotangent stays zero through an infinite or NaN slope, and an infinite cotangent or tangent becomes zero through a
/// zero slope. An incoming NaN propagates.
#[inline(always)]
pub fn guarded<T: Compute>(g: T, s: T) -> T {
    // A NaN compares neither above nor below.
    if g == T::ZERO || (s == T::ZERO && ((g < T::ZERO) | (g > T::ZERO))) { T::ZERO } else { g * s }
}

/// `a * b`, but the product is zero if either factor is zero, even if the other is NaN.
#[inline(always)]
pub fn both<T: Compute>(a: T, b: T) -> T {
    if (a == T::ZERO) | (b == T::ZERO) { T::ZERO } else { a * b }
}

/// One shared copy for all slopes that are computed by functions over slices.
fn scale_slices<T: Compute>(g: &[T], s: &[T], out: &mut [T]) {
    loop2(g, s, out, guarded::<T>);
}

impl<T: Compute + Stored> SlopeLoops<T> {
    /// The products of a cotangent and the slope of the saved values, of any layout.
    pub fn run(&self, g: View<'_>, saved: &[View<'_>], out: Out<'_>, p: Parameters<T>) {
        let slices = self.slices;
        match *saved {
            [a] => map::<T, T, 2>([g, a], out, &|[g, a]: [&[T]; 2], out: &mut [T]| slices(g, a, a, out, p)),
            [a, b] => map::<T, T, 3>([g, a, b], out, &|[g, a, b]: [&[T]; 3], out: &mut [T]| slices(g, a, b, out, p)),
            _ => unreachable!("a slope has one or two sources"),
        }
    }

    /// The same, written over the cotangent.
    pub fn run_in_place(&self, g: &mut [u8], shape: &[usize], saved: &[View<'_>], p: Parameters<T>) {
        let g: &mut [T] = bytemuck::cast_slice_mut(g);
        match *saved {
            [a] => map_in_place::<T, 1>(g, shape, [a], &|g: &mut [T], [a]: [&[T]; 1]| self.update(g, a, a, p)),
            [a, b] => map_in_place::<T, 2>(g, shape, [a, b], &|g: &mut [T], [a, b]: [&[T]; 2]| self.update(g, a, b, p)),
            _ => unreachable!("a slope has one or two sources"),
        }
    }

    /// Writes the products over the cotangent, after copying a tile of it to the nearest cache. A separate loop for every slope would cost
    /// more code than the copy costs time.
    pub fn update(&self, g: &mut [T], a: &[T], b: &[T], p: Parameters<T>) {
        let mut copy = [T::ZERO; TILE];
        for ((g, a), b) in g.chunks_mut(TILE).zip(a.chunks(TILE)).zip(b.chunks(TILE)) {
            let copy = &mut copy[..g.len()];
            copy.copy_from_slice(g);
            (self.slices)(copy, a, b, g, p);
        }
    }
}
