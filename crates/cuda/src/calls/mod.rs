//! How each operation with kernels of its own is launched.

mod attention;
mod axes;
mod choose;
mod conv;
pub mod copy;
mod cross_entropy;
mod distance;
mod flow;
mod index;
mod norm;
mod order;
mod part;
mod pooling;
mod products;
mod random;
mod reduce;
mod running;
mod softmax;
mod sum;
pub mod team;
mod tiled;
mod windows;

pub use flow::flow;

use crate::launch::Word;
use crate::lower::{Call, Lowering};
use std::fmt::{Display, Write};
use wengert_core::Error;
use wengert_kernels::memory::Span;

/// An operation by its name.
type Row = (&'static str, fn(&mut Lowering, &Call<'_>) -> Result<(), Error>);

/// All operations with kernels; one row for each.
pub const TABLE: &[Row] = &[
    ("adaptive_avg_pool", windows::pool),
    ("adaptive_avg_pool_gradient", windows::pool),
    ("adaptive_max_pool", windows::pool),
    ("all", reduce::reduce),
    ("amax", reduce::reduce),
    ("amin", reduce::reduce),
    ("any", reduce::reduce),
    ("attention", attention::of_heads),
    ("attention_gradient", attention::of_heads_gradient),
    ("avg_pool", windows::pool),
    ("avg_pool_gradient", windows::pool),
    ("cdist", distance::cdist),
    ("concat", part::concat),
    ("conv", conv::forward),
    ("conv_input_gradient", conv::input_gradient),
    ("conv_weight_gradient", conv::weight_gradient),
    ("cummax", running::running),
    ("cummin", running::running),
    ("cumprod", running::running),
    ("cumsum", running::running),
    ("diagonal_add", part::diagonal),
    ("diagonal_assign", part::diagonal),
    ("fold_patches", windows::patches),
    ("gather", index::gather),
    ("gather_planes", index::gather_planes),
    ("kthvalue", order::order),
    ("layer_norm", norm::forward),
    ("layer_norm_gradient", norm::gradient),
    ("linear", products::linear),
    ("linear_scan", running::running),
    ("log_softmax", softmax::softmax),
    ("log_softmax_gradient", softmax::softmax),
    ("logcumsumexp", running::running),
    ("logsumexp", reduce::reduce),
    ("matmul", products::matmul),
    ("max", reduce::reduce),
    ("max_pool", pooling::max_pool),
    ("median", order::order),
    ("min", reduce::reduce),
    ("mode", order::order),
    ("norm", reduce::reduce),
    ("pack_positive", choose::bits),
    ("permutation", random::permutation),
    ("prod", reduce::reduce),
    ("product_of_others", running::product_of_others),
    ("reshape", copy::reshape),
    ("rms_norm", norm::forward),
    ("rms_norm_gradient", norm::gradient),
    ("scatter", index::scatter_fold),
    ("scatter_add", index::scatter_add),
    ("scatter_max", index::scatter_fold),
    ("scatter_min", index::scatter_fold),
    ("scatter_mul", index::scatter_fold),
    ("scatter_planes", index::scatter_planes),
    ("searchsorted", order::searchsorted),
    ("select_bits", choose::bits),
    ("self_attention", attention::of_projection),
    ("self_attention_gradient", attention::of_projection_gradient),
    ("slice_add", part::slice),
    ("slice_assign", part::slice),
    ("softmax", softmax::softmax),
    ("softmax_cross_entropy", cross_entropy::forward),
    ("softmax_cross_entropy_gradient", cross_entropy::gradient),
    ("softmax_gradient", softmax::softmax),
    ("sort", order::order),
    ("split_key", random::split_key),
    ("std", reduce::reduce),
    ("sum", sum::sum),
    ("topk", order::order),
    ("triangle_part", choose::triangle),
    ("unfold_patches", windows::patches),
    ("uniform", random::uniform),
    ("unscatter", index::unscatter),
    ("var", reduce::reduce),
    ("windows_add", part::windows),
    ("where", choose::by_mask),
    ("while_gradient", flow::pullback),
    ("wrap_index", choose::wrap),
];

/// The texts of this crate's files, for tests that show what stands beside them.
pub const TEXTS: &[(&str, &str)] = &[
    ("kernels/attention.cu", attention::TEXT),
    ("kernels/attention_plain.cu", attention::PLAIN),
    ("kernels/choose.cu", choose::TEXT),
    ("kernels/conv.cu", conv::TEXT),
    ("kernels/copy.cu", copy::TEXT),
    ("kernels/cross_entropy.cu", cross_entropy::TEXT),
    ("kernels/distance.cu", distance::TEXT),
    ("kernels/finish.cu", crate::lower::FINISH),
    ("kernels/folds.cu", reduce::FOLDS),
    ("kernels/index.cu", index::TEXT),
    ("kernels/norm.cu", norm::TEXT),
    ("kernels/order.cu", order::TEXT),
    ("kernels/part.cu", part::TEXT),
    ("kernels/pooling.cu", pooling::TEXT),
    ("kernels/product.cu", tiled::TEXT),
    ("kernels/random.cu", random::TEXT),
    ("kernels/reduce.cu", reduce::TEXT),
    ("kernels/running.cu", running::TEXT),
    ("kernels/softmax.cu", softmax::TEXT),
    ("kernels/sum.cu", sum::TEXT),
    ("kernels/windows.cu", windows::TEXT),
];

/// The processors of a large device, for which work is cut into parts; the same everywhere, so that sums are.
const PROCESSORS: usize = 132;

/// The macros of a kernel.
#[derive(Default)]
struct Macros(String);

impl Macros {
    fn set(mut self, name: &str, value: impl Display) -> Macros {
        writeln!(self.0, "#define {name} {value}").unwrap();
        self
    }

    /// A macro that is a list of numbers.
    fn list<N: Display>(self, name: &str, numbers: impl IntoIterator<Item = N>) -> Macros {
        let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
        self.set(name, numbers.join(", "))
    }

    /// The macros before a text.
    fn before(&self, text: &str) -> String {
        format!("{}{text}", self.0)
    }
}

/// An argument that is an address.
fn address(span: Span) -> Vec<Word> {
    vec![Word::Address(span)]
}

/// Arguments that are addresses; those that are not there are null.
fn addresses(spans: &[Option<Span>]) -> Vec<Vec<Word>> {
    spans.iter().map(|span| vec![span.map_or(Word::Number(0), Word::Address)]).collect()
}

/// The largest power of two up to 16 that divides where all spans begin.
fn alignment(spans: &[Span]) -> usize {
    spans.iter().map(|span| 1 << span.start.trailing_zeros().min(4)).min().unwrap_or(16)
}

/// The number of neighbours that one load takes: they divide the length of a row, and 16 aligned bytes hold them.
fn width(row: usize, size: usize, spans: &[Span]) -> usize {
    let most = (alignment(spans) / size).max(1);
    most.min(1 << row.max(1).trailing_zeros())
}
