//! attention - scaled dot-product attention.   o = softmax(c q k^T + m) v,   by blocks: p = e^(s - lse), ds = p (do v^T - sum(do o)), dq = c ds k, dk = c ds^T q, dv = p^T do.   The
//! scores are never materialised; the logsumexp of each of their rows is an output too. Causal: query i sees keys 0..=i. A query that
//! sees no key gives 0, with gradient 0. Strided views, such as parts of one projection, are not copied.
//!
//! attention_gradient - the gradients of attention.   From q, k, v, m, o, lse and the cotangent of o: those of q, k and v,   by their formulas.

use crate::prelude::*;
use crate::rules::heads::{Located, Room, hidden_of, row_major, sizes_of};
use wengert_kernels::attention::{self as kernel, AttentionGradient, HeadsMut, Place, Saved};
use wengert_kernels::rows::Float;

/// Options for attention.
///
/// ```
/// use wengert::prelude::*;
/// let (q, k, v) = (Tensor::zeros([1, 2, 4]), Tensor::ones([1, 2, 4]), Tensor::from([[[1.0], [3.0]]]));
/// assert_eq!(q.attention(&k, &v, &Attention::new().causal()), Tensor::from([[[1.0], [2.0]]]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attention {
    causal: bool,
    scale: Option<f64>,
    mask: Option<Tensor>,
}

impl Attention {
    /// The default: every query sees every key; scores are divided by the square root of a query's width.
    pub fn new() -> Attention {
        Attention::default()
    }

    /// Query `i` sees keys `0..=i` only.
    pub fn causal(self) -> Attention {
        Attention { causal: true, ..self }
    }

    /// Sets the factor of the scores.
    pub fn scale(self, scale: f64) -> Attention {
        Attention { scale: Some(scale), ..self }
    }

    /// Numbers added to the scores, or booleans that say which keys are visible; broadcast to `[.., queries, keys]`.
    pub fn mask(self, mask: &Tensor) -> Attention {
        Attention { mask: Some(mask.clone()), ..self }
    }

    pub(super) fn attrs(&self, width: usize) -> Attrs {
        let usual = 1.0 / (width.max(1) as f64).sqrt();
        Attrs::new()
            .with_int("causal", i64::from(self.causal))
            .with_real("scale", self.scale.unwrap_or(usual))
            .with_int("mask", i64::from(self.mask.is_some()))
    }

    /// The mask broadcast to all scores, without copying.
    #[track_caller]
    pub(super) fn of_scores(&self, scores: Shape) -> Option<Tensor> {
        let mask = self.mask.as_ref()?;
        Some(mask.broadcast_to(scores))
    }
}

/// The methods of `attention`.
#[ext(AttentionMethods)]
impl Tensor {
    /// Attention of queries `[.., T, D]` to keys `[.., S, D]` with values `[.., S, D']`; leading axes broadcast.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::ones([2, 4, 8, 16]); // batch, heads, tokens, width
    /// assert_eq!(x.attention(&x, &x, &Attention::new()), x);
    /// ```
    #[track_caller]
    pub fn attention(&self, k: &Tensor, v: &Tensor, options: &Attention) -> Tensor {
        let lead = |x: &Tensor| Shape::from(&x.shape()[..x.rank().saturating_sub(2)]);
        let common = [k, v].iter().try_fold(lead(self), |shape, x| crate::tensor::broadcast(&shape, &lead(x)));
        let (Some(common), true) = (common, [self, k, v].iter().all(|x| x.rank() >= 2)) else {
            let shapes: Vec<Shape> = [self, k, v].iter().map(|x| Shape::from(x.shape())).collect();
            let message = format!("queries {}, keys {} and values {} do not fit", shapes[0], shapes[1], shapes[2]);
            Error::new(ErrorKind::Shape(shapes), "attention", message)
                .help("they are [.., T, D], [.., S, D] and [.., S, D'], with leading axes that broadcast")
                .raise();
        };
        let full = |x: &Tensor| -> Tensor {
            x.broadcast_to(common.iter().chain(&x.shape()[x.rank() - 2..]).copied().collect::<Shape>())
        };
        let sizes = [self.shape()[self.rank() - 2], k.shape()[k.rank() - 2]];
        let mask = options.of_scores(common.iter().chain(&sizes).copied().collect());
        let (q, k, v) = (full(self), full(k), full(v));
        let operands: SmallVec<[&Tensor; 4]> = [&q, &k, &v].into_iter().chain(&mask).collect();
        bind(&ATTENTION, options.attrs(q.shape()[q.rank() - 1]), &operands).swap_remove(0)
    }
}

