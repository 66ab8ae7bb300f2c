//! Blocked products of floats: tiles of sums run over packed parts of both sides.
//!
//! The left side is cut into tiles of rows, the right side into panels of columns; a *unit* is either. The shorter side is packed once and
//! streams from the second-level cache. Tasks divide the longer side among them, and pack one unit of it after the other into the nearest
//! cache, or read rows in place. How a product is cut depends only on its shape, so the bits do not depend on the number of threads.

use super::tile::{Added, MOST_LANES, Strip, Target, Tile, rows_of_tile};
use super::{Matrix, PARALLEL_WORK, work};
use crate::chain::{CHAIN, DEEP};
use crate::follow::Follower;
use crate::pool::Block;
use crate::simd::{Level, level, vectorised, without_subnormals};
use crate::threads::{Disjoint, for_each_tile};
use crate::transpose::transpose;
use std::ops::Range;

/// The number of rows or columns of the shorter side that are packed at a time, and their depth: a few megabytes.
const MOST_SHORT: usize = 1024;
const MOST_DEPTH: usize = 1024;

/// The depth of a tile that stays in the nearest cache while panels stream past it, and of a panel that tiles stream past. This many
/// products are added one after the other, where a product is not deep.
const TILE_DEPTH: usize = 256;
const PANEL_DEPTH: usize = 512;

/// The number of units of the longer side that are packed together, and the most tasks that it is cut into.
const GROUP: usize = 2;
pub(super) const MOST_TASKS: usize = 40;

/// The number of units of the shorter side that one task packs, and the steps of the inner dimension that it packs of each unit before the
/// next.
const PACKED_UNITS: usize = 8;
const PACKED_STEPS: usize = 64;

/// With at most this many units on the other side, packing a panel, or a tile, costs more than it saves.
const FEW_TILES: usize = 8;
const FEW_PANELS: usize = 4;

/// The most elements of a left side that is small enough to be read in place repeatedly.
const SMALL_LEFT: usize = 1 << 16;

/// The threads that run a product.
#[derive(Clone, Copy)]
pub(super) enum Threads<'a> {
    One,
    /// All threads, with an optional follower of the rows of the result.
    Many(Option<&'a dyn Follower>),
}

/// Whether tasks can complete whole rows of the result: all columns are packed at once, which costs little if there are not many more
/// columns than rows.
pub(super) fn completes_rows<T>(a: &Matrix<'_, T>, b: &Matrix<'_, T>) -> bool {
    b.cols <= MOST_SHORT.min(2 * a.rows)
}

/// Part `index` of `count` even parts of `0..length`.
fn part(index: usize, count: usize, length: usize) -> Range<usize> {
    index * length / count..(index + 1) * length / count
}

/// Cuts `0..length` into even parts of at most `most` each.
fn parts(length: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = length.div_ceil(most);
    (0..count).map(move |index| part(index, count, length))
}

