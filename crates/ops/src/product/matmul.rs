//! matmul - matrix product.   C = A B,   dC = dA B + A dB,   so Abar = Cbar B^T and Bbar = A^T Cbar.   Leading axes are a batch and
//! broadcast; a vector on either side is a row or a column, whose axis is removed. Transposed operands are never copied.

use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::matrix::with_common_lead;
use crate::tensor::inverse;
use crate::tensor::memory_of;
use wengert_kernels::matmul::{Matrix, Product, matmul_batch, matmul_many, matmul_plus};

/// The methods of `matmul`.
#[ext(MatmulMethods)]
impl Tensor {
    /// The matrix product of vectors, matrices or batches of them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0, 10.0])), Tensor::from([21.0, 43.0]));
    /// ```
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Tensor {
        if let ([.., inner], [first, ..]) = (self.shape(), other.shape())
            && (self.rank() == 1 || other.rank() == 1)
            && let met = if other.rank() == 1 { *first } else { other.shape()[other.rank() - 2] }
            && *inner != met
        {
            let (left, right) = (Shape::from(self.shape()), Shape::from(other.shape()));
            let help = match other.rank() {
                1 => format!("the vector on the right needs {inner} elements, one for each column of the left side"),
                _ => format!("the vector on the left needs {met} elements, one for each row of the right side"),
            };
            let message = format!("inner dimensions differ: {left} x {right} ({inner} against {met})");
            Error::new(ErrorKind::Shape(vec![left, right]), "matmul", message).help(help).raise();
        }
        let row = if self.rank() == 1 { self.unsqueeze(0) } else { self.clone() };
        let column = if other.rank() == 1 { other.unsqueeze(1) } else { other.clone() };
        let product = product(&row, &column);
        if self.rank() != 1 && other.rank() != 1 {
            return product;
        }
        let mut shape = product.shape().to_vec();
        if other.rank() == 1 {
            shape.pop();
        }
        if self.rank() == 1 {
            shape.remove(shape.len() - 1 - usize::from(other.rank() != 1));
        }
        product.reshape(shape)
    }
}

/// The product of matrices. Matrices that share one right side are multiplied as a single product of all their rows. The gradient of the
/// right side is then a single product too, instead of one for each matrix and a sum.
#[track_caller]
fn product(a: &Tensor, b: &Tensor) -> Tensor {
    if let ([lead @ .., inner], [other, columns]) = (a.shape(), b.shape())
        && lead.len() > 1
        && inner == other
        && let Some(order) = folding_order(a)
    {
        let rows = a.permute(&order).reshape([lead.iter().product(), *inner]);
        let shape: Shape = order[..lead.len()].iter().map(|&axis| lead[axis]).chain([*columns]).collect();
        return bind1(&MATMUL, Attrs::new(), &[&rows, b]).reshape(shape).permute(inverse(&order));
    }
    let (a, b) = with_common_lead(a, b);
    bind1(&MATMUL, Attrs::new(), &[&a, &b])
}

/// A permutation of the leading axes in which they merge into one without copying, if there is one; a tensor without values is assumed to
/// be contiguous.
fn folding_order(a: &Tensor) -> Option<Vec<usize>> {
    let last = a.rank() - 1;
    let folded = Shape::from([a.shape()[..last].iter().product(), a.shape()[last]]);
    let mut order: Vec<usize> = (0..a.rank()).collect();
    if a.layout_allows(|layout| layout.reshaped(&folded)) {
        return Some(order);
    }
    a.layout_allows(|layout| {
        order[..last].sort_by_key(|&axis| std::cmp::Reverse(layout.strides[axis]));
        layout.permuted(&order).reshaped(&folded)
    })
    .then_some(order)
}

/// The primitive `matmul`.
pub static MATMUL: Matmul = Matmul;

/// See the module.
pub struct Matmul;

/// The matrices along the last two axes of a view, one for each leading index.
fn matrices<'a, T: Product>(view: &View<'a>) -> impl Iterator<Item = Matrix<'a, T>> {
    let (lead, last) = view.shape.split_at(view.shape.len() - 2);
    let (lead_strides, strides) = view.strides.split_at(lead.len());
    let data = memory_of(*view);
    let start = view.offset;
    let offset = move |mut number: usize| {
        let mut offset = start;
        for (&size, stride) in lead.iter().zip(lead_strides).rev() {
            offset += (number % size) as isize * stride;
            number /= size;
        }
        offset as usize
    };
    let matrix = move |number: usize| Matrix {
        data,
        offset: offset(number),
        rows: last[0],
        cols: last[1],
        row_stride: strides[0],
        col_stride: strides[1],
    };
    (0..lead.iter().product()).map(matrix)
}

/// The step from each matrix to the next, if it is constant.
fn step_of(view: &View<'_>) -> Option<isize> {
    let lead = view.shape.len() - 2;
    let mut axes = view.shape[..lead].iter().zip(&view.strides[..lead]).filter(|(size, _)| **size != 1).rev();
    let Some((size, step)) = axes.next() else { return Some(0) };
    let mut whole = *size as isize * step;
    for (size, stride) in axes {
        if *stride != whole {
            return None;
        }
        whole *= *size as isize;
    }
    Some(*step)
}

/// The product of two matrices, with a row added to each of its rows.
pub(crate) fn multiply_plus<T: Product>(a: View<'_>, b: View<'_>, row: View<'_>, out: Out<'_>) {
    let (a, b) = (Laid::of(a, T::DTYPE), Laid::of(b, T::DTYPE));
    let (a, b) = (a.view(), b.view());
    let [a, b] = [&a, &b].map(|view| matrices::<T>(view).next().expect("a view without leading axes is one matrix"));
    fill(out, |out| matmul_plus(a, b, &numbers(row), out));
}

