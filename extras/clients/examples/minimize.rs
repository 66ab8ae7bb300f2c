//! argmin minimises two functions with our gradients and Hessian products.

use wengert_clients::minimize::{Minimum, bfgs, newton_cg};
use wengert_clients::problems::{LogisticRegression, ROSENBROCK_START, rosenbrock};

fn main() {
    println!("Rosenbrock's function of {} variables", ROSENBROCK_START.len());
    report("BFGS", bfgs(rosenbrock, ROSENBROCK_START.to_vec(), 1e-8));
    report("Newton-CG", newton_cg(rosenbrock, ROSENBROCK_START.to_vec(), 1e-13));
    let regression = LogisticRegression::small();
    println!("logistic regression on {} points", regression.points.len());
    report("BFGS", bfgs(regression.loss(), vec![0.0; 3], 1e-8));
    report("Newton-CG", newton_cg(regression.loss(), vec![0.0; 3], 1e-13));
}

fn report(solver: &str, minimum: Result<Minimum, impl std::fmt::Debug>) {
    let Minimum { x, value, iterations, converged, calls } = minimum.expect("the solver was configured completely");
    let end = if converged { "converged" } else { "stopped" };
    println!("  {solver}: {value:.6e}, {end} after {iterations} steps");
    println!(
        "    {} values with gradients, {} linearizations, {} Hessian products",
        calls.value_and_grad, calls.linearize, calls.hessian_product
    );
    println!("    at {x:.6?}");
}
