//! Recordings in parts, with several outputs, and of blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use wengert_engine::{ErrorKind, catch};
use wengert_scalar::{
    Real, Tape, Var, checked, external, gradient, gradient_of, jacobian, preaccumulate, preaccumulated, recording,
    sum_over,
};

#[test]
fn parts_inside_parts_pass_on_what_was_seeded_and_nothing_else() {
    let found = recording(|tape| {
        let x = tape.input(2.0);
        let y = x * x;
        tape.part(|| {
            let z = y * 3.0;
            tape.part(|| tape.seed(z * z, 1.0));
            // Nothing is seeded here.
            tape.part(|| drop((z * 5.0).to_string()));
            let late = tape.input(7.0);
            tape.seed(z * late, 1.0);
        });
        // An input of a part leaves no adjoint behind for the statement that reuses its index.
        let w = y * 1.0;
        assert_eq!(tape.adjoint(w), 0.0);
        tape.sweep();
        tape.adjoint(x)
    });
    // The derivative by y is 18 y + 21 at 4; y has slope 4.
    assert_eq!(found, (18.0 * 4.0 + 21.0) * 4.0);
}

#[test]
fn a_part_that_panics_passes_nothing_on() {
    let found = recording(|tape| {
        let x = tape.input(2.0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            tape.part(|| {
                tape.seed(x * 100.0, 1.0);
                panic!("in the middle");
            });
        }));
        assert!(outcome.is_err());
        let y = x * x;
        tape.seed(y, 1.0);
        tape.sweep();
        tape.adjoint(x)
    });
    assert_eq!(found, 4.0);
    // A seed that was never swept is not visible to the next recording.
    recording(|tape| tape.seed(tape.input(1.0) * 2.0, 1.0));
    let next = recording(|tape| {
        let x = tape.input(1.0);
        tape.sweep();
        tape.adjoint(x)
    });
    assert_eq!(next, 0.0);
}

#[test]
fn seeds_of_several_outputs_are_weighted_and_positions_bound_a_sweep() {
    let [by_y, by_x] = recording(|tape| {
        let x = tape.input(0.5);
        let y = x.sin();
        let position = tape.position();
        for (weight, k) in [(2.0, 1), (-1.0, 2), (0.5, 3)] {
            tape.seed(y.powi(k), weight);
        }
        tape.sweep_to(position);
        let by_y = tape.adjoint(y);
        assert_eq!(tape.adjoint(x), 0.0);
        // A separate sweep does not touch the seeds.
        tape.pull(y, &[x], &mut [0.0]);
        tape.sweep();
        [by_y, tape.adjoint(x)]
    });
    let y = 0.5f64.sin();
    assert!((by_y - (2.0 - 2.0 * y + 1.5 * y * y)).abs() < 1e-15);
    assert!((by_x - by_y * 0.5f64.cos()).abs() < 1e-15);
}

/// The kind of the error, and the line.
fn refusal<R>(f: impl FnOnce() -> R) -> Option<(ErrorKind, u32)> {
    let error = catch(f).err()?;
    let line = error.line().filter(|line| line.file().ends_with("recordings.rs"))?;
    Some((error.kind().clone(), line.line()))
}

#[test]
fn a_number_that_leaves_what_was_forgotten_is_an_error_whoever_has_its_place() {
    let refused = |line: u32| Some((ErrorKind::WrongLevel, line));
    recording(|tape| {
        let x = tape.input(3.0);
        let leaked = tape.part(|| x * x);
        let other = x * 5.0;
        assert_eq!(format!("{other:?}"), "Var(15.0, statement 2)");
        assert_eq!(format!("{leaked:?}"), "Var(9.0, statement 2)");
        assert_eq!(refusal(|| leaked * 2.0), refused(line!()));
        assert_eq!(refusal(|| Var::sum_of(&[x, leaked])), refused(line!()));
        assert_eq!(refusal(|| tape.seed(leaked, 1.0)), refused(line!()));
        assert_eq!(refusal(|| tape.adjoint(leaked)), refused(line!()));
        assert_eq!(refusal(|| tape.pull(leaked, &[x], &mut [0.0])), refused(line!()));
        assert_eq!(refusal(|| tape.pull(x * x, &[leaked], &mut [0.0])), refused(line!()));
        // Also inside other parts, at any depth; the enclosing ones can be read.
        tape.part(|| {
            let inner = x * 2.0;
            tape.part(|| {
                let innermost = inner * other;
                tape.part(|| tape.seed(x * inner * innermost, 1.0));
                assert_eq!(refusal(|| leaked + innermost), refused(line!()));
            });
        });
        tape.sweep();
        // x * 2x * (2x * 5x) = 20 x^4
        assert_eq!(tape.adjoint(x), 80.0 * 27.0);
        // A position of a part does not belong to the recording, and neither does one of another recording.
        let position = tape.part(|| {
            let _ = x * x;
            tape.position()
        });
        let _ = [x * 1.0, x * 2.0];
        assert_eq!(refusal(|| tape.sweep_to(position)), refused(line!()));
        recording(|inner| {
            let y = inner.input(1.0);
            assert_eq!(refusal(|| tape.input(1.0)), refused(line!()));
            assert_eq!(refusal(|| tape.sweep()), refused(line!()));
            assert_eq!(refusal(|| tape.seed(y * y, 1.0)), refused(line!()));
            assert_eq!(refusal(|| tape.adjoint(y)), refused(line!()));
            assert_eq!(refusal(|| tape.part(|| y)), refused(line!()));
            assert_eq!(refusal(|| inner.sweep_to(position)), refused(line!()));
        });
    });
}

