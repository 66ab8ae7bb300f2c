use super::*;

fn stop(misuse: Misuse, _line: &'static Location<'static>) -> ! {
    panic!("{misuse}")
}

fn ignore(_: Place) {}

fn sweep_to_start(recording: &Recording, seed: Place) -> Adjoints<f64> {
    let mut adjoints = Adjoints::default();
    adjoints.add(seed, &1.0, stop);
    adjoints.sweep(recording.start(), stop);
    adjoints
}

fn all_of(adjoints: &mut Adjoints<f64>, inputs: Inputs) -> Vec<f64> {
    let mut all = vec![0.0; inputs.places().count()];
    adjoints.read(inputs, &mut all, stop);
    all
}

/// Repeats z = x y; x = y + c z; y = z - x, and computes the derivatives of the last y with dual numbers for comparison.
fn recurrence(steps: usize) -> ([f64; 2], [f64; 2]) {
    record(|recording| {
        let inputs = [recording.input(stop), recording.input(stop)];
        let (mut x, mut y) = ((1e-3, inputs[0], [1.0, 0.0]), (2e-3, inputs[1], [0.0, 1.0]));
        let c = 0.1;
        for _ in 0..steps {
            let combine = |a: f64, da: [f64; 2], b: f64, db: [f64; 2]| [a * da[0] + b * db[0], a * da[1] + b * db[1]];
            let z = (x.0 * y.0, push2(0.0, [y.0, x.0], [x.1, y.1], stop), combine(y.0, x.2, x.0, y.2));
            let scaled = push1(0.0, c, z.1, stop);
            x = (y.0 + c * z.0, push2(0.0, [1.0, 1.0], [y.1, scaled], stop), combine(1.0, y.2, c, z.2));
            y = (z.0 - x.0, push2(0.0, [1.0, -1.0], [z.1, x.1], stop), combine(1.0, z.2, -1.0, x.2));
        }
        let mut adjoints = sweep_to_start(recording, y.1);
        (inputs.map(|input| adjoints.of(input, stop)), y.2)
    })
}

#[test]
fn a_sweep_gives_what_dual_numbers_give_in_one_chunk_and_in_many() {
    for steps in [0, 1, 10, 5000, 100_000] {
        let (swept, dual) = recurrence(steps);
        for (swept, dual) in swept.iter().zip(&dual) {
            assert!((swept - dual).abs() <= 1e-9 * dual.abs().max(1e-300), "{steps}: {swept} {dual}");
        }
    }
}

#[test]
fn a_square_has_one_argument() {
    record(|recording| {
        let x = recording.input(stop);
        let square = push2(9.0, [3.0, 3.0], [x, x], stop);
        assert_eq!(recording.bytes(), 1 + 13);
        assert_eq!(sweep_to_start(recording, square).of(x, stop), 6.0);
    });
}

#[test]
fn a_statement_of_two_arguments_takes_25_bytes_in_every_chunk() {
    record(|around| {
        let [x, y] = [(); 2].map(|()| around.input(stop));
        (0..10_000).fold(y, |y, _| push2(0.0, [1.0, 1.0], [x, y], stop));
        assert_eq!(around.bytes(), 2 + 10_000 * 25);
        record(|recording| {
            let [x, y] = [(); 2].map(|()| recording.input(stop));
            (0..100_000).fold(y, |y, _| push2(0.0, [1.0, 1.0], [x, y], stop));
            assert_eq!(recording.bytes(), 2 + 100_000 * 25);
        });
        assert_eq!(around.bytes(), 2 + 10_000 * 25);
    });
}

#[test]
fn constants_take_no_room() {
    record(|recording| {
        let x = recording.input(stop);
        let before = recording.position();
        assert_eq!(push1(0.0, 2.0, Place::NONE, stop), Place::NONE);
        assert_eq!(push2(0.0, [2.0, 3.0], [Place::NONE; 2], stop), Place::NONE);
        assert_eq!(push_wide(0.0, 3, [(1.0, Place::NONE); 3], stop), Place::NONE);
        assert_eq!(recording.position(), before);
        let y = push2(0.0, [2.0, 3.0], [Place::NONE, x], stop);
        let z = push2(0.0, [5.0, 7.0], [y, Place::NONE], stop);
        assert_eq!(sweep_to_start(recording, z).of(x, stop), 15.0);
    });
}

