//! Scans with independent rows run in parts, on several threads, and give the same results as in one part.

use wengert::prelude::*;

const ROWS: usize = 32;
const WIDTH: usize = 64;
const STEPS: usize = 24;

fn wave(shape: &[usize], phase: f64) -> Tensor {
    let count = shape.iter().product::<usize>();
    let numbers: Vec<f64> = (0..count).map(|i| 0.2 * (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

type Inputs = (Tensor, Tensor, Tensor);

/// Elements of the steps, a matrix, and a bias.
fn inputs() -> Inputs {
    (wave(&[STEPS, ROWS, WIDTH], 0.1), wave(&[WIDTH, WIDTH], 0.2), wave(&[WIDTH], 0.3))
}

/// Whether the plan of a function runs some loop in parts.
fn is_in_parts<Y: Tree>(f: impl Fn(&Inputs) -> Y) -> bool {
    compile(f).plan(&inputs()).to_string().contains("rows in 2 parts")
}

fn recurrent((x, w, b): &Inputs) -> (Tensor, Tensor) {
    let step = |h: &Tensor, x: &Tensor| {
        let h = (x + h.matmul(w) + b).tanh();
        (h.clone(), &h * 2.0)
    };
    scan(step, &Tensor::zeros([ROWS, WIDTH]), x)
}

/// The same loop in Rust.
fn unrolled((x, w, b): &Inputs) -> (Tensor, Tensor) {
    let (mut h, mut all) = (Tensor::zeros([ROWS, WIDTH]), Vec::new());
    for step in 0..STEPS {
        h = (x.select(0, step as isize) + h.matmul(w) + b).tanh();
        all.push(&h * 2.0);
    }
    (h, Tensor::stack(&all, 0))
}

#[test]
fn parts_give_what_the_loop_in_rust_gives() {
    let total = |(last, all): (Tensor, Tensor)| last.sum() + all.square().sum();
    assert!(is_in_parts(recurrent));
    let (got, right) = (compile(recurrent).call(&inputs()), unrolled(&inputs()));
    assert!(got.0.all_close(&right.0, 1e-13) && got.1.all_close(&right.1, 1e-13));
    let slope = |x: &Inputs| grad(|x: &Inputs| total(recurrent(x)))(x);
    let text = compile(slope).plan(&inputs()).to_string();
    assert_eq!(text.matches("rows in 2 parts").count(), 2, "forward and back: {text}");
    let (got, right) = (compile(slope).call(&inputs()), grad(|x: &Inputs| total(unrolled(x)))(&inputs()));
    assert!(got.0.all_close(&right.0, 1e-11) && got.1.all_close(&right.1, 1e-11) && got.2.all_close(&right.2, 1e-11));
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let f = compile(|x: &Inputs| value_and_grad(|x: &Inputs| recurrent(x).1.square().sum())(x));
    let first = f.call(&inputs());
    for threads in [1, 2, 3, 7] {
        wengert::set_threads(threads);
        assert_eq!(f.call(&inputs()), first, "{threads} threads");
    }
}

#[test]
fn numbers_of_steps_and_loops_backwards_have_parts_too() {
    let f = |(x, w, b): &Inputs| {
        let times = Tensor::linspace(0.0, 1.0, STEPS);
        let step = |h: &Tensor, (x, t): &(Tensor, Tensor)| (((h.matmul(w) + b) * t + x).sin(), ());
        scan_reverse(step, &Tensor::ones([ROWS, WIDTH]), &(x.clone(), times)).0
    };
    assert!(is_in_parts(f));
    let (x, w, b) = inputs();
    let right = (0..STEPS).rev().fold(Tensor::ones([ROWS, WIDTH]), |h, step| {
        let t = step as f64 / (STEPS - 1) as f64;
        ((h.matmul(&w) + &b) * t + x.select(0, step as isize)).sin()
    });
    assert!(compile(f).call(&inputs()).all_close(&right, 1e-13));
}

#[test]
fn rows_that_depend_on_others_stay_together() {
    type Step = fn(&Tensor, &Tensor, &Tensor) -> Tensor;
    let square = wave(&[ROWS, ROWS], 0.4);
    let steps: [(&str, Step); 4] = [
        ("a mean over rows", |h, x, _| h - h.mean_over(0) + x),
        ("a product from the left", |h, x, s| s.matmul(h) + x),
        ("rows in another order", |h, x, _| h.flip(&[0]) + x),
        ("sums along rows", |h, x, _| h.cumsum(0) * 0.1 + x),
    ];
    for (name, step) in steps {
        let f = |(x, w, _): &Inputs| {
            let body = |h: &Tensor, x: &Tensor| (step(&h.matmul(w), x, &square).tanh(), ());
            scan(body, &Tensor::zeros([ROWS, WIDTH]), x).0
        };
        assert!(!is_in_parts(f), "{name}");
        let (x, w, _) = inputs();
        let right = (0..STEPS)
            .fold(Tensor::zeros([ROWS, WIDTH]), |h, at| step(&h.matmul(&w), &x.select(0, at as isize), &square).tanh());
        assert!(compile(f).call(&inputs()).all_close(&right, 1e-12), "{name}");
    }
    // A captured tensor that has a row for each row.
    let own = wave(&[ROWS, WIDTH], 0.5);
    let f = |(x, w, _): &Inputs| {
        scan(|h: &Tensor, x: &Tensor| ((h.matmul(w) + x + &own).tanh(), ()), &Tensor::zeros([ROWS, WIDTH]), x).0
    };
    let (x, w, _) = inputs();
    let right =
        (0..STEPS).fold(Tensor::zeros([ROWS, WIDTH]), |h, at| (h.matmul(&w) + x.select(0, at as isize) + &own).tanh());
    assert!(compile(f).call(&inputs()).all_close(&right, 1e-12));
}
