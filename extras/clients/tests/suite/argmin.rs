//! argmin minimises with our gradients and Hessian products.

use wengert_clients::minimize::{Calls, Minimum, bfgs, newton_cg};
use wengert_clients::problems::{LogisticRegression, ROSENBROCK_START, rosenbrock};

fn assert_at_ones(minimum: &Minimum) {
    assert!(minimum.x.len() == 10 && minimum.x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{minimum:?}");
}

/// The loss is convex, and its curvature is at least the ridge: the minimum is no further than the gradient over the ridge.
fn assert_solves(regression: &LogisticRegression, minimum: &Minimum) {
    let weights = &minimum.x;
    let mut gradient: Vec<f64> = weights.iter().map(|w| regression.ridge * w).collect();
    for (point, class) in regression.points.iter().zip(&regression.classes) {
        let score: f64 = point.iter().zip(weights).map(|(x, w)| x * w).sum();
        let excess = 1.0 / (1.0 + (-score).exp()) - class;
        gradient.iter_mut().zip(point).for_each(|(slope, x)| *slope += excess * x);
    }
    let length = gradient.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
    assert!(length / regression.ridge < 1e-6, "{minimum:?}: gradient {gradient:?}");
}

#[test]
fn bfgs_walks_rosenbrocks_valley_to_its_end() {
    let minimum = bfgs(rosenbrock, ROSENBROCK_START.to_vec(), 1e-8).unwrap();
    assert!(minimum.converged);
    assert_at_ones(&minimum);
    assert_eq!(minimum.calls, Calls { value_and_grad: 89, ..Calls::default() });
}

#[test]
fn newton_cg_walks_rosenbrocks_valley_with_hessian_products_alone() {
    let minimum = newton_cg(rosenbrock, ROSENBROCK_START.to_vec(), 1e-13).unwrap();
    assert!(minimum.converged);
    assert_at_ones(&minimum);
    // argmin asks for the product with zero in each step, and twice for that of each of 297 inner steps.
    assert_eq!(minimum.calls, Calls { value_and_grad: 42, linearize: 33, hessian_product: 33 + 2 * 297 });
}

#[test]
fn both_fit_a_logistic_regression() {
    let regression = LogisticRegression::small();
    let minimum = bfgs(regression.loss(), vec![0.0; 3], 1e-8).unwrap();
    assert!(minimum.converged);
    assert_solves(&regression, &minimum);
    assert_eq!(minimum.calls, Calls { value_and_grad: 16, ..Calls::default() });
    let minimum = newton_cg(regression.loss(), vec![0.0; 3], 1e-13).unwrap();
    assert!(minimum.converged);
    assert_solves(&regression, &minimum);
    assert_eq!(minimum.calls, Calls { value_and_grad: 8, linearize: 7, hessian_product: 7 + 2 * 20 });
}
