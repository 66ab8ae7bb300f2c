//! Matrices of symbols: `nalgebra` is recorded, and its pivots are guards. References are the implicit function theorem and other closed
//! forms.

use super::matrices::{close, implicit_slopes, lu, numbers, weighted};
use approx::relative_eq;
use nalgebra::{Matrix2, Matrix3, Matrix6, Rotation2, Rotation3, SMatrix, Vector2, Vector3, Vector6};
use wengert_scalar::{Dual, Replay, Symbol, Var, gradient};

#[track_caller]
fn assert_close(found: &[f64], right: &[f64], tolerance: f64) {
    assert_eq!(found.len(), right.len());
    for (i, (found, right)) in found.iter().zip(right).enumerate() {
        assert!(close(*found, *right, tolerance), "number {i}: {found}, not {right}");
    }
}

type Solver = fn(Matrix6<Symbol>, Vector6<Symbol>) -> Vector6<Symbol>;

const SOLVERS: [(&str, Solver); 6] = [
    ("lu", lu),
    ("full_piv_lu", |a, b| a.full_piv_lu().solve(&b).unwrap()),
    ("qr", |a, b| a.qr().solve(&b).unwrap()),
    ("col_piv_qr", |a, b| a.col_piv_qr().solve(&b).unwrap()),
    ("svd", |a, b| a.svd(true, true).solve(&b, Symbol::from(1e-12)).unwrap()),
    ("inverse", |a, b| a.try_inverse().unwrap() * b),
];

/// A matrix, column by column, and a right-hand side.
fn system(seed: u64) -> Vec<f64> {
    let a = Matrix6::from_column_slice(&numbers::<36>(seed)) + Matrix6::identity() * 0.5;
    a.iter().copied().chain(numbers::<6>(seed + 1)).collect()
}

fn halves(inputs: &[f64]) -> (Matrix6<f64>, Vector6<f64>) {
    (Matrix6::from_column_slice(&inputs[..36]), Vector6::from_column_slice(&inputs[36..]))
}

#[test]
fn recorded_solvers_have_values_slopes_and_second_derivatives_of_the_implicit_rule() {
    let direction = numbers::<42>(50);
    // The same by the tape on dual numbers.
    let along = |x: &[Var]| {
        let x: Vec<Dual<Var, 1>> = x.iter().zip(direction).map(|(x, d)| Dual::new(*x, [Var::from(d)])).collect();
        weighted(&lu(Matrix6::from_column_slice(&x[..36]), Vector6::from_column_slice(&x[36..]))).tangents()[0]
    };
    for (name, solve) in SOLVERS {
        let f =
            |x: &[Symbol]| weighted(&solve(Matrix6::from_column_slice(&x[..36]), Vector6::from_column_slice(&x[36..])));
        let replay = Replay::record(f, &system(1));
        for seed in [1, 3, 1] {
            let x = system(seed);
            let (a, b) = halves(&x);
            let (mut slopes, mut product, mut expected) = ([0.0; 42], [0.0; 42], [0.0; 42]);
            let value = replay.value_and_grad(&x, &mut slopes);
            let right = weighted(&(a.try_inverse().unwrap() * b));
            assert!(close(value, right, 1e-11), "{name}: {value}, not {right}");
            assert_close(&slopes, &implicit_slopes(&a, &b), 1e-9);
            replay.hvp(&x, &direction, &mut product);
            gradient(along, &x, &mut expected);
            assert_close(&product, &expected, 1e-8);
            let slopes_at = |step: f64| {
                let moved: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + step * d).collect();
                let (a, b) = halves(&moved);
                implicit_slopes(&a, &b)
            };
            let differences =
                slopes_at(1e-5).into_iter().zip(slopes_at(-1e-5)).map(|(above, below)| (above - below) / 2e-5);
            assert_close(&product, &differences.collect::<Vec<_>>(), 1e-5);
        }
    }
}

/// By rows: every diagonal element is by far the largest of its column.
fn dominant(shift: f64) -> Vec<f64> {
    let mut rows = numbers::<42>(60);
    (0..6).for_each(|i| rows[7 * i] = 10.0 + shift + i as f64);
    rows.to_vec()
}

