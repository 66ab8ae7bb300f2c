//! Symbols in ordinary code that knows nothing of recordings: its decisions become guards, and misuse is an error.

use std::cmp::Ordering;
use wengert_engine::{ErrorKind, catch};
use wengert_scalar::{Dual, Real, Replay, Symbol, Var, gradient_of};

const SPECIAL: [f64; 12] =
    [0.0, -0.0, 0.5, -0.5, 1.0, 2.5, -2.5, 1e300, 1e-310, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Uses of a symbol of an outer recording together with one of the inner.
const MISUSES: [fn(Symbol, Symbol) -> Symbol; 10] = [
    |outer, inner| inner + outer,
    |outer, _| outer.sin(),
    |outer, _| 1.0 - outer,
    |outer, _| outer * 2.0,
    |outer, _| Symbol::lit(2.0).powf(outer),
    |outer, _| Symbol::lit(outer.to_f64()),
    |outer, _| outer,
    |outer, inner| if inner < outer { inner } else { -inner },
    |outer, inner| if outer > 0.0 { inner } else { -inner },
    |outer, inner| if Symbol::lit(0.0) == outer { inner } else { -inner },
];

#[test]
fn a_symbol_of_an_outer_recording_is_an_error_also_beside_constants_and_in_comparisons() {
    for (number, misuse) in MISUSES.into_iter().enumerate() {
        let f = |outer: &[Symbol]| {
            let error = catch(|| Replay::record(|inner: &[Symbol]| misuse(outer[0], inner[0]), &[1.0]).value(&[2.0]));
            assert_eq!(error.map_err(|error| error.kind().clone()), Err(ErrorKind::WrongLevel), "misuse {number}");
            outer[0]
        };
        Replay::record(f, &[3.0]);
    }
}

#[test]
fn a_symbol_that_was_sent_to_another_thread_is_an_error_there() {
    for (number, misuse) in MISUSES.into_iter().enumerate() {
        let f = |outer: &[Symbol]| {
            let sent = outer[0];
            let record = move || {
                let inner = |inner: &[Symbol]| misuse(sent, inner[0]);
                catch(|| Replay::record(inner, &[1.0]).value(&[2.0])).map_err(|error| error.kind().clone())
            };
            let found = std::thread::spawn(record).join().unwrap();
            assert_eq!(found, Err(ErrorKind::WrongLevel), "misuse {number}");
            sent
        };
        // The same number of recordings on both threads: numbers counted per thread would coincide.
        std::thread::scope(|scope| scope.spawn(|| Replay::record(f, &[3.0]).value(&[3.0])).join().unwrap());
    }
}

/// All comparisons of two numbers, as digits.
fn compared<T: PartialOrd>(a: &T, b: &T) -> f64 {
    let order = match a.partial_cmp(b) {
        None => 0,
        Some(Ordering::Less) => 1,
        Some(Ordering::Equal) => 2,
        Some(Ordering::Greater) => 3,
    };
    [a < b, a <= b, a == b, a != b, a >= b, a > b]
        .iter()
        .fold(f64::from(order), |code, holds| code * 2.0 + f64::from(u8::from(*holds)))
}

#[test]
fn comparisons_with_constants_on_either_side_are_guards() {
    for constant in SPECIAL {
        let f = |x: &[Symbol]| {
            let dual = Dual::<Symbol, 1>::from(x[0]);
            [
                Symbol::lit(compared(&x[0], &Symbol::lit(constant))),
                Symbol::lit(compared(&Symbol::lit(constant), &x[0])),
                Symbol::lit(compared(&dual, &Dual::lit(constant))),
            ]
        };
        let replay = Replay::record(f, &[SPECIAL[0]]);
        for x in SPECIAL {
            let mut found = [0.0; 3];
            replay.values(&[x], &mut found);
            assert_eq!(
                found,
                [compared(&x, &constant), compared(&constant, &x), compared(&x, &constant)],
                "{x} {constant}"
            );
        }
        // Less, equal, greater, and unordered.
        assert!(replay.recordings() <= 4);
    }
}

#[test]
fn a_comparison_of_dual_numbers_is_one_guard() {
    let f = |x: &[Symbol]| {
        let (a, b) = (Dual::new(x[0], [x[1]]), Dual::<Symbol, 1>::lit(1.0));
        if a < b { a.tangents()[0] } else { -a.tangents()[0] }
    };
    let replay = Replay::record(f, &[2.0, 1.0]);
    // Equal numbers take the path of larger ones.
    assert_eq!([2.0, 1.0, 5.0].map(|x| replay.value(&[x, 3.0])), [-3.0; 3]);
    assert_eq!((replay.recordings(), replay.value(&[0.5, 3.0]), replay.recordings()), (1, 3.0, 2));
}

#[test]
fn sorted_symbols_are_in_order_on_every_path() {
    let f = |x: &[Symbol]| {
        let mut sorted = x.to_vec();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
        sorted
    };
    let replay = Replay::record(f, &[1.0, 2.0, 3.0]);
    for x in [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 2.0, 1.0], [9.0, 8.0, 7.0], [1.5, 1.5, 1.5]] {
        let (mut found, mut right) = ([0.0; 3], x);
        right.sort_by(f64::total_cmp);
        replay.values(&x, &mut found);
        assert_eq!(found, right);
    }
}

