//! Operations along axes on rows that are short, long, cut into parts, or side by side, in all dtypes: the numbers of the processor.

use super::emulator::Emulator;
use std::sync::Arc;
use wengert::prelude::*;
use wengert::primitive::{Attrs, bind, find};
use wengert_cuda::source::stored;

/// Numbers with ties, as elements of a dtype; with NaN if `holes`.
fn numbers(shape: &[usize], dtype: DType, holes: bool) -> Tensor {
    let count: usize = shape.iter().product();
    let number = |i: usize| match i * 7919 % 9973 {
        hole if holes && hole % 211 == 3 => f64::NAN,
        other if dtype.is_float() => (other % 1409) as f64 / 128.0 - 5.0,
        other => (other % 97) as f64,
    };
    Tensor::from((0..count).map(number).collect::<Vec<f64>>()).cast(dtype).reshape(shape)
}

/// Results on emulated threads that are not those of the processor.
fn expect_same(name: &'static str, tolerance: f64, x: Vec<Tensor>, f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>) {
    let (found, right) = (compile(&f).on(Arc::new(Emulator(name))).call(&x), compile(&f).call(&x));
    for (number, (found, right)) in found.iter().zip(&right).enumerate() {
        assert_eq!((found.shape(), found.dtype()), (right.shape(), right.dtype()), "{name}, output {number}");
        let is_near =
            |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * (1.0 + b.abs());
        for (place, (a, b)) in found.to_f64_vec().into_iter().zip(right.to_f64_vec()).enumerate() {
            let shape = found.shape();
            assert!(
                is_near(a, b),
                "{name}, output {number} of {} and {shape:?} at {place}: {a}, not {b}",
                stored(found.dtype())
            );
        }
    }
}

/// Rows of one element, few, many, a long one, and rows side by side.
const SHAPES: [(&[usize], isize); 6] =
    [(&[7, 1], 1), (&[300, 5], 1), (&[3, 1500], 1), (&[8300], 0), (&[2, 700, 3], 1), (&[3, 9000], 0)];

fn operands(dtype: DType, holes: bool) -> Vec<Tensor> {
    SHAPES.iter().map(|(shape, _)| numbers(shape, dtype, holes)).collect()
}

fn each(x: &[Tensor], f: impl Fn(&Tensor, isize) -> Vec<Tensor>) -> Vec<Tensor> {
    x.iter().zip(SHAPES).flat_map(|(x, (_, axis))| f(x, axis)).collect()
}

fn pair((a, b): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![a, b]
}

#[test]
fn reductions() {
    for (dtype, holes) in [(DType::F32, true), (DType::F64, false), (DType::I32, false), (DType::Bool, false)] {
        expect_same("reductions", 3e-5, operands(dtype, holes), |x| {
            each(x, |x, axis| {
                let mut all = [pair(x.max_along(axis)), pair(x.min_along(axis))].concat();
                all.extend([x.any_over(axis), x.all_over(axis), x.max_over(axis), x.min_over(axis)]);
                if dtype.is_float() {
                    let near = x * 0.01 + 300.0;
                    all.extend([
                        near.var_over(axis),
                        near.std_over(axis),
                        x.norm_over(2.0, axis),
                        x.norm_over(-1.5, axis),
                    ]);
                    all.extend([
                        (x * 1e30).norm_over(3.0, axis),
                        x.logsumexp_over(axis),
                        (x * 0.01 + 1.0).prod_over(axis),
                    ]);
                }
                if dtype == DType::I32 {
                    all.extend([(x * 2 + 1).prod_over(axis), (x * -3).max_over(axis), (x * 3 + 1).min_over(axis)]);
                }
                all
            })
        });
    }
}

#[test]
fn running_results() {
    for (dtype, holes) in [(DType::F32, true), (DType::F64, false), (DType::I32, false)] {
        expect_same("running", 3e-5, operands(dtype, holes), |x| {
            each(x, |x, axis| {
                let mut all = [pair(x.cummax(axis)), pair(x.cummin(axis))].concat();
                // Products of whole numbers wrap around; those of floats stay finite.
                let factors = if dtype.is_float() { &(x * 0.1) } else { x };
                all.extend([x.cumsum(axis), factors.cumprod(axis), factors.linear_scan(&(x + 1), axis)]);
                if dtype.is_float() {
                    all.extend([(x * 0.001 + 1.0).cumprod(axis), x.logcumsumexp(axis)]);
                }
                all
            })
        });
    }
}

