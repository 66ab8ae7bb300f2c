//! Where attention finds its numbers: tensors `[.., heads, tokens, width]` as memory and steps, copied only where they have
//! none.

use crate::primitive::{Attrs, Spec};
use crate::{DType, Tensor};
use wengert_kernels::attention::{self as kernel, Heads, Mask as Hidden, MaskData, Place};
use wengert_kernels::rows::Float;

/// A tensor `[.., heads, tokens, width]` whose numbers a kernel finds by steps; copied only where it cannot.
pub(crate) struct Located {
    pub tensor: Tensor,
    place: Place,
}

impl Located {
    pub fn of(tensor: &Tensor, dtype: DType) -> Located {
        Located::with(tensor, dtype, true)
    }

    /// A mask, whose keys may have any step; truth values stay as they are.
    pub fn mask(tensor: &Tensor, dtype: DType) -> Located {
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

    pub fn heads<T: Float>(&self) -> Heads<'_, T> {
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
pub(crate) fn hidden_of<'a, T: Float>(mask: &'a Located) -> Hidden<'a, T> {
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
pub(crate) fn sizes_of<'a, T: Float>(
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
pub(crate) struct Room {
    pub memory: Spec,
    pub place: Place,
    swap: bool,
}

impl Room {
    pub fn like(like: &Tensor, spec: &Spec) -> Room {
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

    pub fn seen(&self, tensor: Tensor) -> Tensor {
        if !self.swap {
            return tensor;
        }
        let rank = tensor.rank();
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 3, rank - 2);
        tensor.with_layout(|layout| layout.permuted(&order))
    }
}
