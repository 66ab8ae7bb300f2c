//! attention - scaled dot-product attention.   o = softmax(c q k^T + m) v,   by blocks: p = e^(s - lse), ds = p (do v^T - sum(do o)), dq = c ds k, dk = c ds^T q, dv = p^T do.
//! The scores are never held whole; the logsumexp of each row of them is an output too. Causal: query i sees keys 0..=i. A
//! query that sees no key gives 0, with gradient 0. Views with strides, such as parts of one projection, are not copied.
//!
//! attention_gradient - the gradients of attention.   From q, k, v, m, o, lse and the cotangent of o: those of q, k and v,   by their formulas.
//!
//! self_attention - attention of one projection [.., T, 3 h d] that holds q, k and v side by side.   o[.., T, h d],   as attention.
//!
//! self_attention_gradient - the gradient of self_attention.   From the projection, o, lse and the cotangent of o,   by its formula.

use crate::ops::prelude::*;
use wengert_kernels::attention::{
    self as kernel, AttentionGradient, Heads, HeadsMut, Mask as Hidden, MaskData, Place, Saved,
};
use wengert_kernels::rows::Float;

/// The options of attention.
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
    /// Every query sees every key; scores are divided by the root of a query's width.
    pub fn new() -> Attention {
        Attention::default()
    }

    /// Query `i` sees keys `0..=i` only.
    pub fn causal(self) -> Attention {
        Attention { causal: true, ..self }
    }

    /// The factor of the scores.
    pub fn scale(self, scale: f64) -> Attention {
        Attention { scale: Some(scale), ..self }
    }

    /// Numbers added to the scores, or truth values that say which keys are seen; broadcast to `[.., queries, keys]`.
    pub fn mask(self, mask: &Tensor) -> Attention {
        Attention { mask: Some(mask.clone()), ..self }
    }

    fn attrs(&self, width: usize) -> Attrs {
        let usual = 1.0 / (width.max(1) as f64).sqrt();
        Attrs::new()
            .with_int("causal", i64::from(self.causal))
            .with_real("scale", self.scale.unwrap_or(usual))
            .with_int("mask", i64::from(self.mask.is_some()))
    }

    /// The mask of every score, repeated without copying.
    #[track_caller]
    fn of_scores(&self, scores: Shape) -> Option<Tensor> {
        self.mask.as_ref().map(|mask| mask.broadcast_to(scores))
    }
}

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

    /// Attention within a sequence: this is a projection `[.., T, 3 * heads * width]` of queries, keys and values side by
    /// side; the result is `[.., T, heads * width]`. Nothing is rearranged in memory.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let qkv = Tensor::ones([2, 5, 3 * 4 * 8]);
    /// assert_eq!(qkv.self_attention(4, &Attention::new().causal()), Tensor::ones([2, 5, 4 * 8]));
    /// ```
    #[track_caller]
    pub fn self_attention(&self, heads: usize, options: &Attention) -> Tensor {
        let whole = self.shape().last().copied().unwrap_or(0);
        if self.rank() < 2 || heads == 0 || !whole.is_multiple_of(3 * heads) {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} is not [.., tokens, 3 * {heads} * width]");
            Error::new(ErrorKind::Shape(vec![shape]), "self_attention", message)
                .help("the last axis holds the queries, keys and values of all heads")
                .raise();
        }
        let (lead, tokens) = (&self.shape()[..self.rank() - 2], self.shape()[self.rank() - 2]);
        let mask = options.of_scores(lead.iter().copied().chain([heads, tokens, tokens]).collect());
        let attrs = options.attrs(whole / (3 * heads)).with_int("heads", heads as i64);
        let operands: SmallVec<[&Tensor; 2]> = std::iter::once(self).chain(&mask).collect();
        bind(&SELF_ATTENTION, attrs, &operands).swap_remove(0)
    }
}

/// The primitive `attention`.
pub static ATTENTION: FusedOp<Forward> = FusedOp::NEW;

/// The primitive `attention_gradient`.
pub static ATTENTION_GRADIENT: FusedOp<Backward> = FusedOp::NEW;

/// The primitive `self_attention`.
pub static SELF_ATTENTION: FusedOp<SelfForward> = FusedOp::NEW;

/// The primitive `self_attention_gradient`.
pub static SELF_ATTENTION_GRADIENT: FusedOp<SelfBackward> = FusedOp::NEW;

/// See the module.
pub struct Forward;

/// See the module.
pub struct Backward;

/// See the module.
pub struct SelfForward;

/// See the module.
pub struct SelfBackward;

fn masked(attrs: &Attrs) -> usize {
    usize::from(attrs.int("mask") != 0)
}

/// A tensor `[.., heads, tokens, width]` whose numbers a kernel finds by steps; copied only where it cannot.
struct Located {
    tensor: Tensor,
    place: Place,
}

