//! levenberg-marquardt fits a decaying oscillation with our Jacobian.

use wengert_clients::oscillation::{FAR_GUESS, NAMES, TRUTH, fit, measured};

fn main() {
    let fitted = fit(FAR_GUESS);
    println!("{:<10} {:>8} {:>10} {:>8}", "", "guess", "fitted", "truth");
    for (name, ((guess, found), truth)) in NAMES.iter().zip(FAR_GUESS.iter().zip(fitted.parameters).zip(TRUTH)) {
        println!("{name:<10} {guess:>8.3} {found:>10.5} {truth:>8.3}");
    }
    let deviation = (fitted.squares / measured().0.len() as f64).sqrt();
    let end = if fitted.converged { "converged" } else { "stopped" };
    println!("{end} with residuals of {deviation:.4}");
    println!("{} Jacobians, {} curves", fitted.jacobian_calls, fitted.residual_calls);
}
