//! Convolutions and their two partial derivatives.

use super::pooling::two;
use super::{Macros, PROCESSORS, addresses, choose, windows};
use crate::launch::{MOST_SHARED, Shape};
use crate::lower::{Call, Lowering};
use crate::product::Rounding;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/conv.cu");

/// The sizes that all three share, the slower axis of a pair first.
struct Sizes {
    batch: usize,
    channels: usize,
    outputs: usize,
    groups: usize,
    input: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    before: [usize; 2],
    out: [usize; 2],
}

/// A row of this many floats begins at an odd number of 16 bytes.
fn odd4(n: usize) -> usize {
    (n.div_ceil(4) | 1) * 4
}

/// The least number from `n` on that leaves 8 when divided by 32.
fn pad8(n: usize) -> usize {
    n + (40 - n % 32) % 32
}

/// The largest power of two that is at most `n`.
fn floor(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

impl Sizes {
    /// Of the shapes of x, w and y.
    fn new(call: &Call<'_>, x: &[usize], w: &[usize], y: &[usize]) -> Result<Sizes, Error> {
        let (before, after) = (two(call, "before", 0)?, two(call, "after", 0)?);
        let (input, kernel) = (two(call, "input", 1)?, two(call, "kernel", 1)?);
        let (stride, dilation) = (two(call, "stride", 1)?, two(call, "dilation", 1)?);
        let out = [0, 1].map(|i| (input[i] + before[i] + after[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1);
        let groups = call.attrs.axis("groups");
        debug_assert_eq!((w[0], w[1] * groups), (y[1], x[1]));
        Ok(Sizes { batch: x[0], channels: x[1], outputs: y[1], groups, input, kernel, stride, dilation, before, out })
    }

    fn macros(&self, kind: &str) -> Macros {
        let pairs = [
            ("KERNEL", self.kernel),
            ("STRIDE", self.stride),
            ("DILATION", self.dilation),
            ("BEFORE", self.before),
            ("OUT", self.out),
        ];
        let macros = Macros::default()
            .set(kind, 1)
            .set("BATCH", self.batch)
            .set("CHANNELS", self.channels)
            .set("OUTPUTS", self.outputs)
            .set("GROUPS", self.groups)
            .set("HEIGHT", self.input[0])
            .set("WIDTH", self.input[1]);
        pairs.iter().fold(macros, |macros, (name, [height, width])| {
            macros.set(&format!("{name}_H"), height).set(&format!("{name}_W"), width)
        })
    }
}

/// The tile of a block of `conv` and `conv_input_gradient`: see the text.
#[derive(Clone, Copy)]
struct Tile {
    strip: usize,
    outs: usize,
    lanes: usize,
    strips: usize,
    rows: usize,
    images: usize,
    depth: usize,
    /// The positions of a warp, where matrix units multiply numbers of TF32.
    places: Option<usize>,
}

/// The results of a warp that multiplies by matrix units, and the warps of a block.
const WARP_RESULTS: usize = 3072;
const WARPS: usize = 4;

/// The shared memory within which a stage gets deeper.
const STAGE_BYTES: usize = 70_000;

/// The shared memory of two blocks on a multiprocessor.
const MOST_BYTES: u32 = 113_000;

impl Tile {
    /// The same for matrix units; `None` where these do not fit, or would be idle most of the time.
    fn of_matrices(sizes: &Sizes, forward: bool) -> Option<Tile> {
        let [to_h, to_w] = if forward { sizes.out } else { sizes.input };
        let (outputs, channels) = (sizes.outputs / sizes.groups, sizes.channels / sizes.groups);
        let (to_group, from_group) = if forward { (outputs, channels) } else { (channels, outputs) };
        if to_group < 16 || from_group < 8 || (!forward && sizes.stride != [1, 1]) {
            return None;
        }
        let outs = [64, 32, 16].into_iter().find(|outs| *outs <= to_group).expect("there are 16");
        let most = WARPS * WARP_RESULTS / outs;
        let strip = to_w.div_ceil(to_w.div_ceil(64));
        let (rows, images) = match to_h * strip {
            whole if whole > most => (to_h.div_ceil(whole.div_ceil(most)), 1),
            whole => (to_h, sizes.batch.min(most / whole.max(1)).max(1)),
        };
        let warps = (images * rows * strip).div_ceil(WARP_RESULTS / outs).max(1);
        let places = (images * rows * strip).div_ceil(warps).next_multiple_of(8);
        let tile = Tile { strip, outs, lanes: 1, strips: 1, rows, images, depth: 8, places: Some(places) };
        (tile.shape(sizes, forward).shared <= MOST_BYTES && warps <= 32).then_some(tile)
    }

    /// The tile of a direction: `forward`, or towards the input. `None` where the kernel reaches so far that no tile fits.
    fn of(sizes: &Sizes, forward: bool) -> Option<Tile> {
        let [to_h, to_w] = if forward { sizes.out } else { sizes.input };
        let (outputs, channels) = (sizes.outputs / sizes.groups, sizes.channels / sizes.groups);
        let (to_group, from_group) = if forward { (outputs, channels) } else { (channels, outputs) };
        let (step, up) = if forward { (sizes.stride[1], 1) } else { (1, sizes.stride[1]) };
        let (mut strip, mut strips) = (to_w, 1);
        if to_w > 28 {
            let fitting = [28, 24, 20, 16, 12, 8].into_iter().filter(|n| n % up == 0);
            let whole = |n: &usize| (to_w.div_ceil(*n) * n, std::cmp::Reverse(*n));
            strip = fitting.min_by_key(whole).unwrap_or(up * (8 / up).max(1));
            strips = to_w.div_ceil(strip);
        }
        let span = |n: usize| ((n - 1) * step + (sizes.kernel[1] - 1) * sizes.dilation[1]) / up + 1;
        let fits = |n: usize, outs: usize| n * outs <= 112 && n * outs + span(n).min(n * sizes.kernel[1]) + outs <= 140;
        let fitting = [32, 16, 8, 4, 2, 1].into_iter().find(|&outs| fits(strip, outs) && outs <= to_group);
        let mut outs = fitting.unwrap_or(1);
        if outs < 4 && to_group >= 4 && strip > 8 {
            let shorter = (1..strip).filter(|n| n % up == 0 && fits(*n, 4));
            if let Some(best) = shorter.max_by_key(|&n| (std::cmp::Reverse(to_w.div_ceil(n) * n), n)) {
                (strip, strips, outs) = (best, to_w.div_ceil(best), 4);
            }
        }
        let threads = |outs: usize| sizes.batch * to_h * to_w.div_ceil(strip) * sizes.groups * to_group.div_ceil(outs);
        while outs > 4 && threads(outs) < PROCESSORS * 256 {
            outs /= 2;
        }
        let lanes = floor(to_group.div_ceil(outs)).min(16);
        let strips = strips.min((128 / lanes).max(1));
        let left = (128 / (lanes * strips)).max(1);
        let is_padded = !forward || sizes.before[0] > 0;
        let rows = to_h.min(left).min(if is_padded && sizes.batch >= left / 2 { 2 } else { 8 });
        let images = sizes.batch.min(left / rows).max(1);
        let tile = Tile { strip, outs, lanes, strips, rows, images, depth: 1, places: None };
        let shared = |tile: &Tile| tile.shape(sizes, forward).shared;
        let mut deeper = [8, 4, 2].into_iter().map(|depth| Tile { depth, ..tile });
        let single = Tile { images: 1, ..tile };
        let smaller = [tile, single, Tile { rows: 1, ..single }, Tile { rows: 1, strips: 1, ..single }];
        let deeper = deeper.find(|tile| tile.depth <= from_group && shared(tile) as usize <= STAGE_BYTES);
        deeper.or_else(|| smaller.into_iter().find(|tile| shared(tile) <= MOST_SHARED))
    }

    fn shape(&self, sizes: &Sizes, forward: bool) -> Shape {
        let Tile { strip, outs, lanes, strips, rows, images, depth, places } = *self;
        let [to_h, to_w] = if forward { sizes.out } else { sizes.input };
        let to_group = if forward { sizes.outputs } else { sizes.channels } / sizes.groups;
        let [step_h, step_w] = if forward { sizes.stride } else { [1, 1] };
        let [up_h, up_w] = if forward { [1, 1] } else { sizes.stride };
        let tile_h = ((rows - 1) * step_h + (sizes.kernel[0] - 1) * sizes.dilation[0]).div_ceil(up_h) + 1;
        let tile_w = ((strip * strips - 1) * step_w + (sizes.kernel[1] - 1) * sizes.dilation[1]).div_ceil(up_w) + 1;
        let taps: usize = sizes.kernel.iter().product();
        let (image, weights) = (images * tile_h * odd4(tile_w), taps * odd4(outs * lanes));
        let results = lanes * odd4(images * rows * to_w.min(strip * strips));
        let (stage, results, threads) = match places {
            None => (image + weights, results, (lanes * strips * rows * images).next_multiple_of(32)),
            Some(places) => {
                let positions = images * rows * strip * strips;
                (pad8(image) + pad8(weights), 16 * results, 32 * lanes * positions.div_ceil(places))
            }
        };
        let across = sizes.batch.div_ceil(images) * to_h.div_ceil(rows) * to_w.div_ceil(strip * strips);
        Shape {
            grid: [across as u32, (sizes.groups * to_group.div_ceil(outs * lanes)) as u32, 1],
            block: [threads as u32, 1, 1],
            shared: 4 * (2 * depth * stage).max(results) as u32,
            cluster: 1,
        }
    }

    fn macros(&self, sizes: &Sizes, kind: &str) -> Macros {
        let macros = sizes.macros(kind);
        let macros = match self.places {
            None => macros,
            Some(places) => macros.set("TF32", 1).set("PLACES", places),
        };
        macros
            .set("STRIP", self.strip)
            .set("OUTS", self.outs)
            .set("LANES", self.lanes)
            .set("STRIPS", self.strips)
            .set("ROWS", self.rows)
            .set("IMAGES", self.images)
            .set("DEPTH", self.depth)
            .set("TAP_H", sizes.kernel[0])
            .set("TAP_W", sizes.kernel[1])
            .set("BLOCKS", 2)
    }
}

fn shapes<'a>(call: &'a Call<'_>) -> [&'a [usize]; 3] {
    [&call.reads[0].spec.shape[..], &call.reads[1].spec.shape[..], &call.writes[0].1.shape[..]]
}

/// Whether the kernels of this file take a call: sums in f32, over one or two axes.
fn is_fast(call: &Call<'_>) -> bool {
    let reads = call.reads.iter().all(|read| read.spec.bytes() > 0);
    reads && call.attrs.sizes("kernel").rank() <= 2 && call.reads[0].spec.dtype != DType::F64
}

/// The operands as row-major f32, and where the result goes as f32; `finish` puts it in its place.
fn wide(lowering: &mut Lowering, call: &Call<'_>) -> Result<[Span; 3], Error> {
    let dtype = call.reads[0].spec.dtype;
    let (to, spec) = &call.writes[0];
    let mut spans = [lowering.at(*to); 3];
    for (span, read) in spans.iter_mut().zip(call.reads) {
        let own = lowering.contiguous(read)?;
        *span = match dtype {
            DType::F32 => own,
            _ => choose::converted(lowering, own, dtype, DType::F32, read.spec.shape.elements()),
        };
    }
    if dtype != DType::F32 {
        spans[2] = lowering.scratch(4 * spec.shape.elements());
    }
    Ok(spans)
}

fn finish(lowering: &mut Lowering, call: &Call<'_>, result: Span) {
    let (to, spec) = &call.writes[0];
    if spec.dtype != DType::F32 {
        let to = lowering.at(*to);
        choose::convert(lowering, (result, DType::F32), (to, spec.dtype), spec.shape.elements());
    }
}

/// `conv`: of x and w.
pub fn forward(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let [x, w, y] = shapes(call);
    if !is_fast(call) {
        return windows::conv(lowering, call, x, y);
    }
    gathered(lowering, call, Sizes::new(call, x, w, y)?, true)
}

/// `conv_input_gradient`: of y and w.
pub fn input_gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let [y, w, x] = shapes(call);
    if !is_fast(call) {
        return windows::conv(lowering, call, x, y);
    }
    gathered(lowering, call, Sizes::new(call, x, w, y)?, false)
}

fn gathered(lowering: &mut Lowering, call: &Call<'_>, sizes: Sizes, forward: bool) -> Result<(), Error> {
    let is_rounded = lowering.rounding == Rounding::Tf32;
    let rounded = is_rounded.then(|| Tile::of_matrices(&sizes, forward)).flatten();
    let Some(tile) = rounded.or_else(|| Tile::of(&sizes, forward)) else {
        let [first, _, last] = shapes(call);
        let [x, y] = if forward { [first, last] } else { [last, first] };
        return windows::conv(lowering, call, x, y);
    };
    let [from, w, to] = wide(lowering, call)?;
    let (kind, name) = if forward { ("CONV", "conv") } else { ("INPUT_GRADIENT", "conv_input_gradient") };
    let (text, shape) = (tile.macros(&sizes, kind).before(TEXT), tile.shape(&sizes, forward));
    lowering.launch(name, text, shape, addresses(&[Some(from), Some(w), Some(to)]));
    finish(lowering, call, to);
    Ok(())
}

/// The tile of a block of `conv_weight_gradient`: see the text.
#[derive(Clone, Copy)]
struct WeightTile {
    outs: usize,
    ins: usize,
    lanes: [usize; 2],
    split: usize,
    rows: usize,
    columns: usize,
    tap_h: usize,
    /// Whether matrix units multiply numbers of TF32; then outputs and channels are those of a warp.
    is_rounded: bool,
}

impl WeightTile {
    fn of(sizes: &Sizes, rounding: Rounding) -> Option<WeightTile> {
        let (outputs, channels) = (sizes.outputs / sizes.groups, sizes.channels / sizes.groups);
        let tap_h = if sizes.kernel[0] * sizes.kernel[1] > 32 { 1 } else { sizes.kernel[0] };
        let taps = tap_h * sizes.kernel[1];
        let rounded = [64, 32, 16].into_iter().find(|outs| outs * 8 * taps <= 4608 && *outs <= outputs);
        if let (Rounding::Tf32, Some(outs)) = (rounding, rounded.filter(|_| channels >= 8)) {
            let lanes_c = floor(channels.div_ceil(8)).min(4);
            let columns = sizes.out[1].min(56).next_multiple_of(8);
            let tile = WeightTile {
                outs,
                ins: 8,
                lanes: [1, lanes_c],
                split: 8 / lanes_c,
                rows: 1,
                columns,
                tap_h,
                is_rounded: true,
            };
            let mut larger = [4, 3, 2, 1].into_iter().map(|rows| WeightTile { rows, ..tile });
            let fits = |tile: &WeightTile| tile.rows <= sizes.out[0] && tile.shared(sizes) <= 100_000;
            if let Some(tile) = larger.find(fits) {
                return Some(WeightTile { split: tile.split.min(floor(tile.rows * columns / 8)), ..tile });
            }
        }
        let outs = [16, 8, 4, 2].into_iter().find(|outs| outs * taps <= 80 && *outs <= outputs).unwrap_or(1);
        let ins = [4, 2].into_iter().find(|ins| outs * taps * ins <= 80 && *ins <= channels).unwrap_or(1);
        let lanes_c = floor(channels.div_ceil(ins)).min(32);
        let lanes_o = floor(outputs.div_ceil(outs)).min(256 / lanes_c).min(8);
        let split = (256usize.div_ceil(lanes_c * lanes_o)).next_power_of_two();
        let columns = sizes.out[1].min(56).next_multiple_of(4);
        let tile =
            WeightTile { outs, ins, lanes: [lanes_o, lanes_c], split, rows: 1, columns, tap_h, is_rounded: false };
        let mut larger = [16, 12, 8, 6, 4, 3, 2].into_iter().map(|rows| WeightTile { rows, ..tile });
        let fits = |tile: &WeightTile| {
            let is_shared = tile.rows <= 4 || tile.rows * columns / 4 <= 2 * split;
            tile.rows <= sizes.out[0] && tile.shared(sizes) <= 100_000 && is_shared
        };
        if let Some(tile) = larger.find(fits) {
            return Some(tile);
        }
        // Kernels that reach far leave room for fewer channels and columns.
        let mut tile = tile;
        while tile.shared(sizes) > MOST_SHARED as usize {
            let WeightTile { lanes: [o, c], columns, split, .. } = tile;
            tile = match (c > 1, columns > 4, o > 1) {
                (true, ..) => WeightTile { lanes: [o, c / 2], split: 2 * split, ..tile },
                (_, true, _) => WeightTile { columns: (columns / 2).next_multiple_of(4), ..tile },
                (.., true) => WeightTile { lanes: [o / 2, c], split: 2 * split, ..tile },
                _ => return None,
            };
        }
        Some(tile)
    }

    /// The threads that share what a tile counts.
    fn warp(&self) -> usize {
        if self.is_rounded { 32 } else { 1 }
    }

    /// The blocks of a multiprocessor, whose registers hold the sums.
    fn blocks(&self) -> usize {
        if self.is_rounded { 1 } else { 2 }
    }

    /// The sums of a block.
    fn sums(&self, sizes: &Sizes) -> usize {
        self.outs * self.ins * self.tap_h * sizes.kernel[1] * self.lanes[0] * self.lanes[1]
    }

    fn tiles(&self, sizes: &Sizes) -> usize {
        let outputs = (sizes.outputs / sizes.groups).div_ceil(self.outs * self.lanes[0]);
        let channels = (sizes.channels / sizes.groups).div_ceil(self.ins * self.lanes[1]);
        sizes.groups * outputs * channels * (sizes.kernel[0] / self.tap_h)
    }

    fn parts(&self, sizes: &Sizes) -> usize {
        let stages = sizes.batch * sizes.out[0].div_ceil(self.rows) * sizes.out[1].div_ceil(self.columns);
        stages.min((self.blocks() * PROCESSORS / self.tiles(sizes)).max(1)).max(1)
    }

    fn shared(&self, sizes: &Sizes) -> usize {
        let x_h = (self.rows - 1) * sizes.stride[0] + (self.tap_h - 1) * sizes.dilation[0] + 1;
        let x_w = (self.columns - 1) * sizes.stride[1] + (sizes.kernel[1] - 1) * sizes.dilation[1] + 1;
        let y = self.outs * self.lanes[0] * odd4(self.rows * self.columns);
        let x = self.ins * self.lanes[1] * odd4(x_h * x_w.next_multiple_of(4));
        4 * (2 * (x + y)).max(self.split / 2 * self.sums(sizes))
    }
}

/// `conv_weight_gradient`: of x and y.
pub fn weight_gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let [x, y, w] = shapes(call);
    if !is_fast(call) {
        return windows::conv(lowering, call, x, y);
    }
    let sizes = Sizes::new(call, x, w, y)?;
    let Some(tile) = WeightTile::of(&sizes, lowering.rounding) else {
        return windows::conv(lowering, call, x, y);
    };
    let [x, y, to] = wide(lowering, call)?;
    let (tiles, parts, sums) = (tile.tiles(&sizes), tile.parts(&sizes), tile.sums(&sizes));
    let macros = sizes.macros("WEIGHT_GRADIENT");
    let macros = if tile.is_rounded { macros.set("TF32", 1) } else { macros };
    let text = macros
        .set("OUTS", tile.outs)
        .set("INS", tile.ins)
        .set("TAP_H", tile.tap_h)
        .set("TAP_W", sizes.kernel[1])
        .set("LANES_O", tile.lanes[0])
        .set("LANES_C", tile.lanes[1])
        .set("SPLIT", tile.split)
        .set("ROWS", tile.rows)
        .set("COLUMNS", tile.columns)
        .set("PARTS", parts)
        .set("BLOCKS", tile.blocks())
        .before(TEXT);
    let scratch = lowering.scratch(parts * tiles * sums * 4);
    let shape = Shape {
        grid: [parts as u32, tiles as u32, 1],
        block: [(tile.warp() * tile.lanes[0] * tile.lanes[1] * tile.split) as u32, 1, 1],
        shared: tile.shared(&sizes) as u32,
        cluster: 1,
    };
    lowering.launch("conv_weight_gradient", text.clone(), shape, addresses(&[Some(x), Some(y), Some(scratch)]));
    let shape = Shape::line((tiles * sums).div_ceil(32), 256);
    lowering.launch("conv_weight_sum", text, shape, addresses(&[Some(scratch), Some(to)]));
    finish(lowering, call, to);
    Ok(())
}
