//! Dense Jacobians: all rows or all columns at once, as a batch of seeds.

use super::{Chosen, Flat, Record};
use crate::error::OrRaise;
use crate::interp::{Content, Level, Tracer, batch};
use crate::location::{self, Line};
use crate::methods::*;
use crate::primitive::{Device, Spec};
use crate::tree::{Blocks, JacobianLayout};
use crate::{DType, Error, ErrorKind, Shape, Tensor, Tree};
use std::ops::Range;
use wengert_kernels::pool;

/// The Jacobian of `f`, as a function. It is computed by rows in reverse mode or by columns in forward mode, whichever are fewer. All seeds
/// go through the recorded function in one batch.
///
/// If the output is a tensor, the Jacobian is a tree like the input, whose leaves have the axes of the output in front. If the output is a
/// tree, the Jacobian is [`Blocks`] of such trees, keyed by the path of the output's leaf.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| Tensor::stack(&[x.prod(), x.sum()], 0);
/// assert_eq!(jacobian(f)(&Tensor::from([2.0, 3.0, 4.0])), Tensor::from([[12.0, 8.0, 6.0], [1.0, 1.0, 1.0]]));
/// ```
#[track_caller]
pub fn jacobian<X: Tree, Y: JacobianLayout>(f: impl Fn(&X) -> Y) -> impl Fn(&X) -> Y::Of<X> {
    let line = location::resolve(Line::caller());
    move |x| arranged("jacobian", &f, x, None, line)
}

/// The Jacobian by rows, in reverse mode: as many seeds as the output has elements. See [`jacobian`].
///
/// ```
/// use wengert::prelude::*;
/// assert_eq!(jacrev(|x: &Tensor| x * x)(&Tensor::from([1.0, 2.0])), Tensor::from([[2.0, 0.0], [0.0, 4.0]]));
/// ```
#[track_caller]
pub fn jacrev<X: Tree, Y: JacobianLayout>(f: impl Fn(&X) -> Y) -> impl Fn(&X) -> Y::Of<X> {
    let line = location::resolve(Line::caller());
    move |x| arranged("jacrev", &f, x, Some(Direction::Rows), line)
}

/// The Jacobian by columns, in forward mode: as many seeds as the input has elements. See [`jacobian`].
///
/// ```
/// use wengert::prelude::*;
/// assert_eq!(jacfwd(|x: &Tensor| x * x)(&Tensor::from([1.0, 2.0])), Tensor::from([[2.0, 0.0], [0.0, 4.0]]));
/// ```
#[track_caller]
pub fn jacfwd<X: Tree, Y: JacobianLayout>(f: impl Fn(&X) -> Y) -> impl Fn(&X) -> Y::Of<X> {
    let line = location::resolve(Line::caller());
    move |x| arranged("jacfwd", &f, x, Some(Direction::Columns), line)
}

pub(super) fn arranged<X: Tree, Y: JacobianLayout>(
    name: &'static str,
    f: &dyn Fn(&X) -> Y,
    x: &X,
    direction: Option<Direction>,
    line: Line,
) -> Y::Of<X> {
    let _scope = location::scope(line);
    let record = Record::new(name, &mut |x| f(x), x, &Chosen::All, line).or_raise();
    let matrix = Matrix::of(&record);
    let blocks = matrix.check(name).and_then(|()| matrix.blocks(direction)).map_err(|error| error.at(line)).or_raise();
    let inputs = x.leaves();
    let row = |(output, row): (&Tensor, Flat)| {
        let block = |(input, block): (&&Tensor, Option<Tensor>)| {
            block.unwrap_or_else(|| {
                Tensor::constant(0.0, &Spec::new(joined(output.shape(), input.shape()), input.dtype())).beside(input)
            })
        };
        x.rebuild(inputs.iter().zip(row).map(block).collect::<Vec<_>>())
    };
    let named = record.output.named_leaves().into_iter().zip(blocks);
    Y::arrange(Blocks::new(named.map(|((path, output), flat)| (path, row((output, flat)))).collect()))
}

