//! The rule shape *decomposition*: functions of the matrices along the last two axes; leading axes are a batch.
//!
//! Rules never fail because of values: inside them, a matrix that has no inverse gives NaN, for that matrix only.

use crate::bind::bind;
use crate::methods::*;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Gradient, Gradients, Jet, Mask, Out, Outputs, Primitive, Rule, Sample,
    Saves, Spec, SpecRef, Specs, View, expect_flags, expect_float, streaming_cost,
};
use crate::tensor::{Numbers, broadcast, collected, computing_float, numbers};
use crate::{DType, Error, ErrorKind, Select, Shape, Tensor};
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use wengert_kernels::dtype::Compute;
use wengert_kernels::linalg::{Real, Reason, Status};
use wengert_kernels::pool::Buffer;

/// The definition of a decomposition; [`DecompositionOp`] turns it into a primitive.
pub trait Decomposition: Send + Sync + 'static {
    const NAME: &'static str;
    const ATTRIBUTES: &'static [&'static str] = &[];
    /// The attributes that are 0 or 1.
    const FLAGS: &'static [&'static str] = &[];
    /// The derivative in a few words.
    const RULE: &'static str;
    const OUTPUTS: usize = 1;
    /// Whether only square matrices are accepted.
    const SQUARE: bool = true;
    /// Whether it is a function of the symmetric part (A + A^T) / 2; then so are its rules.
    const SYMMETRIC: bool = false;
    /// Whether a matrix that cannot be decomposed is an error; attribute `checked` overrides it.
    const CHECKED: bool = true;
    /// How Taylor coefficients propagate through it.
    const JET: Jet = Jet::Nested;
    /// Arithmetic operations, in units of the number of elements times the smaller side.
    const WORK: f64;

    /// The sizes of the outputs for one matrix of `m x n`; an integer output is marked by its dtype.
    fn sizes(attrs: &Attrs, m: usize, n: usize) -> Vec<(Vec<usize>, Option<DType>)>;

    /// Fills the outputs for `[batch, m, n]` matrices: the float outputs in order, and the integer output.
    fn eval<T: Real>(attrs: &Attrs, a: &[T], sizes: [usize; 3], floats: &mut [Buffer<T>], whole: &mut [i64]) -> Status;

    fn saves(attrs: &Attrs) -> Saves;

    /// The gradient of the operand; for a symmetric one, its symmetric part is used.
    fn vjp(rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Option<Tensor>;

    /// Tangents of the outputs.
    fn jvp(rule: &Rule<'_>, tangent: &Tensor) -> Vec<Option<Tensor>>;

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case>;
}

/// A primitive of the decomposition shape.
pub struct DecompositionOp<D>(PhantomData<D>);

impl<D> DecompositionOp<D> {
    pub(crate) const NEW: DecompositionOp<D> = DecompositionOp(PhantomData);
}

fn run<D: Decomposition, T: Real>(attrs: &Attrs, a: View<'_>, outputs: &mut [Out<'_>]) -> Result<(), Error> {
    let (lead, [m, n]) = split(a.shape);
    let batch: usize = lead.iter().product();
    // Work is counted for one matrix, whose size is unlimited if the batch is empty.
    if batch == 0 {
        return Ok(());
    }
    let numbers = match D::SYMMETRIC {
        true => {
            let mut copy = collected(a);
            copy.chunks_exact_mut((n * n).max(1)).for_each(|matrix| make_symmetric(matrix, n));
            Numbers::Copied(copy)
        }
        false => numbers::<T>(a),
    };
    let length = |out: &Out<'_>| out.bytes.len() / out.dtype.size();
    let is_float = |out: &&Out<'_>| out.dtype.is_float();
    let mut floats: SmallVec<[Buffer<T>; 3]> =
        outputs.iter().filter(is_float).map(|out| Buffer::zeros(length(out))).collect();
    let mut whole = Buffer::zeros(outputs.iter().find(|out| !is_float(out)).map_or(0, length));
    let status = D::eval(attrs, &numbers, [batch, m, n], &mut floats, &mut whole);
    let has_word = D::ATTRIBUTES.contains(&"checked");
    if D::CHECKED && (!has_word || attrs.int("checked") != 0) {
        judge(D::NAME, lead, &status)?;
    }
    let mut floats = floats.iter();
    for out in outputs {
        match out.dtype.is_float() {
            true => T::store(floats.next().expect("one list for each float output"), out.dtype, out.bytes),
            false => i64::store(&whole, out.dtype, out.bytes),
        }
    }
    Ok(())
}

