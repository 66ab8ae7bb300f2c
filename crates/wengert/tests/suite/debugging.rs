//! Debugging staged functions: one equation at a time, what a trace must not do, and keys that advance as in eager code.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use wengert::Statistics;
use wengert::prelude::*;

fn wave(shape: impl Into<Shape>, phase: f64) -> Tensor {
    let shape = shape.into();
    let numbers: Vec<f64> = (0..shape.elements()).map(|i| (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

fn error_of<T>(f: impl FnOnce() -> T) -> Error {
    match catch(f) {
        Ok(_) => panic!("there was no error"),
        Err(error) => error,
    }
}

#[test]
fn a_debugger_gives_what_the_compiled_function_gives() {
    let f = compile(value_and_grad(|(x, w): &(Tensor, Tensor)| (x.matmul(w)).tanh().square().sum()));
    let x = (wave([3, 4], 0.2), wave([4, 2], 0.9));
    let ((value, (dx, dw)), (expected, (ex, ew))) = (f.debug().call(&x), f.call(&x));
    for (found, expected) in [(value, expected), (dx, ex), (dw, ew)] {
        assert!(found.all_close(&expected, 1e-14), "{found} {expected}");
    }
}

#[test]
fn the_first_nan_is_named_with_its_line_forward() {
    let f = compile(|x: &Tensor| {
        let y = x - 1.0;
        let z = y.log();
        z.exp() + 1.0
    });
    let line = line!() - 3;
    let error = error_of(|| f.debug().call(&Tensor::from([2.0, 0.5])));
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Anomaly, "log"), "{error}");
    assert_eq!(error.line().unwrap().line(), line, "{error}");
    assert!(error.message().contains("= log("), "{error}");
    assert!(f.call(&Tensor::from([2.0, 0.5])).to_vec::<f64>()[1].is_nan(), "the compiled function goes on");
}

#[test]
fn the_first_nan_is_named_with_the_forward_line_backward() {
    // The derivative of the root of zero is infinite, and infinity times zero is NaN.
    let f = compile(|x: &Tensor| {
        let (y, pullback) = vjp(
            |x: &Tensor| {
                let root = x.sqrt();
                root * 2.0
            },
            x,
        );
        (y, pullback.call(&Tensor::from([f64::INFINITY, f64::NEG_INFINITY])).sum())
    });
    let x = Tensor::from([1.0, 4.0]);
    let error = error_of(|| f.debug().call(&x));
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Anomaly, "sum"), "{error}");
    let g = compile(|x: &Tensor| grad(|x: &Tensor| (x * f64::INFINITY).cos().sum())(x));
    let line = line!() - 1;
    let run = g.debug().run(&Tensor::from([1.0, 0.0]));
    let first = run.first_nan().unwrap();
    assert!(first.place().contains(&format!("debugging.rs:{line}:")), "{run}");
    let h = compile(grad(|x: &Tensor| {
        let large = x * 1e200;
        (&large * &large - &large * &large).sum()
    }));
    let line = line!() - 2;
    let run = h.debug().run(&Tensor::from([1e200]));
    assert!(run.first_nan().is_some(), "{run}");
    let marked: Vec<_> = run.at_line(line).filter(|step| step.is_from_rule()).collect();
    assert!(!marked.is_empty(), "rules inherit the line that they differentiate\n{run}");
    let error = error_of(|| h.debug().infinities().call(&Tensor::from([1e200])));
    assert!(error.message().contains("infinity"), "{error}");
}

#[test]
fn a_nan_inside_a_loop_is_named_with_its_line_in_the_body() {
    let f = compile(|x: &Tensor| {
        let (last, _) = scan(
            |h: &Tensor, x: &Tensor| {
                let root = (h - x).sqrt();
                (root.clone(), root)
            },
            &Tensor::from(4.0),
            x,
        );
        last
    });
    let line = line!() - 8;
    let error = error_of(|| f.debug().call(&Tensor::from([1.0, 50.0, 2.0])));
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Anomaly, "sqrt"), "{error}");
    assert_eq!(error.line().unwrap().line(), line, "{error}");
}