/// The primitive `attention`.
pub static ATTENTION: FusedOp<Forward> = FusedOp::NEW;

/// The primitive `attention_gradient`.
pub static ATTENTION_GRADIENT: FusedOp<Backward> = FusedOp::NEW;

/// See the module.
pub struct Forward;

/// See the module.
pub struct Backward;

pub(super) fn masked(attrs: &Attrs) -> usize {
    usize::from(attrs.int("mask") != 0)
}

/// The masked scores, in Tensor operations.
fn scores(attrs: &Attrs, q: &Tensor, k: &Tensor, mask: Option<&Tensor>) -> Tensor {
    let s = q.matmul(&k.t()) * attrs.real("scale");
    let s = match mask {
        None => s,
        Some(mask) if mask.dtype() == DType::Bool => mask.where_(s, f64::NEG_INFINITY),
        Some(mask) => s + mask,
    };
    if attrs.int("causal") == 0 {
        return s;
    }
    let [.., queries, keys] = *s.shape() else { unreachable!("scores are matrices") };
    let seen = Tensor::arange(queries).unsqueeze(1).ge(Tensor::arange(keys)).beside(&s);
    seen.where_(&s, f64::NEG_INFINITY)
}

/// Checks the attributes of scores.
pub(super) fn expect_scores(name: &str, attrs: &Attrs) -> Result<(), Error> {
    expect_reals(attrs, &["scale"]);
    expect_flags(name, attrs, &["causal", "mask"])
}

/// The dtype of a statistic of numbers of this dtype: 16 bits would be too few for what is computed from it.
pub(super) fn wide(dtype: DType) -> DType {
    if matches!(dtype, DType::BF16 | DType::F16) { DType::F32 } else { dtype }
}

/// Checks that all operands have the same float dtype; a mask may be boolean, and the logsumexp wide.
pub(super) fn expect_dtypes(
    name: &str,
    operands: &[SpecRef<'_>],
    mask: Option<usize>,
    statistic: Option<usize>,
) -> Result<(), Error> {
    expect_float(name, operands[0].dtype)?;
    let is_truth = |position: usize| mask == Some(position) && operands[position].dtype == DType::Bool;
    let queries = operands[0].dtype;
    let of_mask = mask.and_then(|position| operands.get(position)).map(|operand| operand.dtype);
    if let Some(other) = of_mask.filter(|dtype| ![queries, DType::Bool].contains(dtype)) {
        let message = format!("the mask is {other}, the queries are {queries}");
        return Err(Error::new(ErrorKind::DType(vec![queries, other]), name, message).help(format!(
            "a mask is boolean, or has the dtype of the queries: .cast(DType::Bool) or .cast(DType::{queries:?})"
        )));
    }
    let is_wide = |position: usize| statistic == Some(position) && operands[position].dtype == wide(queries);
    let mut numbers = (0..operands.len()).filter(|&position| !is_truth(position) && !is_wide(position));
    numbers.try_for_each(|position| expect_same_dtype(name, operands[0].dtype, operands[position].dtype))
}

fn expect_heads(name: &str, attrs: &Attrs, operands: &[SpecRef<'_>], count: usize) -> Result<(), Error> {
    let wrong = || {
        let shapes: Vec<Shape> = operands.iter().map(|operand| Shape::from(operand.shape)).collect();
        let list: Vec<String> = shapes.iter().map(Shape::to_string).collect();
        Error::new(ErrorKind::Shape(shapes), name, format!("shapes {} do not fit", list.join(", ")))
            .help("queries, keys and values are [.., T, D], [.., S, D] and [.., S, D'], a mask [.., T, S]")
    };
    expect_scores(name, attrs)?;
    let rest = 3 + masked(attrs);
    expect_dtypes(name, operands, (masked(attrs) == 1).then_some(3), (count > rest).then_some(rest + 1))?;
    if operands.len() != count || operands.iter().take(3).any(|operand| operand.shape.len() < 2) {
        return Err(wrong());
    }
    let (q, k, v) = (operands[0].shape, operands[1].shape, operands[2].shape);
    let rank = q.len();
    let fits = k.len() == rank
        && v.len() == rank
        && k[..rank - 2] == q[..rank - 2]
        && v[..rank - 1] == k[..rank - 1]
        && k[rank - 1] == q[rank - 1];
    let mask = (masked(attrs) == 1).then(|| operands[3].shape);
    let mask_fits = mask.is_none_or(|mask| {
        fits && mask.len() == rank && mask[..rank - 1] == q[..rank - 1] && mask[rank - 1] == k[rank - 2]
    });
    if fits && mask_fits { Ok(()) } else { Err(wrong()) }
}

fn spec_of(view: View<'_>) -> SpecRef<'_> {
    SpecRef { shape: view.shape, dtype: view.dtype }
}

/// The specs of output and logsumexp.
fn output_specs(q: SpecRef<'_>, v: SpecRef<'_>) -> (Spec, Spec) {
    let rank = q.shape.len();
    let out = q.shape[..rank - 1].iter().chain(&v.shape[rank - 1..]).copied().collect();
    (Spec { shape: out, dtype: q.dtype }, Spec::new(&q.shape[..rank - 1], wide(q.dtype)))
}

/// The flops of products of queries with keys: `products[0]` along the width of keys and `products[1]` along that of values.
pub(super) fn flops(batches: usize, [queries, keys, width, value_width]: [usize; 4], products: [usize; 2]) -> f64 {
    2.0 * (batches * queries * keys) as f64 * (products[0] * width + products[1] * value_width) as f64
}

/// The products of the forward pass: the scores, and their product with the values.
pub(super) const FORWARD: [usize; 2] = [1, 1];

/// The products of the backward pass: the scores again, gradients of queries and keys; gradients of values and of the weights.
pub(super) const BACKWARD: [usize; 2] = [3, 2];

impl Forward {
    /// Writes the output, whose tokens have the layout `place`, and the logsumexp.
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], place: Place, outputs: &mut [Out<'_>]) {
        let [q, k, v] = [0, 1, 2].map(|position| Located::of(operands[position], T::DTYPE));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[3], T::DTYPE));
        let [.., keys, _] = *k.shape() else { unreachable!("keys are matrices") };
        let value_width = v.shape()[v.shape().len() - 1];
        let sizes = sizes_of::<T>(attrs, q.shape(), keys, value_width, mask.as_ref().map(hidden_of));
        let [out, lse] = outputs else { unreachable!("two outputs") };
        fill(out.reborrow(), |data| {
            fill(lse.reborrow(), |lse| {
                kernel::attention(&sizes, q.heads(), k.heads(), v.heads(), HeadsMut { data, place }, lse);
            });
        });
    }
}