#[test]
fn statements_of_any_width_are_swept() {
    for width in [1, 2, 3, 254, 255, 256, 1000, 40_000] {
        let found = record(|recording| {
            let inputs: Vec<Place> = (0..width).map(|_| recording.input(stop)).collect();
            let partials: Vec<f64> = (0..width).map(|i| i as f64 - 3.0).collect();
            let first = push_wide(0.0, width, partials.iter().copied().zip(inputs.iter().copied()), stop);
            let second = push_wide(0.0, width, partials.iter().copied().zip(inputs.iter().copied()), stop);
            let y = push2(0.0, [1.0, 10.0], [first, second], stop);
            let mut adjoints = sweep_to_start(recording, y);
            inputs.iter().map(|input| adjoints.of(*input, stop)).collect::<Vec<f64>>()
        });
        let right: Vec<f64> = (0..width).map(|i| 11.0 * (i as f64 - 3.0)).collect();
        assert_eq!(found, right);
    }
}

#[test]
fn several_adjoints_are_swept_at_once() {
    let found = record(|recording| {
        let x = recording.input(stop);
        let (y, z) = (push1(0.0, 2.0, x, stop), push1(0.0, 3.0, x, stop));
        let mut adjoints = Adjoints::<[f64; 2]>::default();
        adjoints.add(y, &[1.0, 0.0], stop);
        adjoints.add(z, &[0.0, 1.0], stop);
        adjoints.sweep(recording.start(), stop);
        adjoints.of(x, stop)
    });
    assert_eq!(found, [2.0, 3.0]);
}

#[test]
fn parts_are_forgotten_and_what_they_passed_on_stays() {
    let slope = record(|recording| {
        let x = recording.input(stop);
        let y = push1(0.0, 3.0, x, stop);
        let mut adjoints = Adjoints::<f64>::default();
        let before = recording.position();
        for path in 1..=4 {
            part(|_| {
                let z = push_wide(0.0, 300, [(f64::from(path), y); 300], stop);
                let w = (0..20_000).fold(z, |w, _| push1(0.0, 1.0, w, stop));
                adjoints.add(w, &1.0, stop);
                adjoints.sweep(before, stop);
            });
            assert_eq!(recording.position(), before);
        }
        adjoints.sweep(recording.start(), stop);
        adjoints.of(x, stop)
    });
    assert_eq!(slope, 3.0 * 300.0 * 10.0);
}

#[test]
fn places_of_others_are_refused() {
    let caught = |f: &dyn Fn()| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        payload.downcast_ref::<String>().cloned().unwrap()
    };
    let ended = record(|recording| recording.input(stop));
    assert!(caught(&|| ignore(push1(0.0, 1.0, ended, stop))).contains("has ended"));
    record(|recording| {
        let x = recording.input(stop);
        assert!(caught(&|| ignore(push2(0.0, [1.0, 1.0], [x, ended], stop))).contains("has ended"));
        record(|_| assert!(caught(&|| ignore(push1(0.0, 1.0, x, stop))).contains("around this one")));
        let there = std::thread::scope(|scope| {
            let other = scope.spawn(|| record(|_| caught(&|| ignore(push1(0.0, 1.0, x, stop)))));
            other.join().unwrap()
        });
        assert!(there.contains("another thread"));
        let forgotten = part(|_| push1(0.0, 1.0, x, stop));
        let refuses = |place: Place| {
            let uses: [&dyn Fn(); 4] = [
                &|| ignore(push1(0.0, 1.0, place, stop)),
                &|| ignore(push3(0.0, [1.0; 3], [x, x, place], stop)),
                &|| ignore(push_wide(0.0, 2, [(1.0, x), (1.0, place)], stop)),
                &|| Adjoints::<f64>::default().add(place, &1.0, stop),
            ];
            uses.iter().all(|used| caught(used).contains("has ended"))
        };
        assert!(refuses(forgotten));
        // Even if other statements have its index: one of the recording, and one of another part.
        let others: Vec<Place> = (0..3).map(|_| push1(0.0, 1.0, x, stop)).collect();
        assert_eq!(others[0].index(), forgotten.index());
        assert!(refuses(forgotten));
        let forgotten = part(|_| push1(0.0, 1.0, x, stop));
        part(|_| {
            assert_eq!(push1(0.0, 1.0, x, stop).index(), forgotten.index());
            assert!(refuses(forgotten));
        });
        // A nested recording does not affect this one.
        record(|_| assert!(caught(&|| recording.expect_running(stop)).contains("inside of its own")));
        // The enclosing recording continues after all that.
        let y = push1(0.0, 2.0, x, stop);
        assert_eq!(sweep_to_start(recording, y).of(x, stop), 2.0);
    });
}

