//! Attention without the matrix of scores.

use super::{Macros, addresses, alignment};
use crate::launch::Shape;
use crate::lower::{Call, Lowering, missing};
use crate::source::stored;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/attention.cu");

/// The widest head that has kernels.
const WIDEST: usize = 128;

/// Where heads lie, in elements: from one batch, head and token to the next.
#[derive(Clone, Copy)]
struct Steps([usize; 3]);

/// The sizes of a call, and the layouts of q, k, v and o.
struct Heads {
    batch: usize,
    heads: usize,
    tokens: usize,
    keys: usize,
    width: usize,
    steps: [Steps; 4],
    dtype: DType,
    lse: DType,
}

impl Heads {
    /// Those of `self_attention`: a projection holds q, k and v side by side.
    fn of_projection(call: &Call<'_>) -> Heads {
        let [lead @ .., tokens, whole] = &call.reads[0].spec.shape[..] else { unreachable!("a projection has tokens") };
        let heads = call.attrs.axis("heads");
        let (inner, width) = (whole / 3, whole / 3 / heads);
        let parts = Steps([tokens * whole, width, *whole]);
        let steps = [parts, parts, parts, Steps([tokens * inner, width, inner])];
        let dtype = call.reads[0].spec.dtype;
        Heads { batch: lead.iter().product(), heads, tokens: *tokens, keys: *tokens, width, steps, dtype, lse: dtype }
    }

    /// Those of `attention`: every leading axis is one of heads.
    fn of_heads(call: &Call<'_>) -> Result<Heads, Error> {
        let [q, k, v] = [0, 1, 2].map(|place| &call.reads[place].spec.shape[..]);
        let ([lead @ .., tokens, width], [.., keys, _], [.., value]) = (q, k, v) else {
            unreachable!("heads are matrices")
        };
        if width != value {
            return Err(missing(format!(
                "attention with keys of {width} and values of {value} has no kernel for this device"
            )));
        }
        let (own, other) = (Steps([0, tokens * width, *width]), Steps([0, keys * width, *width]));
        let steps = [own, other, other, own];
        let dtype = call.reads[0].spec.dtype;
        Ok(Heads {
            batch: 1,
            heads: lead.iter().product(),
            tokens: *tokens,
            keys: *keys,
            width: *width,
            steps,
            dtype,
            lse: dtype,
        })
    }

    fn has_tensor_cores(&self, lowering: &Lowering, is_wide: bool) -> bool {
        self.dtype == DType::BF16 && self.width.is_multiple_of(16) && is_wide && lowering.capability == 90
    }

    /// The macros, and whether the tensor cores are used.
    fn macros(&self, lowering: &Lowering, call: &Call<'_>, spans: &[Span]) -> Result<(Macros, bool), Error> {
        if call.attrs.int("mask") != 0 {
            return Err(missing("attention with a mask has no kernel for this device".to_string()));
        }
        let (fits, scale) = ((1..=WIDEST).contains(&self.width), call.attrs.real("scale"));
        if !fits || self.dtype == DType::F64 || scale <= 0.0 {
            let message = format!("attention of heads of {} elements of {}", self.width, self.dtype);
            return Err(missing(format!("{message} has no kernel for this device")));
        }
        let size = self.dtype.size();
        let even = |number: usize| (number * size).is_multiple_of(16);
        let is_wide =
            alignment(spans) == 16 && even(self.width) && self.steps.iter().flat_map(|steps| steps.0).all(even);
        let cores = self.has_tensor_cores(lowering, is_wide);
        let mut macros = Macros::default()
            .set("T", stored(self.dtype))
            .set("LSE_TYPE", stored(self.lse))
            .set("BATCH", self.batch)
            .set("HEADS", self.heads)
            .set("TOKENS", self.tokens)
            .set("KEYS", self.keys)
            .set("WIDTH", self.width)
            .set("SCALE", format!("{:?}f", scale as f32))
            .set("CAUSAL", call.attrs.int("causal"))
            .set("WIDE", u8::from(is_wide))
            .set("TENSOR_CORES", u8::from(cores));
        for (name, Steps([batch, head, token])) in ["Q", "K", "V", "O"].iter().zip(self.steps) {
            macros = macros
                .set(&format!("{name}_BATCH"), format!("({batch})"))
                .set(&format!("{name}_HEAD"), format!("({head})"))
                .set(&format!("{name}_TOKEN"), format!("({token})"));
        }
        Ok((macros, cores))
    }

