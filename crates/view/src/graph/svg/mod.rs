//! Graphs as SVG.

mod boxes;
mod legend;
mod lines;

use super::model::Graph;
use super::picture::Picture;
use super::style::{INK, QUIET};
use crate::svg::{number_text, text};
use crate::xml::{escaped, shortened, width};
use boxes::{box_size, drawn_box, drawn_frame, frame_title};
use lines::{MARKERS, drawn_lines};

const MARGIN: f64 = 20.0;
/// There is room for the legend and for notes beside a small graph.
const LEAST_WIDTH: f64 = 560.0;
const TITLE: f64 = 16.0;
const HEADING: f64 = 13.0;
const TEXT: f64 = 12.0;
const ROW: f64 = 18.0;
const FONTS: &str = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace";

impl Graph {
    /// Draws the graph as an SVG document that needs nothing else: no scripts, fonts or style sheets. It has its own white background and
    /// a legend; a tooltip of each node shows everything that is known about it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let svg = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin())).titled("a < b").svg();
    /// assert!(svg.starts_with("<svg") && svg.contains("a &lt; b") && svg.contains("v2 = sin(v1)"));
    /// ```
    pub fn svg(&self) -> String {
        let cards = self.cards();
        let sizes: Vec<_> = cards.iter().map(box_size).collect();
        let titles: Vec<f64> = self.groups.iter().map(|group| width(&frame_title(self, group), TEXT)).collect();
        let picture = Picture::new(self, &sizes, &titles);
        let wide = (picture.size.width + 2.0 * MARGIN).max(LEAST_WIDTH);

        let (head, top) = self.head(wide);
        let (legend, height) = self.legend(wide, top + picture.size.height + MARGIN);
        let (wide_text, height, left) = (number_text(wide), number_text(height), (wide - picture.size.width) / 2.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{wide_text}\" height=\"{height}\" \
             viewBox=\"0 0 {wide_text} {height}\" font-family=\"{FONTS}\" font-size=\"{TEXT}\" fill=\"{INK}\">\n\
             <title>{}</title>\n{MARKERS}<rect width=\"{wide_text}\" height=\"{height}\" fill=\"#ffffff\"/>\n{head}\
             <g transform=\"translate({} {})\">\n",
            escaped(&self.title),
            number_text(left),
            number_text(top)
        );
        for (group, frame) in self.groups.iter().zip(&picture.frames) {
            svg += &drawn_frame(self, group, frame);
        }
        let (lines, labels) = drawn_lines(self, &picture.wires);
        svg += &lines;
        for ((node, card), place) in self.nodes.iter().zip(&cards).zip(&picture.boxes) {
            if let Some(place) = place {
                svg += &drawn_box(node, card, place);
            }
        }
        svg + &labels + "</g>\n" + &legend + "</svg>\n"
    }

    /// The title and the notes, and where they end.
    fn head(&self, wide: f64) -> (String, f64) {
        let (mut head, mut y) = (String::new(), MARGIN);
        if !self.title.is_empty() {
            let title = shortened(&self.title, TITLE, wide - 2.0 * MARGIN);
            head += &text(MARGIN, y + TITLE, &format!("font-size=\"{TITLE}\" font-weight=\"bold\""), &title);
            y += TITLE + MARGIN / 2.0;
        }
        for line in self.notes.iter().flat_map(|note| wrapped(note, wide - 2.0 * MARGIN)) {
            head += &text(MARGIN, y + TEXT, &format!("fill=\"{QUIET}\""), &line);
            y += ROW;
        }
        (head, y + MARGIN / 2.0)
    }
}

/// Text in lines of at most some width, broken at spaces.
fn wrapped(note: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in note.split_whitespace() {
        match lines.last_mut().filter(|line| width(line, TEXT) + width(word, TEXT) + TEXT <= most) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(shortened(word, TEXT, most)),
        }
    }
    lines
}
