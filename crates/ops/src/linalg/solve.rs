//! solve - linear systems.   A X = B,   dX = A^-1 (dB - dA X).   So Bbar = A^-T Xbar and Abar = -Bbar X^T. Leading axes are a batch and
//! broadcast; one matrix for a batch of right sides is factored once. A singular matrix is an error that names its index.

use crate::error::OrRaise;
use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::matrix::{expect_matrix, failures, judge, plain, split, with_common_lead};
use wengert_kernels::linalg::{self, Real};

fn attrs(checked: bool) -> Attrs {
    Attrs::new().with_int("checked", i64::from(checked))
}

/// The methods of `solve`.
#[ext(SolveMethods)]
impl Tensor {
    /// The solution X of A X = B, where this tensor is A. B is a matrix, a vector, or a batch of them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(a.solve(&Tensor::from([2.0, 2.0])), Tensor::from([1.0, 0.5]));
    /// ```
    #[track_caller]
    pub fn solve(&self, b: &Tensor) -> Tensor {
        solved(self, b, true).or_raise()
    }

    /// The solution X of A X = B, or an error that names the first singular matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let error = Tensor::zeros([2, 2]).try_solve(&Tensor::ones([2])).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Singular(vec![]));
    /// ```
    #[track_caller]
    pub fn try_solve(&self, b: &Tensor) -> Result<Tensor, Error> {
        solved(self, b, true)
    }

    /// The solution X of A X = B, NaN for singular matrices, and a flag for each matrix: 0 for success, else 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, info) = Tensor::zeros([2, 2]).solve_ex(&Tensor::ones([2]));
    /// assert_eq!(info.item(), 1.0);
    /// ```
    #[track_caller]
    pub fn solve_ex(&self, b: &Tensor) -> (Tensor, Tensor) {
        let x = solved(self, b, false).or_raise();
        let info = match is_vector(self, b) {
            true => failures(&x.unsqueeze(x.rank())),
            false => failures(&x),
        };
        (x, info)
    }
}

/// Whether the right side holds vectors: it has one axis, or the shape of the left side without its last axis.
fn is_vector(a: &Tensor, b: &Tensor) -> bool {
    b.rank() == 1 || (a.rank() == b.rank() + 1 && a.shape()[..b.rank()] == *b.shape())
}

#[track_caller]
fn solved(a: &Tensor, b: &Tensor, checked: bool) -> Result<Tensor, Error> {
    if a.rank() < 2 || b.rank() == 0 {
        return try_bind1(&SOLVE, attrs(checked), &[a, b]);
    }
    if is_vector(a, b) {
        let x = solved_matrix(a, &b.unsqueeze(b.rank()), checked)?;
        let shape = x.shape()[..x.rank() - 1].to_vec();
        return Ok(x.reshape(shape));
    }
    solved_matrix(a, b, checked)
}

#[track_caller]
fn solved_matrix(a: &Tensor, b: &Tensor, checked: bool) -> Result<Tensor, Error> {
    let ((a_lead, [n, _]), (b_lead, [rows, columns])) = (split(a.shape()), split(b.shape()));
    if a_lead.is_empty() && !b_lead.is_empty() && n == rows {
        // One matrix: all right sides become columns of a single system.
        let count = b_lead.len();
        let forward: Vec<usize> = [count].into_iter().chain(0..count).chain([count + 1]).collect();
        let backward: Vec<usize> = (1..=count).chain([0, count + 1]).collect();
        let across: usize = b_lead.iter().product::<usize>() * columns;
        let x = try_bind1(&SOLVE, attrs(checked), &[a, &b.permute(&forward).reshape([n, across])])?;
        let shape: Shape = [n].into_iter().chain(b_lead.iter().copied()).chain([columns]).collect();
        return Ok(x.reshape(shape).permute(&backward));
    }
    let (a, b) = with_common_lead(a, b);
    try_bind1(&SOLVE, attrs(checked), &[&a, &b])
}

/// A^-1 b for each matrix, NaN where there is no inverse.
fn solved_or_nan(a: &Tensor, b: &Tensor) -> Tensor {
    bind1(&SOLVE, attrs(false), &[a, b])
}

/// The primitive `solve`.
pub static SOLVE: Solve = Solve;

/// See the module.
pub struct Solve;

