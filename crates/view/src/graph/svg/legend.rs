//! What the lines and boxes of a picture mean.

use super::boxes::rounded;
use super::lines::{mark, stroke};
use super::{MARGIN, ROW, TEXT};
use crate::graph::layout::{Point, Rectangle, Size};
use crate::graph::model::{EdgeKind, Graph};
use crate::graph::style::Style;
use crate::svg::{number_text, text};
use crate::xml::width;

/// The width of a sample, with the space after it.
const SAMPLE: f64 = 34.0;
const BETWEEN: f64 = 18.0;

/// Something that occurs in the picture.
enum Sample {
    Line(EdgeKind),
    Mark,
    Box(Style),
}

impl Graph {
    /// The legend below `top`, and where it ends.
    pub(super) fn legend(&self, wide: f64, top: f64) -> (String, f64) {
        let (mut legend, mut x, mut y) = (String::new(), MARGIN, top);
        for (sample, meaning) in self.samples() {
            let length = SAMPLE + width(meaning, TEXT);
            if x > MARGIN && x + length > wide - MARGIN {
                (x, y) = (MARGIN, y + ROW);
            }
            legend += &drawn(&sample, x, y + ROW / 2.0);
            legend += &text(x + SAMPLE, y + ROW / 2.0 + TEXT / 3.0, "", meaning);
            x += length + BETWEEN;
        }
        (legend, y + ROW + MARGIN)
    }

    /// What occurs, in order.
    fn samples(&self) -> Vec<(Sample, &'static str)> {
        let has = |kind: EdgeKind| self.edges.iter().any(|edge| edge.kind == kind);
        let mut samples: Vec<(Sample, &str)> = Vec::new();
        let lines = [
            (EdgeKind::Forward, "values, forward"),
            (EdgeKind::Adjoint, "contributions to adjoints, backward"),
            (EdgeKind::Body, "runs"),
        ];
        samples.extend(lines.into_iter().filter(|(kind, _)| has(*kind)).map(|(kind, text)| (Sample::Line(kind), text)));
        if self.edges.iter().any(|edge| edge.saved) {
            samples.push((Sample::Mark, "kept for the backward pass"));
        }
        let mut looks: Vec<Style> = Vec::new();
        for node in &self.nodes {
            let style = Style::of(node);
            if !looks.contains(&style) {
                looks.push(style);
                samples.push((Sample::Box(style), Style::meaning(node)));
            }
        }
        samples
    }
}

fn drawn(sample: &Sample, x: f64, middle: f64) -> String {
    match sample {
        Sample::Line(kind) => {
            let [from, to, y] = [x, x + SAMPLE - 10.0, middle].map(number_text);
            format!("<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" {}/>\n", stroke(*kind))
        }
        Sample::Mark => mark(x + (SAMPLE - 10.0) / 2.0, middle),
        Sample::Box(style) => {
            let (corner, size) = (Point { x, y: middle - 6.0 }, Size { width: SAMPLE - 10.0, height: 12.0 });
            rounded(&Rectangle { corner, size }, 4.0, *style)
        }
    }
}
