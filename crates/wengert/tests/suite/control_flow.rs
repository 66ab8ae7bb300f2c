//! Loops and branches that stay in programs: compared with Rust loops and branches, under every transform, and as text.

use wengert::prelude::*;
use wengert::program::ProgramAttrs;

#[track_caller]
fn assert_close(got: &[f64], right: &[f64], tolerance: f64) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b.abs().max(1.0);
    assert!(got.len() == right.len() && got.iter().zip(right).all(near), "{got:?}, should be {right:?}");
}

type Pair = (Tensor, Tensor);

fn rows(shape: [usize; 2], phase: f64) -> Tensor {
    let numbers = (0..shape[0] * shape[1]).map(|i| (1.3 * i as f64 + phase).sin()).collect();
    Tensor::from_vec::<f64>(numbers, shape)
}

/// The same function, run in every possible way, gives the same derivatives as a Rust loop.
fn agrees<X: Tree>(f: impl Fn(&X) -> Tensor, rust: impl Fn(&X) -> Tensor, x: &X) {
    let flat = |tree: &X| -> Vec<f64> { tree.leaves().into_iter().flat_map(Tensor::to_f64_vec).collect() };
    let v = x.map_leaves(|leaf| match leaf.dtype().is_float() {
        true => leaf.full_like(0.7),
        false => leaf.full_like(0.0),
    });
    assert_close(&[f(x).item()], &[rust(x).item()], 1e-13);
    assert_close(&[compile(&f).call(x).item()], &[rust(x).item()], 1e-13);
    let right = flat(&grad(&rust)(x));
    assert_close(&flat(&grad(&f)(x)), &right, 1e-12);
    assert_close(&flat(&compile(grad(&f)).call(x)), &right, 1e-12);
    let staged = compile(&f);
    assert_close(&flat(&grad(|x: &X| staged.call(x))(x)), &right, 1e-12);
    let leaves = x.map_leaves(|leaf| if leaf.dtype().is_float() { leaf.clone().require_grad() } else { leaf.clone() });
    f(&leaves).backward();
    let received = leaves.map_leaves(|leaf| leaf.grad().unwrap_or_else(|| leaf.detach().full_like(0.0)));
    assert_close(&flat(&received), &right, 1e-12);
    let right = jvp(&rust, x, &v).1.item();
    assert_close(&[jvp(&f, x, &v).1.item()], &[right], 1e-12);
    assert_close(&[compile(|x: &X| jvp(&f, x, &v).1).call(x).item()], &[right], 1e-12);
    assert_close(&[linearize(&f, x).1.apply(&v).item()], &[right], 1e-12);
    let right = flat(&jvp(grad(&rust), x, &v).1);
    assert_close(&flat(&jvp(grad(&f), x, &v).1), &right, 1e-10);
    assert_close(&flat(&compile(|x: &X| jvp(grad(&f), x, &v).1).call(x)), &right, 1e-10);
    let dot = |a: &X| {
        let products = a.leaves().into_iter().zip(v.leaves()).filter(|(a, _)| a.dtype().is_float());
        products.map(|(a, v)| (a * v).sum()).reduce(|a, b| a + b).unwrap()
    };
    assert_close(&flat(&grad(|x: &X| dot(&grad(&f)(x)))(x)), &right, 1e-10);
    assert_close(&flat(&grad(|x: &X| jvp(&f, x, &v).1)(x)), &right, 1e-10);
    // A batch of three points.
    let factors = [1.0, 0.8, 1.1];
    let points: Vec<X> = factors.iter().map(|factor| scaled(x, *factor)).collect();
    let leaves = |place: usize| -> Vec<Tensor> { points.iter().map(|x| x.leaves()[place].clone()).collect() };
    let batch = x.rebuild((0..x.leaves().len()).map(|place| Tensor::stack(&leaves(place), 0)).collect::<Vec<_>>());
    let right: Vec<f64> = points.iter().map(|x| rust(x).item()).collect();
    assert_close(&vmap(&f)(&batch).to_f64_vec(), &right, 1e-12);
    let each: Vec<X> = points.iter().map(|x| grad(&rust)(x)).collect();
    for got in [vmap(grad(&f))(&batch), grad(|x: &X| vmap(&f)(x).sum())(&batch), compile(vmap(grad(&f))).call(&batch)] {
        for (place, got) in got.leaves().into_iter().enumerate() {
            let right: Vec<f64> = each.iter().flat_map(|tree| tree.leaves()[place].to_f64_vec()).collect();
            assert_close(&got.to_f64_vec(), &right, 1e-12);
        }
    }
}

fn scaled<X: Tree>(x: &X, factor: f64) -> X {
    x.map_leaves(|leaf| if leaf.dtype().is_float() { leaf * factor } else { leaf.clone() })
}

