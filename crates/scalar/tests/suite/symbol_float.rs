//! Code that is generic over the traits of `num-traits`, recorded: rounding is an operation, and every query is a guard.

use num_traits::{Euclid, Float, Signed, ToPrimitive, Zero};
use std::num::FpCategory;
use wengert_scalar::{Dual, Replay, Symbol};

const SPECIAL: [f64; 22] = [
    0.0,
    -0.0,
    0.25,
    0.5,
    -0.5,
    0.499_999_999_999_999_94,
    -0.499_999_999_999_999_94,
    1.0,
    1.5,
    -1.5,
    2.5,
    -2.5,
    127.9,
    -129.5,
    4_503_599_627_370_497.0,
    -4_503_599_627_370_497.5,
    1e300,
    1e-310,
    -1e-310,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn rounded<T: Float + Signed>(x: T) -> [T; 7] {
    [x.floor(), x.ceil(), x.round(), x.trunc(), Float::signum(x), Signed::signum(&x), x.fract()]
}

#[test]
fn rounding_is_recorded_once_and_to_the_bit_of_floats() {
    let plain = Replay::record(|x: &[Symbol]| rounded(x[0]), &[0.3]);
    let dual = Replay::record(|x: &[Symbol]| rounded(Dual::<Symbol, 1>::from(x[0])).map(|y| y.value()), &[0.3]);
    for x in SPECIAL {
        let (right, mut found, mut of_dual) = (rounded(x), [0.0; 7], [0.0; 7]);
        plain.values(&[x], &mut found);
        dual.values(&[x], &mut of_dual);
        let is_right = |found: [f64; 7]| found.iter().zip(right).all(|(found, right)| same(*found, right));
        assert!(is_right(found) && is_right(of_dual), "{x}: {found:?} {of_dual:?}, not {right:?}");
    }
    assert_eq!((plain.recordings(), dual.recordings()), (1, 1));
}

#[test]
fn rounding_has_no_slopes_of_any_order_also_at_zero() {
    let f = |x: &[Symbol]| rounded(x[0])[..6].iter().fold(Symbol::zero(), |sum, y| sum + *y) + x[0].fract();
    let replay = Replay::record(f, &[0.3]);
    for x in [0.0, -0.0, 0.3, -1.75, 1e9] {
        let (mut slopes, mut product) = ([f64::NAN], [f64::NAN]);
        replay.value_and_grad(&[x], &mut slopes);
        replay.hvp(&[x], &[1.0], &mut product);
        assert_eq!((slopes, product), ([1.0], [0.0]), "{x}");
    }
    assert_eq!(replay.recordings(), 1);
}

/// The results of queries encoded as one number, different for every answer.
type Question = (&'static str, fn(f64) -> f64, fn(Symbol) -> f64, fn(Dual<Symbol, 1>) -> f64);

macro_rules! questions {
    ($($name:ident: |$x:ident| $answer:expr;)+) => {
        [$({
            fn ask<T: Float + Signed + ToPrimitive + Euclid>($x: T) -> f64 {
                $answer
            }
            (stringify!($name), ask::<f64>, ask::<Symbol>, ask::<Dual<Symbol, 1>>)
        }),+]
    };
}

fn number(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn class(category: FpCategory) -> f64 {
    match category {
        FpCategory::Nan => 0.0,
        FpCategory::Infinite => 1.0,
        FpCategory::Zero => 2.0,
        FpCategory::Subnormal => 3.0,
        FpCategory::Normal => 4.0,
    }
}

#[test]
fn every_answer_is_a_guard_and_that_of_the_float() {
    let questions: [Question; 19] = questions![
        is_nan: |x| number(x.is_nan());
        is_infinite: |x| number(x.is_infinite());
        is_finite: |x| number(x.is_finite());
        is_normal: |x| number(x.is_normal());
        is_subnormal: |x| number(x.is_subnormal());
        is_sign_negative: |x| number(x.is_sign_negative());
        is_sign_positive: |x| number(x.is_sign_positive());
        is_positive: |x| number(x.is_positive());
        is_negative: |x| number(x.is_negative());
        is_zero: |x| number(x.is_zero());
        classify: |x| class(x.classify());
        integer_decode: |x| x.integer_decode().0 as f64 + f64::from(x.integer_decode().1) * f64::from(x.integer_decode().2);
        to_i8: |x| x.to_i8().map_or(0.5, f64::from);
        to_i64: |x| x.to_i64().map_or(0.5, |n| n as f64);
        to_u8: |x| x.to_u8().map_or(0.5, f64::from);
        to_u128: |x| x.to_u128().map_or(0.5, |n| n as f64);
        to_f32: |x| x.to_f32().map_or(0.5, f64::from);
        to_f64: |x| x.to_f64().unwrap();
        cast: |x| num_traits::cast::<T, i32>(x.floor()).map_or(0.5, f64::from);
    ];
    for (name, plain, symbol, dual) in questions {
        for first in SPECIAL {
            let f = |x: &[Symbol]| [symbol(x[0]), dual(Dual::from(x[0]))].map(Symbol::from);
            let replay = Replay::record(f, &[first]);
            for x in SPECIAL {
                let mut found = [0.0; 2];
                replay.values(&[x], &mut found);
                assert!(found.iter().all(|found| same(*found, plain(x))), "{name} at {x} after {first}: {found:?}");
            }
        }
    }
}

#[test]
fn casts_to_whole_numbers_guard_the_whole_part_only() {
    let table = [10.0, 20.0, 30.0];
    let f = |x: &[Symbol]| x[0] * Symbol::from(table[x[0].to_usize().unwrap()]);
    let replay = Replay::record(f, &[1.25]);
    assert_eq!((replay.value(&[1.75]), replay.value(&[1.0]), replay.recordings()), (35.0, 20.0, 1));
    assert_eq!((replay.value(&[0.5]), replay.value(&[2.5]), replay.recordings()), (5.0, 75.0, 3));
}

/// Functions with branches: value and gradient, from floats and by hand.
type Decision = (&'static str, fn(f64, f64) -> f64, fn(Symbol, Symbol) -> Symbol, fn(f64, f64) -> [f64; 2]);

macro_rules! decisions {
    ($($name:ident: |$x:ident, $y:ident| $value:expr, $slopes:expr;)+) => {
        [$({
            fn f<T: Float + Signed + Euclid>($x: T, $y: T) -> T {
                $value
            }
            fn slopes($x: f64, $y: f64) -> [f64; 2] {
                let _ = ($x, $y);
                $slopes
            }
            (stringify!($name), f::<f64>, f::<Symbol>, slopes as fn(f64, f64) -> [f64; 2])
        }),+]
    };
}

#[test]
fn functions_that_decide_are_those_of_floats_on_every_path() {
    let decisions: [Decision; 8] = decisions![
        max: |x, y| x.max(y), if x > y { [1.0, 0.0] } else { [0.0, 1.0] };
        min: |x, y| x.min(y), if x < y { [1.0, 0.0] } else { [0.0, 1.0] };
        clamp: |x, y| Float::clamp(x, -y.abs(), y.abs()), if x.abs() <= y.abs() { [1.0, 0.0] } else { [0.0, x.signum() * y.signum()] };
        copysign: |x, y| x.copysign(y), [x.signum() * y.signum(), 0.0];
        abs_sub: |x, y| Float::abs_sub(x, y), if x > y { [1.0, -1.0] } else { [0.0, 0.0] };
        rem: |x, y| x % y, [1.0, -(x / y).trunc()];
        rem_euclid: |x, y| Euclid::rem_euclid(&x, &y), [1.0, -f64::div_euclid(x, y)];
        div_euclid: |x, y| Euclid::div_euclid(&x, &y), [0.0, 0.0];
    ];
    for (name, plain, symbol, slopes) in decisions {
        let replay = Replay::record(|x: &[Symbol]| symbol(x[0], x[1]), &[1.5, 0.7]);
        for x in [1.5, -1.5, 0.2, -0.2, 7.3] {
            for y in [0.7, -0.7, 3.1, -3.1] {
                let mut found = [0.0; 2];
                let value = replay.value_and_grad(&[x, y], &mut found);
                assert!(same(value, plain(x, y)), "{name} of {x} and {y}: {value}, not {}", plain(x, y));
                assert_eq!(found, slopes(x, y), "{name} of {x} and {y}");
            }
        }
        // Special values, for every recorded path.
        for x in SPECIAL {
            for y in SPECIAL.into_iter().filter(|y| name != "clamp" || !y.is_nan()) {
                let value = replay.value(&[x, y]);
                let is_zero = value == 0.0 && plain(x, y) == 0.0 && matches!(name, "max" | "min");
                assert!(same(value, plain(x, y)) || is_zero, "{name} of {x} and {y}: {value}, not {}", plain(x, y));
            }
        }
    }
}

/// The root of x^3 + x = a, by bisection and then by Newton's method.
fn root<T: Float>(a: T) -> T {
    let two = T::one() + T::one();
    let (mut low, mut high) = (-a.abs() - T::one(), a.abs() + T::one());
    while high - low > T::epsilon().sqrt() {
        let middle = (low + high) / two;
        if middle.powi(3) + middle < a { low = middle } else { high = middle }
    }
    (0..3).fold(low, |x, _| x - (x.powi(3) + x - a) / (x * x * (T::one() + two) + T::one()))
}

#[test]
fn a_recorded_search_has_the_slopes_of_its_equation_wherever_it_goes() {
    let replay = Replay::record(|a: &[Symbol]| root(a[0]), &[2.0]);
    for a in [2.0, 2.0 + 1e-12, -3.0, 30.0, 0.0] {
        let (mut slopes, mut product) = ([0.0], [0.0]);
        let x = replay.value_and_grad(&[a], &mut slopes);
        replay.hvp(&[a], &[1.0], &mut product);
        let slope = 1.0 / (3.0 * x * x + 1.0);
        assert!((x.powi(3) + x - a).abs() < 1e-13 * (1.0 + a.abs()), "{x} at {a}");
        assert!((slopes[0] - slope).abs() < 1e-10, "{slopes:?}, not {slope}");
        assert!((product[0] + 6.0 * x * slope.powi(3)).abs() < 1e-8, "{product:?} at {a}");
    }
}
