//! Text in columns.

/// Formats rows as lines of `indent` spaces and columns as wide as their widest cell, two spaces apart.
///
/// ```
/// let rows = [["a", "1"], ["long", "2"]].map(|row| row.map(String::from));
/// assert_eq!(wengert_cli::columns::columns(1, &rows), " a     1\n long  2\n");
/// ```
pub fn columns<R: AsRef<[String]>>(indent: usize, rows: &[R]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.as_ref().len()), 0);
        widths.iter_mut().zip(row.as_ref()).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    let line = |row: &R| {
        let padding = |cell: &str, width: usize| " ".repeat(width - cell.chars().count());
        let cells = row.as_ref().iter().zip(&widths).map(|(cell, width)| cell.clone() + &padding(cell, *width));
        let cells: Vec<String> = cells.collect();
        format!("{}{}", " ".repeat(indent), cells.join("  ")).trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}
