//! Reads transposed views in panels.
//!
//! Reading a transposed matrix in row-major order crosses its memory: each element is on another cache line, and the next row needs the
//! same lines again. A panel is 16 rows by 1024 columns. Each line is read once, 16 elements at a time, transposed in a block that stays in
//! the first-level cache, and passed on row by row.

use super::reader::{Reader, Scratch, Strided, TILE};
use crate::dtype::Compute;
use crate::pool::Block;
use crate::simd::vectorised;
use crate::threads::{REGION_TILE, tile_elements};
use crate::view::Odometer;
use std::ops::Range;

/// The rows of a panel, and the side length of the transposed blocks.
const ROWS: usize = 16;

/// The last two axes of a transposed view: adjacent elements of a column are adjacent in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sheet {
    rows: usize,
    columns: usize,
}

impl Sheet {
    /// Whether the range consists of whole rows, as panels require.
    pub(super) fn fits(&self, start: usize, length: usize) -> bool {
        start.is_multiple_of(self.columns) && length.is_multiple_of(self.columns)
    }
}

impl Strided<'_> {
    fn sheet(&self) -> Option<Sheet> {
        let (shape, strides) = (&self.layout.shape[..], &self.layout.strides[..]);
        let (&[.., rows, columns], &[.., down, across]) = (shape, strides) else {
            return None;
        };
        (down == 1 && across.unsigned_abs() > 1 && rows >= 4 && columns >= 4).then_some(Sheet { rows, columns })
    }

    /// Writes columns `columns` of rows `rows` (counted over all sheets, within one), row by row without gaps.
    fn load_panel<T: Compute>(&self, sheet: Sheet, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) {
        let outer = self.layout.rank() - 2;
        let (shape, strides) = (&self.layout.shape[..outer], &self.layout.strides[..outer]);
        let before = Odometer::at(shape, strides, rows.start / sheet.rows).offset;
        let across = self.layout.strides[outer + 1];
        let start = self.offset + before + (rows.start % sheet.rows) as isize;
        let (height, width, size) = (rows.len(), columns.len(), self.dtype.size());
        if height == ROWS
            && self.dtype == T::DTYPE
            && let Ok(values) = bytemuck::try_cast_slice::<u8, T>(self.bytes)
        {
            return turn(values, start + columns.start as isize * across, across, width, out);
        }
        let mut block = [[T::ZERO; ROWS]; ROWS];
        for first in (0..width).step_by(ROWS) {
            let count = ROWS.min(width - first);
            for (j, line) in block[..count].iter_mut().enumerate() {
                let position = start + (columns.start + first + j) as isize * across;
                let bytes = &self.bytes[position as usize * size..][..height * size];
                T::load(self.dtype, bytes, &mut line[..height]);
            }
            for i in 0..height {
                let out = &mut out[i * width + first..][..count];
                for (out, line) in out.iter_mut().zip(&block) {
                    *out = line[i];
                }
            }
        }
    }
}

vectorised! {
    /// `out[i * width + j] = values[start + i + j * across]` for 16 rows. Sizes known at compile time make this several times faster.
    fn turn[T: Compute](values: &[T], start: isize, across: isize, width: usize, out: &mut [T]) {
        let column = |j: usize| -> &[T; ROWS] {
            let position = (start + j as isize * across) as usize;
            values[position..].first_chunk().expect("views lie within their memory")
        };
        let whole = width / ROWS * ROWS;
        for first in (0..whole).step_by(ROWS) {
            let mut block = [[T::ZERO; ROWS]; ROWS];
            for (j, line) in block.iter_mut().enumerate() {
                *line = *column(first + j);
            }
            for i in 0..ROWS {
                let out: &mut [T; ROWS] = out[i * width + first..].first_chunk_mut().expect("a panel holds its rows");
                for j in 0..ROWS {
                    out[j] = block[j][i];
                }
            }
        }
        for j in whole..width {
            for (i, &value) in column(j).iter().enumerate() {
                out[i * width + j] = value;
            }
        }
    }
}

impl<T: Compute> Reader<'_, T> {
    fn sheet(&self) -> Option<Sheet> {
        match self {
            Reader::Strided(strided) => strided.sheet(),
            _ => None,
        }
    }
}

/// The sheet of the first transposed reader.
pub(super) fn sheet_of<T: Compute>(readers: &[Reader<'_, T>]) -> Option<Sheet> {
    readers.iter().find_map(Reader::sheet)
}

/// The number of elements that one thread takes at a time: as [`tile_elements`], rounded to whole panels if a reader is transposed.
pub(crate) fn chunk_elements<T: Compute>(readers: &[Reader<'_, T>], length: usize) -> usize {
    let chunk = tile_elements(length);
    match sheet_of(readers) {
        Some(sheet) if chunk < length => REGION_TILE.div_ceil(ROWS * sheet.columns) * ROWS * sheet.columns,
        _ => chunk,
    }
}

/// As [`walk`](super::reader::walk), panel by panel.
#[inline(never)]
pub(super) fn walk_panels<T: Compute, const N: usize>(
    readers: &[Reader<'_, T>; N],
    sheet: Sheet,
    start: usize,
    length: usize,
    visit: &mut dyn FnMut(Range<usize>, [&[T]; N]),
) {
    let columns = sheet.columns;
    let mut scratch: [Scratch<T>; N] = std::array::from_fn(|_| Scratch::new());
    let mut panels: [Option<Block>; N] = readers
        .each_ref()
        .map(|reader| (reader.sheet() == Some(sheet)).then(|| Block::new(ROWS * columns.min(TILE) * size_of::<T>())));
    let (mut row, end) = (start / columns, (start + length) / columns);
    while row < end {
        let within = row % sheet.rows;
        let height = (ROWS - within % ROWS).min(sheet.rows - within).min(end - row);
        for first in (0..columns).step_by(TILE) {
            let width = TILE.min(columns - first);
            for (reader, panel) in readers.iter().zip(&mut panels) {
                if let (Reader::Strided(strided), Some(panel)) = (reader, panel) {
                    let panel = panel.as_mut_slice::<T>().expect("a panel is not shared");
                    strided.load_panel(sheet, row..row + height, first..first + width, panel);
                }
            }
            // Short rows are visited several at a time.
            let together = if width == columns { (TILE / columns).max(1) } else { 1 };
            for line in (0..height).step_by(together) {
                let count = together.min(height - line) * width;
                let begin = (row + line) * columns + first;
                let mut inputs: [&[T]; N] = [&[]; N];
                for (((input, reader), scratch), panel) in inputs.iter_mut().zip(readers).zip(&mut scratch).zip(&panels)
                {
                    *input = match panel {
                        Some(panel) => &panel.as_slice()[line * width..][..count],
                        None => reader.tile(begin, count, scratch),
                    };
                }
                visit(begin - start..begin - start + count, inputs);
            }
        }
        row += height;
    }
}
