//! Line plots as SVG.

use crate::axis::Tick;
use crate::plot::{Plot, runs};
use crate::thinning::thinned;
use crate::xml::{escaped, shortened, width};

/// Colours that people with any colour vision tell apart, and that differ in brightness too.
const COLOURS: [&str; 6] = ["#0057a8", "#e69f00", "#7a1e5c", "#2fa58a", "#d1495b", "#222222"];
/// Lines beyond the colours repeat them with dashes.
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"8 4\"", " stroke-dasharray=\"2 4\""];
const POINTS_PER_LINE: usize = 2000;

const WIDTH: f64 = 720.0;
const PLOT_HEIGHT: f64 = 320.0;
const MARGIN: f64 = 16.0;
/// The space right of the lines: half a label of the horizontal axis.
const RIGHT: f64 = 28.0;
const TEXT: f64 = 12.0;
const TITLE: f64 = 16.0;
const ROW: f64 = 20.0;
/// The length of a sample of a line in the legend, with the space after it.
const SAMPLE: f64 = 30.0;
const MOST_X_TICKS: usize = 10;
const MOST_Y_TICKS: usize = 8;

/// The rectangle of the lines, in the coordinates of the picture.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn x(&self, position: f64) -> f64 {
        self.left + position * (self.right - self.left)
    }

    fn y(&self, position: f64) -> f64 {
        self.bottom - position * (self.bottom - self.top)
    }
}

impl Plot {
    /// Draws the plot as an SVG document that needs nothing else: no scripts, fonts or style sheets. It has its own white background.
    ///
    /// A line of more than 2000 points is drawn with 2000 of them, its lowest and highest among them.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// let svg = Plot::new("a < b").values("loss", &[3.0, 2.0, 1.5]).x_label("step").svg();
    /// assert!(svg.starts_with("<svg") && svg.contains("a &lt; b"));
    /// ```
    pub fn svg(&self) -> String {
        let (x, y) = self.axes();
        let (mut top, mut head) = (MARGIN, String::new());
        if !self.title.is_empty() {
            let title = shortened(&self.title, TITLE, WIDTH - 2.0 * MARGIN);
            let style = format!("font-size=\"{TITLE}\" font-weight=\"bold\"");
            head += &text(MARGIN, top + TITLE, &style, &title);
            top += TITLE + MARGIN;
        }
        if self.lines.len() > 1 {
            let (legend, bottom) = self.legend(top);
            head += &legend;
            top = bottom;
        }
        let y_ticks = y.fitting_ticks(MOST_Y_TICKS, PLOT_HEIGHT, |_| 1.5 * TEXT);
        let label_width = y_ticks.iter().map(|tick| width(&tick.label, TEXT)).fold(0.0, f64::max);
        let y_label_width = if self.y_label.is_empty() { 0.0 } else { ROW };
        let left = MARGIN + y_label_width + label_width + 8.0;
        let area = Area { left, right: WIDTH - RIGHT, top, bottom: top + PLOT_HEIGHT };
        let x_ticks = x.fitting_ticks(MOST_X_TICKS, area.right - area.left, |label| width(label, TEXT) + 2.5 * TEXT);

        let x_label_height = if self.x_label.is_empty() { 0.0 } else { ROW };
        let height = area.bottom + ROW + x_label_height + MARGIN / 2.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"{TEXT}\" fill=\"#333333\">\n\
             <title>{}</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(&self.title)
        );
        svg += &head;
        svg += &grid(&area, &x_ticks, &y_ticks);
        svg += &self.axis_labels(&area, height);
        for (number, line) in self.lines.iter().enumerate() {
            svg += &drawn(&area, number, &thinned(&line.positions(&x, &y), POINTS_PER_LINE));
        }
        svg + "</svg>\n"
    }

    /// The names of the lines in rows, and where these end.
    fn legend(&self, top: f64) -> (String, f64) {
        let (mut legend, mut x, mut y) = (String::new(), MARGIN, top);
        for (number, line) in self.lines.iter().enumerate() {
            let name = shortened(&line.name, TEXT, WIDTH - 2.0 * MARGIN - SAMPLE);
            let length = SAMPLE + width(&name, TEXT);
            if x > MARGIN && x + length > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + ROW);
            }
            let (from, to, middle) = (number_text(x), number_text(x + SAMPLE - 8.0), number_text(y + ROW / 2.0));
            let sample =
                format!("<line x1=\"{from}\" y1=\"{middle}\" x2=\"{to}\" y2=\"{middle}\" {}/>\n", stroke(number));
            legend += &(sample + &text(x + SAMPLE, y + ROW / 2.0 + TEXT / 3.0, "", &name));
            x += length + MARGIN;
        }
        (legend, y + ROW + MARGIN / 2.0)
    }

    fn axis_labels(&self, area: &Area, height: f64) -> String {
        let mut labels = String::new();
        if !self.x_label.is_empty() {
            let label = shortened(&self.x_label, TEXT, area.right - area.left);
            labels += &text(area.x(0.5), height - MARGIN / 2.0 - 4.0, "text-anchor=\"middle\"", &label);
        }
        if !self.y_label.is_empty() {
            let label = shortened(&self.y_label, TEXT, PLOT_HEIGHT);
            let (x, y) = (MARGIN + TEXT / 2.0, area.y(0.5));
            let turned =
                format!("text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"", number_text(x), number_text(y));
            labels += &text(x, y, &turned, &label);
        }
        labels
    }
}