#[test]
fn the_pivots_of_a_six_by_six_solve_are_guards_that_stay() {
    let f = |x: &[Symbol]| {
        let a = SMatrix::<Symbol, 6, 6>::from_row_slice(&x[..36]);
        a.lu().solve(&Vector6::from_column_slice(&x[36..])).unwrap().as_slice().to_vec()
    };
    let replay = Replay::record(f, &dominant(0.0));
    for shift in [0.0, 0.5, 3.0] {
        let x = dominant(shift);
        let mut solution = [0.0; 6];
        replay.values(&x, &mut solution);
        let (a, b) = (Matrix6::from_row_slice(&x[..36]), Vector6::from_column_slice(&x[36..]));
        assert!((a * Vector6::from(solution) - b).norm() < 1e-13);
        // dx = A^-1 (db - dA x): the derivative by the right-hand side is the inverse.
        let (jacobian, inverse) = (replay.jacobian(&x), a.try_inverse().unwrap());
        for (row, slopes) in jacobian.chunks(42).enumerate() {
            for column in 0..6 {
                assert!(close(slopes[36 + column], inverse[(row, column)], 1e-13));
                assert!(close(slopes[column], -inverse[(row, 0)] * solution[column], 1e-13));
            }
        }
    }
    assert_eq!(replay.recordings(), 1);
}

#[test]
fn a_flipped_pivot_is_a_second_recording_and_right() {
    let f = |x: &[Symbol]| {
        let solution = Matrix2::new(x[0], x[1], x[2], x[3]).lu().solve(&Vector2::new(x[4], x[5])).unwrap();
        solution.x
    };
    // Cramer's rule, and its derivatives.
    let right = |[a, b, c, d, u, v]: [f64; 6]| {
        let (x, y, det) = (d * u - b * v, a * v - c * u, a * d - b * c);
        let (x, y) = (x / det, y / det);
        (x, [-d * x / det, -d * y / det, b * x / det, b * y / det, d / det, -b / det])
    };
    let points = [
        ([3.0, 1.0, 2.0, 5.0, 1.0, -1.0], 1),
        ([2.5, 1.0, 2.0, 5.0, 0.3, -1.0], 1),
        ([1.0, 1.0, 2.0, 5.0, 1.0, -1.0], 2),
        ([-1.0, 0.5, -4.0, 5.0, 1.0, 2.0], 2),
        // A zero pivot, and one of the same magnitude with the opposite sign.
        ([0.0, 1.0, 2.0, 5.0, 1.0, -1.0], 2),
        ([3.0, 1.0, -2.0, 5.0, 1.0, -1.0], 2),
    ];
    let replay = Replay::record(f, &points[0].0);
    for (x, recordings) in points {
        let ((value, expected), mut slopes) = (right(x), [0.0; 6]);
        assert!(close(replay.value_and_grad(&x, &mut slopes), value, 1e-14), "{x:?}");
        assert_close(&slopes, &expected, 1e-14);
        assert_eq!(replay.recordings(), recordings, "{x:?}");
    }
    // All points at once, each on its own path.
    let (mut values, mut slopes) = ([0.0; 6], [0.0; 36]);
    replay.values_and_grads(&points.map(|(x, _)| x).concat(), &mut values, &mut slopes);
    for (i, (x, _)) in points.into_iter().enumerate() {
        let (value, expected) = right(x);
        assert!(close(values[i], value, 1e-14));
        assert_close(&slopes[6 * i..][..6], &expected, 1e-14);
    }
    assert_eq!(replay.recordings(), 2);
}

#[test]
fn a_singular_matrix_after_a_regular_one_is_told() {
    let f = |x: &[Symbol]| match Matrix2::new(x[0], x[1], x[2], x[3]).lu().solve(&Vector2::new(x[0], x[3])) {
        Some(solution) => solution.y,
        None => Symbol::from(-7.0),
    };
    let replay = Replay::record(f, &[2.0, 1.0, 1.0, 3.0]);
    assert_eq!(replay.value(&[2.0, 1.0, 4.0, 2.0]), -7.0);
    // (2 * 3 - 1 * 2) / (2 * 3 - 1 * 1).
    assert!(close(replay.value(&[2.0, 1.0, 1.0, 3.0]), 0.8, 1e-15));
}

