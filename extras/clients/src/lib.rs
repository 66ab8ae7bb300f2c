//! Solvers of others, driven by our derivatives.
//!
//! With tensors: [`minimize`] gives argmin gradients for BFGS and, for Newton-CG, the Hessian as an operator that is never a matrix;
//! [`schools`] gives nuts-rs the value and the gradient of a log density in one call; [`oscillation`] gives levenberg-marquardt the
//! Jacobian of a curve.
//!
//! With programs on single numbers, written once for every [`Real`](wengert::scalar::Real) and recorded once by a
//! [`Replay`](wengert::scalar::Replay): [`springs`] gives argmin gradients and Hessian products of an energy, [`counts`] gives nuts-rs a
//! log density summed over items, [`orbits`] gives levenberg-marquardt the Jacobian of a whole integration, and [`kinetics`] gives
//! diffsol products with the Jacobians by state and by parameters.
//!
//! Each adapter counts what its solver asked for; [`chains`] is the one that both densities share. The tests prove that the solvers
//! converge and at what cost, the examples print it: `cargo run -p wengert-clients --example minimize` (or `sample`, `fit`, `springs`,
//! `counts`, `orbits`, `kinetics`).
//!
//! Two applications of scalars: [`options`] has prices by Monte Carlo with all their slopes, [`pendulum`] is swung up with least effort
//! by Newton's method on sparse derivatives (`--example options`, `--example pendulum`).

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
