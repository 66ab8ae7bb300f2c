//! Elements at indices along an axis.

use super::part::{self, Place};
use super::{Macros, address, addresses, choose, pooling, width};
use crate::launch::{Shape, Word};
use crate::lower::{Call, Lowering, missing};
use crate::source::{held, stored};
use wengert_compiler::plan::Read;
use wengert_core::primitive::Spec;
use wengert_core::tensor::Layout;
use wengert_core::{DType, Error, Shape as Sizes};
use wengert_kernels::memory::Span;
use wengert_kernels::view::collapse;

pub(super) const TEXT: &str = include_str!("../kernels/index.cu");

/// The sizes of a call, with the strides of its indices where they were found; other indices are copied.
struct Positions {
    outer: usize,
    n: usize,
    k: usize,
    inner: usize,
    index: Span,
    strides: [isize; 3],
}

/// The step along axes that are one in memory.
pub(super) fn step(shape: &[usize], strides: &[isize]) -> Option<isize> {
    let one = collapse(shape, strides);
    match one.strides[..] {
        [] => Some(0),
        [stride] => Some(stride),
        _ => None,
    }
}

impl Positions {
    /// The indices along this axis of length `n`.
    fn of(lowering: &mut Lowering, index: &Read, axis: usize, n: usize) -> Result<Positions, Error> {
        let (shape, strides) = (&index.spec.shape, &index.layout.strides);
        let (outer, k) = (shape[..axis].iter().product(), shape[axis]);
        let inner: usize = shape[axis + 1..].iter().product();
        let parts = [(0, axis), (axis, axis + 1), (axis + 1, shape.len())];
        let found = parts.map(|(from, to)| step(&shape[from..to], &strides[from..to]));
        if let ([Some(a), Some(b), Some(c)], DType::I64) = (found, index.spec.dtype) {
            let (index, _) = part::laid(lowering, index);
            return Ok(Positions { outer, n, k, inner, index, strides: [a, b, c] });
        }
        Positions::row_major(lowering, index, [outer, n, k, inner])
    }

    /// Indices that are read, or copied, as row-major numbers `[outer][k][inner]`.
    fn row_major(lowering: &mut Lowering, index: &Read, sizes: [usize; 4]) -> Result<Positions, Error> {
        let [outer, n, k, inner] = sizes;
        let span = lowering.contiguous(index)?;
        let index = match index.spec.dtype {
            DType::I64 => span,
            dtype => choose::converted(lowering, span, dtype, DType::I64, outer * k * inner),
        };
        // One index for each row has no step along it.
        let strides = [(k * inner) as isize, inner as isize, isize::from(inner > 1)];
        Ok(Positions { outer, n, k, inner, index, strides })
    }

    /// An error for more rows than sorted positions can name.
    fn expect_rows(&self) -> Result<(), Error> {
        // Places of sorted positions have 32 bits, and a block of partial sums has 128 of at most 65535 columns.
        let is_large = (self.outer * self.n).max(self.count()) >= 1 << 31 || self.inner.div_ceil(128) > 65535;
        match self.by_rows() && is_large {
            true => Err(missing(format!("{} rows at positions have no kernel for this device", self.outer * self.n))),
            false => Ok(()),
        }
    }

    fn count(&self) -> usize {
        self.outer * self.k
    }

    /// Whether numbers of 16 bits are changed one by one: they are kept as f32 until the last.
    fn widens(&self, dtype: DType) -> bool {
        dtype.is_float() && dtype.size() == 2 && !self.by_rows()
    }

    fn by_rows(&self) -> bool {
        self.strides[2] == 0
    }

    /// The positions that a block adds.
    fn piece(&self) -> usize {
        match self.count() {
            0..=4096 => 8,
            4097..=65536 => 32,
            _ => 64,
        }
    }

    fn macros(&self, dtype: DType, width: usize) -> Macros {
        let [io, ik, ii] = self.strides;
        Macros::default()
            .set("T", stored(dtype))
            .set("COMPUTE", held(dtype))
            .set("OUTER", self.outer)
            .set("N", self.n)
            .set("K", self.k)
            .set("INNER", self.inner)
            .set("IO", io)
            .set("IK", ik)
            .set("II", ii)
            .set("WIDTH", width)
    }

    /// The width of loads from these spans.
    fn width(&self, dtype: DType, spans: &[Span]) -> usize {
        if self.by_rows() { width(self.inner, dtype.size(), spans) } else { 1 }
    }
}

/// The part of an operand that positions of this shape can name, and whether it is all of it.
fn named(x: &Read, index: &[usize], axis: usize) -> (Read, bool) {
    let sizes = x.spec.shape.iter().zip(index).enumerate();
    let shape: Sizes = sizes.map(|(other, (all, here))| if other == axis { *all } else { *here }).collect();
    let is_whole = shape == x.spec.shape;
    let spec = Spec { shape: shape.clone(), dtype: x.spec.dtype };
    let read = Read { span: x.span, spec, layout: Layout { shape, ..x.layout.clone() } };
    (read, is_whole)
}

