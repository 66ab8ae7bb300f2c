//! One function, one table: numbers and tensors of every kind give the same bits, in value and first derivative.

use wengert_engine::{Tensor, compile, grad, jvp};
use wengert_scalar::{Dual, Real, Replay, Symbol, Var, gradient_of};

/// A row of the table by its name in numbers, as a function of each kind.
struct Row {
    name: &'static str,
    plain: fn(f64) -> f64,
    var: fn(Var) -> Var,
    dual: fn(Dual<f64, 1>) -> Dual<f64, 1>,
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
            symbol: |x| Real::$real(x),
            tensor: |x| x.$name(),
        }),*];
    };
}
wengert_kernels::functions!(all_rows);

/// Numbers of all sizes, special ones among them.
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

/// Every NaN is the same.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

#[test]
fn every_kind_of_number_gives_the_same_bits() {
    let points = points();
    let row = Tensor::from(points.as_slice());
    let mut wrong = Vec::new();
    for Row { name, plain, var, dual, symbol, tensor } in ROWS {
        let mut replay = Replay::record(|x: &[Symbol]| symbol(x[0]), &[0.6]);
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
        // Interpreted first, and machine code after some runs where there is such.
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