/// (output, logsumexp) in Tensor operations.
pub(super) fn attend(attrs: &Attrs, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> (Tensor, Tensor) {
    let (out, lse) = output_specs(q.value.spec_ref(), v.value.spec_ref());
    if k.shape()[k.rank() - 2] == 0 {
        return (Tensor::constant(0.0, &out), Tensor::constant(f64::NEG_INFINITY, &lse));
    }
    let (s, axis) = (scores(attrs, q, k, mask), q.rank() - 1);
    let largest = s.max_along(-1).0.detach();
    let shift = largest.equal(f64::NEG_INFINITY).where_(0.0, &largest);
    let e = (s - shift.unsqueeze(axis)).exp();
    let total = e.sum_over(-1);
    let none = total.equal(0.0);
    let total = none.where_(1.0, &total);
    let lse = none.where_(f64::NEG_INFINITY, shift + total.log());
    ((e / total.unsqueeze(axis)).matmul(v), lse)
}

impl Fused for Forward {
    const NAME: &'static str = "attention";
    const ATTRIBUTES: &'static [&'static str] = &["causal", "scale", "mask"];
    const RULE: &'static str = "p = e^(s - lse), ds = p (do v^T - sum(do o)), dq = c ds k, dk = c ds^T q, dv = p^T do";
    const OPERANDS: (usize, usize) = (3, 4);
    const COVERED: Mask = Mask::NONE.with(0).with(1).with(2);

    fn outputs(_attrs: &Attrs) -> usize {
        2
    }

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + masked(attrs)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_heads(Self::NAME, attrs, operands, 3 + masked(attrs))?;
        let (out, lse) = output_specs(operands[0], operands[2]);
        Ok(Specs::from_vec(vec![out, lse]))
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        let (out, _) = output_specs(spec_of(operands[0]), spec_of(operands[2]));
        let place = row_major(&out.shape);
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, place, outputs));
        Ok(())
    }

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let room = Room::like(operands[0], &outputs[0]);
        let views: SmallVec<[View<'_>; 4]> = operands.iter().map(|operand| operand.value.view()).collect();
        let (mut results, ()) = Tensor::build_all(&[room.memory.clone(), outputs[1].clone()], |outputs| {
            computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, &views, room.place, outputs));
        });
        results[0] = room.seen(results[0].plain());
        Ok(results)
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let (out, lse) = attend(attrs, &operands[0], &operands[1], &operands[2], operands.get(3));
        vec![out, lse]
    }

    fn saves(attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = Self::all_operands(attrs);
        if (0..3).any(|position| wanted.has(position)) { saves.output(0).output(1) } else { saves }
    }

    fn gradient(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        let [Some(g), None] = cotangents else { return None };
        let mut operands: SmallVec<[&Tensor; 7]> = (0..3 + masked(rule.attrs)).map(|i| rule.operand(i)).collect();
        operands.extend([rule.output(0), rule.output(1), g]);
        Some(bind(&ATTENTION_GRADIENT, rule.attrs.clone(), &operands).into_iter().map(Gradient::Dense).collect())
    }

    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        attention_cost(operands, outputs, FORWARD)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        head_cases(
            |attrs, s| {
                let n = 3 + masked(attrs);
                let (out, lse) = direct(attrs, &s[..n]);
                vec![out, lse]
            },
            false,
        )
    }
}

