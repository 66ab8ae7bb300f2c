//! cofactor - cofactor matrix.   C(A) = the gradient of det A,   dC = C(A; dA).   The derivative rule of the determinant.
//!
//! C(A; H1 .. Hk) is C differentiated along each H in turn. It is linear in every H, and <C(A; H..), G> does not change when
//! G and an H trade places, so every rule is the same operation again: for A with the cotangent as one more H, for an H with
//! the cotangent in its place. Derivatives of every order are exact for matrices of every rank.

use crate::ops::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::matrix::{expect_matrix, filled, plain, split};
use wengert_kernels::linalg;

/// The cofactor matrix of the first matrix, differentiated along the others.
pub(crate) fn cofactor(operands: &[&Tensor]) -> Tensor {
    bind1(&COFACTOR, Attrs::new().with_int("order", operands.len() as i64 - 1), operands)
}

impl Tensor {
    /// The cofactor matrix: the transpose of the adjugate, and the gradient of the determinant.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let c = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).cofactor();
    /// assert!(c.all_close(&Tensor::from([[4.0, -3.0], [-2.0, 1.0]]), 1e-14));
    /// ```
    #[track_caller]
    pub fn cofactor(&self) -> Tensor {
        bind1(&COFACTOR, Attrs::new().with_int("order", 0), &[self])
    }
}

/// The primitive `cofactor`.
pub static COFACTOR: Cofactor = Cofactor;

/// See the module.
pub struct Cofactor;

fn operands_of(rule: &Rule<'_>, replaced: usize, by: &Tensor) -> Vec<Tensor> {
    let count = rule.attrs.int("order") as usize + 1;
    let mut operands: Vec<Tensor> =
        (0..count).map(|i| if i == replaced { by.clone() } else { rule.operand(i).clone() }).collect();
    if replaced == 0 {
        operands[0] = rule.operand(0).clone();
        operands.push(by.clone());
    }
    operands
}

/// With `by` in the place of operand `position`, or as one more direction if that is the matrix itself.
fn along(rule: &Rule<'_>, position: usize, by: &Tensor) -> Tensor {
    let operands = operands_of(rule, position, by);
    cofactor(&operands.iter().collect::<Vec<_>>())
}

