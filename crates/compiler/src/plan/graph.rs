//! Dependencies between kernels.
//!
//! Kernels are kept in a topological order (Pearce and Kelly, "A dynamic topological sort algorithm", 2006), so a search only visits
//! kernels between its two ends. Long paths are skipped: every kernel is a node of a tree, below the last kernel that it depended on when
//! it was created, and ancestors are found by jump pointers (Myers, "An applicative random-access stack", 1983).

use rustc_hash::FxHashSet;
use std::mem::take;

/// Maximum number of edges that a search follows from each end; beyond that it assumes that one kernel depends on the other.
const MOST_FOLLOWED: usize = 4096;

/// Kernels in a valid execution order.
#[derive(Default)]
pub(super) struct Order(Vec<Node>);

/// A kernel.
struct Node {
    /// Itself, or the kernel that it was merged into.
    part_of: usize,
    position: usize,
    /// Its direct dependencies and dependents, as they were before merging.
    sources: Vec<usize>,
    waiters: Vec<usize>,
    /// The kernels that were merged into it.
    parts: Vec<usize>,
    /// In the tree: depth, parent, and a more distant ancestor. A root is its own parent.
    depth: usize,
    parent: usize,
    jump: usize,
}

impl Order {
    /// Adds a kernel without dependencies.
    pub fn push(&mut self) -> usize {
        let own = self.0.len();
        self.0.push(Node {
            part_of: own,
            position: own,
            sources: Vec::new(),
            waiters: Vec::new(),
            parts: Vec::new(),
            depth: 0,
            parent: own,
            jump: own,
        });
        own
    }

    /// Whether `kernel` depends on `before`, directly or indirectly.
    pub fn waits(&self, kernel: usize, before: usize) -> bool {
        self.search(kernel, before).0
    }

    /// The same, with the number of edges followed from each end. The search ends when one side is exhausted, or when the tree answers the
    /// rest.
    fn search(&self, kernel: usize, before: usize) -> (bool, usize) {
        let (first, last) = (self.position(before), self.position(kernel));
        if last <= first {
            return (false, 0);
        }
        if self.hangs_below(kernel, before) {
            return (true, 0);
        }
        let lies_between = |other: usize| first < self.position(other) && self.position(other) < last;
        let (mut back, mut ahead) = (Walk::from(kernel), Walk::from(before));
        for followed in 0..MOST_FOLLOWED {
            let Some(source) = back.next(|kernel| &self.0[kernel].sources) else { return (false, followed) };
            let source = self.now(source);
            if source == before || (lies_between(source) && back.add(source) && self.hangs_below(source, before)) {
                return (true, followed);
            }
            let Some(waiter) = ahead.next(|kernel| &self.0[kernel].waiters) else { return (false, followed) };
            let waiter = self.now(waiter);
            if waiter == kernel || (lies_between(waiter) && ahead.add(waiter) && self.hangs_below(kernel, waiter)) {
                return (true, followed);
            }
        }
        (true, MOST_FOLLOWED)
    }

    /// Makes `kernel` depend on others, each given once, none of which depends on it.
    pub fn wait(&mut self, kernel: usize, others: impl IntoIterator<Item = usize>) {
        let known: FxHashSet<usize> = self.sources(kernel).collect();
        for other in others.into_iter().filter(|other| *other != kernel && !known.contains(other)) {
            if self.position(kernel) < self.position(other) {
                self.move_behind(kernel, other);
            }
            self.0[kernel].sources.push(other);
            self.0[other].waiters.push(kernel);
        }
        self.hang(kernel);
    }

    /// Whether two kernels can be merged: no other kernel lies on a path between them.
    pub fn can_merge(&self, a: usize, b: usize) -> bool {
        let (first, last) = if self.position(a) < self.position(b) { (a, b) } else { (b, a) };
        !self.sources(last).any(|source| source != first && self.waits(source, first))
    }

    /// Merges `gone` into `kept`.
    pub fn merge(&mut self, kept: usize, gone: usize) {
        match self.position(kept) < self.position(gone) {
            true => self.move_behind(kept, gone),
            false => self.move_behind(gone, kept),
        }
        let Node { sources, waiters, parts, .. } = &mut self.0[gone];
        let (sources, waiters, parts) = (take(sources), take(waiters), take(parts));
        self.0[gone].part_of = kept;
        let node = &mut self.0[kept];
        node.sources.extend(sources);
        node.waiters.extend(waiters);
        node.parts.push(gone);
        node.parts.extend(parts);
    }