#[test]
fn a_number_that_leaves_a_block_is_an_error_whether_or_not_the_block_was_replaced() {
    for steps in [1, 100] {
        recording(|tape| {
            let x = tape.input(0.5);
            let mut leaked = None;
            let [y] = preaccumulate(|| {
                leaked = Some(x * 3.0);
                [(0..steps).fold(x, |y, _| (y * x).sin())]
            });
            let y = (0..10).fold(y, |y, _| y * x);
            let error = refusal(|| y + leaked.unwrap());
            assert_eq!(error, Some((ErrorKind::WrongLevel, line!() - 1)));
            assert!(y.is_active());
        });
    }
}

#[test]
fn what_is_seeded_in_a_block_counts_whether_or_not_it_could_be_replaced() {
    let power = |z: Var, x: Var| (0..5).fold(z, |z, _| z * x);
    let [in_part, in_block, after_panic, deep] = recording(|tape| {
        let (x, other) = (tape.input(2.0), tape.input(1.0));
        let slope = || {
            tape.sweep();
            let before = slopes_of(tape, [x, other]);
            // There is no adjoint for a value that was never seeded.
            assert_eq!(before[1], 0.0);
            before[0]
        };
        // x^7 and x^3, whose seed belongs to a part.
        let [y] = preaccumulate(|| {
            let z = x * x;
            tape.part(|| tape.seed(z * x, 1.0));
            [power(z, x)]
        });
        tape.seed(y, 1.0);
        let in_part = slope();
        let [_] = preaccumulate(|| {
            let z = x * x;
            tape.seed(z, 3.0);
            [power(z, x)]
        });
        let in_block = slope() - in_part;
        let failing = || {
            preaccumulate::<1>(|| {
                let z = x * x;
                tape.seed(z, 3.0);
                if z > 0.0 { panic!("in the block") } else { [z] }
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
        let later = other * 100.0;
        assert_eq!(tape.adjoint(later), 0.0);
        let after_panic = slope() - in_part - in_block;
        let outer = preaccumulated(|x: Var| {
            let [y] = preaccumulate(|| {
                let z = power(x, x);
                tape.part(|| tape.seed(power(z, x), 1.0));
                [power(z, x)]
            });
            [power(y, x)]
        });
        tape.part(|| tape.seed(outer(x)[0], 1.0));
        [in_part, in_block, after_panic, slope() - in_part - in_block - after_panic]
    });
    assert_eq!([in_part, in_block, after_panic], [7.0 * 64.0 + 12.0, 12.0, 12.0]);
    // x^16 and x^11.
    assert_eq!(deep, 16.0 * 2f64.powi(15) + 11.0 * 2f64.powi(10));
    // A recording inside a block is separate, and does not change the block.
    let (statements, slope) = recording(|tape| {
        let x = tape.input(2.0);
        let [y] = preaccumulate(|| {
            let inner = recording(|inner| {
                let z = inner.input(x.value());
                inner.seed(z * z, 1.0);
                inner.sweep();
                inner.adjoint(z)
            });
            [power(x * inner, x)]
        });
        tape.seed(y, 1.0);
        tape.sweep();
        (tape.statements(), tape.adjoint(x))
    });
    assert_eq!((statements, slope), (2, 4.0 * 6.0 * 32.0));
}

/// The adjoints propagated to these variables.
fn slopes_of<const N: usize>(tape: &Tape<'_>, x: [Var; N]) -> [f64; N] {
    x.map(|x| tape.adjoint(x))
}

#[test]
fn a_number_kept_from_one_item_for_another_is_an_error() {
    // Two items are recorded one by one, many are parts of a few recordings.
    for count in [2, 1000] {
        let (items, kept) = (vec![1.5; count], Mutex::new(None));
        let f = |x: &[Var]| {
            sum_over(&items, x, |item, x| {
                let own = x[0] * *item;
                let first = *kept.lock().unwrap().get_or_insert(own);
                own * first
            })
        };
        let error = catch(|| gradient(f, &[2.0], &mut [0.0])).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::WrongLevel, "{error}");
    }
}

#[test]
fn recordings_inside_a_part_leave_it_alone() {
    let found = recording(|tape| {
        let x = tape.input(3.0);
        tape.part(|| {
            let inner = gradient_of(|[y]| y * y, [x.value()]).1[0];
            let other = recording(|inner| {
                let y = inner.input(1.0);
                inner.part(|| inner.seed(y * 4.0, 1.0));
                inner.adjoint(y)
            });
            tape.seed(x * (inner + other), 1.0);
        });
        tape.adjoint(x)
    });
    assert_eq!(found, 10.0);
}

#[test]
fn many_threads_take_tiny_gradients_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            scope.spawn(move || {
                for round in 0..500 {
                    let (a, b) = (f64::from(thread) + 1.0, f64::from(round) + 1.0);
                    let slopes = gradient_of(|[x, y]: [Var; 2]| x * y + (x / y) * 2.0, [a, b]).1;
                    assert_eq!(slopes, [b + 2.0 * b.recip(), a - 2.0 * (a / b / b)]);
                }
            });
        }
    });
}

