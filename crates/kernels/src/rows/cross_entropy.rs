//! `loss = - sum over c of q[c] w[c] log_softmax(x)[c]` with `q = (1 - s) [c = target] + s / n`, for each row.
//!
//! `s` is the label smoothing, `w` are the class weights. With `W = sum of q w` the gradient is `dx[c] = g (softmax(x)[c] W - q[c] w[c])`.
//! Rows whose target is the ignored index have loss 0 and gradient 0.

use super::fold::{BLOCK, sum_block};
use super::softmax::logsumexp_rows;
use super::{EXPONENTIAL, Float};
use crate::index::OutOfRange;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// The targets of the logits. The plain loss has no ignored index, no smoothing and no weights.
///
/// ```
/// use wengert_kernels::rows::CrossEntropy;
/// let plain = CrossEntropy::<f32> { targets: &[2, 0], ignored: None, smoothing: 0.0, weights: None };
/// assert_eq!(plain.targets.len(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropy<'a, T> {
    /// The class of each row.
    pub targets: &'a [i64],
    /// Rows with this target do not contribute; it need not be a valid class.
    pub ignored: Option<i64>,
    /// The fraction of the target that is spread over all classes.
    pub smoothing: T,
    /// The weight of each class.
    pub weights: Option<&'a [T]>,
}

