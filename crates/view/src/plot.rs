//! What a line plot shows.

use crate::axis::{Axis, Scale};

/// The free space above and below the lines, as a share of the axis.
const PADDING: f64 = 0.04;

/// A line plot: a title, lines and labels. [`svg`](Plot::svg) and [`terminal`](Plot::terminal) draw it.
///
/// A point that is not finite, or not positive on a logarithmic axis, leaves a gap in its line.
///
/// ```
/// use wengert_view::Plot;
///
/// let plot = Plot::new("Loss").values("train", &[3.0, 2.0, 1.5]).values("test", &[3.1, 2.4, f64::NAN]);
/// assert!(plot.svg().contains("train"));
/// ```
#[derive(Clone, Debug)]
pub struct Plot {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) coloured: bool,
    log_y: bool,
}

/// A named line through points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    points: Vec<(f64, f64)>,
}

impl Plot {
    /// A plot without lines.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// assert!(Plot::new("Nothing yet").svg().contains("Nothing yet"));
    /// ```
    pub fn new(title: impl Into<String>) -> Plot {
        Plot {
            title: title.into(),
            lines: Vec::new(),
            x_label: String::new(),
            y_label: String::new(),
            coloured: false,
            log_y: false,
        }
    }

    /// Adds a line through points `(x, y)`, in their order.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// let plot = Plot::new("Circle").line("r = 1", &[(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)]);
    /// assert!(plot.svg().contains("<polyline"));
    /// ```
    pub fn line(mut self, name: impl Into<String>, points: &[(f64, f64)]) -> Plot {
        self.lines.push(Line { name: name.into(), points: points.to_vec() });
        self
    }

    /// Adds a line through values, with their indices 0, 1, 2, .. as `x`.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// let plot = Plot::new("Squares");
    /// let (values, line) = (plot.clone().values("n²", &[0.0, 1.0, 4.0]), plot.line("n²", &[(0.0, 0.0), (1.0, 1.0), (2.0, 4.0)]));
    /// assert_eq!(values.svg(), line.svg());
    /// ```
    pub fn values(self, name: impl Into<String>, values: &[f64]) -> Plot {
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(index, &value)| (index as f64, value)).collect();
        self.line(name, &points)
    }

    /// Labels the horizontal axis.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// assert!(Plot::new("Loss").x_label("step").svg().contains("step"));
    /// ```
    pub fn x_label(mut self, label: impl Into<String>) -> Plot {
        self.x_label = label.into();
        self
    }

    /// Labels the vertical axis.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// assert!(Plot::new("Loss").y_label("nats").svg().contains("nats"));
    /// ```
    pub fn y_label(mut self, label: impl Into<String>) -> Plot {
        self.y_label = label.into();
        self
    }

    /// Makes the vertical axis logarithmic. Values that are not positive leave gaps.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// let plot = Plot::new("Error").values("max", &[1.0, 1e-4, 1e-8]).log_y();
    /// assert!(plot.svg().contains("1e-8"));
    /// ```
    pub fn log_y(mut self) -> Plot {
        self.log_y = true;
        self
    }

    /// Draws the lines of [`terminal`](Plot::terminal) in ANSI colours, or not, as by default. An SVG is always coloured.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// let plot = Plot::new("Loss").values("train", &[3.0, 2.0]);
    /// assert!(!plot.terminal(40, 8).contains('\x1b'));
    /// assert!(plot.coloured(true).terminal(40, 8).contains('\x1b'));
    /// ```
    pub fn coloured(mut self, coloured: bool) -> Plot {
        self.coloured = coloured;
        self
    }

    /// The horizontal and the vertical axis, wide enough for all points that can be drawn.
    pub(crate) fn axes(&self) -> (Axis, Axis) {
        let scale = if self.log_y { Scale::Logarithmic } else { Scale::Linear };
        let points = self.lines.iter().flat_map(|line| &line.points).copied();
        let drawn: Vec<(f64, f64)> = points.filter(|&(x, y)| x.is_finite() && scale.coordinate(y).is_some()).collect();
        let is_counted = !drawn.is_empty() && drawn.iter().all(|(x, _)| x.fract() == 0.0);
        let x_scale = if is_counted { Scale::Integer } else { Scale::Linear };
        let x = Axis::new(x_scale, drawn.iter().map(|point| point.0));
        (x, Axis::new(scale, drawn.iter().map(|point| point.1)).padded(PADDING))
    }
}

impl Line {
    /// The points between 0 and 1 on both axes; `None` is a gap.
    pub(crate) fn positions(&self, x: &Axis, y: &Axis) -> Vec<Option<(f64, f64)>> {
        self.points.iter().map(|point| x.position(point.0).zip(y.position(point.1))).collect()
    }
}

/// The parts of a line between its gaps. None is empty.
pub(crate) fn runs(positions: &[Option<(f64, f64)>]) -> Vec<Vec<(f64, f64)>> {
    let parts = positions.split(|position| position.is_none());
    parts.map(|part| part.iter().copied().flatten().collect()).filter(|run: &Vec<_>| !run.is_empty()).collect()
}
