//! Eager code within a memory budget: values are evicted and computed again.

use super::turn;
use wengert::autograd::save_packed;
use wengert::memory::{Threshold, offload, reset_peak, smallest_budget, statistics, with_memory_budget};
use wengert::prelude::*;

const ELEMENTS: usize = 1 << 16;
const BYTES: usize = 8 * ELEMENTS;

fn leaf() -> Tensor {
    Tensor::linspace(0.1, 0.9, ELEMENTS).require_grad()
}

/// The gradient of a function of a leaf within a budget for so many vectors beside the leaf, and the largest number in use.
fn within(vectors: usize, x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> (Tensor, f64) {
    reset_peak();
    let before = statistics().live_bytes;
    with_memory_budget(before + vectors * BYTES, || f(x).backward());
    let peak = statistics().peak_bytes - before;
    (x.take_grad().unwrap(), peak as f64 / BYTES as f64)
}

fn plain(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    f(x).backward();
    x.take_grad().unwrap()
}

fn chain(layers: usize) -> impl Fn(&Tensor) -> Tensor {
    move |x| (0..layers).fold(x.clone(), |y, _| y.sin() * 1.1).sum()
}

#[test]
fn a_chain_of_64_layers_runs_in_the_memory_of_20_activations() {
    let _turn = turn();
    let x = leaf();
    let expected = plain(&x, chain(64));
    let (gradient, peak) = within(20, &x, chain(64));
    assert_eq!(gradient.to_vec::<f64>(), expected.to_vec::<f64>());
    assert!(peak <= 20.0, "{peak}");
    // Without the budget, all are kept.
    assert!(within(1000, &x, chain(64)).1 > 60.0);
}

#[test]
fn values_that_are_too_small_for_a_file_are_evicted() {
    let _turn = turn();
    let x = leaf();
    let expected = plain(&x, chain(64)).to_vec::<f64>();
    let folder = std::env::temp_dir();
    let offloaded = |least: usize| {
        let (x, folder) = (&x, &folder);
        move || offload(folder, Threshold::bytes(least), || chain(64)(x).backward())
    };
    let budget = statistics().live_bytes + 24 * BYTES;
    with_memory_budget(budget, offloaded(1 << 30));
    assert_eq!(x.take_grad().unwrap().to_vec::<f64>(), expected);
    // And within it: what can be computed again stays out of the file.
    offload(&folder, Threshold::bytes(1 << 30), || with_memory_budget(budget, || chain(64)(&x).backward()));
    assert_eq!(x.take_grad().unwrap().to_vec::<f64>(), expected);
}

#[test]
fn the_number_of_steps_may_depend_on_the_data() {
    let _turn = turn();
    let x = leaf();
    let f = |x: &Tensor| {
        let mut y = x.clone();
        while y.max().item() < 20.0 {
            y = &y * 1.05 + y.sin() * 0.1;
        }
        y.square().sum()
    };
    let expected = plain(&x, f);
    let (gradient, peak) = within(16, &x, f);
    assert_eq!(gradient.to_vec::<f64>(), expected.to_vec::<f64>());
    assert!(peak <= 16.0, "{peak}");
}

#[test]
fn transforms_evict_too() {
    let _turn = turn();
    let x = Tensor::linspace(0.1, 0.9, ELEMENTS);
    let gradient = || grad(chain(64))(&x).to_vec::<f64>();
    let expected = gradient();
    reset_peak();
    let before = statistics().live_bytes;
    assert_eq!(with_memory_budget(before + 20 * BYTES, gradient), expected);
    assert!(statistics().peak_bytes - before <= 20 * BYTES);
}

#[test]
fn branches_views_residuals_updates_and_several_outputs_have_the_same_bits() {
    let _turn = turn();
    let side = 64;
    let x = Tensor::linspace(-0.9, 0.9, side * side).reshape([side, side]).require_grad();
    let w = (Tensor::randn([side, side], 3) * 0.1).require_grad();
    let f = |x: &Tensor| {
        let mut y = x.clone();
        for layer in 0..24 {
            let h = y.matmul(&w).relu();
            let (top, _) = (h.slice(..side as isize / 2), 0);
            let (sorted, _) = h.sort(0);
            y = match layer % 3 {
                0 => h.t().softmax(1) + sorted,
                1 => Tensor::concat(&[top.clone(), top.tanh()], 0) + &y,
                _ => h.layer_norm(&[side], &Norm::new()) + h.cumsum(0) * 0.01,
            };
            y += 0.5;
            y *= &h;
        }
        y.mean()
    };
    let gradients = || {
        f(&x).backward();
        [x.take_grad().unwrap().to_vec::<f64>(), w.take_grad().unwrap().to_vec::<f64>()]
    };
    reset_peak();
    let before = statistics().live_bytes;
    let expected = gradients();
    let needed = statistics().peak_bytes - before;
    reset_peak();
    assert_eq!(with_memory_budget(before + needed / 2, gradients), expected);
    assert!(statistics().peak_bytes - before <= needed / 2);
}

#[test]
fn dropout_checkpoints_hooks_and_eviction_together_have_the_same_bits() {
    let _turn = turn();
    let x = leaf();
    let layer = |y: &Tensor, k: u64| (y.dropout(0.3, &Key::new(k)) * 1.2).tanh();
    let f = |x: &Tensor| (0..32).fold(x.clone(), |y, k| layer(&y, k)).sum();
    let expected = plain(&x, f);
    let nested = |x: &Tensor| {
        let block = |k: u64| checkpoint(move |y: &Tensor| layer(&checkpoint(move |y: &Tensor| layer(y, k))(y), k + 1));
        (0..32).step_by(2).fold(x.clone(), |y, k| block(k)(&y)).sum()
    };
    assert_eq!(within(28, &x, nested).0.to_vec::<f64>(), expected.to_vec::<f64>());
    let packed = |x: &Tensor| save_packed(|v| (v,), |v: &(Tensor,)| v.0.clone(), || f(x));
    assert_eq!(within(80, &x, packed).0.to_vec::<f64>(), expected.to_vec::<f64>());
    let inner = |x: &Tensor| with_memory_budget(statistics().live_bytes + 14 * BYTES, || f(x));
    assert_eq!(within(16, &x, inner).0.to_vec::<f64>(), expected.to_vec::<f64>());
}

#[test]
fn leaves_can_be_updated_in_place_after_the_backward_pass() {
    let _turn = turn();
    let mut w = leaf();
    let before = statistics().live_bytes;
    let loss = with_memory_budget(before + 12 * BYTES, || {
        let loss = chain(8)(&w);
        loss.backward();
        loss
    });
    let gradient = w.take_grad().unwrap();
    reset_peak();
    let now = statistics().live_bytes;
    no_grad(|| w -= &gradient);
    assert!(statistics().peak_bytes - now < BYTES, "the update was copied");
    drop(loss);
}

#[test]
fn too_small_a_budget_is_an_error_and_changes_no_gradient() {
    let _turn = turn();
    let x = leaf();
    let before = statistics().live_bytes;
    let error = catch(|| with_memory_budget(before + 2 * BYTES, || chain(64)(&x).backward())).unwrap_err();
    let ErrorKind::Budget { needed, allowed } = *error.kind() else { panic!("{error}") };
    assert_eq!(allowed, before + 2 * BYTES);
    assert!(needed > allowed && needed < before + 10 * BYTES, "{needed}");
    assert!(error.line().is_some() && x.grad().is_none(), "{error}");
    // Less than there is already fails before anything runs.
    let _held = x.detach() * 2.0;
    let has_run = std::cell::Cell::new(false);
    let error = catch(|| with_memory_budget(BYTES / 2, || has_run.set(true))).unwrap_err();
    let ErrorKind::Budget { needed, allowed } = *error.kind() else { panic!("{error}") };
    assert!(allowed == BYTES / 2 && needed >= BYTES && !has_run.get(), "{error}");
    // The same call succeeds with more, and with no less than the smallest budget.
    let (_, least) = smallest_budget(|| chain(64)(&x).backward());
    let expected = x.take_grad().unwrap().to_vec::<f64>();
    let run = |bytes: usize| with_memory_budget(bytes, || chain(64)(&x).backward());
    assert!(catch(|| run(least - BYTES / 2)).is_err() && x.grad().is_none());
    run(least);
    assert_eq!(x.take_grad().unwrap().to_vec::<f64>(), expected);
    assert_eq!(within(20, &x, chain(64)).0.to_vec::<f64>(), plain(&x, chain(64)).to_vec::<f64>());
}

#[test]
fn operands_that_nothing_can_compute_again_are_kept_only_as_long_as_they_help() {
    let _turn = turn();
    let x = leaf();
    // The sum saves nothing: without a budget, no noise outlives its step.
    let noise = |k: u64| Tensor::randn([ELEMENTS], k);
    let walk = |x: &Tensor| (0..40).fold(x.clone(), |y, k| y + noise(k)).sum();
    let expected = plain(&x, walk);
    assert_eq!(within(10, &x, walk).0, expected);
    // The sine saves the sum; either that or the noise stays, but not both.
    let waves = |x: &Tensor| (0..40).fold(x.clone(), |y, k| (y + noise(k)).sin()).sum();
    let expected = plain(&x, waves);
    assert_eq!(within(50, &x, waves).0, expected);
    assert!(catch(|| within(30, &x, waves)).is_err());
}

#[test]
fn tensors_that_are_held_stay_and_what_an_ended_budget_left_is_evicted_by_another() {
    let _turn = turn();
    let x = leaf();
    let run = || {
        let mut held = vec![x.clone()];
        let part = |from: &Tensor, layers: usize| with_memory_budget(1 << 40, || chain_of(layers, from));
        held.push(part(&x, 24));
        held.push(part(&held[1], 24));
        let last = chain_of(24, &held[2]);
        last.sum().backward();
        let gradient = x.take_grad().unwrap();
        [gradient, held[1].clone(), held[2].clone()].map(|tensor| tensor.to_vec::<f64>())
    };
    let expected = run();
    let before = statistics().live_bytes;
    reset_peak();
    assert_eq!(with_memory_budget(before + 20 * BYTES, run), expected);
    assert!(statistics().peak_bytes - before <= 20 * BYTES);
}

fn chain_of(layers: usize, x: &Tensor) -> Tensor {
    (0..layers).fold(x.clone(), |y, _| y.sin() * 1.1)
}

#[test]
fn offloaded_activations_take_no_memory() {
    let _turn = turn();
    let x = leaf();
    let expected = plain(&x, chain(64));
    let folder = std::env::temp_dir().join(format!("wengert-offloaded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    reset_peak();
    let before = statistics().live_bytes;
    offload(&folder, Threshold::bytes(BYTES), || chain(64)(&x).backward());
    let peak = (statistics().peak_bytes - before) as f64 / BYTES as f64;
    assert_eq!(x.take_grad().unwrap(), expected);
    assert!(peak <= 16.0, "{peak}");
    // The thread that reads may be the last to hold a value, and with it the file; the next test counts again.
    let is_removed = || {
        std::thread::sleep(std::time::Duration::from_millis(5));
        std::fs::remove_dir(&folder).is_ok()
    };
    assert!((0..1000).any(|_| is_removed()));
}

#[test]
fn saved_activations_of_a_chain_are_as_many_as_its_segments_say() {
    let _turn = turn();
    let x = leaf();
    let layers = vec![Tensor::sin; 64];
    // Beside the saved values: the running output or cotangent, and what a rule makes of it.
    let peak = |segments: Option<Segments>| {
        reset_peak();
        let before = statistics().live_bytes;
        let y = match segments {
            Some(segments) => checkpoint_chain(&layers, &x, segments),
            None => layers.iter().fold(x.clone(), |x, layer| layer(&x)),
        };
        y.sum().backward();
        let gradient = x.take_grad().unwrap();
        (gradient, (statistics().peak_bytes - before) as f64 / BYTES as f64 - 2.0)
    };
    let (expected, all) = peak(None);
    assert!((60.0..=64.5).contains(&all), "{all}");
    for (segments, most) in [(Segments::Count(8), 16.5), (Segments::Sqrt, 16.5), (Segments::Recursive, 13.5)] {
        let (gradient, activations) = peak(Some(segments));
        assert_eq!(gradient, expected);
        assert!(activations <= most, "{segments:?}: {activations}");
    }
}

#[test]
fn a_traced_function_has_a_budget_of_its_own() {
    let error = catch(|| compile(|x: &Tensor| with_memory_budget(1 << 20, || x.sin())).call(&Tensor::from(1.0)));
    assert!(error.unwrap_err().to_string().contains("within"));
}

#[test]
fn a_graph_that_is_kept_can_be_swept_twice_and_differentiated_again() {
    let _turn = turn();
    let x = leaf();
    let twice = || {
        let y = chain(16)(&x);
        y.backward_with(Backward::new().retain_graph());
        y.backward();
        let sum = x.take_grad().unwrap();
        chain(6)(&x).backward_with(Backward::new().create_graph());
        x.take_grad().unwrap().sum().backward();
        [sum.to_vec::<f64>(), x.take_grad().unwrap().to_vec::<f64>()]
    };
    let expected = twice();
    let before = statistics().live_bytes;
    assert_eq!(with_memory_budget(before + 24 * BYTES, twice), expected);
}
