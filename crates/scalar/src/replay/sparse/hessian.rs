//! Sparse Hessians of recorded functions, and of weighted sums of their outputs.

use super::super::symbol::traced;
use super::super::{Replay, Returned, Symbol, Symbols};
use super::domains::hessian_pattern;
use super::structure::Structure;
use std::panic::Location;
use wengert_engine::{Error, Pattern};

const NAME: &str = "sparse_hessian";

/// The sparse Hessian of a weighted sum of the outputs of a recorded function, on and below the diagonal. The structure is found once, for
/// any weights; the values can be computed many times.
///
/// If the function returns an objective and constraints, such a sum is the Lagrangian. Linear terms have no entries. Inputs are grouped by
/// a star colouring, and every entry is read off a product of the Hessian and a seed. The structure is that of the first recorded path. If
/// a call takes another path, that path is recorded, and must not have any further entries.
///
/// ```
/// use wengert_scalar::{Real, SparseHessian, Symbol};
/// // An objective, a constraint that bends and one that does not.
/// let problem = |x: &[Symbol]| [x[0] * x[0] * x[1] + x[2], x[1] * x[2], x[0] + x[1]];
/// let hessian = SparseHessian::record(problem, &[1.0; 3]);
/// assert_eq!(hessian.triplets(), (&[0, 1, 2][..], &[0, 0, 1][..]));
/// let mut values = [0.0; 3];
/// let (sigma, lambda) = (0.5, [3.0, 7.0]);
/// hessian.lagrangian(&[1.0, 2.0, 3.0], sigma, &lambda, &mut values);
/// assert_eq!(values, [2.0, 1.0, 3.0]);
/// ```
pub struct SparseHessian<F = Box<Symbols>> {
    replay: Replay<F>,
    structure: Structure,
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> SparseHessian<F> {
    /// Records `f` at `x`, and finds the structure of its Hessian there.
    #[track_caller]
    pub fn record(f: F, x: &[f64]) -> SparseHessian<F> {
        let structure = Structure::of(hessian_pattern(&traced(x, &f, Y::numbers)), true);
        SparseHessian { replay: Replay::record(f, x), structure }
    }

    /// Uses the caller's order of entries, each in either triangle. There may be more entries than the function has; these are zero until a
    /// path has them. If an entry is listed twice, the second is zero.
    ///
    /// ```
    /// use wengert_scalar::SparseHessian;
    /// let upper = SparseHessian::record(|x| x[0] * x[0] * x[1], &[1.0, 1.0]).in_order(&[0, 0, 1], &[1, 0, 1]);
    /// let (mut hessian, mut values) = (upper, [0.0; 3]);
    /// hessian.values(&[2.0, 3.0], &[1.0], &mut values);
    /// assert_eq!(values, [4.0, 6.0, 0.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn in_order(mut self, rows: &[usize], columns: &[usize]) -> SparseHessian<F> {
        self.structure = match self.structure.in_order(NAME, rows, columns) {
            Ok(structure) => structure,
            Err(error) => error.at(Location::caller()).raise(),
        };
        self
    }

    /// The sparsity pattern, with both triangles.
    pub fn pattern(&self) -> &Pattern {
        &self.structure.pattern
    }

    /// The rows and the columns of the entries, in the order of [`values`](SparseHessian::values): by default by row, then by column.
    pub fn triplets(&self) -> (&[usize], &[usize]) {
        (&self.structure.rows, &self.structure.columns)
    }

    /// Number of Hessian-vector products per evaluation.
    pub fn seeds(&self) -> usize {
        self.structure.seeds()
    }

    /// How often the function was recorded.
    pub fn recordings(&self) -> usize {
        self.replay.recordings()
    }

    /// Writes the entries at `x` for a function that returns an objective, weighted by `sigma`, and constraints, weighted by `lambda`.
    #[track_caller]
    pub fn lagrangian(&self, x: &[f64], sigma: f64, lambda: &[f64], values: &mut [f64]) {
        self.values(x, &[&[sigma], lambda].concat(), values);
    }

    /// Writes the values of the entries at `x`, given a weight for each output of the function.
    #[track_caller]
    pub fn values(&self, x: &[f64], weights: &[f64], values: &mut [f64]) {
        if let Err(error) = self.try_values(x, weights, values) {
            error.raise();
        }
    }

    /// Like [`values`](SparseHessian::values), but returns an error if the path that `x` takes has further entries.
    ///
    /// ```
    /// use wengert_engine::ErrorKind;
    /// use wengert_scalar::{Real, SparseHessian};
    /// let hessian = SparseHessian::record(|x| if x[0] > 0.0 { x[0] } else { x[0] * x[0] }, &[1.0]);
    /// assert_eq!(hessian.try_values(&[-1.0], &[1.0], &mut []).unwrap_err().kind(), &ErrorKind::Retraced);
    /// ```
    #[track_caller]
    pub fn try_values(&self, x: &[f64], weights: &[f64], values: &mut [f64]) -> Result<(), Error> {
        let (structure, line) = (&self.structure, Location::caller());
        let recording = &mut *self.replay.recording();
        recording.expect(NAME, x.len(), weights.len());
        structure.expect_room(NAME, values.len());
        recording.on_judged_path(
            x,
            |path| {
                let (machine, adjoints, seed, offset) = path.second_order();
                let (adjoints, offset) = (*adjoints, *offset);
                // The seeds of the outputs are in consecutive cells.
                let inputs = x.iter().copied().zip(0..).chain(weights.iter().copied().zip(*seed..));
                let inputs: Vec<(f64, u32)> = inputs.collect();
                let [directions, results] =
                    [offset, adjoints + offset].map(|first| (first..first + x.len() as u32).collect::<Vec<u32>>());
                structure.evaluate(machine, &inputs, &directions, &results, values)
            },
            |found| structure.expect_covers(NAME, &hessian_pattern(found)).map_err(|error| error.at(line)),
        )
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y + Send + Sync + 'static> SparseHessian<F> {
    /// The same derivatives, with a type that can be named; see [`Replay::boxed`].
    ///
    /// ```
    /// use wengert_scalar::{Real, SparseHessian};
    /// struct Problem {
    ///     derivatives: SparseHessian,
    /// }
    /// let derivatives = SparseHessian::record(|x| x[0] * x[0], &[1.0]).boxed();
    /// assert_eq!(Problem { derivatives }.derivatives.recordings(), 1);
    /// ```
    #[must_use]
    pub fn boxed(self) -> SparseHessian {
        SparseHessian { replay: self.replay.boxed(), structure: self.structure }
    }
}
