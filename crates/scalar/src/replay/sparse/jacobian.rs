//! Sparse Jacobians of recorded functions.

use super::super::symbol::traced;
use super::super::{Replay, Returned, Symbol, Symbols};
use super::domains::jacobian_pattern;
use super::structure::Structure;
use std::panic::Location;
use wengert_engine::{Error, Pattern};

const NAME: &str = "sparse_jacobian";

/// The sparse Jacobian of a recorded function. Its structure is found once; its values can be computed many times.
///
/// Columns without a common row share a forward-mode seed, or rows without a common column a reverse-mode seed, whichever needs fewer
/// seeds. The structure is that of the first recorded path. If a call takes another path, that path is recorded, and must not have any
/// further entries.
///
/// ```
/// use wengert_scalar::{Real, SparseJacobian, Symbol};
/// // Two entries a row, two seeds.
/// let f = |x: &[Symbol]| x.windows(2).map(|pair| pair[0] * pair[0] * pair[1]).collect::<Vec<_>>();
/// let jacobian = SparseJacobian::record(f, &[1.0; 4]);
/// assert_eq!(jacobian.seeds(), 2);
/// assert_eq!(jacobian.triplets(), (&[0, 0, 1, 1, 2, 2][..], &[0, 1, 1, 2, 2, 3][..]));
/// let mut values = [0.0; 6];
/// jacobian.values(&[1.0, 2.0, 3.0, 4.0], &mut values);
/// assert_eq!(values, [4.0, 1.0, 12.0, 4.0, 24.0, 9.0]);
/// ```
pub struct SparseJacobian<F = Box<Symbols>> {
    replay: Replay<F>,
    structure: Structure,
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> SparseJacobian<F> {
    /// Records `f` at `x`, and finds the structure of its Jacobian there.
    #[track_caller]
    pub fn record(f: F, x: &[f64]) -> SparseJacobian<F> {
        let structure = Structure::of(jacobian_pattern(&traced(x, &f, Y::numbers)), false);
        SparseJacobian { replay: Replay::record(f, x), structure }
    }

    /// Uses the caller's order of entries. There may be more entries than the function has; these are zero until a path has them. If an
    /// entry is listed twice, the second is zero.
    ///
    /// ```
    /// use wengert_scalar::SparseJacobian;
    /// let jacobian = SparseJacobian::record(|x| [x[0] * x[1]], &[1.0, 1.0]).in_order(&[0, 0], &[1, 0]);
    /// let mut values = [0.0; 2];
    /// jacobian.values(&[2.0, 3.0], &mut values);
    /// assert_eq!(values, [2.0, 3.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn in_order(mut self, rows: &[usize], columns: &[usize]) -> SparseJacobian<F> {
        self.structure = match self.structure.in_order(NAME, rows, columns) {
            Ok(structure) => structure,
            Err(error) => error.at(Location::caller()).raise(),
        };
        self
    }

    /// The sparsity pattern of the Jacobian.
    pub fn pattern(&self) -> &Pattern {
        &self.structure.pattern
    }

    /// The rows and the columns of the entries, in the order of [`values`](SparseJacobian::values): by default by row, then by column.
    pub fn triplets(&self) -> (&[usize], &[usize]) {
        (&self.structure.rows, &self.structure.columns)
    }

    /// Number of forward-mode or reverse-mode seeds per evaluation.
    pub fn seeds(&self) -> usize {
        self.structure.seeds()
    }

    /// Whether the seeds are tangents of forward mode rather than adjoints of reverse mode.
    pub fn is_forward(&self) -> bool {
        self.structure.is_forward
    }

    /// How often the function was recorded.
    pub fn recordings(&self) -> usize {
        self.replay.recordings()
    }

    /// Writes the values of the entries at `x`.
    #[track_caller]
    pub fn values(&self, x: &[f64], values: &mut [f64]) {
        if let Err(error) = self.try_values(x, values) {
            error.raise();
        }
    }

    /// Like [`values`](SparseJacobian::values), but returns an error if the path that `x` takes has further entries.
    ///
    /// ```
    /// use wengert_engine::ErrorKind;
    /// use wengert_scalar::{Real, SparseJacobian};
    /// let jacobian = SparseJacobian::record(|x| [if x[0] > 0.0 { x[0] } else { x[1] }], &[1.0, 1.0]);
    /// assert_eq!(jacobian.try_values(&[-1.0, 1.0], &mut [0.0]).unwrap_err().kind(), &ErrorKind::Retraced);
    /// assert!(jacobian.try_values(&[2.0, 1.0], &mut [0.0]).is_ok());
    /// ```
    #[track_caller]
    pub fn try_values(&self, x: &[f64], values: &mut [f64]) -> Result<(), Error> {
        let (structure, line) = (&self.structure, Location::caller());
        let recording = &mut *self.replay.recording();
        recording.expect_slopes(NAME, x.len());
        structure.expect_room(NAME, values.len());
        let inputs: Vec<(f64, u32)> = x.iter().copied().zip(0..).collect();
        recording.on_judged_path(
            x,
            |path| match structure.is_forward {
                true => {
                    let outputs = path.output_cells().to_vec();
                    let (machine, offset) = path.tangents();
                    let directions: Vec<u32> = (0..x.len() as u32).map(|column| *offset + column).collect();
                    let results: Vec<u32> = outputs.iter().map(|output| *output + *offset).collect();
                    structure.evaluate(machine, &inputs, &directions, &results, values)
                }
                false => {
                    let (machine, adjoints, seeds) = path.gradient();
                    let results: Vec<u32> = (0..x.len() as u32).map(|column| *adjoints + column).collect();
                    structure.evaluate(machine, &inputs, seeds, &results, values)
                }
            },
            |found| structure.expect_covers(NAME, &jacobian_pattern(found)).map_err(|error| error.at(line)),
        )
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y + Send + Sync + 'static> SparseJacobian<F> {
    /// The same derivatives, with a type that can be named; see [`Replay::boxed`].
    ///
    /// ```
    /// use wengert_scalar::{Real, SparseJacobian};
    /// struct Problem {
    ///     derivatives: SparseJacobian,
    /// }
    /// let derivatives = SparseJacobian::record(|x| x[0] * x[0], &[1.0]).boxed();
    /// assert_eq!(Problem { derivatives }.derivatives.recordings(), 1);
    /// ```
    #[must_use]
    pub fn boxed(self) -> SparseJacobian {
        SparseJacobian { replay: self.replay.boxed(), structure: self.structure }
    }
}
