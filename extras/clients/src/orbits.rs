//! levenberg-marquardt: orbits and masses of planets that attract each other, with the Jacobian of a whole integration.
//!
//! Bodies move by Newton's law, `dv[i]/dt = sum over j of G m[j] (x[j] - x[i]) / |x[j] - x[i]|^3`, in units of the Earth's orbit, the year
//! and the mass of the Sun, so that G is 4 pi^2. The leapfrog (velocity Verlet) method takes half a kick, a drift and half a kick. It is
//! symplectic: the energy oscillates by the square of the step and does not drift.
//!
//! The observations are the positions of the planets relative to the Sun. The masses are inferred from the planets' effects on each other.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};
use std::array::from_fn;
use std::cell::Cell;
use wengert::scalar::{Real, Replay, Symbol};

/// The gravitational constant, in cubed radii of the Earth's orbit per mass of the Sun and squared year.
pub const GRAVITY: f64 = 4.0 * std::f64::consts::PI * std::f64::consts::PI;

/// The number of planets.
pub const PLANETS: usize = 3;
/// The number of parameters of a planet: its mass, position and velocity.
pub const WIDTH: usize = 7;
/// The number of fitted parameters.
pub const PARAMETERS: usize = PLANETS * WIDTH;
/// The names of a planet's parameters.
pub const NAMES: [&str; WIDTH] = ["mass", "x", "y", "z", "vx", "vy", "vz"];

/// The years per step, the steps between observations, and the number of observations.
const STEP: f64 = 0.01;
const BETWEEN: usize = 20;
const OBSERVATIONS: usize = 30;

/// The largest error of an observation.
pub const NOISE: f64 = 1e-4;

/// The parameters behind the observations: planets of one to three thousandths of the Sun's mass, with periods of about 1.0, 2.2 and 4.9
/// years.
pub const TRUTH: [f64; PARAMETERS] = [
    0.0009, 1.0, 0.0, 0.0, 0.1, 6.2, 0.3, //
    0.0025, -0.707, 1.546, 0.05, -4.38, -2.01, 0.1, //
    0.0012, 1.567, -2.44, -0.08, 3.1, 1.99, 0.15,
];

/// A point mass, with plain or differentiable numbers.
#[derive(Clone, Copy, Debug)]
pub struct Body<T> {
    /// The mass.
    pub mass: T,
    /// Its position.
    pub position: [T; 3],
    /// Its velocity.
    pub velocity: [T; 3],
}

fn difference<T: Real>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    from_fn(|k| a[k] - b[k])
}

/// Adds `factor` times `x` to `y`.
fn add<T: Real>(y: &mut [T; 3], factor: T, x: [T; 3]) {
    T::axpy(factor, &x, y);
}

/// The acceleration of each body by the others. Every pair is visited once: what one gains the other loses.
fn accelerations<T: Real>(bodies: &[Body<T>]) -> Vec<[T; 3]> {
    let mut sums = vec![[T::lit(0.0); 3]; bodies.len()];
    for (i, one) in bodies.iter().enumerate() {
        for (j, other) in bodies.iter().enumerate().skip(i + 1) {
            let apart = difference(other.position, one.position);
            let square = T::dot(&apart, &apart);
            let pull = T::lit(GRAVITY) / (square * square.sqrt());
            add(&mut sums[i], other.mass * pull, apart);
            add(&mut sums[j], -(one.mass * pull), apart);
        }
    }
    sums
}

/// Moves the bodies by this many steps of the leapfrog method, and shows them after each.
///
/// ```
/// use wengert_clients::orbits::{Body, leapfrog};
/// // The Earth is where it was after a year.
/// let sun = Body { mass: 1.0, position: [0.0; 3], velocity: [0.0; 3] };
/// let earth = Body { mass: 0.0, position: [1.0, 0.0, 0.0], velocity: [0.0, std::f64::consts::TAU, 0.0] };
/// let mut bodies = [sun, earth];
/// let mut shown = 0;
/// leapfrog(&mut bodies, 1e-3, 1000, |_| shown += 1);
/// assert!(shown == 1000 && bodies[1].position[1].abs() < 1e-4);
/// ```
pub fn leapfrog<T: Real>(bodies: &mut [Body<T>], step: f64, steps: usize, mut show: impl FnMut(&[Body<T>])) {
    let (half, whole) = (T::lit(step / 2.0), T::lit(step));
    let mut pulls = accelerations(bodies);
    for _ in 0..steps {
        for (body, pull) in bodies.iter_mut().zip(&pulls) {
            add(&mut body.velocity, half, *pull);
            add(&mut body.position, whole, body.velocity);
        }
        pulls = accelerations(bodies);
        for (body, pull) in bodies.iter_mut().zip(&pulls) {
            add(&mut body.velocity, half, *pull);
        }
        show(bodies);
    }
}

/// The sum of the kinetic and the potential energy.
pub fn energy<T: Real>(bodies: &[Body<T>]) -> T {
    let mut sum = T::lit(0.0);
    for (i, one) in bodies.iter().enumerate() {
        sum += T::lit(0.5) * one.mass * T::dot(&one.velocity, &one.velocity);
        for other in &bodies[i + 1..] {
            sum -= T::lit(GRAVITY) * one.mass * other.mass / T::norm(&difference(other.position, one.position));
        }
    }
    sum
}