/// `out = factor * a * b + added`. `added` may be `out` itself.
///
/// # Safety
/// As for [`Product::multiply`](super::Product::multiply); `added` is initialised and has the sizes of `out`. A follower accepted rows of
/// `out`, which are adjacent without gaps, in [`MOST_TASKS`], and [`completes_rows`] holds.
pub(super) unsafe fn multiply<T: Tile>(
    factor: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    added: Option<Added<T>>,
    out: *mut T,
    row_step: usize,
    threads: Threads<'_>,
) {
    if a.cols == 0 {
        for row in 0..a.rows {
            // SAFETY: `row < a.rows`, so the `b.cols` elements of `out` are valid and the caller's, and those of `added` are initialised.
            // They may be the same elements, which `copy` allows.
            unsafe {
                let out = out.add(row * row_step);
                match added {
                    Some(added) => std::ptr::copy(added.start.add(row * added.row_step), out, b.cols),
                    None => std::slice::from_raw_parts_mut(out, b.cols).fill(T::ZERO),
                }
            }
        }
    }
    let follower = if let Threads::Many(follower) = threads { follower } else { None };
    let (is_tall, level) = (follower.is_some() || a.rows >= b.cols, level());
    let (most_rows, most_cols) = if is_tall { (usize::MAX, MOST_SHORT) } else { (MOST_SHORT, usize::MAX) };
    let whole = a.cols;
    for depth in parts(whole, MOST_DEPTH) {
        for rows in parts(a.rows, most_rows) {
            for cols in parts(b.cols, most_cols) {
                let a = a.some_rows(rows.start, rows.len()).some_cols(depth.start, depth.len());
                let b = b.some_rows(depth.start, depth.len()).some_cols(cols.start, cols.len());
                let target = Target { start: out, row_step, rows: a.rows, cols: b.cols, factor, added };
                let target = target.part((rows.start, rows.len()), (cols.start, cols.len()), depth.start > 0);
                let threads = match threads {
                    Threads::Many(Some(_)) if depth.end < whole => Threads::Many(None),
                    threads => threads,
                };
                // SAFETY: these are rows and columns of matrices within their data, with the same part of the inner dimension; the target
                // is the same rows and columns of `out`. `added` is the caller's and initialised or, from the second part of the inner
                // dimension on, the target that the first part has written. The follower is notified only in the last part.
                unsafe { Blocks { a, b, target, is_tall, is_deep: whole > DEEP, level }.run(threads) };
            }
        }
    }
}

/// A unit of a side: `length` rows or columns from `start` on, padded to `width`.
struct Unit {
    start: usize,
    length: usize,
    width: usize,
}

/// One side of a product as `[row or column][k]`, cut into units: even tiles of rows, or panels of columns, of which the last may be
/// narrow.
struct Side<'a, T> {
    matrix: Matrix<'a, T>,
    count: usize,
    /// Lanes of a panel; 0 for tiles.
    lanes: usize,
    /// Whether full units are read in place.
    in_place: bool,
}

impl<'a, T: Tile> Side<'a, T> {
    fn tiles(matrix: Matrix<'a, T>, level: Level) -> Side<'a, T> {
        Side { matrix, count: matrix.rows.div_ceil(rows_of_tile(level)), lanes: 0, in_place: false }
    }

    fn panels(matrix: Matrix<'a, T>) -> Side<'a, T> {
        Side { matrix, count: matrix.rows.div_ceil(T::LANES), lanes: T::LANES, in_place: false }
    }

    /// Decides whether to pack. A contiguous unit that is used with few units of the other side is not worth packing, nor are the rows of
    /// tiles that stay in a cache.
    fn meets(self, others: usize, stays: bool) -> Side<'a, T> {
        let Matrix { row_stride, col_stride, .. } = self.matrix;
        let few = others <= if self.lanes == 0 { FEW_PANELS } else { FEW_TILES };
        let columns = row_stride == 1 && col_stride > 0 && few;
        let stays = stays || few || self.matrix.rows * self.matrix.cols <= SMALL_LEFT;
        let rows = self.lanes == 0 && stays && col_stride == 1 && row_stride > 0;
        Side { in_place: columns || rows, ..self }
    }

    fn is_in_place(&self, unit: &Unit) -> bool {
        self.in_place && unit.length == unit.width
    }

    /// The unit for a tile, read in place or from its packed copy.
    fn read(&self, unit: &Unit, slice: &Range<usize>, packed: &[T]) -> Strip<T> {
        if self.is_in_place(unit) {
            let Matrix { data, offset, row_stride, col_stride, .. } = self.some(unit, slice.clone());
            let (step, across) = (col_stride as usize, row_stride as usize);
            let start = data[offset..][..=(slice.len() - 1) * step + (unit.width - 1) * across].as_ptr();
            return Strip { start, step, across, width: unit.width };
        }
        let start = packed[..unit.width * slice.len()].as_ptr();
        Strip { start, step: unit.width, across: 1, width: unit.width }
    }

    fn unit(&self, index: usize) -> Unit {
        if self.lanes == 0 {
            let rows = part(index, self.count, self.matrix.rows);
            return Unit { start: rows.start, length: rows.len(), width: rows.len() };
        }
        let start = index * self.lanes;
        let length = self.lanes.min(self.matrix.rows - start);
        let width = if length > self.lanes / 2 { self.lanes } else { self.lanes / 2 };
        Unit { start, length, width }
    }

    /// Rows or columns of some units, with padding.
    fn padded(&self, units: &Range<usize>) -> usize {
        let last = self.unit(units.end - 1);
        last.start + last.width - self.unit(units.start).start
    }

    fn some(&self, unit: &Unit, steps: Range<usize>) -> Matrix<'a, T> {
        self.matrix.some_rows(unit.start, unit.length).some_cols(steps.start, steps.len())
    }