impl Located {
    fn of(tensor: &Tensor, dtype: DType) -> Located {
        Located::with(tensor, dtype, true)
    }

    /// A mask, whose keys may have any step; truth values stay as they are.
    fn mask(tensor: &Tensor, dtype: DType) -> Located {
        Located::with(tensor, if tensor.dtype() == DType::Bool { DType::Bool } else { dtype }, false)
    }

    fn with(tensor: &Tensor, dtype: DType, adjacent: bool) -> Located {
        let tensor = tensor.plain().cast(dtype);
        if let Some(place) = place_of(&tensor, adjacent) {
            return Located { tensor, place };
        }
        let tensor = tensor.contiguous();
        let place = place_of(&tensor, adjacent).expect("contiguous numbers have steps");
        Located { tensor, place }
    }

    fn heads<T: Float>(&self) -> Heads<'_, T> {
        Heads { data: elements(&self.tensor), place: self.place }
    }
}

/// The memory of a tensor of this very dtype.
fn elements<T: bytemuck::Pod>(tensor: &Tensor) -> &[T] {
    match &tensor.value {
        crate::tensor::Value::One(one) => &bytemuck::cast_slice(bytemuck::bytes_of(&one.bits))[..1],
        value => {
            let bytes = value.view().bytes;
            bytemuck::cast_slice(&bytes[..bytes.len() / size_of::<T>() * size_of::<T>()])
        }
    }
}

/// The steps of `[.., heads, tokens, width]`, if its layout has such steps and, where asked, adjacent elements.
fn place_of(tensor: &Tensor, adjacent: bool) -> Option<Place> {
    let view = tensor.value.view();
    let rank = view.shape.len();
    let apart = adjacent && view.shape[rank - 1] > 1 && view.strides[rank - 1] != 1;
    if apart || view.strides.iter().any(|&step| step < 0) {
        return None;
    }
    let step = |axis: usize| if view.shape[axis] > 1 { view.strides[axis] as usize } else { 0 };
    let head = if rank >= 3 { step(rank - 3) } else { 0 };
    // The axes before the heads are walked as one.
    let mut batch: Option<(usize, usize)> = None;
    for axis in (0..rank.saturating_sub(3)).rev().filter(|&axis| view.shape[axis] > 1) {
        batch = match batch {
            None => Some((step(axis), view.shape[axis])),
            Some((inner, count)) if step(axis) == inner * count => Some((inner, count * view.shape[axis])),
            Some(_) => return None,
        };
    }
    Some(Place { offset: view.offset as usize, batch: batch.map_or(0, |(step, _)| step), head, token: step(rank - 2) })
}

/// The numbers or truth values of a mask, and their steps.
fn hidden_of<'a, T: Float>(mask: &'a Located) -> Hidden<'a, T> {
    let view = mask.tensor.value.view();
    let rank = view.shape.len();
    let key = if view.shape[rank - 1] > 1 { view.strides[rank - 1] as usize } else { 0 };
    fn from<T: bytemuck::Pod>(mask: &Located) -> &[T] {
        let all = elements::<T>(&mask.tensor);
        &all[mask.place.offset.min(all.len())..]
    }
    let data = match mask.tensor.dtype() {
        DType::Bool => MaskData::Seen(from(mask)),
        _ => MaskData::Added(from(mask)),
    };
    Hidden { data, batch: mask.place.batch, head: mask.place.head, query: mask.place.token, key }
}

/// Sizes and options of a call: `q` is `[.., heads, T, D]`.
fn sizes<'a, T: Float>(
    attrs: &Attrs,
    q: &[usize],
    keys: usize,
    value_width: usize,
    mask: Option<Hidden<'a, T>>,
) -> kernel::Attention<'a, T> {
    let rank = q.len();
    kernel::Attention {
        batches: q[..rank.saturating_sub(3)].iter().product(),
        heads: if rank >= 3 { q[rank - 3] } else { 1 },
        queries: q[rank - 2],
        keys,
        width: q[rank - 1],
        value_width,
        scale: T::from_f64(attrs.real("scale")),
        causal: attrs.int("causal") != 0,
        mask,
    }
}

/// Whether the tokens of `x` lie outside its heads, as in a projection; results that go back into one should too.
fn is_token_major(x: &Tensor) -> bool {
    let view = x.value.view();
    let rank = view.shape.len();
    rank >= 3 && view.shape[rank - 3] > 1 && view.shape[rank - 2] > 1 && view.strides[rank - 2] > view.strides[rank - 3]
}

/// The spec in memory of a result like `like`, the place of its tokens, and how to see it as `[.., heads, T, D]`.
struct Room {
    memory: Spec,
    place: Place,
    swap: bool,
}

