//! Recordings with several sweeps: in parts, or from several outputs.

use crate::Var;
use crate::expect::expect;
use crate::gradient::{keep, kept, sweep_one};
use crate::var::misused;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use wengert_kernels::tape::{Adjoints, Limit, Position, Recording, part, record, record_within};

thread_local! {
    // Reused between recordings.
    static SEEDED: RefCell<Adjoints<f64>> = RefCell::default();
}

/// The running recording of this thread, with its own adjoints: [`seed`](Tape::seed) adds to them, [`sweep`](Tape::sweep) propagates them
/// to the inputs, and [`adjoint`](Tape::adjoint) reads them.
///
/// ```
/// use wengert_scalar::{Real, recording};
/// // The mean of two outputs, in one sweep.
/// let slope = recording(|tape| {
///     let x = tape.input(3.0);
///     tape.seed(x * x, 0.5);
///     tape.seed(2.0 * x, 0.5);
///     tape.sweep();
///     tape.adjoint(x)
/// });
/// assert_eq!(slope, 4.0);
/// ```
pub struct Tape<'r> {
    recording: &'r Recording,
    adjoints: RefCell<Adjoints<f64>>,
    /// Where the running part began, and whether something was seeded since then.
    start: Cell<Position>,
    seeded: Cell<bool>,
}

