//! Reversible steps: inputs that are computed from outputs instead of stored.

use super::custom::form_of;
use crate::location::{self, Line};
use crate::memory::{Invertible, LeafMap, reversed};
use crate::{DType, Tree};
use std::sync::Arc;

/// Returns the same function, but its derivative stores nothing of it: when the reverse sweep reaches it, `inverse` computes the input from
/// the output, and the function runs again. A chain of such functions stores the output of the last one, however long it is. It suits
/// additive couplings, leapfrog steps, rotations: functions whose inverse is as cheap as they are.
///
/// Gradients differ by the rounding errors of the inverse. The rebuilt input is compared with the first, as [`checkpoint`](super::checkpoint)
/// compares ([`Verify`](crate::memory::Verify)); if it drifted by more than the square root of the precision of its dtype, the error names
/// the element and both numbers. Under transforms where there are no numbers to compute back from, as in a compiled function or a
/// second derivative, it stores its input like a checkpoint.
///
/// ```
/// use wengert::prelude::*;
/// // Additive coupling: each half changes the other.
/// let step = reversible(
///     |(a, b): &(Tensor, Tensor)| {
///         let a = a + b.tanh();
///         let b = b + a.sin();
///         (a, b)
///     },
///     |(a, b): &(Tensor, Tensor)| {
///         let b = b - a.sin();
///         (a - b.tanh(), b)
///     },
/// );
/// let loss = |x: &(Tensor, Tensor)| {
///     let mut x = x.clone();
///     for _ in 0..10 {
///         x = step(&x);
///     }
///     (&x.0 * &x.1).sum()
/// };
/// let x = (Tensor::from([0.1, 0.2]), Tensor::from([0.3, 0.4]));
/// let slopes = gradcheck(|a: &Tensor| loss(&(a.clone(), x.1.clone())), &x.0);
/// assert!(slopes.is_ok(), "{slopes:?}");
/// ```
#[track_caller]
pub fn reversible<X>(
    f: impl Fn(&X) -> X + Send + Sync + 'static,
    inverse: impl Fn(&X) -> X + Send + Sync + 'static,
) -> impl Fn(&X) -> X
where
    X: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    let (f, inverse) = (Arc::new(f), Arc::new(inverse));
    move |x: &X| {
        let pair = Invertible { run: of_leaves(f.clone(), x), inverse: of_leaves(inverse.clone(), x) };
        let leaves = x.leaves();
        let tolerance = leaves.iter().map(|leaf| tolerance(leaf.dtype())).fold(0.0, f64::max);
        let call = || {
            let y = f(x);
            let outputs = y.leaves().into_iter().cloned().collect();
            (y, outputs)
        };
        reversed(&leaves, pair, tolerance, call, line)
    }
}

/// A function of a structure as one of its leaves.
fn of_leaves<X>(f: Arc<impl Fn(&X) -> X + Send + Sync + 'static>, x: &X) -> Arc<LeafMap>
where
    X: Tree + Send + Sync + 'static,
{
    let form = form_of(x);
    Arc::new(move |leaves| f(&form.rebuild(leaves)).leaves().into_iter().cloned().collect())
}

/// The square root of the precision of a dtype.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON.sqrt(),
        DType::F32 => f64::from(f32::EPSILON).sqrt(),
        DType::F16 => (2.0f64).powi(-10).sqrt(),
        DType::BF16 => (2.0f64).powi(-7).sqrt(),
        _ => 0.0,
    }
}
