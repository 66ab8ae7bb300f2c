//! Loops whose values cannot be read, in a batch or while tracing: each iteration carries the coefficients along.

use super::coefficients::{Series, lift};
use super::interpreter::Coefficients;
use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::interp::{Level, Tracer};
use crate::location::Line;
use crate::primitive::{Attrs, Outputs};
use crate::program::Program;
use crate::program::control::{WhileForm, places, repeat::spread};
use crate::{Error, Tensor};
use std::sync::Arc;
use wengert_compiler::control::WHILE;

/// The outputs of a loop on series up to `order`.
pub(super) fn repeat(
    level: &Arc<Level>,
    order: usize,
    attrs: &Attrs,
    operands: &[Series],
    line: Line,
) -> Result<Outputs, Error> {
    let form = WhileForm::of(attrs);
    let (active, reached) = spread(&form.body, form.consts, |place| !operands[place].is_constant(), true);
    let mut all: Vec<Tensor> = Vec::new();
    for group in [0..form.consts, form.consts..operands.len()] {
        all.extend(operands[group.clone()].iter().map(|series| series.value().clone()));
        for series in group.filter(|&place| active[place]).map(|place| &operands[place]) {
            let zero = || series.value().full_like(0.0);
            all.extend((1..=order).map(|k| series.at(k).cloned().unwrap_or_else(zero)));
        }
    }
    let joint =
        form.along("while series", &active, order, |body, x, higher| step(body, x, &active, higher, &reached, line));
    let mut values = try_bind(&WHILE, joint.attrs(), &all.iter().collect::<Vec<_>>(), line)?.into_vec();
    let higher = values.split_off(reached.len());
    let mut higher = higher.chunks_exact(order.max(1));
    let series = |(value, reached): (Tensor, &bool)| match reached {
        true => {
            let higher = higher.next().into_iter().flatten().cloned().map(Some);
            lift(level, Series::new(value, higher), line)
        }
        false => value,
    };
    Ok(values.into_iter().zip(&reached).map(series).collect())
}

/// One iteration: the values of the carry, and the coefficients of those listed in `reached`.
fn step(
    body: &Program,
    x: &[Tensor],
    active: &[bool],
    higher: &[Tensor],
    reached: &[bool],
    line: Line,
) -> (Vec<Tensor>, Vec<Tensor>) {
    let places_of = places(active);
    let order = higher.len() / places_of.len().max(1);
    let level = Level::open("jet", Coefficients { order }, line);
    let mut lifted = x.to_vec();
    for (&place, higher) in places_of.iter().zip(higher.chunks_exact(order.max(1))) {
        let series = Series::new(x[place].clone(), higher.iter().cloned().map(Some));
        lifted[place] = lift(&level.0, series, line);
    }
    let (mut values, mut coefficients) = (Vec::new(), Vec::new());
    for (y, reached) in body.evaluate(&lifted).or_raise().into_iter().zip(reached) {
        let series = Tracer::attached::<Series>(&y, &level.0).map(|(_, series)| series.clone());
        let series = series.unwrap_or_else(|| Series::constant(&y));
        if *reached {
            let zero = || series.value().full_like(0.0);
            coefficients.extend((1..=order).map(|k| series.at(k).cloned().unwrap_or_else(zero)));
        }
        values.push(series.value().clone());
    }
    (values, coefficients)
}
