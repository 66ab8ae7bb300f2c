//! nuts-rs samples a hierarchical model with our fused value and gradient.

use std::sync::LazyLock;
use wengert::prelude::*;
use wengert_clients::schools::{Draws, ERRORS, MEASURED, NAMES, Posterior, Schools, exact_means, sample};

/// Four chains, 500 draws of tuning and 1000 after that each.
static DRAWS: LazyLock<Draws> = LazyLock::new(|| sample(4, 500, 1000, 1));

#[test]
fn the_posterior_of_eight_schools_has_its_means() {
    let draws = &*DRAWS;
    assert_eq!(draws.rows.len(), 4000);
    for ((name, exact), (mean, error)) in NAMES.into_iter().zip(exact_means()).zip(draws.averages(80)) {
        // Ten means within four standard errors: by chance they fail once in 1,600 seeds, and the seed is fixed.
        assert!((mean - exact).abs() < 4.0 * error, "{name}: {mean} with error {error}, exactly {exact}");
        // The posterior deviations are 3 and more: an error that hides nothing.
        assert!(error < 0.15, "{name}: error {error}");
    }
    assert!(draws.divergences <= 8, "{} of 4000 draws diverged", draws.divergences);
}

#[test]
fn the_sampler_makes_one_call_for_a_value_and_its_gradient() {
    // The path of a sampler hangs on the last bit of its own sums, which are not ours: a bound, not a number.
    let draws = &*DRAWS;
    assert!((6_000..80_000).contains(&draws.calls), "{} calls for 6000 draws", draws.calls);
    // One call for each step of a trajectory. Beyond that a chain looks for its first step size.
    let beyond = draws.calls - draws.reported;
    assert!(beyond <= 4 * 20, "{beyond} calls that the sampler does not report");
}

#[test]
fn the_exact_means_are_the_published_ones() {
    // Of long runs of other samplers on this model: mean 4.4, spread 3.6.
    let exact = exact_means();
    assert!((exact[0] - 4.4).abs() < 0.1 && (exact[1] - 3.6).abs() < 0.1, "{exact:?}");
}

#[test]
fn the_log_density_and_its_gradient_are_those_by_hand() {
    let position = [1.5, 0.4, 0.3, -0.2, 0.9, -1.1, 0.05, 0.6, -0.7, 1.3];
    let posterior = Posterior::default();
    let (value, gradient) = value_and_grad(|at: &Schools| posterior.log_density(at))(&Schools::from_slice(&position));
    let (mean, spread) = (position[0], position[1].exp());
    let ratio = (spread / 5.0).powi(2);
    let mut expected = vec![-mean / 25.0, 1.0 - 2.0 * ratio / (1.0 + ratio)];
    let mut density = -mean * mean / 50.0 - (1.0 + ratio).ln() + position[1];
    for (school, offset) in position[2..].iter().enumerate() {
        let misfit = (MEASURED[school] - mean - spread * offset) / ERRORS[school];
        density -= (misfit * misfit + offset * offset) / 2.0;
        expected[0] += misfit / ERRORS[school];
        expected[1] += misfit * spread * offset / ERRORS[school];
        expected.push(misfit * spread / ERRORS[school] - offset);
    }
    assert!((value.item() - density).abs() < 1e-13);
    for (name, (found, expected)) in NAMES.iter().zip(gradient.to_vec().into_iter().zip(expected)) {
        assert!((found - expected).abs() < 1e-13, "{name}: {found}, by hand {expected}");
    }
}

#[test]
fn a_seed_decides_every_draw() {
    let (first, again) = (sample(1, 50, 50, 7), sample(1, 50, 50, 7));
    assert_eq!((first.rows, first.calls), (again.rows, again.calls));
}
