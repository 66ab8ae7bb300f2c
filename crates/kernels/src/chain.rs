//! Long sums of products. Short chains of products are summed in registers; chains are added up to [`DEPTH`] products in the type of the
//! products; these partial sums are added to totals in the accumulator type. So an `f32` sum of any length has the rounding error of a few
//! hundred additions at most. Short chains cost a few percent of the time of a product, so only deep sums use them.

use crate::dtype::Compute;
use crate::map::loop2_in_place;
use crate::pool::Buffer;
use crate::reduce::Summand;
use crate::threads::for_each_chunk;
use std::ops::Range;

/// The number of products in one chain of a deep sum.
pub(crate) const CHAIN: usize = 64;

/// A sum of at least this many products is deep.
pub(crate) const DEEP: usize = 1024;

/// The most products in one partial sum.
pub(crate) const DEPTH: usize = 2048;

/// Elements of the totals that one task adds.
const TASK: usize = 1 << 15;

/// Running totals of the partial sums, if there have been any.
pub(crate) struct Totals<T: Summand>(Option<Buffer<T::Total>>);

impl<T: Summand> Totals<T> {
    pub(crate) fn new() -> Totals<T> {
        Totals(None)
    }

    /// Adds these partial sums to the totals.
    pub(crate) fn take(&mut self, sums: &[T]) {
        let totals = self.0.get_or_insert_with(|| Buffer::zeros(sums.len()));
        for_each_chunk(totals, TASK, &|index, totals| {
            let sums = &sums[index * TASK..][..totals.len()];
            loop2_in_place(totals, sums, |total, sum| total.wrapping_plus(sum.widen()));
        });
    }

    /// Adds the last partial sums, and writes the rounded totals back to `sums`.
    pub(crate) fn finish(mut self, sums: &mut [T]) {
        if self.0.is_some() {
            self.take(sums);
        }
        let Some(totals) = self.0 else { return };
        for_each_chunk(sums, TASK, &|index, sums| {
            let totals = &totals[index * TASK..][..sums.len()];
            loop2_in_place(sums, totals, |_, total| T::narrow(total));
        });
    }
}

/// Sums over `0..length` in parts of at most [`DEPTH`]; `write` computes the sums over one part.
pub(crate) fn in_parts<T: Summand>(length: usize, sums: &mut [T], mut write: impl FnMut(Range<usize>, &mut [T])) {
    if length <= DEPTH {
        return write(0..length, sums);
    }
    let mut totals = Totals::new();
    let depth = length.div_ceil(length.div_ceil(DEPTH)).next_multiple_of(CHAIN);
    let mut first = 0;
    loop {
        let part = first..(first + depth).min(length);
        first = part.end;
        write(part, sums);
        if first == length {
            return totals.finish(sums);
        }
        totals.take(sums);
    }
}
