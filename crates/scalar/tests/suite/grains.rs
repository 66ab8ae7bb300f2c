//! Scalars and tensors in one graph: gradients pass in both directions.

use wengert_engine::methods::*;
use wengert_engine::{
    DType, ErrorKind, Tensor, catch, compile, grad, hessian, hvp, jacfwd, jacrev, jvp, value_and_grad, vmap,
};
use wengert_scalar::{Real, Replay, RowFunction, Symbol, Var, gradient, jacobian, through_tensors};

/// sin(x y) + z^3 / x, and the same with tensors, column by column.
fn wave<T: Real>(x: &[T]) -> T {
    (x[0] * x[1]).sin() + x[2].powi(3) / x[0]
}

fn wave_of_columns(x: &Tensor) -> Tensor {
    let column = |number| x.select(-1, number);
    (column(0) * column(1)).sin() + column(2) * column(2) * column(2) / column(0)
}

fn wave_of_rows() -> RowFunction {
    Replay::record(wave::<Symbol>, &[1.0, 1.0, 1.0]).into_rows()
}

fn points() -> Tensor {
    Tensor::from([[0.5, 1.5, -0.7], [2.0, -0.3, 1.1], [-1.2, 0.4, 0.9], [0.8, 0.8, 0.0]])
}

#[track_caller]
fn assert_close(a: &Tensor, b: &Tensor) {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    let (a, b) = (a.to_vec::<f64>(), b.to_vec::<f64>());
    let wrong = a.iter().zip(&b).position(|(a, b)| (a - b).abs() > 1e-12 * (1.0 + b.abs()));
    assert!(wrong.is_none(), "number {wrong:?} of {a:?} and {b:?}");
}

#[test]
fn rows_are_an_operation_in_every_mode_and_of_every_order() {
    let (rows, x) = (wave_of_rows(), points());
    let ours = |x: &Tensor| rows.call(x);
    assert_close(&ours(&x), &wave_of_columns(&x));
    // Operations before and after, and a row that is used twice.
    let around = |f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| (f(&(x * x + 0.5)) * f(x).cos()).sum();
    let (ours, theirs) = (|x: &Tensor| around(&ours, x), |x: &Tensor| around(&wave_of_columns, x));
    assert_close(&grad(ours)(&x), &grad(theirs)(&x));
    assert_close(&hessian(ours)(&x), &hessian(theirs)(&x));
    let direction = (&x * 3.0).cos();
    assert_close(&jvp(ours, &x, &direction).1, &jvp(theirs, &x, &direction).1);
    assert_close(&hvp(ours, &x, &direction), &hvp(theirs, &x, &direction));
    let third = |f: &dyn Fn(&Tensor) -> Tensor| {
        let second = |x: &Tensor| (grad(|x: &Tensor| (grad(f)(x) * &direction).sum())(x) * &direction).sum();
        grad(second)(&x)
    };
    assert_close(&third(&ours), &third(&theirs));
    assert_close(&vmap(grad(ours))(&x), &vmap(grad(theirs))(&x));
    assert_eq!(rows.recordings(), 1);
}

#[test]
fn rows_are_compiled_with_what_is_around_them() {
    let (rows, x) = (wave_of_rows(), points());
    let step = compile(move |x: &Tensor| value_and_grad(|x: &Tensor| (rows.call(&x.tanh()) * 2.0).sum())(x));
    let (value, slopes) = step.call(&x);
    let (expected, by_x) = value_and_grad(|x: &Tensor| (wave_of_columns(&x.tanh()) * 2.0).sum())(&x);
    assert_close(&value, &expected);
    assert_close(&slopes, &by_x);
    // The program runs again with other values.
    let (value, slopes) = step.call(&(&x * 0.5));
    let (expected, by_x) = value_and_grad(|x: &Tensor| (wave_of_columns(&x.tanh()) * 2.0).sum())(&(&x * 0.5));
    assert_close(&value, &expected);
    assert_close(&slopes, &by_x);
}

/// A ramp with a flat bottom, whose sides have different formulas.
fn ramp(x: &[Symbol]) -> Symbol {
    if x[0] < -1.0 {
        x[0] * x[1]
    } else if x[0] > 1.0 {
        (x[0] * x[1]).exp()
    } else {
        x[1] * x[1]
    }
}

