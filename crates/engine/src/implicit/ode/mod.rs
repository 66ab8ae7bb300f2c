//! Solutions of ordinary differential equations.

mod continuous;
mod discrete;
mod scheduled;
mod step;

use super::bind_at;
use super::packing::{Packing, operands};
use crate::error::{OrRaise, catch};
use crate::location::{self, Line};
use crate::memory::Schedule;
use crate::primitive::{Spec, SpecRef};
use crate::transform::form_of;
use crate::{DType, Error, ErrorKind, Tensor, Tree};
use std::sync::Arc;

/// The right-hand side: time, state as one tensor, the parameters' leaves.
type Rhs = Arc<dyn Fn(f64, &Tensor, &[Tensor]) -> Tensor + Send + Sync>;

/// Solves `dy/dt = f(t, y, theta)` with `y = y0` at the first of `times`, and returns the solution at all of them: a tree like `y0` whose
/// leaves have a leading axis for the times. Times must increase or decrease. They are plain numbers without a derivative, and so is the
/// time passed to `f`, a rank-0 tensor.
///
/// The derivative with respect to `y0` and `theta` is chosen by [`Ode::adjoint`], in any mode and of any order. Tensors that `f` captures
/// are constants. Under `vmap` every element of the batch chooses its own steps.
///
/// ```
/// use wengert::prelude::*;
/// let decay = |_: &Tensor, y: &Tensor, rate: &Tensor| -(rate * y);
/// let at_two = |rate: &Tensor| odeint(decay, rate, &Tensor::from(1.0), &[0.0, 1.0, 2.0], Ode::new()).select(0, 2);
/// let (value, slope) = value_and_grad(at_two)(&Tensor::from(0.5));
/// assert!((value.item() - (-1f64).exp()).abs() < 1e-6);
/// assert!((slope.item() + 2.0 * (-1f64).exp()).abs() < 1e-6);
/// ```
#[track_caller]
pub fn odeint<T, Y>(
    f: impl Fn(&Tensor, &Y, &T) -> Y + Send + Sync + 'static,
    theta: &T,
    y0: &Y,
    times: &[f64],
    options: Ode,
) -> Y
where
    T: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
{
    integrate(f, theta, y0, times, options, location::resolve(Line::caller())).or_raise()
}

/// Like [`odeint`], but returns an error that names the time at which integration failed.
///
/// ```
/// use wengert::prelude::*;
/// // y = 1 / (1 - t) ends at 1.
/// let square = |_: &Tensor, y: &Tensor, _: &()| y * y;
/// let error = try_odeint(square, &(), &Tensor::from(1.0), &[0.0, 2.0], Ode::new()).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Integration { time, .. } if (time - 1.0).abs() < 1e-3));
/// ```
#[track_caller]
pub fn try_odeint<T, Y>(
    f: impl Fn(&Tensor, &Y, &T) -> Y + Send + Sync + 'static,
    theta: &T,
    y0: &Y,
    times: &[f64],
    options: Ode,
) -> Result<Y, Error>
where
    T: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    catch(|| integrate(f, theta, y0, times, options, line)).flatten()
}

/// How a solution is differentiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adjoint {
    /// Differentiates the steps that were taken: exact for the computed values. Short segments of the solution are recomputed when their
    /// derivative is needed; memory holds the states between them.
    #[default]
    Discrete,
    /// Differentiates the exact solution, by solving another differential equation: as precise as the tolerances. Memory holds the states
    /// at the output times and at the [checkpoints](Ode::checkpoints) between them.
    Continuous,
}

/// Options for solving a differential equation with the Dormand-Prince method of order 5. Step sizes keep the estimated error of each step
/// below `atol + rtol |y|`.
///
/// ```
/// use wengert::prelude::*;
/// let options = Ode::new().rtol(1e-10).atol(1e-12).adjoint(Adjoint::Continuous);
/// let circle = |_: &Tensor, (x, v): &(Tensor, Tensor), _: &()| (v.clone(), -x);
/// let (x, _) = odeint(circle, &(), &(Tensor::from(1.0), Tensor::from(0.0)), &[0.0, 3.0], options);
/// assert!((x.select(0, 1).item() - 3f64.cos()).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ode {
    rtol: Option<f64>,
    atol: Option<f64>,
    steps: usize,
    first_step: Option<f64>,
    adjoint: Adjoint,
    checkpoints: Option<usize>,
    schedule: Schedule,
}

impl Default for Ode {
    fn default() -> Ode {
        Ode::new()
    }
}

impl Ode {
    /// The default options.
    pub fn new() -> Ode {
        let (steps, adjoint) = (100_000, Adjoint::Discrete);
        Ode { rtol: None, atol: None, steps, first_step: None, adjoint, checkpoints: None, schedule: Schedule::All }
    }

    /// The error tolerance of a step relative to the state; by default 1e-7, or 1e-4 for `f32`.
    pub fn rtol(mut self, rtol: f64) -> Ode {
        self.rtol = Some(rtol);
        self
    }

    /// The absolute error tolerance of a step, which matters where the state is near zero; by default 1e-9, or 1e-6 for `f32`.
    pub fn atol(mut self, atol: f64) -> Ode {
        self.atol = Some(atol);
        self
    }

