//! Compressions: a few seeds whose products with a sparse matrix hold all of its entries.

use super::{Colouring, Pattern};

/// Seeds for a sparse matrix, one per colour, and where each entry is found in the products with them.
///
/// ```
/// use wengert::prelude::*;
/// let banded = Pattern::new(4, 4, (0..4).flat_map(|i: usize| (i.saturating_sub(1)..=i).map(move |j| (i, j))));
/// let compression = banded.compress();
/// assert_eq!(compression.colouring().colours(), [0, 1, 0, 1]);
/// // Entry (1, 0) is the second number of the product with the seed of columns 0 and 2.
/// assert!(compression.is_forward());
/// assert_eq!(compression.places()[1], (0, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    colouring: Colouring,
    is_forward: bool,
    places: Vec<(u32, usize)>,
}

impl Compression {
    /// The colours of columns, or of rows.
    pub fn colouring(&self) -> &Colouring {
        &self.colouring
    }

    /// Whether columns are coloured, for products with the matrix, rather than rows, for products with its transpose.
    pub fn is_forward(&self) -> bool {
        self.is_forward
    }

    /// For each entry, the colour of its seed and its index in the product.
    pub fn places(&self) -> &[(u32, usize)] {
        &self.places
    }
}

impl Pattern {
    /// The better of the compressions by columns and by rows; its entries are in the order of [`iter`](Pattern::iter).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let sum = Pattern::new(1, 9, (0..9).map(|column| (0, column))).compress();
    /// assert_eq!((sum.is_forward(), sum.colouring().count()), (false, 1));
    /// ```
    #[track_caller]
    pub fn compress(&self) -> Compression {
        // No colouring needs fewer colours than the fullest row or column has entries: this often decides.
        let (forward_least, reverse_least) = (self.fullest_row(), self.transpose().fullest_row());
        let columns = (forward_least <= reverse_least).then(|| self.colour_columns());
        let rows = match &columns {
            Some(columns) if columns.count() <= reverse_least => None,
            _ => Some(self.colour_rows()),
        };
        let columns = match (columns, &rows) {
            (None, Some(rows)) if rows.count() > forward_least => Some(self.colour_columns()),
            (columns, _) => columns,
        };
        match (columns, rows) {
            (Some(columns), rows) if rows.as_ref().is_none_or(|rows| columns.count() <= rows.count()) => {
                let places = self.iter().map(|(row, column)| (columns.colours()[column], row)).collect();
                Compression { colouring: columns, is_forward: true, places }
            }
            (_, rows) => {
                let rows = rows.expect("one of both was coloured");
                let places = self.iter().map(|(row, column)| (rows.colours()[row], column)).collect();
                Compression { colouring: rows, is_forward: false, places }
            }
        }
    }

    /// The compression of a symmetric matrix by a star colouring; its entries are in the order of [`lower`](Pattern::lower).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let arrow = Pattern::new(9, 9, (0..9).flat_map(|i| [(0, i), (i, 0), (i, i)])).compress_symmetric();
    /// assert_eq!((arrow.colouring().count(), arrow.places().len()), (2, 17));
    /// ```
    #[track_caller]
    pub fn compress_symmetric(&self) -> Compression {
        let colouring = self.colour_star();
        let colours = colouring.colours();
        // If an entry is the only one of its colour in its row, it is read there; otherwise its mirror image is read.
        let (mut crowd, mut places) = (vec![0u32; colouring.count()], Vec::new());
        for row in 0..self.rows() {
            let columns = || self.row(row).iter().map(|&column| column as usize);
            columns().for_each(|column| crowd[colours[column] as usize] += 1);
            for column in columns().take_while(|&column| column <= row) {
                places.push(match crowd[colours[column] as usize] {
                    1 => (colours[column], row),
                    _ => (colours[row], column),
                });
            }
            columns().for_each(|column| crowd[colours[column] as usize] = 0);
        }
        Compression { colouring, is_forward: true, places }
    }

    /// The entries on and below the diagonal, by row, then by column.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let full = Pattern::new(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    /// assert_eq!(full.lower().collect::<Vec<_>>(), [(0, 0), (1, 0), (1, 1)]);
    /// ```
    pub fn lower(&self) -> impl Iterator<Item = (usize, usize)> {
        self.iter().filter(|(row, column)| column <= row)
    }
}