fn make_symmetric<T: Real>(a: &mut [T], n: usize) {
    let half = T::from_f64(0.5);
    for i in 0..n {
        for j in 0..i {
            let mean = half * a[i * n + j] + half * a[j * n + i];
            (a[i * n + j], a[j * n + i]) = (mean, mean);
        }
    }
}

/// Leading axes, rows and columns; the shape has at least two axes.
pub fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (lead, last) = shape.split_at(shape.len() - 2);
    (lead, [last[0], last[1]])
}

/// Both sides with the same leading axes, if those broadcast; otherwise the shape rule of the operation raises an error.
#[track_caller]
pub fn with_common_lead(a: &Tensor, b: &Tensor) -> (Tensor, Tensor) {
    let same = || (a.clone(), b.clone());
    if a.rank() < 2 || b.rank() < 2 {
        return same();
    }
    let Some(lead) = broadcast(split(a.shape()).0, split(b.shape()).0) else { return same() };
    let full = |x: &Tensor| -> Shape { lead.iter().chain(&x.shape()[x.rank() - 2..]).copied().collect() };
    (a.broadcast_to(full(a)), b.broadcast_to(full(b)))
}

/// An error unless the operand is a matrix, or a square one if required.
pub fn expect_matrix(name: &str, a: SpecRef<'_>, square: bool) -> Result<(), Error> {
    expect_float(name, a.dtype)?;
    let shape = || Shape::from(a.shape);
    match a.shape {
        [.., rows, columns] if !square || rows == columns => Ok(()),
        [.., rows, columns] => {
            let message = format!("needs square matrices, got shape {} ({rows} rows, {columns} columns)", shape());
            let help = "the last two sizes must be equal; pinv(), lstsq(), svd() and qr() take any shape";
            Err(Error::new(ErrorKind::Shape(vec![shape()]), name, message).help(help))
        }
        _ => {
            let message = format!("needs a matrix, got shape {}", shape());
            Err(Error::new(ErrorKind::Shape(vec![shape()]), name, message)
                .help("reshape a vector to one row or one column"))
        }
    }
}

/// The first matrix that could not be decomposed, as an error. Values that are not finite propagate as NaN.
pub fn judge(name: &str, lead: &[usize], status: &Status) -> Result<(), Error> {
    let Some(failure) = status.failed.iter().find(|failure| failure.reason != Reason::NotFinite) else {
        return Ok(());
    };
    let mut number = failure.matrix;
    let mut place: Vec<usize> = lead.iter().rev().map(|&size| (number % size, number /= size).0).collect();
    place.reverse();
    let which = match lead {
        [] => "the matrix".to_string(),
        _ => format!("matrix {place:?} of the batch {:?}", lead),
    };
    let (kind, what, help) = match failure.reason {
        Reason::Singular { pivot } => (
            ErrorKind::Singular(place),
            format!("is singular: pivot {pivot} is zero"),
            format!("pinv() and lstsq() work for singular matrices; try_{name}() returns this error as a value"),
        ),
        Reason::NotPositive { pivot } => (
            ErrorKind::NotPositiveDefinite(place),
            format!("is not positive definite: pivot {pivot} is not positive"),
            format!("add a small multiple of the identity, or use eigh(); try_{name}() returns this error as a value"),
        ),
        _ => (
            ErrorKind::NotConverged(place),
            "needs more iterations than are allowed".to_string(),
            "scale the matrix, or use f64".to_string(),
        ),
    };
    Err(Error::new(kind, name, format!("{which} {what}")).help(help))
}

