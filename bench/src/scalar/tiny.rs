//! The first gradient of a function of four numbers: the cost of starting and ending a recording.

use super::{Library, System};
use crate::agreement::expect_agreement;
use crate::timing::nanoseconds;

pub fn run(json: bool, libraries: &[&Library]) {
    let x = [0.5, 1.5, -0.3, 2.0];
    let mut systems: Vec<System> = libraries.iter().flat_map(|library| (library.tiny)(&x)).collect();
    expect_agreement(systems.iter_mut().map(|system| system.found(&x)));
    let times = nanoseconds("a function of four numbers", systems.iter_mut().map(|system| system.at(&x)).collect());
    for (system, ns) in systems.iter().map(|system| system.name).zip(times) {
        match json {
            true => println!("{{\"bench\":\"tiny\",\"variables\":4,\"system\":\"{system}\",\"ns\":{ns:.1}}}"),
            false => println!("gradient of a function of four numbers: {ns:.0} ns by {system}"),
        }
    }
}