/// With L L^T = A, the logarithm of det A is twice that of the diagonal; its gradient is A^-1, whose change along V is -A^-1 V A^-1.
#[test]
fn a_recorded_cholesky_decomposition_has_the_slopes_of_the_determinant() {
    let f = |x: &[Symbol]| {
        let lower = Matrix3::from_column_slice(x).cholesky().unwrap().l();
        lower.diagonal().iter().map(|x| nalgebra::ComplexField::ln(*x)).sum::<Symbol>() * 2.0
    };
    let positive = |seed: u64| {
        let root = Matrix3::from_column_slice(&numbers::<9>(seed));
        root * root.transpose() + Matrix3::identity()
    };
    let replay = Replay::record(f, positive(70).as_slice());
    for seed in [70, 71, 72] {
        let (a, v) = (positive(seed), positive(seed + 10));
        let inverse = a.try_inverse().unwrap();
        let (mut slopes, mut product) = (Matrix3::zeros(), Matrix3::zeros());
        let value = replay.value_and_grad(a.as_slice(), slopes.as_mut_slice());
        assert!(close(value, a.determinant().ln(), 1e-14));
        replay.hvp(a.as_slice(), v.as_slice(), product.as_mut_slice());
        // One triangle is read, in both cases, so only the sum of both counts.
        let both = |x: Matrix3<f64>| x + x.transpose();
        assert_close(both(slopes).as_slice(), both(inverse).as_slice(), 1e-13);
        assert_close(both(product).as_slice(), both(-inverse * v * inverse).as_slice(), 1e-12);
    }
    assert_eq!(replay.recordings(), 1);
}

#[test]
fn recorded_singular_values_have_the_slopes_of_their_vectors() {
    let f = |x: &[Symbol]| Matrix3::from_column_slice(x).svd(true, true).singular_values[0];
    let replay = Replay::record(f, &numbers::<9>(80));
    for seed in [80, 81, 82] {
        let a = Matrix3::from_column_slice(&numbers::<9>(seed));
        // The largest one by the power method on A^T A, and its singular vectors.
        let v = (0..2000).fold(Vector3::new(1.0, 0.3, -0.2), |v, _| (a.transpose() * (a * v)).normalize());
        let (size, u) = ((a * v).norm(), (a * v).normalize());
        let mut slopes = [0.0; 9];
        assert!(close(replay.value_and_grad(a.as_slice(), &mut slopes), size, 1e-12));
        assert_close(&slopes, (u * v.transpose()).as_slice(), 1e-9);
    }
}

#[test]
fn recorded_rotations_turn_by_the_cross_product_also_from_an_angle_of_zero() {
    let point = Vector3::new(0.3, -1.0, 0.7);
    let f = |x: &[Symbol]| {
        let turned = Rotation3::from_axis_angle(&Vector3::z_axis(), x[0]) * point.cast::<Symbol>();
        turned.dot(&Vector3::new(x[1], x[2], x[3]))
    };
    let replay = Replay::record(f, &[0.0, 1.0, 2.0, 3.0]);
    let mut slopes = [0.0; 4];
    for angle in [0.4, -2.0, 3.0] {
        let (sin, cos) = f64::sin_cos(angle);
        let turned = Vector3::new(cos * 0.3 + sin, sin * 0.3 - cos, 0.7);
        let weights = Vector3::new(0.5, -0.3, 2.0);
        let value = replay.value_and_grad(&[angle, 0.5, -0.3, 2.0], &mut slopes);
        assert!(close(value, turned.dot(&weights), 1e-14), "{angle}: {value}");
        assert_close(&slopes, &[Vector3::z().cross(&turned).dot(&weights), turned.x, turned.y, turned.z], 1e-14);
        let mut product = [0.0; 4];
        replay.hvp(&[angle, 0.5, -0.3, 2.0], &[1.0, 0.0, 0.0, 0.0], &mut product);
        let (first, second) = (Vector3::z().cross(&turned), -Vector3::new(turned.x, turned.y, 0.0));
        assert_close(&product, &[second.dot(&weights), first.x, first.y, first.z], 1e-13);
    }
    // An angle of exactly 0 has its own branch in `nalgebra`; all others take one path.
    assert_eq!(replay.recordings(), 2);
    let plane = Replay::record(|x: &[Symbol]| (Rotation2::new(x[0]) * Vector2::new(x[1], x[2])).x, &[0.0; 3]);
    assert!(close(plane.value(&[0.5, 2.0, 3.0]), 2.0 * 0.5f64.cos() - 3.0 * 0.5f64.sin(), 1e-15));
    assert_eq!(plane.recordings(), 1);
}