impl Room {
    fn like(like: &Tensor, spec: &Spec) -> Room {
        let rank = spec.shape.rank();
        let swap = is_token_major(like);
        let mut memory = spec.clone();
        if swap {
            memory.shape.sizes_mut().swap(rank - 3, rank - 2);
        }
        let (heads, tokens, width) =
            (if rank >= 3 { spec.shape[rank - 3] } else { 1 }, spec.shape[rank - 2], spec.shape[rank - 1]);
        let place = match swap {
            true => Place { offset: 0, batch: heads * tokens * width, head: width, token: heads * width },
            false => Place::contiguous(heads, tokens, width),
        };
        Room { memory, place, swap }
    }

    fn seen(&self, tensor: Tensor) -> Tensor {
        if !self.swap {
            return tensor;
        }
        let rank = tensor.rank();
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 3, rank - 2);
        tensor.with_layout(|layout| layout.permuted(&order))
    }
}

/// The scores with what hides keys, in Tensor operations.
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
    let seen = Tensor::arange(queries).unsqueeze(1).ge(Tensor::arange(keys));
    seen.where_(&s, f64::NEG_INFINITY)
}

/// One float dtype; a mask may hold truth values.
fn expect_dtypes(name: &str, operands: &[SpecRef<'_>], mask: Option<usize>) -> Result<(), Error> {
    expect_float(name, operands[0].dtype)?;
    let is_truth = |position: usize| mask == Some(position) && operands[position].dtype == DType::Bool;
    let mut numbers = (0..operands.len()).filter(|&position| !is_truth(position));
    numbers.try_for_each(|position| expect_same_dtype(name, operands[0].dtype, operands[position].dtype))
}

fn expect_heads(name: &str, attrs: &Attrs, operands: &[SpecRef<'_>], count: usize) -> Result<(), Error> {
    let wrong = || {
        let shapes: Vec<Shape> = operands.iter().map(|operand| Shape::from(operand.shape)).collect();
        let list: Vec<String> = shapes.iter().map(Shape::to_string).collect();
        Error::new(ErrorKind::Shape(shapes), name, format!("shapes {} do not fit", list.join(", ")))
            .help("queries, keys and values are [.., T, D], [.., S, D] and [.., S, D'], a mask [.., T, S]")
    };
    expect_dtypes(name, operands, (masked(attrs) == 1).then_some(3))?;
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

/// The specs of output and logsumexp.
fn output_specs(q: SpecRef<'_>, v: SpecRef<'_>) -> (Spec, Spec) {
    let rank = q.shape.len();
    let out = q.shape[..rank - 1].iter().chain(&v.shape[rank - 1..]).copied().collect();
    (Spec { shape: out, dtype: q.dtype }, Spec::new(&q.shape[..rank - 1], q.dtype))
}

fn flops(batches: usize, [queries, keys, width, value_width]: [usize; 4], products: f64) -> f64 {
    products * (batches * queries * keys) as f64 * (width + value_width) as f64
}

impl Forward {
    fn run<T: Float>(attrs: &Attrs, operands: &[&Tensor], specs: &[Spec]) -> Outputs {
        let [q, k, v] = [0, 1, 2].map(|position| Located::of(operands[position], T::DTYPE));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[3], T::DTYPE));
        let [.., keys, _] = *k.tensor.shape() else { unreachable!("keys are matrices") };
        let value_width = v.tensor.shape()[v.tensor.rank() - 1];
        let sizes = sizes::<T>(attrs, q.tensor.shape(), keys, value_width, mask.as_ref().map(hidden_of));
        let room = Room::like(operands[0], &specs[0]);
        let (out, (lse, ())) = computed(&room.memory, |out| {
            computed(&specs[1], |lse| {
                let out = HeadsMut { data: out, place: room.place };
                kernel::attention(&sizes, q.heads(), k.heads(), v.heads(), out, lse);
            })
        });
        Outputs::from_vec(vec![room.seen(out), lse])
    }
}

/// (output, logsumexp) in Tensor operations.
fn attend(attrs: &Attrs, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> (Tensor, Tensor) {
    let (out, lse) = output_specs(q.value.spec_ref(), v.value.spec_ref());
    if k.shape()[k.rank() - 2] == 0 {
        return (Tensor::constant(0.0, &out), Tensor::constant(f64::NEG_INFINITY, &lse));
    }
    let (s, axis) = (scores(attrs, q, k, mask), q.rank() - 1);
    let largest = s.max_along(-1).0.detach();
    let shift = largest.equal(f64::NEG_INFINITY).where_(0.0, &largest);
    let e = (s - shift.unsqueeze(axis)).exp();
    let total = e.sum_axes(&[-1]);
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

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_heads(Self::NAME, attrs, operands, 3 + masked(attrs))?;
        let (out, lse) = output_specs(operands[0], operands[2]);
        Ok(Specs::from_vec(vec![out, lse]))
    }

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(computing_float!(outputs[0].dtype, T => Self::run::<T>(attrs, operands, outputs)))
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let (out, lse) = attend(attrs, &operands[0], &operands[1], &operands[2], operands.get(3));
        vec![out, lse]
    }

    fn saves(attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = (0..3 + masked(attrs)).fold(Saves::NOTHING, Saves::operand);
        if (0..3).any(|position| wanted.has(position)) { saves.output(0).output(1) } else { saves }
    }

    fn restore(rule: &Rule<'_>) -> Vec<Tensor> {
        (0..3 + masked(rule.attrs)).map(|position| rule.operand(position).clone()).collect()
    }

    fn gradient(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        let [Some(g), None] = cotangents else { return None };
        let mut operands: SmallVec<[&Tensor; 7]> = (0..3 + masked(rule.attrs)).map(|i| rule.operand(i)).collect();
        operands.extend([rule.output(0), rule.output(1), g]);
        Some(bind(&ATTENTION_GRADIENT, rule.attrs.clone(), &operands).into_iter().map(Gradient::Dense).collect())
    }

    fn batch(
        op: &'static dyn Primitive,
        attrs: &Attrs,
        size: usize,
        operands: &[Tensor],
        batched: Mask,
    ) -> Option<Outputs> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 4]> = aligned.iter().collect();
        Some(bind(op, attrs.clone(), &aligned))
    }

    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        attention_cost(operands, outputs, 2.0)
    }

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

