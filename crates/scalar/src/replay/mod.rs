//! Functions that are recorded once and replayed: with guards, rolled loops, and derivatives as programs.

mod arithmetic;
mod derive;
mod machine;
mod over;
mod path;
mod program;
mod reverse;
mod roll;
mod slopes;
mod sparse;
mod symbol;
mod tangent;
mod trace;

pub use derive::Symbols;
pub(crate) use derive::{pulled, pushed};
pub use over::Items;
pub use sparse::{SparseHessian, SparseJacobian};
pub use symbol::Symbol;

use crate::expect::expect;
use machine::Left;
use path::Path;
use std::cell::{RefCell, RefMut};
use std::panic::Location;
use std::sync::Arc;
use symbol::{Traced, traced};
use wengert_engine::{Error, ErrorKind};

/// The return type of a recorded function: one number, or several.
pub trait Returned {
    /// Whether it is a single number rather than a list.
    const IS_ONE: bool = false;

    /// The numbers, in order.
    fn numbers(self) -> Vec<Symbol>;
}

impl Returned for Symbol {
    const IS_ONE: bool = true;

    fn numbers(self) -> Vec<Symbol> {
        vec![self]
    }
}

impl Returned for Vec<Symbol> {
    fn numbers(self) -> Vec<Symbol> {
        self
    }
}

impl<const N: usize> Returned for [Symbol; N] {
    fn numbers(self) -> Vec<Symbol> {
        self.to_vec()
    }
}

/// A recorded function, with its derivatives.
///
/// The Rust code of the function runs when it is recorded. It runs again when one of its decisions (a comparison, `to_f64`, a
/// data-dependent number of iterations) turns out differently: then the new path is recorded and kept beside the others. All other calls
/// run the recorded program. Plain numbers that the function captures become constants of its recordings.
///
/// Loops are recovered from the recording. They keep the program short, and run many iterations at a time if these do not depend on each
/// other. The sums of such loops are added in a different order than in the function, unless a decision depends on them.
///
/// ```
/// use wengert_scalar::{Real, Replay, Symbol};
///
/// fn rosenbrock<T: Real>(x: &[T]) -> T {
///     let term = |a: T, b: T| (T::lit(1.0) - a).powi(2) + T::lit(100.0) * (b - a * a).powi(2);
///     x.windows(2).fold(T::lit(0.0), |sum, pair| sum + term(pair[0], pair[1]))
/// }
///
/// let f = Replay::record(rosenbrock::<Symbol>, &[-1.2, 1.0, 0.5]);
/// let mut slopes = [0.0; 3];
/// let x = [0.3, 0.2, 0.1];
/// assert!((f.value_and_grad(&x, &mut slopes) - rosenbrock(&x)).abs() < 1e-12);
/// assert_eq!(f.recordings(), 1);
/// ```
///
/// Calls take `&self`, so a struct that a solver borrows can own a replay. It is [`Send`] but not [`Sync`]. Its type includes the type of
/// its function; [`boxed`](Replay::boxed) turns it into a plain `Replay`.
pub struct Replay<F = Box<Symbols>> {
    recording: RefCell<Recording<F>>,
}

/// The function, and the paths recorded so far.
pub(crate) struct Recording<F> {
    function: F,
    inputs: usize,
    /// The most recently used path comes first.
    paths: Vec<Path>,
    limit: usize,
    recordings: usize,
    /// The interval at which calls are checked against the function, and the number of calls so far.
    check: Option<(usize, usize)>,
}

