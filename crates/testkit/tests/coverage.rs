//! The coverage page is what the checks exercise.

use std::path::Path;
use wengert_testkit::coverage;

#[test]
fn the_coverage_page_is_up_to_date_and_has_no_unexplained_hole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coverage.md");
    let page = coverage();
    assert!(!page.contains("*no case*"), "an aspect of a primitive is checked by no case:\n{page}");
    if std::env::var_os("WENGERT_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/coverage.md can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = written.lines().zip(page.lines()).find(|(old, new)| old != new);
    assert!(
        written == page,
        "docs/coverage.md is stale, first at {stale:#?}\n\
         regenerate it: WENGERT_BLESS=1 cargo test -p wengert-testkit --test coverage"
    );
}
