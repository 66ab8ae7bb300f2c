//! Checkpoints that keep some values, cut chains in other ways, or compare more.

use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::memory::{Verify, saved_bytes};
use wengert::prelude::*;
use wengert::primitive::{
    Attrs, Case, Device, Gradient, Gradients, Mask, Outputs, Primitive, Rule, Saves, Spec, SpecRef, Specs, bind1,
};

/// costly - y = x^2, and every evaluation is counted.   dy = 2 x dx.
struct Costly;

static COSTLY: Costly = Costly;
static EVALUATIONS: AtomicUsize = AtomicUsize::new(0);

impl Primitive for Costly {
    fn name(&self) -> &'static str {
        "costly"
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(Specs::from_iter([operands[0].to_spec()]))
    }

    fn eval(&self, _: Device, _: &Attrs, operands: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
        EVALUATIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Outputs::from_iter([operands[0] * operands[0]]))
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let g = cotangents[0].take().expect("the only output has a cotangent");
        Gradients::from_iter([Gradient::Dense(g * rule.operand(0) * 2.0)])
    }

    fn cases(&self) -> Vec<Case> {
        Vec::new()
    }
}

fn x() -> Tensor {
    Tensor::linspace(0.1, 0.9, 12).reshape([3, 4])
}

fn block(x: &Tensor) -> Tensor {
    bind1(&COSTLY, Attrs::new(), &[&x.sin()]).tag("square").tanh().matmul(&Tensor::ones([4, 4])).exp()
}

/// One test, because they share the count.
#[test]
fn what_a_policy_keeps_is_not_computed_again() {
    let plain = grad(|x: &Tensor| block(x).sum())(&x());
    let leaf = x().require_grad();
    for (policy, evaluations) in [
        (Policy::Nothing, 2),
        (Policy::Products, 2),
        (Policy::Tagged(&["other"]), 2),
        (Policy::Tagged(&["square", "other"]), 2),
        (Policy::Named(&["costly"]), 1),
    ] {
        let f = |x: &Tensor| checkpoint_with(policy, block)(x).sum();
        let nested = |x: &Tensor| checkpoint(move |x: &Tensor| checkpoint_with(policy, block)(x).sum())(x);
        EVALUATIONS.store(0, Ordering::Relaxed);
        assert_eq!(grad(f)(&x()), plain, "{policy:?}");
        assert_eq!(EVALUATIONS.load(Ordering::Relaxed), evaluations, "{policy:?}");
        f(&leaf).backward();
        assert_eq!(leaf.take_grad().unwrap(), plain, "{policy:?} on the tape");
        nested(&leaf).backward();
        assert_eq!(leaf.take_grad().unwrap(), plain, "{policy:?} inside another checkpoint");
    }
}

#[test]
fn kept_values_count_as_saved_and_an_outer_checkpoint_drops_them() {
    let x = Tensor::linspace(0.1, 0.9, 1000).require_grad();
    let f = |x: &Tensor| x.sin().exp().tag("kept").cos().tanh();
    let bytes = |policy| saved_bytes(|| checkpoint_with(policy, f)(&x)).1;
    assert_eq!((bytes(Policy::Nothing), bytes(Policy::Tagged(&["kept"]))), (8000, 16_000));
    let outer = checkpoint(move |x: &Tensor| checkpoint_with(Policy::Tagged(&["kept"]), f)(x));
    assert_eq!(saved_bytes(|| outer(&x)).1, 8000);
}

#[test]
fn policies_hold_in_compiled_functions_and_higher_derivatives() {
    let smooth = |x: &Tensor| x.sin().tag("a").tanh().matmul(&Tensor::ones([4, 4])).exp();
    let expected = hessian(|x: &Tensor| smooth(x).sum())(&x());
    for policy in [Policy::Products, Policy::Named(&["tanh"]), Policy::Tagged(&["a"])] {
        let f = |x: &Tensor| checkpoint_with(policy, smooth)(x).sum();
        assert!(hessian(f)(&x()).all_close(&expected, 1e-12), "{policy:?}");
        let gradient = compile(grad(move |x: &Tensor| checkpoint_with(policy, smooth)(x).sum()));
        assert!(gradient.call(&x()).all_close(&grad(|x: &Tensor| smooth(x).sum())(&x()), 1e-12), "{policy:?}");
    }
}

#[test]
fn chains_cut_in_any_way_have_the_same_bits() {
    let x = Tensor::linspace(0.1, 0.9, 50).require_grad();
    for count in [0, 1, 2, 7, 16] {
        let layers: Vec<_> = (0..count).map(|k| move |x: &Tensor| (x * (1.0 + f64::from(k) / 10.0)).sin()).collect();
        layers.iter().fold(x.clone(), |x, layer| layer(&x)).sum().backward();
        let plain = x.take_grad().unwrap();
        let ways = [
            Segments::Count(3),
            Segments::Sqrt,
            Segments::Recursive,
            Segments::Within(4000),
            Segments::Within(1 << 20),
        ];
        for segments in ways {
            checkpoint_chain(&layers, &x, segments).sum().backward();
            assert_eq!(x.take_grad().unwrap(), plain, "{count} layers, {segments:?}");
        }
    }
}

