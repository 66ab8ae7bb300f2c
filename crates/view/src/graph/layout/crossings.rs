//! Crossings of lines between two layers.

/// The number of pairs of lines that cross, given the positions of their upper and lower ends. `lower` is the number of positions below.
pub(super) fn crossings(mut lines: Vec<(usize, usize)>, lower: usize) -> usize {
    lines.sort_unstable();
    // Inversions of the lower ends: a tree of sums (Fenwick, 1994) counts the earlier ends that lie further right.
    let (mut sums, mut total) = (vec![0usize; lower + 1], 0);
    for (before, &(_, end)) in lines.iter().enumerate() {
        let (mut at, mut up_to) = (end + 1, 0);
        while at > 0 {
            up_to += sums[at];
            at &= at - 1;
        }
        total += before - up_to;
        at = end + 1;
        while at <= lower {
            sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    total
}

/// The number of crossings between the lines of two neighbours if the one with the ends `left` is on the left. Both are sorted.
pub(super) fn between(left: &[usize], right: &[usize]) -> usize {
    let (mut count, mut smaller) = (0, 0);
    for end in left {
        while smaller < right.len() && right[smaller] < *end {
            smaller += 1;
        }
        count += smaller;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_counted_once() {
        assert_eq!(crossings(vec![(0, 0), (1, 1)], 2), 0);
        assert_eq!(crossings(vec![(0, 1), (1, 0)], 2), 1);
        assert_eq!(crossings(vec![(0, 0), (0, 1), (1, 0), (1, 1)], 2), 1, "lines with a common end do not cross");
        assert_eq!(crossings(vec![(0, 2), (1, 1), (2, 0)], 3), 3);
        assert_eq!(crossings(Vec::new(), 0), 0);
    }

    #[test]
    fn crossings_of_two_neighbours_agree() {
        for (left, right) in
            [(vec![0, 2], vec![1, 3]), (vec![3], vec![0, 1, 2]), (vec![], vec![1]), (vec![1, 1], vec![1])]
        {
            let lines: Vec<(usize, usize)> =
                left.iter().map(|&end| (0, end)).chain(right.iter().map(|&end| (1, end))).collect();
            assert_eq!(between(&left, &right), crossings(lines, 4));
        }
    }
}