impl Primitive for Cofactor {
    fn name(&self) -> &'static str {
        "cofactor"
    }

    fn operands(&self) -> usize {
        1
    }

    fn accepts(&self, count: usize) -> bool {
        count >= 1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["order"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let order = attrs.int("order");
        if order != operands.len() as i64 - 1 {
            let message = format!("order {order} with {} operands", operands.len());
            return Err(Error::new(ErrorKind::Argument, "cofactor", message).help("one operand more than the order"));
        }
        expect_matrix("cofactor", operands[0], true)?;
        for other in &operands[1..] {
            expect_same_dtype("cofactor", operands[0].dtype, other.dtype)?;
            if other.shape != operands[0].shape {
                let shapes = vec![Shape::from(operands[0].shape), Shape::from(other.shape)];
                let message = format!("a direction of shape {} for matrices of {}", shapes[1], shapes[0]);
                return Err(Error::new(ErrorKind::Shape(shapes), "cofactor", message));
            }
        }
        Ok(smallvec![operands[0].to_spec()])
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let (lead, [n, _]) = split(&outputs[0].shape);
        let all: Vec<_> = operands.iter().map(|operand| numbers::<f64>(operand)).collect();
        let directions: Vec<&[f64]> = all[1..].iter().map(|numbers| &numbers[..]).collect();
        let mut out = vec![0.0; outputs[0].shape.elements()];
        // What is not finite is NaN in the result.
        let _ = linalg::cofactor(&all[0], &directions, [lead.iter().product(), n], &mut out);
        Ok(smallvec![filled(&out, DType::F64, &outputs[0])])
    }

    fn saves(&self, attrs: &Attrs, wanted: Mask) -> Saves {
        let count = attrs.int("order") as usize + 1;
        let read = |i: usize| i == 0 || wanted.iter().any(|position| position != i);
        (0..count).filter(|&i| read(i)).fold(Saves::NOTHING, Saves::operand)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let gradient = |position: usize| match rule.wants(position) {
            true => Gradient::Dense(along(rule, position, &g)),
            false => Gradient::Zero,
        };
        (0..rule.attrs.int("order") as usize + 1).map(gradient).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let changes = tangents.iter().enumerate();
        let changes = changes.filter_map(|(position, tangent)| tangent.as_ref().map(|t| along(rule, position, t)));
        smallvec![changes.reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &aligned.iter().collect::<Vec<_>>())])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let (_, [n, _]) = split(&outputs[0].shape);
        let flops = 30.0 * (outputs[0].shape.elements() * n * operands.len()) as f64;
        Cost { flops, ..streaming_cost(operands, outputs) }
    }

    fn rule_text(&self) -> &'static str {
        "dA = C(A; H.., dC), dH = C(A; .. dC ..)"
    }

    fn cases(&self) -> Vec<Case> {
        // The determinant in which every direction gives exactly one row, the matrix itself the others.
        fn mixed(rows: &[Vec<Vec<f64>>], pending: &[usize], columns: &[usize]) -> f64 {
            let Some((row, rest)) = rows.split_first() else { return f64::from(pending.is_empty()) };
            let mut sum = 0.0;
            for (place, &column) in columns.iter().enumerate() {
                let sign = if place % 2 == 0 { 1.0 } else { -1.0 };
                let columns = [&columns[..place], &columns[place + 1..]].concat();
                sum += sign * row[0][column] * mixed(rest, pending, &columns);
                for (which, &matrix) in pending.iter().enumerate() {
                    let pending = [&pending[..which], &pending[which + 1..]].concat();
                    sum += sign * row[matrix][column] * mixed(rest, &pending, &columns);
                }
            }
            sum
        }
        fn expected(s: &[Sample]) -> Sample {
            let n = s[0].shape[0];
            let row = |i: usize| s.iter().map(|a| (0..n).map(|j| a.at(&[i, j])).collect()).collect::<Vec<Vec<f64>>>();
            let directions: Vec<usize> = (1..s.len()).collect();
            Sample::build([n, n], |i| {
                let rows: Vec<_> = (0..n).filter(|&r| r != i[0]).map(row).collect();
                let columns: Vec<usize> = (0..n).filter(|&c| c != i[1]).collect();
                let sign = if (i[0] + i[1]) % 2 == 0 { 1.0 } else { -1.0 };
                sign * mixed(&rows, &directions, &columns)
            })
        }
        let case = |label: &str, operands: Vec<Sample>| {
            let attrs = Attrs::new().with_int("order", operands.len() as i64 - 1);
            Case::new(label, attrs, operands, |s| {
                let lead = s[0].shape[..s[0].shape.rank() - 2].to_vec();
                let split: Vec<Vec<Sample>> = s.iter().map(plain::matrices).collect();
                let one = |k: usize| expected(&split.iter().map(|list| list[k].clone()).collect::<Vec<_>>());
                let each: Vec<Sample> = (0..split[0].len()).map(one).collect();
                vec![plain::stacked(&lead, &each, &s[0].shape[lead.len()..])]
            })
        };
        let half = |shape: &[usize], phase: f64| {
            let mut sample = Sample::wave(shape.to_vec(), phase);
            sample.data.iter_mut().for_each(|x| *x *= 0.5);
            sample
        };
        let rank_one = Sample::build([3, 3], |i| (0.4 + 0.3 * i[0] as f64) * (0.9 - 0.5 * i[1] as f64));
        vec![
            case("3 x 3", vec![plain::regular(&[3, 3], 0.9)]),
            case("batch", vec![plain::regular(&[2, 2, 2], 0.4)]),
            case("zero", vec![Sample::new([3, 3], [0.0; 9])]),
            case("rank 1 of 3", vec![rank_one.clone()]),
            case("along one", vec![plain::regular(&[3, 3], 0.9), half(&[3, 3], 0.2)]),
            case("along one at rank 1", vec![rank_one, half(&[3, 3], 0.5)]),
            case("along two", vec![plain::regular(&[3, 3], 0.3), half(&[3, 3], 0.2), half(&[3, 3], 0.7)]),
            case("1 x 1", vec![Sample::new([1, 1], [2.0])]),
            case("0 x 0", vec![Sample::new([0, 0], [])]),
        ]
    }
}
