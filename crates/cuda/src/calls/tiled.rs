//! Products of f32 that are too small for the vendor's library to fill a device.

use super::{Macros, addresses, alignment};
use crate::launch::Shape;
use crate::lower::Lowering;
use crate::product::{Matrix, Product, Rounding};
use wengert_core::DType;

pub(super) const TEXT: &str = include_str!("../kernels/product.cu");

/// How a product is cut: see the text.
struct Tile {
    rows: usize,
    cols: usize,
    inner: usize,
    each: [usize; 2],
    groups: usize,
    slices: usize,
    splits: usize,
    stages: usize,
}

/// The largest power of two that is at most `n`, and at least 1.
fn down(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// Whether the vendor's library would be slower.
pub fn is_better(product: &Product) -> bool {
    let Product { rows, cols, inner, .. } = *product;
    let work = rows * cols * inner;
    let is_large = work >= 1 << 30 || (work >= 1 << 29 && rows * cols >= 1 << 21);
    product.dtype == DType::F32 && product.rounding == Rounding::None && !is_large && alignment(&[product.c]) == 16
}

impl Tile {
    /// The rule of the text.
    fn of(product: &Product) -> Tile {
        let Product { rows: m, cols: n, inner: k, a, b, .. } = *product;
        let (along_a, along_b) = (!a.is_transposed, b.is_transposed);
        let area = m * n;
        let tiles = |rows: usize, cols: usize| m.div_ceil(rows) * n.div_ceil(cols);
        let is_small = k <= 16 || (area <= 16384 && k < 1024);
        let ([mut rows, mut cols], each, ways, splits) = if k <= 16 {
            ([16, 32], [4, 4], 1, 1)
        } else if is_small {
            let splits = if k < 256 { 1 } else { down(k / 64).min(8) };
            ([8, 16], [4, 4], down(k / splits / 8).min(16), splits)
        } else if area <= 32768 && k >= 2048 {
            let (tile, each, ways) = match area {
                0..=8192 => ([16, 16], [4, 4], 8),
                8193..=16384 => ([32, 32], [8, 4], 4),
                _ => ([32, 64], [8, 4], 2),
            };
            // More than 8 blocks of a cluster need a permission that not every device gives.
            (tile, each, ways, down(256 / tiles(tile[0], tile[1]).min(256)).min(8))
        } else if area <= 131_072 && k >= 1024 {
            ([32, 32], [8, 4], 8, down(132 / tiles(32, 32).min(132)).min(8))
        } else if area <= 131_072 {
            (if area <= 65536 { [16, 32] } else { [24, 32] }, [4, 4], 8, 1)
        } else if area <= 393_216 && k <= 512 {
            ([32, 32], [8, 4], 4, 1)
        } else if area <= 600_000 && k <= 512 {
            ([64, 32], [8, 4], 2, 1)
        } else if area > 600_000 && area <= 900_000 && tiles(96, 64) <= 132 {
            let turned = along_a && along_b;
            (if turned { [64, 96] } else { [96, 64] }, if turned { [8, 12] } else { [8, 8] }, 4, 1)
        } else if area >= 1_100_000 {
            ([64, 96], [8, 4], 1, if tiles(64, 96) < 264 { 2 } else { 1 })
        } else {
            let splits = if tiles(64, 64) <= 66 { 2 } else { 1 };
            let is_narrow = tiles(48, 64) * splits <= 132;
            let (tile, each) = if is_narrow { ([48, 64], [8, 4]) } else { ([64, 64], [8, 8]) };
            (tile, each, if tiles(tile[0], tile[1]) * splits <= 132 { 4 } else { 2 }, splits)
        };
        if is_small {
            (rows, cols) = (rows.min(m.next_multiple_of(4)), cols.min(n.next_multiple_of(4)));
        }
        let places = rows / each[0] * (cols / each[1]);
        let is_sliced = !places.is_multiple_of(32) || (a.is_transposed && !b.is_transposed && k > 1);
        let (groups, slices) = if is_sliced { (1, ways) } else { (ways, 1) };
        let part = k.div_ceil(splits * ways);
        let steps = |deep: usize| k.div_ceil(deep * slices).div_ceil(splits * groups);
        let deep = match () {
            () if is_small => part.next_multiple_of(4),
            () if slices > 1 && part > 32 => 16,
            () if slices == 1 && steps(8) * 8 >= steps(16) * 16 => 16,
            () => 8,
        };
        let stages = if steps(deep) == 1 { 1 } else { 2 };
        Tile { rows, cols, inner: deep * slices, each, groups, slices, splits, stages }
    }

    /// The bytes of shared memory.
    fn shared(&self, product: &Product) -> usize {
        let side = |size: usize, along: bool| size * (self.inner + usize::from(along));
        let sides = side(self.rows, !product.a.is_transposed) + side(self.cols, product.b.is_transposed);
        let mut group = self.stages * sides;
        group += if (group / 4).is_multiple_of(2) { 4 } else { 0 };
        let (ways, area) = (self.groups * self.slices, self.rows * self.cols);
        let sums = if ways > 1 { ways * area } else { 0 };
        let inbox = if self.splits > 1 { 4 * self.splits * (area / 4).div_ceil(self.splits) } else { 0 };
        let bias = if product.bias.is_some() { self.cols } else { 0 };
        4 * ((self.groups * group).max(sums) + inbox + bias)
    }
}

/// Launches a product.
pub fn launch(lowering: &mut Lowering, product: &Product) {
    let Product { batch, rows, cols, inner, a, b, c, bias, .. } = *product;
    let tile = Tile::of(product);
    let steps = |matrix: Matrix| if matrix.is_transposed { [1, matrix.leading] } else { [matrix.leading, 1] };
    let ([a_m, a_k], [b_k, b_n]) = (steps(a), steps(b));
    let mut macros = Macros::default()
        .set("M", rows)
        .set("N", cols)
        .set("K", inner)
        .set("A_M", a_m)
        .set("A_K", a_k)
        .set("B_K", b_k)
        .set("B_N", b_n)
        .set("TILE_M", tile.rows)
        .set("TILE_N", tile.cols)
        .set("TILE_K", tile.inner)
        .set("THREAD_M", tile.each[0])
        .set("THREAD_N", tile.each[1])
        .set("STAGES", tile.stages)
        .set("SPLITS", tile.splits)
        .set("GROUPS", tile.groups)
        .set("SLICES", tile.slices)
        .set("HAS_BIAS", u8::from(bias.is_some()))
        .set("ALIGNED", alignment(&[a.span, b.span]) / 4);
    if batch > 1 {
        macros = macros.set("A_BATCH", a.batch).set("B_BATCH", b.batch).set("C_BATCH", rows * cols);
    }
    let tiles = rows.div_ceil(tile.rows) * cols.div_ceil(tile.cols);
    let threads = tile.rows / tile.each[0] * (tile.cols / tile.each[1]) * tile.slices * tile.groups;
    let shape = Shape {
        grid: [(tiles * tile.splits) as u32, 1, batch as u32],
        block: [threads as u32, 1, 1],
        shared: tile.shared(product) as u32,
        cluster: tile.splits as u32,
    };
    let spans = [Some(a.span), Some(b.span)].into_iter().chain(bias.map(Some)).chain([Some(c)]);
    let arguments = addresses(&spans.collect::<Vec<_>>());
    lowering.launch("product", macros.before(TEXT), shape, arguments);
}