#[test]
fn sums_and_products_of_iterators_are_differentiated_and_nothing_is_zero() {
    fn of_all<
        T: Real + Default + std::iter::Product + for<'a> std::iter::Sum<&'a T> + for<'a> std::iter::Product<&'a T>,
    >(
        x: &[T],
    ) -> T {
        x.iter().sum::<T>() * x.iter().product::<T>() + x.iter().copied().product::<T>() + T::default()
    }
    // (x + y) x y + x y at (2, 3).
    assert_eq!(gradient_of(|x: [Var; 2]| of_all(&x), [2.0, 3.0]), (36.0, [24.0, 18.0]));
    let dual = of_all(&[Dual::<f64, 2>::variable(2.0, 0), Dual::variable(3.0, 1)]);
    assert_eq!((dual.value(), dual.tangents()), (36.0, &[24.0, 18.0]));
    let (replay, mut slopes) = (Replay::record(of_all::<Symbol>, &[1.0, 1.0]), [0.0; 2]);
    assert_eq!((replay.value_and_grad(&[2.0, 3.0], &mut slopes), slopes), (36.0, [24.0, 18.0]));
    let empty: [Symbol; 0] = [];
    assert_eq!((empty.iter().sum::<Symbol>().peek(), empty.iter().product::<Symbol>().peek()), (0.0, 1.0));
}

#[test]
fn recorded_remainders_are_those_of_floats_to_the_bit_with_the_quotient_as_slope() {
    let replay = Replay::record(|x: &[Symbol]| x[0] % x[1], &[1.0, 1.0]);
    for x in SPECIAL {
        for y in SPECIAL {
            let found = replay.value(&[x, y]);
            assert!(same(found, x % y), "{x} % {y}: {found}");
        }
    }
    for (x, y, slopes) in
        [(7.5, 2.0, [1.0, -3.0]), (-7.5, 2.0, [1.0, 3.0]), (0.3, 0.1, [1.0, -2.0]), (1e17, 3.0, [1.0, -(1e17 / 3.0)])]
    {
        let (mut found, mut product) = ([0.0; 2], [1.0; 2]);
        assert_eq!(replay.value_and_grad(&[x, y], &mut found), x % y);
        assert!((found[1] - slopes[1]).abs() <= 1e-15 * slopes[1].abs() && found[0] == slopes[0], "{found:?}");
        replay.hvp(&[x, y], &[1.0, 2.0], &mut product);
        assert_eq!(product, [0.0; 2]);
    }
    assert_eq!(replay.recordings(), 1);
    // A plain number on either side, in place, in a loop of many iterations, and on dual numbers.
    let f = |x: &[Symbol]| {
        let mut sum = Symbol::lit(0.0);
        for x in x {
            let mut rest = *x % 0.7;
            rest %= 0.3;
            sum += rest + 7.5 % *x;
        }
        sum + (Dual::new(x[0], [Symbol::lit(2.0)]) % Dual::lit(0.7)).tangents()[0]
    };
    let x: Vec<f64> = (0..100).map(|i| 1.0 + f64::from(i) * 0.37).collect();
    let replay = Replay::record(f, &[0.9; 100]);
    let mut slopes = vec![0.0; 100];
    let value = replay.value_and_grad(&x, &mut slopes);
    let right: f64 = x.iter().map(|x| x % 0.7 % 0.3 + 7.5 % x).sum();
    assert!((value - right - 2.0).abs() < 1e-12);
    assert!(slopes.iter().zip(&x).all(|(slope, x)| *slope == 1.0 - (7.5 / x).trunc()), "{slopes:?}");
    assert_eq!(replay.recordings(), 1);
}

