//! Blocks of a recording that are replaced by their partial derivatives.

use crate::Var;
use crate::gradient::{keep, kept, sweep_rows};
use crate::var::misused;
use std::cell::RefCell;
use wengert_kernels::tape::{Part, Place, part};

thread_local! {
    // Reused from block to block.
    static SLOPES: RefCell<Slopes> = RefCell::default();
}

/// The partial derivatives of some variables, one row per variable and one column per place they depend on.
#[derive(Default)]
pub(crate) struct Slopes {
    pub places: Vec<Place>,
    pub rows: Vec<f64>,
}

impl Slopes {
    /// Finds the places from before the part that it reads, and returns how many there are.
    #[track_caller]
    pub fn read(&mut self, part: &Part) -> usize {
        part.reads(&mut self.places, misused);
        self.places.len()
    }

    /// Computes the derivatives of a part's outputs with respect to the places it reads.
    #[track_caller]
    pub fn sweep(&mut self, part: &Part, outputs: &[Var]) {
        self.rows.clear();
        self.rows.resize(outputs.len() * self.places.len(), 0.0);
        // One output at a time: a sweep of several needs adjoints for the whole tape instead of just this part.
        for (y, row) in outputs.iter().zip(self.rows.chunks_mut(self.places.len().max(1))) {
            sweep_rows(std::slice::from_ref(y), &self.places, part.start(), row);
        }
    }

    /// The derivatives of one output.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (f64, Place)> {
        let count = self.places.len();
        self.rows[row * count..(row + 1) * count].iter().copied().zip(self.places.iter().copied())
    }
}

/// Replaces the recording of `f` by one statement per returned variable, with partial derivatives with respect to every earlier variable
/// that `f` reads. Use it for long computations with few inputs and outputs. The recording is kept as it is if the replacement would be
/// larger, or if something was [seeded](crate::Tape::seed) in the meantime. Only the returned variables, and inputs created inside, may
/// leave the block: using any other of its variables later is an error.
///
/// ```
/// use wengert_scalar::{Var, preaccumulate, recording};
/// recording(|tape| {
///     let (x, y) = (tape.input(0.5), tape.input(0.25));
///     let [z] = preaccumulate(|| [(0..100).fold(x, |z, _| (z * y).sin() + x)]);
///     // Two inputs, and one statement of two arguments.
///     assert_eq!((tape.statements(), tape.bytes()), (3, 2 + 25));
/// # assert!(z.is_active());
/// });
/// # use wengert_scalar::Real;
/// ```
#[track_caller]
pub fn preaccumulate<const M: usize>(f: impl FnOnce() -> [Var; M]) -> [Var; M] {
    let mut slopes = kept(&SLOPES);
    let (outputs, is_replaced) = part(|part| {
        part.holds_adjoints();
        let outputs = f();
        let is_inside = outputs.map(|output| part.holds(output.place()));
        let count = is_inside.iter().filter(|is_inside| **is_inside).count();
        if part.has_inputs() || part.is_held() || count * Part::statement_bytes(slopes.read(part)) >= part.bytes() {
            part.keep();
            return (outputs.map(|output| Var::at(output.value(), part.give(output.place()))), [false; M]);
        }
        // Variables from before the block need no row, and neither do constants.
        let rows = std::array::from_fn::<Var, M, _>(|m| if is_inside[m] { outputs[m] } else { Var::from(0.0) });
        slopes.sweep(part, &rows);
        (outputs, is_inside)
    });
    let replaced = std::array::from_fn(|m| match is_replaced[m] {
        true => Var::from_slopes(outputs[m].value(), slopes.places.len(), slopes.row(m)),
        false => outputs[m],
    });
    keep(&SLOPES, slopes);
    replaced
}

/// Wraps a function so that each call is a [preaccumulated block](preaccumulate). Use it for a function that is called often.
///
/// ```
/// use wengert_scalar::{Real, Var, gradient_of, preaccumulated};
/// let root = preaccumulated(|a: Var| [(0..8).fold(a, |x, _| (x + a / x) * 0.5)]);
/// let (value, [slope]) = gradient_of(|[a]| root(root(a)[0])[0], [16.0]);
/// assert!((value - 2.0).abs() < 1e-12 && (slope - 2.0 / 64.0).abs() < 1e-12);
/// ```
pub fn preaccumulated<X, const M: usize>(f: impl Fn(X) -> [Var; M]) -> impl Fn(X) -> [Var; M] {
    move |x| preaccumulate(|| f(x))
}
