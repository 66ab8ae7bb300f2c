//! Items that are recorded on the threads of the pool.

use std::sync::{Mutex, MutexGuard};
use wengert_engine::{ErrorKind, catch, set_threads};
use wengert_scalar::{Real, Var, gradient, gradient_of, jacobian, map_over, recording, sum_over};

/// Held by a test that changes the number of threads, which is process-wide.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The misfit of a mixture at one point; its branches depend on the point.
fn misfit(point: f64, x: &[Var]) -> Var {
    let wave = (x[0] * point).sin() * x[1].exp();
    let tail = (0..(point as usize % 7)).fold(wave, |y, _| y * x[2] + 0.1);
    if point > 50.0 { (tail - 1.0).powi(2) } else { tail * x[3] }
}

fn points(count: u32) -> Vec<f64> {
    (0..count).map(|k| f64::from(k * 37 % 101) + 0.25).collect()
}

const X: [f64; 4] = [0.3, -0.5, 0.7, 1.1];

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn sums_have_the_same_bits_for_any_number_of_threads() {
    let _alone = alone();
    for count in [0, 1, 5, 64, 1000] {
        let points = points(count);
        let mut right = [0.0; 4];
        let plain = |x: &[Var]| points.iter().fold(Var::from(0.0), |sum, point| sum + misfit(*point, x));
        let value = gradient(plain, &X, &mut right);
        let mut seen = None;
        for threads in [1, 2, 4, 8] {
            set_threads(threads);
            for _ in 0..5 {
                let mut slopes = [0.0; 5];
                slopes[4] = gradient(|x| sum_over(&points, x, |point, x| misfit(*point, x)), &X, &mut slopes[..4]);
                for (found, right) in slopes.iter().zip(right.iter().chain([&value])) {
                    assert!((found - right).abs() <= 1e-12 * right.abs().max(1.0), "{found} {right}");
                }
                let found = bits(&slopes);
                assert_eq!(*seen.get_or_insert(found.clone()), found, "{threads} threads");
            }
        }
    }
}

#[test]
fn lists_have_the_same_bits_for_any_number_of_threads() {
    let _alone = alone();
    let points = points(300);
    let f = |point: f64, x: &[Var]| [misfit(point, x), x[1], Var::from(point)];
    let plain = jacobian(|x| points.iter().flat_map(|point| f(*point, x)).collect(), &X);
    let mut seen = None;
    for threads in [1, 2, 4, 8] {
        set_threads(threads);
        let found = jacobian(|x| map_over(&points, x, |point, x| f(*point, x)).concat(), &X);
        for (found, right) in found.0.iter().chain(&found.1).zip(plain.0.iter().chain(&plain.1)) {
            assert!((found - right).abs() <= 1e-12 * right.abs().max(1.0), "{found} {right}");
        }
        let found = (bits(&found.0), bits(&found.1));
        assert_eq!(*seen.get_or_insert(found.clone()), found, "{threads} threads");
    }
}

#[test]
fn a_sum_is_one_statement_and_constants_are_none() {
    let _alone = alone();
    set_threads(2);
    recording(|tape| {
        let x = [tape.input(2.0), Var::from(3.0), tape.input(5.0)];
        let items: Vec<f64> = (0..100).map(f64::from).collect();
        let before = tape.bytes();
        let sum = sum_over(&items, &x, |item, x| x[0] * x[1] * *item + x[2]);
        assert_eq!(tape.bytes() - before, 25);
        let numbers = map_over(&items, &x, |item, x| [x[2] * *item, x[1] * 2.0]);
        // The item 0 has zero slope and records nothing; the product of constants is a constant.
        assert_eq!(tape.bytes() - before, 25 + 99 * 13);
        let (mut slopes, last) = ([0.0; 3], numbers[99]);
        tape.pull(sum + last[0] + last[1], &x, &mut slopes);
        assert_eq!(slopes, [3.0 * 4950.0, 0.0, 199.0]);
    });
    // Nested sums, and functions that take gradients.
    let twice = |x: &[Var]| {
        sum_over(&[1.0, 2.0], x, |a, x| {
            let inner = gradient_of(|[y]| y * y, [*a]).1[0];
            sum_over(&[3.0, 4.0], x, |b, x| x[0] * x[0] * (*a * *b)) * inner
        })
    };
    let mut slopes = [0.0];
    assert_eq!(gradient(twice, &[1.0], &mut slopes), 2.0 * 7.0 + 4.0 * 14.0);
    assert_eq!(slopes, [140.0]);
}

#[test]
fn variables_that_are_not_given_are_errors_and_never_wrong_numbers() {
    let _alone = alone();
    let items = points(400);
    for threads in [1, 4, 8] {
        set_threads(threads);
        for round in 0..20 {
            let mut slopes = [0.0; 2];
            let error = catch(|| {
                let captures = |x: &[Var]| {
                    let captured = x[1];
                    sum_over(&items, &x[..1], move |item, x| if *item > 50.0 { x[0] * captured } else { x[0] })
                };
                gradient(captures, &[1.0, 2.0], &mut slopes);
            })
            .unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::WrongLevel);
            assert!(error.line().is_some_and(|line| line.file() == file!()), "{error}");
            let error =
                catch(|| jacobian(|x| map_over(&items, &[], |_, _| [x[0] + 1.0]).concat(), &[1.0])).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::WrongLevel, "{round}");
            // All tapes are consistent after that.
            let value = gradient(|x| sum_over(&items, x, |item, x| x[0] * *item + x[1]), &[1.0, 2.0], &mut slopes);
            assert_eq!((value, slopes), (items.iter().sum::<f64>() + 800.0, [items.iter().sum::<f64>(), 400.0]));
        }
    }
}

#[test]
fn a_panic_of_an_item_reaches_the_caller() {
    let _alone = alone();
    for threads in [1, 4] {
        set_threads(threads);
        let failing = |x: &[Var]| sum_over(&[1, 2, 3], x, |k, x| if *k == 2 { panic!("item two") } else { x[0] });
        let outcome = std::panic::catch_unwind(|| gradient(failing, &[1.0], &mut [0.0]));
        assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"item two"));
        assert_eq!(gradient_of(|[x]| sum_over(&[1.0, 2.0], &[x], |k, x| x[0] * *k), [1.0]), (3.0, [3.0]));
    }
}
