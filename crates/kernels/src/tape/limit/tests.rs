use super::*;
use crate::spill::Fault;
use crate::tape::{Adjoints, Inputs, Place, part, push_external, push_wide, push1, push2};
use std::path::Path;

thread_local! {
    static STOPPED: RefCell<Option<Misuse>> = const { RefCell::new(None) };
}

fn stop(misuse: Misuse, _line: &'static std::panic::Location<'static>) -> ! {
    STOPPED.set(Some(misuse.clone()));
    panic!("{misuse}")
}

/// The failure of `f`.
fn failure(f: impl FnOnce()) -> Failure {
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err());
    match STOPPED.take() {
        Some(Misuse::Limit(failure)) => *failure,
        other => panic!("{other:?}"),
    }
}

/// A folder that is removed at the end, and must be empty then.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wengert_tape_{name}_{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let files = self.files();
        let _ = std::fs::remove_dir_all(&self.0);
        assert!(std::thread::panicking() || files.is_empty(), "{files:?}");
    }
}

/// y = y + x / 2, and so on; the slopes are 1 and n / 2.
fn chain(recording: &Recording, steps: usize) -> (Inputs, Place) {
    let inputs = recording.inputs(2, stop);
    let (x, y) = (inputs.places().next().unwrap(), inputs.places().nth(1).unwrap());
    (inputs, (0..steps).fold(y, |y, _| push2(0.0, [1.0, 0.5], [y, x], stop)))
}

fn pulled(recording: &Recording, (inputs, y): (Inputs, Place)) -> [f64; 2] {
    let (mut adjoints, mut slopes) = (Adjoints::<f64>::default(), [0.0; 2]);
    adjoints.add(y, &1.0, stop);
    adjoints.sweep(recording.start(), stop);
    adjoints.read(inputs, &mut slopes, stop);
    slopes
}

#[test]
fn memory_stays_within_the_limit_and_the_disk_has_the_rest() {
    let folder = Folder::new("memory");
    for bytes in [Limit::LEAST, 1 << 20, 3_000_000] {
        let told = Rc::new(RefCell::new(Vec::new()));
        let seen = told.clone();
        let limit = Limit::bytes(bytes).folder(&folder.0).progress(move |progress| seen.borrow_mut().push(progress));
        let slopes = record_within(limit, stop, |recording| {
            let chain = chain(recording, 300_000);
            pulled(recording, chain)
        });
        assert_eq!(slopes, [150_000.0, 1.0]);
        let told = told.borrow();
        let most = told.iter().map(|progress| progress.memory).max().unwrap();
        assert!(most <= bytes && 2 * most > bytes, "{most} of {bytes}");
        let disk = told.iter().map(|progress| progress.disk).max().unwrap() as usize;
        assert!(disk + bytes > 25 * 300_000 && disk < 25 * 300_000, "{disk}");
        let last = told.last().unwrap();
        assert_eq!((last.phase, last.done, last.total), (Phase::Sweep, 300_000, Some(300_000)));
        assert!(told.len() >= 2 * 25 * 300_000 / bytes);
    }
}

#[test]
fn files_that_were_cut_changed_or_removed_are_failures_with_the_path() {
    let folder = Folder::new("faults");
    let faults: [&dyn Fn(&Path); 3] = [
        &|path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes[1000] ^= 1;
            std::fs::write(path, bytes).unwrap();
        },
        &|path| std::fs::File::options().write(true).open(path).unwrap().set_len(500).unwrap(),
        &|path| std::fs::remove_file(path).unwrap(),
    ];
    for (number, fault) in faults.iter().enumerate() {
        let run = |is_planted: bool| {
            record_within(Limit::bytes(1 << 20).folder(&folder.0), stop, |recording| {
                let chain = chain(recording, 100_000);
                if is_planted {
                    fault(&folder.files()[0]);
                }
                pulled(recording, chain)
            })
        };
        let failure = failure(|| ignore(run(true)));
        let Failure::File(error) = failure else { panic!("{failure}") };
        assert!(error.path.starts_with(&folder.0), "{error}");
        let is_right = match number {
            0 => matches!(error.fault, Fault::Altered { .. }),
            1 => matches!(error.fault, Fault::Short { .. }),
            _ => matches!(error.fault, Fault::System { kind: std::io::ErrorKind::NotFound, .. }),
        };
        assert!(is_right, "{error}");
        assert!(folder.files().is_empty());
        assert_eq!(run(false), [50_000.0, 1.0]);
    }
}

fn ignore<T>(_: T) {}