#[test]
fn inputs_met_on_the_way_are_cleared_in_every_run() {
    record(|recording| {
        let x = [recording.input(stop), recording.input(stop)];
        let y = push2(0.0, [2.0, 3.0], x, stop);
        // A nested recording, with inputs, a wide statement and more statements than a chunk, does not change this one.
        let inner = record(|inner| {
            let all: Vec<Place> = (0..300).map(|_| inner.input(stop)).collect();
            let sum = push_wide(0.0, 300, all.iter().map(|x| (1.0, *x)), stop);
            let last = (0..20_000).fold(sum, |y, _| push1(0.0, 1.0, y, stop));
            let mut adjoints = sweep_to_start(inner, last);
            let slope = adjoints.of(all[299], stop);
            inner.clear(&mut adjoints);
            assert_eq!(adjoints.of(all[0], stop), 0.0);
            slope
        });
        assert_eq!(inner, 1.0);
        let late = recording.input(stop);
        let z = push2(0.0, [5.0, 7.0], [y, late], stop);
        let mut adjoints = Adjoints::<f64>::default();
        for _ in 0..2 {
            adjoints.add(z, &1.0, stop);
            adjoints.sweep(recording.start(), stop);
            assert_eq!([x[0], x[1], late].map(|place| adjoints.of(place, stop)), [10.0, 15.0, 7.0]);
            recording.clear(&mut adjoints);
            assert_eq!([x[0], x[1], late].map(|place| adjoints.of(place, stop)), [0.0; 3]);
        }
    });
}

#[test]
fn a_panic_leaves_the_tape_ready() {
    let caught = std::panic::catch_unwind(|| {
        record(|recording| {
            let x = recording.input(stop);
            (0..20_000).fold(x, |y, _| push1(0.0, 1.0, y, stop));
            panic!("by itself");
        })
    });
    assert!(caught.is_err());
    let (swept, dual) = recurrence(10);
    assert!((swept[0] - dual[0]).abs() <= 1e-12 * dual[0].abs());
}

#[test]
fn statements_of_three_arguments_are_swept_in_every_chunk() {
    let slopes = record(|recording| {
        let x = [(); 3].map(|()| recording.input(stop));
        // Repeats y = x + 0.5 z + y, among statements of other widths.
        let mut y = x[0];
        for step in 0..50_000 {
            y = match step % 4 {
                0 => push3(0.0, [0.0, 1.0, 0.5], [x[0], y, x[1]], stop),
                1 => push3(0.0, [1.0, 1.0, 1.0], [x[2], y, Place::NONE], stop),
                2 => push3(0.0, [0.25, 0.25, 0.5], [y, y, y], stop),
                _ => push1(0.0, 1.0, y, stop),
            };
        }
        let mut adjoints = sweep_to_start(recording, y);
        x.map(|x| adjoints.of(x, stop))
    });
    assert_eq!(slopes, [1.0, 6250.0, 12_500.0]);
}