fn recurrent(w: &Tensor, x: &Tensor) -> Tensor {
    scan(|h: &Tensor, x: &Tensor| ((w * h + x).tanh(), ()), &Tensor::from(0.0), x).0
}

#[test]
fn the_adjoint_of_a_shared_parameter_is_the_sum_over_one_copy_per_step() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let rust_loop = |w: &Tensor| (0..3).fold(Tensor::from(0.0), |h, t| (w * h + x.slice(t)).tanh());
    let copies = |w: &Vec<Tensor>| (0..3).fold(Tensor::from(0.0), |h, t| (&w[t as usize] * h + x.slice(t)).tanh());
    let (w, right) = (Tensor::from(0.5), 0.003687663930367921);
    let by_copies: f64 = grad(copies)(&vec![w.clone(); 3]).iter().map(Tensor::item).sum();
    let scanned = |w: &Tensor| recurrent(w, &x);
    let compiled = compile(grad(scanned));
    for found in [grad(rust_loop)(&w).item(), by_copies, grad(scanned)(&w).item(), compiled.call(&w).item()] {
        assert!((found - right).abs() < 1e-15, "{found:?}");
    }
    let leaf = w.require_grad();
    recurrent(&leaf, &x).backward();
    assert!((leaf.grad().unwrap().item() - right).abs() < 1e-15);
}

#[test]
fn a_scan_is_a_rust_loop_under_every_transform() {
    let cell = |w: &Tensor, h: &Tensor, x: &Tensor| (w.matmul(h) + x).tanh();
    let scanned = |(w, h, x): &(Tensor, Tensor, Tensor)| {
        let step = |h: &Tensor, x: &Tensor| {
            let h = cell(w, h, x);
            (h.clone(), &h * x)
        };
        let (last, all) = scan(step, h, x);
        last.sum() + (&all * &all).sum()
    };
    let rust = |(w, h, x): &(Tensor, Tensor, Tensor)| {
        let (mut h, mut sum) = (h.clone(), Tensor::from(0.0));
        for t in 0..4 {
            h = cell(w, &h, &x.slice(t));
            let y = &h * x.slice(t);
            sum += (&y * &y).sum();
        }
        h.sum() + sum
    };
    agrees(scanned, rust, &(rows([3, 3], 0.2), rows([1, 3], 0.5).slice(0), rows([4, 3], 0.9)));
    let backward = |(h, x): &Pair| {
        let (last, all) = scan_reverse(|h: &Tensor, x: &Tensor| (h * x.sin(), h.exp()), h, x);
        last + (all * Tensor::from([1.0, 2.0, 3.0])).sum()
    };
    let rust = |(h, x): &Pair| {
        let (mut h, mut sum) = (h.clone(), Tensor::from(0.0));
        for t in [2, 1, 0] {
            sum += h.exp() * (t + 1) as f64;
            h *= x.slice(t).sin();
        }
        h + sum
    };
    agrees(backward, rust, &(Tensor::from(0.4), Tensor::from([0.3, 1.1, 2.0])));
}

#[test]
fn loops_of_a_fixed_count_agree_with_rust_loops() {
    let power = |(x, c): &Pair| fori(2..5, |i: &Tensor, c: &Tensor| (c * x).sin() * i.cast(DType::F64), c);
    let rust = |(x, c): &Pair| (2..5).fold(c.clone(), |c, i| (c * x).sin() * i as f64);
    agrees(power, rust, &(Tensor::from(0.7), Tensor::from(0.3)));
    let times = |x: &Tensor| {
        let (last, all) = scan_times(3, |c: &Tensor| (c * c * 0.9, c.sin()), x);
        last + all.sum()
    };
    let rust = |x: &Tensor| {
        let (mut c, mut sum) = (x.clone(), Tensor::from(0.0));
        for _ in 0..3 {
            sum += c.sin();
            c = &c * &c * 0.9;
        }
        c + sum
    };
    agrees(times, rust, &Tensor::from(1.2));
}

#[test]
fn a_branch_is_a_rust_branch_under_every_transform() {
    let chosen = |(a, x): &Pair| {
        let then = |x: &Tensor| (x * a).sin() * x.exp();
        cond(&x.gt(0.5), then, |x: &Tensor| x * x * 2.0, x)
    };
    let rust = |(a, x): &Pair| if x.item() > 0.5 { (x * a).sin() * x.exp() } else { x * x * 2.0 };
    for x in [0.3, 0.55, 0.9] {
        agrees(chosen, rust, &(Tensor::from(1.7), Tensor::from(x)));
    }
    let branches = |a: &Tensor, x: &Tensor, k: i64| match k {
        0 => a * x,
        1 => x.sin(),
        _ => (a + x).exp(),
    };
    for k in -1..4 {
        let index = Tensor::from(k);
        let switched = |(a, x): &Pair| {
            let zero = |x: &Tensor| branches(a, x, 0);
            let one = |x: &Tensor| branches(a, x, 1);
            let two = |x: &Tensor| branches(a, x, 2);
            switch(&index, &[&zero, &one, &two], x)
        };
        agrees(switched, |(a, x): &Pair| branches(a, x, k.clamp(0, 2)), &(Tensor::from(0.8), Tensor::from(0.3)));
    }
}

