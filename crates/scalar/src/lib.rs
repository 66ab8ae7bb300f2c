//! Automatic differentiation of scalar programs: loops and branches over single numbers, with a tape or dual numbers.
//!
//! A function that is generic over [`Real`] can be called with plain floats, with [`Dual`] numbers, which carry tangents, and with
//! [`Var`]s, which record their operations on a tape for a backward sweep.
//!
//! ```
//! use wengert_scalar::{Dual, Real, gradient};
//!
//! fn rosenbrock<T: Real>(x: &[T]) -> T {
//!     let term = |a: T, b: T| (T::lit(1.0) - a).powi(2) + T::lit(100.0) * (b - a * a).powi(2);
//!     x.windows(2).fold(T::lit(0.0), |sum, pair| sum + term(pair[0], pair[1]))
//! }
//!
//! let x = [-1.2, 1.0, 0.5];
//! let mut slopes = [0.0; 3];
//! let value = gradient(|x| rosenbrock(x), &x, &mut slopes);
//! assert_eq!(value, rosenbrock(&x));
//! let forward = rosenbrock(&[Dual::variable(-1.2, 0), Dual::variable(1.0, 1), Dual::<f64, 3>::variable(0.5, 2)]);
//! assert!(slopes.iter().zip(forward.tangents()).all(|(back, forward)| (back - forward).abs() < 1e-12));
//! ```
//!
//! # Third-party code
//!
//! With the feature `num-traits`, [`Dual`], [`Var`] and the [`Symbol`]s of a [`Replay`] implement its `Float`, so generic third-party code
//! accepts them.
//!
//! ```
//! # #[cfg(feature = "num-traits")] {
//! use num_traits::Float;
//! use wengert_scalar::gradient_of;
//!
//! fn square_root<T: Float>(a: T) -> T {
//!     (0..8).fold(a, |x, _| (x + a / x) / (T::one() + T::one()))
//! }
//!
//! let (root, [slope]) = gradient_of(|[a]| square_root(a), [2.0]);
//! assert!((root - 2f64.sqrt()).abs() < 1e-15 && (slope - 0.5 / root).abs() < 1e-15);
//! # }
//! ```
//!
//! With the feature `nalgebra`, they can be elements of its matrices, so that solvers, decompositions and rotations have derivatives.
//!
//! ```
//! # #[cfg(feature = "nalgebra")] {
//! use nalgebra::{Matrix2, RealField, Rotation2, Vector2};
//! use wengert_scalar::gradient_of;
//!
//! fn reach<T: RealField + Copy>(angle: T, force: T) -> T {
//!     let stiffness = Matrix2::new(4.0, 1.0, 1.0, 3.0).cast::<T>();
//!     let bent = stiffness.lu().solve(&Vector2::new(force, T::zero())).unwrap();
//!     (Rotation2::new(angle) * bent).x
//! }
//!
//! // The solution is (3, -1) / 11 times the force.
//! let (value, [by_angle, by_force]) = gradient_of(|[angle, force]| reach(angle, force), [0.5, 11.0]);
//! let (sin, cos) = 0.5f64.sin_cos();
//! assert!((value - (3.0 * cos + sin)).abs() < 1e-14);
//! assert!((by_angle - (cos - 3.0 * sin)).abs() < 1e-14 && (by_force - value / 11.0).abs() < 1e-14);
//! # }
//! ```
//!
//! When a solve is recorded, each choice of a pivot is a guard. If a call chooses another pivot, the solve is recorded again.
//!
//! ```
//! # #[cfg(feature = "nalgebra")] {
//! use nalgebra::{Matrix2, Vector2};
//! use wengert_scalar::{Replay, Symbol};
//!
//! let solve = |x: &[Symbol]| Matrix2::from_row_slice(&x[..4]).lu().solve(&Vector2::new(x[4], x[5])).unwrap().x;
//! let f = Replay::record(solve, &[4.0, 1.0, 1.0, 3.0, 11.0, 0.0]);
//! assert!((f.value(&[4.0, 1.0, 2.0, 3.0, 10.0, 0.0]) - 3.0).abs() < 1e-14);
//! assert_eq!(f.recordings(), 1);
//! assert!((f.value(&[1.0, 4.0, 3.0, 2.0, 0.0, 10.0]) - 4.0).abs() < 1e-14);
//! assert_eq!(f.recordings(), 2);
//! # }
//! ```

mod block;
mod check;
mod dual;
mod expect;
mod external;
#[cfg(feature = "nalgebra")]
mod field;
#[cfg(feature = "num-traits")]
mod float;
mod folds;
#[cfg(feature = "num-traits")]
mod forward;
mod functions;
mod gradient;
mod listing;
mod mixed;
#[cfg(feature = "num-traits")]
mod number;
mod over;
mod real;
mod replay;
mod solve;
mod tape;
mod tensors;
#[cfg(feature = "nalgebra")]
mod tolerance;
mod var;

pub use block::{preaccumulate, preaccumulated};
pub use check::checked;
pub use dual::Dual;
pub use external::external;
pub use gradient::{gradient, gradient_of, jacobian};
pub use listing::Listing;
pub use over::{map_over, sum_over};
pub use real::Real;
pub use replay::{Items, Replay, Returned, SparseHessian, SparseJacobian, Symbol, Symbols};
pub use solve::{
    Equation, Equations, fixed_point, integrate, linear_solve, root, root_in, try_fixed_point, try_integrate,
    try_linear_solve, try_root, try_root_in,
};
pub use tape::{Tape, recording, recording_within};
pub use tensors::{RowFunction, through_tensors};
pub use var::Var;
pub use wengert_kernels::tape::{Limit, Phase, Position, Progress};
