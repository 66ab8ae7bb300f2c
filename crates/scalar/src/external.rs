//! Functions that are computed and differentiated by third-party code.

use crate::Var;
use crate::var::misused;
use wengert_kernels::tape::{Place, push_external};

/// Calls third-party code on `x`, with its own reverse pass. `f` is given the values and returns its results and a pullback. The pullback
/// takes the adjoints of the results and writes those of `x`, which are 0 when it is called. It runs once per sweep, so once for each row
/// of a Jacobian; it owns whatever it needs.
///
/// ```
/// use wengert_scalar::{Var, external, gradient};
///
/// /// The solution of a system of two equations.
/// fn solve([a, b, c, d]: [f64; 4], [u, v]: [f64; 2]) -> [f64; 2] {
///     let determinant = a * d - b * c;
///     [(d * u - b * v) / determinant, (a * v - c * u) / determinant]
/// }
///
/// fn solved(x: &[Var]) -> Vec<Var> {
///     external(x, |x| {
///         let (matrix, right) = ([x[0], x[1], x[2], x[3]], [x[4], x[5]]);
///         let y = solve(matrix, right);
///         let [a, b, c, d] = matrix;
///         // With the transposed matrix: the right side's adjoint, and minus its product with the solution.
///         let back = move |by_y: &[f64], by_x: &mut [f64]| {
///             let [u, v] = solve([a, c, b, d], [by_y[0], by_y[1]]);
///             by_x.copy_from_slice(&[-u * y[0], -u * y[1], -v * y[0], -v * y[1], u, v]);
///         };
///         (y.to_vec(), back)
///     })
/// }
///
/// let mut slopes = [0.0; 6];
/// let sum = gradient(|x| solved(x).into_iter().sum(), &[2.0, 0.0, 0.0, 4.0, 6.0, 8.0], &mut slopes);
/// assert_eq!((sum, slopes), (5.0, [-1.5, -1.0, -0.75, -0.5, 0.5, 0.25]));
/// # use wengert_scalar::Real;
/// ```
#[track_caller]
pub fn external<P: Fn(&[f64], &mut [f64]) + 'static>(x: &[Var], f: impl FnOnce(&[f64]) -> (Vec<f64>, P)) -> Vec<Var> {
    let inputs: Vec<f64> = x.iter().map(|x| x.value()).collect();
    let (values, pullback) = f(&inputs);
    let places: Vec<Place> = x.iter().map(|x| x.place()).collect();
    let mut outputs = vec![Place::NONE; values.len()];
    push_external(&values, &places, &mut outputs, Box::new(pullback), misused);
    values.into_iter().zip(outputs).map(|(value, place)| Var::at(value, place)).collect()
}
