//! Optimisers and schedules take the steps of PyTorch's, eager and compiled.

use serde_json::Value;
use wengert::nn::optimise::{
    Adadelta, Adagrad, Adam, AdamW, Group, Lbfgs, Lion, Memory, Muon, NAdam, Optimiser, RmsProp, Rule, Schedule, Sgd,
};
use wengert::nn::{Linear, ModelMethods};
use wengert::prelude::*;

fn record() -> Value {
    serde_json::from_str(include_str!("../data/optimisers.json")).expect("the record is JSON")
}

fn tensor(value: &Value) -> Tensor {
    let rows = |value: &Value| -> Vec<f64> { value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect() };
    match value[0].is_array() {
        true => {
            let all: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(rows).collect();
            Tensor::from_vec(all.concat(), [all.len(), all[0].len()])
        }
        false => Tensor::from(rows(value)),
    }
}

fn tensors(value: &Value) -> Vec<Tensor> {
    value.as_array().unwrap().iter().map(tensor).collect()
}

#[track_caller]
fn agree(name: &str, found: &[Tensor], recorded: &[Tensor]) {
    assert_eq!(found.len(), recorded.len());
    for (found, recorded) in found.iter().zip(recorded) {
        let error = ((found - recorded).abs() / recorded.abs().clamp_min(1e-3)).max().item();
        assert!(error < 1e-12, "{name}: {found} instead of {recorded}, relative error {error:.1e}");
    }
}

/// Repeats a recorded run, at once and compiled.
fn repeat<R: Rule>(name: &str, optimiser: impl Fn() -> R) {
    let record = record();
    let run = record["optimisers"].as_array().unwrap().iter().find(|run| run["name"] == name).expect("recorded");
    let chosen: Vec<usize> = run["tensors"].as_array().unwrap().iter().map(|k| k.as_u64().unwrap() as usize).collect();
    let of = |list: Vec<Tensor>| -> Vec<Tensor> { chosen.iter().map(|k| list[*k].clone()).collect() };
    let (initial, factors) = (of(tensors(&record["initial"])), of(tensors(&record["a"])));
    let objective = |p: &Vec<Tensor>| {
        let terms = p.iter().zip(&factors).map(|(p, a)| (a * p.square() * 0.5 + p.sin()).sum());
        terms.reduce(|a, b| a + b).unwrap()
    };

    let rule = optimiser();
    let step = |(parameters, memory): &mut (Vec<Tensor>, Memory), _: &()| {
        let gradients = grad(objective)(parameters);
        rule.update(parameters, &gradients, memory);
    };
    let compiled = compile_step(step);
    for way in ["eager", "compiled"] {
        let mut state = (initial.clone(), rule.start(&initial));
        for count in 1..=20 {
            match way {
                "eager" => step(&mut state, &()),
                _ => compiled.call(&mut state, &()),
            }
            if let Some(after) = run["after"].get(count.to_string()) {
                agree(&format!("{name}, {way}, after step {count}"), &state.0, &tensors(after));
            }
        }
    }
    assert_eq!(compiled.signatures(), 1);
}

#[test]
fn every_rule_takes_the_recorded_steps() {
    repeat("sgd", || Sgd::new(0.1));
    repeat("sgd_momentum", || Sgd::new(0.1).momentum(0.9));
    repeat("sgd_nesterov_weight_decay", || Sgd::new(0.1).momentum(0.9).nesterov().weight_decay(0.01));
    repeat("adam", || Adam::new(0.05));
    repeat("adam_weight_decay", || Adam::new(0.05).weight_decay(0.1));
    repeat("adamw", || AdamW::new(0.05).betas(0.8, 0.95).epsilon(1e-6).weight_decay(0.1));
    repeat("rmsprop", || RmsProp::new(0.01));
    repeat("rmsprop_momentum", || RmsProp::new(0.01).alpha(0.9).momentum(0.9));
    repeat("adagrad", || Adagrad::new(0.1));
    repeat("adagrad_lr_decay", || Adagrad::new(0.1).rate_decay(0.1));
    repeat("adadelta", || Adadelta::new(1.0));
    repeat("nadam", || NAdam::new(0.02));
    repeat("muon", || Muon::new(0.02));
    repeat("sgd_clip_grad_norm", || Sgd::new(0.1).clip_norm(1.0));
    repeat("sgd_clip_grad_norm_3", || Sgd::new(0.1).clip_norm(3.0));
}

#[test]
fn lion_follows_its_formula() {
    let rule = Lion::new(0.1).betas(0.5, 0.25).weight_decay(0.5);
    let mut p = Tensor::from([1.0, -2.0]);
    let mut memory = rule.start(&p);
    rule.update(&mut p, &Tensor::from([1.0, 3.0]), &mut memory);
    assert!(p.all_close(&Tensor::from([0.95 - 0.1, -1.9 - 0.1]), 1e-15));
    // The mean is now (0.75, 2.25); half of it and half of the gradient are (-0.125, 0.625).
    rule.update(&mut p, &Tensor::from([-1.0, -1.0]), &mut memory);
    assert!(p.all_close(&Tensor::from([0.85 * 0.95 + 0.1, -2.0 * 0.95 - 0.1]), 1e-15));
}