#[test]
fn every_row_takes_its_own_path_and_so_do_its_derivatives() {
    let rows = Replay::record(ramp, &[0.0, 0.0]).into_rows();
    let x = Tensor::from([[0.5, 3.0], [2.0, 0.1], [-3.0, 4.0], [0.1, -1.0], [-2.0, 0.5], [1.5, 0.2]]);
    let (e, f) = (0.2f64.exp(), 0.3f64.exp());
    assert_close(&rows.call(&x), &Tensor::from([9.0, e, -12.0, 1.0, -1.0, f]));
    let slopes = grad(|x: &Tensor| rows.call(x).sum())(&x);
    let expected = [[0.0, 6.0], [0.1 * e, 2.0 * e], [4.0, -3.0], [0.0, -2.0], [0.5, -2.0], [0.2 * f, 1.5 * f]];
    assert_close(&slopes, &Tensor::from(expected));
    assert_eq!(rows.recordings(), 3);
}

#[test]
fn rows_of_several_numbers_have_jacobians_by_rows_and_columns() {
    let polar = |x: &[Symbol]| [x[0] * x[1].cos(), x[0] * x[1].sin(), x[0] + x[1]];
    let rows = Replay::record(polar, &[1.0, 0.0]).into_rows();
    let (r, angle) = (2.0, 0.3f64);
    let (sin, cos) = angle.sin_cos();
    let expected = Tensor::from([[cos, -r * sin], [sin, r * cos], [1.0, 1.0]]);
    let x = Tensor::from([r, angle]);
    assert_close(&jacrev(|x: &Tensor| rows.call(x))(&x), &expected);
    assert_close(&jacfwd(|x: &Tensor| rows.call(x))(&x), &expected);
}

#[test]
fn rows_have_any_number_of_axes_in_front_and_may_be_none() {
    let rows = wave_of_rows();
    let x = points();
    assert_close(&rows.call(&x.reshape([2, 1, 2, 3])), &wave_of_columns(&x).reshape([2, 1, 2]));
    assert_close(&rows.call(&x.select(0, 1)), &wave_of_columns(&x).select(0, 1));
    assert_eq!(rows.call(&Tensor::from(Vec::<f64>::new()).reshape([0, 3])).shape(), [0]);
    let many = Tensor::from((0..3000).map(|i| 1.5 + f64::from(i).sin()).collect::<Vec<f64>>()).reshape([1000, 3]);
    assert_close(&rows.call(&many), &wave_of_columns(&many));
}

#[test]
fn rows_keep_the_dtype_of_their_tensor_and_refuse_others() {
    let rows = wave_of_rows();
    let single = points().cast(DType::F32);
    assert_eq!(rows.call(&single).dtype(), DType::F32);
    assert_eq!(grad(|x: &Tensor| rows.call(x).sum())(&single).dtype(), DType::F32);
    let refused = |wrong: Tensor| {
        let error = catch(|| rows.call(&wrong)).unwrap_err();
        assert!(error.to_string().contains("grains.rs"), "{error}");
        error
    };
    for wrong in [Tensor::from([1.0, 2.0]), Tensor::from(1.0)] {
        assert!(matches!(refused(wrong).kind(), ErrorKind::Shape(_)));
    }
    assert_eq!(refused(Tensor::from([1i64, 2, 3])).kind(), &ErrorKind::DType(vec![DType::I64]));
}

#[test]
fn rows_reach_leaves_through_the_imperative_tape() {
    let (rows, leaf) = (wave_of_rows(), points().require_grad());
    (rows.call(&leaf) * 3.0).sum().backward();
    let expected = grad(|x: &Tensor| (wave_of_columns(x) * 3.0).sum())(&points());
    assert_close(&leaf.grad().unwrap(), &expected);
}

#[test]
fn threads_share_one_function_of_rows() {
    let rows = Replay::record(ramp, &[0.0, 0.0]).into_rows();
    let work = |shift: f64| {
        let x = Tensor::from((0..200).map(|i| 3.0 * (f64::from(i) + shift).sin()).collect::<Vec<f64>>());
        let x = x.reshape([100, 2]);
        (rows.call(&x).to_vec::<f64>(), grad(|x: &Tensor| rows.call(x).sum())(&x).to_vec::<f64>())
    };
    let alone: Vec<_> = (0..4).map(|thread| work(f64::from(thread))).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..4).map(|thread| scope.spawn(move || work(f64::from(thread)))).collect();
        for (running, alone) in running.into_iter().zip(&alone) {
            assert_eq!(&running.join().unwrap(), alone);
        }
    });
}

