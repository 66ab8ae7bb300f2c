//! Shared code of operations along the lines of one axis: the attribute `axis`, kernels over `[outer, n, inner]`, and cases.

use crate::primitive::{Attrs, Case, Sample, expect_flags};
use crate::{Error, Shape};

/// The shape as `[outer, n, inner]` around the attribute `axis`, or an error if there is no such axis.
pub fn middle_axis(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<[usize; 3], Error> {
    let axis = super::checked_axis(name, attrs.axis("axis") as isize, shape)?;
    expect_flags(name, attrs, &["reverse"])?;
    let size = |part: &[usize]| part.iter().product();
    Ok([size(&shape[..axis]), shape[axis], size(&shape[axis + 1..])])
}

/// The attributes of the same call under a leading batch axis.
pub fn batched_axis(attrs: &Attrs) -> Attrs {
    attrs.clone().with_int("axis", attrs.int("axis") + 1)
}

/// Cases with attributes `axis` and `reverse`. Each line is `reference(lines of the operands)` from the start, or from the end; `edges` are
/// lines of all operands.
pub fn line_cases(operands: usize, reference: fn(&[&[f64]]) -> Vec<f64>, edges: &[&[f64]]) -> Vec<Case> {
    let shapes: [(&[usize], usize, bool); 8] = [
        (&[3, 4], 1, false),
        (&[4, 2], 0, false),
        (&[2, 3, 2], 1, true),
        (&[5], 0, true),
        (&[1], 0, false),
        (&[2, 1], 1, true),
        (&[0, 3], 1, false),
        (&[2, 0], 1, false),
    ];
    let sample = |shape: &[usize], position: usize| Sample::wave(shape, 0.3 + 0.4 * position as f64);
    let smooth = shapes.iter().map(|&(shape, axis, reverse)| {
        let samples = (0..operands).map(|position| sample(shape, position)).collect();
        case_of(samples, axis, reverse, reference)
    });
    let edges = edges.iter().map(|edge| {
        let line = || Sample::new([edge.len()], edge.to_vec());
        case_of((0..operands).map(|_| line()).collect(), 0, false, reference).values_only()
    });
    smooth.chain(edges).collect()
}

fn case_of(samples: Vec<Sample>, axis: usize, reverse: bool, reference: fn(&[&[f64]]) -> Vec<f64>) -> Case {
    let attrs = Attrs::new().with_int("axis", axis as i64).with_int("reverse", i64::from(reverse));
    let label = format!("{attrs} of {} from {:?}", samples[0].shape, samples[0].data.first());
    Case::new(label, attrs, samples, move |s| {
        let shape: Shape = s[0].shape.clone();
        let place = |i: &[usize], k: usize| [&i[..axis], &[k], &i[axis + 1..]].concat();
        let order = |k: usize| if reverse { shape[axis] - 1 - k } else { k };
        let line = |sample: &Sample, i: &[usize]| -> Vec<f64> {
            (0..shape[axis]).map(|k| sample.at(&place(i, order(k)))).collect()
        };
        vec![Sample::build(shape.clone(), |i| {
            let lines: Vec<Vec<f64>> = s.iter().map(|sample| line(sample, i)).collect();
            reference(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>())[order(i[axis])]
        })]
    })
}
