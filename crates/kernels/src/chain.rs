//! Long sums of products: chains of some products in registers, sums of chains up to [`DEPTH`] products in the type of the products, and
//! totals of these in the type that sums are held in. So an `f32` sum of any length has the error of some hundred additions at most. Short
//! chains cost some percent of the time of a product, so that only deep ones have them.

use crate::dtype::Compute;
use crate::map::loop2_in_place;
use crate::pool::Buffer;
use crate::reduce::Summand;
use crate::threads::for_each_chunk;
use std::ops::Range;

/// Products that are added one after the other in deep sums.
pub(crate) const CHAIN: usize = 64;

/// Products from which on a sum is deep.
pub(crate) const DEEP: usize = 1024;

/// Products of one sum that is not a total.
pub(crate) const DEPTH: usize = 2048;

/// Elements of totals that are added by one task.
const TASK: usize = 1 << 15;

/// Totals of sums that were taken, if any were.
pub(crate) struct Totals<T: Summand>(Option<Buffer<T::Total>>);

impl<T: Summand> Totals<T> {
    pub(crate) fn new() -> Totals<T> {
        Totals(None)
    }

    /// Adds these sums.
    pub(crate) fn take(&mut self, sums: &[T]) {
        let totals = self.0.get_or_insert_with(|| Buffer::zeros(sums.len()));
        for_each_chunk(totals, TASK, &|index, totals| {
            let sums = &sums[index * TASK..][..totals.len()];
            loop2_in_place(totals, sums, |total, sum| total.wrapping_plus(sum.widen()));
        });
    }

    /// Adds the last sums, and rounds the totals to where these are.
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

/// Sums over `0..length` in parts of at most [`DEPTH`]: `write` writes the sums over one of them.
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
