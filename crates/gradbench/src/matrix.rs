//! A matrix that is serialised as a list of rows, stored in one vector.

use crate::run::ensure;
use serde::{Deserialize, Serialize, Serializer};

/// Rows of equal length, read from and written to lists of lists.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>")]
pub(crate) struct Matrix {
    rows: usize,
    width: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    /// A matrix from its elements, row by row.
    pub fn new((rows, width): (usize, usize), numbers: Vec<f64>) -> Matrix {
        assert_eq!(numbers.len(), rows * width, "a matrix of {rows} x {width} numbers");
        Matrix { rows, width, numbers }
    }

    /// The numbers of rows and columns.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.width)
    }

    /// Its elements, row by row, if it has this size.
    pub fn into_numbers(self, name: &str, (rows, width): (usize, usize)) -> Result<Vec<f64>, String> {
        let sizes = format!("{name} is {} x {}, expected {rows} x {width}", self.rows, self.width);
        ensure(self.size() == (rows, width), sizes)?;
        Ok(self.numbers)
    }
}

impl TryFrom<Vec<Vec<f64>>> for Matrix {
    type Error = String;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Matrix, String> {
        let width = rows.first().map_or(0, Vec::len);
        match rows.iter().find(|row| row.len() != width) {
            Some(other) => Err(format!("rows of {width} and {} numbers in one matrix", other.len())),
            None => Ok(Matrix { rows: rows.len(), width, numbers: rows.concat() }),
        }
    }
}

impl Serialize for Matrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.rows).map(|row| &self.numbers[row * self.width..][..self.width]))
    }
}