fn attention_cost(operands: &[SpecRef<'_>], outputs: &[Spec], products: [usize; 2]) -> Cost {
    let (q, k, v) = (operands[0].shape, operands[1].shape, operands[2].shape);
    let rank = q.len();
    let batches = q[..rank - 2].iter().product();
    let sizes = [q[rank - 2], k[rank - 2], q[rank - 1], v[rank - 1]];
    Cost { flops: flops(batches, sizes, products), ..crate::primitive::streaming_cost(operands, outputs) }
}

impl Backward {
    /// Writes the gradients, whose tokens have the layouts `places`.
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], places: [Place; 3], outputs: &mut [Out<'_>]) {
        let [q, k, v] = [0, 1, 2].map(|position| Located::of(operands[position], T::DTYPE));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[3], T::DTYPE));
        let rest = 3 + masked(attrs);
        let (out, lse) = (Located::of(operands[rest], T::DTYPE), numbers::<T>(operands[rest + 1]));
        let g = Located::of(operands[rest + 2], T::DTYPE);
        let [.., keys, _] = *k.shape() else { unreachable!("keys are matrices") };
        let value_width = v.shape()[v.shape().len() - 1];
        let sizes = sizes_of::<T>(attrs, q.shape(), keys, value_width, mask.as_ref().map(hidden_of));
        let [dq, dk, dv] = outputs else { unreachable!("three outputs") };
        fill(dq.reborrow(), |dq| {
            fill(dk.reborrow(), |dk| {
                fill(dv.reborrow(), |dv| {
                    let saved = Saved { q: q.heads(), k: k.heads(), v: v.heads(), out: out.heads(), lse: &lse[..] };
                    let to = AttentionGradient::Apart {
                        dq: HeadsMut { data: dq, place: places[0] },
                        dk: HeadsMut { data: dk, place: places[1] },
                        dv: HeadsMut { data: dv, place: places[2] },
                    };
                    kernel::attention_gradient(&sizes, saved, g.heads(), to);
                });
            });
        });
    }
}

/// (dq, dk, dv) in Tensor operations, given output and logsumexp.
pub(super) fn attend_back(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
    let rest = 3 + masked(attrs);
    let (q, k, v) = (&operands[0], &operands[1], &operands[2]);
    let (out, lse, g) = (&operands[rest], &operands[rest + 1], &operands[rest + 2]);
    let mask = (masked(attrs) == 1).then(|| &operands[3]);
    let axis = q.rank() - 1;
    let shift = lse.equal(f64::NEG_INFINITY).where_(0.0, lse);
    let p = (scores(attrs, q, k, mask) - shift.unsqueeze(axis)).exp();
    let delta = (g * out).sum_over(-1).unsqueeze(axis);
    let ds = &p * (g.matmul(&v.t()) - delta) * attrs.real("scale");
    vec![ds.matmul(k), ds.t().matmul(q), p.t().matmul(g)]
}

