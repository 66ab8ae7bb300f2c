//! diagonal - the diagonal of two axes.   y[.., i] = x[.., i, i + offset] with the two axes moved last,   dy likewise.   A diagonal outside
//! the matrix is empty. Nothing is copied.
//!
//! diagonal_add - addition to a diagonal.   y = x with its diagonal += v,   dy likewise.   The transpose of diagonal.
//!
//! diagonal_assign - replacement of a diagonal.   y = x with its diagonal = v,   dy likewise.   Overwritten elements get gradient 0.
//! Written `x.diagonal_scatter(v, ..)`.

use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::checked_axis;

/// The methods of `diagonal`.
#[ext(DiagonalMethods)]
impl Tensor {
    /// The main diagonal of the first two axes, as the last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).diagonal(), Tensor::from([1.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn diagonal(&self) -> Tensor {
        self.diagonal_of(0, 0, 1)
    }

    /// The diagonal of the axes `rows` and `columns`, `offset` above the main one, as the last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.diagonal_of(1, 0, 1), Tensor::from([2.0]));
    /// assert_eq!(x.diagonal_of(-1, -2, -1), Tensor::from([3.0]));
    /// ```
    #[track_caller]
    pub fn diagonal_of(&self, offset: isize, rows: isize, columns: isize) -> Tensor {
        bind1(&DIAGONAL, diagonal_attrs("diagonal", self.shape(), offset, rows, columns).or_raise(), &[self])
    }

    /// This tensor with the diagonal of the axes `rows` and `columns`, `offset` above the main one, replaced.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::zeros([2, 2]).diagonal_scatter(&Tensor::from([1.0, 2.0]), 0, 0, 1);
    /// assert_eq!(x, Tensor::from([[1.0, 0.0], [0.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn diagonal_scatter(&self, values: &Tensor, offset: isize, rows: isize, columns: isize) -> Tensor {
        let attrs = diagonal_attrs("diagonal_scatter", self.shape(), offset, rows, columns).or_raise();
        bind1(&DIAGONAL_ASSIGN, attrs, &[self, values])
    }
}

fn diagonal_attrs(name: &str, shape: &[usize], offset: isize, rows: isize, columns: isize) -> Result<Attrs, Error> {
    let (rows, columns) = (checked_axis(name, rows, shape)?, checked_axis(name, columns, shape)?);
    Ok(Attrs::new().with_int("offset", offset as i64).with_int("rows", rows as i64).with_int("columns", columns as i64))
}

/// The primitive `diagonal`.
pub static DIAGONAL: PartTake<DiagonalPart> = PartTake::new("diagonal");

/// The primitive `diagonal_add`.
pub static DIAGONAL_ADD: PartUpdate<DiagonalPart> = PartUpdate::adding("diagonal_add");

/// The primitive `diagonal_assign`.
pub static DIAGONAL_ASSIGN: PartUpdate<DiagonalPart> = PartUpdate::replacing("diagonal_assign");

/// A diagonal of two axes.
pub struct DiagonalPart;

/// The row and column where the diagonal starts.
fn corner(attrs: &Attrs) -> (usize, usize) {
    let offset = attrs.int("offset");
    (offset.min(0).unsigned_abs() as usize, offset.max(0) as usize)
}

impl PartOf for DiagonalPart {
    const ATTRIBUTES: &'static [&'static str] = &["offset", "rows", "columns"];
    const TAKE: &'static PartTake<DiagonalPart> = &DIAGONAL;
    const ADD: &'static PartUpdate<DiagonalPart> = &DIAGONAL_ADD;

    fn shape(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<Shape, Error> {
        let (rows, columns) = (attrs.axis("rows"), attrs.axis("columns"));
        if rows == columns || rows.max(columns) >= shape.len() {
            let message = format!("axes {rows} and {columns} are not two axes of shape {}", Shape::from(shape));
            return Err(Error::new(ErrorKind::Range, name, message).help("a diagonal needs two different axes"));
        }
        let (down, right) = corner(attrs);
        let length = shape[rows].saturating_sub(down).min(shape[columns].saturating_sub(right));
        let others = (0..shape.len()).filter(|&axis| axis != rows && axis != columns).map(|axis| shape[axis]);
        Ok(others.chain([length]).collect())
    }

    fn layout(attrs: &Attrs, whole: &Layout, part: &Shape) -> Layout {
        let (rows, columns) = (attrs.axis("rows"), attrs.axis("columns"));
        let (down, right) = corner(attrs);
        let others = (0..whole.shape.rank()).filter(|&axis| axis != rows && axis != columns);
        let strides = others.map(|axis| whole.strides[axis]).chain([whole.strides[rows] + whole.strides[columns]]);
        let skipped = down as isize * whole.strides[rows] + right as isize * whole.strides[columns];
        let offset = if part.elements() == 0 { whole.offset } else { whole.offset + skipped };
        Layout { shape: part.clone(), strides: strides.collect(), offset }
    }

    fn batched(attrs: &Attrs, _size: usize) -> Attrs {
        Attrs::new()
            .with_int("offset", attrs.int("offset"))
            .with_int("rows", attrs.int("rows") + 1)
            .with_int("columns", attrs.int("columns") + 1)
    }

    fn place(attrs: &Attrs, i: &[usize]) -> Vec<usize> {
        let ((down, right), (&last, others)) = (corner(attrs), i.split_last().expect("a diagonal has an axis"));
        let mut others = others.iter();
        let at = |axis: usize| match axis {
            _ if axis == attrs.axis("rows") => last + down,
            _ if axis == attrs.axis("columns") => last + right,
            _ => *others.next().expect("one for every other axis"),
        };
        (0..=i.len()).map(at).collect()
    }

    fn samples() -> Vec<(Shape, Attrs)> {
        let part = |offset: i64, rows: i64, columns: i64| {
            Attrs::new().with_int("offset", offset).with_int("rows", rows).with_int("columns", columns)
        };
        vec![
            (Shape::from([3, 3]), part(0, 0, 1)),
            (Shape::from([3, 5]), part(2, 0, 1)),
            (Shape::from([5, 2]), part(-2, 0, 1)),
            (Shape::from([2, 3, 4]), part(1, 2, 0)),
            (Shape::from([3, 2, 3]), part(-1, 0, 2)),
            (Shape::from([2, 2]), part(5, 0, 1)),
            (Shape::from([1, 1]), part(0, 1, 0)),
            (Shape::from([0, 3]), part(0, 0, 1)),
        ]
    }
}