fn run<T: Real>(attrs: &Attrs, operands: &[View<'_>], out: Out<'_>) -> Result<(), Error> {
    let (lead, [n, columns]) = split(operands[1].shape);
    let sizes = [lead.iter().product(), n, columns];
    let (a, b) = (numbers::<T>(operands[0]), numbers::<T>(operands[1]));
    let status = fill(out, |out: &mut [T]| linalg::solve(&a, &b, sizes, false, out));
    if attrs.int("checked") != 0 {
        judge("solve", lead, &status)?;
    }
    Ok(())
}

/// The shape rule of systems with a square matrix on the left.
pub(crate) fn expect_system(name: &str, a: SpecRef<'_>, b: SpecRef<'_>) -> Result<(), Error> {
    expect_same_dtype(name, a.dtype, b.dtype)?;
    expect_matrix(name, a, true)?;
    expect_matrix(name, b, false)?;
    let ((a_lead, [n, _]), (b_lead, [rows, _])) = (split(a.shape), split(b.shape));
    if n != rows || a_lead != b_lead {
        let shapes = vec![Shape::from(a.shape), Shape::from(b.shape)];
        let message = format!("the right side {} does not fit the matrix {}", shapes[1], shapes[0]);
        let help = format!("it needs {n} rows, and leading axes that broadcast");
        return Err(Error::new(ErrorKind::Shape(shapes), name, message).help(help));
    }
    Ok(())
}

impl Primitive for Solve {
    fn name(&self) -> &'static str {
        "solve"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["checked"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_flags("solve", attrs, self.attributes())?;
        expect_system("solve", operands[0], operands[1])?;
        Ok(smallvec![operands[1].to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        computing_float!(outputs[0].dtype, T => run::<T>(attrs, operands, outputs[0].reborrow()))?;
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = Saves::NOTHING.operand(0);
        if wanted.has(0) { saves.output(0) } else { saves }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let right = solved_or_nan(&rule.operand(0).t(), &g);
        let left = match rule.wants(0) {
            true => Gradient::Dense(-right.matmul(&rule.output(0).t())),
            false => Gradient::Zero,
        };
        smallvec![left, if rule.wants(1) { Gradient::Dense(right) } else { Gradient::Zero }]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let bent = tangents[0].as_ref().map(|da| -da.matmul(rule.output(0)));
        let change = tangents[1].iter().cloned().chain(bent).reduce(|a, b| a + b);
        smallvec![change.map(|change| solved_or_nan(rule.operand(0), &change))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        if !batched.has(0) {
            return Ok(smallvec![solved_matrix(&operands[0], &operands[1], attrs.int("checked") != 0)?]);
        }
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![try_bind1(self, attrs.clone(), &[&aligned[0], &aligned[1]])?])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Blocks(2)
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let (_, [n, columns]) = split(&outputs[0].shape);
        let matrix: usize = operands[0].shape.iter().product();
        let flops = matrix as f64 * (2.0 / 3.0 * n as f64 + 2.0 * columns as f64);
        Cost { flops, ..streaming_cost(operands, outputs) }
    }

    fn jet(&self) -> Jet {
        Jet::Quotient(0)
    }

    fn rule_text(&self) -> &'static str {
        "dB = A^-T dX, dA = -dB X^T"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |a: &[usize], b: &[usize]| {
            let (a, b) = (a.to_vec(), b.to_vec());
            let operands = [plain::regular(&a, 0.2), Sample::wave(b.clone(), 0.75)];
            Case::new(format!("{a:?} and {b:?}"), attrs(true), operands, move |s| {
                let pairs = plain::matrices(&s[0]).into_iter().zip(plain::matrices(&s[1]));
                let each: Vec<Sample> = pairs.map(|(a, b)| plain::product(&plain::inverse(&a), &b)).collect();
                vec![plain::stacked(&[], &each, &b)]
            })
        };
        let operands = [Sample::new([2, 2], [1.0, 2.0, 2.0, 4.0]), Sample::wave([2, 1], 0.1)];
        let singular =
            Case::new("singular", attrs(false), operands, |_| vec![Sample::new([2, 1], [f64::NAN; 2])]).values_only();
        vec![
            case(&[3, 3], &[3, 2]),
            case(&[2, 2, 2], &[2, 2, 1]),
            case(&[1, 1], &[1, 1]),
            case(&[0, 0], &[0, 2]),
            case(&[2, 2], &[2, 0]),
            case(&[0, 2, 2], &[0, 2, 1]),
            singular,
        ]
    }
}