fn attention_cost(operands: &[SpecRef<'_>], outputs: &[Spec], products: f64) -> Cost {
    let (q, k, v) = (operands[0].shape, operands[1].shape, operands[2].shape);
    let rank = q.len();
    let batches = q[..rank - 2].iter().product();
    let sizes = [q[rank - 2], k[rank - 2], q[rank - 1], v[rank - 1]];
    Cost { flops: flops(batches, sizes, products), ..crate::primitive::streaming_cost(operands, outputs) }
}

impl Backward {
    fn run<T: Float>(attrs: &Attrs, operands: &[&Tensor], specs: &[Spec]) -> Outputs {
        let [q, k, v] = [0, 1, 2].map(|position| Located::of(operands[position], T::DTYPE));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[3], T::DTYPE));
        let rest = 3 + masked(attrs);
        let (out, lse) = (Located::of(operands[rest], T::DTYPE), numbers::<T>(operands[rest + 1]));
        let g = Located::of(operands[rest + 2], T::DTYPE);
        let [.., keys, _] = *k.tensor.shape() else { unreachable!("keys are matrices") };
        let value_width = v.tensor.shape()[v.tensor.rank() - 1];
        let sizes = sizes::<T>(attrs, q.tensor.shape(), keys, value_width, mask.as_ref().map(hidden_of));
        let [to_q, to_k, to_v] = [0, 1, 2].map(|position| Room::like(operands[position], &specs[position]));
        let (dq, (dk, (dv, ()))) = computed(&to_q.memory, |dq| {
            computed(&to_k.memory, |dk| {
                computed(&to_v.memory, |dv| {
                    let saved = Saved { q: q.heads(), k: k.heads(), v: v.heads(), out: out.heads(), lse: &lse[..] };
                    let to = AttentionGradient::Apart {
                        dq: HeadsMut { data: dq, place: to_q.place },
                        dk: HeadsMut { data: dk, place: to_k.place },
                        dv: HeadsMut { data: dv, place: to_v.place },
                    };
                    kernel::attention_gradient(&sizes, saved, g.heads(), to);
                })
            })
        });
        Outputs::from_vec(vec![to_q.seen(dq), to_k.seen(dk), to_v.seen(dv)])
    }
}

/// (dq, dk, dv) in Tensor operations, output and logsumexp being given.
fn attend_back(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
    let rest = 3 + masked(attrs);
    let (q, k, v) = (&operands[0], &operands[1], &operands[2]);
    let (out, lse, g) = (&operands[rest], &operands[rest + 1], &operands[rest + 2]);
    let mask = (masked(attrs) == 1).then(|| &operands[3]);
    let axis = q.rank() - 1;
    let shift = lse.equal(f64::NEG_INFINITY).where_(0.0, lse);
    let p = (scores(attrs, q, k, mask) - shift.unsqueeze(axis)).exp();
    let delta = (g * out).sum_axes(&[-1]).unsqueeze(axis);
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

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(computing_float!(outputs[0].dtype, T => Self::run::<T>(attrs, operands, outputs)))
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        attend_back(attrs, operands)
    }

    fn saves(attrs: &Attrs, _wanted: Mask) -> Saves {
        (0..6 + masked(attrs)).fold(Saves::NOTHING, Saves::operand)
    }

    fn restore(rule: &Rule<'_>) -> Vec<Tensor> {
        (0..6 + masked(rule.attrs)).map(|position| rule.operand(position).clone()).collect()
    }

    fn batch(
        op: &'static dyn Primitive,
        attrs: &Attrs,
        size: usize,
        operands: &[Tensor],
        batched: Mask,
    ) -> Option<Outputs> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 7]> = aligned.iter().collect();
        Some(bind(op, attrs.clone(), &aligned))
    }

    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        attention_cost(operands, outputs, 5.0)
    }

    fn cases() -> Vec<Case> {
        head_cases(direct_back, true)
    }
}

