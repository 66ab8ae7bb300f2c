//! Attention without the matrix of scores.

use super::index::step;
use super::{Macros, addresses, alignment, part};
use crate::launch::Shape;
use crate::lower::{Call, Lowering, missing};
use crate::source::{held, stored};
use wengert_compiler::plan::Read;
use wengert_core::{DType, Error};
use wengert_kernels::memory::Span;

pub(super) const TEXT: &str = include_str!("../kernels/attention.cu");
pub(super) const PLAIN: &str = include_str!("../kernels/attention_plain.cu");

/// The widest head that the fast kernels take.
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
    /// The width of a value and of a result.
    values: usize,
    steps: [Steps; 4],
    dtype: DType,
    lse: DType,
    mask: Option<Hidden>,
}

/// A mask of scores: where it lies, and its strides from one batch, head, query and key to the next.
#[derive(Clone, Copy)]
struct Hidden {
    span: Span,
    strides: [isize; 4],
    dtype: DType,
}

impl Hidden {
    /// The mask of a call, which is operand number `place` if there is one: `[.., heads, queries, keys]`.
    fn of(lowering: &mut Lowering, call: &Call<'_>, place: usize) -> Result<Option<Hidden>, Error> {
        if call.attrs.int("mask") == 0 {
            return Ok(None);
        }
        let read: &Read = &call.reads[place];
        let (shape, dtype) = (&read.spec.shape, read.spec.dtype);
        let inner = shape.rank() - shape.rank().min(3);
        let strides = |strides: &[isize]| {
            let mut all = [0; 4];
            all[0] = step(&shape[..inner], &strides[..inner])?;
            let count = strides.len() - inner;
            all[4 - count..].copy_from_slice(&strides[inner..]);
            Some(all)
        };
        let (span, laid) = part::laid(lowering, read);
        Ok(Some(match strides(&laid) {
            Some(strides) => Hidden { span, strides, dtype },
            None => {
                let strides = strides(&part::row_major(shape)).expect("row-major axes are one");
                Hidden { span: lowering.contiguous(read)?, strides, dtype }
            }
        }))
    }
}

impl Heads {
    /// Those of `self_attention`: a projection holds q, k and v side by side.
    fn of_projection(lowering: &mut Lowering, call: &Call<'_>) -> Result<Heads, Error> {
        let [lead @ .., tokens, whole] = &call.reads[0].spec.shape[..] else { unreachable!("a projection has tokens") };
        let heads = call.attrs.axis("heads");
        let (inner, width) = (whole / 3, whole / 3 / heads);
        let parts = Steps([tokens * whole, width, *whole]);
        let steps = [parts, parts, parts, Steps([tokens * inner, width, inner])];
        let (batch, tokens, dtype) = (lead.iter().product(), *tokens, call.reads[0].spec.dtype);
        let mask = Hidden::of(lowering, call, 1)?;
        Ok(Heads { batch, heads, tokens, keys: tokens, width, values: width, steps, dtype, lse: dtype, mask })
    }

    /// Those of `attention`: the last of the leading axes is one of heads.
    fn of_heads(lowering: &mut Lowering, call: &Call<'_>) -> Result<Heads, Error> {
        let [q, k, v] = [0, 1, 2].map(|place| &call.reads[place].spec.shape[..]);
        let ([lead @ .., tokens, width], [.., keys, _], [.., values]) = (q, k, v) else {
            unreachable!("heads are matrices")
        };
        let heads = lead.last().copied().unwrap_or(1);
        let batch = lead[..lead.len().saturating_sub(1)].iter().product();
        let rows = |tokens: usize, width: usize| Steps([heads * tokens * width, tokens * width, width]);
        let steps = [rows(*tokens, *width), rows(*keys, *width), rows(*keys, *values), rows(*tokens, *values)];
        let dtype = call.reads[0].spec.dtype;
        let mask = Hidden::of(lowering, call, 3)?;
        let (tokens, keys, width, values) = (*tokens, *keys, *width, *values);
        Ok(Heads { batch, heads, tokens, keys, width, values, steps, dtype, lse: dtype, mask })
    }

    /// Whether the fast kernels take this.
    fn is_fast(&self, call: &Call<'_>) -> bool {
        let fits = (1..=WIDEST).contains(&self.width) && self.values == self.width;
        let is_empty = self.batch * self.heads * self.tokens * self.keys == 0;
        fits && !is_empty && self.mask.is_none() && self.dtype != DType::F64 && call.attrs.real("scale") > 0.0
    }

    fn has_tensor_cores(&self, lowering: &Lowering, is_wide: bool) -> bool {
        self.dtype == DType::BF16 && self.width.is_multiple_of(16) && is_wide && lowering.capability == 90
    }

    /// The macros of all kernels, and those of some.
    fn sizes(&self, call: &Call<'_>, scale: String, more: &[(&str, usize)]) -> Macros {
        let macros = Macros::default()
            .set("T", stored(self.dtype))
            .set("LSE_TYPE", stored(self.lse))
            .set("BATCH", self.batch)
            .set("HEADS", self.heads)
            .set("TOKENS", self.tokens)
            .set("KEYS", self.keys)
            .set("WIDTH", self.width)
            .set("SCALE", scale)
            .set("CAUSAL", call.attrs.int("causal"));
        let macros = more.iter().fold(macros, |macros, (name, value)| macros.set(name, value));
        ["Q", "K", "V", "O"].iter().zip(self.steps).fold(macros, |macros, (name, Steps([batch, head, token]))| {
            macros
                .set(&format!("{name}_BATCH"), format!("({batch})"))
                .set(&format!("{name}_HEAD"), format!("({head})"))
                .set(&format!("{name}_TOKEN"), format!("({token})"))
        })
    }