fn joined(output: &[usize], input: &[usize]) -> Shape {
    output.iter().chain(input).copied().collect()
}

/// The direction in which seeds are propagated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction {
    /// Cotangents of the output, in reverse mode.
    Rows,
    /// Tangents of the input, in forward mode.
    Columns,
}

/// The matrix of a recorded derivative, with rows for the floating-point elements of the output and columns for those it is differentiated
/// with respect to.
pub struct Matrix<'r, X, Y> {
    record: &'r Record<X, Y>,
    /// The leaves with rows or columns: their position among all, and their specs.
    outputs: Vec<(usize, Spec)>,
    inputs: Vec<(usize, Spec)>,
}

/// Maximum number of elements of the seeds that go through the record together, including their results.
const MOST_ELEMENTS: usize = 1 << 24;

impl<'r, X: Tree, Y: Tree> Matrix<'r, X, Y> {
    pub fn of(record: &'r Record<X, Y>) -> Self {
        let leaves = |leaves: Vec<&Tensor>, counts: &dyn Fn(usize, &Tensor) -> bool| {
            let counted = leaves.into_iter().enumerate().filter(|(position, leaf)| counts(*position, leaf));
            counted.map(|(position, leaf)| (position, leaf.spec())).collect::<Vec<_>>()
        };
        let inputs = leaves(record.input.leaves(), &|position, _| record.leaves[position].is_some());
        let outputs = leaves(record.output.leaves(), &|_, leaf| leaf.dtype().is_float());
        Matrix { record, outputs, inputs }
    }

    /// Where the record is.
    fn device(&self) -> Device {
        let leaves = self.record.output.leaves().into_iter().chain(self.record.input.leaves());
        leaves.map(Tensor::device).find(|device| *device != Device::Cpu).unwrap_or_default()
    }

    /// The number of rows and columns.
    pub fn size(&self) -> (usize, usize) {
        let count = |leaves: &[(usize, Spec)]| leaves.iter().map(|(_, spec)| spec.shape.elements()).sum();
        (count(&self.outputs), count(&self.inputs))
    }

    /// The size in bytes of all its elements.
    pub fn bytes(&self) -> usize {
        let row = self.inputs.iter().fold(0usize, |bytes, (_, spec)| bytes.saturating_add(spec.bytes()));
        self.size().0.saturating_mul(row)
    }

    /// Returns an error of `name` if there is not enough memory for it.
    pub fn check(&self, name: &str) -> Result<(), Error> {
        pool::request(self.bytes()).map_err(|refused| {
            let (rows, columns) = self.size();
            Error::out_of_memory(name, format!("a matrix of {rows} x {columns}"), refused)
                .help("use linearize, vjp or hvp, which need no matrix, or SparseJacobian or SparseHessian, where most of it is zero")
        })
    }

