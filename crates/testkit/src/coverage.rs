//! The coverage table: which aspects of every primitive were exercised, and if not, why.

use crate::{Aspect, Report};

const HEADER: &str = "\
# Coverage

What `wengert_testkit::check` exercised of every primitive: in how many of its cases, or why not. Written by
`WENGERT_BLESS=1 cargo test -p wengert-testkit coverage`; the same test fails when this page is stale.
";

/// The coverage page in Markdown: a table with one row for each primitive, which says in how many cases every aspect was exercised, or why
/// it was not.
///
/// ```
/// use wengert::primitive::find;
/// use wengert_testkit::{check, coverage};
/// let page = coverage(&[check(find("compare").unwrap())]);
/// assert!(page.contains("| primitive | structure | value |"));
/// assert!(page.contains("\n| compare | "));
/// ```
pub fn coverage(reports: &[Report]) -> String {
    let titles: Vec<String> = Aspect::ALL.iter().map(Aspect::to_string).collect();
    let mut page = format!("{HEADER}\n| primitive | {} |\n|---|{}\n", titles.join(" | "), "--:|".repeat(titles.len()));
    reports.iter().for_each(|report| page += &row(report));
    page
}

/// One row of the table.
///
/// ```
/// use wengert::primitive::find;
/// use wengert_testkit::{check, row};
/// let row = row(&check(find("compare").unwrap()));
/// assert!(row.starts_with("| compare | "));
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
