//! Recordings within a limit of memory have the same bits as those without.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use wengert_engine::{Error, ErrorKind, catch};
use wengert_scalar::{
    Dual, Limit, Phase, Real, Tape, Var, checked, external, gradient, gradient_of, jacobian, preaccumulate, recording,
    recording_within, sum_over,
};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % n
    }
}

/// A folder that is removed at the end, and must be empty then.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wengert_scalar_{name}_{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path()).collect()
    }

    fn limit(&self, bytes: usize) -> Limit {
        Limit::bytes(bytes).folder(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let files = self.files();
        let _ = std::fs::remove_dir_all(&self.0);
        assert!(std::thread::panicking() || files.is_empty(), "{files:?}");
    }
}

/// A value that depends on all of `some` and stays small.
fn mixed(random: &mut Random, some: &[Var]) -> Var {
    match random.below(6) {
        0 => Var::dot(some, some).sin(),
        1 => some[0].mul_add(some[1], some[2]).tanh(),
        2 => (some[0] - some[1]) * 0.5,
        3 => preaccumulate(|| [(0..30).fold(some[0], |y, _| (y * some[1]).sin() + 0.1 * some[2])])[0].tanh(),
        4 => Real::max(some[0], some[1]) * some[2].cos(),
        _ => external(&some[..2], |x| {
            let slopes = [x[1], x[0]];
            (vec![x[0] * x[1]], move |dy: &[f64], dx: &mut [f64]| {
                // A pullback that differentiates by itself.
                let (_, [one]) = gradient_of(|[x]| x * 1.0, [3.0]);
                dx.iter_mut().zip(slopes).for_each(|(dx, slope)| *dx = one * slope * dy[0]);
            })
        })[0]
            .sin(),
    }
}

/// A random program with all that a tape can do: the bits of every number that it reads off, and the listing.
fn program(tape: &Tape<'_>, seed: u64, steps: usize) -> (Vec<u64>, String) {
    let (random, mut found) = (&mut Random(seed), Vec::new());
    let mut inputs: Vec<Var> = (0..5).map(|k| tape.input(0.3 + 0.1 * f64::from(k))).collect();
    let mut all = inputs.clone();
    let mut middle = (tape.position(), all[0]);
    for step in 0..steps {
        let recent = all.len().min(40);
        let mut some: Vec<Var> = (0..3).map(|_| all[all.len() - 1 - random.below(recent)]).collect();
        // Now and then something from long ago, and many at once.
        if random.below(10) == 0 {
            some[random.below(3)] = all[random.below(all.len())];
        }
        if random.below(500) == 0 {
            some.extend((0..300).map(|_| all[random.below(all.len())] * 0.01));
        }
        all.push(mixed(random, &some));
        if random.below(300) == 0 {
            let input = tape.input(0.5);
            inputs.push(input);
            all.push(input);
        }
        if random.below(400) == 0 {
            let (outer, length) = (all[all.len() - 1], random.below(2 * steps));
            let value = tape.part(|| {
                let late = tape.input(0.25);
                let y = (0..length).fold(outer, |y, k| if k % 50 == 0 { y * late } else { (y + outer).sin() });
                tape.part(|| tape.seed((y * late).cos(), 0.125));
                tape.seed(y, 0.5);
                y.value()
            });
            found.push(value);
        }
        if random.below(400) == 0 {
            let mut slopes = [0.0; 3];
            let x = [some[0].value(), some[1].value(), 0.5];
            let chain = |x: &[Var]| (0..1000).fold(x[0], |y, k| y * x[1] + x[2 - k % 2]).sin();
            found.push(gradient(chain, &x, &mut slopes));
            found.extend(slopes);
            let rows = jacobian(|x| (0..10).map(|k| chain(&x[k % 2..k % 2 + 3])).collect(), &[0.2, 0.3, 0.4, 0.5]);
            found.extend(rows.1);
        }
        if random.below(600) == 0 {
            let items: Vec<f64> = (0..40).map(f64::from).collect();
            all.push(sum_over(&items, &some[..3], |item, x| (x[0] * *item + x[1]).sin() * x[2]).tanh());
        }
        if step == steps / 2 {
            middle = (tape.position(), all[all.len() - 1]);
        }
    }
    let last = all[all.len() - 1];
    for output in [last, all[all.len() - 7]] {
        let mut slopes = vec![0.0; inputs.len()];
        tape.pull(output, &inputs, &mut slopes);
        found.extend(slopes);
    }
    tape.seed(last, 2.0);
    tape.seed(all[all.len() / 3], -1.0);
    tape.sweep_to(middle.0);
    found.push(tape.adjoint(middle.1));
    tape.sweep();
    found.extend(inputs.iter().map(|input| tape.adjoint(*input)));
    found.extend([tape.bytes() as f64, tape.statements() as f64]);
    (found.iter().map(|number| number.to_bits()).collect(), tape.listing().to_string())
}