#[test]
fn nothing_is_recorded_while_arguments_are_given() {
    record(|recording| {
        let x = recording.input(stop);
        let attempts: [&dyn Fn(); 4] =
            [&|| ignore(push1(0.0, 1.0, x, stop)), &|| ignore(recording.input(stop)), &|| record(|_| {}), &|| {
                ignore(push_wide(0.0, 1, [(1.0, x)], stop))
            }];
        for attempt in attempts {
            let arguments = (0..4).map(|k| {
                if k == 2 {
                    attempt();
                }
                (f64::from(k), x)
            });
            let before = recording.position();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| push_wide(0.0, 4, arguments, stop)));
            assert!(outcome.is_err());
            assert_eq!(recording.position(), before);
        }
        let y = push_wide(0.0, 2, [(2.0, x), (3.0, x), (5.0, x)], stop);
        assert_eq!(sweep_to_start(recording, y).of(x, stop), 5.0);
    });
}

#[test]
fn a_part_knows_what_it_reads_and_may_stay() {
    record(|recording| {
        let x = [(); 3].map(|()| recording.input(stop));
        let (y, mut reads) = (push1(0.0, 2.0, x[1], stop), Vec::new());
        let z = part(|part| {
            let first = push2(0.0, [1.0, 1.0], [y, x[2]], stop);
            let last = (0..30_000).fold(first, |z, _| push2(0.0, [1.0, 0.0], [z, x[2]], stop));
            part.reads(&mut reads, stop);
            assert_eq!((part.bytes(), part.has_inputs()), (30_001 * 25, false));
            part.keep();
            part.give(last)
        });
        assert_eq!(reads, [x[2], y]);
        assert_eq!(sweep_to_start(recording, z).of(x[1], stop), 2.0);
        part(|part| {
            recording.input(stop);
            assert!(part.has_inputs());
        });
    });
}

#[test]
fn parts_that_stay_inside_of_parts_leave_no_list_behind() {
    let listed = || CHUNKS.with_borrow(|chunks| chunks.stretches.len());
    record(|recording| {
        let x = recording.input(stop);
        part(|_| {
            let mut y = push1(0.0, 2.0, x, stop);
            let mut late = Vec::new();
            for round in 0..1000 {
                y = part(|part| {
                    part.keep();
                    let z = push2(0.0, [1.0, 1.0], [y, x], stop);
                    // Some of them have inputs, which can be read later.
                    if round % 100 == 0 {
                        super::part(|inner| {
                            inner.keep();
                            late.push(recording.input(stop));
                        });
                    }
                    part.give(z)
                });
            }
            assert!(listed() <= 20, "{}", listed());
            let sum = late.iter().fold(y, |sum, late| push2(0.0, [1.0, 1.0], [sum, *late], stop));
            let mut adjoints = sweep_to_start(recording, sum);
            assert_eq!((adjoints.of(x, stop), adjoints.of(late[3], stop)), (1002.0, 1.0));
        });
        assert_eq!(listed(), 0);
    });
}

#[test]
fn a_recording_with_more_statements_than_numbers_is_refused() {
    let outcome = std::panic::catch_unwind(|| {
        record(|recording| {
            let x = recording.input(stop);
            // Pretend that almost all numbers are used up.
            let tape = Tape::here();
            tape.next.set(u32::MAX - 10);
            tape.end.set(u32::MAX - 10);
            let mut last = x;
            for count in 0..20 {
                assert!(count < 11);
                last = push1(0.0, 1.0, last, stop);
            }
        })
    });
    assert!(outcome.unwrap_err().downcast_ref::<String>().unwrap().contains("at most 4294967294"));
    let (swept, dual) = recurrence(10);
    assert!((swept[0] - dual[0]).abs() <= 1e-12 * dual[0].abs());
}

#[test]
fn many_threads_record_tiny_functions_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..16 {
            scope.spawn(move || {
                for round in 0..2000 {
                    let (a, b) = (f64::from(thread), f64::from(round));
                    let slope = record(|recording| {
                        let x = recording.input(stop);
                        let y = push2(0.0, [a, b], [x, push1(0.0, 2.0, x, stop)], stop);
                        sweep_to_start(recording, y).of(x, stop)
                    });
                    assert_eq!(slope, a + 2.0 * b);
                }
            });
        }
    });
}