#[test]
fn dual_numbers_of_symbols_are_solved_with_and_guarded_once() {
    let direction = numbers::<12>(90);
    let f = |x: &[Symbol]| {
        let x: Vec<Dual<Symbol, 1>> = x.iter().zip(direction).map(|(x, d)| Dual::new(*x, [Symbol::from(d)])).collect();
        weighted(&lu(Matrix3::from_column_slice(&x[..9]), Vector3::from_column_slice(&x[9..]))).tangents()[0]
    };
    let system = |seed: u64| {
        let a = Matrix3::from_column_slice(&numbers::<9>(seed)) * 0.3 + Matrix3::identity() * 2.0;
        a.iter().copied().chain(numbers::<3>(seed + 1)).collect::<Vec<f64>>()
    };
    let slopes_of =
        |x: &[f64]| implicit_slopes(&Matrix3::from_column_slice(&x[..9]), &Vector3::from_column_slice(&x[9..]));
    let replay = Replay::record(f, &system(91));
    for seed in [91, 93, 95] {
        let (x, mut second) = (system(seed), [0.0; 12]);
        let along = replay.value_and_grad(&x, &mut second);
        let expected: f64 = slopes_of(&x).iter().zip(direction).map(|(slope, d)| slope * d).sum();
        assert!(close(along, expected, 1e-13), "{along}, not {expected}");
        let moved = |step: f64| slopes_of(&x.iter().zip(direction).map(|(x, d)| x + step * d).collect::<Vec<_>>());
        let differences = moved(1e-5).into_iter().zip(moved(-1e-5)).map(|(above, below)| (above - below) / 2e-5);
        assert_close(&second, &differences.collect::<Vec<_>>(), 1e-7);
    }
    assert_eq!(replay.recordings(), 1);
}

#[test]
fn comparisons_with_a_tolerance_are_guards_of_how_they_come_out() {
    let f = |x: &[Symbol]| {
        let (a, b) = (Vector2::new(x[0], x[1]), Vector2::new(x[1], x[0]));
        if relative_eq!(a, b, epsilon = Symbol::from(1e-3)) { x[0] * 10.0 } else { x[0] - x[1] }
    };
    let replay = Replay::record(f, &[1.0, 2.0]);
    assert_eq!((replay.value(&[5.0, 3.0]), replay.recordings()), (2.0, 1));
    assert_eq!((replay.value(&[3.0, 3.0005]), replay.recordings()), (30.0, 2));
    assert_eq!((replay.value(&[7.0, 7.0001]), replay.recordings()), (70.0, 2));
    // Equal and infinite numbers are handled before any difference is taken.
    assert_eq!(replay.value(&[4.0, 4.0]), 40.0);
    assert_eq!(replay.value(&[f64::INFINITY, f64::INFINITY]), f64::INFINITY);
    assert_eq!(replay.value(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
    let apart =
        |x: &[Symbol]| Symbol::from(if approx::ulps_eq!(x[0], x[1], epsilon = Symbol::from(0.0)) { 1.0 } else { 0.0 });
    let replay = Replay::record(apart, &[1.0, 1.0]);
    let next = 1.0 + 2.0 * f64::EPSILON;
    assert_eq!([[1.0, next], [1.0, 1.1], [-1.0, 1.0], [next, 1.0]].map(|x| replay.value(&x)), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn numbers_that_are_taken_out_of_a_matrix_are_guards_of_every_bit() {
    let f = |x: &[Symbol]| {
        let plain: Vector2<f64> = nalgebra::try_convert(Vector2::new(x[0], x[1])).unwrap();
        x[0] * plain.norm()
    };
    let replay = Replay::record(f, &[3.0, 4.0]);
    assert_eq!((replay.value(&[3.0, 4.0]), replay.recordings()), (15.0, 1));
    assert_eq!((replay.value(&[5.0, 12.0]), replay.recordings()), (65.0, 2));
}
