//! `any` and `all`: whether some or every element is not 0. NaN is not 0.

use crate::dtype::Element;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// 1 where some element along the middle axis of `[outer, n, inner]` is not 0, else 0.
///
/// ```
/// let mut y = [9; 2];
/// wengert_kernels::extremes::any(&[0.0, 0.0, f64::NAN, 0.0], [2, 2, 1], &mut y);
/// assert_eq!(y, [0, 1]);
/// ```
pub fn any<T: Element>(x: &[T], shape: [usize; 3], out: &mut [u8]) {
    decide(x, shape, true, out);
}

/// 1 where every element along the middle axis of `[outer, n, inner]` is not 0, else 0; 1 when the axis is empty.
///
/// ```
/// let mut y = [9; 2];
/// wengert_kernels::extremes::all(&[1u8, 1, 0, 1], [2, 2, 1], &mut y);
/// assert_eq!(y, [1, 0]);
/// ```
pub fn all<T: Element>(x: &[T], shape: [usize; 3], out: &mut [u8]) {
    decide(x, shape, false, out);
}

/// Looks for an element that is not 0 (`any`) or that is 0.
fn decide<T: Element>(x: &[T], shape: [usize; 3], any: bool, out: &mut [u8]) {
    let [outer, n, inner] = shape;
    assert!(
        x.len() == outer * n * inner && out.len() == outer * inner,
        "any or all: {} elements into {} for shape {shape:?}",
        x.len(),
        out.len()
    );
    let out = Disjoint::new(out);
    for_each_group(outer, n * inner, &|outer| {
        for o in outer {
            // SAFETY: each matrix is in one group, which runs once, and has its own outputs.
            let found = unsafe { out.range(o * inner, inner) };
            found.fill(0);
            let x = &x[o * n * inner..][..n * inner];
            if inner == 1 {
                found[0] = x.chunks(4096).any(|x| finds(x, any)) as u8;
            } else {
                for t in 0..n {
                    mark(&x[t * inner..][..inner], any, found);
                }
            }
            for found in found {
                *found ^= !any as u8;
            }
        }
    });
}

vectorised! {
    fn finds[T: Element](x: &[T], any: bool) -> bool {
        let mut found = false;
        for &x in x {
            found |= (x != T::zeroed()) == any;
        }
        found
    }
}

vectorised! {
    fn mark[T: Element](x: &[T], any: bool, found: &mut [u8]) {
        for (found, &x) in found.iter_mut().zip(x) {
            *found |= ((x != T::zeroed()) == any) as u8;
        }
    }
}
