//! levenberg-marquardt fits orbits and masses of three planets with the Jacobian of a recorded integration.

use wengert_clients::orbits::{NAMES, TRUTH, WIDTH, fit, guess, observed};

fn main() {
    let (guess, fitted) = (guess(), fit(&guess()));
    println!("{:<9} {:>10} {:>11} {:>9} {:>10}", "", "guess", "fitted", "error", "truth");
    for (i, truth) in TRUTH.iter().enumerate() {
        let name = format!("{} {}", ["A", "B", "C"][i / WIDTH], NAMES[i % WIDTH]);
        println!("{name:<9} {:>10.5} {:>11.6} {:>9.6} {truth:>10.5}", guess[i], fitted.parameters[i], fitted.errors[i]);
    }
    let deviation = (fitted.squares / observed().len() as f64).sqrt();
    let end = if fitted.converged { "converged" } else { "stopped" };
    println!("{end} with residuals of {deviation:.6}");
    println!("{} Jacobians, {} integrations", fitted.jacobian_calls, fitted.residual_calls);
    println!("{} recording of {} instructions", fitted.recordings, fitted.instructions);
}
