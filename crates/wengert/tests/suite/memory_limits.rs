//! Absurd sizes are errors that name the operation, the bytes and the user's line: no abort, no kill, no endless loop.

use wengert::compile;
use wengert::prelude::*;

/// The error of `f`, whose line must be in this file.
#[track_caller]
fn error_of<T>(f: impl FnOnce() -> T) -> Error {
    let error = catch(f).err().expect("this call must fail");
    let line = error.line().expect("an error has the user's line");
    assert!(line.file().ends_with("memory_limits.rs"), "{error}");
    error
}

/// The call runs out of memory, and says how many bytes it needs.
#[track_caller]
fn lacks<T>(operation: &str, bytes: usize, f: impl FnOnce() -> T) -> Error {
    let error = error_of(f);
    assert_eq!(error.operation(), operation, "{error}");
    assert!(matches!(error.kind(), ErrorKind::Memory { needed, .. } if *needed == bytes), "{error}");
    assert!(error.message().contains(&format!("{bytes} bytes")), "{error}");
    error
}

/// The call has a size that no memory can hold, whether that shows in the shape or in the bytes.
#[track_caller]
fn refuses<T>(operation: &str, f: impl FnOnce() -> T) -> Error {
    let error = error_of(f);
    assert_eq!(error.operation(), operation, "{error}");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. } | ErrorKind::Shape(_)), "{error}");
    error
}

#[test]
fn an_operation_that_needs_more_than_the_machine_has() {
    let line = line!() + 1;
    let error = lacks("add", 1 << 48, || Tensor::zeros([1 << 45]) + 1.0);
    assert!(error.message().starts_with("f64[35184372088832] needs 281474976710656 bytes"), "{error}");
    assert_eq!(error.line().unwrap().line(), line);
    lacks("exp", 1 << 48, || Tensor::zeros([1 << 45]).exp());
    lacks("cast", 1 << 47, || Tensor::zeros([1 << 45]).cast(DType::F32));
    lacks("cumsum", 1 << 48, || Tensor::zeros([1 << 45]).cumsum(0));
    let x = Tensor::from([1.0, 2.0]);
    lacks("mul", 1 << 49, || &x * Tensor::ones([1 << 45, 2]));
    // A failing call leaves everything usable.
    assert_eq!(&x + 1.0, Tensor::from([2.0, 3.0]));
}

#[test]
fn an_operation_in_place_that_needs_a_copy() {
    let mut x = Tensor::zeros([1 << 45]);
    lacks("add", 1 << 48, || x += 1.0);
}

#[test]
fn derivatives_that_need_more_than_the_machine_has() {
    let x = Tensor::zeros([1 << 45]).require_grad();
    lacks("sin", 1 << 48, || x.sin());
    let error = error_of(|| grad(|x: &Tensor| x.sin().sum())(&Tensor::zeros([1 << 45])));
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
}

#[test]
fn compiled_calls_that_need_more_than_the_machine_has() {
    let f = compile(|x: &Tensor| x.broadcast_to([1 << 45, 2]) + x);
    let error = error_of(|| f.call(&Tensor::from([1.0, 2.0])));
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
}

#[test]
fn memory_that_runs_out_between_operations_is_an_error_too() {
    let x = Tensor::zeros([1 << 45]);
    lacks("to_vec", 1 << 48, || x.to_vec::<f64>());
    let error = error_of(|| x.contiguous());
    assert!(matches!(error.kind(), ErrorKind::Memory { needed, .. } if *needed == 1 << 48), "{error}");
}

#[test]
fn creation_of_absurd_sizes() {
    lacks("arange", 1 << 47, || Tensor::arange(1i64 << 44));
    lacks("arange", 1 << 47, || Tensor::arange(0.0..(1i64 << 44) as f64));
    lacks("linspace", 1 << 47, || Tensor::linspace(0.0, 1.0, 1 << 44));
    lacks("logspace", 1 << 47, || Tensor::logspace(0.0, 1.0, 1 << 44));
    lacks("eye", 1 << 47, || Tensor::eye(1 << 22));
    for count in [1 << 60, usize::MAX] {
        refuses("linspace", || Tensor::linspace(0.0, 1.0, count));
        refuses("eye", || Tensor::eye(count));
    }
}

