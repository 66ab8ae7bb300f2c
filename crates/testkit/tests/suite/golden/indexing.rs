//! Reading and writing by index, sorting, selecting. One line per operation, in alphabetical order.

use super::call::Arg;
use super::{Adapter, Exception};
use wengert::TorchMethods;
use wengert::prelude::*;

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("__getitem__", |c| vec![c.input().slice(&selects(c.positional(0).expect("a selection"))[..])]),
    ("gather", |c| vec![c.input().gather(c.int("dim", 0), c.tensor(1))]),
    ("index_add", |c| {
        vec![c.input().index_add_scaled(c.int("dim", 0), c.tensor(1), c.tensor(2), c.real_or("alpha", 3, 1.0))]
    }),
    ("index_copy", |c| vec![c.input().index_copy(c.int("dim", 0), c.tensor(1), c.tensor(2))]),
    ("index_fill", |c| match c.opt_tensor("value", 2) {
        Some(value) => vec![c.input().index_fill(c.int("dim", 0), c.tensor(1), value)],
        None => vec![c.input().index_fill(c.int("dim", 0), c.tensor(1), c.real("value", 2))],
    }),
    ("index_put", |c| vec![c.input().index_put(&c.tensors("indices", 0), c.tensor(1), c.flag("accumulate", 2))]),
    ("index_reduce.amax", |c| {
        vec![c.input().index_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Amax,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("index_reduce.amin", |c| {
        vec![c.input().index_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Amin,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("index_reduce.mean", |c| {
        vec![c.input().index_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Mean,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("index_reduce.prod", |c| {
        vec![c.input().index_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Prod,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("index_select", |c| vec![c.input().index_select(c.int("dim", 0), c.tensor(1))]),
    ("masked_fill", |c| match c.opt_tensor("value", 1) {
        Some(value) => vec![c.input().masked_fill(c.tensor(0), value)],
        None => vec![c.input().masked_fill(c.tensor(0), c.real("value", 1))],
    }),
    ("masked_scatter", |c| vec![c.input().masked_scatter(c.tensor(0), c.tensor(1))]),
    ("masked_select", |c| vec![c.input().masked_select(c.tensor(0))]),
    ("put", |c| vec![c.input().put(c.tensor(0), c.tensor(1), c.flag("accumulate", 2))]),
    ("scatter", |c| match c.opt_real("value", 2) {
        Some(value) => vec![c.input().scatter_value(c.int("dim", 0), c.tensor(1), value)],
        None => vec![c.input().scatter(c.int("dim", 0), c.tensor(1), c.tensor(2))],
    }),
    ("scatter_add", |c| vec![c.input().scatter_add(c.int("dim", 0), c.tensor(1), c.tensor(2))]),
    ("scatter_reduce.amax", |c| {
        vec![c.input().scatter_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Amax,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("scatter_reduce.amin", |c| {
        vec![c.input().scatter_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Amin,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("scatter_reduce.mean", |c| {
        vec![c.input().scatter_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Mean,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("scatter_reduce.prod", |c| {
        vec![c.input().scatter_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Prod,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("scatter_reduce.sum", |c| {
        vec![c.input().scatter_reduce(
            c.int("dim", 0),
            c.tensor(1),
            c.tensor(2),
            ScatterReduce::Sum,
            c.flag_or("include_self", 4, true),
        )]
    }),
    ("take", |c| vec![c.input().take(c.tensor(0))]),
    // Without an axis the index counts flat positions, and its own shape is lost.
    ("take_along_dim", |c| match c.opt_int("dim", 1) {
        Some(axis) => vec![c.input().take_along_dim(c.tensor(0), axis)],
        None => vec![c.input().take(&c.tensor(0).flatten())],
    }),
];

pub const EXCEPTIONS: &[Exception] = &[];

/// The indices between brackets; positions alone are a list of indices.
fn selects(arg: &Arg) -> Vec<Select> {
    match (arg, arg.ints()) {
        (Arg::List(list), None) => list.iter().map(select).collect(),
        _ => vec![select(arg)],
    }
}

/// One of several indices.
fn select(arg: &Arg) -> Select {
    match arg {
        Arg::Slice(start, stop, step) => {
            let position = |at: &Option<isize>| at.map(|at| at as i64);
            Select::Range { start: position(start), stop: position(stop), step: position(step).unwrap_or(1) }
        }
        Arg::Tensor(index) => Select::from(index),
        Arg::List(_) => {
            let positions = arg.ints().expect("a list of positions");
            Select::from(Tensor::from(positions.into_iter().map(|at| at as i64).collect::<Vec<i64>>()))
        }
        other => Select::from(other.int().expect("a position, a range or a tensor")),
    }
}