    /// The kernel that this one is part of now.
    fn now(&self, mut kernel: usize) -> usize {
        while self.0[kernel].part_of != kernel {
            kernel = self.0[kernel].part_of;
        }
        kernel
    }

    fn position(&self, kernel: usize) -> usize {
        self.0[kernel].position
    }

    /// The direct dependencies of a kernel, possibly with duplicates.
    fn sources(&self, kernel: usize) -> impl Iterator<Item = usize> + '_ {
        self.0[kernel].sources.iter().map(|&source| self.now(source)).filter(move |&source| source != kernel)
    }

    /// The direct dependents of a kernel, possibly with duplicates.
    fn waiters(&self, kernel: usize) -> impl Iterator<Item = usize> + '_ {
        self.0[kernel].waiters.iter().map(|&waiter| self.now(waiter)).filter(move |&waiter| waiter != kernel)
    }

    /// Moves `first` right behind `last`, which comes later in the order. Kernels in between that depend on `first` move with it, and those
    /// that `last` depends on move before both. No kernel in between does both.
    fn move_behind(&mut self, first: usize, last: usize) {
        let between = self.position(first) + 1..self.position(last);
        let reached = |start: usize, next: &dyn Fn(usize) -> Vec<usize>| {
            let (mut found, mut seen, mut at) = (vec![start], FxHashSet::default(), 0);
            while at < found.len() {
                let inside = next(found[at]).into_iter().filter(|&kernel| between.contains(&self.position(kernel)));
                found.extend(inside.filter(|&kernel| seen.insert(kernel)));
                at += 1;
            }
            found.sort_unstable_by_key(|&kernel| self.position(kernel));
            found
        };
        let mut order = reached(last, &|kernel| self.sources(kernel).collect());
        order.extend(reached(first, &|kernel| self.waiters(kernel).collect()));
        let mut positions: Vec<usize> = order.iter().map(|&kernel| self.position(kernel)).collect();
        positions.sort_unstable();
        order.into_iter().zip(positions).for_each(|(kernel, position)| self.0[kernel].position = position);
    }

    /// Attaches a kernel that is not in the tree below the last of its dependencies, unless others are attached to it.
    fn hang(&mut self, kernel: usize) {
        let node = &self.0[kernel];
        if node.parent != kernel || !node.waiters.is_empty() {
            return;
        }
        let Some(parent) = self.sources(kernel).max_by_key(|&source| self.position(source)) else { return };
        let near = self.0[parent].jump;
        let far = self.0[near].jump;
        let is_even = self.0[parent].depth - self.0[near].depth == self.0[near].depth - self.0[far].depth;
        let (depth, jump) = (self.0[parent].depth + 1, if is_even { far } else { parent });
        let node = &mut self.0[kernel];
        (node.parent, node.depth, node.jump) = (parent, depth, jump);
    }

    /// Whether the tree shows that `kernel` depends on `before`, or on a part of it.
    fn hangs_below(&self, kernel: usize, before: usize) -> bool {
        let mut parts = std::iter::once(before).chain(self.0[before].parts.iter().copied());
        parts.any(|part| {
            let (mut at, depth) = (kernel, self.0[part].depth);
            while self.0[at].depth > depth {
                let Node { parent, jump, .. } = self.0[at];
                at = if self.0[jump].depth >= depth { jump } else { parent };
            }
            at == part
        })
    }
}

/// A breadth-first search from a kernel.
struct Walk {
    found: Vec<usize>,
    seen: FxHashSet<usize>,
    /// The next edge to follow: the index of a visited kernel, and the index of its edge.
    at: (usize, usize),
}

impl Walk {
    fn from(kernel: usize) -> Walk {
        Walk { found: vec![kernel], seen: FxHashSet::default(), at: (0, 0) }
    }