#[test]
fn functions_of_others_pass_adjoints_on_among_statements_of_every_chunk() {
    // There are wide statements in between, and a chunk may end anywhere.
    let slope = record(|recording| {
        let x = recording.input(stop);
        let mut y = x;
        for step in 0..40 {
            let mut outputs = [Place::NONE; 3];
            push_external(
                &[0.0; 3],
                &[y, Place::NONE, x],
                &mut outputs,
                Box::new(|dy, dx| dx[0] = dy.iter().sum()),
                stop,
            );
            y = push_wide(0.0, 300, (0..300).map(|k| (if k < 2 { 0.5 } else { 0.0 }, outputs[k % 3])), stop);
            y = (0..step * 50).fold(y, |y, _| push2(0.0, [0.5, 0.5], [y, y], stop));
        }
        let mut many = Adjoints::<[f64; 2]>::default();
        many.add(y, &[1.0, -2.0], stop);
        many.sweep(recording.start(), stop);
        assert_eq!(many.of(x, stop), [1.0, -2.0]);
        sweep_to_start(recording, y).of(x, stop)
    });
    assert_eq!(slope, 1.0);
}

#[test]
fn functions_of_others_are_dropped_with_their_part_and_may_record_or_panic() {
    let held = Rc::new(());
    record(|recording| {
        let x = recording.input(stop);
        let push = |pullback: Box<Pullback>| {
            let mut y = [Place::NONE];
            push_external(&[0.0], &[x], &mut y, pullback, stop);
            y[0]
        };
        let own = held.clone();
        part(|_| {
            push(Box::new(move |_, _| drop(own.clone())));
            assert_eq!(Rc::strong_count(&held), 2);
        });
        assert_eq!(Rc::strong_count(&held), 1);
        // A captured value may record when it is dropped.
        struct Records;
        impl Drop for Records {
            fn drop(&mut self) {
                recurrence(10_000);
            }
        }
        let before = recording.position();
        let captured = Records;
        part(|_| push(Box::new(move |_, dx| dx[0] = size_of_val(&captured) as f64)));
        assert_eq!(recording.position(), before);
        let records = push(Box::new(|dy, dx| {
            let (swept, _) = recurrence(10_000);
            dx[0] = dy[0] + swept[0] * 0.0;
        }));
        let fails = push(Box::new(|_, _| panic!("in a pullback")));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sweep_to_start(recording, fails))).is_err());
        let y = push1(0.0, 2.0, records, stop);
        assert_eq!(sweep_to_start(recording, y).of(x, stop), 2.0);
    });
}

#[test]
fn statements_that_are_looked_at_are_the_same() {
    let found = checked(|| {
        statements_of_three_arguments_are_swept_in_every_chunk();
        statements_of_any_width_are_swept();
        parts_are_forgotten_and_what_they_passed_on_stays();
        functions_of_others_pass_adjoints_on_among_statements_of_every_chunk();
        recurrence(10_000)
    });
    assert_eq!(found, recurrence(10_000));
    // Checks start and stop in the middle of a recording, inside and around parts.
    record(|recording| {
        let x = recording.input(stop);
        let mut y = push1(0.0, 2.0, x, stop);
        for _ in 0..3 {
            y = checked(|| push3(0.0, [0.5, 0.25, 0.25], [y; 3], stop));
            part(|_| checked(|| (0..9000).fold(y, |y, _| push3(0.0, [1.0; 3], [x, y, y], stop))));
            checked(|| part(|_| (0..9000).fold(y, |y, _| push2(0.0, [1.0; 2], [x, y], stop))));
            y = (0..9000).fold(y, |y, _| push3(0.0, [0.5, 0.25, 0.25], [y; 3], stop));
        }
        assert_eq!(recording.bytes(), 1 + 13 + 3 * 9001 * 37);
        assert_eq!(sweep_to_start(recording, y).of(x, stop), 2.0);
    });
}

