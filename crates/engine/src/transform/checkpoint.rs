//! Checkpoints: recomputing values instead of storing them.

use super::custom::form_of;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::memory::Region;
use crate::{Error, ErrorKind, Tree};
use std::sync::Arc;

/// Returns the same function, but its derivative stores only the inputs and recomputes everything else when the reverse sweep reaches it.
/// Values and gradients have the same bits.
///
/// Captured tensors, including parameters, are differentiated as usual. The function may run more than once, so it must do the same for the
/// same inputs. Random numbers must come from keys that are inputs or captured; side effects of its code are repeated. Operations with an
/// [effect](crate::primitive::Primitive::effect) are not called again; their results are stored. Checkpoints nest and work under every
/// other transform; forward mode stores nothing anyway. In a compiled function the second run is part of the program, behind a `barrier`;
/// values that depend only on captured tensors are computed once.
///
/// ```
/// use wengert::prelude::*;
/// let weight = Tensor::from([2.0, 3.0]).require_grad();
/// let captured = weight.clone();
/// let layer = checkpoint(move |x: &Tensor| (x * &captured).sin().exp());
/// let x = Tensor::from([0.5, 1.0]).require_grad();
/// layer(&x).sum().backward();
/// let slope = |w: f64, x: f64| (w * x).cos() * (w * x).sin().exp();
/// assert_eq!(x.grad().unwrap().to_vec::<f64>(), [2.0 * slope(2.0, 0.5), 3.0 * slope(3.0, 1.0)]);
/// assert_eq!(weight.grad().unwrap().to_vec::<f64>(), [0.5 * slope(2.0, 0.5), slope(3.0, 1.0)]);
/// ```
#[track_caller]
pub fn checkpoint<X, Y>(f: impl Fn(&X) -> Y + Send + Sync + 'static) -> impl Fn(&X) -> Y
where
    X: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    let f = Arc::new(f);
    move |x: &X| {
        let (again, form) = (f.clone(), form_of(x));
        let region = Region::new(&x.leaves(), move |leaves| drop(again(&form.rebuild(leaves))), line);
        region.record(|| f(x))
    }
}

/// Applies a chain of functions, cut into `segments` of nearly equal length. Every segment stores only its input, and recomputes the values
/// inside. With about as many segments as the square root of the number of functions, memory grows like that root, and every function runs
/// twice.
///
/// ```
/// use wengert::prelude::*;
/// let layers: Vec<_> = (1..=8).map(|k| move |x: &Tensor| (x * k as f64).sin()).collect();
/// let x = Tensor::from(0.3);
/// let plain = |x: &Tensor| layers.iter().fold(x.clone(), |x, layer| layer(&x));
/// let saving = |x: &Tensor| checkpoint_chain(&layers, x, 2);
/// assert_eq!(grad(saving)(&x), grad(plain)(&x));
/// ```
#[track_caller]
pub fn checkpoint_chain<X, F>(layers: &[F], x: &X, segments: usize) -> X
where
    X: Tree + Send + Sync + 'static,
    F: Fn(&X) -> X + Clone + Send + Sync + 'static,
{
    if segments == 0 && !layers.is_empty() {
        let message = format!("{} functions cannot be cut into no segments", layers.len());
        Err(Error::new(ErrorKind::Argument, "checkpoint_chain", message).help("ask for at least one")).or_raise()
    }
    let mut x = x.map_leaves(crate::Tensor::clone);
    for segment in 0..segments.min(layers.len()) {
        let start = |segment: usize| segment * layers.len() / segments.min(layers.len());
        let part = layers[start(segment)..start(segment + 1)].to_vec();
        let run = checkpoint(move |x: &X| {
            let (first, rest) = part.split_first().expect("a segment has a function");
            rest.iter().fold(first(x), |x, layer| layer(&x))
        });
        x = run(&x);
    }
    x
}