/// Two outputs of three numbers, one of which is captured.
fn block(x: Var, y: Var, captured: Var) -> [Var; 2] {
    let z = (0..50).fold(x, |z, _| (z * y + captured).sin());
    [z * captured, z + x]
}

#[test]
fn blocks_have_the_same_slopes_and_fewer_bytes() {
    let run = |is_block: bool| {
        recording(|tape| {
            let x = [0.3, 0.7, -0.2].map(|x| tape.input(x));
            let shared = x[2].exp();
            let mut sum = Var::from(0.0);
            for _ in 0..10 {
                let f = || block(x[0], x[1], shared);
                let [a, b] = if is_block { preaccumulate(f) } else { f() };
                sum += a * b;
            }
            let mut slopes = [0.0; 3];
            tape.pull(sum, &x, &mut slopes);
            (sum.value(), slopes, tape.bytes())
        })
    };
    let (plain, blocks) = (run(false), run(true));
    assert_eq!(plain.0, blocks.0);
    for (plain, blocks) in plain.1.iter().zip(&blocks.1) {
        assert!((plain - blocks).abs() <= 1e-13 * plain.abs(), "{plain} {blocks}");
    }
    assert!(20 * blocks.2 < plain.2, "{} bytes, {} before", blocks.2, plain.2);
    let many = |x: &[Var], is_block: bool| {
        let f = || std::array::from_fn(|k| (0..9).fold(x[0] * k as f64, |z, _| (z * x[1]).cos()));
        let outputs: [Var; 10] = if is_block { preaccumulate(f) } else { f() };
        outputs.to_vec()
    };
    let (plain, blocks) = (jacobian(|x| many(x, false), &[0.5, 0.3]), jacobian(|x| many(x, true), &[0.5, 0.3]));
    assert_eq!(plain, blocks);
}

#[test]
fn a_block_gives_back_what_it_did_not_compute_and_keeps_what_is_small() {
    recording(|tape| {
        let x = tape.input(2.0);
        let y = x * 3.0;
        let before = tape.bytes();
        let [same, constant, new] = preaccumulate(|| [y, Var::from(5.0), (0..9).fold(y, |z, _| z * 1.5)]);
        assert_eq!(tape.bytes(), before + 13);
        assert!(!constant.is_active() && new.is_active());
        let mut slope = [0.0];
        tape.pull(same + constant + new, &[x], &mut slope);
        assert_eq!(slope, [3.0 + 3.0 * 1.5f64.powi(9)]);
        // One product: unchanged.
        let [product] = preaccumulate(|| [x * y]);
        tape.pull(product, &[x], &mut slope);
        assert_eq!((slope, tape.statements()), ([12.0], 6));
        // Values of the block that are inputs are kept.
        let (mut late, mut slopes) = (None, [0.0; 2]);
        let [sum] = preaccumulate(|| {
            late = Some(tape.input(7.0));
            [(0..9).fold(x * late.unwrap(), |z, _| z * 1.0)]
        });
        tape.pull(sum, &[x, late.unwrap()], &mut slopes);
        assert_eq!(slopes, [7.0, 2.0]);
    });
}

