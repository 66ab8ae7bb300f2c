//! Gradients of Rosenbrock's function: sum of (1 - x_i)^2 + 100 (x_i+1 - x_i^2)^2.

use super::own::valley;
use super::{Library, System};
use crate::agreement::expect_agreement;
use crate::timing::{nanoseconds, repeated};
use std::hint::black_box;

/// Up to this many variables, methods that are worse than reverse mode for many variables are measured too.
pub const FEW: usize = 100;

/// The point at which the function is differentiated.
pub fn start(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.5 + 0.1 * (i as f64).sin()).collect()
}

pub fn run(json: bool, n: usize, libraries: &[&Library]) {
    let x = start(n);
    let mut systems: Vec<System> = libraries.iter().flat_map(|library| (library.rosenbrock)(&x)).collect();
    expect_agreement(systems.iter_mut().map(|system| system.found(&x)));
    let plain = repeated(|| {
        black_box(valley(black_box(&x)));
    });
    let runs = std::iter::once(plain).chain(systems.iter_mut().map(|system| system.at(&x)));
    let times = nanoseconds(&format!("Rosenbrock of {n}"), runs.collect());
    let plain = times[0];
    for (system, ns) in systems.iter().map(|system| system.name).zip(&times[1..]) {
        match json {
            true => println!(
                "{{\"bench\":\"rosenbrock\",\"n\":{n},\"system\":\"{system}\",\"ns\":{ns:.1},\"plain_ns\":{plain:.1}}}"
            ),
            false => println!("Rosenbrock of {n}: gradient by {system} {ns:.0} ns, value alone {plain:.0} ns"),
        }
    }
}
