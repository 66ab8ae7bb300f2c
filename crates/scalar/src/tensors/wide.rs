//! A tensor function as one statement on a tape.

use crate::{Var, external};
use std::panic::Location;
use wengert_engine::{DType, Error, ErrorKind, Tensor, vjp};

/// Passes variables to `f` as tensors of the given shapes, and returns the elements of its result, row by row. This is one statement, whose
/// sweep runs the reverse pass of `f`. Tensors that `f` captures are constants.
///
/// ```
/// use wengert_engine::methods::*;
/// use wengert_scalar::{Real, gradient, through_tensors};
///
/// // The determinant of a product of two matrices of numbers.
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// let mut slopes = [0.0; 8];
/// let determinant = gradient(
///     |x| {
///         let (a, b) = x.split_at(4);
///         let product = through_tensors([(a, &[2, 2]), (b, &[2, 2])], |[a, b]| a.matmul(b));
///         product[0] * product[3] - product[1] * product[2]
///     },
///     &x,
///     &mut slopes,
/// );
/// // It is that of the one, -2, times that of the other, -2; the slopes of a determinant are its cofactors.
/// assert_eq!(determinant, 4.0);
/// assert_eq!(slopes, [-8.0, 6.0, 4.0, -2.0, -16.0, 14.0, 12.0, -10.0]);
/// ```
#[track_caller]
pub fn through_tensors<const N: usize>(x: [(&[Var], &[usize]); N], f: impl FnOnce([&Tensor; N]) -> Tensor) -> Vec<Var> {
    for (vars, shape) in x {
        if vars.len() != shape.iter().product::<usize>() {
            let message = format!("{} numbers are no tensor of shape {shape:?}", vars.len());
            let error =
                Error::new(ErrorKind::Shape(vec![[vars.len()].into(), shape.into()]), "through_tensors", message);
            error.at(Location::caller()).raise();
        }
    }
    let vars: Vec<Var> = x.iter().flat_map(|(vars, _)| *vars).copied().collect();
    external(&vars, |values| {
        let mut rest = values;
        let tensors: Vec<Tensor> = x
            .iter()
            .map(|(vars, shape)| {
                let (own, others) = rest.split_at(vars.len());
                rest = others;
                Tensor::from(own).reshape(*shape)
            })
            .collect();
        let (y, pullback) =
            vjp(|x: &Vec<Tensor>| f(std::array::from_fn(|number| &x[number])).cast(DType::F64), &tensors);
        let shape = y.shape().to_vec();
        let back = move |by_y: &[f64], by_x: &mut [f64]| {
            let slopes = pullback.call(&Tensor::from(by_y).reshape(&shape[..]));
            let mut rest = by_x;
            for slopes in slopes {
                let (own, others) = rest.split_at_mut(slopes.elements());
                own.copy_from_slice(&slopes.to_vec::<f64>());
                rest = others;
            }
        };
        (y.to_vec(), back)
    })
}
