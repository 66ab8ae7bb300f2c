//! Matrices, decompositions and rotations of `nalgebra`, differentiated. Functions here only require nalgebra's own traits.

use super::matrices::{close, implicit_slopes, lu, numbers, weighted};
use approx::{abs_diff_eq, relative_eq, ulps_eq};
use nalgebra::linalg::givens::GivensRotation;
use nalgebra::{
    ComplexField, DMatrix, DVector, Isometry3, Matrix2, Matrix3, Matrix4, Matrix6, Point3, RealField, Rotation3,
    SMatrix, SVector, Similarity3, SymmetricEigen, Translation3, Unit, UnitComplex, UnitQuaternion, Vector2, Vector3,
    Vector6,
};
use wengert_scalar::{Dual, Replay, Symbol, Var, gradient, gradient_of, recording};

type Solver<T, const N: usize> = fn(SMatrix<T, N, N>, SVector<T, N>) -> SVector<T, N>;

/// The gradient of `weighted` of a solver's result agrees with the implicit function theorem.
fn check_solver<const N: usize>(solve: Solver<Var, N>, a: &SMatrix<f64, N, N>, b: &SVector<f64, N>) {
    let inputs: Vec<f64> = a.iter().chain(b.iter()).copied().collect();
    let mut slopes = vec![0.0; inputs.len()];
    let f = |x: &[Var]| {
        let (a, b) = x.split_at(N * N);
        weighted(&solve(SMatrix::from_column_slice(a), SVector::from_column_slice(b)))
    };
    gradient(f, &inputs, &mut slopes);
    for (i, (slope, right)) in slopes.iter().zip(implicit_slopes(a, b)).enumerate() {
        assert!(close(*slope, right, 1e-10), "input {i}: {slope}, not {right}");
    }
}

fn full_pivots(a: Matrix6<Var>, b: Vector6<Var>) -> Vector6<Var> {
    a.full_piv_lu().solve(&b).unwrap()
}

fn qr(a: Matrix6<Var>, b: Vector6<Var>) -> Vector6<Var> {
    a.qr().solve(&b).unwrap()
}

fn qr_with_pivots(a: Matrix6<Var>, b: Vector6<Var>) -> Vector6<Var> {
    a.col_piv_qr().solve(&b).unwrap()
}

fn singular_values(a: Matrix6<Var>, b: Vector6<Var>) -> Vector6<Var> {
    a.svd(true, true).solve(&b, Var::from(1e-12)).unwrap()
}

fn inverse(a: Matrix6<Var>, b: Vector6<Var>) -> Vector6<Var> {
    a.try_inverse().unwrap() * b
}

#[test]
fn solvers_have_the_slopes_of_the_implicit_rule() {
    let a = Matrix6::from_column_slice(&numbers::<36>(1)) + Matrix6::identity() * 0.5;
    let b = Vector6::from_column_slice(&numbers::<6>(2));
    for solve in [lu::<Var, 6>, full_pivots, qr, qr_with_pivots, singular_values, inverse] {
        check_solver(solve, &a, &b);
    }
}

#[test]
fn zeros_that_are_inputs_have_their_slopes() {
    // Every first pivot and the first entry of every column is zero, and so is most of the right-hand side.
    let mut a = Matrix6::from_column_slice(&numbers::<36>(3)) * 0.3;
    a.fill_diagonal(0.0);
    for i in 0..6 {
        a[((i + 1) % 6, i)] = 2.0;
        a[((i + 3) % 6, i)] = 0.0;
    }
    let b = Vector6::new(0.0, 1.0, 0.0, 0.0, -0.5, 0.0);
    for solve in [lu::<Var, 6>, full_pivots, qr, qr_with_pivots, inverse] {
        check_solver(solve, &a, &b);
    }
}