impl Fused for Backward {
    const NAME: &'static str = "attention_gradient";
    const ATTRIBUTES: &'static [&'static str] = &["causal", "scale", "mask"];
    const RULE: &'static str = "by its formula";
    const OPERANDS: (usize, usize) = (6, 7);

    fn outputs(_attrs: &Attrs) -> usize {
        3
    }

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + masked(attrs)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let rest = 3 + masked(attrs);
        expect_heads(Self::NAME, attrs, operands, rest + 3)?;
        let (out, lse) = output_specs(operands[0], operands[2]);
        let expected = [&out, &lse, &out];
        if operands[rest..].iter().zip(expected).any(|(operand, spec)| operand.shape != &spec.shape[..]) {
            let shapes: Vec<Shape> = operands[rest..].iter().map(|operand| Shape::from(operand.shape)).collect();
            let message = format!("output, logsumexp and cotangent are {}, {}, {}", shapes[0], shapes[1], shapes[2]);
            return Err(Error::new(ErrorKind::Shape(shapes), Self::NAME, message)
                .help(format!("they should be {}, {}, {}", out.shape, lse.shape, out.shape)));
        }
        Ok(operands[..3].iter().map(|operand| operand.to_spec()).collect())
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        let places = [0, 1, 2].map(|position| row_major(operands[position].shape));
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, places, outputs));
        Ok(())
    }

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let rooms = [0, 1, 2].map(|position| Room::like(operands[position], &outputs[position]));
        let views: SmallVec<[View<'_>; 8]> = operands.iter().map(|operand| operand.value.view()).collect();
        let memory = [0, 1, 2].map(|position| rooms[position].memory.clone());
        let (results, ()) = Tensor::build_all(&memory, |outputs| {
            let places = [0, 1, 2].map(|position| rooms[position].place);
            computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, &views, places, outputs));
        });
        Ok(rooms.iter().zip(results).map(|(room, result)| room.seen(result)).collect())
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        attend_back(attrs, operands)
    }

    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        attention_cost(operands, outputs, BACKWARD)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        head_cases(direct_back, true)
    }
}

/// The scores of one query by definition.
fn direct_scores(attrs: &Attrs, s: &[Sample], lead: &[usize], i: usize) -> Vec<f64> {
    let rank = s[0].shape.rank();
    let (width, keys) = (s[0].shape[rank - 1], s[1].shape[rank - 2]);
    let score = |j: usize| {
        if attrs.int("causal") != 0 && j > i {
            return f64::NEG_INFINITY;
        }
        let product: f64 =
            (0..width).map(|d| s[0].at(&[lead, &[i, d]].concat()) * s[1].at(&[lead, &[j, d]].concat())).sum();
        let added = if masked(attrs) == 1 { s[3].at(&[lead, &[i, j]].concat()) } else { 0.0 };
        match masked(attrs) == 1 && s[3].dtype == DType::Bool {
            true if added == 0.0 => f64::NEG_INFINITY,
            true => attrs.real("scale") * product,
            false => attrs.real("scale") * product + added,
        }
    };
    (0..keys).map(score).collect()
}

/// Output and logsumexp by definition.
pub(super) fn direct(attrs: &Attrs, s: &[Sample]) -> (Sample, Sample) {
    let rank = s[0].shape.rank();
    let row: Shape = Shape::from(&s[0].shape[..rank - 1]);
    let lse = Sample::build(row.clone(), |at| {
        let scores = direct_scores(attrs, s, &at[..rank - 2], at[rank - 2]);
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            largest
        } else {
            largest + scores.iter().map(|s| (s - largest).exp()).sum::<f64>().ln()
        }
    });
    let shape: Shape = row.iter().copied().chain([s[2].shape[rank - 1]]).collect();
    let out = Sample::build(shape, |at| {
        let (lead, i, d) = (&at[..rank - 2], at[rank - 2], at[rank - 1]);
        let lse = lse.at(&at[..rank - 1]);
        let scores = direct_scores(attrs, s, lead, i);
        let term = |(j, score): (usize, &f64)| match *score == f64::NEG_INFINITY {
            true => 0.0,
            false => (score - lse).exp() * s[2].at(&[lead, &[j, d]].concat()),
        };
        scores.iter().enumerate().map(term).sum()
    });
    (out, lse)
}

