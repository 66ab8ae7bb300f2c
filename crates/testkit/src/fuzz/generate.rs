//! Chooses the steps of a composition.

use super::Random;
use super::composition::{Composition, Run, Step};
use wengert::prelude::*;
use wengert::primitive::{Case, PRIMITIVES, Primitive, Sample};

impl Composition {
    /// The composition of a seed.
    pub fn random(seed: u64, steps: usize) -> Composition {
        let mut random = Random::new(seed);
        let float = |shape: &[usize], random: &mut Random| {
            let count = shape.iter().product();
            Tensor::from_vec(random.reals(count), shape)
        };
        let first = float(&[2, 3], &mut random);
        let shape: &[usize] = [&[3][..], &[2, 3], &[], &[2, 2, 2]][random.below(4)];
        let second = float(shape, &mut random);
        let inputs = vec![first, second, Tensor::from([seed as i64, 3])];
        let mut run = Composition::start(&inputs, None);
        let mut chosen = Vec::new();
        for number in 0..steps {
            // Primitives take turns, so that all appear equally often.
            let step = match number % 2 {
                0 => call(PRIMITIVES[(seed as usize + number / 2 * 7) % PRIMITIVES.len()], &run, &mut random),
                _ => special(&run, &mut random),
            };
            run.step(&step);
            chosen.push(step);
        }
        Composition { seed, inputs, steps: chosen }
    }
}

/// An earlier value; recent ones are more likely.
fn source(run: &Run<'_>, random: &mut Random) -> usize {
    let count = run.values.len();
    if random.below(3) == 0 { random.below(count) } else { count - 1 - random.below(count.min(4)) }
}

/// An earlier value that `fits`, or the first input, which always does.
fn source_that(run: &Run<'_>, random: &mut Random, fits: impl Fn(&Tensor) -> bool) -> usize {
    let tries: Vec<usize> = (0..6).map(|_| source(run, random)).collect();
    tries.into_iter().find(|&place| fits(&run.values[place])).unwrap_or(0)
}

/// A primitive on one of its smooth cases or, if it has no gradient, on any case, preferably a finite one. Empty cases disconnect a
/// program, so they are rare.
fn call(op: &'static dyn Primitive, run: &Run<'_>, random: &mut Random) -> Step {
    let mut cases = op.cases();
    let finite = |case: &Case| case.operands.iter().all(|operand| operand.data.iter().all(|x| x.is_finite()));
    cases.retain(|case| case.smooth || !op.differentiable());
    if cases.iter().any(finite) {
        cases.retain(finite);
    }
    let has_numbers = |case: &Case| case.operands.iter().all(|operand| !operand.data.is_empty());
    if random.below(6) > 0 && cases.iter().any(has_numbers) {
        cases.retain(has_numbers);
    }
    let case = cases.swap_remove(random.below(cases.len()));
    let operands: Vec<Tensor> = case.operands.iter().map(|sample: &Sample| sample.tensor(DType::F64)).collect();
    let sources = operands.iter().map(|_| source(run, random)).collect();
    Step::Call { op, attrs: case.attrs, operands, sources }
}

fn special(run: &Run<'_>, random: &mut Random) -> Step {
    let (a, b) = (source(run, random), source(run, random));
    let rows = |x: &Tensor| x.rank() > 0 && x.elements() > 0;
    match random.below(24) {
        0..=3 => Step::Mix(a, b),
        4 | 5 => Step::Mask(a, b),
        6..=8 => {
            let target = source_that(run, random, rows);
            let range = |&size: &usize| {
                let start = random.below(size) as i64;
                start..start + 1 + random.below(size - start as usize) as i64
            };
            Step::Mutate { target, part: run.values[target].shape().iter().map(range).collect(), values: b }
        }
        9 | 10 => {
            let of = source_that(run, random, rows);
            Step::Choose { of, axis: random.below(run.values[of].rank()) as isize }
        }
        11 => Step::Noise(a),
        12 => Step::Hold(a, b),
        13 => Step::NoGrad(a, b),
        14 => Step::Round(a),
        15 | 16 => Step::InnerGrad(a, b),
        17 => Step::InnerJvp(a, b),
        18 | 19 => Step::InnerMap(source_that(run, random, rows), b),
        20 => Step::InnerMapGrad(source_that(run, random, rows), b),
        21 => Step::InnerPullback(a, b),
        22 => Step::InnerCompiled(a, b),
        _ => Step::InnerCheckpoint(a, b),
    }
}