#[test]
fn a_rotation_onto_an_axis_has_slopes_where_a_side_is_zero() {
    let slopes = |f: fn([Var; 2]) -> Var| gradient_of(f, [0.0, 2.0]).1;
    // cos and sin of the vector (0, 2): (x, y) / |(x, y)|.
    let cosine = slopes(|[x, y]| GivensRotation::new(x, y).0.c());
    let sine = slopes(|[x, y]| GivensRotation::new(x, y).0.s());
    assert_eq!((cosine, sine), ([0.5, 0.0], [0.0, 0.0]));
}

#[test]
fn a_cholesky_solve_has_the_slopes_of_the_implicit_rule() {
    let root = Matrix6::from_column_slice(&numbers::<36>(4));
    let (a, b) = (root * root.transpose() + Matrix6::identity(), Vector6::from_column_slice(&numbers::<6>(5)));
    let inputs: Vec<f64> = a.iter().chain(b.iter()).copied().collect();
    let mut slopes = [0.0; 42];
    let f = |x: &[Var]| {
        let a = Matrix6::from_column_slice(&x[..36]);
        weighted(&a.cholesky().unwrap().solve(&Vector6::from_column_slice(&x[36..])))
    };
    gradient(f, &inputs, &mut slopes);
    let right = implicit_slopes(&a, &b);
    for i in 0..6 {
        assert!(close(slopes[36 + i], right[36 + i], 1e-10));
        // Only the lower triangle is read, in both cases.
        for j in 0..6 {
            let (own, mirrored) = (right[6 * j + i], right[6 * i + j]);
            let expected = if i > j {
                own + mirrored
            } else if i == j {
                own
            } else {
                0.0
            };
            assert!(close(slopes[6 * j + i], expected, 1e-10), "{i} {j}: {} not {expected}", slopes[6 * j + i]);
        }
    }
}

#[test]
fn the_gradient_of_a_determinant_is_the_adjugate() {
    fn check<const N: usize>(seed: u64)
    where
        nalgebra::Const<N>: nalgebra::DimMin<nalgebra::Const<N>, Output = nalgebra::Const<N>>,
    {
        let all = numbers::<36>(seed);
        let a = SMatrix::<f64, N, N>::from_column_slice(&all[..N * N]);
        let mut slopes = vec![0.0; N * N];
        gradient(|x| SMatrix::<Var, N, N>::from_column_slice(x).determinant(), &all[..N * N], &mut slopes);
        for (i, slope) in slopes.iter().enumerate() {
            // The cofactor: the matrix with this column replaced by a unit column.
            let mut minor = DMatrix::from_column_slice(N, N, a.as_slice());
            minor.set_column(i / N, &DVector::from_fn(N, |row, _| if row == i % N { 1.0 } else { 0.0 }));
            assert!(close(*slope, minor.determinant(), 1e-12), "{slope}, not {}", minor.determinant());
        }
    }
    check::<1>(6);
    check::<2>(7);
    check::<3>(8);
    check::<4>(9);
    check::<6>(10);
}

fn sum_of_sines(x: Vector6<Var>) -> Var {
    x.iter().fold(Var::from(0.0), |sum, x| sum + ComplexField::sin(*x))
}

#[test]
fn eigenvalues_and_singular_values_have_the_slopes_of_their_vectors() {
    let slopes = |f: fn(Matrix6<Var>) -> Var, a: &Matrix6<f64>| {
        let mut slopes = Matrix6::zeros();
        gradient(|x| f(Matrix6::from_column_slice(x)), a.as_slice(), slopes.as_mut_slice());
        slopes
    };
    // The derivative of an eigenvalue is v v^T. One triangle is read, in both cases.
    let a = Matrix6::from_column_slice(&numbers::<36>(11));
    let symmetric = a + a.transpose();
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(symmetric);
    let right = eigenvectors * Matrix6::from_diagonal(&eigenvalues.map(f64::cos)) * eigenvectors.transpose();
    let found = slopes(|a| sum_of_sines(a.symmetric_eigenvalues()), &symmetric);
    let error = (found + found.transpose() - right * 2.0).norm();
    assert!(error < 1e-10, "eigenvalues: {error}");
    // That of a singular value is u v^T.
    let svd = a.svd(true, true);
    let right = svd.u.unwrap() * Matrix6::from_diagonal(&svd.singular_values.map(f64::cos)) * svd.v_t.unwrap();
    let error = (slopes(|a| sum_of_sines(a.singular_values()), &a) - right).norm();
    assert!(error < 1e-10, "singular values: {error}");
}

