//! Elements in order: sorted, the first, the middle, the most frequent, and places in sorted rows.

use super::axes::arranged;
use super::norm::rows;
use super::{Macros, addresses};
use crate::launch::{Shape, Word};
use crate::lower::{Call, Lowering, missing};
use crate::source::stored;
use wengert_core::Error;

pub(super) const TEXT: &str = include_str!("../kernels/order.cu");

/// Elements of rows in order, and where they come from.
pub fn order(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (x, name, attrs) = (&call.reads[0], call.op.name(), call.attrs);
    let rows = arranged(lowering, x, &[attrs.axis("axis")])?;
    let (n, count) = (rows.n, rows.count());
    if n > u32::MAX as usize {
        return Err(missing(format!("{name} of rows of {n} elements has no kernel for this device")));
    }
    // Which elements of the order are the result; all may be, where it is looked up.
    let (first, taken, keep, descending) = match name {
        "sort" => (0, n, n, attrs.int("descending")),
        "topk" => (0, attrs.int("k") as usize, attrs.int("k") as usize, attrs.int("largest")),
        "kthvalue" => (attrs.int("k") as usize - 1, 1, attrs.int("k") as usize, 0),
        _ => (0, 1, n, 0),
    };
    let median = if name == "median" { 1 + attrs.int("skip_nan") } else { 0 };
    let is_mode = name == "mode";
    let item = if x.spec.dtype.size() == 8 { 16 } else { 8 };
    let tile = n.next_power_of_two().min(32768 / item);
    let groups = if is_mode { 1 } else { (1024 / tile).max(1) };
    let tiles = n.div_ceil(tile);
    let text = Macros::default()
        .set("T", stored(x.spec.dtype))
        .set("N", n)
        .set("INNER", rows.inner)
        .set("ROWS", count)
        .set("DESCENDING", descending)
        .set("TILE", tile)
        .set("GROUPS", groups)
        .set("THREADS", 256)
        .set("KEEP", keep)
        .set("FIRST", first)
        .set("COUNT", taken)
        .set("MEDIAN", median)
        .set("MODE", u8::from(is_mode))
        .before(TEXT);
    let (y, places) = (lowering.at(call.writes[0].0), lowering.at(call.writes[1].0));
    if tiles == 1 {
        let shape = Shape::line(count.div_ceil(groups), 256);
        lowering.launch("sort_tiles", text, shape, addresses(&[Some(rows.span), None, Some(y), Some(places)]));
        return Ok(());
    }
    let (mut from, mut to) = (lowering.scratch(count * n * item), lowering.scratch(count * n * item));
    let arguments = addresses(&[Some(rows.span), Some(from), Some(y), Some(places)]);
    lowering.launch("sort_tiles", text.clone(), Shape::line(count * tiles, 256), arguments);
    let mut run = tile;
    while run < n {
        let arguments = [Word::Address(from), Word::Address(to), Word::Number(run as u64)];
        let shape = Shape::line(count * n.div_ceil(256), 256);
        lowering.launch("merge_runs", text.clone(), shape, arguments.map(|word| vec![word]).into());
        (from, to, run) = (to, from, 2 * run);
    }
    let arguments = addresses(&[Some(rows.span), Some(from), Some(y), Some(places)]);
    lowering.launch("take", text, Shape::line(count, 256), arguments);
    Ok(())
}

/// The places of values in sorted rows.
pub fn searchsorted(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (sorted, values) = (&call.reads[0], &call.reads[1]);
    let ((_, n), (_, length)) = (rows(sorted), rows(values));
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let all = values.spec.shape.elements();
    let text = Macros::default()
        .set("SEARCH", 1)
        .set("T", stored(sorted.spec.dtype))
        .set("N", n)
        .set("VALUES", length)
        .set("ALL", all)
        .set("SHARED", u8::from(sorted.spec.shape.elements() == n))
        .set("RIGHT", call.attrs.int("right"))
        .before(TEXT);
    let places = lowering.at(call.writes[0].0);
    let arguments = addresses(&[Some(spans[0]), Some(spans[1]), Some(places)]);
    lowering.launch("search", text, Shape::line(all.div_ceil(256), 256), arguments);
    Ok(())
}
