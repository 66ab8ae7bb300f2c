//! Random numbers, and keys.

use super::{Macros, address, addresses};
use crate::launch::{Shape, Word};
use crate::lower::{Call, Lowering};
use crate::source::stored;
use wengert_core::{DType, Error};

pub(super) const TEXT: &str = include_str!("../kernels/random.cu");

/// `uniform`: numbers in [0, 1) of every key.
pub fn uniform(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let keys = lowering.contiguous(&call.reads[0])?;
    let (to, spec) = &call.writes[0];
    let count = call.reads[0].spec.shape.elements() / 2;
    let each = spec.shape.elements() / count;
    let words = if spec.dtype == DType::F64 { 2 } else { 4 };
    let blocks = 16 * each.div_ceil(16 * words);
    let steps = match spec.dtype {
        DType::BF16 => 256,
        DType::F16 => 2048,
        _ => 0,
    };
    let text = Macros::default()
        .set("UNIFORM", 1)
        .set("T", stored(spec.dtype))
        .set("STEPS", steps)
        .set("KEYS", count)
        .set("EACH", each)
        .set("WORDS_EACH", words)
        .set("BLOCKS", blocks)
        .before(TEXT);
    let arguments = addresses(&[Some(keys), Some(lowering.at(*to))]);
    lowering.launch("uniform", text, Shape::line((count * blocks).div_ceil(256), 256), arguments);
    Ok(())
}

/// `split_key`: a child of every key.
pub fn split_key(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let (keys, index) = (lowering.contiguous(&call.reads[0])?, lowering.contiguous(&call.reads[1])?);
    let (to, spec) = &call.writes[0];
    let count = spec.shape.elements() / 2;
    let text = Macros::default().set("SPLIT_KEY", 1).set("KEYS", count).before(TEXT);
    let arguments = addresses(&[Some(keys), Some(index), Some(lowering.at(*to))]);
    lowering.launch("split_key", text, Shape::line(count.div_ceil(256), 256), arguments);
    Ok(())
}

/// `permutation`: the order of random numbers of every key.
pub fn permutation(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let keys = lowering.contiguous(&call.reads[0])?;
    let (to, spec) = &call.writes[0];
    let each = call.attrs.axis("count");
    let (count, tiles) = (spec.shape.elements() / each, each.div_ceil(256));
    let text =
        Macros::default().set("PERMUTATION", 1).set("KEYS", count).set("EACH", each).set("TILES", tiles).before(TEXT);
    let shape = Shape::line(count * tiles, 256);
    let (mut sorted, mut other) = (lowering.scratch(16 * count * each), lowering.scratch(16 * count * each));
    lowering.launch("permutation_begin", text.clone(), shape, addresses(&[Some(keys), Some(sorted)]));
    let mut run = 256;
    while run < each {
        let arguments = vec![address(sorted), address(other), vec![Word::Number(run as u64)]];
        lowering.launch("permutation_merge", text.clone(), shape, arguments);
        std::mem::swap(&mut sorted, &mut other);
        run *= 2;
    }
    let arguments = addresses(&[Some(sorted), Some(lowering.at(*to))]);
    lowering.launch("permutation_end", text, shape, arguments);
    Ok(())
}
