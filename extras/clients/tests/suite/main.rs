//! Solvers of others on our derivatives, each against what is known of its problem.

mod argmin;
mod counts;
mod heston;
mod kinetics;
mod levenberg_marquardt;
mod nuts;
mod options;
mod orbits;
mod pendulum;
mod springs;