/// Number of paths kept by default.
const KEPT: usize = 32;

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Replay<F> {
    /// Records `f` at `x`.
    #[track_caller]
    pub fn record(f: F, x: &[f64]) -> Replay<F> {
        let mut recording =
            Recording { function: f, inputs: x.len(), paths: Vec::new(), limit: KEPT, recordings: 0, check: None };
        match recording.record_path(x) {
            Ok(()) => Replay { recording: RefCell::new(recording) },
            Err(error) => error.at(Location::caller()).raise(),
        }
    }

    /// Keeps at most `paths` paths (default 32) and drops the least recently used one. Raises an error if `paths` is 0.
    #[must_use]
    #[track_caller]
    pub fn at_most(mut self, paths: usize) -> Replay<F> {
        expect(paths > 0, "at_most", || "a replay without a path would be recorded at every call".to_string());
        let recording = self.recording.get_mut();
        recording.limit = paths;
        recording.paths.truncate(paths);
        self
    }

    /// Checks every `calls`-th call against the function itself, and raises an error if they differ because a captured value has changed. A
    /// call over many points or items counts once, and only its first point is checked.
    ///
    /// ```
    /// use wengert_engine::{ErrorKind, catch};
    /// use wengert_scalar::Replay;
    /// let scale = std::cell::Cell::new(2.0);
    /// let f = Replay::record(|x| x[0] * scale.get(), &[1.0]).checked_every(2);
    /// scale.set(3.0);
    /// assert_eq!(f.value(&[1.0]), 2.0);
    /// assert_eq!(catch(|| f.value(&[1.0])).unwrap_err().kind(), &ErrorKind::Retraced);
    /// ```
    #[must_use]
    pub fn checked_every(mut self, calls: usize) -> Replay<F> {
        self.recording.get_mut().check = Some((calls.max(1), 0));
        self
    }

    /// How often the function was recorded: once, plus once for every new path.
    pub fn recordings(&self) -> usize {
        self.recording().recordings
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.recording().inputs
    }

    /// Number of outputs on the path that was used last.
    pub fn outputs(&self) -> usize {
        self.recording().paths[0].outputs()
    }

    /// Number of instructions for the values on the path that was used last. The body of a loop counts once.
    pub fn instructions(&self) -> usize {
        self.recording().paths[0].instructions()
    }

    /// Size in bytes of the program for values and gradients on the path that was used last.
    pub fn code_bytes(&self) -> usize {
        self.recording().paths[0].code_bytes()
    }

    /// The value at `x`.
    #[track_caller]
    pub fn value(&self, x: &[f64]) -> f64 {
        self.recording().expect("value", x.len(), 1);
        let mut value = [0.0];
        self.values(x, &mut value);
        value[0]
    }

    /// The values at `x` of a function with several outputs.
    #[track_caller]
    pub fn values(&self, x: &[f64], y: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect("values", x.len(), y.len());
        recording.on_path(x, |path| path.values(x, y));
    }

    /// Computes the value at `x` and the gradient, which is written to `slopes`.
    #[track_caller]
    pub fn value_and_grad(&self, x: &[f64], slopes: &mut [f64]) -> f64 {
        let recording = &mut *self.recording();
        recording.expect("value_and_grad", x.len(), 1);
        recording.expect_slopes("value_and_grad", slopes.len());
        recording.on_path(x, |path| path.pull(x, &[1.0], slopes).map(|()| path.value()))
    }

    /// The vector-Jacobian product: the gradient of the outputs weighted by `seeds`, written to `slopes`.
    ///
    /// ```
    /// use wengert_scalar::Replay;
    /// let f = Replay::record(|x| [x[0] * x[1], x[0] + x[1]], &[1.0, 1.0]);
    /// let mut slopes = [0.0; 2];
    /// f.vjp(&[2.0, 3.0], &[1.0, 10.0], &mut slopes);
    /// assert_eq!(slopes, [13.0, 12.0]);
    /// ```
    #[track_caller]
    pub fn vjp(&self, x: &[f64], seeds: &[f64], slopes: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect("vjp", x.len(), seeds.len());
        recording.expect_slopes("vjp", slopes.len());
        recording.on_path(x, |path| path.pull(x, seeds, slopes));
    }

    /// The Jacobian-vector product: the derivative of every output along a direction of the inputs, written to `tangents`.
    ///
    /// ```
    /// use wengert_scalar::Replay;
    /// let f = Replay::record(|x| x[0] * x[1], &[1.0, 1.0]);
    /// let mut tangents = [0.0];
    /// f.jvp(&[2.0, 3.0], &[1.0, 10.0], &mut tangents);
    /// assert_eq!(tangents, [23.0]);
    /// ```
    #[track_caller]
    pub fn jvp(&self, x: &[f64], direction: &[f64], tangents: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect("jvp", x.len(), tangents.len());
        recording.expect_slopes("jvp", direction.len());
        recording.on_path(x, |path| path.push(x, direction, tangents));
    }

    /// The Hessian-vector product, written to `product`.
    ///
    /// ```
    /// use wengert_scalar::{Real, Replay};
    /// let f = Replay::record(|x| x[0] * x[0] * x[1], &[1.0, 1.0]);
    /// let mut product = [0.0; 2];
    /// f.hvp(&[2.0, 3.0], &[1.0, 0.0], &mut product);
    /// assert_eq!(product, [6.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn hvp(&self, x: &[f64], vector: &[f64], product: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect("hvp", x.len(), 1);
        recording.expect_slopes("hvp", vector.len());
        recording.expect_slopes("hvp", product.len());
        recording.on_path(x, |path| path.second(x, vector, product));
    }

    /// The Jacobian, with one row per output.
    ///
    /// ```
    /// use wengert_scalar::Replay;
    /// let f = Replay::record(|x| [x[0] * x[1], x[0] + x[1]], &[1.0, 1.0]);
    /// assert_eq!(f.jacobian(&[2.0, 3.0]), [3.0, 2.0, 1.0, 1.0]);
    /// ```
    #[track_caller]
    pub fn jacobian(&self, x: &[f64]) -> Vec<f64> {
        let recording = &mut *self.recording();
        recording.expect("jacobian", x.len(), recording.outputs());
        recording.on_path(x, |path| path.jacobian(x))
    }

    /// The Hessian, row by row.
    ///
    /// ```
    /// use wengert_scalar::Replay;
    /// let f = Replay::record(|x| x[0] * x[0] * x[1], &[1.0, 1.0]);
    /// assert_eq!(f.hessian(&[2.0, 3.0]), [6.0, 4.0, 4.0, 0.0]);
    /// ```
    #[track_caller]
    pub fn hessian(&self, x: &[f64]) -> Vec<f64> {
        let recording = &mut *self.recording();
        recording.expect("hessian", x.len(), 1);
        recording.on_path(x, |path| path.hessian(x))
    }

    /// The values and gradients at many points, which are stored one after another in `points`.
    ///
    /// ```
    /// use wengert_scalar::Replay;
    /// let f = Replay::record(|x| x[0] * x[1], &[1.0, 1.0]);
    /// let (mut values, mut slopes) = ([0.0; 2], [0.0; 4]);
    /// f.values_and_grads(&[1.0, 2.0, 3.0, 4.0], &mut values, &mut slopes);
    /// assert_eq!((values, slopes), ([2.0, 12.0], [2.0, 1.0, 4.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn values_and_grads(&self, points: &[f64], values: &mut [f64], slopes: &mut [f64]) {
        let recording = &mut *self.recording();
        let (numbers, room, count) = (points.len(), slopes.len(), values.len());
        expect(numbers == room, "values_and_grads", || {
            format!("points of {numbers} numbers and room for {room} slopes")
        });
        expect(numbers == count * recording.inputs, "values_and_grads", || {
            format!("{numbers} numbers are not {count} points of {}", recording.inputs)
        });
        recording.expect("values_and_grads", recording.inputs, 1);
        if let Err(error) = recording.try_at_points(points, values, slopes) {
            error.at(Location::caller()).raise();
        }
    }

    /// The values at many points, which are stored one after another in `points`. If the function returns several numbers, those of each
    /// point are stored together.
    ///
    /// ```
    /// use wengert_scalar::Replay;
    /// let f = Replay::record(|x| [x[0] * x[1], x[0] + x[1]], &[1.0, 1.0]);
    /// let mut values = [0.0; 4];
    /// f.values_at(&[1.0, 2.0, 3.0, 4.0], &mut values);
    /// assert_eq!(values, [2.0, 3.0, 12.0, 7.0]);
    /// ```
    #[track_caller]
    pub fn values_at(&self, points: &[f64], values: &mut [f64]) {
        let recording = &mut *self.recording();
        let outputs = recording.outputs();
        expect(points.len() * outputs == values.len() * recording.inputs, "values_at", || {
            format!("room for {} numbers is not {outputs} for each point of {}", values.len(), recording.inputs)
        });
        if let Err(error) = recording.try_at_points(points, values, &mut []) {
            error.at(Location::caller()).raise();
        }
    }

    /// Borrows the recording for one call. Raises an error if the recorded function calls its own replay.
    #[track_caller]
    fn recording(&self) -> RefMut<'_, Recording<F>> {
        self.recording.try_borrow_mut().unwrap_or_else(|_| {
            Error::new(ErrorKind::Argument, "replay", "the function that is recorded calls its own replay").raise()
        })
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Recording<F> {
    fn outputs(&self) -> usize {
        self.paths[0].outputs()
    }

    /// Computes the values at many points, each on its own path, and the gradients if there is room for them.
    pub(crate) fn try_at_points(
        &mut self,
        points: &[f64],
        values: &mut [f64],
        slopes: &mut [f64],
    ) -> Result<(), Error> {
        let (n, m) = (self.inputs, self.outputs());
        let with_slopes = if slopes.is_empty() { 0 } else { n };
        points.get(..n).map_or(Ok(()), |x| self.count_call(x))?;
        let mut left: Vec<usize> = self.paths[0].many(points, values, slopes);
        // Points on other paths: run one alone, which may record its path, then the others that take the same path. If no others do, skip
        // this search for the next points, twice as many each time.
        let (mut at, mut alone) = (0, 0);
        while at < left.len() {
            let first = left[at];
            let x = &points[first * n..][..n];
            self.try_on_path(x, |path| path.values(x, &mut values[first * m..][..m]))?;
            if with_slopes > 0 {
                self.try_on_path(x, |path| path.pull(x, &[1.0], &mut slopes[first * n..][..n]))?;
            }
            at += 1;
            if at <= alone {
                continue;
            }
            let rest = &left[at..];
            let some: Vec<f64> = rest.iter().flat_map(|&point| &points[point * n..][..n]).copied().collect();
            let (mut found, mut grads) = (vec![0.0; rest.len() * m], vec![0.0; rest.len() * with_slopes]);
            let missed = self.paths[0].many(&some, &mut found, &mut grads);
            for (number, &point) in rest.iter().enumerate() {
                // Points that failed above are written again.
                values[point * m..][..m].copy_from_slice(&found[number * m..][..m]);
                let own = &mut slopes[point * with_slopes..][..with_slopes];
                own.copy_from_slice(&grads[number * with_slopes..][..with_slopes]);
            }
            self.paths[1..].iter_mut().for_each(Path::forget_lanes);
            alone = if missed.len() == rest.len() { 2 * alone + 1 } else { 0 };
            (left, at) = (missed.into_iter().map(|number| rest[number]).collect(), 0);
        }
        Ok(())
    }

    #[track_caller]
    fn expect(&self, what: &str, inputs: usize, outputs: usize) {
        expect(inputs == self.inputs, what, || format!("the function takes {} numbers, got {inputs}", self.inputs));
        let own = self.outputs();
        expect(outputs == own, what, || format!("the function returns {own} numbers, {outputs} are expected"));
    }

    #[track_caller]
    fn expect_slopes(&self, what: &str, count: usize) {
        expect(count == self.inputs, what, || format!("{count} numbers for {} inputs", self.inputs));
    }

    /// Calls `f` on the path that `x` takes, which is recorded first if it is new.
    #[track_caller]
    fn on_path<R>(&mut self, x: &[f64], f: impl FnMut(&mut Path) -> Result<R, Left>) -> R {
        match self.try_on_path(x, f) {
            Ok(result) => result,
            Err(error) => error.at(Location::caller()).raise(),
        }
    }

    fn try_on_path<R>(&mut self, x: &[f64], mut f: impl FnMut(&mut Path) -> Result<R, Left>) -> Result<R, Error> {
        self.count_call(x)?;
        for number in 0..self.paths.len() {
            if let Ok(result) = f(&mut self.paths[number]) {
                self.paths[..=number].rotate_right(1);
                return Ok(result);
            }
        }
        self.record_path(x)?;
        f(&mut self.paths[0]).map_err(|Left| {
            let message = "the function decides otherwise when it runs again with the same numbers";
            Error::new(ErrorKind::Retraced, "replay", message)
                .help("it depends on something that changes from call to call: make that an input")
        })
    }

    /// Like [`try_on_path`](Recording::try_on_path), but a new path must satisfy `judge` and is discarded otherwise.
    #[track_caller]
    fn on_judged_path(
        &mut self,
        x: &[f64],
        f: impl FnMut(&mut Path) -> Result<(), Left>,
        judge: impl FnOnce(&Traced) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let recordings = self.recordings;
        self.try_on_path(x, f)?;
        if self.recordings == recordings {
            return Ok(());
        }
        let judged = judge(&traced(x, &self.function, Y::numbers));
        if judged.is_err() {
            self.paths.remove(0);
        }
        judged
    }

    fn record_path(&mut self, x: &[f64]) -> Result<(), Error> {
        let found = traced(x, &self.function, Y::numbers);
        let (own, others) = (found.outputs.len(), self.paths.first().map(Path::outputs));
        if let Some(others) = others.filter(|others| *others != own) {
            let message = format!("on this path {own} numbers are returned, and {others} on others");
            return Err(Error::new(ErrorKind::Retraced, "replay", message).help("return as many numbers on every path"));
        }
        self.recordings += 1;
        self.paths.insert(0, Path::new(&found));
        self.paths.truncate(self.limit);
        Ok(())
    }

    /// Counts a call at `x`, and checks it against the function if it is due.
    fn count_call(&mut self, x: &[f64]) -> Result<(), Error> {
        if let Some((every, calls)) = &mut self.check {
            *calls += 1;
            if *calls % *every == 0 {
                self.expect_same(x)?;
            }
        }
        Ok(())
    }

    /// Returns an error if the function and its recording give different values.
    fn expect_same(&mut self, x: &[f64]) -> Result<(), Error> {
        let found = traced(x, &self.function, Y::numbers);
        let mut values = vec![0.0; found.values.len()];
        let count = values.len();
        if !self.paths.iter_mut().any(|path| path.outputs() == count && path.values(x, &mut values).is_ok()) {
            return Ok(());
        }
        let differs = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-9 * a.abs().max(b.abs()) || a.is_nan() != b.is_nan();
        if let Some(number) = found.values.iter().zip(&values).position(differs) {
            let message =
                format!("output {number} is {} now, and {} as it was recorded", found.values[number], values[number]);
            let error = Error::new(ErrorKind::Retraced, "replay", message);
            return Err(error
                .help("numbers that a function captured are constants of its recording: make what changes an input"));
        }
        Ok(())
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y + Send + Sync + 'static> Replay<F> {
    /// The same replay with a type that can be named.
    ///
    /// ```
    /// use wengert_scalar::{Real, Replay, Symbol};
    /// struct Problem {
    ///     energy: Replay,
    /// }
    /// let stiffness = 3.0;
    /// let energy = Replay::record(move |x: &[Symbol]| x[0] * x[0] * stiffness, &[1.0]).boxed();
    /// assert_eq!(Problem { energy }.energy.value(&[2.0]), 12.0);
    /// ```
    #[must_use]
    pub fn boxed(self) -> Replay {
        self.shared().1
    }

    /// The function and its replay, which share it.
    pub(crate) fn shared(self) -> (Arc<Symbols>, Replay) {
        let Recording { function, inputs, paths, limit, recordings, check } = self.recording.into_inner();
        let function: Arc<Symbols> = Arc::new(move |x| function(x).numbers());
        let own = function.clone();
        let own: Box<Symbols> = Box::new(move |x| own(x));
        let recording = Recording { function: own, inputs, paths, limit, recordings, check };
        (function, Replay { recording: RefCell::new(recording) })
    }

    /// See [`Recording::try_at_points`].
    pub(crate) fn try_at_points(&self, points: &[f64], values: &mut [f64]) -> Result<(), Error> {
        self.recording().try_at_points(points, values, &mut [])
    }
}
