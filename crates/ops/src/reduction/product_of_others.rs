//! product_of_others - product of the other elements of a row.   P(x)[i] = product of x[j] over j != i,   dP = P(x; dx).   The derivative
//! rule of prod, along the last axis.
//!
//! P(x; h1 .. hk) is P differentiated along each h in turn. Derivatives of every order are exact with any number of zeros.

use crate::prelude::*;
use crate::rules::{Polar, PolarOp, polar_attrs};
use wengert_kernels::extremes;

/// The primitive `product_of_others`.
pub static PRODUCT_OF_OTHERS: PolarOp<ProductOfOthers> = PolarOp::NEW;

/// See the module.
pub struct ProductOfOthers;

impl Polar for ProductOfOthers {
    const NAME: &'static str = "product_of_others";
    const RULE: &'static str = "dx = P(x; h.., dP), dh = P(x; .. dP ..)";
    const AXES: usize = 1;

    fn expect(x: SpecRef<'_>) -> Result<(), Error> {
        expect_float(Self::NAME, x.dtype)?;
        match x.shape {
            [] => Err(Error::new(ErrorKind::Shape(vec![Shape::default()]), Self::NAME, "a scalar has no last axis")),
            _ => Ok(()),
        }
    }

    fn run(operands: &[View<'_>], out: Out<'_>) {
        let n = operands[0].shape[operands[0].shape.len() - 1];
        computing_float!(out.dtype, T => {
            let all: SmallVec<[_; 3]> = operands.iter().map(|operand| numbers::<T>(*operand)).collect();
            let directions: SmallVec<[&[T]; 2]> = all[1..].iter().map(|numbers| &numbers[..]).collect();
            fill(out, |out| extremes::product_of_others(&all[0], &directions, n, out));
        });
    }

    /// The product before each element times the product after it.
    const EXPAND: Option<fn(&Tensor) -> Tensor> = Some(|x| {
        let axis = x.rank() - 1;
        let until = |reverse: bool| x.cumprod_from(axis, reverse).delayed(axis, reverse, 1.0);
        until(false) * until(true)
    });

    fn flops(operands: usize, shape: &[usize]) -> f64 {
        // Polynomials with a coefficient for each set of directions.
        ((operands as f64 + 1.0) * (operands as f64).exp2()) * shape.iter().product::<usize>() as f64
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        // Every direction contributes exactly one factor, the row itself the others.
        fn mixed(rows: &[&[f64]], pending: &[usize], place: usize, without: usize) -> f64 {
            if place == rows[0].len() {
                return f64::from(pending.is_empty());
            }
            if place == without {
                return mixed(rows, pending, place + 1, without);
            }
            let own = rows[0][place] * mixed(rows, pending, place + 1, without);
            let given = pending.iter().enumerate().map(|(which, &row)| {
                let others = [&pending[..which], &pending[which + 1..]].concat();
                rows[row][place] * mixed(rows, &others, place + 1, without)
            });
            own + given.sum::<f64>()
        }
        let case = |label: &str, operands: Vec<Sample>| {
            let attrs = polar_attrs(operands.len());
            Case::new(label, attrs, operands, |s| {
                let n = s[0].shape[s[0].shape.rank() - 1];
                let directions: Vec<usize> = (1..s.len()).collect();
                let one = |place: usize| {
                    let rows: Vec<&[f64]> = s.iter().map(|s| &s.data[place / n * n..][..n]).collect();
                    mixed(&rows, &directions, 0, place % n)
                };
                vec![Sample::new(s[0].shape.clone(), (0..s[0].data.len()).map(one).collect::<Vec<f64>>())]
            })
        };
        let wave = |shape: &[usize], phase: f64| Sample::wave(shape.to_vec(), phase);
        vec![
            case("rows", vec![wave(&[4, 5], 0.3)]),
            case("two zeros", vec![Sample::new([4], [0.7, 0.0, -1.2, 0.0])]),
            case("along one", vec![wave(&[2, 4], 0.3), wave(&[2, 4], 0.8)]),
            case("along two", vec![wave(&[4], 0.3), wave(&[4], 0.8), wave(&[4], 1.4)]),
            case("more directions than others", vec![wave(&[2], 0.3), wave(&[2], 0.8), wave(&[2], 0.4)]),
            case("one", vec![wave(&[2, 1], 0.3)]),
            case("none", vec![Sample::new([2, 0], [])]),
        ]
    }
}
