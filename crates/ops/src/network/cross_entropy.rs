//! softmax_cross_entropy - distance of logits from a class.   l = sum over c of q[c] w[c] (lse x - x[c]) with q = (1 - s) [c = t] + s / n,   dx = dl (softmax(x) sum(q w) - q w).   Along
//! the last axis; lse x is an output too. s smooths the labels, w weights the classes; a row whose target is the ignored index has
//! loss 0 and gradient 0. Finite for logits of any magnitude.
//!
//! softmax_cross_entropy_gradient - the gradient of softmax_cross_entropy with respect to the logits.   dx = g (e^(x - lse) sum(q w) - q
//! w),   by its formula.

use super::attention::wide;
use crate::indexing::gather::out_of_range;
use crate::prelude::*;
use crate::primitive::streaming_cost;
use wengert_kernels::rows::{self, CrossEntropy, Float};

/// The loss of each row of `x`, and the row's logsumexp.
#[track_caller]
pub(crate) fn softmax_cross_entropy(
    x: &Tensor,
    targets: &Tensor,
    weight: Option<&Tensor>,
    ignored: i64,
    smoothing: f64,
) -> Tensor {
    let attrs = Attrs::new()
        .with_int("ignored", ignored)
        .with_real("smoothing", smoothing)
        .with_int("weight", i64::from(weight.is_some()));
    let operands: SmallVec<[&Tensor; 4]> = [x, targets].into_iter().chain(weight).collect();
    bind(&SOFTMAX_CROSS_ENTROPY, attrs, &operands).swap_remove(0)
}

/// The primitive `softmax_cross_entropy`.
pub static SOFTMAX_CROSS_ENTROPY: FusedOp<Forward> = FusedOp::NEW;

/// The primitive `softmax_cross_entropy_gradient`.
pub static SOFTMAX_CROSS_ENTROPY_GRADIENT: FusedOp<Backward> = FusedOp::NEW;

/// See the module.
pub struct Forward;

/// See the module.
pub struct Backward;

const ATTRIBUTES: &[&str] = &["ignored", "smoothing", "weight"];

fn weighted(attrs: &Attrs) -> bool {
    attrs.int("weight") != 0
}

fn expect_logits(name: &str, attrs: &Attrs, operands: &[SpecRef<'_>], more: usize) -> Result<(), Error> {
    let (x, targets) = (operands[0], operands[1]);
    attrs.int("ignored");
    expect_reals(attrs, &["smoothing"]);
    expect_flags(name, attrs, &["weight"])?;
    expect_float(name, x.dtype)?;
    if !targets.dtype.is_integer() {
        let message = format!("classes are integers, got {}", targets.dtype);
        return Err(Error::new(ErrorKind::DType(vec![targets.dtype]), name, message));
    }
    let classes = x.shape.last().copied().unwrap_or(0);
    let fits = classes > 0
        && operands.len() == 2 + usize::from(weighted(attrs)) + more
        && x.shape[..x.shape.len() - 1] == *targets.shape
        && (!weighted(attrs) || operands[2].shape == [classes]);
    if !fits {
        let shapes: Vec<Shape> = operands.iter().map(|operand| Shape::from(operand.shape)).collect();
        let message = format!("logits of shape {} with targets of shape {}", shapes[0], shapes[1]);
        return Err(Error::new(ErrorKind::Shape(shapes), name, message)
            .help("logits are [.., classes], targets [..], weights [classes]; there is at least one class"));
    }
    // Losses, logsumexps and their cotangents may be wide.
    let is_wide = |position: usize| position >= operands.len() - more && operands[position].dtype == wide(x.dtype);
    let floats = operands.iter().enumerate().filter(|(position, _)| *position != 1 && !is_wide(*position));
    floats.map(|(_, operand)| operand.dtype).try_for_each(|dtype| expect_same_dtype(name, x.dtype, dtype))
}

/// The targets and options that the logits are compared with.
fn compared<'a, T: Float>(attrs: &Attrs, targets: &'a [i64], weights: Option<&'a [T]>) -> CrossEntropy<'a, T> {
    let smoothing = T::from_f64(attrs.real("smoothing"));
    CrossEntropy { targets, ignored: Some(attrs.int("ignored")), smoothing, weights }
}

/// In Tensor operations: which rows count, q w for each row and class, and its sum over classes.
fn parts(attrs: &Attrs, x: &Tensor, targets: &Tensor, weight: Option<&Tensor>) -> (Tensor, Tensor, Tensor) {
    let axis = x.rank() - 1;
    let classes = x.shape()[axis];
    let targets = targets.cast(DType::I64);
    let counts = targets.not_equal(attrs.int("ignored"));
    let own = Tensor::arange(classes).beside(x).equal(targets.unsqueeze(axis)).cast(x.dtype());
    let smoothing = attrs.real("smoothing");
    let q = own * (1.0 - smoothing) + smoothing / classes as f64;
    let q = weight.map_or_else(|| q.clone(), |weight| &q * weight);
    let total = q.sum_over(-1);
    (counts, q, total)
}

impl Forward {
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        let (x, targets) = (numbers::<T>(operands[0]), numbers::<i64>(operands[1]));
        let weights = weighted(attrs).then(|| numbers::<T>(operands[2]));
        let axis = operands[0].shape.len() - 1;
        let target = compared(attrs, &targets[..], weights.as_deref());
        let [loss, lse] = outputs else { unreachable!("two outputs") };
        let result = fill(loss.reborrow(), |loss| {
            fill(lse.reborrow(), |lse| rows::cross_entropy(&x[..], operands[0].shape[axis], target, loss, lse))
        });
        result.map_err(|wrong| out_of_range(Self::NAME, axis, wrong, operands[1]))
    }
}

