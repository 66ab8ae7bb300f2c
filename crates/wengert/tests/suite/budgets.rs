//! Compiled functions with a memory budget.

use wengert::prelude::*;

fn wave(shape: impl Into<Shape>, phase: f64) -> Tensor {
    let shape = shape.into();
    let numbers: Vec<f64> = (0..shape.elements()).map(|i| (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

/// Under ever smaller budgets the function gives the same result as without one, until an error says that the budget is impossible. Returns
/// by how much the bytes other than inputs, constants and outputs shrank.
fn least<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y, x: &X) -> f64 {
    let expected = f(x);
    let free = compile(&f).plan(x);
    let fixed = free.total_bytes() - free.workspace_bytes();
    let mut reached = free.workspace_bytes();
    loop {
        let allowed = fixed + reached * 9 / 10;
        let tight = compile(&f).within(allowed);
        match catch(|| tight.call(x)) {
            Ok(found) => {
                for (found, expected) in found.leaves().into_iter().zip(expected.leaves()) {
                    assert!(found.all_close(expected, 1e-12), "within {allowed}: {found}, expected {expected}");
                }
                let plan = tight.plan(x);
                assert!(plan.total_bytes() <= allowed, "{plan}");
                reached = plan.workspace_bytes();
            }
            Err(error) => {
                let &ErrorKind::Budget { needed, allowed: told } = error.kind() else { panic!("{error}") };
                assert_eq!(told, allowed);
                assert!(needed > allowed, "{error}");
                assert_eq!(error.line().unwrap().file(), file!());
                return reached as f64 / free.workspace_bytes() as f64;
            }
        }
    }
}

/// Layers with a residual connection and a normalisation, as in transformers.
fn loss((weights, x): &(Vec<Tensor>, Tensor)) -> Tensor {
    let block = |x: Tensor, pair: &[Tensor]| {
        let scaled = &x / (x.square().mean_over(keepdim(-1)) + 1.0).sqrt();
        x + scaled.matmul(&pair[0]).gelu().matmul(&pair[1])
    };
    weights.chunks(2).fold(x.clone(), block).square().mean()
}

fn layers() -> (Vec<Tensor>, Tensor) {
    let pair = |i: usize| [wave([16, 64], 0.3 * i as f64) * 0.2, wave([64, 16], 0.7 + i as f64) * 0.2];
    ((0..6).flat_map(pair).collect(), wave([128, 16], 0.5))
}

#[test]
fn products_are_computed_again_where_their_results_would_wait() {
    assert!(least(value_and_grad(loss), &layers()) < 0.35);
}

#[test]
fn values_that_are_computed_from_each_other_are_computed_again_once() {
    let x = layers();
    let free = compile(value_and_grad(loss)).plan(&x);
    let fixed = free.total_bytes() - free.workspace_bytes();
    let tight = compile(value_and_grad(loss)).within(fixed + free.workspace_bytes() / 2);
    let (more, all) = (tight.plan(&x).repeated_cost().flops, free.program().cost().flops);
    assert!(more < 0.2 * all, "{more} of {all}");
}

#[test]
fn a_long_chain_needs_a_small_part_of_what_it_keeps() {
    let chain = |x: &Tensor| (0..24).fold(x.clone(), |y, _| y.matmul(x).tanh()).sum();
    assert!(least(grad(chain), &(wave([96, 96], 0.2) * 0.1)) < 0.5);
}

#[test]
fn random_masks_are_the_same_when_they_are_computed_again() {
    let f = |(x, key): &(Tensor, Tensor)| {
        let mut key = Key::from_tensor(key.clone());
        let masked = |y: Tensor, _| y.matmul(x).dropout(0.3, &key.next()).tanh();
        (0..8).fold(x.clone(), masked).square().sum()
    };
    assert!(least(value_and_grad(f), &(wave([96, 96], 0.2) * 0.1, Key::new(5).tensor().clone())) < 0.9);
}

#[test]
fn loops_around_and_inside_are_computed_again() {
    let f = |(w, x): &(Tensor, Tensor)| {
        let step = |h: &Tensor, x: &Tensor| {
            let h = (h.matmul(w) + x).tanh();
            (h.clone(), h)
        };
        let (h, all) = scan(step, &x.select(0, 0), x);
        (h.square().sum() + all.square().mean()) * w.matmul(w).exp().sum()
    };
    least(value_and_grad(f), &(wave([16, 16], 0.1) * 0.3, wave([20, 8, 16], 0.4)));
}

#[test]
fn a_step_that_does_not_fit_leaves_its_state() {
    let step = |w: &mut Tensor, x: &Tensor| {
        let slope = grad(|w: &Tensor| (0..6).fold(x.clone(), |x, _| x.matmul(w).tanh()).sum())(w);
        *w -= slope * 0.1;
    };
    let (mut w, x) = (wave([96, 96], 0.1) * 0.1, wave([128, 96], 0.3));
    let before = w.to_vec::<f64>();
    let error = catch(|| compile_step(step).within(1000).call(&mut w, &x)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Budget { allowed: 1000, .. }), "{error}");
    assert_eq!(w.to_vec::<f64>(), before);

    let free = compile_step(step);
    let tight = compile_step(step).within(free.plan(&w, &x).total_bytes() * 85 / 100);
    let mut other = w.clone();
    for _ in 0..3 {
        free.call(&mut w, &x);
        tight.call(&mut other, &x);
    }
    assert!(w.all_close(&other, 1e-12));
}

#[test]
fn an_error_names_a_budget_that_is_enough() {
    let x = Tensor::ones([100_020]).contiguous();
    let double = |x: &Tensor| x * 2.0;
    let error = catch(|| compile(double).within(1_600_000).call(&x)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Budget { needed: 1_600_320, allowed: 1_600_000 });
    let text = error.to_string();
    assert!(text.contains("needs 1.601 MB and is allowed 1.600 MB") && text.contains("allow 1.601 MB"), "{text}");
    compile(double).within(1_601_000).call(&x);
    let text = catch(|| compile(double).within(1).call(&Tensor::from([1.0, 2.0]))).unwrap_err().to_string();
    assert!(text.contains("needs 0.001 MB and is allowed 0.000 MB"), "{text}");
}

#[test]
fn what_one_budget_comes_to_is_enough_for_a_larger_one() {
    let x = layers();
    let gradient = || compile(value_and_grad(loss));
    let free = gradient().plan(&x);
    let mut most = 0;
    for share in (30..=100).rev().step_by(5) {
        let allowed = free.total_bytes() - free.workspace_bytes() + free.workspace_bytes() * share / 100;
        match catch(|| gradient().within(allowed).plan(&x)) {
            Ok(plan) => assert!(plan.total_bytes() <= allowed && most == 0, "{share} %: {most} did not fit"),
            Err(error) => {
                let ErrorKind::Budget { needed, .. } = *error.kind() else { panic!("{error}") };
                // The error of a smaller budget does not promise more than that of a larger one.
                most = most.max(needed);
                for budget in [needed, needed + 1, needed + needed / 20] {
                    assert!(gradient().within(budget).plan(&x).total_bytes() <= budget, "{share} %: {budget}");
                }
            }
        }
    }
}

#[test]
fn every_signature_has_the_budget_to_itself() {
    let f = compile(|x: &Tensor| (x.matmul(x).exp() + x).sum()).within(20_000);
    f.call(&wave([16, 16], 0.0));
    f.call(&wave([20, 20], 0.0));
    assert!(catch(|| f.call(&wave([64, 64], 0.0))).is_err());
    assert_eq!(f.call(&wave([16, 16], 0.0)).shape(), &[] as &[usize]);
}

#[test]
fn a_budget_holds_for_the_forward_and_the_backward_program_of_a_transform() {
    let x = layers();
    let expected = grad(loss)(&x);
    let needed = |half: &Program| half.optimised().plan().total_bytes();
    let split = compile(loss).pullback_program(&x);
    let budget = needed(&split.forward).max(needed(&split.backward)) - 20_000;
    let tight = compile(loss).within(budget);
    // On a level, on the tape, and differentiated forward.
    let found = grad(|x: &(Vec<Tensor>, Tensor)| tight.call(x))(&x);
    found.leaves().into_iter().zip(expected.leaves()).for_each(|(a, b)| assert!(a.all_close(b, 1e-12)));
    let leaves = x.map_leaves(|leaf| leaf.clone().require_grad());
    tight.call(&leaves).backward();
    let pairs = leaves.leaves().into_iter().zip(expected.leaves());
    pairs.for_each(|(leaf, expected)| assert!(leaf.grad().unwrap().all_close(expected, 1e-12)));
    assert!(jvp(|x: &(Vec<Tensor>, Tensor)| tight.call(x), &x, &x).1.all_close(&jvp(loss, &x, &x).1, 1e-12));
    // Too little is an error that says how low it got, and leaves no gradient behind.
    let whole = compile(value_and_grad(loss)).plan(&x);
    let small = compile(loss).within(whole.total_bytes() - whole.workspace_bytes());
    let leaves = x.map_leaves(|leaf| leaf.clone().require_grad());
    let error = catch(|| small.call(&leaves).backward()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Budget { needed, allowed } if needed > allowed), "{error}");
    assert!(leaves.leaves().iter().all(|leaf| leaf.grad().is_none()));
}