impl<D: Decomposition> Primitive for DecompositionOp<D> {
    fn name(&self) -> &'static str {
        D::NAME
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        D::ATTRIBUTES
    }

    fn outputs(&self, _attrs: &Attrs) -> usize {
        D::OUTPUTS
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let a = operands[0];
        expect_matrix(D::NAME, a, D::SQUARE)?;
        expect_flags(D::NAME, attrs, D::FLAGS)?;
        let (lead, [m, n]) = split(a.shape);
        let spec = |(last, whole): (Vec<usize>, Option<DType>)| Spec {
            shape: lead.iter().copied().chain(last).collect(),
            dtype: whole.unwrap_or(a.dtype),
        };
        Ok(D::sizes(attrs, m, n).into_iter().map(spec).collect())
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        computing_float!(operands[0].dtype, T => run::<D, T>(attrs, operands[0], outputs))?;
        Ok(true)
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        D::saves(attrs)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let gradient = D::vjp(rule, cotangents);
        let gradient = if D::SYMMETRIC { gradient.map(|g| symmetric_part(&g)) } else { gradient };
        smallvec![gradient.map_or(Gradient::Zero, Gradient::Dense)]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        match &tangents[0] {
            None => (0..D::OUTPUTS).map(|_| None).collect(),
            Some(tangent) if D::SYMMETRIC => D::jvp(rule, &symmetric_part(tangent)).into_iter().collect(),
            Some(tangent) => D::jvp(rule, tangent).into_iter().collect(),
        }
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(bind(self, attrs.clone(), &[&operands[0]]))
    }

    fn dependency(&self) -> Dependency {
        if self.differentiable() { Dependency::Blocks(2) } else { Dependency::None }
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let elements: usize = operands[0].shape.iter().product();
        let (_, [m, n]) = split(operands[0].shape);
        Cost { flops: D::WORK * (elements * m.min(n)) as f64, ..streaming_cost(operands, outputs) }
    }

    fn jet(&self) -> Jet {
        D::JET
    }

    fn rule_text(&self) -> &'static str {
        D::RULE
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        D::cases()
    }
}

/// (x + x^T) / 2.
pub fn symmetric_part(x: &Tensor) -> Tensor {
    (x + x.t()) * 0.5
}

/// The lower triangle with half of the diagonal.
pub fn lower_half(x: &Tensor) -> Tensor {
    (x.tril(0) + x.tril(-1)) * 0.5
}

/// The identity matrix in the dtype of `like`.
pub fn identity(size: usize, like: &Tensor) -> Tensor {
    Tensor::eye(size).cast(like.dtype())
}

/// Diagonal matrices from the last axis.
pub fn diagonal_matrix(s: &Tensor) -> Tensor {
    scale_columns(&identity(s.shape()[s.rank() - 1], s), s)
}

/// The diagonals of the last two axes.
pub fn diagonal(x: &Tensor) -> Tensor {
    x.diagonal_of(0, -2, -1)
}

/// 1 / (x_j - x_i) off the diagonal, 0 on it.
pub fn reciprocal_differences(x: &Tensor) -> Tensor {
    let axis = x.rank() - 1;
    let differences = x.unsqueeze(axis) - x.unsqueeze(axis + 1);
    let diagonal = Tensor::eye(x.shape()[axis]).equal(1.0);
    // The diagonal is replaced before the division: 1/0 must not meet a zero cotangent.
    diagonal.where_(0.0, diagonal.where_(1.0, differences).recip())
}

/// Columns of `x` scaled by `s`.
pub fn scale_columns(x: &Tensor, s: &Tensor) -> Tensor {
    x * s.unsqueeze(s.rank() - 1)
}

/// Rows of `x` scaled by `s`.
pub fn scale_rows(s: &Tensor, x: &Tensor) -> Tensor {
    s.unsqueeze(s.rank()) * x
}

/// The part of `x` outside the span of the orthonormal columns of `q`; a square `q` spans everything.
pub fn outside(q: &Tensor, x: &Tensor) -> Option<Tensor> {
    let (_, [rows, columns]) = split(q.shape());
    (rows != columns).then(|| x - q.matmul(&q.t().matmul(x)))
}