/// Records what `f` computes with inputs of the tape, and discards the recording when it returns. [`gradient`](crate::gradient) is a
/// recording with a single sweep; use this for several sweeps, and for inputs that are created on the way.
///
/// ```
/// use wengert_scalar::{Real, recording};
/// let slopes = recording(|tape| {
///     let x = [tape.input(2.0), tape.input(3.0)];
///     let (sum, product) = (x[0] + x[1], x[0] * x[1]);
///     let mut slopes = [[0.0; 2]; 2];
///     tape.pull(sum, &x, &mut slopes[0]);
///     tape.pull(product, &x, &mut slopes[1]);
///     slopes
/// });
/// assert_eq!(slopes, [[1.0, 1.0], [3.0, 2.0]]);
/// ```
pub fn recording<R>(f: impl FnOnce(&Tape<'_>) -> R) -> R {
    record(|recording| on_tape(recording, f))
}

/// A [recording] that takes at most so many bytes of memory for its statements and adjoints. Whatever has no room is in files, which are
/// removed at the end, also after a panic. The derivatives have the same bits as without a limit.
///
/// The limit is a number of bytes or a [`Limit`], which also names the folder of the files. It holds for all recordings of this thread
/// inside `f`, such as a [`gradient`](crate::gradient). What external functions own does not count.
///
/// A billion statements of two arguments need 25 GB on disk. If the disk is full, or a file was changed, the error has the kind
/// [`File`](wengert_engine::ErrorKind::File) and names the file. A folder where no file can be created is an error of the kind
/// [`Argument`](wengert_engine::ErrorKind::Argument), and a limit that is too small one of the kind
/// [`Budget`](wengert_engine::ErrorKind::Budget), which states the least.
/// After an error nothing is left behind.
///
/// ```
/// use wengert_scalar::{Limit, Real, Var, gradient, recording_within};
/// let walk = |x: &[Var]| (0..100_000).fold(x[0], |y, _| y + x[1] * y.sin());
/// let x = [0.5, 1e-5];
/// let (mut slopes, mut within) = ([0.0; 2], [0.0; 2]);
/// gradient(walk, &x, &mut slopes);
/// // 7 MB of statements and adjoints.
/// recording_within(1 << 20, |_| gradient(walk, &x, &mut within));
/// assert_eq!(slopes, within);
///
/// // The same with inputs of the tape, and another folder.
/// let limit = Limit::bytes(1 << 20).folder(std::env::temp_dir());
/// recording_within(limit, |tape| {
///     let x = x.map(|x| tape.input(x));
///     tape.seed(walk(&x), 1.0);
///     tape.sweep();
///     assert_eq!(x.map(|x| tape.adjoint(x)), slopes);
/// });
/// ```
#[track_caller]
pub fn recording_within<R>(limit: impl Into<Limit>, f: impl FnOnce(&Tape<'_>) -> R) -> R {
    record_within(limit.into(), misused, |recording| on_tape(recording, f))
}

fn on_tape<R>(recording: &Recording, f: impl FnOnce(&Tape<'_>) -> R) -> R {
    let tape = Tape {
        recording,
        // After a panic they are allocated again.
        adjoints: RefCell::new(kept(&SEEDED)),
        start: Cell::new(recording.start()),
        seeded: Cell::new(false),
    };
    let result = f(&tape);
    let mut adjoints = tape.adjoints.into_inner();
    if tape.seeded.get() {
        adjoints.clear_from(recording.start());
    }
    keep(&SEEDED, adjoints);
    result
}

impl Tape<'_> {
    pub(crate) fn recording(&self) -> &Recording {
        self.recording
    }

    /// A new variable to differentiate with respect to.
    #[track_caller]
    pub fn input(&self, value: f64) -> Var {
        self.recording.expect_running(misused);
        Var::at(value, self.recording.input(misused))
    }

    /// Number of recorded statements.
    pub fn statements(&self) -> usize {
        self.position().since(self.recording.start())
    }

    /// Size of the recording in bytes.
    pub fn bytes(&self) -> usize {
        self.recording.bytes()
    }

    /// Sweeps back from `y`, and writes its derivatives with respect to `inputs` to `slopes`. Seeds are ignored.
    #[track_caller]
    pub fn pull(&self, y: Var, inputs: &[Var], slopes: &mut [f64]) {
        self.recording.expect_running(misused);
        let (count, room) = (inputs.len(), slopes.len());
        expect(count == room, "pull", || format!("{count} inputs and room for {room} slopes"));
        let line = Location::caller();
        [y].iter().chain(inputs).for_each(|var| var.expect_own(line));
        sweep_one(self.recording, y, line, |adjoints| {
            for (slope, input) in slopes.iter_mut().zip(inputs) {
                *slope = adjoints.of(input.place(), misused);
            }
        });
    }

    /// Adds `weight` to the adjoint of a variable.
    #[track_caller]
    pub fn seed(&self, y: Var, weight: f64) {
        self.recording.expect_running(misused);
        self.recording.hold();
        self.seeded.set(true);
        self.adjoints.borrow_mut().add(y.place(), &weight, misused);
    }

    /// Propagates all adjoints back to the beginning of the recording, or of the running [part](Tape::part). If the pullback of an
    /// [external function](crate::external) panics, all adjoints are lost.
    #[track_caller]
    pub fn sweep(&self) {
        self.sweep_to(self.start.get());
    }

    /// The current position in the recording.
    pub fn position(&self) -> Position {
        self.recording.position()
    }

    /// Propagates the adjoints of everything recorded since a position to the variables before it.
    ///
    /// ```
    /// use wengert_scalar::recording;
    /// let slopes = recording(|tape| {
    ///     let x = tape.input(3.0);
    ///     let y = x * x;
    ///     let position = tape.position();
    ///     tape.seed(y * y, 1.0);
    ///     tape.sweep_to(position);
    ///     let by_y = tape.adjoint(y);
    ///     tape.sweep();
    ///     [by_y, tape.adjoint(x)]
    /// });
    /// assert_eq!(slopes, [18.0, 108.0]);
    /// ```
    #[track_caller]
    pub fn sweep_to(&self, position: Position) {
        self.recording.expect(position, misused);
        let mut adjoints = self.adjoints.take();
        adjoints.sweep(position.max(self.start.get()), misused);
        self.adjoints.replace(adjoints);
    }

    /// The adjoint of a variable. That of an input is kept; all others are 0 once they have been propagated.
    #[track_caller]
    pub fn adjoint(&self, x: Var) -> f64 {
        self.recording.expect_running(misused);
        self.adjoints.borrow_mut().of(x.place(), misused)
    }

    /// Runs `f` and discards what it records. If something was seeded in it, the part is first swept back to its beginning. So adjoints of
    /// earlier variables accumulate over many parts, and are swept once at the end.
    ///
    /// ```
    /// use wengert_scalar::{Real, recording};
    /// // The mean of some paths of the exponential of a walk, whose drift all of them share.
    /// let paths = 1000;
    /// let (mean, [by_rate, by_spread]) = recording(|tape| {
    ///     let [rate, spread] = [0.05, 0.2].map(|x| tape.input(x));
    ///     let drift = (rate - spread * spread * 0.5).exp();
    ///     let mut mean = 0.0;
    ///     for path in 0..paths {
    ///         mean += tape.part(|| {
    ///             let noise = (f64::from(path) + 0.5) / f64::from(paths) - 0.5;
    ///             let price = drift * (spread * noise).exp();
    ///             tape.seed(price, 1.0 / f64::from(paths));
    ///             price.value() / f64::from(paths)
    ///         });
    ///     }
    ///     assert!(tape.statements() < 10);
    ///     tape.sweep();
    ///     (mean, [rate, spread].map(|x| tape.adjoint(x)))
    /// });
    /// assert!((by_rate - mean).abs() < 1e-12 && by_spread < 0.0);
    /// ```
    ///
    /// Variables of a part must not leave it: using one later is an error.
    #[track_caller]
    pub fn part<R>(&self, f: impl FnOnce() -> R) -> R {
        self.recording.expect_running(misused);
        part(|part| {
            let around = (self.start.replace(part.start()), self.seeded.replace(false));
            let _ending = Ending { tape: self, around };
            let result = f();
            if self.seeded.get() {
                self.sweep();
            }
            result
        })
    }
}

/// The end of a part, also after a panic: its adjoints are cleared.
struct Ending<'t, 'r> {
    tape: &'t Tape<'r>,
    around: (Position, bool),
}

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        let (tape, (start, seeded)) = (self.tape, self.around);
        if tape.seeded.get() {
            tape.adjoints.borrow_mut().clear_from(tape.start.get());
        }
        tape.start.set(start);
        tape.seeded.set(seeded | tape.seeded.get());
    }
}