/// The Sun at rest at the origin, and the planets described by the parameters.
pub fn system<T: Real>(parameters: &[T]) -> Vec<Body<T>> {
    let sun = Body { mass: T::lit(1.0), position: [T::lit(0.0); 3], velocity: [T::lit(0.0); 3] };
    let planets = parameters.chunks_exact(WIDTH).map(|numbers| Body {
        mass: numbers[0],
        position: from_fn(|k| numbers[1 + k]),
        velocity: from_fn(|k| numbers[4 + k]),
    });
    std::iter::once(sun).chain(planets).collect()
}

/// The positions of all planets relative to the Sun, at all times of observation. The Sun's position is subtracted after the last step, so
/// that all steps are alike and a recording is one loop.
pub fn seen<T: Real>(parameters: &[T]) -> Vec<T> {
    let mut shown = Vec::with_capacity(BETWEEN * OBSERVATIONS);
    leapfrog(&mut system(parameters), STEP, BETWEEN * OBSERVATIONS, |bodies| shown.push(bodies.to_vec()));
    let observed = shown.chunks_exact(BETWEEN).map(|steps| &steps[BETWEEN - 1]);
    observed
        .flat_map(|bodies| bodies[1..].iter().flat_map(|planet| difference(planet.position, bodies[0].position)))
        .collect()
}

/// The observations: the positions of the true planets, each with an error that is a sine of the square of its index. That looks like noise
/// and is reproducible everywhere.
pub fn observed() -> Vec<f64> {
    let noise = |i: usize| NOISE * ((i * i) as f64 * 1.7).sin();
    seen(&TRUTH).into_iter().enumerate().map(|(i, place)| place + noise(i)).collect()
}

/// A first guess: massless planets, with positions and velocities that are off by up to three thousandths.
pub fn guess() -> [f64; PARAMETERS] {
    from_fn(|i| if i % WIDTH == 0 { 0.0 } else { TRUTH[i] * (1.0 + 0.003 * (5.0 * i as f64).cos()) })
}

/// Orbits to be fitted to observations, with the interface of levenberg-marquardt; it counts the calls.
pub struct Fit {
    parameters: DVector<f64>,
    observed: DVector<f64>,
    /// The integration, recorded once.
    seen: Replay,
    residual_calls: Cell<usize>,
    jacobian_calls: Cell<usize>,
}

impl Fit {
    /// The observations, and a first guess.
    pub fn new(guess: &[f64; PARAMETERS]) -> Fit {
        Fit {
            parameters: DVector::from_column_slice(guess),
            observed: observed().into(),
            seen: Replay::record(seen::<Symbol>, guess).boxed(),
            residual_calls: Cell::new(0),
            jacobian_calls: Cell::new(0),
        }
    }

    /// Takes a final Gauss-Newton step: a solver that compares rounded sums of squares stops before the residuals are orthogonal to the
    /// columns of the Jacobian. Returns the sum of squared residuals, and the standard errors of the parameters: with residuals of variance
    /// s^2, the square roots of the diagonal of `s^2 (J^T J)^-1`.
    fn finish(&mut self) -> (f64, [f64; PARAMETERS]) {
        let residuals = |fit: &Fit| fit.residuals().expect("an integration never fails");
        let columns = self.jacobian().expect("a Jacobian never fails").transpose();
        let normal = (&columns * columns.transpose()).cholesky().expect("the columns are independent");
        self.parameters -= normal.solve(&(columns * residuals(self)));
        let squares = residuals(self).norm_squared();
        let variance = squares / (self.observed.len() - PARAMETERS) as f64;
        let covariance = normal.inverse();
        (squares, from_fn(|i| (variance * covariance[(i, i)]).sqrt()))
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Fit {
    type ParameterStorage = Owned<f64, Dyn>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.parameters.copy_from(parameters);
    }

    fn params(&self) -> DVector<f64> {
        self.parameters.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.residual_calls.set(self.residual_calls.get() + 1);
        let mut places = vec![0.0; self.observed.len()];
        self.seen.values(self.parameters.as_slice(), &mut places);
        Some(DVector::from_vec(places) - &self.observed)
    }

    /// The replay returns it row by row.
    fn jacobian(&self) -> Option<DMatrix<f64>> {
        self.jacobian_calls.set(self.jacobian_calls.get() + 1);
        let rows = self.seen.jacobian(self.parameters.as_slice());
        Some(DMatrix::from_row_slice(self.observed.len(), PARAMETERS, &rows))
    }
}

/// Where the fit stopped, and its cost.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The parameters, planet by planet.
    pub parameters: [f64; PARAMETERS],
    /// Their standard errors.
    pub errors: [f64; PARAMETERS],
    /// The sum of squared residuals.
    pub squares: f64,
    /// Whether the solver met its criterion.
    pub converged: bool,
    /// The number of integrations.
    pub residual_calls: usize,
    /// The number of integrations with their Jacobian.
    pub jacobian_calls: usize,
    /// The number of recordings of the integration.
    pub recordings: usize,
    /// The number of instructions of the recording; those of loops count once.
    pub instructions: usize,
}

/// Fits the observations from a first guess.
pub fn fit(guess: &[f64; PARAMETERS]) -> Fitted {
    let (mut fit, report) = LevenbergMarquardt::new().with_tol(1e-12).minimize(Fit::new(guess));
    let (squares, errors) = fit.finish();
    let (residual_calls, jacobian_calls) = (fit.residual_calls.get(), fit.jacobian_calls.get());
    let seen = &fit.seen;
    Fitted {
        parameters: from_fn(|i| fit.parameters[i]),
        errors,
        squares,
        converged: report.termination.was_successful(),
        residual_calls,
        jacobian_calls,
        recordings: seen.recordings(),
        instructions: seen.instructions(),
    }
}