/// The parts of a projection `[.., T, 3 h d]`: queries, keys or values as `[.., h, T, d]`.
fn part_of(qkv: &Tensor, heads: usize, part: usize) -> Tensor {
    let rank = qkv.rank();
    let (lead, tokens, whole) = (&qkv.shape()[..rank - 2], qkv.shape()[rank - 2], qkv.shape()[rank - 1]);
    let split: Shape = lead.iter().copied().chain([tokens, 3, heads, whole / (3 * heads)]).collect();
    // [.., T, 3, h, d] to [3, .., h, T, d].
    let outer = rank - 2;
    let order: Vec<usize> = std::iter::once(outer + 1).chain(0..outer).chain([outer + 2, outer, outer + 3]).collect();
    qkv.reshape(split).permute(&order).slice(part as i64)
}

/// `[.., h, T, d]` as `[.., T, h d]`.
fn joined(x: &Tensor) -> Tensor {
    let rank = x.rank();
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 3, rank - 2);
    let [.., heads, tokens, width] = *x.shape() else { unreachable!("heads are matrices") };
    let shape: Shape = x.shape()[..rank - 3].iter().copied().chain([tokens, heads * width]).collect();
    x.permute(&order).reshape(shape)
}

/// `[.., T, h d]` as `[.., h, T, d]`.
fn parted(x: &Tensor, heads: usize) -> Tensor {
    let rank = x.rank();
    let [.., tokens, whole] = *x.shape() else { unreachable!("tokens are rows") };
    let shape: Shape = x.shape()[..rank - 2].iter().copied().chain([tokens, heads, whole / heads]).collect();
    let mut order: Vec<usize> = (0..rank + 1).collect();
    order.swap(rank - 2, rank - 1);
    x.reshape(shape).permute(&order)
}

/// (lead, tokens, heads, width) of a projection.
fn projection<'a>(name: &str, attrs: &Attrs, qkv: SpecRef<'a>) -> Result<(&'a [usize], usize, usize, usize), Error> {
    let heads = attrs.int("heads").max(0) as usize;
    match qkv.shape {
        [lead @ .., tokens, whole] if heads > 0 && whole.is_multiple_of(3 * heads) => {
            Ok((lead, *tokens, heads, whole / (3 * heads)))
        }
        _ => {
            let shape = Shape::from(qkv.shape);
            let message = format!("shape {shape} is not [.., tokens, 3 * {heads} * width]");
            Err(Error::new(ErrorKind::Shape(vec![shape]), name, message))
        }
    }
}

/// The specs of output, logsumexp and mask.
fn projection_specs(name: &str, attrs: &Attrs, qkv: SpecRef<'_>) -> Result<[Spec; 3], Error> {
    let (lead, tokens, heads, width) = projection(name, attrs, qkv)?;
    let with = |last: &[usize]| Spec { shape: lead.iter().chain(last).copied().collect(), dtype: qkv.dtype };
    Ok([with(&[tokens, heads * width]), with(&[heads, tokens]), with(&[heads, tokens, tokens])])
}

fn expect_projection(name: &str, attrs: &Attrs, operands: &[SpecRef<'_>], backward: bool) -> Result<[Spec; 3], Error> {
    let [out, lse, mask] = projection_specs(name, attrs, operands[0])?;
    let mut expected: Vec<&Spec> = if masked(attrs) == 1 { vec![&mask] } else { vec![] };
    if backward {
        expected.extend([&out, &lse, &out]);
    }
    let fits = operands.len() == expected.len() + 1
        && operands[1..].iter().zip(&expected).all(|(operand, spec)| operand.shape == &spec.shape[..]);
    if !fits {
        let shapes: Vec<Shape> = operands.iter().map(|operand| Shape::from(operand.shape)).collect();
        let list: Vec<String> = shapes.iter().map(Shape::to_string).collect();
        return Err(Error::new(ErrorKind::Shape(shapes), name, format!("shapes {} do not fit", list.join(", ")))
            .help("a mask is [.., heads, tokens, tokens]"));
    }
    expect_dtypes(name, operands, (masked(attrs) == 1).then_some(1))?;
    Ok([out, lse, mask])
}

/// Where queries, keys and values lie in row-major memory of a projection.
fn places(attrs: &Attrs, qkv: &Tensor) -> ([Place; 3], usize, [usize; 4]) {
    let (lead, tokens, heads, width) =
        projection("self_attention", attrs, qkv.value.spec_ref()).expect("the shape was checked");
    let inner = heads * width;
    let place = |part: usize| Place { offset: part * inner, batch: tokens * 3 * inner, head: width, token: 3 * inner };
    ([place(0), place(1), place(2)], inner, [lead.iter().product(), heads, tokens, width])
}

fn projection_sizes<'a, T: Float>(
    attrs: &Attrs,
    [batches, heads, tokens, width]: [usize; 4],
    mask: Option<Hidden<'a, T>>,
) -> kernel::Attention<'a, T> {
    sizes(attrs, &[batches, heads, tokens, width], tokens, width, mask)
}