/// The square root by Newton's method; the number of steps depends on the input.
fn newton(a: &Tensor) -> Tensor {
    let step = |(x, _): &Pair| ((x + a / x) * 0.5, x.clone());
    while_loop(|(x, last): &Pair| (x - last).abs().gt(1e-9), step, &(a.clone(), a + 1.0)).0
}

#[test]
fn a_data_dependent_loop_is_a_rust_loop_under_every_transform() {
    let rust = |a: &Tensor| {
        let (mut x, mut last) = (a.clone(), a + 1.0);
        while (&x - &last).abs().item() > 1e-9 {
            (x, last) = ((&x + a / &x) * 0.5, x.clone());
        }
        x
    };
    agrees(newton, rust, &Tensor::from(2.0));
    let slope = compile(grad(newton));
    for a in [0.1f64, 2.0, 9.0, 400.0] {
        assert!((slope.call(&Tensor::from(a)).item() - 0.5 / a.sqrt()).abs() < 1e-9, "{a}");
    }
    assert_eq!(slope.signatures(), 1, "one program for every number of steps");
    let growing = |(a, x): &Pair| {
        let body = |(x, n): &Pair| (x * a + x.sin(), n + 1i64);
        while_loop(|(x, _): &Pair| x.lt(20.0), body, &(x.clone(), Tensor::from(0i64))).0
    };
    let rust = |(a, x): &Pair| {
        let mut x = x.clone();
        while x.item() < 20.0 {
            x = &x * a + x.sin();
        }
        x
    };
    agrees(growing, rust, &(Tensor::from(1.8), Tensor::from(0.6)));
}

#[test]
fn a_count_that_is_a_tensor_decides_when_the_program_runs() {
    let power = |(x, n): &Pair| fori(n, |_: &Tensor, c: &Tensor| c * x, &Tensor::from(1.0));
    let staged = compile(|x: &Pair| (power(x), grad_wrt(["0"], power)(x).0));
    for n in [0i64, 1, 5, 70] {
        let (y, slope) = staged.call(&(Tensor::from(1.1), Tensor::from(n)));
        assert!((y.item() - 1.1f64.powi(n as i32)).abs() < 1e-9);
        let right = if n == 0 { 0.0 } else { n as f64 * 1.1f64.powi(n as i32 - 1) };
        assert!((slope.item() - right).abs() < 1e-9 * right.max(1.0), "{n}: {slope}");
    }
    assert_eq!(staged.signatures(), 1);
    // Every element of a batch has its own count.
    let counts = Tensor::from([0i64, 3, 1]);
    let slopes = vmap(|n: &Tensor| grad(|x: &Tensor| power(&(x.clone(), n.clone())))(&Tensor::from(2.0)))(&counts);
    assert_eq!(slopes, Tensor::from([0.0, 12.0, 1.0]));
    let second =
        vmap(|n: &Tensor| grad(grad(|x: &Tensor| power(&(x.clone(), n.clone()))))(&Tensor::from(2.0)))(&counts);
    assert_eq!(second, Tensor::from([0.0, 12.0, 0.0]));
}

#[test]
fn a_long_loop_is_taken_back_from_few_states() {
    // x -> x + sin(x)/n, a thousand steps: more than the number of states that are kept.
    let n = 1000i64;
    let f = |x: &Tensor| {
        let count = Tensor::from(n);
        fori(&count, |_: &Tensor, x: &Tensor| x + x.sin() / n as f64, x)
    };
    let rust = |x: f64| {
        let (mut x, mut slope) = (x, 1.0);
        for _ in 0..n {
            slope *= 1.0 + x.cos() / n as f64;
            x += x.sin() / n as f64;
        }
        slope
    };
    assert!((grad(f)(&Tensor::from(0.5)).item() - rust(0.5)).abs() < 1e-12);
    assert!((compile(grad(f)).call(&Tensor::from(0.5)).item() - rust(0.5)).abs() < 1e-12);
}

