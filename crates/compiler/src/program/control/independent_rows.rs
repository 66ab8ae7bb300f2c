//! Scans with independent rows: they run as several scans in parallel, each over some of the rows.

use super::ScanForm;
use crate::ground::items::BROADCAST;
use crate::plan::Target;
use crate::primitive::Dependency;
use crate::program::{Equation, Program, ProgramAttr, Var};
use smallvec::SmallVec;

/// Minimum number of operations of a loop to use threads, and of a step that uses threads by itself.
const LEAST_WORK: f64 = 4e6;
const LARGE_STEP: f64 = 3.2e7;

/// A scan over some of the rows.
pub struct Parts {
    pub count: usize,
    /// The body for the rows of one part.
    pub body: ProgramAttr,
}

/// The role of a variable's first axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// It is not split.
    Whole,
    /// It has the rows of the loop.
    Rows,
    /// It repeats the same row for every row of the loop.
    Repeated,
}

impl ScanForm {
    /// Splits the scan into parts, if its rows are independent and there is enough work for several threads. The split depends only on the
    /// shape, and every row is computed as in the whole scan.
    #[doc(hidden)]
    pub fn in_parts(&self, target: &Target) -> Option<Parts> {
        let body: &Program = &self.body;
        let step = body.cost().flops;
        if self.carry == 0 || step > LARGE_STEP || step * (self.length as f64) < LEAST_WORK {
            return None;
        }
        let rows = *body.spec(body.inputs()[self.consts]).shape.first()?;
        let count = (2..=(rows / target.least_rows).min(target.most_parts)).rev().find(|count| rows % count == 0)?;
        let first = self.first_axes(rows)?;
        let part = rows / count;
        let mut body = body.clone();
        for (spec, first) in body.specs.iter_mut().zip(&first) {
            if *first != First::Whole {
                spec.shape = std::iter::once(part).chain(spec.shape[1..].iter().copied()).collect();
            }
        }
        for equation in &mut body.equations {
            if is_broadcast(equation) && first[equation.outputs[0].index()] != First::Whole {
                let shape = body.specs[equation.outputs[0].index()].shape.clone();
                equation.attrs = std::mem::take(&mut equation.attrs).with_sizes("shape", shape.iter());
            }
        }
        debug_assert!(body.verify().is_ok(), "a part of the rows is a program");
        Some(Parts { count, body: body.into() })
    }

    /// By variable of the body; `None` if some row depends on others.
    fn first_axes(&self, rows: usize) -> Option<Vec<First>> {
        let body: &Program = &self.body;
        let mut first = vec![First::Whole; body.specs.len()];
        for (place, var) in body.inputs.iter().enumerate() {
            match body.spec(*var).shape.first() == Some(&rows) {
                // A constant may be a matrix, or have one row for each row of the loop.
                true if place >= self.consts || meets_rows(body, *var) => first[var.index()] = First::Rows,
                false if (self.consts..self.elements()).contains(&place) => return None,
                _ => {}
            }
        }
        for equation in &body.equations {
            let found = output_axis(body, equation, rows, &first)?;
            equation.outputs.iter().for_each(|var| first[var.index()] = found);
        }
        body.outputs.iter().all(|var| first[var.index()] != First::Whole).then_some(first)
    }
}

fn is_broadcast(equation: &Equation) -> bool {
    equation.op.is(BROADCAST)
}

/// Whether only elementwise operations read a variable.
fn meets_rows(body: &Program, var: Var) -> bool {
    body.equations.iter().filter(|equation| equation.inputs.contains(&var)).all(|equation| is_lane(body, equation))
}

fn is_lane(body: &Program, equation: &Equation) -> bool {
    let [output] = equation.outputs[..] else { return false };
    let dtypes: SmallVec<[_; 4]> = equation.inputs.iter().map(|var| body.spec(*var).dtype).collect();
    equation.op.lowered().lane(&equation.attrs, &dtypes, body.spec(output).dtype).is_some()
}

fn output_axis(body: &Program, equation: &Equation, rows: usize, first: &[First]) -> Option<First> {
    let inputs: SmallVec<[First; 4]> = equation.inputs.iter().map(|var| first[var.index()]).collect();
    let (op, output) = (equation.op, body.spec(*equation.outputs.first()?));
    let shape = |place: usize| &body.spec(equation.inputs[place]).shape;
    if is_broadcast(equation) {
        let along = shape(0).len() == output.shape.len() && shape(0).first() == output.shape.first();
        return match inputs[0] {
            First::Whole if output.shape.first() == Some(&rows) && !along => Some(First::Repeated),
            First::Whole => Some(First::Whole),
            found => along.then_some(found),
        };
    }
    if inputs.iter().all(|first| *first == First::Whole) {
        return Some(First::Whole);
    }
    if is_lane(body, equation) {
        let alike =
            inputs.iter().enumerate().all(|(place, first)| *first != First::Whole && *shape(place) == output.shape);
        let found = if inputs.contains(&First::Rows) { First::Rows } else { First::Repeated };
        return alike.then_some(found);
    }
    let is_product = matches!(op.dependency(), Dependency::Product { .. }) && shape(0).len() == 2;
    (is_product && inputs[1..].iter().all(|first| *first == First::Whole)).then_some(inputs[0])
}
