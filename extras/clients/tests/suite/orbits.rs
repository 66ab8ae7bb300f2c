//! levenberg-marquardt fits orbits and masses with the Jacobian of a recorded integration.

use levenberg_marquardt::LeastSquaresProblem;
use wengert::scalar::Dual;
use wengert_clients::orbits::{
    Body, Fit, NOISE, PARAMETERS, TRUTH, WIDTH, energy, fit, guess, leapfrog, observed, seen, system,
};

/// The Jacobian of what is seen, by columns, in one run of dual numbers.
fn columns_by_duals(parameters: &[f64; PARAMETERS]) -> Vec<Vec<f64>> {
    let inputs: Vec<Dual<f64, PARAMETERS>> =
        parameters.iter().enumerate().map(|(i, x)| Dual::variable(*x, i)).collect();
    let places = seen(&inputs);
    (0..PARAMETERS).map(|i| places.iter().map(|place| place.tangents()[i]).collect()).collect()
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn the_jacobian_of_the_integration_is_the_one_by_differences() {
    let at = guess();
    let jacobian = Fit::new(&at).jacobian().unwrap();
    assert_eq!(jacobian.shape(), (observed().len(), PARAMETERS));
    for column in 0..PARAMETERS {
        let moved = |by: f64| {
            let mut parameters = at;
            parameters[column] += by;
            seen(&parameters)
        };
        // Two central differences, whose errors of second order cancel.
        let central = |step: f64| -> Vec<f64> {
            moved(step).iter().zip(moved(-step)).map(|(after, before)| (after - before) / (2.0 * step)).collect()
        };
        // Long enough for rounding: shorter ones are worse.
        let step = 1.5e-4;
        let (wide, narrow) = (central(step), central(step / 2.0));
        let slopes: Vec<f64> = jacobian.column(column).iter().copied().collect();
        let off: Vec<f64> =
            slopes.iter().zip(wide.iter().zip(&narrow)).map(|(slope, (w, n))| slope - (4.0 * n - w) / 3.0).collect();
        let relative = length(&off) / length(&slopes);
        assert!(relative < 1e-8, "column {column}: off by {relative:e}");
    }
}

#[test]
fn orbits_and_masses_are_recovered_within_the_noise_from_one_recording() {
    let fitted = fit(&guess());
    assert!(fitted.converged, "{fitted:?}");
    assert_eq!(fitted.recordings, 1);
    // A step is more than 200, and there are 600 of them: the loop was found again.
    assert!(fitted.instructions < 2000, "{} instructions", fitted.instructions);
    // The noise is a sine: its mean square is half of the largest.
    let deviation = (fitted.squares / (observed().len() - PARAMETERS) as f64).sqrt();
    assert!((deviation / (NOISE / 2f64.sqrt()) - 1.0).abs() < 0.15, "{deviation:e}");
    for (i, (found, truth)) in fitted.parameters.iter().zip(TRUTH).enumerate() {
        let error = fitted.errors[i];
        assert!((found - truth).abs() < 4.0 * error, "parameter {i}: {found} +- {error}, in truth {truth}");
        // Masses are known to a percent, places and velocities to a few parts in ten thousand of the orbit.
        let bound = if i % WIDTH == 0 { 0.02 * truth } else { 2e-3 };
        assert!(error < bound, "parameter {i}: error {error}");
    }
}

#[test]
fn residuals_of_the_fit_are_orthogonal_to_the_columns_by_dual_numbers() {
    let fitted = fit(&guess());
    let residuals: Vec<f64> =
        seen(&fitted.parameters).iter().zip(observed()).map(|(place, data)| place - data).collect();
    for (i, column) in columns_by_duals(&fitted.parameters).iter().enumerate() {
        let product: f64 = column.iter().zip(&residuals).map(|(slope, residual)| slope * residual).sum();
        let cosine = product / (length(column) * length(&residuals));
        assert!(cosine.abs() < 1e-8, "parameter {i}: cosine {cosine:e}");
    }
}

#[test]
fn the_leapfrog_keeps_the_energy_and_its_error_is_of_second_order() {
    let start = system(&TRUTH);
    let total = energy(&start);
    // The largest error in the first 25 years and in the next.
    let swing = |step: f64| {
        let half = (25.0 / step) as usize;
        let (mut largest, mut number) = ([0f64; 2], 0);
        leapfrog(&mut start.clone(), step, 2 * half, |bodies| {
            let error = (energy(bodies) / total - 1.0).abs();
            largest[number / half] = largest[number / half].max(error);
            number += 1;
        });
        largest
    };
    let [early, late] = swing(0.01);
    assert!(early < 1e-4 && late < 1.5 * early, "{early:e} in the first 25 years, {late:e} in the next");
    let [finer, _] = swing(0.005);
    assert!((3.0..5.0).contains(&(early / finer)), "half the step: {early:e} becomes {finer:e}");
}

#[test]
fn a_planet_follows_keplers_ellipse() {
    // Half the major axis and the eccentricity; at the perihelion at first.
    let (axis, eccentricity) = (1.3, 0.4f64);
    let period = f64::powf(axis, 1.5);
    let speed = std::f64::consts::TAU / axis.sqrt() * ((1.0 + eccentricity) / (1.0 - eccentricity)).sqrt();
    let sun = Body { mass: 1.0, position: [0.0; 3], velocity: [0.0; 3] };
    let planet = Body { mass: 0.0, position: [axis * (1.0 - eccentricity), 0.0, 0.0], velocity: [0.0, speed, 0.0] };
    let mut bodies = [sun, planet];
    let (parts, steps) = (8, 4000);
    for part in 1..=parts {
        leapfrog(&mut bodies, period / f64::from(parts * steps), steps as usize, |_| ());
        // Kepler's equation, M = E - e sin E, by iteration.
        let mean = std::f64::consts::TAU * f64::from(part) / f64::from(parts);
        let anomaly = (0..200).fold(mean, |anomaly, _| mean + eccentricity * anomaly.sin());
        let place =
            [axis * (anomaly.cos() - eccentricity), axis * (1.0 - eccentricity * eccentricity).sqrt() * anomaly.sin()];
        for (found, expected) in bodies[1].position.iter().zip(place) {
            assert!((found - expected).abs() < 1e-5, "part {part}: {found}, by Kepler {expected}");
        }
    }
}
