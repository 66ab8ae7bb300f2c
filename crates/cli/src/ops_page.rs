//! The operations as text for a terminal.

use crate::failure::Failure;
use crate::nearest::{nearest, shortened};
use crate::paint::Paint;
use std::collections::BTreeSet;
use wengert::view::json::{array, object, string};

/// The list and the pages, written by `wengert-pages`. Each page follows a form feed and a line with the names that it is found by. The
/// first is its own; families have none. The first line says where the file comes from.
const PAGES: &str = include_str!("../../../docs/ops/terminal.txt");

/// Every primitive with its formula, by family; then the composite functions, by theme.
///
/// ```
/// assert!(wengert_cli::ops_page::list().contains("matmul"));
/// ```
pub fn list() -> &'static str {
    let list = PAGES.split('\u{c}').next().unwrap_or_default();
    list.split_once('\n').map_or(list, |(_, list)| list)
}

/// What `wengert ops` prints: the list, or the page of a name.
pub fn answer(name: Option<&str>, json: bool, paint: Paint) -> Result<String, Failure> {
    Ok(match (name, json) {
        (None, true) => listed().map(|entry| entry.json() + "\n").collect(),
        (None, false) => painted(list(), paint),
        (Some(name), true) => {
            let (names, text) = found(name)?;
            let names = array(names.split_whitespace().map(string));
            object(&[("name", string(name)), ("names", names), ("page", string(text))]) + "\n"
        }
        (Some(name), false) => painted(page(name)?, paint),
    })
}

/// The text with its unindented lines as headings.
fn painted(text: &str, paint: Paint) -> String {
    let line = |line: &str| if line.starts_with(' ') { line.to_string() } else { paint.heading(line) };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// An operation of the list.
struct Entry<'t> {
    name: &'t str,
    /// The family of a primitive, or the theme of a composite.
    family: &'t str,
    is_primitive: bool,
    summary: &'t str,
}

impl Entry<'_> {
    fn json(&self) -> String {
        object(&[
            ("name", string(self.name)),
            ("family", string(self.family)),
            ("primitive", self.is_primitive.to_string()),
            ("summary", string(self.summary)),
        ])
    }
}

/// The entries of the list: rows below the name of a family, or below a theme and `(composites)`.
fn listed() -> impl Iterator<Item = Entry<'static>> {
    let mut heading = "";
    list().lines().skip(1).filter_map(move |line| {
        let Some(row) = line.strip_prefix("  ") else {
            heading = line;
            return None;
        };
        let (name, summary) = row.split_once("  ").unwrap_or((row, ""));
        let family = heading.strip_suffix(" (composites)");
        Some(Entry { name, family: family.unwrap_or(heading), is_primitive: family.is_none(), summary: summary.trim() })
    })
}

/// The page of `name`: a primitive, a composite, a method, a family or a theme.
///
/// ```
/// use wengert_cli::ops_page::page;
/// assert!(page("tanh").unwrap().contains("dx = (1 - y^2) dy"));
/// assert!(page("permute").unwrap().starts_with("transpose - "));
/// assert!(page("max_pool2d").unwrap().starts_with("max_pool - "));
/// assert!(page("reduction").unwrap().contains("y = sum of x"));
/// assert_eq!(page("tahn").unwrap_err().code(), 2);
/// ```
pub fn page(name: &str) -> Result<&'static str, Failure> {
    Ok(found(name)?.1)
}

/// The names that a page is found by, and its text.
fn found(name: &str) -> Result<(&'static str, &'static str), Failure> {
    let pages: Vec<(&'static str, &'static str)> =
        PAGES.split('\u{c}').skip(1).filter_map(|page| page.split_once('\n')).collect();
    let own = pages.iter().find(|(names, _)| names.split(' ').next() == Some(name));
    let found = own.or_else(|| pages.iter().find(|(names, _)| names.split(' ').any(|known| known == name)));
    if let Some(page) = found.filter(|_| !name.is_empty()) {
        return Ok(*page);
    }
    let names: BTreeSet<&str> = pages.iter().flat_map(|(names, _)| names.split_whitespace()).collect();
    let near = nearest(name, names).join(", ");
    let name = shortened(name);
    Err(Failure::usage(format!("no operation is called '{name}'\n  nearest: {near}\n  `wengert ops` lists them all")))
}