/// (dq, dk, dv) by definition from q, k, v, mask, out, lse, g.
pub(super) fn direct_back(attrs: &Attrs, s: &[Sample]) -> Vec<Sample> {
    let (rank, rest) = (s[0].shape.rank(), 3 + masked(attrs));
    let (out, lse, g) = (&s[rest], &s[rest + 1], &s[rest + 2]);
    let mut gradients: Vec<Sample> = s[..3].iter().map(|x| Sample::build(x.shape.clone(), |_| 0.0)).collect();
    let (width, value_width) = (s[0].shape[rank - 1], s[2].shape[rank - 1]);
    for at in Sample::indices(&s[0].shape[..rank - 1]) {
        let (lead, i) = (&at[..rank - 2], at[rank - 2]);
        let inner = |a: &Sample, ai: usize, b: &Sample, bi: usize| -> f64 {
            (0..value_width).map(|d| a.at(&[lead, &[ai, d]].concat()) * b.at(&[lead, &[bi, d]].concat())).sum()
        };
        let delta = inner(g, i, out, i);
        for (j, score) in direct_scores(attrs, s, lead, i).into_iter().enumerate() {
            if score == f64::NEG_INFINITY {
                continue;
            }
            let p = (score - lse.at(&at)).exp();
            let ds = p * (inner(g, i, &s[2], j) - delta) * attrs.real("scale");
            for d in 0..width {
                let (qi, kj) = ([lead, &[i, d]].concat(), [lead, &[j, d]].concat());
                let (to_q, to_k) = (gradients[0].position(&qi), gradients[1].position(&kj));
                gradients[0].data[to_q] += ds * s[1].at(&kj);
                gradients[1].data[to_k] += ds * s[0].at(&qi);
            }
            for d in 0..value_width {
                let to = gradients[2].position(&[lead, &[j, d]].concat());
                gradients[2].data[to] += p * g.at(&[lead, &[i, d]].concat());
            }
        }
    }
    gradients
}

pub(super) fn attention_attrs(causal: bool, mask: bool) -> Attrs {
    Attrs::new().with_int("causal", i64::from(causal)).with_real("scale", 0.7).with_int("mask", i64::from(mask))
}

fn head_cases(reference: fn(&Attrs, &[Sample]) -> Vec<Sample>, backward: bool) -> Vec<Case> {
    let case = |lead: Shape, [t, s, d, e]: [usize; 4], causal: bool, mask: Option<&str>| {
        let attrs = attention_attrs(causal, mask.is_some());
        let with = |last: &[usize]| -> Shape { lead.iter().chain(last).copied().collect() };
        let mut operands =
            vec![Sample::wave(with(&[t, d]), 0.2), Sample::wave(with(&[s, d]), 0.6), Sample::wave(with(&[s, e]), 0.9)];
        operands.extend(mask.map(|mask| {
            let mut numbers = Sample::wave(with(&[t, s]), 0.35);
            match mask {
                "numbers" => numbers,
                "truths" => Sample::booleans(with(&[t, s]), (0..numbers.data.len()).map(|i| i % 3 != 1)),
                _ => {
                    numbers.data.iter_mut().take(s).for_each(|x| *x = f64::NEG_INFINITY);
                    numbers
                }
            }
        }));
        if backward {
            let (out, lse) = direct(&attrs, &operands);
            operands.extend([out, lse, Sample::wave(with(&[t, e]), 0.45)]);
        }
        let kept = attrs.clone();
        let label = format!("{lead} heads, {t} x {s}, causal {causal}, mask {mask:?}");
        Case::new(label, attrs, operands, move |s| reference(&kept, s))
    };
    let mut all = vec![
        case(Shape::from([]), [2, 3, 2, 1], false, None),
        case(Shape::from([0]), [2, 2, 2, 1], false, None),
        case(Shape::from([1]), [2, 0, 2, 1], false, None).values_only(),
    ];
    // A gradient has seven operands, and every subset of them is batched: a few small cases are enough.
    if !backward {
        all.push(case(Shape::from([2]), [3, 2, 2, 2], true, None));
        all.push(case(Shape::from([1, 2]), [2, 2, 1, 2], true, Some("numbers")));
        all.push(case(Shape::from([2, 1, 1]), [2, 2, 2, 1], false, Some("numbers")));
        all.push(case(Shape::from([1]), [2, 2, 2, 1], false, Some("hides the first query")).values_only());
        all.push(case(Shape::from([2]), [2, 3, 2, 1], false, Some("truths")));
    } else {
        all.push(case(Shape::from([1]), [2, 2, 1, 1], true, Some("numbers")));
        all.push(case(Shape::from([1]), [2, 2, 1, 1], false, Some("truths")));
    }
    all
}
