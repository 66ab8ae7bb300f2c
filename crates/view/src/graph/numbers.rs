//! Numbers in few characters.

/// A number with four significant digits.
pub(crate) fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_string();
    }
    if !number.is_finite() {
        return match number.is_nan() {
            true => "NaN".to_string(),
            false => format!("{}∞", if number < 0.0 { "-" } else { "" }),
        };
    }
    let scientific = format!("{number:.3e}");
    let (digits, exponent) = scientific.split_once('e').expect("a number in scientific notation has an exponent");
    let exponent: i32 = exponent.parse().expect("exponents are integers");
    if (-4..6).contains(&exponent) {
        let places = (3 - exponent).max(0) as usize;
        return trimmed(&format!("{number:.places$}")).to_string();
    }
    format!("{}e{exponent}", trimmed(digits))
}

/// Without zeros after the last digit that counts.
fn trimmed(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A number of bytes in a unit that suits it.
pub(crate) fn bytes(count: usize) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.into_iter().find(|(_, size)| count as f64 >= *size) {
        Some((unit, size)) => format!("{} {unit}", short(count as f64 / size)),
        None => format!("{count} B"),
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_shown() {
        let numbers = [0.0, -0.0, 1.0, -2.5, 0.1 + 0.2, 12345.678, 123_456.0, 1_234_567.0, 1e-4, 1.23456e-5, 1e300];
        let texts = ["0", "0", "1", "-2.5", "0.3", "12346", "123456", "1.235e6", "0.0001", "1.235e-5", "1e300"];
        assert_eq!(numbers.map(short), texts);
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(short), ["NaN", "∞", "-∞"]);
        assert_eq!(short(0.99996), "1");
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!([0, 999, 1000, 1_234_567, 5_000_000_000].map(bytes), ["0 B", "999 B", "1 kB", "1.235 MB", "5 GB"]);
    }
}