/// A function for every number type.
struct Function {
    name: &'static str,
    plain: fn(&[f64]) -> f64,
    var: fn(&[Var]) -> Var,
    dual: fn(&[Dual<f64, 1>]) -> Dual<f64, 1>,
    /// Nested number types take long to compile, so only some functions use them.
    nested: Option<fn(&[Dual<Var, 1>]) -> Dual<Var, 1>>,
    symbol: fn(&[Symbol]) -> Symbol,
}

macro_rules! functions {
    (nested) => { None };
    (nested $name:ident) => { Some($name) };
    ($($name:ident $(($nested:ident))?)+) => {
        [$(Function {
            name: stringify!($name),
            plain: $name,
            var: $name,
            dual: $name,
            nested: functions!(nested $($nested)?),
            symbol: $name,
        }),+]
    };
}

fn vector<T: RealField + Copy>(x: &[T]) -> Vector3<T> {
    Vector3::new(x[0], x[1], x[2])
}

fn axis_angle<T: RealField + Copy>(x: &[T]) -> T {
    let axis = Unit::new_normalize(vector(x));
    (Rotation3::from_axis_angle(&axis, x[3]) * vector(&x[4..])).dot(&vector(&x[7..]))
}

fn euler_angles<T: RealField + Copy>(x: &[T]) -> T {
    let rotation = Rotation3::from_euler_angles(x[0], x[1], x[2]);
    (rotation * vector(&x[3..])).dot(&vector(&x[6..]))
}

fn back_to_euler_angles<T: RealField + Copy>(x: &[T]) -> T {
    let rotation = Rotation3::from_scaled_axis(vector(x)) * Rotation3::from_scaled_axis(vector(&x[3..]));
    let (roll, pitch, yaw) = rotation.euler_angles();
    roll * pitch + yaw * x[6]
}

fn quaternions<T: RealField + Copy>(x: &[T]) -> T {
    let first = UnitQuaternion::from_scaled_axis(vector(x));
    let second = UnitQuaternion::from_axis_angle(&Unit::new_normalize(vector(&x[3..])), x[6]);
    let between = first.slerp(&second, nalgebra::convert(0.3));
    (between * first.inverse() * vector(&x[7..])).x + between.angle_to(&second) + between.scaled_axis().sum()
}

fn isometries<T: RealField + Copy>(x: &[T]) -> T {
    let first = Isometry3::new(vector(x), vector(&x[3..]));
    let second =
        Isometry3::from_parts(Translation3::from(vector(&x[6..])), UnitQuaternion::from_euler_angles(x[0], x[4], x[8]));
    let point = (first * second.inverse()) * Point3::from(vector(&x[9..]));
    let other = Similarity3::from_isometry(first, nalgebra::convert(1.5)).inverse_transform_point(&point);
    nalgebra::distance(&point, &other) + first.to_homogeneous().determinant() * point.x
}

fn look_at<T: RealField + Copy>(x: &[T]) -> T {
    let view = Isometry3::look_at_rh(&Point3::from(vector(x)), &Point3::from(vector(&x[3..])), &Vector3::y());
    (view * Point3::from(vector(&x[6..]))).coords.dot(&vector(&x[9..]))
}

