//! Runs many independent checks on all cores.

use std::iter::from_fn;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// The results of a function for 0, 1 and so on, in this order, computed on all available cores. A thread that is done takes the next item,
/// so a slow one does not block the others.
///
/// # Panics
/// If the function does.
///
/// ```
/// assert_eq!(wengert_testkit::parallel(4, |i| i * i), [0, 1, 4, 9]);
/// ```
pub fn parallel<R: Send>(count: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || -> Vec<(usize, R)> {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < count);
        from_fn(take).map(|i| (i, f(i))).collect()
    };
    let threads = available_parallelism().map_or(1, NonZero::get);
    let mut done: Vec<(usize, R)> = scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let finished = workers.into_iter().map(|worker| worker.join());
        finished.flat_map(|work| work.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
