//! A sparse boolean matrix, in compressed rows.

use super::Sets;
use crate::{Error, ErrorKind};
use std::fmt;

/// The sparsity pattern of a Jacobian or a Hessian: where a matrix may be nonzero.
///
/// ```
/// use wengert::prelude::*;
/// let pattern = jacobian_pattern(|x: &Tensor| x.slice(1..) * x.slice(..-1), &Tensor::ones([4]));
/// assert_eq!((pattern.rows(), pattern.columns(), pattern.entries()), (3, 4, 6));
/// assert_eq!(pattern.to_string(), "3 x 4, 6 entries\n■■··\n·■■·\n··■■");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    columns: usize,
    /// Row `i` is `members[starts[i]..starts[i + 1]]`, ascending.
    starts: Vec<usize>,
    members: Vec<u32>,
}

impl Pattern {
    /// A pattern with these entries, each a row and a column, in any order; duplicates count once.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let pattern = Pattern::new(2, 3, [(0, 2), (1, 0), (0, 2)]);
    /// assert_eq!(pattern.entries(), 2);
    /// ```
    #[track_caller]
    pub fn new(rows: usize, columns: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Pattern {
        let mut entries: Vec<(usize, usize)> = entries.into_iter().collect();
        if let Some((row, column)) = entries.iter().find(|(row, column)| *row >= rows || *column >= columns) {
            let message = format!("entry ({row}, {column}) is outside {rows} x {columns}");
            Error::new(ErrorKind::Range, "pattern", message).raise();
        }
        expect_columns(columns).unwrap_or_else(|error| error.raise());
        entries.sort_unstable();
        entries.dedup();
        let mut starts = vec![0; rows + 1];
        entries.iter().for_each(|(row, _)| starts[row + 1] += 1);
        sum_up(&mut starts);
        Pattern { columns, starts, members: entries.into_iter().map(|(_, column)| column as u32).collect() }
    }

    /// One row per element of these tensors; the elements of a `None` have empty sets.
    pub(super) fn from_sets<'s>(columns: usize, parts: impl Iterator<Item = (usize, Option<&'s Sets>)>) -> Pattern {
        let (mut starts, mut members) = (vec![0], Vec::new());
        for (elements, sets) in parts {
            for element in 0..elements {
                members.extend_from_slice(sets.map_or(&[], |sets| sets.of(element)));
                starts.push(members.len());
            }
        }
        Pattern { columns, starts, members }
    }

    /// The number of rows: elements of the output.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns: elements of the input.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.members.len()
    }

    /// The columns of a row, in ascending order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Pattern::new(2, 3, [(0, 2), (0, 0)]).row(0), [0, 2]);
    /// ```
    #[track_caller]
    pub fn row(&self, row: usize) -> &[u32] {
        &self.members[self.starts[row]..self.starts[row + 1]]
    }

    /// Whether there is an entry at this row and column.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(!Pattern::new(2, 3, [(0, 2)]).contains(1, 2));
    /// ```
    #[track_caller]
    pub fn contains(&self, row: usize, column: usize) -> bool {
        u32::try_from(column).is_ok_and(|column| self.row(row).binary_search(&column).is_ok())
    }

    /// The entries by row, then by column.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let pattern = Pattern::new(2, 3, [(1, 0), (0, 2)]);
    /// assert_eq!(pattern.iter().collect::<Vec<_>>(), [(0, 2), (1, 0)]);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.rows()).flat_map(|row| self.row(row).iter().map(move |&column| (row, column as usize)))
    }

    /// The pattern of the transpose.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Pattern::new(2, 3, [(1, 2)]).transpose(), Pattern::new(3, 2, [(2, 1)]));
    /// ```
    #[track_caller]
    pub fn transpose(&self) -> Pattern {
        expect_columns(self.rows()).unwrap_or_else(|error| error.raise());
        let mut starts = vec![0; self.columns + 1];
        self.members.iter().for_each(|&column| starts[column as usize + 1] += 1);
        sum_up(&mut starts);
        let (mut next, mut members) = (starts.clone(), vec![0; self.members.len()]);
        for (row, column) in self.iter() {
            members[next[column]] = row as u32;
            next[column] += 1;
        }
        Pattern { columns: self.rows(), starts, members }
    }

    /// The union of the entries of two patterns of the same size.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Pattern::new(2, 2, [(0, 1)]), Pattern::new(2, 2, [(1, 0), (0, 1)]));
    /// assert_eq!(a.union(&b), b);
    /// ```
    #[track_caller]
    pub fn union(&self, other: &Pattern) -> Pattern {
        if (self.rows(), self.columns) != (other.rows(), other.columns) {
            let (a, b) = (self.rows(), other.rows());
            let message = format!("the sizes differ: {a} x {} and {b} x {}", self.columns, other.columns);
            Error::new(ErrorKind::Argument, "union", message).raise();
        }
        let (mut starts, mut members) = (vec![0], Vec::with_capacity(self.members.len()));
        for row in 0..self.rows() {
            let from = members.len();
            members.extend_from_slice(self.row(row));
            members.extend(other.row(row).iter().filter(|column| self.row(row).binary_search(column).is_err()));
            members[from..].sort_unstable();
            starts.push(members.len());
        }
        Pattern { columns: self.columns, starts, members }
    }

    /// Whether the patterns have the same size and every entry of `other` is an entry of this one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(!Pattern::new(1, 2, [(0, 1)]).covers(&Pattern::new(1, 2, [(0, 0)])));
    /// ```
    pub fn covers(&self, other: &Pattern) -> bool {
        (self.rows(), self.columns) == (other.rows(), other.columns)
            && other.iter().all(|(row, column)| self.contains(row, column))
    }

    /// Whether it is its own transpose.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(!Pattern::new(2, 2, [(0, 1)]).is_symmetric());
    /// ```
    pub fn is_symmetric(&self) -> bool {
        self.rows() == self.columns && self.transpose() == *self
    }

    /// The largest number of entries in a row.
    pub(super) fn fullest_row(&self) -> usize {
        (0..self.rows()).map(|row| self.row(row).len()).max().unwrap_or(0)
    }

    /// The row and the column of every entry, in order.
    pub(super) fn triplets(&self) -> (Vec<usize>, Vec<usize>) {
        self.iter().unzip()
    }
}

/// Returns an error if the columns cannot be numbered in 32 bits.
pub(super) fn expect_columns(columns: usize) -> Result<(), Error> {
    if u32::try_from(columns).is_ok() {
        return Ok(());
    }
    let message = format!("{columns} columns are more than are supported ({})", u32::MAX);
    Err(Error::new(ErrorKind::Argument, "pattern", message))
}

fn sum_up(starts: &mut [usize]) {
    for place in 1..starts.len() {
        starts[place] += starts[place - 1];
    }
}

/// The maximum number of rows and columns of a printed pattern.
const PICTURE: (usize, usize) = (24, 48);

/// Prints the size and a picture, with a square for an entry and a dot for none. For a large pattern each character stands for a block.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (self.rows(), self.columns);
        write!(f, "{rows} x {columns}, {} entries", self.entries())?;
        let (tall, wide) = (rows.min(PICTURE.0), columns.min(PICTURE.1));
        let mut picture = vec![false; tall * wide];
        for (row, column) in self.iter() {
            picture[row * tall / rows * wide + column * wide / columns] = true;
        }
        for line in picture.chunks(wide.max(1)) {
            f.write_str("\n")?;
            line.iter().try_for_each(|&entry| f.write_str(if entry { "■" } else { "·" }))?;
        }
        Ok(())
    }
}