fn planar<T: RealField + Copy>(x: &[T]) -> T {
    let turned = UnitComplex::new(x[0]) * UnitComplex::new(x[1]).powf(x[2]);
    turned.angle() * x[3] + (turned * Vector2::new(x[4], x[5])).x
}

fn inverses<T: RealField + Copy>(x: &[T]) -> T {
    let two = nalgebra::convert(2.0);
    let three = Matrix3::from_column_slice(&x[..9]) + Matrix3::from_diagonal_element(two);
    let four = Matrix4::from_fn(|i, j| x[(5 * i + 2 * j) % 12]) + Matrix4::from_diagonal_element(two);
    three.try_inverse().unwrap().sum() + four.try_inverse().unwrap().norm()
}

fn of_any_size<T: RealField + Copy>(x: &[T]) -> T {
    let a = DMatrix::from_fn(5, 3, |i, j| x[(3 * i + 2 * j) % 12]);
    let b = DVector::from_fn(5, |i, _| x[(i + 4) % 12]);
    let square = a.tr_mul(&a) + DMatrix::identity(3, 3);
    square.lu().solve(&a.tr_mul(&b)).unwrap().dot(&vector(x)) + a.norm() + b.normalize().amax() + a.row_mean().max()
}

fn exponential<T: RealField + Copy>(x: &[T]) -> T {
    let generator = Matrix3::from_column_slice(&x[..9]);
    (generator.exp() * vector(&x[9..])).sum() + generator.pow(3).trace()
}

/// The exponential of a symmetric matrix by its eigenvectors, and parts of a matrix by its singular vectors; signs and order cancel.
fn vectors<T: RealField + Copy>(x: &[T]) -> T {
    let a = Matrix4::from_fn(|i, j| x[(3 * i + 2 * j + i * j) % 12]);
    let eigen = SymmetricEigen::new(a + a.transpose());
    let scaled = eigen.eigenvectors * Matrix4::from_diagonal(&eigen.eigenvalues.map(|x| x.exp()));
    let svd = a.svd(true, true);
    let (u, v) = (svd.u.unwrap(), svd.v_t.unwrap());
    let root = u * Matrix4::from_diagonal(&svd.singular_values.map(|x| x.atan())) * v;
    (scaled * eigen.eigenvectors.transpose())[(0, 1)] + root[(2, 3)]
}

fn complex_eigenvalues<T: RealField + Copy>(x: &[T]) -> T {
    let eigenvalues = Matrix3::from_column_slice(&x[..9]).complex_eigenvalues();
    eigenvalues.iter().fold(T::zero(), |sum, z| sum + z.re.sinh() * z.im.cosh())
}

fn cardinals<T: RealField + Copy>(x: &[T]) -> T {
    let (sinh, cosh) = x[2].sinh_cosh();
    x[0].sinc() * x[1].sinhc()
        + (x[3] * nalgebra::convert(0.05)).sinc()
        + (x[4] * nalgebra::convert(0.05)).sinhc()
        + sinh / cosh
        + x[5].cosc() * x[6].coshc()
}

fn of_one_number<T: RealField + Copy>(x: &[T]) -> T {
    let bound: T = nalgebra::convert(0.5);
    let chosen =
        RealField::max(x[0], x[1]) * RealField::min(x[2], x[3]) + x[4].clamp(-bound, bound) + x[5].copysign(x[6]);
    let (modulus, sign) = x[7].to_exp();
    let size = x[8].modulus() + x[9].modulus_squared() + x[10].norm1() + modulus * sign;
    let power = (x[0].abs() + T::one()).powf(x[1]) + x[2].powi(3) + (x[3].abs() + T::one()).powc(x[4]);
    chosen * size
        + power
        + x[5].mul_add(x[6], x[7])
        + x[8].atan2(x[9])
        + x[10].hypot(x[11])
        + x[11].scale(x[0]).unscale(T::pi())
        + (x[1] * x[1]).try_sqrt().unwrap()
        + T::from_real(x[2]).conjugate().real() * (x[3].argument() + x[4].imaginary() + x[5].signum() + x[6].round())
}

