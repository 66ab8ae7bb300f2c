//! Taylor mode: all derivatives along a curve, up to a given order.

mod coefficients;
mod equation;
mod interpreter;
mod loops;

use self::coefficients::{Series, lift};
use self::interpreter::Coefficients;
use super::expect_like;
use crate::error::OrRaise;
use crate::interp::{Level, Tracer};
use crate::location::{self, Line};
use crate::{Error, ErrorKind, Tensor, Tree, TreePath};
use wengert_kernels::pool;

/// The derivatives of `f` along a curve through `x`: d^k/dt^k f(x(t)) at t = 0 for k from 0 to `order`, where
/// x(t) = x + directions\[0\] t + directions\[1\] t^2/2! + directions\[2\] t^3/3! + ...
///
/// The directions are the curve's velocity, acceleration and so on; missing ones are zero. Integer leaves have no direction; their leaves
/// in `directions` are ignored. `f` is called once. For ordinary functions the time grows with the square of the order, whereas nested
/// [`jvp`](crate::jvp) doubles with every order.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from(0.0);
/// // sin(t) and its derivatives at 0.
/// let derivatives = jet(|x: &Tensor| x.sin(), &x, &[Tensor::from(1.0)], 5);
/// let numbers: Vec<f64> = derivatives.iter().map(Tensor::item).collect();
/// assert_eq!(numbers, [0.0, 1.0, 0.0, -1.0, 0.0, 1.0]);
/// // e^(t + 3 t^2): the second derivative is 1 + 6.
/// let curved = jet(|x: &Tensor| x.exp(), &x, &[Tensor::from(1.0), Tensor::from(6.0)], 2);
/// assert_eq!(curved[2].item(), 7.0);
/// ```
#[track_caller]
pub fn jet<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, x: &X, directions: &[X], order: usize) -> Vec<Y> {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    if directions.len() > order {
        let message = format!("{} directions for derivatives up to order {order}", directions.len());
        Error::new(ErrorKind::Argument, "jet", message)
            .at(line)
            .help("the k-th direction first matters at order k: raise the order, or leave directions out")
            .raise();
    }
    for (place, direction) in directions.iter().enumerate() {
        expect_like("jet", &format!("direction {place}"), direction, x, line).or_raise();
    }
    let each = x.leaves().iter().fold(size_of::<Y>(), |bytes, leaf| bytes.saturating_add(leaf.spec().bytes()));
    if let Err(refused) = pool::request(order.saturating_add(1).saturating_mul(each)) {
        let what = format!("a series of order {order}");
        Error::out_of_memory("jet", what, refused).at(line).help("lower the order").raise();
    }
    let level = Level::open("jet", Coefficients { order }, line);
    let directions: Vec<Vec<&Tensor>> = directions.iter().map(Tree::leaves).collect();
    let mut positions = 0..;
    let lifted = x.map(&mut TreePath::root(), &mut |path, leaf| {
        let position = positions.next().expect("there is always another");
        if !leaf.dtype().is_float() || path.is_frozen() {
            return leaf.clone();
        }
        let mut factorial = 1.0;
        let coefficients = (1..).zip(&directions).map(|(k, direction)| {
            factorial *= f64::from(k);
            let direction = direction[position].placed(leaf).or_raise();
            Some(if k == 1 { direction } else { direction / factorial })
        });
        lift(&level.0, Series::new(leaf.clone(), coefficients), line)
    });
    let y = f(&lifted);
    let mut factorial = 1.0;
    (0..=order)
        .map(|k| {
            factorial *= k.max(1) as f64;
            y.map_leaves(|leaf| match Tracer::attached::<Series>(leaf, &level.0) {
                Some((_, series)) => match series.at(k) {
                    Some(coefficient) if k < 2 => coefficient.clone(),
                    Some(coefficient) => coefficient * factorial,
                    None => series.value().full_like(0.0),
                },
                _ if k == 0 => leaf.clone(),
                _ => leaf.full_like(0.0),
            })
        })
        .collect()
}
