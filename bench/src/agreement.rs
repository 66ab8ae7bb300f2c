//! Checks that the systems that are compared have done the same work.

/// Panics unless all systems found the same values as the first, to nine digits, and these are finite.
pub fn expect_agreement<'a>(mut found: impl Iterator<Item = (&'a str, Vec<f64>)>) {
    let Some((first, expected)) = found.next() else { return };
    assert!(expected.iter().all(|number| number.is_finite()), "{first} found {expected:?}");
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    for (name, numbers) in found {
        assert_eq!(numbers.len(), expected.len(), "{name} found as many numbers as {first}");
        if let Some(place) = expected.iter().zip(&numbers).position(|(a, b)| !near(*a, *b)) {
            panic!("number {place} is {} by {first} and {} by {name}", expected[place], numbers[place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_to_nine_digits() {
        let agree = |a: f64, b: f64| {
            std::panic::catch_unwind(|| expect_agreement([("a", vec![0.5, a]), ("b", vec![0.5, b])].into_iter()))
                .is_ok()
        };
        assert!(agree(1e6, 1e6 + 1e-4) && agree(0.0, 1e-10));
        assert!(!agree(1e6, 1e6 + 1e-2) && !agree(0.0, 1e-8) && !agree(1.0, f64::NAN) && !agree(f64::NAN, f64::NAN));
    }
}