    /// The maximum number of steps tried; by default 100000.
    pub fn steps(mut self, steps: usize) -> Ode {
        self.steps = steps;
        self
    }

    /// The length of the first step. By default it is estimated from the equation.
    pub fn first_step(mut self, length: f64) -> Ode {
        self.first_step = Some(length);
        self
    }

    /// The number of states between two output times that are stored for the continuous adjoint. Between them it integrates the state
    /// backwards, which magnifies errors where solutions converge. By default there are at least 15 states between the first time and the
    /// last.
    pub fn checkpoints(mut self, count: usize) -> Ode {
        self.checkpoints = Some(count);
        self
    }

    /// Which states between two output times are kept for the discrete adjoint. By default it keeps one of 32 steps; a schedule keeps few
    /// of those, and integrates again for the others. How many steps there will be is not known, so `Binomial` keeps the same as `Online`.
    ///
    /// ```
    /// use wengert::{Schedule, prelude::*};
    /// let decay = |_: &Tensor, y: &Tensor, rate: &Tensor| -(rate * y);
    /// let last = |rate: &Tensor, options: Ode| odeint(decay, rate, &Tensor::from(1.0), &[0.0, 9.0], options).select(0, 1);
    /// let precise = Ode::new().rtol(1e-12).atol(1e-14);
    /// let few = precise.clone().schedule(Schedule::Online { snapshots: 3 });
    /// let rate = Tensor::from(0.5);
    /// let slopes = [few, precise].map(|options| grad(|rate: &Tensor| last(rate, options.clone()))(&rate));
    /// assert!(slopes[0].all_close(&slopes[1], 1e-12));
    /// ```
    pub fn schedule(mut self, schedule: Schedule) -> Ode {
        self.schedule = schedule;
        self
    }

    /// Chooses how the solution is differentiated.
    pub fn adjoint(mut self, adjoint: Adjoint) -> Ode {
        self.adjoint = adjoint;
        self
    }

    /// The relative and the absolute tolerance.
    fn tolerances(&self, dtype: DType) -> (f64, f64) {
        let (rtol, atol) = match dtype {
            DType::F64 => (1e-7, 1e-9),
            DType::F32 => (1e-4, 1e-6),
            _ => (1e-2, 1e-2),
        };
        (self.rtol.unwrap_or(rtol), self.atol.unwrap_or(atol))
    }

    /// The number of parts into which the continuous adjoint divides each of `count` intervals.
    fn parts(&self, count: usize) -> usize {
        self.checkpoints.map_or_else(|| 16usize.div_ceil(count.max(1)), |between| between + 1)
    }

    fn check(&self, times: &[f64]) -> Result<(), Error> {
        self.schedule.check("odeint")?;
        let wrong = |message: String| Err(Error::new(ErrorKind::Argument, "odeint", message));
        if times.is_empty() || times.iter().any(|time| !time.is_finite()) {
            return wrong(format!("the times {times:?} are not a list of finite numbers"));
        }
        let pairs = || times.windows(2).map(|pair| pair[1] - pair[0]);
        if pairs().any(|change| change > 0.0) && pairs().any(|change| change < 0.0) {
            return wrong("the times go forward and back".to_string());
        }
        let positive = |number: f64| number.is_finite() && number >= 0.0;
        let (rtol, atol) = self.tolerances(DType::F64);
        if !positive(rtol) || !positive(atol) || rtol + atol == 0.0 {
            return wrong(format!("the tolerances {rtol} and {atol} are not positive"));
        }
        match self.first_step {
            Some(length) if !(length.is_finite() && length > 0.0) => {
                wrong(format!("the first step {length} has no positive length"))
            }
            _ => Ok(()),
        }
    }
}

fn integrate<T, Y>(
    f: impl Fn(&Tensor, &Y, &T) -> Y + Send + Sync + 'static,
    theta: &T,
    y0: &Y,
    times: &[f64],
    options: Ode,
    line: Line,
) -> Result<Y, Error>
where
    T: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
{
    let _scope = location::scope(line);
    let packing =
        Packing::of("odeint", "the first state", y0).and_then(|packing| options.check(times).map(|()| packing));
    let packing = packing.map_err(|error| error.at(line))?;
    let start = packing.pack("the first state", y0)?;
    let (form, state, dtype) = (form_of(theta), packing.again(), packing.dtype());
    let rhs: Rhs = Arc::new(move |t, y, theta| {
        let time = Tensor::from(t).cast(dtype);
        let slope = f(&time, &state.unpack(y), &form.rebuild(theta.iter().cloned()));
        state.pack("what the right side returned", &slope).or_raise()
    });
    let (times, operands): (Arc<[f64]>, Vec<Tensor>) = (times.into(), operands(theta, &start));
    let states = match options.adjoint {
        Adjoint::Discrete => discrete::solve(&rhs, &times, &options, &operands),
        Adjoint::Continuous => {
            bind_at(Arc::new(continuous::Solution { rhs, times: times.clone(), options }), &operands, line)?
        }
    };
    Ok(packing.unpack_rows(&states, &[times.len()]))
}

/// The spec of `count` stacked states.
fn stacked_spec(state: &SpecRef<'_>, count: usize) -> Spec {
    let state = state.to_spec();
    Spec { shape: state.shape.prepended(count), ..state }
}
