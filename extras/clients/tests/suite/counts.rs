//! nuts-rs samples a Poisson regression whose density is a recorded sum over items.

use wengert_clients::chains::{Plan, averages};
use wengert_clients::counts::{
    DIMENSIONS, NAMES, PLACES, Posterior, counts, exact_moments, log_likelihood, log_prior, prior, sample, years,
};

const POSITION: [f64; DIMENSIONS] = [1.2, -0.5, 0.4, 0.3, -1.1, -0.2, 1.4, 0.1];

#[test]
fn means_and_variances_of_the_posterior_are_those_by_quadrature() {
    let (draws, recordings) = sample(Plan { chains: 4, tuning: 500, draws: 1500, seed: 3 });
    assert_eq!((draws.rows.len(), recordings), (6000, 2));
    let (means, variances) = exact_moments();
    let squares: Vec<_> = draws
        .rows
        .iter()
        .map(|row| std::array::from_fn::<_, DIMENSIONS, _>(|column| (row[column] - means[column]).powi(2)))
        .collect();
    let (first, second) = (draws.averages(80), averages(&squares, 80));
    for column in 0..DIMENSIONS {
        let (name, deviation) = (NAMES[column], variances[column].sqrt());
        // Sixteen moments within four standard errors: by chance they fail once in a thousand seeds, and the seed is fixed.
        let (found, error) = first[column];
        assert!((found - means[column]).abs() < 4.0 * error, "{name}: {found} +- {error}, exactly {}", means[column]);
        assert!(error < 0.05 * deviation, "{name}: error {error} of a deviation {deviation}");
        let (found, error) = second[column];
        let exact = variances[column];
        assert!((found - exact).abs() < 4.0 * error, "variance of {name}: {found} +- {error}, exactly {exact}");
        assert!(error < 0.12 * exact, "variance of {name}: error {error} of {exact}");
    }
    assert!(draws.divergences <= 6, "{} of 6000 draws diverged", draws.divergences);
}

#[test]
fn the_log_density_and_its_gradient_are_those_by_hand() {
    let mut slopes = [0.0; DIMENSIONS];
    let value = Posterior::default().value_and_grad(&POSITION, &mut slopes);
    let (mean, spread, trend) = (POSITION[0], POSITION[1].exp(), POSITION[2]);
    let mut density = 0.0;
    let mut expected = [0.0; DIMENSIONS];
    for (dimension, x) in POSITION.iter().enumerate() {
        let (centre, deviation) = prior(dimension);
        let distance = (x - centre) / deviation;
        density -= distance * distance / 2.0;
        expected[dimension] -= distance / deviation;
    }
    for place in 0..PLACES {
        let offset = POSITION[3 + place];
        for (year, count) in years().into_iter().zip(counts(place)) {
            let log_rate = mean + spread * offset + trend * year;
            density += count * log_rate - log_rate.exp();
            let excess = count - log_rate.exp();
            expected[0] += excess;
            expected[1] += excess * spread * offset;
            expected[2] += excess * year;
            expected[3 + place] += excess * spread;
        }
    }
    assert!((value - density).abs() < 1e-11, "{value}, by hand {density}");
    for (name, (found, expected)) in NAMES.iter().zip(slopes.into_iter().zip(expected)) {
        assert!((found - expected).abs() < 1e-11, "{name}: {found}, by hand {expected}");
    }
}

/// The density by a plain loop over all counts.
fn by_loop(position: &[f64; DIMENSIONS]) -> f64 {
    let mut sum = log_prior(position);
    for place in 0..PLACES {
        for (year, count) in years().into_iter().zip(counts(place)) {
            sum += log_likelihood(&[position[0], position[1], position[2], position[3 + place], year, count]);
        }
    }
    sum
}

#[test]
fn the_sum_over_items_is_that_of_a_plain_loop_and_its_slopes_are_the_differences_of_that() {
    let mut slopes = [0.0; DIMENSIONS];
    let value = Posterior::default().value_and_grad(&POSITION, &mut slopes);
    assert!((value - by_loop(&POSITION)).abs() < 1e-11, "{value}");
    for dimension in 0..DIMENSIONS {
        let moved = |by: f64| {
            let mut position = POSITION;
            position[dimension] += by;
            by_loop(&position)
        };
        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((difference - slopes[dimension]).abs() < 1e-6, "{}: {difference}", NAMES[dimension]);
    }
}