impl<T: Float> CrossEntropy<'_, T> {
    fn check(&self, n: usize) -> Result<(), OutOfRange> {
        if let Some(weights) = self.weights {
            assert_eq!(weights.len(), n, "cross_entropy: one weight for each of {n} classes");
        }
        let bad = |&(_, &target): &(usize, &i64)| self.ignored != Some(target) && target as u64 >= n as u64;
        match self.targets.iter().enumerate().find(bad) {
            Some((position, &index)) => Err(OutOfRange { index, position, length: n }),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn weight(&self, class: usize) -> T {
        self.weights.map_or(T::ONE, |weights| weights[class])
    }

    /// `q w` of the target itself, `q` of every class (per unit of weight), and `W`, which needs the sum of all weights.
    #[inline(always)]
    fn parts(&self, target: usize, n: usize, all_weights: T) -> (T, T, T) {
        let own = (T::ONE - self.smoothing) * self.weight(target);
        let every = self.smoothing / T::from_f64(n as f64);
        (own, every, own + every * all_weights)
    }

    fn sum_of_weights(&self, n: usize) -> T {
        T::from_f64(self.weights.map_or(n as f64, |weights| weights.iter().map(|weight| weight.to_f64()).sum()))
    }
}

/// The loss of each row of `n` logits, and the row's logsumexp for [`cross_entropy_gradient`].
///
/// The error names the first target that is not a valid class.
///
/// ```
/// use wengert_kernels::rows::{CrossEntropy, cross_entropy};
/// let target = CrossEntropy { targets: &[1, -100], ignored: Some(-100), smoothing: 0.0, weights: None };
/// let (mut loss, mut lse) = ([0.0; 2], [0.0; 2]);
/// cross_entropy(&[0.0, 0.0, 5.0, 6.0], 2, target, &mut loss, &mut lse).unwrap();
/// assert_eq!(loss, [std::f64::consts::LN_2, 0.0]);
/// ```
pub fn cross_entropy<T: Float>(
    x: &[T],
    n: usize,
    target: CrossEntropy<'_, T>,
    loss: &mut [T],
    lse: &mut [T],
) -> Result<(), OutOfRange> {
    let rows = target.targets.len();
    assert!(
        x.len() == rows * n && loss.len() == rows && lse.len() == rows,
        "cross_entropy: {} logits, {} losses and {} logsumexps for {rows} rows of {n}",
        x.len(),
        loss.len(),
        lse.len()
    );
    target.check(n)?;
    let (loss, lse) = (Disjoint::new(loss), Disjoint::new(lse));
    for_each_group(rows, n * EXPONENTIAL, &|rows| {
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let (loss, lse) = unsafe { (loss.range(rows.start, rows.len()), lse.range(rows.start, rows.len())) };
        let target = CrossEntropy { targets: &target.targets[rows.clone()], ..target };
        loss_rows(&x[rows.start * n..rows.end * n], n, target, loss, lse);
    });
    Ok(())
}

vectorised! {
    fn loss_rows[T: Float](x: &[T], n: usize, target: CrossEntropy<'_, T>, loss: &mut [T], lse: &mut [T]) {
        let mut scratch = [T::ZERO; BLOCK];
        logsumexp_rows(x, n, lse);
        for (row, (loss, lse)) in loss.iter_mut().zip(lse).enumerate() {
            let (x, class) = (&x[row * n..][..n], target.targets[row]);
            *loss = T::ZERO;
            if target.ignored != Some(class) {
                let (own, every, _) = target.parts(class as usize, n, T::ZERO);
                *loss = own * (*lse - x[class as usize]);
                if target.smoothing != T::ZERO {
                    let spread = sum_of_distances(x, *lse, target.weights, &mut scratch);
                    *loss = *loss + T::from_f64(every.to_f64() * spread);
                }
            }
        }
    }
}

/// `sum of w[c] (lse - x[c])`.
#[inline(always)]
fn sum_of_distances<T: Float>(x: &[T], lse: T, weights: Option<&[T]>, scratch: &mut [T; BLOCK]) -> f64 {
    let mut sum = 0.0;
    for (block, x) in x.chunks(BLOCK).enumerate() {
        let scratch = &mut scratch[..x.len()];
        for (distance, &x) in scratch.iter_mut().zip(x) {
            *distance = lse - x;
        }
        if let Some(weights) = weights {
            for (distance, &weight) in scratch.iter_mut().zip(&weights[block * BLOCK..]) {
                *distance = *distance * weight;
            }
        }
        sum += sum_block(scratch).to_f64();
    }
    sum
}

/// `dx[row][c] = g[row] * (softmax(x)[c] * W - q[c] * w[c])`, from the logsumexps of [`cross_entropy`].
///
/// ```
/// use wengert_kernels::rows::{CrossEntropy, cross_entropy_gradient};
/// let target = CrossEntropy { targets: &[1], ignored: None, smoothing: 0.0, weights: None };
/// let mut dx = [0.0; 2];
/// cross_entropy_gradient(&[0.0, 0.0], 2, target, &[2f64.ln()], &[1.0], &mut dx);
/// assert!((dx[0] - 0.5).abs() < 1e-15 && (dx[1] + 0.5).abs() < 1e-15);
/// ```
pub fn cross_entropy_gradient<T: Float>(
    x: &[T],
    n: usize,
    target: CrossEntropy<'_, T>,
    lse: &[T],
    g: &[T],
    dx: &mut [T],
) {
    let rows = target.targets.len();
    assert!(
        x.len() == rows * n && dx.len() == rows * n && lse.len() == rows && g.len() == rows,
        "cross_entropy_gradient: slices that do not fit {rows} rows of {n}"
    );
    target.check(n).unwrap_or_else(|error| panic!("cross_entropy_gradient: {error}"));
    let all_weights = target.sum_of_weights(n);
    let dx = Disjoint::new(dx);
    for_each_group(rows, n * EXPONENTIAL, &|rows| {
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let dx = unsafe { dx.range(rows.start * n, rows.len() * n) };
        let x = &x[rows.start * n..rows.end * n];
        let target = CrossEntropy { targets: &target.targets[rows.clone()], ..target };
        gradient_rows(x, n, target, all_weights, &lse[rows.clone()], &g[rows], dx);
    });
}

vectorised! {
    fn gradient_rows[T: Float](
        x: &[T], n: usize, target: CrossEntropy<'_, T>, all_weights: T, lse: &[T], g: &[T], dx: &mut [T],
    ) {
        for (row, (&lse, &g)) in lse.iter().zip(g).enumerate() {
            let (x, dx, class) = (&x[row * n..][..n], &mut dx[row * n..][..n], target.targets[row]);
            if target.ignored == Some(class) {
                dx.fill(T::ZERO);
                continue;
            }
            let (own, every, whole) = target.parts(class as usize, n, all_weights);
            let factor = g * whole;
            for (dx, &x) in dx.iter_mut().zip(x) {
                *dx = (x - lse).exp() * factor;
            }
            if target.smoothing != T::ZERO {
                let spread = g * every;
                match target.weights {
                    Some(weights) => {
                        for (dx, &weight) in dx.iter_mut().zip(weights) {
                            *dx = *dx - spread * weight;
                        }
                    }
                    None => {
                        for dx in dx.iter_mut() {
                            *dx = *dx - spread;
                        }
                    }
                }
            }
            dx[class as usize] = dx[class as usize] - g * own;
        }
    }
}
