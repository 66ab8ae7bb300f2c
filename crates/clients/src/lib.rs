//! Solvers of others, driven by our derivatives.
//!
//! [`minimize`] gives argmin gradients for BFGS and, for Newton-CG, the Hessian as an operator that is never a matrix;
//! [`schools`] gives nuts-rs the value and the gradient of a log density in one call; [`oscillation`] gives
//! levenberg-marquardt the Jacobian of a curve. Each adapter counts what its solver asked for. The tests prove that the solvers
//! converge and at what cost, the examples print it: `cargo run -p wengert-clients --example minimize` (or `sample`, `fit`).

pub mod chains;
pub mod counts;
pub mod kinetics;
pub mod minimize;
pub mod orbits;
pub mod oscillation;
pub mod problems;
pub mod schools;
pub mod springs;