    /// Packs some units of a slice one after the other, a few steps at a time, so that adjacent memory is read together.
    fn pack(&self, units: Range<usize>, slice: &Range<usize>, to: &mut [T]) {
        let first = self.unit(units.start).start;
        for steps in parts(slice.len(), PACKED_STEPS) {
            for unit in units.clone().map(|index| self.unit(index)).filter(|unit| !self.is_in_place(unit)) {
                let at = (unit.start - first) * slice.len() + steps.start * unit.width;
                let from = self.some(&unit, slice.start + steps.start..slice.start + steps.end);
                pack(from, unit.width, &mut to[at..][..steps.len() * unit.width]);
            }
        }
    }

    /// Prefetches share `index` of `count` of the memory that some units of a slice will be packed from.
    fn prefetch(&self, units: &Range<usize>, slice: &Range<usize>, index: usize, count: usize) {
        let (first, last) = (self.unit(units.start), self.unit(units.end - 1));
        let whole = Unit { start: first.start, length: last.start + last.length - first.start, width: 0 };
        let from = self.some(&whole, slice.clone());
        // Along contiguous memory, or across it.
        let from = if from.row_stride == 1 { from.transpose() } else { from };
        for row in part(index, count, from.rows) {
            for col in (0..from.cols).step_by(64 / size_of::<T>()) {
                prefetch(from.start().wrapping_offset(row as isize * from.row_stride + col as isize * from.col_stride));
            }
        }
    }
}

/// A product whose shorter side is packed as a whole.
struct Blocks<'a, T> {
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    target: Target<T>,
    /// Whether the right side is the shorter one.
    is_tall: bool,
    /// Whether it is a part of a deep product.
    is_deep: bool,
    /// The same for the whole product: it determines the rows of a tile.
    level: Level,
}

// SAFETY: matrices are shared slices of `T: Sync`. The target's pointers are used only in `multiply`, where each task of `run` has its own
// units of the long side, that is, its own rows or columns of the target.
unsafe impl<T: Sync> Sync for Blocks<'_, T> {}

