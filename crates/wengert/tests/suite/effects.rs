//! Calls with an effect are made as often as the function makes them, in the same order: in programs, with budgets, in checkpoints.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use wengert::prelude::*;
use wengert::primitive::{
    Adjoints, Attrs, Case, Device, Gradient, Gradients, Mask, Outputs, Primitive, Rule, Spec, SpecRef, Specs, bind1,
};
use wengert::scalar::{Replay, Symbol};

/// note - y = x + k at call k of a log: another result if it is repeated.   dy = dx.
struct Note;

static NOTE: Note = Note;

/// The recorded marks, by log.
static LOGS: LazyLock<Mutex<HashMap<i64, Vec<i64>>>> = LazyLock::new(Mutex::default);

/// A separate log for every test.
#[derive(Clone, Copy)]
struct Log(i64);

impl Log {
    fn new() -> Log {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Log(NEXT.fetch_add(1, Ordering::Relaxed) as i64)
    }

    fn note(self, mark: i64, x: &Tensor) -> Tensor {
        bind1(&NOTE, Attrs::new().with_int("log", self.0).with_int("mark", mark), &[x])
    }

    /// The marks recorded since the last call.
    fn taken(self) -> Vec<i64> {
        LOGS.lock().unwrap().remove(&self.0).unwrap_or_default()
    }
}

impl Primitive for Note {
    fn name(&self) -> &'static str {
        "note"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["log", "mark"]
    }

    fn effect(&self, _attrs: &Attrs) -> bool {
        true
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(Specs::from_iter([operands[0].to_spec()]))
    }

    fn eval(&self, _: Device, attrs: &Attrs, operands: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
        let mut logs = LOGS.lock().unwrap();
        let log = logs.entry(attrs.int("log")).or_default();
        log.push(attrs.int("mark"));
        Ok(Outputs::from_iter([operands[0] + (log.len() - 1) as f64]))
    }

    fn vjp(&'static self, _: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        Gradients::from_iter([Gradient::Dense(cotangents[0].take().expect("the only output has a cotangent"))])
    }

    fn jvp(&'static self, _: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        Adjoints::from_iter([tangents[0].clone()])
    }

    fn batch(&'static self, attrs: &Attrs, _: usize, operands: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        Ok(Outputs::from_iter([bind1(self, attrs.clone(), &[&operands[0]])]))
    }

    fn cases(&self) -> Vec<Case> {
        Vec::new()
    }
}

fn x() -> Tensor {
    Tensor::from([0.3, -0.8, 1.1])
}

#[test]
fn a_call_whose_result_nobody_reads_is_made() {
    let log = Log::new();
    let f = compile(move |x: &Tensor| {
        log.note(1, x);
        x * 2.0
    });
    assert_eq!((f.call(&x()), log.taken()), (x() * 2.0, vec![1]));
    assert_eq!((f.call(&x()), log.taken()), (x() * 2.0, vec![1]));
}

#[test]
fn calls_in_loops_branches_and_functions_are_made_though_nobody_reads_them() {
    let log = Log::new();
    let noted = move |x: &Tensor| {
        log.note(1, x);
        x * 2.0
    };
    let function = custom_vjp(move |x: &Tensor| (noted(x), ()), |_: &(), dy: &Tensor| dy * 2.0);
    let sum = move |sum: &Tensor, x: &Tensor| {
        log.note(2, x);
        (sum + x, ())
    };
    let f = |x: &Tensor| {
        let branched = cond(&x.sum().gt(0.0), noted, |x: &Tensor| x * 2.0, x);
        // The sum moves out of the loop, which then returns nothing.
        let (sum, ()) = scan(sum, &Tensor::from(0.0), x);
        let (one, ()) = scan(sum_of_one(log), &Tensor::from(0.0), &x.narrow(0, 0, 1));
        branched + function(x) + sum + one
    };
    let expected = f(&x());
    assert_eq!(log.taken(), [1, 2, 2, 2, 3, 1]);
    assert!(compile(f).call(&x()).all_close(&expected, 1e-14));
    assert_eq!(log.taken(), [1, 2, 2, 2, 3, 1]);
    // Only the effects of these remain in the program.
    let nobody_reads = |x: &Tensor| {
        f(x);
        x * 3.0
    };
    assert_eq!((compile(nobody_reads).call(&x()), log.taken()), (x() * 3.0, vec![1, 2, 2, 2, 3, 1]));
}

fn sum_of_one(log: Log) -> impl Fn(&Tensor, &Tensor) -> (Tensor, ()) {
    move |sum: &Tensor, x: &Tensor| {
        log.note(3, x);
        (sum + x, ())
    }
}

