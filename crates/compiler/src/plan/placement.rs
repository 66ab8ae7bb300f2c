//! Assigns offsets to pieces of memory so that pieces alive at the same time do not overlap.

use smallvec::SmallVec;

/// The bytes that are occupied at each step: a segment tree over steps, whose leaves follow its inner nodes; node `i` has the children `2
/// i` and `2 i + 1`.
pub(super) struct Placement {
    nodes: Vec<Node>,
}

/// The bytes occupied during a range of steps.
#[derive(Clone, Default)]
struct Node {
    /// At some of the steps.
    any: Taken,
    /// At all of the steps, by pieces whose lifetime is split at the ends of this range.
    all: Taken,
}

impl Placement {
    pub fn new(steps: usize) -> Placement {
        Placement { nodes: vec![Node::default(); 2 * steps.next_power_of_two()] }
    }

    /// Places a piece that is alive from step `first` to step `last`, and returns the lowest free offset.
    pub fn place(&mut self, bytes: usize, first: usize, last: usize) -> usize {
        if bytes == 0 {
            return 0;
        }
        let (parts, above) = self.nodes_of(first, last);
        let start = self.free(bytes, &parts, &above);
        for &node in &parts {
            self.nodes[node].any.add(start, start + bytes);
            self.nodes[node].all.add(start, start + bytes);
        }
        above.iter().for_each(|&node| self.nodes[node].any.add(start, start + bytes));
        start
    }

    /// The lowest offset where `bytes` bytes are free during all of `parts`; `above` are the ancestors of these nodes.
    fn free(&self, bytes: usize, parts: &[usize], above: &[usize]) -> usize {
        // From the root down: the longest-lived pieces usually have the lowest offsets.
        let wholly = above.iter().rev().map(|&node| &self.nodes[node].all);
        let taken = wholly.chain(parts.iter().map(|&node| &self.nodes[node].any));
        // The remaining ranges after `start`.
        let mut taken: SmallVec<[&[(usize, usize)]; 32]> = taken.map(|taken| &taken.0[..]).collect();
        let mut start = 0;
        loop {
            let before = start;
            for ranges in &mut taken {
                while let [(from, to), rest @ ..] = ranges
                    && *from < start + bytes
                {
                    start = start.max(*to);
                    *ranges = rest;
                }
            }
            if start == before {
                return start;
            }
            taken.retain(|ranges| !ranges.is_empty());
        }
    }

    /// The smallest set of nodes that covers the steps from `first` to `last`, and all ancestors of the two ends, the root last.
    fn nodes_of(&self, first: usize, last: usize) -> (Nodes, Nodes) {
        let leaves = self.nodes.len() / 2;
        let (mut low, mut high) = (leaves + first, leaves + last.min(leaves - 1));
        let (mut parts, mut above) = (Nodes::new(), Nodes::new());
        let (mut left, mut right) = (low / 2, high / 2);
        while left > 0 {
            above.push(left);
            above.extend((left != right).then_some(right));
            (left, right) = (left / 2, right / 2);
        }
        while low <= high {
            if low % 2 == 1 {
                parts.push(low);
                low += 1;
            }
            if high % 2 == 0 {
                parts.push(high);
                high -= 1;
            }
            (low, high) = (low / 2, high / 2);
        }
        (parts, above)
    }
}

type Nodes = SmallVec<[usize; 32]>;

/// Sorted ranges of bytes with gaps in between.
#[derive(Clone, Default)]
struct Taken(SmallVec<[(usize, usize); 1]>);

impl Taken {
    fn add(&mut self, from: usize, to: usize) {
        let first = self.0.partition_point(|range| range.1 < from);
        let end = first + self.0[first..].partition_point(|range| range.0 <= to);
        match &self.0[first..end] {
            [] => self.0.insert(first, (from, to)),
            touched => {
                self.0[first] = (touched[0].0.min(from), touched[touched.len() - 1].1.max(to));
                self.0.drain(first + 1..end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_where_a_look_at_all_others_puts_them() {
        let mut state = 7u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for steps in [1, 2, 3, 37, 64, 200] {
            let (mut placement, mut placed) = (Placement::new(steps), Vec::new());
            for _ in 0..300 {
                let (bytes, first) = (64 * random(6), random(steps));
                let last = if random(20) == 0 { usize::MAX } else { (first + random(steps)).min(steps - 1) };
                let mut taken: Vec<(usize, usize)> = placed
                    .iter()
                    .filter(|(_, _, from, to)| *from <= last && first <= *to)
                    .map(|(start, bytes, ..)| (*start, start + bytes))
                    .collect();
                taken.sort_unstable();
                let mut expected = 0;
                for (from, to) in taken {
                    if expected + bytes <= from {
                        break;
                    }
                    expected = expected.max(to);
                }
                assert_eq!(placement.place(bytes, first, last), expected, "{bytes} bytes, steps {first} to {last}");
                placed.push((expected, bytes, first, last));
            }
        }
    }

    #[test]
    fn values_that_wait_for_a_backward_pass_are_one_range_of_bytes() {
        let steps = 8192;
        let mut placement = Placement::new(steps);
        for step in 0..steps / 2 {
            assert_eq!(placement.place(64, step, steps - 1 - step), 64 * step);
        }
        assert!(placement.nodes.iter().all(|node| node.any.0.len() <= 1 && node.all.0.len() <= 1));
    }
}
