//! lu_solve - linear systems from an LU decomposition.   P L U X = B,   dX = U^-1 (L^-1 (P^T dB - dL U X) - dU X).   With attribute
//! `transposed` 1 the system is (P L U)^T X = B. The derivative with respect to L and U is that of the packed matrix. Leading axes are a
//! batch.

use super::lu::{packed_from, unpacked};
use super::lu_permutation::{expect_pivots, permuted_rows};
use super::solve::expect_system;
use super::solve_triangular::{Triangle, triangular_or_nan};
use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::matrix::{judge, plain, split};
use crate::tensor::broadcast;
use wengert_kernels::linalg::{self, Real};

fn attrs(transposed: bool, checked: bool) -> Attrs {
    Attrs::new().with_int("transposed", i64::from(transposed)).with_int("checked", i64::from(checked))
}

/// The methods of `lu_solve`.
#[ext(LuSolveMethods)]
impl Tensor {
    /// The solution X of A X = B, from the two results of [`lu_factor`](Tensor::lu_factor) of A; this tensor is the first.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (packed, pivots) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor();
    /// assert_eq!(packed.lu_solve(&pivots, &Tensor::from([[5.0], [12.0]])), Tensor::from([[1.0], [2.0]]));
    /// ```
    #[track_caller]
    pub fn lu_solve(&self, pivots: &Tensor, b: &Tensor) -> Tensor {
        let (packed, pivots, b) = aligned(self, pivots, b);
        bind1(&LU_SOLVE, attrs(false, true), &[&packed, &pivots, &b])
    }

    /// The solution X of A^T X = B, from the two results of [`lu_factor`](Tensor::lu_factor) of A.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (packed, pivots) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor();
    /// assert_eq!(packed.lu_solve_transposed(&pivots, &Tensor::from([[9.0], [10.0]])), Tensor::from([[1.0], [2.0]]));
    /// ```
    #[track_caller]
    pub fn lu_solve_transposed(&self, pivots: &Tensor, b: &Tensor) -> Tensor {
        let (packed, pivots, b) = aligned(self, pivots, b);
        bind1(&LU_SOLVE, attrs(true, true), &[&packed, &pivots, &b])
    }

    /// The solution X of X A = B, from the two results of [`lu_factor`](Tensor::lu_factor) of A.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (packed, pivots) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor();
    /// assert_eq!(packed.lu_solve_right(&pivots, &Tensor::from([[9.0, 10.0]])), Tensor::from([[1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn lu_solve_right(&self, pivots: &Tensor, b: &Tensor) -> Tensor {
        self.lu_solve_transposed(pivots, &b.t()).t()
    }

    /// The solution X of X A^T = B, from the two results of [`lu_factor`](Tensor::lu_factor) of A.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (packed, pivots) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor();
    /// assert_eq!(packed.lu_solve_right_transposed(&pivots, &Tensor::from([[5.0, 12.0]])), Tensor::from([[1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn lu_solve_right_transposed(&self, pivots: &Tensor, b: &Tensor) -> Tensor {
        self.lu_solve(pivots, &b.t()).t()
    }
}

/// All three with the same leading axes, if they broadcast; otherwise the shape rule raises an error.
fn aligned(packed: &Tensor, pivots: &Tensor, b: &Tensor) -> (Tensor, Tensor, Tensor) {
    let same = (packed.clone(), pivots.clone(), b.clone());
    if packed.rank() < 2 || b.rank() < 2 || pivots.rank() < 1 {
        return same;
    }
    let [a_lead, b_lead, p_lead] = [split(packed.shape()).0, split(b.shape()).0, &pivots.shape()[..pivots.rank() - 1]];
    let Some(lead) = broadcast(a_lead, b_lead).and_then(|lead| broadcast(&lead, p_lead)) else { return same };
    let full =
        |x: &Tensor, kept: usize| -> Shape { lead.iter().chain(&x.shape()[x.rank() - kept..]).copied().collect() };
    (packed.broadcast_to(full(packed, 2)), pivots.broadcast_to(full(pivots, 1)), b.broadcast_to(full(b, 2)))
}

