//! levenberg-marquardt: a decaying oscillation, with our Jacobian.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DVector, Dyn, OMatrix, SVector, U5};
use std::cell::Cell;
use wengert::prelude::*;

/// `amplitude exp(-decay t) cos(frequency t + phase) + offset`: five numbers, or five columns of derivatives by them.
#[derive(Tree)]
pub struct Oscillation {
    /// The initial height above the offset.
    pub amplitude: Tensor,
    /// The decay rate.
    pub decay: Tensor,
    /// Radians per unit of time.
    pub frequency: Tensor,
    /// The initial phase in radians.
    pub phase: Tensor,
    /// The limit.
    pub offset: Tensor,
}

impl Oscillation {
    /// From an array, in the order of the fields.
    pub fn from_array(numbers: [f64; 5]) -> Oscillation {
        let [amplitude, decay, frequency, phase, offset] = numbers.map(Tensor::from);
        Oscillation { amplitude, decay, frequency, phase, offset }
    }

    /// The curve at these times.
    pub fn at(&self, times: &Tensor) -> Tensor {
        let angle = &self.frequency * times + &self.phase;
        &self.amplitude * (-&self.decay * times).exp() * angle.cos() + &self.offset
    }
}

/// A curve to be fitted to data, with the interface of levenberg-marquardt; it counts the calls.
pub struct Fit {
    /// The parameters, in the order of the fields of [`Oscillation`].
    pub parameters: SVector<f64, 5>,
    times: Tensor,
    data: Tensor,
    residual_calls: Cell<usize>,
    jacobian_calls: Cell<usize>,
}

/// The parameters behind the data.
pub const TRUTH: [f64; 5] = [2.0, 0.35, 3.0, 0.5, 1.0];

/// Their names.
pub const NAMES: [&str; 5] = ["amplitude", "decay", "frequency", "phase", "offset"];

/// A guess that lags the data by half a turn at their end.
pub const FAR_GUESS: [f64; 5] = [1.0, 0.1, 2.5, 0.0, 0.0];

/// Fifty times from 0 to 6, and the measurements there: the true curve plus a perturbation of about a hundredth, a sine of the square of
/// the index, which looks like noise and is reproducible everywhere.
pub fn measured() -> (Vec<f64>, Vec<f64>) {
    let [amplitude, decay, frequency, phase, offset] = TRUTH;
    let times: Vec<f64> = (0..50).map(|i| f64::from(i) * 6.0 / 49.0).collect();
    let curve = |t: f64| amplitude * (-decay * t).exp() * (frequency * t + phase).cos() + offset;
    let noise = |i: usize| 0.01 * ((i * i) as f64 * 1.7).sin();
    let data = times.iter().enumerate().map(|(i, t)| curve(*t) + noise(i)).collect();
    (times, data)
}

impl Fit {
    /// The measured data, and a first guess.
    pub fn new(guess: [f64; 5]) -> Fit {
        let (times, data) = measured();
        Fit {
            parameters: guess.into(),
            times: times.into(),
            data: data.into(),
            residual_calls: Cell::new(0),
            jacobian_calls: Cell::new(0),
        }
    }

    fn curve(&self) -> Oscillation {
        Oscillation::from_array(self.parameters.into())
    }
}

impl LeastSquaresProblem<f64, Dyn, U5> for Fit {
    type ParameterStorage = Owned<f64, U5>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, U5>;

    fn set_params(&mut self, parameters: &SVector<f64, 5>) {
        self.parameters = *parameters;
    }

    fn params(&self) -> SVector<f64, 5> {
        self.parameters
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.residual_calls.set(self.residual_calls.get() + 1);
        Some((self.curve().at(&self.times) - &self.data).to_vec().into())
    }

    /// The derivative of the curve with respect to an [`Oscillation`] is an `Oscillation` of columns, which is the layout of nalgebra:
    /// column by column.
    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, U5>> {
        self.jacobian_calls.set(self.jacobian_calls.get() + 1);
        let columns = jacobian(|curve: &Oscillation| curve.at(&self.times))(&self.curve());
        let numbers: Vec<f64> = columns.leaves().into_iter().flat_map(Tensor::to_vec::<f64>).collect();
        Some(OMatrix::<f64, Dyn, U5>::from_vec(numbers))
    }
}

/// Where the fit stopped, and its cost.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The parameters, in the order of the fields of [`Oscillation`].
    pub parameters: [f64; 5],
    /// The sum of squared residuals.
    pub squares: f64,
    /// Whether the solver met its criterion.
    pub converged: bool,
    /// The number of curves computed.
    pub residual_calls: usize,
    /// The number of Jacobians computed.
    pub jacobian_calls: usize,
}

/// Fits the measured data from a first guess.
pub fn fit(guess: [f64; 5]) -> Fitted {
    let (fit, report) = LevenbergMarquardt::new().with_tol(1e-12).minimize(Fit::new(guess));
    Fitted {
        parameters: fit.parameters.into(),
        squares: 2.0 * report.objective_function,
        converged: report.termination.was_successful(),
        residual_calls: fit.residual_calls.get(),
        jacobian_calls: fit.jacobian_calls.get(),
    }
}
