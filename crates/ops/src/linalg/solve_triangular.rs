//! solve_triangular - linear systems with a triangular matrix.   T X = B or X T = B,   dX = T^-1 (dB - dT X) or (dB - X dT) T^-1.
//!
//! T is the lower or upper triangle of A, or its transpose. With a unit diagonal, the diagonal is not read. Elements outside the triangle
//! have gradient 0. Leading axes are a batch and broadcast. A zero on the diagonal is an error that names its index.

use crate::error::OrRaise;
use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::matrix::{expect_matrix, judge, plain, split, with_common_lead};
use wengert_kernels::linalg::{self, Real, Triangular};

/// The triangle of a system, and its side: by default the lower one, on the left.
///
/// ```
/// use wengert::prelude::*;
/// let u = Tensor::from([[2.0, 1.0], [0.0, 4.0]]);
/// let x = u.solve_triangular(&Tensor::from([[3.0], [4.0]]), Triangle::upper());
/// assert_eq!(x, Tensor::from([[1.0], [1.0]]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle(Triangular);

impl Triangle {
    /// T X = B with the lower triangle.
    pub const fn lower() -> Triangle {
        Triangle(Triangular::LOWER)
    }

    /// T X = B with the upper triangle.
    pub const fn upper() -> Triangle {
        Triangle(Triangular::UPPER)
    }

    /// Treats the diagonal as ones.
    pub const fn unit(self) -> Triangle {
        Triangle(Triangular { unit_diagonal: true, ..self.0 })
    }

    /// Uses the transpose of the triangle as T.
    pub const fn transposed(self) -> Triangle {
        Triangle(Triangular { transposed: !self.0.transposed, ..self.0 })
    }

    /// Solves X T = B.
    pub const fn right(self) -> Triangle {
        Triangle(Triangular { left: false, ..self.0 })
    }

    fn attrs(self, checked: bool) -> Attrs {
        let Triangular { upper, unit_diagonal, transposed, left } = self.0;
        let flags = [("upper", upper), ("unit", unit_diagonal), ("transposed", transposed), ("left", left)];
        let flags = flags.into_iter().chain([("checked", checked)]);
        flags.fold(Attrs::new(), |attrs, (name, flag)| attrs.with_int(name, i64::from(flag)))
    }

    fn of(attrs: &Attrs) -> Triangle {
        let flag = |name: &str| attrs.int(name) != 0;
        Triangle(Triangular {
            upper: flag("upper"),
            unit_diagonal: flag("unit"),
            transposed: flag("transposed"),
            left: flag("left"),
        })
    }

    /// The elements of `x` that the system reads, transposed if the system is.
    fn read(self, x: &Tensor) -> Tensor {
        let inside = self.mask(x);
        if self.0.transposed { inside.t() } else { inside }
    }

    fn mask(self, x: &Tensor) -> Tensor {
        let offset = isize::from(self.0.unit_diagonal);
        if self.0.upper { x.triu(offset) } else { x.tril(-offset) }
    }
}

/// The methods of `solve_triangular`.
#[ext(SolveTriangularMethods)]
impl Tensor {
    /// The solution X of T X = B, where T is a triangle of this matrix; `triangle` says which, and on which side.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[2.0, 9.0], [1.0, 4.0]]);
    /// let x = a.solve_triangular(&Tensor::from([[2.0], [9.0]]), Triangle::lower());
    /// assert_eq!(x, Tensor::from([[1.0], [2.0]]));
    /// ```
    #[track_caller]
    pub fn solve_triangular(&self, b: &Tensor, triangle: Triangle) -> Tensor {
        self.try_solve_triangular(b, triangle).or_raise()
    }

    /// The solution X of T X = B, or an error that names the first matrix with a zero on its diagonal.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let zero = Tensor::zeros([1, 1]);
    /// assert!(zero.try_solve_triangular(&zero, Triangle::lower()).is_err());
    /// ```
    #[track_caller]
    pub fn try_solve_triangular(&self, b: &Tensor, triangle: Triangle) -> Result<Tensor, Error> {
        let (a, b) = with_common_lead(self, b);
        try_bind1(&SOLVE_TRIANGULAR, triangle.attrs(true), &[&a, &b])
    }
}

/// The solution of each system, NaN where there is none; for use in rules.
pub(crate) fn triangular_or_nan(a: &Tensor, b: &Tensor, triangle: Triangle) -> Tensor {
    bind1(&SOLVE_TRIANGULAR, triangle.attrs(false), &[a, b])
}

/// The primitive `solve_triangular`.
pub static SOLVE_TRIANGULAR: SolveTriangular = SolveTriangular;

/// See the module.
pub struct SolveTriangular;