#[test]
fn the_first_statement_that_is_not_finite_is_told() {
    let told = |value: f64, partial: f64| {
        let outcome = std::panic::catch_unwind(|| {
            checked(|| {
                record(|recording| {
                    let x = recording.input(stop);
                    let y = push2(1.0, [1.0, 2.0], [x, x], stop);
                    push1(value, partial, y, stop);
                });
            });
        });
        assert!(!is_checked());
        outcome.map_err(|payload| payload.downcast_ref::<String>().cloned().unwrap())
    };
    assert_eq!(told(1.0, 2.0), Ok(()));
    assert_eq!(told(f64::INFINITY, 2.0), Err("the value of a number is inf".into()));
    assert_eq!(told(0.0, f64::INFINITY), Err("the slope of a number is inf, its value 0".into()));
}

#[test]
fn a_walk_sees_every_statement_of_its_recording() {
    record(|around| {
        let x = around.input(stop);
        (0..10).fold(x, |y, _| push2(0.0, [1.0, 1.0], [x, y], stop));
        push_wide(0.0, 300, [(1.0, x); 300], stop);
        record(|recording| {
            let [x, y] = [(); 2].map(|()| recording.input(stop));
            let y = (0..20_000).fold(y, |y, _| push2(0.0, [1.0, 2.0], [x, y], stop));
            push_wide(0.0, 300, [(3.0, y); 300], stop);
            push_external(&[0.0; 2], &[x, Place::NONE], &mut [Place::NONE; 2], Box::new(|_, _| {}), stop);
            recording.input(stop);
            let (mut counts, mut expected) = ([0; 3], x.index());
            recording.walk(0..usize::MAX, stop, |index, statement| {
                assert_eq!(index, expected);
                expected += 1;
                match statement {
                    Statement::Input => counts[0] += 1,
                    Statement::Computed([a, b], partials) => {
                        assert_eq!(([*a, *b], partials), ([x.index(), index - 1], &[1.0, 2.0][..]));
                        counts[1] += 1;
                    }
                    Statement::Computed(arguments, partials) => {
                        assert!(arguments.iter().all(|argument| *argument == y.index()) && partials == [3.0; 300]);
                    }
                    Statement::External(output, inputs) => {
                        assert_eq!((output, inputs), (counts[2], &[x.index(), 0][..]));
                        counts[2] += 1;
                    }
                }
            });
            assert_eq!((counts, expected), ([3, 20_000, 2], Tape::here().next.get()));
        });
    });
}

#[test]
fn many_inputs_at_once_are_as_many_one_by_one() {
    // More inputs than a chunk holds, in a recording that begins with others, and again with checks on.
    const COUNT: usize = 20_000;
    let slopes = || {
        record(|recording| {
            let first = recording.inputs(3, stop);
            let none = recording.inputs(0, stop);
            assert_eq!(none.places().count(), 0);
            let y = push2(0.0, [2.0, 3.0], [first.places().nth(1).unwrap(), first.places().nth(2).unwrap()], stop);
            let many = recording.inputs(COUNT, stop);
            let late = recording.input(stop);
            assert_eq!(late.index() as usize, y.index() as usize + COUNT + 1);
            let slopes = many.places().enumerate().map(|(k, x)| (k as f64, x)).chain([(5.0, y), (7.0, late)]);
            let z = push_wide(0.0, COUNT + 2, slopes, stop);
            let mut adjoints = Adjoints::<f64>::default();
            let mut found = Vec::new();
            for _ in 0..2 {
                adjoints.add(z, &1.0, stop);
                adjoints.sweep(recording.start(), stop);
                assert_eq!(all_of(&mut adjoints, first), [0.0, 10.0, 15.0]);
                assert_eq!((all_of(&mut adjoints, none).len(), adjoints.of(late, stop)), (0, 7.0));
                found = all_of(&mut adjoints, many);
                recording.clear(&mut adjoints);
                assert!(adjoints.values.iter().all(|adjoint| *adjoint == 0.0));
            }
            found
        })
    };
    let expected: Vec<f64> = (0..COUNT).map(|k| k as f64).collect();
    assert_eq!(slopes(), expected);
    assert_eq!(checked(slopes), expected);
}