impl<T: Tile> Blocks<'_, T> {
    /// # Safety
    /// As for [`multiply`], with the sizes of the target.
    unsafe fn run(&self, threads: Threads<'_>) {
        let each = |tasks: usize, body: &(dyn Fn(usize) + Sync)| match threads {
            Threads::Many(_) => for_each_tile(tasks, body),
            Threads::One => (0..tasks).for_each(body),
        };
        let (tiles, panels) = (Side::tiles(self.a, self.level), Side::panels(self.b.transpose()));
        let counts = (tiles.count, panels.count);
        let (tiles, panels) = (tiles.meets(counts.1, self.is_tall), panels.meets(counts.0, !self.is_tall));
        let (short, long) = if self.is_tall { (&panels, &tiles) } else { (&tiles, &panels) };
        let depth = self.a.cols;
        let slices = depth.div_ceil(match (self.is_deep, self.is_tall) {
            (true, _) => CHAIN,
            (_, true) => TILE_DEPTH,
            (_, false) => PANEL_DEPTH,
        });

        let padded = short.padded(&(0..short.count));
        let mut memory = Block::new(padded * depth * size_of::<T>());
        let packed = memory.as_mut_slice::<T>().expect("a new block is not shared");
        let to = Disjoint::new(packed);
        let groups = short.count.div_ceil(PACKED_UNITS);
        each(slices * groups, &|task| {
            let (units, slice) = (part(task % groups, groups, short.count), part(task / groups, slices, depth));
            let start = padded * slice.start + short.unit(units.start).start * slice.len();
            // SAFETY: units `0..short.count` are cut into groups, each with its padded rows one after the other from `padded * slice.start`
            // on, so tasks have disjoint ranges; each task runs once.
            let to = unsafe { to.range(start, short.padded(&units) * slice.len()) };
            short.pack(units, &slice, to);
        });

        let wanted = work(self.a.rows, self.b.cols, depth) * 2 / PARALLEL_WORK;
        let tasks = wanted.clamp(1, MOST_TASKS).min(long.count);
        each(tasks, &|task| {
            let mine = part(task, tasks, long.count);
            let groups = mine.len().div_ceil(GROUP);
            let group = |index: usize| {
                let units = part(index % groups, groups, mine.len());
                (part(index / groups, slices, depth), mine.start + units.start..mine.start + units.end)
            };
            let widest = if self.is_tall { rows_of_tile(self.level) } else { T::LANES };
            let mut memory = Block::new(depth.div_ceil(slices) * widest * GROUP.min(mine.len()) * size_of::<T>());
            let memory = memory.as_mut_slice::<T>().expect("a new block is not shared");
            for index in 0..slices * groups {
                let (slice, units) = group(index);
                let own = &mut memory[..long.padded(&units) * slice.len()];
                long.pack(units.clone(), &slice, own);
                let packed = &packed[padded * slice.start..][..padded * slice.len()];
                let next = (tasks > 1 && index + 1 < slices * groups && !long.in_place).then(|| group(index + 1));
                // SAFETY: `own` was just packed for these units and this slice. `packed` is the matching part of the short side, which the
                // previous region has written. No other task has the units `mine`, so their part of the target is ours.
                without_subnormals(|| unsafe { self.multiply(short, packed, long, own, &units, &slice, next) });
                if let Threads::Many(Some(follower)) = threads
                    && slice.end == depth
                {
                    let (first, last) = (long.unit(units.start), long.unit(units.end - 1));
                    let cols = self.b.cols;
                    // SAFETY: the follower accepted rows in `MOST_TASKS`, and `task < tasks <= MOST_TASKS`. Followed products are tall and
                    // not cut along columns (`completes_rows`): these units are whole rows, no other task has `mine`, each comes once with
                    // the last slice, and this task continues only after the follower has returned.
                    unsafe { follower.part(task, first.start * cols..(last.start + last.length) * cols) };
                }
            }
        });
    }

    /// # Safety
    /// `packed` holds this slice of the short side, `own` these units of the long side; the caller owns their part of the
    /// target.
    #[allow(clippy::too_many_arguments)]
    unsafe fn multiply(
        &self,
        short: &Side<'_, T>,
        packed: &[T],
        long: &Side<'_, T>,
        own: &[T],
        units: &Range<usize>,
        slice: &Range<usize>,
        next: Option<(Range<usize>, Range<usize>)>,
    ) {
        let first = long.unit(units.start).start;
        for (index, unit) in units.clone().map(|index| long.unit(index)).enumerate() {
            let own = long.read(&unit, slice, &own[(unit.start - first) * slice.len()..]);
            for number in 0..short.count {
                if let Some((slice, units)) = &next {
                    long.prefetch(units, slice, index * short.count + number, units.len() * short.count);
                }
                let other = short.unit(number);
                let packed = short.read(&other, slice, &packed[other.start * slice.len()..]);
                let (tile, panel, left, right) = match self.is_tall {
                    true => (&unit, &other, own, packed),
                    false => (&other, &unit, packed, own),
                };
                let target = self.target.part((tile.start, tile.length), (panel.start, panel.length), slice.start > 0);
                // SAFETY: `level()` detected the level. `read` returns strips that lie in their slices for the depth of the slice and the
                // width of the unit; tiles have at most `rows_of_tile` rows, and the part of the target has as many. The target is the
                // caller's, and `added` has its sizes.
                unsafe { T::tile(self.level, slice.len(), left, right, target) };
            }
        }
    }
}

