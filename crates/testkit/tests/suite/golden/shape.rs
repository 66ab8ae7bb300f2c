//! Movement of elements: shapes, axes, joining and splitting. One line per operation, in alphabetical order.

use super::call::{Arg, Call};
use super::{Adapter, Exception};
use wengert::TorchMethods;
use wengert::prelude::*;

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("H", |c| vec![c.input().mt()]),
    ("T", |c| vec![c.input().mt()]),
    ("alias_copy", |c| vec![c.input().clone()]),
    ("atleast_1d", |c| vec![c.input().atleast_1d()]),
    ("atleast_2d", |c| vec![c.input().atleast_2d()]),
    ("atleast_3d", |c| vec![c.input().atleast_3d()]),
    ("block_diag", |c| vec![Tensor::block_diag(&c.all_tensors())]),
    ("broadcast_tensors", |c| Tensor::broadcast_tensors(&c.all_tensors())),
    ("broadcast_to", |c| vec![c.input().broadcast_to(c.shape(0))]),
    ("cartesian_prod", |c| vec![Tensor::cartesian_prod(&c.all_tensors())]),
    ("cat", |c| vec![Tensor::concat(&c.inputs(), c.int_or("dim", 0, 0))]),
    ("chunk", |c| c.input().chunk(c.size("chunks", 0), c.int_or("dim", 1, 0))),
    ("column_stack", |c| vec![Tensor::column_stack(&c.inputs())]),
    ("combinations", |c| vec![c.input().combinations(c.size_or("r", 0, 2), c.flag("with_replacement", 1))]),
    ("constant_pad_nd", |c| vec![c.input().pad(&c.ints("pad", 0), PadMode::Constant(c.real_or("value", 1, 0.0)))]),
    ("contiguous", |c| vec![c.input().contiguous()]),
    ("diag", |c| vec![c.input().diag(c.int_or("diagonal", 0, 0))]),
    ("diag_embed", |c| {
        let [offset, rows, columns] = diagonal(c, [-2, -1]);
        vec![c.input().diag_embed_axes(offset, rows, columns)]
    }),
    ("diagflat", |c| vec![c.input().diagflat(c.int_or("offset", 0, 0))]),
    ("diagonal", |c| {
        let [offset, rows, columns] = diagonal(c, [0, 1]);
        vec![c.input().diagonal_of(offset, rows, columns)]
    }),
    ("diagonal_copy", |c| {
        let [offset, rows, columns] = diagonal(c, [0, 1]);
        vec![c.input().diagonal_of(offset, rows, columns)]
    }),
    ("diagonal_scatter", |c| vec![c.input().diagonal_scatter(c.tensor(0), c.int_or("offset", 1, 0), 0, 1)]),
    ("dsplit", |c| split(c, 2)),
    ("dstack", |c| vec![Tensor::dstack(&c.inputs())]),
    ("expand", |c| vec![c.input().expand(c.ints("size", 0))]),
    ("expand_as", |c| vec![c.input().expand_as(c.tensor(0))]),
    ("expand_copy", |c| vec![c.input().expand(c.ints("size", 0))]),
    ("fill", |c| vec![c.input().fill(c.real("value", 0))]),
    ("flatten", |c| vec![c.input().flatten_axes(c.int_or("start_dim", 0, 0), c.int_or("end_dim", 1, -1))]),
    ("flip", |c| vec![c.input().flip(&c.ints("dims", 0))]),
    ("fliplr", |c| vec![c.input().fliplr()]),
    ("flipud", |c| vec![c.input().flipud()]),
    ("hsplit", |c| split(c, isize::from(c.input().rank() > 1))),
    ("hstack", |c| vec![Tensor::hstack(&c.inputs())]),
    ("linalg.diagonal", |c| {
        let [offset, rows, columns] = diagonal(c, [-2, -1]);
        vec![c.input().diagonal_of(offset, rows, columns)]
    }),
    ("mH", |c| vec![c.input().mt()]),
    ("mT", |c| vec![c.input().mt()]),
    ("meshgrid.list_of_tensors", |c| meshgrid(c, &c.inputs())),
    ("meshgrid.variadic_tensors", |c| meshgrid(c, &c.all_tensors())),
    ("movedim", |c| vec![c.input().movedim(&c.ints("source", 0), &c.ints("destination", 1))]),
    ("narrow", |c| vec![c.input().narrow(c.int("dim", 0), c.size("start", 1), c.size("length", 2))]),
    ("narrow_copy", |c| vec![c.input().narrow(c.int("dim", 0), c.size("start", 1), c.size("length", 2))]),
    ("nn.functional.pad.circular", |c| vec![c.input().pad(&c.ints("pad", 0), PadMode::Circular)]),
    ("nn.functional.pad.constant", |c| {
        vec![c.input().pad(&c.ints("pad", 0), PadMode::Constant(c.real_or("value", 2, 0.0)))]
    }),
    ("nn.functional.pad.reflect", |c| vec![c.input().pad(&c.ints("pad", 0), PadMode::Reflect)]),
    ("nn.functional.pad.replicate", |c| vec![c.input().pad(&c.ints("pad", 0), PadMode::Replicate)]),
    ("nn.functional.pad.replicate_negative", |c| vec![c.input().pad(&c.ints("pad", 0), PadMode::Replicate)]),
    ("permute", |c| vec![c.input().permute(c.ints("dims", 0))]),
    ("permute_copy", |c| vec![c.input().permute(c.ints("dims", 0))]),
    ("ravel", |c| vec![c.input().ravel()]),
    ("repeat", |c| vec![c.input().repeat(c.sizes("repeats", 0))]),
    ("repeat_interleave", |c| match c.opt_tensor("repeats", 0) {
        Some(counts) => {
            let counts: Vec<usize> = counts.to_vec::<i64>().into_iter().map(|count| count as usize).collect();
            vec![c.input().repeat_interleave_each(&counts, c.int("dim", 1))]
        }
        None => match c.opt_int("dim", 1) {
            Some(axis) => vec![c.input().repeat_interleave(c.size("repeats", 0), axis)],
            None => vec![c.input().repeat_interleave_flat(c.size("repeats", 0))],
        },
    }),
    ("reshape", |c| vec![c.input().view(c.ints("shape", 0))]),
    ("reshape_as", |c| vec![c.input().reshape_as(c.tensor(0))]),
    ("roll", |c| match c.opt_ints("dims", 1) {
        Some(axes) => vec![c.input().roll(&c.ints("shifts", 0), &axes)],
        None => vec![c.input().roll_flat(c.int("shifts", 0))],
    }),
    ("rot90", |c| {
        let plane = c.opt_ints("dims", 1).unwrap_or(vec![0, 1]);
        vec![c.input().rot90(c.int_or("k", 0, 1), plane[0], plane[1])]
    }),
    ("select", |c| vec![c.input().select(c.int("dim", 0), c.int("index", 1))]),
    ("select_scatter", |c| vec![c.input().select_scatter(c.tensor(0), c.int("dim", 1), c.int("index", 2))]),
    ("slice", |c| vec![c.input().slice(..)]),
    ("split", |c| c.input().split(c.size("split_size", 0), c.int_or("dim", 1, 0))),
    ("split.list_args", |c| c.input().split_sizes(&c.sizes("split_size", 0), c.int_or("dim", 1, 0))),
    ("split_with_sizes", |c| c.input().split_sizes(&c.sizes("split_sizes", 0), c.int_or("dim", 1, 0))),
    ("split_with_sizes_copy", |c| c.input().split_sizes(&c.sizes("split_sizes", 0), c.int_or("dim", 1, 0))),
    ("squeeze", |c| match c.opt_ints("dim", 0) {
        Some(axes) => vec![c.input().squeeze_axes(&axes)],
        None => vec![c.input().squeeze()],
    }),
    ("squeeze.multiple", |c| vec![c.input().squeeze_axes(&c.ints("dim", 0))]),
    ("squeeze_copy", |c| match c.opt_ints("dim", 0) {
        Some(axes) => vec![c.input().squeeze_axes(&axes)],
        None => vec![c.input().squeeze()],
    }),
    ("stack", |c| vec![Tensor::stack(&c.inputs(), c.int_or("dim", 0, 0))]),
    ("t", |c| vec![c.input().t()]),
    ("t_copy", |c| vec![c.input().t()]),
    ("tensor_split", |c| split(c, c.int_or("dim", 1, 0))),
    ("tile", |c| vec![c.input().tile(&c.sizes("dims", 0))]),
    ("transpose", |c| vec![c.input().transpose(c.int("dim0", 0), c.int("dim1", 1))]),
    ("transpose_copy", |c| vec![c.input().transpose(c.int("dim0", 0), c.int("dim1", 1))]),
    ("tril", |c| vec![c.input().tril(c.int_or("diagonal", 0, 0))]),
    ("triu", |c| vec![c.input().triu(c.int_or("diagonal", 0, 0))]),
    ("unbind", |c| c.input().unbind(c.int_or("dim", 0, 0))),
    ("unbind_copy", |c| c.input().unbind(c.int_or("dim", 0, 0))),
    ("unflatten", |c| vec![c.input().unflatten(c.int("dim", 0), &c.ints("sizes", 1))]),
    ("unfold", |c| vec![c.input().unfold(c.int("dimension", 0), c.size("size", 1), c.size("step", 2))]),
    ("unfold_copy", |c| vec![c.input().unfold(c.int("dimension", 0), c.size("size", 1), c.size("step", 2))]),
    ("unsafe_chunk", |c| c.input().chunk(c.size("chunks", 0), c.int_or("dim", 1, 0))),
    ("unsafe_split", |c| c.input().split(c.size("split_size", 0), c.int_or("dim", 1, 0))),
    ("unsqueeze", |c| vec![c.input().unsqueeze(c.int("dim", 0))]),
    ("unsqueeze_copy", |c| vec![c.input().unsqueeze(c.int("dim", 0))]),
    ("view", |c| vec![c.input().view(c.ints("shape", 0))]),
    ("view_as", |c| vec![c.input().reshape_as(c.tensor(0))]),
    ("view_copy", |c| vec![c.input().view(c.ints("size", 0))]),
    ("vsplit", |c| split(c, 0)),
    ("vstack", |c| vec![Tensor::vstack(&c.inputs())]),
    ("zero_", |c| vec![c.input().fill(0.0)]),
];

pub const EXCEPTIONS: &[Exception] = &[];

/// The offset and the axes of a diagonal.
fn diagonal(c: &Call, [rows, columns]: [isize; 2]) -> [isize; 3] {
    [c.int_or("offset", 0, 0), c.int_or("dim1", 1, rows), c.int_or("dim2", 2, columns)]
}

/// Splits into a number of pieces, or at positions.
fn split(c: &Call, axis: isize) -> Vec<Tensor> {
    match c.positional(0).and_then(Arg::int) {
        Some(count) => c.input().tensor_split(count as usize, axis),
        None => c.input().tensor_split_at(&c.sizes("", 0), axis),
    }
}

fn meshgrid(c: &Call, tensors: &[Tensor]) -> Vec<Tensor> {
    if c.word_or("indexing", usize::MAX, "ij") == "xy" {
        Tensor::meshgrid_xy(tensors)
    } else {
        Tensor::meshgrid(tensors)
    }
}