#[test]
fn equal_calls_are_made_each() {
    let log = Log::new();
    let one = move |x: &Tensor| log.note(1, x);
    let two = move |x: &Tensor| cond(&x.sum().gt(0.0), one, |x: &Tensor| x.clone(), x);
    let f = compile(|x: &Tensor| {
        [one, one].iter().map(|f| f(x)).chain([0, 1].map(|_| two(x))).reduce(|a, b| a + b).unwrap()
    });
    assert!(f.call(&x()).all_close(&(x() * 4.0 + 6.0), 1e-14));
    assert_eq!(log.taken(), [1; 4]);
}

#[test]
fn a_call_of_constants_stays_in_its_loop() {
    let log = Log::new();
    // The carry `w` never changes, so the loops pass makes it a constant.
    let f = compile(move |(w, xs): &(Tensor, Tensor)| {
        let step = |(c, w): &(Tensor, Tensor), x: &Tensor| {
            let branched = cond(&w.gt(0.0), |w: &Tensor| log.note(1, w), |w: &Tensor| w.clone(), w);
            ((c + branched * log.note(2, w) * x, w.clone()), ())
        };
        scan(step, &(Tensor::from(0.0), w.clone()), xs).0.0
    });
    // (w + 0) (w + 1) x0 + (w + 2) (w + 3) x1
    assert_eq!(f.call(&(Tensor::from(1.0), Tensor::from([1.0, 10.0]))).item(), 2.0 + 120.0);
    assert_eq!(log.taken(), [1, 2, 1, 2]);
}

#[test]
fn a_call_of_constants_is_made_whenever_the_program_runs() {
    let log = Log::new();
    let captured = Tensor::from(1.0);
    let f = compile(move |y: &Tensor| y + log.note(1, &captured) * log.note(2, &Tensor::from(3.0)));
    (0..3).for_each(|_| drop(f.call(&x())));
    assert_eq!(log.taken(), [1, 2, 1, 2, 1, 2]);

    let captured = Tensor::from(1.0);
    let sum =
        scan(|c: &Tensor, x: &Tensor| (c + x * log.note(3, &captured), ()), &Tensor::from(0.0), &Tensor::ones([5]));
    assert_eq!((sum.0.item(), log.taken()), (10.0 + 5.0, vec![3; 5]));

    // The cotangent of a sum is a constant.
    let noted = custom_vjp(|x: &Tensor| (x.clone(), ()), move |_: &(), dy: &Tensor| log.note(4, dy));
    let slope = compile(grad(move |x: &Tensor| noted(x).sum()));
    (0..3).for_each(|_| drop(slope.call(&x())));
    assert_eq!(log.taken(), [4; 3]);
}

/// Counts its calls.
struct Tick(AtomicUsize);

static TICK: Tick = Tick(AtomicUsize::new(0));

impl Primitive for Tick {
    fn name(&self) -> &'static str {
        "tick"
    }

    fn operands(&self) -> usize {
        0
    }

    fn effect(&self, _attrs: &Attrs) -> bool {
        true
    }

    fn infer(&self, _attrs: &Attrs, _operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(Specs::from_iter([Spec::new([], DType::F64)]))
    }

    fn eval(&self, _: Device, _: &Attrs, _: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
        Ok(Outputs::from_iter([Tensor::from(self.0.fetch_add(1, Ordering::Relaxed) as f64)]))
    }

    fn cases(&self) -> Vec<Case> {
        Vec::new()
    }
}

#[test]
fn a_clock_without_operands_is_read_whenever_the_program_runs() {
    let f = compile(|x: &Tensor| x + bind1(&TICK, Attrs::new(), &[]));
    let read: Vec<f64> = (0..3).map(|_| f.call(&Tensor::from(10.0)).item()).collect();
    assert_eq!(read, [10.0, 11.0, 12.0]);
}

#[test]
fn calls_are_made_in_the_order_of_the_function() {
    let log = Log::new();
    // Without an order between them, the second one would run first: an earlier loop depends on it.
    let f = move |x: &Tensor| {
        let double = x * 2.0;
        let first = log.note(1, x);
        let second = log.note(2, x);
        ((double + second).sin(), first)
    };
    let expected = f(&x());
    assert_eq!(log.taken(), [1, 2]);
    let found = compile(f).call(&x());
    assert_eq!(log.taken(), [1, 2]);
    assert!(found.0.all_close(&expected.0, 1e-14) && found.1.all_close(&expected.1, 1e-14));
    let twice = compile(move |x: &Tensor| scan_times(2, f, x));
    twice.call(&x());
    assert_eq!(log.taken(), [1, 2, 1, 2]);
}