#[test]
fn resampling_to_absurd_sizes() {
    let x = Tensor::from([[[1.0, 2.0]]]);
    for mode in [InterpolateMode::Nearest, InterpolateMode::Linear, InterpolateMode::Bicubic, InterpolateMode::Area] {
        lacks("interpolate", 1 << 48, || x.interpolate(&Interpolate::size([1 << 45]).mode(mode)));
        for size in [1 << 61, usize::MAX] {
            refuses("interpolate", || x.interpolate(&Interpolate::size([size]).mode(mode)));
        }
        refuses("interpolate", || x.interpolate(&Interpolate::scale(1e30).mode(mode)));
    }
    // There is no output, but there are tables of its positions.
    refuses("interpolate", || Tensor::zeros([0, 1, 2]).interpolate(&Interpolate::size([1 << 45])));
}

#[test]
fn repetition_of_absurd_counts() {
    let x = Tensor::from([1.0, 2.0]);
    lacks("repeat_interleave", 1 << 49, || x.repeat_interleave(1 << 45, 0));
    lacks("repeat_interleave", 1 << 45, || x.repeat_interleave_each(&[1 << 41, 1 << 41], 0)).message();
    for count in [1 << 61, 1 << 63, usize::MAX] {
        refuses("repeat_interleave", || x.repeat_interleave(count, 0));
        refuses("repeat_interleave", || x.repeat_interleave_each(&[count, count], 0));
        refuses("repeat", || x.repeat([count]));
    }
}

#[test]
fn loops_and_series_of_absurd_lengths() {
    lacks("scan", 1 << 53, || scan_times(1 << 50, |x: &Tensor| (x * 2.0, x.clone()), &Tensor::from(1.0)));
    let x = Tensor::from(0.0);
    for order in [1 << 42, usize::MAX] {
        let error = refuses("jet", || jet(|x: &Tensor| x.sin(), &x, &[Tensor::from(1.0)], order));
        assert!(error.message().contains(&format!("order {order}")), "{error}");
    }
}

#[test]
fn differences_of_absurd_orders_are_empty_at_once() {
    let x = Tensor::from([1.0, 4.0, 9.0]);
    assert_eq!(x.diff(3, 0), Tensor::zeros([0]));
    assert_eq!(x.diff(1 << 31, 0), Tensor::zeros([0]));
    assert_eq!(x.diff(usize::MAX, 0), Tensor::zeros([0]));
    assert_eq!(Tensor::zeros([2, 0]).diff(usize::MAX, 1).shape(), [2, 0]);
}

#[test]
fn polygamma_of_absurd_orders_ends_at_once() {
    let x = Tensor::from([0.5, 1.5, 1e200]);
    assert_eq!(x.polygamma(u32::MAX), Tensor::from([f64::INFINITY, f64::INFINITY, 0.0]));
}

#[test]
fn dense_derivatives_of_many_inputs_are_refused() {
    let x = Tensor::zeros([1 << 23]);
    let error = lacks("jacobian", 1 << 49, || jacobian(|x: &Tensor| x.clone())(&x));
    assert!(error.message().starts_with("a matrix of 8388608 x 8388608 needs"), "{error}");
    assert!(error.suggestion().unwrap().contains("SparseJacobian"), "{error}");
    lacks("jacrev", 1 << 49, || jacrev(|x: &Tensor| x.clone())(&x));
    lacks("jacfwd", 1 << 49, || jacfwd(|x: &Tensor| x.clone())(&x));
    lacks("hessian", 1 << 49, || hessian(|x: &Tensor| x.sum())(&x));
}

#[test]
fn lists_that_no_memory_can_hold() {
    refuses("split", || Key::new(1).split(1 << 44));
    refuses("split", || Key::new(1).split(usize::MAX));
    refuses("vander", || Tensor::from([1.0, 2.0]).vander(1 << 44));
    refuses("tensor_split", || Tensor::ones([4]).tensor_split(1 << 44, 0));
    refuses("split", || Tensor::from(1.0).broadcast_to([1 << 44]).split(1, 0));
    refuses("combinations", || Tensor::ones([60]).combinations(30, false));
    refuses("combinations", || Tensor::ones([4]).combinations(1 << 40, true));
    assert_eq!(Tensor::ones([4]).combinations(5, false).shape(), [0, 5]);
    assert_eq!(Tensor::ones([4]).combinations(3, true).shape(), [20, 3]);
}