#[test]
fn blocks_in_blocks_in_parts_and_after_panics() {
    let inner = preaccumulated(|[x, y]: [Var; 2]| [(0..20).fold(x, |z, _| (z + y) * 0.5)]);
    let outer = preaccumulated(|x: [Var; 2]| [(0..5).fold(x[0], |z, _| inner([z, x[1]])[0] * x[0])]);
    let plain = |x: &[Var]| (0..5).fold(x[0], |z, _| (0..20).fold(z, |z, _| (z + x[1]) * 0.5) * x[0]);
    let (mut found, mut right) = ([0.0; 2], [0.0; 2]);
    gradient(|x| outer([x[0], x[1]])[0], &[1.5, 0.5], &mut found);
    gradient(plain, &[1.5, 0.5], &mut right);
    assert!(found.iter().zip(&right).all(|(found, right)| (found - right).abs() < 1e-12), "{found:?} {right:?}");
    let slope = recording(|tape| {
        let x = tape.input(1.5);
        for _ in 0..3 {
            let failing = || preaccumulate::<1>(|| if x > 0.0 { panic!("no") } else { [x] });
            assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
            tape.part(|| tape.seed(outer([x, x * 0.5])[0], 1.0));
        }
        assert_eq!(tape.statements(), 1);
        tape.adjoint(x)
    });
    gradient(|x| plain(&[x[0], x[0] * 0.5]), &[1.5], &mut found[..1]);
    assert!((slope - 3.0 * found[0]).abs() < 1e-12);
}

/// x y and x / y, computed by an external table.
fn table(x: Var, y: Var, held: &Rc<()>) -> [Var; 2] {
    let held = held.clone();
    let outputs = external(&[x, y], |x| {
        let (x, y) = (x[0], x[1]);
        let back = move |by_output: &[f64], by_input: &mut [f64]| {
            assert_eq!((by_output.len(), &by_input[..]), (2, &[0.0, 0.0][..]));
            by_input[0] = by_output[0] * y + by_output[1] / y;
            by_input[1] = by_output[0] * x - by_output[1] * x / (y * y);
            drop(held.clone());
        };
        (vec![x * y, x / y], back)
    });
    [outputs[0], outputs[1]]
}

#[test]
fn external_functions_agree_with_recorded_ones_everywhere() {
    let held = Rc::new(());
    let f = |x: &[Var], is_external: bool| {
        let mut outputs = Vec::new();
        let mut z = x[0].exp();
        for k in 0..20 {
            let [product, ratio] = match is_external {
                true => table(z, x[1] + k as f64, &held),
                false => [z * (x[1] + k as f64), z / (x[1] + k as f64)],
            };
            z = (product * ratio).sin() + x[2];
            outputs.push(z);
        }
        outputs
    };
    let (found, right) = (jacobian(|x| f(x, true), &[0.3, 2.0, 0.5]), jacobian(|x| f(x, false), &[0.3, 2.0, 0.5]));
    for (found, right) in found.0.iter().chain(&found.1).zip(right.0.iter().chain(&right.1)) {
        assert!((found - right).abs() <= 1e-12 * right.abs().max(1.0), "{found} {right}");
    }
    let (mut last, mut slopes) = (0.0, [0.0; 3]);
    recording(|tape| {
        let x = [0.3, 2.0, 0.5].map(|x| tape.input(x));
        let shared = x[0] * 1.0;
        for _ in 0..2 {
            tape.part(|| {
                let [y] = preaccumulate(|| [f(&[shared, x[1], x[2]], true)[19]]);
                last = y.value();
                tape.seed(y, 0.5);
            });
            assert_eq!(Rc::strong_count(&held), 1);
        }
        tape.sweep();
        slopes = x.map(|x| tape.adjoint(x));
    });
    assert_eq!(last, right.0[19]);
    for (found, right) in slopes.iter().zip(&right.1[57..]) {
        assert!((found - right).abs() <= 1e-12 * right.abs().max(1.0), "{found} {right}");
    }
    // Constants stay constants, and nothing is stored for them.
    let constants = table(Var::from(1.0), Var::from(2.0), &held);
    assert_eq!((constants.map(|x| x.value()), Rc::strong_count(&held)), ([2.0, 0.5], 1));
    assert!(constants.iter().all(|constant| !constant.is_active()));
}