#[test]
fn nested_loops_and_branches_agree_with_rust() {
    // A loop in a branch in a loop, with tensors captured across all of them.
    let nested = |(a, x): &(Tensor, Tensor)| {
        let step = |c: &Tensor, x: &Tensor| {
            let long = |c: &Tensor| while_loop(|c: &Tensor| c.lt(3.0), |c: &Tensor| c * a + x * x, c);
            let short = |c: &Tensor| fori(2, |_: &Tensor, c: &Tensor| c * 0.5 + a.sin(), c);
            let c = cond(&x.gt(0.0), long, short, c);
            (c.clone(), c)
        };
        let (last, all) = scan(step, &Tensor::from(0.5), x);
        last + all.sum()
    };
    let rust = |(a, x): &(Tensor, Tensor)| {
        let (mut c, mut sum) = (Tensor::from(0.5), Tensor::from(0.0));
        for t in 0..4 {
            let x = x.slice(t);
            if x.item() > 0.0 {
                while c.item() < 3.0 {
                    c = &c * a + &x * &x;
                }
            } else {
                c = (c * 0.5 + a.sin()) * 0.5 + a.sin();
            }
            sum += &c;
        }
        c + sum
    };
    agrees(nested, rust, &(Tensor::from(1.3), Tensor::from([0.7, -0.4, 0.6, -1.0])));
    let double = |x: &Tensor| {
        let row = |c: &Tensor, row: &Tensor| {
            let (c, ys) = scan(|c: &Tensor, x: &Tensor| ((c * x).sin() + c, c * x), c, row);
            (c, ys)
        };
        let (last, all) = scan(row, &Tensor::from(0.8), x);
        last + (&all * &all).sum()
    };
    let rust = |x: &Tensor| {
        let (mut c, mut sum) = (Tensor::from(0.8), Tensor::from(0.0));
        for i in 0..2 {
            for j in 0..3 {
                let y = &c * x.slice((i, j));
                sum += &y * &y;
                c = (&c * x.slice((i, j))).sin() + c;
            }
        }
        c + sum
    };
    agrees(double, rust, &rows([2, 3], 0.4));
}

#[test]
fn whole_numbers_and_truth_values_are_carried() {
    let step = |(x, n, even): &(Tensor, Tensor, Tensor), by: &Tensor| {
        let next = even.where_(x * by, x + by);
        ((next, n + 2i64, even.logical_not()), (n.clone(), even.clone()))
    };
    let run = |x: &Tensor| {
        let start = (x.clone(), Tensor::from(0i64), Tensor::from(true));
        scan(step, &start, &Tensor::from([2.0, 3.0, 4.0]))
    };
    let ((x, n, even), (counts, parities)) = run(&Tensor::from(1.0));
    assert_eq!((x.item(), n, even), (20.0, Tensor::from(6i64), Tensor::from(false)));
    assert_eq!((counts, parities), (Tensor::from([0i64, 2, 4]), Tensor::from([true, false, true])));
    assert_eq!(grad(|x: &Tensor| run(x).0.0)(&Tensor::from(1.0)).item(), 8.0);
    assert_eq!(vmap(|x: &Tensor| run(x).0.0)(&Tensor::from([1.0, 2.0])), Tensor::from([20.0, 28.0]));
}

#[test]
fn no_steps_and_empty_operands_pass_the_carry_through() {
    let f = |(c, x): &Pair| {
        let (last, all) = scan(|c: &Tensor, x: &Tensor| (c * x, c + x), c, x);
        last * 3.0 + all.sum()
    };
    let x = (Tensor::from(2.0), Tensor::zeros([0]));
    for (dc, dx) in [grad(f)(&x), compile(grad(f)).call(&x)] {
        assert_eq!((dc.item(), dx.shape()), (3.0, &[0][..]));
    }
    assert_eq!(jvp(f, &x, &(Tensor::from(1.0), Tensor::zeros([0]))).1.item(), 3.0);
    let never = |x: &Tensor| while_loop(|x: &Tensor| x.lt(0.0), |x: &Tensor| x * x, x);
    assert_eq!(grad(never)(&Tensor::from(2.0)).item(), 1.0);
    assert_eq!(grad(|x: &Tensor| fori(0, |_: &Tensor, c: &Tensor| c * c, x))(&Tensor::from(2.0)).item(), 1.0);
    let empty = Tensor::zeros([3, 0]);
    let (_, sums) = scan(|c: &Tensor, x: &Tensor| (c.clone(), x.sum()), &Tensor::from(0.0), &empty);
    assert_eq!(sums, Tensor::zeros([3]));
}

#[test]
fn single_precision_stays_single() {
    let w = Tensor::from(0.5f32);
    let x = Tensor::from([1.0f32, 2.0, 3.0]);
    let f = |w: &Tensor| scan(|h: &Tensor, x: &Tensor| ((w * h + x).tanh(), ()), &Tensor::from(0.0f32), &x).0;
    let slope = grad(f)(&w);
    assert_eq!(slope.dtype(), DType::F32);
    assert!((slope.item() - 0.003687663930367921).abs() < 1e-7);
}