impl SelfForward {
    fn run<T: Float>(attrs: &Attrs, operands: &[&Tensor], specs: &[Spec]) -> Outputs {
        let (qkv, (places, inner, counts)) = (numbers::<T>(operands[0]), places(attrs, operands[0]));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[1], T::DTYPE));
        let sizes = projection_sizes::<T>(attrs, counts, mask.as_ref().map(hidden_of));
        let (tokens, width) = (counts[2], counts[3]);
        let [q, k, v] = places.map(|place| Heads { data: &qkv[..], place });
        let place = Place { offset: 0, batch: tokens * inner, head: width, token: inner };
        let (out, (lse, ())) = computed(&specs[0], |out| {
            computed(&specs[1], |lse| kernel::attention(&sizes, q, k, v, HeadsMut { data: out, place }, lse))
        });
        Outputs::from_vec(vec![out, lse])
    }
}

impl Fused for SelfForward {
    const NAME: &'static str = "self_attention";
    const ATTRIBUTES: &'static [&'static str] = &["causal", "scale", "mask", "heads"];
    const RULE: &'static str = "as attention";
    const OPERANDS: (usize, usize) = (1, 2);
    const COVERED: Mask = Mask::only(0);

    fn outputs(_attrs: &Attrs) -> usize {
        2
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let [out, lse, _] = expect_projection(Self::NAME, attrs, operands, false)?;
        Ok(Specs::from_vec(vec![out, lse]))
    }

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(computing_float!(outputs[0].dtype, T => Self::run::<T>(attrs, operands, outputs)))
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let heads = attrs.axis("heads");
        let [q, k, v] = [0, 1, 2].map(|part| part_of(&operands[0], heads, part));
        let (out, lse) = attend(attrs, &q, &k, &v, operands.get(1));
        vec![joined(&out), lse]
    }

    fn saves(attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = (0..1 + masked(attrs)).fold(Saves::NOTHING, Saves::operand);
        if wanted.has(0) { saves.output(0).output(1) } else { saves }
    }

    fn restore(rule: &Rule<'_>) -> Vec<Tensor> {
        (0..1 + masked(rule.attrs)).map(|position| rule.operand(position).clone()).collect()
    }

    fn gradient(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        let [Some(g), None] = cotangents else { return None };
        let mut operands: SmallVec<[&Tensor; 5]> = (0..1 + masked(rule.attrs)).map(|i| rule.operand(i)).collect();
        operands.extend([rule.output(0), rule.output(1), g]);
        Some(smallvec![Gradient::Dense(bind1(&SELF_ATTENTION_GRADIENT, rule.attrs.clone(), &operands))])
    }

    fn batch(
        op: &'static dyn Primitive,
        attrs: &Attrs,
        size: usize,
        operands: &[Tensor],
        batched: Mask,
    ) -> Option<Outputs> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 2]> = aligned.iter().collect();
        Some(bind(op, attrs.clone(), &aligned))
    }

    fn cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        projection_cost(attrs, operands, outputs, 2.0)
    }

    fn cases() -> Vec<Case> {
        projection_cases(false)
    }
}

fn projection_cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec], products: f64) -> Cost {
    let all = crate::primitive::streaming_cost(operands, outputs);
    match projection("self_attention", attrs, operands[0]) {
        Ok((lead, tokens, heads, width)) => {
            let batches = heads * lead.iter().product::<usize>();
            Cost { flops: flops(batches, [tokens, tokens, width, width], products), ..all }
        }
        Err(_) => all,
    }
}

