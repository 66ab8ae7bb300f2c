//! Dense linear algebra. One line per operation, in alphabetical order.
//!
//! The vectors of a decomposition are recorded through a function that does not depend on their signs.

use super::call::{Arg, Call};
use super::case::Check;
use super::{Adapter, Exception};
use wengert::prelude::*;

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("cholesky", cholesky),
    ("cholesky_inverse", |c| {
        vec![if upper(c, 0) { c.input().cholesky_inverse_upper() } else { c.input().cholesky_inverse() }]
    }),
    ("cholesky_solve", |c| {
        let factor = c.tensor(0);
        vec![if upper(c, 1) { c.input().cholesky_solve_upper(factor) } else { c.input().cholesky_solve(factor) }]
    }),
    ("linalg.cholesky", cholesky),
    ("linalg.cond", |c| vec![c.input().cond()]),
    ("linalg.det", |c| vec![c.input().det()]),
    ("linalg.eigh", |c| {
        let (values, vectors) = if triangle(c) { c.input().eigh_upper() } else { c.input().eigh_lower() };
        vec![values, vectors.abs()]
    }),
    ("linalg.eigvalsh", |c| {
        let (values, _) = if triangle(c) { c.input().eigh_upper() } else { c.input().eigh_lower() };
        vec![values]
    }),
    ("linalg.householder_product", |c| vec![c.input().householder_product(c.tensor(0))]),
    ("linalg.inv", |c| vec![c.input().inv()]),
    ("linalg.inv_ex", |c| pair(c.input().inv_ex())),
    ("linalg.lstsq", |c| {
        let (x, residuals, rank, singular) = c.input().lstsq_full(c.tensor(0));
        // Some of LAPACK's drivers find neither rank nor singular values, or only the rank and no residuals.
        let (none, driver) = (Tensor::zeros([0]), c.word_or("driver", 1, "gelsy"));
        let residuals = if driver == "gelsy" { none.clone() } else { residuals };
        let rank = if driver == "gels" { none.cast(DType::I64) } else { rank };
        vec![x, residuals, rank, if driver.starts_with("gelss") || driver == "gelsd" { singular } else { none }]
    }),
    ("linalg.lstsq.grad_oriented", |c| {
        let (x, residuals) = c.input().lstsq(c.tensor(0));
        vec![x, if c.word_or("driver", 1, "gelsy") == "gelsy" { Tensor::zeros([0]) } else { residuals }]
    }),
    ("linalg.lu", |c| last_two(c.input().lu())),
    ("linalg.lu_factor", |c| pair(c.input().lu_factor())),
    ("linalg.lu_solve", |c| {
        let (packed, pivots, b) = (c.input(), c.tensor(0), c.tensor(1));
        vec![match (c.flag_or("left", 2, true), c.flag("adjoint", 3)) {
            (true, false) => packed.lu_solve(pivots, b),
            (true, true) => packed.lu_solve_transposed(pivots, b),
            (false, false) => packed.lu_solve_right(pivots, b),
            (false, true) => packed.lu_solve_right_transposed(pivots, b),
        }]
    }),
    ("linalg.matrix_norm", |c| {
        let axes = c.opt_ints("dim", 1).map_or([-2, -1], |axes| [axes[0], axes[1]]);
        vec![match c.flag("keepdim", 2) {
            true => c.input().matrix_norm_over(norm(c, 0), keepdim(axes)),
            false => c.input().matrix_norm_over(norm(c, 0), axes),
        }]
    }),
    ("linalg.matrix_power", |c| vec![c.input().matrix_power(c.int("n", 0) as i64)]),
    ("linalg.norm", any_norm),
    ("linalg.norm.subgradients_at_zero", any_norm),
    ("linalg.pinv", pinv),
    ("linalg.pinv.hermitian", |c| vec![c.input().pinv_symmetric()]),
    // The record's own function: a matrix of low rank from two factors.
    ("linalg.pinv.singular", |c| vec![c.input().matmul(&c.tensor(0).t()).pinv()]),
    ("linalg.qr", |c| pair(c.input().qr())),
    ("linalg.slogdet", |c| pair(c.input().slogdet())),
    ("linalg.solve", |c| vec![c.input().solve(c.tensor(0))]),
    ("linalg.solve_ex", |c| pair(c.input().solve_ex(c.tensor(0)))),
    ("linalg.solve_triangular", |c| {
        let triangle = if upper(c, 1) { Triangle::upper() } else { Triangle::lower() };
        let triangle = if c.flag_or("left", 2, true) { triangle } else { triangle.right() };
        let triangle = if c.flag("unitriangular", 3) { triangle.unit() } else { triangle };
        vec![c.input().solve_triangular(c.tensor(0), triangle)]
    }),
    ("linalg.svd", svd),
    ("linalg.svdvals", |c| vec![c.input().svdvals()]),
    ("linalg.tensorinv", |c| vec![c.input().tensorinv(c.size_or("ind", 0, 2))]),
    ("linalg.tensorsolve", |c| match c.opt_ints("dims", 1) {
        Some(axes) => vec![c.input().tensorsolve_axes(c.tensor(0), &axes)],
        None => vec![c.input().tensorsolve(c.tensor(0))],
    }),
    ("linalg.vector_norm", vector_norm),
    ("logdet", |c| vec![c.input().logdet()]),
    ("lu", |c| {
        let (packed, pivots) = c.input().lu_factor();
        let no_failure = Tensor::full(&c.input().shape()[..c.input().rank() - 2], 0);
        [packed, pivots, no_failure].into_iter().take(c.ranks().len()).collect()
    }),
    ("lu_solve", |c| vec![c.tensor(0).lu_solve(c.tensor(1), c.input())]),
    ("lu_unpack", |c| last_two(c.input().lu_unpack(c.tensor(0)))),
    ("matrix_exp", |c| vec![c.input().matrix_exp()]),
    ("norm.nuc", |c| vec![c.input().matrix_norm(MatrixNorm::Nuclear)]),
    ("ormqr", |c| {
        let (v, scales, other) = (c.input(), c.tensor(0), c.tensor(1));
        vec![match (c.flag_or("left", 2, true), c.flag("transpose", 3)) {
            (true, false) => v.ormqr(scales, other),
            (true, true) => v.ormqr_transposed(scales, other),
            (false, false) => v.ormqr_right(scales, other),
            (false, true) => v.ormqr_right_transposed(scales, other),
        }]
    }),
    ("pinverse", pinv),
    ("qr", |c| pair(c.input().qr())),
    ("svd", svd),
    ("triangular_solve", |c| {
        let triangle = if c.flag_or("upper", 1, true) { Triangle::upper() } else { Triangle::lower() };
        let triangle = if c.flag("unitriangular", 3) { triangle.unit() } else { triangle };
        let triangle = if c.flag("transpose", 2) { triangle.transposed() } else { triangle };
        vec![c.tensor(0).solve_triangular(c.input(), triangle), c.tensor(0).clone()]
    }),
];