#[test]
fn rotations_and_decompositions_agree_in_all_modes_and_with_differences() {
    let functions = functions![
        axis_angle(axis_angle) euler_angles back_to_euler_angles quaternions isometries look_at planar inverses of_any_size
        exponential(exponential) vectors complex_eigenvalues cardinals
        of_one_number(of_one_number)
    ];
    for Function { name, plain, var, dual, nested, symbol } in functions {
        let replay = Replay::record(symbol, &numbers::<12>(20));
        for seed in [20, 21] {
            let x = numbers::<12>(seed);
            let mut slopes = [0.0; 12];
            let value = gradient(var, &x, &mut slopes);
            assert!(close(value, plain(&x), 1e-13), "{name}: {value}, not {}", plain(&x));
            let (mut replayed, mut product, mut unit) = ([0.0; 12], [0.0; 12], [0.0; 12]);
            unit[4] = 1.0;
            let again = replay.value_and_grad(&x, &mut replayed);
            replay.hvp(&x, &unit, &mut product);
            if let Some(nested) = nested {
                let mut rows = [0.0; 12];
                let along = |x: &[Var]| {
                    let seeded = |(i, x): (usize, &Var)| Dual::new(*x, [Var::from(if i == 4 { 1.0 } else { 0.0 })]);
                    nested(&x.iter().enumerate().map(seeded).collect::<Vec<_>>()).tangents()[0]
                };
                gradient(along, &x, &mut rows);
                for (i, (product, row)) in product.iter().zip(rows).enumerate() {
                    assert!(close(*product, row, 1e-9), "{name} by {i} and 4: {product}, not {row}");
                }
            }
            assert!(close(again, value, 1e-13), "{name}: {again}, not {value}");
            for i in 0..12 {
                assert!(close(replayed[i], slopes[i], 1e-10), "{name} by {i}: {}, not {}", replayed[i], slopes[i]);
                let moved = |step: f64| {
                    let mut x = x;
                    x[i] += step;
                    x
                };
                let forward = |x: &[f64; 12], direction: usize| {
                    let x: [_; 12] = std::array::from_fn(|j| Dual::new(x[j], [f64::from(u8::from(j == direction))]));
                    dual(&x).tangents()[0]
                };
                let h = 1e-4;
                let difference = |f: &dyn Fn(&[f64; 12]) -> f64| {
                    (8.0 * (f(&moved(h)) - f(&moved(-h))) - (f(&moved(2.0 * h)) - f(&moved(-2.0 * h)))) / (12.0 * h)
                };
                let expected = difference(&|x| plain(x));
                assert!(close(slopes[i], expected, 1e-7), "{name} by {i}: {}, not {expected}", slopes[i]);
                assert!(
                    close(forward(&x, i), slopes[i], 1e-11),
                    "{name} by {i}: {}, not {}",
                    forward(&x, i),
                    slopes[i]
                );
                let expected = difference(&|x| forward(x, 4));
                assert!(close(product[i], expected, 1e-6), "{name} by {i} and 4: {}, not {expected}", product[i]);
            }
        }
    }
}

#[test]
fn second_derivatives_of_a_solve_agree_with_the_implicit_rule() {
    let a = Matrix3::from_column_slice(&numbers::<9>(30)) + Matrix3::identity();
    let b = Vector3::from_column_slice(&numbers::<3>(31));
    let inputs: Vec<f64> = a.iter().chain(b.iter()).copied().collect();
    let direction = numbers::<12>(32);
    let along = |x: &[Var]| {
        let x: Vec<Dual<Var, 1>> = x.iter().zip(direction).map(|(x, d)| Dual::new(*x, [Var::from(d)])).collect();
        weighted(&lu(Matrix3::from_column_slice(&x[..9]), Vector3::from_column_slice(&x[9..]))).tangents()[0]
    };
    let mut product = [0.0; 12];
    gradient(along, &inputs, &mut product);
    let slopes_at = |step: f64| {
        let x: Vec<f64> = inputs.iter().zip(direction).map(|(x, d)| x + step * d).collect();
        implicit_slopes(&Matrix3::from_column_slice(&x[..9]), &Vector3::from_column_slice(&x[9..]))
    };
    let (above, below) = (slopes_at(1e-5), slopes_at(-1e-5));
    for i in 0..12 {
        let difference = (above[i] - below[i]) / 2e-5;
        assert!(close(product[i], difference, 1e-6), "{i}: {}, not {difference}", product[i]);
    }
}