    fn forward(&self, lowering: &mut Lowering, call: &Call<'_>, [q, k, v, o, lse]: [Span; 5]) -> Result<(), Error> {
        let heads = self.batch * self.heads;
        if heads * self.tokens == 0 || self.keys == 0 {
            return Err(missing("attention without tokens has no kernel for this device".to_string()));
        }
        let (macros, cores) = self.macros(lowering, call, &[q, k, v, o])?;
        let shape = match cores {
            true => self.shape(heads * self.tokens.div_ceil(64), 6 * 8192 * self.width.div_ceil(64)),
            false => self.shape(heads * self.tokens.div_ceil(32), 640 * self.pitch() + 8704),
        };
        let arguments = addresses(&[q, k, v, o, lse].map(Some));
        lowering.launch("attention_forward", macros.before(TEXT), shape, arguments);
        Ok(())
    }

    fn backward(&self, lowering: &mut Lowering, call: &Call<'_>, spans: [Span; 9]) -> Result<(), Error> {
        let [q, k, v, o, lse, slope, dq, dk, dv] = spans;
        let heads = self.batch * self.heads;
        let (macros, cores) = self.macros(lowering, call, &[q, k, v, o, slope, dq, dk, dv])?;
        let text = macros.before(TEXT);
        if !cores {
            let shape =
                self.shape(heads * (self.keys.div_ceil(32) + self.tokens.div_ceil(32)), 768 * self.pitch() + 17920);
            lowering.launch("attention_backward", text, shape, addresses(&spans.map(Some)));
            return Ok(());
        }
        let statistics = lowering.scratch(heads * self.tokens * 8);
        let tile = 8192 * self.width.div_ceil(64);
        let shape = self.shape(heads * self.tokens.div_ceil(64), 8 * tile);
        let arguments = addresses(&[q, k, v, o, lse, slope, statistics, dq].map(Some));
        lowering.launch("attention_backward_queries", text.clone(), shape, arguments);
        let shape = self.shape(heads * self.keys.div_ceil(64), 8 * tile + 1536);
        let arguments = addresses(&[q, k, v, slope, statistics, dk, dv].map(Some));
        lowering.launch("attention_backward_keys", text, shape, arguments);
        Ok(())
    }

    fn pitch(&self) -> usize {
        self.width.next_multiple_of(16) + 4
    }

    fn shape(&self, blocks: usize, shared: usize) -> Shape {
        Shape { shared: shared as u32, ..Shape::line(blocks, 128) }
    }
}

/// The parts of a projection in memory.
fn parts(projection: Span, heads: &Heads) -> [Span; 3] {
    let part = heads.heads * heads.width * heads.dtype.size();
    [0, 1, 2].map(|number| Span { start: projection.start + number * part, ..projection })
}

/// `self_attention`: of one projection.
pub fn of_projection(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let heads = Heads { lse: call.writes[1].1.dtype, ..Heads::of_projection(call) };
    let [q, k, v] = parts(lowering.contiguous(&call.reads[0])?, &heads);
    let (o, lse) = (lowering.at(call.writes[0].0), lowering.at(call.writes[1].0));
    heads.forward(lowering, call, [q, k, v, o, lse])
}

/// `self_attention_gradient`: of the projection.
pub fn of_projection_gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let last = call.reads.len() - 3;
    let heads = Heads { lse: call.reads[last + 1].spec.dtype, ..Heads::of_projection(call) };
    let [q, k, v] = parts(lowering.contiguous(&call.reads[0])?, &heads);
    let o = lowering.contiguous(&call.reads[last])?;
    let (lse, slope) = (lowering.contiguous(&call.reads[last + 1])?, lowering.contiguous(&call.reads[last + 2])?);
    let [dq, dk, dv] = parts(lowering.at(call.writes[0].0), &heads);
    heads.backward(lowering, call, [q, k, v, o, lse, slope, dq, dk, dv])
}

/// `attention`.
pub fn of_heads(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let heads = Heads { lse: call.writes[1].1.dtype, ..Heads::of_heads(call)? };
    let spans = call.reads[..3].iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let (o, lse) = (lowering.at(call.writes[0].0), lowering.at(call.writes[1].0));
    heads.forward(lowering, call, [spans[0], spans[1], spans[2], o, lse])
}

/// `attention_gradient`.
pub fn of_heads_gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let last = call.reads.len() - 3;
    let heads = Heads { lse: call.reads[last + 1].spec.dtype, ..Heads::of_heads(call)? };
    let spans = call.reads.iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let [dq, dk, dv] = [0, 1, 2].map(|place| lowering.at(call.writes[place].0));
    let (o, lse, slope) = (spans[last], spans[last + 1], spans[last + 2]);
    heads.backward(lowering, call, [spans[0], spans[1], spans[2], o, lse, slope, dq, dk, dv])
}
