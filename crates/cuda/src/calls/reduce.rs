//! Reductions over axes, except sums.

use super::axes::{arranged, lanes};
use super::{Macros, PROCESSORS, addresses};
use crate::launch::Shape;
use crate::lower::{Call, Lowering, missing};
use crate::source::{number, stored};
use wengert_core::{DType, Error};

/// The text of folds.
pub(super) const FOLDS: &str = include_str!("../kernels/folds.cu");
pub(super) const TEXT: &str = include_str!("../kernels/reduce.cu");

/// The bytes of a part of a result.
pub(super) const CHUNK: usize = 32;

/// The text of a fold, and the macros that it needs.
fn fold(call: &Call<'_>, n: usize) -> Result<(&'static str, Macros), Error> {
    let (mut spread, mut squares, mut power) = (0, 0, 0);
    let mut macros = Macros::default();
    let fold = match call.op.name() {
        "all" => "Whole<All>",
        "any" => "Whole<Any>",
        "amax" | "max" => "Whole<Extreme<false, false>>",
        "amin" | "min" => "Whole<Extreme<true, false>>",
        "prod" => "Product",
        "logsumexp" => "Whole<LogSumExp<Held>>",
        name @ ("var" | "std") => {
            let freedom = (n as f64 - call.attrs.real("correction")).max(0.0);
            macros = macros.set("FREEDOM", number(freedom)).set("ROOT", u8::from(name == "std"));
            spread = 1;
            "Whole<Spread>"
        }
        _ => {
            let p = call.attrs.real("p");
            if !p.is_finite() || p == 0.0 {
                return Err(missing(format!("norm with the exponent {p} has no kernel for this device")));
            }
            macros = macros.set("P", format!("({})", number(p)));
            let fits = p == 2.0 && call.reads[0].spec.dtype != DType::F64;
            (squares, power) = (u8::from(fits), u8::from(!fits));
            if fits { "Whole<Squares>" } else { "Whole<Power>" }
        }
    };
    Ok((fold, macros.set("SPREAD", spread).set("SQUARES", squares).set("POWER", power)))
}

/// Elements of each output, as a number; of `max` and `min` also where they are.
pub fn reduce(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let has_places = call.writes.len() > 1;
    let axes = if has_places { [call.attrs.axis("axis")].into_iter().collect() } else { call.attrs.sizes("axes") };
    let rows = arranged(lowering, &call.reads[0], &axes)?;
    let (outputs, n) = (rows.count(), rows.n);
    let mut lanes_of = if n > 1024 { 256 } else { lanes(n, 4, 32) };
    if rows.inner > 1 {
        lanes_of = 1;
        while lanes_of < 256 && (128 / lanes_of >= outputs || (256 / lanes_of > 32 && lanes_of < n / 8)) {
            lanes_of *= 2;
        }
    }
    let blocks = outputs.div_ceil(256 / lanes_of);
    let most = if blocks < 2 * PROCESSORS { (8 * PROCESSORS).div_ceil(blocks) } else { 1 };
    let parts = most.min(n / (lanes_of * 16)).max(1);
    let scratch = (parts > 1).then(|| lowering.scratch(parts * outputs * CHUNK));
    let (fold, macros) = fold(call, n)?;
    let text = macros
        .set("T", stored(call.reads[0].spec.dtype))
        .set("OUT", stored(call.writes[0].1.dtype))
        .set("FOLD", fold)
        .set("PLACES", u8::from(has_places))
        .set("N", n)
        .set("INNER", rows.inner)
        .set("OUTPUTS", outputs)
        .set("LANES", lanes_of)
        .set("PARTS", parts)
        .before(&format!("{FOLDS}{TEXT}"));
    let y = lowering.at(call.writes[0].0);
    let places = has_places.then(|| lowering.at(call.writes[1].0));
    let shape = Shape { grid: [blocks as u32, parts as u32, 1], ..Shape::line(1, 256) };
    lowering.launch("reduce", text.clone(), shape, addresses(&[Some(rows.span), Some(y), places, scratch]));
    if parts > 1 {
        let shape = Shape::line(outputs.div_ceil(256 / lanes(parts, 1, 256)), 256);
        lowering.launch("reduce_parts", text, shape, addresses(&[scratch, Some(y), places]));
    }
    Ok(())
}
