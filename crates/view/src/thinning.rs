//! Long lines with fewer points.

/// A point of a line, or a gap.
type Position = Option<(f64, f64)>;

/// At most `most` points that look like all of them. A long line is cut into buckets of equal length. Each keeps its lowest and its highest
/// point, in their order. The first and the last point stay, and there is a gap wherever one was between two points that stay.
pub(crate) fn thinned(points: &[Position], most: usize) -> Vec<Position> {
    if points.len() <= most {
        return points.to_vec();
    }
    let drawn = |range: std::ops::Range<usize>| range.filter_map(|index| Some((index, points[index]?.1)));
    let buckets = (most / 2).saturating_sub(1).max(1);
    let mut kept: Vec<usize> = Vec::new();
    for bucket in 0..buckets {
        let range = bucket * points.len() / buckets..(bucket + 1) * points.len() / buckets;
        kept.extend(drawn(range.clone()).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index));
        kept.extend(drawn(range).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index));
    }
    kept.extend(drawn(0..points.len()).next().map(|(index, _)| index));
    kept.extend(drawn(0..points.len()).next_back().map(|(index, _)| index));
    kept.sort_unstable();
    kept.dedup();

    let mut thin = Vec::new();
    let mut next = 0;
    for index in kept {
        if points[next..index].iter().any(Option::is_none) {
            thin.push(None);
        }
        thin.push(points[index]);
        next = index;
    }
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(length: usize) -> Vec<Position> {
        (0..length).map(|i| Some((i as f64, (i as f64 * 0.7).sin()))).collect()
    }

    #[test]
    fn short_lines_stay_as_they_are() {
        let points = wave(100);
        assert_eq!(thinned(&points, 100), points);
        assert_eq!(thinned(&[], 10), []);
    }

    #[test]
    fn extremes_and_ends_stay() {
        let mut points = wave(100_000);
        points[31_415] = Some((31_415.0, 9.0));
        points[77_777] = Some((77_777.0, -9.0));
        let thin = thinned(&points, 2000);
        for index in [0, 31_415, 77_777, 99_999] {
            assert!(thin.contains(&points[index]), "{index}");
        }
        assert!((1998..=2000).contains(&thin.len()), "{}", thin.len());
        assert!(thin.windows(2).all(|pair| pair[0].unwrap().0 < pair[1].unwrap().0), "in their order");
    }

    #[test]
    fn a_gap_stays_a_gap() {
        let mut points = wave(10_000);
        points[5000] = None;
        let thin = thinned(&points, 200);
        assert_eq!(thin.iter().filter(|point| point.is_none()).count(), 1);
        let every_other: Vec<Position> = (0..10_000).map(|i| (i % 2 == 0).then_some((i as f64, i as f64))).collect();
        let thin = thinned(&every_other, 200);
        assert!(thin.windows(2).all(|pair| pair[0].is_none() != pair[1].is_none()));
        assert!(thin.iter().flatten().count() <= 200);
    }
}