    /// The macros of the fast kernels, and whether the tensor cores are used.
    fn macros(&self, lowering: &Lowering, call: &Call<'_>, spans: &[Span]) -> (Macros, bool) {
        let size = self.dtype.size();
        let even = |number: usize| (number * size).is_multiple_of(16);
        let is_wide =
            alignment(spans) == 16 && even(self.width) && self.steps.iter().flat_map(|steps| steps.0).all(even);
        let cores = self.has_tensor_cores(lowering, is_wide);
        let scale = format!("{:?}f", call.attrs.real("scale") as f32);
        let more = [("WIDE", usize::from(is_wide)), ("TENSOR_CORES", usize::from(cores))];
        (self.sizes(call, scale, &more), cores)
    }

    /// The text of the plain kernels, and where the mask lies.
    fn plain(&self, call: &Call<'_>) -> Result<(String, Option<Span>), Error> {
        let scale = call.attrs.real("scale");
        if !scale.is_finite() {
            return Err(missing(format!("attention with the scale {scale} has no kernel for this device")));
        }
        let kind = self.mask.map_or(0, |mask| if mask.dtype == DType::Bool { 2 } else { 1 });
        let strides = self.mask.map_or([0; 4], |mask| mask.strides);
        let macros = self
            .sizes(call, format!("({scale:?})"), &[("VALUES", self.values), ("MASK", kind)])
            .set("REAL", held(self.dtype));
        let macros = ["M_BATCH", "M_HEAD", "M_QUERY", "M_KEY"]
            .iter()
            .zip(strides)
            .fold(macros, |macros, (name, stride)| macros.set(name, format!("({stride})")));
        Ok((macros.before(PLAIN), self.mask.map(|mask| mask.span)))
    }

    /// A warp for each row.
    fn rows(&self, tokens: usize) -> Shape {
        Shape::line((self.batch * self.heads * tokens).div_ceil(4), 128)
    }

    fn forward(&self, lowering: &mut Lowering, call: &Call<'_>, [q, k, v, o, lse]: [Span; 5]) -> Result<(), Error> {
        let heads = self.batch * self.heads;
        if !self.is_fast(call) {
            let (text, mask) = self.plain(call)?;
            let arguments = addresses(&[Some(q), Some(k), Some(v), mask, Some(o), Some(lse)]);
            lowering.launch("plain_forward", text, self.rows(self.tokens), arguments);
            return Ok(());
        }
        let (macros, cores) = self.macros(lowering, call, &[q, k, v, o]);
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
        if !self.is_fast(call) {
            let (text, mask) = self.plain(call)?;
            let delta = lowering.scratch(heads * self.tokens * 8);
            if heads * self.tokens > 0 {
                let [q, k, v, o, lse, slope, delta, dq] = [q, k, v, o, lse, slope, delta, dq].map(Some);
                let arguments = addresses(&[q, k, v, mask, o, lse, slope, delta, dq]);
                lowering.launch("plain_queries", text.clone(), self.rows(self.tokens), arguments);
            }
            if heads * self.keys > 0 {
                let [q, k, v, lse, slope, delta, dk, dv] = [q, k, v, lse, slope, delta, dk, dv].map(Some);
                let arguments = addresses(&[q, k, v, mask, lse, slope, delta, dk, dv]);
                lowering.launch("plain_keys", text, self.rows(self.keys), arguments);
            }
            return Ok(());
        }
        let (macros, cores) = self.macros(lowering, call, &[q, k, v, o, slope, dq, dk, dv]);
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
    let heads = Heads { lse: call.writes[1].1.dtype, ..Heads::of_projection(lowering, call)? };
    let [q, k, v] = parts(lowering.contiguous(&call.reads[0])?, &heads);
    let (o, lse) = (lowering.at(call.writes[0].0), lowering.at(call.writes[1].0));
    heads.forward(lowering, call, [q, k, v, o, lse])
}

/// `self_attention_gradient`: of the projection.
pub fn of_projection_gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let last = call.reads.len() - 3;
    let heads = Heads { lse: call.reads[last + 1].spec.dtype, ..Heads::of_projection(lowering, call)? };
    let [q, k, v] = parts(lowering.contiguous(&call.reads[0])?, &heads);
    let o = lowering.contiguous(&call.reads[last])?;
    let (lse, slope) = (lowering.contiguous(&call.reads[last + 1])?, lowering.contiguous(&call.reads[last + 2])?);
    let [dq, dk, dv] = parts(lowering.at(call.writes[0].0), &heads);
    heads.backward(lowering, call, [q, k, v, o, lse, slope, dq, dk, dv])
}

/// `attention`.
pub fn of_heads(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let heads = Heads { lse: call.writes[1].1.dtype, ..Heads::of_heads(lowering, call)? };
    let spans = call.reads[..3].iter().map(|read| lowering.contiguous(read)).collect::<Result<Vec<_>, _>>()?;
    let (o, lse) = (lowering.at(call.writes[0].0), lowering.at(call.writes[1].0));
    heads.forward(lowering, call, [spans[0], spans[1], spans[2], o, lse])
}

/// `attention_gradient`.
pub fn of_heads_gradient(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let last = call.reads.len() - 3;
    let heads = Heads { lse: call.reads[last + 1].spec.dtype, ..Heads::of_heads(lowering, call)? };
    let mut spans = Vec::new();
    for place in [0, 1, 2, last, last + 1, last + 2] {
        spans.push(lowering.contiguous(&call.reads[place])?);
    }
    let [dq, dk, dv] = [0, 1, 2].map(|place| lowering.at(call.writes[place].0));
    let [q, k, v, o, lse, slope] = spans[..] else { unreachable!("six operands") };
    heads.backward(lowering, call, [q, k, v, o, lse, slope, dq, dk, dv])
}
