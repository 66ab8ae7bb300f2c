//! Wrong arguments are typed errors with the line of the caller.

use std::cell::OnceCell;
use std::panic::Location;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use wengert_engine::{ErrorKind, Tensor, catch, grad};
use wengert_scalar::{
    Dual, Equations, Items, Real, Replay, RowFunction, SparseHessian, SparseJacobian, Symbol, Var, fixed_point,
    gradient, gradient_of, integrate, jacobian, linear_solve, map_over, recording, root, sum_over,
};

/// Checks that `f` fails with an error of this kind and operation, with the caller's line.
#[track_caller]
fn refused<R>(kind: &ErrorKind, operation: &str, f: impl FnOnce() -> R) {
    let here = Location::caller();
    let error = catch(f).err().unwrap_or_else(|| panic!("no error at {here}"));
    let found = error.line().map(|line| (line.file(), line.line()));
    assert_eq!(
        (error.kind(), error.operation(), found),
        (kind, operation, Some((here.file(), here.line()))),
        "{error}"
    );
}

struct Short;

impl Equations for Short {
    fn at<T: Real>(&self, x: &[T], _: &[T]) -> Vec<T> {
        vec![x[0]]
    }
}

#[test]
#[rustfmt::skip]
fn numbers_that_do_not_fit_each_other() {
    use ErrorKind::Argument;
    let kind = &Argument;
    let (two, three) = ([1.0, 2.0], [1.0, 2.0, 3.0]);
    refused(kind, "gradient", || gradient(|x| x[0], &two, &mut [0.0; 3]));
    refused(kind, "pull", || recording(|tape| tape.pull(tape.input(1.0), &[], &mut [0.0])));
    refused(kind, "of", || Var::of(1.0, &[], &[1.0]));
    refused(kind, "dot", || f64::dot(&two, &three));
    refused(kind, "dot", || Var::dot(&two.map(Var::from), &three.map(Var::from)));
    refused(kind, "axpy", || f64::axpy(1.0, &two, &mut three.clone()));
    refused(kind, "matvec", || f64::matvec(&three, &two, &mut two.clone()));
    refused(kind, "variable", || Dual::<f64, 2>::variable(1.0, 2));
    refused(kind, "linear_solve", || linear_solve(&three, &two));
    refused(kind, "integrate", || integrate(|x: f64| x, 0.0, 1.0, -1e-9));
    refused(kind, "integrate", || integrate(|x: f64| x, 0.0, 1.0, f64::NAN));
    refused(kind, "root", || root(&Short, &two, &[] as &[f64]));
    refused(kind, "fixed_point", || fixed_point(&Short, &two, &[] as &[f64]));
    let f = Replay::record(|x| x[0] * x[1], &two);
    refused(kind, "value", || f.value(&three));
    refused(kind, "values", || f.values(&two, &mut [0.0; 2]));
    refused(kind, "value_and_grad", || f.value_and_grad(&two, &mut [0.0; 3]));
    refused(kind, "vjp", || f.vjp(&two, &two, &mut [0.0; 2]));
    refused(kind, "jvp", || f.jvp(&two, &three, &mut [0.0]));
    refused(kind, "hvp", || f.hvp(&two, &two, &mut [0.0; 3]));
    refused(kind, "jacobian", || f.jacobian(&three));
    refused(kind, "hessian", || f.hessian(&three));
    refused(kind, "values_and_grads", || f.values_and_grads(&three, &mut [0.0], &mut [0.0; 3]));
    refused(kind, "values_and_grads", || f.values_and_grads(&two, &mut [0.0], &mut [0.0; 3]));
    refused(kind, "values_at", || f.values_at(&three, &mut [0.0]));
    refused(kind, "Items", || Items::of(&three, 2));
    refused(kind, "Items", || Items::of(&three, 0));
    refused(kind, "Items", || Items::count(2).gathering(&[0], 1));
    let items = Items::of(&two, 1);
    refused(kind, "map_over", || f.map_over(&[1.0], &items, &mut [0.0; 3]));
    refused(kind, "sum_over", || f.sum_over(&two, &items));
    refused(kind, "sum_over", || f.sum_over(&[1.0], &Items::of(&two, 1).sharing(2)));
    refused(kind, "sum_over", || f.sum_over(&two, &Items::count(1).gathering(&[1], 2)));
    refused(kind, "sum_over_and_grad", || f.sum_over_and_grad(&[1.0], &items, &mut [0.0; 2]));
    refused(kind, "jacobians_over", || f.jacobians_over(&[1.0], &items, &mut [0.0; 2], &mut [0.0; 9]));
    refused(kind, "fold_over", || f.fold_over(&[], &items, &mut [0.0; 2]));
    refused(kind, "fold_over_and_pull", || f.fold_over_and_pull(&[], &items, &mut [0.0], &mut [0.0; 2], &mut []));
    refused(kind, "fold_over_and_pull", || f.fold_over_and_pull(&[], &items, &mut [0.0], &mut [0.0], &mut [0.0]));
    refused(kind, "at_most", || Replay::record(|x| x[0], &[1.0]).at_most(0));
    refused(kind, "floor_index", || f64::NAN.floor_index());
    refused(kind, "floor_index", || Dual::<f64, 1>::variable(-0.5, 0).floor_index());
    refused(kind, "floor_index", || Replay::record(|x| x[0] * x[0].floor_index() as f64, &[-1.0]));
    let sparse = || SparseJacobian::record(|x| [x[0] * x[1]], &two);
    refused(kind, "sparse_jacobian", || sparse().values(&two, &mut [0.0; 3]));
    refused(kind, "sparse_jacobian", || sparse().in_order(&[0, 0], &[0]));
    refused(kind, "sparse_jacobian", || sparse().in_order(&[0], &[0]));
    refused(&ErrorKind::Range, "pattern", || sparse().in_order(&[0, 7], &[0, 1]));
    let sparse = || SparseHessian::record(|x| x[0] * x[1], &two);
    refused(kind, "sparse_hessian", || sparse().values(&two, &[1.0], &mut [0.0; 3]));
    refused(kind, "sparse_hessian", || sparse().in_order(&[0, 1], &[0]));
}