#[test]
fn schedules_have_the_recorded_factors() {
    let record = record();
    let schedules = [
        ("step", Schedule::step(10, 0.5)),
        ("cosine", Schedule::cosine(20)),
        ("exponential", Schedule::exponential(0.9)),
        ("warmup_cosine", Schedule::cosine(20).warm_up(5)),
        ("one_cycle", Schedule::one_cycle(30)),
    ];
    for (name, schedule) in schedules {
        let run = record["schedules"].as_array().unwrap().iter().find(|run| run["name"] == name).expect("recorded");
        let factors = run["factors"].as_array().unwrap();
        assert!(factors.len() > 20);
        for (step, factor) in factors.iter().enumerate() {
            let (found, right) = (schedule.at(step), factor.as_f64().unwrap());
            assert!((found - right).abs() < 1e-12, "{name}, step {step}: {found} instead of {right}");
        }
        let traced =
            compile(|step: &Tensor| schedule.factor(&wengert::nn::optimise::Number::of(step)).tensor(DType::F64));
        for step in 0..30 {
            let found = traced.call(&Tensor::from(f64::from(step))).item();
            assert!((found - schedule.at(step as usize)).abs() < 1e-14, "{name}, step {step}, traced");
        }
        assert_eq!(traced.signatures(), 1);
    }
}

/// From -1.2, 1, -1.2, .. PyTorch needs 45 evaluations to 7e-17 in two dimensions, and 93 to 7e-16 in ten.
#[test]
fn lbfgs_minimises_rosenbrock_in_as_few_evaluations_as_the_recorded_run() {
    let rosenbrock = |p: &Tensor| {
        let last = p.elements();
        let (x, y) = (p.slice(..last - 1), p.slice(1..));
        ((1.0 - &x).square() + (y - x.square()).square() * 100.0).sum()
    };
    let compiled = compile(value_and_grad(rosenbrock));
    let record = record();
    for (dimensions, most) in [(2, 60), (10, 110)] {
        let runs = record["lbfgs"].as_array().unwrap().iter();
        assert!(runs.map(|run| run.to_string()).any(|run| run.contains(&dimensions.to_string())));
        let start: Vec<f64> = (0..dimensions).map(|k| if k % 2 == 0 { -1.2 } else { 1.0 }).collect();
        let mut p = Tensor::from(start);
        let minimum = Lbfgs::new().minimise(&mut p, |p: &Tensor| compiled.call(p));
        assert!(minimum.has_converged && minimum.value < 1e-15, "{minimum:?}");
        assert!(minimum.evaluations <= most, "{minimum:?}");
        assert!(p.all_close(&Tensor::ones([dimensions]), 1e-6), "{p}");
    }
}

#[test]
fn gradients_or_memory_of_something_else_are_refused_and_change_nothing() {
    let key = &mut Key::new(0);
    let model = (Linear::new(3, 2, key), Linear::new(2, 1, key));
    let gradient = model.map_leaves(Tensor::ones_like);
    let longer = (gradient.0.clone(), gradient.1.map_leaves(|leaf| Tensor::stack(&[leaf, leaf], 0)));
    let message = |optimiser: &Adam, mut memory: Memory, gradient: &(Linear, Linear)| {
        let mut changed = model.clone();
        let error = catch(|| optimiser.update(&mut changed, gradient, &mut memory)).expect_err("it does not fit");
        assert_eq!((error.kind(), error.line().is_some()), (&ErrorKind::Tree, true));
        assert!(changed.leaves().iter().zip(model.leaves()).all(|(a, b)| **a == *b), "nothing is changed");
        error.to_string()
    };
    let adam = Adam::new(0.1);
    let text = message(&adam, Sgd::new(0.1).start(&model), &gradient);
    assert!(text.contains("`0.weight` needs [\"exp_avg\", \"exp_avg_sq\"]"), "{text}");
    let text = message(&adam, adam.start(&model.0), &gradient);
    assert!(text.contains("`1.weight` is not in the memory"), "{text}");
    let text = message(&adam, adam.start(&(model.clone(), model.clone())), &gradient);
    assert!(text.contains("fewer parameters"), "{text}");
    let text = message(&adam, adam.start(&model), &longer);
    assert!(text.contains("`1.weight` has shape [1, 2], its gradient [2, 1, 2]"), "{text}");
    assert!(text.contains("gradient of a scalar loss"), "{text}");
}