impl SelfBackward {
    fn run<T: Float>(attrs: &Attrs, operands: &[&Tensor], specs: &[Spec]) -> Outputs {
        let (qkv, (places, inner, counts)) = (numbers::<T>(operands[0]), places(attrs, operands[0]));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[1], T::DTYPE));
        let rest = 1 + masked(attrs);
        let [out, lse, g] = [0, 1, 2].map(|position| numbers::<T>(operands[rest + position]));
        let sizes = projection_sizes::<T>(attrs, counts, mask.as_ref().map(hidden_of));
        let (tokens, width) = (counts[2], counts[3]);
        let [q, k, v] = places.map(|place| Heads { data: &qkv[..], place });
        let place = Place { offset: 0, batch: tokens * inner, head: width, token: inner };
        let saved = Saved { q, k, v, out: Heads { data: &out[..], place }, lse: &lse[..] };
        let fill = |data: &mut [T]| {
            let to = AttentionGradient::Together { data, place: places[0], spacing: inner };
            kernel::attention_gradient(&sizes, saved, Heads { data: &g[..], place }, to);
        };
        smallvec![computed(&specs[0], fill).0]
    }
}

impl Fused for SelfBackward {
    const NAME: &'static str = "self_attention_gradient";
    const ATTRIBUTES: &'static [&'static str] = &["causal", "scale", "mask", "heads"];
    const RULE: &'static str = "by its formula";
    const OPERANDS: (usize, usize) = (4, 5);

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_projection(Self::NAME, attrs, operands, true)?;
        Ok(smallvec![operands[0].to_spec()])
    }

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(computing_float!(outputs[0].dtype, T => Self::run::<T>(attrs, operands, outputs)))
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let (qkv, heads, rest) = (&operands[0], attrs.axis("heads"), 1 + masked(attrs));
        let mut all: Vec<Tensor> = [0, 1, 2].map(|part| part_of(qkv, heads, part)).to_vec();
        all.extend(operands[1..rest].iter().cloned());
        all.extend([parted(&operands[rest], heads), operands[rest + 1].clone(), parted(&operands[rest + 2], heads)]);
        let mut whole = qkv.full_like(0.0);
        let inner = qkv.shape()[qkv.rank() - 1] / 3;
        for (part, gradient) in attend_back(attrs, &all).iter().enumerate() {
            let mut place: Vec<crate::Select> = qkv.shape().iter().map(|_| (..).into()).collect();
            place[qkv.rank() - 1] = (part * inner..(part + 1) * inner).into();
            whole.slice_mut(&place[..]).assign(joined(gradient));
        }
        vec![whole]
    }

    fn saves(attrs: &Attrs, _wanted: Mask) -> Saves {
        (0..4 + masked(attrs)).fold(Saves::NOTHING, Saves::operand)
    }

    fn restore(rule: &Rule<'_>) -> Vec<Tensor> {
        (0..4 + masked(rule.attrs)).map(|position| rule.operand(position).clone()).collect()
    }

    fn batch(
        op: &'static dyn Primitive,
        attrs: &Attrs,
        size: usize,
        operands: &[Tensor],
        batched: Mask,
    ) -> Option<Outputs> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 5]> = aligned.iter().collect();
        Some(bind(op, attrs.clone(), &aligned))
    }

    fn cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        projection_cost(attrs, operands, outputs, 5.0)
    }

    fn cases() -> Vec<Case> {
        projection_cases(true)
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
fn direct(attrs: &Attrs, s: &[Sample]) -> (Sample, Sample) {
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
fn direct_back(attrs: &Attrs, s: &[Sample]) -> Vec<Sample> {
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

fn attention_attrs(causal: bool, mask: bool) -> Attrs {
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
    // A gradient has seven operands, and every set of them is batched: a few small cases are enough.
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

/// Queries, keys or values of a projection, as `[.., h, T, d]`.
fn sample_part(qkv: &Sample, heads: usize, parts: usize, part: usize) -> Sample {
    let rank = qkv.shape.rank();
    let (tokens, width) = (qkv.shape[rank - 2], qkv.shape[rank - 1] / (parts * heads));
    let shape: Shape = qkv.shape[..rank - 2].iter().copied().chain([heads, tokens, width]).collect();
    Sample::build(shape, |i| {
        let (lead, head, token, d) = (&i[..rank - 2], i[rank - 2], i[rank - 1], i[rank]);
        qkv.at(&[lead, &[token, (part * heads + head) * width + d]].concat())
    })
}

fn projection_cases(backward: bool) -> Vec<Case> {
    let case = |lead: Shape, [heads, t, d]: [usize; 3], causal: bool, mask: bool| {
        let attrs = attention_attrs(causal, mask).with_int("heads", heads as i64);
        let with = |last: &[usize]| -> Shape { lead.iter().chain(last).copied().collect() };
        let mut operands = vec![Sample::wave(with(&[t, 3 * heads * d]), 0.2)];
        operands.extend(mask.then(|| Sample::wave(with(&[heads, t, t]), 0.35)));
        let whole = with(&[t, heads * d]);
        let apart = move |s: &[Sample]| -> Vec<Sample> {
            let parts = (0..3).map(|part| sample_part(&s[0], heads, 3, part));
            parts.chain(mask.then(|| s[1].clone())).collect()
        };
        let joined = move |out: &Sample| {
            Sample::build(whole.clone(), |i| {
                let rank = i.len();
                let (lead, token, place) = (&i[..rank - 2], i[rank - 2], i[rank - 1]);
                out.at(&[lead, &[place / d, token, place % d]].concat())
            })
        };
        if backward {
            let (out, lse) = direct(&attrs, &apart(&operands));
            let g = Sample::wave(with(&[t, heads * d]), 0.45);
            operands.extend([joined(&out), lse, g]);
        }
        let kept = attrs.clone();
        let label = format!("{lead} of {heads} heads, {t} tokens, causal {causal}, mask {mask}");
        Case::new(label, attrs, operands, move |s| {
            if !backward {
                let (out, lse) = direct(&kept, &apart(s));
                return vec![joined(&out), lse];
            }
            let rest = 1 + usize::from(mask);
            let mut all = apart(s);
            all.push(sample_part(&s[rest], heads, 1, 0));
            all.push(s[rest + 1].clone());
            all.push(sample_part(&s[rest + 2], heads, 1, 0));
            let gradients = direct_back(&kept, &all);
            vec![Sample::build(s[0].shape.clone(), |i| {
                let rank = i.len();
                let (lead, token, place) = (&i[..rank - 2], i[rank - 2], i[rank - 1]);
                let (part, rest) = (place / (heads * d), place % (heads * d));
                gradients[part].at(&[lead, &[rest / d, token, rest % d]].concat())
            })]
        })
    };
    vec![
        case(Shape::from([]), [1, 2, 2], false, false),
        case(Shape::from([2]), [2, 3, 1], true, false),
        case(Shape::from([1]), [2, 2, 1], false, true),
        case(Shape::from([0]), [1, 2, 1], true, false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Select, value_and_grad};

    /// Queries, keys and values of several heads as views into one projection.
    fn parts(qkv: &Tensor, heads: usize) -> [Tensor; 3] {
        [0, 1, 2].map(|part| part_of(qkv, heads, part))
    }

    #[test]
    fn views_into_a_projection_are_read_in_place_and_agree_with_the_formula() {
        let (heads, tokens) = (3, 150);
        let qkv = Sample::wave([2, tokens, 3 * heads * 4], 0.3).tensor(DType::F64);
        let options = Attention::new().causal();
        let loss = |y: Tensor| (&y * &y).sum();
        let apart = |qkv: &Tensor| {
            let [q, k, v] = parts(qkv, heads);
            loss(q.attention(&k, &v, &options))
        };
        let together = |qkv: &Tensor| loss(qkv.self_attention(heads, &options));
        let plain = |qkv: &Tensor| {
            let [q, k, v] = parts(qkv, heads);
            loss(attend(&options.attrs(4), &q, &k, &v, None).0)
        };
        let (value, gradient) = value_and_grad(plain)(&qkv);
        for f in [&apart as &dyn Fn(&Tensor) -> Tensor, &together] {
            let (y, dx) = value_and_grad(f)(&qkv);
            assert!(y.all_close(&value, 1e-10) && dx.all_close(&gradient, 1e-12));
        }
        let [q, k, v] = parts(&qkv, heads);
        assert!(!q.is_contiguous());
        let out = q.attention(&k, &v, &options);
        // The result lies as its queries do, so that heads join again without a copy.
        let whole = out.permute(&[0, 2, 1, 3]);
        assert!(whole.is_contiguous() && whole.reshape([2, tokens, heads * 4]).shares_memory_with(&whole));
    }

    #[test]
    fn a_mask_of_truth_values_hides_keys() {
        let x = Sample::wave([2, 3, 4], 0.3).tensor(DType::F64);
        let seen = Tensor::from([[true, false, true]]);
        let two = x.slice(&[Select::from(..), Select::Range { start: None, stop: None, step: 2 }][..]);
        let hidden = x.attention(&x, &x, &Attention::new().mask(&seen));
        assert!(hidden.all_close(&x.attention(&two, &two, &Attention::new()), 1e-14));

        let qkv = Sample::wave([2, 5, 3 * 2 * 4], 0.3).tensor(DType::F64);
        let truths = Tensor::arange(25).reshape([5, 5]).fmod(3).not_equal(1);
        let added = truths.where_(Tensor::from(0.0), f64::NEG_INFINITY);
        let [by_truths, by_numbers] = [&truths, &added].map(|mask| {
            let options = Attention::new().mask(mask).causal();
            value_and_grad(|qkv: &Tensor| qkv.self_attention(2, &options).square().sum())(&qkv)
        });
        assert!(by_truths.0.all_close(&by_numbers.0, 1e-14) && by_truths.1.all_close(&by_numbers.1, 1e-14));
    }
}
