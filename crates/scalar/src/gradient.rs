//! Gradients and Jacobians: record a function, then sweep the tape backward.

use crate::Var;
use crate::expect::expect;
use crate::var::misused;
use std::cell::RefCell;
use std::panic::Location;
use std::thread::LocalKey;
use wengert_kernels::tape::{Adjoint, Adjoints, Place, Position, Recording, record};

/// Rows of a Jacobian per sweep.
const SEEDS: usize = 8;

thread_local! {
    // Reused between recordings: a gradient of a size that was seen before allocates nothing.
    pub(crate) static ONE: RefCell<Adjoints<f64>> = RefCell::default();
    static MANY: RefCell<Adjoints<[f64; SEEDS]>> = RefCell::default();
    static INPUTS: RefCell<Vec<Var>> = const { RefCell::new(Vec::new()) };
}

/// Computes a function and its gradient, which is written to `slopes`. Returns the value.
///
/// ```
/// use wengert_scalar::{Var, gradient};
/// let mut slopes = [0.0; 3];
/// let product = |x: &[Var]| x.iter().fold(Var::from(1.0), |product, x| product * *x);
/// assert_eq!(gradient(product, &[2.0, 3.0, 5.0], &mut slopes), 30.0);
/// assert_eq!(slopes, [15.0, 10.0, 6.0]);
/// ```
#[track_caller]
pub fn gradient(f: impl FnOnce(&[Var]) -> Var, x: &[f64], slopes: &mut [f64]) -> f64 {
    let (count, room) = (x.len(), slopes.len());
    expect(count == room, "gradient", || format!("{count} inputs and room for {room} slopes"));
    let (line, mut inputs) = (Location::caller(), kept(&INPUTS));
    let value = record(|recording| {
        inputs.clear();
        let places = recording.inputs_at(count, misused, line);
        inputs.extend(x.iter().zip(places.places()).map(|(x, place)| Var::at(*x, place)));
        let y = f(&inputs);
        y.expect_own(line);
        sweep_one(recording, y, line, |adjoints| adjoints.read(places, slopes, misused));
        y.value()
    });
    keep(&INPUTS, inputs);
    value
}

/// Computes a function of a few numbers and its gradient.
///
/// ```
/// use wengert_scalar::gradient_of;
/// assert_eq!(gradient_of(|[x, y]| x * x + y, [3.0, 1.0]), (10.0, [6.0, 1.0]));
/// ```
#[track_caller]
pub fn gradient_of<const N: usize>(f: impl FnOnce([Var; N]) -> Var, x: [f64; N]) -> (f64, [f64; N]) {
    let (line, mut slopes) = (Location::caller(), [0.0; N]);
    let value = record(|recording| {
        let places = recording.inputs_at(N, misused, line);
        let mut each = places.places();
        let y = f(x.map(|x| Var::at(x, each.next().expect("a place for every input"))));
        y.expect_own(line);
        sweep_one(recording, y, line, |adjoints| adjoints.read(places, &mut slopes, misused));
        y.value()
    });
    (value, slopes)
}

/// Sweeps back from `y` in the name of a line, and calls `read` with the adjoints.
pub(crate) fn sweep_one(
    recording: &Recording,
    y: Var,
    line: &'static Location<'static>,
    read: impl FnOnce(&mut Adjoints<f64>),
) {
    with_clean(&ONE, |adjoints| {
        adjoints.add(y.place(), &1.0, misused);
        adjoints.sweep_at(recording.start(), misused, line);
        read(adjoints);
        recording.clear(adjoints);
    });
}

/// Calls a function with adjoints that are all zero. After a panic they are allocated again.
pub(crate) fn with_clean<A: Adjoint, R>(
    room: &'static LocalKey<RefCell<Adjoints<A>>>,
    f: impl FnOnce(&mut Adjoints<A>) -> R,
) -> R {
    let mut adjoints = kept(room);
    let result = f(&mut adjoints);
    keep(room, adjoints);
    result
}

/// Takes what this thread kept for the next recording; the default if the thread is ending.
pub(crate) fn kept<T: Default>(room: &'static LocalKey<RefCell<T>>) -> T {
    room.try_with(RefCell::take).unwrap_or_default()
}

/// Keeps a value for the next recording, unless the thread is ending.
pub(crate) fn keep<T>(room: &'static LocalKey<RefCell<T>>, value: T) {
    let _ = room.try_with(|room| room.replace(value));
}

/// Computes the outputs of a function and its Jacobian, row by row. Each backward sweep handles eight outputs.
///
/// ```
/// use wengert_scalar::{Var, jacobian};
/// let f = |x: &[Var]| vec![x[0] * x[1], x[0] + x[1], Var::from(1.0)];
/// assert_eq!(jacobian(f, &[2.0, 3.0]), (vec![6.0, 5.0, 1.0], vec![3.0, 2.0, 1.0, 1.0, 0.0, 0.0]));
/// ```
#[track_caller]
pub fn jacobian(f: impl FnOnce(&[Var]) -> Vec<Var>, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let line = Location::caller();
    record(|recording| {
        let columns: Vec<Place> = recording.inputs_at(x.len(), misused, line).places().collect();
        let inputs: Vec<Var> = x.iter().zip(&columns).map(|(x, place)| Var::at(*x, *place)).collect();
        let y = f(&inputs);
        y.iter().for_each(|y| y.expect_own(line));
        let mut rows = vec![0.0; y.len() * x.len()];
        sweep_rows(&y, &columns, recording.start(), &mut rows);
        (y.iter().map(|y| y.value()).collect(), rows)
    })
}

/// Sweeps from all `outputs` down to a position, and writes their derivatives with respect to `columns`, row by row. There must be no
/// inputs after the position, and none before it except the columns.
#[track_caller]
pub(crate) fn sweep_rows(outputs: &[Var], columns: &[Place], down_to: Position, rows: &mut [f64]) {
    if let [_] = outputs {
        return sweep_some_rows(&ONE, outputs, columns, down_to, rows);
    }
    for (some, rows) in outputs.chunks(SEEDS).zip(rows.chunks_mut((SEEDS * columns.len()).max(1))) {
        sweep_some_rows(&MANY, some, columns, down_to, rows);
    }
}

#[track_caller]
fn sweep_some_rows<A: Adjoint>(
    room: &'static LocalKey<RefCell<Adjoints<A>>>,
    outputs: &[Var],
    columns: &[Place],
    down_to: Position,
    rows: &mut [f64],
) {
    with_clean(room, |adjoints| {
        for (row, y) in outputs.iter().enumerate() {
            let mut seed = A::ZERO;
            seed.lanes_mut()[row] = 1.0;
            adjoints.add(y.place(), &seed, misused);
        }
        adjoints.sweep(down_to, misused);
        for (column, place) in columns.iter().enumerate() {
            let slopes = adjoints.take(*place, misused);
            for (row, slope) in slopes.lanes().iter().enumerate().take(outputs.len()) {
                rows[row * columns.len() + column] = *slope;
            }
        }
    });
}
