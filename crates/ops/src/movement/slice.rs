//! slice - part of a tensor.   y = x[start : stop : step] along every axis,   dy likewise.   Its transpose adds into zeros, or into the
//! existing cotangent. Nothing is copied. Written `x.slice((1..3, -1))`.

use super::slice_update::SLICE_ADD;
use crate::prelude::*;

/// The primitive `slice`.
pub static SLICE: PartTake<SlicePart> = PartTake::new("slice");

/// A range with a positive step along every axis.
pub struct SlicePart;

/// The number of positions from `start` up to `stop`, excluded.
pub(crate) fn length(start: i64, stop: i64, step: i64) -> usize {
    if stop <= start { 0 } else { ((stop - start - 1) / step + 1) as usize }
}

impl PartOf for SlicePart {
    const ATTRIBUTES: &'static [&'static str] = &["start", "stop", "step"];
    const TAKE: &'static PartTake<SlicePart> = &SLICE;
    const ADD: &'static PartUpdate<SlicePart> = &SLICE_ADD;

    fn shape(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<Shape, Error> {
        let (start, stop, step) = (attrs.ints("start"), attrs.ints("stop"), attrs.ints("step"));
        let fits = start.len() == shape.len() && stop.len() == shape.len() && step.len() == shape.len();
        let inside = |axis: usize| {
            0 <= start[axis] && start[axis] <= stop[axis] && stop[axis] <= shape[axis] as i64 && step[axis] >= 1
        };
        if !fits || !(0..shape.len()).all(inside) {
            let message = format!("{start:?} to {stop:?} by {step:?} is not a part of shape {}", Shape::from(shape));
            return Err(Error::new(ErrorKind::Range, name, message));
        }
        Ok((0..shape.len()).map(|axis| length(start[axis], stop[axis], step[axis])).collect())
    }

    fn layout(attrs: &Attrs, whole: &Layout, part: &Shape) -> Layout {
        whole.sliced(attrs.ints("start"), attrs.ints("step"), part.clone())
    }

    fn batched(attrs: &Attrs, size: usize) -> Attrs {
        let with = |name: &str, first: i64| -> Vec<i64> {
            std::iter::once(first).chain(attrs.ints(name).iter().copied()).collect()
        };
        Attrs::new()
            .with_ints("start", with("start", 0))
            .with_ints("stop", with("stop", size as i64))
            .with_ints("step", with("step", 1))
    }

    fn place(attrs: &Attrs, i: &[usize]) -> Vec<usize> {
        let (start, step) = (attrs.ints("start"), attrs.ints("step"));
        i.iter().zip(start).zip(step).map(|((&i, &start), &step)| (start + step * i as i64) as usize).collect()
    }

    fn samples() -> Vec<(Shape, Attrs)> {
        let part = |start: [i64; 2], stop: [i64; 2], step: [i64; 2]| {
            Attrs::new().with_ints("start", start).with_ints("stop", stop).with_ints("step", step)
        };
        let scalar = Attrs::new().with_ints("start", []).with_ints("stop", []).with_ints("step", []);
        vec![
            (Shape::from([4, 5]), part([1, 0], [3, 5], [1, 2])),
            (Shape::from([2, 3]), part([1, 1], [2, 2], [1, 1])),
            (Shape::from([3, 2]), part([1, 0], [1, 2], [1, 1])),
            (Shape::from([]), scalar),
        ]
    }
}