#[test]
fn running_results_from_the_end_and_products_of_others() {
    let bound = |name: &str, attrs: Attrs, x: &[&Tensor]| bind(find(name).unwrap(), attrs, x).into_vec().remove(0);
    let x = SHAPES.iter().map(|(shape, _)| numbers(shape, DType::F64, false) * 0.01 + 1.0).collect();
    expect_same("reverse", 1e-9, x, |x| {
        each(x, |x, axis| {
            let reverse = || Attrs::new().with_int("axis", axis as i64).with_int("reverse", 1);
            let names = ["cumsum", "cumprod", "logcumsumexp"];
            let mut all: Vec<Tensor> = names.iter().map(|name| bound(name, reverse(), &[x])).collect();
            all.push(bound("linear_scan", reverse(), &[x, &(x + 1.0)]));
            // Rows of few elements for a polynomial of a thread, and long rows for those of several.
            for order in 0..=3 {
                let others = [x, &(x + 0.1), &(x - 0.2), &x.square()];
                all.push(bound(
                    "product_of_others",
                    Attrs::new().with_int("order", order),
                    &others[..1 + order as usize],
                ));
            }
            all
        })
    });
}

#[test]
fn softmax_of_short_and_long_rows() {
    for (dtype, tolerance) in [(DType::F32, 3e-5), (DType::F64, 1e-12), (DType::BF16, 2e-2)] {
        let shapes: [&[usize]; 7] = [&[5, 1], &[70, 6], &[3, 130], &[2, 1024], &[2, 2100], &[1, 17000], &[2, 1031]];
        let x = shapes.iter().map(|shape| numbers(shape, dtype, false)).collect();
        expect_same("softmax", tolerance, x, |x| {
            let one = |x: &Tensor| {
                let (y, log) = (x.softmax(-1), x.log_softmax(-1));
                let slopes = [
                    grad(|x: &Tensor| (x.softmax(-1) * x).sum())(x),
                    grad(|x: &Tensor| (x.log_softmax(-1) * x).sum())(x),
                ];
                [vec![y, log, x.softmax(0)], slopes.to_vec()].concat()
            };
            x.iter().flat_map(one).collect()
        });
    }
}

#[test]
fn elements_in_order() {
    let cases = [(DType::F16, false), (DType::F64, true), (DType::I64, false), (DType::U8, false)];
    for (dtype, holes) in cases {
        let shapes: [(&[usize], isize); 5] =
            [(&[300, 5], 1), (&[3, 1025], 1), (&[8300], 0), (&[2, 2100, 2], 1), (&[1, 3], 0)];
        let x = shapes.iter().map(|(shape, _)| numbers(shape, dtype, holes)).collect();
        expect_same("order", 0.0, x, |x| {
            let one = |(x, (shape, axis)): (&Tensor, (&[usize], isize))| {
                let n = shape[axis as usize];
                let k = n.div_ceil(3);
                let mut all = [pair(x.sort(axis)), pair(x.sort_descending(axis)), pair(x.topk(k, axis))].concat();
                all.extend([pair(x.kthvalue(k, axis)), pair(x.median_along(axis)), pair(x.mode(axis))].concat());
                all.extend([pair(x.nanmedian_along(axis)), pair(x.topk_smallest(1, axis))].concat());
                let row = x.reshape([x.elements()]);
                all.extend([row.sort(0).0.searchsorted(&row), row.sort(0).0.searchsorted_right(&row)]);
                all
            };
            x.iter().zip(shapes).flat_map(one).collect()
        });
    }
}

#[test]
fn distances_sums_and_products_of_nothing() {
    let x = vec![
        numbers(&[2, 37, 35], DType::F32, false),
        numbers(&[2, 70, 35], DType::F32, false),
        numbers(&[2, 3, 2, 3, 2, 3], DType::F32, false),
        numbers(&[3, 0], DType::F32, false),
        numbers(&[4], DType::F32, false),
    ];
    expect_same("distances", 3e-5, x, |x| {
        let (sums, none) = (&x[2], &x[3]);
        let rows = none.matmul(&none.t());
        vec![
            x[0].cdist(&x[1]),
            sums.sum_over([0, 2, 4]),
            sums.sum_over([1, 3, 5]),
            sums.max_over([0, 2, 4]),
            sums.var_over([1, 4]),
            none.sum_over(1),
            none.prod_over(1),
            none.norm_over(2.5, 1),
            none.var_over(1),
            none.logsumexp_over(1),
            rows,
            &none.matmul(&Tensor::zeros([0, 4]).cast(DType::F32)) + &x[4],
        ]
    });
}
