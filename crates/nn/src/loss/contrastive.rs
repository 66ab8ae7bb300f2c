//! Contrastive losses: each row should be more similar to its partner than to the other rows.
//!
//! Similarities are cosines divided by a temperature. It is a number, or a tensor of one element that is trained like any other parameter.

use super::shape_error;
use crate::prelude::*;

/// Norms below this are taken for it.
const LEAST_NORM: f64 = 1e-12;

#[track_caller]
fn expect_pairs(name: &str, a: &Tensor, b: &Tensor) {
    if a.rank() != 2 || a.shape() != b.shape() || a.size(0) == 0 {
        shape_error(
            name,
            &[("a", a), ("b", b)],
            "both are [rows, width], and row k of one belongs to row k of the other",
        )
        .raise();
    }
}

/// Cosines of all pairs of rows, divided by the temperature.
#[track_caller]
fn similarities(a: &Tensor, b: &Tensor, temperature: impl Operand) -> Tensor {
    a.matmul(&b.t()) / temperature
}

#[track_caller]
fn unit_rows(x: &Tensor) -> Tensor {
    x.normalize(2.0, 1, LEAST_NORM)
}

/// InfoNCE (van den Oord et al., 2018): the cross-entropy of finding the row of `b` that belongs to each row of `a`, both `[rows, width]`.
///
/// ```
/// use wengert::nn::loss::info_nce;
/// use wengert::prelude::*;
/// let a = Tensor::eye(3);
/// let others = 2.0 * (-2f64).exp();                       // the other rows have cosine 0, the own one has 1
/// assert!((info_nce(&a, &a, 0.5).item() - (1.0 + others).ln()).abs() < 1e-15);
///
/// // A temperature that is trained.
/// let slope = grad(|temperature: &Tensor| info_nce(&a, &a, temperature))(&Tensor::from(0.5));
/// assert!(slope.item() > 0.0);
/// ```
#[track_caller]
pub fn info_nce(a: &Tensor, b: &Tensor, temperature: impl Operand) -> Tensor {
    expect_pairs("info_nce", a, b);
    let logits = similarities(&unit_rows(a), &unit_rows(b), temperature);
    logits.cross_entropy(&Tensor::arange(a.size(0)), &CrossEntropy::new())
}

/// The mean of [`info_nce`] in both directions, as in CLIP.
///
/// ```
/// use wengert::nn::loss::{info_nce, info_nce_symmetric};
/// use wengert::prelude::*;
/// let (a, b) = (Tensor::from([[1.0, 0.0], [0.5, 2.0]]), Tensor::from([[1.0, 0.5], [1.0, 1.0]]));
/// let both = (info_nce(&a, &b, 0.1) + info_nce(&b, &a, 0.1)) / 2.0;
/// assert!(info_nce_symmetric(&a, &b, 0.1).all_close(&both, 1e-14));
/// ```
#[track_caller]
pub fn info_nce_symmetric(a: &Tensor, b: &Tensor, temperature: impl Operand) -> Tensor {
    expect_pairs("info_nce_symmetric", a, b);
    let logits = similarities(&unit_rows(a), &unit_rows(b), temperature);
    let own = Tensor::arange(a.size(0));
    let options = CrossEntropy::new();
    (logits.cross_entropy(&own, &options) + logits.t().cross_entropy(&own, &options)) / 2.0
}

/// The normalised temperature-scaled cross-entropy of SimCLR (Chen et al., 2020). Rows k of `a` and `b`, both `[rows, width]`, are two views
/// of one example. Each of the `2 rows` views is compared with all others, and should be closest to the other view of its example.
///
/// ```
/// use wengert::nn::loss::nt_xent;
/// use wengert::prelude::*;
/// let a = Tensor::eye(2);
/// let others = 2.0 * (-1f64).exp();                       // the other example has two views
/// assert!((nt_xent(&a, &a, 1.0).item() - (1.0 + others).ln()).abs() < 1e-15);
/// ```
#[track_caller]
pub fn nt_xent(a: &Tensor, b: &Tensor, temperature: impl Operand) -> Tensor {
    expect_pairs("nt_xent", a, b);
    let rows = a.size(0);
    let views = unit_rows(&Tensor::concat(&[a, b], 0));
    let index = Tensor::arange(2 * rows);
    let is_self = index.equal(index.unsqueeze(1));
    let logits = is_self.where_(f64::NEG_INFINITY, similarities(&views, &views, temperature));
    let partners = Tensor::concat(&[Tensor::arange(rows..2 * rows), Tensor::arange(rows)], 0);
    logits.cross_entropy(&partners, &CrossEntropy::new())
}
