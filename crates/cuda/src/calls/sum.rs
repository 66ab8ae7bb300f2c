//! Sums over axes.

use super::axes::arranged;
use super::{Macros, PROCESSORS, addresses, width};
use crate::absorbed::is_whole;
use crate::launch::Shape;
use crate::lower::{Call, Lowering};
use crate::source::{rows_added, stored, sum_bytes, summed};
use wengert_core::primitive::Spec;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/sum.cu");

/// Neighbouring axes that are all kept or all summed: whether they are summed, their size, and the step along them.
type Group = (bool, usize, usize);

/// The groups of the axes of a shape.
fn merged(shape: &[usize], is_summed: &dyn Fn(usize) -> bool) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    let mut step = 1;
    for (axis, &size) in shape.iter().enumerate().rev().filter(|(_, size)| **size != 1) {
        match all.last_mut() {
            Some((summed, count, _)) if *summed == is_summed(axis) => *count *= size,
            _ => all.push((is_summed(axis), size, step)),
        }
        step *= size;
    }
    all.reverse();
    all
}

/// The groups that are kept or summed, as two; `None` if there are more.
fn pair(groups: &[Group], of: bool) -> Option<[(usize, usize); 2]> {
    let found: Vec<(usize, usize)> =
        groups.iter().filter(|group| group.0 == of).map(|&(_, size, step)| (size, step)).collect();
    match found[..] {
        [] => Some([(1, 0), (1, 0)]),
        [only] => Some([(1, 0), only]),
        [first, second] => Some([first, second]),
        _ => None,
    }
}

/// The sum over the axes of the attribute.
pub fn sum(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (read, (to, spec)) = (&call.reads[0], &call.writes[0]);
    let axes = call.attrs.sizes("axes");
    let mut groups = merged(&read.spec.shape, &|axis| axes.contains(&axis));
    if let ([(true, rows, _), (false, cols, _)], true) =
        (&groups[..], is_whole(read) && read.spec.bytes() > 0 && spec.dtype.is_float())
    {
        return lowering.loops(&[&rows_added(*rows, *cols, (read.span, spec.dtype), *to)]);
    }
    let from = if pair(&groups, false).is_some() && pair(&groups, true).is_some() {
        lowering.contiguous(read)?
    } else {
        // Axes that alternate more often are brought in order first.
        let rows = arranged(lowering, read, &axes)?;
        groups = vec![(false, rows.outer, rows.n), (true, rows.n, 1)];
        rows.span
    };
    let to = lowering.at(*to);
    of_groups(lowering, from, to, spec.dtype, &groups);
    Ok(())
}

/// Zeros: sums of nothing.
pub(super) fn zeros(lowering: &mut Lowering, to: Span, spec: &Spec) {
    of_groups(lowering, to, to, spec.dtype, &[(true, 0, 1), (false, spec.shape.elements(), 1)]);
}

/// The sum over some of at most four groups of axes.
fn of_groups(lowering: &mut Lowering, from: Span, to: Span, dtype: DType, groups: &[Group]) {
    let [kept, summed_axes] = [false, true].map(|of| pair(groups, of).expect("groups alternate at most twice"));
    let (k, s) = (kept[0].0 * kept[1].0, summed_axes[0].0 * summed_axes[1].0);
    let sums_last = groups.last().is_none_or(|(summed, ..)| *summed);
    let last = groups.last().map_or(1, |(_, size, _)| *size);
    let width = width(last, dtype.size(), &[from]);
    let (name, lanes, columns, parts, blocks) = if sums_last {
        let n = s / width;
        let lanes = if n > 1024 { 256 } else { n.div_ceil(4).next_power_of_two().clamp(1, 32) };
        let parts = if lanes == 256 { (8 * PROCESSORS).div_ceil(k).min(n.div_ceil(1024)) } else { 1 };
        ("sum_rows", lanes, 1, parts, k.div_ceil(256 / lanes))
    } else {
        let across = k / width;
        let mut columns = 256;
        while columns > 1 && (columns / 2 >= across || (columns > 32 && 256 / columns < s / 8)) {
            columns /= 2;
        }
        let blocks = across.div_ceil(columns);
        let parts = (4 * PROCESSORS).div_ceil(blocks).min(s.div_ceil(8 * 256 / columns)).max(1);
        let parts = if 2 * blocks > 3 * PROCESSORS { 1 } else { parts };
        ("sum_columns", 1, columns, parts, blocks)
    };
    let scratch = (parts > 1).then(|| lowering.scratch(parts * k * sum_bytes(dtype)));
    let text = Macros::default()
        .set("T", stored(dtype))
        .set("ACC", summed(dtype))
        .set("OUT", stored(dtype))
        .set("KEPT0", kept[0].0)
        .set("KEPT0_STRIDE", kept[0].1)
        .set("KEPT1", kept[1].0)
        .set("KEPT1_STRIDE", kept[1].1)
        .set("SUMMED0", summed_axes[0].0)
        .set("SUMMED0_STRIDE", summed_axes[0].1)
        .set("SUMMED1", summed_axes[1].0)
        .set("SUMMED1_STRIDE", summed_axes[1].1)
        .set("WIDTH", width)
        .set("PARTS", parts)
        .set("LANES", lanes)
        .set("COLUMNS", columns)
        .before(TEXT);
    let shape = Shape { grid: [blocks as u32, parts as u32, 1], block: [256, 1, 1], shared: 0, cluster: 1 };
    lowering.launch(name, text.clone(), shape, addresses(&[Some(from), Some(to), scratch]));
    if parts > 1 {
        let blocks = if k > 16 { k.div_ceil(32) } else { 1 };
        lowering.launch("sum_parts", text, Shape::line(blocks, 256), addresses(&[scratch, Some(to)]));
    }
}