/// The product of two matrices of scalars, by its definition.
fn product(a: &[Var], b: &[Var], [rows, inner, columns]: [usize; 3]) -> Vec<Var> {
    let entry = |place: usize| -> Var {
        (0..inner).map(|k| a[place / columns * inner + k] * b[k * columns + place % columns]).sum()
    };
    (0..rows * columns).map(entry).collect()
}

#[test]
fn a_tensor_operation_is_a_statement_of_a_tape_of_numbers() {
    let x: Vec<f64> = (0..18).map(|i| (f64::from(i) * 0.7).sin()).collect();
    // Scalars before and after the product, whose first factor is used twice.
    let loss = |x: &[Var], product: &dyn Fn(&[Var], &[Var]) -> Vec<Var>| -> Var {
        let (a, b) = x.split_at(6);
        let a: Vec<Var> = a.iter().map(|a| a.exp()).collect();
        product(&a, b).iter().zip(a.iter().cycle()).map(|(entry, a)| entry.sin() * *a).sum()
    };
    let (mut slopes, mut expected) = ([0.0; 18], [0.0; 18]);
    let wide = |a: &[Var], b: &[Var]| through_tensors([(a, &[2, 3]), (b, &[3, 4])], |[a, b]| a.matmul(b));
    let value = gradient(|x| loss(x, &wide), &x, &mut slopes);
    let by_hand = gradient(|x| loss(x, &|a, b| product(a, b, [2, 3, 4])), &x, &mut expected);
    assert!((value - by_hand).abs() < 1e-13);
    assert!(slopes.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13), "{slopes:?} {expected:?}");
    // Every row of a Jacobian sweeps the statement again.
    let rows = |wide: bool| {
        jacobian(
            |x: &[Var]| match wide {
                true => through_tensors([(&x[..4], &[2, 2]), (&x[4..], &[2, 2])], |[a, b]| a.matmul(b)),
                false => product(&x[..4], &x[4..], [2, 2, 2]),
            },
            &x[..8],
        )
    };
    assert_eq!(rows(true), rows(false));
}

#[test]
fn numbers_pass_through_tensors_that_pass_through_numbers() {
    let rows = wave_of_rows();
    let x = points().to_vec::<f64>();
    let (mut slopes, mut expected) = ([0.0; 12], [0.0; 12]);
    let there = |x: &[Var]| -> Var {
        let x: Vec<Var> = x.iter().map(|x| *x * 1.5).collect();
        through_tensors([(&x, &[4, 3])], |[x]| rows.call(x)).into_iter().map(|y| y * y).sum()
    };
    let value = gradient(there, &x, &mut slopes);
    let here = |x: &[Var]| -> Var {
        let row = |x: &[Var]| wave(&[x[0] * 1.5, x[1] * 1.5, x[2] * 1.5]);
        x.chunks(3).map(|x| row(x) * row(x)).sum()
    };
    assert!((value - gradient(here, &x, &mut expected)).abs() < 1e-12);
    assert!(slopes.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
}

#[test]
fn a_compiled_function_and_captured_tensors_work_on_the_tape() {
    let weights = Tensor::from([[1.0, -2.0], [0.5, 3.0]]);
    let layer = compile(move |x: &Tensor| x.matmul(&weights).tanh());
    let mut slopes = [0.0; 2];
    gradient(|x| through_tensors([(x, &[1, 2])], |[x]| layer.call(x))[1], &[0.3, 0.1], &mut slopes);
    let slope = 1.0 - (-0.6f64 + 0.3).tanh().powi(2);
    assert!((slopes[0] + 2.0 * slope).abs() < 1e-14 && (slopes[1] - 3.0 * slope).abs() < 1e-14, "{slopes:?}");
}

#[test]
fn numbers_that_do_not_fill_a_shape_are_an_error_with_the_line() {
    let wrong = |x: &[Var]| through_tensors([(x, &[2, 2])], |[x]| x.clone())[0];
    let error = catch(|| gradient(wrong, &[1.0, 2.0, 3.0], &mut [0.0; 3])).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape(_)));
    assert!(error.to_string().contains("3 numbers are no tensor of shape [2, 2]"), "{error}");
    assert!(error.to_string().contains("grains.rs"), "{error}");
}
