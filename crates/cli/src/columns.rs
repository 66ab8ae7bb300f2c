//! Text in columns.

/// Formats rows as lines of `indent` spaces and columns as wide as their widest cell, two spaces apart.
///
/// ```
/// let rows = [["a", "1"], ["long", "2"]].map(|row| row.map(String::from));
/// assert_eq!(wengert_cli::columns::columns(1, &rows), " a     1\n long  2\n");
/// ```
pub fn columns<const N: usize>(indent: usize, rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}{}", " ".repeat(indent), cells.join("  ")).trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}
