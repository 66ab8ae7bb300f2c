//! The dependency pattern contains every entry of the Jacobian, and no more than its class allows.

use super::Trial;
use super::subject::Subject;
use crate::numeric::zeros_like;
use crate::report::Aspect;
use wengert::prelude::*;
use wengert::primitive::Dependency;

const HERE: Aspect = Aspect::Sparsity;

/// The number of columns that are compared with tangents.
const COLUMNS: usize = 48;

/// A tangent along one input element only reaches rows of the pattern that contain its column.
pub(super) fn pattern(trial: &mut Trial, subject: &Subject<'_>) {
    let f = subject.function(&subject.floats, &subject.float_outputs);
    let x = subject.at(&subject.floats);
    let pattern = jacobian_pattern(&f, &x);
    let rows: usize = subject.float_outputs.iter().map(|&position| subject.outputs[position].elements()).sum();
    let columns: usize = x.iter().map(Tensor::elements).sum();
    let size = (pattern.rows(), pattern.columns());
    trial.holds(HERE, size == (rows, columns), || format!("the pattern is {size:?}, should be {:?}", (rows, columns)));
    let step = columns.div_ceil(COLUMNS).max(1);
    let mut column = 0;
    for (position, operand) in x.iter().enumerate() {
        for element in 0..operand.elements() {
            if column % step == 0 {
                let mut v = zeros_like(&x);
                let numbers = (0..operand.elements()).map(|i| f64::from(i == element)).collect();
                v[position] = Tensor::from_vec::<f64>(numbers, operand.shape());
                let tangents: Vec<f64> = jvp(&f, &x, &v).1.iter().flat_map(Tensor::to_f64_vec).collect();
                let missing = |row: usize| tangents[row] != 0.0 && !pattern.contains(row, column);
                let missing = (0..rows).find(|&row| missing(row));
                trial.holds(HERE, missing.is_none(), || {
                    let (row, class) = (missing.unwrap_or(0), subject.op.dependency());
                    let slope = tangents[row];
                    format!("declared {class:?}: the pattern lacks ({row}, {column}), where the slope is {slope:?}")
                });
            }
            column += 1;
        }
    }
    tight(trial, subject, &pattern);
    if subject.is_typed() {
        return;
    }
    let narrow: Vec<Tensor> = x.iter().map(|operand| operand.cast(DType::F32)).collect();
    trial.holds(HERE, jacobian_pattern(&f, &narrow) == pattern, || "in f32 the pattern is another".into());
}

/// The classes that say where each element comes from, or goes to, are exact.
fn tight(trial: &mut Trial, subject: &Subject<'_>, pattern: &Pattern) {
    let fullest = |pattern: &Pattern| (0..pattern.rows()).map(|row| pattern.row(row).len()).max().unwrap_or(0);
    let (found, most) = match subject.op.dependency() {
        Dependency::Elementwise => (fullest(pattern), subject.floats.len()),
        Dependency::Movement => (fullest(pattern), 1),
        Dependency::Accumulation => (fullest(&pattern.transpose()), 1),
        _ => return,
    };
    trial.holds(HERE, found <= most, || {
        let class = subject.op.dependency();
        format!(
            "declared {class:?}, and an element depends on {found} elements, or is added to so many; should be {most}"
        )
    });
}