#[test]
fn rounded_dual_numbers_of_symbols_are_operations_and_no_guards() {
    let f = |x: &[Symbol]| {
        let x = Dual::new(x[0], [Symbol::lit(1.0)]);
        let all = [x.floor(), x.ceil(), x.round(), x.signum(), x.abs() * x];
        all.iter().flat_map(|y| [y.value(), y.tangents()[0]]).collect::<Vec<_>>()
    };
    let replay = Replay::record(f, &[0.25]);
    for x in [0.25, 1.75, -2.5, 1e9 + 0.5] {
        let mut found = [0.0; 10];
        replay.values(&[x], &mut found);
        let (floor, ceil, round, size): (f64, f64, f64, f64) = (x.floor(), x.ceil(), x.round_ties_even(), x.abs());
        assert_eq!(found, [floor, 0.0, ceil, 0.0, round, 0.0, x.signum(), 0.0, size * x, 2.0 * size]);
    }
    assert_eq!(replay.recordings(), 1);
}

#[test]
fn printing_is_no_guard() {
    let f = |x: &[Symbol]| {
        let text = format!("{} {:?} {:.1}", x[0] + x[0], x[0] * 2.0, Dual::<Symbol, 1>::from(x[0]));
        assert!(!text.is_empty());
        x[0]
    };
    let replay = Replay::record(f, &[1.0]);
    assert_eq!((replay.value(&[2.0]), replay.recordings()), (2.0, 1));
}

/// Sums over iterations are added in another order than written, unless a branch depends on them.
#[test]
fn decisions_on_sums_are_those_of_the_function() {
    fn total<T: Real>(x: &[T]) -> T {
        x.iter().fold(T::lit(0.0), |total, x| total + *x * *x)
    }
    fn decided<T: Real>(x: &[T], bound: f64) -> T {
        let (total, bound) = (total(x), T::lit(bound));
        let code = f64::from(u8::from(total < bound)) + 2.0 * f64::from(u8::from(total == bound));
        total * T::lit(code)
    }
    for n in [50, 100, 1000, 5000] {
        let x: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.7).sin() / 3.0).collect();
        let exact = total(&x);
        for bound in [exact.next_down(), exact, exact.next_up()] {
            // The path is recorded at other values, and taken at these.
            let replay = Replay::record(|x: &[Symbol]| decided(x, bound), &vec![0.01; n as usize]);
            replay.value(&vec![1.0; n as usize]);
            assert_eq!(replay.value(&x), decided(&x, bound), "{n} numbers");
        }
    }
}

#[test]
fn indices_and_casts_of_sums_are_those_of_the_function() {
    let x: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.7).sin() / 3.0).collect();
    let exact = x.iter().fold(0.0, |total, x| total + x * x);
    let f = |x: &[Symbol]| {
        let total = x.iter().fold(Symbol::lit(0.0), |total, x| total + *x * *x);
        x[(total / exact).floor_index()] + (total / exact).to_f64()
    };
    assert_eq!(Replay::record(f, &x).value(&x), x[1] + 1.0);
}
