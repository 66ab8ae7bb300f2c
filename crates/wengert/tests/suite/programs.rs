//! Programs as text: the result of tracing, parsed and evaluated. `WENGERT_BLESS=1` rewrites the files.

use std::fs;
use std::path::Path;
use wengert::prelude::*;

/// The program of `f` equals the file's text; the text parses, verifies, prints the same and computes what `f` computes.
fn traced<X: Tree, Y: Tree>(name: &str, f: impl Fn(&X) -> Y, x: X) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.txt"));
    let program = compile(&f).program(&x);
    let text = program.to_string();
    if std::env::var_os("WENGERT_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name}: WENGERT_BLESS=1 cargo test -p wengert programs accepts the new text");
    let parsed = Program::parse(&text).unwrap();
    assert_eq!(parsed.to_string(), text);
    let inputs: Vec<Tensor> = x.leaves().into_iter().cloned().collect();
    let outputs = parsed.evaluate(&inputs).unwrap();
    for (output, expected) in outputs.iter().zip(f(&x).leaves()) {
        assert!(output.all_close(expected, 1e-14), "{name}");
    }
}

#[test]
fn the_classic_function() {
    let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
    traced("classic", f, (Tensor::from(2.0), Tensor::from(3.0)));
    traced("classic_gradient", grad(f), (Tensor::from(2.0), Tensor::from(3.0)));
}

#[test]
fn a_batch_of_gradients() {
    let f = vmap(grad(|x: &Tensor| (x.tanh() * 2.0).sum()));
    traced("batched_gradient", f, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
}

#[test]
fn attributes_constants_and_several_outputs() {
    let f = |x: &Tensor| {
        let (values, positions) = x.max_along(1);
        let weights = Tensor::from([0.1, 1e-300, f64::INFINITY]).slice(0..2);
        (values * weights, positions, x.permute([1, 0]).slice((0..2, 1)))
    };
    traced("several_outputs", f, Tensor::from([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]));
}

#[test]
fn constants_read_back_exactly() {
    let f = |x: &Tensor| {
        (
            x + Tensor::from(0.1) + f64::MIN_POSITIVE,
            Tensor::from(0.1f32),
            Tensor::from([i64::MAX, -1]),
            Tensor::from([true, false]),
        )
    };
    traced("constants", f, Tensor::from(1.0));
}

#[test]
fn random_numbers_take_their_key_as_an_input() {
    let f = |key: &Tensor| Key::from_tensor(key.clone()).uniform([2], DType::F64);
    traced("random", f, Key::new(7).tensor().clone());
    let staged = compile(f);
    let (a, b) = (staged.call(Key::new(1).tensor()), staged.call(Key::new(2).tensor()));
    assert_ne!(a, b, "a new key draws new numbers from the same program");
    assert_eq!(staged.signatures(), 1);
    // Under vmap, a batch of keys draws different numbers, and a captured key draws the same numbers for every element.
    let keys = Tensor::from([[1i64, 0], [2, 0]]);
    let different = vmap(f)(&keys);
    assert_eq!(different.slice(0), a);
    assert_eq!(different.slice(1), b);
    // A key from outside would freeze its numbers in the program.
    let frozen = compile(|x: &Tensor| x + Key::new(1).uniform([2], DType::F64));
    let error = catch(|| frozen.call(&Tensor::zeros([2]))).unwrap_err();
    assert!(error.operation() == "uniform" && error.suggestion().unwrap().contains("an input"), "{error}");
    let key = Key::new(1);
    let same = vmap(|x: &Tensor| x + key.uniform([2], DType::F64))(&Tensor::zeros([2]));
    assert_eq!((same.slice(0), same.slice(1)), (a.clone(), a));
}

#[test]
fn each_signature_is_traced_once() {
    use std::cell::Cell;
    let calls = Cell::new(0);
    let f = compile(|x: &Tensor| {
        calls.set(calls.get() + 1);
        x * 2.0
    });
    for _ in 0..3 {
        assert_eq!(f.call(&Tensor::from([1.0, 2.0])), Tensor::from([2.0, 4.0]));
    }
    assert_eq!(calls.get(), 1);
    f.call(&Tensor::from([1.0, 2.0, 3.0]));
    f.call(&Tensor::from([1.0f32, 2.0]));
    assert_eq!((calls.get(), f.signatures()), (3, 3));
}

#[test]
fn a_program_that_captures_a_running_transform_is_not_kept() {
    let outer = |x: &Tensor| {
        let inner = compile(|y: &Tensor| x * y);
        inner.call(&Tensor::from(3.0)) + inner.call(&Tensor::from(4.0))
    };
    assert_eq!(grad(outer)(&Tensor::from(2.0)).item(), 7.0);
    assert_eq!(grad(outer)(&Tensor::from(5.0)).item(), 7.0);
    assert_eq!(vmap(grad(outer))(&Tensor::from([2.0, 5.0])), Tensor::from([7.0, 7.0]));
    assert_eq!(compile(grad(outer)).call(&Tensor::from(2.0)).item(), 7.0);
}

#[test]
fn random_numbers_stay_below_one_in_every_dtype() {
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16] {
        let numbers = Key::new(9).uniform([100_000], dtype).to_f64_vec();
        assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)), "{dtype}");
        let mean = numbers.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 5e-3, "{dtype}: {mean}");
    }
}

