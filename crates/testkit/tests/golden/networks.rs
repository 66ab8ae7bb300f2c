//! Activations, losses, normalisation, convolution and pooling. One line an operation, in the order of the alphabet.

use super::{Adapter, Exception};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("nn.functional.leaky_relu", |c| vec![c.input().leaky_relu(c.real_or("negative_slope", 0, 0.01))]),
    ("nn.functional.relu", |c| vec![c.input().relu()]),
];

pub const EXCEPTIONS: &[Exception] = &[];