/// Coordinates with one decimal place.
pub(crate) fn number_text(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

pub(crate) fn text(x: f64, y: f64, attributes: &str, content: &str) -> String {
    let space = if attributes.is_empty() { "" } else { " " };
    format!("<text x=\"{}\" y=\"{}\"{space}{attributes}>{}</text>\n", number_text(x), number_text(y), escaped(content))
}

/// The grid with the labels of its lines, and the two axes.
fn grid(area: &Area, x_ticks: &[Tick], y_ticks: &[Tick]) -> String {
    let (left, right) = (number_text(area.left), number_text(area.right));
    let (top, bottom) = (number_text(area.top), number_text(area.bottom));
    let (mut lines, mut labels) = (String::new(), String::new());
    for tick in x_ticks {
        let x = area.x(tick.position);
        lines += &format!("M{0} {top}V{bottom}", number_text(x));
        // A long label at an end stays inside the picture.
        let half = width(&tick.label, TEXT) / 2.0;
        let middle = x.clamp(half, WIDTH - half);
        labels += &text(middle, area.bottom + TEXT + 5.0, "text-anchor=\"middle\"", &tick.label);
    }
    for tick in y_ticks {
        let y = area.y(tick.position);
        lines += &format!("M{left} {}H{right}", number_text(y));
        labels += &text(area.left - 6.0, y + TEXT / 3.0, "text-anchor=\"end\"", &tick.label);
    }
    format!(
        "<path d=\"{lines}\" stroke=\"#e4e4e4\" fill=\"none\"/>\n{labels}\
         <path d=\"M{left} {top}V{bottom}H{right}\" stroke=\"#777777\" fill=\"none\"/>\n"
    )
}

fn stroke(number: usize) -> String {
    let dashes = DASHES[number / COLOURS.len() % DASHES.len()];
    format!("stroke=\"{}\" stroke-width=\"2\"{dashes}", COLOURS[number % COLOURS.len()])
}

/// A line: its parts between gaps, of which a single point is a disc.
fn drawn(area: &Area, number: usize, positions: &[Option<(f64, f64)>]) -> String {
    let mut shapes = format!("<g fill=\"none\" stroke-linejoin=\"round\" {}>\n", stroke(number));
    for run in runs(positions) {
        let points: Vec<[String; 2]> =
            run.iter().map(|&(x, y)| [number_text(area.x(x)), number_text(area.y(y))]).collect();
        shapes += &match points.as_slice() {
            [[x, y]] => {
                let colour = COLOURS[number % COLOURS.len()];
                format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{colour}\" stroke=\"none\"/>\n")
            }
            points => {
                let points: Vec<String> = points.iter().map(|point| point.join(",")).collect();
                format!("<polyline points=\"{}\"/>\n", points.join(" "))
            }
        };
    }
    shapes + "</g>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lightness of CIELAB, from 0 to 100.
    fn lightness(colour: &str) -> f64 {
        let channel = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        let [red, green, blue] = [1, 3, 5].map(channel).map(|c| ((c + 0.055) / 1.055).powf(2.4));
        116.0 * (0.2126 * red + 0.7152 * green + 0.0722 * blue).cbrt() - 16.0
    }

    #[test]
    fn colours_differ_in_brightness() {
        let mut values = COLOURS.map(lightness);
        values.sort_by(f64::total_cmp);
        assert!(values.windows(2).all(|pair| pair[1] - pair[0] > 7.0), "{values:?}");
        assert!(values[COLOURS.len() - 1] < 75.0, "light colours vanish on white: {values:?}");
    }
}
