//! Functions of each element. One line an operation, in the order of the alphabet.

use super::{Adapter, Exception};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("abs", |c| vec![c.input().abs()]),
    ("asin", |c| vec![c.input().asin()]),
    ("clone", |c| vec![c.input().clone()]),
    ("cos", |c| vec![c.input().cos()]),
    ("div.no_rounding_mode", |c| vec![c.input() / c.tensor(0)]),
    ("double", |c| vec![c.input().cast(wengert::DType::F64)]),
    ("exp", |c| vec![c.input().exp()]),
    ("log", |c| vec![c.input().log()]),
    ("mul", |c| vec![c.input() * c.tensor(0)]),
    ("neg", |c| vec![-c.input()]),
    ("reciprocal", |c| vec![c.input().recip()]),
    ("sigmoid", |c| vec![c.input().sigmoid()]),
    ("sign", |c| vec![c.input().sign()]),
    ("sin", |c| vec![c.input().sin()]),
    ("sqrt", |c| vec![c.input().sqrt()]),
    ("square", |c| vec![c.input().square()]),
    ("tanh", |c| vec![c.input().tanh()]),
    ("true_divide", |c| vec![c.input() / c.tensor(0)]),
    ("where", |c| vec![c.tensor(0).where_(c.input(), c.tensor(1))]),
];

pub const EXCEPTIONS: &[Exception] = &[];