    /// The end of the next edge; `None` if all were followed.
    fn next<'a>(&mut self, edges: impl Fn(usize) -> &'a [usize]) -> Option<usize> {
        loop {
            let (place, edge) = self.at;
            match edges(*self.found.get(place)?).get(edge) {
                Some(&end) => {
                    self.at = (place, edge + 1);
                    return Some(end);
                }
                None => self.at = (place + 1, 0),
            }
        }
    }

    /// Adds a kernel to the search, if it is new.
    fn add(&mut self, kernel: usize) -> bool {
        let is_new = self.seen.insert(kernel);
        self.found.extend(is_new.then_some(kernel));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers below `n`.
    fn random(state: &mut u64, n: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % n
    }

    /// All transitive dependencies of every kernel, stored explicitly, as a reference.
    struct Known(Vec<FxHashSet<usize>>);

    impl Known {
        fn wait(&mut self, kernel: usize, other: usize) {
            let mut more = self.0[other].clone();
            more.insert(other);
            for (number, waits) in self.0.iter_mut().enumerate() {
                if number == kernel || waits.contains(&kernel) {
                    waits.extend(&more);
                }
            }
        }

        fn can_merge(&self, a: usize, b: usize) -> bool {
            let lies_between =
                |first: usize, last: usize| self.0[last].iter().any(|other| self.0[*other].contains(&first));
            !lies_between(a, b) && !lies_between(b, a)
        }

        fn merge(&mut self, kept: usize, gone: usize) {
            let others: Vec<usize> = self.0[gone].drain().filter(|other| *other != kept).collect();
            self.0[kept].remove(&gone);
            for (number, waits) in self.0.iter_mut().enumerate() {
                if waits.remove(&gone) && number != kept {
                    waits.insert(kept);
                }
            }
            for other in others {
                self.wait(kept, other);
            }
            // Kernels that depended on `gone` now depend on everything that `kept` depends on.
            for other in self.0[kept].clone() {
                self.wait(kept, other);
            }
        }
    }

    #[test]
    fn kernels_wait_as_in_a_closure_that_is_written_down() {
        let mut state = 1;
        for _ in 0..40 {
            let (mut order, mut known, mut alive) = (Order::default(), Known(Vec::new()), Vec::new());
            for _ in 0..60 {
                let kernel = order.push();
                known.0.push(FxHashSet::default());
                alive.push(kernel);
                for _ in 0..4 {
                    let (a, b) = (alive[random(&mut state, alive.len())], alive[random(&mut state, alive.len())]);
                    assert_eq!(order.waits(a, b), known.0[a].contains(&b), "{a} for {b}");
                    if a != b && !known.0[b].contains(&a) {
                        order.wait(a, [b]);
                        known.wait(a, b);
                    }
                    let (a, b) = (alive[random(&mut state, alive.len())], alive[random(&mut state, alive.len())]);
                    assert_eq!(a == b || order.can_merge(a, b), a == b || known.can_merge(a, b), "{a} and {b}");
                    if a != b && known.can_merge(a, b) && random(&mut state, 8) == 0 {
                        order.merge(a, b);
                        known.merge(a, b);
                        alive.retain(|kernel| *kernel != b);
                    }
                }
            }
            for (&a, &b) in alive.iter().flat_map(|a| alive.iter().map(move |b| (a, b))) {
                assert_eq!(order.waits(a, b), known.0[a].contains(&b), "{a} for {b} at the end");
            }
        }
    }

    #[test]
    fn long_ways_of_a_backward_pass_are_not_walked() {
        let mut order = Order::default();
        let (mut state, mut saved) = (order.push(), Vec::new());
        for _ in 0..5_000 {
            let (gate, value, next) = (order.push(), order.push(), order.push());
            order.wait(gate, [state]);
            order.wait(value, [state]);
            order.wait(next, [gate, value]);
            saved.push((gate, value));
            state = next;
        }
        let mut last = state;
        for saved in saved.iter().rev() {
            // A value that is computed beside the chain, and the one in the chain.
            let (gate, value) = *saved;
            for before in [gate, value] {
                let (waits, followed) = order.search(last, before);
                assert!(waits && followed <= 4, "{followed} edges from {last} to {before}");
            }
            let kernel = order.push();
            order.wait(kernel, [last, gate, value]);
            last = kernel;
        }
    }
}