#[test]
fn every_intermediate_can_be_looked_at_by_name_and_by_line() {
    let f = compile(|x: &Tensor| {
        let y = x.exp();
        &y * 3.0 + y.sum()
    });
    let line = line!() - 3;
    let run = f.debug().run(&Tensor::from([0.0, 1.0]));
    let exp = run.at_line(line).next().unwrap();
    let (name, value) = exp.outputs().next().unwrap();
    assert_eq!(exp.operation(), "exp");
    assert_eq!(run.value(&name).unwrap(), value);
    assert_eq!(*value, Tensor::from([1.0, 1f64.exp()]));
    assert_eq!(run.value("a").unwrap(), &Tensor::from([0.0, 1.0]), "inputs are variables too");
    assert!(run.value("zz").is_none() && run.error().is_none());
    let text = run.to_string();
    assert!(text.contains("input ''  a: f64[2] = 0.0000e0 .. 1.0000e0, mean 5.0000e-1"), "{text}");
    assert!(text.contains("= exp(a)  // crates/wengert/tests/suite/debugging.rs:"), "{text}");
    let statistics = Statistics::of(&Tensor::from([1.0, f64::NAN, f64::INFINITY, -3.0])).unwrap();
    assert_eq!((statistics.nans, statistics.infinities, statistics.minimum, statistics.mean), (1, 1, -3.0, -1.0));
}

#[test]
fn a_run_that_fails_shows_what_came_before() {
    let f = compile(|(x, i): &(Tensor, Tensor)| x.exp().gather(0, i).sum());
    let run = f.debug().run(&(Tensor::from([1.0, 2.0]), Tensor::from([7i64])));
    assert_eq!(run.error().unwrap().operation(), "gather");
    assert_eq!(run.steps().last().unwrap().operation(), "exp", "{run}");
    assert!(run.to_string().contains("error  gather:"), "{run}");
}

#[test]
fn a_step_is_debugged_with_its_state() {
    let step = compile_step(|w: &mut Tensor, x: &Tensor| {
        *w = &*w - x;
        w.log()
    });
    let mut w = Tensor::from(3.0);
    assert_eq!(step.debug().call(&mut w, &Tensor::from(2.0)).item(), 0.0);
    assert_eq!(w.item(), 1.0);
    let error = error_of(|| step.debug().call(&mut w, &Tensor::from(2.0)));
    assert_eq!((error.operation(), w.item()), ("log", 1.0), "the state stays as it was");
    assert!(step.debug().run(&w, &Tensor::from(2.0)).to_string().contains("input 'state'"));
}

#[test]
fn reading_a_traced_value_is_an_error_that_names_the_line_and_the_way_out() {
    let x = Tensor::from([1.0, 2.0]);
    let start = line!();
    let readers: Vec<(&str, Box<dyn Fn(&Tensor) -> Tensor>)> = vec![
        ("item", Box::new(|x| x.sum() * x.sum().item())),
        ("if", Box::new(|x| if x.sum().item() > 0.0 { x.clone() } else { -x })),
        ("to_vec", Box::new(|x| Tensor::from(x.to_vec::<f64>().len() as f64))),
        ("to_f64_vec", Box::new(|x| Tensor::from(x.to_f64_vec()[0]))),
        ("==", Box::new(|x| if *x == Tensor::from(1.0) { x.clone() } else { -x })),
        ("a boolean", Box::new(|x| if x.gt(0.0).all().item() != 0.0 { x.clone() } else { -x })),
        ("a loop", Box::new(|x| (0..x.sum().item() as usize).fold(x.clone(), |x, _| x * 2.0))),
        ("an index", Box::new(|x| x.slice(x.sum().item() as usize))),
    ];
    let lines = start..line!();
    for (name, reader) in readers {
        let error = error_of(|| compile(|x: &Tensor| reader(x)).call(&x));
        assert_eq!(*error.kind(), ErrorKind::Traced, "{name}: {error}");
        assert!(lines.contains(&error.line().unwrap().line()), "{name}: {error}");
        let help = error.suggestion().unwrap();
        assert!(["where_", "cond", "scan", "while_loop"].iter().all(|word| help.contains(word)), "{name}: {error}");
        assert!(error.message().contains("debugging.rs"), "{name}: where it was made: {error}");
    }
    // Printing shows the known properties.
    let printed = RefCell::new(String::new());
    compile(|x: &Tensor| {
        *printed.borrow_mut() = format!("{x} {x:?}");
        x.clone()
    })
    .call(&x);
    assert_eq!(printed.take(), "f64[2] (symbolic) Tensor(f64[2] (symbolic), f64[2]) of compile");
}

