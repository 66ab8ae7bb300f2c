//! Products of matrices and vectors. One line per operation, in alphabetical order.

use super::call::Call;
use super::{Adapter, Exception};
use wengert::methods::*;
use wengert::{Tensor, TorchMethods};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("addbmm", |c| vec![c.input().addbmm_with(c.tensor(0), c.tensor(1), beta(c), alpha(c))]),
    ("addmm", |c| vec![c.input().addmm_with(c.tensor(0), c.tensor(1), beta(c), alpha(c))]),
    ("addmm.decomposed", |c| vec![c.input().addmm_with(c.tensor(0), c.tensor(1), beta(c), alpha(c))]),
    ("addmv", |c| vec![c.input().addmv_with(c.tensor(0), c.tensor(1), beta(c), alpha(c))]),
    ("addr", |c| vec![c.input().addr_with(c.tensor(0), c.tensor(1), beta(c), alpha(c))]),
    ("baddbmm", |c| vec![c.input().baddbmm_with(c.tensor(0), c.tensor(1), beta(c), alpha(c))]),
    ("cdist", |c| vec![c.input().cdist_with(c.tensor(0), c.real_or("p", 1, 2.0))]),
    ("cross", |c| vec![c.input().cross_along(c.tensor(0), c.int_or("dim", 1, -1))]),
    ("dot", |c| vec![c.input().dot(c.tensor(0))]),
    ("einsum", |c| vec![Tensor::einsum(c.word("equation", 0), &c.inputs().iter().collect::<Vec<_>>())]),
    ("inner", |c| vec![c.input().inner(c.tensor(0))]),
    ("linalg.cross", |c| vec![c.input().cross_along(c.tensor(0), c.int_or("dim", 1, -1))]),
    ("linalg.multi_dot", |c| vec![Tensor::multi_dot(&c.inputs().iter().collect::<Vec<_>>())]),
    ("linalg.vander", |c| vec![c.input().vander(c.size_or("N", 0, c.input().shape().last().copied().unwrap_or(1)))]),
    ("linalg.vecdot", |c| vec![c.input().vecdot(c.tensor(0), c.int_or("dim", 1, -1))]),
    ("matmul", |c| vec![c.input().matmul(c.tensor(0))]),
    ("mm", |c| vec![c.input().mm(c.tensor(0))]),
    ("mv", |c| vec![c.input().mv(c.tensor(0))]),
    ("nn.functional.bilinear", |c| vec![c.input().bilinear(c.tensor(0), c.tensor(1), c.opt_tensor("bias", 2))]),
    ("outer", |c| vec![c.input().outer(c.tensor(0))]),
    ("tensordot", |c| {
        vec![match c.opt_int("dims", 1) {
            Some(count) => c.input().tensordot(c.tensor(0), count as usize),
            None => c.input().tensordot_axes(c.tensor(0), &axes(c)[0], &axes(c)[1]),
        }]
    }),
    ("vdot", |c| vec![c.input().vdot(c.tensor(0))]),
];

fn beta(c: &Call) -> f64 {
    c.real_or("beta", usize::MAX, 1.0)
}

fn alpha(c: &Call) -> f64 {
    c.real_or("alpha", usize::MAX, 1.0)
}

fn axes(c: &Call) -> Vec<Vec<isize>> {
    let lists = c.arg("dims", 1).and_then(|arg| arg.list()).expect("two lists of axes");
    lists.iter().map(|list| list.ints().expect("axes")).collect()
}

pub const EXCEPTIONS: &[Exception] = &[];
