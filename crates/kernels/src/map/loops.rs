//! The loops inside tile bodies, compiled for every instruction-set level.
//!
//! A small closure is inlined and vectorised. The compiler may leave a large one as a call, but always inlines an `#[inline(always)]`
//! function passed by name, so long formulas belong in such functions. Loops index slices of equal length: zipped iterators expand to
//! several times the code, which is instantiated about a hundred times.

use crate::simd::vectorised;

vectorised! {
    fn run1[A: Copy, R: Copy, F: Fn(A) -> R](a: &[A], out: &mut [R], f: F) {
        let a = &a[..out.len()];
        for i in 0..out.len() {
            out[i] = f(a[i]);
        }
    }
}

vectorised! {
    fn run2[A: Copy, B: Copy, R: Copy, F: Fn(A, B) -> R](a: &[A], b: &[B], out: &mut [R], f: F) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        for i in 0..out.len() {
            out[i] = f(a[i], b[i]);
        }
    }
}

vectorised! {
    fn run3[A: Copy, B: Copy, C: Copy, R: Copy, F: Fn(A, B, C) -> R](a: &[A], b: &[B], c: &[C], out: &mut [R], f: F) {
        let (a, b, c) = (&a[..out.len()], &b[..out.len()], &c[..out.len()]);
        for i in 0..out.len() {
            out[i] = f(a[i], b[i], c[i]);
        }
    }
}

vectorised! {
    fn run4[A: Copy, B: Copy, C: Copy, D: Copy, R: Copy, F: Fn(A, B, C, D) -> R](
        a: &[A], b: &[B], c: &[C], d: &[D], out: &mut [R], f: F,
    ) {
        let (a, b, c, d) = (&a[..out.len()], &b[..out.len()], &c[..out.len()], &d[..out.len()]);
        for i in 0..out.len() {
            out[i] = f(a[i], b[i], c[i], d[i]);
        }
    }
}

vectorised! {
    fn update1[T: Copy, F: Fn(T) -> T](target: &mut [T], f: F) {
        for target in target {
            *target = f(*target);
        }
    }
}

vectorised! {
    fn update2[T: Copy, B: Copy, F: Fn(T, B) -> T](target: &mut [T], b: &[B], f: F) {
        let b = &b[..target.len()];
        for i in 0..target.len() {
            target[i] = f(target[i], b[i]);
        }
    }
}

vectorised! {
    fn update3[T: Copy, B: Copy, C: Copy, F: Fn(T, B, C) -> T](target: &mut [T], b: &[B], c: &[C], f: F) {
        let (b, c) = (&b[..target.len()], &c[..target.len()]);
        for i in 0..target.len() {
            target[i] = f(target[i], b[i], c[i]);
        }
    }
}

#[inline(always)]
fn expect_equal(expected: usize, lengths: &[usize]) {
    assert!(lengths.iter().all(|&length| length == expected), "loop over slices of lengths {lengths:?} and {expected}");
}

/// `out[i] = f(a[i])`. Panics unless the lengths are equal.
///
/// ```
/// let mut out = [0.0; 3];
/// wengert_kernels::loop1(&[1, 2, 3], &mut out, |x| x as f64 * 0.5);
/// assert_eq!(out, [0.5, 1.0, 1.5]);
/// ```
#[inline]
pub fn loop1<A: Copy, R: Copy>(a: &[A], out: &mut [R], f: impl Fn(A) -> R) {
    expect_equal(out.len(), &[a.len()]);
    run1(a, out, f);
}

/// `out[i] = f(a[i], b[i])`. Panics unless the lengths are equal.
///
/// ```
/// let mut out = [0.0; 2];
/// wengert_kernels::loop2(&[1.0, 2.0], &[3.0, 4.0], &mut out, |x, y| x * y);
/// assert_eq!(out, [3.0, 8.0]);
/// ```
#[inline]
pub fn loop2<A: Copy, B: Copy, R: Copy>(a: &[A], b: &[B], out: &mut [R], f: impl Fn(A, B) -> R) {
    expect_equal(out.len(), &[a.len(), b.len()]);
    run2(a, b, out, f);
}

/// `out[i] = f(a[i], b[i], c[i])`. Panics unless the lengths are equal.
///
/// ```
/// let mut out = [0.0; 2];
/// wengert_kernels::loop3(&[1u8, 0], &[3.0, 4.0], &[5.0, 6.0], &mut out, |c, x, y| if c != 0 { x } else { y });
/// assert_eq!(out, [3.0, 6.0]);
/// ```
#[inline]
pub fn loop3<A: Copy, B: Copy, C: Copy, R: Copy>(a: &[A], b: &[B], c: &[C], out: &mut [R], f: impl Fn(A, B, C) -> R) {
    expect_equal(out.len(), &[a.len(), b.len(), c.len()]);
    run3(a, b, c, out, f);
}

/// `out[i] = f(a[i], b[i], c[i], d[i])`. Panics unless the lengths are equal.
///
/// ```
/// let mut out = [0];
/// wengert_kernels::loop4(&[1], &[2], &[3], &[4], &mut out, |a, b, c, d| a * b + c * d);
/// assert_eq!(out, [14]);
/// ```
#[inline]
pub fn loop4<A: Copy, B: Copy, C: Copy, D: Copy, R: Copy>(
    a: &[A],
    b: &[B],
    c: &[C],
    d: &[D],
    out: &mut [R],
    f: impl Fn(A, B, C, D) -> R,
) {
    expect_equal(out.len(), &[a.len(), b.len(), c.len(), d.len()]);
    run4(a, b, c, d, out, f);
}

/// `target[i] = f(target[i])`.
///
/// ```
/// let mut x = [1.0, -2.0];
/// wengert_kernels::loop1_in_place(&mut x, |x: f64| -x);
/// assert_eq!(x, [-1.0, 2.0]);
/// ```
#[inline]
pub fn loop1_in_place<T: Copy>(target: &mut [T], f: impl Fn(T) -> T) {
    update1(target, f);
}

/// `target[i] = f(target[i], b[i])`. Panics unless the lengths are equal.
///
/// ```
/// let mut x = [1.0, 2.0];
/// wengert_kernels::loop2_in_place(&mut x, &[10.0, 20.0], |x, y| x + y);
/// assert_eq!(x, [11.0, 22.0]);
/// ```
#[inline]
pub fn loop2_in_place<T: Copy, B: Copy>(target: &mut [T], b: &[B], f: impl Fn(T, B) -> T) {
    expect_equal(target.len(), &[b.len()]);
    update2(target, b, f);
}

/// `target[i] = f(target[i], b[i], c[i])`. Panics unless the lengths are equal.
///
/// ```
/// let mut x = [1.0, 2.0];
/// wengert_kernels::map::loop3_in_place(&mut x, &[10.0, 20.0], &[3.0, 3.0], |x, y, z| (x + y) * z);
/// assert_eq!(x, [33.0, 66.0]);
/// ```
#[inline]
pub fn loop3_in_place<T: Copy, B: Copy, C: Copy>(target: &mut [T], b: &[B], c: &[C], f: impl Fn(T, B, C) -> T) {
    expect_equal(target.len(), &[b.len(), c.len()]);
    update3(target, b, c, f);
}