    /// The output leaves with rows: index and number of rows.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.outputs.iter().map(|(position, spec)| (*position, spec.shape.elements()))
    }

    /// The input leaves with columns: index and number of columns.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.inputs.iter().map(|(position, spec)| (*position, spec.shape.elements()))
    }

    /// The common dtype of everything that is differentiated.
    pub fn dtype(&self) -> Result<DType, Error> {
        let mut dtypes: Vec<DType> = self.inputs.iter().map(|(_, spec)| spec.dtype).collect();
        dtypes.dedup();
        match dtypes[..] {
            [dtype] => Ok(dtype),
            [] => Err(Error::new(ErrorKind::Tree, "to_dense", "the input has nothing to differentiate by")),
            _ => Err(Error::new(ErrorKind::DType(dtypes), "to_dense", "the leaves of the input have several dtypes")
                .help("convert them to one, or use jacobian, which keeps the leaves apart")),
        }
    }

    /// For every leaf of the output and of the input, the block with the axes of both, in the dtype of the input's leaf; `None` where it is
    /// zero.
    pub fn blocks(&self, direction: Option<Direction>) -> Result<Vec<Flat>, Error> {
        let (rows, columns) = self.size();
        let mut blocks: Vec<Flat> = vec![vec![None; self.record.leaves.len()]; self.record.roots.len()];
        match direction.unwrap_or(if columns < rows { Direction::Columns } else { Direction::Rows }) {
            Direction::Rows => self.fill_rows(&mut blocks)?,
            Direction::Columns => self.fill_columns(&mut blocks)?,
        }
        Ok(blocks)
    }

    fn fill_rows(&self, blocks: &mut [Flat]) -> Result<(), Error> {
        for (row, output) in self.outputs.iter().filter(|(row, _)| self.record.roots[*row].is_some()) {
            let pulled = self.seeded(output, |seed| {
                let mut cotangents: Flat = vec![None; self.record.roots.len()];
                cotangents[*row] = Some(seed);
                self.record.pull(cotangents, true)
            })?;
            for (column, input) in &self.inputs {
                let block = pulled[*column].as_ref();
                blocks[*row][*column] = block.map(|block| block.reshape(joined(&output.shape, &input.shape)));
            }
        }
        Ok(())
    }

    fn fill_columns(&self, blocks: &mut [Flat]) -> Result<(), Error> {
        for (column, input) in &self.inputs {
            let pushed = self.seeded(input, |seed| {
                let mut tangents: Flat = vec![None; self.record.leaves.len()];
                tangents[*column] = Some(seed);
                self.record.push(tangents)
            })?;
            for (row, output) in &self.outputs {
                let turned = |block: &Tensor| {
                    let block = block.reshape([input.shape.elements(), output.shape.elements()]).t();
                    block.reshape(joined(&output.shape, &input.shape)).cast(input.dtype)
                };
                blocks[*row][*column] = pushed[*row].as_ref().map(turned);
            }
        }
        Ok(())
    }

    /// The results of `apply` for every unit vector of a leaf, stacked along axis 0.
    fn seeded(&self, leaf: &Spec, apply: impl Fn(Tensor) -> Result<Flat, Error>) -> Result<Flat, Error> {
        let count = leaf.shape.elements();
        let (rows, columns) = self.size();
        let together = (MOST_ELEMENTS / rows.max(columns).max(1)).clamp(1, count.max(1));
        let mut parts: Vec<Vec<Tensor>> = Vec::new();
        let mut start = 0;
        while start < count {
            let range = start..(start + together).min(count);
            let seeds = units(range.clone(), leaf).to(self.device());
            let received = batched(range.len(), seeds, &apply)?;
            parts.resize_with(received.len(), Vec::new);
            for (part, received) in parts.iter_mut().zip(received) {
                part.extend(received);
            }
            start = range.end;
        }
        let join = |parts: Vec<Tensor>| match parts.len() {
            0 => None,
            1 => parts.into_iter().next(),
            _ => Some(Tensor::concat(&parts, 0)),
        };
        parts.resize_with(self.record.leaves.len().max(self.record.roots.len()), Vec::new);
        Ok(parts.into_iter().map(join).collect())
    }
}

/// The unit vectors `range` of a leaf, along axis 0.
fn units(range: Range<usize>, leaf: &Spec) -> Tensor {
    let (start, count, each) = (range.start, range.len(), leaf.shape.elements());
    let mut ones = vec![0u8; count * each];
    (0..count).for_each(|row| ones[row * each + start + row] = 1);
    Tensor::from_vec(ones, [count, each]).cast(leaf.dtype).reshape(leaf.shape.prepended(count))
}

/// Applies a linear map to a batch of `size` seeds along axis 0; the results are batched in the same way.
fn batched(size: usize, seeds: Tensor, apply: impl Fn(Tensor) -> Result<Flat, Error>) -> Result<Flat, Error> {
    let line = location::resolve(Line::caller());
    let level = Level::open("jacobian", batch::Batch { size }, line);
    let lower = |leaf: Tensor| match Tracer::at(&leaf, &level.0) {
        Some(Content::Batch { values }) => values.clone(),
        _ => leaf.broadcast_to(Shape::from(leaf.shape()).prepended(size)),
    };
    Ok(apply(batch::lift(&level.0, &seeds, line))?.into_iter().map(|leaf| leaf.map(lower)).collect())
}