#[test]
fn a_budget_does_not_repeat_a_call() {
    let log = Log::new();
    let f = move |x: &Tensor| {
        let noted = log.note(1, x);
        // A much larger product, while the result of the call is live.
        let wide = x.matmul(&Tensor::full([32, 2048], 0.01)).sin();
        wide.sum_over(1).sum() + (noted * x).sum()
    };
    let x = Tensor::linspace(0.0, 1.0, 64 * 32).reshape([64, 32]);
    let needed = compile(f).plan(&x).total_bytes();
    let tight = compile(f).within(needed - 4096);
    let error = catch(|| tight.call(&x)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Budget { .. }), "{error}");
    assert!(log.taken().is_empty());
}

/// A mark between two operations that save what they need.
fn block(log: Log, mark: i64) -> impl Fn(&Tensor) -> Tensor + Clone + Send + Sync + 'static {
    move |x: &Tensor| log.note(mark, &x.sin()).exp() * x
}

/// The gradient of `block` whose call was the first.
fn expected_slope(x: &Tensor) -> Tensor {
    x.sin().exp() * (x.cos() * x + 1.0)
}

#[test]
fn a_checkpoint_keeps_what_a_call_gave() {
    let log = Log::new();
    let saving = checkpoint(block(log, 1));
    let leaf = x().require_grad();
    saving(&leaf).sum().backward();
    assert_eq!(log.taken(), [1]);
    assert!(leaf.grad().unwrap().all_close(&expected_slope(&x()), 1e-14));
    let slope = grad(|x: &Tensor| saving(x).sum());
    assert!(slope(&x()).all_close(&expected_slope(&x()), 1e-14));
    assert_eq!(log.taken(), [1]);
    let second = grad(|x: &Tensor| slope(x).sum())(&x());
    assert_eq!(log.taken(), [1]);
    assert!(second.all_close(&grad(|x: &Tensor| expected_slope(x).sum())(&x()), 1e-13));
    assert!(compile(&slope).call(&x()).all_close(&expected_slope(&x()), 1e-14));
    assert_eq!(log.taken(), [1]);
    assert!(vmap(slope)(&x().reshape([1, 3])).all_close(&expected_slope(&x()).reshape([1, 3]), 1e-14));
    assert_eq!(log.taken(), [1]);
}

#[test]
fn chains_and_nested_checkpoints_make_every_call_once() {
    let log = Log::new();
    let layers: Vec<_> = (1..=6).map(|mark| block(log, mark)).collect();
    let slope = grad(|x: &Tensor| checkpoint_chain(&layers, x, 2).sum());
    let found = slope(&x());
    assert_eq!(log.taken(), [1, 2, 3, 4, 5, 6]);
    let plain = grad(|x: &Tensor| layers.iter().fold(x.clone(), |x, layer| layer(&x)).sum())(&x());
    log.taken();
    assert!(found.all_close(&plain, 1e-12), "{found} {plain}");
    assert!(compile(slope).call(&x()).all_close(&plain, 1e-12));
    assert_eq!(log.taken(), [1, 2, 3, 4, 5, 6]);
    let (inner, outer) = (checkpoint(block(log, 1)), block(log, 2));
    let nested = checkpoint(move |x: &Tensor| outer(&inner(x)));
    let leaf = x().require_grad();
    nested(&leaf).sum().backward();
    assert_eq!(log.taken(), [1, 2]);
    let plain = grad(|x: &Tensor| block(log, 2)(&block(log, 1)(x)).sum())(&x());
    assert!(leaf.grad().unwrap().all_close(&plain, 1e-12));
}

#[test]
fn a_checkpoint_keeps_what_loops_and_compiled_functions_with_an_effect_gave() {
    let log = Log::new();
    let compiled = compile(block(log, 1));
    let looped = move |x: &Tensor| scan_times(2, |c: &Tensor| (log.note(2, c).sin(), ()), x).0;
    let saving = checkpoint(move |x: &Tensor| looped(&compiled.call(x)));
    let leaf = x().require_grad();
    saving(&leaf).sum().backward();
    assert_eq!(log.taken(), [1, 2, 2]);
    // Also on plain values, which are not differentiated.
    let (compiled, constant) = (compile(block(log, 3)), x());
    let beside = checkpoint(move |x: &Tensor| (x * compiled.call(&constant)).sin());
    let leaf = x().require_grad();
    beside(&leaf).sum().backward();
    assert_eq!(log.taken(), [3]);
}