#[test]
fn a_traced_tensor_that_leaks_is_an_error_at_its_next_use() {
    thread_local! {
        static KEPT: RefCell<Option<Tensor>> = const { RefCell::new(None) };
    }
    let made = line!() + 2;
    let f = compile(|x: &Tensor| {
        let y = x * 2.0;
        KEPT.set(Some(y.clone()));
        y
    });
    f.call(&Tensor::from(1.0));
    let leaked = KEPT.take().unwrap();
    let start = line!();
    let uses: Vec<(&str, Box<dyn Fn(&Tensor)>)> = vec![
        ("an operation", Box::new(|x| drop(x + 1.0))),
        ("reading", Box::new(|x| assert!(x.item() > 0.0))),
        ("another trace", Box::new(|x| drop(compile(|y: &Tensor| x * y).call(&Tensor::from(1.0))))),
        ("a derivative", Box::new(|x| drop(grad(|y: &Tensor| x * y)(&Tensor::from(1.0))))),
        ("an input", Box::new(|x| drop(compile(|x: &Tensor| x + 1.0).call(x)))),
    ];
    let lines = start..line!();
    for (name, use_it) in uses {
        let error = error_of(|| use_it(&leaked));
        assert_eq!(*error.kind(), ErrorKind::LevelClosed, "{name}: {error}");
        assert!(error.message().contains("leaked out of compile"), "{name}: {error}");
        assert!(error.message().contains(&format!("debugging.rs:{made}:")), "{name}: {error}");
        assert!(lines.contains(&error.line().unwrap().line()), "{name}: {error}");
    }
    assert!(leaked.to_string().contains("symbolic"));
}

#[test]
fn side_effects_happen_once_for_each_signature() {
    let log = RefCell::new(Vec::new());
    let f = compile(|x: &Tensor| {
        log.borrow_mut().push(format!("{:?}", x.shape()));
        x * 2.0
    });
    for size in [2, 2, 3, 2, 3] {
        f.call(&Tensor::ones([size]));
    }
    assert_eq!(log.take(), ["[2]", "[3]"]);
}

