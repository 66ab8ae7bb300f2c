//! Running results along an axis, and products of the other elements of a row.

use super::axes::{Rows, arranged, lanes};
use super::reduce::{CHUNK, FOLDS};
use super::{Macros, PROCESSORS, address};
use crate::launch::{Shape, Word};
use crate::lower::{Call, Lowering, missing};
use crate::source::stored;
use wengert_core::Error;
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/running.cu");

/// A launch, or two where rows are cut into parts.
struct Running {
    macros: Macros,
    sources: Vec<Span>,
    rows: Rows,
    lanes: usize,
    parts: usize,
    y: Span,
    places: Option<Span>,
    products: Option<Span>,
}

impl Running {
    fn launch(self, lowering: &mut Lowering) {
        let Running { macros, sources, rows, lanes, parts, y, places, products } = self;
        let text = macros
            .set("OPERANDS", sources.len())
            .set("PLACES", u8::from(places.is_some()))
            .set("N", rows.n)
            .set("INNER", rows.inner)
            .set("ROWS", rows.count())
            .set("LANES", lanes)
            .set("PARTS", parts)
            .before(&format!("{FOLDS}{TEXT}"));
        let totals = (parts > 1).then(|| lowering.scratch(rows.count() * parts * CHUNK));
        let blocks = rows.count().div_ceil(256 / lanes);
        let shape = Shape { grid: [blocks as u32, parts as u32, 1], ..Shape::line(1, 256) };
        let sources: Vec<Word> = sources.into_iter().map(Word::Address).collect();
        if let Some(totals) = totals {
            lowering.launch("running_totals", text.clone(), shape, vec![sources.clone(), address(totals)]);
        }
        let one = |span: Option<Span>| vec![span.map_or(Word::Number(0), Word::Address)];
        lowering.launch("running", text, shape, vec![sources, address(y), one(places), one(totals), one(products)]);
    }
}

/// The threads of a row: one where many rows lie side by side, else as many as its length keeps busy.
fn lanes_of(rows: &Rows) -> usize {
    if rows.inner > 1 && rows.count() >= 64 * PROCESSORS { 1 } else { lanes(rows.n, 4, 256) }
}

/// Sums, products, extremes, logarithms of sums of exponentials and linear recurrences.
pub fn running(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let fold = match call.op.name() {
        "cumsum" => "Whole<Total>",
        "cumprod" => "Product",
        "cummax" => "Whole<Extreme<false, true>>",
        "cummin" => "Whole<Extreme<true, true>>",
        "logcumsumexp" => "Whole<LogSumExp<Held>>",
        _ => "Recurrence",
    };
    let has_places = call.writes.len() > 1;
    let axis = call.attrs.axis("axis");
    let all = call.reads.iter().map(|read| arranged(lowering, read, &[axis])).collect::<Result<Vec<_>, _>>()?;
    let (rows, lanes) = (all[0], lanes_of(&all[0]));
    let most = if lanes == 256 { (4 * PROCESSORS).div_ceil(rows.count()).min(256) } else { 1 };
    let parts = most.min(rows.n / 4096).max(1);
    let macros = Macros::default()
        .set("T", stored(call.reads[0].spec.dtype))
        .set("FOLD", fold)
        .set("REVERSE", if has_places { 0 } else { call.attrs.int("reverse") })
        .set("OTHERS", 0);
    let (y, places) = (lowering.at(call.writes[0].0), has_places.then(|| lowering.at(call.writes[1].0)));
    let sources = all.iter().map(|rows| rows.span).collect();
    Running { macros, sources, rows, lanes, parts, y, places, products: None }.launch(lowering);
    Ok(())
}

/// The directions of products of others that a thread can keep the polynomials of.
const MOST_DIRECTIONS: usize = 8;

/// The product of the other elements of a row, differentiated along directions: that of the elements before times that of those after.
pub fn product_of_others(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let directions = call.reads.len() - 1;
    if directions > MOST_DIRECTIONS {
        return Err(missing(format!("product_of_others along {directions} directions has no kernel for this device")));
    }
    let last = call.reads[0].spec.shape.rank() - 1;
    let all = call.reads.iter().map(|read| arranged(lowering, read, &[last])).collect::<Result<Vec<_>, _>>()?;
    let (rows, sets) = (all[0], 1 << directions);
    let sources: Vec<Span> = all.iter().map(|rows| rows.span).collect();
    let y = lowering.at(call.writes[0].0);
    let products = lowering.scratch(rows.count() * rows.n * sets * 8);
    // Polynomials of several threads in shared memory are small.
    let lanes = if sets > 4 { 1 } else { lanes_of(&rows) };
    for others in [1, 2] {
        let macros = Macros::default()
            .set("T", stored(call.reads[0].spec.dtype))
            .set("SETS", sets)
            .set("FOLD", "Whole<Polynomial>")
            .set("REVERSE", u8::from(others == 2))
            .set("OTHERS", others);
        let (sources, products) = (sources.clone(), Some(products));
        Running { macros, sources, rows, lanes, parts: 1, y, places: None, products }.launch(lowering);
    }
    Ok(())
}