#[inline(always)]
fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction. It is a hint that reads and writes nothing, and any address is allowed.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// `to[k][i] = from[i][k]`, rows of `to` padded with zeros up to `width`.
fn pack<T: Tile>(from: Matrix<'_, T>, width: usize, to: &mut [T]) {
    assert_eq!(to.len(), from.cols * width);
    match usize::try_from(from.row_stride) {
        Ok(step) if from.col_stride == 1 => {
            // SAFETY: `from` is a part of a matrix that lies in its data, with adjacent columns and rows `step` apart. `to` has `from.cols`
            // rows of `width` elements, as asserted above, and units have `width >= from.rows`.
            unsafe { transpose(from.start(), step, (from.rows, from.cols), to.as_mut_ptr(), width, width) }
        }
        Ok(1) if from.rows == width => copy_rows(from, width, to),
        // A broadcast matrix, such as the gradient of a sum.
        Ok(0) => {
            for (k, row) in to.chunks_exact_mut(width).enumerate() {
                let (inside, padding) = row.split_at_mut(from.rows);
                inside.fill(from.data[(from.offset as isize + k as isize * from.col_stride) as usize]);
                padding.fill(T::ZERO);
            }
        }
        _ => {
            for (k, row) in to.chunks_exact_mut(width).enumerate() {
                let at = from.offset as isize + k as isize * from.col_stride;
                for (i, value) in row.iter_mut().enumerate() {
                    *value = match i < from.rows {
                        true => from.data[(at + i as isize * from.row_stride) as usize],
                        false => T::ZERO,
                    };
                }
            }
        }
    }
}

/// The number of elements that are copied at once.
const STEP: usize = 16;

vectorised! {
    /// `to[k] = from[..][k]`, which is contiguous. Full vectors are copied while there is room; the next row overwrites the excess.
    fn copy_rows[T: Tile](from: Matrix<'_, T>, width: usize, to: &mut [T]) {
        let (data, offset) = (from.data, from.offset);
        let steps = width.div_ceil(STEP);
        let reach = steps * STEP;
        // The number of columns of a side that have room for all steps.
        let room = |length: usize, step: usize| length.checked_sub(reach).map_or(0, |room| room / step + 1);
        let (mut whole, stride) = (0, from.col_stride as usize);
        if from.col_stride > 0 {
            whole = from.cols.min(room(data.len() - offset, stride)).min(room(to.len(), width));
        }
        let (source, target) = (data[offset..].as_ptr(), to.as_mut_ptr());
        // SAFETY: by the definition of `room`, column `k < whole` of `data` and of `to` has `reach = steps * STEP` elements from its start
        // on. One is borrowed mutably, so they do not overlap.
        unsafe {
            // One loop for each number of steps: an inner loop over the steps of a row would become a call.
            match steps {
                1 => (0..whole).for_each(|k| copy_step(source.add(k * stride), target.add(k * width))),
                2 => (0..whole).for_each(|k| {
                    copy_step(source.add(k * stride), target.add(k * width));
                    copy_step(source.add(k * stride + STEP), target.add(k * width + STEP));
                }),
                _ => unreachable!("a unit has at most {MOST_LANES} rows or columns"),
            }
        }
        for k in whole..from.cols {
            let at = (offset as isize + k as isize * from.col_stride) as usize;
            for i in 0..width {
                to[k * width + i] = data[at + i];
            }
        }
    }
}

/// # Safety
/// Both pointers are valid for [`STEP`] elements, which do not overlap.
#[inline(always)]
unsafe fn copy_step<T: Copy>(from: *const T, to: *mut T) {
    // SAFETY: the caller guarantees `STEP` elements at both pointers, which do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, STEP) };
}