impl Fused for Forward {
    const NAME: &'static str = "softmax_cross_entropy";
    const ATTRIBUTES: &'static [&'static str] = ATTRIBUTES;
    const RULE: &'static str = "dx = dl (softmax(x) sum(q w) - q w)";
    const OPERANDS: (usize, usize) = (2, 3);
    const COVERED: Mask = Mask::only(0);

    fn outputs(_attrs: &Attrs) -> usize {
        2
    }

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + usize::from(weighted(attrs))
    }

    fn shared(attrs: &Attrs) -> Option<usize> {
        weighted(attrs).then_some(2)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_logits(Self::NAME, attrs, operands, 0)?;
        let row = Spec::new(operands[1].shape, wide(operands[0].dtype));
        Ok(Specs::from_vec(vec![row.clone(), row]))
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        computing_float!(operands[0].dtype, T => Self::write::<T>(attrs, operands, outputs))
    }

    /// For each logit: maximum, difference, exponential and sum; for each row: logarithm, sum and difference.
    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let logits: usize = operands[0].shape.iter().product();
        let flops = 4.0 * logits as f64 + 3.0 * outputs[0].shape.elements() as f64;
        Cost { flops, ..streaming_cost(operands, outputs) }
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let x = &operands[0];
        let (counts, q, total) = parts(attrs, x, &operands[1], operands.get(2));
        let lse = x.logsumexp_over(-1);
        // A class of weight 0 may have a logit of minus infinity.
        let products = q.equal(0.0).where_(&q, &q * x);
        let loss = counts.where_(total * &lse - products.sum_over(-1), 0.0);
        vec![loss, lse]
    }

    fn saves(attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = Self::all_operands(attrs);
        if wanted.has(0) { saves.output(1) } else { saves }
    }

    fn gradient(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        let [Some(g), None] = cotangents else { return None };
        let mut operands: SmallVec<[&Tensor; 8]> = smallvec![rule.operand(0), rule.operand(1)];
        operands.extend(weighted(rule.attrs).then(|| rule.operand(2)));
        operands.extend([rule.output(1), g]);
        Some(smallvec![Gradient::Dense(bind1(&SOFTMAX_CROSS_ENTROPY_GRADIENT, rule.attrs.clone(), &operands))])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        cases(
            |attrs, x, target, weights, _, _| {
                let (q, lse) = direct(attrs, x, target, weights);
                let distance = |(q, x): (&f64, &f64)| if *q == 0.0 { 0.0 } else { q * (lse - x) };
                let loss = if target == attrs.int("ignored") { 0.0 } else { q.iter().zip(x).map(distance).sum() };
                vec![vec![loss], vec![lse]]
            },
            false,
        )
    }
}

impl Backward {
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], out: Out<'_>) -> Result<(), Error> {
        let (x, targets) = (numbers::<T>(operands[0]), numbers::<i64>(operands[1]));
        let weights = weighted(attrs).then(|| numbers::<T>(operands[2]));
        let [lse, g] = [2, 1].map(|back| numbers::<T>(operands[operands.len() - back]));
        let classes = operands[0].shape[operands[0].shape.len() - 1];
        let wrong = |&&target: &&i64| target != attrs.int("ignored") && target as u64 >= classes as u64;
        if let Some(&target) = targets.iter().find(wrong) {
            let message = format!("class {target} is not one of {classes}");
            return Err(Error::new(ErrorKind::Range, Self::NAME, message));
        }
        let target = compared(attrs, &targets[..], weights.as_deref());
        fill(out, |dx| rows::cross_entropy_gradient(&x[..], classes, target, &lse[..], &g[..], dx));
        Ok(())
    }
}

