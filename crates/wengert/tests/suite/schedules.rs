//! Loops whose gradients keep few states: how often the body runs, equal gradients in every composition, and files that outlive a process.

use super::process::only;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::Schedule;
use wengert::prelude::*;

fn schedules(snapshots: usize) -> [Schedule; 3] {
    // A folder for each test: loops that run at the same time do not share one.
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let folder = folder(&format!("schedules-{}", FOLDERS.fetch_add(1, Ordering::Relaxed)));
    [Schedule::Binomial { snapshots }, Schedule::Online { snapshots }, Schedule::Disk { snapshots, folder }]
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wengert-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

type State = (Tensor, Tensor);

/// A step that depends on its number; the rate is carried along.
fn step(number: usize, (x, rate): &State) -> State {
    ((x * rate + number as f64 * 0.01).sin(), rate.clone())
}

fn start() -> State {
    (Tensor::from([0.3, -0.8]), Tensor::from(1.3))
}

/// The runs of the body in a gradient, and the gradient.
fn counted(steps: usize, schedule: &Schedule) -> (usize, State) {
    let count = Arc::new(AtomicUsize::new(0));
    let inside = count.clone();
    let body = move |number: usize, state: &State| {
        inside.fetch_add(1, Ordering::Relaxed);
        step(number, state)
    };
    let gradient = grad(|x: &State| checkpoint_loop(steps, x, body.clone(), schedule).0.sum())(&start());
    (count.load(Ordering::Relaxed), gradient)
}

fn plain(steps: usize) -> State {
    grad(|x: &State| (0..steps).fold(x.clone(), |x, number| step(number, &x)).0.sum())(&start())
}

fn same(a: &State, b: &State) {
    for (a, b) in a.leaves().into_iter().zip(b.leaves()) {
        assert_eq!(a.to_vec::<f64>(), b.to_vec::<f64>());
    }
}

#[test]
fn the_body_runs_as_often_as_the_recurrence_says() {
    // Advances beside the step that is differentiated, and one for the last state, which is there before the gradient.
    for (steps, snapshots, advances) in [(10, 3, 15), (56, 5, 140), (100, 10, 222), (1000, 10, 3636)] {
        let (runs, gradient) = counted(steps, &Schedule::Binomial { snapshots });
        assert_eq!(runs, steps + advances + 1, "{steps} steps, {snapshots} snapshots");
        same(&gradient, &plain(steps));
    }
    assert_eq!(counted(50, &Schedule::All).0, 50);
}

#[test]
fn every_schedule_gives_the_bits_of_the_plain_loop() {
    for steps in [0, 1, 2, 3, 7, 40] {
        for snapshots in [1, 2, 5, 60] {
            for schedule in schedules(snapshots) {
                let (runs, gradient) = counted(steps, &schedule);
                same(&gradient, &plain(steps));
                if steps > 0 {
                    // The names of files depend on what the body makes of the first state, before either sweep.
                    let named = if matches!(schedule, Schedule::Disk { .. }) { 2 } else { 0 };
                    assert_eq!(
                        runs as u128,
                        steps as u128 + schedule.advances(steps) + 1 + named,
                        "{steps} {schedule:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn leaves_and_pullbacks_that_are_called_twice_get_the_same() {
    let schedule = Schedule::Binomial { snapshots: 3 };
    let x = start().map_leaves(|leaf| leaf.clone().require_grad());
    checkpoint_loop(20, &x, step, &schedule).0.sum().backward();
    same(&(x.0.grad().unwrap(), x.1.grad().unwrap()), &plain(20));
    let (y, pullback) = vjp(|x: &State| checkpoint_loop(20, x, step, &schedule).0, &start());
    let seed = y.full_like(1.0);
    same(&pullback.call(&seed), &plain(20));
    same(&pullback.call(&seed), &plain(20));
}

#[test]
fn a_captured_tensor_that_needs_a_gradient_is_an_error() {
    let schedule = Schedule::Binomial { snapshots: 3 };
    let rate = Tensor::from(1.3).require_grad();
    let body = move |_: usize, x: &Tensor| x * &rate;
    let x = Tensor::from(0.5).require_grad();
    let error = catch(|| checkpoint_loop(5, &x, body, &schedule)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::WrongLevel);
    assert!(error.to_string().contains("captures a tensor that requires a gradient"), "{error}");
}

#[test]
fn wrong_arguments_are_errors_before_anything_runs() {
    let never = |_: usize, _: &Tensor| -> Tensor { panic!("the body ran") };
    let x = Tensor::from(0.5);
    for schedule in [
        Schedule::Binomial { snapshots: 0 },
        Schedule::Online { snapshots: 0 },
        Schedule::Disk { snapshots: 2, folder: PathBuf::new() },
        Schedule::Disk { snapshots: 2, folder: "/dev/null/folder".into() },
    ] {
        let error = catch(|| checkpoint_loop(5, &x, never, &schedule)).unwrap_err();
        assert_eq!((error.kind(), error.line().unwrap().file()), (&ErrorKind::Argument, file!()), "{error}");
        let error = catch(|| scan_times_with(5, |_: &Tensor| -> (Tensor, ()) { panic!() }, &x, &schedule)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Argument);
        let error = catch(|| while_loop_with(|_: &Tensor| panic!(), Tensor::clone, &x, &schedule)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Argument);
    }
}

type Inputs = (Tensor, Tensor, Tensor);

/// A recurrence with a captured weight, elements and outputs.
fn recurrent((w, h, xs): &Inputs, schedule: &Schedule) -> Tensor {
    let cell = |h: &Tensor, x: &Tensor| {
        let h = (h * w + x).tanh();
        (h.clone(), h.square())
    };
    let (last, all) = scan_with(cell, h, xs, schedule);
    last.sum() + (all * 0.5).sum()
}

fn inputs() -> Inputs {
    (Tensor::from([0.4, 1.1]), Tensor::from([0.2, -0.3]), Tensor::linspace(-1.0, 1.0, 26).reshape([13, 2]))
}

fn close<T: Tree>(a: &T, b: &T) {
    a.leaves().into_iter().zip(b.leaves()).for_each(|(a, b)| assert!(a.all_close(b, 1e-12), "{a}\n{b}"));
}

#[test]
fn scans_agree_with_the_plain_scan_in_every_composition() {
    let f = |x: &Inputs| recurrent(x, &Schedule::All);
    let batch = inputs().map_leaves(|leaf| Tensor::stack(&[leaf.clone(), leaf * 0.7, leaf * -0.2], 0));
    for schedule in schedules(3) {
        let g = |x: &Inputs| recurrent(x, &schedule);
        let x = inputs();
        close(&g(&x), &f(&x));
        close(&grad(g)(&x), &grad(f)(&x));
        close(&compile(grad(g)).call(&x), &grad(f)(&x));
        close(&vmap(grad(g))(&batch), &vmap(grad(f))(&batch));
        close(&grad(|x: &Inputs| vmap(g)(x).sum())(&batch), &grad(|x: &Inputs| vmap(f)(x).sum())(&batch));
        close(&jvp(g, &x, &x).1, &jvp(f, &x, &x).1);
        close(&hvp(g, &x, &x), &hvp(f, &x, &x));
        let curvature = |f: &dyn Fn(&Inputs) -> Tensor, x: &Inputs| {
            let square = |x: &Inputs| grad(f)(x).leaves().into_iter().map(|leaf| leaf.square().sum()).sum::<Tensor>();
            grad(square)(x)
        };
        close(&curvature(&g, &x), &curvature(&f, &x));
        close(&compile(|x: &Inputs| curvature(&g, x)).call(&x), &curvature(&f, &x));
    }
}

#[test]
fn loops_of_unknown_length_agree_with_the_plain_loop() {
    let grows = |x: &Tensor| x.lt(50.0);
    let step = |a: &Tensor, x: &Tensor| x * a + x.sin() * 0.1 + 0.3;
    let plain = |(a, x): &(Tensor, Tensor)| while_loop(grows, |x: &Tensor| step(a, x), x);
    let point = (Tensor::from(1.1), Tensor::from(0.6));
    let batch = (Tensor::from([1.1, 1.3]), Tensor::from([0.6, 3.0]));
    let mut all: Vec<Schedule> = schedules(3).into();
    all.push(Schedule::All);
    for schedule in &all {
        let g = |(a, x): &(Tensor, Tensor)| while_loop_with(grows, |x: &Tensor| step(a, x), x, schedule);
        close(&grad(g)(&point), &grad(plain)(&point));
        close(&compile(grad(g)).call(&point), &grad(plain)(&point));
        close(&vmap(grad(g))(&batch), &vmap(grad(plain))(&batch));
        close(&hvp(g, &point, &point), &hvp(plain, &point, &point));
        let times = |count: &Tensor| {
            let count = count.clone();
            move |x: &Tensor| fori_with(&count, |_: &Tensor, x: &Tensor| x.sin(), x, schedule)
        };
        let seven = grad(times(&Tensor::from(7i64)))(&Tensor::from(1.0));
        close(&seven, &grad(|x: &Tensor| fori(7, |_: &Tensor, x: &Tensor| x.sin(), x))(&Tensor::from(1.0)));
    }
}

#[test]
fn altered_short_and_missing_files_are_errors_and_the_call_can_be_repeated() {
    let folder = folder("faults");
    let schedule = Schedule::Disk { snapshots: 4, folder: folder.clone() };
    let spoil: [fn(&Path); 3] = [
        |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes[3] ^= 1;
            std::fs::write(path, bytes).unwrap();
        },
        |path| std::fs::write(path, [1, 2, 3]).unwrap(),
        |path| std::fs::remove_file(path).unwrap(),
    ];
    for spoil in spoil {
        let x = start().map_leaves(|leaf| leaf.clone().require_grad());
        let run = || checkpoint_loop(40, &x, step, &schedule).0.sum();
        let y = run();
        let own = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let path = own.join("state-20");
        spoil(&path);
        let error = catch(|| y.backward()).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::File);
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert!(x.0.grad().is_none() && x.1.grad().is_none());
        run().backward();
        same(&(x.0.grad().unwrap(), x.1.grad().unwrap()), &plain(40));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn equal_loops_in_one_folder_and_a_folder_that_vanished_do_not_change_the_gradient() {
    let folder = folder("shared");
    let schedule = Schedule::Disk { snapshots: 4, folder: folder.clone() };
    let last = |x: &State| checkpoint_loop(40, x, step, &schedule).0;
    // The pullback of one of them removes the files of both.
    let twice = grad(|x: &State| (last(x) + last(x)).sum())(&start());
    same(&twice, &plain(40).map_leaves(|leaf| leaf * 2.0));

    let x = start().map_leaves(|leaf| leaf.clone().require_grad());
    let y = last(&x).sum();
    std::fs::remove_dir_all(&folder).unwrap();
    y.backward();
    same(&(x.0.grad().unwrap(), x.1.grad().unwrap()), &plain(40));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_of_a_closure_that_captured_another_number_are_not_used() {
    let folder = folder("captured");
    let schedule = Schedule::Disk { snapshots: 3, folder: folder.clone() };
    // The first step is the same for all rates.
    let last = |rate: f64| {
        let body = move |number: usize, x: &Tensor| if number == 0 { x.clone() } else { x * rate };
        vjp(|x: &Tensor| checkpoint_loop(12, x, body, &schedule), &Tensor::from(1.0))
    };
    assert_eq!(last(2.0).0.item(), 2.0f64.powi(11));
    let (y, pullback) = last(3.0);
    assert_eq!(y.item(), 3.0f64.powi(11));
    assert_eq!(pullback.call(&Tensor::from(1.0)).item(), 3.0f64.powi(11));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_pass_that_nobody_wants_leaves_nothing_for_another_body() {
    let folder = folder("dropped");
    let schedule = Schedule::Disk { snapshots: 4, folder: folder.clone() };
    // They differ after the last state in a file.
    let last = |rate: f64| {
        let body = move |number: usize, x: &Tensor| if number >= 16 { x * rate } else { (x * 1.1).sin() };
        vjp(|x: &Tensor| checkpoint_loop(20, x, body, &schedule), &Tensor::from(0.5))
    };
    let (one, pullback) = last(1.0);
    drop(pullback);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let (two, pullback) = last(2.0);
    assert_eq!(two.item(), one.item() * 16.0);
    drop(pullback);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn the_last_step_is_compared_too() {
    for schedule in schedules(3) {
        let runs = Arc::new(AtomicUsize::new(0));
        let body = move |number: usize, x: &Tensor| {
            let is_again = number == 9 && runs.fetch_add(1, Ordering::Relaxed) > 0;
            (x * if is_again { 1.2 } else { 1.1 }).sin()
        };
        let (_, pullback) = vjp(|x: &Tensor| checkpoint_loop(10, x, body, &schedule), &Tensor::from(0.5));
        let error = catch(|| pullback.call(&Tensor::from(1.0))).unwrap_err();
        assert!(error.to_string().contains("after step 9"), "{error}");
    }
}

#[test]
fn a_pass_for_other_operands_does_not_go_on_with_cotangents_in_files() {
    let folder = folder("operands");
    let schedule = Schedule::Disk { snapshots: 4, folder: folder.clone() };
    let (a, b, xs) = (Tensor::from(0.5), Tensor::from(-0.7), Tensor::linspace(-1.0, 1.0, 40));
    let last = |a: &Tensor, b: &Tensor, schedule: &Schedule| {
        let cell = |h: &Tensor, x: &Tensor| {
            let h = (h * a + x * b).tanh();
            (h.clone(), h)
        };
        scan_with(cell, &Tensor::from(0.1), &xs, schedule).0
    };
    let (_, for_a) = vjp(|a: &Tensor| last(a, &b, &schedule), &a);
    let own = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    std::fs::write(own.join("state-10"), []).unwrap();
    assert_eq!(catch(|| for_a.call(&Tensor::from(1.0))).unwrap_err().kind(), &ErrorKind::File);
    assert!(!own.exists(), "a pass that failed leaves nothing behind");

    let (_, for_b) = vjp(|b: &Tensor| last(&a, b, &schedule), &b);
    let right = grad(|b: &Tensor| last(&a, b, &Schedule::All))(&b);
    assert!(for_b.call(&Tensor::from(1.0)).all_close(&right, 1e-12));
    let _ = std::fs::remove_dir_all(&folder);
}

/// The loop of the test below; appends a byte to a file for every run of the body. Stops to wait in the reverse pass, when the body has run
/// as often as the variable says.
fn long_loop(folder: &Path) -> State {
    let runs = folder.join("runs");
    let stop: Option<usize> = std::env::var("WENGERT_STOP_AT").ok().map(|text| text.parse().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let body = move |number: usize, state: &State| {
        let run = count.fetch_add(1, Ordering::Relaxed);
        std::fs::write(&runs, (run + 1).to_string()).unwrap();
        if Some(run) == stop {
            std::fs::write(runs.with_file_name("waiting"), []).unwrap();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        step(number, state)
    };
    let schedule = Schedule::Disk { snapshots: 8, folder: folder.join("snapshots") };
    grad(|x: &State| checkpoint_loop(200, x, body.clone(), &schedule).0.sum())(&start())
}

#[test]
fn child_with_a_long_loop() {
    if let Some(folder) = std::env::var_os("WENGERT_LOOP_FOLDER") {
        long_loop(Path::new(&folder));
    }
}

#[test]
fn a_process_that_is_killed_in_the_reverse_pass_is_continued_by_the_next() {
    let folder = folder("killed");
    std::fs::create_dir_all(&folder).unwrap();
    let whole = long_loop(&folder);
    let runs = || std::fs::read_to_string(folder.join("runs")).unwrap().parse::<usize>().unwrap();
    let all = runs();
    // Far into the reverse pass.
    let stop = all * 3 / 4;
    let mut child = only(module_path!(), "child_with_a_long_loop")
        .env("WENGERT_LOOP_FOLDER", &folder)
        .env("WENGERT_STOP_AT", stop.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.join("waiting").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // On Unix this is kill -9.
    child.kill().unwrap();
    child.wait().unwrap();
    let continued = long_loop(&folder);
    same(&continued, &whole);
    same(&continued, &plain(200));
    // The forward sweep and most of the reverse pass are not repeated.
    assert!(runs() < all / 2, "{} of {all} runs", runs());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_discrete_adjoint_of_an_equation_can_keep_few_states() {
    let pendulum = |_: &Tensor, (x, v): &(Tensor, Tensor), g: &Tensor| (v.clone(), -(g * x.sin()) - v * 0.1);
    let energy = |(g, start): &(Tensor, (Tensor, Tensor)), options: &Ode| {
        let (x, v) = odeint(pendulum, g, start, &[0.0, 5.0, 5.0, 9.0], options.clone());
        (x.square() + v).sum()
    };
    let point = (Tensor::from(9.8), (Tensor::from(1.0), Tensor::from(0.2)));
    let precise = Ode::new().rtol(1e-6).atol(1e-8);
    let plain = |x: &(Tensor, (Tensor, Tensor))| energy(x, &precise);
    for schedule in schedules(2) {
        let options = precise.clone().schedule(schedule);
        let few = |x: &(Tensor, (Tensor, Tensor))| energy(x, &options);
        assert_eq!(few(&point).item(), plain(&point).item());
        close(&grad(few)(&point), &grad(plain)(&point));
        close(&compile(grad(few)).call(&point), &grad(plain)(&point));
        assert!(jvp(few, &point, &point).1.all_close(&jvp(plain, &point, &point).1, 1e-9));
        close(&hvp(few, &point, &point), &hvp(plain, &point, &point));
    }
    let none = Ode::new().schedule(Schedule::Online { snapshots: 0 });
    assert_eq!(catch(|| energy(&point, &none)).unwrap_err().kind(), &ErrorKind::Argument);
}

#[test]
fn a_body_that_does_something_else_when_it_is_computed_again_is_an_error() {
    use wengert::memory::Verify;
    let fickle = || {
        let calls = AtomicUsize::new(0);
        move |_: usize, x: &Tensor| x.sin() + calls.fetch_add(1, Ordering::Relaxed) as f64 * 1e-9
    };
    let x = Tensor::from([0.3, 0.7]);
    for schedule in [Schedule::Binomial { snapshots: 3 }, Schedule::Online { snapshots: 3 }] {
        let run = || grad(|x: &Tensor| checkpoint_loop(20, x, fickle(), &schedule).sum())(&x);
        let error = catch(run).expect_err("every call gives another state");
        assert_eq!((error.kind(), error.operation()), (&ErrorKind::Checkpoint, "checkpoint_loop"));
        assert!(error.message().contains("element 0 of part 0 of the state after step 19 is "), "{error}");
        assert!(error.message().contains(", and was ") && error.line().is_some(), "{error}");
        assert!(catch(|| Verify::Off.within(run)).is_ok(), "nothing is compared");
    }
    let steady = |x: &Tensor| {
        Verify::All.within(|| checkpoint_loop(20, x, |_, x: &Tensor| x.sin(), &Schedule::Online { snapshots: 3 }).sum())
    };
    assert_eq!(grad(steady)(&x), grad(|x: &Tensor| (0..20).fold(x.clone(), |x, _| x.sin()).sum())(&x));
}

#[test]
fn advances_without_a_state_are_an_error_and_those_with_one_are_counted_at_once() {
    for none in schedules(0) {
        assert_eq!(catch(|| none.advances(10)).unwrap_err().kind(), &ErrorKind::Argument);
    }
    let steps = 1u128 << 40;
    assert_eq!(Schedule::Binomial { snapshots: 1 }.advances(1 << 40), steps * (steps - 1) / 2);
}
