//! Tensors in a few words.

use super::numbers::short;
use std::fmt;
use wengert_engine::{Statistics, Tensor};

/// The elements of larger tensors are summarised.
const MOST_ELEMENTS: usize = 6;
/// The number of bins of a histogram.
const BINS: usize = 12;
/// A mean below this share of the largest element is rounding, and shown as 0.
const ROUNDING: f64 = 1e-12;
/// Longer texts are abbreviated where there is little room.
const BRIEF: usize = 18;

/// A tensor in a few words: its elements if they are few, or else their statistics.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::Summary;
///
/// assert_eq!(Summary::of(&Tensor::from([[1.0, 0.5], [0.25, 1e-9]])).to_string(), "[[1, 0.5], [0.25, 1e-9]]");
/// let summary = Summary::of(&Tensor::linspace(0.0, 1.0, 101));
/// assert_eq!((summary.shape.as_str(), summary.elements.is_none()), ("f64[101]", true));
/// assert_eq!(summary.to_string(), "0 .. 1, mean 0.5");
/// assert_eq!(summary.histogram, [9, 8, 8, 9, 8, 8, 9, 8, 8, 9, 8, 9]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The dtype and the shape, such as `f64[2, 3]`.
    pub shape: String,
    /// The sizes of the axes.
    pub sizes: Vec<usize>,
    /// All elements in row-major order, if there are at most six.
    pub elements: Option<Vec<f64>>,
    /// The number of elements and of NaNs, the extremes and the mean; `None` if the tensor is symbolic.
    pub statistics: Option<Statistics>,
    /// How many finite elements lie in each of twelve equal parts of their range, from the smallest; empty if all elements are listed or
    /// equal.
    pub histogram: Vec<usize>,
}

impl Summary {
    /// The summary of a tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::Summary;
    ///
    /// let summary = Summary::of(&Tensor::from([1.0, f64::NAN]));
    /// assert_eq!(summary.statistics.unwrap().nans, 1);
    /// ```
    pub fn of(tensor: &Tensor) -> Summary {
        let statistics = Statistics::of(tensor);
        let is_listed = statistics.is_some() && tensor.elements() <= MOST_ELEMENTS;
        let is_spread = statistics.is_some_and(|found| found.minimum < found.maximum);
        let histogram = statistics.filter(|_| is_spread && !is_listed).map(|found| histogram(tensor, &found));
        Summary {
            shape: tensor.spec().to_string(),
            sizes: tensor.shape().to_vec(),
            elements: is_listed.then(|| tensor.to_f64_vec()),
            statistics,
            histogram: histogram.unwrap_or_default(),
        }
    }

    /// The same in fewer characters: the elements if they are short, or else the extremes.
    pub(crate) fn brief(&self) -> String {
        let text = self.to_string();
        match self.statistics {
            Some(found) if text.chars().count() > BRIEF && !found.minimum.is_nan() => {
                let nans = if found.nans > 0 { ", NaN" } else { "" };
                format!("{} .. {}{nans}", short(found.minimum), short(found.maximum))
            }
            _ => text,
        }
    }

    /// Whether it is a single number.
    pub(super) fn is_number(&self) -> bool {
        self.sizes.is_empty() && self.elements.is_some()
    }
}

/// The elements in nested brackets, or the statistics: four significant digits of each number.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(elements) = &self.elements {
            return f.write_str(&nested(elements, &self.sizes));
        }
        let Some(found) = self.statistics else { return f.write_str("symbolic") };
        if found.minimum.is_nan() {
            f.write_str("nothing finite")?;
        } else if found.minimum == found.maximum {
            write!(f, "all {}", short(found.minimum))?;
        } else {
            let largest = found.minimum.abs().max(found.maximum.abs());
            let mean = if found.mean.abs() < ROUNDING * largest { 0.0 } else { found.mean };
            write!(f, "{} .. {}, mean {}", short(found.minimum), short(found.maximum), short(mean))?;
        }
        let parts = [(found.nans, "NaN"), (found.infinities, "infinite")];
        parts.into_iter().filter(|(count, _)| *count > 0).try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// The counts of finite elements in equal parts of their range; the largest element belongs to the last part.
fn histogram(tensor: &Tensor, found: &Statistics) -> Vec<usize> {
    // Half of the numbers, so that no difference overflows.
    let (least, width) = (found.minimum / 2.0, found.maximum / 2.0 - found.minimum / 2.0);
    let mut counts = vec![0; BINS];
    for number in tensor.to_f64_vec().into_iter().filter(|number| number.is_finite()) {
        let share = (number / 2.0 - least) / width;
        counts[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    counts
}

/// Elements with brackets around the slices along every axis.
fn nested(elements: &[f64], sizes: &[usize]) -> String {
    if elements.is_empty() {
        return "[]".to_string();
    }
    let slices: Vec<usize> = (0..sizes.len()).map(|axis| sizes[axis..].iter().product()).collect();
    let brackets = |place: usize| slices.iter().filter(|slice| place.is_multiple_of(**slice)).count();
    let mut text = String::new();
    for (place, &element) in elements.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        text += &format!("{comma}{}{}{}", "[".repeat(brackets(place)), short(element), "]".repeat(brackets(place + 1)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_follow_the_axes() {
        assert_eq!(nested(&[1.0], &[]), "1");
        assert_eq!(nested(&[], &[0, 2]), "[]");
        assert_eq!(nested(&[1.0, 2.0, 3.0, 4.0], &[2, 1, 2]), "[[[1, 2]], [[3, 4]]]");
    }

    #[test]
    fn elements_are_counted_in_equal_parts_of_their_range() {
        let counts = |elements: &[f64]| Summary::of(&Tensor::from(elements)).histogram;
        let steps: Vec<f64> = (0..=12).map(f64::from).collect();
        assert_eq!(counts(&steps), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
        let skewed = [0.0, 0.0, 0.0, 1.5, 2.0, 11.0, 12.0, f64::NAN, f64::INFINITY];
        assert_eq!(counts(&skewed), [3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        let huge = [f64::MIN, f64::MAX, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(counts(&huge), [1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1]);
        assert_eq!(counts(&[2.0; 9]), [0; 0]);
        assert_eq!(counts(&[1.0, 2.0]), [0; 0], "they are listed");
        assert_eq!(counts(&[f64::NAN; 9]), [0; 0]);
    }

    #[test]
    fn what_is_not_finite_is_counted() {
        let text = |elements: &[f64]| Summary::of(&Tensor::from(elements)).to_string();
        assert_eq!(text(&[f64::NAN, 1.0]), "[NaN, 1]");
        assert_eq!(text(&[f64::NAN; 7]), "nothing finite, 7 NaN");
        assert_eq!(text(&[2.5; 7]), "all 2.5");
        assert_eq!(text(&[1.0, 2.0, 3.0, f64::INFINITY, 2.0, 2.0, f64::NAN]), "1 .. 3, mean 2, 1 NaN, 1 infinite");
    }
}