#[test]
fn a_second_run_that_makes_other_calls_is_an_error() {
    let (log, runs) = (Log::new(), AtomicUsize::new(0));
    let saving = checkpoint(move |x: &Tensor| {
        let y = x.sin();
        let y = if runs.fetch_add(1, Ordering::Relaxed) == 0 { y } else { log.note(1, &y) };
        y.exp() * x
    });
    let error = catch(|| grad(|x: &Tensor| saving(x).sum())(&x())).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Checkpoint);
    assert!(error.to_string().contains("it called 'note', which has an effect"), "{error}");
    assert!(log.taken().is_empty());
}

#[test]
fn forward_and_backward_programs_share_the_calls() {
    let log = Log::new();
    let rule = custom_vjp(
        |x: &Tensor| (x.sin(), x.clone()),
        move |x: &Tensor, dy: &Tensor| {
            log.note(2, dy);
            log.note(3, x);
            dy * x.cos()
        },
    );
    let f = compile(move |x: &Tensor| {
        log.note(1, x);
        rule(x).exp()
    });
    let leaf = x().require_grad();
    let y = f.call(&leaf).sum();
    assert_eq!(log.taken(), [1]);
    y.backward();
    assert_eq!(log.taken(), [2, 3]);
    assert!(leaf.grad().unwrap().all_close(&(x().cos() * x().sin().exp()), 1e-14));
    assert!(compile(grad(|x: &Tensor| f.call(x).sum())).call(&x()).all_close(&leaf.grad().unwrap(), 1e-14));
    assert_eq!(log.taken(), [1, 2, 3]);
}

#[test]
fn an_operation_without_an_effect_is_still_dropped_and_repeated() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let function = custom_vjp(
        move |x: &Tensor| {
            counted.fetch_add(1, Ordering::Relaxed);
            (x.sin(), x.clone())
        },
        |x: &Tensor, dy: &Tensor| dy * x.cos(),
    );
    // A closure of tensor operations is traced: only those operations remain in the program.
    let f = compile(move |x: &Tensor| {
        function(x);
        x * 2.0
    });
    assert_eq!(f.plan(&x()).kernels(), 1);
    let traced = calls.load(Ordering::Relaxed);
    f.call(&x());
    assert_eq!(calls.load(Ordering::Relaxed), traced);
    // A recorded scalar function is replayed; its value is not computed for its gradient.
    let rows = Replay::record(|x: &[Symbol]| x[0] * x[1], &[1.0, 2.0]).into_rows();
    let slope = compile(grad(move |x: &Tensor| rows.call(x).sum()));
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let calls =
        slope.program(&x).optimised().equations().iter().filter(|equation| equation.op.name() == "custom").count();
    assert_eq!((slope.call(&x), calls), (Tensor::from([[2.0, 1.0], [4.0, 3.0]]), 1));
}

/// The outputs belong to the program although nothing is captured.
#[test]
fn a_custom_rule_of_a_constant_may_have_an_effect() {
    let log = Log::new();
    let noted = custom_vjp(move |x: &Tensor| (log.note(1, x), ()), |_: &(), dy: &Tensor| dy.clone());
    let f = compile(|x: &Tensor| x * noted(&Tensor::from(2.0)));
    assert_eq!(f.call(&Tensor::from(5.0)).item(), 10.0);
    assert_eq!(f.call(&Tensor::from(5.0)).item(), 15.0);
    assert_eq!(log.taken(), [1, 1]);
}

#[test]
fn a_solver_runs_code_that_may_have_an_effect() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    // The root of y^2 = x; the closure is called whenever the solver runs.
    let root_of = move |x: &Tensor| {
        let counted = counted.clone();
        let f = move |y: &Tensor, x: &Tensor| {
            counted.fetch_add(1, Ordering::Relaxed);
            y.square() - x
        };
        root(f, &Tensor::from(1.0), x)
    };
    let taken = || calls.swap(0, Ordering::Relaxed);
    let unread = compile(|x: &Tensor| {
        root_of(x);
        x * 2.0
    });
    let x = Tensor::from(4.0);
    unread.call(&x);
    assert!(taken() > 0);
    unread.call(&x);
    assert!(taken() > 0);
    let kept = {
        let root_of = root_of.clone();
        checkpoint(move |x: &Tensor| root_of(x).exp() * x)
    };
    let slope = |f: &dyn Fn(&Tensor) -> Tensor| {
        let leaf = Tensor::from(4.0).require_grad();
        f(&leaf).backward();
        (leaf.grad().unwrap().item(), taken())
    };
    let plain = slope(&|x: &Tensor| root_of(x).exp() * x);
    assert_eq!(slope(&kept), plain);
}