#[test]
fn a_function_that_does_something_else_when_traced_again_is_an_error() {
    let x = Tensor::from([1.0, 2.0]);
    let count = Cell::new(0);
    let next = || count.replace(count.get() + 1);
    let names = || -> Vec<String> {
        // Every map has its own iteration order.
        let map: HashMap<String, ()> = (0..50).map(|i| (format!("layer {i}"), ())).collect();
        map.into_keys().collect()
    };
    let start = line!();
    let functions: Vec<(&str, Box<dyn Fn(&Tensor) -> Tensor + '_>)> = vec![
        ("the constant of equation", Box::new(|x| x * f64::from(next()))),
        ("equation", Box::new(|x| if next() % 2 == 0 { x.sin() } else { x.cos() })),
        ("equations", Box::new(|x| if next() % 2 == 0 { x.sin() } else { x.sin().cos() })),
        (
            "equation",
            Box::new(|x| names().iter().fold(x.clone(), |y, name| if name.len() == 7 { y.sin() } else { y.cos() })),
        ),
        ("returns", Box::new(|_| Tensor::from(f64::from(next())))),
        (
            "other variables",
            Box::new(|x| if next() % 2 == 0 { [x.sin(), x.cos()][0].clone() } else { (x.sin(), x.cos()).1 }),
        ),
        (
            "in a body of equation 0, `c: f64[]",
            Box::new(|x| {
                scan(|h: &Tensor, x: &Tensor| (h + x * f64::from(next()), h.clone()), &Tensor::from(0.0), x).0
            }),
        ),
    ];
    let lines = start..line!();
    for (number, (text, f)) in functions.iter().enumerate() {
        let error = error_of(|| compile(|x: &Tensor| f(x)).checked().call(&x));
        assert_eq!(*error.kind(), ErrorKind::Retraced, "{number}: {error}");
        assert!(error.message().contains(text), "{number}: {error}");
        let place = error.line().unwrap();
        assert!(lines.contains(&place.line()) || *text == "returns" || *text == "other variables", "{number}: {error}");
    }
    // Both sides are shown.
    let error = error_of(|| compile(|x: &Tensor| (functions[1].1)(x)).checked().call(&x));
    assert!(error.message().contains("sin(a)") && error.message().contains("cos(a)"), "{error}");
    // A function that only depends on its input passes, with everything that traces can hold.
    let w = Tensor::from([3.0, 4.0]).require_grad();
    let cube = |x: &Tensor| {
        let cube = custom_vjp(|x: &Tensor| (x * x * x, x.clone()), |x: &Tensor, dy: &Tensor| dy * x * x * 3.0);
        cube(x)
    };
    let good = compile(|x: &Tensor| {
        let y = cube(x) * &w + w.exp();
        let (last, _) = scan(|h: &Tensor, x: &Tensor| ((h * 0.5 + x).tanh(), x.clone()), &Tensor::from(f64::NAN), &y);
        cond(&last.gt(0.0), |y: &Tensor| y.sum(), |y: &Tensor| y.mean(), &y)
    });
    good.checked().call(&x);
    let step = compile_step(|w: &mut Tensor, x: &Tensor| {
        *w += x * f64::from(next());
    });
    let error = error_of(|| step.checked().call(&mut Tensor::from(1.0), &Tensor::from(1.0)));
    assert_eq!(*error.kind(), ErrorKind::Retraced, "{error}");
    let calls = std::sync::atomic::AtomicI64::new(0);
    let hidden = custom_vjp(
        move |x: &Tensor| (x * calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as f64, ()),
        |_: &(), dy: &Tensor| dy.clone(),
    );
    let error = error_of(|| compile(|x: &Tensor| hidden(x)).checked().call(&x));
    assert!(error.message().contains("in the function that equation 0 calls"), "{error}");
    let long =
        compile(|x: &Tensor| x.sum() * Tensor::linspace(0.0, 1.0, 50) + Tensor::linspace(0.0, f64::from(next()), 50));
    let error = error_of(|| long.checked().call(&x));
    assert!(error.message().contains("at element 1 of f64[50]"), "{error}");
    let many = compile(|x: &Tensor| vec![x.clone(); next() as usize]);
    let error = error_of(|| many.checked().call(&x));
    assert!(error.message().contains("tensors and returns"), "{error}");
    let uneven = compile(|x: &Tensor| if next() % 2 == 0 { (x.clone(), None) } else { (x.clone(), Some(x.clone())) });
    let error = error_of(|| uneven.checked().call(&x));
    assert!(
        error.message().contains("tensors and returns") || error.message().contains("here on the right: 1"),
        "{error}"
    );
    let counted = compile(|x: &Tensor| Counted { value: x.exp(), count: next() });
    let error = error_of(|| counted.checked().call(&x));
    assert!(error.message().contains("here on the right: count: "), "{error}");
}

