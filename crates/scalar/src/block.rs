//! Blocks of a recording that are replaced by their slopes.

use crate::Var;
use crate::gradient::{keep, kept, sweep_rows};
use std::cell::RefCell;
use wengert_kernels::tape::{Part, Place, part};

thread_local! {
    // Kept between blocks.
    static SLOPES: RefCell<Slopes> = RefCell::default();
}

/// The slopes of some numbers, row by row, by the places that they depend on.
#[derive(Default)]
pub(crate) struct Slopes {
    pub places: Vec<Place>,
    pub rows: Vec<f64>,
}

impl Slopes {
    /// Finds what a part reads from before; how much that is.
    pub fn read(&mut self, part: &Part) -> usize {
        part.reads(&mut self.places);
        self.places.len()
    }

    /// Those of numbers of a part, by what it reads.
    #[track_caller]
    pub fn sweep(&mut self, part: &Part, outputs: &[Var]) {
        self.rows.clear();
        self.rows.resize(outputs.len() * self.places.len(), 0.0);
        // One by one: adjoints of several at once take their room for all of the tape, and not for the part alone.
        for (y, row) in outputs.iter().zip(self.rows.chunks_mut(self.places.len().max(1))) {
            sweep_rows(std::slice::from_ref(y), &self.places, part.start(), row);
        }
    }

    /// Those of one number.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (f64, Place)> {
        let count = self.places.len();
        self.rows[row * count..(row + 1) * count].iter().copied().zip(self.places.iter().copied())
    }
}

/// Replaces what `f` records by one statement for each number that it returns, with its slopes by all numbers from before that `f` reads:
/// for long computations with few of both. If that would take more room, or if something was [seeded](crate::Tape::seed) meanwhile, what
/// was recorded stays. What leaves the block is what it returns, and inputs that it made: another variable of it is an error afterwards.
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
        // Those from before are no rows, and neither are constants.
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

/// A function whose calls are [blocks](preaccumulate): said once for one that is called often.
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