/// Every statement reads one far before it, in an order that no cache likes.
fn scattered(recording: &Recording, statements: usize) -> (Place, Vec<Place>) {
    let inputs: Vec<Place> = recording.inputs(statements / 2, stop).places().collect();
    let mut places = inputs.clone();
    let mut last = inputs[0];
    for step in 0..statements {
        let far = places[step * 7919 % places.len()];
        last = push2(0.0, [1.0, (step % 5) as f64 - 2.0], [last, far], stop);
        places.push(last);
    }
    (last, inputs)
}

fn slopes_of_scattered(recording: &Recording) -> Vec<u64> {
    let (y, inputs) = scattered(recording, 20_000);
    let mut adjoints = Adjoints::<f64>::default();
    adjoints.add(y, &1e-300, stop);
    adjoints.sweep(recording.start(), stop);
    inputs.iter().map(|input| adjoints.of(*input, stop).to_bits()).collect()
}

#[test]
fn adjoints_that_have_no_room_are_in_a_file() {
    let folder = Folder::new("pages");
    let free = record(slopes_of_scattered);
    let files = RefCell::new(0);
    let within = record_within(Limit::bytes(Limit::LEAST).folder(&folder.0), stop, |recording| {
        let slopes = slopes_of_scattered(recording);
        files.replace(folder.files().len());
        slopes
    });
    assert_eq!((free == within, files.take()), (true, 2));
}

#[test]
fn adjoints_whose_file_is_removed_are_lost_and_the_failure_stays() {
    let folder = Folder::new("lost");
    record_within(Limit::bytes(Limit::LEAST).folder(&folder.0), stop, |recording| {
        let (y, inputs) = scattered(recording, 20_000);
        let before = folder.files();
        let mut adjoints = Adjoints::<f64>::default();
        adjoints.add(y, &1.0, stop);
        adjoints.sweep(recording.start(), stop);
        let added: Vec<PathBuf> = folder.files().into_iter().filter(|file| !before.contains(file)).collect();
        assert_eq!(added.len(), 1);
        std::fs::remove_file(&added[0]).unwrap();
        let read = |adjoints: &mut Adjoints<f64>| inputs.iter().for_each(|input| ignore(adjoints.of(*input, stop)));
        for _ in 0..2 {
            let failure = failure(|| read(&mut adjoints));
            assert!(matches!(failure, Failure::File(error) if error.path.starts_with(&folder.0)));
        }
        adjoints.clear_from(recording.start());
    });
    record(|recording| {
        let chain = chain(recording, 100);
        assert_eq!(pulled(recording, chain), [50.0, 1.0]);
    });
}

#[test]
fn limits_and_folders_that_cannot_do_are_refused_before_anything_runs() {
    let folder = Folder::new("refused");
    let refused = |limit: Limit| failure(|| record_within(limit, stop, |_| unreachable!("nothing runs")));
    for allowed in [0, 1, Limit::LEAST - 1] {
        assert_eq!(refused(Limit::bytes(allowed)), Failure::Small { needed: Limit::LEAST, allowed });
    }
    assert_eq!(refused(Limit::bytes(1 << 20).folder("")), Failure::NoFolder);
    let file = folder.0.join("file");
    std::fs::write(&file, "x").unwrap();
    for path in [folder.0.join("missing"), file.clone()] {
        assert!(
            matches!(refused(Limit::bytes(1 << 20).folder(&path)), Failure::Folder(error) if error.path.starts_with(&path))
        );
    }
    std::fs::remove_file(file).unwrap();
    // More than any disk has.
    let limit = Limit::bytes(1 << 20).folder(&folder.0).statements(usize::MAX >> 8);
    let needed = limit.disk();
    assert!(
        matches!(refused(limit), Failure::Disk { needed: found, available, .. } if found == needed && available < needed)
    );
}

#[test]
fn a_statement_too_wide_for_the_limit_says_what_it_needs() {
    let wide = |bytes: usize| {
        record_within(Limit::bytes(bytes), stop, |recording| {
            let (inputs, _) = chain(recording, 30_000);
            let x = inputs.places().next().unwrap();
            let y = push_wide(0.0, 40_000, (0..40_000).map(|_| (1.0, x)), stop);
            let z = push_wide(0.0, 40_000, (0..40_000).map(|_| (0.5, y)), stop);
            pulled(recording, (inputs, z))[0]
        })
    };
    // First one of the statements is too wide, then both are.
    let mut bytes = 1 << 20;
    for _ in 0..2 {
        let Failure::Small { needed, allowed } = failure(|| ignore(wide(bytes))) else { panic!() };
        assert!(allowed == bytes && needed > bytes, "{needed}");
        bytes = needed;
    }
    assert_eq!(wide(bytes), 40_000.0 * 20_000.0);
}

