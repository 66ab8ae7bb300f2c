//! Times that are compared come from runs that alternate: the machine's speed changes meanwhile.

use std::time::Instant;

/// The medians of several runs in seconds, run in turn for about a third of a second and at least seven times.
pub fn medians<const N: usize>(mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    runs.iter_mut().for_each(|run| run());
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 0.35 || times[0].len() < 7 {
        for (times, run) in times.iter_mut().zip(&mut runs) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// The median of `total` over the median of `forward`.
pub fn ratio(mut forward: impl FnMut(), mut total: impl FnMut()) -> f64 {
    let [forward, total] = medians([&mut forward, &mut total]);
    total / forward
}
