//! diffsol integrates a stiff reaction with our products of Jacobians and vectors.

use wengert_clients::kinetics::{CONSTANTS, NAMES, course_with_sensitivities};

fn main() {
    let times = [0.4, 4.0, 40.0, 400.0, 4e3, 4e4, 4e5];
    let course = course_with_sensitivities(CONSTANTS, &times, 1e-8).expect("the reaction can be integrated");
    print!("{:>8}", "time");
    NAMES.iter().for_each(|name| print!(" {name:>11}"));
    println!("   {:>9} {:>9} {:>9}", "dA/dlogk1", "dA/dlogk2", "dA/dlogk3");
    for ((time, amounts), slopes) in times.iter().zip(&course.amounts).zip(&course.sensitivities) {
        print!("{time:>8}");
        amounts.iter().for_each(|amount| print!(" {amount:>11.4e}"));
        println!("   {:>9.5} {:>9.5} {:>9.5}", slopes[0][0], slopes[1][0], slopes[2][0]);
    }
    println!(
        "{} rates, {} products with the Jacobian by amounts, {} by constants, {} recording",
        course.calls.rates, course.calls.by_amounts, course.calls.by_parameters, course.recordings
    );
}