#[test]
fn inputs_of_a_recording_that_has_ended_are_refused() {
    let inputs = record(|recording| recording.inputs(2, stop));
    let mut adjoints = Adjoints::<f64>::default();
    assert!(std::panic::catch_unwind(move || all_of(&mut adjoints, inputs).len()).is_err());
}

#[test]
fn numbers_of_stretches_that_come_to_their_end_begin_anew_without_0() {
    let tape = Tape::here();
    tape.numbers.set((u32::MAX, 0));
    let last = record(|recording| {
        let x = recording.input(stop);
        assert_eq!(x.stretch(), Stretch::numbered(u32::MAX));
        let y = push1(0.0, 2.0, x, stop);
        assert_eq!(sweep_to_start(recording, y).of(x, stop), 2.0);
        y
    });
    record(|recording| {
        let x = recording.input(stop);
        assert!(x.stretch() > Stretch::NONE && x.stretch() < last.stretch());
        assert_eq!(misuse(last), Some(Misuse::Ended));
        let y = push1(0.0, 3.0, x, stop);
        assert_eq!(sweep_to_start(recording, y).of(x, stop), 3.0);
    });
}

/// A thread-local that is older than the tape is destroyed after it, and records then. Every kind of statement is refused, and the failure
/// can be caught.
#[test]
fn a_tape_that_was_destroyed_refuses_statements() {
    type Refusals = Vec<String>;
    struct Late(std::sync::mpsc::Sender<Refusals>, Cell<Place>);
    impl Drop for Late {
        fn drop(&mut self) {
            let refusal = |f: &dyn Fn(&Recording)| {
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| record(f)));
                caught.unwrap_err().downcast_ref::<String>().unwrap().clone()
            };
            let x = Place::NONE;
            let refusals = [
                refusal(&|recording| ignore(recording.input(stop))),
                refusal(&|recording| ignore(recording.inputs(10, stop).places().next().unwrap())),
                refusal(&|_| ignore(push1(1.0, 1.0, self.1.get(), stop))),
                refusal(&|_| part(|_| checked(|| record(|recording| ignore(recording.input(stop)))))),
            ];
            // A constant is not a statement.
            record(|_| ignore(push2(1.0, [1.0, 1.0], [x, x], stop)));
            self.0.send(refusals.to_vec()).unwrap();
        }
    }
    thread_local! { static LATE: std::cell::OnceCell<Late> = const { std::cell::OnceCell::new() }; }
    for steps in [0, 10, 100_000] {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            LATE.with(|late| late.set(Late(sender, Place::NONE.into())).ok().unwrap());
            recurrence(steps);
            let ended = record(|recording| recording.input(stop));
            LATE.with(|late| late.get().unwrap().1.set(ended));
        });
        thread.join().unwrap();
        let refusals = receiver.recv().unwrap();
        assert!(refusals[..3].iter().all(|refusal| *refusal == Misuse::Destroyed.to_string()), "{refusals:?}");
    }
}

/// A tape that is first used while its thread ends works normally.
#[test]
fn a_tape_can_begin_while_its_thread_ends() {
    struct Late(std::sync::mpsc::Sender<[[f64; 2]; 2]>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.send(recurrence(100).into()).unwrap();
        }
    }
    thread_local! { static LATE: std::cell::OnceCell<Late> = const { std::cell::OnceCell::new() }; }
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || LATE.with(|late| late.set(Late(sender)).ok().unwrap()));
    thread.join().unwrap();
    assert_eq!(receiver.recv().unwrap(), <[[f64; 2]; 2]>::from(recurrence(100)));
}

#[test]
#[should_panic(expected = "out of memory")]
fn more_arguments_than_can_be_counted_have_no_room() {
    record(|recording| {
        let x = recording.input(stop);
        push_wide(0.0, 1 << 62, [(1.0, x)], stop);
    });
}
