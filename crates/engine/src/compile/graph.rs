//! Which kernels must run before which.

/// A set of kernels.
#[derive(Clone, Default)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, kernel: usize) -> bool {
        self.0.get(kernel / 64).is_some_and(|word| word >> (kernel % 64) & 1 == 1)
    }

    fn add(&mut self, kernel: usize) {
        if self.0.len() <= kernel / 64 {
            self.0.resize(kernel / 64 + 1, 0);
        }
        self.0[kernel / 64] |= 1 << (kernel % 64);
    }

    fn remove(&mut self, kernel: usize) {
        if let Some(word) = self.0.get_mut(kernel / 64) {
            *word &= !(1 << (kernel % 64));
        }
    }

    fn extend(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(i, &word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit))
    }
}

/// For every kernel all those that it waits for, however far.
#[derive(Default)]
pub(super) struct Order(Vec<Set>);

impl Order {
    /// One more kernel, which waits for nothing yet.
    pub fn push(&mut self) -> usize {
        self.0.push(Set::default());
        self.0.len() - 1
    }

    pub fn waits(&self, kernel: usize, before: usize) -> bool {
        self.0[kernel].has(before)
    }

    /// Lets `kernel` wait for others, none of which waits for it.
    pub fn wait(&mut self, kernel: usize, others: impl IntoIterator<Item = usize>) {
        let mut more = Set::default();
        for other in others.into_iter().filter(|&other| other != kernel) {
            more.add(other);
            more.extend(&self.0[other]);
        }
        self.0[kernel].extend(&more);
        let waits = self.0[kernel].clone();
        for set in self.0.iter_mut().filter(|set| set.has(kernel)) {
            set.extend(&waits);
        }
    }

    /// Whether two kernels can become one: nothing in between waits for one of them and is waited for by the other.
    pub fn can_merge(&self, a: usize, b: usize) -> bool {
        let between =
            |first: usize, last: usize| self.0[last].iter().any(|kernel| kernel != first && self.0[kernel].has(first));
        !between(a, b) && !between(b, a)
    }

    /// Makes `gone` a part of `kept`.
    pub fn merge(&mut self, kept: usize, gone: usize) {
        let more = std::mem::take(&mut self.0[gone]);
        self.0[kept].extend(&more);
        self.0[kept].remove(kept);
        self.0[kept].remove(gone);
        let waits = self.0[kept].clone();
        for set in &mut self.0 {
            if set.has(gone) || set.has(kept) {
                set.remove(gone);
                set.add(kept);
                set.extend(&waits);
            }
        }
    }
}
