//! The entries of a sparse matrix in a given order, and how to read them off products with few seeds.

use super::super::machine::{Left, Machine};
use crate::expect::expect;
use rustc_hash::FxHashMap;
use wengert_engine::{Error, ErrorKind, Pattern};

pub(super) struct Structure {
    pub pattern: Pattern,
    is_symmetric: bool,
    pub rows: Vec<usize>,
    pub columns: Vec<usize>,
    pub is_forward: bool,
    /// The colour of every seed.
    colours: Vec<u32>,
    /// For every colour, the entries that are read off its product: their index, and their row there.
    entries: Vec<Vec<(u32, u32)>>,
}

impl Structure {
    /// The entries of a pattern by row, then by column. For a symmetric pattern, only those on and below the diagonal.
    pub fn of(pattern: Pattern, is_symmetric: bool) -> Structure {
        let (rows, columns) = match is_symmetric {
            true => pattern.lower().unzip(),
            false => pattern.iter().unzip(),
        };
        Structure::new(pattern, is_symmetric, rows, columns)
    }

    /// The same for entries in another order, possibly with more entries. Those of a symmetric matrix may be in either triangle.
    #[track_caller]
    pub fn in_order(&self, name: &str, rows: &[usize], columns: &[usize]) -> Result<Structure, Error> {
        expect(rows.len() == columns.len(), name, || format!("{} rows and {} columns", rows.len(), columns.len()));
        let entries = rows.iter().zip(columns).map(|(row, column)| (*row, *column));
        let given = Pattern::new(self.pattern.rows(), self.pattern.columns(), entries);
        let pattern = if self.is_symmetric { given.union(&given.transpose()) } else { given };
        if let Some((row, column)) = missing(&pattern, &self.pattern) {
            let message = format!("entry ({row}, {column}) has no place among the {} that are given", rows.len());
            return Err(Error::new(ErrorKind::Argument, name, message).help("give all entries that triplets() has"));
        }
        Ok(Structure::new(pattern, self.is_symmetric, rows.to_vec(), columns.to_vec()))
    }

    fn new(pattern: Pattern, is_symmetric: bool, rows: Vec<usize>, columns: Vec<usize>) -> Structure {
        let compression = if is_symmetric { pattern.compress_symmetric() } else { pattern.compress() };
        // The position of an entry of a symmetric matrix, or of its mirror image, on or below the diagonal.
        let found_at = |row: usize, column: usize| match is_symmetric {
            true => (row.max(column), row.min(column)),
            false => (row, column),
        };
        let known = pattern.iter().filter(|(row, column)| found_at(*row, *column) == (*row, *column));
        let mut places: FxHashMap<(usize, usize), (u32, usize)> =
            known.zip(compression.places().iter().copied()).collect();
        let mut entries = vec![Vec::new(); compression.colouring().count()];
        for (number, (row, column)) in rows.iter().zip(&columns).enumerate() {
            // Solvers add up duplicate entries, so the second one stays zero.
            if let Some((colour, place)) = places.remove(&found_at(*row, *column)) {
                entries[colour as usize].push((number as u32, place as u32));
            }
        }
        let colours = compression.colouring().colours().to_vec();
        Structure { pattern, is_symmetric, rows, columns, is_forward: compression.is_forward(), colours, entries }
    }

    /// Number of products per evaluation.
    pub fn seeds(&self) -> usize {
        self.entries.len()
    }

    #[track_caller]
    pub fn expect_room(&self, name: &str, room: usize) {
        expect(room == self.rows.len(), name, || format!("room for {room} values, there are {}", self.rows.len()));
    }

    /// Returns an error if the pattern of another path has further entries.
    pub fn expect_covers(&self, name: &str, other: &Pattern) -> Result<(), Error> {
        match missing(&self.pattern, other) {
            None => Ok(()),
            Some((row, column)) => {
                let message =
                    format!("on the path that is taken here there is an entry ({row}, {column}), on others none");
                Err(Error::new(ErrorKind::Retraced, name, message)
                    .help("give the entries of all paths with in_order(), or make a structure for each path"))
            }
        }
    }

    /// Computes the entries: `seeds` are the cells that take a seed, `results` those that hold the product afterwards.
    pub fn evaluate(
        &self,
        machine: &mut Machine,
        inputs: &[(f64, u32)],
        seeds: &[u32],
        results: &[u32],
        values: &mut [f64],
    ) -> Result<(), Left> {
        values.fill(0.0);
        let seeds = seeds.iter().zip(&self.colours).map(|(seed, colour)| (*seed, *colour as usize));
        // Even without entries there is a path to check.
        machine.run_seeds(inputs.iter().copied(), seeds, self.entries.len().max(1), |first, shown| {
            for (run, entries) in self.entries.iter().skip(first).take(shown.runs).enumerate() {
                for (number, place) in entries {
                    values[*number as usize] = shown.at(results[*place as usize])[run];
                }
            }
        })
    }
}

/// The first entry of a pattern that is missing in another one of the same size.
fn missing(pattern: &Pattern, other: &Pattern) -> Option<(usize, usize)> {
    other.iter().find(|(row, column)| !pattern.contains(*row, *column))
}
