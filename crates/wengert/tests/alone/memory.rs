//! The memory that attention, updates and gradients take.

use super::turn;
use wengert::prelude::*;

/// An entry of the kernel's statistics of this process, in bytes; `None` if there are none.
fn account(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The peak of the pool during `work`, above what was held before.
fn pool_peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    wengert::memory::reset_peak();
    let before = wengert::memory::statistics().live_bytes;
    let result = work();
    (result, wengert::memory::statistics().peak_bytes.saturating_sub(before))
}

/// The same, for the pool and for the process.
fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    // Asks the kernel to reset its peak.
    let counts = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let resident = account("VmRSS");
    let (result, by_pool) = pool_peak_of(work);
    let by_process = match (resident, account("VmHWM")) {
        (Some(before), Some(after)) if counts => after.saturating_sub(before),
        _ => 0,
    };
    (result, by_pool.max(by_process))
}

#[test]
fn attention_at_4096_tokens_peaks_under_32_megabytes_above_its_inputs_and_outputs() {
    let _turn = turn();
    const ROOM: usize = 32 << 20;
    let shape = [1, 1, 4096, 64];
    let bytes = shape.iter().product::<usize>() * size_of::<f32>();
    let [q, k, v, seed] = [1, 2, 3, 4].map(|key| Key::new(key).uniform(shape, DType::F32) - 0.5);
    let seen = Tensor::full([4096, 4096], true).tril(0).contiguous();
    for (name, options) in
        [("plain", Attention::new()), ("causal", Attention::new().causal()), ("mask", Attention::new().mask(&seen))]
    {
        let f = |(q, k, v): &(Tensor, Tensor, Tensor)| q.attention(k, v, &options);
        let leaves = (q.clone(), k.clone(), v.clone());
        let (y, alone) = peak_of(|| f(&leaves));
        assert!(alone < bytes + ROOM, "{name}: {alone} bytes without a gradient");
        drop(y);
        let ((y, pullback), forward) = peak_of(|| vjp(f, &leaves));
        assert!(forward < bytes + ROOM, "{name}: {forward} bytes forward");
        let (gradients, backward) = peak_of(|| pullback.call(&seed));
        assert!(backward < 3 * bytes + ROOM, "{name}: {backward} bytes backward");
        assert_eq!((y.shape(), gradients.2.shape()), (&shape[..], &shape[..]));
    }
    // The measurement works: a tensor of the size of the scores shows.
    let (_, seen) = peak_of(|| Tensor::ones([4096, 4096]).contiguous().sum().item());
    assert!(seen > 4096 * 4096 * 4);
}

#[test]
fn an_update_reuses_memory_that_nobody_else_holds() {
    let _turn = turn();
    let mut x = Tensor::zeros([1 << 23]) + 1.0;
    let before = wengert::memory::statistics().live_bytes;
    wengert::memory::reset_peak();
    x *= 2.0;
    x.set(3, 7.0);
    let grown = wengert::memory::statistics().peak_bytes.saturating_sub(before);
    assert!(grown < 32 << 20, "64 MiB are updated in place, not copied: {grown}");
    let alias = x.clone();
    x += 1.0;
    assert!(!x.shares_memory_with(&alias), "an alias forces a copy");
    assert_eq!((alias.slice(3).item(), x.slice(3).item()), (7.0, 8.0));
}

#[test]
fn gradients_that_are_handed_over_early_do_not_pile_up() {
    let _turn = turn();
    const LAYERS: usize = 24;
    let bytes = 256 * 256 * size_of::<f32>();
    let step = |early: bool| {
        let weight = |key: usize| (Key::new(key as u64).uniform([256, 256], DType::F32) * 0.1).require_grad();
        let mut weights: Vec<Tensor> = (0..LAYERS).map(weight).collect();
        let x = Key::new(99).uniform([4, 256], DType::F32);
        let loss = weights.iter().fold(x, |x, w| x.matmul(w).tanh()).square().sum();
        wengert::memory::reset_peak();
        let before = wengert::memory::statistics().live_bytes;
        if early {
            let options = weights.iter().fold(Backward::new(), Backward::early);
            loss.backward_early(options, |place, gradient| no_grad(|| weights[place] -= gradient * 0.01));
        } else {
            loss.backward();
            weights.iter_mut().for_each(|w| no_grad(|| *w -= w.take_grad().unwrap() * 0.01));
        }
        let peak = wengert::memory::statistics().peak_bytes.saturating_sub(before);
        (peak, weights.iter().map(Tensor::detach).collect::<Vec<_>>())
    };
    let ((late, expected), (early, found)) = (step(false), step(true));
    assert_eq!(found, expected);
    assert!(late >= LAYERS * bytes, "{late} bytes, {} weights", late / bytes);
    assert!(early < 4 * bytes, "{early} bytes, {} weights", early / bytes);
}

#[test]
fn a_chain_of_elementwise_layers_takes_the_memory_of_its_segments() {
    let _turn = turn();
    let n = 1 << 15;
    let x = Tensor::linspace(0.1, 0.9, n);
    for (count, segments, most) in [(64, 8, 18), (1024, 32, 68)] {
        let layers = vec![Tensor::sin; count];
        let f = |x: &Tensor| checkpoint_chain(&layers, x, segments).sum();
        let (gradient, by_grad) = pool_peak_of(|| grad(f)(&x));
        let leaf = x.clone().require_grad();
        let ((), by_tape) = pool_peak_of(|| f(&leaf).backward());
        assert_eq!(leaf.grad().unwrap(), gradient);
        for (mode, bytes) in [("grad", by_grad), ("backward", by_tape)] {
            let activations = bytes as f64 / (8 * n) as f64;
            assert!(activations <= f64::from(most), "{count} layers in {segments} segments by {mode}: {activations}");
        }
    }
}
