//! Taylor mode: compares derivatives along a curve with nested tangents.

use super::Trial;
use super::subject::Subject;
use crate::numeric::{directions, moved};
use crate::report::Aspect;
use wengert::prelude::*;

/// Two exact ways to compute a third derivative, relative to the magnitudes that the nested rules add up.
const EXACT_THIRD: f64 = 1e-9;

/// With values, velocities and two kinds of acceleration, every class of operation has all its terms.
const ORDER: usize = 3;

/// All derivatives up to the third along a curve equal nested tangents, for each float operand alone and all together.
pub(super) fn jets(trial: &mut Trial, subject: &Subject<'_>) {
    for active in subject.active_sets() {
        let f = subject.function(&active, &subject.float_outputs);
        let x = subject.at(&active);
        let bends: Vec<Vec<Tensor>> = (0..ORDER).map(|k| directions(&x, 0.6 + 0.45 * k as f64)).collect();
        let along = |t: &Tensor| {
            let powers = [t.clone(), t * t / 2.0, t * t * t / 6.0];
            let step = |position: usize| {
                let terms = bends.iter().zip(&powers).map(|(bend, power)| &bend[position] * power);
                terms.fold(x[position].clone(), |sum, term| sum + term)
            };
            f(&(0..x.len()).map(step).collect())
        };
        let found = jet(&f, &x, &bends, ORDER);
        trial.holds(Aspect::Jet, found.len() == ORDER + 1, || format!("{} derivatives", found.len()));
        for (order, found) in found.iter().enumerate() {
            let right = derivative(&along, &Tensor::from(0.0), order);
            let what = format!("by operands {active:?}, derivative {order} of output");
            trial.all_same(Aspect::Jet, &what, found, &right, EXACT_THIRD);
        }
        // A curve with an acceleration but no velocity: the first coefficient is zero.
        let still = vec![moved(&x, &x, -1.0), bends[1].clone()];
        let (bent, straight) = (jet(&f, &x, &still, 2), jet(&f, &x, &bends[1..2], 1));
        trial.all_same(Aspect::Jet, "an acceleration alone,", &bent[2], &straight[1], EXACT_THIRD);
    }
}

/// The derivative of this order, by tangents of tangents.
fn derivative(f: &dyn Fn(&Tensor) -> Vec<Tensor>, t: &Tensor, order: usize) -> Vec<Tensor> {
    match order {
        0 => f(t),
        _ => jvp(|t: &Tensor| derivative(f, t, order - 1), t, &t.full_like(1.0)).1,
    }
}