#[test]
fn half_precision_means_do_not_overflow() {
    for dtype in [DType::F16, DType::BF16] {
        let x = Tensor::full([70_000], 0.5).cast(dtype);
        assert_eq!(x.mean().item(), 0.5);
        let slope = grad(|x: &Tensor| x.mean())(&x).slice(0).item();
        assert!((slope * 70_000.0 - 1.0).abs() < 0.01, "{slope}");
    }
}

#[test]
fn a_repeated_number_larger_than_memory_prints() {
    assert_eq!(Tensor::from(1.0).broadcast_to([1 << 40]).to_string(), "[1., 1., 1., ..., 1., 1., 1.]");
    assert_eq!(Tensor::from([[1.0, 2.5], [f64::NAN, -3.0]]).to_string(), "[[ 1. ,  2.5],\n [ NaN, -3. ]]");
    assert_eq!(Tensor::zeros([2, 0]).to_string(), "[[],\n []]");
    assert_eq!(Tensor::from(true).to_string(), "true");
    assert_eq!(Tensor::from(i64::MAX).to_string(), "9223372036854775807");
}

#[test]
fn loops_and_branches_carry_programs() {
    let scanned = |(w, x): &(Tensor, Tensor)| {
        let step = |h: &Tensor, x: &Tensor| {
            let h = (w * h + x).tanh();
            (h.clone(), h)
        };
        scan(step, &Tensor::from(0.0), x)
    };
    let x = (Tensor::from(0.5), Tensor::from([1.0, 2.0, 3.0]));
    traced("scan", scanned, x.clone());
    traced("scan_gradient", grad(|x: &(Tensor, Tensor)| scanned(x).0), x.clone());
    traced("scan_tangent", |x: &(Tensor, Tensor)| jvp(scanned, x, x).1, x);
    let halved = |x: &Tensor| while_loop(|x: &Tensor| x.gt(1.0), |x: &Tensor| x * 0.5 + x.sin() * 0.1, x);
    traced("while", halved, Tensor::from(9.0));
    traced("while_gradient", grad(halved), Tensor::from(9.0));
    traced("while_batch", vmap(halved), Tensor::from([9.0, 0.5]));
    let chosen = |x: &Tensor| cond(&x.gt(0.0), |x: &Tensor| x.exp() * x, |x: &Tensor| x * 2.0, x);
    traced("cond", chosen, Tensor::from(0.5));
    traced("cond_gradient", grad(chosen), Tensor::from(0.5));
    let nested = |x: &Tensor| {
        let step = |c: &Tensor, x: &Tensor| {
            let c = cond(&x.gt(0.0), |c: &Tensor| fori(4, |_: &Tensor, c: &Tensor| c * x, c), |c: &Tensor| c + x, c);
            (c.clone(), c)
        };
        scan(step, &Tensor::from(1.0), x).1
    };
    traced("nested", nested, Tensor::from([1.5, -0.5]));
}

#[test]
fn bodies_may_be_commented_and_are_checked_against_the_operands() {
    let text = "program(a: f64[], b: f64[3]) {
      // a running product
      c: f64[], d: f64[3] = scan[consts=0, carry=1, length=3, reverse=0](a, b) body(p: f64[], x: f64[]) {
        q: f64[] = mul(p, x)   // of everything so far
        return q, q
      }
      return d
    }";
    let product = Program::parse(text).unwrap();
    let inputs = [Tensor::from(2.0), Tensor::from([1.0, 3.0, 5.0])];
    assert_eq!(product.evaluate(&inputs).unwrap()[0], Tensor::from([2.0, 6.0, 30.0]));
    let wrong = |from: &str, to: &str, expected: &str| {
        let error = Program::parse(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    wrong("x: f64[]", "x: f32[]", "mul");
    wrong("length=3", "length=4", "operand 1 is f64[3], the body takes f64[4]");
    wrong("return q, q", "return q", "scan gives f64[], declared as f64[], f64[3]");
    wrong("body(", "boy(", "scan has no attribute 'boy'");
    wrong("return q, q\n      }", "return q, q\n", "line 7");
    wrong("mul(p, x)", "mul(p, a)", "line 4: 'a' is not defined");
}
