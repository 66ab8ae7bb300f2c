//! self_attention - attention of one projection [.., T, 3 h d] that holds q, k and v side by side.   o[.., T, h d],   as attention.
//!
//! self_attention_gradient - the gradient of self_attention.   From the projection, o, lse and the cotangent of o,   by its formula.

use super::attention::{
    Attention, BACKWARD, FORWARD, attend, attend_back, attention_attrs, direct, direct_back, expect_dtypes,
    expect_scores, flops, masked, wide,
};
use crate::prelude::*;
use crate::rules::heads::{Located, hidden_of, sizes_of};
use wengert_kernels::attention::{self as kernel, AttentionGradient, Heads, HeadsMut, Mask as Hidden, Place, Saved};
use wengert_kernels::rows::Float;

/// The methods of `self_attention`.
#[ext(SelfAttentionMethods)]
impl Tensor {
    /// Self-attention: this tensor is a projection `[.., T, 3 * heads * width]` of queries, keys and values side by side; the result is
    /// `[.., T, heads * width]`. Nothing is rearranged in memory.
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
        let operands: SmallVec<[&Tensor; 4]> = std::iter::once(self).chain(&mask).collect();
        bind(&SELF_ATTENTION, attrs, &operands).swap_remove(0)
    }
}

/// The primitive `self_attention`.
pub static SELF_ATTENTION: FusedOp<SelfForward> = FusedOp::NEW;

/// The primitive `self_attention_gradient`.
pub static SELF_ATTENTION_GRADIENT: FusedOp<SelfBackward> = FusedOp::NEW;

/// See the module.
pub struct SelfForward;

/// See the module.
pub struct SelfBackward;

/// The parts of a projection `[.., T, 3 h d]`: queries, keys or values as `[.., h, T, d]`.
pub(super) fn part_of(qkv: &Tensor, heads: usize, part: usize) -> Tensor {
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
    let heads = attrs.axis("heads");
    match qkv.shape {
        [lead @ .., tokens, whole] if heads > 0 && (whole / 3).is_multiple_of(heads) && whole.is_multiple_of(3) => {
            Ok((lead, *tokens, heads, whole / 3 / heads))
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
    let lse = Spec { dtype: wide(qkv.dtype), ..with(&[heads, tokens]) };
    Ok([with(&[tokens, heads * width]), lse, with(&[heads, tokens, tokens])])
}

fn expect_projection(name: &str, attrs: &Attrs, operands: &[SpecRef<'_>], backward: bool) -> Result<[Spec; 3], Error> {
    expect_scores(name, attrs)?;
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
    let rest = 1 + masked(attrs);
    expect_dtypes(name, operands, (masked(attrs) == 1).then_some(1), backward.then_some(rest + 1))?;
    Ok([out, lse, mask])
}

/// The layout of queries, keys and values in row-major memory of a projection.
fn places(attrs: &Attrs, qkv: View<'_>) -> ([Place; 3], usize, [usize; 4]) {
    let (lead, tokens, heads, width) =
        projection("self_attention", attrs, SpecRef { shape: qkv.shape, dtype: qkv.dtype })
            .expect("the shape was checked");
    let inner = heads * width;
    let place = |part: usize| Place { offset: part * inner, batch: tokens * 3 * inner, head: width, token: 3 * inner };
    ([place(0), place(1), place(2)], inner, [lead.iter().product(), heads, tokens, width])
}

fn projection_sizes<'a, T: Float>(
    attrs: &Attrs,
    [batches, heads, tokens, width]: [usize; 4],
    mask: Option<Hidden<'a, T>>,
) -> kernel::Attention<'a, T> {
    sizes_of(attrs, &[batches, heads, tokens, width], tokens, width, mask)
}

impl SelfForward {
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) {
        let (qkv, (places, inner, counts)) = (numbers::<T>(operands[0]), places(attrs, operands[0]));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[1], T::DTYPE));
        let sizes = projection_sizes::<T>(attrs, counts, mask.as_ref().map(hidden_of));
        let (tokens, width) = (counts[2], counts[3]);
        let [q, k, v] = places.map(|place| Heads { data: &qkv[..], place });
        let place = Place { offset: 0, batch: tokens * inner, head: width, token: inner };
        let [out, lse] = outputs else { unreachable!("two outputs") };
        fill(out.reborrow(), |data| {
            fill(lse.reborrow(), |lse| kernel::attention(&sizes, q, k, v, HeadsMut { data, place }, lse));
        });
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

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + masked(attrs)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let [out, lse, _] = expect_projection(Self::NAME, attrs, operands, false)?;
        Ok(Specs::from_vec(vec![out, lse]))
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, outputs));
        Ok(())
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let heads = attrs.axis("heads");
        let [q, k, v] = [0, 1, 2].map(|part| part_of(&operands[0], heads, part));
        let (out, lse) = attend(attrs, &q, &k, &v, operands.get(1));
        vec![joined(&out), lse]
    }

    fn saves(attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = Self::all_operands(attrs);
        if wanted.has(0) { saves.output(0).output(1) } else { saves }
    }

    fn gradient(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        let [Some(g), None] = cotangents else { return None };
        let mut operands: SmallVec<[&Tensor; 8]> = (0..1 + masked(rule.attrs)).map(|i| rule.operand(i)).collect();
        operands.extend([rule.output(0), rule.output(1), g]);
        Some(smallvec![Gradient::Dense(bind1(&SELF_ATTENTION_GRADIENT, rule.attrs.clone(), &operands))])
    }

    fn cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        projection_cost(attrs, operands, outputs, FORWARD)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        projection_cases(false)
    }
}

fn projection_cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec], products: [usize; 2]) -> Cost {
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
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], to: Out<'_>) {
        let (qkv, (places, inner, counts)) = (numbers::<T>(operands[0]), places(attrs, operands[0]));
        let mask = (masked(attrs) == 1).then(|| Located::mask(operands[1], T::DTYPE));
        let rest = 1 + masked(attrs);
        let [out, lse, g] = [0, 1, 2].map(|position| numbers::<T>(operands[rest + position]));
        let sizes = projection_sizes::<T>(attrs, counts, mask.as_ref().map(hidden_of));
        let (tokens, width) = (counts[2], counts[3]);
        let [q, k, v] = places.map(|place| Heads { data: &qkv[..], place });
        let place = Place { offset: 0, batch: tokens * inner, head: width, token: inner };
        let saved = Saved { q, k, v, out: Heads { data: &out[..], place }, lse: &lse[..] };
        fill(to, |data| {
            let to = AttentionGradient::Together { data, place: places[0], spacing: inner };
            kernel::attention_gradient(&sizes, saved, Heads { data: &g[..], place }, to);
        });
    }
}

impl Fused for SelfBackward {
    const NAME: &'static str = "self_attention_gradient";
    const ATTRIBUTES: &'static [&'static str] = &["causal", "scale", "mask", "heads"];
    const RULE: &'static str = "by its formula";
    const OPERANDS: (usize, usize) = (4, 5);

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + masked(attrs)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_projection(Self::NAME, attrs, operands, true)?;
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, outputs[0].reborrow()));
        Ok(())
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

    fn cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        projection_cost(attrs, operands, outputs, BACKWARD)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        projection_cases(true)
    }
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
