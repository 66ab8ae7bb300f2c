//! Third-party solvers, driven by our derivatives.
//!
//! With tensors: [`minimize`] provides gradients for argmin's BFGS and, for Newton-CG, the Hessian as a matrix-free operator; [`schools`]
//! provides nuts-rs with the value and the gradient of a log density in one call; [`oscillation`] provides levenberg-marquardt with the
//! Jacobian of a curve.
//!
//! With scalar programs, written once for every [`Real`](wengert::scalar::Real) and recorded once by a [`Replay`](wengert::scalar::Replay):
//! [`springs`] provides argmin with gradients and Hessian-vector products of an energy, [`counts`] provides nuts-rs with a log density
//! summed over items, [`orbits`] provides levenberg-marquardt with the Jacobian of a whole integration, and [`kinetics`] provides diffsol
//! with products with the Jacobians with respect to state and parameters.
//!
//! Each adapter counts the calls of its solver; the two densities share [`chains`]. The tests prove that the solvers converge and at what
//! cost, the examples print it: `cargo run -p wengert-clients --example minimize` (or `sample`, `fit`, `springs`, `counts`, `orbits`,
//! `kinetics`).
//!
//! Two applications of scalars: [`options`] computes Monte Carlo prices with all their sensitivities, [`pendulum`] is swung up with least
//! effort by Newton's method on sparse derivatives (`--example options`, `--example pendulum`).

pub mod chains;
pub mod counts;
pub mod kinetics;
pub mod minimize;
pub mod options;
pub mod orbits;
pub mod oscillation;
pub mod pendulum;
pub mod problems;
pub mod schools;
pub mod springs;
