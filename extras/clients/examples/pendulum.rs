//! A pendulum is swung up with least effort, by Newton's method on sparse derivatives.

use std::f64::consts::PI;
use wengert_clients::pendulum::{Pendulum, SwingUp};

fn main() {
    let pendulum = Pendulum { mass: 1.0, length: 1.0, gravity: 9.81, damping: 0.1 };
    let swing = SwingUp { pendulum, time: 4.0, steps: 80 };
    let motion = swing.solve(1e-10);
    let solution = &motion.solution;

    println!("{:>4} {:>12} {:>12} {:>12} {:>8} {:>8}", "step", "effort", "slope", "gap", "shift", "length");
    for (number, step) in solution.steps.iter().enumerate() {
        let [slope, gap] = step.residuals;
        println!(
            "{number:>4} {:>12.6} {slope:>12.2e} {gap:>12.2e} {:>8.0e} {:>8.4}",
            step.value, step.shift, step.length
        );
    }
    let end = if solution.converged { "converged" } else { "stopped" };
    let ([jacobian, hessian], [first, second]) = (solution.entries, solution.seeds);
    println!("{end} with an effort of {:.6}; {} unknowns", solution.value, solution.x.len());
    println!("{jacobian} entries of the Jacobian by {first} products, {hessian} of the Hessian by {second}\n");

    println!(
        "{:>5} {:>8} {:>8} {:>8} {:>8}   angle from -180 to 180 degrees, torque",
        "time", "angle", "speed", "torque", "energy"
    );
    for (number, state) in motion.states.iter().enumerate().step_by(2) {
        let torque = motion.torques.get(number).copied().unwrap_or(0.0);
        let (time, [angle, speed]) = (swing.step() * number as f64, *state);
        let energy = pendulum.energy(*state);
        let plots = [('o', angle / PI), ('=', torque / pendulum.weight())].map(|(mark, place)| plot(mark, place));
        println!("{time:>5.2} {angle:>8.3} {speed:>8.3} {torque:>8.3} {energy:>8.3}   {}", plots.join(" "));
    }
}

/// A line from -1 to 1 with a mark, and a bar in the middle.
fn plot(mark: char, place: f64) -> String {
    const HALF: i32 = 16;
    let at = (place * f64::from(HALF)).round() as i32;
    (-HALF..=HALF)
        .map(|k| {
            if k == at {
                mark
            } else if k == 0 {
                '|'
            } else {
                ' '
            }
        })
        .collect()
}