#[test]
fn cardinal_functions_have_right_derivatives_at_zero() {
    type Twice = Dual<Dual<f64, 1>, 1>;
    let derivatives = |f: fn(Twice) -> Twice, x: f64| {
        let y = f(Dual::new(Dual::variable(x, 0), [Dual::from(1.0)]));
        [y.value().value(), y.value().tangents()[0], y.tangents()[0].tangents()[0]]
    };
    assert_eq!(derivatives(|x| x.sinc(), 0.0), [1.0, 0.0, -1.0 / 3.0]);
    assert_eq!(derivatives(|x| x.sinhc(), 0.0), [1.0, 0.0, 1.0 / 3.0]);
    // At the boundary between the series and the quotient.
    let functions: [fn(Twice) -> Twice; 2] = [|x| x.sinc(), |x| x.sinhc()];
    for f in functions {
        let (near, far) = (derivatives(f, 0.1), derivatives(f, 0.1 + 1e-13));
        assert!((0..3).all(|order| close(near[order], far[order], 1e-11)), "{near:?} {far:?}");
    }
}

#[test]
fn conversions_and_comparisons_look_at_values_and_record_nothing() {
    let a = Matrix3::from_column_slice(&numbers::<9>(40));
    recording(|tape| {
        let b = a.map(|x| tape.input(x));
        let before = tape.statements();
        assert_eq!(a.cast::<Var>(), b);
        assert_eq!(nalgebra::try_convert::<Matrix3<Var>, Matrix3<f64>>(b), Some(a));
        assert_eq!(nalgebra::convert::<f32, Var>(0.5), Var::from(0.5));
        let (next, far) = (b.map(|x| Var::from(x.value() * (1.0 + f64::EPSILON))), b.add_scalar(Var::from(1.0)));
        assert!(b != next && abs_diff_eq!(b, next) && relative_eq!(b, next) && ulps_eq!(b, next));
        assert_eq!(tape.statements() - before, 9, "only `far` was computed");
        assert!(!abs_diff_eq!(b, far) && !relative_eq!(b, far) && !ulps_eq!(b, far));
        assert!(b.iter().all(ComplexField::is_finite));
        assert_eq!(tape.statements() - before, 9);
    });
    let single = Matrix3::from_column_slice(&numbers::<9>(40)).cast::<Dual<f32, 1>>();
    let inverse = single.try_inverse().unwrap() * single;
    assert!(relative_eq!(inverse, Matrix3::identity(), epsilon = Dual::from(1e-4)));
}

