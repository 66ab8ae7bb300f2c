//! What derivatives of large recorded functions take. One test, since bytes are those of all threads.

use wengert_kernels::counting::CountingAllocator;
use wengert_scalar::{Replay, Symbol};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Bytes that `f` asks for.
fn bytes<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = ALLOCATOR.bytes();
    let result = f();
    (result, ALLOCATOR.bytes() - before)
}

#[test]
fn a_row_of_a_wide_jacobian_takes_no_more_than_a_gradient() {
    let x: Vec<f64> = (0..20_000).map(|i| f64::from(i % 7) - 3.0).collect();
    let squares = |x: &[Symbol]| x.iter().fold(Symbol::from(0.0), |sum, x| sum + *x * *x);
    let mut slopes = vec![0.0; x.len()];
    let (_, of_gradient) = bytes(|| Replay::record(squares, &x).value_and_grad(&x, &mut slopes));
    let (jacobian, of_jacobian) = bytes(|| Replay::record(squares, &x).jacobian(&x));
    assert_eq!(jacobian, slopes);
    assert_eq!(slopes[..3], [-6.0, -4.0, -2.0]);
    assert!(of_jacobian < 2 * of_gradient, "{of_jacobian} bytes, the gradient {of_gradient}");
}
