//! The execution order of kernels.

use super::{Fuser, Fusion, Kernel};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Fuser<'_> {
    /// Sorts kernels so that each runs after its dependencies. Kernels of earlier equations come first, and dependencies just before the
    /// kernels that need them.
    pub(super) fn finish(self) -> Fusion {
        let waiters = self.waiters();
        let first = |kernel: &Option<Kernel>| kernel.as_ref().and_then(|kernel| kernel.equations().next());
        let mut wanted: Vec<Option<usize>> = self.kernels.iter().map(first).collect();
        for kernel in in_order(&waiters, &wanted).into_iter().rev() {
            let soonest = waiters[kernel].iter().filter_map(|&waiter| wanted[waiter]).min();
            wanted[kernel] = wanted[kernel].into_iter().chain(soonest).min();
        }
        let order = in_order(&waiters, &wanted);
        let mut kernels = self.kernels;
        let kernels = order.into_iter().map(|kernel| kernels[kernel].take().expect("only those are sorted")).collect();
        Fusion { kernels, roles: self.roles }
    }

    /// For every kernel, the kernels that depend on it, each once.
    fn waiters(&self) -> Vec<Vec<usize>> {
        let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); self.kernels.len()];
        let mut wait = |kernel: usize, source: usize| {
            if source != kernel && waiters[source].last() != Some(&kernel) {
                waiters[source].push(kernel);
            }
        };
        for (kernel, contents) in self.kernels.iter().enumerate() {
            for number in contents.iter().flat_map(Kernel::equations) {
                self.sources(number).into_iter().for_each(|source| wait(kernel, source));
            }
        }
        for &(var, reader) in &self.later {
            if let (Some(kernel), Some(source)) = (self.producer[var.index()], self.kernel_of(reader)) {
                wait(kernel, source);
            }
        }
        for waiters in &mut waiters {
            waiters.sort_unstable();
            waiters.dedup();
        }
        waiters
    }
}

/// A topological order of the kernels with a key, smallest key first among those that are ready.
fn in_order(waiters: &[Vec<usize>], keys: &[Option<usize>]) -> Vec<usize> {
    let mut missing = vec![0usize; waiters.len()];
    waiters.iter().flatten().for_each(|&waiter| missing[waiter] += 1);
    let entry = |kernel: usize| keys[kernel].map(|key| Reverse((key, kernel)));
    let mut ready: BinaryHeap<Reverse<(usize, usize)>> =
        (0..waiters.len()).filter(|&kernel| missing[kernel] == 0).filter_map(entry).collect();
    let mut order = Vec::new();
    while let Some(Reverse((_, kernel))) = ready.pop() {
        order.push(kernel);
        for &waiter in &waiters[kernel] {
            missing[waiter] -= 1;
            if missing[waiter] == 0 {
                ready.extend(entry(waiter));
            }
        }
    }
    assert_eq!(order.len(), keys.iter().flatten().count(), "kernels wait for each other");
    order
}
