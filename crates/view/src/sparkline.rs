//! A row of numbers as a row of characters.

use crate::axis::{Axis, Scale};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws each value as one character, from the lowest, `▁`, to the highest, `█`. Values that are not finite are spaces, and equal values
/// are of middle height.
///
/// ```
/// use wengert_view::sparkline;
///
/// assert_eq!(sparkline(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), "▁▂▃▄▅▆▇█");
/// assert_eq!(sparkline(&[1.0, f64::NAN, -1.0]), "█ ▁");
/// ```
pub fn sparkline(values: &[f64]) -> String {
    let axis = Axis::new(Scale::Linear, values.iter().copied());
    // Rounding must not move a value to the bar below.
    let bar = |position: f64| BARS[((position * BARS.len() as f64 + 1e-9) as usize).min(BARS.len() - 1)];
    values.iter().map(|&value| axis.position(value).map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_rows_have_a_picture() {
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[3.0]), "▅");
        assert_eq!(sparkline(&[2.0; 3]), "▅▅▅");
        assert_eq!(sparkline(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]), "   ");
        assert_eq!(sparkline(&[f64::MIN, 0.0, f64::MAX]), "▁▅█");
        assert_eq!(sparkline(&[0.0, 1e-300]), "▁█");
    }
}