#[test]
fn a_budget_counts_what_a_large_product_packs() {
    let product = |(x, w): &(Tensor, Tensor)| x.matmul(w);
    let x = (wave([512, 256], 0.1), wave([256, 128], 0.2));
    let needed = compile(product).plan(&x).total_bytes();
    // The smaller operand.
    let error = catch(|| compile(product).within(needed).call(&x)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Budget { needed: needed + 256 * 128 * 8, allowed: needed });
    compile(product).within(needed + 256 * 128 * 8).call(&x);
}

#[test]
fn a_plan_says_what_smaller_budgets_cost() {
    let x = layers();
    let plan = compile(value_and_grad(loss)).plan(&x);
    let curve = plan.tradeoff();
    assert!(curve.len() >= 6, "{curve:?}");
    assert!(
        curve.windows(2).all(|pair| pair[0].bytes < pair[1].bytes && pair[0].seconds >= pair[1].seconds),
        "{curve:?}"
    );
    let most = curve.last().unwrap().bytes;
    assert!(most >= plan.total_bytes());
    assert!((curve.last().unwrap().flops - plan.program().cost().flops).abs() < 1.0);
    for point in curve {
        let tight = compile(value_and_grad(loss)).within(point.bytes).plan(&x);
        assert!(tight.total_bytes() <= point.bytes, "{} of {}", tight.total_bytes(), point.bytes);
        assert_eq!(tight.repeated_cost().flops, tight.program().cost().flops - plan.program().cost().flops);
        assert_eq!(tight.repeated_equations() == 0, point.bytes == most);
    }
}