#[test]
fn constants_and_signs_are_those_of_floats() {
    fn constants<T: RealField + Copy>() -> Vec<f64> {
        let all = [
            T::pi(),
            T::two_pi(),
            T::frac_pi_2(),
            T::frac_pi_3(),
            T::frac_pi_4(),
            T::frac_pi_6(),
            T::frac_pi_8(),
            T::frac_1_pi(),
            T::frac_2_pi(),
            T::frac_2_sqrt_pi(),
            T::e(),
            T::log2_e(),
            T::log10_e(),
            T::ln_2(),
            T::ln_10(),
            T::min_value().unwrap(),
            T::max_value().unwrap(),
            T::default_epsilon(),
            T::default_max_relative(),
            T::one().copysign(-T::zero()),
            (-T::zero()).argument(),
        ];
        let signs = [-T::zero(), T::zero()]
            .map(|x| f64::from(u8::from(x.is_sign_positive()) + 2 * u8::from(x.is_sign_negative())));
        let refused = (-T::one()).try_sqrt().is_none();
        let rest = [f64::from(T::default_max_ulps()), f64::from(u8::from(refused))];
        all.map(|x| nalgebra::try_convert(x).unwrap()).into_iter().chain(signs).chain(rest).collect()
    }
    assert_eq!(constants::<Var>(), constants::<f64>());
    assert_eq!(constants::<Symbol>(), constants::<f64>());
    assert_eq!(constants::<Dual<Var, 2>>(), constants::<f64>());
    assert_eq!(constants::<Dual<Symbol, 1>>(), constants::<f64>());
    assert_eq!(constants::<Dual<f32, 1>>(), constants::<f32>());
}

/// The pitfalls described in the guide.
#[test]
fn early_returns_have_the_slope_of_their_branch() {
    let turned = |[angle]: [Var; 1]| (Rotation3::from_axis_angle(&Vector3::z_axis(), angle) * Vector3::x()).y;
    assert_eq!(gradient_of(turned, [0.0]), (0.0, [0.0]));
    assert!(close(gradient_of(turned, [1e-300]).1[0], 1.0, 1e-15));
    let leaning = |[x]: [Var; 1]| {
        let one = Var::from(1.0);
        SymmetricEigen::new(Matrix2::new(one, x, x, one + one)).eigenvectors.row(0).product()
    };
    assert_eq!(gradient_of(leaning, [0.0]), (0.0, [0.0]));
    assert!(close(gradient_of(leaning, [1e-9]).1[0].abs(), 1.0, 1e-6));
    // A slope of 0 stops the infinite slope of the root.
    assert_eq!(gradient_of(|[x, y]| Vector2::new(x, y).norm(), [0.0, 0.0]), (0.0, [0.0, 0.0]));
}

/// The guide's remark on rotations by zero: some return early, with slope 0 where that of the function is 1.
#[test]
fn some_rotations_by_nothing_are_constants() {
    fn along_x(x: Var) -> Vector3<Var> {
        Vector3::new(x, Var::from(0.0), Var::from(0.0))
    }
    fn turned(x: Var) -> UnitQuaternion<Var> {
        UnitQuaternion::from_axis_angle(&Vector3::x_axis(), x)
    }
    // The sine of the angle, in the matrix.
    let sine = |rotation: Rotation3<Var>| rotation[(2, 1)];
    let slope = |f: &dyn Fn(Var) -> Var| gradient_of(|[x]| f(x), [0.0]).1[0];
    let constants: [&dyn Fn(Var) -> Var; 7] = [
        &|x| sine(Rotation3::from_axis_angle(&Vector3::x_axis(), x)),
        &|x| sine(Rotation3::new(along_x(x))),
        &|x| sine(Rotation3::from_scaled_axis(along_x(x))),
        &|x| sine(UnitQuaternion::new(along_x(x)).to_rotation_matrix()),
        &|x| sine(UnitQuaternion::from_scaled_axis(along_x(x)).to_rotation_matrix()),
        &|x| turned(x).scaled_axis().x,
        &|x| turned(x).angle(),
    ];
    assert_eq!(constants.map(slope), [0.0; 7]);
    let zero = Var::from(0.0);
    let others: [&dyn Fn(Var) -> Var; 3] =
        [&|x| sine(turned(x).to_rotation_matrix()), &|x| sine(Rotation3::from_euler_angles(x, zero, zero)), &|x| {
            sine(UnitQuaternion::from_euler_angles(x, zero, zero).to_rotation_matrix())
        }];
    assert_eq!(others.map(slope), [1.0; 3]);
}