/// The products of the matrices of two views.
pub(crate) fn multiply<T: Product>(a: View<'_>, b: View<'_>, out: Out<'_>) {
    let (a, b) = (Laid::of(a, T::DTYPE), Laid::of(b, T::DTYPE));
    let (a, b) = (a.view(), b.view());
    if let (Some(a_step), Some(b_step)) = (step_of(&a), step_of(&b))
        && let (Some(first_a), Some(first_b)) = (matrices::<T>(&a).next(), matrices::<T>(&b).next())
    {
        let count = a.shape[..a.shape.len() - 2].iter().product();
        return fill(out, |out| matmul_batch(first_a, first_b, [a_step, b_step], count, out));
    }
    let pairs: SmallVec<[_; 16]> = matrices::<T>(&a).zip(matrices::<T>(&b)).collect();
    fill(out, |out| matmul_many(&pairs, out));
}

impl Primitive for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn operands(&self) -> usize {
        2
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (a, b) = (operands[0], operands[1]);
        let shapes = || vec![Shape::from(a.shape), Shape::from(b.shape)];
        let wrong = |message: String| Error::new(ErrorKind::Shape(shapes()), "matmul", message);
        let (m, n) = (a.shape.len(), b.shape.len());
        if m < 2 || n < 2 {
            let message = format!("needs vectors or matrices, got {} x {}", shapes()[0], shapes()[1]);
            return Err(wrong(message).help("multiply by a number with *"));
        }
        let (inner, other) = (a.shape[m - 1], b.shape[n - 2]);
        if inner != other {
            let transposed: Shape = b.shape[..n - 2].iter().chain(b.shape[n - 2..].iter().rev()).copied().collect();
            let fits = if b.shape[n - 1] == inner { "use .t(): " } else { "" };
            let help = format!("{fits}the right side transposed has shape {transposed}");
            let message =
                format!("inner dimensions differ: {} x {} ({inner} against {other})", shapes()[0], shapes()[1]);
            return Err(wrong(message).help(help));
        }
        if a.shape[..m - 2] != b.shape[..n - 2] {
            return Err(wrong(format!("the leading axes of {} and {} do not broadcast", shapes()[0], shapes()[1])));
        }
        expect_same_dtype("matmul", a.dtype, b.dtype)?;
        expect_arithmetic("matmul", a.dtype)?;
        let shape = a.shape[..m - 1].iter().chain(&b.shape[n - 1..]).copied().collect();
        Ok(smallvec![Spec { shape, dtype: a.dtype }])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        computing!(outputs[0].dtype, T => multiply::<T>(operands[0], operands[1], outputs[0].reborrow()));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = if wanted.has(0) { Saves::NOTHING.operand(1) } else { Saves::NOTHING };
        if wanted.has(1) { saves.operand(0) } else { saves }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let left = || Gradient::Dense(g.matmul(&rule.operand(1).t()));
        let right = || Gradient::Dense(rule.operand(0).t().matmul(&g));
        smallvec![
            if rule.wants(0) { left() } else { Gradient::Zero },
            if rule.wants(1) { right() } else { Gradient::Zero },
        ]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let left = tangents[0].as_ref().map(|da| da.matmul(rule.operand(1)));
        let right = tangents[1].as_ref().map(|db| rule.operand(0).matmul(db));
        smallvec![left.into_iter().chain(right).reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        // Batch axes broadcast from the left like leading axes, if one side lacks the batch.
        if !(batched.has(0) && batched.has(1)) {
            return Ok(smallvec![product(&operands[0], &operands[1])]);
        }
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &[&aligned[0], &aligned[1]])])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let inner = operands[0].shape.last().copied().unwrap_or(0);
        Cost { flops: 2.0 * (outputs[0].shape.elements() * inner) as f64, ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Product { transposed: false }
    }

    fn jet(&self) -> Jet {
        Jet::Bilinear
    }

    fn rule_text(&self) -> &'static str {
        "dA = dC B^T, dB = A^T dC"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |a: Shape, b: Shape| {
            let operands = [Sample::wave(a.clone(), 0.25), Sample::wave(b.clone(), 0.65)];
            Case::new(format!("{a} x {b}"), Attrs::new(), operands, move |s| {
                let (rank, inner) = (a.rank(), a[a.rank() - 1]);
                let to: Shape = a[..rank - 1].iter().chain(&b[rank - 1..]).copied().collect();
                vec![Sample::build(to, |i| {
                    let (lead, row, column) = (&i[..rank - 2], i[rank - 2], i[rank - 1]);
                    let term =
                        |k: usize| s[0].at(&[lead, &[row, k]].concat()) * s[1].at(&[lead, &[k, column]].concat());
                    (0..inner).map(term).sum()
                })]
            })
        };
        vec![
            case(Shape::from([2, 3]), Shape::from([3, 4])),
            case(Shape::from([1, 1]), Shape::from([1, 1])),
            case(Shape::from([2, 3, 2]), Shape::from([2, 2, 1])),
            case(Shape::from([2, 1, 3, 2]), Shape::from([2, 1, 2, 3])),
            case(Shape::from([30, 40]), Shape::from([40, 3])),
            case(Shape::from([0, 2, 3]), Shape::from([0, 3, 2])),
            case(Shape::from([2, 0]), Shape::from([0, 3])),
            case(Shape::from([0, 2]), Shape::from([2, 3])),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Matmul {
    fn leads(&self) -> bool {
        true
    }
}
