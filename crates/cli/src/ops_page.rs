//! The operations as text for a terminal.

use crate::failure::Failure;
use crate::nearest::nearest;
use std::collections::BTreeSet;

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
    let pages: Vec<(&str, &str)> = PAGES.split('\u{c}').skip(1).filter_map(|page| page.split_once('\n')).collect();
    let own = pages.iter().find(|(names, _)| names.split(' ').next() == Some(name));
    let found = own.or_else(|| pages.iter().find(|(names, _)| names.split(' ').any(|known| known == name)));
    if let Some((_, text)) = found.filter(|_| !name.is_empty()) {
        return Ok(text);
    }
    let names: BTreeSet<&str> = pages.iter().flat_map(|(names, _)| names.split_whitespace()).collect();
    let near = nearest(name, names).join(", ");
    Err(Failure::usage(format!("no operation is called '{name}'\n  nearest: {near}\n  `wengert ops` lists them all")))
}
