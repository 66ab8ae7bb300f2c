//! The coverage table: what was exercised of every primitive, and why not.

use crate::{Aspect, Report, check};
use wengert::primitive::PRIMITIVES;

/// The Markdown table of all built-in primitives, one row each: in how many cases every aspect was exercised, or why it
/// was not.
///
/// # Panics
/// If a primitive is wrong.
#[track_caller]
pub fn coverage() -> String {
    let reports: Vec<Report> = PRIMITIVES.iter().map(|op| check(*op)).collect();
    let titles: Vec<String> = Aspect::ALL.iter().map(Aspect::to_string).collect();
    let mut table = format!("| primitive | {} |\n|---|{}\n", titles.join(" | "), "--:|".repeat(titles.len()));
    reports.iter().for_each(|report| table += &row(report));
    table
}

/// One row of the table.
///
/// ```
/// use wengert::primitive::find;
/// use wengert_testkit::{check, row};
/// let row = row(&check(find("uniform").unwrap()));
/// assert!(row.starts_with("| uniform | "));
/// assert!(row.contains("no gradient"));
/// ```
pub fn row(report: &Report) -> String {
    let cell = |aspect: &Aspect| match report.hole(*aspect) {
        None => report.cases(*aspect).to_string(),
        Some(reason) => format!("*{reason}*"),
    };
    let cells: Vec<String> = Aspect::ALL.iter().map(cell).collect();
    format!("| {} | {} |\n", report.name(), cells.join(" | "))
}
