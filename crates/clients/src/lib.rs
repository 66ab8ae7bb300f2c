//! Solvers of others, driven by our derivatives.
//!
//! [`minimize`] gives argmin gradients for BFGS and, for Newton-CG, the Hessian as an operator that is never a matrix;
//! [`schools`] gives nuts-rs the value and the gradient of a log density in one call; [`oscillation`] gives
//! levenberg-marquardt the Jacobian of a curve. Each adapter counts what its solver asked for. The tests prove that the solvers
//! converge and at what cost, the examples print it: `cargo run -p wengert-clients --example minimize` (or `sample`, `fit`).
//!
//! Two applications of scalars: [`options`] has prices by Monte Carlo with all their slopes, [`pendulum`] is swung up with least effort
//! by Newton's method on sparse derivatives (`--example options`, `--example pendulum`).

pub mod minimize;
pub mod options;
pub mod oscillation;
pub mod pendulum;
pub mod problems;
pub mod schools;
