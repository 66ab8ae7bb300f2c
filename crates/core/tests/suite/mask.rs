//! Sets of positions.

use std::collections::BTreeSet;
use wengert_core::primitive::Mask;

/// Compared with sets of the standard library, around word boundaries.
#[test]
fn a_mask_is_a_set_whatever_its_positions() {
    let sets = [vec![], vec![0], vec![62], vec![63], vec![64], vec![3, 62, 63, 64, 127, 128, 199], (0..300).collect()];
    for one in &sets {
        let mask: Mask = one.iter().copied().collect();
        assert_eq!(mask.iter().collect::<Vec<_>>(), *one);
        assert_eq!(mask, Mask::of(301, |position| one.contains(&position)));
        assert_eq!((mask.count(), mask.first(), mask.is_empty()), (one.len(), one.first().copied(), one.is_empty()));
        for position in 0..310 {
            assert_eq!(mask.has(position), one.contains(&position), "{position} in {one:?}");
            let fewer: Mask = one.iter().copied().filter(|other| *other != position).collect();
            assert_eq!(mask.without(position), fewer);
            assert_eq!(mask.before(position), one.iter().filter(|other| **other < position).count());
        }
        for other in &sets {
            let either: BTreeSet<usize> = one.iter().chain(other).copied().collect();
            assert_eq!(mask.or(other.iter().copied().collect()), either.into_iter().collect());
        }
    }
}