#[test]
fn a_step_takes_the_gradients_of_leaves_and_is_the_update_with_them() {
    let start = || Linear::new(2, 3, &mut Key::new(0)).require_grad();
    let optimiser = Adam::new(0.1).clip_norm(0.5).group("bias", Group::new().rate(0.1));
    let (mut stepped, mut updated) = (start(), start());
    let (mut memory, mut same_memory) = (optimiser.start(&stepped), optimiser.start(&updated));
    for turn in 0..3 {
        let loss = |model: &Linear| {
            let weight = model.weight.square().sum();
            // In the second step the bias has no gradient.
            if turn == 1 { weight } else { weight + (model.bias.as_ref().unwrap() * 3.0).sum() }
        };
        loss(&stepped).backward();
        optimiser.step(&mut stepped, &mut memory);
        let gradients = grad(loss)(&updated);
        optimiser.update(&mut updated, &gradients, &mut same_memory);
        assert_eq!(stepped.leaves(), updated.leaves(), "parameters after step {turn}");
        assert_eq!(memory.leaves(), same_memory.leaves(), "memory after step {turn}");
        assert!(stepped.leaves().iter().all(|leaf| leaf.requires_grad() && leaf.grad().is_none()));
    }
    // A refused step keeps the gradients.
    stepped.weight.sum().backward();
    let before = stepped.weight.detach();
    let other = &mut optimiser.start(&Linear::new(3, 2, &mut Key::new(0)));
    let error = catch(|| optimiser.step(&mut stepped, other)).unwrap_err();
    assert!(error.to_string().contains("`weight`"), "{error}");
    assert_eq!((stepped.weight.grad().unwrap(), stepped.weight.detach()), (Tensor::ones([3, 2]), before));
}

#[test]
fn no_iteration_of_lbfgs_still_evaluates() {
    let mut x = Tensor::from([3.0]);
    let minimum = Lbfgs::new().iterations(0).minimise(&mut x, value_and_grad(|x: &Tensor| x.square().sum()));
    assert_eq!((minimum.value, minimum.evaluations, x.item()), (9.0, 1, 3.0));
}

#[test]
fn lbfgs_goes_on_from_a_file_as_if_it_had_not_stopped() {
    let bowl = value_and_grad(|p: &Tensor| (p - Tensor::from([1.0, -2.0, 3.0])).square().square().sum());
    let lbfgs = Lbfgs::new().history(3);
    let (mut straight, mut memory) = (Tensor::from([4.0, 1.0, -1.0]), None);
    let mut state = lbfgs.start(&straight);
    let mut values = Vec::new();
    for step in 0..8 {
        if step == 4 {
            memory = Some(wengert::nn::files::NamedTensors::of(&(straight.clone(), state.clone())).bytes().unwrap());
        }
        values.push(lbfgs.step(&mut straight, &bowl, &mut state));
    }
    let fresh = Tensor::zeros([3]);
    let mut again = (fresh.clone(), lbfgs.start(&fresh));
    let file = wengert::nn::files::NamedTensors::parse(&memory.unwrap()).unwrap();
    assert_eq!(file.load_into(&mut again, true), []);
    let (mut p, mut state) = again;
    let rest: Vec<f64> = (4..8).map(|_| lbfgs.step(&mut p, &bowl, &mut state)).collect();
    assert_eq!((&rest[..], &p), (&values[4..], &straight));
    assert!(values[7] < 1e-3 * values[0], "{values:?}");
}

#[test]
fn elements_are_clipped_and_frozen_groups_stay() {
    let optimiser = Sgd::new(1.0).clip_value(0.5).group("0", Group::new().frozen());
    let mut model = (Tensor::from([1.0]), Tensor::ones([3]));
    let mut memory = optimiser.start(&model);
    optimiser.update(&mut model, &(Tensor::from([9.0]), Tensor::from([-3.0, 0.25, 7.0])), &mut memory);
    assert_eq!(model, (Tensor::from([1.0]), Tensor::from([1.5, 0.75, 0.5])));
}

#[test]
fn a_pattern_that_matches_nothing_is_refused_with_the_line() {
    let model = Linear::new(2, 1, &mut Key::new(0));
    let group = Sgd::new(0.1).group("*.bias", Group::new());
    for refused in [catch(|| drop(group.start(&model))), catch(|| drop(model.clone().frozen(&["bias", "*.bias"])))] {
        let error = refused.expect_err("there is only `bias`");
        assert!(error.message().contains("no leaf matches the pattern \"*.bias\""), "{error}");
        assert!(error.to_string().contains("weight, bias") && error.to_string().contains("optimisers.rs"), "{error}");
    }
}

#[test]
fn a_rate_of_zero_moves_nothing() {
    let start = (Tensor::eye(2), Tensor::ones([3]));
    let (optimiser, mut now) = (Muon::new(0.0), start.clone());
    let mut memory = optimiser.start(&now);
    optimiser.update(&mut now, &start, &mut memory);
    assert_eq!(now, start);
}