/// The primitive `lu_solve`.
pub static LU_SOLVE: LuSolve = LuSolve;

/// See the module.
pub struct LuSolve;

const UNIT: Triangle = Triangle::lower().unit();
const UPPER: Triangle = Triangle::upper();

fn run<T: Real>(attrs: &Attrs, operands: &[View<'_>], out: Out<'_>) -> Result<(), Error> {
    let (packed, b) = (numbers::<T>(operands[0]), numbers::<T>(operands[2]));
    let (lead, [n, columns]) = split(operands[2].shape);
    let sizes = [lead.iter().product(), n, columns];
    let mut pivots = collected::<i64>(operands[1]);
    expect_pivots("lu_solve", &pivots, n)?;
    pivots.iter_mut().for_each(|pivot| *pivot -= 1);
    let transposed = attrs.int("transposed") != 0;
    let status = fill(out, |out: &mut [T]| linalg::lu_solve(&packed, &pivots, &b, sizes, transposed, out));
    if attrs.int("checked") != 0 {
        judge("lu_solve", lead, &status)?;
    }
    Ok(())
}

impl LuSolve {
    /// The same systems, or the transposed ones, with another right side.
    fn again(&'static self, rule: &Rule<'_>, b: &Tensor, transposed: bool) -> Tensor {
        bind1(self, attrs(transposed, false), &[rule.operand(0), rule.operand(1), b])
    }
}

impl Primitive for LuSolve {
    fn name(&self) -> &'static str {
        "lu_solve"
    }

    fn operands(&self) -> usize {
        3
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["transposed", "checked"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (packed, pivots, b) = (operands[0], operands[1], operands[2]);
        expect_flags("lu_solve", attrs, self.attributes())?;
        expect_system("lu_solve", packed, b)?;
        if !pivots.dtype.is_integer() {
            let message = format!("pivots are integers, got {}", pivots.dtype);
            return Err(Error::new(ErrorKind::DType(vec![pivots.dtype]), "lu_solve", message)
                .help("they are the second result of lu_factor()"));
        }
        if *pivots.shape != packed.shape[..packed.shape.len() - 1] {
            let shapes = vec![Shape::from(packed.shape), Shape::from(pivots.shape)];
            let message = format!("pivots of shape {} for matrices of shape {}", shapes[1], shapes[0]);
            return Err(Error::new(ErrorKind::Shape(shapes), "lu_solve", message));
        }
        Ok(smallvec![b.to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        computing_float!(outputs[0].dtype, T => run::<T>(attrs, operands, outputs[0].reborrow()))?;
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = Saves::NOTHING.operand(0).operand(1);
        if wanted.has(0) { saves.output(0) } else { saves }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (packed, transposed) = (rule.operand(0), rule.attrs.int("transposed") != 0);
        if !rule.wants(0) {
            let right = Gradient::Dense(self.again(rule, &g, !transposed));
            return smallvec![Gradient::Zero, Gradient::Zero, right];
        }
        // (gradient of L, gradient of U), each an outer product; their intermediate values also give the gradient of the right side.
        let x = -rule.output(0);
        let (gl, gu, right) = if transposed {
            let z = permuted_rows(&x, rule.operand(1), false);
            let ux = triangular_or_nan(packed, &permuted_rows(&g, rule.operand(1), false), UNIT);
            let right = triangular_or_nan(packed, &ux, UPPER);
            let lz = unpacked(packed).0.t().matmul(&z);
            (z.matmul(&ux.t()), lz.matmul(&right.t()), right)
        } else {
            let h = triangular_or_nan(packed, &g, UPPER.transposed());
            let w = triangular_or_nan(packed, &h, UNIT.transposed());
            let ux = packed.triu(0).matmul(&x);
            (w.matmul(&ux.t()), h.matmul(&x.t()), permuted_rows(&w, rule.operand(1), true))
        };
        smallvec![Gradient::Dense(packed_from(&gl, &gu)), Gradient::Zero, Gradient::Dense(right)]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let transposed = rule.attrs.int("transposed") != 0;
        let by_right = tangents[2].as_ref().map(|db| self.again(rule, db, transposed));
        let by_left = tangents[0].as_ref().map(|change| {
            let (packed, x) = (rule.operand(0), rule.output(0));
            let ((l, u), dl, du) = (unpacked(packed), change.tril(-1), change.triu(0));
            if transposed {
                let z = permuted_rows(x, rule.operand(1), false);
                let dy = triangular_or_nan(packed, &-du.t().matmul(&l.t().matmul(&z)), UPPER.transposed());
                let dz = triangular_or_nan(packed, &(dy - dl.t().matmul(&z)), UNIT.transposed());
                permuted_rows(&dz, rule.operand(1), true)
            } else {
                let first = triangular_or_nan(packed, &dl.matmul(&u.matmul(x)), UNIT);
                -triangular_or_nan(packed, &(first + du.matmul(x)), UPPER)
            }
        });
        smallvec![by_right.into_iter().chain(by_left).reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![try_bind1(self, attrs.clone(), &[&aligned[0], &aligned[1], &aligned[2]])?])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Blocks(2)
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let (_, [n, _]) = split(&outputs[0].shape);
        Cost { flops: 2.0 * (outputs[0].shape.elements() * n) as f64, ..streaming_cost(operands, outputs) }
    }

    fn rule_text(&self) -> &'static str {
        "dB = A^-T dX, dU = -triu(U^-T dX X^T), dL = -tril(L^-T U^-T dX (U X)^T, -1)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |shape: &[usize], pivots: &[i64], columns: usize, transposed: bool| {
            let lead = shape[..shape.len() - 2].to_vec();
            let n = shape[shape.len() - 1];
            let b = [&lead[..], &[n, columns]].concat();
            let operands = [
                plain::regular(shape, 0.3),
                Sample::integers([&lead[..], &[n]].concat(), pivots.iter().copied()),
                Sample::wave(b.clone(), 0.6),
            ];
            let label = format!("{shape:?}, {columns} columns, transposed {transposed}");
            Case::new(label, attrs(transposed, true), operands, move |s| {
                let solve = |(matrix, (packed, b)): (usize, (Sample, Sample))| {
                    let l = Sample::build([n, n], |i| match i[0].cmp(&i[1]) {
                        std::cmp::Ordering::Less => 0.0,
                        std::cmp::Ordering::Equal => 1.0,
                        std::cmp::Ordering::Greater => packed.at(i),
                    });
                    let u = Sample::build([n, n], |i| if i[0] <= i[1] { packed.at(i) } else { 0.0 });
                    // A = P L U: the row swaps are undone from the last to the first.
                    let mut a = plain::product(&l, &u);
                    for i in (0..n).rev() {
                        let pivot = s[1].data[matrix * n + i] as usize - 1;
                        (0..n).for_each(|j| a.data.swap(i * n + j, pivot * n + j));
                    }
                    let inverse = plain::inverse(&a);
                    plain::product(&if transposed { plain::transpose(&inverse) } else { inverse }, &b)
                };
                let pairs = plain::matrices(&s[0]).into_iter().zip(plain::matrices(&s[2])).enumerate();
                vec![plain::stacked(&[], &pairs.map(solve).collect::<Vec<_>>(), &b)]
            })
        };
        vec![
            case(&[3, 3], &[2, 3, 3], 2, false),
            case(&[3, 3], &[2, 3, 3], 2, true),
            case(&[2, 2, 2], &[2, 2, 1, 2], 1, false),
            case(&[1, 1], &[1], 1, true),
            case(&[2, 2], &[1, 2], 0, false),
            case(&[0, 0], &[], 2, false),
        ]
    }
}