#[derive(Tree, Clone)]
struct Counted {
    value: Tensor,
    #[tree(static)]
    count: i32,
}

#[derive(Tree, Clone)]
struct Training {
    weight: Tensor,
    key: Key,
}

#[test]
fn a_state_with_a_key_keeps_its_signature_and_draws_the_numbers_of_eager_code() {
    let traces = Cell::new(0);
    let step = |state: &mut Training, x: &Tensor| {
        traces.set(traces.get() + 1);
        let (first, second) = (state.key.next(), state.key.next());
        let loss = |w: &Tensor| {
            let hidden = x.matmul(w).tanh().dropout(0.4, &first) + first.normal([4, 3], DType::F64) * 0.01;
            hidden.dropout(0.2, &second).square().mean()
        };
        let (loss, slope) = value_and_grad(loss)(&state.weight);
        state.weight = &state.weight - slope * 0.1;
        loss
    };
    let start = Training { weight: wave([5, 3], 0.3), key: Key::new(7) };
    let (mut eager, mut staged, x) = (start.clone(), start, wave([4, 5], 0.8));
    let expected: Vec<f64> = (0..10).map(|_| step(&mut eager, &x).item()).collect();
    traces.set(0);
    let compiled = compile_step(step);
    for expected in expected {
        let loss = compiled.call(&mut staged, &x).item();
        assert!((loss - expected).abs() < 1e-14, "{loss} {expected}");
    }
    assert_eq!((traces.get(), compiled.signatures()), (1, 1));
    assert!(staged.weight.all_close(&eager.weight, 1e-13));
    // The next draw is the same again, inside and outside programs.
    assert_eq!(staged.key.next().uniform([3], DType::F64), eager.key.next().uniform([3], DType::F64));
}

#[test]
fn a_key_of_a_batch_and_of_a_loop_draws_the_numbers_of_single_keys() {
    let mut keys = Key::new(3).split(4);
    let each: Vec<Tensor> = (0..4)
        .map(|i| {
            let mut key = Key::from_tensor(keys.tensor().slice(i));
            key.next();
            key.next().uniform([2], DType::F64)
        })
        .collect();
    let second = |key: &Key| {
        let mut key = key.clone();
        key.next();
        key.next().uniform([2], DType::F64)
    };
    assert_eq!(vmap(second)(&keys), Tensor::stack(&each, 0));
    assert_eq!(compile(vmap(second)).call(&keys), Tensor::stack(&each, 0));
    keys.next();
    assert_eq!(keys.next().uniform([2], DType::F64), Tensor::stack(&each, 0));
    // A loop that carries a key.
    let mut key = Key::new(5);
    let expected: Vec<f64> = (0..3).map(|_| key.next().uniform([], DType::F64).item()).collect();
    let draw = |key: &Key, _: &Tensor| {
        let mut key = key.clone();
        let child = key.next();
        (key, child.uniform([], DType::F64))
    };
    let (mut after, drawn) = scan(draw, &Key::new(5), &Tensor::zeros([3]));
    assert_eq!(drawn.to_vec::<f64>(), expected);
    assert_eq!(after.next().uniform([], DType::F64), key.next().uniform([], DType::F64));
}

#[test]
fn a_seed_of_the_host_inside_a_trace_is_an_error() {
    let drawn = [
        error_of(|| compile(|x: &Tensor| x + Key::new(1).uniform([2], DType::F64)).call(&Tensor::zeros([2]))),
        error_of(|| compile(|x: &Tensor| x.dropout(0.5, &Key::new(1))).call(&Tensor::zeros([2]))),
        error_of(|| compile(|x: &Tensor| x + Key::new(1).next().normal([2], DType::F64)).call(&Tensor::zeros([2]))),
    ];
    for error in drawn {
        assert_eq!(*error.kind(), ErrorKind::Traced, "{error}");
        assert!(error.line().unwrap().file().ends_with("debugging.rs"), "{error}");
    }
}
