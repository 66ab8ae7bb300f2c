//! `out[i] = product over j != i of x[j]`, and its directional derivatives.
//!
//! With directions `h1 .. hk` the factors are the polynomials `x[j] + t1 h1[j] + .. + tk hk[j]`, truncated to terms in which no `t` is
//! squared. They have one coefficient for each set of directions, and the result is the coefficient of the full set. Without directions the
//! factors are numbers. The product of the elements before is multiplied by the product of those after, so there is no division.

use crate::dtype::Compute;
use crate::reduce::for_each_group;
use crate::scan::Accumulate;
use crate::simd::vectorised;
use crate::threads::Disjoint;

const LANES: usize = 16;
/// Rows of at least this many elements are faster in parallel lanes than one product after the other.
const LONG: usize = 4 * LANES;

/// The product of all other elements in each row of `n`, differentiated once along each of `directions`.
///
/// ```
/// use wengert_kernels::extremes::product_of_others;
/// let mut y = [0.0; 3];
/// product_of_others(&[2.0, 3.0, 5.0], &[], 3, &mut y);
/// assert_eq!(y, [15.0, 10.0, 6.0]);
/// product_of_others(&[2.0, 3.0, 5.0], &[&[1.0, 0.0, 0.0]], 3, &mut y);
/// assert_eq!(y, [0.0, 5.0, 3.0]);
/// ```
pub fn product_of_others<T: Accumulate>(x: &[T], directions: &[&[T]], n: usize, out: &mut [T]) {
    assert!(
        x.len() == out.len()
            && directions.iter().all(|direction| direction.len() == x.len())
            && n * (x.len() / n.max(1)) == x.len(),
        "product_of_others: rows of {n} in {} elements",
        x.len()
    );
    if out.is_empty() {
        return;
    }
    let (rows, sets) = (out.len() / n, 1 << directions.len());
    let out = Disjoint::new(out);
    for_each_group(rows, n * sets, &|rows| {
        let (first, count) = (rows.start * n, rows.len() * n);
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let out = unsafe { out.range(first, count) };
        let x = &x[first..][..count];
        if directions.is_empty() && n >= LONG {
            return long_rows(x, n, &mut vec![[T::Wide::ONE; LANES]; n.div_ceil(LANES)], out);
        }
        let directions: Vec<&[T]> = directions.iter().map(|direction| &direction[first..][..count]).collect();
        let mut scratch = vec![T::Wide::ZERO; (n + 1) * sets];
        match sets {
            1 => plain_rows(x, n, &mut scratch, out),
            2 => dual_rows(x, directions[0], n, &mut scratch, out),
            _ => polynomial_rows(x, &directions, n, &mut scratch, out),
        }
    });
}

vectorised! {
    fn plain_rows[T: Accumulate](x: &[T], n: usize, before: &mut [T::Wide], out: &mut [T]) {
        for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            let mut total = T::Wide::ONE;
            for (before, x) in before.iter_mut().zip(x) {
                *before = total;
                total = T::times(total, x.widen());
            }
            let mut after = T::Wide::ONE;
            for ((&before, x), out) in before[..n].iter().zip(x).zip(out).rev() {
                *out = T::narrow(T::times(before, after));
                after = T::times(after, x.widen());
            }
        }
    }
}

vectorised! {
    /// Lane `l` has the elements `l`, `l + LANES`, ..; missing elements at the end count as ones.
    fn long_rows[T: Accumulate](x: &[T], n: usize, before: &mut [[T::Wide; LANES]], out: &mut [T]) {
        for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            let mut totals = [T::Wide::ONE; LANES];
            for (before, x) in before.iter_mut().zip(x.chunks(LANES)) {
                *before = totals;
                for (total, x) in totals.iter_mut().zip(x) {
                    *total = T::times(*total, x.widen());
                }
            }
            let mut after = [T::Wide::ONE; LANES];
            let (mut left, mut right) = (T::Wide::ONE, T::Wide::ONE);
            for lane in 0..LANES {
                after[lane] = left;
                left = T::times(left, totals[lane]);
            }
            for lane in (0..LANES).rev() {
                after[lane] = T::times(after[lane], right);
                right = T::times(right, totals[lane]);
            }
            for ((before, x), out) in before.iter().zip(x.chunks(LANES)).zip(out.chunks_mut(LANES)).rev() {
                for (((&before, after), x), out) in before.iter().zip(&mut after).zip(x).zip(out) {
                    *out = T::narrow(T::times(before, *after));
                    *after = T::times(*after, x.widen());
                }
            }
        }
    }
}

vectorised! {
    /// One direction: pairs of a product and its derivative.
    fn dual_rows[T: Accumulate](x: &[T], h: &[T], n: usize, before: &mut [T::Wide], out: &mut [T]) {
        let (before, _) = before.as_chunks_mut::<2>();
        for ((x, h), out) in x.chunks_exact(n).zip(h.chunks_exact(n)).zip(out.chunks_exact_mut(n)) {
            let mut total = [T::Wide::ONE, T::Wide::ZERO];
            for ((before, x), h) in before.iter_mut().zip(x).zip(h) {
                *before = total;
                total = dual_product::<T>(total, [x.widen(), h.widen()]);
            }
            let mut after = [T::Wide::ONE, T::Wide::ZERO];
            for (((&before, x), h), out) in before[..n].iter().zip(x).zip(h).zip(out).rev() {
                *out = T::narrow(dual_product::<T>(before, after)[1]);
                after = dual_product::<T>(after, [x.widen(), h.widen()]);
            }
        }
    }
}

#[inline(always)]
fn dual_product<T: Accumulate>(a: [T::Wide; 2], b: [T::Wide; 2]) -> [T::Wide; 2] {
    [T::times(a[0], b[0]), T::times(a[0], b[1]).wrapping_plus(T::times(a[1], b[0]))]
}

/// Any number of directions.
fn polynomial_rows<T: Accumulate>(x: &[T], directions: &[&[T]], n: usize, scratch: &mut [T::Wide], out: &mut [T]) {
    let sets = 1 << directions.len();
    let (total, before) = scratch.split_at_mut(sets);
    let reset = |total: &mut [T::Wide]| {
        total.fill(T::Wide::ZERO);
        total[0] = T::Wide::ONE;
    };
    // The new coefficient of a set is its old one times x, plus, for each of its directions, the coefficient of the set without it times h.
    let multiply = |total: &mut [T::Wide], place: usize| {
        for set in (0..sets).rev() {
            let own = T::times(total[set], x[place].widen());
            let given = directions.iter().enumerate().filter(|(which, _)| set >> which & 1 == 1);
            total[set] = given.fold(own, |sum, (which, direction)| {
                sum.wrapping_plus(T::times(total[set ^ 1 << which], direction[place].widen()))
            });
        }
    };
    for first in (0..x.len()).step_by(n) {
        reset(total);
        for (i, before) in before.chunks_exact_mut(sets).enumerate() {
            before.copy_from_slice(total);
            multiply(total, first + i);
        }
        reset(total);
        for (i, before) in before.chunks_exact(sets).enumerate().rev() {
            let pairs = before.iter().zip(total.iter().rev());
            let whole = pairs.fold(T::Wide::ZERO, |sum, (&a, &b)| sum.wrapping_plus(T::times(a, b)));
            out[first + i] = T::narrow(whole);
            multiply(total, first + i);
        }
    }
}