pub const EXCEPTIONS: &[Exception] = &[
    ("cholesky_inverse", &[6, 8], &[Check::Gradient, Check::SecondGradient], UNREAD),
    ("cholesky_solve", &[6, 8], &[Check::Gradient, Check::SecondGradient], UNREAD),
    (
        "linalg.pinv.hermitian",
        &[0, 4, 6],
        &[Check::Gradient, Check::SecondGradient],
        "the recorded matrix is not symmetric: its gradient mixes the triangle that was read with the one that was not",
    ),
];

const UNREAD: &str =
    "elements outside the triangle are not read, so their gradient is 0; recorded is that of a full factor";

fn cholesky(c: &Call) -> Vec<Tensor> {
    vec![if upper(c, 0) { c.input().cholesky_upper() } else { c.input().cholesky() }]
}

fn pinv(c: &Call) -> Vec<Tensor> {
    let bound = match c.arg("rtol", 1) {
        Some(Arg::Tensor(rtol)) => Some(rtol.item()),
        other => other.and_then(Arg::real),
    };
    vec![bound.map_or_else(|| c.input().pinv(), |rtol| c.input().pinv_with(rtol))]
}

/// The record has parts that do not depend on the signs of vectors: |U|, or s, or s and |V^T|, or U V^T and s.
fn svd(c: &Call) -> Vec<Tensor> {
    let (u, s, v) = c.input().svd();
    match (c.ranks(), c.input().rank()) {
        ([first], rank) if *first == rank => vec![u.abs()],
        ([_], _) => vec![s],
        ([first, ..], rank) if *first < rank => vec![s, v.abs()],
        _ => vec![u.matmul(&v), s],
    }
}

fn upper(c: &Call, position: usize) -> bool {
    c.flag("upper", position)
}

/// Whether the upper triangle is read.
fn triangle(c: &Call) -> bool {
    c.word_or("UPLO", 0, "L") == "U"
}

fn norm(c: &Call, position: usize) -> MatrixNorm {
    match (c.opt_word("ord", position), c.opt_real("ord", position)) {
        (Some("nuc"), _) => MatrixNorm::Nuclear,
        (_, Some(f64::INFINITY)) => MatrixNorm::Infinity,
        (_, Some(f64::NEG_INFINITY)) => MatrixNorm::MinusInfinity,
        (_, Some(1.0)) => MatrixNorm::One,
        (_, Some(-1.0)) => MatrixNorm::MinusOne,
        (_, Some(2.0)) => MatrixNorm::Two,
        (_, Some(-2.0)) => MatrixNorm::MinusTwo,
        _ => MatrixNorm::Frobenius,
    }
}

/// A matrix norm if an order and two axes are given, or if there are only two axes; otherwise a vector norm.
fn any_norm(c: &Call) -> Vec<Tensor> {
    let axes = c.opt_ints("dim", 1);
    let two = axes.as_ref().map_or(c.input().rank(), Vec::len) == 2;
    if !two || c.arg("ord", 0).is_none() {
        return vector_norm(c);
    }
    let axes = axes.map_or([-2, -1], |axes| [axes[0], axes[1]]);
    vec![match c.flag("keepdim", 2) {
        true => c.input().matrix_norm_over(norm(c, 0), keepdim(axes)),
        false => c.input().matrix_norm_over(norm(c, 0), axes),
    }]
}

fn vector_norm(c: &Call) -> Vec<Tensor> {
    let (p, every) = (c.real_or("ord", 0, 2.0), (0..c.input().rank() as isize).collect());
    let axes: Vec<isize> = c.opt_ints("dim", 1).unwrap_or(every);
    vec![if c.flag("keepdim", 2) { c.input().norm_over(p, keepdim(&axes)) } else { c.input().norm_over(p, &axes) }]
}

fn pair((first, second): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![first, second]
}

fn last_two((_, second, third): (Tensor, Tensor, Tensor)) -> Vec<Tensor> {
    vec![second, third]
}
