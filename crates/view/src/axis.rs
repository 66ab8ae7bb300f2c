//! Axes: from values to positions between 0 and 1.

use crate::ticks::{Decimal, labels, linear, logarithmic};

/// A range narrower than this share of its values shows rounding, not data. It is drawn as if it were constant.
const NARROWEST: f64 = 1e-12;
/// The narrowest range whose steps are normal numbers.
const SMALLEST: f64 = 1e-305;
/// The narrowest logarithmic range, in powers of ten.
const NARROWEST_LOGARITHM: f64 = 1e-9;

/// How values are placed along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear,
    /// Linear, with ticks at integers only.
    Integer,
    Logarithmic,
}

impl Scale {
    /// Where a value lies on the scale, or `None` if it cannot be drawn.
    pub(crate) fn coordinate(self, value: f64) -> Option<f64> {
        match self {
            Scale::Logarithmic => (value > 0.0 && value.is_finite()).then(|| value.log10()),
            _ => value.is_finite().then_some(value),
        }
    }

    fn is_narrow(self, low: f64, high: f64) -> bool {
        let half = high / 2.0 - low / 2.0;
        match self {
            Scale::Logarithmic => half < NARROWEST_LOGARITHM,
            _ => half < SMALLEST.max(NARROWEST * low.abs().max(high.abs())),
        }
    }

    /// Half the length of an axis that shows a single value.
    fn room(self, middle: f64) -> f64 {
        match self {
            Scale::Logarithmic => 0.5,
            Scale::Integer => (middle.abs() / 10.0).max(1.0),
            Scale::Linear if middle == 0.0 => 1.0,
            Scale::Linear => (middle.abs() / 10.0).max(SMALLEST),
        }
    }
}

/// A range of coordinates. It is finite and never empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A labelled place on an axis, between 0 and 1.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    pub(crate) position: f64,
    pub(crate) label: String,
}

impl Axis {
    /// The axis from the lowest to the highest value; from 0 to 1 if there is none.
    pub(crate) fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Axis {
        let ends = values.filter_map(|value| scale.coordinate(value)).fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        if !scale.is_narrow(low, high) {
            return Axis { scale, low, high };
        }
        let middle = low / 2.0 + high / 2.0;
        Axis { scale, low: middle, high: middle }.widened(scale.room(middle))
    }

    /// Adds a share of the length at both ends.
    pub(crate) fn padded(self, share: f64) -> Axis {
        self.widened(self.high * share - self.low * share)
    }

    fn widened(self, room: f64) -> Axis {
        let (low, high) = ((self.low - room).max(f64::MIN), (self.high + room).min(f64::MAX));
        Axis { low, high, ..self }
    }

    /// Where a value lies between the ends, or `None` if it cannot be drawn.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        // Halves: the length of an axis from -f64::MAX to f64::MAX overflows.
        let half = |from: f64, to: f64| to / 2.0 - from / 2.0;
        let share = |coordinate| half(self.low, coordinate) / half(self.low, self.high);
        self.scale.coordinate(value).map(|coordinate| share(coordinate).clamp(0.0, 1.0))
    }

    fn ticks(&self, count: usize) -> Vec<Tick> {
        let decimals = match self.scale {
            Scale::Linear => linear(self.low, self.high, count, 0.0),
            Scale::Integer => linear(self.low, self.high, count, 1.0),
            Scale::Logarithmic => logarithmic(self.low, self.high, count),
        };
        let positions = decimals.iter().filter_map(|decimal: &Decimal| self.position(decimal.value()));
        positions.zip(labels(&decimals)).map(|(position, label)| Tick { position, label }).collect()
    }

    /// As many ticks as fit, about `most`, on an axis of some length: labels, whose size is given, do not touch.
    pub(crate) fn fitting_ticks(&self, most: usize, length: f64, size: impl Fn(&str) -> f64) -> Vec<Tick> {
        let fits = |a: &Tick, b: &Tick| {
            let distance = (b.position - a.position) * length;
            (size(&a.label) + size(&b.label)) / 2.0 <= distance
        };
        let all_fit = |ticks: &Vec<Tick>| ticks.windows(2).all(|pair| fits(&pair[0], &pair[1]));
        let choices = (2..=most.max(2)).rev().map(|count| self.ticks(count));
        choices.into_iter().find(all_fit).unwrap_or_else(|| {
            let mut ticks = self.ticks(2);
            ticks.truncate(1);
            ticks
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(axis: Axis, count: usize) -> Vec<String> {
        axis.ticks(count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn positions_run_from_zero_to_one_on_every_scale() {
        let linear = Axis::new(Scale::Linear, [2.0, 4.0, f64::NAN, 3.0, f64::INFINITY].into_iter());
        assert_eq!([2.0, 3.0, 4.0].map(|value| linear.position(value)), [Some(0.0), Some(0.5), Some(1.0)]);
        assert_eq!(linear.position(f64::NEG_INFINITY), None);
        let logarithmic = Axis::new(Scale::Logarithmic, [0.01, -3.0, 100.0].into_iter());
        assert_eq!([0.01, 1.0, 100.0].map(|value| logarithmic.position(value)), [Some(0.0), Some(0.5), Some(1.0)]);
        assert_eq!(logarithmic.position(0.0), None);
        let whole = Axis::new(Scale::Linear, [f64::MIN, f64::MAX].into_iter()).padded(0.1);
        assert_eq!([f64::MIN, 0.0, f64::MAX].map(|value| whole.position(value)), [Some(0.0), Some(0.5), Some(1.0)]);
    }

    #[test]
    fn a_constant_lies_in_the_middle() {
        for scale in [Scale::Linear, Scale::Integer, Scale::Logarithmic] {
            for value in [5e-324, 1e-300, 1.0, 7.0, 1e300] {
                let axis = Axis::new(scale, [value, value].into_iter()).padded(0.04);
                let position = axis.position(value).unwrap();
                assert!((position - 0.5).abs() < 1e-9, "{scale:?} {value}: {position}");
            }
        }
        assert_eq!(shown(Axis::new(Scale::Integer, [7.0].into_iter()), 5), ["6", "7", "8"]);
    }

    #[test]
    fn rounding_errors_look_constant() {
        let axis = Axis::new(Scale::Linear, [1.0, 1.0 + f64::EPSILON].into_iter());
        let [low, high] = [1.0, 1.0 + f64::EPSILON].map(|value| axis.position(value).unwrap());
        assert!(high - low < 1e-9, "{low} {high}");
        assert_eq!(shown(axis, 2), ["0.9", "1.0", "1.1"]);
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let axis = Axis::new(Scale::Linear, [0.0, 10.0].into_iter());
        let count = |length| axis.fitting_ticks(10, length, |label| label.len() as f64 + 1.0).len();
        assert_eq!([100.0, 26.0, 13.0, 6.0, 1.0].map(count), [11, 11, 6, 3, 1]);
    }
}
