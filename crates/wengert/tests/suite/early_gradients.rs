//! Gradients of leaves that are handed over during the sweep.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::autograd;
use wengert::prelude::*;
use wengert::primitive::{
    Attrs, Case, Device, Gradient, Gradients, Outputs, Primitive, Rule, Spec, SpecRef, Specs, bind1,
};

fn leaves(count: usize) -> Vec<Tensor> {
    (0..count).map(|k| Tensor::from([0.3 + 0.1 * k as f64, -0.7]).require_grad()).collect()
}

fn named(leaves: &[Tensor]) -> Backward {
    leaves.iter().fold(Backward::new(), Backward::early)
}

/// The gradients handed over, in order.
fn handed_over(y: &Tensor, options: Backward) -> Vec<(usize, Tensor)> {
    let mut all = Vec::new();
    y.backward_early(options, |place, gradient| all.push((place, gradient)));
    all
}

/// A unary operation whose rule calls `rule`.
struct Ruled {
    rule: fn(Tensor) -> Gradient,
}

impl Primitive for Ruled {
    fn name(&self) -> &'static str {
        "ruled"
    }
    fn operands(&self) -> usize {
        1
    }
    fn infer(&self, _: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(Specs::from_iter([operands[0].to_spec()]))
    }
    fn eval(&self, _: Device, _: &Attrs, operands: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
        Ok(Outputs::from_iter([operands[0].clone()]))
    }
    fn vjp(&'static self, _: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        Gradients::from_iter([(self.rule)(cotangents[0].take().expect("the only output has a cotangent"))])
    }
    fn cases(&self) -> Vec<Case> {
        vec![]
    }
}

static ZERO: Ruled = Ruled { rule: |_| Gradient::Zero };

static FAILING: Ruled =
    Ruled { rule: |_| Error::new(ErrorKind::Argument, "ruled", "the rule fails").help("do not use it").raise() };

fn failing(x: &Tensor) -> Tensor {
    bind1(&FAILING, Attrs::new(), &[x])
}

#[test]
fn the_last_layer_comes_first_and_nothing_is_left_in_the_leaves() {
    let w = leaves(5);
    let y = w.iter().fold(Tensor::from([1.0, 1.0]), |x, w| (x * w).sin()).sum();
    let expected = autograd::grad_with(&[&y], &w.iter().collect::<Vec<_>>(), Backward::new().retain_graph());
    let found = handed_over(&y, named(&w));
    assert_eq!(found.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [4, 3, 2, 1, 0]);
    for (place, gradient) in found {
        assert_eq!(Some(gradient), expected[place]);
    }
    assert!(w.iter().all(|w| w.grad().is_none()));
}

#[test]
fn a_leaf_is_handed_over_before_older_records_are_swept() {
    let w = leaves(3);
    let swept = Arc::new(AtomicUsize::new(0));
    let mut x = Tensor::from([1.0, 1.0]);
    for w in &w {
        x = (&x * w).sin();
        let counted = swept.clone();
        x.register_hook(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            None
        });
    }
    let mut seen = Vec::new();
    x.sum().backward_early(named(&w), |place, _| seen.push((place, swept.load(Ordering::Relaxed))));
    assert_eq!(seen, [(2, 1), (1, 2), (0, 3)]);
}

#[test]
fn any_graph_hands_over_every_leaf_once_with_all_its_contributions() {
    for seed in 0..100u64 {
        let mut state = seed;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) as usize) % bound
        };
        let w = leaves(1 + below(6));
        // Long rows collect their slopes; short ones bypass rules and tape.
        let length = if seed % 2 == 0 { 2 } else { 4096 };
        let wide = |x: &Tensor| x.reshape([2, 1]).broadcast_to([2, length / 2]).reshape([length]);
        let mut values: Vec<Tensor> = w.iter().map(wide).collect();
        for _ in 0..below(30) {
            let (a, b) = (values[below(values.len())].clone(), values[below(values.len())].clone());
            values.push(match below(4) {
                0 => a.sin(),
                1 => a * b,
                2 => a + b.tanh(),
                _ => a.exp() * &w[below(w.len())].sum(),
            });
        }
        let y = values.last().unwrap().sum();
        let some = below(w.len() + 1);
        let expected = autograd::grad_with(&[&y], &w.iter().collect::<Vec<_>>(), Backward::new().retain_graph());
        let mut found: Vec<Option<Tensor>> = vec![None; w.len()];
        for (place, gradient) in handed_over(&y, named(&w[..some])) {
            assert!(found[place].replace(gradient).is_none(), "seed {seed}: leaf {place} came twice");
        }
        for (place, w) in w.iter().enumerate() {
            let (early, late) = if place < some { (&expected[place], &None) } else { (&None, &expected[place]) };
            assert_eq!((&found[place], &w.grad()), (early, late), "seed {seed}, leaf {place}");
        }
    }
}