#[test]
fn random_programs_have_the_same_bits_under_every_limit() {
    let folder = Folder::new("random");
    for seed in 0..3 {
        let steps = [300, 2000, 4500][seed as usize % 3];
        let free = recording(|tape| program(tape, seed, steps));
        // The last numbers are the adjoints of inputs, bytes and statements.
        assert!(free.0.iter().rev().skip(2).take(5).any(|bits| f64::from_bits(*bits) != 0.0));
        for bytes in [Limit::LEAST, 1 << 20] {
            let within = recording_within(folder.limit(bytes), |tape| program(tape, seed, steps));
            assert!(free == within, "seed {seed}, {bytes} bytes");
            assert!(folder.files().is_empty());
        }
    }
    // With checks on, and a limit inside a limit.
    let free = recording(|tape| program(tape, 1, 2000));
    let checks = checked(|| recording_within(folder.limit(Limit::LEAST), |tape| program(tape, 1, 2000))).unwrap();
    let nested = recording_within(folder.limit(Limit::LEAST), |tape| {
        let x = tape.input(1.0);
        let y = (0..30_000).fold(x, |y, _| y * 1.0);
        let nested = recording_within(folder.limit(Limit::LEAST), |tape| program(tape, 1, 2000));
        tape.seed(y, 3.0);
        tape.sweep();
        assert_eq!(tape.adjoint(x), 3.0);
        nested
    });
    // The statements of a nested recording have other numbers.
    assert!(free == checks && free.0 == nested.0);
}

/// 200 000 statements of the logistic map.
fn logistic<T: Real>(rate: T) -> T {
    (0..100_000).fold(T::lit(0.3), |x, _| rate * x * (T::lit(1.0) - x))
}

#[test]
fn threads_and_dual_numbers_of_variables_are_under_their_own_limits() {
    let folder = Folder::new("threads");
    let free = gradient_of(|[rate]| logistic(rate), [2.5]);
    std::thread::scope(|scope| {
        for number in 1..4 {
            let limit = Limit::LEAST * number;
            let path = folder.0.clone();
            scope.spawn(move || {
                let limit = Limit::bytes(limit).folder(path);
                assert_eq!(recording_within(limit, |_| gradient_of(|[rate]| logistic(rate), [2.5])), free);
            });
        }
    });
    let second = |[rate]: [Var; 1]| logistic(Dual::new(rate, [Var::lit(1.0)])).tangents()[0];
    let free = gradient_of(second, [2.5]);
    assert_eq!(recording_within(folder.limit(1 << 20), |_| gradient_of(second, [2.5])), free);
}

