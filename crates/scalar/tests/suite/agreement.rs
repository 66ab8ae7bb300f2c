//! Scalars and tensors of every kind use the same table of functions and give the same bits, in value and first derivative.

use wengert_engine::methods::*;
use wengert_engine::{Tensor, compile, grad, jvp};
use wengert_scalar::{Dual, Real, Replay, Symbol, Var, gradient_of};

/// A row of the table by its scalar name, as a function of each number type.
struct Row {
    name: &'static str,
    plain: fn(f64) -> f64,
    var: fn(Var) -> Var,
    dual: fn(Dual<f64, 1>) -> Dual<f64, 1>,
    single: fn(Dual<f32, 1>) -> Dual<f32, 1>,
    nested: fn(Dual<Dual<f64, 1>, 1>) -> Dual<Dual<f64, 1>, 1>,
    on_tape: fn(Dual<Var, 1>) -> Dual<Var, 1>,
    symbol: fn(Symbol) -> Symbol,
    tensor: fn(&Tensor) -> Tensor,
}

macro_rules! all_rows {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident { $($row:tt)* })*) => {
        const ROWS: &[Row] = &[$(Row {
            name: stringify!($name),
            plain: |x| Real::$real(x),
            var: |x| Real::$real(x),
            dual: |x| Real::$real(x),
            single: |x| Real::$real(x),
            nested: |x| Real::$real(x),
            on_tape: |x| Real::$real(x),
            symbol: |x| Real::$real(x),
            tensor: |x| x.$name(),
        }),*];
    };
}
wengert_kernels::functions!(all_rows);

/// Numbers of all magnitudes, including special ones.
fn points() -> Vec<f64> {
    let special = [
        0.0,
        0.5,
        1.0,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON,
        2.0,
        20.0,
        710.0,
        1e-310,
        1e-17,
        1e9,
        1e22,
        1e300,
        f64::INFINITY,
    ];
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut points: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    for scale in [1.0, 3.0, 30.0, 1000.0] {
        points.extend((0..500).map(|_| (2.0 * random() - 1.0) * scale));
    }
    points
}

/// Bits, with all NaN equal.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

/// A function of two numbers, for each number type.
struct Pair {
    name: &'static str,
    plain: fn(f64, f64) -> f64,
    var: fn(Var, Var) -> Var,
    dual: fn(Dual<f64, 2>, Dual<f64, 2>) -> Dual<f64, 2>,
    nested: fn(Dual<Dual<f64, 2>, 1>, Dual<Dual<f64, 2>, 1>) -> Dual<Dual<f64, 2>, 1>,
    on_tape: fn(Dual<Var, 1>, Dual<Var, 1>) -> Dual<Var, 1>,
    symbol: fn(Symbol, Symbol) -> Symbol,
    tensor: fn(&Tensor, &Tensor) -> Tensor,
}

macro_rules! pairs {
    ($($name:literal: |$x:ident, $y:ident| $number:expr, $tensor:expr;)*) => {
        const PAIRS: &[Pair] = &[$(Pair {
            name: $name,
            plain: |$x, $y| $number,
            var: |$x, $y| $number,
            dual: |$x, $y| $number,
            nested: |$x, $y| $number,
            on_tape: |$x, $y| $number,
            symbol: |$x, $y| $number,
            tensor: |$x, $y| $tensor,
        }),*];
    };
}

pairs! {
    "sum": |x, y| x + y, x + y;
    "difference": |x, y| x - y, x - y;
    "product": |x, y| x * y, x * y;
    "remainder": |x, y| x % y, x.fmod(y);
    "power": |x, y| Real::powf(x, y), x.pow(y);
    "angle": |y, x| Real::atan2(y, x), y.atan2(x);
    "length": |x, y| Real::hypot(x, y), x.hypot(y);
    "maximum": |x, y| Real::max(x, y), x.maximum(y);
    "minimum": |x, y| Real::min(x, y), x.minimum(y);
    "square": |x, _y| Real::powi(x, 2), x.powf(2.0);
    "cube": |x, _y| Real::powi(x, 3), x.powf(3.0);
    "seventh power": |x, _y| Real::powi(x, 7), x.powf(7.0);
    "inverse": |x, _y| Real::powi(x, -1), x.powf(-1.0);
    "inverse square": |x, _y| Real::powi(x, -2), x.powf(-2.0);
    "reciprocal": |x, _y| Real::recip(x), x.recip();
    "negative": |x, _y| -x, -x;
}

