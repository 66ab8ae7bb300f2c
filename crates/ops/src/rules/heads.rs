//! The layout of attention's operands: tensors `[.., heads, tokens, width]` as memory and strides, copied only if they are not strided.

use crate::primitive::{Attrs, Spec, View};
use crate::tensor::{Laid, memory_of};
use crate::{DType, Tensor};
use wengert_kernels::attention::{self as kernel, Heads, Mask as Hidden, MaskData, Place};
use wengert_kernels::rows::Float;

/// A view `[.., heads, tokens, width]` that a kernel reads with strides; copied only if that is not possible.
pub struct Located<'a> {
    laid: Laid<'a>,
    place: Place,
}

impl<'a> Located<'a> {
    pub fn of(view: View<'a>, dtype: DType) -> Located<'a> {
        Located::with(view, dtype, true)
    }

    /// A mask, whose keys may have any stride; booleans are not converted.
    pub fn mask(view: View<'a>, dtype: DType) -> Located<'a> {
        Located::with(view, if view.dtype == DType::Bool { DType::Bool } else { dtype }, false)
    }

    fn with(view: View<'a>, dtype: DType, adjacent: bool) -> Located<'a> {
        if let (true, Some(place)) = (view.dtype == dtype, place_of(view, adjacent)) {
            return Located { laid: Laid::Own(view), place };
        }
        let laid = Laid::copy(view, dtype);
        let place = place_of(laid.view(), adjacent).expect("row-major numbers have steps");
        Located { laid, place }
    }

    pub fn shape(&self) -> &[usize] {
        self.laid.view().shape
    }

    pub fn heads<T: Float>(&self) -> Heads<'_, T> {
        Heads { data: memory_of(self.laid.view()), place: self.place }
    }
}

/// The strides of `[.., heads, tokens, width]`, if its layout has them and, if required, adjacent elements.
fn place_of(view: View<'_>, adjacent: bool) -> Option<Place> {
    let rank = view.shape.len();
    let apart = adjacent && view.shape[rank - 1] > 1 && view.strides[rank - 1] != 1;
    if apart || view.strides.iter().any(|&step| step < 0) {
        return None;
    }
    let step = |axis: usize| if view.shape[axis] > 1 { view.strides[axis] as usize } else { 0 };
    let head = if rank >= 3 { step(rank - 3) } else { 0 };
    // The axes before the heads are traversed as one.
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

/// The numbers or booleans of a mask, and their strides.
pub fn hidden_of<'a, T: Float>(mask: &'a Located<'_>) -> Hidden<'a, T> {
    let view = mask.laid.view();
    let rank = view.shape.len();
    let key = if view.shape[rank - 1] > 1 { view.strides[rank - 1] as usize } else { 0 };
    fn from<'a, T: bytemuck::Pod>(view: View<'a>, place: &Place) -> &'a [T] {
        let all = memory_of::<T>(view);
        &all[place.offset.min(all.len())..]
    }
    let data = match view.dtype {
        DType::Bool => MaskData::Seen(from(view, &mask.place)),
        _ => MaskData::Added(from(view, &mask.place)),
    };
    Hidden { data, batch: mask.place.batch, head: mask.place.head, query: mask.place.token, key }
}

/// Sizes and options of a call: `q` is `[.., heads, T, D]`.
pub fn sizes_of<'a, T: Float>(
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

/// Whether the tokens of `x` lie outside its heads, as in a projection; results that go back into one should have the same layout.
fn is_token_major(x: &Tensor) -> bool {
    let view = x.value.view();
    let rank = view.shape.len();
    rank >= 3 && view.shape[rank - 3] > 1 && view.shape[rank - 2] > 1 && view.strides[rank - 2] > view.strides[rank - 3]
}

/// The layout of tokens in row-major `[.., heads, T, D]`.
pub fn row_major(shape: &[usize]) -> Place {
    let rank = shape.len();
    Place::contiguous(if rank >= 3 { shape[rank - 3] } else { 1 }, shape[rank - 2], shape[rank - 1])
}

/// The spec in memory of a result like `like`, the layout of its tokens, and how to view it as `[.., heads, T, D]`.
pub struct Room {
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
        let place = match (swap, &spec.shape[..]) {
            (true, &[.., heads, tokens, width]) => {
                Place { offset: 0, batch: heads * tokens * width, head: width, token: heads * width }
            }
            _ => row_major(&spec.shape),
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