/// `y[o][k][i] = x[o][index[o][k][i]][i]`
pub fn gather(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let axis = call.attrs.axis("axis");
    let (x, _) = named(&call.reads[0], &call.reads[1].spec.shape, axis);
    let positions = Positions::of(lowering, &call.reads[1], axis, x.spec.shape[axis])?;
    let from = lowering.contiguous(&x)?;
    gather_at(lowering, &positions, x.spec.dtype, from, lowering.at(call.writes[0].0));
    Ok(())
}

fn gather_at(lowering: &mut Lowering, positions: &Positions, dtype: DType, from: Span, to: Span) {
    let width = positions.width(dtype, &[from, to]);
    let text = positions.macros(dtype, width).set("ZERO", 1).set("PIECE", 1).before(TEXT);
    let blocks = (positions.count() * positions.inner / width).div_ceil(1024);
    lowering.launch(
        "gather",
        text,
        Shape::line(blocks, 256),
        addresses(&[Some(from), Some(positions.index), Some(to)]),
    );
}

/// What is read at the positions, or written there.
#[derive(Clone, Copy)]
enum Change {
    /// The sum of these values and what is there; with zeros instead of that, if it is set.
    Add { values: Span, is_zero: bool },
    /// These values, combined with what is there.
    Fold { values: Span, fold: &'static str },
    /// 0; what was there goes to this span.
    Take { to: Span },
}

/// `y = x`, then a change at the positions in order. `x` may be `y`.
fn change_at(lowering: &mut Lowering, positions: &Positions, dtype: DType, [from, to]: [Span; 2], change: Change) {
    let (all, elements) = (positions.outer * positions.n * positions.inner, positions.count() * positions.inner);
    let wide = |lowering: &mut Lowering, values: Span| choose::converted(lowering, values, dtype, DType::F32, elements);
    let widened = match change {
        _ if !positions.widens(dtype) => None,
        Change::Add { values, .. } => Some(Change::Add { values: wide(lowering, values), is_zero: false }),
        Change::Fold { values, fold } if fold != "Assign" => {
            Some(Change::Fold { values: wide(lowering, values), fold })
        }
        _ => None,
    };
    if let Some(change) = widened {
        let sums = choose::converted(lowering, from, dtype, DType::F32, all);
        change_at(lowering, positions, DType::F32, [sums; 2], change);
        choose::convert(lowering, (sums, DType::F32), (to, dtype), all);
        return;
    }
    let (values, is_zero) = match change {
        Change::Add { values, is_zero } => (values, is_zero),
        Change::Fold { values, .. } => (values, false),
        Change::Take { to } => (to, false),
    };
    let (by_rows, count) = (positions.by_rows(), positions.count());
    let width = positions.width(dtype, &[from, values, to]);
    let macros = positions.macros(dtype, width).set("ZERO", u8::from(is_zero)).set("PIECE", positions.piece());
    let text = match change {
        Change::Fold { fold, .. } => macros.set("FOLD", fold),
        _ => macros,
    }
    .before(TEXT);
    let null = vec![Word::Number(0)];
    let is_there = !is_zero && (from.region, from.start) == (to.region, to.start);
    let fill = match is_there {
        true => 0,
        false => (all / width).div_ceil(1024).min(264),
    };
    if !by_rows || elements == 0 {
        if fill > 0 {
            let arguments = vec![null.clone(), address(from), address(to), null];
            lowering.launch("scatter_begin", text.clone(), Shape::line(fill, 1024), arguments);
        }
        if elements == 0 {
            return;
        }
        let (name, operands) = match change {
            Change::Take { .. } => ("take_columns", [positions.index, to, values]),
            _ => ("scatter_columns", [positions.index, values, to]),
        };
        let blocks = (positions.outer * positions.inner).div_ceil(128);
        lowering.launch(name, text, Shape::line(blocks, 128), addresses(&operands.map(Some)));
        return;
    }
    let tiles = count.div_ceil(1024);
    let (mut sorted, mut other) = (lowering.scratch(8192 * tiles), lowering.scratch(8192 * tiles));
    let arguments = addresses(&[Some(positions.index), Some(from), Some(to), Some(sorted)]);
    lowering.launch("scatter_begin", text.clone(), Shape::line(tiles + fill, 1024), arguments);
    let mut run = 1024;
    while run < 1024 * tiles {
        let arguments = vec![address(sorted), address(other), vec![Word::Number(run as u64)]];
        lowering.launch("scatter_merge", text.clone(), Shape::line(32 * tiles, 256), arguments);
        std::mem::swap(&mut sorted, &mut other);
        run *= 8;
    }
    let (name, operands) = match change {
        Change::Add { .. } => return add_sorted(lowering, positions, dtype, text, [sorted, from, values, to]),
        Change::Fold { .. } => ("fold_rows", [sorted, values, to]),
        Change::Take { .. } => ("take_rows", [sorted, to, values]),
    };
    lowering.launch(name, text, Shape::line(elements.div_ceil(256), 256), addresses(&operands.map(Some)));
}

/// Sums of sorted positions, in pieces.
fn add_sorted(lowering: &mut Lowering, positions: &Positions, dtype: DType, text: String, spans: [Span; 4]) {
    let [sorted, from, values, to] = spans;
    let inner = positions.inner;
    let width = positions.width(dtype, &[from, values, to]);
    let pieces = positions.count().div_ceil(positions.piece());
    let partials = lowering.scratch(pieces * 2 * inner * if held(dtype) == "float" { 4 } else { 8 });
    let threads = (inner / width).next_multiple_of(32).min(256);
    let arguments = addresses(&[Some(sorted), Some(from), Some(values), Some(to), Some(partials)]);
    lowering.launch("scatter_sum", text.clone(), Shape::line(pieces, threads), arguments);
    let shape = Shape {
        grid: [pieces.div_ceil(4) as u32, inner.div_ceil(128) as u32, 1],
        block: [256, 1, 1],
        shared: 0,
        cluster: 1,
    };
    lowering.launch("scatter_pieces", text, shape, addresses(&[Some(sorted), Some(partials), Some(to)]));
}

/// `y = x`, then `y[o][index[o][k][i]][i] += v[o][k][i]` in order of k.
pub fn scatter_add(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    // x is also where the result goes, where the plan found nobody else who needs it.
    let is_zero = lowering.is_zero(&call.reads[0]);
    scattered(lowering, call, |values| Change::Add { values, is_zero })
}

/// `scatter`, `scatter_mul`, `scatter_max` and `scatter_min`.
pub fn scatter_fold(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let fold = match call.op.name() {
        "scatter_mul" => "Times",
        "scatter_max" => "Max",
        "scatter_min" => "Min",
        _ => "Assign",
    };
    scattered(lowering, call, |values| Change::Fold { values, fold })
}

fn scattered(lowering: &mut Lowering, call: &Call<'_>, change: impl Fn(Span) -> Change) -> Result<(), Error> {
    let values = lowering.contiguous(&call.reads[2])?;
    changed(lowering, call, change(values))
}

/// `unscatter`: what is at the positions is taken away.
pub fn unscatter(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let to = lowering.at(call.writes[1].0);
    changed(lowering, call, Change::Take { to })
}

/// The first operand with a change at the positions of the second one.
fn changed(lowering: &mut Lowering, call: &Call<'_>, change: Change) -> Result<(), Error> {
    let (x, index, axis) = (&call.reads[0], &call.reads[1], call.attrs.axis("axis"));
    let (to, dtype) = (lowering.at(call.writes[0].0), x.spec.dtype);
    let positions = Positions::of(lowering, index, axis, x.spec.shape[axis])?;
    positions.expect_rows()?;
    let (part, is_whole) = named(x, &index.spec.shape, axis);
    let change = match change {
        Change::Add { values, is_zero } => {
            Change::Add { values, is_zero: is_zero && is_whole && !positions.widens(dtype) }
        }
        other => other,
    };
    if is_whole {
        let from = match change {
            Change::Add { is_zero: true, .. } => to,
            _ if x.layout.is_contiguous() => lowering.contiguous(x)?,
            _ => {
                lowering.copy(x, to)?;
                to
            }
        };
        change_at(lowering, &positions, dtype, [from, to], change);
        return Ok(());
    }
    // Positions in a part of the other axes: that part is changed alone, and put back.
    let (from, changed) = (lowering.contiguous(&part)?, lowering.scratch(part.spec.bytes()));
    part::begin(lowering, x, to)?;
    change_at(lowering, &positions, dtype, [from, changed], change);
    let place = Place { offset: 0, strides: part::row_major(&x.spec.shape) };
    let strides = part::row_major(&part.spec.shape);
    part::write(lowering, dtype, &part.spec.shape, (changed, &strides), (to, &place), false);
    Ok(())
}

/// The positions of a call on planes: along one axis that holds all elements of a plane.
fn of_planes(lowering: &mut Lowering, call: &Call<'_>) -> Result<Positions, Error> {
    let (index, size) = (&call.reads[1], call.attrs.sizes("size"));
    let (lead, small) = index.spec.shape.split_at(index.spec.shape.rank() - size.rank());
    let sizes = [lead.iter().product(), size.elements(), small.iter().product(), 1];
    Positions::row_major(lowering, index, sizes)
}

/// `y[p][o] = x[p][index[p][o]]`
pub fn gather_planes(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (positions, from) = (of_planes(lowering, call)?, lowering.contiguous(&call.reads[0])?);
    gather_at(lowering, &positions, call.reads[0].spec.dtype, from, lowering.at(call.writes[0].0));
    Ok(())
}

/// `y[p] = 0`, then `y[p][index[p][o]] += x[p][o]` in order of o.
pub fn scatter_planes(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (x, to) = (&call.reads[0], lowering.at(call.writes[0].0));
    if (x.spec.dtype, call.reads[1].spec.dtype) == (DType::F32, DType::I64) {
        return pooling::scatter_planes(lowering, call);
    }
    let (positions, values) = (of_planes(lowering, call)?, lowering.contiguous(x)?);
    positions.expect_rows()?;
    change_at(lowering, &positions, x.spec.dtype, [to, to], Change::Add { values, is_zero: true });
    Ok(())
}