fn run<T: Real>(attrs: &Attrs, operands: &[View<'_>], out: Out<'_>) -> Result<(), Error> {
    let (lead, [m, n]) = split(operands[1].shape);
    let sizes = [lead.iter().product(), m, n];
    let (a, b) = (numbers::<T>(operands[0]), numbers::<T>(operands[1]));
    let status = fill(out, |out: &mut [T]| linalg::solve_triangular(&a, &b, sizes, Triangle::of(attrs).0, out));
    if attrs.int("checked") != 0 {
        judge("solve_triangular", lead, &status)?;
    }
    Ok(())
}

impl Primitive for SolveTriangular {
    fn name(&self) -> &'static str {
        "solve_triangular"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["upper", "unit", "transposed", "left", "checked"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (a, b) = (operands[0], operands[1]);
        expect_flags("solve_triangular", attrs, self.attributes())?;
        expect_same_dtype("solve_triangular", a.dtype, b.dtype)?;
        expect_matrix("solve_triangular", a, true)?;
        expect_matrix("solve_triangular", b, false)?;
        let ((a_lead, [order, _]), (b_lead, [m, n])) = (split(a.shape), split(b.shape));
        let side = if attrs.int("left") != 0 { m } else { n };
        if order != side || a_lead != b_lead {
            let shapes = vec![Shape::from(a.shape), Shape::from(b.shape)];
            let message = format!("the right side {} does not fit the triangle {}", shapes[1], shapes[0]);
            let what = if attrs.int("left") != 0 { "rows" } else { "columns" };
            let help = format!("it needs {order} {what}, and leading axes that broadcast");
            return Err(Error::new(ErrorKind::Shape(shapes), "solve_triangular", message).help(help));
        }
        Ok(smallvec![b.to_spec()])
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
        let triangle = Triangle::of(rule.attrs);
        let right = triangular_or_nan(rule.operand(0), &g, triangle.transposed());
        let left = match rule.wants(0) {
            true => {
                // -dB X^T or -X^T dB, transposed for a transposed triangle.
                let x = -rule.output(0);
                let outer = match (triangle.0.left, triangle.0.transposed) {
                    (true, false) => right.matmul(&x.t()),
                    (true, true) => x.matmul(&right.t()),
                    (false, false) => x.t().matmul(&right),
                    (false, true) => right.t().matmul(&x),
                };
                Gradient::Dense(triangle.mask(&outer))
            }
            false => Gradient::Zero,
        };
        smallvec![left, if rule.wants(1) { Gradient::Dense(right) } else { Gradient::Zero }]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let triangle = Triangle::of(rule.attrs);
        let bent = tangents[0].as_ref().map(|da| {
            let (dt, x) = (triangle.read(da), rule.output(0));
            if triangle.0.left { -dt.matmul(x) } else { -x.matmul(&dt) }
        });
        let change = tangents[1].iter().cloned().chain(bent).reduce(|a, b| a + b);
        smallvec![change.map(|change| triangular_or_nan(rule.operand(0), &change, triangle))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![try_bind1(self, attrs.clone(), &[&aligned[0], &aligned[1]])?])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Blocks(2)
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let (_, [order, _]) = split(operands[0].shape);
        Cost { flops: (outputs[0].shape.elements() * order) as f64, ..streaming_cost(operands, outputs) }
    }

    fn jet(&self) -> Jet {
        Jet::Quotient(0)
    }

    fn rule_text(&self) -> &'static str {
        "dB = T^-T dX, dT = -dB X^T (left) or -X^T dB (right)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |triangle: Triangle, a: &[usize], b: &[usize]| {
            let (a, b) = (a.to_vec(), b.to_vec());
            let operands = [plain::regular(&a, 0.45), Sample::wave(b.clone(), 0.85)];
            let Triangular { upper, unit_diagonal, transposed, left } = triangle.0;
            Case::new(format!("{triangle:?} {a:?} and {b:?}"), triangle.attrs(true), operands, move |s| {
                let read = |a: &Sample| {
                    let t = Sample::build(a.shape.clone(), |i| match (i[0] == i[1], (i[0] < i[1]) == upper) {
                        (true, _) if unit_diagonal => 1.0,
                        (true, _) | (_, true) => a.at(i),
                        _ => 0.0,
                    });
                    plain::inverse(&if transposed { plain::transpose(&t) } else { t })
                };
                let pairs = plain::matrices(&s[0]).into_iter().zip(plain::matrices(&s[1]));
                let solve = |(a, b): (Sample, Sample)| match left {
                    true => plain::product(&read(&a), &b),
                    false => plain::product(&b, &read(&a)),
                };
                vec![plain::stacked(&[], &pairs.map(solve).collect::<Vec<_>>(), &b)]
            })
        };
        let (lower, upper) = (Triangle::lower(), Triangle::upper());
        vec![
            case(lower, &[3, 3], &[3, 2]),
            case(upper, &[3, 3], &[3, 1]),
            case(lower.unit(), &[2, 2], &[2, 2]),
            case(upper.unit().transposed(), &[3, 3], &[3, 2]),
            case(lower.right(), &[2, 2], &[3, 2]),
            case(upper.right().transposed(), &[2, 2, 2], &[2, 1, 2]),
            case(upper.right().unit(), &[3, 3], &[1, 3]),
            case(lower, &[0, 0], &[0, 1]),
            case(lower, &[1, 1], &[1, 1]),
            case(lower, &[0, 2, 2], &[0, 2, 1]),
        ]
    }
}