/// Rows `rows` and columns `columns` of each matrix.
pub fn block(x: &Tensor, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Tensor {
    x.slice(&block_of(x.rank(), &rows, &columns)[..])
}

fn block_of(rank: usize, rows: &std::ops::Range<usize>, columns: &std::ops::Range<usize>) -> Vec<Select> {
    let last = [Select::from(rows.clone()), Select::from(columns.clone())];
    (2..rank).map(|_| Select::from(..)).chain(last).collect()
}

/// Matrices of `sizes` with `blocks` placed at the given rows and columns, and zeros elsewhere.
pub fn assembled(sizes: [usize; 2], blocks: &[(usize, usize, &Tensor)]) -> Tensor {
    let (lead, _) = split(blocks[0].2.shape());
    let spec = Spec { shape: lead.iter().copied().chain(sizes).collect(), dtype: blocks[0].2.dtype() };
    let mut whole = Tensor::constant(0.0, &spec);
    for (row, column, part) in blocks {
        let (_, [m, n]) = split(part.shape());
        whole.slice_mut(&block_of(whole.rank(), &(*row..row + m), &(*column..column + n))[..]).add(*part);
    }
    whole
}

/// `A^-1` for each matrix, NaN where there is none.
pub fn inverse_or_nan(a: &Tensor) -> Tensor {
    crate::bind::bind1(&crate::linalg::inv::INV, Attrs::new().with_int("checked", 0), &[a])
}

/// 1 for each matrix of NaN, 0 for the others, of dtype i32.
pub fn failures(x: &Tensor) -> Tensor {
    let wrong = x.not_equal(x).cast(DType::I32);
    wrong.sum_over([-2, -1]).gt(0).cast(DType::I32)
}

/// Plain loops over small matrices, for the references of cases.
pub mod plain {
    use super::Sample;

    /// The matrices along the last two axes, one after the other.
    pub fn matrices(a: &Sample) -> Vec<Sample> {
        let [m, n] = [a.shape[a.shape.rank() - 2], a.shape[a.shape.rank() - 1]];
        let count: usize = a.shape[..a.shape.rank() - 2].iter().product();
        (0..count).map(|k| Sample::new([m, n], &a.data[k * m * n..(k + 1) * m * n])).collect()
    }

    /// Stacks all samples: `lead`, then the shape `last` of each.
    pub fn stacked(lead: &[usize], each: &[Sample], last: &[usize]) -> Sample {
        let data: Vec<f64> = each.iter().flat_map(|sample| sample.data.iter().copied()).collect();
        Sample::new([lead, last].concat(), data)
    }

    /// The determinant by expansion along the first row.
    pub fn determinant(a: &Sample) -> f64 {
        let n = a.shape[0];
        if n == 0 {
            return 1.0;
        }
        (0..n).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } * a.at(&[0, j]) * determinant(&minor(a, 0, j))).sum()
    }

    /// The matrix without row `row` and column `column`.
    pub fn minor(a: &Sample, row: usize, column: usize) -> Sample {
        let n = a.shape[0];
        Sample::build([n - 1, n - 1], |i| a.at(&[i[0] + usize::from(i[0] >= row), i[1] + usize::from(i[1] >= column)]))
    }

    /// The inverse by cofactors.
    pub fn inverse(a: &Sample) -> Sample {
        let (n, all) = (a.shape[0], determinant(a));
        Sample::build([n, n], |i| {
            let sign = if (i[0] + i[1]) % 2 == 0 { 1.0 } else { -1.0 };
            sign * determinant(&minor(a, i[1], i[0])) / all
        })
    }

    pub fn product(a: &Sample, b: &Sample) -> Sample {
        Sample::build([a.shape[0], b.shape[1]], |i| (0..a.shape[1]).map(|k| a.at(&[i[0], k]) * b.at(&[k, i[1]])).sum())
    }

    pub fn transpose(a: &Sample) -> Sample {
        Sample::build([a.shape[1], a.shape[0]], |i| a.at(&[i[1], i[0]]))
    }

    /// Well-conditioned matrices: numbers below 1 around a dominant diagonal.
    pub fn regular(shape: &[usize], phase: f64) -> Sample {
        let wave = Sample::wave(shape.to_vec(), phase);
        let rank = shape.len();
        Sample::build(shape.to_vec(), |i| {
            let diagonal = if i[rank - 2] == i[rank - 1] { 1.5 + 0.4 * i[rank - 1] as f64 } else { 0.0 };
            0.3 * wave.at(i) + diagonal
        })
    }

    /// An orthogonal matrix, the product of plane rotations.
    pub fn rotation(size: usize, angle: f64) -> Sample {
        let mut q = Sample::build([size, size], |i| f64::from(i[0] == i[1]));
        for (turn, (a, b)) in (0..size).flat_map(|a| (a + 1..size).map(move |b| (a, b))).enumerate() {
            let (sin, cos) = (angle + 0.3 * turn as f64).sin_cos();
            for row in 0..size {
                let (x, y) = (q.at(&[row, a]), q.at(&[row, b]));
                q.data[row * size + a] = cos * x - sin * y;
                q.data[row * size + b] = sin * x + cos * y;
            }
        }
        q
    }
}