#[test]
fn an_external_function_that_panics_leaves_the_tape_usable() {
    let failing = |x: Var| external(&[x], |x| (vec![x[0]], |_: &[f64], _: &mut [f64]| panic!("on the way back")))[0];
    for _ in 0..3 {
        assert!(catch_unwind(|| gradient_of(|[x]| failing(x * x), [2.0])).is_err());
        assert!(catch_unwind(|| jacobian(|x| vec![failing(x[0]), x[0]], &[2.0])).is_err());
        assert_eq!(gradient_of(|[x]| x * x, [3.0]), (9.0, [6.0]));
    }
    let slope = recording(|tape| {
        let x = tape.input(2.0);
        let part = || tape.part(|| tape.seed(failing(x), 1.0));
        assert!(catch_unwind(AssertUnwindSafe(part)).is_err());
        assert!(
            catch_unwind(AssertUnwindSafe(|| preaccumulate(|| [(0..9).fold(failing(x), |y, _| y * 2.0)]))).is_err()
        );
        tape.seed(x * x, 1.0);
        tape.sweep();
        tape.adjoint(x)
    });
    assert_eq!(slope, 4.0);
    // The pullback may itself take gradients.
    let inner = |x: Var| {
        external(&[x], |x| {
            let x = x[0];
            let back = move |dy: &[f64], dx: &mut [f64]| dx[0] = dy[0] * gradient_of(|[x]| x.sin(), [x]).1[0];
            (vec![x.sin()], back)
        })[0]
    };
    assert_eq!(gradient_of(|[x]| inner(x) * 2.0, [0.5]).1, [2.0 * 0.5f64.cos()]);
}

#[test]
fn the_first_number_that_is_not_finite_is_an_error_with_its_line() {
    let line = line!() + 4;
    let f = |x: &[Var]| {
        let y = x[0] * 2.0;
        // The value is finite, the slope is not.
        let z = y.sqrt();
        let w = z.recip();
        w.ln() + 1.0
    };
    let mut slopes = [0.0];
    assert_eq!(checked(|| gradient(f, &[2.0], &mut slopes)).unwrap(), 0.5f64.ln() + 1.0);
    let error = checked(|| gradient(f, &[0.0], &mut slopes)).unwrap_err();
    assert_eq!((error.kind(), error.line().map(|line| line.line())), (&ErrorKind::Anomaly, Some(line)), "{error}");
    // Overflow of a product of finite numbers, of a wide statement, of one with three arguments, and on other threads.
    type Function = fn(&[Var]) -> Var;
    let overflowing: [Function; 6] = [
        |x| x[0] * x[0],
        |x| Var::dot(x, x),
        |x| x[0].mul_add(x[0], x[0]),
        |x| Var::of(1.0, x, &[f64::NAN]),
        |x| external(x, |x| (vec![x[0] * x[0]], |_: &[f64], _: &mut [f64]| {}))[0],
        |x| sum_over(&[1.0, 2.0], x, |item, x| x[0] * x[0] * *item),
    ];
    for f in overflowing {
        assert!(checked(|| gradient(f, &[2.0], &mut slopes)).is_ok() || f(&[Var::from(2.0)]) == 1.0);
        let error = checked(|| gradient(f, &[1e200], &mut slopes)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Anomaly);
        assert!(error.line().is_some_and(|line| line.file().ends_with("recordings.rs")), "{error}");
        // Without checks, there is no error.
        gradient(f, &[1e200], &mut slopes);
    }
}

#[test]
fn listings_show_both_ends_and_the_beginnings_of_wide_statements() {
    let text = recording(|tape| {
        let x: Vec<Var> = (0..3).map(|k| tape.input(f64::from(k))).collect();
        let wide = Var::dot(&[x[0]; 9], &[Var::from(2.0); 9]);
        external(&[x[1], Var::from(1.0), x[2]], |_| (vec![0.0; 2], |_: &[f64], _: &mut [f64]| {}));
        (0..1000).fold(wide, |y, _| y * 0.5);
        tape.listing().to_string()
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 41, "{text}");
    assert_eq!(
        lines[2..7],
        [
            "#3 input",
            "#4 = 2 #1 + 2 #1 + 2 #1 + 2 #1 + 2 #1 + 2 #1 + 3 more",
            "#5 = output 0 of an external function of #2, #3",
            "#6 = output 1 of an external function of #2, #3",
            "#7 = 0.5 #4",
        ]
    );
    assert_eq!((lines[20], lines[40]), (".. 966 statements ..", "#1006 = 0.5 #1005"));
}