#[test]
fn a_chain_within_bytes_saves_no_more_or_says_how_many_it_needs() {
    let x = Tensor::linspace(0.1, 0.9, 1000).require_grad();
    let layers: Vec<_> = (0..64).map(|k| move |x: &Tensor| (x + f64::from(k)).sin()).collect();
    let saved = |segments: Segments| saved_bytes(|| checkpoint_chain(&layers, &x, segments)).1;
    // All 64 values, 40 and 16 of them; of 13, two for each time the chain is halved and one of a function.
    assert!(saved(Segments::Within(64 * 8000)) > 60 * 8000);
    assert!(saved(Segments::Within(40 * 8000)) < 40 * 8000);
    assert!(saved(Segments::Within(16 * 8000)) <= 8 * 8000);
    assert!(saved(Segments::Within(13 * 8000)) <= 2 * 8000);
    let error = catch(|| saved(Segments::Within(10 * 8000))).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Budget { needed: 13 * 8000, allowed: 10 * 8000 });
}

#[test]
fn the_first_operation_that_differs_is_named_with_both_numbers() {
    let differs = |f: fn(&Tensor, f64) -> Tensor, what: &str, numbers: &str| {
        let runs = AtomicUsize::new(0);
        let fickle = checkpoint(move |x: &Tensor| f(x, 2.0 + runs.fetch_add(1, Ordering::Relaxed) as f64));
        let error = catch(|| grad(|x: &Tensor| fickle(x).sum())(&Tensor::from([0.5, 1.0]))).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Checkpoint);
        let text = error.message();
        let where_it_is = format!("element 0 of {what} at crates/wengert/tests/suite/checkpoint_policies.rs");
        assert!(text.contains(&where_it_is) && text.contains(numbers), "{text}");
    };
    differs(|x, change| (x + change).cos().sinh(), "the result of add", "is 3.5, and was 2.5");
    differs(|x, change| (x.cos() * change).sinh(), "operand 1 of mul", "is 3.0, and was 2.0");
}

#[test]
fn verification_compares_as_much_as_is_asked_for() {
    let at = Tensor::linspace(0.0, 0.5, 1000);
    let changes_one_number = |verify: Verify| {
        let runs = AtomicUsize::new(0);
        let fickle = checkpoint(move |x: &Tensor| {
            let change = runs.fetch_add(1, Ordering::Relaxed) as f64;
            let mut changes = vec![0.0; 1000];
            changes[777] = change;
            (x + Tensor::from(changes)).sin().cos()
        });
        catch(|| verify.within(|| grad(|x: &Tensor| fickle(x).sum())(&at)))
    };
    assert!(changes_one_number(Verify::Off).is_ok() && changes_one_number(Verify::Sampled).is_ok());
    let error = changes_one_number(Verify::All).unwrap_err();
    assert!(error.message().contains("element 777"), "{error}");
    // Without a difference, nothing changes.
    let steady = |x: &Tensor| checkpoint(|x: &Tensor| x.sin().cos().exp())(x).sum();
    assert_eq!(Verify::All.within(|| grad(steady)(&at)), grad(steady)(&at));
}

#[test]
fn a_tag_is_a_name() {
    for name in ["", "1st", "a b", "a]"] {
        assert_eq!(*catch(|| x().tag(name)).unwrap_err().kind(), ErrorKind::Argument, "{name:?}");
    }
    assert_eq!(x().tag("layer_1"), x());
}

#[test]
fn what_layers_save_is_measured_between_them_and_for_tensors_without_numbers() {
    // Its first input is the user's leaf, which no record needs to keep.
    let layers = vec![Tensor::sin as fn(&Tensor) -> Tensor; 64];
    let x = Tensor::linspace(0.1, 0.9, 1000).require_grad();
    let kind = |error: Error| error.kind().clone();
    let refused = |allowed: usize| ErrorKind::Budget { needed: 13 * 8000, allowed };
    let error = catch(|| checkpoint_chain(&layers, &x, Segments::Within(1))).unwrap_err();
    assert_eq!(kind(error), refused(1));
    let within = |bytes: usize, layers: Vec<fn(&Tensor) -> Tensor>| {
        compile(grad(move |x: &Tensor| checkpoint_chain(&layers, x, Segments::Within(bytes)).sum()))
    };
    let at = x.detach();
    assert_eq!(kind(catch(|| within(2, layers.clone()).call(&at)).unwrap_err()), refused(2));
    let plain = grad(|x: &Tensor| layers.iter().fold(x.clone(), |x, layer| layer(&x)).sum())(&at);
    assert!(within(16 * 8000, layers.clone()).call(&at).all_close(&plain, 1e-12));
}
