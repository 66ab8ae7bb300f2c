//! The derivative at one point as a linear map that can be applied in both directions.

use super::jacobian::Matrix;
use super::{Chosen, Record, once};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::methods::*;
use crate::primitive::Spec;
use crate::{Error, ErrorKind, Pullback, Shape, Tensor, Tree, vmap};
use easy_ext::ext;
use std::sync::Arc;

/// The default size limit of `to_dense` in bytes.
const MOST_BYTES: usize = 1 << 31;

/// The derivative of a function at one point, as a linear operator from tangents of the input to tangents of the output and, transposed,
/// from cotangents of the output to cotangents of the input. No matrix is formed unless it is requested.
///
/// ```
/// use wengert::prelude::*;
/// let jacobian = Jacobian::of(|x: &Tensor| x * x, &Tensor::from([1.0, 2.0]));
/// assert_eq!(jacobian.apply(&Tensor::from([1.0, 1.0])), Tensor::from([2.0, 4.0]));
/// assert_eq!(jacobian.apply_transpose(&Tensor::from([0.0, 1.0])), Tensor::from([0.0, 4.0]));
/// assert_eq!(jacobian.to_dense().unwrap(), Tensor::from([[2.0, 0.0], [0.0, 4.0]]));
/// ```
pub struct LinearMap<X, Y>(pub Arc<Record<X, Y>>);

/// The Jacobian at one point as a linear operator.
pub type Jacobian<X, Y> = LinearMap<X, Y>;

/// The value of `f` at `x`, and its derivative there as a linear map. `f` runs once; the map can be applied many times, in
/// either direction.
///
/// ```
/// use wengert::prelude::*;
/// let (y, map) = linearize(|x: &Tensor| x.sin(), &Tensor::from(0.0));
/// assert_eq!((y.item(), map.apply(&Tensor::from(2.0)).item()), (0.0, 2.0));
/// assert_eq!(map.transpose().call(&Tensor::from(3.0)).item(), 3.0);
/// ```
#[track_caller]
pub fn linearize<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, x: &X) -> (Y, LinearMap<X, Y>) {
    let line = location::resolve(Line::caller());
    let record = Record::new("linearize", &mut once(f), x, &Chosen::All, line).or_raise();
    (record.output.map_leaves(Tensor::clone), LinearMap(Arc::new(record)))
}

impl<X, Y> Clone for LinearMap<X, Y> {
    fn clone(&self) -> Self {
        LinearMap(self.0.clone())
    }
}

impl<X: Tree, Y: Tree> LinearMap<X, Y> {
    /// The derivative of `f` at `x`; see [`linearize`].
    #[track_caller]
    pub fn of(f: impl FnOnce(&X) -> Y, x: &X) -> LinearMap<X, Y> {
        linearize(f, x).1
    }

    /// The tangent of the output, given a tangent of the input.
    #[track_caller]
    pub fn apply(&self, tangent: &X) -> Y {
        self.0.push_tree("linear map", tangent, location::resolve(Line::caller())).or_raise()
    }

    /// The tangents of the output, given a batch of tangents: every leaf has a leading batch axis.
    #[track_caller]
    pub fn apply_batch(&self, tangents: &X) -> Y {
        vmap(|tangent: &X| self.apply(tangent))(tangents)
    }

    /// The cotangent of the input, given a cotangent of the output.
    #[track_caller]
    pub fn apply_transpose(&self, cotangent: &Y) -> X {
        self.0.pull_tree("linear map", cotangent, true, location::resolve(Line::caller())).or_raise()
    }

    /// The transposed map, on cotangents.
    pub fn transpose(&self) -> Pullback<X, Y> {
        Pullback(self.0.clone())
    }

    /// The number of rows and columns: the floating-point elements of the output, and of what it is differentiated with respect to.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let map = Jacobian::of(|(a, b): &(Tensor, Tensor)| a * b, &(Tensor::from([1.0, 2.0]), Tensor::from(3.0)));
    /// assert_eq!(map.size(), (2, 3));
    /// ```
    pub fn size(&self) -> (usize, usize) {
        Matrix::of(&self.0).size()
    }

    /// The dense matrix, with rows and columns in the order of leaves and their elements. Returns an error that states the size if it is
    /// more than 2 GiB.
    #[track_caller]
    pub fn to_dense(&self) -> Result<Tensor, Error> {
        self.to_dense_within(MOST_BYTES)
    }

    /// The dense matrix. Returns an error if it takes more than `most` bytes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let map = Jacobian::of(|x: &Tensor| x * x, &Tensor::zeros([1000]));
    /// let error = map.to_dense_within(1_000_000).unwrap_err();
    /// assert!(error.to_string().contains("8000000 bytes"));
    /// ```
    #[track_caller]
    pub fn to_dense_within(&self, most: usize) -> Result<Tensor, Error> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        self.dense(most).map_err(|error| error.at(line))
    }

    fn dense(&self, most: usize) -> Result<Tensor, Error> {
        let matrix = Matrix::of(&self.0);
        let dtype = matrix.dtype()?;
        let (rows, columns) = matrix.size();
        let bytes = matrix.bytes();
        if bytes > most {
            let shape = Shape::from([rows, columns]);
            let message = format!("a matrix of {rows} x {columns} {dtype} takes {bytes} bytes, more than {most}");
            return Err(Error::new(ErrorKind::Shape(vec![shape]), "to_dense", message)
                .help("use apply and apply_transpose, which need no matrix, or to_dense_within to allow more"));
        }
        matrix.check("to_dense")?;
        let blocks = matrix.blocks(None)?;
        let flat = |(block, (m, n)): (Option<Tensor>, (usize, usize))| match block {
            Some(block) => block.reshape([m, n]),
            None => Tensor::constant(0.0, &Spec::new([m, n], dtype)),
        };
        let rows = matrix.outputs().map(|(row, m)| {
            let parts = matrix.inputs().map(|(column, n)| flat((blocks[row][column].clone(), (m, n))));
            Tensor::concat(&parts.collect::<Vec<_>>(), 1)
        });
        Ok(Tensor::concat(&rows.collect::<Vec<_>>(), 0))
    }
}

/// The transpose of a pullback.
#[ext(PullbackMethods)]
impl<X: Tree, Y: Tree> Pullback<X, Y> {
    /// The same derivative as a map of tangents.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, pullback) = vjp(|x: &Tensor| x * x, &Tensor::from(3.0));
    /// assert_eq!(pullback.transpose().apply(&Tensor::from(0.5)).item(), 3.0);
    /// ```
    pub fn transpose(&self) -> LinearMap<X, Y> {
        LinearMap(self.0.clone())
    }
}
