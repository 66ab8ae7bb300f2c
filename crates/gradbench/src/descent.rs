//! Gradient descent with a step size that doubles after ten successes and halves after a failure.

use wengert::scalar::Real;

/// The search ends when a gradient or a step is shorter than this.
const TOLERANCE: f64 = 1e-5;

/// Minimises a function. The search is an ordinary program, so it can itself be differentiated.
///
/// Panics if a gradient, or a value used in a comparison, is not finite.
pub(crate) fn minimize<T: Real, const N: usize>(
    value: impl Fn([T; N]) -> T,
    gradient: impl Fn([T; N]) -> [T; N],
    start: [T; N],
) -> [T; N] {
    let tolerance = T::lit(TOLERANCE);
    let (mut x, mut smallest, mut slopes) = (start, value(start), gradient(start));
    let (mut step, mut successes) = (1e-5, 0);
    loop {
        let steepness = T::norm(&slopes);
        let are_finite = [smallest, steepness].iter().all(|number| number.to_f64().is_finite());
        assert!(are_finite, "gradient descent met a value or a gradient that is not finite");
        if steepness <= tolerance {
            return x;
        }
        if successes == 10 {
            (step, successes) = (step * 2.0, 0);
            continue;
        }
        let next: [T; N] = std::array::from_fn(|i| x[i] - T::lit(step) * slopes[i]);
        let change: [T; N] = std::array::from_fn(|i| x[i] - next[i]);
        if T::norm(&change) <= tolerance {
            return x;
        }
        let there = value(next);
        if there < smallest {
            (x, smallest, slopes) = (next, there, gradient(next));
            successes += 1;
        } else {
            (step, successes) = (step / 2.0, 0);
        }
    }
}