#[test]
fn records_without_a_gradient_and_leaves_that_are_outputs_or_named_twice() {
    let w = leaves(2);
    let zero = bind1(&ZERO, Attrs::new(), &[&(&w[0] * 2.0)]);
    let y = ((zero + &w[1]).sin() * &w[0]).sum();
    let found = handed_over(&y, named(&w));
    assert!(found.iter().map(|(place, _)| *place).eq([1, 0]), "{found:?}");
    assert_eq!(found[1].1, (&w[0] * 2.0 + &w[1]).sin().detach());

    let x = Tensor::from(3.0).require_grad();
    assert_eq!(handed_over(&x, Backward::new().early(&x)), [(0, Tensor::from(1.0))]);
    let twice = Backward::new().early(&x).early(&x);
    assert_eq!(handed_over(&(&x * &x), twice), [(0, Tensor::from(6.0))]);
    assert!(handed_over(&(&x * 2.0), named(&w)).is_empty());
    assert_eq!(x.grad().unwrap().item(), 2.0);
}

#[test]
fn a_parameter_can_be_updated_when_its_gradient_comes() {
    let step = |early: bool| {
        let mut w = leaves(4);
        let y = w.iter().fold(Tensor::from([1.0, 1.0]), |x, w| (x * w).exp()).sum();
        if early {
            y.backward_early(named(&w), |place, gradient| no_grad(|| w[place] -= gradient * 0.1));
        } else {
            y.backward();
            w.iter_mut().for_each(|w| no_grad(|| *w -= w.grad().unwrap() * 0.1));
        }
        assert!(w.iter().all(|w| w.is_leaf() && w.requires_grad()));
        w.into_iter().map(|w| w.detach()).collect::<Vec<_>>()
    };
    assert_eq!(step(true), step(false));
}

#[test]
fn hooks_on_adjoints_run_and_kept_adjoints_are_kept() {
    let x = Tensor::from(3.0).require_grad();
    x.register_hook(|adjoint| Some(adjoint * 10.0));
    x.register_accumulate_hook(|_| panic!("nothing is accumulated"));
    let y = (&x * &x).retain_grad();
    assert_eq!(handed_over(&(&y * 2.0), Backward::new().early(&x)), [(0, Tensor::from(120.0))]);
    assert_eq!((y.grad().unwrap().item(), x.grad().is_none()), (2.0, true));
}

#[test]
fn the_graph_can_be_kept_and_gradients_differentiated_again() {
    let x = Tensor::from(2.0).require_grad();
    let y = &x * &x * &x;
    let options = Backward::new().early(&x);
    assert_eq!(handed_over(&y, options.clone().retain_graph())[0].1.item(), 12.0);
    let slope = handed_over(&y, options.clone().create_graph()).remove(0).1;
    let second = autograd::grad_with(&[&slope], &[&x], Backward::new().retain_graph());
    assert_eq!(second[0].as_ref().unwrap().item(), 12.0);
    assert_eq!(handed_over(&y, options.clone())[0].1.item(), 12.0);
    let error = catch(|| handed_over(&y, options)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::GraphFreed);
}

#[test]
fn an_error_midway_says_what_was_handed_over_and_leaves_the_rest() {
    let w = leaves(4);
    let chain = |x: Tensor, w: &Tensor| (x * w).sin();
    let x = failing(&w[..2].iter().fold(Tensor::from([1.0, 1.0]), chain));
    let y = w[2..].iter().fold(x, chain).sum();
    let mut places = Vec::new();
    // The last leaf is not listed.
    let error = catch(|| y.backward_early(named(&w[..3]), |place, _| places.push(place))).unwrap_err();
    assert_eq!((places, error.kind(), error.operation()), (vec![2], &ErrorKind::Argument, "ruled"));
    assert_eq!(error.message(), "the rule fails; gradients were handed over before, at the places [2]");
    assert_eq!(error.suggestion(), Some("do not use it"));
    assert!(w.iter().all(|w| w.grad().is_none()));

    let y = w.iter().fold(Tensor::from([1.0, 1.0]), chain).sum();
    let refuse = |place: usize, _: Tensor| {
        if place == 1 {
            Error::new(ErrorKind::Argument, "optimiser", "no state").raise()
        }
    };
    let error = catch(|| y.backward_early(named(&w[..3]), refuse)).unwrap_err();
    assert_eq!(error.message(), "no state; gradients were handed over before, at the places [2, 1]");
    assert!(w.iter().all(|w| w.grad().is_none()));
}

#[test]
fn misuse_is_a_typed_error_with_the_users_line() {
    let x = Tensor::from(2.0).require_grad();
    let y = &x * &x;
    let options = || Backward::new().early(&x);
    for (error, kind) in [
        (catch(|| Backward::new().early(&y)).err().unwrap(), ErrorKind::Argument),
        (catch(|| Backward::new().early(&Tensor::from(1.0))).err().unwrap(), ErrorKind::NoGradient),
        (catch(|| y.backward_with(options())).unwrap_err(), ErrorKind::Argument),
        (catch(|| autograd::grad_with(&[&y], &[&x], options())).unwrap_err(), ErrorKind::Argument),
    ] {
        assert_eq!(error.kind(), &kind, "{error}");
        assert!(error.suggestion().is_some());
        assert_eq!(error.line().unwrap().file(), file!());
    }
    y.backward();
    assert_eq!(x.grad().unwrap().item(), 4.0);
}
