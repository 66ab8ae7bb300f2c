//! Round values for axes, as exact decimals, and their labels.

/// A label of at most this many characters is never written with an exponent.
const SHORT: usize = 6;
/// How far beyond an end, in steps, a tick may lie because of rounding.
const ROUNDING: f64 = 1e-9;

/// The number `digits * 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decimal {
    digits: i64,
    exponent: i32,
}

impl Decimal {
    /// The nearest float. `3 * 0.1` is not 0.3, but 3e-1 is.
    pub(crate) fn value(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().expect("digits and an exponent are a float")
    }

    fn plain(self) -> String {
        let sign = if self.digits < 0 { "-" } else { "" };
        let digits = self.digits.unsigned_abs().to_string();
        if self.exponent >= 0 {
            let zeros = if self.digits == 0 { 0 } else { self.exponent as usize };
            return format!("{sign}{digits}{}", "0".repeat(zeros));
        }
        let places = self.exponent.unsigned_abs() as usize;
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (before, after) = digits.split_at(digits.len() - places);
        format!("{sign}{before}.{after}")
    }

    fn scientific(self) -> String {
        if self.digits == 0 {
            return "0".to_string();
        }
        let sign = if self.digits < 0 { "-" } else { "" };
        let digits = self.digits.unsigned_abs().to_string();
        let exponent = self.exponent + digits.len() as i32 - 1;
        let (first, rest) = digits.split_at(1);
        let power = if exponent == 0 { String::new() } else { format!("e{exponent}") };
        match rest.trim_end_matches('0') {
            "" => format!("{sign}{first}{power}"),
            rest => format!("{sign}{first}.{rest}{power}"),
        }
    }
}

/// Labels in one style: with exponents only if that is shorter.
pub(crate) fn labels(decimals: &[Decimal]) -> Vec<String> {
    let length = |labels: &[String]| labels.iter().map(|label| label.trim_start_matches('-').len()).max().unwrap_or(0);
    let plain: Vec<String> = decimals.iter().map(|decimal| decimal.plain()).collect();
    let scientific: Vec<String> = decimals.iter().map(|decimal| decimal.scientific()).collect();
    if length(&plain) <= length(&scientific).max(SHORT) { plain } else { scientific }
}

/// The multiples of 1, 2 or 5 times a power of ten from `low` to `high`: at most `count` steps, none smaller than `least`.
pub(crate) fn linear(low: f64, high: f64, count: usize, least: f64) -> Vec<Decimal> {
    let wanted = (high / count as f64 - low / count as f64).max(least);
    if !wanted.is_normal() {
        return Vec::new();
    }
    let power = wanted.log10().floor() as i32;
    let steps = (power - 1..=power + 1).flat_map(|exponent| [1, 2, 5].map(|digits| Decimal { digits, exponent }));
    let Some(step) = steps.into_iter().find(|step| step.value() >= wanted * (1.0 - ROUNDING)) else {
        return Vec::new();
    };
    let first = (low / step.value() - ROUNDING).ceil() as i64;
    let last = (high / step.value() + ROUNDING).floor() as i64;
    let multiples = (first..=last).map(|k| Decimal { digits: k * step.digits, exponent: step.exponent });
    multiples.filter(|decimal| decimal.value().is_finite()).collect()
}

/// Ticks from `10^low` to `10^high`, at most about `count`: powers of ten, also twice and five times these if they are few.
pub(crate) fn logarithmic(low: f64, high: f64, count: usize) -> Vec<Decimal> {
    let all = (low.floor() as i32..=high.floor() as i32)
        .flat_map(|exponent| [1, 2, 5].map(|digits| Decimal { digits, exponent }))
        .filter(|decimal| {
            let coordinate = (decimal.digits as f64).log10() + f64::from(decimal.exponent);
            (low - ROUNDING..=high + ROUNDING).contains(&coordinate)
        });
    let is_drawn = |decimal: &Decimal| decimal.value() > 0.0 && decimal.value().is_finite();
    let fine: Vec<Decimal> = all.filter(is_drawn).take(count + 2).collect();
    if fine.len() < 2 {
        return linear(10f64.powf(low), 10f64.powf(high).min(f64::MAX), count, 0.0);
    }
    if fine.len() <= count + 1 {
        return fine;
    }
    let exponents = linear(low, high, count, 1.0).into_iter().map(|exponent| exponent.value() as i32);
    exponents.map(|exponent| Decimal { digits: 1, exponent }).filter(is_drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(decimals: &[Decimal]) -> Vec<f64> {
        decimals.iter().map(|decimal| decimal.value()).collect()
    }

    #[test]
    fn linear_ticks_are_exact_round_numbers() {
        let ticks = |low, high, count| values(&linear(low, high, count, 0.0));
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.1, 0.3, 2), [0.1, 0.2, 0.3]);
        assert_eq!(ticks(-7.3, 12.1, 4), [-5.0, 0.0, 5.0, 10.0]);
        assert_eq!(ticks(0.0, 99.0, 10), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
        assert_eq!(ticks(1000.0, 1003.0, 3), [1000.0, 1001.0, 1002.0, 1003.0]);
        assert_eq!(ticks(0.0, 1e-300, 2), [0.0, 5e-301, 1e-300]);
        assert_eq!(ticks(f64::MIN, f64::MAX, 4), [-1e308, 0.0, 1e308]);
        assert_eq!(ticks(0.0, f64::MIN_POSITIVE, 4), []);
        assert_eq!(values(&linear(0.0, 2.0, 10, 1.0)), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn logarithmic_ticks_thin_out_as_the_range_grows() {
        let ticks = |low, high, count| values(&logarithmic(low, high, count));
        assert_eq!(ticks(0.0, 1.0, 5), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(ticks(-1.5, 1.5, 5), [0.1, 1.0, 10.0]);
        assert_eq!(ticks(-8.0, 0.0, 4), [1e-8, 1e-6, 1e-4, 1e-2, 1.0]);
        assert_eq!(ticks(-323.3, 308.3, 4), [1e-200, 1.0, 1e200]);
        assert_eq!(ticks(2.0, 2.1, 3), [100.0, 110.0, 120.0], "too narrow for powers of ten");
    }

    #[test]
    fn labels_are_short_and_of_one_style() {
        let shown = |low, high, count| labels(&linear(low, high, count, 0.0));
        assert_eq!(shown(0.0, 1.0, 2), ["0.0", "0.5", "1.0"]);
        assert_eq!(shown(-100.0, 100.0, 2), ["-100", "0", "100"]);
        assert_eq!(shown(0.0, 200_000.0, 2), ["0", "100000", "200000"]);
        assert_eq!(shown(0.0, 2e6, 4), ["0", "5e5", "1e6", "1.5e6", "2e6"]);
        assert_eq!(shown(-2e-5, 2e-5, 2), ["-2e-5", "0", "2e-5"]);
        assert_eq!(shown(1e7, 1e7 + 2.0, 2), ["10000000", "10000001", "10000002"]);
        assert_eq!(labels(&logarithmic(-2.0, 2.0, 5)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&logarithmic(-9.0, 0.0, 2)), ["1e-5", "1"]);
    }
}
