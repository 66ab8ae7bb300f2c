//! Movement of elements: shapes, axes, joining and splitting. One line an operation, in the order of the alphabet.

use super::{Adapter, Exception};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("broadcast_to", |c| vec![c.input().broadcast_to(c.shape(0))]),
    ("permute", |c| vec![c.input().permute(&c.sizes("dims", 0))]),
    ("permute_copy", |c| vec![c.input().permute(&c.sizes("dims", 0))]),
    ("reshape_as", |c| vec![c.input().reshape(c.tensor(0).shape())]),
    ("view_as", |c| vec![c.input().reshape(c.tensor(0).shape())]),
];

pub const EXCEPTIONS: &[Exception] = &[];
