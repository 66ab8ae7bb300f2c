//! Line plots as text.

use crate::axis::{Axis, Tick};
use crate::braille::{Canvas, column_of, row_of};
use crate::plot::{Plot, runs};

/// Blue, yellow, magenta, green, red, cyan.
const ANSI: [u8; 6] = [34, 33, 35, 32, 31, 36];
/// Sizes of the picture. The smallest leaves room for long labels.
const WIDTHS: (usize, usize) = (24, 500);
const HEIGHTS: (usize, usize) = (4, 200);
const FEWEST_COLUMNS: usize = 5;
const FEWEST_ROWS: usize = 2;

impl Plot {
    /// Draws the plot as text of at most `width` columns and `height` lines, with lines of Braille dots. It is larger only if the
    /// size leaves no room for the lines beside labels and names.
    ///
    /// Several lines are marked with letters at their ends.
    ///
    /// ```
    /// use wengert_view::Plot;
    ///
    /// let picture = Plot::new("Squares").values("n²", &[0.0, 1.0, 4.0, 9.0]).terminal(24, 8);
    /// assert_eq!(picture.lines().next(), Some("Squares"));
    /// assert!(picture.lines().count() <= 8);
    /// ```
    pub fn terminal(&self, width: usize, height: usize) -> String {
        let (width, height) = (width.clamp(WIDTHS.0, WIDTHS.1), height.clamp(HEIGHTS.0, HEIGHTS.1));
        let (x, y) = self.axes();
        let head: Vec<String> = [&self.title, &self.y_label].map(|text| fitted(text, width)).into();
        let head: Vec<String> = head.into_iter().filter(|line| !line.is_empty()).collect();
        let legend = self.names(width);
        let x_label = fitted(&self.x_label, width);
        let others = head.len() + legend.len() + usize::from(!x_label.is_empty()) + 2;
        let rows = height.saturating_sub(others).max(FEWEST_ROWS);

        let y_ticks = y.fitting_ticks((rows / 2).max(4), rows as f64, |_| 1.5);
        let margin = y_ticks.iter().map(|tick| tick.label.len()).max().unwrap_or(0);
        let marks = if self.lines.len() > 1 { self.marks(&x, &y, rows) } else { Vec::new() };
        let columns = (width - margin - 1).saturating_sub(if marks.is_empty() { 0 } else { 2 }).max(FEWEST_COLUMNS);

        let mut lines = head;
        lines.extend(self.rows(&x, &y, columns, rows).into_iter().enumerate().map(|(row, drawn)| {
            let tick = y_ticks.iter().find(|tick| row_of(tick.position, rows) == row);
            let (label, bar) = tick.map_or(("", '│'), |tick| (&tick.label, '┤'));
            let mark = match marks.get(row) {
                Some(&Some(line)) => format!(" {}", self.painted(&mark(line).to_string(), line)),
                _ => String::new(),
            };
            format!("{label:>margin$}{bar}{drawn}{mark}")
        }));
        lines.extend(bottom(&x, columns).map(|line| " ".repeat(margin) + &line));
        if !x_label.is_empty() {
            let before = (margin + 1 + columns / 2).saturating_sub(x_label.chars().count() / 2);
            lines.push(" ".repeat(before.min(width - x_label.chars().count())) + &x_label);
        }
        lines.extend(legend);
        lines.iter().map(|line| line.trim_end().to_string() + "\n").collect()
    }

    /// The rows of the canvas, in colour if wanted.
    fn rows(&self, x: &Axis, y: &Axis, columns: usize, rows: usize) -> Vec<String> {
        let mut canvas = Canvas::new(columns, rows);
        for (number, line) in self.lines.iter().enumerate() {
            for run in runs(&line.positions(x, y)) {
                canvas.draw(&run, number);
            }
        }
        let cell = |cell: Option<(char, usize)>| match cell {
            None => " ".to_string(),
            Some((character, line)) => self.painted(&character.to_string(), line),
        };
        (0..rows).map(|row| canvas.row(row).map(cell).collect()).collect()
    }

    /// The line whose mark each row shows: the row where it ends, or the nearest that is free.
    fn marks(&self, x: &Axis, y: &Axis, rows: usize) -> Vec<Option<usize>> {
        let mut marks = vec![None; rows];
        for (number, line) in self.lines.iter().enumerate() {
            let Some((_, end)) = line.positions(x, y).into_iter().flatten().next_back() else { continue };
            let wanted = row_of(end, rows);
            let free = (0..rows).filter(|&row| marks[row].is_none()).min_by_key(|row| row.abs_diff(wanted));
            if let Some(row) = free {
                marks[row] = Some(number);
            }
        }
        marks
    }

    /// The names of the lines, after their marks if there are several, in as many rows as they need.
    fn names(&self, width: usize) -> Vec<String> {
        let mut rows: Vec<(usize, String)> = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let name = match self.lines.len() {
                1 => fitted(&line.name, width),
                _ => fitted(&format!("{} {}", mark(number), line.name), width),
            };
            let length = name.chars().count();
            let painted = self.painted(&name, number);
            match rows.last_mut().filter(|row| row.0 + 3 + length <= width) {
                Some(row) => *row = (row.0 + 3 + length, format!("{}   {painted}", row.1)),
                None => rows.push((length, painted)),
            }
        }
        rows.into_iter().filter(|row| row.0 > 0).map(|row| row.1).collect()
    }

    fn painted(&self, text: &str, line: usize) -> String {
        match self.coloured {
            true => format!("\x1b[{}m{text}\x1b[0m", ANSI[line % ANSI.len()]),
            false => text.to_string(),
        }
    }
}

/// The letter of a line: A to Z, then again from A.
fn mark(line: usize) -> char {
    char::from(b'A' + (line % 26) as u8)
}

/// Text on one line of at most `width` characters.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.chars().count() <= width {
        true => text,
        false => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// The horizontal axis and its labels, of which none leaves the picture on the right.
fn bottom(x: &Axis, columns: usize) -> [String; 2] {
    let ticks = x.fitting_ticks((columns / 8).max(4), columns as f64, |label| label.len() as f64 + 2.0);
    let mut axis = vec!['─'; columns];
    let mut labels = String::new();
    for Tick { position, label } in &ticks {
        let column = column_of(*position, columns);
        axis[column] = '┬';
        // The axis starts one column further right.
        let start = (column + 1).saturating_sub(label.len() / 2).min((columns + 1).saturating_sub(label.len()));
        let blank = start.saturating_sub(labels.len());
        if blank > 0 || labels.is_empty() {
            labels += &(" ".repeat(blank) + label);
        }
    }
    [std::iter::once('└').chain(axis).collect(), labels]
}