#[test]
fn faults_of_files_are_typed_errors_and_the_call_can_be_repeated() {
    let folder = Folder::new("faults");
    let (value, [free]) = gradient_of(|[rate]| logistic(rate), [2.5]);
    let faults: [&dyn Fn(&Path); 3] = [
        &|path| {
            let mut bytes = std::fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 64;
            std::fs::write(path, bytes).unwrap();
        },
        &|path| std::fs::File::options().write(true).open(path).unwrap().set_len(10_000).unwrap(),
        &|path| std::fs::remove_file(path).unwrap(),
    ];
    let mut slopes = [7.0];
    for fault in faults {
        let path = RefCell::new(PathBuf::new());
        let error: Error = catch(|| {
            recording_within(folder.limit(1 << 20), |_| {
                gradient(
                    |x| {
                        let y = logistic(x[0]);
                        path.replace(folder.files().remove(0));
                        fault(&path.borrow());
                        y
                    },
                    &[2.5],
                    &mut slopes,
                )
            })
        })
        .unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::File);
        assert!(error.message().contains(&path.borrow().display().to_string()), "{error}");
        assert_eq!((error.operation(), slopes), ("recording_within", [7.0]));
        assert!(error.line().is_some_and(|line| line.file().ends_with("limits.rs")), "{error}");
        assert!(error.suggestion().is_some() && folder.files().is_empty());
    }
    assert_eq!(recording_within(folder.limit(1 << 20), |_| gradient(|x| logistic(x[0]), &[2.5], &mut slopes)), value);
    assert_eq!(slopes, [free]);
}

#[test]
fn limits_and_folders_that_cannot_do_are_errors_before_anything_runs() {
    let refused = |limit: Limit| {
        let error = catch(|| recording_within(limit, |_| unreachable!("nothing runs"))).unwrap_err();
        assert!(error.line().unwrap().to_string().contains("limits.rs"), "{error}");
        error
    };
    for allowed in [0, Limit::LEAST - 1] {
        let error = refused(allowed.into());
        assert_eq!(error.kind(), &ErrorKind::Budget { needed: Limit::LEAST, allowed });
        assert!(error.message().contains(&Limit::LEAST.to_string()));
    }
    let missing = std::env::temp_dir().join("wengert_no_such_folder");
    for folder in [PathBuf::new(), missing.clone()] {
        assert_eq!(refused(Limit::bytes(1 << 20).folder(folder)).kind(), &ErrorKind::Argument);
    }
    assert!(refused(Limit::bytes(1 << 20).folder(&missing)).message().contains("wengert_no_such_folder"));
    let full = refused(Limit::bytes(1 << 20).statements(usize::MAX >> 8));
    assert_eq!(full.kind(), &ErrorKind::File);
    assert!(full.message().contains("bytes left"), "{full}");
}

#[test]
fn a_long_recording_shows_its_progress_in_both_phases() {
    let told = Rc::new(Cell::new([0; 2]));
    let seen = told.clone();
    let limit = Limit::bytes(1 << 20).statements(400_000).progress(move |progress| {
        let mut counts = seen.get();
        counts[usize::from(progress.phase == Phase::Sweep)] += 1;
        seen.set(counts);
        assert!(progress.total >= Some(progress.done) && progress.memory <= 1 << 20);
    });
    recording_within(limit, |_| gradient_of(|[rate]| logistic(rate), [2.5]));
    let [recorded, swept] = told.get();
    assert!(recorded > 50 && swept > 50, "{recorded} {swept}");
}

#[test]
fn a_panic_removes_the_files_and_leaves_the_tape_ready() {
    let folder = Folder::new("panic");
    let outcome = std::panic::catch_unwind(|| {
        recording_within(folder.limit(1 << 20), |tape| {
            tape.seed(logistic(tape.input(2.5)), 1.0);
            assert!(!folder.files().is_empty());
            tape.part(|| {
                tape.seed(logistic(tape.input(2.5)), 1.0);
                std::panic::resume_unwind(Box::new(()))
            })
        })
    });
    assert!(outcome.is_err() && folder.files().is_empty());
    assert_eq!(gradient_of(|[x]| x * x, [3.0]), (9.0, [6.0]));
}