impl Fused for Backward {
    const NAME: &'static str = "softmax_cross_entropy_gradient";
    const ATTRIBUTES: &'static [&'static str] = ATTRIBUTES;
    const RULE: &'static str = "by its formula";
    const OPERANDS: (usize, usize) = (4, 5);

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + usize::from(weighted(attrs))
    }

    fn shared(attrs: &Attrs) -> Option<usize> {
        weighted(attrs).then_some(2)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_logits(Self::NAME, attrs, operands, 2)?;
        let (lse, g) = (operands[operands.len() - 2], operands[operands.len() - 1]);
        if lse.shape != operands[1].shape || g.shape != operands[1].shape {
            let shapes = vec![Shape::from(lse.shape), Shape::from(g.shape), Shape::from(operands[1].shape)];
            let message = format!("shapes {} and {} are not that of the targets, {}", shapes[0], shapes[1], shapes[2]);
            return Err(Error::new(ErrorKind::Shape(shapes), Self::NAME, message));
        }
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, outputs[0].reborrow()))
    }

    /// For each logit: difference, exponential, difference and product.
    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        Cost { flops: 4.0 * outputs[0].shape.elements() as f64, ..streaming_cost(operands, outputs) }
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let (x, axis) = (&operands[0], operands[0].rank() - 1);
        let (lse, g) = (&operands[operands.len() - 2], &operands[operands.len() - 1]);
        let weight = weighted(attrs).then(|| &operands[2]);
        let (counts, q, total) = parts(attrs, x, &operands[1], weight);
        let p = (x - lse.unsqueeze(axis)).exp();
        let counts = counts.where_(g, 0.0).unsqueeze(axis);
        vec![(p * total.unsqueeze(axis) - q) * counts]
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        cases(
            |attrs, x, target, weights, lse, g| {
                let (q, _) = direct(attrs, x, target, weights);
                let g = if target == attrs.int("ignored") { 0.0 } else { g };
                let total: f64 = q.iter().sum();
                vec![x.iter().zip(&q).map(|(x, q)| g * ((x - lse).exp() * total - q)).collect()]
            },
            true,
        )
    }
}

/// q w of each class, and the logsumexp, by definition.
fn direct(attrs: &Attrs, x: &[f64], target: i64, weights: Option<&[f64]>) -> (Vec<f64>, f64) {
    let (n, s) = (x.len(), attrs.real("smoothing"));
    let share = |c: usize| {
        let own = if target == c as i64 { 1.0 - s } else { 0.0 };
        (own + s / n as f64) * weights.map_or(1.0, |weights| weights[c])
    };
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    ((0..n).map(share).collect(), largest + x.iter().map(|x| (x - largest).exp()).sum::<f64>().ln())
}

/// The reference of one row: attributes, logits, target, weights, logsumexp and cotangent to the parts of each output.
type RowReference = fn(&Attrs, &[f64], i64, Option<&[f64]>, f64, f64) -> Vec<Vec<f64>>;

fn cases(reference: RowReference, backward: bool) -> Vec<Case> {
    let case = |label: &str, rows: Shape, n: usize, targets: Vec<i64>, smoothing: f64, weight: bool, scale: f64| {
        let attrs = Attrs::new()
            .with_int("ignored", -100)
            .with_real("smoothing", smoothing)
            .with_int("weight", i64::from(weight));
        let shape: Shape = rows.iter().copied().chain([n]).collect();
        let mut x = Sample::wave(shape.clone(), 0.3);
        x.data.iter_mut().for_each(|x| *x *= scale);
        let mut operands = vec![x, Sample::integers(rows.clone(), targets)];
        operands.extend(weight.then(|| Sample::positive([n], 0.6)));
        if backward {
            operands.extend([Sample::positive(rows.clone(), 0.8), Sample::wave(rows.clone(), 0.5)]);
        }
        let kept = attrs.clone();
        Case::new(label, attrs, operands, move |s| {
            let weights = weight.then(|| &s[2].data[..]);
            let (lse, g) = (&s[s.len() - 2].data, &s[s.len() - 1].data);
            let mut outputs: Vec<Vec<f64>> = vec![vec![]; if backward { 1 } else { 2 }];
            for (row, x) in s[0].data.chunks(n).enumerate() {
                let (lse, g) = if backward { (lse[row], g[row]) } else { (0.0, 0.0) };
                let parts = reference(&kept, x, s[1].data[row] as i64, weights, lse, g);
                outputs.iter_mut().zip(parts).for_each(|(all, part)| all.extend(part));
            }
            let to = if backward { &shape } else { &rows };
            outputs.into_iter().map(|data| Sample::new(to.clone(), data)).collect()
        })
    };
    let mut all = vec![
        case("plain", Shape::from([2]), 3, vec![2, 0], 0.0, false, 1.0),
        case("smoothed", Shape::from([2, 1]), 3, vec![1, 1], 0.2, false, 1.0),
        case("ignored and weighted", Shape::from([3]), 2, vec![1, -100, 0], 0.1, true, 1.0),
        case("one row", Shape::from([]), 4, vec![3], 0.0, true, 1.0),
        case("no rows", Shape::from([0]), 3, vec![], 0.1, true, 1.0),
    ];
    if !backward {
        all.push(case("large logits", Shape::from([2]), 3, vec![2, 0], 0.0, false, 1e3).values_only());
    }
    all
}
