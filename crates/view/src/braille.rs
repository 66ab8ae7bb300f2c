//! Drawing with the dots of Braille characters, two by four in each cell.

/// The bits of a Braille character, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Cells of dots. Each knows the last line that was drawn through it.
pub(crate) struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<(u8, usize)>,
}

impl Canvas {
    pub(crate) fn new(columns: usize, rows: usize) -> Canvas {
        Canvas { columns, rows, cells: vec![(0, 0); columns * rows] }
    }

    /// Draws the connection of points between 0 and 1, for the line of some number.
    pub(crate) fn draw(&mut self, run: &[(f64, f64)], line: usize) {
        let (width, height) = ((2 * self.columns - 1) as f64, (4 * self.rows - 1) as f64);
        let dot = |&(x, y): &(f64, f64)| ((x * width).round(), ((1.0 - y) * height).round());
        for index in 0..run.len() {
            let (from, to) = (dot(&run[index.saturating_sub(1)]), dot(&run[index]));
            let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).max(1.0);
            for step in 0..=steps as usize {
                let share = step as f64 / steps;
                let (x, y) = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
                self.set(x.round() as usize, y.round() as usize, line);
            }
        }
    }

    fn set(&mut self, x: usize, y: usize, line: usize) {
        let cell = &mut self.cells[y / 4 * self.columns + x / 2];
        *cell = (cell.0 | BITS[y % 4][x % 2], line);
    }

    /// The characters of a row, each with the number of its line; `None` is an empty cell.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = Option<(char, usize)>> {
        let cells = &self.cells[row * self.columns..][..self.columns];
        let character = |bits: u8| char::from_u32(0x2800 + u32::from(bits)).expect("all dots are characters");
        cells.iter().map(move |&(bits, line)| (bits != 0).then(|| (character(bits), line)))
    }
}

/// The row of cells of a position between 0 and 1, from the top.
pub(crate) fn row_of(position: f64, rows: usize) -> usize {
    ((1.0 - position) * (4 * rows - 1) as f64).round() as usize / 4
}

/// The column of cells of a position between 0 and 1.
pub(crate) fn column_of(position: f64, columns: usize) -> usize {
    (position * (2 * columns - 1) as f64).round() as usize / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(columns: usize, rows: usize, run: &[(f64, f64)]) -> Vec<String> {
        let mut canvas = Canvas::new(columns, rows);
        canvas.draw(run, 0);
        (0..rows).map(|row| canvas.row(row).map(|cell| cell.map_or(' ', |cell| cell.0)).collect()).collect()
    }

    #[test]
    fn lines_connect_their_points() {
        assert_eq!(picture(1, 1, &[(0.0, 0.0)]), ["⡀"]);
        assert_eq!(picture(1, 1, &[(1.0, 0.0), (1.0, 1.0)]), ["⢸"]);
        assert_eq!(picture(4, 2, &[(0.0, 0.0), (1.0, 1.0)]), ["  ⡠⠊", "⡠⠊  "]);
        assert_eq!(picture(3, 1, &[(0.0, 1.0), (1.0, 1.0)]), ["⠉⠉⠉"]);
    }
}
