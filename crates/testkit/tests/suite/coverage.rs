//! Checks every built-in primitive on its cases; the coverage page matches what the checks exercise.

use std::path::Path;
use std::sync::LazyLock;
use wengert::primitive::PRIMITIVES;
use wengert_testkit::{Failure, Report, coverage, parallel, try_check};

/// Both tests use the same checks.
static CHECKED: LazyLock<Vec<Result<Report, Vec<Failure>>>> =
    LazyLock::new(|| parallel(PRIMITIVES.len(), |i| try_check(PRIMITIVES[i])));

#[test]
fn every_primitive_is_right_in_every_aspect() {
    let wrong = CHECKED.iter().filter_map(|checked| checked.as_ref().err()).flatten();
    let lines: Vec<String> = wrong.map(|failure| format!("\n  {failure}")).collect();
    assert!(lines.is_empty(), "{} failures:{}", lines.len(), lines.concat());
}

#[test]
fn the_coverage_page_is_up_to_date_and_has_no_unexplained_hole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coverage.md");
    let reports: Vec<Report> = CHECKED.iter().cloned().collect::<Result<_, _>>().expect("every primitive is right");
    let page = coverage(&reports);
    assert!(!page.contains("*no case*"), "an aspect of a primitive is checked by no case:\n{page}");
    if std::env::var_os("WENGERT_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/coverage.md can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = written.lines().zip(page.lines()).find(|(old, new)| old != new);
    assert!(
        written == page,
        "docs/coverage.md is stale, first at {stale:#?}\n\
         regenerate it: WENGERT_BLESS=1 cargo test -p wengert-testkit coverage"
    );
}
