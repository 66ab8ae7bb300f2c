//! The checked aspects of a primitive, from the coverage page.

const PAGE: &str = include_str!("../../../docs/coverage.md");

/// In how many cases each aspect of `name` was checked, or why not: one line for the numbers and one for each reason.
///
/// ```
/// use wengert_pages::coverage::coverage;
/// let lines = coverage("tanh").unwrap();
/// assert!(lines[0].starts_with("structure ") && lines[0].contains(", second order "));
/// assert!(coverage("no_such").is_none());
/// ```
pub fn coverage(name: &str) -> Option<Vec<String>> {
    let titles = PAGE.lines().find(|line| line.starts_with("| primitive |"))?;
    let row = PAGE.lines().find(|line| line.split('|').nth(1).is_some_and(|cell| cell.trim() == name))?;
    let pairs: Vec<(&str, &str)> = cells(titles).zip(cells(row)).skip(1).collect();
    let (reasons, numbers): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(_, cell)| cell.starts_with('*'));
    let numbers: Vec<String> = numbers.into_iter().map(|(title, count)| format!("{title} {count}")).collect();
    let reasons = reasons.into_iter().map(|(title, reason)| format!("{title}: {}", reason.trim_matches('*')));
    Some(std::iter::once(numbers.join(", ")).chain(reasons).collect())
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim_matches('|').split(" | ").map(str::trim)
}