#[test]
fn every_kind_of_number_gives_the_same_bits_of_two_numbers() {
    let special = [0.0, 0.5, 1.0, 2.0, 3.0, 1e-310, 1e-200, 1e200, f64::INFINITY];
    let special: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    let mut all: Vec<[f64; 2]> = special.iter().flat_map(|x| special.iter().map(|y| [*x, *y])).collect();
    let random = points();
    all.extend(random.iter().zip(random.iter().rev()).map(|(x, y)| [*x, *y]));
    let [x, y] = [0, 1].map(|side| Tensor::from(all.iter().map(|point| point[side]).collect::<Vec<f64>>()));
    let mut wrong = Vec::new();
    for Pair { name, plain, var, dual, symbol, tensor, .. } in PAIRS {
        let replay = Replay::record(|x: &[Symbol]| symbol(x[0], x[1]), &[0.6, 0.7]);
        let mut found: Vec<(&str, Vec<[f64; 3]>)> = Vec::new();
        let rows = |values: &Tensor, x: &Tensor, y: &Tensor| -> Vec<[f64; 3]> {
            let [value, x, y] = [values, x, y].map(Tensor::to_f64_vec);
            (0..value.len()).map(|i| [value[i], x[i], y[i]]).collect()
        };
        let total = |(x, y): &(Tensor, Tensor)| tensor(x, y).sum();
        let both = (x.clone(), y.clone());
        let (by_x, by_y) = grad(total)(&both);
        found.push(("eager tensors", rows(&tensor(&x, &y), &by_x, &by_y)));
        let (by_x, by_y) = compile(grad(total)).call(&both);
        let value = compile(|(x, y): &(Tensor, Tensor)| tensor(x, y)).call(&both);
        found.push(("compiled tensors", rows(&value, &by_x, &by_y)));
        let mut each = |kind, f: &mut dyn FnMut(f64, f64) -> [f64; 3]| {
            found.push((kind, all.iter().map(|[x, y]| f(*x, *y)).collect()));
        };
        each("single elements", &mut |x, y| {
            let (x, y) = (Tensor::from(x), Tensor::from(y));
            let (by_x, by_y) = grad(|(x, y): &(Tensor, Tensor)| tensor(x, y))(&(x.clone(), y.clone()));
            [tensor(&x, &y).item(), by_x.item(), by_y.item()]
        });
        each("variables", &mut |x, y| {
            let (value, [by_x, by_y]) = gradient_of(|[x, y]| var(x, y), [x, y]);
            [value, by_x, by_y]
        });
        each("dual numbers", &mut |x, y| {
            let z = dual(Dual::variable(x, 0), Dual::variable(y, 1));
            [z.value(), z.tangents()[0], z.tangents()[1]]
        });
        each("replays", &mut |x, y| {
            let mut slopes = [0.0; 2];
            [replay.value_and_grad(&[x, y], &mut slopes), slopes[0], slopes[1]]
        });
        each("floats", &mut |x, y| [plain(x, y), f64::NAN, f64::NAN]);
        // Zero derivatives are sums in another order, so their signs do not matter.
        for [_, by_x, by_y] in found.iter_mut().flat_map(|(_, numbers)| numbers) {
            (*by_x, *by_y) = (*by_x + 0.0, *by_y + 0.0);
        }
        for (kind, numbers) in &found[1..] {
            let same = |i: usize| match *kind {
                "floats" => bits(&numbers[i][..1]) == bits(&found[0].1[i][..1]),
                _ => bits(&numbers[i]) == bits(&found[0].1[i]),
            };
            let differ: Vec<usize> = (0..all.len()).filter(|&i| !same(i)).collect();
            if let Some(&first) = differ.first() {
                let (left, right) = (numbers[first], found[0].1[first]);
                wrong.push(format!(
                    "{name} of {kind}: {} points, first {:?}: {left:?} {right:?}",
                    differ.len(),
                    all[first]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Scalars multiply by a reciprocal that they already have where tensors divide: the last bits of the derivative by the divisor differ.
#[test]
fn slopes_of_quotients_agree_to_the_last_bits() {
    let random = points();
    let is_usual = |x: &f64| (1e-3..1e4).contains(&x.abs());
    for (x, y) in random.iter().zip(random.iter().rev()).filter(|(x, y)| is_usual(x) && is_usual(y)) {
        let quotient = |(x, y): &(Tensor, Tensor)| x / y;
        let (by_x, by_y) = grad(quotient)(&(Tensor::from(*x), Tensor::from(*y)));
        let expected = [x / y, by_x.item(), by_y.item()];
        let (value, [by_x, by_y]) = gradient_of(|[x, y]| x / y, [*x, *y]);
        let dual = Dual::<f64, 2>::variable(*x, 0) / Dual::variable(*y, 1);
        let replay = Replay::record(|x: &[Symbol]| x[0] / x[1], &[0.6, 0.7]);
        let mut slopes = [0.0; 2];
        let replayed = replay.value_and_grad(&[*x, *y], &mut slopes);
        for found in [
            [value, by_x, by_y],
            [dual.value(), dual.tangents()[0], dual.tangents()[1]],
            [replayed, slopes[0], slopes[1]],
        ] {
            assert_eq!(bits(&found[..2]), bits(&expected[..2]), "{x} / {y}");
            assert!((found[2] - expected[2]).abs() <= 2.0 * f64::EPSILON * expected[2].abs(), "{x} / {y}: {found:?}");
        }
    }
}

#[test]
fn dual_numbers_of_single_precision_have_the_bits_of_tensors() {
    let points: Vec<f32> = points().into_iter().map(|x| x as f32).collect();
    let row = Tensor::from(points.as_slice());
    let mut wrong = Vec::new();
    for Row { name, single, tensor, .. } in ROWS {
        let slopes = grad(|x: &Tensor| tensor(x).sum())(&row).to_f64_vec();
        for ((x, value), slope) in points.iter().zip(tensor(&row).to_f64_vec()).zip(slopes) {
            let found = single(Dual::variable(f64::from(*x), 0));
            let found = [f64::from(found.value()), f64::from(found.tangents()[0])];
            if bits(&found) != bits(&[value, slope]) {
                wrong.push(format!("{name} of {x:e}: {found:?} {:?}", [value, slope]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

#[test]
fn every_kind_of_number_gives_the_same_bits() {
    let points = points();
    let row = Tensor::from(points.as_slice());
    let mut wrong = Vec::new();
    for Row { name, plain, var, dual, symbol, tensor, .. } in ROWS {
        let replay = Replay::record(|x: &[Symbol]| symbol(x[0]), &[0.6]);
        let mut found: Vec<(&str, Vec<f64>, Vec<f64>)> = Vec::new();
        let pairs = |f: &mut dyn FnMut(f64) -> (f64, f64)| points.iter().map(|x| f(*x)).unzip();
        let total = |x: &Tensor| tensor(x).sum();
        found.push(("eager tensors", tensor(&row).to_f64_vec(), grad(total)(&row).to_f64_vec()));
        found.push((
            "compiled tensors",
            compile(tensor).call(&row).to_f64_vec(),
            compile(grad(total)).call(&row).to_f64_vec(),
        ));
        let (value, tangent) = jvp(tensor, &row, &row.ones_like());
        found.push(("tangents of tensors", value.to_f64_vec(), tangent.to_f64_vec()));
        let mut add = |kind, (values, slopes)| found.push((kind, values, slopes));
        add(
            "single elements",
            pairs(&mut |x| {
                let x = Tensor::from(x);
                (tensor(&x).item(), grad(tensor)(&x).item())
            }),
        );
        add(
            "variables",
            pairs(&mut |x| {
                let (value, [slope]) = gradient_of(|[x]| var(x), [x]);
                (value, slope)
            }),
        );
        add(
            "dual numbers",
            pairs(&mut |x| {
                let y = dual(Dual::variable(x, 0));
                (y.value(), y.tangents()[0])
            }),
        );
        // Interpreted first, and as machine code after some runs, where available.
        add(
            "replays",
            pairs(&mut |x| {
                let mut slope = [0.0];
                (replay.value_and_grad(&[x], &mut slope), slope[0])
            }),
        );
        let (mut values, mut slopes) = (vec![0.0; points.len()], vec![0.0; points.len()]);
        replay.values_and_grads(&points, &mut values, &mut slopes);
        add("replays over points", (values, slopes));
        let expected = (bits(&found[0].1), bits(&found[0].2));
        for (kind, values, slopes) in &found[1..] {
            let differ = |a: &[u64], b: &[u64]| a.iter().zip(b).filter(|(a, b)| a != b).count();
            let counts = [differ(&bits(values), &expected.0), differ(&bits(slopes), &expected.1)];
            if counts != [0, 0] {
                let first = (0..points.len())
                    .find(|&i| bits(&slopes[i..=i])[0] != expected.1[i] || bits(&values[i..=i])[0] != expected.0[i])
                    .unwrap();
                wrong.push(format!(
                    "{name} of {kind}: {counts:?}, first at {:e}: {:e} {:e} against {:e} {:e}",
                    points[first], values[first], slopes[first], found[0].1[first], found[0].2[first]
                ));
            }
        }
        let plain: Vec<f64> = points.iter().map(|x| plain(*x)).collect();
        assert_eq!(bits(&plain), expected.0, "{name} of floats");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether two second derivatives are equal up to rounding, for sums of terms of that size.
fn is_close(a: f64, b: f64, size: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * (a.abs() + size)
}

#[test]
fn every_kind_of_number_has_the_same_second_derivative() {
    let points = points();
    let row = Tensor::from(points.as_slice());
    let mut wrong = Vec::new();
    for Row { name, nested, on_tape, symbol, tensor, .. } in ROWS {
        let slopes = |x: &Tensor| grad(|x: &Tensor| tensor(x).sum())(x).sum();
        let replay = Replay::record(|x: &[Symbol]| symbol(x[0]), &[0.6]);
        let each = |f: &mut dyn FnMut(f64) -> f64| points.iter().map(|x| f(*x)).collect::<Vec<f64>>();
        let found = [
            ("tensors", grad(slopes)(&row).to_f64_vec()),
            ("compiled tensors", compile(grad(slopes)).call(&row).to_f64_vec()),
            ("single elements", each(&mut |x| grad(slopes)(&Tensor::from(x)).item())),
            ("tangents of tangents", {
                let ones = row.ones_like();
                jvp(|x: &Tensor| jvp(tensor, x, &ones).1, &row, &ones).1.to_f64_vec()
            }),
            (
                "duals of duals",
                each(&mut |x| nested(Dual::new(Dual::variable(x, 0), [Dual::lit(1.0)])).tangents()[0].tangents()[0]),
            ),
            (
                "duals on the tape",
                each(&mut |x| gradient_of(|[x]| on_tape(Dual::new(x, [Var::from(1.0)])).tangents()[0], [x]).1[0]),
            ),
            (
                "replays",
                each(&mut |x| {
                    let mut product = [0.0];
                    replay.hvp(&[x], &[1.0], &mut product);
                    product[0]
                }),
            ),
        ];
        for (kind, numbers) in &found[1..] {
            let right = &found[0].1;
            // The slopes of subnormal numbers may overflow.
            let usual =
                (0..points.len()).filter(|&i| points[i] == 0.0 || points[i].abs() > 1e-300 || points[i].is_nan());
            let differ: Vec<usize> = usual.filter(|&i| !is_close(right[i], numbers[i], 1e-6)).collect();
            if let Some(&first) = differ.first() {
                let shown: Vec<f64> = differ.iter().take(8).map(|i| points[*i]).collect();
                wrong.push(format!(
                    "{name} of {kind}: {} points {shown:?}, first {:?}: {:?}, tensors {:?}",
                    differ.len(),
                    points[first],
                    numbers[first],
                    right[first]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_kind_of_number_has_the_same_second_derivatives_of_two_numbers() {
    let special = [0.0, 0.5, 1.0, 2.0, 3.0, f64::INFINITY];
    let special: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    let all: Vec<[f64; 2]> = special.iter().flat_map(|x| special.iter().map(|y| [*x, *y])).collect();
    let mut wrong = Vec::new();
    for Pair { name, nested, on_tape, symbol, tensor, .. } in PAIRS {
        let replay = Replay::record(|x: &[Symbol]| symbol(x[0], x[1]), &[0.6, 0.7]);
        for &[x, y] in &all {
            const V: [f64; 2] = [1.0, -2.0];
            let slopes = |at: &(Tensor, Tensor)| {
                let (by_x, by_y) = grad(|(x, y): &(Tensor, Tensor)| tensor(x, y))(at);
                by_x * V[0] + by_y * V[1]
            };
            let at = (Tensor::from(x), Tensor::from(y));
            let pair = |(by_x, by_y): (Tensor, Tensor)| [by_x.item(), by_y.item()];
            let mut product = [0.0; 2];
            replay.hvp(&[x, y], &V, &mut product);
            let of_duals = nested(
                Dual::new(Dual::variable(x, 0), [Dual::lit(V[0])]),
                Dual::new(Dual::variable(y, 1), [Dual::lit(V[1])]),
            );
            let along = |[x, y]: [Var; 2]| {
                on_tape(Dual::new(x, [Var::from(V[0])]), Dual::new(y, [Var::from(V[1])])).tangents()[0]
            };
            let found = [
                ("tensors", pair(grad(slopes)(&at))),
                ("compiled tensors", pair(compile(grad(slopes)).call(&at))),
                ("duals of duals", *of_duals.tangents()[0].tangents()),
                ("duals on the tape", gradient_of(along, [x, y]).1),
                ("replays", product),
            ];
            // If one of them is not finite, the others are not finite either, for the same or for the other number.
            let right = found[0].1;
            let are_finite = found.map(|(_, numbers)| numbers.iter().all(|number| number.is_finite()));
            let are_close = found.iter().all(|(_, numbers)| (0..2).all(|i| is_close(right[i], numbers[i], 1e-6)));
            if are_finite.contains(&true) && !are_close {
                wrong.push(format!("{name} at {x}, {y}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} {wrong:#?}", wrong.len());
}