#[test]
fn parts_and_nested_limits_leave_the_outer_recording_as_it_was() {
    let folder = Folder::new("parts");
    let limit = || Limit::bytes(Limit::LEAST).folder(&folder.0);
    let run = |is_limited: bool| {
        let body = |recording: &Recording| {
            let (inputs, y) = chain(recording, 30_000);
            let mut adjoints = Adjoints::<f64>::default();
            for round in 0..3 {
                // A part that is longer than the memory, and inside of it a recording of its own.
                part(|part| {
                    let z = (0..20_000).fold(y, |z, _| push1(0.0, 1.0, z, stop));
                    let inner = |recording: &Recording| {
                        let chain = chain(recording, 25_000);
                        pulled(recording, chain)
                    };
                    assert_eq!(
                        if round == 1 { record(inner) } else { record_within(limit(), stop, inner) },
                        [12_500.0, 1.0]
                    );
                    super::super::part(|_| (0..15_000).fold(z, |z, _| push1(0.0, 2.0, z, stop)));
                    let z = push1(0.0, 2.0, z, stop);
                    adjoints.add(z, &1.0, stop);
                    adjoints.sweep(part.start(), stop);
                });
                // Short parts, where the chunk is in the file.
                for _ in 0..10 {
                    part(|part| {
                        let z = push1(0.0, 3.0, y, stop);
                        adjoints.add(z, &1.0, stop);
                        adjoints.sweep(part.start(), stop);
                    });
                }
            }
            adjoints.sweep(recording.start(), stop);
            let mut slopes = [0.0; 2];
            adjoints.read(inputs, &mut slopes, stop);
            (slopes, recording.bytes())
        };
        if is_limited { record_within(limit(), stop, body) } else { record(body) }
    };
    let free = run(false);
    assert_eq!(free.0, [96.0 * 15_000.0, 96.0]);
    assert_eq!(run(true), free);
    // Inside a recording without a limit, whose chunk goes on afterwards.
    record(|recording| {
        let (inputs, y) = chain(recording, 3000);
        assert_eq!(run(true), free);
        assert!(
            std::panic::catch_unwind(|| {
                record_within(limit(), stop, |recording| {
                    chain(recording, 50_000);
                    panic!("by itself");
                })
            })
            .is_err()
        );
        assert!(folder.files().is_empty());
        let y = (0..20_000).fold(y, |y, _| push1(0.0, 1.0, y, stop));
        assert_eq!(pulled(recording, (inputs, y)), [1500.0, 1.0]);
    });
}

#[test]
fn what_is_shown_of_the_progress_must_not_record() {
    let outcome = std::panic::catch_unwind(|| {
        let limit = Limit::bytes(1 << 20).progress(|_| record(|_| ()));
        record_within(limit, stop, |recording| ignore(chain(recording, 100_000)));
    });
    assert!(outcome.is_err());
    // A panic in it, while a chunk is swept too, leaves the tape ready.
    for phase in [Phase::Record, Phase::Sweep] {
        let outcome = std::panic::catch_unwind(|| {
            let limit = Limit::bytes(1 << 20).progress(move |progress| assert!(progress.phase != phase));
            record_within(limit, stop, |recording| {
                let chain = chain(recording, 100_000);
                pulled(recording, chain)
            })
        });
        assert!(outcome.is_err());
        let slopes = record(|recording| {
            let chain = chain(recording, 10_000);
            pulled(recording, chain)
        });
        assert_eq!(slopes, [5000.0, 1.0]);
    }
}

#[test]
fn external_functions_that_record_are_swept_among_chunks_of_a_file() {
    let count = Rc::new(Cell::new(0));
    let run = |limit: Option<Limit>| {
        let body = |recording: &Recording| {
            let inputs = recording.inputs(2, stop);
            let mut y = inputs.places().next().unwrap();
            for step in 0..3000 {
                let mut out = [Place::NONE];
                let records = step % 100 == 0;
                push_external(
                    &[0.0],
                    &[y],
                    &mut out,
                    Box::new(move |dy, dx| {
                        // A pullback may record as much as it likes.
                        if records {
                            record(|recording| assert_eq!(pulled(recording, chain(recording, 12_000))[1], 1.0));
                        }
                        dx[0] = 0.999 * dy[0];
                    }),
                    stop,
                );
                y = (0..20).fold(out[0], |y, _| push1(0.0, 1.0, y, stop));
            }
            pulled(recording, (inputs, y))
        };
        match limit {
            Some(limit) => record_within(limit, stop, body),
            None => record(body),
        }
    };
    let told = count.clone();
    let limit = Limit::bytes(1 << 20).progress(move |_| told.set(told.get() + 1));
    assert_eq!(run(Some(limit)), run(None));
    assert!(count.get() > 3000);
}
