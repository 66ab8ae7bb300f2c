//! levenberg-marquardt fits a curve with our Jacobian.

use levenberg_marquardt::{LeastSquaresProblem, differentiate_numerically};
use wengert_clients::oscillation::{FAR_GUESS, Fit, TRUTH, fit, measured};

/// The curve at one time, and its derivatives by the five parameters, by hand.
fn by_hand([amplitude, decay, frequency, phase, offset]: [f64; 5], t: f64) -> (f64, [f64; 5]) {
    let (envelope, (sine, cosine)) = ((-decay * t).exp(), (frequency * t + phase).sin_cos());
    let swing = amplitude * envelope;
    let slopes = [envelope * cosine, -t * swing * cosine, -t * swing * sine, -swing * sine, 1.0];
    (swing * cosine + offset, slopes)
}

#[test]
fn the_jacobian_in_the_layout_of_nalgebra_is_the_one_by_hand_and_by_differences() {
    let mut problem = Fit::new(FAR_GUESS);
    let jacobian = problem.jacobian().unwrap();
    assert_eq!(jacobian.shape(), (50, 5));
    for (row, t) in measured().0.into_iter().enumerate() {
        let (_, slopes) = by_hand(FAR_GUESS, t);
        for (column, slope) in slopes.into_iter().enumerate() {
            assert!((jacobian[(row, column)] - slope).abs() < 1e-13, "row {row}, column {column}");
        }
    }
    // The check that the crate offers to its users.
    let numerical = differentiate_numerically(&mut problem).unwrap();
    assert!((numerical - jacobian).abs().max() < 1e-5);
}

#[test]
fn a_decaying_oscillation_is_fitted_with_ten_jacobians() {
    let fitted = fit(FAR_GUESS);
    assert!(fitted.converged, "{fitted:?}");
    // The disturbance of a hundredth moves the parameters by less than that.
    for (found, truth) in fitted.parameters.iter().zip(TRUTH) {
        assert!((found - truth).abs() < 0.01, "{fitted:?}");
    }
    // At the least squares the residuals are orthogonal to every column of the Jacobian.
    let (times, data) = measured();
    let mut products = [0.0; 5];
    let mut squares = 0.0;
    for (t, y) in times.into_iter().zip(data) {
        let (value, slopes) = by_hand(fitted.parameters, t);
        squares += (value - y).powi(2);
        products.iter_mut().zip(slopes).for_each(|(product, slope)| *product += slope * (value - y));
    }
    assert!(products.iter().all(|product| product.abs() < 1e-7), "{products:?}");
    assert!((fitted.squares - squares).abs() < 1e-12 && squares < 50.0 * 0.01 * 0.01, "{squares}");
    assert_eq!((fitted.jacobian_calls, fitted.residual_calls), (10, 13));
}