#[test]
#[rustfmt::skip]
fn numbers_of_others_that_a_function_returns() {
    let kind = &ErrorKind::WrongLevel;
    let mut ended = None;
    gradient_of(|[x]| *ended.insert(x), [1.0]);
    let ended = ended.unwrap();
    refused(kind, "var", || gradient(|_| ended, &[1.0], &mut [0.0]));
    refused(kind, "var", || gradient_of(|[_]| ended, [1.0]));
    refused(kind, "var", || jacobian(|_| vec![ended], &[1.0]));
    refused(kind, "var", || sum_over(&[1.0], &[Var::from(1.0)], |_, _| ended));
    refused(kind, "var", || map_over(&[1.0], &[Var::from(1.0)], |_, _| [ended]));
}

#[test]
#[rustfmt::skip]
fn rows_that_return_other_numbers_or_call_themselves() {
    let count = |x: &[Symbol]| vec![x[0]; if x[0] > 0.0 { 1 } else { 2 }];
    let rows = Replay::record(count, &[1.0]).into_rows();
    let points = Tensor::from([[1.0], [-1.0]]);
    refused(&ErrorKind::Retraced, "replay", || rows.call(&points));
    refused(&ErrorKind::Retraced, "replay", || grad(|x: &Tensor| rows.call(x).sum())(&points));
    // The recording of another path calls the operation itself.
    let own: Arc<OnceLock<RowFunction>> = Arc::default();
    let known = own.clone();
    let f = move |x: &[Symbol]| match (x[0] < 0.0, known.get()) {
        (true, Some(rows)) => x[0] * rows.call(&Tensor::from([[3.0]])).to_vec::<f64>()[0],
        _ => x[0] * 2.0,
    };
    let rows = own.get_or_init(|| Replay::record(f, &[1.0]).into_rows());
    assert_eq!(rows.call(&Tensor::from([[3.0]])), Tensor::from([6.0]));
    let error = catch(|| rows.call(&points)).unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::WrongLevel, "rows"), "{error}");
    assert!(error.to_string().contains("misuse.rs"), "{error}");
    // It can be used afterwards.
    assert_eq!(rows.call(&Tensor::from([[5.0]])), Tensor::from([10.0]));
}

/// A thread-local that is older than the tape of its thread is destroyed after it.
#[test]
#[rustfmt::skip]
fn recordings_of_a_thread_that_ends() {
    struct Late(Sender<Option<bool>>);
    impl Drop for Late {
        fn drop(&mut self) {
            let kind = &ErrorKind::WrongLevel;
            // A panic that escapes a destructor would abort the process, so it is reported to the test instead.
            let refusals = std::panic::catch_unwind(|| {
                refused(kind, "var", || gradient_of(|[x]| x, [1.0]));
                refused(kind, "var", || gradient(|x| x[0], &[1.0, 2.0], &mut [0.0; 2]));
                refused(kind, "var", || jacobian(|x| vec![x[0]], &[1.0]));
                refused(kind, "var", || recording(|tape| tape.input(1.0).value()));
                // Nothing to sweep.
                assert_eq!(gradient(|_| Var::from(2.0), &[], &mut []), 2.0);
                // None of this is recorded.
                Var::from(2.0) * 3.0 == Var::from(6.0)
            });
            self.0.send(refusals.ok()).unwrap();
        }
    }
    thread_local! { static LATE: OnceCell<Late> = const { OnceCell::new() }; }
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        LATE.with(|late| late.set(Late(sender)).ok().unwrap());
        gradient(|x| x[0] * x[0], &[1.0], &mut [0.0]);
        jacobian(|x| vec![x[0], x[0] * x[0]], &[1.0]);
    })
    .join()
    .unwrap();
    assert_eq!(receiver.recv().unwrap(), Some(true));
}