#[test]
fn random_numbers_differ_from_step_to_step_and_not_from_run_to_run() {
    let draw = |keys: &Tensor| {
        let step = |c: &Tensor, key: &Tensor| {
            let noise = Key::from_tensor(key.clone()).uniform([2], DType::F64);
            (c + noise.sum(), noise)
        };
        scan(step, &Tensor::from(0.0), keys)
    };
    let keys = Tensor::from([[1i64, 0], [2, 0], [3, 0]]);
    let (sum, noise) = draw(&keys);
    let compiled = compile(draw).call(&keys);
    assert_eq!(compiled.1, noise);
    assert!((compiled.0.item() - sum.item()).abs() < 1e-15);
    assert_ne!(noise.slice(0), noise.slice(1));
    assert_eq!(noise.slice(1), Key::from_tensor(Tensor::from([2i64, 0])).uniform([2], DType::F64));
    assert!((sum.item() - noise.sum().item()).abs() < 1e-15);
}

#[test]
fn jacobians_and_hessians_pass_through_loops() {
    let f = |x: &Tensor| scan(|c: &Tensor, x: &Tensor| ((c * x).sin(), c * c), &Tensor::from(0.7), x).1;
    let rust = |x: &Tensor| {
        let (mut c, mut all) = (Tensor::from(0.7), Vec::new());
        for t in 0..3 {
            all.push(&c * &c);
            c = (c * x.slice(t)).sin();
        }
        Tensor::stack(&all, 0)
    };
    let x = Tensor::from([0.4, 1.2, -0.6]);
    for got in [jacrev(f)(&x), jacfwd(f)(&x), compile(jacrev(f)).call(&x), compile(jacfwd(f)).call(&x)] {
        assert!(got.all_close(&jacrev(rust)(&x), 1e-13));
    }
    let (sum, right) = (|x: &Tensor| f(x).sum(), hessian(|x: &Tensor| rust(x).sum())(&x));
    assert!(hessian(sum)(&x).all_close(&right, 1e-12));
    assert!(compile(hessian(sum)).call(&x).all_close(&right, 1e-12));
    // The root a^(1/2) has the second derivative -a^(-3/2) / 4.
    let curvature = hessian(newton)(&Tensor::from(4.0)).item();
    assert!((curvature + 0.25 / 8.0).abs() < 1e-9, "{curvature}");
    let (along, right) = (jet(f, &x, &[Tensor::ones([3])], 4), jet(rust, &x, &[Tensor::ones([3])], 4));
    assert!(along.iter().zip(&right).all(|(along, right)| along.all_close(right, 1e-12)));
    // An output element depends only on the elements before it.
    let pattern = jacobian_pattern(f, &x);
    assert_eq!((0..3).map(|row| pattern.row(row).len()).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn gradients_agree_with_finite_differences() {
    let f = |(w, x): &Pair| {
        let step = |h: &Tensor, x: &Tensor| {
            let h = cond(&x.gt(0.0), |h: &Tensor| (w * h + x).tanh(), |h: &Tensor| h * w.cos(), h);
            let y = while_loop(|y: &Tensor| y.abs().lt(2.0), |y: &Tensor| y * 1.7 + w, &(&h + 0.5));
            (h, y)
        };
        let (last, all) = scan(step, &Tensor::from(0.3), x);
        last + all.sum()
    };
    let x = (Tensor::from(0.6), Tensor::from([0.5, -0.2, 0.8]));
    gradcheck(f, &x).unwrap();
}

#[test]
fn programs_do_not_grow_with_the_length() {
    let count = |program: &Program| -> usize {
        fn all(program: &Program) -> usize {
            let bodies = |equation: &wengert::program::Equation| -> usize {
                equation.attrs.bodies().map(|(_, body)| all(body)).sum()
            };
            program.equations().iter().map(|equation| 1 + bodies(equation)).sum()
        }
        all(program)
    };
    let size = |length: usize| {
        let x = Tensor::ones([length]);
        let f = |(w, x): &Pair| recurrent(w, x);
        let input = (Tensor::from(0.5), x);
        let transforms: [usize; 4] = [
            count(&compile(f).program(&input)),
            count(&compile(grad(f)).program(&input)),
            count(&compile(|x: &Pair| jvp(grad(f), x, x).1).program(&input)),
            count(
                &compile(vmap_with(Axes::new().shared("0").input("1", 0), grad(f)))
                    .program(&(Tensor::from(0.5), Tensor::ones([2, length]))),
            ),
        ];
        transforms
    };
    assert_eq!(size(3), size(3000));
}

#[test]
fn captured_tensors_are_operands_and_receive_gradients() {
    let w = Tensor::from([0.5, 0.25]).require_grad();
    let x = Tensor::ones([3, 2]);
    let (last, _) = scan(|h: &Tensor, x: &Tensor| (&w * h + x, ()), &Tensor::zeros([2]), &x);
    last.sum().backward();
    assert_eq!(w.grad().unwrap(), Tensor::from([2.0, 1.5]));
    let program = compile(|x: &Tensor| scan(|h: &Tensor, x: &Tensor| (&w * h + x, ()), &Tensor::zeros([2]), x).0);
    let text = program.program(&x).to_string();
    assert!(text.contains("capture") && text.contains("scan[consts=1, carry=1, length=3, reverse=0]"), "{text}");
}

#[test]
fn second_derivatives_on_the_imperative_tape() {
    let w = Tensor::from(0.5).require_grad();
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let inner =
        |w: &Tensor| recurrent(w, &x) + newton(&(w * w)) + cond(&w.gt(0.0), |w: &Tensor| w.exp(), |w| w * 1.0, w);
    let y = inner(&w);
    let first = wengert::autograd::grad_with(&[&y], &[&w], Backward::new().create_graph());
    let second = wengert::autograd::grad(&[first[0].as_ref().unwrap()], &[&w]);
    let plain = w.detach();
    assert_close(&[first[0].as_ref().unwrap().item()], &[grad(inner)(&plain).item()], 1e-12);
    assert_close(&[second[0].item()], &[grad(grad(inner))(&plain).item()], 1e-11);
}

#[test]
fn a_carry_that_changes_is_an_error_that_names_the_leaf() {
    let step = |(a, b): &Pair, x: &Tensor| ((a + x, b.unsqueeze(0)), ());
    let start = (Tensor::from(0.0), Tensor::from(1.0));
    let error = catch(|| scan(step, &start, &Tensor::ones([3]))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Tree);
    let text = error.to_string();
    assert!(text.contains("the carry at '1' is f64[] before a step and f64[1] after it"), "{text}");
    assert!(text.contains("control_flow.rs"), "{text}");
    let error =
        catch(|| while_loop(|x: &Vec<Tensor>| x[0].lt(3.0), |_| Vec::new(), &vec![Tensor::from(1.0)])).unwrap_err();
    assert!(error.to_string().contains("another structure after a step"), "{error}");
    let error = catch(|| while_loop(|x: &Tensor| x.lt(3.0), |x| x + 1.0, &Tensor::from([1.0, 2.0]))).unwrap_err();
    assert!(error.to_string().contains("bool[2], not one boolean"), "{error}");
}

#[test]
fn branches_that_differ_are_an_error_that_names_both() {
    let x = Tensor::from([1.0, 2.0]);
    let error =
        catch(|| cond(&x.sum().gt(0.0), |x: &Tensor| (x.clone(), x.sum()), |x| (x.clone(), x * 2.0), &x)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`otherwise` returns f64[2] at '1', `then` returns f64[]"), "{text}");
    assert!(text.contains("control_flow.rs"), "{text}");
    let error = catch(|| cond(&x.gt(0.0), |x: &Tensor| x.clone(), |x: &Tensor| -x, &x)).unwrap_err();
    assert!(error.suggestion().unwrap().contains("where_"), "{error}");
    let error = catch(|| cond(&x.sum(), |x: &Tensor| x.clone(), |x: &Tensor| -x, &x)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DType(_)), "{error}");
}

#[test]
fn reading_a_value_inside_a_loop_offers_the_alternatives() {
    let step = |h: &Tensor, x: &Tensor| if h.item() > 0.0 { (h + x, ()) } else { (h * x, ()) };
    let error = catch(|| scan(step, &Tensor::from(0.0), &Tensor::ones([3]))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Traced);
    let help = error.suggestion().unwrap();
    assert!(["where_", "cond", "scan"].iter().all(|word| help.contains(word)), "{error}");
    assert!(error.to_string().contains("inside scan"), "{error}");
}

#[test]
fn lengths_that_differ_are_an_error() {
    let error = catch(|| {
        scan(|c: &Tensor, _: &Pair| (c.clone(), ()), &Tensor::from(0.0), &(Tensor::ones([2]), Tensor::ones([3])))
    });
    assert!(error.unwrap_err().to_string().contains("'0' has 2 elements, '1' has 3"));
    let error = catch(|| scan(|c: &Tensor, (): &()| (c.clone(), ()), &Tensor::from(0.0), &())).unwrap_err();
    assert!(error.suggestion().unwrap().contains("scan_times"), "{error}");
}

#[test]
fn a_loop_carries_any_number_of_leaves() {
    let many: Vec<Tensor> = (0..80).map(|i| Tensor::from(i as f64)).collect();
    let doubled = fori(3, |_: &Tensor, c: &Vec<Tensor>| c.iter().map(|x| x * 2.0).collect(), &many);
    assert_eq!(doubled[79].item(), 8.0 * 79.0);
    let f = |many: &Vec<Tensor>| {
        fori(3, |_: &Tensor, c: &Vec<Tensor>| c.iter().map(|x| x * 2.0).collect(), many)[3].clone()
    };
    let slopes = grad(f)(&many);
    assert_eq!((slopes[3].item(), slopes[4].item()), (8.0, 0.0));
}

#[test]
fn a_body_may_have_many_intermediates() {
    let deep = |c: &Tensor| (0..90).fold(c.clone(), |c, i| (c * (1.0 + 0.001 * i as f64)).sin());
    let f = |x: &Tensor| fori(3, |_: &Tensor, c: &Tensor| deep(c), x);
    let rust = |x: &Tensor| (0..3).fold(x.clone(), |c, _| deep(&c));
    agrees(f, rust, &Tensor::from(0.8));
    let chosen = |x: &Tensor| cond(&x.gt(0.0), deep, |x: &Tensor| x * 2.0, x);
    agrees(chosen, deep, &Tensor::from(0.8));
}

#[test]
fn loops_are_computed_again_inside_checkpoints() {
    let f = |(w, x): &Pair| {
        let y = recurrent(w, x) + newton(&(w + 1.0));
        y * cond(&w.gt(0.0), |w: &Tensor| w.exp(), |w: &Tensor| w * 2.0, w)
    };
    let x = (Tensor::from(0.5), Tensor::from([1.0, 2.0, 3.0]));
    let block = checkpoint(move |x: &Pair| f(x));
    agrees(|x: &Pair| block(x).sin(), |x: &Pair| f(x).sin(), &x);
}

#[test]
fn gradients_stop_where_they_are_told_to() {
    let f = |x: &Tensor| fori(3, |_: &Tensor, c: &Tensor| c * x + stop_gradient(c), &Tensor::from(1.0));
    let rust = |x: &Tensor| (0..3).fold(Tensor::from(1.0), |c, _| &c * x + stop_gradient(&c));
    agrees(f, rust, &Tensor::from(0.7));
    let count = Tensor::from(3i64);
    let f = |x: &Tensor| fori(&count, |_: &Tensor, c: &Tensor| c * x + stop_gradient(c), &Tensor::from(1.0));
    agrees(f, rust, &Tensor::from(0.7));
    let held = |x: &Tensor| no_grad(|| fori(3, |_: &Tensor, c: &Tensor| c * x, &Tensor::from(1.0))) * x;
    assert!((grad(held)(&Tensor::from(2.0)).item() - 8.0).abs() < 1e-15);
    assert!((compile(grad(held)).call(&Tensor::from(2.0)).item() - 8.0).abs() < 1e-15);
}

#[test]
fn equal_bodies_are_one_and_so_is_what_is_derived_from_them() {
    let x = (Tensor::from(0.5), Tensor::from([1.0, 2.0, 3.0]));
    let bodies = || -> Vec<wengert::program::ProgramAttr> {
        let program = compile(grad(|(w, x): &Pair| recurrent(w, x))).program(&x);
        let bodies = program.equations().iter().flat_map(|equation| equation.attrs.bodies());
        bodies.map(|(_, body)| body.clone()).collect()
    };
    assert_eq!(bodies().len(), 2);
    assert_eq!(bodies(), bodies());
}

/// Each row alone gives the same result as in a batch.
fn rows_are_alone(f: impl Fn(&Tensor) -> Tensor, x: &Tensor) -> Tensor {
    let single: Vec<Tensor> = (0..x.shape()[0]).map(|row| f(&x.select(0, row as isize))).collect();
    let batch = vmap(&f)(x);
    assert!(batch.all_close(&Tensor::stack(&single, 0), 1e-14), "{batch} {single:?}");
    let compiled = compile(vmap(&f)).call(x);
    assert!(compiled.all_close(&batch, 1e-14), "{compiled} {batch}");
    batch
}

#[test]
fn elements_that_are_done_neither_get_nor_give_a_number_that_is_not_one() {
    // The root of a negative number, where the second row has stopped.
    let f = |x: &Tensor| {
        let body = |y: &Tensor| (y - 0.5).sqrt().softmax(0) * 0.5;
        while_loop(|y: &Tensor| y.sum().gt(1.0), body, x).sum()
    };
    let x = Tensor::from([[0.1, 0.2], [3.0, 2.5]]);
    let slopes = rows_are_alone(grad(f), &x);
    assert!(slopes.all_close(&Tensor::from([[1.0, 1.0], [0.0, 0.0]]), 1e-14), "{slopes}");
    let together = grad(|x: &Tensor| vmap(f)(x).sum())(&x);
    assert!(together.all_close(&slopes, 1e-14), "{together}");
    rows_are_alone(|x| jvp(f, x, &Tensor::from([1.0, 2.0])).1, &x);
    rows_are_alone(|x| hvp(f, x, &Tensor::from([1.0, 2.0])), &x);
}

#[test]
fn conjugate_gradients_of_several_right_sides_are_those_of_each() {
    let a = Tensor::from([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]);
    let solve = |b: &Tensor| {
        type State = (Tensor, Tensor, Tensor);
        let start = (b.full_like(0.0), b.clone(), b.clone());
        let step = |(x, r, p): &State| {
            let image = a.matmul(p);
            let length = r.dot(r) / p.dot(&image);
            let rest = r - &length * &image;
            let turn = rest.dot(&rest) / r.dot(r);
            (x + &length * p, rest.clone(), &rest + turn * p)
        };
        while_loop(|(_, r, _): &State| r.dot(r).gt(1e-20), step, &start).0
    };
    let b = Tensor::from([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]);
    rows_are_alone(solve, &b);
    rows_are_alone(grad(|b: &Tensor| (solve(b) * Tensor::from([1.0, 2.0, 3.0])).sum()), &b);
}

#[test]
fn an_error_of_a_step_or_branch_that_an_element_does_not_take_is_none() {
    let singular = Tensor::from([[2.0, 0.0], [0.0, 0.0]]);
    let regular = Tensor::from([[2.0, 1.0], [0.0, 4.0]]);
    let matrices = Tensor::stack(&[singular.clone(), regular, singular.clone()], 0);
    let inverse = |a: &Tensor| {
        let product = a.select(0, 0).select(0, 0) * a.select(0, 1).select(0, 1);
        cond(&product.abs().gt(0.1), |a: &Tensor| a.inv(), |a: &Tensor| a * 2.0, a)
    };
    rows_are_alone(inverse, &matrices);
    rows_are_alone(grad(|a: &Tensor| inverse(a).square().sum()), &matrices);
    // No element takes the branch.
    let none = Tensor::stack(&[singular.clone(), singular], 0);
    rows_are_alone(inverse, &none);
    // One step further, the index would be out of range.
    let table = Tensor::from([3.0, 5.0, 7.0]);
    let walk = |start: &Tensor| {
        type State = (Tensor, Tensor);
        let step = |(at, sum): &State| (at + 1i64, sum + table.index_select(0, &at.reshape([1])).sum());
        while_loop(|(at, _): &State| at.lt(3i64), step, &(start.clone(), Tensor::from(0.0))).1
    };
    let sums = vmap(walk)(&Tensor::from([0i64, 3, 2]));
    assert_eq!(sums, Tensor::from([15.0, 0.0, 7.0]));
    assert_eq!(compile(vmap(walk)).call(&Tensor::from([0i64, 3, 2])), sums);
    // For an element that does take the branch, it is an error.
    let message =
        catch(|| vmap(|a: &Tensor| cond(&a.sum().gt(0.0), |a: &Tensor| a.inv(), |a: &Tensor| a.clone(), a))(&matrices));
    assert!(message.is_err());
}

/// 4096 steps with a slope of 1: a sum with 8-bit precision would stop at 256.
#[test]
fn sums_of_shared_values_over_the_steps_of_a_loop_are_wide() {
    for dtype in [DType::BF16, DType::F16] {
        let (zero, xs) = (Tensor::from(0.0).cast(dtype), Tensor::zeros([4096]).cast(dtype));
        let scanned = |w: &Tensor| scan(|c: &Tensor, x: &Tensor| (c.clone(), w + x), &zero, &xs).1.sum();
        let w = Tensor::from(0.5).cast(dtype);
        let expected = Tensor::from(4096.0).cast(dtype);
        assert_eq!(grad(scanned)(&w), expected);
        assert_eq!(compile(grad(scanned)).call(&w), expected);
        // The sum is carried, so its own digits are lost; those of the gradient are not.
        let looped = |w: &Tensor| {
            let start = (Tensor::from(0i64), zero.clone());
            while_loop(|(i, _)| i.lt(4096i64), |(i, c)| (i + 1i64, c + w), &start).1
        };
        assert_eq!(grad(looped)(&w), expected);
        assert_eq!(compile(grad(looped)).call(&w), expected);
    }
}

#[test]
fn a_branch_over_an_empty_batch_gives_an_empty_batch() {
    let f = |x: &Tensor| cond(&x.sum().gt(0.0), |x: &Tensor| x.sum(), |x: &Tensor| x.prod(), x);
    assert_eq!(vmap(f)(&Tensor::zeros([0, 2])), Tensor::zeros([0]));
}
