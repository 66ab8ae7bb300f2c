//! Elements that are chosen, packed or converted, each by itself.

use super::norm::rows;
use super::{Macros, addresses};
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use crate::source::stored;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/choose.cu");

/// What the kernels are told: a matrix of elements, and how they are chosen.
#[derive(Clone, Copy)]
struct Choice {
    rows: usize,
    columns: usize,
    matrix: usize,
    is_upper: bool,
    offset: i64,
    size: i64,
    wraps: bool,
}

impl Choice {
    fn of(rows: usize, columns: usize) -> Choice {
        Choice { rows, columns, matrix: 1, is_upper: false, offset: 0, size: 0, wraps: false }
    }

    fn launch(&self, lowering: &mut Lowering, name: &str, dtypes: [DType; 2], threads: usize, spans: &[Span]) {
        let text = Macros::default()
            .set("T", stored(dtypes[0]))
            .set("TO", stored(dtypes[1]))
            .set("ROWS", self.rows)
            .set("COLUMNS", self.columns)
            .set("MATRIX", self.matrix)
            .set("UPPER", u8::from(self.is_upper))
            .set("OFFSET", format!("({}ll)", self.offset))
            .set("SIZE", format!("{}ll", self.size))
            .set("WRAPS", u8::from(self.wraps))
            .before(TEXT);
        let arguments = addresses(&spans.iter().map(|span| Some(*span)).collect::<Vec<_>>());
        lowering.launch(name, text, Shape::line(threads.div_ceil(256), 256), arguments);
    }

    /// A thread for each element, from the operands to the result.
    fn each(&self, lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
        let mut spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
        let (to, spec) = &call.writes[0];
        spans.push(lowering.at(*to));
        let dtypes = [call.reads[0].spec.dtype, spec.dtype];
        let bytes = if call.op.name() == "pack_positive" { 8 } else { 1 };
        let threads = self.rows * self.columns.div_ceil(bytes);
        self.launch(lowering, call.op.name(), dtypes, threads, &spans);
        Ok(())
    }
}

/// `triangle_part`.
pub fn triangle(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (rows, columns) = rows(&call.reads[0]);
    let shape = &call.reads[0].spec.shape;
    let (matrix, is_upper) = (shape[shape.rank() - 2], call.attrs.int("upper") != 0);
    // An offset beyond the matrix keeps all of it or nothing, however large it is.
    let most = (matrix + columns) as i64;
    let offset = call.attrs.int("offset").clamp(-most, most);
    Choice { matrix, is_upper, offset, ..Choice::of(rows, columns) }.each(lowering, call)
}

/// `select_bits` and `pack_positive`.
pub fn bits(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (rows, columns) = rows(&call.reads[0]);
    Choice::of(rows, columns).each(lowering, call)
}

/// `wrap_index`.
pub fn wrap(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (size, wraps) = (call.attrs.int("size"), call.attrs.int("wraps") != 0);
    Choice { size, wraps, ..Choice::of(1, call.reads[0].spec.shape.elements()) }.each(lowering, call)
}

/// `where` of truth values, which fused loops do not choose.
pub fn by_mask(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    Choice::of(1, call.reads[0].spec.shape.elements()).each(lowering, call)
}

/// These elements in another type, behind the workspace.
pub fn converted(lowering: &mut Lowering, from: Span, dtype: DType, to: DType, elements: usize) -> Span {
    let result = lowering.scratch(elements * to.size());
    convert(lowering, (from, dtype), (result, to), elements);
    result
}

/// Converts elements.
pub fn convert(lowering: &mut Lowering, from: (Span, DType), to: (Span, DType), elements: usize) {
    if elements > 0 {
        Choice::of(1, elements).launch(lowering, "convert", [from.1, to.1], elements, &[from.0, to.0]);
    }
}
